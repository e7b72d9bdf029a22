/* Which label file belongs to which picture, and which belong to none. */
#ifndef YPK_PACKER_PAIR_LABEL_H
#define YPK_PACKER_PAIR_LABEL_H

#include "pair_rule.h"
#include "scan.h"

#include <stdint.h>

#define PAIR_NONE UINT32_MAX

struct pair_labels {
    const struct path_list *files; /* relative to the data set, or to `directory` */
    const char *directory;         /* --labels: the files are looked for only here; NULL: by rule in the data set */
    const char *const *given;      /* of each picture: its file, when a map says it; NULL where none does */
};

/*
 * Finds the label file of every picture: label_of[i], for images->items[i], is a row of labels->files or PAIR_NONE.
 * Files that no picture claims and that lie where one was looked for are LABEL_ORPHAN rows of the report ("classes.txt"
 * aside), or LABEL_NEAR when a picture without label has the same name in another Unicode composition, and for one file
 * that has a picture's name when not one picture has a label. O(n log n).
 */
int pair_labels_find(uint32_t *label_of, const struct pair_labels *labels, const struct path_list *images,
                     const struct pair_rule *rule, struct report *report, struct error *error);

#endif
