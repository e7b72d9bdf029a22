/*
 * The inner loops of decoding a JPEG to planes, one table a level: coefficients to samples, and rows of samples to rows
 * of R, G and B. They give what libjpeg-turbo's vector code on x86-64 gives, byte for byte: its accurate integer IDCT,
 * smooth
 * ("fancy") upsampling, and conversion. On other machines the library does it.
 */
#ifndef YPK_COMMON_SAMPLES_H
#define YPK_COMMON_SAMPLES_H

#include "cpu.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SAMPLES_LANES = 4, SAMPLES_STEP = 64 };

/* Sums of chroma at half the picture's width, with room for one more on either side. */
struct chroma_row {
    int16_t *cb, *cr;
    bool vertical; /* they are 3 * near + far of two rows; else samples of one row */
};

struct samples {
    int lane_shift; /* 1 << lane_shift blocks are transformed together, at most SAMPLES_LANES */

    /* group: [8][lanes][8] coefficients of blocks side by side. quantiser: [8][lanes][8]. Eight rows of 8 * lanes
     * samples, `pitch` apart, are written. False if a coefficient in the first row is larger than 13 bits, which no
     * picture has: then the library's results depend on what else is in the block. */
    bool (*transform)(uint8_t *to, size_t pitch, const int16_t *group, const int16_t *quantiser);

    /* sums[i] = 3 * near[i] + far[i], and widened[i] = row[i]. Rows are read and written to the next multiple of
     * SAMPLES_STEP. */
    void (*sum)(int16_t *sums, const uint8_t *near, const uint8_t *far, size_t count);
    void (*widen)(int16_t *widened, const uint8_t *row, size_t count);

    /* rgb: `count` bytes each are written. y and chroma are read to the next multiple of SAMPLES_STEP. In chroma rows
     * of half the width, entry -1 and the one behind the last repeat their neighbours. */
    void (*full)(uint8_t *const rgb[3], const uint8_t *y, const uint8_t *cb, const uint8_t *cr, size_t count);
    void (*half)(uint8_t *const rgb[3], const uint8_t *y, const struct chroma_row *chroma, size_t count);
};

/* The fastest of a level; NULL if there is none. */
const struct samples *samples_for(enum cpu_level level);

extern const struct samples samples_avx2, samples_avx512;

#endif
