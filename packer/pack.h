/*
 * Packing, from raw directory to published pack.
 *
 *   pair_sources ──> [split: sample 0 1 2 …] ──> workers (intake) ──> ring, in order ─┐
 *                                             publish <── writer (shard, part) <──────┘
 *
 * The pack is written in a directory beside its final place ("night.ypk.partial") and appears under its name in one
 * step. A part file is kept for every sealed shard there, from which --resume goes on; the final index is the parts,
 * merged.
 */
#ifndef YPK_PACKER_PACK_H
#define YPK_PACKER_PACK_H

#include "class_names.h"
#include "error.h"
#include "intake.h"
#include "pair.h"
#include "report.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct pack_progress {
    const char *split;
    uint64_t done, total;  /* samples of this split */
    uint64_t source_bytes; /* read so far in this split */
};

/* One of the parts that a data set is packed in, on several machines, to be merged. */
struct pack_part {
    uint32_t number, count; /* 0 … count - 1; count 0: not a part, but the whole */
    uint64_t set_hash;      /* select_hash() of the samples before they were cut in parts */
};

struct pack_options {
    struct pair_options source;
    struct intake_options intake;
    double fraction;     /* of each split's samples, see select_fraction() */
    const char *classes; /* --classes: "0,2,7" or "person,car"; NULL: all */
    struct pack_part part;
    const char *task;   /* --task, or NULL: as data.yaml says, else detect */
    const char *output; /* the pack's directory; NULL: "night.ypk" for datasets/night/ and datasets/night/data.yaml */
    uint64_t shard_bytes;
    unsigned jobs; /* 0: cpus_available() */
    bool resume, strict, check_only;
    bool append;        /* to the pack at `output`: what it does not have yet, by name */
    double max_rejects; /* fraction of the samples; over one half, of the label rows too */
    const atomic_bool *cancel;
    void (*on_sources)(void *arg, const struct source_set *sources);
    void (*on_progress)(void *arg, const struct pack_progress *progress); /* from the writer's thread, often */
    void *callback_arg;
};
void pack_options_init(struct pack_options *options); /* the documented defaults */

struct pack_split_result {
    char name[48];
    char same_as[48]; /* "" or the split it shares its samples with */
    struct intake_counts counts;
    uint64_t shard_count, index_bytes, content_hash;
    uint64_t report_rows; /* about its samples; they come split by split, behind those about the data set */
};

struct pack_result {
    char *output; /* where the pack is, or would have been */
    struct pack_split_result splits[8];
    size_t split_count;
    struct intake_counts total; /* of the splits that are not shared, and of what pairing and lists rejected before */
    struct intake_counts added; /* what of it this run has packed: all, unless it appends */
    struct pack_part part;
    uint64_t class_count;
    uint64_t pack_bytes; /* all files of the pack */
    struct report report;
    char *hint; /* about the set as a whole, for people; NULL: none. Not said of what --resume took over */
    bool published;
    bool resumed, restarted; /* an unfinished run was there: continued, or thrown away */
    bool unchanged;          /* nothing to append: the pack is as it was */
    bool resumable;          /* not published, but --resume can go on */
    bool too_many_rejects;   /* stopped for max_rejects, strict or most rows dropped: nothing was published */
};

/* Packs, or (check_only) only checks. 0 when published, checked, or unchanged. ERR_INPUT with result->too_many_rejects
 * set when the policy forbids publication; result->report is filled then too. Deinit the result either way. */
int pack_run(struct pack_result *result, const struct pack_options *options, struct error *error);
void pack_result_deinit(struct pack_result *result);

/* Adds the images that pairing and lists rejected, which are in no split, to the totals, so that these add up. */
void pack_count_unpaired(struct pack_result *result);

/* The set whose smallest id is 1 and whose largest is one too many gets one hint, not a thousand rows alone. `names`:
 * how many classes the data set names. 0 or ERR_MEMORY. */
int pack_hint_ids(struct report *report, struct class_range classes, size_t names);

/* Writes report.tsv and report.json into `directory`. */
int pack_write_report(const struct report *report, const char *directory, struct error *error);

#endif
