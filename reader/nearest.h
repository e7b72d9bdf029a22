/* Rounding to integers without the maths library, the same on every machine. */
#ifndef YPK_READER_NEAREST_H
#define YPK_READER_NEAREST_H

#include <stdint.h>

/* To the nearest, halves to even; what does not fit becomes the nearest that does, not-a-number the smallest. Adding
 * and taking away 1.5 * 2^52 leaves no room for a fraction. */
static inline int32_t nearest_int(double v) {
    v = v > INT32_MIN ? v : INT32_MIN;
    v = v < INT32_MAX ? v : INT32_MAX;
    return (int32_t)((v + 0x1.8p52) - 0x1.8p52);
}

#endif
