/* Who takes the batches of a loader where nobody trains: a stream of the loader's device, and steps that last. */
#ifndef YPK_TOOLS_CONSUMER_H
#define YPK_TOOLS_CONSUMER_H

#include "device.h"
#include "error.h"
#include "yolopack.h"

struct consumer {
    const struct device_ops *ops; /* NULL: batches are in host memory */
    struct device *device;
    void *stream; /* for the loader's calls; YPK_NO_STREAM in host memory */
    void *event;
};

/* On the device where `loader`, made with the option device = `asked`, delivers. */
int consumer_open(struct consumer *out, ypk_loader *loader, const char *asked, struct error *error);
void consumer_close(struct consumer *consumer);

/* A training step of that length: on the device the stream is busy for so long, in host memory the thread is away. */
int consumer_step(struct consumer *consumer, double ms, struct error *error);

/* Waits until the stream has done all that was put on it. */
int consumer_settle(struct consumer *consumer, struct error *error);

#endif
