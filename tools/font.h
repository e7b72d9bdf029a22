/* A 5x8 bitmap font of printable ASCII, drawn for this project. */
#ifndef YPK_TOOLS_FONT_H
#define YPK_TOOLS_FONT_H

#include <stdint.h>

enum { FONT_WIDTH = 5, FONT_HEIGHT = 8, FONT_ADVANCE = 6 };

/* Eight rows, from the top; bit 4 is the leftmost column. What is not printable ASCII looks like '?'. */
const uint8_t *font_glyph(char c);

#endif
