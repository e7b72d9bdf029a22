/*
 * The one way a failure travels: a small negative code, and a message for the person who has to act on it.
 *
 * Every function that can fail returns `int`: 0, or one of the codes below. The detail goes into a caller-supplied
 * `struct error` (NULL is allowed everywhere). The message is written once, where the fault is found; a caller that
 * knows the sample or the file adds it in front with error_prefix(), at one place.
 */
#ifndef YPK_COMMON_ERROR_H
#define YPK_COMMON_ERROR_H

#include <stdint.h>

/* name, value, what it means. The public header repeats the values as YPK_E_*; reader/api_error.c holds them equal. */
#define ERROR_CODES(X)                                                                                                 \
    X(ARGUMENT, -1, "wrong argument")                                                                                  \
    X(INPUT, -2, "unusable input")                                                                                     \
    X(CORRUPT, -3, "corrupt pack")                                                                                     \
    X(IO, -4, "input/output error")                                                                                    \
    X(SPACE, -5, "no space left")                                                                                      \
    X(MEMORY, -6, "out of memory")                                                                                     \
    X(UNSUPPORTED, -7, "not supported")                                                                                \
    X(NOT_FOUND, -8, "not found")                                                                                      \
    X(INTERRUPTED, -9, "interrupted")                                                                                  \
    X(SLOTS_HELD, -10, "every batch is held")                                                                          \
    X(DEVICE, -11, "device error")                                                                                     \
    X(DEVICE_LOST, -12, "device lost")

enum {
#define X(name, value, text) ERR_##name = value,
    ERROR_CODES(X)
#undef X
};

#define ERROR_MESSAGE_BYTES 1024

struct error {
    int code;                          /* 0 while nothing has failed */
    int os_errno;                      /* errno of the failing call, or 0 */
    int64_t offset;                    /* byte offset in the file at fault, or -1 */
    char message[ERROR_MESSAGE_BYTES]; /* UTF-8, one or more lines, no newline at the end; a byte that is not UTF-8, and
                                          a control character, was written as \xNN */
};

/* Records a failure and returns `code`, so that `return error_set(e, ERR_INPUT, "...")` reads naturally. */
int error_set(struct error *error, int code, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* The same for a failed system call: the text ends with ": " and what os_errno means. The code is ERR_SPACE for a full
 * disk or quota, ERR_MEMORY for ENOMEM, ERR_NOT_FOUND for ENOENT and ENOTDIR, ERR_IO for anything else; it
 * is returned. */
int error_set_errno(struct error *error, int os_errno, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* Puts context ("images/a.jpg: ") in front of a message already set. */
void error_prefix(struct error *error, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* "corrupt pack" for ERR_CORRUPT, …; "unknown error" for anything else. Never NULL. */
const char *error_code_text(int code);

#endif
