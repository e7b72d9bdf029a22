#include "warp_rows.h"

#include "nearest.h"

static void affine(int32_t *positions, const int32_t *columns, int32_t row, int count) {
    for (int i = 0; i < count; i++)
        positions[i] = (columns[i] + row) >> 5;
}

static void perspective(int32_t *xs, int32_t *ys, const double from[3], const double step[3], int count) {
    for (int i = 0; i < count; i++) {
        const double w = from[2] + step[2] * i;
        const double scale = w != 0.0 ? 32.0 / w : 0.0;
        xs[i] = nearest_int((from[0] + step[0] * i) * scale);
        ys[i] = nearest_int((from[1] + step[1] * i) * scale);
    }
}

static inline int is_inside(const struct warp_tile *t, int x, int y) {
    return x >= t->x && y >= t->y && x - t->x < t->width && y - t->y < t->height;
}

static const struct warp_tile *tile_at(const struct warp_source *source, int x, int y) {
    for (int i = 0; i < source->tile_count; i++)
        if (is_inside(&source->tile[i], x, y))
            return &source->tile[i];
    return NULL;
}

/* The four taps of one pixel, each from the tile it falls in. */
static void sample_across(uint8_t *const rows[WARP_PLANES], const struct warp_source *source, int column, int x, int y,
                          const int weight[4]) {
    int sum[WARP_PLANES] = {512, 512, 512};
    for (int tap = 0; tap < 4; tap++) {
        const int tx = x + (tap & 1), ty = y + (tap >> 1);
        const struct warp_tile *t = tile_at(source, tx, ty);
        for (int p = 0; p < source->plane_count; p++) {
            const int v = t ? t->plane[p][(size_t)(ty - t->y) * t->stride + (size_t)(tx - t->x)] : source->fill;
            sum[p] += v * weight[tap];
        }
    }
    for (int p = 0; p < source->plane_count; p++)
        rows[p][column] = (uint8_t)(sum[p] >> 10);
}

static void sample(uint8_t *const rows[WARP_PLANES], const struct warp_source *source, const int32_t *xs,
                   const int32_t *ys, int count) {
    const struct warp_tile *t = NULL;
    for (int i = 0; i < count; i++) {
        const int x = xs[i] >> 5, y = ys[i] >> 5, a = xs[i] & 31, b = ys[i] & 31;
        const int weight[4] = {(32 - a) * (32 - b), a * (32 - b), (32 - a) * b, a * b};
        if (!t || !is_inside(t, x, y) || !is_inside(t, x + 1, y + 1)) {
            t = tile_at(source, x, y);
            if (!t || !is_inside(t, x + 1, y + 1)) {
                sample_across(rows, source, i, x, y, weight);
                continue;
            }
        }
        const size_t offset = (size_t)(y - t->y) * t->stride + (size_t)(x - t->x);
        for (int p = 0; p < source->plane_count; p++) {
            const uint8_t *const s = t->plane[p] + offset;
            rows[p][i] = (uint8_t)((s[0] * weight[0] + s[1] * weight[1] + s[t->stride] * weight[2] +
                                    s[t->stride + 1] * weight[3] + 512) >>
                                   10);
        }
    }
}

const struct warp_rows warp_rows_plain = {affine, perspective, sample};
