#include "sheet.h"

#include "canvas.h"
#include "file.h"
#include "font.h"
#include "jpeg.h"
#include "output.h"
#include "png_out.h"

#include <math.h>
#include <string.h>
#include <strings.h>

enum { CAPTION_HEIGHT = 24, GAP = 8, PANEL_GAP = 2, QUALITY = 92, SIDE_LIMIT = 65500 /* JPEG's */ };

static const struct colour sheet_colour = {24, 26, 30}, panel_colour = {44, 47, 54}, caption_colour = {225, 228, 232},
                           black = {0, 0, 0}, white = {255, 255, 255};

/* ---- layout ------------------------------------------------------------------------------------------------------ */

static int cell_width(const struct sheet *s) {
    return s->panels * (s->panel_width + PANEL_GAP) + GAP;
}

static int cell_height(const struct sheet *s) {
    return CAPTION_HEIGHT + s->panel_height + GAP;
}

static int cell_x(const struct sheet *s, uint64_t cell) {
    return GAP + (int)(cell % s->columns) * cell_width(s);
}

static int cell_y(const struct sheet *s, uint64_t cell) {
    return s->top + (int)(cell / s->columns) * cell_height(s);
}

/* One line of text, smaller if it would not fit. */
static void draw_line(const struct sheet *s, int x, int y, int width, const char *text) {
    int scale = canvas_text_width(text, 2) <= width ? 2 : 1;
    canvas_text(&s->picture, x, y + (CAPTION_HEIGHT - FONT_HEIGHT * scale) / 2, scale, width, text, caption_colour);
}

int sheet_init(struct sheet *out, uint64_t count, uint64_t columns, int panels, int panel_width, int panel_height,
               const char *title, struct error *error) {
    *out = (struct sheet){.columns = columns,
                          .panels = panels,
                          .panel_width = panel_width,
                          .panel_height = panel_height,
                          .top = GAP / 2 + (title ? CAPTION_HEIGHT : 0)};
    uint64_t rows = (count + columns - 1) / columns;
    uint64_t width = columns * (uint64_t)cell_width(out) + GAP;
    uint64_t height = (uint64_t)out->top + rows * (uint64_t)cell_height(out) + GAP / 2;
    if (width > SIDE_LIMIT || height > SIDE_LIMIT)
        return error_set(error, ERR_ARGUMENT, "the picture would be %llux%llu px: take fewer samples or smaller ones",
                         (unsigned long long)width, (unsigned long long)height);
    int rc = pixels_init(&out->picture, (uint32_t)width, (uint32_t)height, 3, 8, error);
    if (rc != 0)
        return rc;
    canvas_fill(&out->picture, 0, 0, (int)width, (int)height, sheet_colour);
    for (uint64_t i = 0; i < count; i++)
        for (int p = 0; p < panels; p++)
            canvas_fill(&out->picture, cell_x(out, i) + p * (panel_width + PANEL_GAP), cell_y(out, i) + CAPTION_HEIGHT,
                        panel_width, panel_height, panel_colour);
    if (title)
        draw_line(out, GAP, GAP / 2, (int)width - 2 * GAP, title);
    return 0;
}

void sheet_deinit(struct sheet *sheet) {
    pixels_deinit(&sheet->picture);
}

struct sheet_frame sheet_fit(const struct sheet *s, uint64_t cell, int panel, uint32_t width, uint32_t height) {
    double scale = (double)s->panel_width / width, other = (double)s->panel_height / height;
    scale = other < scale ? other : scale;
    scale = scale > 4 ? 4 : scale;
    struct sheet_frame f = {.width = (int)(width * scale + 0.5), .height = (int)(height * scale + 0.5)};
    f.width = f.width < 1 ? 1 : f.width;
    f.height = f.height < 1 ? 1 : f.height;
    f.x = cell_x(s, cell) + panel * (s->panel_width + PANEL_GAP) + (s->panel_width - f.width) / 2;
    f.y = cell_y(s, cell) + CAPTION_HEIGHT + (s->panel_height - f.height) / 2;
    return f;
}

/* ---- drawing ----------------------------------------------------------------------------------------------------- */

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
static void draw_tag(const struct sheet *s, int x, int y, int scale, const char *text, struct colour colour) {
    int width = canvas_text_width(text, scale) + scale, height = (FONT_HEIGHT + 2) * scale;
    canvas_fill(&s->picture, x, y, width, height, colour);
    canvas_text(&s->picture, x + scale, y + scale, scale, width, text, contrast(colour));
}

void sheet_caption(const struct sheet *s, uint64_t cell, const char *text) {
    draw_line(s, cell_x(s, cell), cell_y(s, cell), s->panels * s->panel_width, text);
}

int sheet_picture(const struct sheet *s, const struct sheet_frame *f, const struct pixels *picture,
                  struct error *error) {
    return canvas_picture(&s->picture, f->x, f->y, (uint32_t)f->width, (uint32_t)f->height, picture, error);
}

void sheet_panel_name(const struct sheet *s, uint64_t cell, int panel, const char *name) {
    int x = cell_x(s, cell) + panel * (s->panel_width + PANEL_GAP);
    int y = cell_y(s, cell) + CAPTION_HEIGHT + s->panel_height - (FONT_HEIGHT + 2) * 2;
    draw_tag(s, x + 4, y - 4, 2, name, sheet_colour);
}

void sheet_box(const struct sheet *s, const struct sheet_frame *f, unsigned class_id, const char *name,
               const float box[4], bool outline) {
    struct colour colour = canvas_class_colour(class_id);
    int x = place(box[0] - box[2] / 2, f->x, f->width), y = place(box[1] - box[3] / 2, f->y, f->height);
    int width = place(box[0] + box[2] / 2, f->x, f->width) - x;
    int height = place(box[1] + box[3] / 2, f->y, f->height) - y;
    if (outline)
        canvas_frame(&s->picture, x, y, width < 2 ? 2 : width, height < 2 ? 2 : height, 2, colour);
    if (name == NULL)
        return;
    int scale = canvas_text_width(name, 2) <= width ? 2 : 1, above = y - (FONT_HEIGHT + 2) * scale;
    int rightmost = f->x + f->width - canvas_text_width(name, scale) - scale;
    x = x < rightmost ? x : rightmost;
    draw_tag(s, x > f->x ? x : f->x, above >= f->y ? above : y, scale, name, colour);
}

/* The frame as a picture of its own, beyond which nothing is drawn. */
static struct pixels frame_pixels(const struct sheet *s, const struct sheet_frame *f) {
    struct pixels p = s->picture;
    p.data += (size_t)f->y * p.stride + (size_t)f->x * 3;
    p.width = (uint32_t)f->width;
    p.height = (uint32_t)f->height;
    return p;
}

void sheet_dot(const struct sheet *s, const struct sheet_frame *f, unsigned class_id, const float point[2]) {
    struct pixels frame = frame_pixels(s, f);
    canvas_fill(&frame, place(point[0], 0, f->width) - 2, place(point[1], 0, f->height) - 2, 5, 5,
                canvas_class_colour(class_id));
}

void sheet_outline(const struct sheet *s, const struct sheet_frame *f, unsigned class_id, const float *points,
                   uint32_t count, uint32_t dims) {
    struct pixels frame = frame_pixels(s, f);
    for (uint32_t i = 0; i < count; i++) {
        const float *a = points + (size_t)i * dims, *b = points + (size_t)((i + 1) % count) * dims;
        canvas_line(&frame, place(a[0], 0, f->width), place(a[1], 0, f->height), place(b[0], 0, f->width),
                    place(b[1], 0, f->height), canvas_class_colour(class_id));
    }
}

/* ---- writing ----------------------------------------------------------------------------------------------------- */

static int encode_jpeg(struct bytes *out, const struct pixels *picture, struct error *error) {
    struct jpeg *jpeg = NULL;
    int rc = jpeg_handle_create(&jpeg, error);
    if (rc == 0)
        rc = jpeg_encode(jpeg, out, picture, QUALITY, false, error);
    jpeg_handle_destroy(&jpeg);
    return rc;
}

static bool is_png(const char *path) {
    return strcasecmp(path_suffix(path), "png") == 0;
}

static bool is_jpeg(const char *path) {
    return strcasecmp(path_suffix(path), "jpg") == 0 || strcasecmp(path_suffix(path), "jpeg") == 0;
}

bool sheet_can_write(const char *path) {
    return is_png(path) || is_jpeg(path);
}

int sheet_write(const struct sheet *sheet, const char *path, struct error *error) {
    struct bytes file = {0};
    int rc = is_png(path) ? encode_png(&file, &sheet->picture, error) : encode_jpeg(&file, &sheet->picture, error);
    if (rc == 0)
        rc = file_write_output(path, file.data, file.size, error);
    bytes_deinit(&file);
    return rc;
}
