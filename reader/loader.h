/* The loader as its neighbours see it: slots that are full, batches that the consumer holds, and the device it
 * is told. */
#ifndef YPK_READER_LOADER_H
#define YPK_READER_LOADER_H

#include "device.h"
#include "error.h"
#include "slot.h"
#include "yolopack.h"

#include <stdbool.h>

/* ypk_loader_create() with a device that no name leads to; NULL: host memory. options->device is not looked at. */
int loader_create_on(struct ypk_loader **out, const struct ypk_dataset *dataset, const ypk_loader_options *options,
                     const struct device_ops *ops, int ordinal, struct error *error);

/* How long the consumer's thread and its streams waited, s, and how much of it after the workers had made the batch. */
struct loader_wait {
    double host, host_late, stream, stream_late;
    uint64_t stalls; /* of streams, that were timed; 0: only the thread's waiting is known */
};

/* ypk_loader_get_stats(), and the waiting that it judges by. */
void loader_get_stats(struct ypk_loader *loader, ypk_loader_stats *out, struct loader_wait *wait);

/* Sets verdict and copy_overlap: what bounds the rate, and what the copies cost, in the time that both are of. */
void loader_judge(ypk_loader_stats *stats, const struct loader_wait *wait);

/* Everybody who uses the memory of a batch that is held has a reference to its slot: takes another one. ERR_ARGUMENT in
 * a child of fork(). */
int loader_retain(struct slot *slot, struct error *error);

/* Gives one back; with the last the slot is filled again, or freed if the loader is gone. From any thread. On a device
 * `stream` is one that used the batch, or YPK_NO_STREAM; false: it cannot be used, and nothing was given back. */
bool loader_release(struct slot *slot, void *stream);

/* For the transfer: the oldest batch, if it is full (all of its rows made, or failed). With `wait`, NULL means that the
 * loader is paused or stops. What is taken goes back when it was copied. */
struct slot *loader_take_full(struct ypk_loader *loader, bool wait);
void loader_give_back(struct ypk_loader *loader, struct slot *slot);

/* For tests: how many workers and slots there are to be, as far as limits and memory allow, at once and without a
 * reason. */
void loader_aim(struct ypk_loader *loader, uint32_t workers, uint32_t slots);

#endif
