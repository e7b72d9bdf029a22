#include "info_options.h"

#include "output.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* One thing a line; the first has the label. */
static void begin_line(const char **label) {
    output_label(stdout, STYLE_PLAIN, *label);
    *label = "";
}

static long long integer(const json_t *options, const char *key) {
    return (long long)json_integer_value(json_object_get(options, key));
}

static double number(const json_t *options, const char *key) {
    return json_number_value(json_object_get(options, key));
}

static const char *text(const json_t *options, const char *key) {
    const char *value = json_string_value(json_object_get(options, key));
    return value ? value : "";
}

static void print_text(const json_t *options, const char *before, const char *key) {
    fputs(before, stdout);
    output_name(stdout, text(options, key));
}

static bool is_set(const json_t *options, const char *key) {
    return json_is_true(json_object_get(options, key));
}

static void print_codec(const json_t *o, const char **label) {
    const char *preset = text(o, "preset");
    begin_line(label);
    print_text(o, "preset ", "preset");
    printf(": ");
    if (strcmp(preset, "train") == 0)
        printf("longer side at most %lld px, JPEG 4:2:0 of quality %lld\n", integer(o, "imgsz"), integer(o, "quality"));
    else if (strcmp(preset, "raw") == 0 && integer(o, "zstd_level") > 0)
        printf("8-bit samples, zstd level %lld\n", integer(o, "zstd_level"));
    else if (strcmp(preset, "raw") == 0)
        printf("8-bit samples as they are\n");
    else
        printf("sound JPEGs as they are, anything else transcoded with quality %lld\n", integer(o, "quality"));
}

static void print_images(const json_t *o, const char **label) {
    begin_line(label);
    printf("%s, EXIF orientation %s; at most %.4g megapixels and %s an image\n",
           strcmp(text(o, "check"), "header") == 0 ? "only headers checked" : "every image decoded to its end",
           is_set(o, "ignore_exif") ? "ignored" : "applied", number(o, "pixel_limit") / 1e6,
           text_bytes((uint64_t)integer(o, "file_limit_bytes")).text);
    begin_line(label);
    print_text(o,
               integer(o, "ir_depth") == 16 ? "infrared of 16 bits kept, and scaled to 8 when decoded, by "
                                            : "infrared of 16 bits scaled to 8 by ",
               "ir_norm");
    printf("; aspects of a pair that differ by more than %.3g %% are noted\n", 100 * number(o, "aspect_tolerance"));
}

static void print_wanted(const json_t *ids) {
    size_t i;
    json_t *id;
    if (json_array_size(ids) > 0)
        printf(", only class");
    json_array_foreach(ids, i, id) {
        printf("%s %lld", i > 0 ? "," : "", (long long)json_integer_value(id));
    }
}

static void print_flip_index(const json_t *places) {
    char *list = json_array_size(places) > 0 ? json_dumps(places, 0) : NULL;
    if (list != NULL)
        printf("flip_idx %s\n", list);
    else
        printf("no flip_idx: training does not flip poses\n");
    free(list);
}

static void print_labels(const json_t *o, const char **label) {
    begin_line(label);
    print_text(o, "task ", "task");
    if (integer(o, "keypoints") > 0)
        printf(" (%lld key points of %lld values)", integer(o, "keypoints"), integer(o, "keypoint_dims"));
    printf(", coordinates up to %.3g %% outside moved inside", 100 * number(o, "clamp"));
    print_wanted(json_object_get(o, "classes"));
    printf("%s\n", is_set(o, "single_cls") ? ", all classes made one" : "");
    if (strcmp(text(o, "task"), "pose") == 0) {
        begin_line(label);
        print_flip_index(json_object_get(o, "flip_idx"));
    }
    if (json_object_get(o, "fraction") != NULL && number(o, "fraction") < 1) {
        begin_line(label);
        printf("%.4g %% of the samples\n", 100 * number(o, "fraction"));
    }
}

static void print_making(const json_t *o, const char **label) {
    begin_line(label);
    printf("shards of at most %s; made with ", text_bytes((uint64_t)integer(o, "shard_bytes")).text);
    print_text(o, "libjpeg-turbo ", "libjpeg_turbo");
    print_text(o, ", ", "lmdb");
    printf("\n");
}

static bool is_told(const char *key) {
    static const char *const keys[] = {
        "preset",      "imgsz",    "quality",          "zstd_level",    "check",
        "ignore_exif", "ir_depth", "ir_norm",          "pixel_limit",   "file_limit_bytes",
        "clamp",       "task",     "aspect_tolerance", "shard_bytes",   "keypoints",
        "fraction",    "classes",  "keypoint_dims",    "libjpeg_turbo", "lmdb",
        "single_cls",  "names",    "source_classes",   "flip_idx"};
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++)
        if (strcmp(keys[i], key) == 0)
            return true;
    return false;
}

static void print_unknown(json_t *options, const char **label) {
    const char *key;
    json_t *value;
    json_object_foreach(options, key, value) {
        char *shown = is_told(key) ? NULL : json_dumps(value, JSON_ENCODE_ANY | JSON_REAL_PRECISION(6));
        if (shown != NULL) {
            begin_line(label);
            printf("%s %s\n", key, shown);
        }
        free(shown);
    }
}

void info_print_options(const json_t *options) {
    const char *label = "options";
    if (json_object_size(options) == 0)
        return;
    print_codec(options, &label);
    print_images(options, &label);
    print_labels(options, &label);
    print_making(options, &label);
    print_unknown((json_t *)(uintptr_t)options, &label);
}
