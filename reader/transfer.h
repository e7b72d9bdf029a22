/*
 * Full slots on their way to a device, and the batches that are there.
 *
 *   workers ──> pinned slot ──copy──> staged bytes ──convert──> device slot ──> the consumer's streams ──┐
 *      ^             │     copy stream         convert stream       ^                                    │
 *      └─────────────┘ when the copy has ended                      └── release events ──────────────────┘
 *
 * One thread of its own hands copies to the copy stream, in the order of the batches and as far ahead as there are
 * device slots; the streams wait for each other's events, and only this thread waits for the device (to give pinned
 * slots back). The consumer's thread waits until a batch has been handed over, and its stream for the rest.
 *
 * Errors of the device stay: from the first one on, transfer_next() gives it again and again.
 */
#ifndef YPK_READER_TRANSFER_H
#define YPK_READER_TRANSFER_H

#include "device.h"
#include "error.h"
#include "loader_options.h"
#include "slot.h"
#include "yolopack.h"

#include <stdbool.h>
#include <stdint.h>

struct transfer;
struct loader_wait;

struct transfer_options {
    struct ypk_loader *loader; /* full slots come from there, and go back: see loader.h */
    const struct batch_layout *sent, *delivered;
    const float *mean, *deviation; /* [4]: R, G, B, IR */
    uint32_t slots;
    int64_t batch_count; /* INT64_MAX without end */
};

/* Opens the device; nothing else. What device_ops.open says, ERR_MEMORY. */
int transfer_open(struct transfer **out, const struct device_ops *ops, int ordinal, struct error *error);

/* Allocates everything. What is pointed to, and `options->loader`, are used until transfer_join(). ERR_ARGUMENT when
 * labels could be more than a batch can count; the device's errors. */
int transfer_allocate(struct transfer *transfer, const struct transfer_options *options, struct error *error);

/* Page-locks a slot of the loader's. Where a limit forbids that, it stays as it is, and transfer_get_stats() says so.
 * Before the slot's memory is given back, transfer_unpin(). From any thread. */
int transfer_pin(struct transfer *transfer, struct slot *slot, struct error *error);
void transfer_unpin(struct transfer *transfer, struct slot *slot);

int transfer_start(struct transfer *transfer, struct error *error);

/* The end, in this order, with the workers and their slots in between: asks the thread to stop; waits for it, and for
 * the device to have done with the loader's slots; goes. Batches that are held stay, and the last of them takes the
 * rest along. Each accepts NULL. */
void transfer_stop(struct transfer *transfer);
void transfer_join(struct transfer *transfer);
void transfer_destroy(struct transfer **transfer);

/* Going elsewhere, in this order, with the loader paused in between: ERR_ARGUMENT when batches are held, or the error
 * that stays; waits until no slot of the loader is used; begins again with batch `batch`. */
int transfer_pause(struct transfer *transfer, struct error *error);
void transfer_settle(struct transfer *transfer);
void transfer_resume(struct transfer *transfer, int64_t batch);

/* ypk_loader_next() but for the batch's place in its epoch: *batch is its number over all epochs. */
int transfer_next(struct transfer *transfer, ypk_batch *out, int64_t *batch, void *stream, struct error *error);

/* Of a batch that is held, from any thread; in a child of fork() ERR_ARGUMENT, and nothing is released. _use:
 * ypk_batch_used_on(). _release: false when the stream cannot be used, and nothing was released. */
int transfer_retain(struct slot *slot, struct error *error);
int transfer_use(struct slot *slot, void *stream, struct error *error);
bool transfer_release(struct slot *slot, void *stream);

/* Sets what is told of the device, adds the consumer's waiting, and sets *wait. */
void transfer_get_stats(struct transfer *transfer, ypk_loader_stats *out, struct loader_wait *wait);

/* How long the consumer waited for what the workers had not made yet: its streams if they were seen waiting, else its
 * thread (which, where it runs ahead of its streams, waits for the device to follow). */
double transfer_starved_seconds(struct transfer *transfer);

/* "cuda:0" */
const char *transfer_device(const struct transfer *transfer);

/* A named stretch of the calling thread's time, for timeline viewers. Without a transfer (NULL) nothing. */
void transfer_range_push(struct transfer *transfer, const char *name);
void transfer_range_pop(struct transfer *transfer);

#endif
