/*
 * Sampling an output frame from up to four tiles on a canvas that is never made.
 *
 *   scale and translation:   tiles, fill ──> canvas row ──resampled once──> two rows ──blended──> output row
 *   any other matrix:        tiles, fill ──> four taps a pixel ──> output row
 *
 * Arithmetic is that of OpenCV's warpAffine and warpPerspective with INTER_LINEAR and BORDER_CONSTANT on 8-bit
 * pictures: positions on a grid of 1/32 px, weights in 1/1024. The canvas is an endless plane of `fill`, so its border
 * is nothing special. A caller pulls rows one by one and does with each what it likes while it is in the cache.
 */
#ifndef YPK_READER_WARP_H
#define YPK_READER_WARP_H

#include "cpu.h"
#include "error.h"

#include <stddef.h>
#include <stdint.h>

#define WARP_PLANES 3
#define WARP_TILES 4
#define WARP_LIMIT 16384 /* largest side of canvas or frame, px */

/* The visible part of a picture on the canvas. Tiles do not overlap. */
struct warp_tile {
    const uint8_t *plane[WARP_PLANES]; /* its top left pixel in each plane; [height][stride], uint8 */
    size_t stride;                     /* bytes between rows, the same for all planes; stride * height < 2^31 */
    int x, y, width, height;           /* px on the canvas, 0 <= x, x + width <= WARP_LIMIT; width, height > 0 */
};

struct warp_source {
    struct warp_tile tile[WARP_TILES];
    int tile_count;  /* 0 gives a frame of fill */
    int plane_count; /* 1 or 3 */
    uint8_t fill;
};

/* Scratch and tables of one thread. */
struct warp;

/* For frames up to `frame_width` and canvases up to `canvas_width` px. ERR_ARGUMENT, ERR_MEMORY. */
int warp_create(struct warp **out, int frame_width, int canvas_width, enum cpu_level level, struct error *error);
void warp_destroy(struct warp **warp);

/* Prepares a frame of `width` x `height`. `matrix` is row-major and maps canvas to frame, as cv2.warpPerspective takes
 * it; it is inverted here by OpenCV's formulas. With perspective 0 its last row is not looked at, and scale and
 * translation take the short path by themselves. `source` is copied; the pixels it points to are borrowed until the
 * last row. A singular matrix is taken as OpenCV takes it: one over its determinant is 0. */
void warp_begin(struct warp *warp, const struct warp_source *source, const double matrix[9], int perspective, int width,
                int height);

/* Row y of the frame: `width` bytes into each of the plane_count rows. Any order is right, top to bottom is fast. */
void warp_row(struct warp *warp, int y, uint8_t *const rows[WARP_PLANES]);

#endif
