/* What the command says: numbers for people, colour for terminals, exit codes for scripts. */
#ifndef YPK_TOOLS_OUTPUT_H
#define YPK_TOOLS_OUTPUT_H

#include "error.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum exit_code {
    EXIT_DONE = 0,
    EXIT_REJECTS = 1, /* --strict, and something was rejected */
    EXIT_USAGE = 2,
    EXIT_INPUT = 3,   /* unusable input, or too many rejects */
    EXIT_MACHINE = 4, /* I/O, space, memory */
    EXIT_CORRUPT = 5,
    EXIT_INTERRUPTED = 130,
};

int output_exit_code(int error_code); /* of ERR_*; 0 gives EXIT_DONE */

/* "yolopack: message" on stderr; returns the exit code. */
int output_fail(const struct error *error);

/* Flushes stdout. A reader that went away is no failure; a full disk is. Returns the exit code for the process. */
int output_finish(int exit_code);

/* Short texts by value, so that several fit into one printf. */
struct text {
    char text[48];
};
struct text text_count(uint64_t n);                     /* "12,025" */
struct text text_counted(uint64_t n, const char *noun); /* "1 box", "2 boxes", "3 classes", "4 images" */
struct text text_bytes(uint64_t bytes);                 /* "512 B", "2.9 GB": powers of 1000 */
struct text text_seconds(double seconds);               /* "0.4 s", "38 s", "2 min 5 s", "3 h 20 min" */
struct text text_hash(uint64_t hash);                   /* 16 hexadecimal digits */

bool output_is_terminal(FILE *to);

/* "label     " in its own column, bold or coloured on a terminal, before the rest of a line. */
enum output_style { STYLE_PLAIN, STYLE_GOOD, STYLE_WARN };
void output_label(FILE *to, enum output_style style, const char *label);

/* A path or value from outside as printable text (bytes that are not UTF-8 as \xNN), to `to`. */
void output_name(FILE *to, const char *name);

/* A path in a command to be copied into a shell: in quotes where it needs them, and never taken for an option. */
void output_argument(FILE *to, const char *path);
json_t *output_json_name(const char *name);
json_t *output_json_hash(uint64_t hash);

/* Writes the object and a newline to stdout, and releases it. Returns `exit_code`, or EXIT_MACHINE if memory ran out
 * (object NULL or not printable). */
int output_json(json_t *object, int exit_code);

/* {"error": {"kind": "corrupt pack", "message": …}} as a member of `object`, which may be NULL. */
void output_json_error(json_t *object, const struct error *error);

#endif
