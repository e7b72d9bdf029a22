#include "pack.h"

#include "append.h"
#include "class_names.h"
#include "cpus.h"
#include "file.h"
#include "pack_manifest.h"
#include "pack_split.h"
#include "part.h"
#include "publish.h"
#include "select.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define QUALITY_KEEP 95 /* what cannot be kept is transcoded so that nobody sees it */
#define QUALITY_TRAIN 90

void pack_options_init(struct pack_options *options) {
    *options = (struct pack_options){
        .shard_bytes = 1ull << 30,
        .max_rejects = 0.01,
        .fraction = 1,
        .intake =
            {
                .ir_depth = 8,
                .ir_norm = {NORMALISE_PERCENTILE, 0.5, 99.5},
                .pixel_limit = 180 * 1000 * 1000,
                .file_limit_bytes = 512u << 20,
                .aspect_tolerance = 0.05,
                .label = {.clamp = LABEL_CLAMP},
            },
    };
}

static char *default_output(const char *dataset) {
    char *path = realpath(dataset, NULL);
    struct stat st;
    if (!path)
        path = strdup(dataset);
    if (path && stat(path, &st) == 0 && S_ISREG(st.st_mode)) { /* data.yaml: its directory's name */
        char *slash = strrchr(path, '/');
        if (slash)
            *slash = '\0';
    }
    char *out = NULL;
    if (path && asprintf(&out, "%s.ypk", *path_base(path) ? path_base(path) : "dataset") < 0)
        out = NULL;
    free(path);
    return out;
}

static int parse_task(uint8_t *out, const char *text, struct error *error) {
    static const struct {
        const char *name;
        uint8_t task;
    } tasks[] = {{"detect", TASK_DETECT}, {"segment", TASK_SEGMENT}, {"pose", TASK_POSE}, {"obb", TASK_OBB}};
    for (size_t i = 0; i < sizeof tasks / sizeof tasks[0]; i++)
        if (strcmp(text, tasks[i].name) == 0) {
            *out = tasks[i].task;
            return 0;
        }
    return error_set(error, ERR_INPUT, "task \"%s\" is not detect, segment, pose or obb", text);
}

/* All classes become one, which has the name that Ultralytics gives it. */
static int name_single_class(struct source_set *sources, struct error *error) {
    string_list_deinit(&sources->names);
    int rc = string_list_add(&sources->names, "item");
    return rc == 0 ? 0 : error_set(error, rc, "out of memory");
}

/* What the data set says and the options leave open. `wanted` is memory for the class filter. */
static int complete_options(struct pack_options *o, uint8_t wanted[CLASS_FILTER_BYTES], struct source_set *sources,
                            struct error *error) {
    struct label_options *label = &o->intake.label;
    label->class_count = (uint32_t)sources->names.count;
    label->keypoint_count = sources->keypoint_count;
    label->keypoint_dims = sources->keypoint_dims;
    if (o->intake.quality == 0)
        o->intake.quality = o->intake.preset == PRESET_TRAIN ? QUALITY_TRAIN : QUALITY_KEEP;
    if (o->jobs == 0)
        o->jobs = cpus_available();
    const char *task = o->task                       ? o->task
                       : sources->task               ? sources->task
                       : sources->keypoint_count > 0 ? "pose"
                                                     : "detect";
    int rc = parse_task(&label->task, task, error);
    if (rc == 0 && label->task == TASK_POSE && label->keypoint_count == 0)
        rc = error_set(error, ERR_INPUT, "task pose needs kpt_shape: [count, dims] in data.yaml");
    if (rc == 0 && o->classes) {
        label->wanted_classes = wanted;
        rc = class_filter_parse(wanted, o->classes, &sources->names, error);
    }
    return rc == 0 && label->single_class ? name_single_class(sources, error) : rc;
}

/* Leaves those samples in the splits that this run is about. */
static int select_samples(struct source_set *sources, struct pack_part *part, double fraction, struct error *error) {
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < sources->split_count; i++) {
        struct split_source *split = &sources->splits[i];
        size_t found = split->count;
        rc = select_fraction(split, fraction);
        if (rc == 0 && split->count < found)
            rc = report_add(&sources->report, RULE_SAMPLES_LEFT, "", 0, 0, (struct span){0},
                            "split %s: %zu of %zu samples taken", split->name, split->count, found);
    }
    if (rc == 0 && part->count > 0)
        rc = select_hash(&part->set_hash, sources);
    for (size_t i = 0; rc == 0 && part->count > 0 && i < sources->split_count; i++)
        select_part(&sources->splits[i], part->number, part->count);
    return rc == 0 ? 0 : error_set(error, rc, "out of memory to choose samples");
}

/* Adds the split that has the very samples of an earlier one. */
static int share_split(struct pack_result *result, const struct split_source *split, const char *directory,
                       struct error *error) {
    struct pack_split_result *own = &result->splits[result->split_count - 1];
    const struct pack_split_result *other = &result->splits[split->same_as];
    struct span index = {0};
    char name[64];

    *own = *other;
    memcpy(own->same_as, other->name, sizeof own->same_as);
    memcpy(own->name, split->name, sizeof own->name);
    own->report_rows = 0;
    if (!directory)
        return 0;
    snprintf(name, sizeof name, "%s.index", other->name);
    char *from = path_join(directory, name);
    snprintf(name, sizeof name, "%s.index", own->name);
    char *to = path_join(directory, name);
    int rc = from && to ? file_map(&index, from, error) : error_set(error, ERR_MEMORY, "out of memory");
    if (rc == 0)
        rc = file_write_atomic(to, index.data, index.size, error);
    file_unmap(&index);
    free(from);
    free(to);
    return rc;
}

/* What the colours of a set of one modality say against that modality, when nobody has asked for it. */
static int hint_modality(struct pack_result *result, const struct gray_tally *tally, const struct pack_options *options,
                         const struct source_set *sources) {
    uint64_t packed = result->added.packed;
    if (options->source.modalities != 0 || packed == 0)
        return 0;
    if (sources->modalities == MODALITY_RGB && tally->count == packed)
        return gray_tally_hint(&result->hint, tally);
    if (sources->modalities != MODALITY_IR || result->report.counts[RULE_IR_COLOUR] < packed)
        return 0;
    return asprintf(&result->hint,
                    "all %llu pictures have colours, and are taken as infrared. If they are RGB: "
                    "--modality rgb",
                    (unsigned long long)packed) < 0
               ? ERR_MEMORY
               : 0;
}

static int pack_splits(struct pack_result *result, struct class_range *classes, const struct pack_options *options,
                       const struct source_set *sources, const struct append *append, const struct publish *publish,
                       struct error *error) {
    struct pack_workers workers;
    struct gray_tally tally = {0};
    const char *directory = publish ? publish->directory : NULL;
    int rc = directory ? pack_split_check_space(options, sources, directory, error) : 0;
    if (rc == 0)
        rc = pack_workers_create(&workers, options->jobs, &options->intake, sources->base, error);
    if (rc != 0)
        return rc;
    for (size_t i = 0; rc == 0 && i < sources->split_count; i++) {
        const struct split_source *split = &sources->splits[i];
        result->split_count = i + 1;
        if (split->same_as != SIZE_MAX)
            continue;
        uint64_t rows = report_rows(&result->report);
        rc = pack_split_run(&result->splits[i], &result->report, classes, &tally, options, sources, split,
                            append_base(append, i), &workers, directory, publish && publish->resumed, error);
        result->splits[i].report_rows = report_rows(&result->report) - rows;
        intake_counts_add(&result->added, &result->splits[i].counts);
    }
    result->total = result->added;
    pack_workers_destroy(&workers);
    if (rc == 0 && hint_modality(result, &tally, options, sources) != 0) {
        result->hint = NULL;
        rc = error_set(error, ERR_MEMORY, "out of memory");
    }
    return rc;
}

/* True if the class of every dropped row is `value`. */
static bool drops_only_class(const struct report *report, size_t value) {
    char cell[64];
    int size = snprintf(cell, sizeof cell, "\t%s\t%s\t%zu\t", report_rule_info(RULE_ROW_CLASS)->name,
                        report_action_text(ACTION_DROPPED), value);
    const uint8_t *at = report->rows.data, *end = at + report->rows.size;
    uint64_t found = 0;
    while ((at = memmem(at, (size_t)(end - at), cell, (size_t)size)) != NULL) {
        at += size;
        found++;
    }
    return found == report->counts[RULE_ROW_CLASS];
}

int pack_hint_ids(struct report *report, struct class_range classes, size_t names) {
    if (report->counts[RULE_ROW_CLASS] == 0 || classes.first != 1 || !drops_only_class(report, names))
        return 0;
    return report_add(report, RULE_IDS_ONE_BASED, "", 0, 0, (struct span){0},
                      "no row has class 0, and rows have class %zu with %zu names: do the ids start at 1?", names,
                      names);
}

/* A part does not know of the others' ids. */
static int hint_ids(struct pack_result *result, const struct source_set *sources, struct class_range classes,
                    struct error *error) {
    int rc = result->part.count > 0 ? 0 : pack_hint_ids(&result->report, classes, sources->names.count);
    return rc == 0 ? 0 : error_set(error, rc, "out of memory for the report");
}

void pack_count_unpaired(struct pack_result *result) {
    static const enum report_rule rules[] = {RULE_RGB_WITHOUT_IR, RULE_IR_WITHOUT_RGB, RULE_PAIR_AMBIGUOUS,
                                             RULE_LIST_MISSING};
    struct intake_counts counts = {0};
    for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++)
        counts.rejected += result->report.counts[rules[i]];
    counts.samples = counts.rejected;
    intake_counts_add(&result->total, &counts);
    intake_counts_add(&result->added, &counts);
}

/* "more than half of the rows" is no matter of single rows: something about the set is not understood. */
#define ROWS_DROPPED_LIMIT 0.5

/* What the fault of most dropped rows says about the whole set. */
static const char *cause_of_drops(enum report_rule rule) {
    switch (rule) {
    case RULE_ROW_RANGE: return "values over 1 are pixels: divide them by the picture's width and height";
    case RULE_ROW_CLASS: return "names does not have all classes, or ids do not count from 0";
    case RULE_ROW_TOKENS: return "the rows are of another task (--task), or of another format than YOLO's";
    case RULE_ROW_SIZE: return "width and height, the last two values, are 0";
    default: return "the files are of another format than YOLO's";
    }
}

static int check_rows(struct pack_result *result, const struct pack_options *options, struct error *error) {
    const struct intake_counts *counts = &result->added;
    uint64_t judged = counts->rows - counts->rows_filtered;
    double share = judged != 0 ? (double)counts->rows_dropped / (double)judged : 0;
    if (share <= ROWS_DROPPED_LIMIT || share <= options->max_rejects)
        return 0;
    struct report_example example = {0};
    char first[400] = "";
    enum report_rule rule = report_most(&result->report, ACTION_DROPPED);
    if (rule != RULE_COUNT && report_first(&result->report, rule, &example))
        report_example_text(first, sizeof first, &example);
    result->too_many_rejects = true;
    return error_set(
        error, ERR_INPUT,
        "%llu of %llu label rows dropped (%.3g %%): the labels are not understood, nothing is published\n"
        "  first  %s\n  cause  perhaps %s\n  try    mend them, or --max-rejects 100%% to pack without them",
        (unsigned long long)counts->rows_dropped, (unsigned long long)judged, share * 100, first, cause_of_drops(rule));
}

/* What pairing rejected is shared out evenly among parts, so that the whole is within the limit when all parts are. */
static int check_policy(struct pack_result *result, const struct pack_options *options,
                        const struct source_set *sources, uint64_t there, struct error *error) {
    uint32_t parts = options->part.count > 0 ? options->part.count : 1;
    uint64_t dropped = report_count(&result->report, ACTION_DROPPED);
    uint64_t unpaired = report_count(&sources->report, ACTION_REJECTED);
    uint64_t rejected = result->added.rejected + (unpaired + parts - 1) / parts;
    uint64_t total = there + result->added.samples + (unpaired + parts - 1) / parts;
    double share = (double)unpaired / parts;

    uint64_t mixed = options->strict ? result->report.counts[RULE_ROW_MIXED] : 0;

    if (options->strict && rejected + dropped + mixed > 0)
        result->too_many_rejects = true;
    else if ((double)result->added.rejected + share >
             options->max_rejects * ((double)(there + result->added.samples) + share))
        result->too_many_rejects = true;
    else if (there + result->added.packed == 0 && options->part.count == 0) {
        result->too_many_rejects = true;
        return error_set(error, ERR_INPUT, "no sample of %s is usable", options->source.dataset);
    }
    if (!result->too_many_rejects)
        return check_rows(result, options, error);
    if (options->strict)
        return error_set(
            error, ERR_INPUT,
            "--strict forbids any fault. Samples rejected: %llu, label rows dropped: %llu, files with boxes "
            "and polygons: %llu",
            (unsigned long long)rejected, (unsigned long long)dropped, (unsigned long long)mixed);
    return error_set(error, ERR_INPUT,
                     "%llu of %llu samples rejected, more than %g %%. Mend them, or allow more with --max-rejects",
                     (unsigned long long)rejected, (unsigned long long)total, options->max_rejects * 100);
}

static int finish_indexes(struct pack_result *result, const struct pack_options *options,
                          const struct source_set *sources, const struct string_list *classes,
                          const struct append *append, const char *directory, struct error *error) {
    int rc = 0;
    size_t count = result->split_count;
    for (size_t i = 0; rc == 0 && i < count; i++) {
        const struct split_source *split = &sources->splits[i];
        struct index_meta meta = pack_split_meta(options, sources, split->name);
        result->split_count = i + 1;
        rc = split->same_as == SIZE_MAX
                 ? pack_split_finish(&result->splits[i], directory, &meta, classes, append_base(append, i), error)
                 : share_split(result, split, directory, error);
    }
    return rc;
}

int pack_write_report(const struct report *report, const char *directory, struct error *error) {
    static const struct {
        const char *name;
        int (*encode)(const struct report *r, struct bytes *out);
    } files[] = {{"report.tsv", report_tsv}, {"report.json", report_json}};
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < sizeof files / sizeof files[0]; i++) {
        struct bytes text = {0};
        char *path = path_join(directory, files[i].name);
        rc = path ? files[i].encode(report, &text) : ERR_MEMORY;
        if (rc == 0)
            rc = file_write_atomic(path, text.data, text.size, error);
        else
            error_set(error, rc, "out of memory for %s", files[i].name);
        bytes_deinit(&text);
        free(path);
    }
    return rc;
}

/* Everything after the last shard: indexes, report, manifest. */
static int finish_pack(struct pack_result *result, const struct pack_options *options, const struct source_set *sources,
                       uint32_t class_end, const struct append *append, const json_t *described, const char *directory,
                       struct error *error) {
    struct string_list numbers = {0};
    const struct string_list *classes = &sources->names;
    int rc = 0;
    if (classes->count == 0) {
        classes = &numbers;
        uint32_t count = append_class_count(append) > class_end ? append_class_count(append) : class_end;
        if ((rc = class_names_number(&numbers, count)) != 0)
            error_set(error, rc, "out of memory for %u class names", count);
    }
    result->class_count = classes->count;
    if (rc == 0)
        rc = finish_indexes(result, options, sources, classes, append, directory, error);
    if (rc == 0 && append)
        rc = append_finish(append, result, directory, error);
    if (rc == 0)
        rc = pack_write_report(&result->report, directory, error);
    if (rc == 0)
        rc = pack_manifest_write(directory, described, result, options->intake.label.task, classes, error);
    string_list_deinit(&numbers);
    return rc;
}

/* A run that broke off is kept for --resume, unless it was the room that ran out: then only when asked for. */
static bool worth_keeping(int rc, const struct pack_options *options) {
    return rc == ERR_INTERRUPTED || rc == ERR_IO || rc == ERR_MEMORY || (rc == ERR_SPACE && options->resume);
}

/* Everything that decides the pack's bytes besides its sources. */
static int run_fingerprint(uint64_t *out, const struct pack_part *part, const struct append *append,
                           const json_t *described, struct error *error) {
    int rc = pack_manifest_fingerprint(out, described, error);
    if (rc == 0 && part->count > 0)
        *out = part_chain(part_chain(*out, part->number), part->count);
    if (rc == 0 && append)
        *out = part_chain(*out, append->older.identity);
    return rc;
}

static int pack_and_publish(struct pack_result *result, const struct pack_options *options,
                            const struct source_set *sources, const struct append *append, const json_t *described,
                            struct error *error) {
    struct publish publish = {.lock_fd = -1};
    struct class_range classes = {0};
    uint64_t fingerprint = 0;

    int rc = run_fingerprint(&fingerprint, &result->part, append, described, error);
    if (rc == 0)
        rc = publish_begin(&publish, result->output, options->resume, fingerprint, error);
    if (rc != 0)
        return rc;
    result->resumed = publish.resumed;
    result->restarted = publish.restarted;
    if (append)
        rc = append_check_current(append, error);
    if (rc == 0)
        rc = pack_splits(result, &classes, options, sources, append, &publish, error);
    if (rc == 0)
        rc = hint_ids(result, sources, classes, error);
    if (rc == 0) {
        rc = check_policy(result, options, sources, append_packed_count(append), error);
        pack_count_unpaired(result);
    }
    if (rc == 0)
        rc = finish_pack(result, options, sources, classes.end, append, described, publish.directory, error);
    if (rc == 0) {
        rc = publish_commit(&publish, error);
        result->published = rc == 0;
    } else {
        result->resumable = worth_keeping(rc, options);
        publish_abort(&publish, result->resumable);
    }
    return rc;
}

/* Packs what the older pack of that name has not. */
static int append_and_publish(struct pack_result *result, const struct pack_options *options,
                              struct source_set *sources, const json_t *described, struct error *error) {
    struct append append;
    int rc = append_begin(&append, result->output, options, described, sources, &result->report, error);
    if (rc == 0 && append.nothing)
        result->unchanged = true;
    else if (rc == 0)
        rc = pack_and_publish(result, options, sources, &append, described, error);
    append_end(&append);
    return rc;
}

static int run_packing(struct pack_result *result, const struct pack_options *options, struct source_set *sources,
                       struct error *error) {
    json_t *described = pack_manifest_options(options, sources);
    int rc = described ? 0 : error_set(error, ERR_MEMORY, "out of memory for the options");
    if (rc == 0)
        rc = options->append ? append_and_publish(result, options, sources, described, error)
                             : pack_and_publish(result, options, sources, NULL, described, error);
    json_decref(described);
    return rc;
}

static int check_only(struct pack_result *result, const struct pack_options *options, const struct source_set *sources,
                      struct error *error) {
    struct class_range classes = {0};
    int rc = pack_splits(result, &classes, options, sources, NULL, NULL, error);
    result->class_count = sources->names.count ? sources->names.count : classes.end;
    for (size_t i = 0; rc == 0 && i < sources->split_count; i++) {
        result->split_count = i + 1;
        if (sources->splits[i].same_as != SIZE_MAX)
            rc = share_split(result, &sources->splits[i], NULL, error);
    }
    if (rc == 0)
        rc = hint_ids(result, sources, classes, error);
    if (rc == 0) {
        rc = check_policy(result, options, sources, 0, error);
        pack_count_unpaired(result);
    }
    return rc;
}

int pack_run(struct pack_result *result, const struct pack_options *options, struct error *error) {
    struct pack_options complete = *options;
    struct source_set sources = {0};
    uint8_t wanted[CLASS_FILTER_BYTES];

    *result = (struct pack_result){.part = options->part};
    complete.source.cancel = options->cancel;
    result->output = options->output ? strdup(options->output) : default_output(options->source.dataset);
    if (!result->output)
        return error_set(error, ERR_MEMORY, "out of memory");
    int rc = options->check_only ? 0 : publish_check(result->output, error);
    if (rc == 0)
        rc = pair_sources(&sources, &complete.source, error);
    if (rc == 0)
        rc = complete_options(&complete, wanted, &sources, error);
    if (rc == 0)
        rc = select_samples(&sources, &result->part, options->fraction, error);
    if (rc == 0 && options->part.number == 0 && report_append(&result->report, &sources.report) != 0)
        rc = error_set(error, ERR_MEMORY, "out of memory for the report");
    if (rc == 0 && options->on_sources)
        options->on_sources(options->callback_arg, &sources);
    if (rc == 0)
        rc = options->check_only ? check_only(result, &complete, &sources, error)
                                 : run_packing(result, &complete, &sources, error);
    source_set_deinit(&sources);
    return rc;
}

void pack_result_deinit(struct pack_result *result) {
    report_deinit(&result->report);
    free(result->output);
    free(result->hint);
    *result = (struct pack_result){0};
}
