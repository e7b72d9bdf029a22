/*
 * A device that is the host itself: every call is carried out before it returns, so there is nothing to wait for. What
 * the others do with streams and kernels is held against it.
 */
#include "device.h"

#include "device_maths.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#define ALIGNMENT 64

struct device {
    int ordinal;
};

struct host_event {
    struct timespec at;
};

static int host_open(struct device **out, int ordinal, struct error *error) {
    struct device *device = calloc(1, sizeof *device);
    *out = device;
    if (!device)
        return error_set(error, ERR_MEMORY, "out of memory for a device");
    device->ordinal = ordinal;
    return 0;
}

static void host_close(struct device **device) {
    free(*device);
    *device = NULL;
}

static int host_pin(struct device *device, void *memory, size_t bytes, struct error *error) {
    (void)device, (void)memory, (void)bytes, (void)error;
    return 0;
}

static void host_unpin(struct device *device, void *memory) {
    (void)device, (void)memory;
}

static int host_allocate(struct device *device, void **out, size_t bytes, struct error *error) {
    (void)device;
    *out = bytes <= SIZE_MAX - ALIGNMENT ? aligned_alloc(ALIGNMENT, (bytes + ALIGNMENT) / ALIGNMENT * ALIGNMENT) : NULL;
    return *out ? 0 : error_set(error, ERR_MEMORY, "out of memory for a batch of %zu MB", bytes >> 20);
}

static void host_release(struct device *device, void *memory) {
    (void)device;
    free(memory);
}

static int host_stream_create(struct device *device, void **out, struct error *error) {
    (void)error;
    *out = device; /* there is but one order */
    return 0;
}

static void host_stream_destroy(struct device *device, void *stream) {
    (void)device, (void)stream;
}

static int host_event_create(struct device *device, void **out, bool timed, struct error *error) {
    (void)device, (void)timed;
    *out = calloc(1, sizeof(struct host_event));
    return *out ? 0 : error_set(error, ERR_MEMORY, "out of memory for an event");
}

static void host_event_destroy(struct device *device, void *event) {
    (void)device;
    free(event);
}

static int host_copy(struct device *device, void *stream, void *to, const void *from, size_t bytes,
                     struct error *error) {
    (void)device, (void)stream, (void)error;
    memcpy(to, from, bytes);
    return 0;
}

static int host_convert(struct device *device, void *stream, const struct device_convert *what, struct error *error) {
    (void)device, (void)stream, (void)error;
    const size_t area = device_area(what);
    for (uint32_t row = 0; row < what->rows; row++)
        for (uint32_t channel = 0; channel < what->to_channels; channel++)
            for (size_t pixel = 0; pixel < area; pixel++)
                device_convert_one(what, row, channel, pixel);
    return 0;
}

static int host_record(struct device *device, void *event, void *stream, struct error *error) {
    struct host_event *e = event;
    (void)device, (void)stream, (void)error;
    clock_gettime(CLOCK_MONOTONIC, &e->at);
    return 0;
}

static int host_wait(struct device *device, void *stream, void *event, struct error *error) {
    (void)device, (void)stream, (void)event, (void)error;
    return 0;
}

static int host_synchronise(struct device *device, void *event, struct error *error) {
    (void)device, (void)event, (void)error;
    return 0;
}

static int host_query(struct device *device, void *event, bool *done, struct error *error) {
    (void)device, (void)event, (void)error;
    *done = true;
    return 0;
}

static int host_elapsed(struct device *device, void *from, void *to, double *seconds, struct error *error) {
    const struct host_event *a = from, *b = to;
    (void)device, (void)error;
    *seconds = (double)(b->at.tv_sec - a->at.tv_sec) + (double)(b->at.tv_nsec - a->at.tv_nsec) * 1e-9;
    return 0;
}

static int host_check_stream(struct device *device, void *stream, struct error *error) {
    (void)device, (void)stream, (void)error;
    return 0;
}

static void host_range_push(struct device *device, const char *name) {
    (void)device, (void)name;
}

static void host_range_pop(struct device *device) {
    (void)device;
}

static int host_busy(struct device *device, void *stream, double ms, struct error *error) {
    struct timespec left = {(time_t)(ms * 1e-3), (long)(ms * 1e6) % 1000000000};
    (void)device, (void)stream, (void)error;
    while (nanosleep(&left, &left) != 0)
        ;
    return 0;
}

const struct device_ops device_host = {
    .name = "host",
    .dlpack_type = 1,
    .open = host_open,
    .close = host_close,
    .pin = host_pin,
    .unpin = host_unpin,
    .allocate = host_allocate,
    .release = host_release,
    .stream_create = host_stream_create,
    .stream_destroy = host_stream_destroy,
    .event_create = host_event_create,
    .event_destroy = host_event_destroy,
    .copy = host_copy,
    .convert = host_convert,
    .record = host_record,
    .wait = host_wait,
    .synchronise = host_synchronise,
    .query = host_query,
    .elapsed = host_elapsed,
    .check_stream = host_check_stream,
    .range_push = host_range_push,
    .range_pop = host_range_pop,
    .busy = host_busy,
};
