/* A loader run as a training loop runs it, and measured. */
#ifndef YPK_TOOLS_LOADER_RUN_H
#define YPK_TOOLS_LOADER_RUN_H

#include "yolopack.h"

#include <stdint.h>

/* Takes batches for `seconds`, after at least `warm_seconds` in which the window fills, and is away for `step_ms` with each.
 * *out: what was counted in those seconds. epochs and close_mosaic of the options do not matter: it does not end. The codes
 * of ypk_loader_create() and ypk_loader_next(). */
int loader_run(ypk_loader_stats *out, ypk_dataset *dataset, const ypk_loader_options *options, int64_t step_ms,
               double warm_seconds, double seconds, ypk_error *error);

#endif
