/*
 * Baseline JPEG straight to planes, for the pictures that data sets are made of: Huffman-coded, one scan, Y or YCbCr at
 * 4:4:4, 4:2:2 or 4:2:0, whole to the last bit. libjpeg has read the header; the pixels are its own, byte for byte.
 *
 *   entropy.h ──a few MCUs' coefficients──> transform ──rows of Y, Cb, Cr in a ring──> spread, convert ──> planes
 *
 * Everything between the file and the planes stays in the first two caches.
 */
#ifndef YPK_COMMON_BASELINE_H
#define YPK_COMMON_BASELINE_H

#include "cpu.h"

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <jpeglib.h>

/* Tables and scratch of one thread. */
struct baseline;

/* NULL: no memory. */
struct baseline *baseline_create(void);
void baseline_destroy(struct baseline **baseline);

/* Bytes that are held for pictures up to a width. */
size_t baseline_scratch_bytes(uint32_t width);

/* Where to: three planes R,G,B, or one of luma; rows `stride` bytes apart. */
struct baseline_planes {
    uint8_t *plane[3];
    size_t stride;
    int count;
};

enum baseline_result {
    BASELINE_DONE,
    BASELINE_NOT_TAKEN, /* another kind of picture, one that is damaged, or a machine without the instructions: the
                           planes hold anything, and the library may be asked */
    BASELINE_NO_MEMORY,
};

/* header: jpeg_read_header() is through, and nothing else was done; its memory source is left as it is. */
enum baseline_result baseline_decode(struct baseline *b, const struct baseline_planes *out,
                                     const struct jpeg_decompress_struct *header, enum cpu_level level);

#endif
