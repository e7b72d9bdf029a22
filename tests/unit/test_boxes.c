#include "boxes.h"

#include "matrix.h"
#include "plan.h"
#include "random.h"

#include <criterion/criterion.h>

#include <stdlib.h>
#include <string.h>

enum { S = 640, LABELS = 12, CORNERS = 8, ALL = LAYER_COUNT * RECIPE_TILES * LABELS };

/* The labels of one tile, as a data set would hold them. */
struct tile_labels {
    struct index_label labels[LABELS];
    float points[LABELS * CORNERS][2];
};

static double uniform(int64_t position, uint32_t index, int word) {
    return random_draw(99, RANDOM_CUT, position, index).word[word] * 0x1p-32;
}

/* Every second sample has polygons: convex, the points of an ellipse, of which the label's box is the bounding box. */
static void make_polygon(struct tile_labels *t, int i, int64_t position) {
    static const double around[CORNERS][2] = {{1, 0},  {0.7, 0.7},   {0, 1},  {-0.7, 0.7},
                                              {-1, 0}, {-0.7, -0.7}, {0, -1}, {0.7, -0.7}};
    struct index_label *label = &t->labels[i];
    float low[2] = {2, 2}, high[2] = {-2, -2};
    label->point_count = CORNERS;
    for (int c = 0; c < CORNERS; c++) {
        double shrink = 0.9 + 0.1 * uniform(position, (uint32_t)(1000 + i), c & 3);
        float *point = t->points[i * CORNERS + c];
        point[0] = (float)(label->x + around[c][0] * label->width / 2 * shrink);
        point[1] = (float)(label->y + around[c][1] * label->height / 2 * shrink);
        for (int axis = 0; axis < 2; axis++) {
            point[axis] = point[axis] < 0 ? 0 : point[axis] > 1 ? 1 : point[axis];
            low[axis] = point[axis] < low[axis] ? point[axis] : low[axis];
            high[axis] = point[axis] > high[axis] ? point[axis] : high[axis];
        }
    }
    label->x = (low[0] + high[0]) / 2;
    label->y = (low[1] + high[1]) / 2;
    label->width = high[0] - low[0];
    label->height = high[1] - low[1];
}

static void make_tile(struct box_source *source, struct tile_labels *t, int64_t position, bool polygons) {
    memset(t, 0, sizeof *t);
    for (int i = 0; i < LABELS; i++) {
        struct index_label *label = &t->labels[i];
        label->class_id = (uint16_t)(position % 12 * LABELS + i);
        label->x = (float)uniform(position, (uint32_t)i, 0);
        label->y = (float)uniform(position, (uint32_t)i, 1);
        double w = uniform(position, (uint32_t)i, 2), h = uniform(position, (uint32_t)i, 3);
        label->width = (float)(w * w * 0.8 + 0.001);
        label->height = (float)(h * h * 0.8 + 0.001);
        if (polygons) {
            make_polygon(t, i, position);
        }
    }
    uint32_t width = 100 + (uint32_t)(900 * uniform(position, 500, 0)),
             height = 100 + (uint32_t)(900 * uniform(position, 500, 1));
    *source = (struct box_source){.loaded = load_size(S, width, height),
                                  .labels = t->labels,
                                  .label_count = LABELS,
                                  .points = polygons ? t->points[0] : NULL,
                                  .point_dims = 2,
                                  .polygons = polygons};
}

static void make_sources(struct box_sources *sources, struct tile_labels (*tiles)[RECIPE_TILES],
                         const struct recipe *recipe, bool polygons) {
    for (int role = 0; role < LAYER_COUNT; role++) {
        for (int tile = 0; tile < RECIPE_TILES; tile++) {
            make_tile(&sources->tile[role][tile], &tiles[role][tile], recipe->position * 12 + role * 4 + tile,
                      polygons);
        }
    }
}

/* ---- the slow plain reference ------------------------------------------------------------------------------------ */

struct polygon {
    double x[64], y[64];
    int count;
};

/* Sutherland and Hodgman: the part on one side of a line, for convex polygons. */
static struct polygon cut(const struct polygon *in, double a, double b, double c) {
    struct polygon out = {.count = 0};
    for (int i = 0; i < in->count; i++) {
        int j = (i + 1) % in->count;
        double di = a * in->x[i] + b * in->y[i] + c, dj = a * in->x[j] + b * in->y[j] + c;
        if (di >= 0) {
            out.x[out.count] = in->x[i];
            out.y[out.count++] = in->y[i];
        }
        if ((di >= 0) != (dj >= 0)) {
            double t = di / (di - dj);
            out.x[out.count] = in->x[i] + t * (in->x[j] - in->x[i]);
            out.y[out.count++] = in->y[i] + t * (in->y[j] - in->y[i]);
        }
    }
    return out;
}

static struct polygon cut_to(const struct polygon *in, double width, double height) {
    struct polygon a = cut(in, 1, 0, 0), b = cut(&a, 0, 1, 0), c = cut(&b, -1, 0, width);
    return cut(&c, 0, -1, height);
}

static void bound(const struct polygon *p, double out[4]) {
    out[0] = out[1] = p->count ? 1e300 : 0;
    out[2] = out[3] = p->count ? -1e300 : 0;
    for (int i = 0; i < p->count; i++) {
        out[0] = p->x[i] < out[0] ? p->x[i] : out[0];
        out[1] = p->y[i] < out[1] ? p->y[i] : out[1];
        out[2] = p->x[i] > out[2] ? p->x[i] : out[2];
        out[3] = p->y[i] > out[3] ? p->y[i] : out[3];
    }
}

static double limited(double value, double high) {
    return value < 0 ? 0 : value > high ? high : value;
}

static struct polygon through(const double m[9], const struct polygon *in) {
    struct polygon out = {.count = in->count};
    for (int i = 0; i < in->count; i++) {
        double v[3];
        for (int row = 0; row < 3; row++) {
            v[row] = m[3 * row] * in->x[i] + m[3 * row + 1] * in->y[i] + m[3 * row + 2];
        }
        out.x[i] = v[0] / v[2];
        out.y[i] = v[1] / v[2];
    }
    return out;
}

/* One label of a base layer without clipping of outlines by the canvas; false if it is left out. */
static bool reference_label(double out[4], const struct recipe *r, const struct placement *place,
                            const struct box_source *source, int i) {
    const struct recipe_layer *layer = &r->layers[0];
    const struct index_label *l = &source->labels[i];
    double w = source->loaded.width, h = source->loaded.height;
    /* Without a mosaic the middle of the picture is the middle of the frame, half a pixel included. */
    double dx = layer->canvas == CANVAS_MOSAIC ? place->dx : (S - w) / 2;
    double dy = layer->canvas == CANVAS_MOSAIC ? place->dy : (S - h) / 2;
    double canvas = layer->canvas == CANVAS_MOSAIC ? 2 * S : 1e9;
    double low = layer->canvas == CANVAS_MOSAIC ? 0 : -1e9;
    double old[4] = {(l->x - l->width / 2.0) * w + dx, (l->y - l->height / 2.0) * h + dy,
                     (l->x + l->width / 2.0) * w + dx, (l->y + l->height / 2.0) * h + dy};
    for (int k = 0; k < 4; k++) {
        old[k] = old[k] < low ? low : old[k] > canvas ? canvas : old[k];
    }
    if (old[2] <= old[0] || old[3] <= old[1]) {
        return false;
    }
    struct polygon shape = {{old[0], old[2], old[2], old[0]}, {old[1], old[1], old[3], old[3]}, 4};
    if (source->polygons) {
        shape.count = CORNERS;
        for (int c = 0; c < CORNERS; c++) {
            shape.x[c] = source->points[(i * CORNERS + c) * 2] * w + dx;
            shape.y[c] = source->points[(i * CORNERS + c) * 2 + 1] * h + dy;
        }
    }
    struct polygon moved = through(layer->matrix, &shape);
    if (source->polygons) {
        moved = cut_to(&moved, r->frame_width, r->frame_height);
    }
    bound(&moved, out);
    for (int k = 0; k < 4; k++) {
        out[k] = limited(out[k], k & 1 ? r->frame_height : r->frame_width);
    }
    double nw = out[2] - out[0], nh = out[3] - out[1], s = (double)layer->scale / RECIPE_ONE;
    double least = source->polygons ? 0.01 : 0.10;
    return nw > 2 && nh > 2 && nw / nh < 100 && nh / nw < 100 &&
           nw * nh > least * (old[2] - old[0]) * s * (old[3] - old[1]) * s;
}

/* Polygons that the canvas cuts are sampled: not for this reference. */
static bool crosses_canvas(const struct placement *place, const struct box_source *source, int i) {
    for (int c = 0; source->polygons && c < CORNERS; c++) {
        double x = source->points[(i * CORNERS + c) * 2] * source->loaded.width + place->dx;
        double y = source->points[(i * CORNERS + c) * 2 + 1] * source->loaded.height + place->dy;
        if (x < 0 || y < 0 || x > 2 * S || y > 2 * S) {
            return true;
        }
    }
    return false;
}

static struct plan *make_plan(double mosaic, double perspective, bool eval) {
    struct plan_options o;
    plan_options_init(&o);
    o.sample_count = 1600;
    o.seed = 11;
    o.mosaic = mosaic;
    o.perspective = perspective;
    o.degrees = 20;
    o.shear = 5;
    o.flipud = 0.5;
    o.mode = eval ? PLAN_EVAL : PLAN_TRAIN;
    struct plan *plan;
    cr_assert_eq(plan_create(&plan, &o, NULL, NULL, NULL), 0);
    return plan;
}

static void expect_box(const float got[4], const double want[4], const struct recipe *r, const char *what) {
    double x = (want[0] + want[2]) / 2, y = (want[1] + want[3]) / 2;
    double xywh[4] = {r->flip_horizontal ? S - x : x, r->flip_vertical ? S - y : y, want[2] - want[0],
                      want[3] - want[1]};
    for (int k = 0; k < 4; k++) {
        double off = (double)got[k] * S - xywh[k];
        cr_assert(off < 1e-3 && off > -1e-3, "%s, position %ld: %g, expected %g px", what, (long)r->position,
                  (double)got[k] * S, xywh[k]);
    }
}

static void compare_with_reference(double mosaic, double perspective, bool polygons, const char *what) {
    struct plan *plan = make_plan(mosaic, perspective, false);
    static struct tile_labels tiles[LAYER_COUNT][RECIPE_TILES];
    static float class_id[ALL], xywh[ALL][4];
    static struct box work[ALL];
    size_t kept = 0, seen = 0;
    for (int64_t p = 0; p < 300; p++) {
        struct recipe r;
        struct box_sources sources;
        struct boxes boxes = {.class_id = class_id, .xywh = xywh};
        plan_sample(plan, p, &r);
        make_sources(&sources, tiles, &r, polygons);
        boxes_build(&boxes, work, &r, &sources);
        size_t at = 0;
        for (unsigned tile = 0; tile < r.layers[0].tile_count; tile++) {
            struct placement place = place_tile(&r, &r.layers[0], tile, sources.tile[0][tile].loaded);
            for (int i = 0; i < LABELS; i++) {
                double want[4];
                bool keep = reference_label(want, &r, &place, &sources.tile[0][tile], i);
                seen++;
                if (r.layers[0].canvas == CANVAS_MOSAIC && crosses_canvas(&place, &sources.tile[0][tile], i)) {
                    at += at < boxes.count && class_id[at] == sources.tile[0][tile].labels[i].class_id;
                } else if (keep) {
                    cr_assert_lt(at, boxes.count, "%s, position %ld", what, (long)p);
                    cr_assert_eq(class_id[at], sources.tile[0][tile].labels[i].class_id);
                    expect_box(xywh[at++], want, &r, what);
                    kept++;
                }
            }
        }
        cr_assert_eq(at, boxes.count, "%s, position %ld: %zu boxes, expected %zu", what, (long)p, boxes.count, at);
    }
    cr_assert(kept > seen / 10 && kept < seen, "%s: %zu of %zu", what, kept, seen);
    plan_destroy(&plan);
}

Test(boxes, mosaic_like_the_reference) {
    compare_with_reference(1, 0, false, "mosaic");
    compare_with_reference(1, 0.0003, false, "mosaic, perspective");
}

Test(boxes, letterbox_like_the_reference) {
    compare_with_reference(0, 0, false, "letterbox");
    compare_with_reference(0, 0.0003, false, "letterbox, perspective");
}

Test(boxes, polygons_like_the_reference) {
    compare_with_reference(0, 0, true, "polygons, letterbox");
    compare_with_reference(1, 0, true, "polygons, mosaic");
}

/* ---- by hand ----------------------------------------------------------------------------------------------------- */

/* A recipe that changes nothing: one letterboxed tile, 10 x 10 frame, picture of the same size. */
static struct recipe plain_recipe(uint32_t side) {
    struct recipe r;
    memset(&r, 0, sizeof r);
    r.valid = r.augment = true;
    r.image_size = r.frame_width = r.frame_height = r.output_width = r.output_height = side;
    for (int role = 0; role < LAYER_COUNT; role++) {
        r.layers[role].tile_count = 1;
        r.layers[role].scale = RECIPE_ONE;
        matrix_identity(r.layers[role].matrix);
    }
    return r;
}

static size_t build_one(float xywh[4], const struct recipe *r, const struct box_source *source) {
    struct box_sources sources;
    memset(&sources, 0, sizeof sources);
    sources.tile[0][0] = *source;
    float class_id[1], out[1][4];
    struct box work[1];
    struct boxes boxes = {.class_id = class_id, .xywh = out};
    boxes_build(&boxes, work, r, &sources);
    memcpy(xywh, out[0], boxes.count ? 4 * sizeof(float) : 0);
    return boxes.count;
}

/* An outline in a picture of 1 x 1 whose frame is 10 px of it, moved so that it lies as the points say. */
static void check_outline(const float (*points)[2], uint16_t count, const double want[4]) {
    struct recipe r = plain_recipe(10);
    struct index_label label = {.point_count = count, .x = 0.5f, .y = 0.5f, .width = 0.1f, .height = 0.1f};
    float scaled[16][2], got[4] = {0, 0, 0, 0};
    for (int i = 0; i < count; i++) {
        scaled[i][0] = points[i][0] / 10;
        scaled[i][1] = points[i][1] / 10;
    }
    struct box_source source = {{10, 10}, &label, 1, scaled[0], 2, true};
    size_t kept = build_one(got, &r, &source);
    cr_assert_eq(kept, want != NULL);
    const double middle[4] = {want ? (want[0] + want[2]) / 20 : 0, want ? (want[1] + want[3]) / 20 : 0,
                              want ? (want[2] - want[0]) / 10 : 0, want ? (want[3] - want[1]) / 10 : 0};
    for (int k = 0; k < 4; k++) {
        double off = got[k] - middle[k];
        cr_assert(off < 1e-6 && off > -1e-6, "value %d: %g, expected %g", k, got[k], middle[k]);
    }
}

#define OUTLINE(want, ...)                                                                                             \
    do {                                                                                                               \
        static const float points[][2] = {__VA_ARGS__};                                                                \
        check_outline(points, sizeof points / sizeof *points, want);                                                   \
    } while (0)

#define BOX(...) ((const double[4]){__VA_ARGS__})

Test(boxes, outlines_that_leave_the_frame) {
    OUTLINE(BOX(0, 10.0 / 3, 5, 20.0 / 3), {-10, 0}, {5, 5}, {-10, 10});
    OUTLINE(NULL, {-10, 0}, {-5, 5}, {-10, 10});
    OUTLINE(BOX(0, 0, 10, 10), {-10, -20}, {20, -20}, {20, 30}, {-10, 30}); /* covers the frame */
    OUTLINE(BOX(0, 0, 10, 10), {-10, 5}, {5, -10}, {30, 5}, {5, 30});       /* and so does this */
    OUTLINE(BOX(0, 0, 5, 5), {-5, -5}, {5, -5}, {5, 5}, {-5, 5});           /* covers a corner */
    OUTLINE(BOX(2, 3, 7, 8), {2, 3}, {7, 3}, {7, 8}, {2, 8});               /* inside */
    OUTLINE(NULL, {8, -5}, {15, 5}, {14, -5});                              /* passes by a corner */
    OUTLINE(BOX(6, 0, 9, 10), {9, -3}, {9, 3}, {6, 3}, {6, -2}, {-2, -2}, {-2, 12}, {6, 12}, {6, 8}, {9, 8}, {9, 13},
            {-3, 13}, {-3, -3}); /* around the left: two parts */
}

Test(boxes, filter_at_its_limits) {
    struct recipe r = plain_recipe(100);
    struct index_label label = {.x = 0.5f, .y = 0.5f, .width = 0.5f, .height = 0.5f};
    struct box_source source = {{100, 100}, &label, 1, NULL, 2, false};
    float got[4];
    label.width = 0.02f; /* 2 px or a hair less: not over 2 */
    label.height = 0.019f;
    cr_assert_eq(build_one(got, &r, &source), 0);
    label.width = label.height = 0.021f;
    cr_assert_eq(build_one(got, &r, &source), 1);
    label.width = 0.5f;
    label.height = 0.5f;
    r.layers[0].matrix[2] = -70; /* 5 of 50 px stay: 0.1 of the area, a hair below or above */
    r.layers[0].matrix[2] = -70.1;
    cr_assert_eq(build_one(got, &r, &source), 0);
    r.layers[0].matrix[2] = -69.9;
    cr_assert_eq(build_one(got, &r, &source), 1);
    r.layers[0].scale = 2 * RECIPE_ONE; /* the old box counts four times */
    cr_assert_eq(build_one(got, &r, &source), 0);
    r.augment = false; /* evaluation leaves nothing out and clips nothing */
    r.layers[0].matrix[2] = 0;
    label.x = 0.95f;
    cr_assert_eq(build_one(got, &r, &source), 1);
    cr_assert_float_eq(got[0], 0.95f, 1e-6);
    cr_assert_float_eq(got[2], 0.5f, 1e-6);
}

Test(boxes, aspect_is_limited) {
    struct recipe r = plain_recipe(1024);
    struct index_label label = {.x = 0.5f, .y = 0.5f, .width = 0.9f, .height = 0.009f / 1.01f};
    struct box_source source = {{1024, 1024}, &label, 1, NULL, 2, false};
    float got[4];
    cr_assert_eq(build_one(got, &r, &source), 0);
    label.height = 0.009f * 1.01f;
    cr_assert_eq(build_one(got, &r, &source), 1);
}

Test(boxes, letterbox_in_evaluation) {
    struct recipe r = plain_recipe(640);
    struct index_label label = {.class_id = 7, .x = 0.25f, .y = 0.5f, .width = 0.5f, .height = 1};
    struct box_source source = {load_size(640, 500, 333), &label, 1, NULL, 2, false};
    float got[4];
    r.augment = false;
    cr_assert(source.loaded.width == 640 && source.loaded.height == 427); /* ceil(333 * 1.28) = 427 */
    cr_assert_eq(build_one(got, &r, &source), 1);
    cr_assert_float_eq(got[0], 0.25, 1e-6);
    cr_assert_float_eq(got[1], (106 + 427 / 2.0) / 640, 1e-6); /* 213 px over: 106 above, 107 below */
    cr_assert_float_eq(got[3], 427.0 / 640, 1e-6);
}

Test(boxes, nothing_in_nothing_out) {
    struct recipe r = plain_recipe(640);
    struct box_source source = {{640, 480}, NULL, 0, NULL, 2, true};
    float got[4];
    cr_assert_eq(build_one(got, &r, &source), 0);
    r.valid = false;
    struct index_label label = {.x = 0.5f, .y = 0.5f, .width = 0.5f, .height = 0.5f};
    struct box_source one = {{640, 480}, &label, 1, NULL, 2, false};
    cr_assert_eq(build_one(got, &r, &one), 0);
}

/* ---- mixing ------------------------------------------------------------------------------------------------------ */

struct mixed {
    float class_id[4], xywh[4][4];
    struct box work[4];
    struct boxes boxes;
};

static void build_mixed(struct mixed *m, const struct recipe *r, const struct index_label *base,
                        const struct index_label *partner) {
    struct box_sources sources;
    memset(&sources, 0, sizeof sources);
    sources.tile[LAYER_BASE][0] = (struct box_source){{100, 100}, base, 1, NULL, 2, false};
    sources.tile[LAYER_MIXUP][0] = (struct box_source){{100, 100}, partner, 1, NULL, 2, false};
    sources.tile[LAYER_CUTMIX][0] = (struct box_source){{100, 100}, partner, 1, NULL, 2, false};
    m->boxes = (struct boxes){.class_id = m->class_id, .xywh = m->xywh};
    boxes_build(&m->boxes, m->work, r, &sources);
}

Test(boxes, mixup_joins) {
    struct recipe r = plain_recipe(100);
    struct index_label base = {.class_id = 1, .x = 0.3f, .y = 0.3f, .width = 0.2f, .height = 0.2f};
    struct index_label partner = {.class_id = 2, .x = 0.7f, .y = 0.7f, .width = 0.2f, .height = 0.4f};
    struct mixed m;
    r.mixup = true;
    r.flip_horizontal = r.flip_vertical = true;
    build_mixed(&m, &r, &base, &partner);
    cr_assert_eq(m.boxes.count, 2);
    cr_assert(m.class_id[0] == 1 && m.class_id[1] == 2);
    cr_assert_float_eq(m.xywh[0][0], 0.7, 1e-6);
    cr_assert_float_eq(m.xywh[1][1], 0.3, 1e-6);
    cr_assert_float_eq(m.xywh[1][3], 0.4, 1e-6);
}

Test(boxes, cutmix_takes_an_area_that_covers_no_box) {
    struct recipe r = plain_recipe(100);
    struct index_label base = {.class_id = 1, .x = 0.2f, .y = 0.2f, .width = 0.2f, .height = 0.2f};
    struct index_label partner = {.class_id = 2, .x = 0.6f, .y = 0.6f, .width = 0.4f, .height = 0.4f};
    struct mixed m;
    r.cutmix = true;
    r.cutmix_areas[0] = (struct recipe_area){0, 0, 50, 50}; /* covers the box */
    r.cutmix_areas[1] = (struct recipe_area){50, 50, 100, 100};
    r.cutmix_areas[2] = (struct recipe_area){90, 0, 100, 10}; /* the partner has no box there */
    r.cutmix_choice = 0;
    build_mixed(&m, &r, &base, &partner);
    cr_assert_eq(m.boxes.count, 2);
    cr_assert(m.boxes.cut.x1 == 50 && m.boxes.cut.y2 == 100);
    cr_assert_float_eq(m.xywh[1][0], 0.65, 1e-6); /* clipped to 50 … 80 */
    cr_assert_float_eq(m.xywh[1][2], 0.30, 1e-6);

    r.cutmix_choice = UINT32_MAX;
    build_mixed(&m, &r, &base, &partner);
    cr_assert_eq(m.boxes.count, 1);
    cr_assert(m.boxes.cut.x1 == 0 && m.boxes.cut.x2 == 0);

    r.cutmix_areas[1] = r.cutmix_areas[2] = r.cutmix_areas[0];
    build_mixed(&m, &r, &base, &partner);
    cr_assert_eq(m.boxes.count, 1);
    cr_assert_eq(m.boxes.cut.x2, 0);

    base.x = 0.9f; /* the area is free now, but holds only 0.0625 of the partner's box */
    r.cutmix_choice = 0;
    build_mixed(&m, &r, &base, &partner);
    cr_assert_eq(m.boxes.count, 1);
    r.cutmix_areas[0] = (struct recipe_area){0, 0, 54, 54}; /* 14 * 14 of 1600: 0.1225 */
    build_mixed(&m, &r, &base, &partner);
    cr_assert_eq(m.boxes.count, 2);
}

Test(boxes, cutmix_asks_less_of_polygons) {
    struct recipe r = plain_recipe(100);
    const float points[8] = {0.8f, 0.1f, 0.9f, 0.1f, 0.9f, 0.2f, 0.8f, 0.2f};
    struct index_label base = {.class_id = 1, .x = 0.85f, .y = 0.15f, .width = 0.1f, .height = 0.1f, .point_count = 4};
    struct index_label partner = {.class_id = 2, .x = 0.6f, .y = 0.6f, .width = 0.4f, .height = 0.4f};
    struct box_sources sources;
    struct mixed m;
    r.cutmix = true;
    for (int i = 0; i < RECIPE_CUT_AREAS; i++) {
        r.cutmix_areas[i] = (struct recipe_area){0, 0, 50, 50}; /* 0.0625 of the partner's box */
    }
    memset(&sources, 0, sizeof sources);
    sources.tile[LAYER_BASE][0] = (struct box_source){{100, 100}, &base, 1, points, 2, true};
    sources.tile[LAYER_CUTMIX][0] = (struct box_source){{100, 100}, &partner, 1, NULL, 2, false};
    m.boxes = (struct boxes){.class_id = m.class_id, .xywh = m.xywh};
    boxes_build(&m.boxes, m.work, &r, &sources);
    cr_assert_eq(m.boxes.count, 2);
    cr_assert_eq(m.boxes.cut.x2, 50);
    sources.tile[LAYER_BASE][0].polygons = false;
    boxes_build(&m.boxes, m.work, &r, &sources);
    cr_assert_eq(m.boxes.count, 1);
}

/* ---- key points -------------------------------------------------------------------------------------------------- */

enum { POINTS = 3 };

/* One person, 40 x 40 px in the middle of 100 x 100, with points in it, at its edge, and one that was never seen. */
static const struct index_label person = {
    .class_id = 1, .x = 0.5f, .y = 0.5f, .width = 0.4f, .height = 0.4f, .point_count = POINTS};
static const float person_points[POINTS][3] = {{0.4f, 0.5f, 2}, {0.7f, 0.3f, 1}, {0, 0, 0}};

struct posed {
    float class_id[8], xywh[8][4], points[8 * POINTS][3];
    struct box work[8];
    struct boxes boxes;
};

static void init_pose(struct posed *p) {
    memset(p, 0, sizeof *p);
    p->boxes =
        (struct boxes){.class_id = p->class_id, .xywh = p->xywh, .points = p->points, .points_per_label = POINTS};
}

static size_t build_pose(struct posed *p, const struct recipe *r) {
    const struct box_source source = {{100, 100}, &person, 1, person_points[0], 3, false};
    struct box_sources sources;
    memset(&sources, 0, sizeof sources);
    for (int role = 0; role < LAYER_COUNT; role++) {
        sources.tile[role][0] = source;
    }
    boxes_build(&p->boxes, p->work, r, &sources);
    return p->boxes.count;
}

static void expect_point(const struct posed *p, int at, double x, double y, float visibility) {
    const float *got = p->points[at];
    double dx = got[0] - x, dy = got[1] - y;
    cr_assert(dx < 1e-6 && dx > -1e-6 && dy < 1e-6 && dy > -1e-6 && got[2] == visibility,
              "point %d: %.9g %.9g %g, expected %g %g %g", at, got[0], got[1], got[2], x, y, visibility);
}

Test(boxes, key_points_move_with_the_box) {
    struct recipe r = plain_recipe(100);
    struct posed p;
    init_pose(&p);
    cr_assert_eq(build_pose(&p, &r), 1);
    expect_point(&p, 0, 0.4, 0.5, 2);
    expect_point(&p, 1, 0.7, 0.3, 1);
    expect_point(&p, 2, 0, 0, 0);
    memcpy(r.layers[0].matrix, (const double[9]){0, -1.5, 120, 0.5, 0, 10, 0, 0, 1}, 9 * sizeof(double));
    r.layers[0].scale = RECIPE_ONE / 2;
    cr_assert_eq(build_pose(&p, &r), 1);
    expect_point(&p, 0, 0.45, 0.3, 2);
    expect_point(&p, 1, 0.75, 0.45, 1);
    expect_point(&p, 2, 1, 0.1, 0); /* 120: on the edge now */
    r.layers[0].matrix[6] = 0.01;   /* w = 1.4 and 1.7 */
    r.layers[0].warp = WARP_PERSPECTIVE;
    cr_assert_eq(build_pose(&p, &r), 1);
    expect_point(&p, 0, 0.45 / 1.4, 0.3 / 1.4, 2);
    expect_point(&p, 1, 0.75 / 1.7, 0.45 / 1.7, 1);
}

Test(boxes, key_points_that_leave_the_frame_are_not_visible) {
    struct recipe r = plain_recipe(100);
    struct posed p;
    init_pose(&p);
    r.layers[0].matrix[2] = 30; /* 0.7 comes to lie on the edge itself */
    cr_assert_eq(build_pose(&p, &r), 1);
    expect_point(&p, 0, 0.7, 0.5, 2);
    cr_assert_float_eq(p.points[1][0], 1, 1e-6);
    r.layers[0].matrix[2] = 30.001;
    cr_assert_eq(build_pose(&p, &r), 1);
    expect_point(&p, 1, 1, 0.3, 0);
    r.layers[0].matrix[2] = 0;
    r.layers[0].matrix[5] = -45;
    cr_assert_eq(build_pose(&p, &r), 1);
    expect_point(&p, 0, 0.4, 0.05, 2);
    expect_point(&p, 1, 0.7, 0, 0);
    r.augment = false; /* evaluation: nothing is hidden, nothing is moved to the edge */
    r.layers[0].matrix[5] = 0;
    const float outside[POINTS][3] = {{0, 0, 2}, {1, 1, 2}, {0.5f, 0.5f, 0}};
    struct box_sources sources;
    memset(&sources, 0, sizeof sources);
    sources.tile[0][0] = (struct box_source){load_size(100, 500, 333), &person, 1, outside[0], 3, false};
    boxes_build(&p.boxes, p.work, &r, &sources);
    expect_point(&p, 0, 0, 0.16, 2); /* 33 px over: 16 above, 17 below */
    expect_point(&p, 1, 1, 0.83, 2);
    expect_point(&p, 2, 0.5, 0.495, 0);
}

Test(boxes, flips_exchange_key_points) {
    static const uint16_t swap[POINTS] = {1, 0, 2}, turn[POINTS] = {1, 2, 0};
    struct recipe r = plain_recipe(100);
    struct posed p;
    init_pose(&p);
    r.flip_horizontal = true;
    cr_assert_eq(build_pose(&p, &r), 1); /* without an index each stays in its place */
    expect_point(&p, 0, 0.6, 0.5, 2);
    p.boxes.flip_index = swap;
    build_pose(&p, &r);
    expect_point(&p, 0, 0.3, 0.3, 1);
    expect_point(&p, 1, 0.6, 0.5, 2);
    expect_point(&p, 2, 1, 0, 0);
    r.flip_vertical = true; /* twice: both in their place again */
    build_pose(&p, &r);
    expect_point(&p, 0, 0.6, 0.5, 2);
    expect_point(&p, 1, 0.3, 0.7, 1);
    p.boxes.flip_index = turn; /* place 0 gets what was in place 1, in which 2 had been put before */
    build_pose(&p, &r);
    expect_point(&p, 0, 1, 1, 0);
    expect_point(&p, 1, 0.6, 0.5, 2);
    expect_point(&p, 2, 0.3, 0.7, 1);
}

Test(boxes, points_without_visibility_can_be_seen) {
    struct recipe r = plain_recipe(100);
    const float points[POINTS][2] = {{0.4f, 0.5f}, {0.7f, 0.3f}, {0, 0}};
    struct box_sources sources;
    struct posed p;
    init_pose(&p);
    memset(&sources, 0, sizeof sources);
    sources.tile[0][0] = (struct box_source){{100, 100}, &person, 1, points[0], 2, false};
    r.layers[0].matrix[2] = -1;
    boxes_build(&p.boxes, p.work, &r, &sources);
    expect_point(&p, 0, 0.39, 0.5, 1);
    expect_point(&p, 1, 0.69, 0.3, 1);
    expect_point(&p, 2, 0, 0, 0);
    struct index_label forged = person; /* fewer points than the set has */
    forged.point_count = 1;
    sources.tile[0][0].labels = &forged;
    boxes_build(&p.boxes, p.work, &r, &sources);
    expect_point(&p, 0, 0.39, 0.5, 1);
    expect_point(&p, 1, 0, 0, 0);
}

/* Four tiles around (60, 50) of a canvas of 200 px, of which the frame shows half. */
static struct recipe mosaic_recipe(void) {
    struct recipe r = plain_recipe(100);
    r.layers[0].canvas = CANVAS_MOSAIC;
    r.layers[0].tile_count = RECIPE_TILES;
    r.layers[0].center_x = 60;
    r.layers[0].center_y = 50;
    return r;
}

Test(boxes, key_points_in_a_mosaic) {
    struct recipe r = mosaic_recipe();
    struct box_sources sources;
    struct posed p;
    init_pose(&p);
    memset(&sources, 0, sizeof sources);
    for (int tile = 0; tile < RECIPE_TILES; tile++) {
        sources.tile[0][tile] = (struct box_source){{100, 100}, &person, 1, person_points[0], 3, false};
    }
    r.layers[0].matrix[2] = r.layers[0].matrix[5] = 5;
    boxes_build(&p.boxes, p.work, &r, &sources);
    /* The canvas is moved by 5 px. Top left: (40, 50) lies at (0, 0) of it; (70, 30) at (30, -20), which is outside. */
    cr_assert_eq(p.boxes.count, 3);
    expect_point(&p, 0, 0.05, 0.05, 2);
    expect_point(&p, 1, 0.35, 0.05, 0);
    expect_point(&p, 2, 0.05, 0.05, 0);
    expect_point(&p, 3, 1, 0.05, 0); /* top right: (100, 0) and (130, -20) */
    expect_point(&p, 4, 1, 0.05, 0);
    expect_point(&p, 5, 0.65, 0.05, 0);
    expect_point(&p, 6, 0.05, 1,
                 0); /* bottom left: (0, 100) and (30, 80); bottom right too little of the box is left */
    expect_point(&p, 7, 0.35, 0.85, 1);
}

Test(boxes, key_points_of_mixed_pictures) {
    struct recipe r = plain_recipe(100);
    struct posed p;
    init_pose(&p);
    r.mixup = true;
    r.layers[LAYER_MIXUP].matrix[2] = 10;
    cr_assert_eq(build_pose(&p, &r), 2);
    expect_point(&p, 0, 0.4, 0.5, 2);
    expect_point(&p, POINTS, 0.5, 0.5, 2);
    r.mixup = false;
    r.cutmix = true;
    r.layers[LAYER_BASE].matrix[2] = -69; /* 1 px of it is left: out of the way, and left out */
    r.layers[LAYER_CUTMIX].matrix[2] = 0;
    for (int i = 0; i < RECIPE_CUT_AREAS; i++) {
        r.cutmix_areas[i] = (struct recipe_area){45, 35, 95, 95};
    }
    cr_assert_eq(build_pose(&p, &r), 1);
    expect_point(&p, 0, 0.45, 0.5, 0); /* left of the cut */
    expect_point(&p, 1, 0.7, 0.35, 0); /* above it */
    expect_point(&p, 2, 0.45, 0.35, 0);
}

/* ---- oriented boxes ---------------------------------------------------------------------------------------------- */

struct oriented_set {
    float class_id[8], xywh[8][4], rotation[8];
    struct corners corners[8];
    struct box work[8];
    struct boxes boxes;
    struct index_label label;
    float points[4][2];
    struct box_sources sources;
};

/* One box in every tile of every layer: `points` in a picture of 100 x 100. */
static void init_oriented(struct oriented_set *s, const float points[4][2]) {
    float low[2] = {1, 1}, high[2] = {0, 0};
    memset(s, 0, sizeof *s);
    memcpy(s->points, points, sizeof s->points);
    for (int i = 0; i < 8; i++) {
        low[i % 2] = points[i / 2][i % 2] < low[i % 2] ? points[i / 2][i % 2] : low[i % 2];
        high[i % 2] = points[i / 2][i % 2] > high[i % 2] ? points[i / 2][i % 2] : high[i % 2];
    }
    s->label = (struct index_label){.point_count = 4,
                                    .x = (low[0] + high[0]) / 2,
                                    .y = (low[1] + high[1]) / 2,
                                    .width = high[0] - low[0],
                                    .height = high[1] - low[1]};
    for (int i = 0; i < LAYER_COUNT * RECIPE_TILES; i++) {
        s->sources.tile[i / RECIPE_TILES][i % RECIPE_TILES] =
            (struct box_source){{100, 100}, &s->label, 1, s->points[0], 2, false};
    }
    s->boxes = (struct boxes){.class_id = s->class_id, .xywh = s->xywh, .rotation = s->rotation, .corners = s->corners};
}

static void expect_oriented(const struct oriented_set *s, size_t at, const double want[5]) {
    cr_assert_lt(at, s->boxes.count);
    const float *got = s->xywh[at];
    for (int k = 0; k < 4; k++) {
        double off = got[k] - want[k];
        cr_assert(off < 1e-6 && off > -1e-6, "value %d: %.9g, expected %.9g", k, got[k], want[k]);
    }
    double off = s->rotation[at] - want[4];
    cr_assert(off < 1e-6 && off > -1e-6, "rotation %.9g, expected %.9g", s->rotation[at], want[4]);
}

#define ORIENTED(...) ((const double[5]){__VA_ARGS__})
#define PI 3.14159265358979323846

static const float diamond[4][2] = {{0.3f, 0.5f}, {0.5f, 0.3f}, {0.7f, 0.5f}, {0.5f, 0.7f}};
static const float slanted[4][2] = {{0.2f, 0.2f}, {0.5f, 0.6f}, {0.42f, 0.66f}, {0.12f, 0.26f}}; /* 50 x 10 px, 3 : 4 */
static const double slant = 0.92729521800161223;                                                 /* atan(4 / 3) */

Test(boxes, oriented_boxes_turn_with_the_picture) {
    struct recipe r = plain_recipe(100);
    struct oriented_set s;
    init_oriented(&s, slanted);
    boxes_build(&s.boxes, s.work, &r, &s.sources);
    expect_oriented(&s, 0, ORIENTED(0.31, 0.43, 0.5, 0.1, slant));
    r.flip_horizontal = true;
    boxes_build(&s.boxes, s.work, &r, &s.sources);
    expect_oriented(&s, 0, ORIENTED(0.69, 0.43, 0.5, 0.1, PI - slant));
    r.flip_vertical = true;
    boxes_build(&s.boxes, s.work, &r, &s.sources);
    expect_oriented(&s, 0, ORIENTED(0.69, 0.57, 0.5, 0.1, slant));
    r.flip_horizontal = r.flip_vertical = false;
    memcpy(r.layers[0].matrix, (const double[9]){0, -1, 100, 1, 0, 0, 0, 0, 1},
           9 * sizeof(double)); /* a quarter turn */
    boxes_build(&s.boxes, s.work, &r, &s.sources);
    expect_oriented(&s, 0, ORIENTED(0.57, 0.31, 0.5, 0.1, slant - PI / 2));
    matrix_identity(r.layers[0].matrix);
    r.augment = false; /* evaluation, in a frame that is no square: the longer side by its width */
    r.frame_width = r.output_width = 200;
    boxes_build(&s.boxes, s.work, &r, &s.sources);
    expect_oriented(&s, 0, ORIENTED(0.405, 0.43, 0.25, 0.1, slant));
}

Test(boxes, oriented_boxes_at_the_edge) {
    const double side = 0.2 * 1.4142135623730951;
    struct recipe r = plain_recipe(100);
    struct oriented_set s;
    init_oriented(&s, diamond);
    boxes_build(&s.boxes, s.work, &r, &s.sources);
    cr_assert_eq(s.boxes.count, 1);
    cr_assert_float_eq(s.xywh[0][2], side, 1e-6);
    cr_assert_float_eq(s.xywh[0][3], side, 1e-6);
    r.layers[0].matrix[2] = -50; /* the right half of it: a triangle 20 wide and 40 high, whose box is the diamond's */
    boxes_build(&s.boxes, s.work, &r, &s.sources);
    cr_assert_eq(s.boxes.count, 1);
    cr_assert_float_eq(s.xywh[0][0], 0, 1e-6);
    cr_assert_float_eq(s.xywh[0][2], side, 1e-6);
    cr_assert_float_eq(s.xywh[0][3], side, 1e-6);
    r.layers[0].matrix[2] = -67.9; /* 2.1 px wide, 4.2 high: more than 0.005 of the area, less than 0.01 */
    boxes_build(&s.boxes, s.work, &r, &s.sources);
    cr_assert_eq(s.boxes.count, 0);
    r.layers[0].matrix[2] = -66.9; /* 3.1 x 6.2 of 1600 */
    boxes_build(&s.boxes, s.work, &r, &s.sources);
    cr_assert_eq(s.boxes.count, 1);
    cr_assert_float_eq(s.xywh[0][2], 0.062 / 1.4142135623730951, 1e-6);
    r.layers[0].matrix[2] = -70; /* a point of it */
    boxes_build(&s.boxes, s.work, &r, &s.sources);
    cr_assert_eq(s.boxes.count, 0);
}

Test(boxes, oriented_boxes_in_a_mosaic) {
    struct recipe r = mosaic_recipe();
    struct oriented_set s;
    init_oriented(&s, slanted);
    boxes_build(&s.boxes, s.work, &r, &s.sources);
    /* In px along the width and across it, from the canvas's corner: what is left of 50 x 10. */
    cr_assert_eq(s.boxes.count, 4);
    expect_oriented(&s, 0, ORIENTED(0.018, 0.074, 0.14, 0.1, slant));            /* 0 … 14, -2 … 8 */
    expect_oriented(&s, 1, ORIENTED(0.982, 0.128 / 3, 0.5 / 3, 0.08, slant));    /* 54 … 70.7, -80 … -72 */
    expect_oriented(&s, 2, ORIENTED(0.0045, 2.968 / 3, 0.125 / 3, 0.02, slant)); /* 77.3 … 81.5, 58 … 60 */
    expect_oriented(&s, 3, ORIENTED(0.868, 0.874, 0.36, 0.1, slant));            /* 104 … 140, -22 … -12 */
}

Test(boxes, a_cut_takes_what_it_shows_of_oriented_boxes) {
    struct recipe r = plain_recipe(100);
    struct oriented_set s;
    init_oriented(&s, slanted);
    r.cutmix = true;
    r.layers[LAYER_BASE].matrix[2] = -300;
    for (int i = 0; i < RECIPE_CUT_AREAS; i++) {
        r.cutmix_areas[i] = (struct recipe_area){0, 43, 100, 100};
    }
    boxes_build(&s.boxes, s.work, &r, &s.sources);
    cr_assert_eq(s.boxes.count, 1);
    cr_assert_float_eq(s.rotation[0], slant, 1e-6);
    cr_assert_float_eq(s.xywh[0][3], 0.1, 1e-6);
    /* The lower half, from the corner in which the upper side of 43 meets it: half of 50, and 10 * 3 / 8 more. */
    cr_assert_float_eq(s.xywh[0][2], 0.25 + 0.0375, 1e-6);
    cr_assert_eq(s.boxes.cut.y1, 43);
    /* The bounds reach into this cut by a tenth and more, the box does not: its pixels come, a label does not. */
    for (int i = 0; i < RECIPE_CUT_AREAS; i++) {
        r.cutmix_areas[i] = (struct recipe_area){38, 0, 100, 40};
    }
    boxes_build(&s.boxes, s.work, &r, &s.sources);
    cr_assert_eq(s.boxes.count, 0);
    cr_assert_eq(s.boxes.cut.x1, 38);
}
