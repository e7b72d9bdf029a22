/* A loader run as a training loop runs it, and measured. */
#ifndef YPK_TOOLS_LOADER_RUN_H
#define YPK_TOOLS_LOADER_RUN_H

#include "memory.h"
#include "yolopack.h"

#include <stdbool.h>

/* What was counted in the seconds that were measured, and the process's memory at their end. */
struct loader_measure {
    ypk_loader_stats stats; /* its device and note are NULL: they went with the loader */
    struct memory_resident resident;
    char device[32], note[256];
    bool on_device;      /* not in host memory */
    double wait_seconds; /* the step stood still: the device's stream, or the thread */
};

/* Takes batches for `seconds`, after at least `warm_seconds` in which the window fills, and is busy for `step_ms` with
 * each: on the device's stream, or away in host memory. epochs and close_mosaic of the options do not matter: it does
 * not end. The codes of ypk_loader_create() and ypk_loader_next(). */
int loader_run(struct loader_measure *out, ypk_dataset *dataset, const ypk_loader_options *options, double step_ms,
               double warm_seconds, double seconds, ypk_error *error);

#endif
