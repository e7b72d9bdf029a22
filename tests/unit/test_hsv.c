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

static void compare_all_greens_and_blues(uint8_t red, hsv_row_fn *fast, const struct hsv_gains *gains) {
    enum { COUNT = 65536 };
    static uint8_t a[3][COUNT], b[3][COUNT];
    for (int i = 0; i < COUNT; i++) {
        a[0][i] = red;
        a[1][i] = (uint8_t)i;
        a[2][i] = (uint8_t)(i >> 8);
    }
    memcpy(b, a, sizeof b);
    hsv_row_plain(a[0], a[1], a[2], COUNT, gains);
    fast(b[0], b[1], b[2], COUNT, gains);
    cr_assert_arr_eq(a, b, sizeof a);
}

/* All colours as they are, every 16th plane of them with gains that reach every hue, saturation and value. */
Test(hsv, every_level_gives_the_same_bytes, .timeout = 240) {
    const int32_t draws[][3] = {
        {0, 0, 0}, {5243, 300000, -200000}, {-15729, -734003, 419430}, {1 << 20, 1 << 20, 1 << 20}};
    for (enum cpu_level level = CPU_AVX2; level <= cpu_level(); level++)
        for (size_t d = 0; d < sizeof draws / sizeof draws[0]; d++) {
            const struct hsv_gains gains = hsv_gains(draws[d][0], draws[d][1], draws[d][2]);
            for (int red = 0; red < 256; red += d ? 16 : 1)
                compare_all_greens_and_blues((uint8_t)red, hsv_row_for(level), &gains);
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
