#include "hsv.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static uint32_t next(uint32_t *state) {
    return (*state = *state * 1664525u + 1013904223u) >> 8;
}

Test(hsv, gains_from_draws) {
    struct hsv_gains g = hsv_gains(0, 0, 0);
    cr_assert(g.hue_shift == 0 && g.saturation == 32768 && g.value == 32768);
    g = hsv_gains(-1, -(1 << 20), 1 << 20);
    cr_assert_eq(g.hue_shift, 179, "a little less than nothing is one step down");
    cr_assert(g.saturation == 0 && g.value == 65536);
    g = hsv_gains(1 << 20, 31, 32);
    cr_assert(g.hue_shift == 0 && g.saturation == 32768 && g.value == 32769);
    cr_assert_eq(hsv_gains(1 << 19, 0, 0).hue_shift, 90);
    cr_assert_eq(hsv_gains(-(1 << 19), 0, 0).hue_shift, 90);
}

/* Colours whose way through HSV is known: OpenCV 4.11 gives the same. */
Test(hsv, known_colours) {
    uint8_t r[5] = {255, 0, 114, 10, 200}, g[5] = {0, 0, 114, 200, 100}, b[5] = {0, 0, 114, 30, 50};
    struct hsv_gains gains = hsv_gains(0, 0, 0);
    hsv_row_plain(r, g, b, 5, &gains);
    cr_assert(r[0] == 255 && g[0] == 0 && b[0] == 0);
    cr_assert(r[1] == 0 && g[1] == 0 && b[1] == 0);
    cr_assert(r[2] == 114 && g[2] == 114 && b[2] == 114);
    cr_assert(r[3] == 10 && g[3] == 200 && b[3] == 29, "truncation on the way back");
    cr_assert(r[4] == 200 && g[4] == 100 && b[4] == 50);
    gains = hsv_gains(1 << 19, 0, 0); /* half a turn: red becomes cyan */
    uint8_t r2 = 255, g2 = 0, b2 = 0;
    hsv_row_plain(&r2, &g2, &b2, 1, &gains);
    cr_assert(r2 == 0 && g2 == 254 && b2 == 255);
    gains = hsv_gains(0, -(1 << 20), 0); /* no saturation: gray of the highest channel */
    r2 = 10, g2 = 200, b2 = 30;
    hsv_row_plain(&r2, &g2, &b2, 1, &gains);
    cr_assert(r2 == 200 && g2 == 200 && b2 == 200);
    gains = hsv_gains(0, 0, -(1 << 20));
    hsv_row_plain(&r2, &g2, &b2, 1, &gains);
    cr_assert(r2 == 0 && g2 == 0 && b2 == 0);
}

/* The tables say what the numbers say. */
Test(hsv, tables_of_gains) {
    const struct hsv_gains g = hsv_gains(5243, -734003, 419430);
    for (int hue = -30; hue <= 150; hue++)
        cr_assert_eq(g.hues[hue + 30], (hue + 180 + g.hue_shift) % 180);
    for (uint32_t x = 0; x < 256; x++) {
        const uint32_t saturation = x * g.saturation >> 15, value = x * g.value >> 15;
        cr_assert_eq(g.saturations[x], saturation < 255 ? saturation : 255);
        cr_assert_eq(g.values[x], value < 255 ? value : 255);
    }
}

static void compare_levels(uint8_t *const plane[3], size_t count, const struct hsv_gains *gains) {
    enum { MOST = 65536 };
    static uint8_t expected[3][MOST], got[3][MOST];
    cr_assert(count <= MOST);
    for (int c = 0; c < 3; c++)
        memcpy(expected[c], plane[c], count);
    hsv_row_plain(expected[0], expected[1], expected[2], count, gains);
    for (enum cpu_level level = CPU_AVX2; level <= cpu_level(); level++) {
        for (int c = 0; c < 3; c++)
            memcpy(got[c], plane[c], count);
        hsv_row_for(level)(got[0], got[1], got[2], count, gains);
        for (int c = 0; c < 3; c++)
            cr_assert_eq(memcmp(got[c], expected[c], count), 0, "level %d, channel %d", (int)level, c);
    }
}

static void compare_all_greens_and_blues(uint8_t red, const struct hsv_gains *gains) {
    enum { COUNT = 65536 };
    static uint8_t colours[3][COUNT];
    for (int i = 0; i < COUNT; i++) {
        colours[0][i] = red;
        colours[1][i] = (uint8_t)i;
        colours[2][i] = (uint8_t)(i >> 8);
    }
    compare_levels((uint8_t *[3]){colours[0], colours[1], colours[2]}, COUNT, gains);
}

/* All 2^24 colours as they are: every hue and saturation that can be. Some planes of them with the extreme gains. */
Test(hsv, every_level_gives_the_same_bytes) {
    const int32_t one = 1 << 20;
    const int32_t draws[][3] = {{0, 0, 0},
                                {5243, 300000, -200000},
                                {-15729, -734003, 419430},
                                {one, one, one},
                                {-one, -one, -one},
                                {one / 2, -31, 32},        /* half a turn, 90 */
                                {one / 2 - 1, one, -one},  /* 89 */
                                {-1, -one, one},           /* 179 */
                                {5826, one - 1, 1 - one}}; /* 1 */
    for (size_t d = 0; d < sizeof draws / sizeof draws[0]; d++) {
        const struct hsv_gains gains = hsv_gains(draws[d][0], draws[d][1], draws[d][2]);
        for (int red = 0; red < 256; red += d ? 17 : 1)
            compare_all_greens_and_blues((uint8_t)red, &gains);
    }
}

/* Every hue with every saturation and value: 255 times the gains. Where the exact result is an integer, the order of
 * rounding decides, and it must be the same. */
Test(hsv, every_level_comes_back_the_same) {
    enum { HUES = 180, COUNT = 192 }; /* whole steps of every level */
    uint8_t plane[3][COUNT];
    for (int i = 0; i < COUNT; i++) {
        const int hue = i % HUES;
        const uint8_t rising = (uint8_t)((hue % 30 * 255 + 15) / 30), falling = 255 - rising;
        const uint8_t sixths[6][3] = {{255, rising, 0},  {falling, 255, 0}, {0, 255, rising},
                                      {0, falling, 255}, {rising, 0, 255},  {255, 0, falling}};
        for (int c = 0; c < 3; c++)
            plane[c][i] = sixths[hue / 30][c];
    }
    for (int32_t saturation = 0; saturation < 256; saturation++)
        for (int32_t value = 0; value < 256; value++) {
            const int32_t s = (saturation * 32768 + 254) / 255, v = (value * 32768 + 254) / 255;
            const struct hsv_gains gains = hsv_gains(0, s * 32 - (1 << 20), v * 32 - (1 << 20));
            cr_assert(gains.saturations[255] == saturation && gains.values[255] == value);
            compare_levels((uint8_t *[3]){plane[0], plane[1], plane[2]}, COUNT, &gains);
        }
}

Test(hsv, odd_lengths_stay_inside) {
    uint32_t state = 1;
    for (enum cpu_level level = CPU_PLAIN; level <= cpu_level(); level++)
        for (size_t n = 0; n < 200; n++) {
            uint8_t *plane[3], *expected[3];
            for (int c = 0; c < 3; c++) {
                plane[c] = malloc(n + 1); /* AddressSanitizer sees a step outside */
                expected[c] = malloc(n + 1);
                for (size_t i = 0; i < n; i++)
                    plane[c][i] = (uint8_t)next(&state);
                memcpy(expected[c], plane[c], n);
            }
            const struct hsv_gains gains = hsv_gains((int32_t)(next(&state) & 0xfffff), 1234567 - 1000000, -99999);
            hsv_row_plain(expected[0], expected[1], expected[2], n, &gains);
            hsv_row_for(level)(plane[0], plane[1], plane[2], n, &gains);
            for (int c = 0; c < 3; c++) {
                cr_assert_eq(memcmp(plane[c], expected[c], n), 0, "level %d, %zu pixels", (int)level, n);
                free(plane[c]);
                free(expected[c]);
            }
        }
}

/* What hsv.c rests on: in double precision 1 - s * d rounds to single as a fused multiply-add would. */
Test(hsv, double_precision_equals_fused) {
    for (int saturation = 0; saturation < 256; saturation++)
        for (int hue = 0; hue < 180; hue++) {
            const float s = (float)saturation * (1.0f / 255.0f), h = (float)hue * (6.0f / 180.0f);
            const float distances[] = {h - 1.0f, 5.0f - h, 1.0f - h, h - 3.0f, 3.0f - h, h - 5.0f};
            for (int i = 0; i < 6; i++)
                if (distances[i] >= 0.0f && distances[i] <= 1.0f)
                    cr_assert_eq((float)(1.0 - (double)s * (double)distances[i]), fmaf(-s, distances[i], 1.0f));
        }
}
