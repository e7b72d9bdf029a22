/* The indexes of a pack rebuilt when its LMDB files were compacted. */
#ifndef YPK_PACKER_REINDEX_H
#define YPK_PACKER_REINDEX_H

#include "error.h"

/* Rebuilds record offsets and shard hashes of every index from the shards (after a compacting copy): records are found
 * through liblmdb, checked by their hashes against the index, and index and manifest are replaced atomically. The
 * content hash stays. ERR_CORRUPT, naming the sample, if a record is missing or differs. */
int reindex_pack(const char *pack, struct error *error);

#endif
