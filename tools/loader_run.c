#include "loader_run.h"

#include "clock.h"

#include <time.h>

/* The training step: the consumer is away for that long. */
static void step(int64_t ms) {
    struct timespec t = {ms / 1000, ms % 1000 * 1000000};
    if (ms > 0)
        nanosleep(&t, NULL);
}

/* Takes at least `count` batches, and until `seconds` have passed. */
static int take_batches(ypk_loader *loader, int64_t step_ms, uint32_t count, double seconds, ypk_error *error) {
    double end = clock_seconds() + seconds;
    int rc = YPK_OK;
    for (uint32_t taken = 0; rc == YPK_OK && (taken < count || clock_seconds() < end); taken++) {
        ypk_batch batch;
        rc = ypk_loader_next(loader, &batch, YPK_NO_STREAM, error);
        if (rc == YPK_OK) {
            step(step_ms);
            ypk_batch_release(&batch, YPK_NO_STREAM);
        }
    }
    return rc == YPK_END ? YPK_OK : rc;
}

static ypk_loader_stats difference(const ypk_loader_stats *after, const ypk_loader_stats *before) {
    ypk_loader_stats d = *after;
    d.batches -= before->batches;
    d.samples -= before->samples;
    d.decodes -= before->decodes;
    d.seconds -= before->seconds;
    d.wait_seconds -= before->wait_seconds;
    d.read_seconds -= before->read_seconds;
    d.decode_seconds -= before->decode_seconds;
    d.resize_seconds -= before->resize_seconds;
    d.warp_seconds -= before->warp_seconds;
    d.colour_seconds -= before->colour_seconds;
    d.write_seconds -= before->write_seconds;
    d.idle_seconds -= before->idle_seconds;
    return d;
}

int loader_run(struct loader_measure *out, ypk_dataset *dataset, const ypk_loader_options *options, int64_t step_ms,
               double warm_seconds, double seconds, ypk_error *error) {
    ypk_loader_options endless = *options;
    ypk_loader_stats before, after;
    ypk_loader *loader = NULL;
    endless.epochs = 0;
    endless.close_mosaic = 0;
    int rc = ypk_loader_create(&loader, dataset, &endless, error);
    if (rc == YPK_OK) /* the window fills and the page cache warms up first */
        rc = take_batches(loader, step_ms, 2 * options->mosaic_depth, warm_seconds, error);
    if (rc == YPK_OK) {
        ypk_loader_get_stats(loader, &before);
        rc = take_batches(loader, step_ms, 0, seconds, error);
        ypk_loader_get_stats(loader, &after);
        memory_resident(&out->resident, "");
    }
    ypk_loader_destroy(&loader);
    if (rc == YPK_OK)
        out->stats = difference(&after, &before);
    return rc;
}
