/* From options to a plan: defaults, checks, and what can be computed once. */
#include "plan.h"

#include "plan_private.h"

#include <stddef.h>
#include <stdlib.h>

static const double rect_pad = 0.5; /* of a stride, in evaluation */

void plan_options_init(struct plan_options *options) {
    *options = (struct plan_options){.world = 1,
                                     .epochs = 100,
                                     .close_mosaic = 10,
#define X(name, preset, low, high) .name = preset,
                                     PLAN_INTEGERS(X) PLAN_FRACTIONS(X)
#undef X
    };
}

/* ---- checks ------------------------------------------------------------------------------------------------------ */

static int check_integer(const char *name, uint64_t value, uint64_t low, uint64_t high, struct error *error) {
    if (value < low || value > high) {
        return error_set(error, ERR_ARGUMENT, "%s is %llu: it must be %llu to %llu", name, (unsigned long long)value,
                         (unsigned long long)low, (unsigned long long)high);
    }
    return 0;
}

/* Nine decimals, so that a saved state can say the value in full. */
static int freeze_fraction(double *value, const char *name, double low, double high, struct error *error) {
    if (!(*value >= low && *value <= high)) {
        return error_set(error, ERR_ARGUMENT, "%s is %g: it must be %g to %g", name, *value, low, high);
    }
    *value = (double)(int64_t)(*value * 1e9 + 0.5) / 1e9;
    return 0;
}

static int check_ranges(struct plan_options *o, struct error *error) {
    int rc = 0;
#define CHECK(name, low, high)                                                                                         \
    if (rc == 0) {                                                                                                     \
        rc = check_integer(#name, o->name, low, high, error);                                                          \
    }
    CHECK(sample_count, 1, PLAN_SAMPLE_LIMIT)
#define X(name, preset, low, high) CHECK(name, low, high)
    PLAN_INTEGERS(X)
#undef X
    CHECK(world, 1, o->batch)
    CHECK(epochs, 0, PLAN_EPOCH_LIMIT)
#undef CHECK
#define X(name, preset, low, high)                                                                                     \
    if (rc == 0) {                                                                                                     \
        rc = freeze_fraction(&o->name, #name, low, high, error);                                                       \
    }
    PLAN_FRACTIONS(X)
#undef X
    return rc;
}

static int check_sizes(const struct plan_options *o, struct error *error) {
    if (o->stride % 2 != 0) {
        return error_set(error, ERR_ARGUMENT, "stride is %u: it must be even", o->stride);
    }
    if (o->image_size % o->stride != 0) {
        uint32_t next = (o->image_size / o->stride + 1) * o->stride;
        return error_set(error, ERR_ARGUMENT, "image_size %u is no multiple of stride %u: the next one is %u",
                         o->image_size, o->stride, next);
    }
    if (o->image_size * (1 - o->multi_scale) < o->stride) {
        return error_set(error, ERR_ARGUMENT, "multi_scale %g would shrink image_size %u below stride %u",
                         o->multi_scale, o->image_size, o->stride);
    }
    return 0;
}

static int check_batches(struct plan_options *o, struct error *error) {
    if (o->batch % o->world != 0) {
        return error_set(error, ERR_ARGUMENT,
                         "a global batch of %u cannot be shared by %u ranks: choose a multiple of %u", o->batch,
                         o->world, o->world);
    }
    bool exact = o->mode == PLAN_EVAL;
    if (o->last_batch == LAST_AUTO) {
        o->last_batch = exact || o->world == 1 ? LAST_PARTIAL : LAST_WRAP;
    }
    if (exact && o->last_batch != LAST_PARTIAL) {
        return error_set(
            error, ERR_ARGUMENT,
            "last_batch: evaluation shows every sample exactly once, so its last batch can only be partial");
    }
    if (!exact && o->last_batch == LAST_PARTIAL && o->world != 1) {
        return error_set(error, ERR_ARGUMENT,
                         "last_batch: a partial one would differ between the %u ranks: choose wrap or drop", o->world);
    }
    if (o->last_batch == LAST_DROP && o->sample_count < o->batch) {
        return error_set(error, ERR_ARGUMENT,
                         "last_batch drop leaves nothing: there are %llu samples for a batch of %u",
                         (unsigned long long)o->sample_count, o->batch);
    }
    return 0;
}

static int check_combinations(const struct plan_options *o, plan_shape_fn *shape, struct error *error) {
    if (o->rect && o->mode != PLAN_EVAL) {
        return error_set(error, ERR_ARGUMENT, "rect is for evaluation: training shuffles, and shapes would mix");
    }
    if (o->rect && !shape) {
        return error_set(error, ERR_ARGUMENT, "rect needs the sizes of the samples");
    }
    if (o->mode == PLAN_TRAIN && o->close_mosaic > 0 && o->epochs == 0) {
        return error_set(error, ERR_ARGUMENT,
                         "close_mosaic %u needs the number of epochs: say it, or set close_mosaic to 0",
                         o->close_mosaic);
    }
    if (o->drop_rgb + o->drop_ir > 1) {
        return error_set(error, ERR_ARGUMENT, "drop_rgb %g and drop_ir %g add up to more than 1", o->drop_rgb,
                         o->drop_ir);
    }
    return 0;
}

/* ---- rect -------------------------------------------------------------------------------------------------------- */

struct shaped {
    double aspect; /* height / width */
    uint32_t sample;
};

static int compare_shaped(const void *left, const void *right) {
    const struct shaped *a = left, *b = right;
    if (a->aspect != b->aspect) {
        return a->aspect < b->aspect ? -1 : 1;
    }
    return a->sample < b->sample ? -1 : a->sample > b->sample;
}

/* ceil(share * S / stride + pad) * stride, in that order of operations. */
static uint32_t rect_side(const struct plan_options *o, double share) {
    double strides = share * o->image_size / o->stride + rect_pad;
    uint32_t whole = (uint32_t)strides;
    return (whole + (whole < strides)) * o->stride;
}

static struct size_px rect_frame(const struct plan_options *o, double lowest, double highest) {
    if (highest < 1) {
        return (struct size_px){.width = rect_side(o, 1), .height = rect_side(o, highest)};
    }
    return (struct size_px){.width = rect_side(o, lowest > 1 ? 1 / lowest : 1), .height = rect_side(o, 1)};
}

static int build_rect(struct plan *plan, plan_shape_fn *shape, void *shape_arg, struct error *error) {
    const struct plan_options *o = &plan->options;
    int rc = 0;
    struct shaped *all = malloc(o->sample_count * sizeof *all);
    plan->rect_order = malloc(o->sample_count * sizeof *plan->rect_order);
    plan->rect_frames = malloc(plan->batches * sizeof *plan->rect_frames);
    if (!all || !plan->rect_order || !plan->rect_frames) {
        rc = error_set(error, ERR_MEMORY, "out of memory ordering %llu samples by shape",
                       (unsigned long long)o->sample_count);
        goto out;
    }
    for (uint64_t i = 0; i < o->sample_count; i++) {
        struct size_px size = shape(shape_arg, i);
        all[i] = (struct shaped){(double)size.height / size.width, (uint32_t)i};
    }
    qsort(all, o->sample_count, sizeof *all, compare_shaped);
    for (uint64_t i = 0; i < o->sample_count; i++) {
        plan->rect_order[i] = all[i].sample;
    }
    for (uint64_t batch = 0; batch < plan->batches; batch++) {
        uint64_t first = batch * o->batch, left = o->sample_count - first;
        uint64_t last = first + (left < o->batch ? left : o->batch) - 1;
        plan->rect_frames[batch] = rect_frame(o, all[first].aspect, all[last].aspect);
    }
out:
    free(all);
    return rc;
}

/* ---- life -------------------------------------------------------------------------------------------------------- */

static void derive(struct plan *plan) {
    const struct plan_options *o = &plan->options;
    static const uint64_t no_key[2] = {0, 0};
    uint64_t spare = o->last_batch == LAST_DROP ? 0 : o->batch - 1;
    plan->batches = (o->sample_count + spare) / o->batch;
    plan->span = (int64_t)(plan->batches * o->batch);
    plan->end = o->epochs > 0 ? o->epochs * plan->span : INT64_MAX;
    plan->closing_epoch = INT64_MAX;
    if (o->close_mosaic > 0) {
        plan->closing_epoch = o->epochs > o->close_mosaic ? o->epochs - o->close_mosaic : 0;
    }
    if (o->multi_scale > 0 && o->mode == PLAN_TRAIN) {
        plan->side_low = (uint32_t)(o->image_size * (1 - o->multi_scale));
        plan->side_count = (uint32_t)(o->image_size * (1 + o->multi_scale) + o->stride) - plan->side_low;
    }
    plan->has_infrared = o->ir_shift > 0 || o->ir_gain > 0 || o->ir_bias > 0 || o->ir_noise > 0 || o->ir_invert > 0 ||
                         o->drop_rgb > 0 || o->drop_ir > 0;
    permutation_init(&plan->order, o->sample_count, no_key);
}

int plan_create(struct plan **out, const struct plan_options *options, plan_shape_fn *shape, void *shape_arg,
                struct error *error) {
    *out = NULL;
    struct plan *plan = calloc(1, sizeof *plan);
    if (!plan) {
        return error_set(error, ERR_MEMORY, "out of memory for a plan");
    }
    plan->options = *options;
    int rc = check_ranges(&plan->options, error);
    rc = rc ? rc : check_sizes(&plan->options, error);
    rc = rc ? rc : check_batches(&plan->options, error);
    rc = rc ? rc : check_combinations(&plan->options, shape, error);
    if (rc) {
        goto out;
    }
    derive(plan);
    if (plan->options.rect) {
        rc = build_rect(plan, shape, shape_arg, error);
    }
out:
    if (rc) {
        plan_destroy(&plan);
    }
    *out = plan;
    return rc;
}

void plan_destroy(struct plan **plan) {
    if (plan && *plan) {
        free((*plan)->rect_order);
        free((*plan)->rect_frames);
        free(*plan);
        *plan = NULL;
    }
}

const struct plan_options *plan_frozen_options(const struct plan *plan) {
    return &plan->options;
}

struct size_px plan_max_output(const struct plan *plan) {
    const struct plan_options *o = &plan->options;
    struct size_px size = {o->image_size, o->image_size};
    if (plan->side_count > 0) {
        size.width = size.height = (plan->side_low + plan->side_count - 1) / o->stride * o->stride;
    }
    if (plan->rect_frames) {
        size = (struct size_px){0, 0};
    }
    for (uint64_t batch = 0; plan->rect_frames && batch < plan->batches; batch++) {
        const struct size_px *frame = &plan->rect_frames[batch];
        size.width = frame->width > size.width ? frame->width : size.width;
        size.height = frame->height > size.height ? frame->height : size.height;
    }
    return size;
}
