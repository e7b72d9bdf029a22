/* What opening and closing a dataset asks of its shards. */
#ifndef YPK_READER_DATASET_SHARD_H
#define YPK_READER_DATASET_SHARD_H

#include "dataset.h"
#include "error.h"

#include <stdint.h>

/* Is the file in the pack the one that the index describes? ERR_CORRUPT. */
int dataset_shard_probe(const struct ypk_dataset *dataset, uint64_t shard, struct error *error);

/* Maps the staged file of a shard. One that is not there is no error: the shard is read from the pack. */
int dataset_shard_map_staged(const struct ypk_dataset *dataset, uint64_t shard, struct error *error);

void dataset_shard_unmap(struct dataset_shard *shard);

#endif
