#include "loader_run.h"

#include "api_error.h"
#include "clock.h"
#include "consumer.h"
#include "loader.h"

#include <stdio.h>
#include <string.h>

/* Takes at least `count` batches, and until `seconds` have passed. */
static int take_batches(ypk_loader *loader, struct consumer *consumer, double step_ms, uint32_t count, double seconds,
                        ypk_error *error) {
    double end = clock_seconds() + seconds;
    int rc = YPK_OK;
    for (uint32_t taken = 0; rc == YPK_OK && (taken < count || clock_seconds() < end); taken++) {
        ypk_batch batch;
        struct error inner = {0};
        rc = ypk_loader_next(loader, &batch, consumer->stream, error);
        if (rc != YPK_OK)
            break;
        if (consumer_step(consumer, step_ms, &inner) != 0)
            rc = api_fail(error, &inner);
        ypk_batch_release(&batch, consumer->stream);
    }
    return rc == YPK_END ? YPK_OK : rc;
}

struct counts {
    ypk_loader_stats stats;
    struct loader_wait wait;
};

/* What was counted between the two, and what bounded the rate then. */
static ypk_loader_stats difference(const struct counts *late, const struct counts *early) {
    const ypk_loader_stats *before = &early->stats;
    ypk_loader_stats d = late->stats;
    const struct loader_wait wait = {.host = late->wait.host - early->wait.host,
                                     .host_late = late->wait.host_late - early->wait.host_late,
                                     .stream = late->wait.stream - early->wait.stream,
                                     .stream_late = late->wait.stream_late - early->wait.stream_late,
                                     .stalls = late->wait.stalls - early->wait.stalls};
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
    d.copy_bytes -= before->copy_bytes;
    d.copy_seconds -= before->copy_seconds;
    d.stream_wait_seconds -= before->stream_wait_seconds;
    d.device = d.note = NULL;
    loader_judge(&d, &wait);
    return d;
}

/* The stream has done all that was asked of it, and then the counts are read. */
static int read_counts(ypk_loader *loader, struct consumer *consumer, struct counts *out, ypk_error *error) {
    struct error inner = {0};
    if (consumer_settle(consumer, &inner) != 0)
        return api_fail(error, &inner);
    loader_get_stats(loader, &out->stats, &out->wait);
    return YPK_OK;
}

static int measure(struct loader_measure *out, ypk_loader *loader, struct consumer *consumer, double step_ms,
                   uint32_t warm_count, double warm_seconds, double seconds, ypk_error *error) {
    struct counts before, after;
    /* the window fills and the page cache warms up first */
    int rc = take_batches(loader, consumer, step_ms, warm_count, warm_seconds, error);
    if (rc == YPK_OK)
        rc = read_counts(loader, consumer, &before, error);
    if (rc == YPK_OK)
        rc = take_batches(loader, consumer, step_ms, 0, seconds, error);
    if (rc == YPK_OK)
        rc = read_counts(loader, consumer, &after, error);
    if (rc != YPK_OK)
        return rc;
    memory_resident(&out->resident, "");
    snprintf(out->device, sizeof out->device, "%s", after.stats.device);
    snprintf(out->note, sizeof out->note, "%s", after.stats.note);
    out->on_device = consumer->ops != NULL;
    out->stats = difference(&after, &before);
    out->wait_seconds = out->on_device ? out->stats.stream_wait_seconds : out->stats.wait_seconds;
    return YPK_OK;
}

int loader_run(struct loader_measure *out, ypk_dataset *dataset, const ypk_loader_options *options, double step_ms,
               double warm_seconds, double seconds, ypk_error *error) {
    ypk_loader_options endless = *options;
    struct consumer consumer;
    struct error inner = {0};
    ypk_loader *loader = NULL;
    endless.epochs = 0;
    endless.close_mosaic = 0;
    int rc = ypk_loader_create(&loader, dataset, &endless, error);
    if (rc != YPK_OK)
        return rc;
    if (consumer_open(&consumer, loader, options->device, &inner) != 0)
        rc = api_fail(error, &inner);
    else
        rc = measure(out, loader, &consumer, step_ms, 2 * options->mosaic_depth, warm_seconds, seconds, error);
    ypk_loader_destroy(&loader);
    consumer_close(&consumer);
    return rc;
}
