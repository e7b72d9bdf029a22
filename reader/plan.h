/*
 * The plan: the one place where all chance is drawn. A pure function from (options, position) to recipe; nothing of
 * threads, files or pixels. A plan is immutable, so any number of threads may use it.
 *
 *   absolute position t = epoch * span + g, 0 <= g < span = batches_per_epoch * batch
 *   batch in the epoch = g / batch, lane = t mod batch; rank r of `world` owns the lanes that are r mod world
 *
 *              batch 0    batch 1    batch 2      one row is one lane: a partner always comes from the row of the
 *   lane 0     t = 0      t = B      t = 2B       sample that uses it, from the `mosaic_depth` samples to the left of
 *   lane 1     t = 1      t = B + 1  …            it. So a rank's window of decoded pictures needs only what the rank
 *   …                                             decodes for itself.
 *
 * To the left of t = 0 lie virtual epochs -1, -2, …, which have an order like any other. With `drop` the samples left
 * out of an epoch have no position at all (span = floor(n / B) * B), so that the samples to the left of one are always
 * samples that were really there.
 */
#ifndef YPK_READER_PLAN_H
#define YPK_READER_PLAN_H

#include "error.h"
#include "placement.h"
#include "recipe.h"

#include <stddef.h>
#include <stdint.h>

enum plan_mode {
    PLAN_TRAIN = 0,
    PLAN_EVAL = 1 /* every sample once an epoch, in the data set's order (or by shape, with rect); letterbox only */
};

enum plan_last_batch {
    LAST_AUTO = 0,   /* partial in evaluation and for world 1, else wrap */
    LAST_WRAP = 1,   /* filled up with the samples that came first in the same epoch */
    LAST_DROP = 2,   /* left out */
    LAST_PARTIAL = 3 /* its missing places are flagged (recipe.valid); in training for world 1 only */
};

enum plan_pool {
    POOL_LANE = 0, /* partners from the `mosaic_depth` samples before it in its lane: one decode a sample */
    POOL_ALL = 1   /* from the whole set: up to four decodes a sample (twelve with mixup and cutmix) */
};

/*
 * X(name, default, lowest, highest). Integers; those that a person sets are named here as the loader's options are.
 */
#define PLAN_INTEGERS(X)                                                                                               \
    X(mode, PLAN_TRAIN, PLAN_TRAIN, PLAN_EVAL)                                                                         \
    X(batch, 16, 1, 65536) /* global: of all ranks together */                                                         \
    X(last_batch, LAST_AUTO, LAST_AUTO, LAST_PARTIAL)                                                                  \
    X(image_size, 640, 32, 8192) /* S, px; a multiple of stride */                                                     \
    X(stride, 32, 2, 256)        /* px, even */                                                                        \
    X(rect, 0, 0, 1)             /* evaluation only: batches of similar shape, as small as they can be */              \
    X(mosaic_depth, 8, 1, 1024)  /* P: how far back in its lane a sample finds partners */                             \
    X(mosaic_pool, POOL_LANE, POOL_LANE, POOL_ALL)                                                                     \
    X(hsv_on_ir, 0, 0, 1)           /* IR takes the value gain of RGB as well */                                       \
    X(ir_shift, 0, 0, 256)          /* px: IR moves by at most this in x and in y */                                   \
    X(fast, 0, 0, 1)                /* no draw depends on it, but the pixels do: a saved state has to name it */       \
    X(flip_index, 0, 0, UINT32_MAX) /* hash of it, or 0: key points depend on it as pixels do on `fast` */

/* Fractions, kept to nine decimals. Probabilities unless stated. */
#define PLAN_FRACTIONS(X)                                                                                              \
    X(mosaic, 1.0, 0, 1)                                                                                               \
    X(mixup, 0, 0, 1)                                                                                                  \
    X(cutmix, 0, 0, 1)                                                                                                 \
    X(degrees, 0, 0, 180)      /* rotation by +- this */                                                               \
    X(translate, 0.1, 0, 1)    /* of the frame, by +- this */                                                          \
    X(scale, 0.5, 0, 0.99)     /* by 1 +- this */                                                                      \
    X(shear, 0, 0, 80)         /* degrees, by +- this, in x and in y */                                                \
    X(perspective, 0, 0, 0.01) /* by +- this, in x and in y */                                                         \
    X(hsv_h, 0.015, 0, 1)      /* amplitude of the gain r; so are the next two */                                      \
    X(hsv_s, 0.7, 0, 1)                                                                                                \
    X(hsv_v, 0.4, 0, 1)                                                                                                \
    X(flipud, 0, 0, 1)                                                                                                 \
    X(fliplr, 0.5, 0, 1)                                                                                               \
    X(bgr, 0, 0, 1)                                                                                                    \
    X(multi_scale, 0, 0, 0.9) /* the batch's side by +- this, in steps of stride */                                    \
    X(ir_gain, 0, 0, 1)       /* IR times 1 +- this */                                                                 \
    X(ir_bias, 0, 0, 1)       /* IR plus +- this, of 255 levels */                                                     \
    X(ir_noise, 0, 0, 1)      /* IR plus noise of a standard deviation up to this, of 255 levels */                    \
    X(ir_invert, 0, 0, 1)                                                                                              \
    X(drop_rgb, 0, 0, 1) /* a sample without its RGB picture; drop_rgb + drop_ir <= 1 */                               \
    X(drop_ir, 0, 0, 1)

struct plan_options {
    uint64_t seed;
    uint64_t sample_count; /* n, 1 … PLAN_SAMPLE_LIMIT */
    uint64_t content_hash; /* of the data set, for the saved state */
    uint32_t world;        /* ranks; divides batch */
    uint32_t epochs;       /* 0: no end */
    uint32_t close_mosaic; /* in that many last epochs mosaic, mixup and cutmix are off; needs epochs */
#define X(name, preset, low, high) uint32_t name;
    PLAN_INTEGERS(X)
#undef X
#define X(name, preset, low, high) double name;
    PLAN_FRACTIONS(X)
#undef X
};

#define PLAN_SAMPLE_LIMIT UINT32_MAX
#define PLAN_EPOCH_LIMIT (1u << 24)

/* The defaults above, world 1, epochs 100, close_mosaic 10; seed, sample_count and content_hash are 0. */
void plan_options_init(struct plan_options *options);

struct plan;

/* The upright size of sample `sample` as stored, px; both sides at least 1. */
typedef struct size_px plan_shape_fn(void *arg, uint64_t sample);

/* Freezes and checks the options: ERR_ARGUMENT names the first that is wrong, its value and what is right. `shape`
 * is asked for each sample, before this returns, when rect is on, and may be NULL otherwise. ERR_MEMORY. Takes O(1)
 * time and memory but with rect (O(n log n) time, 4 bytes a sample). */
int plan_create(struct plan **out, const struct plan_options *options, plan_shape_fn *shape, void *shape_arg,
                struct error *error);
void plan_destroy(struct plan **plan);

/* As frozen: last_batch resolved, fractions to nine decimals. */
const struct plan_options *plan_frozen_options(const struct plan *plan);

uint64_t plan_batches_per_epoch(const struct plan *plan);

/* The first position after the last epoch; INT64_MAX without end. */
int64_t plan_end(const struct plan *plan);

/* The largest output of any sample: what a slot must hold, px. */
struct size_px plan_max_output(const struct plan *plan);

/* Where a position lies. Any position down to INT64_MIN / 2 (virtual epochs) will do. */
struct plan_place {
    int64_t epoch;
    uint64_t batch; /* in the epoch */
    uint32_t lane;
    bool valid; /* false: a missing place of a partial batch */
};
struct plan_place plan_place(const struct plan *plan, int64_t position);

/* The position of row `row` (0 … batch / world - 1) of rank `rank`'s part of absolute batch `batch`. */
int64_t plan_rank_position(const struct plan *plan, uint32_t rank, int64_t batch, uint32_t row);

/* The sample whose picture is shown, or stands in the window, at a valid position. */
uint64_t plan_sample_at(const struct plan *plan, int64_t position);

/* The recipe of a position >= 0. Pure, allocation-free. */
void plan_sample(const struct plan *plan, int64_t position, struct recipe *out);

/*
 * How many samples at positions in [from, plan_end) need window entry `entry`, each counted once, and the last of them
 * (*last; untouched if there is none). A sample needs its own entry; later ones of its lane may. After *last the
 * decoded picture can be dropped. Costs up to mosaic_depth draws of partners, no recipe.
 */
unsigned plan_entry_uses(const struct plan *plan, int64_t entry, int64_t from, int64_t *last);

/* ---- saved state ------------------------------------------------------------------------------------------------- */

#define PLAN_STATE_BYTES 2048

/*
 * A saved state is a short text: format and recipe version, seed, position, the data set's content hash, every option
 * that changes a recipe, and a hash over all of it. World is not in it, nor where the epochs end unless close_mosaic
 * needs it: training may go on with another number of ranks (at the same global batch), or for longer.
 */
void plan_state_encode(const struct plan *plan, int64_t position, char out[PLAN_STATE_BYTES]);

/* Reads `size` bytes of such a text (a NUL ends it early). ERR_CORRUPT: not a state, or damaged. ERR_UNSUPPORTED:
 * another version's. ERR_ARGUMENT: of another pack, seed or option; the message names it and both values. */
int plan_state_decode(const struct plan *plan, const char *text, size_t size, int64_t *position, struct error *error);

#endif
