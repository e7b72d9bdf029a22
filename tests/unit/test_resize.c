#include "resize.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static uint32_t next(uint32_t *state) {
    return (*state = *state * 1664525u + 1013904223u) >> 8;
}

static struct pixels random_pixels(uint32_t *state, int width, int height, int channels) {
    struct pixels p;
    cr_assert_eq(pixels_init(&p, (uint32_t)width, (uint32_t)height, channels, 8, NULL), 0);
    for (size_t i = 0; i < p.stride * p.height; i++)
        p.data[i] = (uint8_t)next(state);
    return p;
}

/* [channels][height][width]; each row is resized into a block of its own size, so that a step outside is seen. */
static uint8_t *run(enum cpu_level level, const struct pixels *in, int width, int height) {
    struct resize *resize = NULL;
    cr_assert_eq(resize_create(&resize, (int)in->width, width, level, NULL), 0);
    const size_t plane = (size_t)width * (size_t)height;
    uint8_t *const out = malloc(plane * in->channels);
    uint8_t *const planes[3] = {out, in->channels == 3 ? out + plane : NULL,
                                in->channels == 3 ? out + 2 * plane : NULL};
    resize_planes(resize, planes, (size_t)width, width, height, in);
    resize_destroy(&resize);
    cr_assert_null(resize);
    return out;
}

static int clamp(int v, int low, int high) {
    return v < low ? low : v > high ? high : v;
}

/* OpenCV's fixed point, written down once more without tables. */
static int expected(const struct pixels *in, int channel, int x, int y, int width, int height) {
    const float fx = (float)((x + 0.5) * (1.0 / ((double)width / (int)in->width)) - 0.5);
    const float fy = (float)((y + 0.5) * (1.0 / ((double)height / (int)in->height)) - 0.5);
    int sx = (int)floorf(fx);
    const int sy = (int)floorf(fy);
    float px = fx - (float)sx;
    const float py = fy - (float)sy;
    if (sx < 0 || sx >= (int)in->width - 1) {
        sx = clamp(sx, 0, (int)in->width - 1);
        px = 0;
    }
    int sum = 0;
    for (int k = 0; k < 2; k++) {
        const uint8_t *const row = in->data + (size_t)clamp(sy + k, 0, (int)in->height - 1) * in->stride;
        const int left = row[sx * in->channels + channel];
        const int right = row[clamp(sx + 1, 0, (int)in->width - 1) * in->channels + channel];
        const int h = (left * (int)lrintf((1 - px) * 2048) + right * (int)lrintf(px * 2048)) >> 4;
        sum += h * (int)lrintf((k ? py : 1 - py) * 2048) >> 16;
    }
    return (sum + 2) >> 2;
}

Test(resize, follows_the_definition) {
    static const int sizes[][4] = {
        {64, 48, 32, 24}, {64, 48, 40, 30}, {64, 48, 100, 75}, {17, 5, 40, 12}, {33, 20, 16, 9}, {100, 10, 7, 10},
        {10, 100, 10, 7}, {2, 2, 31, 33},   {1, 1, 9, 9},      {1, 20, 5, 40},  {200, 30, 3, 3}, {50, 40, 51, 41},
        {16, 16, 15, 15}, {400, 8, 99, 4},  {640, 6, 214, 2},  {63, 9, 64, 9},  {64, 9, 65, 9},
    };
    uint32_t state = 1;
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
        for (int channels = 1; channels <= 3; channels += 2)
            for (enum cpu_level level = CPU_PLAIN; level <= cpu_level(); level++) {
                const int width = sizes[i][2], height = sizes[i][3];
                struct pixels in = random_pixels(&state, sizes[i][0], sizes[i][1], channels);
                uint8_t *const out = run(level, &in, width, height);
                for (int c = 0; c < channels; c++)
                    for (int y = 0; y < height; y++)
                        for (int x = 0; x < width; x++)
                            cr_assert_eq(out[(c * height + y) * width + x], expected(&in, c, x, y, width, height),
                                         "level %d, sizes %zu, channel %d at %d, %d", (int)level, i, c, x, y);
                free(out);
                pixels_deinit(&in);
            }
}

Test(resize, every_level_gives_the_same_bytes) {
    uint32_t state = 2;
    for (int round = 0; round < 300; round++) {
        struct pixels in =
            random_pixels(&state, 1 + (int)(next(&state) % 300), 1 + (int)(next(&state) % 40), round & 1 ? 3 : 1);
        const int width = 1 + (int)(next(&state) % 200), height = 1 + (int)(next(&state) % 50);
        uint8_t *const plain = run(CPU_PLAIN, &in, width, height);
        for (enum cpu_level level = CPU_AVX2; level <= cpu_level(); level++) {
            uint8_t *const fast = run(level, &in, width, height);
            cr_assert_eq(memcmp(plain, fast, (size_t)(width * height * in.channels)), 0, "%u x %u to %d x %d", in.width,
                         in.height, width, height);
            free(fast);
        }
        free(plain);
        pixels_deinit(&in);
    }
}

Test(resize, equal_sizes_copy) {
    uint32_t state = 3;
    struct pixels in = random_pixels(&state, 67, 9, 3);
    uint8_t *const out = run(cpu_level(), &in, 67, 9);
    for (int c = 0; c < 3; c++)
        for (int i = 0; i < 67 * 9; i++)
            cr_assert_eq(out[c * 67 * 9 + i], in.data[3 * i + c]);
    free(out);
    pixels_deinit(&in);
}

/* One handle serves pictures of different sizes one after the other. */
Test(resize, tables_follow_the_sizes) {
    uint32_t state = 4;
    struct resize *resize = NULL;
    cr_assert_eq(resize_create(&resize, 100, 64, cpu_level(), NULL), 0);
    for (int round = 0; round < 50; round++) {
        struct pixels in = random_pixels(&state, 1 + (int)(next(&state) % 100), 12, 1);
        const int width = 1 + (int)(next(&state) % 64);
        uint8_t out[64 * 8];
        uint8_t *const planes[1] = {out};
        resize_planes(resize, planes, (size_t)width, width, 8, &in);
        for (int y = 0; y < 8; y++)
            for (int x = 0; x < width; x++)
                cr_assert_eq(out[y * width + x], expected(&in, 0, x, y, width, 8));
        pixels_deinit(&in);
    }
    resize_destroy(&resize);
}

Test(resize, limits_are_checked) {
    struct resize *resize = NULL;
    cr_assert_eq(resize_create(&resize, 0, 10, CPU_PLAIN, NULL), ERR_ARGUMENT);
    cr_assert_eq(resize_create(&resize, 10, RESIZE_LIMIT + 1, CPU_PLAIN, NULL), ERR_ARGUMENT);
    cr_assert_null(resize);
}
