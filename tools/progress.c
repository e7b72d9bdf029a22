#include "progress.h"

#include "clock.h"
#include "output.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>

enum { BAR_CELLS = 24, LABEL_CELLS = 10 };

static bool locale_is_utf8(void) {
    static const char *const names[] = {"LC_ALL", "LC_CTYPE", "LANG"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        const char *value = getenv(names[i]);
        if (value != NULL && value[0] != '\0')
            return strcasestr(value, "utf-8") != NULL || strcasestr(value, "utf8") != NULL;
    }
    return false;
}

void progress_init(struct progress *p, const char *unit, bool quiet) {
    memset(p, 0, sizeof *p);
    p->unit = unit;
    p->to = !quiet && output_is_terminal(stderr) ? stderr : NULL;
    p->plain = !locale_is_utf8();
}

void progress_text(char *out, size_t size, const struct progress *p, uint64_t done, uint64_t total, uint64_t bytes,
                   double elapsed_s) {
    double percent = total > 0 ? 100.0 * (double)done / (double)total : 100;
    double rate = elapsed_s > 0 ? (double)(done - p->start_done) / elapsed_s : 0;
    char speed[96] = ""; /* not known at once */
    if (rate > 0 && p->unit == NULL)
        snprintf(speed, sizeof speed, "   %s/s", text_bytes((uint64_t)rate).text);
    else if (rate > 0)
        snprintf(speed, sizeof speed, "   %s %s/s", text_count((uint64_t)(rate + 0.5)).text, p->unit);
    if (p->unit == NULL)
        snprintf(out, size, "%3.0f %%  %s of %s%s", percent, text_bytes(done).text, text_bytes(total).text, speed);
    else
        snprintf(out, size, "%3.0f %%  %s/%s%s   %s", percent, text_count(done).text, text_count(total).text, speed,
                 text_bytes(bytes).text);
    size_t at = strlen(out);
    if (rate > 0)
        snprintf(out + at, size - at, "   %s left", text_seconds((double)(total - done) / rate).text);
}

/* Eighths of a cell, so that the bar moves smoothly. */
static void bar_text(char *out, size_t size, const struct progress *p, uint64_t done, uint64_t total) {
    static const char *const eighths[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
    double share = total > 0 ? (double)done / (double)total : 1;
    int filled = (int)(share * BAR_CELLS * 8), cells = filled / 8, part = p->plain ? 0 : filled % 8;
    size_t at = 0;
    for (int i = 0; i < cells; i++)
        at += (size_t)snprintf(out + at, size - at, "%s", p->plain ? "#" : "█");
    snprintf(out + at, size - at, "%s%*s", eighths[part], BAR_CELLS - cells - (part > 0), "");
}

static int terminal_columns(FILE *to) {
    struct winsize window;
    return ioctl(fileno(to), TIOCGWINSZ, &window) == 0 && window.ws_col > 0 ? window.ws_col : 80;
}

static void draw(struct progress *p, uint64_t done, uint64_t total, uint64_t bytes, double now) {
    char text[256], bar[BAR_CELLS * 4 + 8];
    int columns = terminal_columns(p->to);
    progress_text(text, sizeof text, p, done, total, bytes, now - p->start_s);
    bar_text(bar, sizeof bar, p, done, total);
    bool roomy = LABEL_CELLS + BAR_CELLS + 2 + (int)strlen(text) < columns;
    int left = columns - 1 - LABEL_CELLS;
    fprintf(p->to, "\r%-*s%s%s%.*s\033[K", LABEL_CELLS, p->label, roomy ? bar : "", roomy ? "  " : "",
            left > 0 ? left : 0, text);
    fflush(p->to);
    p->visible = true;
    p->drawn_s = now;
}

void progress_update(struct progress *p, const char *label, uint64_t done, uint64_t total, uint64_t bytes) {
    if (p->to == NULL)
        return;
    double now = clock_seconds();
    if (strncmp(p->label, label, sizeof p->label - 1) != 0) {
        snprintf(p->label, sizeof p->label, "%s", label);
        p->start_s = now;
        p->start_done = done;
    } else if (now - p->drawn_s < 0.1) {
        return;
    }
    draw(p, done, total, bytes, now);
}

void progress_clear(struct progress *p) {
    if (p->to == NULL || !p->visible)
        return;
    fputs("\r\033[K", p->to);
    fflush(p->to);
    p->visible = false;
}
