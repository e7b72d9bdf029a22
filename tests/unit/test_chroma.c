#include "chroma.h"

#include "tiny_pictures.h"

static int at(const struct pixels *p, int64_t x, int64_t y) {
    x = x < 0 ? 0 : x >= p->width ? p->width - 1 : x;
    y = y < 0 ? 0 : y >= p->height ? p->height - 1 : y;
    return p->data[(size_t)y * p->stride + (size_t)x];
}

/* Sum of squared differences of one component from what smooth upsampling makes of `half`. */
static double distance(const struct pixels *in, const struct pixels *half, const double weight[3]) {
    double sum = 0;
    for (int64_t y = 0; y < in->height; y++)
        for (int64_t x = 0; x < in->width; x++) {
            const uint8_t *rgb = in->data + (size_t)y * in->stride + 3 * (size_t)x;
            const double f = weight[0] * rgb[0] + weight[1] * rgb[1] + weight[2] * rgb[2] + 128;
            const int64_t x0 = x / 2, y0 = y / 2, x1 = x0 + (x % 2 ? 1 : -1), y1 = y0 + (y % 2 ? 1 : -1);
            const double u =
                (9 * at(half, x0, y0) + 3 * at(half, x1, y0) + 3 * at(half, x0, y1) + at(half, x1, y1)) / 16.0;
            sum += (f - u) * (f - u);
        }
    return sum;
}

/* Mean of four, as encoders have it. */
static struct pixels mean_of_four(const struct pixels *in, const double weight[3]) {
    struct pixels out;
    cr_assert_eq(pixels_init(&out, (in->width + 1) / 2, (in->height + 1) / 2, 1, 8, NULL), 0);
    for (uint32_t y = 0; y < out.height; y++)
        for (uint32_t x = 0; x < out.width; x++) {
            double sum = 0;
            for (uint32_t k = 0; k < 4; k++) {
                const uint32_t sx = 2 * x + k % 2 < in->width ? 2 * x + k % 2 : in->width - 1;
                const uint32_t sy = 2 * y + k / 2 < in->height ? 2 * y + k / 2 : in->height - 1;
                const uint8_t *rgb = in->data + sy * in->stride + 3 * (size_t)sx;
                sum += weight[0] * rgb[0] + weight[1] * rgb[1] + weight[2] * rgb[2] + 128;
            }
            out.data[y * out.stride + x] = (uint8_t)(sum / 4 + 0.5);
        }
    return out;
}

static const double weights[2][3] = {{-0.168736, -0.331264, 0.5}, {0.5, -0.418688, -0.081312}};

Test(chroma, comes_back_nearer_than_the_mean) {
    static const uint32_t sizes[][2] = {{64, 48}, {63, 47}, {201, 30}, {30, 201}};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        struct pixels in = make_texture(sizes[i][0], sizes[i][1], 3, 8), out[2];
        cr_assert_eq(chroma_halve(out, &in, NULL), 0);
        for (int c = 0; c < 2; c++) {
            struct pixels mean = mean_of_four(&in, weights[c]);
            cr_assert_eq(out[c].width, mean.width);
            cr_assert_eq(out[c].height, mean.height);
            cr_assert_lt(distance(&in, &out[c], weights[c]), 0.95 * distance(&in, &mean, weights[c]));
            pixels_deinit(&mean);
            pixels_deinit(&out[c]);
        }
        pixels_deinit(&in);
    }
}

/* Of every size, one colour stays that colour: corners of the cube are at the ends of the range. */
Test(chroma, one_colour) {
    for (uint32_t size = 1; size <= 9; size++)
        for (int colour = 0; colour < 8; colour++) {
            struct pixels in, out[2];
            cr_assert_eq(pixels_init(&in, size, 10 - size, 3, 8, NULL), 0);
            for (size_t i = 0; i < in.stride * in.height; i++)
                in.data[i] = colour >> i % 3 & 1 ? 255 : 0;
            cr_assert_eq(chroma_halve(out, &in, NULL), 0);
            for (int c = 0; c < 2; c++) {
                double wanted = 128;
                for (int k = 0; k < 3; k++)
                    wanted += weights[c][k] * (colour >> k & 1 ? 255 : 0);
                wanted = wanted > 255 ? 255 : wanted;
                for (size_t i = 0; i < out[c].stride * out[c].height; i++)
                    cr_assert_float_eq(out[c].data[i], wanted, 0.6);
                pixels_deinit(&out[c]);
            }
            pixels_deinit(&in);
        }
}
