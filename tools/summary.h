/* One run of the packer as the user sees it: the talk while it runs, the lines at its end, or the same as JSON. */
#ifndef YPK_TOOLS_SUMMARY_H
#define YPK_TOOLS_SUMMARY_H

#include "dataset_args.h"
#include "output.h"
#include "progress.h"

struct summary {
    struct progress progress;
    const struct dataset_args *args;
    const char *noun;       /* "pair" or "image": what a sample is here */
    const char *label_noun; /* "box", or "label" where it may be more than that */
    double start_s, seconds;
};

/* Sets the packer's callbacks and cancel flag in d->pack and runs it. The result is filled as pack_run() does. */
int summary_run(struct summary *s, struct pack_result *result, struct dataset_args *d, struct error *error);

/* "packed" (stdout) or "checked" (stdout), then what was rejected, dropped, clamped and noted (stderr). */
void summary_print(const struct summary *s, const struct pack_result *result);

/* Up to `limit` rows of the report to `to`, notes after all else, then "and N more". */
void summary_print_rows(FILE *to, const struct report *report, uint64_t limit);

/* The result as one JSON object, NULL if memory ran out; with what only a run over a data set has, and without. */
json_t *summary_json_result(const struct pack_result *result);
json_t *summary_json(const struct summary *s, const struct pack_result *result);

/* The exit code of a run that ended with `code`; says why on stderr if it failed. */
int summary_exit_code(const struct summary *s, const struct pack_result *result, int code, const struct error *error);

#endif
