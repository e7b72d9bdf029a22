/* Images of a data set that are in no sample of a pack: new ones above all. */
#ifndef YPK_PACKER_STRAY_H
#define YPK_PACKER_STRAY_H

#include "error.h"

#include <stdatomic.h>
#include <stdint.h>

struct stray_options {
    const atomic_bool *cancel;
    void (*on_stray)(void *arg, const char *path); /* relative to `base`, in order */
    void *callback_arg;
};

/*
 * Looks for image files under `base` that the pack at `pack`, whose names are relative to it, does not name: in the
 * directories that it names images of, and below them. Passed over are those that its report says were rejected, and
 * what belongs to them: same name but for the suffix and one directory ("imagesIR/train/a.png" for
 * "images/train/a.jpg"). *count: how many. Codes of packed_open() and scan_directory().
 */
int stray_find(uint64_t *count, const char *pack, const char *base, const struct stray_options *options,
               struct error *error);

#endif
