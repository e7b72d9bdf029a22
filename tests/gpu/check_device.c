/*
 * Every check of a device, on any device: check_device DEVICE PACK [CHECK...]
 *
 * DEVICE is "cuda:0", or, to try the checks themselves, "sim" or "host". One line for each check, with its figures.
 * Those of speed are judged on a GPU only, and printed elsewhere too. Exit code 77: there is no such device.
 */
#include "gpu/driver.h"
#include "gpu/watched.h"
#include "sim/device_sim.h"

#include "clock.h"
#include "consumer.h"
#include "convert.h"
#include "device.h"
#include "loader.h"
#include "yolopack.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BATCHES_LIMIT = 128 };

struct check {
    const char *device; /* as named on the command line; NULL for one that only tests know */
    const struct device_ops *ops;
    int ordinal;
    bool real;    /* an NVIDIA driver stands behind it */
    bool beside;  /* work on a stream does not keep the thread */
    bool shorter; /* no GPU: less of everything */
    bool slow;    /* the check failed for a figure only: the machine may have been busy with something else */
    ypk_dataset *dataset;
    struct consumer consumer;
    char figures[400];
};

#define MUST(condition)                                                                                                \
    do {                                                                                                               \
        if (!(condition))                                                                                              \
            return wrong(__LINE__, #condition);                                                                        \
    } while (0)

/* The error of the call that failed last, for the line that is printed. */
static ypk_error failure;
static struct error inner;

static bool wrong(int line, const char *condition) {
    printf("  line %d: not so: %s\n", line, condition);
    if (failure.message[0] || inner.message[0])
        printf("  last error: %s%s\n", failure.message, inner.message);
    return false;
}

__attribute__((format(printf, 2, 3))) static void figures(struct check *c, const char *format, ...) {
    va_list args;
    va_start(args, format);
    vsnprintf(c->figures, sizeof c->figures, format, args);
    va_end(args);
}

/* ---- batches ----------------------------------------------------------------------------------------------------- */

/* A batch in host memory, as the loader without a device makes it. */
struct kept {
    uint8_t *bytes; /* images, one behind the other, then boxes, classes, rows */
    size_t size;
    uint32_t label_count;
};

static size_t tensor_bytes(const ypk_tensor *t) {
    return (size_t)(t->shape[0] * t->shape[1] * t->shape[2] * t->shape[3]) * number_bytes((enum number_type)t->dtype);
}

static size_t batch_bytes(const ypk_batch *b) {
    size_t size = b->label_count * 6 * sizeof(float);
    for (int i = 0; i < b->image_count; i++)
        size += tensor_bytes(&b->images[i]);
    return size;
}

/* The parts of a batch and where they go in a kept one; returns how many. */
static int batch_parts(const ypk_batch *b, const void *from[5], size_t sizes[5]) {
    int n = 0;
    for (; n < b->image_count; n++) {
        from[n] = b->images[n].data;
        sizes[n] = tensor_bytes(&b->images[n]);
    }
    const void *labels[] = {b->label_box, b->label_class, b->label_batch};
    for (int i = 0; i < 3 && b->label_count > 0; i++, n++) {
        from[n] = labels[i];
        sizes[n] = b->label_count * sizeof(float) * (i == 0 ? 4 : 1);
    }
    return n;
}

static bool keep(struct kept *out, const ypk_batch *b) {
    const void *from[5];
    size_t sizes[5], at = 0;
    *out = (struct kept){.size = batch_bytes(b), .label_count = b->label_count};
    out->bytes = malloc(out->size);
    int n = out->bytes ? batch_parts(b, from, sizes) : 0;
    for (int i = 0; i < n; at += sizes[i++])
        memcpy(out->bytes + at, from[i], sizes[i]);
    return out->bytes != NULL;
}

/* Puts copies of the whole batch on the stream: `to` has what the device has when the stream comes to it. */
static bool fetch(struct check *c, uint8_t *to, const ypk_batch *b, void *stream) {
    const void *from[5];
    size_t sizes[5], at = 0;
    int n = batch_parts(b, from, sizes);
    for (int i = 0; i < n; at += sizes[i++])
        if (c->ops->copy(c->consumer.device, stream, to + at, from[i], sizes[i], &inner) != 0)
            return false;
    return true;
}

static int make_loader(const struct check *c, ypk_loader **out, const ypk_loader_options *options) {
    if (c->device)
        return ypk_loader_create(out, c->dataset, options, &failure);
    return loader_create_on(out, c->dataset, options, c->ops, c->ordinal, &inner);
}

static void forget(struct kept *kept, int count) {
    for (int i = 0; i < count; i++)
        free(kept[i].bytes);
}

static ypk_loader_options plain(const struct check *c, uint32_t side) {
    ypk_loader_options o;
    ypk_loader_options_init(&o, sizeof o);
    o.batch = 4;
    o.image_size = side;
    o.epochs = 0;
    o.close_mosaic = 0;
    o.seed = 7;
    o.device = c->device;
    for (int i = 0; i < 4; i++) {
        o.mean[i] = 0.1f * (float)(i + 1);
        o.deviation[i] = 0.3f - 0.05f * (float)i;
    }
    return o;
}

/* The first `count` batches, made without the device. */
static bool keep_batches(struct check *c, struct kept *kept, int count, ypk_loader_options options) {
    ypk_loader *loader;
    options.device = NULL;
    MUST(ypk_loader_create(&loader, c->dataset, &options, &failure) == YPK_OK);
    for (int i = 0; i < count; i++) {
        ypk_batch batch;
        MUST(ypk_loader_next(loader, &batch, YPK_NO_STREAM, &failure) == YPK_OK);
        MUST(keep(&kept[i], &batch));
        ypk_batch_release(&batch, YPK_NO_STREAM);
    }
    ypk_loader_destroy(&loader);
    return true;
}

/* ---- the caller -------------------------------------------------------------------------------------------------- */

/* Before any other check: which contexts a loader makes, and which one the caller has afterwards. */
static bool check_caller(struct check *c) {
    ypk_loader_options o = plain(c, 64);
    ypk_loader *loader;
    ypk_batch batch;
    int devices = driver_device_count();
    for (int i = 0; i < devices; i++)
        MUST(!driver_context_active(i));
    for (int current = -1; current < devices; current++) { /* the last rounds make contexts of their own */
        if (current >= 0)
            MUST(driver_set_device(current));
        void *before = driver_current();
        MUST(make_loader(c, &loader, &o) == YPK_OK);
        MUST(driver_current() == before);
        MUST(ypk_loader_next(loader, &batch, NULL, &failure) == YPK_OK);
        MUST(driver_current() == before);
        MUST(ypk_batch_used_on(&batch, NULL, &failure) == YPK_OK);
        ypk_batch_release(&batch, NULL);
        MUST(driver_current() == before);
        MUST(current >= 0 || driver_context_active(c->ordinal));
        for (int i = 0; current < 0 && i < devices; i++)
            MUST(i == c->ordinal || !driver_context_active(i));
        ypk_loader_destroy(&loader);
        MUST(driver_current() == before);
    }
    driver_set_none();
    figures(c, "%d devices; no context on another, the caller's unchanged", devices);
    return true;
}

/* ---- equality ---------------------------------------------------------------------------------------------------- */

static bool same_batches(struct check *c, const ypk_loader_options *o, int count) {
    struct kept kept[BATCHES_LIMIT];
    ypk_loader *loader;
    MUST(keep_batches(c, kept, count, *o));
    MUST(make_loader(c, &loader, o) == YPK_OK);
    for (int i = 0; i < count; i++) {
        ypk_batch batch;
        MUST(ypk_loader_next(loader, &batch, c->consumer.stream, &failure) == YPK_OK);
        MUST(batch.images[0].device_type == c->ops->dlpack_type && batch.images[0].device_id == c->ordinal);
        MUST(batch_bytes(&batch) == kept[i].size && batch.label_count == kept[i].label_count);
        uint8_t *got = malloc(kept[i].size);
        MUST(got && fetch(c, got, &batch, c->consumer.stream));
        ypk_batch_release(&batch, c->consumer.stream);
        MUST(consumer_settle(&c->consumer, &inner) == 0);
        MUST(memcmp(got, kept[i].bytes, kept[i].size) == 0);
        free(got);
    }
    ypk_loader_destroy(&loader);
    forget(kept, count);
    return true;
}

static bool check_equality(struct check *c) {
    int combinations = 0;
    for (int dtype = YPK_U8; dtype <= YPK_F32; dtype++)
        for (int layout = YPK_NCHW; layout <= YPK_NHWC; layout++)
            for (int channels = YPK_CHANNELS_RGB; channels <= YPK_CHANNELS_TWO; channels++) {
                ypk_loader_options o = plain(c, c->shorter ? 64 : 320);
                if (channels == YPK_CHANNELS_RGB) /* planes that begin anywhere */
                    o.image_size = o.stride = 98;
                o.dtype = dtype;
                o.layout = layout;
                o.channels = channels;
                if (!same_batches(c, &o, 2)) {
                    printf("  dtype %d, layout %d, channels %d\n", dtype, layout, channels);
                    return false;
                }
                combinations++;
            }
    figures(c, "%d combinations of dtype, layout and channels: the bytes of the CPU", combinations);
    return true;
}

static bool same_numbers(struct check *c, struct device_convert what) {
    const size_t area = (size_t)what.width * what.height;
    const size_t from_bytes = what.rows * what.from_channels * area;
    const size_t to_bytes = what.rows * what.to_channels * area * number_bytes(what.type);
    uint8_t *from = malloc(from_bytes), *wanted = malloc(to_bytes), *got = malloc(to_bytes);
    void *device_from, *device_to;
    struct device *d = c->consumer.device;
    MUST(from && wanted && got);
    for (size_t i = 0; i < from_bytes; i++)
        from[i] = (uint8_t)(i * 2654435761u >> 13);
    what.from = from;
    what.to = wanted;
    device_host.convert(NULL, NULL, &what, &inner);
    MUST(c->ops->allocate(d, &device_from, from_bytes, &inner) == 0);
    MUST(c->ops->allocate(d, &device_to, to_bytes, &inner) == 0);
    MUST(c->ops->copy(d, c->consumer.stream, device_from, from, from_bytes, &inner) == 0);
    what.from = device_from;
    what.to = device_to;
    MUST(c->ops->convert(d, c->consumer.stream, &what, &inner) == 0);
    MUST(c->ops->copy(d, c->consumer.stream, got, device_to, to_bytes, &inner) == 0);
    MUST(consumer_settle(&c->consumer, &inner) == 0);
    MUST(memcmp(got, wanted, to_bytes) == 0);
    c->ops->release(d, device_from);
    c->ops->release(d, device_to);
    free(from);
    free(wanted);
    free(got);
    return true;
}

static bool check_kernels(struct check *c) {
    static const uint32_t channels[][2] = {{1, 1}, {3, 3}, {4, 4}, {4, 6}, {1, 3}};
    static const uint32_t sizes[][2] = {{64, 48}, {33, 31}, {320, 640}};
    int count = 0;
    for (size_t s = 0; s < (c->shorter ? 2 : 3); s++)
        for (size_t k = 0; k < sizeof channels / sizeof channels[0]; k++)
            for (int type = NUMBER_U8; type <= NUMBER_F32; type++)
                for (int interleaved = 0; interleaved < 2; interleaved++, count++) {
                    struct device_convert what = {.rows = 3,
                                                  .from_channels = channels[k][0],
                                                  .to_channels = channels[k][1],
                                                  .width = sizes[s][0],
                                                  .height = sizes[s][1],
                                                  .interleaved = interleaved,
                                                  .type = (enum number_type)type};
                    for (int i = 0; i < 6; i++) {
                        what.mean[i] = 0.485f - 0.07f * (float)i;
                        what.deviation[i] = 0.229f + 0.011f * (float)i;
                    }
                    MUST(same_numbers(c, what));
                }
    figures(c, "%d conversions: the bytes of the CPU", count);
    return true;
}

/* ---- order ------------------------------------------------------------------------------------------------------- */

struct order {
    struct watched watched;
    double step_ms; /* between the first and the second look at a batch */
    int wrong;      /* looks that saw something else than the batch */
};

/* Looks at each batch at the beginning and at the end of its step, on one stream, and at the end on another one too.
 * Both are put on the streams at once: what they see shows in what order the device does things. */
static bool run_order(struct check *c, const struct kept *kept, int count, struct order *order) {
    ypk_loader_options o = plain(c, c->shorter ? 64 : 320);
    struct device *d = c->consumer.device;
    void *other, *event;
    size_t largest = 0, total;
    uint8_t *seen;
    ypk_loader *loader;
    unsigned random = 1;
    o.dtype = YPK_F16;
    for (int i = 0; i < count; i++)
        largest = kept[i].size > largest ? kept[i].size : largest;
    total = largest * 3 * (size_t)count;
    seen = aligned_alloc(4096, (total + 4095) / 4096 * 4096);
    MUST(seen && c->ops->pin(d, seen, total, &inner) == 0); /* or the copies back would wait for the stream */
    MUST(c->ops->stream_create(d, &other, &inner) == 0);
    MUST(c->ops->event_create(d, &event, false, &inner) == 0);
    MUST(loader_create_on(&loader, c->dataset, &o, watched_begin(c->ops, &order->watched), c->ordinal, &inner) == 0);
    for (int i = 0; i < count; i++) {
        uint8_t *to = seen + largest * 3 * (size_t)i;
        void *stream = c->consumer.stream;
        ypk_batch batch;
        MUST(ypk_loader_next(loader, &batch, stream, &failure) == YPK_OK);
        MUST(batch_bytes(&batch) == kept[i].size);
        MUST(fetch(c, to, &batch, stream));
        MUST(ypk_batch_used_on(&batch, other, &failure) == YPK_OK);
        MUST(c->ops->record(d, event, stream, &inner) == 0 && c->ops->wait(d, other, event, &inner) == 0);
        random = random * 1103515245u + 12345u;
        double ms = order->step_ms * (double)(random >> 16 & 255) / 255;
        MUST(ms <= 0 || c->ops->busy(d, stream, ms, &inner) == 0);
        MUST(fetch(c, to + largest, &batch, stream));
        MUST(ms <= 0 || c->ops->busy(d, other, ms * 1.5, &inner) == 0);
        MUST(fetch(c, to + 2 * largest, &batch, other));
        ypk_batch_release(&batch, stream);
    }
    MUST(c->ops->record(d, event, other, &inner) == 0 && c->ops->synchronise(d, event, &inner) == 0);
    MUST(consumer_settle(&c->consumer, &inner) == 0);
    ypk_loader_destroy(&loader);
    for (int i = 0; i < 3 * count; i++)
        order->wrong += memcmp(seen + largest * (size_t)i, kept[i / 3].bytes, kept[i / 3].size) != 0;
    c->ops->event_destroy(d, event);
    c->ops->stream_destroy(d, other);
    c->ops->unpin(d, seen);
    free(seen);
    return true;
}

static bool check_order(struct check *c) {
    struct kept kept[BATCHES_LIMIT];
    struct order rounds[] = {
        {.step_ms = 0}, {.step_ms = 4}, {.watched.copy_ms = 4}, {.step_ms = 2, .watched.copy_ms = 2}};
    struct order mutations[] = {{.watched = {.copy_ms = 8, .no_ready_wait = true}},
                                {.step_ms = 8, .watched.no_release_wait = true}};
    int count = c->shorter ? 24 : 100;
    ypk_loader_options o = plain(c, c->shorter ? 64 : 320);
    o.dtype = YPK_F16;
    MUST(keep_batches(c, kept, count, o));
    for (size_t i = 0; i < sizeof rounds / sizeof rounds[0]; i++) {
        MUST(run_order(c, kept, count, &rounds[i]));
        if (rounds[i].wrong > 0)
            printf("  step %.0f ms, copies %.0f ms late: %d of %d looks saw another batch\n", rounds[i].step_ms,
                   rounds[i].watched.copy_ms, rounds[i].wrong, 3 * count);
        MUST(rounds[i].wrong == 0);
    }
    for (size_t i = 0; c->beside && i < 2; i++) {
        MUST(run_order(c, kept, count, &mutations[i]));
        MUST(mutations[i].wrong > 0); /* or this check sees nothing */
    }
    forget(kept, count);
    figures(c, "%d looks, none at another batch; without the waits %d and %d were%s", 3 * 4 * count, mutations[0].wrong,
            mutations[1].wrong, c->beside ? "" : " (not to be seen here)");
    return true;
}

/* ---- speed ------------------------------------------------------------------------------------------------------- */

/* Figures are judged on a GPU only. */
static bool is_fast(struct check *c, bool fast) {
    c->slow = c->real && !fast;
    return !c->slow;
}

/* Copies of page-locked memory in one go: what a loader's copies are held against. */
static bool pinned_maximum(struct check *c, size_t bytes, double *rate) {
    struct device *d = c->consumer.device;
    void *from = aligned_alloc(4096, bytes), *to, *begin, *end;
    double seconds;
    *rate = 0;
    MUST(from && c->ops->allocate(d, &to, bytes, &inner) == 0);
    memset(from, 1, bytes);
    MUST(c->ops->pin(d, from, bytes, &inner) == 0);
    MUST(c->ops->event_create(d, &begin, true, &inner) == 0 && c->ops->event_create(d, &end, true, &inner) == 0);
    for (int i = 0; i < 12; i++) {
        MUST(c->ops->record(d, begin, c->consumer.stream, &inner) == 0);
        MUST(c->ops->copy(d, c->consumer.stream, to, from, bytes, &inner) == 0);
        MUST(c->ops->record(d, end, c->consumer.stream, &inner) == 0 && c->ops->synchronise(d, end, &inner) == 0);
        MUST(c->ops->elapsed(d, begin, end, &seconds, &inner) == 0);
        double r = seconds > 0 ? (double)bytes / seconds : 0;
        *rate = r > *rate ? r : *rate;
    }
    c->ops->event_destroy(d, begin);
    c->ops->event_destroy(d, end);
    c->ops->unpin(d, from);
    c->ops->release(d, to);
    free(from);
    return true;
}

static bool check_bandwidth(struct check *c) {
    ypk_loader_options o = plain(c, c->shorter ? 128 : 640);
    ypk_loader *loader;
    ypk_loader_stats stats;
    double maximum;
    o.batch = c->shorter ? 8 : 64;
    o.dtype = YPK_F16;
    o.prefetch = 2;
    o.mosaic = 0;
    size_t bytes = (size_t)o.batch * 4 * o.image_size * o.image_size;
    MUST(pinned_maximum(c, bytes, &maximum));
    MUST(make_loader(c, &loader, &o) == YPK_OK);
    for (int i = 0; i < (c->shorter ? 12 : 120); i++) {
        ypk_batch batch;
        MUST(ypk_loader_next(loader, &batch, c->consumer.stream, &failure) == YPK_OK);
        ypk_batch_release(&batch, c->consumer.stream);
    }
    MUST(consumer_settle(&c->consumer, &inner) == 0);
    ypk_loader_get_stats(loader, &stats);
    double rate = stats.copy_seconds > 0 ? (double)stats.copy_bytes / stats.copy_seconds : 0;
    figures(c, "%.2f GB/s, %.3f of the pinned maximum %.2f; %s%s%s", rate * 1e-9, rate / maximum, maximum * 1e-9,
            stats.pinned_bytes == stats.slot_bytes ? "page-locked" : "NOT page-locked", stats.note[0] ? "; " : "",
            stats.note);
    ypk_loader_destroy(&loader); /* whose note that was */
    MUST(!c->real || stats.pinned_bytes == stats.slot_bytes);
    MUST(is_fast(c, rate >= 0.95 * maximum));
    return true;
}

/* Batches for so long, with a step; *rate: batches/s, *waited: share of the time in which the stream stood still. */
static bool train(struct check *c, ypk_loader *loader, double step_ms, double seconds, double *rate, double *waited) {
    ypk_loader_stats before, after;
    double end = clock_seconds() + seconds;
    MUST(consumer_settle(&c->consumer, &inner) == 0);
    ypk_loader_get_stats(loader, &before);
    while (clock_seconds() < end) {
        ypk_batch batch;
        MUST(ypk_loader_next(loader, &batch, c->consumer.stream, &failure) == YPK_OK);
        MUST(consumer_step(&c->consumer, step_ms, &inner) == 0);
        ypk_batch_release(&batch, c->consumer.stream);
    }
    MUST(consumer_settle(&c->consumer, &inner) == 0);
    ypk_loader_get_stats(loader, &after);
    *rate = (double)(after.batches - before.batches) / (after.seconds - before.seconds);
    *waited = (after.stream_wait_seconds - before.stream_wait_seconds) / (after.seconds - before.seconds);
    return true;
}

static bool check_waiting(struct check *c) {
    ypk_loader_options o = plain(c, c->shorter ? 64 : 640);
    ypk_loader *loader;
    double rate, ignored, stepped, waited, seconds = c->shorter ? 0.5 : 6;
    o.batch = c->shorter ? 4 : 16;
    o.dtype = YPK_F16;
    MUST(make_loader(c, &loader, &o) == YPK_OK);
    MUST(train(c, loader, 0, seconds, &ignored, &ignored)); /* warm */
    MUST(train(c, loader, 0, seconds, &rate, &ignored));
    double step_ms = 1.1e3 / rate;
    MUST(train(c, loader, step_ms, seconds / 4, &ignored, &ignored)); /* batches get ahead */
    MUST(train(c, loader, step_ms, seconds, &stepped, &waited));
    ypk_loader_destroy(&loader);
    figures(c, "loader %.1f batches/s; steps of %.2f ms (10 %% headroom) wait %.2f %% of the time, %.1f batches/s",
            rate, step_ms, 100 * waited, stepped);
    MUST(is_fast(c, waited <= 0.01));
    return true;
}

static int compare_doubles(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* What the consumer's thread spends on a batch that is ready while the stream has work for long: it must wait for
 * nothing. */
static bool check_thread(struct check *c) {
    enum { ROUNDS = 200 };
    const struct watched nothing = {0};
    ypk_loader_options o = plain(c, c->shorter ? 64 : 320);
    ypk_loader *loader;
    double took[ROUNDS];
    int rounds = c->shorter ? ROUNDS / 5 : ROUNDS;
    o.dtype = YPK_F16;
    MUST(loader_create_on(&loader, c->dataset, &o, watched_begin(c->ops, &nothing), c->ordinal, &inner) == 0);
    for (int i = 0; i < rounds; i++) {
        ypk_batch batch;
        if (i % 2 == 0) { /* two batches get ready, and then the stream is busy */
            struct timespec pause = {0, 4000000};
            MUST(consumer_settle(&c->consumer, &inner) == 0);
            nanosleep(&pause, NULL);
            MUST(!c->beside || c->ops->busy(c->consumer.device, c->consumer.stream, 10, &inner) == 0);
        }
        double from = clock_seconds();
        MUST(ypk_loader_next(loader, &batch, c->consumer.stream, &failure) == YPK_OK);
        ypk_batch_release(&batch, c->consumer.stream);
        took[i] = clock_seconds() - from;
    }
    uint64_t waits = watched_waits();
    MUST(consumer_settle(&c->consumer, &inner) == 0);
    ypk_loader_destroy(&loader);
    qsort(took, (size_t)rounds, sizeof took[0], compare_doubles);
    figures(c, "next and release take %.1f us (median), %.1f (90 %%); %llu waits for the device",
            took[rounds / 2] * 1e6, took[rounds * 9 / 10] * 1e6, (unsigned long long)waits);
    MUST(waits == 0);
    MUST(is_fast(c, took[rounds / 2] <= 30e-6));
    return true;
}

/* ---- lives ------------------------------------------------------------------------------------------------------- */

struct parallel {
    struct check check; /* with a consumer of its own */
    bool passed;
};

static void *run_parallel(void *arg) {
    struct parallel *p = arg;
    ypk_loader_options o = plain(&p->check, p->check.shorter ? 64 : 320);
    o.dtype = YPK_BF16;
    p->passed = same_batches(&p->check, &o, p->check.shorter ? 4 : 40);
    return NULL;
}

static bool open_consumer(struct check *c) {
    struct consumer *k = &c->consumer;
    *k = (struct consumer){.ops = c->ops, .stream = YPK_NO_STREAM};
    return c->ops->open(&k->device, c->ordinal, &inner) == 0 &&
           c->ops->stream_create(k->device, &k->stream, &inner) == 0 &&
           c->ops->event_create(k->device, &k->event, false, &inner) == 0;
}

static bool check_several(struct check *c) {
    enum { LOADERS = 3 };
    struct parallel all[LOADERS];
    pthread_t threads[LOADERS];
    for (int i = 0; i < LOADERS; i++) {
        all[i].check = *c;
        MUST(open_consumer(&all[i].check));
        MUST(pthread_create(&threads[i], NULL, run_parallel, &all[i]) == 0);
    }
    for (int i = 0; i < LOADERS; i++) {
        pthread_join(threads[i], NULL);
        consumer_close(&all[i].check.consumer);
    }
    for (int i = 0; i < LOADERS; i++)
        MUST(all[i].passed);
    figures(c, "%d loaders at a time, each with a stream of its own", LOADERS);
    return true;
}

static void *release_later(void *arg) {
    struct timespec pause = {0, 2000000};
    nanosleep(&pause, NULL);
    ypk_batch_release(arg, YPK_NO_STREAM);
    return NULL;
}

/* Ends with copies and conversions under way, batches held, and one released afterwards by another thread. */
static bool check_end(struct check *c) {
    int rounds = c->shorter ? 6 : 40;
    for (int i = 0; i < rounds; i++) {
        ypk_loader_options o = plain(c, c->shorter ? 64 : 320);
        ypk_loader *loader;
        ypk_batch held = {0}, batch;
        pthread_t thread;
        o.dtype = i % 2 ? YPK_F32 : YPK_U8;
        MUST(make_loader(c, &loader, &o) == YPK_OK);
        MUST(ypk_loader_next(loader, &held, c->consumer.stream, &failure) == YPK_OK);
        for (int k = 0; k < i % 5; k++) {
            MUST(ypk_loader_next(loader, &batch, c->consumer.stream, &failure) == YPK_OK);
            MUST(consumer_step(&c->consumer, 0.5, &inner) == 0);
            ypk_batch_release(&batch, c->consumer.stream);
        }
        MUST(pthread_create(&thread, NULL, release_later, &held) == 0);
        ypk_loader_destroy(&loader);
        pthread_join(thread, NULL);
        MUST(consumer_settle(&c->consumer, &inner) == 0);
    }
    figures(c, "%d loaders that ended with copies under way and a batch held", rounds);
    return true;
}

/* A graph may be captured elsewhere while the loader works, and not on a stream that takes batches. */
static bool check_capture(struct check *c) {
    ypk_loader_options o = plain(c, 64);
    ypk_loader *loader;
    ypk_batch batch, other;
    void *stream = c->consumer.stream, *captured;
    MUST(c->ops->stream_create(c->consumer.device, &captured, &inner) == 0);
    o.dtype = YPK_F16;
    MUST(make_loader(c, &loader, &o) == YPK_OK);
    MUST(driver_capture_begin(captured));
    for (int i = 0; i < 20; i++) {
        MUST(ypk_loader_next(loader, &batch, stream, &failure) == YPK_OK);
        ypk_batch_release(&batch, stream);
    }
    MUST(ypk_loader_next(loader, &batch, captured, &failure) == YPK_E_ARGUMENT);
    MUST(strstr(failure.message, "graph"));
    MUST(ypk_loader_next(loader, &batch, stream, &failure) == YPK_OK);
    MUST(ypk_batch_used_on(&batch, captured, &failure) == YPK_E_ARGUMENT);
    ypk_batch_release(&batch, captured);
    MUST(batch.slot); /* still held */
    ypk_batch_release(&batch, stream);
    MUST(!batch.slot);
    MUST(ypk_loader_next(loader, &other, stream, &failure) == YPK_E_ARGUMENT); /* the release that was refused */
    MUST(driver_capture_end(captured));
    MUST(ypk_loader_next(loader, &other, captured, &failure) == YPK_OK);
    ypk_batch_release(&other, captured);
    ypk_loader_destroy(&loader);
    c->ops->stream_destroy(c->consumer.device, captured);
    figures(c, "refused by name; a capture beside 20 batches ended whole");
    return true;
}

/* ---- all --------------------------------------------------------------------------------------------------------- */

static const struct {
    const char *name;
    bool (*run)(struct check *);
    bool driver; /* needs NVIDIA's */
} checks[] = {
    {"caller", check_caller, true},    {"kernels", check_kernels, false}, {"equality", check_equality, false},
    {"order", check_order, false},     {"thread", check_thread, false},   {"bandwidth", check_bandwidth, false},
    {"waiting", check_waiting, false}, {"several", check_several, false}, {"end", check_end, false},
    {"capture", check_capture, true},
};

static bool is_wanted(const char *name, int argc, char **argv) {
    bool wanted = argc <= 3;
    for (int i = 3; i < argc; i++)
        wanted = wanted || strcmp(argv[i], name) == 0;
    return wanted;
}

/* Whether the thread goes on while the stream is busy. */
static bool works_beside(struct check *c) {
    double from = clock_seconds();
    bool ok = c->ops->busy(c->consumer.device, c->consumer.stream, 30, &inner) == 0;
    bool beside = clock_seconds() - from < 0.015;
    return consumer_settle(&c->consumer, &inner) == 0 && ok && beside;
}

static bool try_check(struct check *c, bool (*run)(struct check *)) {
    memset(&failure, 0, sizeof failure);
    memset(&inner, 0, sizeof inner);
    c->figures[0] = '\0';
    c->slow = false;
    return run(c);
}

static int run_checks(struct check *c, int argc, char **argv) {
    int failed = 0, run = 0, left_out = 0;
    for (size_t i = 0; i < sizeof checks / sizeof checks[0]; i++) {
        if (!is_wanted(checks[i].name, argc, argv))
            continue;
        if (checks[i].driver && !c->real) {
            printf("skipped  %-10s only with a GPU\n", checks[i].name);
            left_out++;
            continue;
        }
        if (!c->consumer.device) { /* the first that needs one; `caller` wants to be before it */
            if (strcmp(checks[i].name, "caller") != 0 && !open_consumer(c)) {
                printf("FAILED   %s\n", inner.message);
                return 1;
            }
            c->beside = c->consumer.device && works_beside(c);
            c->shorter = !c->real;
        }
        double from = clock_seconds();
        bool passed = try_check(c, checks[i].run);
        for (int again = 0; !passed && c->slow && again < 4; again++)
            passed = try_check(c, checks[i].run);
        printf("%-8s %-10s %s (%.1f s)\n", passed ? "passed" : "FAILED", checks[i].name, c->figures,
               clock_seconds() - from);
        fflush(stdout);
        failed += !passed;
        run++;
    }
    printf("%s: %d checks, %d failed, %d skipped%s\n", argv[1], run, failed, left_out,
           c->real ? "" : "; figures are not judged here");
    return failed > 0;
}

/* Finds the device, and whether it can be had: 0, ERR_ARGUMENT or why not. */
static int find_device(struct check *c, const char *name) {
    const char *library = getenv("YPK_CUDA_LIBRARY"); /* the one on fake_cuda.h lies with the tests */
    struct device *device = NULL;
    if (strcmp(name, "sim") == 0) {
        sim_begin(&(struct sim_options){.seed = 1});
        c->ops = &device_sim;
        return 0;
    }
    c->device = name;
    int rc = device_find(&c->ops, &c->ordinal, name, &inner);
    if (rc != 0 || !c->ops)
        return rc ? rc : error_set(&inner, ERR_ARGUMENT, "%s is no device", name);
    bool fake = library && strstr(library, "gpu/fake/");
    if (!fake && strncmp(name, "cuda", 4) == 0 && driver_open() && driver_device_count() > c->ordinal) {
        c->real = true; /* not opened yet: the first check looks at what that does */
        return 0;
    }
    rc = c->ops->open(&device, c->ordinal, &inner);
    if (rc == 0)
        c->ops->close(&device);
    return rc;
}

int main(int argc, char **argv) {
    struct check c = {.consumer.stream = YPK_NO_STREAM};
    int rc = argc < 3 ? ERR_ARGUMENT : find_device(&c, argv[1]);
    if (rc == ERR_ARGUMENT) {
        fprintf(stderr, "usage: check_device cuda:N|sim|host PACK [CHECK...]\n%s\n", inner.message);
        return 2;
    }
    if (rc != 0) {
        printf("no CUDA device: %s\n", inner.message);
        return 77;
    }
    if (ypk_dataset_open(&c.dataset, argv[2], NULL, &failure) != YPK_OK) {
        fprintf(stderr, "check_device: %s\n", failure.message);
        return 1;
    }
    rc = run_checks(&c, argc, argv);
    if (c.consumer.device)
        consumer_close(&c.consumer);
    ypk_dataset_close(&c.dataset);
    return rc;
}
