/* Which pictures data.yaml puts into which split. */
#ifndef YPK_PACKER_PAIR_SPLIT_H
#define YPK_PACKER_PAIR_SPLIT_H

#include "data_yaml.h"
#include "pair_match.h"
#include "pair_place.h"
#include "report.h"
#include "scan.h"

#define PAIR_SPLIT_LIMIT 3u

struct list_line {
    const char *list; /* as data.yaml names it */
    uint64_t number;  /* from 1 */
};

/* What a key of data.yaml (train, train_ir, …) names. */
struct split_names {
    struct path_list directories; /* "images/train/", relative to the base; "" is the base itself */
    struct path_list files;       /* lines of .txt lists */
    struct list_line *lines;      /* where each of them stands */
    size_t line_capacity;
};

struct split_plan {
    const char *name; /* "train", "val", "test" */
    struct split_names rgb, ir;
    struct pair_member *members[2]; /* pictures that rgb and ir name, after split_plans_resolve() */
    size_t member_count[2];
};

/* Zero-initialise. */
struct split_plans {
    struct split_plan items[PAIR_SPLIT_LIMIT];
    size_t count;
    bool has_ir; /* train_ir, val_ir or test_ir is given */
};

/* Finds what the entries name and puts every path into `places`. A train or val entry that does not exist is ERR_INPUT
 * with the absolute path that was looked for; without its test pictures the data set is whole: FILE_SKIPPED. */
int split_plans_read(struct split_plans *out, struct pair_places *places, const struct data_yaml *yaml,
                     struct report *report, struct error *error);

/* The lists that pair_places_settle() has to see: 4 a split, into `out`. */
void split_plans_lists(struct split_plans *plans, struct path_list *out[4 * PAIR_SPLIT_LIMIT]);

/* Fills the members with rows of `images`. A listed picture that is not there is LIST_MISSING, one that the split has
 * already LIST_DUPLICATE; both name list and line. */
int split_plans_resolve(struct split_plans *plans, const struct pair_places *places, const struct path_list *images,
                        struct report *report, struct error *error);

void split_plans_deinit(struct split_plans *plans);

#endif
