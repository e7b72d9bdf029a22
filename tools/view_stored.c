#include "view_stored.h"

#include "file.h"
#include "output.h"
#include "splits.h"

#include <inttypes.h>

enum { PANEL_WIDTH = 480, PANEL_HEIGHT = 384, NAMED_LIMIT = 60 /* more names would hide the picture */ };

struct view {
    struct sheet *sheet;
    const ypk_dataset *dataset;
    ypk_decoder *decoder;
    ypk_dataset_info info;
};

static void draw_keypoints(const struct view *v, const struct sheet_frame *f, const ypk_label *label,
                           const float *points) {
    for (uint32_t i = 0; i < label->point_count; i++) {
        const float *p = points + (size_t)i * v->info.point_dims;
        if (v->info.point_dims < 3 || p[2] > 0)
            sheet_dot(v->sheet, f, label->class_id, p);
    }
}

static void draw_label(const struct view *v, const struct sheet_frame *f, const ypk_label *label, const float *points,
                       bool named) {
    const char *name = ypk_dataset_class_name(v->dataset, label->class_id);
    const float box[4] = {label->x, label->y, label->width, label->height};
    char number[16];
    if (v->info.task == YPK_POSE)
        draw_keypoints(v, f, label, points);
    else
        sheet_outline(v->sheet, f, label->class_id, points, label->point_count, v->info.point_dims);
    if (name == NULL) {
        snprintf(number, sizeof number, "%u", label->class_id);
        name = number;
    }
    sheet_box(v->sheet, f, label->class_id, named ? name : NULL, box, v->info.task != YPK_OBB);
}

static void draw_labels(const struct view *v, const struct sheet_frame *f, const ypk_sample *s) {
    const float *points = s->points;
    for (uint32_t i = 0; i < s->label_count; i++) {
        draw_label(v, f, &s->labels[i], points, s->label_count <= NAMED_LIMIT);
        points += (size_t)s->labels[i].point_count * v->info.point_dims;
    }
}

static int decode_rgb(const struct view *v, struct pixels *out, uint64_t index, int modality, const ypk_image *image,
                      struct error *error) {
    struct pixels gray = {0};
    struct pixels *target = modality == YPK_RGB ? out : &gray;
    ypk_error detail;
    int rc = pixels_init(target, image->width, image->height, modality == YPK_RGB ? 3 : 1, 8, error);
    if (rc == 0 && ypk_decoder_decode(v->decoder, index, modality, target->data, target->stride, &detail) != YPK_OK)
        rc = splits_error(error, &detail);
    if (rc == 0 && modality == YPK_IR)
        rc = pixels_convert(out, &gray, 3, error);
    pixels_deinit(&gray);
    return rc;
}

/* One picture with its labels; infrared takes the frame of the RGB picture, whose boxes it shares. */
static int draw_panel(const struct view *v, uint64_t cell, int panel, uint64_t index, const ypk_sample *s, int modality,
                      struct error *error) {
    const ypk_image *image = modality == YPK_RGB ? &s->rgb : &s->ir;
    struct pixels picture = {0};
    if (image->width == 0) {
        sheet_panel_name(v->sheet, cell, panel, modality == YPK_RGB ? "no RGB" : "no IR");
        return 0;
    }
    const ypk_image *shape = s->rgb.width > 0 ? &s->rgb : image;
    struct sheet_frame f = sheet_fit(v->sheet, cell, panel, shape->width, shape->height);
    int rc = decode_rgb(v, &picture, index, modality, image, error);
    if (rc == 0)
        rc = sheet_picture(v->sheet, &f, &picture, error);
    if (rc == 0) {
        draw_labels(v, &f, s);
        sheet_panel_name(v->sheet, cell, panel, modality == YPK_RGB ? "RGB" : "IR");
    }
    pixels_deinit(&picture);
    return rc;
}

static void draw_caption(const struct view *v, uint64_t cell, uint64_t index, const ypk_sample *s) {
    char text[512], ir[32] = "";
    const ypk_image *main_image = s->rgb.width > 0 ? &s->rgb : &s->ir;
    if (s->rgb.width > 0 && s->ir.width > 0)
        snprintf(ir, sizeof ir, " + IR %ux%u", s->ir.width, s->ir.height);
    snprintf(text, sizeof text, "%" PRIu64 "  %s  %ux%u%s  %s", index, path_base(s->name), main_image->width,
             main_image->height, ir, text_counted(s->label_count, "box").text);
    sheet_caption(v->sheet, cell, text);
}

static int draw_cell(const struct view *v, uint64_t cell, uint64_t index, struct error *error) {
    ypk_sample s;
    ypk_error detail;
    if (ypk_dataset_sample(v->dataset, index, &s, &detail) != YPK_OK)
        return splits_error(error, &detail);
    draw_caption(v, cell, index, &s);
    int rc = 0, panel = 0;
    if (v->info.modalities & YPK_RGB)
        rc = draw_panel(v, cell, panel++, index, &s, YPK_RGB, error);
    if (rc == 0 && (v->info.modalities & YPK_IR))
        rc = draw_panel(v, cell, panel, index, &s, YPK_IR, error);
    return rc;
}

int view_stored_draw(struct sheet *sheet, const ypk_dataset *dataset, struct view_stored *wish, struct error *error) {
    struct view v = {.sheet = sheet, .dataset = dataset};
    ypk_error detail;
    ypk_dataset_get_info(dataset, &v.info);
    if (wish->first >= v.info.sample_count)
        return error_set(error, ERR_ARGUMENT, "--first %" PRIu64 ": split %s has %s, counted from 0", wish->first,
                         v.info.split, text_counted(v.info.sample_count, "sample").text);
    uint64_t there = v.info.sample_count - wish->first;
    int panels = v.info.modalities == (YPK_RGB | YPK_IR) ? 2 : 1;
    wish->count = wish->count < there ? wish->count : there;
    wish->columns = wish->columns ? wish->columns : panels == 2 ? 2 : 4;
    wish->columns = wish->columns < wish->count ? wish->columns : wish->count;

    int rc = sheet_init(sheet, wish->count, wish->columns, panels, PANEL_WIDTH, PANEL_HEIGHT, NULL, error);
    if (rc == 0 && ypk_decoder_create(&v.decoder, dataset, &detail) != YPK_OK)
        rc = splits_error(error, &detail);
    for (uint64_t i = 0; rc == 0 && i < wish->count; i++)
        rc = draw_cell(&v, i, wish->first + i, error);
    ypk_decoder_destroy(&v.decoder);
    return rc;
}
