/* The loader as its neighbours see it: slots that are full, batches that the consumer holds, and the device it is told. */
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

/* What bounds the rate in the time that the statistics are of; on a device, if neither it nor the consumer does. Static. */
const char *loader_verdict(const ypk_loader_stats *stats);

/* Everybody who uses the memory of a batch that is held has a reference to its slot: takes another one. ERR_ARGUMENT in
 * a child of fork(). */
int loader_retain(struct slot *slot, struct error *error);

/* Gives one back; with the last the slot is filled again, or freed if the loader is gone. From any thread. On a device
 * `stream` is one that used the batch, or YPK_NO_STREAM; false: it cannot be used, and nothing was given back. */
bool loader_release(struct slot *slot, void *stream);

/* For the transfer: the oldest batch, if it is full (all of its rows made, or failed). With `wait`, NULL means that the loader
 * is paused or stops. What is taken goes back when it was copied. */
struct slot *loader_take_full(struct ypk_loader *loader, bool wait);
void loader_give_back(struct ypk_loader *loader, struct slot *slot);

/* For tests: how many workers and slots there are to be, as far as limits and memory allow, at once and without a reason. */
void loader_aim(struct ypk_loader *loader, uint32_t workers, uint32_t slots);

#endif
