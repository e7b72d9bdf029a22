/*
 * Packing, from raw directory to published pack.
 *
 *   pair_sources ──> [split: sample 0 1 2 …] ──> workers (intake) ──> ring, in order ──> writer (shard, part) ──> publish
 *
 * The pack is written in a directory beside its final place ("night.ypk.partial") and appears under its name in one step.
 * A part file is kept for every sealed shard there, from which --resume goes on; the final index is the parts, merged.
 */
#ifndef YPK_PACKER_PACK_H
#define YPK_PACKER_PACK_H

#include "error.h"
#include "intake.h"
#include "pair.h"
#include "report.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct pack_progress {
    const char *split;
    uint64_t done, total;           /* samples of this split */
    uint64_t source_bytes;          /* read so far in this split */
};

struct pack_options {
    struct pair_options source;
    struct intake_options intake;
    const char *task;               /* --task, or NULL: as data.yaml says, else detect */
    const char *output;             /* the pack's directory; NULL: pack_default_output() */
    uint64_t shard_bytes;
    unsigned jobs;                  /* 0: cpus_available() */
    bool resume, strict, check_only;
    double max_rejects;             /* fraction of the samples */
    const atomic_bool *cancel;
    void (*on_sources)(void *arg, const struct source_set *sources);
    void (*on_progress)(void *arg, const struct pack_progress *progress); /* from the writer's thread, often */
    void *callback_arg;
};
void pack_options_init(struct pack_options *options); /* the documented defaults */

struct pack_split_result {
    char name[48];
    char same_as[48];               /* "" or the split it shares its samples with */
    struct intake_counts counts;
    uint64_t shard_count, index_bytes, content_hash;
};

struct pack_result {
    char *output;                   /* where the pack is, or would have been */
    struct pack_split_result splits[8];
    size_t split_count;
    struct intake_counts total;     /* of the splits that are not shared */
    uint64_t class_count;
    uint64_t pack_bytes;            /* all files of the pack */
    struct report report;
    bool published;
    bool resumed, restarted;        /* an unfinished run was there: continued, or thrown away */
    bool resumable;                 /* not published, but --resume can go on */
    bool too_many_rejects;          /* stopped for max_rejects or strict: nothing was published */
};

/* Packs, or (check_only) only checks. 0 when published, or checked. ERR_INPUT with result->too_many_rejects set when the
 * policy forbids publication; result->report is filled then too. Deinit the result either way. */
int pack_run(struct pack_result *result, const struct pack_options *options, struct error *error);
void pack_result_deinit(struct pack_result *result);

/* "night.ypk" for "datasets/night/" and for "datasets/night/data.yaml". malloc'ed, NULL if memory ran out. */
char *pack_default_output(const char *dataset);

#endif
