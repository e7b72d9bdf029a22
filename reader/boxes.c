#include "boxes.h"

#include "matrix.h"

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

static double area(const struct box *box) {
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

static struct bounds moved_corners(const double m[9], const struct box *box) {
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

/* ---- one tile, one layer ----------------------------------------------------------------------------------------- */

static struct box canvas_box(const struct path *path, const struct index_label *label) {
    double width = path->loaded.width, height = path->loaded.height;
    double half_width = label->width / 2.0, half_height = label->height / 2.0;
    return (struct box){.x1 = (label->x - half_width) * width + path->place.dx,
                        .y1 = (label->y - half_height) * height + path->place.dy,
                        .x2 = (label->x + half_width) * width + path->place.dx,
                        .y2 = (label->y + half_height) * height + path->place.dy,
                        .class_id = label->class_id};
}

static bool is_kept(const struct box *old, const struct box *moved, double scale, double least_area) {
    double width = moved->x2 - moved->x1, height = moved->y2 - moved->y1;
    double aspect = higher(width / (height + NO_DIVISION_BY_ZERO), height / (width + NO_DIVISION_BY_ZERO));
    return width > LEAST_SIDE_PX && height > LEAST_SIDE_PX && aspect < LARGEST_ASPECT &&
           width * height / (area(old) * scale * scale + NO_DIVISION_BY_ZERO) > least_area;
}

/* Moves one label; false if it is left out. */
static bool move_label(struct box *out, const struct path *path, const struct box_source *source,
                       const struct index_label *label, const float *points) {
    struct box old = canvas_box(path, label);
    if (path->mosaic) {
        clip(&old, path->canvas.width, path->canvas.height);
        if (!(area(&old) > 0)) {
            return false;
        }
    }
    bool polygon = source->polygons && label->point_count >= 3;
    struct bounds bounds =
        polygon ? moved_outline(path, source, points, label->point_count) : moved_corners(path->matrix, &old);
    *out = (struct box){bounds.x1, bounds.y1, bounds.x2, bounds.y2, old.class_id, polygon};
    clip(out, path->width, path->height);
    return is_kept(&old, out, path->scale, polygon ? LEAST_AREA_POLYGON : LEAST_AREA);
}

static size_t build_tile(struct box *out, const struct path *path, const struct box_source *source, bool augment) {
    size_t count = 0;
    const float *points = source->points;
    for (uint32_t i = 0; i < source->label_count; i++) {
        const struct index_label *label = &source->labels[i];
        if (!augment) {
            out[count++] = canvas_box(path, label);
        } else if (move_label(&out[count], path, source, label, points)) {
            count++;
        }
        points += source->points ? (size_t)label->point_count * source->point_dims : 0;
    }
    return count;
}

static size_t build_layer(struct box *out, const struct recipe *recipe, int role, const struct box_sources *sources) {
    const struct recipe_layer *layer = &recipe->layers[role];
    size_t count = 0;
    for (unsigned tile = 0; tile < layer->tile_count; tile++) {
        const struct box_source *source = &sources->tile[role][tile];
        struct path path = {.loaded = source->loaded,
                            .canvas = canvas_size(recipe, layer),
                            .place = place_tile(recipe, layer, tile, source->loaded),
                            .mosaic = layer->canvas == CANVAS_MOSAIC,
                            .scale = (double)layer->scale / RECIPE_ONE,
                            .width = recipe->frame_width,
                            .height = recipe->frame_height};
        layer_matrix(path.matrix, recipe, layer, source->loaded);
        count += build_tile(out + count, &path, source, recipe->augment);
    }
    return count;
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

/* Keeps those of the partner's boxes that lie in the cut with `least` of their area, clipped to it. */
static size_t keep_in_cut(struct box *boxes, size_t count, const struct recipe_area *cut, double least) {
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        struct box box = boxes[i];
        double inside = overlap(cut, &box);
        if (inside > 0 && inside >= least * area(&box)) {
            box.x1 = higher(box.x1, cut->x1);
            box.y1 = higher(box.y1, cut->y1);
            box.x2 = lower(box.x2, cut->x2);
            box.y2 = lower(box.y2, cut->y2);
            boxes[kept++] = box;
        }
    }
    return kept;
}

/* `boxes` holds `count` so far, and room for the partner's. Returns the new count, and says where the cut is. */
static size_t build_cutmix(struct boxes *out, struct box *boxes, size_t count, const struct recipe *recipe,
                           const struct box_sources *sources) {
    struct recipe_area cut = choose_area(recipe, boxes, count);
    double least = any_polygon(boxes, count) ? LEAST_AREA_IN_CUT_POLYGON : LEAST_AREA_IN_CUT;
    size_t partner_count = build_layer(boxes + count, recipe, LAYER_CUTMIX, sources);
    size_t kept = keep_in_cut(boxes + count, partner_count, &cut, least);
    if (kept > 0) {
        out->cut = cut;
    }
    return count + kept;
}

/* ---- the sample -------------------------------------------------------------------------------------------------- */

static void write_boxes(struct boxes *out, const struct box *boxes, size_t count, const struct recipe *recipe) {
    double width = recipe->frame_width, height = recipe->frame_height;
    for (size_t i = 0; i < count; i++) {
        const struct box *box = &boxes[i];
        double x = (box->x1 + box->x2) / 2 / width, y = (box->y1 + box->y2) / 2 / height;
        out->class_id[i] = box->class_id;
        out->xywh[i][0] = (float)(recipe->flip_horizontal ? 1 - x : x);
        out->xywh[i][1] = (float)(recipe->flip_vertical ? 1 - y : y);
        out->xywh[i][2] = (float)((box->x2 - box->x1) / width);
        out->xywh[i][3] = (float)((box->y2 - box->y1) / height);
    }
    out->count = count;
}

void boxes_build(struct boxes *out, struct box *work, const struct recipe *recipe, const struct box_sources *sources) {
    size_t count = 0;
    out->cut = (struct recipe_area){0, 0, 0, 0};
    if (recipe_has_layer(recipe, LAYER_BASE)) {
        count = build_layer(work, recipe, LAYER_BASE, sources);
    }
    if (recipe_has_layer(recipe, LAYER_MIXUP)) {
        count += build_layer(work + count, recipe, LAYER_MIXUP, sources);
    }
    if (recipe_has_layer(recipe, LAYER_CUTMIX)) {
        count = build_cutmix(out, work, count, recipe, sources);
    }
    write_boxes(out, work, count, recipe);
}
