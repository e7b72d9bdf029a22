/* A published pack as the commands see it: its manifest, and each split opened through the reader. */
#ifndef YPK_TOOLS_SPLITS_H
#define YPK_TOOLS_SPLITS_H

#include "data_yaml.h"
#include "error.h"
#include "yolopack.h"

#include <jansson.h>

struct splits {
    const char *pack; /* path, borrowed */
    json_t *manifest;
};

int splits_open(struct splits *s, const char *pack, struct error *error);
void splits_close(struct splits *s);

/* The `index`-th split in the pack's order; *same_as is the split it shares its samples with, or NULL. NULL past the
 * end. Borrowed from the manifest. */
const char *splits_name(const struct splits *s, size_t index, const char **same_as);

/* Opens one split, with a suggestion if its name is a near miss. */
int splits_dataset(ypk_dataset **out, const struct splits *s, const char *split, struct error *error);

/* The same with options; `size` is set here. */
int splits_dataset_with(ypk_dataset **out, const struct splits *s, ypk_dataset_options options, struct error *error);

/* Makes sure that every class has a name: ERR_CORRUPT if the index lost one. */
int splits_check_classes(const ypk_dataset *dataset, struct error *error);

/* The key points' places in a flip, as the manifest has them; count 0 where the source said none. ERR_CORRUPT if they
 * do not fit the key points of the split's labels. */
int splits_flip_index(struct flip_index *out, const struct splits *s, const ypk_dataset *dataset, struct error *error);

/* Copies what the reader said. Returns its code. */
int splits_error(struct error *to, const ypk_error *from);

#endif
