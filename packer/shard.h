/*
 * Writes one shard: an LMDB file that never changes once it is sealed.
 *
 * One unnamed database; keys are 8-byte big-endian sample ids, appended in order; values are records (record.h), all long
 * enough to lie contiguous in overflow pages, so that after sealing each has a fixed offset in the file. Commits happen
 * at payload-byte boundaries and the map size is constant: the same records give the same file.
 */
#ifndef YPK_PACKER_SHARD_H
#define YPK_PACKER_SHARD_H

#include "bytes.h"
#include "error.h"
#include "index.h"

#include <stdint.h>

struct shard_writer;

/* Starts the file `path`, removing what an interrupted run left there. `limit_bytes` is the shard size of the options:
 * the map is that, one largest record and what LMDB needs beside. */
int shard_writer_create(struct shard_writer **out, const char *path, uint64_t limit_bytes, struct error *error);

/* True if a record of that size still belongs here: the first always does, the next while the pages in use stay within
 * limit_bytes. A pure function of the records so far. */
int shard_writer_fits(const struct shard_writer *w, uint64_t record_bytes);

int shard_writer_add(struct shard_writer *w, uint64_t sample_id, struct span record, struct error *error);

/* Commits, syncs and reads back: fills `offsets[i]` with the absolute file offset of the i-th record added (checked
 * against the bytes in the file) and *out with length and hashes. The writer is closed either way. */
int shard_writer_seal(struct shard_writer **w, struct index_shard *out, uint64_t *offsets, struct error *error);

/* Closes and removes the unfinished file. */
void shard_writer_abort(struct shard_writer **w);

uint64_t shard_writer_count(const struct shard_writer *w);

/* "LMDB 0.9.24: …" */
const char *shard_library_version(void);

/* One record found in a sealed shard through liblmdb. */
struct shard_record {
    uint64_t sample_id;
    uint64_t offset;    /* absolute, in the file */
    uint64_t size;      /* of the record */
};

/* Walks a sealed shard with liblmdb in key order. Only for a file whose length and structure are known to be whole, or in
 * a process that can afford liblmdb's trust in its files. `visit` returning non-zero stops the walk with that code. */
int shard_walk(const char *path, int (*visit)(void *arg, const struct shard_record *record), void *arg,
               struct error *error);

/* Hashes of a shard file in one sequential pass: calls `payload` for each payload region in file order (its bytes as one
 * span) and hashes everything between into out->structure_hash; fills file_bytes and head_hash. `regions` are sorted by
 * offset and lie inside the file. */
struct shard_region { uint64_t offset, size; };
int shard_hash_file(struct index_shard *out, const char *path, const struct shard_region *regions, uint64_t count,
                    int (*payload)(void *arg, uint64_t region, struct span bytes), void *arg, struct error *error);

#endif
