/*
 * Writes what the loader delivers, and the recipes behind it, for compare_samples.py:
 *
 *     dump PACK PIXELS BATCHES [OPTION=NUMBER]...
 *
 * One JSON object a sample on stdout; its pixels (uint8, [channels][height][width]) one after the other in PIXELS.
 * Options are the loader's, by their names in ypk_loader_options; flip_index is a list: flip_index=1,0,2.
 */
#include "dataset.h"
#include "loader_options.h"
#include "plan.h"
#include "yolopack.h"

#include <jansson.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum kind { FRACTION, INTEGER };

static const struct option {
    const char *name;
    enum kind kind;
    size_t offset;
} options_known[] = {
#define F(name)                                                                                                        \
    { #name, FRACTION, offsetof(ypk_loader_options, name) }
#define I(name)                                                                                                        \
    { #name, INTEGER, offsetof(ypk_loader_options, name) }
    F(mosaic),      F(mixup), F(cutmix),     F(degrees), F(translate), F(scale),        F(shear),
    F(perspective), F(hsv_h), F(hsv_s),      F(hsv_v),   F(flipud),    F(fliplr),       F(bgr),
    I(mode),        I(rect),  I(image_size), I(workers), I(batch),     I(mosaic_depth),
#undef F
#undef I
};

static uint16_t flip_index[64];

static bool set_flip_index(ypk_loader_options *o, const char *text) {
    static const char name[] = "flip_index=";
    if (strncmp(text, name, strlen(name)) != 0)
        return false;
    o->flip_index = flip_index;
    for (const char *at = text + strlen(name); *at && o->flip_index_count < 64;) {
        char *end;
        flip_index[o->flip_index_count++] = (uint16_t)strtoul(at, &end, 10);
        at = *end == ',' ? end + 1 : end;
    }
    return true;
}

static bool set_option(ypk_loader_options *o, const char *text) {
    if (set_flip_index(o, text))
        return true;
    const char *equals = strchr(text, '=');
    for (size_t i = 0; equals && i < sizeof options_known / sizeof *options_known; i++) {
        const struct option *known = &options_known[i];
        void *field = (char *)o + known->offset;
        if (strlen(known->name) != (size_t)(equals - text) || memcmp(known->name, text, (size_t)(equals - text)) != 0)
            continue;
        double value = strtod(equals + 1, NULL);
        if (known->kind == FRACTION)
            *(double *)field = value;
        else
            *(uint32_t *)field = (uint32_t)value;
        return true;
    }
    return false;
}

static json_t *layer_json(const struct recipe_layer *l, const struct ypk_dataset *dataset) {
    json_t *matrix = json_array(), *files = json_array();
    for (int i = 0; i < 9; i++)
        json_array_append_new(matrix, json_real(l->matrix[i]));
    for (unsigned t = 0; t < l->tile_count; t++) {
        ypk_sample sample;
        ypk_dataset_sample(dataset, l->tiles[t].sample, &sample, NULL);
        json_array_append_new(files, json_pack("[s, s]", sample.rgb_name, sample.ir_name));
    }
    return json_pack("{s:b, s:b, s:i, s:i, s:f, s:o, s:o}", "mosaic", l->canvas == CANVAS_MOSAIC, "perspective",
                     l->warp == WARP_PERSPECTIVE, "x", l->center_x, "y", l->center_y, "scale",
                     (double)l->scale / RECIPE_ONE, "matrix", matrix, "files", files);
}

static json_t *recipe_json(const struct recipe *r, const struct ypk_dataset *dataset) {
    const double one = RECIPE_ONE;
    json_t *layers = json_array(), *areas = json_array();
    for (int i = 0; i < LAYER_COUNT; i++)
        json_array_append_new(layers, recipe_has_layer(r, i) ? layer_json(&r->layers[i], dataset) : json_null());
    for (int i = 0; i < RECIPE_CUT_AREAS; i++) {
        const struct recipe_area *a = &r->cutmix_areas[i];
        json_array_append_new(areas, json_pack("[i, i, i, i]", a->x1, a->y1, a->x2, a->y2));
    }
    return json_pack("{s:I, s:o, s:[f, f, f], s:b, s:b, s:b, s:f, s:I, s:o}", "position", (json_int_t)r->position,
                     "layers", layers, "gains", r->hue / one, r->saturation / one, r->value / one, "flipud",
                     r->flip_vertical, "fliplr", r->flip_horizontal, "bgr", r->swap_rgb, "ratio", r->mixup_ratio / one,
                     "choice", (json_int_t)r->cutmix_choice, "areas", areas);
}

static void append_numbers(json_t *row, const float *numbers, size_t count) {
    for (size_t i = 0; i < count; i++)
        json_array_append_new(row, json_real((double)numbers[i]));
}

/* The sample's boxes, in the order in which they come: class, box, then its rotation or key points. */
static json_t *boxes_json(const ypk_batch *batch, uint32_t row) {
    json_t *boxes = json_array();
    for (uint32_t i = 0; i < batch->label_count; i++) {
        const float *b = &batch->label_box[(size_t)i * 4];
        if (batch->label_batch[i] != (float)row)
            continue;
        json_t *label = json_array();
        json_array_append_new(boxes, label);
        append_numbers(label, &batch->label_class[i], 1);
        append_numbers(label, b, 4);
        if (batch->label_rotation)
            append_numbers(label, &batch->label_rotation[i], 1);
        size_t numbers = (size_t)batch->points_per_label * batch->point_dims;
        if (batch->label_points)
            append_numbers(label, batch->label_points + i * numbers, numbers);
    }
    return boxes;
}

static void print_sample(const ypk_batch *batch, uint32_t row, const struct recipe *recipe,
                         const struct ypk_dataset *dataset) {
    const ypk_tensor *images = &batch->images[0];
    const ypk_batch_sample *s = &batch->samples[row];
    json_t *line = recipe_json(recipe, dataset);
    json_object_set_new(line, "boxes", boxes_json(batch, row));
    json_object_set_new(line, "shape",
                        json_pack("[I, I, I]", (json_int_t)images->shape[1], (json_int_t)images->shape[2],
                                  (json_int_t)images->shape[3]));
    json_object_set_new(line, "original", json_pack("[i, i]", s->original_height, s->original_width));
    json_object_set_new(line, "resized", json_pack("[i, i]", s->resized_height, s->resized_width));
    json_object_set_new(line, "pad", json_pack("[f, f]", (double)s->pad_x, (double)s->pad_y));
    json_dumpf(line, stdout, JSON_COMPACT | JSON_REAL_PRECISION(17));
    printf("\n");
    json_decref(line);
}

/* The loader's own plan, asked again. */
static int dump(FILE *pixels, struct ypk_dataset *dataset, const ypk_loader_options *options, uint64_t batches) {
    struct loader_config config;
    struct error plan_error = {0};
    ypk_loader *loader = NULL;
    ypk_error error = {0};
    int rc = loader_config_init(&config, dataset, options, false, &plan_error);
    if (rc != 0) {
        fprintf(stderr, "%s\n", plan_error.message);
        return rc;
    }
    rc = ypk_loader_create(&loader, dataset, options, &error);
    for (uint64_t b = 0; rc == YPK_OK && b < batches; b++) {
        ypk_batch batch;
        rc = ypk_loader_next(loader, &batch, YPK_NO_STREAM, &error);
        for (uint32_t row = 0; rc == YPK_OK && row < batch.sample_count; row++) {
            struct recipe recipe;
            const ypk_tensor *t = &batch.images[0];
            size_t size = (size_t)(t->shape[1] * t->shape[2] * t->shape[3]);
            plan_sample(config.plan, plan_rank_position(config.plan, 0, (int64_t)b, row), &recipe);
            if (!recipe.valid)
                continue;
            print_sample(&batch, row, &recipe, dataset);
            fwrite((uint8_t *)t->data + (size_t)row * (size_t)t->strides[0], 1, size, pixels);
        }
        ypk_batch_release(&batch, YPK_NO_STREAM);
    }
    if (rc != YPK_OK && rc != YPK_END)
        fprintf(stderr, "%s\n", error.message);
    ypk_loader_destroy(&loader);
    loader_config_deinit(&config);
    return rc == YPK_END ? YPK_OK : rc;
}

int main(int argc, char **argv) {
    ypk_loader_options options;
    ypk_dataset *dataset = NULL;
    ypk_error error = {0};
    if (argc < 4) {
        fprintf(stderr, "usage: dump PACK PIXELS BATCHES [OPTION=NUMBER]...\n");
        return 2;
    }
    ypk_loader_options_init(&options, sizeof options);
    for (int i = 4; i < argc; i++) {
        if (!set_option(&options, argv[i])) {
            fprintf(stderr, "%s: no such option\n", argv[i]);
            return 2;
        }
    }
    if (ypk_dataset_open(&dataset, argv[1], NULL, &error) != YPK_OK) {
        fprintf(stderr, "%s\n", error.message);
        return 1;
    }
    FILE *pixels = fopen(argv[2], "wb");
    if (!pixels) {
        perror(argv[2]);
        ypk_dataset_close(&dataset);
        return 1;
    }
    int rc = dump(pixels, dataset, &options, strtoull(argv[3], NULL, 10));
    if (fclose(pixels) != 0) {
        perror(argv[2]);
        rc = -1;
    }
    ypk_dataset_close(&dataset);
    return rc == YPK_OK ? 0 : 1;
}
