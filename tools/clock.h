#ifndef YPK_TOOLS_CLOCK_H
#define YPK_TOOLS_CLOCK_H

/* Seconds on a clock that only goes forward, from an arbitrary start. */
double clock_seconds(void);

#endif
