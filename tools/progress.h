/* One line on a terminal that tells how far the work is, how fast, and when it ends. Elsewhere it is silent. */
#ifndef YPK_TOOLS_PROGRESS_H
#define YPK_TOOLS_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct progress {
    FILE *to;         /* NULL: silent */
    const char *unit; /* "pairs"; NULL: bytes are what is counted */
    bool plain;       /* the locale is not UTF-8: the bar is made of '#' */
    char label[48];   /* of the stretch that is measured now */
    double start_s, drawn_s;
    uint64_t start_done; /* what was done already when the stretch began */
    bool visible;
};

/* Draws on stderr if that is a terminal and not `quiet`. */
void progress_init(struct progress *p, const char *unit, bool quiet);

/* Redraws, at most ten times a second. A new label starts a new stretch. `bytes` is what was read or written so far;
 * with unit NULL it is not used. */
void progress_update(struct progress *p, const char *label, uint64_t done, uint64_t total, uint64_t bytes);

/* Takes the line away, so that something else can be printed. */
void progress_clear(struct progress *p);

/* The text alone, without bar; for tests. `elapsed_s` is the time for `done - start_done`. */
void progress_text(char *out, size_t size, const struct progress *p, uint64_t done, uint64_t total, uint64_t bytes,
                   double elapsed_s);

#endif
