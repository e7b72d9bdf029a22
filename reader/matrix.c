#include "matrix.h"

#include "random.h"

#include <string.h>

#define DEGREE ((int64_t)RECIPE_ONE)
#define RADIANS_PER_DEGREE 0.017453292519943295

/* Taylor series about 0, enough for |x| <= pi / 4: the first term left out is below 2^-54. */
static double series(double x2, const double *coefficients, int count) {
    double sum = 0;
    while (count > 0) {
        sum = sum * x2 + coefficients[--count];
    }
    return sum;
}

/* Of `degrees` / 2^20 degrees, to a few units in the last place; exact at multiples of 90. */
static void sine_cosine(double *sine, double *cosine, int64_t degrees) {
    static const double sine_terms[] = {1.0,          -1.0 / 6,        1.0 / 120,          -1.0 / 5040,
                                        1.0 / 362880, -1.0 / 39916800, 1.0 / 6227020800.0, -1.0 / 1307674368000.0};
    static const double cosine_terms[] = {1.0,
                                          -1.0 / 2,
                                          1.0 / 24,
                                          -1.0 / 720,
                                          1.0 / 40320,
                                          -1.0 / 3628800,
                                          1.0 / 479001600.0,
                                          -1.0 / 87178291200.0,
                                          1.0 / 20922789888000.0};
    int64_t turned = degrees % (360 * DEGREE);
    turned += turned < 0 ? 360 * DEGREE : 0;
    int64_t quadrant = (turned + 45 * DEGREE) / (90 * DEGREE);
    double x = (double)(turned - quadrant * 90 * DEGREE) / RECIPE_ONE * RADIANS_PER_DEGREE;
    double s = x * series(x * x, sine_terms, 8), c = series(x * x, cosine_terms, 9);
    double swap = quadrant & 1 ? s : c;
    s = quadrant & 1 ? c : s;
    *sine = quadrant & 2 ? -s : s;
    *cosine = (quadrant + 1) & 2 ? -swap : swap;
}

static double on_grid(double value) {
    return (double)random_grid(value) / RECIPE_ONE;
}

static double tangent(int64_t degrees) {
    double sine, cosine;
    sine_cosine(&sine, &cosine, degrees);
    return sine / cosine;
}

void perspective_matrix(double out[9], const struct perspective_draw *draw, uint32_t canvas_width,
                        uint32_t canvas_height, uint32_t frame_width, uint32_t frame_height) {
    const double one = RECIPE_ONE;
    double sine, cosine;
    sine_cosine(&sine, &cosine, draw->angle);
    double alpha = draw->scale / one * cosine, beta = draw->scale / one * sine;
    double shear_x = tangent(draw->shear_x), shear_y = tangent(draw->shear_y);
    double a = alpha - shear_x * beta, b = beta + shear_x * alpha; /* S * R */
    double c = shear_y * alpha - beta, d = shear_y * beta + alpha;
    double px = draw->perspective_x / one, py = draw->perspective_y / one;
    double cx = -(double)canvas_width / 2, cy = -(double)canvas_height / 2;
    double w = px * cx + py * cy + 1;
    double tx = draw->translate_x / one * frame_width, ty = draw->translate_y / one * frame_height;
    out[0] = on_grid(a + tx * px);
    out[1] = on_grid(b + tx * py);
    out[2] = on_grid(a * cx + b * cy + tx * w);
    out[3] = on_grid(c + ty * px);
    out[4] = on_grid(d + ty * py);
    out[5] = on_grid(c * cx + d * cy + ty * w);
    out[6] = px;
    out[7] = py;
    out[8] = on_grid(w);
}

void matrix_identity(double out[9]) {
    memcpy(out, (const double[9]){1, 0, 0, 0, 1, 0, 0, 0, 1}, 9 * sizeof *out);
}

enum recipe_warp matrix_warp(const double m[9]) {
    if (m[6] != 0 || m[7] != 0 || m[8] != 1) {
        return WARP_PERSPECTIVE;
    }
    if (m[1] != 0 || m[3] != 0) {
        return WARP_AFFINE;
    }
    return m[0] == 1 && m[4] == 1 && m[2] == 0 && m[5] == 0 ? WARP_NONE : WARP_AXIS;
}

void layer_matrix(double out[9], const struct recipe *recipe, const struct recipe_layer *layer, struct size_px loaded) {
    memcpy(out, layer->matrix, 9 * sizeof *out);
    if (!recipe->augment || layer->canvas == CANVAS_MOSAIC) {
        return;
    }
    double dx = (recipe->frame_width - loaded.width) % 2 * 0.5, dy = (recipe->frame_height - loaded.height) % 2 * 0.5;
    for (int row = 0; row < 9; row += 3) {
        out[row + 2] += out[row] * dx + out[row + 1] * dy;
    }
}

void recipe_pixel_matrix(double out[9], const struct recipe *recipe, const struct recipe_layer *layer,
                         struct size_px loaded) {
    double m[9];
    layer_matrix(m, recipe, layer, loaded);
    double fx = (double)recipe->output_width / recipe->frame_width;
    double fy = (double)recipe->output_height / recipe->frame_height;
    for (int i = 0; i < 3; i++) {
        out[i] = fx * m[i] + (fx - 1) / 2 * m[6 + i];
        out[3 + i] = fy * m[3 + i] + (fy - 1) / 2 * m[6 + i];
        out[6 + i] = m[6 + i];
    }
}
