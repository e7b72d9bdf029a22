/* The image formats of raw data sets, by content and never by suffix: one table row each. */
#ifndef YPK_PACKER_SOURCE_IMAGE_H
#define YPK_PACKER_SOURCE_IMAGE_H

#include "bytes.h"
#include "codec.h"
#include "error.h"
#include "pixels.h"

#include <stdbool.h>
#include <stdint.h>

enum source_format { SOURCE_UNKNOWN, SOURCE_JPEG, SOURCE_PNG, SOURCE_TIFF, SOURCE_BMP, SOURCE_WEBP };

struct source_info {
    uint32_t width, height; /* as stored, before orientation, px */
    uint8_t channels;       /* colour channels: 1 or 3 (alpha not counted, CMYK counts as 3) */
    uint8_t depth;          /* bits a sample when decoded: 8 or 16 */
    uint8_t orientation;    /* 1-8 */
    bool orientation_broken;
    bool keepable;   /* a pack may hold the file's bytes as they are: 8-bit gray, YCbCr or RGB JPEG */
    char detail[48]; /* for people: "JPEG 4:2:0 progressive", "PNG 16-bit gray" */
};

struct source_image_format {
    enum source_format id;
    const char *name; /* "JPEG" */
    bool (*sniff)(struct span file);
    /* Header only; nothing of the size of the picture is allocated. ERR_INPUT, ERR_UNSUPPORTED. */
    int (*probe)(struct codec *codec, struct source_info *out, struct span file, struct error *error);
    /* All pixels, 1 or 3 channels, alpha dropped, orientation not applied. Any damage is ERR_INPUT. `warning` (200
     * bytes) gets a harmless fault worth a note, or "". */
    int (*decode)(struct codec *codec, struct pixels *out, char *warning, struct span file, struct error *error);
};

/* The row whose magic bytes match; NULL if none does. */
const struct source_image_format *source_image_sniff(struct span file);

#endif
