/*
 * The window of decoded pictures that all workers share: loaded (resized), planar, each kept until the last sample that
 * needs it is done.
 *
 *   acquire(entry) ──not there──> the caller loads it, then ready() ──> others that wait for it go on
 *                  ──there──────> pinned
 *   release(entry) ──> one use less; with the last one the buffer is free again
 *
 * Entries are keyed by their absolute position in the plan, which also knows how many uses each has. Buffers are
 * allocated at the start, and more of them when there are more workers. When there are fewer of them than live entries,
 * an unpinned picture gives way and is loaded again when needed: that costs time and never changes a byte. With at
 * least one buffer for each pin that all workers can hold at a time, nothing can wait for ever.
 */
#ifndef YPK_READER_WINDOW_H
#define YPK_READER_WINDOW_H

#include "error.h"
#include "placement.h"
#include "recipe.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Planes of one modality, rows `stride` bytes apart. Equal ones may be the same. */
struct picture_planes {
    const uint8_t *plane[3]; /* in the picture's memory, or in a mapped shard that holds them as they are wanted */
    size_t stride;
};

/* A loaded picture. Read-only while pinned, but for the one who loads it. */
struct picture {
    uint64_t sample;           /* whose picture and labels these are: the recipe's, or its substitute's */
    struct size_px size;       /* loaded size, px */
    struct picture_planes rgb; /* plane[0] NULL when the loader delivers no RGB */
    struct picture_planes ir;  /* one plane, at the same size; NULL when the loader delivers no IR */
    uint8_t *memory;           /* the buffer itself */
};

struct window;

struct window_options {
    const struct plan *plan;
    int64_t first_position; /* uses are counted from here on */
    uint32_t rank, world;
    uint32_t batches_in_flight;         /* at most, that workers are at work on */
    uint32_t buffer_count, buffer_most; /* at first; that window_grow() can make of it */
    size_t buffer_bytes;
};

/* Bytes that a window of buffer_count buffers takes, tables included. */
size_t window_bytes(const struct window_options *options);

int window_create(struct window **out, const struct window_options *options, struct error *error);
void window_destroy(struct window **window);

/* Forgets every picture; uses count from `first_position` on. Nobody may hold a pin. */
void window_restart(struct window *window, int64_t first_position);

/* More buffers, for more pins at a time: `buffer_count` of them in all, buffer_most at most. Fewer than there are:
 * nothing to do. ERR_MEMORY: there are as many as before, or some more. */
int window_grow(struct window *window, uint32_t buffer_count, struct error *error);

/* Pins the picture of `tile`. *load is true when the caller has to load it into (*out)->memory and then call
 * window_ready(); others wait there meanwhile. ERR_INTERRUPTED after window_cancel(). */
int window_acquire(struct window *window, const struct recipe_tile *tile, struct picture **out, bool *load);

/* The picture that the caller loads is complete; or, with `loaded` false, it is not: then each of those who waited for
 * it tries for itself, and learns what is wrong. */
void window_ready(struct window *window, struct picture *picture, bool loaded);

/* Takes back the pin, and counts one use of the entry as done when `used` is set. */
void window_release(struct window *window, struct picture *picture, bool used);

/* Wakes everybody who waits, with ERR_INTERRUPTED, from now on. */
void window_cancel(struct window *window);

#endif
