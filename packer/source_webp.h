/* WebP as a source: the row of the table of formats (source_webp.c, or source_webp_absent.c without libwebp). */
#ifndef YPK_PACKER_SOURCE_WEBP_H
#define YPK_PACKER_SOURCE_WEBP_H

#include "source_image.h"

#include <string.h>

static inline bool source_webp_sniff(struct span file) {
    return file.size >= 12 && memcmp(file.data, "RIFF", 4) == 0 && memcmp(file.data + 8, "WEBP", 4) == 0;
}

extern const struct source_image_format source_webp;

#endif
