/* The reader's pixel kernels with flat arguments, so that compare.py can call them beside OpenCV. Pictures are planar:
 * [3][height][width], uint8. */
#include "cpu.h"
#include "convert.h"
#include "hsv.h"
#include "resize.h"
#include "warp.h"

#include <stddef.h>
#include <stdint.h>

#define EXPORT __attribute__((visibility("default")))

/* For each tile: its planes, and x, y, width, height on the canvas, first column and row of the picture that is seen
 * there, the picture's width and height. */
struct parity_tile {
    const uint8_t *planes;
    int x, y, width, height, left, top, picture_width, picture_height;
};

struct parity_frame {
    const struct parity_tile *tiles;
    int tile_count, canvas_width;
    const double *matrix;
    int perspective, width, height;
    int hue, saturation, value; /* all 0: no colour step */
    int mirror, level;
};

EXPORT int parity_level(void);
EXPORT int parity_resize(uint8_t *planes, int width, int height, uint8_t *interleaved, int from_width, int from_height,
                         int level);
EXPORT int parity_frame(uint8_t *planes, const struct parity_frame *frame);

int parity_level(void) {
    return (int)cpu_level();
}

int parity_resize(uint8_t *planes, int width, int height, uint8_t *interleaved, int from_width, int from_height,
                  int level) {
    const struct pixels in = {.data = interleaved,
                              .stride = (size_t)from_width * 3,
                              .width = (uint32_t)from_width,
                              .height = (uint32_t)from_height,
                              .channels = 3,
                              .depth = 8};
    const size_t plane = (size_t)width * (size_t)height;
    uint8_t *const out[3] = {planes, planes + plane, planes + 2 * plane};
    struct resize *resize;
    const int rc = resize_create(&resize, from_width, width, (enum cpu_level)level, NULL);
    if (rc < 0)
        return rc;
    resize_planes(resize, out, (size_t)width, width, height, &in);
    resize_destroy(&resize);
    return 0;
}

static struct warp_source source_of(const struct parity_frame *frame) {
    struct warp_source source = {.tile_count = frame->tile_count, .plane_count = 3, .fill = 114};
    for (int i = 0; i < frame->tile_count; i++) {
        const struct parity_tile *const from = &frame->tiles[i];
        struct warp_tile *const t = &source.tile[i];
        const size_t stride = (size_t)from->picture_width, height = (size_t)from->picture_height;
        *t = (struct warp_tile){
            .stride = stride, .x = from->x, .y = from->y, .width = from->width, .height = from->height};
        for (size_t p = 0; p < 3; p++)
            t->plane[p] = from->planes + (p * height + (size_t)from->top) * stride + from->left;
    }
    return source;
}

/* Row by row as the loader does it: warp, colour, mirror. */
int parity_frame(uint8_t *planes, const struct parity_frame *frame) {
    const enum cpu_level level = (enum cpu_level)frame->level;
    const struct hsv_gains gains = hsv_gains(frame->hue, frame->saturation, frame->value);
    const struct warp_source source = source_of(frame);
    const size_t width = (size_t)frame->width, plane = width * (size_t)frame->height;
    struct warp *warp;
    const int rc = warp_create(&warp, frame->width, frame->canvas_width, level, NULL);
    if (rc < 0)
        return rc;
    warp_begin(warp, &source, frame->matrix, frame->perspective, frame->width, frame->height);
    for (int y = 0; y < frame->height; y++) {
        uint8_t *const row = planes + (size_t)y * width;
        uint8_t *const rows[3] = {row, row + plane, row + 2 * plane};
        warp_row(warp, y, rows);
        if (frame->hue || frame->saturation || frame->value)
            hsv_row_for(level)(rows[0], rows[1], rows[2], width, &gains);
        for (int p = 0; p < 3 && frame->mirror; p++)
            convert_for(level)->reverse(rows[p], width);
    }
    warp_destroy(&warp);
    return 0;
}
