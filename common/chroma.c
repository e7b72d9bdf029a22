#include "chroma.h"

#include <stdbool.h>
#include <stdlib.h>

/* Samples are counted in 1/16. */
enum { FRACTION_BITS = 4, ROUND = 1 << (FRACTION_BITS - 1), HIGHEST = 255 << FRACTION_BITS, STEPS = 3, PAD = 6 };

/* Of R, G, B in 1/65536, as JPEG's conversion has them. */
static const int32_t weights[2][3] = {{-11059, -21709, 32768}, {32768, -27439, -5329}};

struct work {
    uint32_t width, height; /* of half the size */
    int16_t *wanted[2];     /* [height][width] of Cb and Cr: D f */
    int16_t *samples[2];    /* c before and after a step */
    int16_t *line;          /* PAD entries before and behind: a row of R,G,B, or of c */
};

/* ---- D f --------------------------------------------------------------------------------------------------------- */

/* Sums 1, 3, 3, 1 of four rows, with the pixels at the ends repeated as far as sums along the row reach. */
static void sum_rows(int16_t *restrict sums, const struct pixels *in, uint32_t y) {
    const uint32_t last = in->height - 1, count = 3 * in->width;
    const uint32_t second = 2 * y < last ? 2 * y + 1 : last, third = 2 * y + 1 < last ? 2 * y + 2 : last;
    const uint8_t *a = in->data + (size_t)(2 * y - (y > 0)) * in->stride, *b = in->data + (size_t)(2 * y) * in->stride;
    const uint8_t *c = in->data + (size_t)second * in->stride, *d = in->data + (size_t)third * in->stride;
    for (size_t i = 0; i < count; i++)
        sums[i] = (int16_t)(a[i] + 3 * (b[i] + c[i]) + d[i]);
    for (int i = 1; i <= 3; i++)
        sums[-i] = sums[3 - i];
    for (size_t i = count; i < count + PAD; i++)
        sums[i] = sums[i - 3];
}

/* Conversion comes last: there are the fewest pixels. Sums of sums are 64 times their size. */
static void reduce(const struct work *w, const struct pixels *in) {
    const int shift = 16 + 6 - FRACTION_BITS, offset = (128 << 22) + (1 << (shift - 1));
    for (uint32_t y = 0; y < w->height; y++) {
        const int16_t *at = w->line;
        sum_rows(w->line, in, y);
        for (size_t i = (size_t)y * w->width; i < (size_t)(y + 1) * w->width; i++, at += 6) {
            const int32_t r = at[-3] + 3 * (at[0] + at[3]) + at[6];
            const int32_t g = at[-2] + 3 * (at[1] + at[4]) + at[7];
            const int32_t b = at[-1] + 3 * (at[2] + at[5]) + at[8];
            for (int c = 0; c < 2; c++)
                w->wanted[c][i] =
                    (int16_t)((weights[c][0] * r + weights[c][1] * g + weights[c][2] * b + offset) >> shift);
        }
    }
}

/* ---- steps ------------------------------------------------------------------------------------------------------- */

/* 3, 10, 3 of three samples, at their size. */
static inline int16_t blurred(int16_t before, int16_t here, int16_t after) {
    return (int16_t)((uint16_t)(3 * (before + after) + 10 * here + 8) >> 4);
}

/* to = from + 3/2 (wanted - D U from). All that occurs fits 16 bits, which vectorises well. */
static void step(const struct work *w, int16_t *to, const int16_t *from, const int16_t *all_wanted) {
    const uint32_t width = w->width;
    int16_t *restrict line = w->line;
    for (uint32_t y = 0; y < w->height; y++) {
        const size_t at = (size_t)y * width;
        const int16_t *restrict here = from + at, *restrict wanted = all_wanted + at;
        const int16_t *above = y > 0 ? here - width : here, *below = y + 1 < w->height ? here + width : here;
        int16_t *restrict result = to + at;
        for (int64_t x = 0; x < width; x++)
            line[x] = blurred(above[x], here[x], below[x]);
        line[-1] = line[0];
        line[width] = line[width - 1];
        for (int64_t x = 0; x < width; x++) {
            const int16_t missing = (int16_t)(wanted[x] - blurred(line[x - 1], line[x], line[x + 1]));
            const int16_t v = (int16_t)(here[x] + missing + (missing >> 1));
            const int16_t low = v < 0 ? 0 : v;
            result[x] = low > HIGHEST ? HIGHEST : low;
        }
    }
}

static void fit(const struct work *w, const struct pixels *out, const int16_t *wanted) {
    const int16_t *from = wanted;
    for (int i = 0; i < STEPS; i++) {
        step(w, w->samples[i % 2], from, wanted);
        from = w->samples[i % 2];
    }
    for (uint32_t y = 0; y < w->height; y++, from += w->width)
        for (size_t x = 0; x < w->width; x++)
            out->data[y * out->stride + x] = (uint8_t)((from[x] + ROUND) >> FRACTION_BITS);
}

/* All memory is behind wanted[0]. */
static bool take_memory(struct work *w, const struct pixels *in) {
    w->width = in->width / 2 + in->width % 2;
    w->height = in->height / 2 + in->height % 2;
    const size_t plane = (size_t)w->width * w->height;
    w->wanted[0] = malloc((4 * plane + 3 * (size_t)in->width + 2 * PAD) * sizeof(int16_t));
    if (!w->wanted[0])
        return false;
    w->wanted[1] = w->wanted[0] + plane;
    w->samples[0] = w->wanted[1] + plane;
    w->samples[1] = w->samples[0] + plane;
    w->line = w->samples[1] + plane + PAD;
    return true;
}

int chroma_halve(struct pixels out[2], const struct pixels *in, struct error *error) {
    struct work w;
    int rc = 0;
    out[0] = out[1] = (struct pixels){0};
    if (!take_memory(&w, in))
        return error_set(error, ERR_MEMORY, "out of memory for chroma of %ux%u px", in->width, in->height);
    reduce(&w, in);
    for (int i = 0; rc == 0 && i < 2; i++)
        if ((rc = pixels_init(&out[i], w.width, w.height, 1, 8, error)) == 0)
            fit(&w, &out[i], w.wanted[i]);
    for (int i = 0; rc != 0 && i < 2; i++)
        pixels_deinit(&out[i]);
    free(w.wanted[0]);
    return rc;
}
