/*
 * Rows of bytes on their way in and out: planes and interleaved pixels, mirrored rows, blends, look-ups, and the last
 * step to the number type of a batch.
 */
#ifndef YPK_READER_CONVERT_H
#define YPK_READER_CONVERT_H

#include "cpu.h"

#include <stddef.h>
#include <stdint.h>

struct convert_rows {
    /* R,G,B interleaved to three planes. */
    void (*split)(uint8_t *const planes[3], const uint8_t *interleaved, size_t count);

    /* Mirrors a row in place. */
    void (*reverse)(uint8_t *row, size_t count);

    /* row = (row * ratio + other * (2^20 - ratio)) >> 20: mixup, with ratio 0 … 2^20. */
    void (*blend)(uint8_t *row, const uint8_t *other, size_t count, int32_t ratio);

    /* row[i] = table[row[i]] */
    void (*look_up)(uint8_t *row, size_t count, const uint8_t table[256]);
};

/* The fastest of a level; never NULL. */
const struct convert_rows *convert_for(enum cpu_level level);

/* The levels, for tests and for each other's last few pixels. */
extern const struct convert_rows convert_rows_plain, convert_rows_avx2, convert_rows_avx512;

/* What levels have in common. AVX2 looks up like plain code, since its sixteen shuffles take as long as the loads; the
 * other three were measured to be no faster with AVX-512. */
void convert_look_up_plain(uint8_t *row, size_t count, const uint8_t table[256]);
void convert_split_avx2(uint8_t *const planes[3], const uint8_t *interleaved, size_t count);
void convert_reverse_avx2(uint8_t *row, size_t count);
void convert_blend_avx2(uint8_t *row, const uint8_t *other, size_t count, int32_t ratio);

enum number_type { NUMBER_U8, NUMBER_F16, NUMBER_BF16, NUMBER_F32 };

/* Bytes of one number. */
size_t number_bytes(enum number_type type);

/* What each of the 256 levels of one channel becomes. */
struct number_table {
    enum number_type type;
    union {
        uint16_t half[256]; /* F16 and BF16, as bits */
        float single[256];
    } of;
};

/* (x / 255 - mean) / deviation in single precision, rounded to the nearest (halves to even) for the 16-bit types. U8
 * has no table: levels stay as they are. mean 0 and deviation 1 give x / 255 as PyTorch computes it. */
void number_table_init(struct number_table *table, enum number_type type, float mean, float deviation);

/* Writes `count` levels as numbers, `step` numbers apart: 1 for a plane, the channels of interleaved pixels. */
void number_row(void *dst, size_t step, const uint8_t *levels, size_t count, const struct number_table *table);

#endif
