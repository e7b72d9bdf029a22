#include "convert.h"

#include <string.h>

static void split(uint8_t *const planes[3], const uint8_t *interleaved, size_t count) {
    for (size_t i = 0; i < count; i++)
        for (int c = 0; c < 3; c++)
            planes[c][i] = interleaved[3 * i + (size_t)c];
}

static void join(uint8_t *interleaved, const uint8_t *const planes[3], size_t count) {
    for (size_t i = 0; i < count; i++)
        for (int c = 0; c < 3; c++)
            interleaved[3 * i + (size_t)c] = planes[c][i];
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

const struct convert_rows convert_rows_plain = {split, join, reverse, blend, convert_look_up_plain};

const struct convert_rows *convert_for(enum cpu_level level) {
#if defined(__x86_64__)
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

static uint32_t bits_of(float v) {
    uint32_t bits;
    memcpy(&bits, &v, sizeof bits);
    return bits;
}

/* Drops the low `count` bits, to the nearest, halves to even. */
static uint32_t round_bits(uint32_t bits, int count) {
    const uint32_t odd = bits >> count & 1;
    return (bits + ((UINT32_C(1) << (count - 1)) - 1) + odd) >> count;
}

static uint16_t to_bf16(float v) {
    return (uint16_t)round_bits(bits_of(v), 16);
}

static uint16_t to_f16(float v) {
    const uint32_t bits = bits_of(v), sign = bits >> 16 & 0x8000, magnitude = bits & 0x7fffffff;
    if (magnitude >= 0x47800000) /* 65536 and more, infinity */
        return (uint16_t)(sign | 0x7c00);
    if (magnitude >= 0x38800000) /* normal; rounding may carry up to infinity, which is right */
        return (uint16_t)(sign | round_bits(magnitude - 0x38000000, 13));
    const int shift = 126 - (int)(magnitude >> 23); /* subnormal: in units of 2^-24 */
    if (shift > 24)
        return (uint16_t)sign;
    return (uint16_t)(sign | round_bits((magnitude & 0x7fffff) | 0x800000, shift));
}

void number_table_init(struct number_table *table, enum number_type type, float mean, float deviation) {
    table->type = type;
    for (int i = 0; i < 256; i++) {
        const float v = ((float)i / 255.0f - mean) / deviation;
        if (type == NUMBER_F32)
            table->of.single[i] = v;
        else if (type != NUMBER_U8)
            table->of.half[i] = type == NUMBER_F16 ? to_f16(v) : to_bf16(v);
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
