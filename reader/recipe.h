/*
 * The recipe of one output sample: all of its chance, already drawn. plan_sample() writes it, executors carry it out.
 *
 *   tiles (loaded pictures) ──placement──> canvas ──matrix──> frame      one layer: mosaic or letterbox, then the warp
 *   layer 0 ──blend with layer 1 (mixup)──> ──area from layer 2 (cutmix)──> colour ──> flips ──> output
 *
 * Loaded picture: the sample's image scaled so that its longer side is `image_size` (load_size() in placement.h).
 * Canvas: 2S x 2S for a mosaic, else the frame's size; filled with RECIPE_FILL; a good executor never makes it.
 * Frame: what the warp gives, and what boxes are judged in: image_size x image_size, or the batch's rect shape.
 * Output: the frame, or (multi_scale only) the frame resampled to another side: recipe_pixel_matrix() in matrix.h.
 *
 * Every fraction is a whole multiple of 2^-20 (RECIPE_ONE is 1.0): integers carry it exactly, and no maths library
 * decides a byte. Nothing of a picture's size or labels is in here: executors take those from the data set, and
 * placement.h and matrix.h turn both into coordinates.
 */
#ifndef YPK_READER_RECIPE_H
#define YPK_READER_RECIPE_H

#include <stdbool.h>
#include <stdint.h>

#define RECIPE_VERSION 1u    /* of the draws: golden files and saved states carry it */
#define RECIPE_ONE (1 << 20) /* 1.0 */
#define RECIPE_GAIN_STEP 32  /* saturation and value are multiples of it: 2^-15 */
#define RECIPE_FILL 114      /* border, all channels */
#define RECIPE_TILES 4
#define RECIPE_CUT_AREAS 3

/* Layers by role. Layer 0 is always there; `mixup` and `cutmix` say whether theirs is. */
enum recipe_layer_role { LAYER_BASE = 0, LAYER_MIXUP = 1, LAYER_CUTMIX = 2, LAYER_COUNT = 3 };

enum recipe_canvas {
    CANVAS_LETTERBOX = 0, /* one tile, centred in a canvas of the frame's size */
    CANVAS_MOSAIC = 1     /* four tiles around (center_x, center_y) of a canvas of 2S x 2S */
};

/* The cheapest path that is exact for the matrix. */
enum recipe_warp {
    WARP_NONE = 0,       /* identity: the frame is the canvas */
    WARP_AXIS = 1,       /* scale and translation only: m[1] = m[3] = m[6] = m[7] = 0, m[8] = 1 */
    WARP_AFFINE = 2,     /* m[6] = m[7] = 0, m[8] = 1 */
    WARP_PERSPECTIVE = 3 /* perspective was asked for, even if this draw of it is 0 */
};

/* A tile that no other sample shares: it is decoded for this recipe alone (partners with mosaic_pool=all). */
#define TILE_UNSHARED INT64_MIN

struct recipe_tile {
    int64_t entry;   /* absolute position whose picture this is: its key in the window of decoded pictures; below 0
                               in the virtual epochs before the first; or TILE_UNSHARED */
    uint64_t sample; /* row of the data set */
};

struct recipe_layer {
    uint8_t canvas;     /* enum recipe_canvas */
    uint8_t warp;       /* enum recipe_warp */
    uint8_t tile_count; /* 1 or 4: top left, top right, bottom left, bottom right; tiles[0] is the layer's own sample */
    int32_t center_x, center_y; /* px in the canvas, where the four tiles meet; 0 without mosaic */
    int32_t scale;              /* the drawn scale, of RECIPE_ONE: the box filter measures the old box with it */
    double matrix[9]; /* row-major, canvas px -> frame px, each entry a multiple of 2^-20 (exact in a double) */
    struct recipe_tile tiles[RECIPE_TILES];
};

struct recipe_area {
    int32_t x1, y1, x2, y2; /* px in the frame, x2 and y2 outside */
};

struct recipe {
    int64_t position;     /* absolute: epoch, batch and lane follow from it (plan.h) */
    bool valid;           /* false: a place in an uneven last batch that holds no sample; only sizes are set then */
    bool augment;         /* training: boxes are clipped to the frame and filtered; evaluation keeps them as they are */
    bool flip_vertical;   /* rows reversed (flipud) */
    bool flip_horizontal; /* columns reversed (fliplr) */
    bool swap_rgb;        /* B,G,R instead of R,G,B */
    bool mixup;           /* layers[LAYER_MIXUP] is there */
    bool cutmix;          /* layers[LAYER_CUTMIX] is there */
    bool ir_invert;       /* IR polarity: 255 - x, before the gain */
    uint8_t dropped;      /* modalities to blank with RECIPE_FILL: MODALITY_* bits (index.h); never both */

    uint32_t image_size;                  /* S: the longer side of loaded pictures, px */
    uint32_t frame_width, frame_height;   /* px */
    uint32_t output_width, output_height; /* px; differ from the frame's only with multi_scale */

    int32_t mixup_ratio;    /* weight of what is there, of RECIPE_ONE; the partner has the rest; truncated to 8 bits */
    uint32_t cutmix_choice; /* picks the k-th of the c areas that cover no box: k = choice * c >> 32 */
    struct recipe_area cutmix_areas[RECIPE_CUT_AREAS];

    /* r of the three gains, of RECIPE_ONE: hue is shifted by 180 r in 0-179, saturation and value are multiplied by
     * 1 + r, r a multiple of 2^-15. All three 0: no colour step at all. */
    int32_t hue, saturation, value;

    /* IR: x * gain + bias + noise, each in 8-bit levels of RECIPE_ONE, clipped, truncated. gain RECIPE_ONE, bias 0 and
     * noise 0: nothing to do. With hsv on both modalities the value gain is already in ir_gain. */
    int32_t ir_gain, ir_bias;
    int32_t ir_noise;               /* standard deviation */
    uint64_t ir_noise_seed;         /* of this sample's noise field; 0 when ir_noise is 0 */
    int16_t ir_shift_x, ir_shift_y; /* px in the frame: IR moves against RGB (which the labels follow) by that much */

    struct recipe_layer layers[LAYER_COUNT];
};

static inline bool recipe_has_layer(const struct recipe *recipe, int role) {
    return recipe->valid && (role == LAYER_BASE || (role == LAYER_MIXUP ? recipe->mixup : recipe->cutmix));
}

#endif
