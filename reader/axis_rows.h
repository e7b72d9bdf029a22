/* The inner loops of warp.c for scale and translation, one table a level. All levels give the same bytes. */
#ifndef YPK_READER_AXIS_ROWS_H
#define YPK_READER_AXIS_ROWS_H

#include "warp.h"

#include <stdbool.h>

#define AXIS_PAD 32 /* output columns: tables and resampled rows are padded to a multiple of it */

/* Where the columns of an output row come from, for scale and translation: `group` of them share one load. */
struct axis_columns {
    int group;
    int32_t *first;   /* per column: canvas column of the left tap */
    int32_t *base;    /* per group: its leftmost canvas column */
    uint64_t *span;   /* per group: a bit for each canvas column from base on that it takes a tap from; see is_narrow */
    uint8_t *shuffle; /* per column: left and right tap, relative to base; see is_narrow */
    uint8_t *weight;  /* per column: weights of the two taps, together 64 */
    bool is_narrow;   /* no group spans more than the level's reach; else only the plain functions can be called */
};

/* Canvas columns from <= x < to of one row: plane[p][0] is column `from`. */
struct axis_piece {
    const uint8_t *plane[WARP_PLANES];
    int from, to;
};

/* A canvas row: what its pieces do not cover is fill. */
struct axis_line {
    struct axis_piece piece[WARP_TILES];
    int piece_count, plane_count;
    uint8_t fill;
};

struct axis_rows {
    int group; /* columns that share one load */
    int reach; /* canvas columns that it can span */
    int load;  /* canvas columns that it reads, if it spans fewer */

    /* Canvas columns to the output's, groups begin … end - 1 of each plane: with x = first[i],
     * dst[p * pitch + i] = line(p, x) * weight[2i] + line(p, x + 1) * weight[2i + 1], at most 16,320. */
    void (*resample)(uint16_t *dst, size_t pitch, const struct axis_line *line, const struct axis_columns *columns,
                     int begin, int end);

    /* The same where all that the groups load lies in this one piece. */
    void (*resample_piece)(uint16_t *dst, size_t pitch, const struct axis_piece *piece, int plane_count,
                           const struct axis_columns *columns, int begin, int end);

    /* dst[i] = (upper[i] * (32 - weight) + lower[i] * weight + 1024) >> 11. upper and lower are aligned to 64 bytes and
     * can be read up to the next multiple of AXIS_PAD entries. */
    void (*blend)(uint8_t *dst, const uint16_t *upper, const uint16_t *lower, int weight, int count);
};

/* One vertical weight for 16-bit lanes: with b the row that weighs more and a the other,
 * (upper * (32 - weight) + lower * weight + 1024) >> 11 = (b + ((b - a) * factor >> 16) + 32) >> 6
 * for all entries up to 16,320: what is cut off inside never reaches the bit that the end cuts at. */
struct axis_blend {
    const uint16_t *heavy, *light;
    int16_t factor;
};

static inline struct axis_blend axis_blend(const uint16_t *upper, const uint16_t *lower, int weight) {
    if (weight <= 16)
        return (struct axis_blend){upper, lower, (int16_t)(weight * -2048)};
    return (struct axis_blend){lower, upper, (int16_t)((32 - weight) * -2048)};
}

extern const struct axis_rows axis_rows_plain, axis_rows_avx2, axis_rows_avx512;

#endif
