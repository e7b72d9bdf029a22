#include "pixels.h"

#include "bytes.h"

#include <stdlib.h>
#include <string.h>

__extension__ typedef unsigned __int128 uint128;

static size_t pixel_bytes(const struct pixels *p) {
    return (size_t)p->channels * (p->depth / 8);
}

static uint8_t *row_at(const struct pixels *p, uint32_t y) {
    return p->data + y * p->stride;
}

int pixels_init(struct pixels *out, uint32_t width, uint32_t height, int channels, int depth, struct error *error) {
    size_t stride, size;

    *out = (struct pixels){0};
    if ((channels != 1 && channels != 3) || (depth != 8 && depth != 16))
        return error_set(error, ERR_ARGUMENT, "no picture has %d channels of %d bits", channels, depth);
    if (width == 0 || height == 0)
        return error_set(error, ERR_INPUT, "a picture of %ux%u px has no pixels", width, height);
    if (__builtin_mul_overflow((size_t)width, (size_t)(channels * (depth / 8)), &stride) ||
        __builtin_mul_overflow(stride, (size_t)height, &size) || size > PTRDIFF_MAX)
        return error_set(error, ERR_INPUT, "a picture of %ux%u px is too large for this machine", width, height);
    uint8_t *data = malloc(size);
    if (!data)
        return error_set(error, ERR_MEMORY, "out of memory for a picture of %ux%u px", width, height);
    *out = (struct pixels){data, stride, width, height, (uint8_t)channels, (uint8_t)depth};
    return 0;
}

void pixels_deinit(struct pixels *p) {
    free(p->data);
    *p = (struct pixels){0};
}

/* ---- orientation ------------------------------------------------------------------------------------------------- */

/* Copies `count` pixels of `size` bytes that lie `step` bytes apart. */
static void gather(uint8_t *restrict to, const uint8_t *restrict from, ptrdiff_t step, uint32_t count, size_t size) {
    switch (size) { /* constant sizes: a move instead of a call */
#define X(n)                                                                                                           \
    case n:                                                                                                            \
        for (uint32_t i = 0; i < count; i++)                                                                           \
            memcpy(to + (size_t)i * (n), from + (ptrdiff_t)i * step, n);                                               \
        break;
        X(1) X(2) X(3) X(6)
#undef X
    }
}

int pixels_orient(struct pixels *out, const struct pixels *in, int orientation, struct error *error) {
    /* Where the upright picture's rows and columns begin and run in the stored one. */
    static const struct {
        bool swap, from_right, from_bottom;
    } turns[9] = {
        [2] = {false, true, false}, [3] = {false, true, true}, [4] = {false, false, true}, [5] = {true, false, false},
        [6] = {true, false, true},  [7] = {true, true, true},  [8] = {true, true, false},
    };
    *out = (struct pixels){0};
    if (orientation < 1 || orientation > 8)
        return error_set(error, ERR_ARGUMENT, "orientation %d is not one of 1 to 8", orientation);

    bool swap = turns[orientation].swap;
    uint32_t width = swap ? in->height : in->width, height = swap ? in->width : in->height;
    int rc = pixels_init(out, width, height, in->channels, in->depth, error);
    if (rc != 0)
        return rc;
    size_t size = pixel_bytes(in);
    ptrdiff_t step_x = (ptrdiff_t)size, step_y = (ptrdiff_t)in->stride;
    const uint8_t *origin = in->data;
    if (turns[orientation].from_right) {
        origin += (in->width - 1) * size;
        step_x = -step_x;
    }
    if (turns[orientation].from_bottom) {
        origin += (in->height - 1) * in->stride;
        step_y = -step_y;
    }
    for (uint32_t y = 0; y < height; y++)
        gather(row_at(out, y), origin + (ptrdiff_t)y * (swap ? step_x : step_y), swap ? step_y : step_x, width, size);
    return 0;
}

/* ---- channels ---------------------------------------------------------------------------------------------------- */

/* 0.299, 0.587 and 0.114 in 1/65536: they sum to exactly 1, and equal channels stay what they are. */
static uint32_t luma(uint32_t r, uint32_t g, uint32_t b) {
    return (19595 * r + 38470 * g + 7471 * b + 32768) >> 16;
}

void pixels_luma_row(uint8_t *restrict gray, const uint8_t *restrict rgb, uint32_t width) {
    for (uint32_t x = 0; x < width; x++)
        gray[x] = (uint8_t)luma(rgb[3 * (size_t)x], rgb[3 * (size_t)x + 1], rgb[3 * (size_t)x + 2]);
}

void pixels_spread_row(uint8_t *restrict rgb, const uint8_t *restrict gray, uint32_t width) {
    uint32_t x = 0;
    for (; x + 4 <= width; x += 4, rgb += 12) { /* four pixels are three little-endian words */
        uint32_t a = gray[x], b = gray[x + 1], c = gray[x + 2], d = gray[x + 3];
        store_u32(rgb, a * 0x010101u | b << 24);
        store_u32(rgb + 4, b * 0x0101u | c * 0x01010000u);
        store_u32(rgb + 8, c | d * 0x01010100u);
    }
    for (; x < width; x++, rgb += 3)
        rgb[0] = rgb[1] = rgb[2] = gray[x];
}

static void luma_row_16(uint16_t *restrict gray, const uint16_t *restrict rgb, uint32_t width) {
    for (uint32_t x = 0; x < width; x++)
        gray[x] = (uint16_t)luma(rgb[3 * (size_t)x], rgb[3 * (size_t)x + 1], rgb[3 * (size_t)x + 2]);
}

static void spread_row_16(uint16_t *restrict rgb, const uint16_t *restrict gray, uint32_t width) {
    for (uint32_t x = 0; x < width; x++, rgb += 3)
        rgb[0] = rgb[1] = rgb[2] = gray[x];
}

static void convert_row(uint8_t *to, const uint8_t *from, const struct pixels *in, int channels) {
    if (in->channels == channels)
        memcpy(to, from, in->width * pixel_bytes(in));
    else if (in->depth == 8 && channels == 3)
        pixels_spread_row(to, from, in->width);
    else if (in->depth == 8)
        pixels_luma_row(to, from, in->width);
    else if (channels == 3)
        spread_row_16((uint16_t *)(void *)to, (const uint16_t *)(const void *)from, in->width);
    else
        luma_row_16((uint16_t *)(void *)to, (const uint16_t *)(const void *)from, in->width);
}

int pixels_convert(struct pixels *out, const struct pixels *in, int channels, struct error *error) {
    int rc = pixels_init(out, in->width, in->height, channels, in->depth, error);
    for (uint32_t y = 0; rc == 0 && y < in->height; y++)
        convert_row(row_at(out, y), row_at(in, y), in, channels);
    return rc;
}

/* The quotient is exact: it is below 2^8, the numerator below 2^24, so that the reciprocal's error of less than one in
 * 2^40 adds less than 2^-16, and a fraction is at most 1 - 1 / 65,535. */
void pixels_scale_row(uint8_t *restrict to, const uint16_t *restrict counts, uint32_t width, uint32_t low,
                      uint32_t high) {
    uint32_t span = high > low ? high - low : 0;
    uint64_t reciprocal = span > 0 ? (UINT64_C(1) << 40) / span + 1 : 0;
    for (uint32_t x = 0; x < width; x++) {
        uint32_t v = counts[x] > low ? counts[x] - low : 0;
        v = v < span ? v : span;
        to[x] = (uint8_t)((v * UINT64_C(255) + span / 2) * reciprocal >> 40);
    }
}

static bool row_is_gray(const uint8_t *row, uint32_t width) {
    unsigned difference = 0;
    for (uint32_t x = 0; x < width; x++, row += 3)
        difference |= (unsigned)(row[0] ^ row[1]) | (unsigned)(row[0] ^ row[2]);
    return difference == 0;
}

static bool row_is_gray_16(const uint16_t *row, uint32_t width) {
    unsigned difference = 0;
    for (uint32_t x = 0; x < width; x++, row += 3)
        difference |= (unsigned)(row[0] ^ row[1]) | (unsigned)(row[0] ^ row[2]);
    return difference == 0;
}

bool pixels_equal_channels(const struct pixels *p) {
    for (uint32_t y = 0; p->channels == 3 && y < p->height; y++)
        if (p->depth == 8 ? !row_is_gray(row_at(p, y), p->width)
                          : !row_is_gray_16((const uint16_t *)(const void *)row_at(p, y), p->width))
            return false;
    return true;
}

/* ---- reduction --------------------------------------------------------------------------------------------------- */

/*
 * Along one axis a source pixel is cut into `out` parts and an output pixel is made of `in` of them, so that all
 * weights are integers and each output pixel's sum to `in`. Rows are summed horizontally first, then vertically; the
 * sum of weights in the plane is in_width * in_height, by which each value is divided once, rounded half up.
 */
struct axis {
    uint32_t in, out;
    uint32_t position; /* the next source pixel */
    uint32_t left;     /* parts of it not yet used */
};

static uint32_t sample_at(const uint8_t *row, size_t i, int depth) {
    uint16_t value;
    if (depth == 8)
        return row[i];
    memcpy(&value, row + 2 * i, sizeof value);
    return value;
}

/* Inlined for each of the four kinds. Sums fit: the weights of an output pixel sum to `in`, and in * 2^depth
 * <= 2^32. */
static inline __attribute__((always_inline)) void sum_row_of(uint32_t *restrict sums, const uint8_t *restrict row,
                                                             uint32_t in, uint32_t out, int channels, int depth) {
    struct axis a = {in, out, 0, out};
    for (uint32_t x = 0; x < out; x++, sums += channels) {
        uint32_t sum[3] = {0};
        uint32_t needed = a.in;
        while (needed > 0) {
            uint32_t weight = a.left < needed ? a.left : needed;
            for (int c = 0; c < channels; c++)
                sum[c] += weight * sample_at(row, (size_t)a.position * (size_t)channels + (size_t)c, depth);
            needed -= weight;
            a.left -= weight;
            if (a.left == 0) {
                a.position++;
                a.left = a.out;
            }
        }
        for (int c = 0; c < channels; c++)
            sums[c] = sum[c];
    }
}

static void sum_row(uint32_t *sums, const struct pixels *in, uint32_t y, uint32_t out_width) {
    const uint8_t *row = row_at(in, y);
    if (in->channels == 3 && in->depth == 8)
        sum_row_of(sums, row, in->width, out_width, 3, 8);
    else if (in->channels == 3)
        sum_row_of(sums, row, in->width, out_width, 3, 16);
    else if (in->depth == 8)
        sum_row_of(sums, row, in->width, out_width, 1, 8);
    else
        sum_row_of(sums, row, in->width, out_width, 1, 16);
}

/* n / divisor by multiplication: floor(2^64 / divisor) gives the quotient or one less. */
static uint64_t divide(uint64_t n, uint64_t divisor, uint64_t reciprocal) {
    uint64_t quotient = (uint64_t)((uint128)n * reciprocal >> 64);
    return quotient + (n - quotient * divisor >= divisor);
}

static void finish_row(uint8_t *to, uint64_t *totals, size_t count, int depth, uint64_t area, uint64_t reciprocal) {
    for (size_t i = 0; i < count; i++) {
        uint16_t value = (uint16_t)divide(totals[i] + area / 2, area, reciprocal);
        if (depth == 8)
            to[i] = (uint8_t)value;
        else
            memcpy(to + 2 * i, &value, sizeof value);
        totals[i] = 0;
    }
}

static void shrink_rows(struct pixels *out, const struct pixels *in, uint32_t *sums, uint64_t *totals) {
    size_t count = (size_t)out->width * out->channels;
    uint64_t area = (uint64_t)in->width * in->height, reciprocal = UINT64_MAX / area;
    struct axis a = {in->height, out->height, 0, 0};

    for (uint32_t y = 0; y < out->height; y++) {
        uint32_t needed = a.in;
        while (needed > 0) {
            if (a.left == 0) {
                sum_row(sums, in, a.position++, out->width);
                a.left = a.out;
            }
            uint32_t weight = a.left < needed ? a.left : needed;
            for (size_t i = 0; i < count; i++)
                totals[i] += (uint64_t)weight * sums[i];
            needed -= weight;
            a.left -= weight;
        }
        finish_row(row_at(out, y), totals, count, in->depth, area, reciprocal);
    }
}

int pixels_shrink(struct pixels *out, const struct pixels *in, uint32_t width, uint32_t height, struct error *error) {
    *out = (struct pixels){0};
    if (width == 0 || height == 0 || width > in->width || height > in->height)
        return error_set(error, ERR_ARGUMENT, "%ux%u px cannot be shrunk to %ux%u", in->width, in->height, width,
                         height);
    uint32_t highest = in->depth == 8 ? UINT8_MAX : UINT16_MAX;
    if (in->width > UINT32_MAX / highest || (uint64_t)in->width * in->height > UINT64_MAX / 2 / highest)
        return error_set(error, ERR_INPUT, "a picture of %ux%u px is too large to be shrunk", in->width, in->height);

    size_t count = (size_t)width * in->channels;
    uint32_t *sums = malloc(count * sizeof *sums);
    uint64_t *totals = calloc(count, sizeof *totals);
    int rc = sums && totals ? pixels_init(out, width, height, in->channels, in->depth, error)
                            : error_set(error, ERR_MEMORY, "out of memory for shrinking a picture");
    if (rc == 0)
        shrink_rows(out, in, sums, totals);
    free(sums);
    free(totals);
    return rc;
}
