/* PNG, for what the command writes. */
#ifndef YPK_TOOLS_PNG_OUT_H
#define YPK_TOOLS_PNG_OUT_H

#include "bytes.h"
#include "pixels.h"

/* Appends `in` (8 bits and 1 or 3 channels, or 16 bits and 1) as a PNG file of the same values. ERR_MEMORY, or
 * ERR_ARGUMENT with libpng's reason. */
int encode_png(struct bytes *out, const struct pixels *in, struct error *error);

#endif
