/* Which split of a pack is meant, and whether its index is the one that the manifest means. */
#ifndef YPK_READER_DATASET_SPLIT_H
#define YPK_READER_DATASET_SPLIT_H

#include "dataset.h"
#include "error.h"

/* Sets split and index_path: of the wanted split, or (NULL) of "train" or the only one. ERR_CORRUPT if the pack is not
 * whole, ERR_NOT_FOUND with a suggestion. */
int dataset_split_choose(struct ypk_dataset *dataset, const char *wanted, struct error *error);

/* Of an open index: ERR_CORRUPT if it took the name of another, of the test set, or of a pack with the
 * same pictures. */
int dataset_split_check(const struct ypk_dataset *dataset, struct error *error);

#endif
