/* Which pictures belong together: the rules of pair_rule.h carried out over a whole list, by key. */
#ifndef YPK_PACKER_PAIR_MATCH_H
#define YPK_PACKER_PAIR_MATCH_H

#include "pair_label.h"
#include "pair_rule.h"
#include "scan.h"

#include <stdint.h>

#define PAIR_AMBIGUOUS (UINT32_MAX - 1u) /* more than one candidate */

/* Over the rows of a list of pictures. Zero-initialise. */
struct pair_table {
    uint8_t *role;     /* enum pair_role */
    uint32_t *partner; /* row, PAIR_NONE or PAIR_AMBIGUOUS */
    uint64_t rgb_count, ir_count, pair_count;
};

/* A picture that a list of data.yaml names. */
struct pair_member {
    uint32_t image; /* row */
    uint32_t key;   /* offset in its path: what follows is its place in the split */
};

/* All return 0 or ERR_MEMORY, and replace what the table held. */

/* No picture has a role. */
int pair_match_none(struct pair_table *t, const struct path_list *images);

/* Every picture has the same role, and no partner. */
int pair_match_single(struct pair_table *t, const struct path_list *images, enum pair_role role);

/* By directory or by suffix. The partner may have another image suffix; several pictures of one stem are several
 * candidates. O(n) when both roles lie in the same order, O(n log n) at worst. */
int pair_match_rule(struct pair_table *t, const struct path_list *images, const struct pair_rule *rule);

/* Adds the pairs of two lists, by their place in the split without suffix; when that pairs none, by file name. */
int pair_match_lists(struct pair_table *t, const struct path_list *images, const struct pair_member *rgb,
                     size_t rgb_count, const struct pair_member *ir, size_t ir_count);

/* Adds one pair, or (ir or rgb PAIR_NONE) one picture; a picture that has another partner already is ambiguous. */
void pair_match_add(struct pair_table *t, uint32_t rgb, uint32_t ir);

void pair_table_deinit(struct pair_table *t);

#endif
