#include "infrared.h"

#define ONE (1 << 20)

static uint8_t level(int64_t v) {
    return v < 0 ? 0 : v >= (int64_t)256 * ONE ? 255 : (uint8_t)(v / ONE);
}

void infrared_init(struct infrared_jitter *jitter, bool invert, int32_t gain, int32_t bias, int32_t noise,
                   uint64_t noise_seed) {
    jitter->invert = invert;
    jitter->gain = gain;
    jitter->bias = bias;
    jitter->noise = noise;
    jitter->noise_seed = noise_seed;
    for (int i = 0; i < 256; i++)
        jitter->table[i] = level((int64_t)(invert ? 255 - i : i) * gain + bias);
}

/* SplitMix64's output function on a counter (Steele, Lea, Flood 2014). */
static uint64_t mix(uint64_t v) {
    v = (v ^ v >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    v = (v ^ v >> 27) * UINT64_C(0x94d049bb133111eb);
    return v ^ v >> 31;
}

/* Mean 0, standard deviation 37837 (65536 / sqrt 3), within 131070. */
static int64_t draw(uint64_t seed, uint64_t place) {
    const uint64_t bits = mix(seed + (place + 1) * UINT64_C(0x9e3779b97f4a7c15));
    const uint64_t sum = (bits & 0xffff) + (bits >> 16 & 0xffff) + (bits >> 32 & 0xffff) + (bits >> 48);
    return (int64_t)sum - 131070;
}

void infrared_row(uint8_t *row, size_t count, uint64_t place, const struct infrared_jitter *jitter,
                  const struct convert_rows *convert) {
    if (jitter->noise == 0) {
        convert->look_up(row, count, jitter->table);
        return;
    }
    for (size_t i = 0; i < count; i++) {
        const int64_t x = jitter->invert ? 255 - row[i] : row[i];
        const int64_t noise = draw(jitter->noise_seed, place + i) * jitter->noise / 37837;
        row[i] = level(x * jitter->gain + jitter->bias + noise);
    }
}
