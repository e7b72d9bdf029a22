/* A clock that only goes forward, from an arbitrary start. */
#ifndef YPK_COMMON_CLOCK_H
#define YPK_COMMON_CLOCK_H

#include <stdint.h>

uint64_t clock_ns(void);
double clock_seconds(void);

#endif
