/* BMP as a source: the row of the table of formats (source_bmp.c, or source_bmp_absent.c without stb_image.h). */
#ifndef YPK_PACKER_SOURCE_BMP_H
#define YPK_PACKER_SOURCE_BMP_H

#include "source_image.h"

/* "BM" alone begins many a text: the header's own size, which has one of a few values, has to fit too. */
static inline bool source_bmp_sniff(struct span file) {
    if (file.size < 18 || file.data[0] != 'B' || file.data[1] != 'M')
        return false;
    uint32_t header_bytes = load_u32(file.data + 14);
    return header_bytes >= 12 && header_bytes <= 256;
}

extern const struct source_image_format source_bmp;

#endif
