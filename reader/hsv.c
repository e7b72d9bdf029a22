#include "hsv.h"

static int clamp_int(int64_t v, int low, int high) {
    return v < low ? low : v > high ? high : (int)v;
}

struct hsv_gains hsv_gains(int32_t hue, int32_t saturation, int32_t value) {
    const int64_t one = 1 << 20;
    /* Shifts of negative numbers are avoided: a whole turn is added first. */
    const int64_t shift = (180 * (int64_t)hue + 180 * one) / one;
    struct hsv_gains gains = {
        .hue_shift = (uint8_t)(shift % 180),
        .saturation = (uint32_t)clamp_int((one + saturation) / 32, 0, 65536),
        .value = (uint32_t)clamp_int((one + value) / 32, 0, 65536),
    };
    for (unsigned i = 0; i < sizeof gains.hues; i++)
        gains.hues[i] = (uint8_t)((i + 150 + gains.hue_shift) % 180);
    for (unsigned i = 0; i < 256; i++) {
        gains.saturations[i] = (uint8_t)clamp_int((int64_t)i * gains.saturation >> 15, 0, 255);
        gains.values[i] = (uint8_t)clamp_int((int64_t)i * gains.value >> 15, 0, 255);
    }
    return gains;
}

/* round(numerator / x), as OpenCV's tables of 1/4096 have it; 0 is never asked with a non-zero factor. */
static int reciprocal(int numerator, int x) {
    return x == 0 ? 0 : (2 * numerator + x) / (2 * x);
}

/* How far one channel falls from `value`: distance 0 leaves it, 1 takes the whole saturation away. 1 - s * distance is
 * rounded once, as a fused multiply-add does it; in double precision the product is exact, and for these operands
 * rounding twice gives the same (tests/unit/test_hsv.c tries all of them). */
static uint8_t channel(float value, float saturation, float distance) {
    distance = distance < 0.0f ? 0.0f : distance > 1.0f ? 1.0f : distance;
    const float rest = (float)(1.0 - (double)saturation * (double)distance);
    const float v = value * rest;
    return (uint8_t)(v * 255.0f);
}

static float larger(float a, float b) {
    return a > b ? a : b;
}
static float smaller(float a, float b) {
    return a < b ? a : b;
}

void hsv_row_plain(uint8_t *red, uint8_t *green, uint8_t *blue, size_t count, const struct hsv_gains *gains) {
    for (size_t i = 0; i < count; i++) {
        const int r = red[i], g = green[i], b = blue[i];
        const int highest = r > g ? (r > b ? r : b) : (g > b ? g : b);
        const int lowest = r < g ? (r < b ? r : b) : (g < b ? g : b);
        const int diff = highest - lowest;

        const int turn = highest == r ? g - b : highest == g ? b - r + 2 * diff : r - g + 4 * diff;
        /* 180 added before the division: it rounds down, and the sum is never negative. */
        int hue = (turn * reciprocal(180 * 4096 / 6, diff) + 2048 + 180 * 4096) / 4096;
        hue = (hue + gains->hue_shift) % 180;

        int saturation = (diff * reciprocal(255 * 4096, highest) + 2048) / 4096;
        saturation = clamp_int(((int64_t)saturation * gains->saturation) >> 15, 0, 255);
        const int value = clamp_int(((int64_t)highest * gains->value) >> 15, 0, 255);

        const float h = (float)hue * (6.0f / 180.0f);
        const float s = (float)saturation * (1.0f / 255.0f);
        const float v = (float)value * (1.0f / 255.0f);
        red[i] = channel(v, s, smaller(h - 1.0f, 5.0f - h));
        green[i] = channel(v, s, larger(1.0f - h, h - 3.0f));
        blue[i] = channel(v, s, larger(3.0f - h, h - 5.0f));
    }
}

hsv_row_fn *hsv_row_for(enum cpu_level level) {
#if defined(__x86_64__)
    if (level >= CPU_AVX512)
        return hsv_row_avx512;
    if (level >= CPU_AVX2)
        return hsv_row_avx2;
#endif
    (void)level;
    return hsv_row_plain;
}
