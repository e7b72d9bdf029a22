#include "pack_manifest.h"

#include "file.h"
#include "hash.h"
#include "jpeg.h"
#include "manifest.h"
#include "shard.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const task_names[] = {
    [TASK_DETECT] = "detect", [TASK_SEGMENT] = "segment", [TASK_POSE] = "pose", [TASK_OBB] = "obb"};
static const char *const preset_names[] = {[PRESET_KEEP] = "keep", [PRESET_TRAIN] = "train", [PRESET_RAW] = "raw"};
static const char *const normalise_names[] = {
    [NORMALISE_PERCENTILE] = "percentile", [NORMALISE_MINMAX] = "minmax", [NORMALISE_RANGE] = "range"};

static json_t *string_array(const struct string_list *list) {
    json_t *array = json_array();
    for (size_t i = 0; array && i < list->count; i++) {
        if (json_array_append_new(array, json_string(list->items[i])) != 0) {
            json_decref(array);
            array = NULL;
        }
    }
    return array;
}

/* null: all */
static json_t *class_array(const uint8_t *wanted) {
    json_t *array = wanted ? json_array() : json_null();
    for (uint32_t id = 0; wanted && array && id < INDEX_CLASS_LIMIT; id++) {
        if ((wanted[id / 8] >> id % 8 & 1) && json_array_append_new(array, json_integer(id)) != 0) {
            json_decref(array);
            array = NULL;
        }
    }
    return array;
}

static json_t *flip_index_array(const struct flip_index *flip) {
    json_t *array = json_array();
    for (uint32_t i = 0; array && i < flip->count; i++) {
        if (json_array_append_new(array, json_integer(flip->places[i])) != 0) {
            json_decref(array);
            array = NULL;
        }
    }
    return array;
}

json_t *pack_manifest_options(const struct pack_options *options, const struct source_set *sources) {
    const struct intake_options *in = &options->intake;
    char norm[80];
    snprintf(norm, sizeof norm, "%s:%.9g,%.9g", normalise_names[in->ir_norm.kind], in->ir_norm.low, in->ir_norm.high);
    json_t *object = json_pack(
        "{s:s, s:i, s:i, s:i, s:s, s:b, s:i, s:s, s:I, s:I, s:f, s:I, s:s, s:i, s:i, s:f, s:s, s:s, s:f, s:o, s:b, "
        "s:I, s:o}",
        "preset", preset_names[in->preset], "imgsz", in->image_size_px, "quality", in->quality, "zstd_level",
        in->zstd_level, "check", in->check == CHECK_FULL ? "full" : "header", "ignore_exif", in->ignore_exif,
        "ir_depth", in->ir_depth == 16 ? 16 : 8, "ir_norm", norm, "pixel_limit", (json_int_t)in->pixel_limit,
        "file_limit_bytes", (json_int_t)in->file_limit_bytes, "aspect_tolerance", in->aspect_tolerance, "shard_bytes",
        (json_int_t)options->shard_bytes, "task", task_names[in->label.task], "keypoints", in->label.keypoint_count,
        "keypoint_dims", in->label.keypoint_dims, "clamp", in->label.clamp, "libjpeg_turbo", jpeg_library_version(),
        "lmdb", shard_library_version(), "fraction", options->fraction, "classes",
        class_array(in->label.wanted_classes), "single_cls", in->label.single_class, "source_classes",
        (json_int_t)in->label.class_count, "names", string_array(&sources->names));
    if (object && in->label.task == TASK_POSE && sources->flip_index.count > 0 &&
        json_object_set_new(object, "flip_idx", flip_index_array(&sources->flip_index)) != 0) {
        json_decref(object);
        return NULL;
    }
    return object;
}

bool pack_manifest_flip_index(struct flip_index *out, const json_t *options) {
    const json_t *array = json_object_get(options, "flip_idx"), *place;
    size_t count = json_array_size(array), i;
    *out = (struct flip_index){0};
    if (!array)
        return true;
    if (count == 0 || count > KEYPOINT_LIMIT)
        return false;
    json_array_foreach(array, i, place) {
        json_int_t value = json_integer_value(place);
        if (!json_is_integer(place) || value < 0 || (size_t)value >= count)
            return false;
        out->places[i] = (uint16_t)value;
    }
    out->count = (uint32_t)count;
    return true;
}

static int hash_chunk(const char *text, size_t size, void *state) {
    return XXH3_64bits_update(state, text, size) == XXH_OK ? 0 : -1;
}

/* Not from json_dumps(), which may leave out a key when memory runs short. */
int pack_manifest_fingerprint(uint64_t *out, const json_t *options, struct error *error) {
    XXH3_state_t *state = options ? XXH3_createState() : NULL;
    int rc = state && XXH3_64bits_reset(state) == XXH_OK &&
                     json_dump_callback(options, hash_chunk, state, JSON_SORT_KEYS | JSON_COMPACT) == 0
                 ? 0
                 : error_set(error, ERR_MEMORY, "out of memory for the options");
    if (rc == 0)
        *out = XXH3_64bits_digest(state);
    XXH3_freeState(state);
    return rc;
}

static json_t *counts_object(const struct intake_counts *counts) {
    json_t *object = json_object();
#define X(name)                                                                                                        \
    if (object && json_object_set_new(object, #name, json_integer((json_int_t)counts->name)) != 0) {                   \
        json_decref(object);                                                                                           \
        object = NULL;                                                                                                 \
    }
    INTAKE_COUNTS(X)
#undef X
    return object;
}

bool pack_manifest_counts(struct intake_counts *out, const json_t *counts) {
    bool valid = true;
#define X(name)                                                                                                        \
    valid = valid && json_is_integer(json_object_get(counts, #name)) &&                                                \
            json_integer_value(json_object_get(counts, #name)) >= 0;                                                   \
    out->name = valid ? (uint64_t)json_integer_value(json_object_get(counts, #name)) : 0;
    INTAKE_COUNTS(X)
#undef X
    return valid;
}

bool pack_manifest_part(struct pack_part *out, const json_t *part) {
    *out = (struct pack_part){0};
    if (!part)
        return true;
    const char *hash = json_string_value(json_object_get(part, "set_xxh3"));
    json_int_t number = json_integer_value(json_object_get(part, "number"));
    json_int_t count = json_integer_value(json_object_get(part, "of"));
    if (!hash || number < 0 || count <= number || count > UINT32_MAX)
        return false;
    *out = (struct pack_part){(uint32_t)number, (uint32_t)count, strtoull(hash, NULL, 16)};
    return true;
}

static json_t *part_object(const struct pack_part *part) {
    char hash[20];
    snprintf(hash, sizeof hash, "%016" PRIx64, part->set_hash);
    return json_pack("{s:I, s:I, s:s}", "number", (json_int_t)part->number, "of", (json_int_t)part->count, "set_xxh3",
                     hash);
}

static json_t *split_object(const struct pack_split_result *split, bool is_part) {
    char index[64], hash[20];
    snprintf(index, sizeof index, "%s.index", split->name);
    snprintf(hash, sizeof hash, "%016" PRIx64, split->content_hash);
    json_t *object =
        json_pack("{s:s, s:I, s:I, s:s, s:o}", "index", index, "samples", (json_int_t)split->counts.packed, "shards",
                  (json_int_t)split->shard_count, "content_xxh3", hash, "counts", counts_object(&split->counts));
    if (object && split->same_as[0] && json_object_set_new(object, "same_as", json_string(split->same_as)) != 0) {
        json_decref(object);
        return NULL;
    }
    if (object && is_part && /* so that merging can put them in the order that they have in the whole */
        json_object_set_new(object, "report_rows", json_integer((json_int_t)split->report_rows)) != 0) {
        json_decref(object);
        return NULL;
    }
    return object;
}

static json_t *report_object(const struct report *report) {
    json_t *object = json_object();
    for (int rule = 0; object && rule < RULE_COUNT; rule++) {
        if (report->counts[rule] == 0)
            continue;
        const char *name = report_rule_info((enum report_rule)rule)->name;
        if (json_object_set_new(object, name, json_integer((json_int_t)report->counts[rule])) != 0) {
            json_decref(object);
            object = NULL;
        }
    }
    return object;
}

/* The shards' own hashes are in the indexes: only the index and report files are listed with one. */
static int list_files(json_t *files, const char *directory, const struct pack_result *result, struct error *error) {
    char name[64];
    for (size_t i = 0; i < result->split_count; i++) {
        const struct pack_split_result *split = &result->splits[i];
        snprintf(name, sizeof name, "%s.index", split->name);
        int rc = manifest_add_file(files, directory, name, error);
        for (uint64_t shard = 0; rc == 0 && !split->same_as[0] && shard < split->shard_count; shard++) {
            index_shard_name(name, split->name, shard);
            rc = manifest_add_file(files, directory, name, error);
        }
        if (rc != 0)
            return rc;
    }
    int rc = manifest_add_file(files, directory, "report.json", error);
    return rc == 0 ? manifest_add_file(files, directory, "report.tsv", error) : rc;
}

static json_t *manifest_object(const json_t *options, const struct pack_result *result, uint8_t task,
                               const struct string_list *classes, json_t *files) {
    json_t *splits = json_object();
    for (size_t i = 0; splits && i < result->split_count; i++) {
        if (json_object_set_new(splits, result->splits[i].name,
                                split_object(&result->splits[i], result->part.count > 0)) != 0) {
            json_decref(splits);
            splits = NULL;
        }
    }
    json_t *object =
        json_pack("{s:i, s:s, s:o, s:o, s:O, s:o, s:o, s:O}", "version", MANIFEST_VERSION, "task", task_names[task],
                  "classes", string_array(classes), "splits", splits, "options", options, "counts",
                  counts_object(&result->total), "report", report_object(&result->report), "files", files);
    if (object && result->part.count > 0 && json_object_set_new(object, "part", part_object(&result->part)) != 0) {
        json_decref(object);
        return NULL;
    }
    return object;
}

static uint64_t sum_bytes(const json_t *files) {
    uint64_t sum = 0;
    size_t i;
    json_t *file;
    json_array_foreach(files, i, file) sum += (uint64_t)json_integer_value(json_object_get(file, "bytes"));
    return sum;
}

int pack_manifest_write(const char *directory, const json_t *options, struct pack_result *result, uint8_t task,
                        const struct string_list *classes, struct error *error) {
    struct bytes text = {0};
    json_t *manifest = NULL, *files = json_array();
    char *path = path_join(directory, MANIFEST_NAME);
    int rc = files && path ? list_files(files, directory, result, error)
                           : error_set(error, ERR_MEMORY, "out of memory for %s", MANIFEST_NAME);
    if (rc == 0) {
        manifest = manifest_object(options, result, task, classes, files);
        rc = manifest ? manifest_encode(&text, manifest, error)
                      : error_set(error, ERR_MEMORY, "out of memory for %s", MANIFEST_NAME);
    }
    if (rc == 0)
        rc = file_write_atomic(path, text.data, text.size, error);
    result->pack_bytes = sum_bytes(files) + text.size;
    bytes_deinit(&text);
    json_decref(manifest);
    json_decref(files);
    free(path);
    return rc;
}
