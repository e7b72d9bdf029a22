/* Is every byte of a pack what it was when it was written? */
#ifndef YPK_PACKER_VERIFY_H
#define YPK_PACKER_VERIFY_H

#include "error.h"

#include <stdatomic.h>
#include <stdint.h>

struct verify_options {
    unsigned jobs; /* shards checked at once; 0: one a core */
    const atomic_bool *cancel;
    /* Called once for every fault found, from any thread, one at a time. `message` names file, sample,
     * expected, found. */
    void (*on_fault)(void *arg, const char *message);
    void (*on_progress)(void *arg, uint64_t done_bytes, uint64_t total_bytes);
    void *callback_arg;
};

struct verify_result {
    uint64_t split_count, shard_count, sample_count, bytes;
    uint64_t damaged_samples;
    uint64_t fault_count;
};

/* Checks manifest, reports and indexes (hashes, every row, and what the manifest says of them), then every byte of
 * every shard in one sequential pass: payloads against their hashes, all else against the shard's structure hash; then
 * the same records through liblmdb (keys, offsets, sizes). Returns 0 if all is whole, ERR_CORRUPT when *result counts
 * faults, other codes if it could not look. */
int verify_pack(struct verify_result *result, const char *pack, const struct verify_options *options,
                struct error *error);

#endif
