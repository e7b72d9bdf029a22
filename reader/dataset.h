/* One opened split: its mapped index, and its shards, mapped when first read. */
#ifndef YPK_READER_DATASET_H
#define YPK_READER_DATASET_H

#include "bytes.h"
#include "error.h"
#include "index.h"
#include "yolopack.h"

#include <stdatomic.h>
#include <stdbool.h>

struct dataset_shard {
    uint64_t file_bytes;
    uint64_t head_hash;
    bool staged;                  /* mapped from the staged copy, when the dataset was opened */
    _Atomic(const uint8_t *) map; /* [file_bytes], NULL until first read; set once, by compare and swap */
};

/* Immutable after open, but for the maps. No lock, so that a child of fork() can use it whatever other threads did. */
struct ypk_dataset {
    char *root;            /* absolute: the process may change its directory */
    char *staged;          /* directory of the staged copy, NULL if there is none */
    uint64_t staged_count; /* shards that are mapped from it */
    char *split;
    char *index_path;
    struct span index_map;
    struct index_view index;
    struct dataset_shard *shards; /* [index.shard_count] */
    uint64_t shards_bytes;        /* sum of file_bytes */
    bool reads;                   /* pread into the caller's scratch instead of mapping; never from the staged copy */
    bool drops;                   /* pages of the pack, never of the staged copy, are given up when they were used */
};

/* dataset_shard.c */

/* The record of `sample`: borrowed from the map, or read into `scratch` (its content replaced). */
int dataset_record(const struct ypk_dataset *dataset, const struct index_sample *sample, struct bytes *scratch,
                   struct span *out, struct error *error);

/* The record is not looked at any more, for now: its pages leave this process (not those of raw pictures, which the
 * window borrows) and with `drops`, unless another process has them mapped, the page cache. A span of it still leads to
 * the same bytes. */
void dataset_record_done(const struct ypk_dataset *dataset, const struct index_sample *sample);

/* Where the shard's file lies: the pack, or its staged copy. Borrowed. */
const char *dataset_shard_directory(const struct ypk_dataset *dataset, uint64_t shard);

#endif
