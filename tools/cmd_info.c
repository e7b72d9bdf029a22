#include "commands.h"

#include "args.h"
#include "file.h"
#include "index.h"
#include "info_options.h"
#include "output.h"
#include "splits.h"

#include <stdlib.h>
#include <string.h>

enum { CODEC_COUNT = 5 };

/* What one packing added to a split. */
struct generation {
    uint64_t samples, shards;
};

/* What one pass over the index rows of a split finds. */
struct survey {
    ypk_dataset_info info;
    uint64_t *class_counts; /* [info.class_count], boxes */
    uint32_t *sides[4];     /* RGB width, RGB height, IR width, IR height of every sample that has them, sorted */
    uint64_t side_count[4];
    uint64_t codec_count[2][CODEC_COUNT]; /* [RGB, IR][codec] */
    uint64_t transcoded, gray, background;
    struct generation *generations; /* [generation_count] */
    uint64_t generation_count;
};

static int compare_u32(const void *a, const void *b) {
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

static void survey_image(struct survey *v, int modality, const ypk_image *image) {
    if (image->width == 0)
        return;
    v->sides[2 * modality][v->side_count[2 * modality]++] = image->width;
    v->sides[2 * modality + 1][v->side_count[2 * modality + 1]++] = image->height;
    v->codec_count[modality][image->codec < CODEC_COUNT ? image->codec : 0]++;
    v->transcoded += image->is_transcoded != 0;
    v->gray += image->is_gray != 0;
}

static void survey_deinit(struct survey *v) {
    free(v->class_counts);
    free(v->generations);
    for (int i = 0; i < 4; i++)
        free(v->sides[i]);
}

static int survey_init(struct survey *v, const ypk_dataset *dataset, struct error *error) {
    *v = (struct survey){0};
    ypk_dataset_get_info(dataset, &v->info);
    v->class_counts = calloc(v->info.class_count + (size_t)1, sizeof *v->class_counts);
    bool complete = v->class_counts != NULL;
    for (int i = 0; i < 4; i++)
        complete &= (v->sides[i] = calloc(v->info.sample_count + 1, sizeof *v->sides[i])) != NULL;
    return complete ? 0 : error_set(error, ERR_MEMORY, "out of memory");
}

static int survey_run(struct survey *v, const ypk_dataset *dataset, struct error *error) {
    ypk_sample s;
    ypk_error detail;
    for (uint64_t i = 0; i < v->info.sample_count; i++) {
        if (ypk_dataset_sample(dataset, i, &s, &detail) != YPK_OK)
            return splits_error(error, &detail);
        survey_image(v, 0, &s.rgb);
        survey_image(v, 1, &s.ir);
        v->background += s.label_count == 0;
        for (uint32_t k = 0; k < s.label_count; k++)
            if (s.labels[k].class_id < v->info.class_count)
                v->class_counts[s.labels[k].class_id]++;
    }
    for (int i = 0; i < 4; i++)
        qsort(v->sides[i], v->side_count[i], sizeof *v->sides[i], compare_u32);
    return 0;
}

/* Shards belong to the generation that their first sample is in. */
static int count_generations(struct survey *v, const struct index_view *view, struct error *error) {
    int rc = 0;
    v->generations = calloc((size_t)view->generation_count, sizeof *v->generations);
    if (v->generations == NULL)
        return error_set(error, ERR_MEMORY, "out of memory");
    v->generation_count = view->generation_count;
    uint64_t shard = 0;
    for (uint64_t i = 0; rc == 0 && i < view->generation_count; i++) {
        struct index_generation g;
        struct index_shard s;
        rc = index_generation(view, i, &g, error);
        v->generations[i].samples = g.sample_count;
        for (; rc == 0 && shard < view->shard_count; shard++, v->generations[i].shards++)
            if ((rc = index_shard(view, shard, &s, error)) != 0 || s.first_sample >= g.first_sample + g.sample_count)
                break;
    }
    return rc;
}

static int survey_generations(struct survey *v, const char *pack, struct error *error) {
    struct span map = {0};
    struct index_view view;
    char *path = NULL;
    if (asprintf(&path, "%s/%s.index", pack, v->info.split) < 0)
        return error_set(error, ERR_MEMORY, "out of memory");
    int rc = file_map(&map, path, error);
    if (rc == 0)
        rc = index_parse(&view, map, error);
    if (rc == 0)
        rc = count_generations(v, &view, error);
    file_unmap(&map);
    free(path);
    return rc;
}

/* ---- for people -------------------------------------------------------------------------------------------------- */

static const char *const codec_names[] = {"none", "JPEG", "raw", "zstd", "zstd 16-bit"};
static const char *const modality_names[] = {"RGB", "IR"};

static void print_sizes(const struct survey *v, int modality) {
    uint64_t n = v->side_count[2 * modality];
    const uint32_t *w = v->sides[2 * modality], *h = v->sides[2 * modality + 1];
    const char *separator = "";
    if (n == 0)
        return;
    printf("  %-8s%s: width %u-%u px (median %u), height %u-%u px (median %u); ", modality_names[modality],
           text_counted(n, "image").text, w[0], w[n - 1], w[n / 2], h[0], h[n - 1], h[n / 2]);
    for (int codec = 1; codec < CODEC_COUNT; codec++) {
        if (v->codec_count[modality][codec] == 0)
            continue;
        printf("%s%s", separator, codec_names[codec]);
        separator = ", ";
    }
    putchar('\n');
}

static void print_classes(const struct survey *v, const ypk_dataset *dataset) {
    enum { CLASSES_PRINTED = 100 };
    uint32_t empty = 0, printed = 0;
    for (uint32_t i = 0; i < v->info.class_count; i++) {
        if (v->class_counts[i] == 0) {
            empty++;
        } else if (++printed <= CLASSES_PRINTED) {
            printf("  %5u ", i);
            output_name(stdout, ypk_dataset_class_name(dataset, i));
            printf(": %s\n", text_count(v->class_counts[i]).text);
        }
    }
    if (printed > CLASSES_PRINTED)
        printf("        and %s (--json lists them)\n", text_counted(printed - CLASSES_PRINTED, "more class").text);
    if (empty > 0)
        printf("        %s without a box\n", text_counted(empty, "class").text);
}

static void print_survey(const struct survey *v, const ypk_dataset *dataset) {
    output_label(stdout, STYLE_PLAIN, v->info.split);
    printf("%s (%s), ", text_counted(v->info.sample_count, "sample").text,
           v->info.modalities == (YPK_RGB | YPK_IR) ? "RGB + IR"
           : v->info.modalities == YPK_IR           ? "IR"
                                                    : "RGB");
    printf("%s, %s, %s in %s, content %s\n", text_counted(v->info.label_count, "box").text,
           text_counted(v->background, "background").text, text_bytes(v->info.payload_bytes).text,
           text_counted(v->info.shard_count, "shard").text, text_hash(v->info.content_hash).text);
    for (uint64_t i = 0; v->generation_count > 1 && i < v->generation_count; i++) {
        printf("  %-8s %s in %s\n", i == 0 ? "packed" : "appended",
               text_counted(v->generations[i].samples, "sample").text,
               text_counted(v->generations[i].shards, "shard").text);
    }
    print_sizes(v, 0);
    print_sizes(v, 1);
    if (v->transcoded > 0 || v->gray > 0)
        printf("  %s transcoded, %s gray in three channels\n", text_counted(v->transcoded, "image").text,
               text_count(v->gray).text);
    print_classes(v, dataset);
}

/* ---- for programs ------------------------------------------------------------------------------------------------ */

static json_t *side_json(const struct survey *v, int side) {
    uint64_t n = v->side_count[side];
    const uint32_t *values = v->sides[side];
    return json_pack("{s:i, s:i, s:i}", "min", (int)values[0], "median", (int)values[n / 2], "max", (int)values[n - 1]);
}

static json_t *modality_json(const struct survey *v, int modality) {
    json_t *codecs = json_object();
    if (v->side_count[2 * modality] == 0) {
        json_decref(codecs);
        return json_null();
    }
    for (int codec = 1; codec < CODEC_COUNT; codec++)
        if (v->codec_count[modality][codec] > 0)
            json_object_set_new(codecs, codec_names[codec], json_integer((json_int_t)v->codec_count[modality][codec]));
    return json_pack("{s:I, s:o, s:o, s:o}", "images", (json_int_t)v->side_count[2 * modality], "width",
                     side_json(v, 2 * modality), "height", side_json(v, 2 * modality + 1), "codecs", codecs);
}

static json_t *generations_json(const struct survey *v) {
    json_t *list = json_array();
    for (uint64_t i = 0; i < v->generation_count; i++)
        json_array_append_new(list, json_pack("{s:I, s:I}", "samples", (json_int_t)v->generations[i].samples, "shards",
                                              (json_int_t)v->generations[i].shards));
    return list;
}

static json_t *survey_json(const struct survey *v, const ypk_dataset *dataset, const char *same_as) {
    json_t *classes = json_array();
    for (uint32_t i = 0; i < v->info.class_count; i++)
        json_array_append_new(classes,
                              json_pack("{s:o, s:I}", "name", output_json_name(ypk_dataset_class_name(dataset, i)),
                                        "boxes", (json_int_t)v->class_counts[i]));
    return json_pack("{s:s, s:s?, s:I, s:I, s:I, s:I, s:I, s:I, s:o, s:I, s:o, s:o, s:o, s:o}", "name", v->info.split,
                     "same_as", same_as, "samples", (json_int_t)v->info.sample_count, "boxes",
                     (json_int_t)v->info.label_count, "background", (json_int_t)v->background, "transcoded",
                     (json_int_t)v->transcoded, "gray", (json_int_t)v->gray, "shards", (json_int_t)v->info.shard_count,
                     "generations", generations_json(v), "bytes", (json_int_t)v->info.payload_bytes, "content_hash",
                     output_json_hash(v->info.content_hash), "rgb", modality_json(v, 0), "ir", modality_json(v, 1),
                     "classes", classes);
}

/* ---- the command ------------------------------------------------------------------------------------------------- */

/* Prints one split, or appends it to `list` if that is not NULL. */
static int show_split(const struct splits *splits, const char *name, const char *same_as, json_t *list,
                      struct error *error) {
    ypk_dataset *dataset = NULL;
    struct survey survey = {0};
    int rc = splits_dataset(&dataset, splits, name, error);
    if (rc == 0)
        rc = splits_check_classes(dataset, error);
    if (rc == 0)
        rc = survey_init(&survey, dataset, error);
    if (rc == 0)
        rc = survey_run(&survey, dataset, error);
    if (rc == 0)
        rc = survey_generations(&survey, splits->pack, error);
    if (rc == 0 && list != NULL)
        json_array_append_new(list, survey_json(&survey, dataset, same_as));
    else if (rc == 0)
        print_survey(&survey, dataset);
    survey_deinit(&survey);
    ypk_dataset_close(&dataset);
    return rc;
}

static int show(const struct splits *splits, json_t *list, struct error *error) {
    const char *name, *same_as;
    for (size_t i = 0; (name = splits_name(splits, i, &same_as)) != NULL; i++) {
        int rc = 0;
        if (same_as != NULL && list == NULL) {
            output_label(stdout, STYLE_PLAIN, name);
            printf("the same samples as %s\n", same_as);
        } else {
            rc = show_split(splits, name, same_as, list, error);
        }
        if (rc != 0)
            return rc;
    }
    return 0;
}

int cmd_info(int argc, char **argv) {
    bool json = false;
    struct args args;
    struct splits splits;
    struct error error = {0};
    json_t *list = NULL;
    int exit_code;
    const struct args_option options[] = {
        {"json", 0, ARGS_FLAG, NULL, "print everything as JSON", &json, 0, 0},
    };
    const struct args_spec spec = {
        .command = "info",
        .operands = "PACK",
        .summary = "Shows the splits of a pack: samples, boxes, classes, picture sizes, codecs, the options it was "
                   "made with, and the content hash, which is equal for packs of the same samples.",
        .examples = "  yolopack info night.ypk\n  yolopack info night.ypk --json\n",
        .options = options,
        .option_count = sizeof options / sizeof options[0],
        .operand_count = 1,
    };
    if (!args_parse(&args, &spec, argc, argv, &exit_code))
        return exit_code;
    int rc = splits_open(&splits, args.operands[0], &error);
    if (rc != 0)
        return output_fail(&error);
    if (json)
        list = json_array();
    rc = show(&splits, list, &error);
    if (rc == 0 && json)
        exit_code = output_json(json_pack("{s:o, s:O?, s:O?, s:o}", "pack", output_json_name(args.operands[0]), "task",
                                          json_object_get(splits.manifest, "task"), "options",
                                          json_object_get(splits.manifest, "options"), "splits", list),
                                EXIT_DONE);
    else if (rc == 0)
        info_print_options(json_object_get(splits.manifest, "options"));
    if (rc != 0 && json)
        json_decref(list);
    splits_close(&splits);
    if (rc != 0)
        fflush(stdout);
    return rc == 0 ? (json ? exit_code : EXIT_DONE) : output_fail(&error);
}
