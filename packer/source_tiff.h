/* TIFF as a source: the row of the table of formats (source_tiff.c, or source_tiff_absent.c without libtiff). */
#ifndef YPK_PACKER_SOURCE_TIFF_H
#define YPK_PACKER_SOURCE_TIFF_H

#include "source_image.h"

#include <string.h>

/* Either byte order, classic or BigTIFF. */
static inline bool source_tiff_sniff(struct span file) {
    return file.size >= 4 && (memcmp(file.data, "II*\0", 4) == 0 || memcmp(file.data, "MM\0*", 4) == 0 ||
                              memcmp(file.data, "II+\0", 4) == 0 || memcmp(file.data, "MM\0+", 4) == 0);
}

extern const struct source_image_format source_tiff;

#endif
