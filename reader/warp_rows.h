/* The inner loops of warp.c for any matrix, one table a level. All levels give the same bytes. */
#ifndef YPK_READER_WARP_ROWS_H
#define YPK_READER_WARP_ROWS_H

#include "warp.h"

struct warp_rows {
    /* Positions of a row in 1/32 px: (columns[i] + row) >> 5 … */
    void (*affine)(int32_t *positions, const int32_t *columns, int32_t row, int count);

    /* … or, with (x, y, w) = from + step * i in double precision, the integers nearest to 32 x / w and 32 y / w; 0
     * where w is 0. */
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
