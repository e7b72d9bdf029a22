#include "convert.h"

#include "device_maths.h"

#include <string.h>

static void split(uint8_t *const planes[3], const uint8_t *interleaved, size_t count) {
    for (size_t i = 0; i < count; i++)
        for (int c = 0; c < 3; c++)
            planes[c][i] = interleaved[3 * i + (size_t)c];
}

static void reverse(uint8_t *row, size_t count) {
    for (size_t i = 0; i < count / 2; i++) {
        const uint8_t left = row[i];
        row[i] = row[count - 1 - i];
        row[count - 1 - i] = left;
    }
}

static void blend(uint8_t *row, const uint8_t *other, size_t count, int32_t ratio) {
    for (size_t i = 0; i < count; i++)
        row[i] = (uint8_t)((other[i] * (1 << 20) + (row[i] - other[i]) * ratio) >> 20);
}

void convert_look_up_plain(uint8_t *row, size_t count, const uint8_t table[256]) {
    for (size_t i = 0; i < count; i++)
        row[i] = table[row[i]];
}

const struct convert_rows convert_rows_plain = {split, reverse, blend, convert_look_up_plain};

const struct convert_rows *convert_for(enum cpu_level level) {
#if defined(__x86_64__)
    if (level >= CPU_AVX512)
        return &convert_rows_avx512;
    if (level >= CPU_AVX2)
        return &convert_rows_avx2;
#endif
    (void)level;
    return &convert_rows_plain;
}

/* ---- numbers ----------------------------------------------------------------------------------------------------- */

size_t number_bytes(enum number_type type) {
    return type == NUMBER_U8 ? 1 : type == NUMBER_F32 ? 4 : 2;
}

void number_table_init(struct number_table *table, enum number_type type, float mean, float deviation) {
    table->type = type;
    for (int i = 0; i < 256; i++) {
        if (type == NUMBER_F32)
            table->of.single[i] = device_normalise((uint8_t)i, mean, deviation);
        else if (type != NUMBER_U8)
            table->of.half[i] = (uint16_t)device_number((uint8_t)i, type, mean, deviation);
    }
}

static void single_row(float *dst, size_t step, const uint8_t *levels, size_t count, const float table[256]) {
    for (size_t i = 0; i < count; i++)
        dst[i * step] = table[levels[i]];
}

static void half_row(uint16_t *dst, size_t step, const uint8_t *levels, size_t count, const uint16_t table[256]) {
    for (size_t i = 0; i < count; i++)
        dst[i * step] = table[levels[i]];
}

static void byte_row(uint8_t *dst, size_t step, const uint8_t *levels, size_t count) {
    if (step == 1)
        memcpy(dst, levels, count);
    else
        for (size_t i = 0; i < count; i++)
            dst[i * step] = levels[i];
}

void number_row(void *dst, size_t step, const uint8_t *levels, size_t count, const struct number_table *table) {
    if (table->type == NUMBER_F32)
        single_row(dst, step, levels, count, table->of.single);
    else if (table->type == NUMBER_U8)
        byte_row(dst, step, levels, count);
    else
        half_row(dst, step, levels, count, table->of.half);
}
