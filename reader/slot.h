/* The memory of one batch: tensors, labels, and what became of each sample. Allocated once, filled again and again. */
#ifndef YPK_READER_SLOT_H
#define YPK_READER_SLOT_H

#include "error.h"
#include "frame.h"
#include "loader_options.h"
#include "yolopack.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* SENDING: the transfer thread has it, and a device copies from it. PARKED: it has no memory. */
enum slot_state { SLOT_FREE, SLOT_FILLING, SLOT_READY, SLOT_SENDING, SLOT_HELD, SLOT_PARKED };

struct transfer;

struct slot {
    const struct batch_layout *layout;
    void *owner;                /* the loader */
    struct transfer *transfer;  /* of a batch that is on a device: what it goes back to; NULL: host memory */
    int device_type, device_id; /* as DLPack counts them */
    bool pinned;

    /* guarded by the loader's mutex */
    enum slot_state state;
    int64_t batch; /* absolute */
    uint32_t rows_handed, rows_done;
    uint32_t references; /* of a held batch: itself, and tensors that were exported */
    int error_code;      /* of the first row that failed */
    uint32_t error_row;
    struct error error;
    uint64_t full_ns; /* when the last row was done */

    /* written by the worker of each row, read when all are done */
    struct size_px size;              /* of this batch, px */
    ypk_batch_sample *samples;        /* [rows] */
    uint32_t *label_counts;           /* [rows] */
    float *label_batch, *label_class; /* [rows * row_labels]; of row r from r * row_labels on until slot_collate() */
    float (*label_box)[4];
    float (*label_points)[3]; /* [rows * row_labels * points_per_label], NULL unless key points are delivered */
    float *label_rotation;    /* NULL unless boxes are oriented */
    uint8_t *images;          /* the tensors, one behind the other */
    uint8_t *memory;
};

/* Offsets of the parts in a batch's memory. The labels lie one array behind the other, each with room for all. */
struct slot_parts {
    size_t second; /* the second tensor */
    size_t label_box, label_class, label_batch;
    size_t label_points, label_rotation; /* may be empty */
    size_t label_end;
    size_t samples, total;
};
struct slot_parts slot_parts(const struct batch_layout *layout);

size_t slot_bytes(const struct batch_layout *layout);
int slot_init(struct slot *slot, const struct batch_layout *layout, void *owner, struct error *error);
void slot_deinit(struct slot *slot);

/* Where row `row` goes in a batch of this size. */
struct frame_target slot_target(const struct slot *slot, uint32_t row, struct size_px size);

/* Joins the rows' labels to flat arrays, in the order of the rows; returns how many. */
uint32_t slot_collate(struct slot *slot);

/* Says that the arrays of `count` labels follow one another from `first` on. Returns their bytes, of all together. */
size_t slot_place_labels(struct slot *slot, void *first, uint32_t count);

/* Of a collated slot: the arrays close up, so that one copy from label_box on takes them all: to memory of which
 * slot_place_labels() then says what lies where. The slot is to be filled again next. Returns the bytes. */
size_t slot_pack_labels(struct slot *slot, uint32_t count);

/* Rows to be shown of a full slot: the empty ones at the end only where batches keep their shape. */
uint32_t slot_shown_rows(const struct slot *slot);

/* Channels of tensor `which`; 0 if there is none. */
int slot_channels(const struct batch_layout *layout, int which);

/* Describes a full slot to the consumer. `count` rows are shown. */
void slot_describe(const struct slot *slot, ypk_batch *out, uint32_t count, uint32_t label_count);

#endif
