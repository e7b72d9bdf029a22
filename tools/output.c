#include "output.h"

#include "bytes.h"
#include "report.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int output_exit_code(int error_code) {
    switch (error_code) {
    case 0: return EXIT_DONE;
    case ERR_ARGUMENT: return EXIT_USAGE;
    case ERR_INPUT:
    case ERR_UNSUPPORTED:
    case ERR_NOT_FOUND: return EXIT_INPUT;
    case ERR_CORRUPT: return EXIT_CORRUPT;
    case ERR_INTERRUPTED: return EXIT_INTERRUPTED;
    default: return EXIT_MACHINE;
    }
}

int output_fail(const struct error *error) {
    fprintf(stderr, "yolopack: %s\n", error->message[0] != '\0' ? error->message : error_code_text(error->code));
    return output_exit_code(error->code);
}

/* True if stdout is a pipe whose reader is gone. */
static bool reader_left(void) {
    struct pollfd out = {.fd = STDOUT_FILENO, .events = POLLOUT};
    return poll(&out, 1, 0) == 1 && (out.revents & POLLERR) != 0;
}

int output_finish(int exit_code) {
    errno = 0;
    bool failed = ferror(stdout) != 0;
    if ((fflush(stdout) == 0 && !failed) || errno == EPIPE || exit_code != EXIT_DONE)
        return exit_code;
    const char *reason = errno != 0 ? strerror(errno) : "write failed"; /* an earlier call had the reason */
    if (reader_left())
        return exit_code;
    fprintf(stderr, "yolopack: cannot write to standard output: %s\n", reason);
    return EXIT_MACHINE;
}

struct text text_count(uint64_t n) {
    char digits[24];
    int length = snprintf(digits, sizeof digits, "%" PRIu64, n);
    struct text out = {""};
    size_t at = 0;
    for (int i = 0; i < length; i++) {
        if (i > 0 && (length - i) % 3 == 0)
            out.text[at++] = ',';
        out.text[at++] = digits[i];
    }
    return out;
}

struct text text_counted(uint64_t n, const char *noun) {
    struct text out = text_count(n);
    size_t length = strlen(noun), at = strlen(out.text);
    bool sibilant = length > 0 && (noun[length - 1] == 's' || noun[length - 1] == 'x');
    snprintf(out.text + at, sizeof out.text - at, " %s%s", noun, n == 1 ? "" : sibilant ? "es" : "s");
    return out;
}

struct text text_bytes(uint64_t bytes) {
    static const char *const units[] = {"B", "kB", "MB", "GB", "TB", "PB", "EB"};
    struct text out;
    double value = (double)bytes;
    size_t unit = 0;
    while (value >= 999.5 && unit + 1 < sizeof units / sizeof units[0]) {
        value /= 1000;
        unit++;
    }
    snprintf(out.text, sizeof out.text, "%.*f %s", unit > 0 && value < 99.95 ? 1 : 0, value, units[unit]);
    return out;
}

struct text text_seconds(double seconds) {
    struct text out;
    if (seconds < 9.95) {
        snprintf(out.text, sizeof out.text, "%.1f s", seconds);
        return out;
    }
    uint64_t whole = (uint64_t)(seconds < 1e15 ? seconds + 0.5 : 1e15);
    if (whole < 60)
        snprintf(out.text, sizeof out.text, "%" PRIu64 " s", whole);
    else if (whole < 3600)
        snprintf(out.text, sizeof out.text, "%" PRIu64 " min %" PRIu64 " s", whole / 60, whole % 60);
    else
        snprintf(out.text, sizeof out.text, "%" PRIu64 " h %" PRIu64 " min", whole / 3600, whole / 60 % 60);
    return out;
}

struct text text_hash(uint64_t hash) {
    struct text out;
    snprintf(out.text, sizeof out.text, "%016" PRIx64, hash);
    return out;
}

bool output_is_terminal(FILE *to) {
    const char *term = getenv("TERM");
    return isatty(fileno(to)) && term != NULL && strcmp(term, "dumb") != 0;
}

void output_label(FILE *to, enum output_style style, const char *label) {
    static const char *const codes[] = {
        [STYLE_PLAIN] = "\033[1m", [STYLE_GOOD] = "\033[1;32m", [STYLE_WARN] = "\033[1;33m"};
    const char *no_color = getenv("NO_COLOR");
    bool colour = output_is_terminal(to) && (no_color == NULL || no_color[0] == '\0');
    fprintf(to, "%s%-9s%s ", colour ? codes[style] : "", label, colour ? "\033[0m" : "");
}

void output_name(FILE *to, const char *name) {
    char *text = report_printable((struct span){(const uint8_t *)name, strlen(name)});
    fputs(text != NULL ? text : "?", to);
    free(text);
}

/* Letters that a shell leaves alone. Bytes of UTF-8 are among them. */
static bool is_plain(const char *word) {
    for (; *word; word++)
        if (!isalnum((unsigned char)*word) && !strchr("_-./:=@%+,", *word) && (unsigned char)*word < 0x80)
            return false;
    return true;
}

void output_argument(FILE *to, const char *path) {
    if (*path == '-')
        fputs("./", to);
    if (is_plain(path)) {
        fputs(path, to);
        return;
    }
    fputc('\'', to);
    for (; *path; path++)
        fputs(*path == '\'' ? "'\\''" : (char[]){*path, '\0'}, to);
    fputc('\'', to);
}

json_t *output_json_name(const char *name) {
    char *text = report_printable((struct span){(const uint8_t *)name, strlen(name)});
    json_t *out = text != NULL ? json_string(text) : NULL;
    free(text);
    return out;
}

json_t *output_json_hash(uint64_t hash) {
    return json_string(text_hash(hash).text);
}

int output_json(json_t *object, int exit_code) {
    int rc = object != NULL ? json_dumpf(object, stdout, JSON_INDENT(2)) : -1;
    json_decref(object);
    if (rc != 0 && !ferror(stdout)) {
        fprintf(stderr, "yolopack: %s\n", error_code_text(ERR_MEMORY));
        return EXIT_MACHINE;
    }
    putchar('\n');
    return exit_code;
}

void output_json_error(json_t *object, const struct error *error) {
    json_t *detail = json_object();
    json_object_set_new(detail, "kind", json_string(error_code_text(error->code)));
    json_t *message = json_string(error->message); /* NULL if a path in it is not UTF-8 */
    json_object_set_new(detail, "message", message != NULL ? message : output_json_name(error->message));
    json_object_set_new(object, "error", detail);
}
