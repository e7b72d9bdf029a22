/*
 * Writes one shard: an LMDB file that never changes once it is sealed.
 *
 * One unnamed database; keys are 8-byte big-endian sample ids, appended in order; values are records (record.h), all
 * long enough to lie contiguous in overflow pages, so that after sealing each has a fixed offset in the file. Commits
 * happen at payload-byte boundaries and the map size is constant: the same records give the same file.
 */
#ifndef YPK_PACKER_SHARD_H
#define YPK_PACKER_SHARD_H

#include "bytes.h"
#include "error.h"
#include "index.h"
#include "record.h"

#include <stdbool.h>
#include <stdint.h>

struct shard_writer;

/* Starts the file `path`, removing what an interrupted run left there. `limit_bytes` is the shard size of the options:
 * the map is that, or one largest record, and what LMDB needs beside. ERR_SPACE if the address space is too small. */
int shard_writer_create(struct shard_writer **out, const char *path, uint64_t limit_bytes, struct error *error);

/* True if a record of that size still belongs here: the first always does, the next while the pages in use stay within
 * limit_bytes. A pure function of the records so far. */
bool shard_writer_fits(const struct shard_writer *w, uint64_t record_bytes);

/* `record` is one as record.h describes it, header and padding included, its id being sample_id; ids count up by one
 * (ERR_ARGUMENT otherwise). A full disk is ERR_SPACE with the bytes needed and free. */
int shard_writer_add(struct shard_writer *w, uint64_t sample_id, struct span record, struct error *error);

/* Commits, syncs and reads back: fills `offsets[i]` with the absolute file offset of the i-th record added (checked
 * against the bytes in the file) and *out with length, hashes, first_id and sample_count; first_sample, the row in an
 * index, is left 0 for the caller. The writer is closed either way. */
int shard_writer_seal(struct shard_writer **w, struct index_shard *out, uint64_t *offsets, struct error *error);

/* Closes and removes the unfinished file. */
void shard_writer_abort(struct shard_writer **w);

uint64_t shard_writer_count(const struct shard_writer *w);

/* "LMDB 0.9.24: …" */
const char *shard_library_version(void);

/* One record found in a sealed shard through liblmdb. */
struct shard_record {
    uint64_t sample_id;
    uint64_t offset; /* absolute, in the file */
    uint64_t size;   /* of the record */
};

/* Walks a sealed shard with liblmdb in key order. A file shorter than its LMDB header says is ERR_CORRUPT. Only for a
 * file whose length and structure are known to be whole, or in a process that can afford liblmdb's trust in its files.
 * `visit` returning non-zero stops the walk with that code. */
int shard_walk(const char *path, int (*visit)(void *arg, const struct shard_record *record), void *arg,
               struct error *error);

/* Where a record lies in its shard. */
struct shard_extent {
    uint64_t offset;              /* absolute, in the file */
    uint64_t row;                 /* the caller's own number for it */
    uint32_t rgb_bytes, ir_bytes; /* payloads */
};

/* The extents of a shard that the index has, sorted, into *out (malloc'ed); `row` is the index's. */
int shard_extents_list(struct shard_extent **out, const struct index_view *view, const struct index_shard *shard,
                       struct error *error);

/* Sorts by offset: LMDB may put a later record into an earlier, freed page. */
void shard_extents_sort(struct shard_extent *extents, uint64_t count);

/* What the pass saw of one record. */
struct shard_found {
    uint8_t header[RECORD_HEADER_BYTES];
    uint64_t rgb_hash, ir_hash; /* XXH3-64 of the payload bytes; 0 where there are none */
};

/* Hashes a shard file in one sequential pass through a small buffer (no map: a failing disk is an error, not a signal).
 * `record` is called for each extent in file order; returning non-zero stops the pass with that code. Everything
 * outside of payloads goes into out->structure_hash; file_bytes and head_hash (the first two pages) are filled too.
 * `extents` are sorted; one that overlaps its neighbour or leaves the file is ERR_CORRUPT. */
int shard_hash_file(struct index_shard *out, const char *path, uint32_t page_bytes, const struct shard_extent *extents,
                    uint64_t count,
                    int (*record)(void *arg, const struct shard_extent *extent, const struct shard_found *found),
                    void *arg, struct error *error);

/* The same pass, which also writes the file to `to_fd`, an empty file `to_path` that may have its space reserved. */
int shard_copy_file(struct index_shard *out, const char *path, int to_fd, const char *to_path, uint32_t page_bytes,
                    const struct shard_extent *extents, uint64_t count,
                    int (*record)(void *arg, const struct shard_extent *extent, const struct shard_found *found),
                    void *arg, struct error *error);

/* Fills file_bytes and head_hash only. */
int shard_head(struct index_shard *out, const char *path, uint32_t page_bytes, struct error *error);

#endif
