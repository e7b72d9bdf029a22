/* The inner loops of resize.c, one table a level. All levels give the same bytes. */
#ifndef YPK_READER_RESIZE_ROWS_H
#define YPK_READER_RESIZE_ROWS_H

#include "resize.h"

#define RESIZE_GROUP 8 /* result columns that share one 16-byte load */

/* Where result columns come from. Padded to whole groups. */
struct resize_columns {
    int32_t *first;   /* per column: the left tap; the right one is beside it */
    int32_t *base;    /* per group: where its load begins */
    uint8_t *shuffle; /* per column: left and right tap, relative to base */
    int16_t *weight;  /* per column: weights of the two taps, together 2048 */
};

struct resize_rows {
    /* dst[i] = (src[first[i]] * weight[2i] + src[first[i] + 1] * weight[2i + 1]) >> 4 */
    void (*horizontal)(int16_t *dst, const uint8_t *src, const struct resize_columns *columns, int groups);

    /* dst[i] = ((upper[i] * above >> 16) + (lower[i] * below >> 16) + 2) >> 2. upper and lower can be read up to the
     * next multiple of 32 entries. */
    void (*vertical)(uint8_t *dst, const int16_t *upper, const int16_t *lower, int above, int below, int count);
};

extern const struct resize_rows resize_rows_plain, resize_rows_avx2;

#endif
