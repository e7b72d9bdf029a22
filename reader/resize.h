/*
 * Bilinear resize of 8-bit pictures into planes, byte for byte what cv2.resize with INTER_LINEAR gives.
 *
 *   source row (R,G,B or one plane) ──> planes ──horizontal, 1/2048──> two rows ──vertical──> rows of planes
 *
 * OpenCV's fixed point: horizontal sums lose 4 bits, vertical products 16, and the end is rounded from quarters.
 */
#ifndef YPK_READER_RESIZE_H
#define YPK_READER_RESIZE_H

#include "cpu.h"
#include "error.h"
#include "pixels.h"

#include <stddef.h>
#include <stdint.h>

#define RESIZE_LIMIT 65535 /* largest side of either picture, px */

/* Scratch and tables of one thread. */
struct resize;

/* For sources and results up to these widths, px. ERR_ARGUMENT, ERR_MEMORY. */
int resize_create(struct resize **out, int source_width, int width, enum cpu_level level, struct error *error);
void resize_destroy(struct resize **resize);

/* Scales `in` (depth 8; channels 3: R,G,B interleaved, or 1) to width x height. planes: as many as channels, each with
 * `height` rows `stride` bytes apart. Sizes that are equal copy. Sizes are within the limits given at creation. */
void resize_planes(struct resize *resize, uint8_t *const *planes, size_t stride, int width, int height,
                   const struct pixels *in);

#endif
