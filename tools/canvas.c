#include "canvas.h"

#include "font.h"

#include <stdlib.h>
#include <string.h>

struct colour canvas_class_colour(unsigned class_id) {
    static const struct colour palette[] = {
        {255, 82, 82},  {64, 196, 255},  {105, 240, 90}, {255, 196, 0},   {224, 64, 251},  {29, 233, 182},
        {255, 145, 60}, {140, 158, 255}, {238, 255, 65}, {255, 128, 171}, {178, 235, 242}, {188, 140, 110},
    };
    return palette[class_id % (sizeof palette / sizeof palette[0])];
}

static void put(const struct pixels *canvas, int x, int y, struct colour colour) {
    if (x < 0 || y < 0 || x >= (int)canvas->width || y >= (int)canvas->height)
        return;
    uint8_t *p = canvas->data + (size_t)y * canvas->stride + (size_t)x * 3;
    p[0] = colour.r;
    p[1] = colour.g;
    p[2] = colour.b;
}

void canvas_fill(const struct pixels *canvas, int x, int y, int width, int height, struct colour colour) {
    int right = x + width < (int)canvas->width ? x + width : (int)canvas->width;
    int bottom = y + height < (int)canvas->height ? y + height : (int)canvas->height;
    for (int row = y > 0 ? y : 0; row < bottom; row++)
        for (int column = x > 0 ? x : 0; column < right; column++)
            put(canvas, column, row, colour);
}

void canvas_frame(const struct pixels *canvas, int x, int y, int width, int height, int thickness,
                  struct colour colour) {
    canvas_fill(canvas, x, y, width, thickness, colour);
    canvas_fill(canvas, x, y + height - thickness, width, thickness, colour);
    canvas_fill(canvas, x, y, thickness, height, colour);
    canvas_fill(canvas, x + width - thickness, y, thickness, height, colour);
}

void canvas_line(const struct pixels *canvas, int x0, int y0, int x1, int y1, struct colour colour) {
    int dx = abs(x1 - x0), dy = -abs(y1 - y0), step_x = x0 < x1 ? 1 : -1, step_y = y0 < y1 ? 1 : -1, error = dx + dy;
    for (;;) {
        put(canvas, x0, y0, colour);
        put(canvas, x0 + 1, y0, colour);
        if (x0 == x1 && y0 == y1)
            return;
        int twice = 2 * error;
        if (twice >= dy) {
            error += dy;
            x0 += step_x;
        }
        if (twice <= dx) {
            error += dx;
            y0 += step_y;
        }
    }
}

int canvas_text_width(const char *text, int scale) {
    return (int)strlen(text) * FONT_ADVANCE * scale;
}

static void draw_glyph(const struct pixels *canvas, int x, int y, int scale, char c, struct colour colour) {
    const uint8_t *rows = font_glyph(c);
    for (int row = 0; row < FONT_HEIGHT; row++)
        for (int column = 0; column < FONT_WIDTH; column++)
            if (rows[row] & (1 << (FONT_WIDTH - 1 - column)))
                canvas_fill(canvas, x + column * scale, y + row * scale, scale, scale, colour);
}

void canvas_text(const struct pixels *canvas, int x, int y, int scale, int limit_px, const char *text,
                 struct colour colour) {
    int advance = FONT_ADVANCE * scale, fits = limit_px / advance, length = (int)strlen(text);
    bool cut = length > fits;
    for (int i = 0; i < length && i < fits; i++)
        draw_glyph(canvas, x + i * advance, y, scale, cut && i >= fits - 3 ? '.' : text[i], colour);
}

/* Bilinear in 16.16 fixed point, pixel centres aligned. */
static void enlarge(const struct pixels *canvas, int x, int y, uint32_t width, uint32_t height,
                    const struct pixels *in) {
    int64_t step_x = ((int64_t)in->width << 16) / width, step_y = ((int64_t)in->height << 16) / height;
    int64_t limit_x = ((int64_t)in->width - 1) << 16, limit_y = ((int64_t)in->height - 1) << 16;
    for (uint32_t row = 0; row < height; row++) {
        int64_t sy = step_y * row + step_y / 2 - 32768;
        sy = sy < 0 ? 0 : sy > limit_y ? limit_y : sy;
        const uint8_t *top = in->data + (size_t)(sy >> 16) * in->stride;
        const uint8_t *bottom = sy < limit_y ? top + in->stride : top;
        for (uint32_t column = 0; column < width; column++) {
            int64_t sx = step_x * column + step_x / 2 - 32768;
            sx = sx < 0 ? 0 : sx > limit_x ? limit_x : sx;
            size_t left = (size_t)(sx >> 16) * 3, right = sx < limit_x ? left + 3 : left;
            int fx = (int)(sx & 0xffff) >> 8, fy = (int)(sy & 0xffff) >> 8;
            uint8_t out[3];
            for (int c = 0; c < 3; c++) {
                int upper = top[left + c] * (256 - fx) + top[right + c] * fx;
                int lower = bottom[left + c] * (256 - fx) + bottom[right + c] * fx;
                out[c] = (uint8_t)((upper * (256 - fy) + lower * fy + 32768) >> 16);
            }
            put(canvas, x + (int)column, y + (int)row, (struct colour){out[0], out[1], out[2]});
        }
    }
}

int canvas_picture(const struct pixels *canvas, int x, int y, uint32_t width, uint32_t height,
                   const struct pixels *picture, struct error *error) {
    struct pixels shrunk = {0};
    const struct pixels *from = picture;
    if (width < picture->width || height < picture->height) {
        uint32_t w = width < picture->width ? width : picture->width;
        uint32_t h = height < picture->height ? height : picture->height;
        int rc = pixels_shrink(&shrunk, picture, w, h, error);
        if (rc != 0)
            return rc;
        from = &shrunk;
    }
    enlarge(canvas, x, y, width, height, from);
    pixels_deinit(&shrunk);
    return 0;
}
