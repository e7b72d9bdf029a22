/* The inner loops of resize.c, one table a level. All levels give the same bytes. */
#ifndef YPK_READER_RESIZE_ROWS_H
#define YPK_READER_RESIZE_ROWS_H

#include "resize.h"

#define RESIZE_CHANNELS 3
#define RESIZE_PAD 64 /* result columns: tables and rows between the two steps are padded to a multiple of it */

/* Where result columns come from: `group` of them, as many as the level says, share one load. */
struct resize_columns {
    int32_t *first;   /* per column: the left tap; the right one is beside it */
    int32_t *base;    /* per group: where its load begins */
    uint8_t *shuffle; /* per column: left tap relative to base, a byte that is zero, right tap, zero; zero: 0x80 */
    int16_t *weight;  /* per column: weights of the two taps, together 2048 */
};

/* One source row and what becomes of it, [channel]. */
struct resize_line {
    const uint8_t *source[RESIZE_CHANNELS];
    int16_t *result[RESIZE_CHANNELS]; /* aligned to 64 bytes */
    int channels;
};

struct resize_rows {
    int group; /* columns that share one load */
    int load;  /* source columns that it reads */

    /* result[i] = (source[first[i]] * weight[2i] + source[first[i] + 1] * weight[2i + 1]) >> 4, in each channel, for
     * `count` columns and up to the next multiple of RESIZE_PAD */
    void (*horizontal)(const struct resize_line *line, const struct resize_columns *columns, int count);

    /* dst[i] = ((upper[i] * above >> 16) + (lower[i] * below >> 16) + 2) >> 2. upper and lower are aligned to 64 bytes
     * and can be read up to the next multiple of RESIZE_PAD entries. */
    void (*vertical)(uint8_t *dst, const int16_t *upper, const int16_t *lower, int above, int below, int count);
};

extern const struct resize_rows resize_rows_plain, resize_rows_avx2, resize_rows_avx512;

#endif
