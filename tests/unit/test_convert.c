#include "convert.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LONGEST = 300 };

static uint32_t next(uint32_t *state) {
    return (*state = *state * 1664525u + 1013904223u) >> 8;
}

static uint8_t *random_bytes(uint32_t *state, size_t n) {
    uint8_t *p = malloc(n + !n);
    for (size_t i = 0; i < n; i++)
        p[i] = (uint8_t)next(state);
    return p;
}

Test(convert, split) {
    uint32_t state = 1;
    for (enum cpu_level level = CPU_PLAIN; level <= cpu_level(); level++)
        for (size_t n = 0; n < LONGEST; n++) {
            const struct convert_rows *const rows = convert_for(level);
            uint8_t *const in = random_bytes(&state, 3 * n);
            uint8_t *const r = random_bytes(&state, n), *const g = random_bytes(&state, n),
                           *const b = random_bytes(&state, n);
            uint8_t *const planes[3] = {r, g, b};
            rows->split(planes, in, n);
            for (size_t i = 0; i < n; i++)
                cr_assert(r[i] == in[3 * i] && g[i] == in[3 * i + 1] && b[i] == in[3 * i + 2], "level %d, %zu pixels",
                          (int)level, n);
            free(in), free(r), free(g), free(b);
        }
}

Test(convert, reverse) {
    uint32_t state = 2;
    for (enum cpu_level level = CPU_PLAIN; level <= cpu_level(); level++)
        for (size_t n = 0; n < LONGEST; n++) {
            uint8_t *const row = random_bytes(&state, n), *const before = malloc(n + 1);
            memcpy(before, row, n);
            convert_for(level)->reverse(row, n);
            for (size_t i = 0; i < n; i++)
                cr_assert_eq(row[i], before[n - 1 - i], "level %d, %zu bytes", (int)level, n);
            free(row), free(before);
        }
}

Test(convert, blend_truncates_like_double_precision) {
    uint32_t state = 3;
    const int32_t ratios[] = {0, 1, 333333, 1 << 19, (1 << 20) - 1, 1 << 20};
    for (enum cpu_level level = CPU_PLAIN; level <= cpu_level(); level++)
        for (size_t k = 0; k < sizeof ratios / sizeof ratios[0]; k++)
            for (size_t n = 0; n < LONGEST; n++) {
                uint8_t *const row = random_bytes(&state, n), *const other = random_bytes(&state, n);
                uint8_t *const before = malloc(n + 1);
                memcpy(before, row, n);
                convert_for(level)->blend(row, other, n, ratios[k]);
                const double r = ratios[k] / 1048576.0;
                for (size_t i = 0; i < n; i++)
                    cr_assert_eq(row[i], (uint8_t)(before[i] * r + other[i] * (1 - r)));
                free(row), free(other), free(before);
            }
}

Test(convert, look_up) {
    uint32_t state = 4;
    uint8_t *const table = random_bytes(&state, 256);
    for (enum cpu_level level = CPU_PLAIN; level <= cpu_level(); level++)
        for (size_t n = 0; n < LONGEST; n++) {
            uint8_t *const row = random_bytes(&state, n), *const before = malloc(n + 1);
            memcpy(before, row, n);
            convert_for(level)->look_up(row, n, table);
            for (size_t i = 0; i < n; i++)
                cr_assert_eq(row[i], table[before[i]]);
            free(row), free(before);
        }
    free(table);
}

static float value_of_half(uint16_t bits) {
    const int exponent = bits >> 10 & 31, fraction = bits & 1023;
    const float magnitude = exponent ? ldexpf((float)(1024 + fraction), exponent - 25) : ldexpf((float)fraction, -24);
    return bits & 0x8000 ? -magnitude : magnitude;
}

static float value_of_bf16(uint16_t bits) {
    const uint32_t all = (uint32_t)bits << 16;
    float v;
    memcpy(&v, &all, sizeof v);
    return v;
}

Test(convert, numbers_are_the_nearest) {
    const float means[] = {0.0f, 0.485f, 0.5f, 0.99999f}, deviations[] = {1.0f, 0.229f, 1e-3f, 1e4f};
    for (int m = 0; m < 4; m++) {
        struct number_table f32, f16, bf16;
        number_table_init(&f32, NUMBER_F32, means[m], deviations[m]);
        number_table_init(&f16, NUMBER_F16, means[m], deviations[m]);
        number_table_init(&bf16, NUMBER_BF16, means[m], deviations[m]);
        for (int i = 0; i < 256; i++) {
            const float v = ((float)i / 255.0f - means[m]) / deviations[m];
            cr_assert_eq(f32.of.single[i], v);
            const uint16_t h = f16.of.half[i], b = bf16.of.half[i];
            for (int d = -1; d <= 1; d += 2) {
                if (h & 0x7fff)
                    cr_assert_leq(fabsf(value_of_half(h) - v), fabsf(value_of_half((uint16_t)(h + d)) - v), "%d", i);
                if (b & 0x7fff)
                    cr_assert_leq(fabsf(value_of_bf16(b) - v), fabsf(value_of_bf16((uint16_t)(b + d)) - v), "%d", i);
            }
        }
    }
}

/* Bit patterns that PyTorch gives for x / 255. */
Test(convert, known_numbers) {
    struct number_table t;
    number_table_init(&t, NUMBER_F16, 0, 1);
    cr_assert(t.of.half[0] == 0 && t.of.half[255] == 0x3c00 && t.of.half[1] == 0x1c04 && t.of.half[128] == 0x3804);
    number_table_init(&t, NUMBER_BF16, 0, 1);
    cr_assert(t.of.half[0] == 0 && t.of.half[255] == 0x3f80 && t.of.half[1] == 0x3b81 && t.of.half[128] == 0x3f01);
}

Test(convert, half_limits) {
    struct number_table t;
    number_table_init(&t, NUMBER_F16, 0.0f, 1e-6f);
    cr_assert_eq(t.of.half[255], 0x7c00, "1e6 is infinite in half precision");
    number_table_init(&t, NUMBER_F16, 2.0f, 1e-6f);
    cr_assert_eq(t.of.half[0], 0xfc00);
    number_table_init(&t, NUMBER_F16, 0.0f, 1e9f);
    cr_assert_eq(t.of.half[255], 0, "1e-9 is nothing");
    number_table_init(&t, NUMBER_F16, 0.0f, 4e6f);
    cr_assert_eq(value_of_half(t.of.half[255]), ldexpf(4, -24), "2.5e-7 is a subnormal");
}

Test(convert, rows_of_numbers) {
    const uint8_t levels[4] = {0, 1, 128, 255};
    struct number_table t;
    float f[12] = {0};
    number_table_init(&t, NUMBER_F32, 0, 1);
    number_row(f, 1, levels, 4, &t);
    cr_assert(f[0] == 0.0f && f[1] == 1.0f / 255.0f && f[2] == 128.0f / 255.0f && f[3] == 1.0f);
    number_row(f + 1, 3, levels, 3, &t);
    cr_assert(f[1] == 0.0f && f[4] == 1.0f / 255.0f && f[7] == 128.0f / 255.0f);
    uint8_t bytes[12] = {9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9};
    number_table_init(&t, NUMBER_U8, 0, 1);
    number_row(bytes, 3, levels, 4, &t);
    cr_assert(bytes[0] == 0 && bytes[3] == 1 && bytes[6] == 128 && bytes[9] == 255 && bytes[1] == 9);
    number_row(bytes, 1, levels, 4, &t);
    cr_assert_arr_eq(bytes, levels, 4);
    cr_assert(number_bytes(NUMBER_U8) == 1 && number_bytes(NUMBER_F16) == 2 && number_bytes(NUMBER_BF16) == 2 &&
              number_bytes(NUMBER_F32) == 4);
}
