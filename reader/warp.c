#include "warp.h"

#include "axis_rows.h"
#include "nearest.h"
#include "warp_rows.h"

#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define GRID 32         /* positions a pixel */
#define AFFINE_ONE 1024 /* OpenCV adds up affine positions in 1/1024 px */
#define RUNS_MAX (2 * WARP_TILES + 1)

enum path { PATH_AXIS, PATH_AFFINE, PATH_PERSPECTIVE };

/* Groups of columns that one piece of a canvas row serves alone, or (piece below 0) several and the fill together. */
struct run {
    int begin, end, piece;
};

struct warp {
    const struct warp_rows *rows;
    const struct axis_rows *axis_rows;
    int frame_width_limit, canvas_width_limit;

    struct warp_source source;
    double inverse[9]; /* frame -> canvas */
    enum path path;
    int width, height;

    /* Scale and translation. Tiles are ordered from left to right. */
    const struct axis_rows *axis; /* that can resample these columns */
    struct axis_columns columns;
    int32_t *last; /* per group: the last canvas column that it reads */
    int group_count;
    int tile_begin[WARP_TILES], tile_end[WARP_TILES]; /* groups that a tile's rows serve alone */
    int left, right;                                  /* canvas columns of all tiles: left <= x < right */
    struct axis_line line;                            /* the canvas row being resampled */
    unsigned line_tiles;                              /* bits of the tiles that `line` and `runs` are made of */
    int piece_tile[WARP_TILES];
    struct run runs[RUNS_MAX];
    int run_count;
    uint16_t *resampled[2]; /* two canvas rows at the frame's columns, [plane][row_pitch] */
    int resampled_y[2];
    size_t row_pitch; /* entries */

    /* Any other matrix. */
    int32_t *xs, *ys;             /* positions of a row, 1/32 px */
    int32_t *column_x, *column_y; /* affine: what a column adds, 1/1024 px */

    void *memory;
};

/* ---- memory ------------------------------------------------------------------------------------------------------ */

static void *carve(uint8_t *memory, size_t *at, size_t bytes) {
    void *const p = memory ? memory + *at : NULL;
    *at += (bytes + 63) & ~(size_t)63;
    return p;
}

/* Hands out the scratch, or with `memory` NULL only counts it. */
static size_t lay_out(struct warp *w, uint8_t *memory) {
    const size_t columns = w->row_pitch, groups = columns / (size_t)w->axis_rows->group;
    size_t at = 0;
    w->columns.first = carve(memory, &at, columns * sizeof(int32_t));
    w->columns.base = carve(memory, &at, groups * sizeof(int32_t));
    w->columns.span = carve(memory, &at, groups * sizeof(uint64_t));
    w->columns.shuffle = carve(memory, &at, columns * 2);
    w->columns.weight = carve(memory, &at, columns * 2);
    w->last = carve(memory, &at, groups * sizeof(int32_t));
    for (int i = 0; i < 2; i++)
        w->resampled[i] = carve(memory, &at, WARP_PLANES * columns * sizeof(uint16_t));
    w->xs = carve(memory, &at, columns * sizeof(int32_t));
    w->ys = carve(memory, &at, columns * sizeof(int32_t));
    w->column_x = carve(memory, &at, columns * sizeof(int32_t));
    w->column_y = carve(memory, &at, columns * sizeof(int32_t));
    return at;
}

static const struct warp_rows *rows_for(enum cpu_level level) {
#if defined(__x86_64__)
    if (level >= CPU_AVX2)
        return &warp_rows_avx2;
#endif
    (void)level;
    return &warp_rows_plain;
}

static const struct axis_rows *axis_rows_for(enum cpu_level level) {
#if defined(__x86_64__)
    if (level >= CPU_AVX512)
        return &axis_rows_avx512;
    if (level >= CPU_AVX2)
        return &axis_rows_avx2;
#endif
    (void)level;
    return &axis_rows_plain;
}

int warp_create(struct warp **out, int frame_width, int canvas_width, enum cpu_level level, struct error *error) {
    *out = NULL;
    if (frame_width < 1 || canvas_width < 1 || frame_width > WARP_LIMIT || canvas_width > WARP_LIMIT)
        return error_set(error, ERR_ARGUMENT, "frame of %d and canvas of %d px: each is 1 to %d", frame_width,
                         canvas_width, WARP_LIMIT);
    struct warp *w = calloc(1, sizeof *w);
    if (!w)
        return error_set(error, ERR_MEMORY, "out of memory");
    w->rows = rows_for(level);
    w->axis_rows = axis_rows_for(level);
    w->columns.group = w->axis_rows->group;
    w->frame_width_limit = frame_width;
    w->canvas_width_limit = canvas_width;
    w->row_pitch = ((size_t)frame_width + AXIS_PAD - 1) / AXIS_PAD * AXIS_PAD;
    w->memory = aligned_alloc(64, lay_out(w, NULL));
    if (!w->memory) {
        free(w);
        return error_set(error, ERR_MEMORY, "out of memory");
    }
    lay_out(w, w->memory);
    *out = w;
    return 0;
}

void warp_destroy(struct warp **warp) {
    if (!*warp)
        return;
    free((*warp)->memory);
    free(*warp);
    *warp = NULL;
}

/* ---- matrices, as OpenCV computes them --------------------------------------------------------------------------- */

/* So far out that two of them cannot add up to something inside a canvas, nor overflow. */
static int32_t affine_int(double v) {
    const double limit = (1 << 30) - AFFINE_ONE;
    v = v > -limit ? v : -limit; /* not-a-number too */
    return nearest_int(v < limit ? v : limit);
}

static void invert_affine(double out[9], const double m[9]) {
    double d = m[0] * m[4] - m[1] * m[3];
    d = d != 0.0 ? 1.0 / d : 0.0;
    const double a = m[4] * d, b = m[1] * -d, c = m[3] * -d, e = m[0] * d;
    const double inverse[9] = {a, b, -a * m[2] - b * m[5], c, e, -c * m[2] - e * m[5], 0.0, 0.0, 1.0};
    memcpy(out, inverse, sizeof inverse);
}

static void invert_perspective(double out[9], const double m[9]) {
    double d =
        m[0] * (m[4] * m[8] - m[5] * m[7]) - m[1] * (m[3] * m[8] - m[5] * m[6]) + m[2] * (m[3] * m[7] - m[4] * m[6]);
    d = d != 0.0 ? 1.0 / d : 0.0;
    const double inverse[9] = {
        (m[4] * m[8] - m[5] * m[7]) * d, (m[2] * m[7] - m[1] * m[8]) * d, (m[1] * m[5] - m[2] * m[4]) * d,
        (m[5] * m[6] - m[3] * m[8]) * d, (m[0] * m[8] - m[2] * m[6]) * d, (m[2] * m[3] - m[0] * m[5]) * d,
        (m[3] * m[7] - m[4] * m[6]) * d, (m[1] * m[6] - m[0] * m[7]) * d, (m[0] * m[4] - m[1] * m[3]) * d,
    };
    memcpy(out, inverse, sizeof inverse);
}

/* ---- scale and translation --------------------------------------------------------------------------------------- */

static int clamp(int v, int low, int high) {
    return v < low ? low : v > high ? high : v;
}

/* Positions left of all tiles are as good as two columns before them, positions right of them as good as the first
 * column after: both taps are fill. */
static void place_columns(struct warp *w) {
    const int32_t origin = affine_int(w->inverse[2] * AFFINE_ONE) + AFFINE_ONE / GRID / 2;
    for (int i = 0; i < w->group_count * w->columns.group; i++) {
        const int x = i < w->width ? i : w->width - 1;
        const int32_t position = (origin + affine_int(w->inverse[0] * x * AFFINE_ONE)) >> 5;
        const int weight = position & (GRID - 1);
        w->columns.first[i] = clamp(position >> 5, w->left - 2, w->right);
        w->columns.weight[2 * i] = (uint8_t)(2 * (GRID - weight));
        w->columns.weight[2 * i + 1] = (uint8_t)(2 * weight);
    }
}

/* Columns never go back (the scale is positive), so the first of a group is its leftmost. */
static void group_columns(struct warp *w) {
    struct axis_columns *const c = &w->columns;
    c->is_narrow = true;
    for (int g = 0; g < w->group_count; g++) {
        const int32_t *const first = c->first + g * c->group;
        const int span = first[c->group - 1] + 2 - first[0];
        c->base[g] = first[0];
        w->last[g] = first[0] + (span > w->axis_rows->load ? span : w->axis_rows->load) - 1;
        c->is_narrow = c->is_narrow && span <= w->axis_rows->reach;
        c->span[g] = ~UINT64_C(0) >> (span < 64 ? 64 - span : 0);
        for (int i = 0; c->is_narrow && i < c->group; i++) {
            uint8_t *const tap = c->shuffle + 2 * (g * c->group + i);
            tap[0] = (uint8_t)(first[i] - first[0]);
            tap[1] = (uint8_t)(first[i] - first[0] + 1);
        }
    }
}

static void assign_groups(struct warp *w) {
    for (int i = 0; i < w->source.tile_count; i++) {
        const struct warp_tile *const t = &w->source.tile[i];
        int begin = 0;
        while (begin < w->group_count && w->columns.base[begin] < t->x)
            begin++;
        int end = begin;
        while (end < w->group_count && w->last[end] < t->x + t->width)
            end++;
        w->tile_begin[i] = begin;
        w->tile_end[i] = end;
    }
}

static void order_tiles(struct warp_source *source) {
    for (int i = 1; i < source->tile_count; i++) {
        const struct warp_tile t = source->tile[i];
        int at = i;
        for (; at > 0 && source->tile[at - 1].x > t.x; at--)
            source->tile[at] = source->tile[at - 1];
        source->tile[at] = t;
    }
}

static bool has_row(const struct warp_tile *t, int y) {
    return y >= t->y && y - t->y < t->height;
}

static const uint8_t *tile_row(const struct warp_tile *t, int plane, int y) {
    return t->plane[plane] + (size_t)(y - t->y) * t->stride;
}

static void add_run(struct warp *w, int begin, int end, int piece) {
    if (begin < end)
        w->runs[w->run_count++] = (struct run){begin, end, piece};
}

/* What rows consist of that these tiles and no others have. */
static void choose_runs(struct warp *w, unsigned tiles) {
    int at = 0;
    w->line_tiles = tiles;
    w->line.piece_count = w->run_count = 0;
    for (int i = 0; i < w->source.tile_count; i++) {
        if (!(tiles >> i & 1))
            continue;
        const struct warp_tile *const t = &w->source.tile[i];
        const int piece = w->line.piece_count++;
        w->line.piece[piece].from = t->x;
        w->line.piece[piece].to = t->x + t->width;
        w->piece_tile[piece] = i;
        if (w->tile_begin[i] < w->tile_end[i]) {
            add_run(w, at, w->tile_begin[i], -1);
            add_run(w, w->tile_begin[i], w->tile_end[i], piece);
            at = w->tile_end[i];
        }
    }
    add_run(w, at, w->group_count, -1);
}

static unsigned tiles_with_row(const struct warp *w, int y) {
    unsigned tiles = 0;
    for (int i = 0; i < w->source.tile_count; i++)
        tiles |= (unsigned)has_row(&w->source.tile[i], y) << i;
    return tiles;
}

static void place_line(struct warp *w, int y) {
    const unsigned tiles = tiles_with_row(w, y);
    if (tiles != w->line_tiles)
        choose_runs(w, tiles);
    for (int i = 0; i < w->line.piece_count; i++)
        for (int p = 0; p < w->line.plane_count; p++)
            w->line.piece[i].plane[p] = tile_row(&w->source.tile[w->piece_tile[i]], p, y);
}

/* The slot that holds canvas row y at the frame's columns; `keep` is the slot that may not be thrown out, or -1. */
static int resampled_row(struct warp *w, int y, int keep) {
    for (int i = 0; i < 2; i++)
        if (w->resampled_y[i] == y)
            return i;
    const int slot = keep >= 0 ? 1 - keep : w->resampled_y[0] > w->resampled_y[1];
    uint16_t *const dst = w->resampled[slot];
    place_line(w, y);
    for (const struct run *r = w->runs; r < w->runs + w->run_count; r++)
        if (r->piece < 0)
            w->axis->resample(dst, w->row_pitch, &w->line, &w->columns, r->begin, r->end);
        else
            w->axis->resample_piece(dst, w->row_pitch, &w->line.piece[r->piece], w->line.plane_count, &w->columns,
                                    r->begin, r->end);
    w->resampled_y[slot] = y;
    return slot;
}

/* Row y of the frame in 1/32 px of the canvas. */
static int32_t row_position(const struct warp *w, int y) {
    const int32_t sum = affine_int((w->inverse[4] * y + w->inverse[5]) * AFFINE_ONE);
    return (sum + AFFINE_ONE / GRID / 2) >> 5;
}

static void begin_axis(struct warp *w) {
    order_tiles(&w->source);
    w->left = w->source.tile_count ? INT_MAX : 0;
    w->right = 0;
    for (int i = 0; i < w->source.tile_count; i++) {
        const struct warp_tile *const t = &w->source.tile[i];
        w->left = t->x < w->left ? t->x : w->left;
        w->right = t->x + t->width > w->right ? t->x + t->width : w->right;
    }
    w->group_count = (w->width + AXIS_PAD - 1) / AXIS_PAD * AXIS_PAD / w->columns.group;
    place_columns(w);
    group_columns(w);
    w->axis = w->columns.is_narrow ? w->axis_rows : &axis_rows_plain;
    assign_groups(w);
    w->line.plane_count = w->source.plane_count;
    w->line.fill = w->source.fill;
    choose_runs(w, 0);
    w->resampled_y[0] = w->resampled_y[1] = INT_MIN;
}

static void row_axis(struct warp *w, int y, uint8_t *const rows[WARP_PLANES]) {
    const int32_t position = row_position(w, y);
    const int weight = position & (GRID - 1), upper_y = position >> 5;
    const int upper = resampled_row(w, upper_y, -1);
    const int lower = weight ? resampled_row(w, upper_y + 1, upper) : upper;
    for (int p = 0; p < w->source.plane_count; p++)
        w->axis_rows->blend(rows[p], w->resampled[upper] + (size_t)p * w->row_pitch,
                            w->resampled[lower] + (size_t)p * w->row_pitch, weight, w->width);
}

/* ---- any other matrix -------------------------------------------------------------------------------------------- */

static void begin_affine(struct warp *w) {
    for (int x = 0; x < w->width; x++) {
        w->column_x[x] = affine_int(w->inverse[0] * x * AFFINE_ONE);
        w->column_y[x] = affine_int(w->inverse[3] * x * AFFINE_ONE);
    }
}

static void positions_affine(struct warp *w, int y) {
    const int32_t half = AFFINE_ONE / GRID / 2;
    const int32_t row_x = affine_int((w->inverse[1] * y + w->inverse[2]) * AFFINE_ONE) + half;
    const int32_t row_y = affine_int((w->inverse[4] * y + w->inverse[5]) * AFFINE_ONE) + half;
    w->rows->affine(w->xs, w->column_x, row_x, w->width);
    w->rows->affine(w->ys, w->column_y, row_y, w->width);
}

/* OpenCV goes through blocks of 1,024 pixels, at most 16 rows high, and starts its sums anew in each; the last bits of
 * a position depend on it. */
static int block_width(int width, int height) {
    const int rows = height < 16 ? height : 16;
    return 1024 / rows < width ? 1024 / rows : width;
}

static void positions_perspective(struct warp *w, int y) {
    const double *const m = w->inverse;
    const int block = block_width(w->width, w->height);
    for (int start = 0; start < w->width; start += block) {
        const double from[3] = {m[0] * start + m[1] * y + m[2], m[3] * start + m[4] * y + m[5],
                                m[6] * start + m[7] * y + m[8]};
        const double step[3] = {m[0], m[3], m[6]};
        const int count = start + block < w->width ? block : w->width - start;
        w->rows->perspective(w->xs + start, w->ys + start, from, step, count);
    }
}

/* ---- frames ------------------------------------------------------------------------------------------------------ */

void warp_begin(struct warp *w, const struct warp_source *source, const double matrix[9], int perspective, int width,
                int height) {
    w->source = *source;
    w->width = width;
    w->height = height;
    if (perspective) {
        w->path = PATH_PERSPECTIVE;
        invert_perspective(w->inverse, matrix);
        return;
    }
    invert_affine(w->inverse, matrix);
    /* A mirrored or singular matrix has columns that go back or stand still: the general path takes it. */
    if (matrix[1] == 0.0 && matrix[3] == 0.0 && w->inverse[0] > 0.0) {
        w->path = PATH_AXIS;
        begin_axis(w);
    } else {
        w->path = PATH_AFFINE;
        begin_affine(w);
    }
}

void warp_row(struct warp *w, int y, uint8_t *const rows[WARP_PLANES]) {
    if (w->path == PATH_AXIS) {
        row_axis(w, y, rows);
        return;
    }
    if (w->path == PATH_AFFINE)
        positions_affine(w, y);
    else
        positions_perspective(w, y);
    w->rows->sample(rows, &w->source, w->xs, w->ys, w->width);
}
