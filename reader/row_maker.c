#include "row_maker.h"

#include "boxes.h"
#include "window.h"

#include <stdlib.h>

/* A pack with so many bad samples in a row is not one to train on. */
#define SUBSTITUTE_LIMIT 64

struct row_maker {
    const struct ypk_dataset *dataset;
    const struct loader_config *config;
    struct window *window;
    struct frame *frame;
    struct box *boxes;       /* work space of boxes_build() */
    struct corners *corners; /* the same; NULL unless boxes are oriented */
    struct box_sources *sources;
    struct row_counts counts;
};

int row_maker_create(struct row_maker **out, const struct ypk_dataset *dataset, const struct loader_config *config,
                     struct window *window, struct error *error) {
    struct row_maker *m = calloc(1, sizeof *m);
    int rc = 0;
    if (m) {
        m->dataset = dataset;
        m->config = config;
        m->window = window;
        m->sources = calloc(1, sizeof *m->sources);
        m->boxes = calloc((size_t)config->layout.row_labels + 1, sizeof *m->boxes);
        if (config->layout.oriented)
            m->corners = calloc((size_t)config->layout.row_labels + 1, sizeof *m->corners);
    }
    if (!m || !m->sources || !m->boxes || (config->layout.oriented && !m->corners))
        rc = error_set(error, ERR_MEMORY, "out of memory for a worker");
    if (rc == 0)
        rc = frame_create(&m->frame, dataset, &config->frame, error);
    if (rc != 0)
        row_maker_destroy(&m);
    *out = m;
    return rc;
}

void row_maker_destroy(struct row_maker **maker) {
    struct row_maker *m = *maker;
    if (!m)
        return;
    frame_destroy(&m->frame);
    free(m->corners);
    free(m->boxes);
    free(m->sources);
    free(m);
    *maker = NULL;
}

struct row_counts row_maker_take_counts(struct row_maker *m) {
    struct row_counts counts = m->counts;
    counts.times = frame_take_times(m->frame);
    m->counts = (struct row_counts){0};
    return counts;
}

/* Pictures of one recipe, and which of its window entries each stands for (an entry counts one use a sample). */
struct pins {
    struct frame_pictures pictures;
    struct picture *held[LAYER_COUNT * RECIPE_TILES];
    bool used[LAYER_COUNT * RECIPE_TILES];
    unsigned count;
};

/* Loads a picture; with YPK_BAD_SUBSTITUTE the next good sample's if this one is bad. */
static int load_picture(struct row_maker *m, struct picture *picture, bool *substituted, struct error *error) {
    uint64_t n = m->dataset->index.sample_count;
    int rc = frame_load(m->frame, picture, error);
    *substituted = false;
    bool may = m->config->options.bad_sample == YPK_BAD_SUBSTITUTE;
    for (uint64_t tries = 1; rc == ERR_CORRUPT && may && tries < n && tries <= SUBSTITUTE_LIMIT; tries++) {
        struct error ignored = {0};
        picture->sample = (picture->sample + 1) % n;
        rc = frame_load(m->frame, picture, &ignored);
        *substituted = rc == 0;
    }
    return rc;
}

static int pin_tile(struct row_maker *m, const struct recipe_tile *tile, struct pins *pins, const struct picture **out,
                    struct error *error) {
    struct picture *picture;
    bool load, substituted = false;

    int rc = window_acquire(m->window, tile, &picture, &load);
    if (rc != 0)
        return rc;
    bool repeated = false;
    for (unsigned i = 0; i < pins->count; i++)
        repeated = repeated || pins->held[i] == picture;
    pins->held[pins->count] = picture;
    pins->used[pins->count++] = !repeated;
    *out = picture;
    if (load) {
        rc = load_picture(m, picture, &substituted, error);
        window_ready(m->window, picture, rc == 0);
        m->counts.decodes++;
        m->counts.substituted += substituted;
    }
    return rc;
}

static int pin_pictures(struct row_maker *m, const struct recipe *r, struct pins *pins, struct error *error) {
    int rc = 0;
    for (int layer = 0; layer < LAYER_COUNT; layer++)
        for (unsigned t = 0; rc == 0 && recipe_has_layer(r, layer) && t < r->layers[layer].tile_count; t++)
            rc = pin_tile(m, &r->layers[layer].tiles[t], pins, &pins->pictures.tile[layer][t], error);
    return rc;
}

static void unpin(struct row_maker *m, struct pins *pins) {
    for (unsigned i = 0; i < pins->count; i++)
        window_release(m->window, pins->held[i], pins->used[i]);
}

static int collect_labels(struct row_maker *m, const struct recipe *r, const struct pins *pins, struct error *error) {
    const struct index_view *index = &m->dataset->index;
    for (int layer = 0; layer < LAYER_COUNT; layer++) {
        for (unsigned t = 0; recipe_has_layer(r, layer) && t < r->layers[layer].tile_count; t++) {
            const struct picture *picture = pins->pictures.tile[layer][t];
            struct index_sample row;
            int rc = index_sample(index, picture->sample, &row, error);
            if (rc != 0)
                return rc;
            m->sources->tile[layer][t] = (struct box_source){
                .loaded = picture->size,
                .labels = row.labels,
                .label_count = row.label_count,
                .points = row.points,
                .point_dims = index->meta.point_dims,
                .polygons = index->meta.task == TASK_DETECT || index->meta.task == TASK_SEGMENT,
            };
        }
    }
    return 0;
}

static void describe_sample(struct row_maker *m, const struct recipe *r, const struct picture *own,
                            ypk_batch_sample *out) {
    struct index_sample row;
    *out = (ypk_batch_sample){.index = own->sample, .valid = 1};
    if (index_sample(&m->dataset->index, own->sample, &row, NULL) != 0)
        return;
    out->name = index_sample_name(&row);
    out->original_width = row.rgb_bytes ? row.rgb_width : row.ir_width;
    out->original_height = row.rgb_bytes ? row.rgb_height : row.ir_height;
    out->resized_width = own->size.width;
    out->resized_height = own->size.height;
    uint32_t longest = out->original_width > out->original_height ? out->original_width : out->original_height;
    out->ratio = (float)r->image_size / (float)longest;
    out->substituted = own->sample != r->layers[LAYER_BASE].tiles[0].sample;
    if (r->layers[LAYER_BASE].canvas == CANVAS_LETTERBOX) {
        struct placement at = place_tile(r, &r->layers[LAYER_BASE], 0, own->size);
        out->pad_x = (float)at.dx;
        out->pad_y = (float)at.dy;
    }
}

/* Where the labels of a row go, until slot_collate(). */
static struct boxes row_boxes(const struct row_maker *m, const struct slot *slot, uint32_t row) {
    size_t first = (size_t)row * slot->layout->row_labels;
    struct boxes boxes = {.class_id = slot->label_class + first,
                          .xywh = slot->label_box + first,
                          .points_per_label = slot->layout->points_per_label,
                          .flip_index = m->config->options.flip_index,
                          .corners = m->corners};
    if (slot->label_points)
        boxes.points = slot->label_points + first * boxes.points_per_label;
    if (slot->label_rotation)
        boxes.rotation = slot->label_rotation + first;
    return boxes;
}

int row_maker_make(struct row_maker *m, struct slot *slot, uint32_t row, const struct recipe *r, struct error *error) {
    struct size_px size = {r->output_width, r->output_height};
    struct frame_target target = slot_target(slot, row, size);
    struct pins pins = {.count = 0};

    if (!r->valid) {
        slot->samples[row] = (ypk_batch_sample){.name = ""};
        frame_render_empty(m->frame, size.width, size.height, &target);
        return 0;
    }
    int rc = pin_pictures(m, r, &pins, error);
    if (rc == 0)
        rc = collect_labels(m, r, &pins, error);
    if (rc == 0) {
        struct boxes boxes = row_boxes(m, slot, row);
        boxes_build(&boxes, m->boxes, r, m->sources);
        slot->label_counts[row] = (uint32_t)boxes.count;
        frame_render(m->frame, r, &pins.pictures, &boxes.cut, &target);
        describe_sample(m, r, pins.pictures.tile[LAYER_BASE][0], &slot->samples[row]);
    } else { /* never the leftovers of an earlier picture */
        frame_render_empty(m->frame, size.width, size.height, &target);
    }
    unpin(m, &pins);
    return rc;
}
