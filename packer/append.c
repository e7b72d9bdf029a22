#include "append.h"

#include "file.h"
#include "label.h"
#include "pack_split.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define LABEL_FILE_LIMIT_BYTES (UINT64_C(64) << 20)

/* ---- may it be appended to? -------------------------------------------------------------------------------------- */

static int check_options(const struct packed *older, const json_t *described, struct error *error) {
    struct packed_difference d;
    if (older->part.count > 0)
        return error_set(error, ERR_INPUT,
                         "%s is part %" PRIu32 " of %" PRIu32 ": merge the parts first (yolopack merge)", older->path,
                         older->part.number, older->part.count);
    if (!packed_options_differ(&d, described, json_object_get(older->manifest, "options"), true))
        return 0;
    if (strcmp(d.key, "names") == 0)
        return error_set(error, ERR_INPUT, "the data set has the class names %s, and %s has %s: pack the whole anew",
                         d.ours, older->path, d.theirs);
    return error_set(error, ERR_INPUT,
                     "%s was packed with %s %s, not %s: append with the same options, or pack the whole anew",
                     older->path, d.key, d.theirs, d.ours);
}

static const char *modality_text(uint8_t modalities) {
    return modalities == MODALITY_RGB ? "RGB" : modalities == MODALITY_IR ? "IR" : "RGB and IR";
}

static int check_meta(const struct packed *older, const struct packed_split *base, const struct index_meta *meta,
                      struct error *error) {
    if (base->view.meta.modalities != meta->modalities)
        return error_set(error, ERR_INPUT, "%s holds %s, the data set has %s (--modality, --pair): pack it by itself",
                         older->path, modality_text(base->view.meta.modalities), modality_text(meta->modalities));
    if (base->view.meta.page_bytes != meta->page_bytes)
        return error_set(error, ERR_INPUT,
                         "%s was packed on a machine with pages of %" PRIu32 " bytes, here they have %" PRIu32
                         ": append there, or pack the whole anew",
                         older->path, base->view.meta.page_bytes, meta->page_bytes);
    return 0;
}

/* Which of the pack's splits belongs to split `i`, which may share its samples with another. */
static int choose_base(struct append *a, struct source_set *sources, size_t i, struct error *error) {
    struct split_source *split = &sources->splits[i];
    const struct packed_split *base = packed_split(&a->older, split->name);
    const char *shares = split->same_as != SIZE_MAX ? sources->splits[split->same_as].name : "";
    if (base && !base->same_as[0])
        split->same_as = SIZE_MAX; /* it has shards of its own, and goes on having them */
    else if (base && strcmp(base->same_as, shares) != 0)
        return error_set(error, ERR_INPUT,
                         "%s: split %s shares the samples of %s there, but not in the data set: pack the whole anew",
                         a->older.path, split->name, base->same_as);
    a->base[i] = base;
    return 0;
}

/* ---- which samples are new? -------------------------------------------------------------------------------------- */

/* Looks at the sources of samples that are there already. */
struct comparer {
    const struct label_options *label;
    int base_fd;
    struct bytes text;
    struct label_set labels;
    struct report scratch;
    struct report *report;
};

static bool length_differs(const struct comparer *c, const char *path, uint8_t format, uint32_t bytes) {
    struct stat st;
    bool kept = (format & 0x0f) == CODEC_JPEG && !(format & IMAGE_TRANSCODED);
    return path && kept && fstatat(c->base_fd, path, &st, 0) == 0 && (uint64_t)st.st_size != bytes;
}

/* Sets *change to what is not as it was, NULL if nothing is. */
static int compare_labels(const char **change, struct comparer *c, const char *path, const struct index_sample *there,
                          struct error *error) {
    struct error fault = {0};
    c->text.size = 0;
    label_set_clear(&c->labels);
    report_clear(&c->scratch);
    int rc = path ? file_read(&c->text, c->base_fd, path, LABEL_FILE_LIMIT_BYTES, &fault) : 0;
    if (rc != 0 && intake_is_machine_fault(&fault)) {
        if (error)
            *error = fault;
        return rc;
    }
    *change = rc != 0 ? "cannot be read now" : NULL;
    if (rc != 0)
        return 0;
    if (path && label_parse(&c->labels, (struct span){c->text.data, c->text.size}, path, c->label, &c->scratch) != 0)
        return error_set(error, ERR_MEMORY, "out of memory for the labels in %s", path);
    size_t labels = (size_t)there->label_count * INDEX_LABEL_BYTES, points = c->labels.points.size;
    if (c->labels.labels.size != labels || (labels > 0 && memcmp(c->labels.labels.data, there->labels, labels) != 0) ||
        (points > 0 && memcmp(c->labels.points.data, there->points, points) != 0))
        *change = "gives other labels than when it was packed";
    return 0;
}

static int compare_source(struct comparer *c, const struct sample_source *source, const struct index_sample *there,
                          struct error *error) {
    const char *path = sample_source_name(source), *change = NULL;
    int rc = 0;
    if (length_differs(c, source->rgb, there->rgb_format, there->rgb_bytes) ||
        length_differs(c, source->ir, there->ir_format, there->ir_bytes))
        change = "an image has another length than when it was packed";
    else if ((rc = compare_labels(&change, c, source->label, there, error)) == 0 && source->label)
        path = source->label;
    if (rc != 0 || !change)
        return rc;
    rc = report_add(c->report, RULE_SOURCE_CHANGED, path, 0, 0, (struct span){0}, "%s: the pack keeps what it has",
                    change);
    return rc == 0 ? 0 : error_set(error, rc, "out of memory for the report");
}

/* Keeps the samples that `base` has not; seen[row] is set for every other. */
static int keep_new(struct split_source *split, const struct index_view *base, struct comparer *c, bool *seen,
                    const atomic_bool *cancel, struct error *error) {
    size_t kept = 0;
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < split->count; i++) {
        struct index_sample there;
        struct error fault = {0};
        uint64_t row;
        if (cancel && atomic_load_explicit(cancel, memory_order_relaxed))
            return error_set(error, ERR_INTERRUPTED, "interrupted");
        rc = index_find(base, sample_source_name(&split->samples[i]), &row, &fault);
        if (rc == ERR_NOT_FOUND) {
            split->samples[kept++] = split->samples[i];
            rc = 0;
        } else if (rc == 0 && (rc = index_sample(base, row, &there, &fault)) == 0) {
            seen[row] = true;
            rc = compare_source(c, &split->samples[i], &there, &fault);
        }
        if (rc != 0 && error)
            *error = fault;
    }
    split->count = kept;
    return rc;
}

/* Names what was not seen; unless nothing was: then the data set is another one, whose samples come to those that are
 * there. */
static int tell_gone(struct comparer *c, const char *split, const struct index_view *base, const bool *seen,
                     struct error *error) {
    if (!memchr(seen, 1, (size_t)base->sample_count))
        return 0;
    for (uint64_t row = 0; row < base->sample_count; row++) {
        struct index_sample there;
        int rc = seen[row] ? 0 : index_sample(base, row, &there, error);
        if (rc != 0)
            return rc;
        if (!seen[row] &&
            (rc = report_add(c->report, RULE_SOURCE_GONE, index_sample_name(&there), 0, 0, (struct span){0},
                             "is not in split %s of the data set any more: the pack keeps it "
                             "(pack the whole anew to drop it)",
                             split)) != 0)
            return error_set(error, rc, "out of memory for the report");
    }
    return 0;
}

static int compare_split(struct split_source *split, const struct index_view *base, struct comparer *c,
                         const struct pack_options *options, struct error *error) {
    bool *seen = calloc((size_t)base->sample_count + 1, sizeof *seen);
    int rc = seen ? keep_new(split, base, c, seen, options->cancel, error)
                  : error_set(error, ERR_MEMORY, "out of memory for %" PRIu64 " samples", base->sample_count);
    if (rc == 0 && options->fraction >= 1) /* else it may just not have been chosen */
        rc = tell_gone(c, split->name, base, seen, error);
    free(seen);
    return rc;
}

static int compare_names(const void *name, const void *sample) {
    return strcmp(name, sample_source_name(sample));
}

static bool lists(const struct source_set *sources, const char *split, const char *name) {
    for (size_t i = 0; i < sources->split_count; i++) {
        const struct split_source *s = &sources->splits[i];
        if (strcmp(s->name, split) == 0)
            return s->count > 0 && bsearch(name, s->samples, s->count, sizeof *s->samples, compare_names);
    }
    return false;
}

/* The split of the pack that has a sample which is new to split `i`, and which the data set has not in that split any
 * more. */
static const char *moved_from(const struct append *a, const struct source_set *sources, size_t i, const char *name) {
    uint64_t row;
    for (size_t k = 0; k < a->older.split_count; k++) {
        const struct packed_split *other = &a->older.splits[k];
        if (other != a->base[i] && !other->same_as[0] && index_find(&other->view, name, &row, NULL) == 0 &&
            !lists(sources, other->name, name))
            return other->name;
    }
    return NULL;
}

/* Those that the pack has in another split stay there alone: in two, training would see what it is judged by. */
static int leave_moved(const struct append *a, struct source_set *sources, size_t i, struct comparer *c,
                       struct error *error) {
    struct split_source *split = &sources->splits[i];
    size_t kept = 0;
    uint64_t row;
    for (size_t k = 0; k < split->count; k++) {
        const char *name = sample_source_name(&split->samples[k]);
        bool there = a->base[i] && index_find(&a->base[i]->view, name, &row, NULL) == 0;
        const char *from = there ? NULL : moved_from(a, sources, i, name);
        if (!from)
            split->samples[kept++] = split->samples[k];
        else if (report_add(c->report, RULE_SOURCE_MOVED, name, 0, 0, (struct span){0},
                            "is in split %s of the pack, and stays there (pack the whole anew to move it)", from) != 0)
            return error_set(error, ERR_MEMORY, "out of memory for the report");
    }
    split->count = kept;
    return 0;
}

static int choose_bases(struct append *a, const struct pack_options *options, struct source_set *sources,
                        struct error *error) {
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < sources->split_count; i++) {
        struct index_meta meta = pack_split_meta(options, sources, sources->splits[i].name);
        rc = choose_base(a, sources, i, error);
        if (rc == 0 && sources->splits[i].same_as == SIZE_MAX && a->base[i])
            rc = check_meta(&a->older, a->base[i], &meta, error);
    }
    return rc;
}

static int compare_splits(struct append *a, const struct pack_options *options, struct source_set *sources,
                          struct comparer *c, struct error *error) {
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < sources->split_count; i++)
        if (sources->splits[i].same_as == SIZE_MAX)
            rc = leave_moved(a, sources, i, c, error);
    a->nothing = true;
    for (size_t i = 0; rc == 0 && i < sources->split_count; i++) {
        struct split_source *split = &sources->splits[i];
        if (split->same_as != SIZE_MAX)
            continue;
        if (a->base[i])
            rc = compare_split(split, &a->base[i]->view, c, options, error);
        a->nothing = a->nothing && split->count == 0;
    }
    return rc;
}

static int find_new(struct append *a, const struct pack_options *options, struct source_set *sources,
                    struct report *report, struct error *error) {
    struct comparer c = {.label = &options->intake.label, .report = report};
    int rc = choose_bases(a, options, sources, error);
    if (rc != 0)
        return rc;
    c.base_fd = open(sources->base, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (c.base_fd < 0)
        return error_set_errno(error, errno, "cannot open %s", sources->base);
    rc = compare_splits(a, options, sources, &c, error);
    close(c.base_fd);
    bytes_deinit(&c.text);
    label_set_deinit(&c.labels);
    report_deinit(&c.scratch);
    return rc;
}

int append_begin(struct append *append, const char *output, const struct pack_options *options, const json_t *described,
                 struct source_set *sources, struct report *report, struct error *error) {
    *append = (struct append){0};
    int rc = packed_open(&append->older, output, error);
    if (rc == ERR_NOT_FOUND)
        error_prefix(error, "nothing to append to: ");
    if (rc == 0)
        rc = check_options(&append->older, described, error);
    return rc == 0 ? find_new(append, options, sources, report, error) : rc;
}

void append_end(struct append *append) {
    packed_close(&append->older);
}

int append_check_current(const struct append *append, struct error *error) {
    const struct packed *older = &append->older;
    uint64_t identity = 0;
    int rc = packed_identity(&identity, older->path, error);
    if (rc == 0 && identity != older->identity)
        rc = error_set(error, ERR_INPUT, "%s was replaced by another run while this one began: append again",
                       older->path);
    return rc;
}

const struct index_view *append_base(const struct append *append, size_t split) {
    return append && append->base[split] ? &append->base[split]->view : NULL;
}

uint64_t append_packed_count(const struct append *append) {
    uint64_t count = 0;
    for (size_t i = 0; append && i < append->older.split_count; i++)
        if (!append->older.splits[i].same_as[0])
            count += append->older.splits[i].view.sample_count;
    return count;
}

uint32_t append_class_count(const struct append *append) {
    return append ? (uint32_t)json_array_size(json_object_get(append->older.manifest, "classes")) : 0;
}

/* ---- the end ----------------------------------------------------------------------------------------------------- */

/* What was rejected before has been judged again, or is gone. */
static struct intake_counts counts_of_packed(const struct packed_split *split) {
    struct intake_counts counts = split->counts;
    counts.samples = counts.packed;
    counts.rejected = 0;
    return counts;
}

/* A split that the data set does not have any more stays as it is. */
static int keep_split(struct pack_result *result, const struct packed *older, const struct packed_split *split,
                      const char *directory, struct error *error) {
    char name[64];
    if (result->split_count == sizeof result->splits / sizeof result->splits[0])
        return error_set(error, ERR_INPUT, "%s and the data set have too many splits together", older->path);
    struct pack_split_result *kept = &result->splits[result->split_count++];
    *kept = (struct pack_split_result){.shard_count = split->view.shard_count,
                                       .index_bytes = split->map.size,
                                       .content_hash = split->view.content_hash};
    strcpy(kept->name, split->name);
    strcpy(kept->same_as, split->same_as);
    snprintf(name, sizeof name, "%s.index", split->name);
    char *path = path_join(directory, name);
    int rc = path ? file_write_atomic(path, split->map.data, split->map.size, error)
                  : error_set(error, ERR_MEMORY, "out of memory");
    free(path);
    return rc;
}

static struct pack_split_result *find_result(struct pack_result *result, const char *name) {
    for (size_t i = 0; i < result->split_count; i++)
        if (strcmp(result->splits[i].name, name) == 0)
            return &result->splits[i];
    return NULL;
}

static int add_split(struct pack_result *result, const struct packed *older, const struct packed_split *split,
                     const char *directory, struct error *error) {
    struct intake_counts counts = counts_of_packed(split);
    int rc = find_result(result, split->name) ? 0 : keep_split(result, older, split, directory, error);
    if (rc == 0)
        intake_counts_add(&find_result(result, split->name)->counts, &counts);
    if (rc != 0 || split->same_as[0])
        return rc;
    intake_counts_add(&result->total, &counts);
    return packed_link_shards(older, split, directory, 0, error);
}

/* Rows about the data set as a whole, and about what is not in the pack, are those of this run. */
static bool is_of_run(enum report_rule rule) {
    switch (rule) {
    case RULE_LABEL_ORPHAN:
    case RULE_LABEL_NEAR:
    case RULE_LABEL_SHARED:
    case RULE_LIST_DUPLICATE:
    case RULE_YAML_PATH:
    case RULE_IDS_ONE_BASED:
    case RULE_FILE_SKIPPED:
    case RULE_SPLIT_SHARED:
    case RULE_SAMPLES_LEFT:
    case RULE_SOURCE_CHANGED:
    case RULE_SOURCE_MOVED:
    case RULE_SOURCE_GONE:
    case RULE_YAML_KEY: return true;
    default: return report_rule_info(rule)->action == ACTION_REJECTED;
    }
}

static int add_report(struct report *to, const struct report *older, struct error *error) {
    struct report joined = {0};
    int rc = report_append_except(&joined, older, is_of_run);
    if (rc == 0)
        rc = report_append(&joined, to);
    if (rc != 0) {
        report_deinit(&joined);
        return error_set(error, rc, "out of memory for the report");
    }
    report_deinit(to);
    *to = joined;
    return 0;
}

int append_finish(const struct append *append, struct pack_result *result, const char *directory, struct error *error) {
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < append->older.split_count; i++)
        rc = add_split(result, &append->older, &append->older.splits[i], directory, error);
    return rc == 0 ? add_report(&result->report, &append->older.report, error) : rc;
}
