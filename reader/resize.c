#include "resize.h"

#include "convert.h"
#include "nearest.h"
#include "resize_rows.h"

#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define WEIGHT_ONE 2048
#define CHANNELS RESIZE_CHANNELS
#define LINE_SLACK 64 /* split may write that far behind a row */
#define NO_TAP 0x80   /* a byte of `shuffle` that gives 0 */

struct resize {
    const struct resize_rows *rows;
    enum cpu_level level;
    struct resize_columns columns;
    int source_width, width;                   /* what `columns` is for; 0 at first */
    const struct resize_rows *horizontal_rows; /* that can take these columns */
    size_t row_pitch;                          /* entries */
    int16_t *horizontal[2];                    /* two source rows at the result's columns, [channel][row_pitch] */
    int horizontal_y[2];
    size_t line_pitch;
    uint8_t *line; /* one source row as planes, [channel][line_pitch] */
    void *memory;
};

/* ---- memory ------------------------------------------------------------------------------------------------------ */

static void *carve(uint8_t *memory, size_t *at, size_t bytes) {
    void *const p = memory ? memory + *at : NULL;
    *at += (bytes + 63) & ~(size_t)63;
    return p;
}

/* Hands out the scratch, or with `memory` NULL only counts it. */
static size_t lay_out(struct resize *r, uint8_t *memory) {
    const size_t columns = r->row_pitch;
    size_t at = 0;
    r->columns.first = carve(memory, &at, columns * sizeof(int32_t));
    r->columns.base = carve(memory, &at, columns / (size_t)r->rows->group * sizeof(int32_t));
    r->columns.shuffle = carve(memory, &at, columns * 4);
    r->columns.weight = carve(memory, &at, columns * 2 * sizeof(int16_t));
    for (int i = 0; i < 2; i++)
        r->horizontal[i] = carve(memory, &at, CHANNELS * columns * sizeof(int16_t));
    r->line = carve(memory, &at, CHANNELS * r->line_pitch);
    return at;
}

static const struct resize_rows *rows_for(enum cpu_level level) {
#if defined(__x86_64__)
    if (level >= CPU_AVX512)
        return &resize_rows_avx512;
    if (level >= CPU_AVX2)
        return &resize_rows_avx2;
#endif
    (void)level;
    return &resize_rows_plain;
}

int resize_create(struct resize **out, int source_width, int width, enum cpu_level level, struct error *error) {
    *out = NULL;
    if (source_width < 1 || width < 1 || source_width > RESIZE_LIMIT || width > RESIZE_LIMIT)
        return error_set(error, ERR_ARGUMENT, "resize from %d to %d px: each is 1 to %d", source_width, width,
                         RESIZE_LIMIT);
    struct resize *r = calloc(1, sizeof *r);
    if (!r)
        return error_set(error, ERR_MEMORY, "out of memory");
    r->rows = rows_for(level);
    r->level = level;
    r->row_pitch = ((size_t)width + RESIZE_PAD - 1) / RESIZE_PAD * RESIZE_PAD;
    r->line_pitch = (size_t)source_width + LINE_SLACK;
    r->memory = aligned_alloc(64, lay_out(r, NULL));
    if (!r->memory) {
        free(r);
        return error_set(error, ERR_MEMORY, "out of memory");
    }
    memset(r->memory, 0, lay_out(r, r->memory));
    *out = r;
    return 0;
}

void resize_destroy(struct resize **resize) {
    if (!*resize)
        return;
    free((*resize)->memory);
    free(*resize);
    *resize = NULL;
}

/* ---- positions --------------------------------------------------------------------------------------------------- */

/* Source pixels to a pixel of the result, from the rounded inverse, as OpenCV has it. */
static double scale_of(int source, int result) {
    return 1.0 / ((double)result / source);
}

struct taps {
    int first; /* the second is beside it */
    int weight_first, weight_second;
};

/* Of result pixel i; its position is in single precision, as OpenCV has it. */
static struct taps taps_at(int i, double scale) {
    const float at = (float)((i + 0.5) * scale - 0.5);
    const int towards_zero = (int)at, first = towards_zero - (at < (float)towards_zero);
    const float part = at - (float)first;
    return (struct taps){first, nearest_int((1.0f - part) * WEIGHT_ONE), nearest_int(part * WEIGHT_ONE)};
}

/* Outside, the edge pixel alone counts; both taps stay inside the row where it has two. */
static struct taps column_taps(int i, double scale, int source) {
    struct taps t = taps_at(i, scale);
    if (t.first < 0)
        return (struct taps){0, WEIGHT_ONE, 0};
    if (t.first >= source - 1)
        return source > 1 ? (struct taps){source - 2, 0, WEIGHT_ONE} : (struct taps){0, WEIGHT_ONE, 0};
    return t;
}

/* Whether one load has all taps of a group; it may not pass the end of the row, so it begins earlier there. */
static bool group_columns(struct resize *r, int group, int source) {
    const int columns = r->rows->group, load = r->rows->load;
    const int32_t *const first = r->columns.first + group * columns;
    const int base = first[0] + load > source ? source - load : first[0];
    r->columns.base[group] = base;
    if (base < 0 || first[columns - 1] + 1 - base >= load)
        return false;
    for (int i = 0; i < columns; i++) {
        uint8_t *const tap = r->columns.shuffle + 4 * (group * columns + i);
        tap[0] = (uint8_t)(first[i] - base);
        tap[2] = (uint8_t)(first[i] + 1 - base);
        tap[1] = tap[3] = NO_TAP;
    }
    return true;
}

static void place_columns(struct resize *r, int source, int width) {
    if (r->source_width == source && r->width == width)
        return;
    const double scale = scale_of(source, width);
    const int padded = (width + RESIZE_PAD - 1) / RESIZE_PAD * RESIZE_PAD;
    r->source_width = source;
    r->width = width;
    for (int i = 0; i < padded; i++) {
        const struct taps t = column_taps(i < width ? i : width - 1, scale, source);
        r->columns.first[i] = t.first;
        r->columns.weight[2 * i] = (int16_t)t.weight_first;
        r->columns.weight[2 * i + 1] = (int16_t)t.weight_second;
    }
    bool narrow = true;
    for (int g = 0; narrow && g < padded / r->rows->group; g++)
        narrow = group_columns(r, g, source);
    r->horizontal_rows = narrow ? r->rows : &resize_rows_plain;
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

/* The slot that holds source row y at the result's columns; `keep` is the slot that may not be thrown out, or -1. */
static int horizontal_row(struct resize *r, const struct pixels *in, int y, int keep) {
    for (int i = 0; i < 2; i++)
        if (r->horizontal_y[i] == y)
            return i;
    const int slot = keep >= 0 ? 1 - keep : r->horizontal_y[0] > r->horizontal_y[1];
    const uint8_t *const row = in->data + (size_t)y * in->stride;
    uint8_t *const split[CHANNELS] = {r->line, r->line + r->line_pitch, r->line + 2 * r->line_pitch};
    struct resize_line line = {.channels = in->channels};
    if (in->channels == CHANNELS)
        convert_for(r->level)->split(split, row, in->width);
    else if (in->width == 1) /* there is no right tap */
        split[0][0] = row[0];
    for (int c = 0; c < in->channels; c++) {
        line.source[c] = in->channels == CHANNELS || in->width == 1 ? split[c] : row;
        line.result[c] = r->horizontal[slot] + (size_t)c * r->row_pitch;
    }
    r->horizontal_rows->horizontal(&line, &r->columns, r->width);
    r->horizontal_y[slot] = y;
    return slot;
}

static int clamp(int v, int high) {
    return v < 0 ? 0 : v > high ? high : v;
}

static void copy_planes(const struct resize *r, uint8_t *const *planes, size_t stride, const struct pixels *in) {
    for (size_t y = 0; y < in->height; y++) {
        const uint8_t *const row = in->data + y * in->stride;
        if (in->channels == 1) {
            memcpy(planes[0] + y * stride, row, in->width);
        } else {
            uint8_t *const rows[CHANNELS] = {planes[0] + y * stride, planes[1] + y * stride, planes[2] + y * stride};
            convert_for(r->level)->split(rows, row, in->width);
        }
    }
}

void resize_planes(struct resize *r, uint8_t *const *planes, size_t stride, int width, int height,
                   const struct pixels *in) {
    const int source_height = (int)in->height;
    if (width == (int)in->width && height == source_height) {
        copy_planes(r, planes, stride, in);
        return;
    }
    place_columns(r, (int)in->width, width);
    const double scale = scale_of(source_height, height);
    r->horizontal_y[0] = r->horizontal_y[1] = INT_MIN;
    for (int y = 0; y < height; y++) {
        const struct taps t = taps_at(y, scale);
        const int upper = horizontal_row(r, in, clamp(t.first, source_height - 1), -1);
        const int lower = horizontal_row(r, in, clamp(t.first + 1, source_height - 1), upper);
        for (int c = 0; c < in->channels; c++)
            r->rows->vertical(planes[c] + (size_t)y * stride, r->horizontal[upper] + (size_t)c * r->row_pitch,
                              r->horizontal[lower] + (size_t)c * r->row_pitch, t.weight_first, t.weight_second, width);
    }
}
