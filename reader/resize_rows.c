#include "resize_rows.h"

static void horizontal(int16_t *dst, const uint8_t *src, const struct resize_columns *columns, int groups) {
    const int16_t *const weight = columns->weight;
    for (int i = 0; i < groups * RESIZE_GROUP; i++) {
        const uint8_t *const tap = src + columns->first[i];
        dst[i] = (int16_t)((tap[0] * weight[2 * i] + tap[1] * weight[2 * i + 1]) >> 4);
    }
}

static void vertical(uint8_t *dst, const int16_t *upper, const int16_t *lower, int above, int below, int count) {
    for (int i = 0; i < count; i++)
        dst[i] = (uint8_t)(((upper[i] * above >> 16) + (lower[i] * below >> 16) + 2) >> 2);
}

const struct resize_rows resize_rows_plain = {horizontal, vertical};
