/* The inner loops of warp.c, one table a level. All levels give the same bytes. */
#ifndef YPK_READER_WARP_ROWS_H
#define YPK_READER_WARP_ROWS_H

#include "warp.h"

#define WARP_GROUP 8 /* output columns that share one 16-byte load */

/* Where the columns of an output row come from, for scale and translation. Padded to an even number of groups. */
struct warp_columns {
    int32_t *first;   /* per column: canvas column of the left tap */
    int32_t *base;    /* per group: its leftmost canvas column */
    uint8_t *shuffle; /* per column: left and right tap, relative to base; only when every group spans 16 or less */
    uint8_t *weight;  /* per column: weights of the two taps, together 32 */
};

struct warp_rows {
    /* dst[i] = src[first[i] - origin] * weight[2i] + src[first[i] + 1 - origin] * weight[2i + 1], for the columns of
     * groups begin … end - 1. src[0] is canvas column `origin`; base … base + 15 of each group can be read. */
    void (*resample)(uint16_t *dst, const uint8_t *src, int origin, const struct warp_columns *columns, int begin,
                     int end);

    /* dst[i] = (upper[i] * (32 - weight) + lower[i] * weight + 512) >> 10. upper and lower can be read up to the next
     * multiple of 64 entries. */
    void (*blend)(uint8_t *dst, const uint16_t *upper, const uint16_t *lower, int weight, int count);

    /* Positions of a row in 1/32 px: (columns[i] + row) >> 5 … */
    void (*affine)(int32_t *positions, const int32_t *columns, int32_t row, int count);

    /* … or, with (x, y, w) = from + step * i in double precision, the integers nearest to 32 x / w and 32 y / w; 0 where
     * w is 0. */
    void (*perspective)(int32_t *xs, int32_t *ys, const double from[3], const double step[3], int count);

    /* Bilinear samples at (xs[i], ys[i]) in 1/32 px of the canvas, `count` of them into each plane's row. */
    void (*sample)(uint8_t *const rows[WARP_PLANES], const struct warp_source *source, const int32_t *xs,
                   const int32_t *ys, int count);
};

/* The rows from column i on; rows that are not there stay NULL. */
struct warp_place {
    uint8_t *row[WARP_PLANES];
};

static inline struct warp_place warp_place(uint8_t *const rows[WARP_PLANES], int planes, int i) {
    struct warp_place at = {{NULL}};
    for (int p = 0; p < planes; p++)
        at.row[p] = rows[p] + i;
    return at;
}

extern const struct warp_rows warp_rows_plain, warp_rows_avx2;

#endif
