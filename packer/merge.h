/* One pack out of the parts that `pack --part K/N` made of a data set: indexes joined, shards linked, no
 * data copied. */
#ifndef YPK_PACKER_MERGE_H
#define YPK_PACKER_MERGE_H

#include "error.h"
#include "pack.h"

#include <stdatomic.h>
#include <stddef.h>

struct merge_options {
    const char *const *parts; /* paths, in any order */
    size_t part_count;
    const char *output; /* an older pack there is replaced in one step */
    const atomic_bool *cancel;
};

/*
 * Fills *result as packing the whole would. ERR_INPUT names the part that is missing, is there
 * twice, or was made of another list of samples or with other options, and what differs; nothing is published then. The
 * same parts give the same bytes. Parts stay as they are. Deinit the result either way.
 */
int merge_run(struct pack_result *result, const struct merge_options *options, struct error *error);

#endif
