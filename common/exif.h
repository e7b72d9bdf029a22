/* The one EXIF field that moves boxes: orientation. */
#ifndef YPK_COMMON_EXIF_H
#define YPK_COMMON_EXIF_H

#include "bytes.h"

enum { EXIF_ABSENT = 0, EXIF_BROKEN = -1 };

/* `tiff` begins with "II" or "MM" (the bytes after "Exif\0\0", or a PNG eXIf chunk). Looks at IFD0 only, never follows
 * more than that one offset, reads nothing out of bounds. Returns 1-8, EXIF_ABSENT when IFD0 has no orientation, or
 * EXIF_BROKEN when the structure cannot be read or the value is not 1-8. */
int exif_orientation(struct span tiff);

#endif
