#include "pixels.h"
#include "tiny_pictures.h"

#include <stdint.h>

static struct error error;

static uint32_t value_at(const struct pixels *p, uint32_t x, uint32_t y, uint32_t c) {
    const uint8_t *row = p->data + y * p->stride;
    uint16_t wide;
    if (p->depth == 8)
        return row[x * p->channels + c];
    memcpy(&wide, row + 2 * (x * p->channels + c), sizeof wide);
    return wide;
}

Test(pixels, init_limits) {
    struct pixels p;
    cr_assert_eq(pixels_init(&p, 3, 2, 3, 16, &error), 0);
    cr_assert_eq(p.stride, 18);
    pixels_deinit(&p);
    cr_assert_null(p.data);
    cr_assert_eq(pixels_init(&p, 0, 2, 3, 8, &error), ERR_INPUT);
    cr_assert_eq(pixels_init(&p, 2, 0, 3, 8, &error), ERR_INPUT);
    cr_assert_eq(pixels_init(&p, 2, 2, 2, 8, &error), ERR_ARGUMENT);
    cr_assert_eq(pixels_init(&p, 2, 2, 3, 12, &error), ERR_ARGUMENT);
    cr_assert_eq(pixels_init(&p, UINT32_MAX, UINT32_MAX, 3, 16, &error), ERR_INPUT);
    cr_assert_null(p.data);
}

/* EXIF 2.32, 4.6.5: what the 0th row and column of the stored picture are to a viewer. */
static void stored_position(int orientation, uint32_t w, uint32_t h, uint32_t x, uint32_t y, uint32_t *sx,
                            uint32_t *sy) {
    switch (orientation) {
    case 1: *sx = x, *sy = y; break;
    case 2: *sx = w - 1 - x, *sy = y; break;
    case 3: *sx = w - 1 - x, *sy = h - 1 - y; break;
    case 4: *sx = x, *sy = h - 1 - y; break;
    case 5: *sx = y, *sy = x; break;
    case 6: *sx = y, *sy = h - 1 - x; break;
    case 7: *sx = w - 1 - y, *sy = h - 1 - x; break;
    default: *sx = w - 1 - y, *sy = x; break;
    }
}

Test(pixels, orientations) {
    for (int channels = 1; channels <= 3; channels += 2)
        for (int depth = 8; depth <= 16; depth += 8)
            for (int o = 1; o <= 8; o++) {
                struct pixels in = make_texture(7, 5, channels, depth), out;
                cr_assert_eq(pixels_orient(&out, &in, o, &error), 0);
                cr_assert_eq(out.width, o >= 5 ? 5 : 7);
                cr_assert_eq(out.height, o >= 5 ? 7 : 5);
                for (uint32_t y = 0; y < out.height; y++)
                    for (uint32_t x = 0; x < out.width; x++)
                        for (uint32_t c = 0; c < out.channels; c++) {
                            uint32_t sx, sy;
                            stored_position(o, in.width, in.height, x, y, &sx, &sy);
                            cr_assert_eq(value_at(&out, x, y, c), value_at(&in, sx, sy, c), "orientation %d", o);
                        }
                pixels_deinit(&in);
                pixels_deinit(&out);
            }
}

Test(pixels, orientation_out_of_range) {
    struct pixels in = make_texture(2, 2, 1, 8), out;
    cr_assert_eq(pixels_orient(&out, &in, 0, &error), ERR_ARGUMENT);
    cr_assert_eq(pixels_orient(&out, &in, 9, &error), ERR_ARGUMENT);
    cr_assert_null(out.data);
    pixels_deinit(&in);
}

Test(pixels, luma_of_pure_colours) {
    uint8_t rgb[] = {255, 0, 0, 0, 255, 0, 0, 0, 255, 255, 255, 255, 0, 0, 0, 77, 77, 77}, gray[6];
    pixels_luma_row(gray, rgb, 6);
    cr_assert_arr_eq(gray, ((uint8_t[]){76, 150, 29, 255, 0, 77}), 6);
}

Test(pixels, gray_stays_itself_through_colour) {
    for (int depth = 8; depth <= 16; depth += 8)
        for (uint32_t width = 1; width <= 9; width++) {
            struct pixels gray = make_texture(width, 3, 1, depth), rgb, back;
            cr_assert_eq(pixels_convert(&rgb, &gray, 3, &error), 0);
            cr_assert(pixels_equal_channels(&rgb));
            for (uint32_t x = 0; x < width; x++)
                for (uint32_t c = 0; c < 3; c++)
                    cr_assert_eq(value_at(&rgb, x, 1, c), value_at(&gray, x, 1, 0));
            cr_assert_eq(pixels_convert(&back, &rgb, 1, &error), 0);
            cr_assert(same_pixels(&gray, &back));
            pixels_deinit(&gray);
            pixels_deinit(&rgb);
            pixels_deinit(&back);
        }
}

Test(pixels, luma_of_the_brightest_16_bit_pixel) {
    struct pixels in, out;
    cr_assert_eq(pixels_init(&in, 1, 1, 3, 16, &error), 0);
    memset(in.data, 0xFF, 6);
    cr_assert_eq(pixels_convert(&out, &in, 1, &error), 0);
    cr_assert_eq(value_at(&out, 0, 0, 0), 65535);
    pixels_deinit(&in);
    pixels_deinit(&out);
}

Test(pixels, one_different_channel_is_seen) {
    for (int depth = 8; depth <= 16; depth += 8) {
        struct pixels gray = make_texture(9, 5, 1, depth), p;
        cr_assert_eq(pixels_convert(&p, &gray, 3, &error), 0);
        p.data[4 * p.stride + 8 * 3 * (size_t)depth / 8] ^= 1;
        cr_assert_not(pixels_equal_channels(&p));
        pixels_deinit(&gray);
        pixels_deinit(&p);
    }
}

/* The definition, in floating point: the mean over the area that an output pixel covers. */
static double area_mean(const struct pixels *in, uint32_t w, uint32_t h, uint32_t x, uint32_t y, uint32_t c) {
    double x0 = (double)x * in->width / w, x1 = (double)(x + 1) * in->width / w;
    double y0 = (double)y * in->height / h, y1 = (double)(y + 1) * in->height / h, sum = 0;
    for (uint32_t sy = (uint32_t)y0; sy < in->height && sy < y1; sy++)
        for (uint32_t sx = (uint32_t)x0; sx < in->width && sx < x1; sx++) {
            double dx = (sx + 1 < x1 ? sx + 1 : x1) - (sx > x0 ? sx : x0);
            double dy = (sy + 1 < y1 ? sy + 1 : y1) - (sy > y0 ? sy : y0);
            sum += dx * dy * value_at(in, sx, sy, c);
        }
    return sum / ((x1 - x0) * (y1 - y0));
}

Test(pixels, shrink_is_the_area_mean) {
    static const struct {
        uint32_t w, h, to_w, to_h;
    } sizes[] = {{37, 23, 10, 7}, {16, 16, 8, 8}, {16, 16, 16, 16}, {17, 1, 5, 1}, {9, 40, 9, 13}, {64, 48, 1, 1}};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
        for (int channels = 1; channels <= 3; channels += 2)
            for (int depth = 8; depth <= 16; depth += 8) {
                struct pixels in = make_texture(sizes[i].w, sizes[i].h, channels, depth), out;
                cr_assert_eq(pixels_shrink(&out, &in, sizes[i].to_w, sizes[i].to_h, &error), 0);
                for (uint32_t y = 0; y < out.height; y++)
                    for (uint32_t x = 0; x < out.width; x++)
                        for (uint32_t c = 0; c < out.channels; c++) {
                            double mean = area_mean(&in, out.width, out.height, x, y, c);
                            double off = value_at(&out, x, y, c) - mean;
                            cr_assert(off <= 0.5 + 1e-6 && off >= -0.5 - 1e-6, "%f at %u,%u", off, x, y);
                        }
                pixels_deinit(&in);
                pixels_deinit(&out);
            }
}

Test(pixels, shrink_keeps_flat_pictures) {
    struct pixels in, out;
    for (int depth = 8; depth <= 16; depth += 8) {
        cr_assert_eq(pixels_init(&in, 1001, 701, 3, depth, &error), 0);
        memset(in.data, 0xFF, in.stride * in.height);
        cr_assert_eq(pixels_shrink(&out, &in, 640, 448, &error), 0);
        for (size_t i = 0; i < out.stride * out.height; i++)
            cr_assert_eq(out.data[i], 0xFF);
        pixels_deinit(&in);
        pixels_deinit(&out);
    }
}

Test(pixels, shrink_refuses) {
    struct pixels in = make_texture(8, 8, 3, 8), out;
    cr_assert_eq(pixels_shrink(&out, &in, 9, 8, &error), ERR_ARGUMENT);
    cr_assert_eq(pixels_shrink(&out, &in, 8, 9, &error), ERR_ARGUMENT);
    cr_assert_eq(pixels_shrink(&out, &in, 0, 8, &error), ERR_ARGUMENT);
    cr_assert_null(out.data);
    pixels_deinit(&in);
    cr_assert_eq(pixels_init(&in, 70000, 1, 1, 16, &error), 0);
    memset(in.data, 0, in.stride);
    cr_assert_eq(pixels_shrink(&out, &in, 10, 1, &error), ERR_INPUT);
    pixels_deinit(&in);
}

Test(pixels, scaled_as_by_division) {
    static uint16_t counts[65536];
    static uint8_t out[65536];
    static const uint32_t ranges[][2] = {{0, 65535}, {0, 1},   {65534, 65535}, {7000, 9815},
                                         {1, 65535}, {0, 255}, {100, 357},     {0, 32768},
                                         {3, 3},     {9, 8},   {0, 65534},     {12345, 54321}};
    for (uint32_t v = 0; v < 65536; v++)
        counts[v] = (uint16_t)v;
    for (size_t i = 0; i < sizeof ranges / sizeof ranges[0]; i++) {
        uint32_t low = ranges[i][0], high = ranges[i][1];
        pixels_scale_row(out, counts, 65536, low, high);
        for (uint32_t v = 0; v < 65536; v++) {
            uint32_t span = high > low ? high - low : 1, above = v <= low ? 0 : v >= high ? span : v - low;
            cr_assert_eq(out[v], high > low ? (above * 255u + span / 2) / span : 0, "%u in %u-%u", v, low, high);
        }
    }
    for (uint32_t span = 1; span < 65536; span += 1 + span / 50) /* where quotients turn, for many divisors */
        for (uint32_t k = 1; k <= 255; k++) {
            uint32_t v = (uint32_t)(((uint64_t)k * span - span / 2 + 254) / 255);
            uint16_t near[2] = {(uint16_t)(v > 0 ? v - 1 : 0), (uint16_t)v};
            pixels_scale_row(out, near, 2, 0, span);
            for (int n = 0; n < 2; n++) {
                uint32_t value = near[n] < span ? near[n] : span;
                cr_assert_eq(out[n], (value * 255u + span / 2) / span, "%u of %u", near[n], span);
            }
        }
}
