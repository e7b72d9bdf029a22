#include "boxes.h"

#include "matrix.h"

#include <string.h>

#define LEAST_SIDE_PX 2.0
#define LEAST_AREA 0.10
#define LEAST_AREA_POLYGON 0.01
#define LARGEST_ASPECT 100.0
#define LEAST_AREA_IN_CUT 0.1
#define LEAST_AREA_IN_CUT_POLYGON 0.01
#define NO_DIVISION_BY_ZERO 1e-16

static double lower(double a, double b) {
    return a < b ? a : b;
}

static double higher(double a, double b) {
    return a > b ? a : b;
}

static double clamp(double value, double high) {
    return lower(higher(value, 0), high);
}

static void clip(struct box *box, double width, double height) {
    box->x1 = clamp(box->x1, width);
    box->y1 = clamp(box->y1, height);
    box->x2 = clamp(box->x2, width);
    box->y2 = clamp(box->y2, height);
}

static double box_area(const struct box *box) {
    return (box->x2 - box->x1) * (box->y2 - box->y1);
}

static void move(const double m[9], double *x, double *y) {
    double moved_x = m[0] * *x + m[1] * *y + m[2], moved_y = m[3] * *x + m[4] * *y + m[5];
    if (m[6] != 0 || m[7] != 0 || m[8] != 1) {
        double w = m[6] * *x + m[7] * *y + m[8];
        moved_x /= w;
        moved_y /= w;
    }
    *x = moved_x;
    *y = moved_y;
}

/* ---- bounds of points -------------------------------------------------------------------------------------------- */

struct bounds {
    double x1, y1, x2, y2;
    bool any;
};

static void bounds_add(struct bounds *b, double x, double y) {
    if (!b->any) {
        *b = (struct bounds){x, y, x, y, true};
    }
    b->x1 = lower(b->x1, x);
    b->y1 = lower(b->y1, y);
    b->x2 = higher(b->x2, x);
    b->y2 = higher(b->y2, y);
}

static struct bounds moved_box(const double m[9], const struct box *box) {
    const double corners[4][2] = {{box->x1, box->y1}, {box->x2, box->y2}, {box->x1, box->y2}, {box->x2, box->y1}};
    struct bounds bounds = {.any = false};
    for (int i = 0; i < 4; i++) {
        double x = corners[i][0], y = corners[i][1];
        move(m, &x, &y);
        bounds_add(&bounds, x, y);
    }
    return bounds;
}

/* ---- the part of an outline inside the frame --------------------------------------------------------------------- */

/* Fed with an outline's points in order. Its bounds are those of every edge's part inside the frame, and of the frame's
 * corners that lie inside the outline. */
struct inside {
    double width, height; /* of the frame */
    double first_x, first_y, x, y;
    bool started;
    bool covers[4]; /* corners of the frame, by the even-odd rule: bit 0 right, bit 1 bottom */
    struct bounds bounds;
};

/* Narrows [*from, *to] of an edge to where start + t * delta lies in [0, high] (Liang and Barsky). */
static void narrow(double start, double delta, double high, double *from, double *to) {
    if (delta == 0) {
        if (start < 0 || start > high) {
            *to = -1;
        }
        return;
    }
    double a = (0 - start) / delta, b = (high - start) / delta;
    *from = higher(*from, lower(a, b));
    *to = lower(*to, higher(a, b));
}

static void inside_edge(struct inside *s, double x1, double y1, double x2, double y2) {
    double dx = x2 - x1, dy = y2 - y1, from = 0, to = 1;
    narrow(x1, dx, s->width, &from, &to);
    narrow(y1, dy, s->height, &from, &to);
    if (from <= to) {
        bounds_add(&s->bounds, clamp(x1 + dx * from, s->width), clamp(y1 + dy * from, s->height));
        bounds_add(&s->bounds, clamp(x1 + dx * to, s->width), clamp(y1 + dy * to, s->height));
    }
    for (int corner = 0; corner < 4; corner++) {
        double x = corner & 1 ? s->width : 0, y = corner & 2 ? s->height : 0;
        if ((y1 > y) != (y2 > y) && x < x1 + dx * ((y - y1) / dy)) {
            s->covers[corner] = !s->covers[corner];
        }
    }
}

static void inside_point(struct inside *s, double x, double y) {
    if (s->started) {
        inside_edge(s, s->x, s->y, x, y);
    } else {
        s->first_x = x;
        s->first_y = y;
        s->started = true;
    }
    s->x = x;
    s->y = y;
}

static void inside_close(struct inside *s) {
    inside_edge(s, s->x, s->y, s->first_x, s->first_y);
    for (int corner = 0; corner < 4; corner++) {
        if (s->covers[corner]) {
            bounds_add(&s->bounds, corner & 1 ? s->width : 0, corner & 2 ? s->height : 0);
        }
    }
}

/* ---- outlines ---------------------------------------------------------------------------------------------------- */

/* Where a tile's labels go. */
struct path {
    struct size_px loaded, canvas;
    struct placement place;
    bool mosaic; /* clipped to the canvas before they are moved */
    double matrix[9];
    double scale;
    double width, height; /* of the frame */
};

static void canvas_point(const struct path *path, const struct box_source *source, const float *points, uint32_t corner,
                         double *x, double *y) {
    *x = (double)points[(size_t)corner * source->point_dims] * path->loaded.width + path->place.dx;
    *y = (double)points[(size_t)corner * source->point_dims + 1] * path->loaded.height + path->place.dy;
}

static bool canvas_cuts(const struct path *path, const struct box_source *source, const float *points,
                        uint32_t corners) {
    for (uint32_t i = 0; path->mosaic && i < corners; i++) {
        double x, y;
        canvas_point(path, source, points, i, &x, &y);
        if (x < 0 || y < 0 || x > path->canvas.width || y > path->canvas.height) {
            return true;
        }
    }
    return false;
}

static void moved_point(const struct path *path, struct inside *inside, double x, double y) {
    if (path->mosaic) {
        x = clamp(x, path->canvas.width);
        y = clamp(y, path->canvas.height);
    }
    move(path->matrix, &x, &y);
    inside_point(inside, x, y);
}

/* The outline's moved part inside the frame. `points` are its corners. */
static struct bounds moved_outline(const struct path *path, const struct box_source *source, const float *points,
                                   uint32_t corners) {
    struct inside inside = {.width = path->width, .height = path->height};
    uint32_t between = 0, next = 0; /* points evenly spread from corner 0 round to corner 0 again */
    if (corners + 1 < OUTLINE_POINTS && canvas_cuts(path, source, points, corners)) {
        between = OUTLINE_POINTS - (corners + 1);
    }
    double step = between > 1 ? (double)corners / (between - 1) : corners;
    for (uint32_t i = 0; i < corners; i++) {
        double x, y, next_x, next_y;
        canvas_point(path, source, points, i, &x, &y);
        canvas_point(path, source, points, i + 1 < corners ? i + 1 : 0, &next_x, &next_y);
        moved_point(path, &inside, x, y);
        for (; next < between && next * step < i + 1; next++) {
            double at = next * step - i;
            moved_point(path, &inside, x + (next_x - x) * at, y + (next_y - y) * at);
        }
    }
    inside_close(&inside);
    return inside.bounds;
}

/* ---- key points -------------------------------------------------------------------------------------------------- */

/* A point that has left the picture is not visible any more, and lies on its edge. */
static void clip_point(float point[3], double x, double y, const struct area *limit) {
    if (!(x >= limit->x1 && y >= limit->y1 && x <= limit->x2 && y <= limit->y2)) {
        point[2] = 0;
    }
    point[0] = (float)higher(limit->x1, lower(x, limit->x2));
    point[1] = (float)higher(limit->y1, lower(y, limit->y2));
}

static void move_keypoint(float out[3], const struct path *path, double x, double y) {
    const struct area canvas = {0, 0, path->canvas.width, path->canvas.height},
                      frame = {0, 0, path->width, path->height};
    if (path->mosaic) {
        clip_point(out, x, y, &canvas);
        x = clamp(x, canvas.x2);
        y = clamp(y, canvas.y2);
    }
    move(path->matrix, &x, &y);
    clip_point(out, x, y, &frame);
}

/* The point that comes to be number `k`, once the flips have exchanged left and right. */
static uint32_t flipped_from(const struct boxes *out, const struct recipe *recipe, uint32_t k) {
    for (int flips = recipe->flip_vertical + recipe->flip_horizontal; out->flip_index && flips > 0; flips--) {
        k = out->flip_index[k];
    }
    return k;
}

static void build_keypoints(struct boxes *out, size_t at, const struct recipe *recipe, const struct path *path,
                            const struct box_source *source, const float *points, uint32_t point_count) {
    for (uint32_t k = 0; k < out->points_per_label; k++) {
        float *point = out->points[at * out->points_per_label + k];
        uint32_t from = flipped_from(out, recipe, k);
        double x, y;
        point[0] = point[1] = point[2] = 0;
        if (from >= point_count) {
            continue; /* only a forged index has labels with fewer */
        }
        canvas_point(path, source, points, from, &x, &y);
        point[2] = source->point_dims == 3 ? points[(size_t)from * 3 + 2] : 1;
        if (recipe->augment) {
            move_keypoint(point, path, x, y);
        } else {
            point[0] = (float)x;
            point[1] = (float)y;
        }
    }
}

/* ---- one tile, one layer ----------------------------------------------------------------------------------------- */

/* What is built, so far. */
struct builder {
    struct boxes *out;
    struct box *boxes; /* [count] */
    size_t count;
    const struct recipe *recipe;
};

static struct box canvas_box(const struct path *path, const struct index_label *label) {
    double width = path->loaded.width, height = path->loaded.height;
    double half_width = label->width / 2.0, half_height = label->height / 2.0;
    return (struct box){.x1 = (label->x - half_width) * width + path->place.dx,
                        .y1 = (label->y - half_height) * height + path->place.dy,
                        .x2 = (label->x + half_width) * width + path->place.dx,
                        .y2 = (label->y + half_height) * height + path->place.dy,
                        .class_id = label->class_id};
}

static void canvas_corners(struct corners *out, const struct path *path, const struct box_source *source,
                           const struct box *box, const float *points, uint32_t point_count) {
    *out = (struct corners){{box->x1, box->x2, box->x2, box->x1}, {box->y1, box->y1, box->y2, box->y2}};
    for (uint32_t i = 0; points && point_count == 4 && i < 4; i++) {
        canvas_point(path, source, points, i, &out->x[i], &out->y[i]);
    }
}

/* Cuts an oriented box to width x height; `box` becomes the bounds of what is left. */
static void clip_corners(struct corners *corners, struct box *box, double width, double height) {
    struct area visible = corners_clip(corners, &(struct area){0, 0, width, height});
    *box = (struct box){visible.x1, visible.y1, visible.x2, visible.y2, box->class_id, true};
}

static bool is_kept(const struct box *old, const struct box *moved, double scale, double least_area) {
    double width = moved->x2 - moved->x1, height = moved->y2 - moved->y1;
    double aspect = higher(width / (height + NO_DIVISION_BY_ZERO), height / (width + NO_DIVISION_BY_ZERO));
    return width > LEAST_SIDE_PX && height > LEAST_SIDE_PX && aspect < LARGEST_ASPECT &&
           width * height / (box_area(old) * scale * scale + NO_DIVISION_BY_ZERO) > least_area;
}

/* Moves an oriented box; false if it is left out. */
static bool move_oriented(struct box *box, struct corners *corners, const struct path *path) {
    struct box old = *box;
    if (path->mosaic) {
        clip_corners(corners, &old, path->canvas.width, path->canvas.height);
        if (!(box_area(&old) > 0)) {
            return false;
        }
    }
    for (int i = 0; i < 4; i++) {
        move(path->matrix, &corners->x[i], &corners->y[i]);
    }
    clip_corners(corners, box, path->width, path->height);
    return is_kept(&old, box, path->scale, LEAST_AREA_POLYGON);
}

/* Moves a box; false if it is left out. */
static bool move_upright(struct box *box, const struct path *path, const struct box_source *source,
                         const struct index_label *label, const float *points) {
    struct box old = *box;
    if (path->mosaic) {
        clip(&old, path->canvas.width, path->canvas.height);
        if (!(box_area(&old) > 0)) {
            return false;
        }
    }
    bool polygon = source->polygons && label->point_count >= 3;
    struct bounds bounds =
        polygon ? moved_outline(path, source, points, label->point_count) : moved_box(path->matrix, &old);
    *box = (struct box){bounds.x1, bounds.y1, bounds.x2, bounds.y2, old.class_id, polygon};
    clip(box, path->width, path->height);
    return is_kept(&old, box, path->scale, polygon ? LEAST_AREA_POLYGON : LEAST_AREA);
}

static void build_label(struct builder *b, const struct path *path, const struct box_source *source,
                        const struct index_label *label, const float *points) {
    struct box *box = &b->boxes[b->count];
    struct corners *corners = b->out->corners ? &b->out->corners[b->count] : NULL;
    bool augment = b->recipe->augment;
    *box = canvas_box(path, label);
    if (corners) {
        canvas_corners(corners, path, source, box, points, label->point_count);
    }
    if (augment && !(corners ? move_oriented(box, corners, path) : move_upright(box, path, source, label, points))) {
        return;
    }
    if (b->out->points) {
        build_keypoints(b->out, b->count, b->recipe, path, source, points, label->point_count);
    }
    b->count++;
}

static void build_layer(struct builder *b, int role, const struct box_sources *sources) {
    const struct recipe_layer *layer = &b->recipe->layers[role];
    for (unsigned tile = 0; tile < layer->tile_count; tile++) {
        const struct box_source *source = &sources->tile[role][tile];
        const float *points = source->points;
        struct path path = {.loaded = source->loaded,
                            .canvas = canvas_size(b->recipe, layer),
                            .place = place_tile(b->recipe, layer, tile, source->loaded),
                            .mosaic = layer->canvas == CANVAS_MOSAIC,
                            .scale = (double)layer->scale / RECIPE_ONE,
                            .width = b->recipe->frame_width,
                            .height = b->recipe->frame_height};
        layer_matrix(path.matrix, b->recipe, layer, source->loaded);
        for (uint32_t i = 0; i < source->label_count; i++) {
            build_label(b, &path, source, &source->labels[i], points);
            points += points ? (size_t)source->labels[i].point_count * source->point_dims : 0;
        }
    }
}

/* ---- cutmix ------------------------------------------------------------------------------------------------------ */

static double overlap(const struct recipe_area *cut, const struct box *box) {
    double width = lower(cut->x2, box->x2) - higher(cut->x1, box->x1);
    double height = lower(cut->y2, box->y2) - higher(cut->y1, box->y1);
    return width > 0 && height > 0 ? width * height : 0;
}

static bool covers_any(const struct recipe_area *cut, const struct box *boxes, size_t count) {
    for (size_t i = 0; i < count; i++) {
        if (overlap(cut, &boxes[i]) > 0) {
            return true;
        }
    }
    return false;
}

/* One of the areas that cover no box, or an empty one. */
static struct recipe_area choose_area(const struct recipe *recipe, const struct box *boxes, size_t count) {
    struct recipe_area free_areas[RECIPE_CUT_AREAS] = {{0, 0, 0, 0}};
    unsigned free_count = 0;
    for (int i = 0; i < RECIPE_CUT_AREAS; i++) {
        if (!covers_any(&recipe->cutmix_areas[i], boxes, count)) {
            free_areas[free_count++] = recipe->cutmix_areas[i];
        }
    }
    return free_areas[(uint64_t)recipe->cutmix_choice * free_count >> 32];
}

static bool any_polygon(const struct box *boxes, size_t count) {
    for (size_t i = 0; i < count; i++) {
        if (boxes[i].polygon) {
            return true;
        }
    }
    return false;
}

/* Clips what is in place `at` to the cut, and puts it in place `to`; false if the cut shows nothing of an
 * oriented box. */
static bool move_into_cut(const struct builder *b, size_t to, size_t at, const struct recipe_area *cut) {
    const struct area limit = {cut->x1, cut->y1, cut->x2, cut->y2};
    const struct boxes *out = b->out;
    struct box *box = &b->boxes[to];
    *box = b->boxes[at];
    if (out->corners) {
        out->corners[to] = out->corners[at];
        struct area visible = corners_clip(&out->corners[to], &limit);
        return visible.x2 > visible.x1 && visible.y2 > visible.y1;
    }
    box->x1 = higher(box->x1, limit.x1);
    box->y1 = higher(box->y1, limit.y1);
    box->x2 = lower(box->x2, limit.x2);
    box->y2 = lower(box->y2, limit.y2);
    for (uint32_t k = 0; out->points && k < out->points_per_label; k++) {
        float *point = out->points[to * out->points_per_label + k];
        memcpy(point, out->points[at * out->points_per_label + k], sizeof *out->points);
        clip_point(point, point[0], point[1], &limit);
    }
    return true;
}

/* Keeps those from place `first` on that lie in the cut with `least` of their area. Returns whether there are any. */
static bool keep_in_cut(struct builder *b, size_t first, const struct recipe_area *cut, double least) {
    size_t end = b->count;
    bool any = false;
    b->count = first;
    for (size_t i = first; i < end; i++) {
        double inside = overlap(cut, &b->boxes[i]);
        if (inside > 0 && inside >= least * box_area(&b->boxes[i])) {
            b->count += move_into_cut(b, b->count, i, cut);
            any = true;
        }
    }
    return any;
}

static void build_cutmix(struct builder *b, const struct box_sources *sources) {
    struct recipe_area cut = choose_area(b->recipe, b->boxes, b->count);
    double least = any_polygon(b->boxes, b->count) ? LEAST_AREA_IN_CUT_POLYGON : LEAST_AREA_IN_CUT;
    size_t before = b->count;
    build_layer(b, LAYER_CUTMIX, sources);
    if (keep_in_cut(b, before, &cut, least)) {
        b->out->cut = cut;
    }
}

/* ---- the sample -------------------------------------------------------------------------------------------------- */

static void write_upright(float xywh[4], const struct box *box, const struct recipe *recipe) {
    double width = recipe->frame_width, height = recipe->frame_height;
    double x = (box->x1 + box->x2) / 2 / width, y = (box->y1 + box->y2) / 2 / height;
    xywh[0] = (float)(recipe->flip_horizontal ? 1 - x : x);
    xywh[1] = (float)(recipe->flip_vertical ? 1 - y : y);
    xywh[2] = (float)((box->x2 - box->x1) / width);
    xywh[3] = (float)((box->y2 - box->y1) / height);
}

static void write_oriented(float xywh[4], float *rotation, struct corners *corners, const struct recipe *recipe) {
    double width = recipe->frame_width, height = recipe->frame_height;
    for (int i = 0; i < 4; i++) {
        corners->x[i] = recipe->flip_horizontal ? width - corners->x[i] : corners->x[i];
        corners->y[i] = recipe->flip_vertical ? height - corners->y[i] : corners->y[i];
    }
    struct rotated_box box = corners_rectangle(corners);
    xywh[0] = (float)(box.x / width);
    xywh[1] = (float)(box.y / height);
    xywh[2] = (float)(box.width / width);
    xywh[3] = (float)(box.height / height);
    *rotation = (float)box.rotation;
}

/* From px of the frame. */
static void write_keypoint(float point[3], const struct recipe *recipe) {
    double x = (double)point[0] / recipe->frame_width, y = (double)point[1] / recipe->frame_height;
    point[0] = (float)(recipe->flip_horizontal ? 1 - x : x);
    point[1] = (float)(recipe->flip_vertical ? 1 - y : y);
}

static void write_labels(const struct builder *b) {
    struct boxes *out = b->out;
    for (size_t i = 0; i < b->count; i++) {
        out->class_id[i] = b->boxes[i].class_id;
        if (out->corners) {
            write_oriented(out->xywh[i], &out->rotation[i], &out->corners[i], b->recipe);
        } else {
            write_upright(out->xywh[i], &b->boxes[i], b->recipe);
        }
    }
    for (size_t i = 0; out->points && i < b->count * out->points_per_label; i++) {
        write_keypoint(out->points[i], b->recipe);
    }
    out->count = b->count;
}

void boxes_build(struct boxes *out, struct box *work, const struct recipe *recipe, const struct box_sources *sources) {
    struct builder b = {.out = out, .boxes = work, .recipe = recipe};
    out->cut = (struct recipe_area){0, 0, 0, 0};
    if (recipe_has_layer(recipe, LAYER_BASE)) {
        build_layer(&b, LAYER_BASE, sources);
    }
    if (recipe_has_layer(recipe, LAYER_MIXUP)) {
        build_layer(&b, LAYER_MIXUP, sources);
    }
    if (recipe_has_layer(recipe, LAYER_CUTMIX)) {
        build_cutmix(&b, sources);
    }
    write_labels(&b);
}
