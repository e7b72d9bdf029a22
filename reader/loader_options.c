#include "loader_options.h"

#include "boxes.h"
#include "cpus.h"
#include "hash.h"
#include "plan.h"
#include "slot.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define WORKERS_LIMIT 1024
#define PREFETCH_MOST 8 /* or twice what it starts with, when it is automatic */
#define HELD_SLOTS 2    /* a consumer's loop holds one batch while it asks for the next; or a device copies from two */
#define DEVICE_SLOTS 4
#define DEVICE_SLOTS_MINIMUM 3
#define DEVICE_SLOTS_LIMIT 64

void ypk_loader_options_init(ypk_loader_options *options, size_t size) {
    struct plan_options plan;
    if (!options)
        return;
    memset(options, 0, size); /* a struct that is too small is refused with its size of 0 */
    if (size < sizeof *options)
        return;
    plan_options_init(&plan);
    *options = (ypk_loader_options){
        .size = size,
        .batch = plan.batch,
        .world = 1,
        .epochs = plan.epochs,
        .close_mosaic = plan.close_mosaic,
        .image_size = plan.image_size,
        .stride = plan.stride,
        .deviation = {1, 1, 1, 1},
        .mosaic = plan.mosaic,
        .mixup = plan.mixup,
        .cutmix = plan.cutmix,
        .degrees = plan.degrees,
        .translate = plan.translate,
        .scale = plan.scale,
        .shear = plan.shear,
        .perspective = plan.perspective,
        .hsv_h = plan.hsv_h,
        .hsv_s = plan.hsv_s,
        .hsv_v = plan.hsv_v,
        .flipud = plan.flipud,
        .fliplr = plan.fliplr,
        .bgr = plan.bgr,
        .multi_scale = plan.multi_scale,
        .mosaic_depth = plan.mosaic_depth,
    };
}

/* Knows the struct of this header, and larger ones of later headers whose further fields are not used. */
int loader_options_check_size(const ypk_loader_options *options, struct error *error) {
    if (options->size < sizeof *options)
        return error_set(error, ERR_ARGUMENT, "options.size is %zu, expected %zu: call ypk_loader_options_init()",
                         options->size, sizeof *options);
    for (size_t i = sizeof *options; i < options->size; i++)
        if (((const uint8_t *)options)[i])
            return error_set(error, ERR_ARGUMENT, "the options (%zu bytes) use a field that this library does not know",
                             options->size);
    return 0;
}

static int wrong(struct error *error, const char *option, int value, const char *right) {
    return error_set(error, ERR_ARGUMENT, "option %s is %d: it is %s", option, value, right);
}

static int check_choices(const ypk_loader_options *o, struct error *error) {
    if (o->mode != YPK_TRAIN && o->mode != YPK_EVAL)
        return wrong(error, "mode", o->mode, "YPK_TRAIN or YPK_EVAL");
    if (o->dtype < YPK_U8 || o->dtype > YPK_F32)
        return wrong(error, "dtype", o->dtype, "YPK_U8, YPK_F16, YPK_BF16 or YPK_F32");
    if (o->layout != YPK_NCHW && o->layout != YPK_NHWC)
        return wrong(error, "layout", o->layout, "YPK_NCHW or YPK_NHWC");
    if (o->channels < YPK_CHANNELS_AUTO || o->channels > YPK_CHANNELS_TWO)
        return wrong(error, "channels", o->channels, "one of YPK_CHANNELS_*");
    if (o->last_batch < YPK_LAST_AUTO || o->last_batch > YPK_LAST_PARTIAL)
        return wrong(error, "last_batch", o->last_batch, "one of YPK_LAST_*");
    if (o->bad_sample != YPK_BAD_FAIL && o->bad_sample != YPK_BAD_SUBSTITUTE)
        return wrong(error, "bad_sample", o->bad_sample, "YPK_BAD_FAIL or YPK_BAD_SUBSTITUTE");
    if (o->world == 0 || o->rank >= o->world)
        return error_set(error, ERR_ARGUMENT, "rank %u of world %u: ranks count from 0 to world - 1", o->rank,
                         o->world);
    if (o->batch == 0 || (uint64_t)o->batch * o->world > 65536)
        return error_set(error, ERR_ARGUMENT, "batch %u of world %u: the global batch is 1 to 65,536 samples", o->batch,
                         o->world);
    if (o->workers > WORKERS_LIMIT || o->prefetch > 1024)
        return error_set(error, ERR_ARGUMENT, "workers %u, prefetch %u: at most 1,024 each", o->workers, o->prefetch);
    if (o->device_slots != 0 && (o->device_slots < DEVICE_SLOTS_MINIMUM || o->device_slots > DEVICE_SLOTS_LIMIT))
        return error_set(error, ERR_ARGUMENT, "device_slots is %u: it is %d to %d, or 0 for %d", o->device_slots,
                         DEVICE_SLOTS_MINIMUM, DEVICE_SLOTS_LIMIT, DEVICE_SLOTS);
    for (int c = 0; c < 4; c++) {
        if (!isfinite(o->mean[c]))
            return error_set(error, ERR_ARGUMENT, "mean[%d] is %g: it is a finite number", c, (double)o->mean[c]);
        if (!(o->deviation[c] > 0) || !isfinite(o->deviation[c]))
            return error_set(error, ERR_ARGUMENT, "deviation[%d] is %g: it is a finite number over 0", c,
                             (double)o->deviation[c]);
    }
    return 0;
}

static int copy_flip_index(struct loader_config *c, const ypk_loader_options *o, const struct index_view *index,
                           struct error *error) {
    const uint16_t *given = o->flip_index;
    uint32_t points = index->meta.keypoint_count;
    if (!given && o->flip_index_count == 0)
        return 0;
    if (points == 0)
        return error_set(error, ERR_ARGUMENT, "option flip_index is for packs with key points, and this one has none");
    if (!given || o->flip_index_count != points)
        return error_set(error, ERR_ARGUMENT,
                         "option flip_index has %u entries: labels of this pack have %u key points",
                         given ? o->flip_index_count : 0, points);
    for (uint32_t i = 0; i < points; i++)
        if (given[i] >= points)
            return error_set(error, ERR_ARGUMENT, "flip_index[%u] is %u: it is 0 to %u", i, given[i], points - 1);
    uint16_t *copy = malloc(points * sizeof *copy);
    if (!copy)
        return error_set(error, ERR_MEMORY, "out of memory for the loader's options");
    memcpy(copy, given, points * sizeof *copy);
    c->options.flip_index = copy;
    return 0;
}

/* Without an exchange of left and right, mirrored key points would have the wrong names: then nothing is mirrored. */
static bool may_flip(const ypk_loader_options *o, const struct index_view *index) {
    return index->meta.keypoint_count == 0 || o->flip_index != NULL;
}

static uint32_t flip_index_hash(const ypk_loader_options *o) {
    return o->flip_index ? XXH32(o->flip_index, o->flip_index_count * sizeof *o->flip_index, 0) : 0;
}

static struct plan_options plan_options_from(const ypk_loader_options *o, const struct index_view *index) {
    bool flips = may_flip(o, index);
    return (struct plan_options){
        .seed = o->seed,
        .sample_count = index->sample_count,
        .content_hash = index->content_hash,
        .world = o->world,
        .epochs = o->epochs,
        .close_mosaic = o->close_mosaic,
        .mode = o->mode == YPK_EVAL ? PLAN_EVAL : PLAN_TRAIN,
        .batch = o->batch * o->world,
        .last_batch = (uint32_t)o->last_batch,
        .image_size = o->image_size,
        .stride = o->stride,
        .rect = o->rect != 0,
        .mosaic_depth = o->mosaic_depth,
        .mosaic_pool = o->mosaic_pool_all ? POOL_ALL : POOL_LANE,
        .hsv_on_ir = o->hsv_on_ir != 0,
        .ir_shift = o->ir_shift,
        .fast = o->fast != 0,
        .flip_index = flip_index_hash(o),
        .mosaic = o->mosaic,
        .mixup = o->mixup,
        .cutmix = o->cutmix,
        .degrees = o->degrees,
        .translate = o->translate,
        .scale = o->scale,
        .shear = o->shear,
        .perspective = o->perspective,
        .hsv_h = o->hsv_h,
        .hsv_s = o->hsv_s,
        .hsv_v = o->hsv_v,
        .flipud = flips ? o->flipud : 0,
        .fliplr = flips ? o->fliplr : 0,
        .bgr = o->bgr,
        .multi_scale = o->multi_scale,
        .ir_gain = o->ir_gain,
        .ir_bias = o->ir_bias,
        .ir_noise = o->ir_noise,
        .ir_invert = o->ir_invert,
        .drop_rgb = o->drop_rgb,
        .drop_ir = o->drop_ir,
    };
}

static struct size_px sample_shape(void *arg, uint64_t sample) {
    const struct ypk_dataset *dataset = arg;
    struct index_sample row;
    if (index_sample(&dataset->index, sample, &row, NULL) != 0)
        return (struct size_px){1, 1}; /* a damaged row is named when it is loaded */
    return row.rgb_bytes ? (struct size_px){row.rgb_width, row.rgb_height}
                         : (struct size_px){row.ir_width, row.ir_height};
}

static int choose_channels(struct batch_layout *layout, const ypk_loader_options *o, const struct index_view *index,
                           struct error *error) {
    static const struct {
        int rgb, ir;
        bool two;
    } forms[] = {[YPK_CHANNELS_RGB] = {3, 0, false},
                 [YPK_CHANNELS_IR] = {0, 1, false},
                 [YPK_CHANNELS_RGB_IR] = {3, 1, false},
                 [YPK_CHANNELS_RGB_IR3] = {3, 3, false},
                 [YPK_CHANNELS_TWO] = {3, 1, true}};
    int channels = o->channels;
    if (channels == YPK_CHANNELS_AUTO)
        channels = index->meta.modalities == MODALITY_IR    ? YPK_CHANNELS_IR
                   : index->meta.modalities == MODALITY_RGB ? YPK_CHANNELS_RGB
                                                            : YPK_CHANNELS_RGB_IR3;
    layout->rgb_channels = forms[channels].rgb;
    layout->ir_channels = forms[channels].ir;
    layout->two = forms[channels].two;
    if (layout->rgb_channels && !(index->meta.modalities & MODALITY_RGB))
        return error_set(error, ERR_ARGUMENT, "channels ask for RGB, and this pack has infrared only");
    if (layout->ir_channels && !(index->meta.modalities & MODALITY_IR))
        return error_set(error, ERR_ARGUMENT, "channels ask for infrared, and this pack has RGB only");
    return 0;
}

static unsigned layer_count(const ypk_loader_options *o) {
    return 1u + (o->mixup > 0) + (o->cutmix > 0);
}

/* The pictures that one sample can need at a time. */
static unsigned pictures_a_sample(const ypk_loader_options *o) {
    bool train = o->mode == YPK_TRAIN;
    return train ? layer_count(o) * (o->mosaic > 0 ? RECIPE_TILES : 1) : 1;
}

/* What a header says is not trusted: more labels than the index has cannot be, nor more points than a section holds. */
static int fill_labels(struct batch_layout *layout, const ypk_loader_options *o, const struct index_view *index,
                       struct error *error) {
    uint64_t most = index->max_label_count < index->label_count ? index->max_label_count : index->label_count;
    uint64_t labels = most * pictures_a_sample(o);
    layout->points_per_label = index->meta.task == TASK_POSE ? index->meta.keypoint_count : 0;
    layout->oriented = index->meta.task == TASK_OBB;
    if (labels > UINT32_MAX || most * layout->points_per_label > UINT32_MAX)
        return error_set(error, ERR_CORRUPT, "the index says that one sample has %" PRIu64 " labels of %u points", most,
                         layout->points_per_label);
    layout->row_labels = (uint32_t)labels;
    return 0;
}

static void fill_layout(struct loader_config *c) {
    const ypk_loader_options *o = &c->options;
    c->layout.interleaved = o->layout == YPK_NHWC;
    c->layout.type = (enum number_type)o->dtype;
    c->layout.rows = o->batch;
    c->layout.whole = o->world > 1; /* one rank's last batch is just shorter; several keep their shape */
    c->layout.largest = plan_max_output(c->plan);

    uint32_t side =
        c->layout.largest.width > c->layout.largest.height ? c->layout.largest.width : c->layout.largest.height;
    c->frame = (struct frame_options){
        .image_size = o->image_size,
        .frame_side = side > o->image_size ? side : o->image_size,
        .canvas_side = 2 * o->image_size > side ? 2 * o->image_size : side,
        .rgb = c->layout.rgb_channels > 0,
        .ir = c->layout.ir_channels > 0,
        .layers = o->mode == YPK_TRAIN && layer_count(o) > 1,
        .fast = o->fast != 0,
        .type = c->layout.type,
    };
    memcpy(c->frame.mean, o->mean, sizeof o->mean);
    memcpy(c->frame.deviation, o->deviation, sizeof o->deviation);
}

/* To a device go planes of bytes, infrared once: less to copy, and the device makes the rest. */
static void send_bytes(struct loader_config *c) {
    c->layout.type = c->frame.type = NUMBER_U8;
    c->layout.interleaved = false;
    c->layout.ir_channels = c->layout.ir_channels ? 1 : 0;
    c->device_slots = c->options.device_slots ? c->options.device_slots : DEVICE_SLOTS;
}

struct window_options loader_window_options(const struct loader_config *c, uint32_t pictures) {
    return (struct window_options){.plan = c->plan,
                                   .rank = c->options.rank,
                                   .world = c->options.world,
                                   .batches_in_flight = c->memory.slots_most,
                                   .buffer_count = pictures,
                                   .buffer_most = c->memory.pictures_most,
                                   .buffer_bytes = c->memory.picture_bytes};
}

static uint64_t total_bytes(struct loader_config *c) {
    struct loader_memory *m = &c->memory;
    struct window_options w = loader_window_options(c, m->pictures);
    m->total_bytes = (uint64_t)m->slots * m->slot_bytes + window_bytes(&w) + (uint64_t)m->workers * m->scratch_bytes;
    return m->total_bytes;
}

/* What is automatic starts with the cores, and with two rows ready or at work for each, and grows to twice that. */
static void choose_counts(struct loader_config *c) {
    const ypk_loader_options *o = &c->options;
    struct loader_memory *m = &c->memory;
    uint32_t cores = cpus_available();
    long machine = sysconf(_SC_NPROCESSORS_ONLN); /* the process may be given more of them later */
    uint32_t most = 2 * (machine > (long)cores ? (uint32_t)machine : cores);
    m->workers = o->workers ? o->workers : cores < WORKERS_LIMIT ? cores : WORKERS_LIMIT;
    m->workers_most = o->workers ? o->workers : most < WORKERS_LIMIT ? most : WORKERS_LIMIT;
    uint32_t prefetch = o->prefetch ? o->prefetch : 1 + (2 * m->workers + o->batch - 1) / o->batch;
    uint32_t further = o->prefetch ? o->prefetch : 2 * prefetch > PREFETCH_MOST ? 2 * prefetch : PREFETCH_MOST;
    m->slots = prefetch + HELD_SLOTS;
    m->slots_most = further + HELD_SLOTS;
}

static double megabytes(uint64_t bytes) {
    return (double)bytes / 1e6;
}

/* The smallest that works is rounded up, so that it does when it is typed as it is said. */
static int refuse_limit(const struct loader_memory *m, uint64_t limit, struct error *error) {
    return error_set(error, ERR_ARGUMENT,
                     "memory_limit is %.4g MB: the smallest that works with these options is %" PRIu64 " MB (%" PRIu64
                     " bytes: slots %u of %.4g MB, pictures %u of %.4g MB, workers %u of %.4g MB)",
                     megabytes(limit), (m->total_bytes + 999999) / 1000000, m->total_bytes, m->slots,
                     megabytes(m->slot_bytes), m->pictures, megabytes(m->picture_bytes), m->workers,
                     megabytes(m->scratch_bytes));
}

/* Work space of boxes_build(). */
static size_t label_scratch_bytes(const struct batch_layout *l) {
    return l->row_labels * (sizeof(struct box) + (l->oriented ? sizeof(struct corners) : 0));
}

/* The most that is of use, then less of what hurts least until the limit is kept. */
static int plan_memory(struct loader_config *c, const struct ypk_dataset *dataset, struct error *error) {
    const ypk_loader_options *o = &c->options;
    struct loader_memory *m = &c->memory;
    unsigned need = pictures_a_sample(o);
    bool keeps = need > 1 && !o->mosaic_pool_all; /* pictures that later samples use */
    uint32_t depth = keeps ? plan_frozen_options(c->plan)->mosaic_depth : 0;

    m->slot_bytes = slot_bytes(&c->layout);
    m->picture_bytes = frame_picture_bytes(&c->frame);
    m->scratch_bytes = frame_scratch_bytes(dataset, &c->frame) + label_scratch_bytes(&c->layout);
    choose_counts(c);
    m->worker_pictures = need;
    m->pictures = depth * o->batch + m->workers * need;
    m->pictures_most = depth * o->batch + m->workers_most * need;
    uint64_t limit = o->memory_limit ? o->memory_limit : UINT64_MAX;

    while (total_bytes(c) > limit) {
        if (!o->prefetch && m->slots > HELD_SLOTS + 1)
            m->slots--;
        else if (m->pictures > m->workers * need)
            m->pictures -= (m->pictures - m->workers * need + 7) / 8;
        else if (!o->workers && m->workers > 1)
            m->pictures = --m->workers * need;
        else
            return refuse_limit(m, limit, error);
    }
    return 0;
}

int loader_config_init(struct loader_config *out, const struct ypk_dataset *dataset, const ypk_loader_options *options,
                       bool device, struct error *error) {
    *out = (struct loader_config){0};
    int rc = loader_options_check_size(options, error);
    if (rc != 0)
        return rc;
    out->options = *options;
    out->options.flip_index = NULL; /* until it is copied: what is freed is our own */
    rc = check_choices(options, error);
    if (rc == 0)
        rc = choose_channels(&out->layout, options, &dataset->index, error);
    if (rc == 0)
        rc = fill_labels(&out->layout, options, &dataset->index, error);
    if (rc == 0)
        rc = copy_flip_index(out, options, &dataset->index, error);
    if (rc == 0) {
        struct plan_options plan = plan_options_from(&out->options, &dataset->index);
        rc = plan_create(&out->plan, &plan, sample_shape, (void *)(uintptr_t)dataset, error);
    }
    if (rc == 0) {
        fill_layout(out);
        out->delivered = out->layout;
        if (device)
            send_bytes(out);
        rc = plan_memory(out, dataset, error);
    }
    if (rc != 0)
        loader_config_deinit(out);
    return rc;
}

void loader_config_deinit(struct loader_config *config) {
    plan_destroy(&config->plan);
    free((void *)(uintptr_t)config->options.flip_index);
    config->options.flip_index = NULL;
}
