/* Where pictures come to lie: pure geometry that follows from a recipe and the pictures' sizes. */
#ifndef YPK_READER_PLACEMENT_H
#define YPK_READER_PLACEMENT_H

#include "recipe.h"

#include <stdint.h>

struct size_px {
    uint32_t width, height;
};

/* The size a picture is loaded at: r = S / max(h, w), each side min(ceil(side * r), S). Sides are at least 1. */
struct size_px load_size(uint32_t image_size, uint32_t width, uint32_t height);

struct size_px canvas_size(const struct recipe *recipe, const struct recipe_layer *layer);

/*
 * A tile on its canvas: picture pixel (x, y) comes to lie at (x + dx, y + dy), and what is visible of the picture is
 * the rectangle [x1, x2) x [y1, y2) of the canvas, never empty.
 */
struct placement {
    int32_t dx, dy;
    int32_t x1, y1, x2, y2;
};

/* `tile` is 0-3 of a mosaic (top left, top right, bottom left, bottom right), 0 of a letterbox. `loaded` is the
 * picture's load_size(). A letterbox is centred, the odd pixel going right and below; since the longer side is S it
 * needs no second resize. */
struct placement place_tile(const struct recipe *recipe, const struct recipe_layer *layer, unsigned tile,
                            struct size_px loaded);

#endif
