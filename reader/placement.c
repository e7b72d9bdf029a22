#include "placement.h"

static uint32_t smaller(uint32_t a, uint32_t b) {
    return a < b ? a : b;
}

/* ceil() of a value in [0, 2^32) without the maths library. */
static uint32_t ceiling(double value) {
    uint32_t whole = (uint32_t)value;
    return whole < value ? whole + 1 : whole;
}

struct size_px load_size(uint32_t image_size, uint32_t width, uint32_t height) {
    double ratio = (double)image_size / (width > height ? width : height);
    return (struct size_px){smaller(ceiling(width * ratio), image_size), smaller(ceiling(height * ratio), image_size)};
}

struct size_px canvas_size(const struct recipe *recipe, const struct recipe_layer *layer) {
    if (layer->canvas == CANVAS_MOSAIC) {
        return (struct size_px){2 * recipe->image_size, 2 * recipe->image_size};
    }
    return (struct size_px){recipe->frame_width, recipe->frame_height};
}

struct placement place_tile(const struct recipe *recipe, const struct recipe_layer *layer, unsigned tile,
                            struct size_px loaded) {
    struct size_px canvas = canvas_size(recipe, layer);
    int32_t width = (int32_t)loaded.width, height = (int32_t)loaded.height;
    struct placement p;
    if (layer->canvas == CANVAS_MOSAIC) {
        p.dx = tile & 1 ? layer->center_x : layer->center_x - width;
        p.dy = tile & 2 ? layer->center_y : layer->center_y - height;
    } else {
        p.dx = ((int32_t)canvas.width - width) / 2;
        p.dy = ((int32_t)canvas.height - height) / 2;
    }
    p.x1 = p.dx > 0 ? p.dx : 0;
    p.y1 = p.dy > 0 ? p.dy : 0;
    p.x2 = p.dx + width < (int32_t)canvas.width ? p.dx + width : (int32_t)canvas.width;
    p.y2 = p.dy + height < (int32_t)canvas.height ? p.dy + height : (int32_t)canvas.height;
    return p;
}
