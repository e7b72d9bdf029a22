/* Labels back to YOLO rows, so that reading them again gives the very same float32 values. */
#ifndef YPK_TOOLS_EXPORT_LABEL_H
#define YPK_TOOLS_EXPORT_LABEL_H

#include "bytes.h"
#include "yolopack.h"

/* The shortest decimal that reads back to exactly `value`, NUL-terminated. */
#define EXPORT_FLOAT_BYTES 32
void export_float(char out[EXPORT_FLOAT_BYTES], float value);

/* Appends the rows of a sample: boxes as "class x y width height", polygons and oriented boxes as their points, key
 * points behind their box. `task` is YPK_DETECT …, `dims` the floats of a point. 0 or ERR_MEMORY. */
int export_labels(struct bytes *out, const ypk_sample *sample, int task, uint32_t dims);

#endif
