/*
 * Carries out recipes: one worker's tools for turning a sample's bytes into a loaded picture, and pinned pictures into
 * the pixels of an output sample.
 *
 *   frame_load:    record ──decode──> pixels ──resize──> planes of the picture
 *   frame_render:  row by row, in L1:  warp ──> mixup ──> cutmix ──> colour ──> mirror ──> numbers ──> the slot
 */
#ifndef YPK_READER_FRAME_H
#define YPK_READER_FRAME_H

#include "convert.h"
#include "dataset.h"
#include "error.h"
#include "recipe.h"
#include "window.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What one sample's place in the batch looks like: where each channel's row goes. */
struct frame_target {
    uint8_t *rgb;               /* first number of R (interleaved or plane); NULL: not delivered */
    uint8_t *ir;                /* first number of the first IR channel; NULL: not delivered */
    size_t rgb_plane, ir_plane; /* bytes from channel to channel */
    size_t rgb_row, ir_row;     /* bytes from row to row */
    size_t rgb_step, ir_step;   /* numbers from pixel to pixel */
    int ir_channels;            /* 1, or 3 equal ones */
};

struct frame_options {
    uint32_t image_size;              /* S: the longer side of a loaded picture at most, px */
    uint32_t frame_side, canvas_side; /* the largest that a recipe asks for, px */
    bool rgb, ir;                     /* modalities delivered */
    bool layers;                      /* recipes may have mixup or cutmix layers */
    bool fast;                        /* JPEGs may be scaled while they are decoded, without interpolating chroma */
    enum number_type type;
    float mean[4], deviation[4]; /* R, G, B, IR */
};

/* Bytes of a picture's buffer that holds any sample at its load size. */
size_t frame_picture_bytes(const struct frame_options *options);

struct frame;
int frame_create(struct frame **out, const struct ypk_dataset *dataset, const struct frame_options *options,
                 struct error *error);
void frame_destroy(struct frame **frame);

/* Bytes of scratch that one frame holds for these options and the data set's largest picture. */
size_t frame_scratch_bytes(const struct ypk_dataset *dataset, const struct frame_options *options);

/* Nanoseconds spent in each stage since the last frame_take_times(). */
struct frame_times {
    uint64_t read, decode, resize, warp, colour, write;
};
struct frame_times frame_take_times(struct frame *frame);

/* Decodes picture->sample into picture->memory and sets its planes and size. A sample that lacks a modality has it
 * filled with RECIPE_FILL. On failure the message names the sample. */
int frame_load(struct frame *frame, struct picture *picture, struct error *error);

/* The pinned pictures of a recipe. */
struct frame_pictures {
    const struct picture *tile[LAYER_COUNT][RECIPE_TILES];
};

/* Writes all output_height rows of the sample. `cut` is where layer LAYER_CUTMIX shows, in the frame. */
void frame_render(struct frame *frame, const struct recipe *recipe, const struct frame_pictures *pictures,
                  const struct recipe_area *cut, const struct frame_target *target);

/* A place without a sample: RECIPE_FILL in every channel. */
void frame_render_empty(struct frame *frame, uint32_t width, uint32_t height, const struct frame_target *target);

#endif
