#include "warp.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct picture {
    uint8_t *plane[3]; /* each its own block, so that AddressSanitizer sees a step outside */
    int width, height;
};

static uint32_t next(uint32_t *state) {
    return (*state = *state * 1664525u + 1013904223u) >> 8;
}
static int between(uint32_t *state, int low, int high) {
    return low + (int)(next(state) % (uint32_t)(high - low + 1));
}

static struct picture picture(uint32_t *state, int width, int height) {
    struct picture p = {.width = width, .height = height};
    for (int c = 0; c < 3; c++) {
        p.plane[c] = malloc((size_t)width * (size_t)height);
        for (int i = 0; i < width * height; i++)
            p.plane[c][i] = (uint8_t)next(state);
    }
    return p;
}

static void put(struct warp_source *source, const struct picture *p, int x, int y) {
    struct warp_tile *const t = &source->tile[source->tile_count++];
    *t = (struct warp_tile){.stride = (size_t)p->width, .x = x, .y = y, .width = p->width, .height = p->height};
    for (int c = 0; c < 3; c++)
        t->plane[c] = p->plane[c];
}

/* Four pictures around (x, y). */
static void mosaic(struct warp_source *source, struct picture pictures[4], uint32_t *state, int x, int y) {
    *source = (struct warp_source){.plane_count = 3, .fill = 114};
    for (int i = 0; i < 4; i++) {
        pictures[i] = picture(state, between(state, 1, i & 1 ? 70 : x), between(state, 1, i & 2 ? 60 : y));
        put(source, &pictures[i], i & 1 ? x : x - pictures[i].width, i & 2 ? y : y - pictures[i].height);
    }
}

static void release(struct picture pictures[4]) {
    for (int i = 0; i < 4; i++)
        for (int c = 0; c < 3; c++)
            free(pictures[i].plane[c]);
}

static int pixel(const struct warp_source *source, int plane, int x, int y) {
    for (int i = 0; i < source->tile_count; i++) {
        const struct warp_tile *const t = &source->tile[i];
        if (x >= t->x && x < t->x + t->width && y >= t->y && y < t->y + t->height)
            return t->plane[plane][(size_t)(y - t->y) * t->stride + (size_t)(x - t->x)];
    }
    return source->fill;
}

/* The definition: bilinear at a position in 1/32 px of an endless canvas. */
static int bilinear(const struct warp_source *source, int plane, int x32, int y32) {
    const int x = x32 >> 5, y = y32 >> 5, a = x32 & 31, b = y32 & 31;
    const int upper = pixel(source, plane, x, y) * (32 - a) + pixel(source, plane, x + 1, y) * a;
    const int lower = pixel(source, plane, x, y + 1) * (32 - a) + pixel(source, plane, x + 1, y + 1) * a;
    return (upper * (32 - b) + lower * b + 512) >> 10;
}

static uint8_t *run(enum cpu_level level, const struct warp_source *source, const double matrix[9], int perspective,
                    int width, int height) {
    struct warp *warp = NULL;
    cr_assert_eq(warp_create(&warp, width, 160, level, NULL), 0);
    warp_begin(warp, source, matrix, perspective, width, height);
    uint8_t *out = malloc((size_t)(width * height * 3));
    for (int y = 0; y < height; y++) {
        uint8_t *rows[3] = {NULL};
        uint8_t *own[3];
        for (int c = 0; c < source->plane_count; c++)
            rows[c] = own[c] = malloc((size_t)width);
        warp_row(warp, y, rows);
        for (int c = 0; c < source->plane_count; c++) {
            memcpy(out + ((size_t)c * (size_t)height + (size_t)y) * (size_t)width, own[c], (size_t)width);
            free(own[c]);
        }
    }
    warp_destroy(&warp);
    cr_assert_null(warp);
    return out;
}

static void same_on_all_levels(const struct warp_source *source, const double matrix[9], int perspective, int width,
                               int height) {
    uint8_t *const plain = run(CPU_PLAIN, source, matrix, perspective, width, height);
    for (enum cpu_level level = CPU_AVX2; level <= cpu_level(); level++) {
        uint8_t *const fast = run(level, source, matrix, perspective, width, height);
        cr_assert_eq(memcmp(plain, fast, (size_t)(width * height * source->plane_count)), 0,
                     "level %d, %d x %d, matrix %g %g %g  %g %g %g  %g %g %g", (int)level, width, height, matrix[0],
                     matrix[1], matrix[2], matrix[3], matrix[4], matrix[5], matrix[6], matrix[7], matrix[8]);
        free(fast);
    }
    free(plain);
}

Test(warp, identity_is_the_canvas) {
    uint32_t state = 1;
    struct warp_source source;
    struct picture pictures[4];
    mosaic(&source, pictures, &state, 40, 30);
    const double matrix[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};
    for (enum cpu_level level = CPU_PLAIN; level <= cpu_level(); level++)
        for (int perspective = 0; perspective < 2; perspective++) {
            uint8_t *const out = run(level, &source, matrix, perspective, 101, 90);
            for (int c = 0; c < 3; c++)
                for (int y = 0; y < 90; y++)
                    for (int x = 0; x < 101; x++)
                        cr_assert_eq(out[(c * 90 + y) * 101 + x], pixel(&source, c, x, y));
            free(out);
        }
    release(pictures);
}

/* The axis path against the definition, with positions computed as OpenCV does. */
Test(warp, axis_follows_the_definition) {
    uint32_t state = 7;
    for (int round = 0; round < 60; round++) {
        struct warp_source source;
        struct picture pictures[4];
        mosaic(&source, pictures, &state, between(&state, 1, 80), between(&state, 1, 70));
        const double scale = between(&state, 100, 1900) / 1000.0;
        const double matrix[9] = {scale, 0, between(&state, -60, 60) / 7.0, 0, scale, between(&state, -60, 60) / 3.0, 0,
                                  0,     1};
        const double d = 1.0 / (scale * scale), step = scale * d;
        const int width = between(&state, 1, 90), height = between(&state, 1, 40);
        uint8_t *const out = run(CPU_PLAIN, &source, matrix, 0, width, height);
        for (int y = 0; y < height; y++)
            for (int x = 0; x < width; x++) {
                const double from_x = 0.0 * y + (-step * matrix[2] - 0.0 * matrix[5]);
                const double from_y = step * y + (-0.0 * matrix[2] - step * matrix[5]);
                const int x32 = ((int)lrint(from_x * 1024) + 16 + (int)lrint(step * x * 1024)) >> 5;
                const int y32 = ((int)lrint(from_y * 1024) + 16) >> 5;
                for (int c = 0; c < 3; c++)
                    cr_assert_eq(out[(c * height + y) * width + x], bilinear(&source, c, x32, y32),
                                 "round %d at %d, %d", round, x, y);
            }
        free(out);
        release(pictures);
    }
}

Test(warp, every_level_gives_the_same_bytes) {
    uint32_t state = 3;
    for (int round = 0; round < 400; round++) {
        struct warp_source source;
        struct picture pictures[4];
        mosaic(&source, pictures, &state, between(&state, 1, 80), between(&state, 1, 80));
        source.plane_count = round % 5 ? 3 : 1;
        source.tile_count = between(&state, 0, 4);
        /* halves and doubles exactly, too: there a group of columns spans all that one load has */
        const double exact[] = {0.5, 1, 2};
        const double scale = round % 4 ? between(&state, 50, 2500) / 1000.0 : exact[round / 4 % 3];
        const double turn = between(&state, -400, 400) / 100.0;
        const double tx = between(&state, -90, 90) / 1.7, ty = between(&state, -90, 90) / 1.3;
        const double axis[9] = {scale, 0, tx, 0, scale, ty, 0, 0, 1};
        const double affine[9] = {
            scale * cos(turn), scale * sin(turn), tx, -scale * sin(turn), scale * cos(turn), ty, 0, 0, 1};
        double perspective[9];
        memcpy(perspective, affine, sizeof affine);
        perspective[6] = between(&state, -20, 20) / 1000.0;
        perspective[7] = between(&state, -20, 20) / 1000.0;
        const int width = between(&state, 1, 150), height = between(&state, 1, 50);
        same_on_all_levels(&source, axis, 0, width, height);
        same_on_all_levels(&source, affine, 0, width, height);
        same_on_all_levels(&source, perspective, 1, width, height);
        release(pictures);
    }
}

Test(warp, hostile_matrices_are_harmless) {
    uint32_t state = 11;
    struct warp_source source;
    struct picture pictures[4];
    mosaic(&source, pictures, &state, 50, 50);
    const double matrices[][9] = {
        {0, 0, 0, 0, 0, 0, 0, 0, 0},
        {-1, 0, 40, 0, 1, 0, 0, 0, 1},
        {1, 0, 0, 0, -1, 40, 0, 0, 1},
        {1e-9, 0, 0, 0, 1e-9, 0, 0, 0, 1},
        {1e9, 0, 0, 0, 1e9, 0, 0, 0, 1},
        {1, 0, 1e12, 0, 1, -1e12, 0, 0, 1},
        {1, 1, -1000, 1, 1.000001, 1000, 0, 0, 1}, /* positions of column and row are both as large as can be */
        {1, 2, 1e300, 3, 4, -1e300, 1e300, 1, 1},
        {INFINITY, 0, 0, 0, 1, 0, 0, 0, 1},
        {NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN},
    };
    for (size_t i = 0; i < sizeof matrices / sizeof matrices[0]; i++)
        for (int perspective = 0; perspective < 2; perspective++)
            same_on_all_levels(&source, matrices[i], perspective, 77, 33);
    release(pictures);
}

Test(warp, rows_in_any_order) {
    uint32_t state = 5;
    struct warp_source source;
    struct picture pictures[4];
    mosaic(&source, pictures, &state, 60, 60);
    const double matrix[9] = {0.8, 0, 3.25, 0, 0.8, -4.5, 0, 0, 1};
    uint8_t *const expected = run(cpu_level(), &source, matrix, 0, 64, 64);
    struct warp *warp = NULL;
    cr_assert_eq(warp_create(&warp, 64, 160, cpu_level(), NULL), 0);
    warp_begin(warp, &source, matrix, 0, 64, 64);
    for (int i = 0; i < 500; i++) {
        uint8_t own[3][64];
        uint8_t *const rows[3] = {own[0], own[1], own[2]};
        const int y = between(&state, 0, 63);
        warp_row(warp, y, rows);
        for (int c = 0; c < 3; c++)
            cr_assert_arr_eq(own[c], expected + (c * 64 + y) * 64, 64);
    }
    warp_destroy(&warp);
    free(expected);
    release(pictures);
}

Test(warp, limits_are_checked) {
    struct warp *warp = NULL;
    struct error error;
    cr_assert_eq(warp_create(&warp, 0, 10, CPU_PLAIN, &error), ERR_ARGUMENT);
    cr_assert_eq(warp_create(&warp, 10, WARP_LIMIT + 1, CPU_PLAIN, &error), ERR_ARGUMENT);
    cr_assert_null(warp);
    warp_destroy(&warp);
}
