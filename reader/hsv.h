/*
 * Colour jitter: RGB -> 8-bit HSV -> gains -> RGB, one row of planes at a time, in place.
 *
 * The steps are OpenCV's 8-bit ones (H 0-179): saturation and hue from rounded reciprocals in 1/4096, the way back in
 * single precision, truncated, in the order in which OpenCV's vector code does it. The result equals
 * cvtColor(RGB2HSV), three table look-ups, cvtColor(HSV2RGB) on a machine with AVX2, byte for byte.
 */
#ifndef YPK_READER_HSV_H
#define YPK_READER_HSV_H

#include "cpu.h"

#include <stddef.h>
#include <stdint.h>

/* The three look-up tables: hue' = (hue + hue_shift) mod 180; saturation' and value' = min(255, x * gain >> 15). As
 * numbers and as tables, since each is faster somewhere. */
struct hsv_gains {
    uint8_t hue_shift;   /* 0-179 */
    uint32_t saturation; /* 32768 is 1.0; at most 65536 */
    uint32_t value;
    _Alignas(64) uint8_t hues[192]; /* by hue + 30, where the hue is -30 to 150: what differences give, and no more */
    uint8_t saturations[256], values[256];
};

/* From the drawn r of each gain in units of 2^-20, each in [-2^20, 2^20]: hue moves by floor(180 r), the others are
 * multiplied by 1 + r, rounded down to a multiple of 2^-15, which is what single precision carries exactly. */
struct hsv_gains hsv_gains(int32_t hue, int32_t saturation, int32_t value);

/* r, g, b: `count` bytes each, not overlapping. */
typedef void hsv_row_fn(uint8_t *r, uint8_t *g, uint8_t *b, size_t count, const struct hsv_gains *gains);

/* The fastest one of a level; never NULL. */
hsv_row_fn *hsv_row_for(enum cpu_level level);

/* The levels, for tests and for each other's last few pixels. */
hsv_row_fn hsv_row_plain, hsv_row_avx2, hsv_row_avx512;

#endif
