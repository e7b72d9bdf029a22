/* From what a user sets to what the loader is built of: plan, channels, sizes, and where the memory goes. */
#ifndef YPK_READER_LOADER_OPTIONS_H
#define YPK_READER_LOADER_OPTIONS_H

#include "dataset.h"
#include "error.h"
#include "frame.h"
#include "window.h"
#include "yolopack.h"

#include <stddef.h>
#include <stdint.h>

/* What a batch looks like. */
struct batch_layout {
    int rgb_channels, ir_channels; /* 0, 3; 0, 1, 3 */
    bool two;                      /* IR in a tensor of its own */
    bool interleaved;              /* NHWC */
    bool whole;                    /* empty rows at the end are shown too */
    enum number_type type;
    uint32_t rows;             /* samples */
    struct size_px largest;    /* of any batch, px */
    uint32_t row_labels;       /* boxes that one sample can have at most */
    uint32_t points_per_label; /* key points that go with a box; 0: none */
    bool oriented;             /* boxes have a rotation */
};

/* Where the memory goes: how many of each there are at the start, and at most. */
struct loader_memory {
    uint32_t workers, slots, pictures;
    uint32_t workers_most, slots_most, pictures_most; /* no more than at the start where the user says how many */
    uint32_t worker_pictures;                         /* that one worker can pin at a time */
    size_t slot_bytes, picture_bytes, scratch_bytes;  /* of one */
    uint64_t total_bytes;                             /* at the start */
};

struct loader_config {
    ypk_loader_options options; /* flip_index is a copy of our own */
    struct plan *plan;
    struct batch_layout layout;    /* of the slots that workers fill */
    struct batch_layout delivered; /* of batches: the same in host memory; a device converts bytes to it */
    uint32_t device_slots;
    struct frame_options frame;
    struct loader_memory memory;
};

/* ERR_ARGUMENT when the struct is not one that this library knows: before anything in it is believed. */
int loader_options_check_size(const ypk_loader_options *options, struct error *error);

/* With `device`, batches go to one. ERR_ARGUMENT names the option, its value and what is right. */
int loader_config_init(struct loader_config *out, const struct ypk_dataset *dataset, const ypk_loader_options *options,
                       bool device, struct error *error);

/* The window of that many pictures. */
struct window_options loader_window_options(const struct loader_config *config, uint32_t pictures);

void loader_config_deinit(struct loader_config *config);

#endif
