/* Decoded pictures: interleaved rows, 8 or 16 bits a sample. */
#ifndef YPK_COMMON_PIXELS_H
#define YPK_COMMON_PIXELS_H

#include "error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* [height][width][channels], row-major; samples are uint8 (depth 8) or host-endian uint16 (depth 16). */
struct pixels {
    uint8_t *data;
    size_t stride; /* bytes from row to row */
    uint32_t width, height;
    uint8_t channels; /* 1 gray/IR, 3 R,G,B */
    uint8_t depth;    /* 8 or 16 */
};

/* Allocates tightly packed rows (stride = width * channels * depth / 8), uninitialised. ERR_MEMORY, or ERR_INPUT if the
 * size overflows. pixels_deinit() frees and zeroes. */
int pixels_init(struct pixels *out, uint32_t width, uint32_t height, int channels, int depth, struct error *error);
void pixels_deinit(struct pixels *p);

/* A new picture turned upright as EXIF orientation 1-8 asks (the rows and columns a viewer would show). */
int pixels_orient(struct pixels *out, const struct pixels *in, int orientation, struct error *error);

/* 3 -> 1: luma by JPEG's (BT.601 full range) weights in 16-bit fixed point, as libjpeg computes Y. 1 ->
 * 3: replicated. */
int pixels_convert(struct pixels *out, const struct pixels *in, int channels, struct error *error);

/* Box-filtered reduction to exactly width x height (each <= the source's): the area average, exact, rounded once.
 * ERR_ARGUMENT for a size that is 0 or larger than the source's; ERR_INPUT for a 16-bit row over 65,537 px. */
int pixels_shrink(struct pixels *out, const struct pixels *in, uint32_t width, uint32_t height, struct error *error);

/* The same conversions for one row of 8-bit pixels: gray[width] -> rgb[width][3], and back. They do not overlap. */
void pixels_spread_row(uint8_t *restrict rgb, const uint8_t *restrict gray, uint32_t width);
void pixels_luma_row(uint8_t *restrict gray, const uint8_t *restrict rgb, uint32_t width);

/* One row of counts to 8 bits: (v - low) * 255 / (high - low), rounded half up, 0 below low and 255 from high on; all 0
 * if high <= low. low and high are at most 65,535. */
void pixels_scale_row(uint8_t *restrict to, const uint16_t *restrict counts, uint32_t width, uint32_t low,
                      uint32_t high);

/* True if all three channels are equal in every pixel. */
bool pixels_equal_channels(const struct pixels *p);

#endif
