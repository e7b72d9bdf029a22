#include "view_batch.h"

#include "file.h"
#include "output.h"
#include "splits.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

enum { PANEL_SIDE = 480, LARGE_PANEL_SIDE = 960, NAMED_LIMIT = 60 /* more names would hide the picture */ };

struct view {
    struct sheet *sheet;
    const ypk_dataset *dataset;
    bool letterboxed;
};

/* The boxes of one row. */
static uint32_t count_boxes(const ypk_batch *b, uint32_t row) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < b->label_count; i++)
        count += b->label_batch[i] == (float)row;
    return count;
}

static void draw_keypoints(const struct view *v, const struct sheet_frame *f, const ypk_batch *b, uint32_t label) {
    for (uint32_t k = 0; k < b->points_per_label; k++) {
        const float *point = b->label_points + ((size_t)label * b->points_per_label + k) * b->point_dims;
        if (point[2] > 0)
            sheet_dot(v->sheet, f, (unsigned)b->label_class[label], point);
    }
}

/* Sides are shares of the picture's width and height, whatever their direction: the tensor's pixels say how long they
 * are. `bounds` becomes the upright box around what the picture shows of it. */
static void draw_rotated(const struct view *v, const struct sheet_frame *f, const ypk_batch *b, uint32_t label,
                         float bounds[4]) {
    const float *box = &b->label_box[4 * (size_t)label];
    float width = (float)b->images[0].shape[2], height = (float)b->images[0].shape[1], corners[4][2];
    float sine = sinf(b->label_rotation[label]), cosine = cosf(b->label_rotation[label]);
    float long_x = cosine * box[2] / 2, long_y = sine * box[2] * width / height / 2;
    float short_x = -sine * box[3] * height / width / 2, short_y = cosine * box[3] / 2;
    for (int i = 0; i < 4; i++) {
        float along = i == 1 || i == 2 ? 1 : -1, across = i >= 2 ? 1 : -1;
        corners[i][0] = box[0] + along * long_x + across * short_x;
        corners[i][1] = box[1] + along * long_y + across * short_y;
    }
    for (int axis = 0; axis < 2; axis++) {
        float half = axis ? fabsf(long_y) + fabsf(short_y) : fabsf(long_x) + fabsf(short_x);
        float low = fmaxf(box[axis] - half, 0), high = fminf(box[axis] + half, 1);
        bounds[axis] = (low + high) / 2;
        bounds[2 + axis] = high - low;
    }
    sheet_outline(v->sheet, f, (unsigned)b->label_class[label], corners[0], 4, 2);
}

static void draw_label(const struct view *v, const struct sheet_frame *f, const ypk_batch *b, uint32_t label,
                       bool named) {
    unsigned class_id = (unsigned)b->label_class[label];
    const char *name = named ? ypk_dataset_class_name(v->dataset, class_id) : NULL;
    float bounds[4];
    memcpy(bounds, &b->label_box[4 * (size_t)label], sizeof bounds);
    if (b->label_rotation)
        draw_rotated(v, f, b, label, bounds);
    sheet_box(v->sheet, f, class_id, name, bounds, !b->label_rotation);
    draw_keypoints(v, f, b, label);
}

static void draw_labels(const struct view *v, const struct sheet_frame *f, const ypk_batch *b, uint32_t row,
                        bool named) {
    for (uint32_t i = 0; i < b->label_count; i++)
        if (b->label_batch[i] == (float)row)
            draw_label(v, f, b, i, named);
}

/* One row of a tensor: uint8, [height][width][channels], which is what a picture is. */
static int draw_panel(const struct view *v, uint64_t cell, int panel, const ypk_batch *b, uint32_t row,
                      struct error *error) {
    const ypk_tensor *t = &b->images[panel];
    struct pixels tile = {.data = (uint8_t *)t->data + (int64_t)row * t->strides[0],
                          .stride = (size_t)t->strides[1],
                          .width = (uint32_t)t->shape[2],
                          .height = (uint32_t)t->shape[1],
                          .channels = (uint8_t)t->shape[3],
                          .depth = 8};
    struct pixels spread = {0};
    struct sheet_frame f = sheet_fit(v->sheet, cell, panel, tile.width, tile.height);
    bool infrared = tile.channels == 1;
    int rc = infrared ? pixels_convert(&spread, &tile, 3, error) : 0;
    if (rc == 0)
        rc = sheet_picture(v->sheet, &f, infrared ? &spread : &tile, error);
    if (rc == 0) {
        draw_labels(v, &f, b, row, count_boxes(b, row) <= NAMED_LIMIT);
        sheet_panel_name(v->sheet, cell, panel, infrared ? "IR" : "RGB");
    }
    pixels_deinit(&spread);
    return rc;
}

static void draw_caption(const struct view *v, uint64_t cell, const ypk_batch *b, uint32_t row, uint64_t position) {
    const ypk_batch_sample *s = &b->samples[row];
    char text[512], place[64] = "";
    if (v->letterboxed)
        snprintf(place, sizeof place, "  %ux%u at %g,%g", s->resized_width, s->resized_height, (double)s->pad_x,
                 (double)s->pad_y);
    snprintf(text, sizeof text, "position %" PRIu64 "  %s%s%s  %s", position, path_base(s->name),
             s->substituted ? " (substitute)" : "", place, text_counted(count_boxes(b, row), "box").text);
    sheet_caption(v->sheet, cell, text);
}

static int draw_cell(const struct view *v, uint64_t cell, const ypk_batch *b, uint32_t row, uint64_t position,
                     struct error *error) {
    int rc = 0;
    draw_caption(v, cell, b, row, position);
    for (int panel = 0; rc == 0 && panel < b->image_count; panel++)
        rc = draw_panel(v, cell, panel, b, row, error);
    return rc;
}

/* The samples of one batch from `row` on, as far as they are wanted. */
static int draw_rows(const struct view *v, const struct view_batch *wish, uint64_t *cell, const ypk_batch *b,
                     struct error *error) {
    int rc = 0;
    while (rc == 0 && *cell < wish->count) {
        uint64_t position = wish->position + *cell;
        if (position / wish->options.batch != b->index)
            break;
        rc = draw_cell(v, *cell, b, (uint32_t)(position % wish->options.batch), position, error);
        ++*cell;
    }
    return rc;
}

static int draw_batches(const struct view *v, const struct view_batch *wish, ypk_loader *loader, struct error *error) {
    ypk_error detail = {0};
    uint64_t cell = 0;
    int rc = 0;
    if (ypk_loader_seek(loader, wish->epoch, wish->position / wish->options.batch, &detail) != YPK_OK)
        return splits_error(error, &detail);
    while (rc == 0 && cell < wish->count) {
        ypk_batch b;
        int end = ypk_loader_next(loader, &b, YPK_NO_STREAM, &detail);
        if (end == YPK_END)
            return error_set(error, ERR_ARGUMENT, "--epoch %" PRIu64 ": training has %s, counted from 0", wish->epoch,
                             text_counted(wish->options.epochs, "epoch").text);
        if (end != YPK_OK)
            return splits_error(error, &detail);
        rc = draw_rows(v, wish, &cell, &b, error);
        ypk_batch_release(&b, YPK_NO_STREAM);
    }
    return rc;
}

/* Cuts the wish to the places of an epoch, or to its samples where the last batch is partial. */
static int choose(struct view_batch *wish, const ypk_dataset_info *info, const ypk_loader *loader,
                  struct error *error) {
    uint64_t end = ypk_loader_batches_per_epoch(loader) * wish->options.batch;
    bool partial = wish->options.last_batch == YPK_LAST_PARTIAL || wish->options.last_batch == YPK_LAST_AUTO;
    end = partial && end > info->sample_count ? info->sample_count : end;
    if (wish->position >= end)
        return error_set(error, ERR_ARGUMENT,
                         "position %" PRIu64 ": an epoch of split %s has %s of them, counted from 0", wish->position,
                         info->split, text_count(end).text);
    wish->count = wish->count < end - wish->position ? wish->count : end - wish->position;
    wish->columns = wish->columns ? wish->columns : info->modalities == (YPK_RGB | YPK_IR) ? 2 : 4;
    wish->columns = wish->columns < wish->count ? wish->columns : wish->count;
    return 0;
}

static int draw(const struct view *v, struct view_batch *wish, ypk_loader *loader, struct error *error) {
    ypk_dataset_info info;
    ypk_dataset_get_info(v->dataset, &info);
    int rc = choose(wish, &info, loader, error);
    if (rc != 0)
        return rc;
    int side = wish->count > 1 ? PANEL_SIDE : (int)wish->options.image_size;
    side = side < PANEL_SIDE ? PANEL_SIDE : side > LARGE_PANEL_SIDE ? LARGE_PANEL_SIDE : side;
    int panels = info.modalities == (YPK_RGB | YPK_IR) ? 2 : 1;
    char title[128 + sizeof wish->recipe];
    snprintf(title, sizeof title, "%s, epoch %" PRIu64 ": seed %" PRIu64 ", batch %u, imgsz %u%s",
             v->letterboxed ? "evaluation" : "training", wish->epoch, wish->options.seed, wish->options.batch,
             wish->options.image_size, wish->recipe);
    rc = sheet_init(v->sheet, wish->count, wish->columns, panels, side, side, title, error);
    return rc ? rc : draw_batches(v, wish, loader, error);
}

int view_batch_draw(struct sheet *sheet, const ypk_dataset *dataset, struct view_batch *wish, struct error *error) {
    struct view v = {.sheet = sheet, .dataset = dataset, .letterboxed = wish->options.mode == YPK_EVAL};
    ypk_loader *loader = NULL;
    ypk_dataset_info info;
    ypk_error detail;

    ypk_dataset_get_info(dataset, &info);
    wish->options.channels = info.modalities == (YPK_RGB | YPK_IR) ? YPK_CHANNELS_TWO : YPK_CHANNELS_AUTO;
    wish->options.layout = YPK_NHWC;
    wish->options.prefetch = 1;
    if (ypk_loader_create(&loader, dataset, &wish->options, &detail) != YPK_OK)
        return splits_error(error, &detail);
    int rc = draw(&v, wish, loader, error);
    ypk_loader_destroy(&loader);
    return rc;
}
