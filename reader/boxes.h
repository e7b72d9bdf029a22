/*
 * Labels of one output sample: the boxes of its tiles, carried along with the pixels. Recipe and labels in,
 * boxes out: pure.
 *
 *   normalised ──load size, placement──> canvas px ──clip──> matrix ──clip, filter──> frame px     for each layer
 *   layers joined (mixup), or those in the cut (cutmix) ──flips──> normalised centre and size
 *
 * The cut of a cutmix depends on boxes, so labels are done first, and the pixels follow what they say.
 */
#ifndef YPK_READER_BOXES_H
#define YPK_READER_BOXES_H

#include "index.h"
#include "oriented.h"
#include "placement.h"
#include "recipe.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The labels of one tile, borrowed. */
struct box_source {
    struct size_px loaded;            /* load_size() of its picture */
    const struct index_label *labels; /* [label_count] */
    uint32_t label_count;
    const float *points; /* [sum of point_count][point_dims], in the order of the labels */
    uint32_t point_dims; /* floats a point: 2 or 3 */
    bool polygons;       /* points are outlines: a label with 3 of them or more gets its box from them */
};

struct box_sources {
    struct box_source tile[LAYER_COUNT][RECIPE_TILES]; /* only those that the recipe has are read */
};

/* A box at work, px: of the canvas, then of the frame. */
struct box {
    double x1, y1, x2, y2;
    float class_id;
    bool polygon; /* from an outline or corners */
};

struct boxes {
    float *class_id;  /* out: [count] */
    float (*xywh)[4]; /* out: [count]: centre and size, of the output's width and height */
    /* Out, if the points of the labels are corners of oriented boxes, else NULL: [count] radians. xywh is then of the
     * rotated box. */
    float *rotation;
    /* Out, if they are key points, else NULL: [count][points_per_label]: x and y of the output's width and height,
     * visibility. */
    float (*points)[3];
    uint32_t points_per_label;
    /* [points_per_label]: a flip puts point flip_index[k] in place k. NULL: flips move points, and exchange none. */
    const uint16_t *flip_index;
    struct corners *corners; /* work space, with rotation; else NULL */
    size_t count;            /* out */
    struct recipe_area cut;  /* out: where layer LAYER_CUTMIX shows, px in the frame; empty: nowhere */
};

/*
 * Writes the boxes of the sample. The arrays of `out`, and `work`, are the caller's and hold as many as all tiles
 * together have labels. Allocates nothing and cannot fail.
 *
 * With recipe->augment (training): a mosaic's boxes are clipped to its canvas, those without area left out; a moved box
 * is the bounding box of its four moved corners, clipped to the frame; a polygon's is that of its moved outline. Kept
 * if wider and higher than 2 px, of an aspect below 100, and with more than 0.10 of its old area (the old box scaled by
 * the drawn scale) or, for polygons, 0.01. Without it: moved by the letterbox, neither clipped nor left out.
 *
 * A cutmix takes the drawn one of its areas that no box touches, and the partner's boxes that lie in it by 0.1 of their
 * own area (0.01 once a polygon is among the boxes so far), clipped to it; if there are none, it is not done.
 *
 * An outline's box is that of its part inside the frame (even-odd rule), corners of the frame that it covers included.
 * Where a mosaic's canvas cuts it, it is first sampled at OUTLINE_POINTS points (its corners, and others evenly spread
 * over the corners' numbers) that are clipped to the canvas one by one, as Ultralytics has it, so that boxes agree.
 *
 * An oriented box is four corners on its way. Where the canvas, the frame or the cut shows only a part of it, it
 * becomes the rectangle in its own direction around that part (corners_clip()); filters judge the bounds of what is
 * visible, by the limits of polygons. In the end it is the rectangle of least area around its corners, as in
 * oriented.h.
 *
 * A key point outside the canvas, the frame or the cut gets visibility 0 and is moved to the edge; points without a
 * visibility of their own begin with 1. Evaluation moves points and changes nothing else.
 */
#define OUTLINE_POINTS 1000u
void boxes_build(struct boxes *out, struct box *work, const struct recipe *recipe, const struct box_sources *sources);

#endif
