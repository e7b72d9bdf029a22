/*
 * A contact sheet: samples as they are stored, RGB | IR side by side, with boxes, class names and the sample's name.
 *
 *   sheet = rows of cells;  cell = caption + one panel a modality;  panel = the picture, fitted, and its labels
 */
#include "commands.h"

#include "args.h"
#include "canvas.h"
#include "file.h"
#include "font.h"
#include "jpeg.h"
#include "output.h"
#include "png_out.h"
#include "splits.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum {
    PANEL_WIDTH = 480,
    PANEL_HEIGHT = 384,
    CAPTION_HEIGHT = 24,
    GAP = 8,
    PANEL_STEP = PANEL_WIDTH + 2,
    SHEET_LIMIT = 400,
    SHEET_QUALITY = 92
};

static const struct colour sheet_colour = {24, 26, 30}, panel_colour = {44, 47, 54}, caption_colour = {225, 228, 232},
                           black = {0, 0, 0}, white = {255, 255, 255};

struct view {
    const ypk_dataset *dataset;
    ypk_decoder *decoder;
    ypk_dataset_info info;
    struct pixels sheet;
    int panels; /* a cell: 1 or 2 */
    uint64_t first, count, columns;
};

/* Where a picture is drawn. */
struct frame {
    int x, y, width, height;
};

/* The largest frame of the picture's shape inside a panel, centred. Small pictures grow at most fourfold. */
static struct frame fit(uint32_t width, uint32_t height, int x, int y) {
    double scale = (double)PANEL_WIDTH / width, other = (double)PANEL_HEIGHT / height;
    scale = other < scale ? other : scale;
    scale = scale > 4 ? 4 : scale;
    struct frame f = {.width = (int)(width * scale + 0.5), .height = (int)(height * scale + 0.5)};
    f.width = f.width < 1 ? 1 : f.width;
    f.height = f.height < 1 ? 1 : f.height;
    f.x = x + (PANEL_WIDTH - f.width) / 2;
    f.y = y + (PANEL_HEIGHT - f.height) / 2;
    return f;
}

/* A normalised coordinate in pixels. Values far outside, or not finite, can only come from a damaged index. */
static int place(float value, int start, int length) {
    value = value > -1 ? value : -1;
    value = value < 2 ? value : 2;
    return start + (int)lrintf(value * (float)length);
}

/* Black or white, whichever can be read on it. */
static struct colour contrast(struct colour on) {
    return on.r * 299 + on.g * 587 + on.b * 114 > 140000 ? black : white;
}

/* Text on a filled ground. */
static void draw_tag(const struct pixels *sheet, int x, int y, int scale, const char *text, struct colour colour) {
    int width = canvas_text_width(text, scale) + scale, height = (FONT_HEIGHT + 2) * scale;
    canvas_fill(sheet, x, y, width, height, colour);
    canvas_text(sheet, x + scale, y + scale, scale, width, text, contrast(colour));
}

static void draw_polygon(const struct pixels *sheet, const struct frame *f, const float *points, uint32_t count,
                         uint32_t dims, struct colour colour) {
    for (uint32_t i = 0; i < count; i++) {
        const float *a = points + (size_t)i * dims, *b = points + (size_t)((i + 1) % count) * dims;
        canvas_line(sheet, place(a[0], f->x, f->width), place(a[1], f->y, f->height), place(b[0], f->x, f->width),
                    place(b[1], f->y, f->height), colour);
    }
}

static void draw_keypoints(const struct pixels *sheet, const struct frame *f, const float *points, uint32_t count,
                           uint32_t dims, struct colour colour) {
    for (uint32_t i = 0; i < count; i++) {
        const float *p = points + (size_t)i * dims;
        if (dims < 3 || p[2] > 0)
            canvas_fill(sheet, place(p[0], f->x, f->width) - 2, place(p[1], f->y, f->height) - 2, 5, 5, colour);
    }
}

static void draw_label(const struct view *v, const struct frame *f, const ypk_label *label, const float *points,
                       bool named) {
    struct colour colour = canvas_class_colour(label->class_id);
    int x = place(label->x - label->width / 2, f->x, f->width),
        y = place(label->y - label->height / 2, f->y, f->height);
    int width = place(label->x + label->width / 2, f->x, f->width) - x;
    int height = place(label->y + label->height / 2, f->y, f->height) - y;
    const char *name = ypk_dataset_class_name(v->dataset, label->class_id);
    char number[16];
    if (v->info.task == YPK_POSE)
        draw_keypoints(&v->sheet, f, points, label->point_count, v->info.point_dims, colour);
    else
        draw_polygon(&v->sheet, f, points, label->point_count, v->info.point_dims, colour);
    if (v->info.task != YPK_OBB)
        canvas_frame(&v->sheet, x, y, width < 2 ? 2 : width, height < 2 ? 2 : height, 2, colour);
    if (name == NULL) {
        snprintf(number, sizeof number, "%u", label->class_id);
        name = number;
    }
    int scale = canvas_text_width(name, 2) <= width ? 2 : 1, above = y - (FONT_HEIGHT + 2) * scale;
    int rightmost = f->x + f->width - canvas_text_width(name, scale) - scale;
    x = x < rightmost ? x : rightmost;
    if (named)
        draw_tag(&v->sheet, x > f->x ? x : f->x, above >= f->y ? above : y, scale, name, colour);
}

static void draw_labels(const struct view *v, const struct frame *f, const ypk_sample *s) {
    const float *points = s->points;
    bool named = s->label_count <= 60; /* more names would hide the picture */
    for (uint32_t i = 0; i < s->label_count; i++) {
        draw_label(v, f, &s->labels[i], points, named);
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
static int draw_panel(const struct view *v, uint64_t index, const ypk_sample *s, int modality, int x, int y,
                      struct error *error) {
    const ypk_image *image = modality == YPK_RGB ? &s->rgb : &s->ir;
    struct pixels picture = {0};
    canvas_fill(&v->sheet, x, y, PANEL_WIDTH, PANEL_HEIGHT, panel_colour);
    if (image->width == 0) {
        draw_tag(&v->sheet, x + 4, y + 4, 2, modality == YPK_RGB ? "no RGB" : "no IR", sheet_colour);
        return 0;
    }
    const ypk_image *shape = s->rgb.width > 0 ? &s->rgb : image;
    struct frame f = fit(shape->width, shape->height, x, y);
    int rc = decode_rgb(v, &picture, index, modality, image, error);
    if (rc == 0)
        rc = canvas_picture(&v->sheet, f.x, f.y, (uint32_t)f.width, (uint32_t)f.height, &picture, error);
    if (rc == 0) {
        draw_labels(v, &f, s);
        draw_tag(&v->sheet, x + 4, y + 4, 2, modality == YPK_RGB ? "RGB" : "IR", sheet_colour);
    }
    pixels_deinit(&picture);
    return rc;
}

static void draw_caption(const struct view *v, uint64_t index, const ypk_sample *s, int x, int y, int width) {
    char text[512], ir[32] = "";
    const ypk_image *main_image = s->rgb.width > 0 ? &s->rgb : &s->ir;
    if (s->rgb.width > 0 && s->ir.width > 0)
        snprintf(ir, sizeof ir, " + IR %ux%u", s->ir.width, s->ir.height);
    snprintf(text, sizeof text, "%" PRIu64 "  %s  %ux%u%s  %s", index, path_base(s->name), main_image->width,
             main_image->height, ir, text_counted(s->label_count, "box").text);
    int scale = canvas_text_width(text, 2) <= width ? 2 : 1;
    canvas_text(&v->sheet, x, y + (CAPTION_HEIGHT - FONT_HEIGHT * scale) / 2, scale, width, text, caption_colour);
}

static int draw_cell(const struct view *v, uint64_t index, int x, int y, struct error *error) {
    ypk_sample s;
    ypk_error detail;
    if (ypk_dataset_sample(v->dataset, index, &s, &detail) != YPK_OK)
        return splits_error(error, &detail);
    draw_caption(v, index, &s, x, y, v->panels * PANEL_WIDTH);
    y += CAPTION_HEIGHT;
    int rc = 0;
    if (v->info.modalities & YPK_RGB) {
        rc = draw_panel(v, index, &s, YPK_RGB, x, y, error);
        x += PANEL_STEP;
    }
    if (rc == 0 && (v->info.modalities & YPK_IR))
        rc = draw_panel(v, index, &s, YPK_IR, x, y, error);
    return rc;
}

static int draw_sheet(struct view *v, struct error *error) {
    uint64_t rows = (v->count + v->columns - 1) / v->columns;
    int cell_width = v->panels * PANEL_STEP + GAP, cell_height = CAPTION_HEIGHT + PANEL_HEIGHT + GAP;
    int rc = pixels_init(&v->sheet, (uint32_t)(v->columns * (uint64_t)cell_width + GAP),
                         (uint32_t)(rows * (uint64_t)cell_height + GAP), 3, 8, error);
    if (rc != 0)
        return rc;
    canvas_fill(&v->sheet, 0, 0, (int)v->sheet.width, (int)v->sheet.height, sheet_colour);
    for (uint64_t i = 0; rc == 0 && i < v->count; i++)
        rc = draw_cell(v, v->first + i, GAP + (int)(i % v->columns) * cell_width,
                       GAP / 2 + (int)(i / v->columns) * cell_height, error);
    return rc;
}

static int encode_jpeg(struct bytes *out, const struct pixels *picture, struct error *error) {
    struct jpeg *jpeg = NULL;
    int rc = jpeg_handle_create(&jpeg, error);
    if (rc == 0)
        rc = jpeg_encode(jpeg, out, picture, SHEET_QUALITY, false, error);
    jpeg_handle_destroy(&jpeg);
    return rc;
}

static bool is_png(const char *path) {
    return strcasecmp(path_suffix(path), "png") == 0;
}

static bool is_jpeg(const char *path) {
    return strcasecmp(path_suffix(path), "jpg") == 0 || strcasecmp(path_suffix(path), "jpeg") == 0;
}

static int write_sheet(const struct view *v, const char *path, struct error *error) {
    struct bytes file = {0};
    int rc = is_png(path) ? encode_png(&file, &v->sheet, error) : encode_jpeg(&file, &v->sheet, error);
    if (rc == 0)
        rc = file_write_atomic(path, file.data, file.size, error);
    bytes_deinit(&file);
    return rc;
}

/* Cuts the wish to what the split has. */
static int choose(struct view *v, struct error *error) {
    ypk_dataset_get_info(v->dataset, &v->info);
    if (v->first >= v->info.sample_count)
        return error_set(error, ERR_ARGUMENT, "--first %" PRIu64 ": split %s has %s, counted from 0", v->first,
                         v->info.split, text_counted(v->info.sample_count, "sample").text);
    uint64_t there = v->info.sample_count - v->first;
    v->count = v->count < there ? v->count : there;
    v->panels = v->info.modalities == (YPK_RGB | YPK_IR) ? 2 : 1;
    if (v->columns == 0)
        v->columns = v->panels == 2 ? 2 : 4;
    v->columns = v->columns < v->count ? v->columns : v->count;
    return 0;
}

static int run(const char *pack, const char *split, const char *output, struct view *v) {
    struct splits splits;
    struct error error = {0};
    ypk_error detail;
    ypk_dataset *dataset = NULL;
    int rc = splits_open(&splits, pack, &error);
    if (rc != 0)
        return output_fail(&error);
    rc = splits_dataset(&dataset, &splits, split, &error);
    v->dataset = dataset;
    if (rc == 0)
        rc = choose(v, &error);
    if (rc == 0 && ypk_decoder_create(&v->decoder, dataset, &detail) != YPK_OK)
        rc = splits_error(&error, &detail);
    if (rc == 0)
        rc = draw_sheet(v, &error);
    if (rc == 0)
        rc = write_sheet(v, output, &error);
    if (rc == 0)
        printf("%s: samples %" PRIu64 "-%" PRIu64 " of %s in split %s, %ux%u px\n", output, v->first,
               v->first + v->count - 1, text_count(v->info.sample_count).text, v->info.split, v->sheet.width,
               v->sheet.height);
    pixels_deinit(&v->sheet);
    ypk_decoder_destroy(&v->decoder);
    ypk_dataset_close(&dataset);
    splits_close(&splits);
    return rc == 0 ? EXIT_DONE : output_fail(&error);
}

int cmd_view(int argc, char **argv) {
    const char *output = NULL, *split = NULL;
    int64_t first = 0, count = 8, columns = 0;
    struct args args;
    int exit_code;
    const struct args_option options[] = {
        {"output", 'o', ARGS_TEXT, "FILE", "the picture to write: .png or .jpg", &output, 0, 0},
        {"split", 's', ARGS_TEXT, "NAME", "which split (default: train, or the only one)", &split, 0, 0},
        {"first", 0, ARGS_INTEGER, "I", "index of the first sample", &first, 0, INT64_MAX},
        {"count", 'n', ARGS_INTEGER, "N", "how many samples", &count, 1, SHEET_LIMIT},
        {"columns", 0, ARGS_INTEGER, "C", "samples side by side (default: 2 pairs, or 4 images)", &columns, 1, 32},
    };
    const struct args_spec spec = {
        .command = "view",
        .operands = "PACK -o FILE",
        .summary = "Draws samples as they are stored, RGB and IR side by side, with boxes and class names, into one "
                   "picture.",
        .examples = "  yolopack view night.ypk -o look.png\n"
                    "  yolopack view night.ypk -o look.jpg --split val --first 100 --count 4\n",
        .options = options,
        .option_count = sizeof options / sizeof options[0],
        .operand_count = 1,
    };
    if (!args_parse(&args, &spec, argc, argv, &exit_code))
        return exit_code;
    if (output == NULL)
        return args_mistake(&spec, "where to? Name the picture, for example -o look.png");
    if (!is_png(output) && !is_jpeg(output))
        return args_mistake(&spec, "--output %s: it ends with .png or .jpg", output);
    struct view v = {.first = (uint64_t)first, .count = (uint64_t)count, .columns = (uint64_t)columns};
    return run(args.operands[0], split, output, &v);
}
