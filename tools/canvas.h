/* Drawing into an RGB picture: what the contact sheet of `view` is made of. Everything is clipped. */
#ifndef YPK_TOOLS_CANVAS_H
#define YPK_TOOLS_CANVAS_H

#include "pixels.h"

struct colour {
    uint8_t r, g, b;
};

/* The colour of a class: neighbours differ clearly. */
struct colour canvas_class_colour(unsigned class_id);

void canvas_fill(const struct pixels *canvas, int x, int y, int width, int height, struct colour colour);

/* A frame `thickness` px wide, drawn inwards. */
void canvas_frame(const struct pixels *canvas, int x, int y, int width, int height, int thickness,
                  struct colour colour);
void canvas_line(const struct pixels *canvas, int x0, int y0, int x1, int y1, struct colour colour);

/* Text with its upper left corner at x, y, every font pixel `scale` px; at most `limit_px` wide, then cut
 * with "...". */
void canvas_text(const struct pixels *canvas, int x, int y, int scale, int limit_px, const char *text,
                 struct colour colour);
int canvas_text_width(const char *text, int scale);

/* `picture` (3 channels) resized to width x height with its corner at x, y: averaged when it shrinks, bilinear when it
 * grows. */
int canvas_picture(const struct pixels *canvas, int x, int y, uint32_t width, uint32_t height,
                   const struct pixels *picture, struct error *error);

#endif
