/*
 * One thread's tools for making the rows of batches: a recipe becomes the pixels and labels of a row.
 *
 *   recipe ──> pin its pictures in the window (load what is not there) ──> boxes ──> pixels ──> row of a slot
 *
 * What a row looks like depends on its recipe alone.
 */
#ifndef YPK_READER_ROW_MAKER_H
#define YPK_READER_ROW_MAKER_H

#include "dataset.h"
#include "error.h"
#include "frame.h"
#include "loader_options.h"
#include "recipe.h"
#include "slot.h"

#include <stdint.h>

struct row_maker;

/* The data set, the configuration and the window must outlive it. ERR_MEMORY, and what frame_create() says. */
int row_maker_create(struct row_maker **out, const struct ypk_dataset *dataset, const struct loader_config *config,
                     struct window *window, struct error *error);
void row_maker_destroy(struct row_maker **maker);

/* Makes row `row` of a slot. On failure the row is empty, and the message names the sample. ERR_INTERRUPTED after
 * window_cancel(). */
int row_maker_make(struct row_maker *maker, struct slot *slot, uint32_t row, const struct recipe *recipe,
                   struct error *error);

/* What it did since the last row_maker_take_counts(). */
struct row_counts {
    struct frame_times times;
    uint32_t decodes;     /* pictures loaded into the window */
    uint32_t substituted; /* of these, ones that stand in for a bad sample */
};
struct row_counts row_maker_take_counts(struct row_maker *maker);

#endif
