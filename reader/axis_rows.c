#include "axis_rows.h"

#include <limits.h>

static int line_at(const struct axis_line *line, int plane, int x) {
    for (int i = 0; i < line->piece_count; i++)
        if (x >= line->piece[i].from && x < line->piece[i].to)
            return line->piece[i].plane[plane][x - line->piece[i].from];
    return line->fill;
}

static void resample(uint16_t *dst, size_t pitch, const struct axis_line *line, const struct axis_columns *columns,
                     int begin, int end) {
    for (int p = 0; p < line->plane_count; p++)
        for (int i = begin * columns->group; i < end * columns->group; i++) {
            const int x = columns->first[i];
            dst[(size_t)p * pitch + (size_t)i] = (uint16_t)(line_at(line, p, x) * columns->weight[2 * i] +
                                                            line_at(line, p, x + 1) * columns->weight[2 * i + 1]);
        }
}

static void resample_piece(uint16_t *dst, size_t pitch, const struct axis_piece *piece, int plane_count,
                           const struct axis_columns *columns, int begin, int end) {
    const uint8_t *const weight = columns->weight;
    for (int p = 0; p < plane_count; p++)
        for (int i = begin * columns->group; i < end * columns->group; i++) {
            const uint8_t *const tap = piece->plane[p] + (columns->first[i] - piece->from);
            dst[(size_t)p * pitch + (size_t)i] = (uint16_t)(tap[0] * weight[2 * i] + tap[1] * weight[2 * i + 1]);
        }
}

static void blend(uint8_t *dst, const uint16_t *upper, const uint16_t *lower, int weight, int count) {
    for (int i = 0; i < count; i++)
        dst[i] = (uint8_t)((upper[i] * (32 - weight) + lower[i] * weight + 1024) >> 11);
}

const struct axis_rows axis_rows_plain = {
    .group = 8,
    .reach = INT_MAX,
    .load = 1,
    .resample = resample,
    .resample_piece = resample_piece,
    .blend = blend,
};
