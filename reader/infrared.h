/*
 * Jitter of an infrared plane: polarity, gain, bias and noise, one row at a time, in place.
 *
 *   x' = x or 255 - x;   floor((x' * gain + bias + noise) / 2^20), clipped to 0-255
 *
 * Noise is near-Gaussian: the sum of four 16-bit draws of a counter-based generator, so that a pixel's noise depends on
 * the seed and its place alone. It never exceeds 3.47 standard deviations.
 */
#ifndef YPK_READER_INFRARED_H
#define YPK_READER_INFRARED_H

#include "convert.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* All in units of 2^-20 of a level, as recipes have them. */
struct infrared_jitter {
    bool invert;
    int32_t gain, bias; /* gain 2^20 is 1.0 */
    int32_t noise;      /* standard deviation, >= 0 */
    uint64_t noise_seed;
    uint8_t table[256]; /* set by infrared_init(): all there is to do when noise is 0 */
};

void infrared_init(struct infrared_jitter *jitter, bool invert, int32_t gain, int32_t bias, int32_t noise,
                   uint64_t noise_seed);

/* `place` is the index of the row's first pixel in its frame. */
void infrared_row(uint8_t *row, size_t count, uint64_t place, const struct infrared_jitter *jitter,
                  const struct convert_rows *convert);

#endif
