#include "error.h"

#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

/* Bytes of the well-formed UTF-8 sequence at `s` (Unicode 15, table 3-7), or 0. */
static size_t utf8_length(const unsigned char *s) {
    if (s[0] < 0x80)
        return 1;
    if (s[0] < 0xc2 || s[0] > 0xf4)
        return 0;
    size_t length = s[0] < 0xe0 ? 2 : s[0] < 0xf0 ? 3 : 4;
    unsigned char low = s[0] == 0xe0 ? 0xa0 : s[0] == 0xf0 ? 0x90 : 0x80;
    unsigned char high = s[0] == 0xed ? 0x9f : s[0] == 0xf4 ? 0x8f : 0xbf;
    if (s[1] < low || s[1] > high)
        return 0;
    for (size_t i = 2; i < length; i++)
        if ((s[i] & 0xc0) != 0x80)
            return 0;
    return length;
}

/* File names are bytes, messages are text: what is not UTF-8 or could steer a terminal becomes \xNN. Returns the
 * length; a text that does not fit is cut between characters. */
static size_t copy_printable(char *out, size_t capacity, const char *text) {
    size_t used = 0;
    const unsigned char *s = (const unsigned char *)text;
    while (*s) {
        char escaped[5];
        const char *piece = (const char *)s;
        size_t taken = utf8_length(s), n = taken;
        if (taken == 0 || (*s < 0x20 && *s != '\n') || *s == 0x7f) {
            snprintf(escaped, sizeof escaped, "\\x%02X", *s);
            piece = escaped;
            taken = 1;
            n = 4;
        }
        if (n >= capacity - used)
            break;
        memcpy(out + used, piece, n);
        used += n;
        s += taken;
    }
    out[used] = 0;
    return used;
}

static void set_text(struct error *error, const char *format, va_list args) {
    char text[ERROR_MESSAGE_BYTES]; /* the arguments may point into the message that is replaced */
    vsnprintf(text, sizeof text, format, args);
    copy_printable(error->message, sizeof error->message, text);
}

int error_set(struct error *error, int code, const char *format, ...) {
    if (!error)
        return code;
    va_list args;
    va_start(args, format);
    set_text(error, format, args);
    va_end(args);
    error->code = code;
    error->os_errno = 0;
    error->offset = -1;
    return code;
}

static int code_of_errno(int os_errno) {
    switch (os_errno) {
    case ENOSPC:
    case EDQUOT: return ERR_SPACE;
    case ENOMEM: return ERR_MEMORY;
    case ENOENT:
    case ENOTDIR: return ERR_NOT_FOUND;
    default: return ERR_IO;
    }
}

int error_set_errno(struct error *error, int os_errno, const char *format, ...) {
    int code = code_of_errno(os_errno);
    if (!error)
        return code;
    va_list args;
    va_start(args, format);
    set_text(error, format, args);
    va_end(args);

    char buffer[128], cause[160];
    snprintf(cause, sizeof cause, ": %s", strerror_r(os_errno, buffer, sizeof buffer));
    size_t length = strlen(error->message), cause_length = strlen(cause);
    if (length > sizeof error->message - 1 - cause_length) { /* the cause says more than the end of a long path */
        length = sizeof error->message - 1 - cause_length;
        while (length > 0 && (error->message[length] & 0xc0) == 0x80)
            length--;
    }
    memcpy(error->message + length, cause, cause_length + 1);
    error->code = code;
    error->os_errno = os_errno;
    error->offset = -1;
    return code;
}

void error_prefix(struct error *error, const char *format, ...) {
    if (!error || error->code == 0)
        return;
    char rest[ERROR_MESSAGE_BYTES];
    memcpy(rest, error->message, sizeof rest);
    va_list args;
    va_start(args, format);
    set_text(error, format, args);
    va_end(args);
    size_t length = strlen(error->message);
    copy_printable(error->message + length, sizeof error->message - length, rest);
}

const char *error_code_text(int code) {
    switch (code) {
#define X(name, value, text)                                                                                           \
    case value: return text;
        ERROR_CODES(X)
#undef X
    default: return "unknown error";
    }
}
