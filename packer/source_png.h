/* PNG as a source: the row of the table of formats. */
#ifndef YPK_PACKER_SOURCE_PNG_H
#define YPK_PACKER_SOURCE_PNG_H

#include "source_image.h"

extern const struct source_image_format source_png;

#endif
