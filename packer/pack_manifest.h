/* What pack.json says of a packing: options, libraries, splits, counts. */
#ifndef YPK_PACKER_PACK_MANIFEST_H
#define YPK_PACKER_PACK_MANIFEST_H

#include "error.h"
#include "pack.h"

#include <jansson.h>

/* Everything besides the source files that decides a pack's bytes: options, class names, versions. NULL: out
 * of memory. */
json_t *pack_manifest_options(const struct pack_options *options, const struct source_set *sources);

/* Of a pack that is there: the counts of a split, and which part it is (none: NULL). False if they are not as written
 * here. */
bool pack_manifest_counts(struct intake_counts *out, const json_t *counts);
bool pack_manifest_part(struct pack_part *out, const json_t *part);

/* Of those options: the key points' places in a flip, count 0 if the data set said none. False if they are not as
 * written here: a list of integers, each the number of one of its places. */
bool pack_manifest_flip_index(struct flip_index *out, const json_t *options);

/* XXH3-64 of that object. */
int pack_manifest_fingerprint(uint64_t *out, const json_t *options, struct error *error);

/* Writes pack.json into `directory`, with the hashes of the files that are there, and fills result->pack_bytes.
 * `classes` are the names of all. */
int pack_manifest_write(const char *directory, const json_t *options, struct pack_result *result, uint8_t task,
                        const struct string_list *classes, struct error *error);

#endif
