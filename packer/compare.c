/*
 * pack.json ──> options ──> data.yaml against the classes
 *           └─> splits ──> index rows ──> workers (intake of the files named there) ──> compared, in order
 */
#include "compare.h"

#include "class_names.h"
#include "cpus.h"
#include "data_yaml.h"
#include "file.h"
#include "jpeg.h"
#include "manifest.h"
#include "pack_manifest.h"
#include "pack_split.h"
#include "pipeline.h"
#include "scan.h"
#include "stray.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct comparison {
    const char *pack;
    const struct compare_options *options;
    struct compare_result *result;
    struct intake_options intake;
    uint8_t wanted_classes[CLASS_FILTER_BYTES];
    bool same_encoder; /* transcoded images give the same bytes */
    uint64_t total;
    struct index_view view; /* of the split at work */
};

/* A worker's side. */
struct reader {
    struct intake *intake;
    const struct index_view *view;
};

static void differ(struct comparison *c, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void differ(struct comparison *c, const char *format, ...) {
    struct error message; /* for its printable text */
    char text[ERROR_MESSAGE_BYTES];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    error_set(&message, ERR_INPUT, "%s", text);
    c->result->difference_count++;
    if (c->options->on_difference)
        c->options->on_difference(c->options->callback_arg, message.message);
}

/* ---- how it was packed ------------------------------------------------------------------------------------------- */

static int find_word(const char *word, const char *const *words, int count) {
    for (int i = 0; i < count; i++)
        if (strcmp(word, words[i]) == 0)
            return i;
    return -1;
}

static void read_classes(struct comparison *c, const json_t *classes) {
    size_t i;
    json_t *id;
    if (!json_is_array(classes))
        return;
    json_array_foreach(classes, i, id) {
        json_int_t value = json_integer_value(id);
        if (value >= 0 && value < INDEX_CLASS_LIMIT)
            c->wanted_classes[value / 8] |= (uint8_t)(1u << value % 8);
    }
    c->intake.label.wanted_classes = c->wanted_classes;
}

static int read_options(struct comparison *c, const json_t *manifest, struct error *error) {
    static const char *const presets[] = {"keep", "train", "raw"}, *const tasks[] = {"detect", "segment", "pose",
                                                                                     "obb"};
    struct intake_options *in = &c->intake;
    const char *preset, *norm, *task, *encoder;
    json_int_t pixel_limit, file_limit, class_count;
    json_t *classes;
    int ignore_exif, single_class;
    if (json_unpack(json_object_get(manifest, "options"),
                    "{s:s, s:i, s:i, s:i, s:b, s:i, s:s, s:I, s:I, s:f, s:s, s:i, s:i, s:s, s:f, s:o, s:b, s:I}",
                    "preset", &preset, "imgsz", &in->image_size_px, "quality", &in->quality, "zstd_level",
                    &in->zstd_level, "ignore_exif", &ignore_exif, "ir_depth", &in->ir_depth, "ir_norm", &norm,
                    "pixel_limit", &pixel_limit, "file_limit_bytes", &file_limit, "aspect_tolerance",
                    &in->aspect_tolerance, "task", &task, "keypoints", &in->label.keypoint_count, "keypoint_dims",
                    &in->label.keypoint_dims, "libjpeg_turbo", &encoder, "clamp", &in->label.clamp, "classes", &classes,
                    "single_cls", &single_class, "source_classes", &class_count) != 0 ||
        find_word(preset, presets, 3) < 0 || find_word(task, tasks, 4) < 0)
        return error_set(error, ERR_UNSUPPORTED, "%s: packed by another version, which did not note all its options",
                         c->pack);
    in->preset = (enum preset)find_word(preset, presets, 3);
    in->label.task = (uint8_t)(find_word(task, tasks, 4) + TASK_DETECT);
    in->label.class_count = (uint32_t)class_count;
    in->label.single_class = single_class;
    read_classes(c, classes);
    in->ignore_exif = ignore_exif;
    in->pixel_limit = (uint64_t)pixel_limit;
    in->file_limit_bytes = (uint64_t)file_limit;
    in->check = CHECK_HEADER; /* what was kept is compared by its bytes: there is no need to decode it */
    c->same_encoder = strcmp(encoder, jpeg_library_version()) == 0;
    return normalise_parse(&in->ir_norm, norm, error);
}

/* ---- samples ----------------------------------------------------------------------------------------------------- */

static const char *some(const char *name) {
    return *name ? name : NULL;
}

static int produce(void *worker, void *slot, uint64_t item, struct error *error) {
    struct reader *r = worker;
    struct index_sample row;
    int rc = index_sample(r->view, item, &row, error);
    if (rc != 0)
        return rc;
    const struct sample_source source = {some(row.rgb_name), some(row.ir_name), some(row.label_name)};
    return intake_sample(r->intake, slot, &source, error);
}

/* What the last row of the report says, without its newline. */
static struct span last_message(const struct report *report) {
    struct span rows = {report->rows.data, report->rows.size ? report->rows.size - 1 : 0};
    const uint8_t *tab = rows.size ? memrchr(rows.data, '\t', rows.size) : NULL;
    return tab ? (struct span){tab + 1, (size_t)(rows.data + rows.size - tab) - 1} : rows;
}

static void compare_image(struct comparison *c, const char *name, uint64_t hash, uint8_t format,
                          const struct record_image *found) {
    if (!*name)
        return;
    if ((format & IMAGE_TRANSCODED) && !c->same_encoder)
        c->result->images_left_out++;
    else if (hash != found->hash)
        differ(c, "%s: the image is not the one that was packed", name);
}

static void compare_labels(struct comparison *c, const struct index_sample *row, const struct label_set *found) {
    size_t label_bytes = row->label_count * sizeof *row->labels;
    size_t point_bytes = (size_t)row->point_count * c->view.meta.point_dims * sizeof *row->points;
    size_t count = found->labels.size / sizeof *row->labels;
    if (row->label_count != count)
        differ(c, "%s: %" PRIu32 " rows were packed, %zu would be now", row->label_name, row->label_count, count);
    else if ((label_bytes && memcmp(row->labels, found->labels.data, label_bytes) != 0) ||
             point_bytes != found->points.size ||
             (point_bytes && memcmp(row->points, found->points.data, point_bytes) != 0))
        differ(c, "%s: its rows are not those that were packed", row->label_name);
}

static int consume(void *arg, void *slot, uint64_t item, struct error *error) {
    struct comparison *c = arg;
    struct intake_result *in = slot;
    struct index_sample row;
    int rc = index_sample(&c->view, item, &row, error);
    if (rc != 0)
        return rc;
    if (in->rejected) {
        struct span why = last_message(&in->report);
        differ(c, "%s: would be rejected now: %.*s", index_sample_name(&row), (int)why.size, (const char *)why.data);
    } else {
        compare_image(c, row.rgb_name, row.rgb_hash, row.rgb_format, &in->header.rgb);
        compare_image(c, row.ir_name, row.ir_hash, row.ir_format, &in->header.ir);
        compare_labels(c, &row, &in->labels);
    }
    c->result->sample_count++;
    if (c->options->on_progress)
        c->options->on_progress(c->options->callback_arg, c->result->sample_count, c->total);
    return 0;
}

static int compare_rows(struct comparison *c, struct pack_workers *workers, struct error *error) {
    struct reader *readers = calloc(workers->job_count, sizeof *readers);
    void **pointers = calloc(workers->job_count, sizeof *pointers);
    int rc = readers && pointers ? 0 : error_set(error, ERR_MEMORY, "out of memory for %u workers", workers->job_count);
    for (unsigned i = 0; rc == 0 && i < workers->job_count; i++) {
        readers[i] = (struct reader){workers->intakes[i], &c->view};
        pointers[i] = &readers[i];
    }
    if (rc == 0)
        rc = pipeline_run(
            &(struct pipeline){
                .end = c->view.sample_count,
                .workers = pointers,
                .job_count = workers->job_count,
                .slots = (void *const *)workers->slots,
                .slot_count = workers->slot_count,
                .produce = produce,
                .consume = consume,
                .consume_arg = c,
                .cancel = c->options->cancel,
            },
            error);
    free(readers);
    free(pointers);
    return rc;
}

static int compare_split(struct comparison *c, const char *split, struct pack_workers *workers, struct error *error) {
    struct span map = {0};
    char *name = NULL, *path = asprintf(&name, "%s.index", split) < 0 ? NULL : path_join(c->pack, name);
    int rc = path ? file_map(&map, path, error) : error_set(error, ERR_MEMORY, "out of memory");
    if (rc == 0 && (rc = index_parse(&c->view, map, error)) != 0)
        error_prefix(error, "%s: ", path);
    if (rc == 0)
        rc = compare_rows(c, workers, error);
    file_unmap(&map);
    if (path)
        free(name);
    free(path);
    return rc;
}

static int compare_splits(struct comparison *c, const json_t *manifest, const char *base, struct error *error) {
    struct pack_workers workers;
    unsigned jobs = c->options->jobs ? c->options->jobs : cpus_available();
    json_t *splits = json_object_get(manifest, "splits"), *split;
    const char *name;
    json_object_foreach(splits, name, split) {
        if (!json_object_get(split, "same_as"))
            c->total += (uint64_t)json_integer_value(json_object_get(split, "samples"));
    }
    int rc = pack_workers_create(&workers, jobs, &c->intake, base, error);
    if (rc != 0)
        return rc;
    json_object_foreach(splits, name, split) {
        if (rc == 0 && !json_object_get(split, "same_as"))
            rc = compare_split(c, name, &workers, error);
    }
    pack_workers_destroy(&workers);
    return rc;
}

/* ---- names ------------------------------------------------------------------------------------------------------- */

static void compare_names(struct comparison *c, const json_t *manifest, const struct data_yaml *yaml) {
    const json_t *names = json_object_get(json_object_get(manifest, "options"), "names");
    size_t count = c->intake.label.class_count;
    if (count != yaml->names.count) {
        differ(c, "%s: %zu names were packed, it has %zu", yaml->file, count, yaml->names.count);
        return;
    }
    for (size_t i = 0; i < count && !c->intake.label.single_class; i++) {
        const char *name = json_string_value(json_array_get(names, i));
        if (!name || strcmp(name, yaml->names.items[i]) != 0)
            differ(c, "%s: class %zu was packed as \"%s\", it is \"%s\"", yaml->file, i, name ? name : "",
                   yaml->names.items[i]);
    }
}

static void compare_flip_index(struct comparison *c, const json_t *manifest, const struct data_yaml *yaml) {
    struct flip_index packed;
    bool sound = pack_manifest_flip_index(&packed, json_object_get(manifest, "options"));
    if (c->intake.label.task == TASK_POSE &&
        (!sound || packed.count != yaml->flip_index.count ||
         memcmp(packed.places, yaml->flip_index.places, packed.count * sizeof *packed.places) != 0))
        differ(c, "%s: its flip_idx is not the one that was packed", yaml->file);
}

/* Compares the names of the source's data.yaml, if it has one, and says where its files are: malloc'ed in *base. */
static int open_source(struct comparison *c, char **base, const json_t *manifest, const char *source,
                       struct error *error) {
    struct data_yaml yaml = {0};
    struct stat st;
    char *file = NULL;
    if (stat(source, &st) != 0)
        return path_missing(source, error);
    int rc = S_ISDIR(st.st_mode) ? data_yaml_locate(&file, source, error) : 0;
    if (rc == 0 && (file || !S_ISDIR(st.st_mode)))
        rc = data_yaml_read(&yaml, file ? file : source, error);
    if (rc == 0 && yaml.file)
        compare_names(c, manifest, &yaml);
    if (rc == 0 && yaml.file)
        compare_flip_index(c, manifest, &yaml);
    if (rc == 0 && !(*base = strdup(yaml.base ? yaml.base : source)))
        rc = error_set(error, ERR_MEMORY, "out of memory");
    data_yaml_deinit(&yaml);
    free(file);
    return rc;
}

static int look_for_strays(struct comparison *c, const json_t *manifest, const char *base, struct error *error) {
    struct stray_options options = {c->options->cancel, c->options->on_stray, c->options->callback_arg};
    const json_t *fraction = json_object_get(json_object_get(manifest, "options"), "fraction");
    c->result->took_a_share = json_number_value(fraction) < 1 || json_object_get(manifest, "part");
    return c->result->took_a_share ? 0 : stray_find(&c->result->stray_count, c->pack, base, &options, error);
}

int compare_source(struct compare_result *result, const char *pack, const char *source,
                   const struct compare_options *options, struct error *error) {
    static const struct compare_options defaults;
    struct comparison c = {.pack = pack, .options = options ? options : &defaults, .result = result};
    json_t *manifest = NULL;
    char *base = NULL;
    *result = (struct compare_result){0};
    int rc = manifest_read(&manifest, pack, error);
    if (rc == 0)
        rc = read_options(&c, manifest, error);
    if (rc == 0)
        rc = open_source(&c, &base, manifest, source, error);
    if (rc == 0)
        rc = compare_splits(&c, manifest, base, error);
    if (rc == 0)
        rc = look_for_strays(&c, manifest, base, error);
    if (rc == 0 && result->difference_count > 0)
        rc = error_set(error, ERR_INPUT, "%s is not what %s gives now: %" PRIu64 " differences; pack it again", pack,
                       source, result->difference_count);
    json_decref(manifest);
    free(base);
    return rc;
}
