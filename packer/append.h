/*
 * Adding to a pack what a data set has and it has not.
 *
 *   older pack ──> which samples are new? ──> packed as always, into shards numbered after the older ones
 *        └─ its shards, linked ─┬─> a new directory, exchanged for the older pack in one step
 *           its rows, in front ─┘
 *
 * The older pack's files are never written to; who has it open keeps it as it was.
 */
#ifndef YPK_PACKER_APPEND_H
#define YPK_PACKER_APPEND_H

#include "error.h"
#include "pack.h"
#include "packed.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

struct append {
    struct packed older;
    const struct packed_split *base[8]; /* by split of the data set: what it had; NULL: nothing */
    bool nothing;                       /* every sample is there already */
};

/*
 * Opens the pack at `output` and leaves those samples in `sources` that it has not. Samples that are there, but whose
 * label file now gives other labels, or whose stored JPEG is not as long as its file any more, are noted in `report`.
 * ERR_INPUT if the pack is one part, or was made with other options (`described`), classes, modalities or shared
 * splits. `output` must outlive *append, which is to be ended either way.
 */
int append_begin(struct append *append, const char *output, const struct pack_options *options, const json_t *described,
                 struct source_set *sources, struct report *report, struct error *error);
void append_end(struct append *append);

/* ERR_INPUT if another run has replaced the pack since append_begin(). Call it once the output is locked. */
int append_check_current(const struct append *append, struct error *error);

/* What split `split` of the data set is added to. NULL for nothing, and without an append. */
const struct index_view *append_base(const struct append *append, size_t split);

/* Samples in the older pack; 0 without an append. */
uint64_t append_packed_count(const struct append *append);

/* Classes of the older pack; 0 without an append. */
uint32_t append_class_count(const struct append *append);

/* Links the older shards into `directory`, and adds to the result what was there: splits, counts, and the rows of the
 * report about samples that are in the pack. The indexes of the data set's splits are there already. */
int append_finish(const struct append *append, struct pack_result *result, const char *directory, struct error *error);

#endif
