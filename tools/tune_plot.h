/* What `tune` measured as a picture: rate over workers, one line a prefetch depth. */
#ifndef YPK_TOOLS_TUNE_PLOT_H
#define YPK_TOOLS_TUNE_PLOT_H

#include "error.h"

#include <stdint.h>

struct tune_point {
    uint32_t workers, prefetch;
    double rate; /* samples a second */
};

struct tune_plot {
    const char *title;    /* states the finding */
    const char *subtitle; /* what was measured */
    const char *noun;     /* "pairs": the y axis is noun/s */
    double wanted_rate;   /* what the training step can use, samples a second; 0: not stated */
    const struct tune_point *points;
    uint32_t point_count;
    uint32_t recommended; /* index of a point */
};

/* Writes an SVG file. */
int tune_plot_write(const char *path, const struct tune_plot *plot, struct error *error);

#endif
