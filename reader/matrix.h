/*
 * Matrices of the warps, with the four operations of IEEE 754 alone, so that they are the same to the last bit whatever
 * the maths library (and compiled without contraction of a * b + c).
 */
#ifndef YPK_READER_MATRIX_H
#define YPK_READER_MATRIX_H

#include "placement.h"
#include "recipe.h"

#include <stdint.h>

/* The draws of one random perspective; all but the angles are of RECIPE_ONE. */
struct perspective_draw {
    int32_t scale;
    int32_t angle, shear_x, shear_y; /* degrees, times 2^20 */
    int32_t perspective_x, perspective_y;
    int32_t translate_x, translate_y; /* of the frame: RECIPE_ONE / 2 is its middle */
};

/* M = T * S * R * P * C, canvas px -> frame px, each entry rounded to 2^-20: C moves the canvas's middle to the origin,
 * P is the perspective, R rotates (counter-clockwise on the screen) and scales, S shears, T moves the origin to the
 * drawn place in the frame. */
void perspective_matrix(double out[9], const struct perspective_draw *draw, uint32_t canvas_width,
                        uint32_t canvas_height, uint32_t frame_width, uint32_t frame_height);

void matrix_identity(double out[9]);

/* The cheapest exact path for the matrix, never WARP_PERSPECTIVE unless the bottom row asks for it. */
enum recipe_warp matrix_warp(const double matrix[9]);

/* The layer's matrix for a picture of that loaded size. In training, a picture without a mosaic has its middle exactly
 * in the canvas's, where place_tile() puts it on whole pixels: half a pixel is made up here for each odd margin. Else
 * just the layer's own. */
void layer_matrix(double out[9], const struct recipe *recipe, const struct recipe_layer *layer, struct size_px loaded);

/* The matrix for pixels, canvas px -> output px: layer_matrix(), followed by the resampling of the frame to the output
 * (pixel centres at half: x' = (x + 0.5) * output / frame - 0.5). Just layer_matrix() when both sizes are equal. */
void recipe_pixel_matrix(double out[9], const struct recipe *recipe, const struct recipe_layer *layer,
                         struct size_px loaded);

#endif
