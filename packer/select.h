/* Which of the samples that were found are packed: a share of them, or one of several parts. */
#ifndef YPK_PACKER_SELECT_H
#define YPK_PACKER_SELECT_H

#include "error.h"
#include "pair.h"

#include <stdint.h>

#define SELECT_PART_LIMIT 65536u

/*
 * Keeps ⌈fraction · count⌉ samples of a split: the first in the order of the XXH3-64 (seed 0) of their names, which has
 * nothing to do with how files are named and numbered. They stay in the order of their names. The same files give the
 * same samples everywhere, and a larger fraction holds all of a smaller one. 0 or ERR_MEMORY.
 */
int select_fraction(struct split_source *split, double fraction);

/* Keeps part `number` of `count`: samples ⌊n · number / count⌋ to before ⌊n · (number + 1) / count⌋. May be empty. */
void select_part(struct split_source *split, uint32_t number, uint32_t count);

/* XXH3-64 of all splits and paths of their samples: parts cut from the same list agree in it. 0 or ERR_MEMORY. */
int select_hash(uint64_t *out, const struct source_set *sources);

#endif
