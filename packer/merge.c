#include "merge.h"

#include "class_names.h"
#include "pack_manifest.h"
#include "pack_split.h"
#include "packed.h"
#include "publish.h"
#include "select.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Parts by their number. */
struct parts {
    struct packed *items; /* [count]; path NULL: not seen yet */
    uint32_t count;
};

/* ---- do they belong together? ------------------------------------------------------------------------------------ */

/* `p` against the first part that was given. */
static int check_belongs(const struct packed *p, const struct packed *first, struct error *error) {
    struct packed_difference d;
    if (p->part.count != first->part.count)
        return error_set(error, ERR_INPUT,
                         "%s is part %" PRIu32 "/%" PRIu32 ", %s is part %" PRIu32 "/%" PRIu32
                         ": all must be of one number of parts",
                         p->path, p->part.number, p->part.count, first->path, first->part.number, first->part.count);
    if (packed_options_differ(&d, json_object_get(first->manifest, "options"), json_object_get(p->manifest, "options"),
                              false))
        return error_set(error, ERR_INPUT, "%s was packed with %s %s, %s with %s: pack one of them again", p->path,
                         strcmp(d.key, "names") == 0 ? "the class names" : d.key, d.theirs, first->path, d.ours);
    if (p->part.set_hash != first->part.set_hash)
        return error_set(
            error, ERR_INPUT,
            "%s and %s were cut from different lists of samples (files came or went in between, or another "
            "--pair): pack the older one again",
            p->path, first->path);
    for (size_t i = 0; i < p->split_count || i < first->split_count; i++)
        if (i >= p->split_count || i >= first->split_count || strcmp(p->splits[i].name, first->splits[i].name) != 0 ||
            strcmp(p->splits[i].same_as, first->splits[i].same_as) != 0)
            return error_set(error, ERR_INPUT, "%s and %s have other splits: pack one of them again", p->path,
                             first->path);
    return 0;
}

/* Puts one part in its place. */
static int take_part(struct parts *parts, struct packed *p, const struct packed *first, struct error *error) {
    if (p->part.count == 0)
        return error_set(error, ERR_INPUT, "%s is a whole pack, not a part (pack --part K/N makes parts)", p->path);
    if (!parts->items) {
        if (p->part.count > SELECT_PART_LIMIT || !(parts->items = calloc(p->part.count, sizeof *parts->items)))
            return error_set(error, ERR_MEMORY, "out of memory for %" PRIu32 " parts", p->part.count);
        parts->count = p->part.count;
    } else {
        int rc = check_belongs(p, first, error);
        if (rc != 0)
            return rc;
    }
    struct packed *place = &parts->items[p->part.number];
    if (place->path)
        return error_set(error, ERR_INPUT, "part %" PRIu32 "/%" PRIu32 " is given twice: %s and %s", p->part.number,
                         p->part.count, place->path, p->path);
    *place = *p;
    *p = (struct packed){0};
    return 0;
}

static int open_parts(struct parts *parts, const struct merge_options *o, struct error *error) {
    const struct packed *first = NULL;
    for (size_t i = 0; i < o->part_count; i++) {
        struct packed p;
        int rc = packed_open(&p, o->parts[i], error);
        uint32_t number = p.part.number;
        if (rc == 0)
            rc = take_part(parts, &p, first, error);
        packed_close(&p);
        if (rc != 0)
            return rc;
        first = first ? first : &parts->items[number];
    }
    for (uint32_t i = 0; i < parts->count; i++)
        if (!parts->items[i].path)
            return error_set(error, ERR_INPUT,
                             "part %" PRIu32 "/%" PRIu32 " is missing: pack DATASET --part %" PRIu32 "/%" PRIu32
                             " with the options of the others, and merge again",
                             i, parts->count, i, parts->count);
    return parts->count > 0 ? 0 : error_set(error, ERR_ARGUMENT, "no parts to merge");
}

static void close_parts(struct parts *parts) {
    for (uint32_t i = 0; i < parts->count; i++)
        packed_close(&parts->items[i]);
    free(parts->items);
    *parts = (struct parts){0};
}

/* The parts must be there as long as the whole is not. */
static int check_output(const struct parts *parts, const char *output, struct error *error) {
    char *there = realpath(output, NULL);
    int rc = 0;
    for (uint32_t i = 0; there && rc == 0 && i < parts->count; i++) {
        char *part = realpath(parts->items[i].path, NULL);
        if (part && strcmp(part, there) == 0)
            rc = error_set(error, ERR_INPUT, "%s is one of the parts: give the whole another name with -o", output);
        free(part);
    }
    free(there);
    return rc;
}

/* ---- joining ----------------------------------------------------------------------------------------------------- */

static int merge_split(struct pack_split_result *result, const struct parts *parts, size_t split,
                       const struct string_list *classes, const char *directory, struct error *error) {
    const struct packed_split *first = &parts->items[0].splits[split];
    struct index_view *views = calloc((size_t)parts->count + 1, sizeof *views);
    uint64_t shards = 0;
    if (!views)
        return error_set(error, ERR_MEMORY, "out of memory for %" PRIu32 " parts", parts->count);
    strcpy(result->name, first->name);
    strcpy(result->same_as, first->same_as);
    int rc = 0;
    for (uint32_t i = 0; rc == 0 && i < parts->count; i++) {
        const struct packed_split *from = &parts->items[i].splits[split];
        views[i] = from->view;
        intake_counts_add(&result->counts, &from->counts);
        if (!from->same_as[0])
            rc = packed_link_shards(&parts->items[i], from, directory, shards, error);
        shards += from->view.shard_count;
    }
    if (rc == 0)
        rc = pack_split_join(result, directory, &first->view.meta, classes, views, parts->count, 0, error);
    free(views);
    return rc;
}

/* A part cannot know whether all ids are one too high. */
static int add_hint(struct pack_result *result, const struct parts *parts, struct error *error) {
    struct class_range classes = {0};
    size_t names = json_array_size(json_object_get(json_object_get(parts->items[0].manifest, "options"), "names"));
    for (uint32_t i = 0; i < parts->count; i++)
        for (size_t k = 0; k < parts->items[i].split_count; k++) {
            struct span labels = parts->items[i].splits[k].view.section[SECTION_LABELS];
            for (size_t at = 0; at < labels.size; at += INDEX_LABEL_BYTES) {
                uint32_t id = load_u16(labels.data + at);
                class_range_join(&classes, (struct class_range){id, id + 1});
            }
        }
    int rc = pack_hint_ids(&result->report, classes, names);
    return rc == 0 ? 0 : error_set(error, rc, "out of memory for the report");
}

/* How many rows of a part come before those of its splits. A manifest that counts more than there are is of no use. */
static uint64_t count_head_rows(const struct packed *part) {
    uint64_t rows = report_rows(&part->report), left = rows;
    for (size_t i = 0; i < part->split_count; i++) {
        if (part->splits[i].report_rows > left)
            return rows;
        left -= part->splits[i].report_rows;
    }
    return left;
}

/* In the order of one pack's report: what is about the data set, then split by split. */
static int join_reports(struct report *out, const struct parts *parts) {
    size_t *at = calloc(parts->count, sizeof *at), splits = parts->items[0].split_count;
    int rc = at ? 0 : ERR_MEMORY;
    for (uint32_t i = 0; rc == 0 && i < parts->count; i++)
        rc = report_append_rows(out, &parts->items[i].report, &at[i], count_head_rows(&parts->items[i]));
    for (size_t split = 0; rc == 0 && split < splits; split++)
        for (uint32_t i = 0; rc == 0 && i < parts->count; i++)
            rc = report_append_rows(out, &parts->items[i].report, &at[i], parts->items[i].splits[split].report_rows);
    free(at);
    return rc;
}

static int merge_reports(struct pack_result *result, const struct parts *parts, const char *directory,
                         struct error *error) {
    int rc = join_reports(&result->report, parts) == 0 ? add_hint(result, parts, error)
                                                       : error_set(error, ERR_MEMORY, "out of memory for the report");
    return rc == 0 ? pack_write_report(&result->report, directory, error) : rc;
}

/* Without names in the data set, each part has as many numbers as it needs: the longest list has all. */
static int merge_classes(struct string_list *out, const struct parts *parts, struct error *error) {
    const struct packed *longest = &parts->items[0];
    for (uint32_t i = 1; i < parts->count; i++)
        if (json_array_size(json_object_get(parts->items[i].manifest, "classes")) >
            json_array_size(json_object_get(longest->manifest, "classes")))
            longest = &parts->items[i];
    return packed_classes(out, longest, error);
}

static int merge_into(struct pack_result *result, const struct parts *parts, const atomic_bool *cancel,
                      const char *directory, struct error *error) {
    const struct packed *first = &parts->items[0];
    struct string_list classes = {0};
    int rc = merge_classes(&classes, parts, error);
    for (size_t i = 0; rc == 0 && i < first->split_count; i++) {
        if (cancel && atomic_load_explicit(cancel, memory_order_relaxed)) {
            rc = error_set(error, ERR_INTERRUPTED, "interrupted");
            break;
        }
        struct pack_split_result *split = &result->splits[result->split_count++];
        rc = merge_split(split, parts, i, &classes, directory, error);
        if (!split->same_as[0])
            intake_counts_add(&result->total, &split->counts);
    }
    result->class_count = classes.count;
    result->added = result->total;
    if (rc == 0 && result->total.packed == 0)
        rc = error_set(error, ERR_INPUT, "no part has a sample: there is nothing to merge");
    if (rc == 0)
        rc = merge_reports(result, parts, directory, error);
    if (rc == 0)
        pack_count_unpaired(result);
    if (rc == 0)
        rc = pack_manifest_write(directory, json_object_get(first->manifest, "options"), result,
                                 first->splits[0].view.meta.task, &classes, error);
    string_list_deinit(&classes);
    return rc;
}

int merge_run(struct pack_result *result, const struct merge_options *options, struct error *error) {
    struct parts parts = {0};
    struct publish publish = {.lock_fd = -1};

    *result = (struct pack_result){.output = strdup(options->output)};
    int rc = result->output ? open_parts(&parts, options, error) : error_set(error, ERR_MEMORY, "out of memory");
    if (rc == 0)
        rc = check_output(&parts, options->output, error);
    if (rc == 0 && (rc = publish_begin(&publish, options->output, false, 0, error)) == 0) {
        rc = merge_into(result, &parts, options->cancel, publish.directory, error);
        if (rc == 0) {
            rc = publish_commit(&publish, error);
            result->published = rc == 0;
        } else {
            publish_abort(&publish, false);
        }
    }
    close_parts(&parts);
    return rc;
}
