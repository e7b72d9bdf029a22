#include "resize_rows.h"

static void horizontal(const struct resize_line *line, const struct resize_columns *columns, int count) {
    const int16_t *const weight = columns->weight;
    for (int c = 0; c < line->channels; c++)
        for (int i = 0; i < count; i++) {
            const uint8_t *const tap = line->source[c] + columns->first[i];
            line->result[c][i] = (int16_t)((tap[0] * weight[2 * i] + tap[1] * weight[2 * i + 1]) >> 4);
        }
}

static void vertical(uint8_t *dst, const int16_t *upper, const int16_t *lower, int above, int below, int count) {
    for (int i = 0; i < count; i++)
        dst[i] = (uint8_t)(((upper[i] * above >> 16) + (lower[i] * below >> 16) + 2) >> 2);
}

const struct resize_rows resize_rows_plain = {.group = 1, .load = 1, .horizontal = horizontal, .vertical = vertical};
