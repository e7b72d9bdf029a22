/* What pair.c and pair_sample.c share while the samples of a data set are found. */
#ifndef YPK_PACKER_PAIRING_H
#define YPK_PACKER_PAIRING_H

#include "pair.h"
#include "pair_map.h"
#include "pair_match.h"
#include "pair_place.h"
#include "pair_split.h"

enum sample_kind { SAMPLE_PAIR, SAMPLE_RGB, SAMPLE_IR };

/* Where a map names a picture: first, and again as another one's partner; 0 when it does not. */
struct map_lines {
    uint64_t first, again;
};

/* Arrays are over the rows of scan.images. */
struct pairing {
    const struct pair_options *options;
    struct source_set *out;
    struct error *error;
    struct data_yaml yaml; /* .file NULL: there is none */
    struct pair_places places;
    struct split_plans plans; /* .count 0: splits by path */
    struct pair_map map;
    struct scan scan, label_scan; /* label_scan: below --labels */
    struct pair_rule rule;
    struct pair_table table;
    enum sample_kind kind;       /* what a sample is */
    bool infrared_only;          /* no rule made a pair, and every picture lies where one has its infrared */
    const char *label_prefix;    /* with --labels: "dir/", what makes the files of label_scan paths of samples */
    uint32_t *label_of;          /* row of the label files, or PAIR_NONE */
    const char **map_label;      /* by map:FILE; NULL: none says any */
    struct map_lines *map_lines; /* by map:FILE */
    uint32_t *user_of_label;     /* over the label files: the picture whose sample has it, or PAIR_NONE */
    uint8_t *marked;             /* of the current split: the picture that stands for the sample */
    uint8_t *reported;           /* as unpaired or ambiguous */
    uint8_t *split_of;           /* by data.yaml: one more than the first split with the picture's sample */
    uint64_t unpaired_count;
    uint64_t stranger_count; /* pictures of a split that the rule gives no role */
    const char *first_stranger;
};

/* Fills out->splits, out->rule and the report's unpaired rows from the tables. */
int pairing_make_samples(struct pairing *p);

#endif
