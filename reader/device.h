/*
 * What the loader asks of the device that its batches go to: memory, copies in the order of a stream, events, and the
 * step from the bytes that were sent to the numbers that are delivered. Each device is one const table of functions;
 * adding one is a file and a row in device.c.
 *
 *   host   everything at once, on the calling thread: what the others are compared with
 *   cuda   a shared object of its own, loaded when a loader first asks for a CUDA device
 *   sim    in tests: streams are threads, copies take time, any call fails on demand
 *
 * Every call may come from any thread and leaves the caller's current device as it was. A call that fails for good (the
 * device or its context is lost) gives ERR_DEVICE_LOST, and every later one does too; release functions then free what
 * can be freed and never fail.
 */
#ifndef YPK_READER_DEVICE_H
#define YPK_READER_DEVICE_H

#include "convert.h"
#include "error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One tensor on its way: `rows` samples of `from_channels` planes of bytes become `to_channels` of numbers. When there
 * are more channels to deliver than were sent, the last one sent is repeated (rgb+ir3). */
struct device_convert {
    const uint8_t *from; /* device memory: [rows][from_channels][height][width] */
    void *to;            /* device memory: NCHW or NHWC */
    uint32_t rows, from_channels, to_channels, width, height;
    bool interleaved; /* NHWC */
    enum number_type type;
    float mean[6], deviation[6]; /* of each channel delivered; not used for NUMBER_U8 */
};

struct device; /* an open device: the implementation's */

struct device_ops {
    const char *name; /* "cuda" */
    int dlpack_type;  /* kDLCPU 1, kDLCUDA 2 */

    /* ERR_DEVICE says what is missing and what to do (no driver, too old a driver, no such ordinal). */
    int (*open)(struct device **out, int ordinal, struct error *error);
    void (*close)(struct device **device);

    /* Page-locks anonymous memory, so that copies from it need no staging. ERR_SPACE: a limit forbids it; the memory
     * stays usable, and copies from it are slower. */
    int (*pin)(struct device *device, void *memory, size_t bytes, struct error *error);
    void (*unpin)(struct device *device, void *memory);

    int (*allocate)(struct device *device, void **out, size_t bytes, struct error *error);
    void (*release)(struct device *device, void *memory);

    /* A stream that neither waits for the legacy default stream nor makes it wait. */
    int (*stream_create)(struct device *device, void **out, struct error *error);
    void (*stream_destroy)(struct device *device, void *stream);

    /* With `timed`, elapsed() may be asked of it. Waiting for it puts the thread to sleep. */
    int (*event_create)(struct device *device, void **out, bool timed, struct error *error);
    void (*event_destroy)(struct device *device, void *event);

    int (*copy)(struct device *device, void *stream, void *to, const void *from, size_t bytes, struct error *error);
    int (*convert)(struct device *device, void *stream, const struct device_convert *what, struct error *error);
    int (*record)(struct device *device, void *event, void *stream, struct error *error);
    int (*wait)(struct device *device, void *stream, void *event, struct error *error); /* the stream waits */
    int (*synchronise)(struct device *device, void *event, struct error *error);        /* the thread waits */
    int (*query)(struct device *device, void *event, bool *done, struct error *error);  /* nobody waits */
    int (*elapsed)(struct device *device, void *from, void *to, double *seconds, struct error *error);

    /* Whether a consumer's stream may be used now: a capturing one is refused by name. NULL is the legacy default
     * stream. */
    int (*check_stream)(struct device *device, void *stream, struct error *error);

    /* A named stretch of the calling thread's time, for timeline viewers. */
    void (*range_push)(struct device *device, const char *name);
    void (*range_pop)(struct device *device);

    /* Keeps the stream at work for so long without using memory, as a training step of that length would. To measure
     * with. */
    int (*busy)(struct device *device, void *stream, double ms, struct error *error);
};

/* The device that "cpu", "host", "cuda" or "cuda:1" names: *ops NULL for host memory without a device ("cpu" or NULL).
 * ERR_ARGUMENT for any other text, ERR_DEVICE when it cannot be had. */
int device_find(const struct device_ops **ops, int *ordinal, const char *name, struct error *error);

extern const struct device_ops device_host;

#endif
