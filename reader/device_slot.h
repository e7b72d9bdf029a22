/*
 * The memory of one batch on a device, the events that say how far it is, and what is put on streams to fill it.
 *
 *   begun ─── copies, on the copy stream ─── copied ─── kernels, on the convert stream ─── ready ─── users ─── used
 *
 * Nothing here locks, and but for device_slot_deinit() nothing waits for the device. A slot is the transfer thread's
 * while it is free; once it is handed over, the transfer's mutex guards its users; whoever gives back its last
 * reference has it to himself until it is free again.
 */
#ifndef YPK_READER_DEVICE_SLOT_H
#define YPK_READER_DEVICE_SLOT_H

#include "device.h"
#include "error.h"
#include "slot.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Streams that one batch is used on: one of ypk_loader_next(), one of ypk_batch_release(), the others are named. */
#define DEVICE_USER_LIMIT 8
#define DEVICE_NAMED_LIMIT (DEVICE_USER_LIMIT - 1)

/* The way to the device, which all slots share. Fixed before the first of them is opened. */
struct device_route {
    const struct device_ops *ops;
    struct device *device;
    int ordinal;
    const struct batch_layout *sent, *delivered;
    const float *mean, *deviation; /* [4]: R, G, B, IR */
    bool converts;                 /* else the bytes are delivered as they are sent, and there is no convert stream */
    void *copy_stream, *convert_stream;
};

struct device_slot {
    struct slot slot;             /* as the consumer has it, and first: a held batch leads here */
    void *memory, *staged;        /* staged NULL: the bytes are delivered as they are sent */
    void *begun, *copied, *ready; /* ready is copied where there is nothing to convert */
    uint32_t rows, label_count;
    size_t label_bytes, copied_bytes; /* copied_bytes: all that the last fill asked for */
    struct slot *source;              /* what is copied from, until the copy is known to have ended */

    /* the streams that use the batch and, once it is released, what they have to reach */
    void *users[DEVICE_USER_LIMIT], *used[DEVICE_USER_LIMIT];
    uint32_t user_count;
};

/* Bytes on the device. */
size_t device_slot_bytes(const struct device_route *route);

/* A zeroed slot becomes a free one of `transfer`. After a failure, device_slot_deinit() frees what there is of it. */
int device_slot_init(struct device_slot *slot, struct transfer *transfer, const struct device_route *route,
                     struct error *error);

/* Waits for all that was asked of the device for this slot: it is done, or never will be. */
void device_slot_deinit(struct device_slot *slot, const struct device_route *route);

/* Puts copies of `source` on the streams, behind whoever used the slot before, and the conversion behind them. After a
 * failure some of it may be under way, so the source stays as it is. */
int device_slot_fill(struct device_slot *slot, const struct device_route *route, struct slot *source,
                     struct error *error);

/* Another stream that uses the batch; false: with `limit` of them there are too many. */
bool device_slot_note_user(struct device_slot *slot, void *stream, uint32_t limit);

/* Marks how far each of them has to come before the slot is filled again. */
int device_slot_mark_uses(struct device_slot *slot, const struct device_route *route, struct error *error);

#endif
