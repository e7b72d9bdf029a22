/*
 * What a transfer's copies take, and what its consumer waits for: its thread as a clock says, its streams as pairs of
 * events do, one where the stream begins to wait for a batch and one where it goes on.
 *
 * Every call may come from any thread, but that transfer_meter_collect() is one thread's; the meter has a mutex of its
 * own.
 */
#ifndef YPK_READER_TRANSFER_METER_H
#define YPK_READER_TRANSFER_METER_H

#include "device.h"
#include "error.h"
#include "loader.h"
#include "yolopack.h"

#include <pthread.h>
#include <stdint.h>

/* Waits of the consumer's stream that are measured at a time. */
#define TRANSFER_STALL_LIMIT 16

/* How long the consumer's stream stood still for a batch, known when it has gone on. */
struct transfer_stall {
    void *from, *to;
    enum { STALL_IDLE, STALL_TAKEN, STALL_RUNNING } state; /* guarded by the meter's mutex */
    uint64_t asked_ns, full_ns; /* when the batch was asked for, and when the workers had made it */
};

/* The fields are transfer_meter.c's. */
struct transfer_meter {
    const struct device_ops *ops;
    struct device *device;
    pthread_mutex_t mutex; /* guards all below */
    struct transfer_stall stalls[TRANSFER_STALL_LIMIT];
    struct {
        double copy_seconds;
        uint64_t copy_bytes;
        struct loader_wait wait;
    } sums;
};

/* _create_events, after _init, before anything is measured; after its failure, _deinit destroys those there are. */
void transfer_meter_init(struct transfer_meter *meter, const struct device_ops *ops, struct device *device);
int transfer_meter_create_events(struct transfer_meter *meter, struct error *error);
void transfer_meter_deinit(struct transfer_meter *meter);

/* The sums begin again at nothing. */
void transfer_meter_reset(struct transfer_meter *meter);

void transfer_meter_add_bytes(struct transfer_meter *meter, uint64_t bytes);
void transfer_meter_add_copy(struct transfer_meter *meter, double seconds);

/* The thread waited from `asked_ns` till now for a batch that the workers had made at `full_ns`. */
void transfer_meter_add_wait(struct transfer_meter *meter, uint64_t asked_ns, uint64_t full_ns);

/* A stall of `stream`, in this order: where it begins (*out NULL: this one is not measured), where the stream goes on,
 * and that it is one, of a batch that was made at `full_ns`. What was begun and is none is dropped. _end and _drop:
 * NULL is fine. */
int transfer_meter_begin(struct transfer_meter *meter, struct transfer_stall **out, void *stream, struct error *error);
int transfer_meter_go_on(struct transfer_meter *meter, struct transfer_stall *stall, void *stream, struct error *error);
void transfer_meter_end(struct transfer_meter *meter, struct transfer_stall *stall, uint64_t full_ns);
void transfer_meter_drop(struct transfer_meter *meter, struct transfer_stall *stall);

/* Counts the stalls that are over. */
int transfer_meter_collect(struct transfer_meter *meter, struct error *error);

/* As transfer_starved_seconds() and transfer_get_stats() in transfer.h. */
double transfer_meter_starved_seconds(struct transfer_meter *meter);
void transfer_meter_get_stats(struct transfer_meter *meter, ypk_loader_stats *out, struct loader_wait *wait);

#endif
