#include "pack_split.h"

#include "file.h"
#include "part.h"
#include "pipeline.h"
#include "shard.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The writer's side of one split. */
struct split_run {
    const struct pack_options *options;
    const struct source_set *sources;
    const struct split_source *split;
    const char *directory; /* NULL: check only */
    struct pack_split_result *result;
    struct report *report;
    struct class_range *classes;
    struct gray_tally *tally;
    uint64_t row_count;              /* samples of the split packed so far: the next record's id */
    uint64_t part_first, part_count; /* number of the first part of this run, and of the next; shards have the same */

    /* of the shard that is open */
    struct shard_writer *writer;
    struct index_builder builder;
    struct report part_report;
    struct part_source part;
};

int pack_workers_create(struct pack_workers *out, unsigned job_count, const struct intake_options *options,
                        const char *base, struct error *error) {
    /* A commit blocks the writer for some samples' time: the ring is long enough to keep the workers busy. */
    *out = (struct pack_workers){.job_count = job_count, .slot_count = 2 * (size_t)job_count + 16};
    out->intakes = calloc(out->job_count, sizeof *out->intakes);
    out->slots = calloc(out->slot_count, sizeof *out->slots);
    int rc = out->intakes && out->slots ? 0 : ERR_MEMORY;
    for (size_t i = 0; rc == 0 && i < out->slot_count; i++)
        rc = (out->slots[i] = calloc(1, sizeof **out->slots)) ? 0 : ERR_MEMORY;
    if (rc != 0)
        error_set(error, rc, "out of memory for %u workers", job_count);
    for (unsigned i = 0; rc == 0 && i < job_count; i++)
        rc = intake_create(&out->intakes[i], options, base, error);
    if (rc != 0)
        pack_workers_destroy(out);
    return rc;
}

void pack_workers_destroy(struct pack_workers *workers) {
    for (unsigned i = 0; workers->intakes && i < workers->job_count; i++)
        intake_destroy(&workers->intakes[i]);
    for (size_t i = 0; workers->slots && i < workers->slot_count; i++) {
        if (workers->slots[i])
            intake_result_deinit(workers->slots[i]);
        free(workers->slots[i]);
    }
    free(workers->intakes);
    free(workers->slots);
    *workers = (struct pack_workers){0};
}

struct index_meta pack_split_meta(const struct pack_options *options, const struct source_set *sources,
                                  const char *prefix) {
    const struct label_options *label = &options->intake.label;
    struct index_meta meta = {
        .task = label->task,
        .modalities = (uint8_t)sources->modalities,
        .point_dims = label->task == TASK_POSE && label->keypoint_dims == 3 ? 3 : 2,
        .keypoint_count = label->task == TASK_POSE ? (uint16_t)label->keypoint_count : 0,
        .page_bytes = (uint32_t)sysconf(_SC_PAGESIZE), /* what LMDB takes */
    };
    snprintf(meta.shard_prefix, sizeof meta.shard_prefix, "%s", prefix);
    return meta;
}

static char *name_in(const char *directory, const char *prefix, uint64_t number,
                     void (*name_of)(char *out, const char *prefix, uint64_t number)) {
    char name[INDEX_SHARD_NAME_BYTES];
    name_of(name, prefix, number);
    return path_join(directory, name);
}

/* Class names as far as this run knows them: those of the data set, or the numbers seen so far. */
static int set_classes(struct index_builder *builder, const struct string_list *names, uint32_t class_end,
                       struct error *error) {
    if (names->count > 0)
        return index_builder_set_classes(builder, (const char *const *)names->items, names->count, error);
    struct string_list numbers = {0};
    int rc = class_names_number(&numbers, class_end);
    rc = rc == 0 ? index_builder_set_classes(builder, (const char *const *)numbers.items, numbers.count, error)
                 : error_set(error, rc, "out of memory for %u class names", class_end);
    string_list_deinit(&numbers);
    return rc;
}

/* ---- the shard that is open -------------------------------------------------------------------------------------- */

static void begin_part(struct split_run *run, uint64_t first) {
    index_builder_deinit(&run->builder);
    run->builder = (struct index_builder){.meta = pack_split_meta(run->options, run->sources, run->split->name)};
    report_clear(&run->part_report);
    run->part = (struct part_source){.first = first, .end = first};
}

static int seal_shard(struct split_run *run, struct error *error) {
    uint64_t count = shard_writer_count(run->writer);
    struct index_shard shard;
    uint64_t *offsets = malloc(count * sizeof *offsets);
    if (!offsets)
        return error_set(error, ERR_MEMORY, "out of memory to seal a shard");
    int rc = shard_writer_seal(&run->writer, &shard, offsets, error);
    for (uint64_t i = 0; rc == 0 && i < count; i++)
        index_builder_place(&run->builder, i, offsets[i]);
    free(offsets);
    return rc == 0 ? index_builder_add_shard(&run->builder, &shard, error) : rc;
}

/* Ends the part: its shard, if it has samples, and the file that remembers it. */
static int end_part(struct split_run *run, struct error *error) {
    int rc = run->writer ? seal_shard(run, error) : 0;
    if (rc == 0)
        rc = set_classes(&run->builder, &run->sources->names, run->classes->end, error);
    char *path = name_in(run->directory, run->split->name, run->part_count, part_name);
    if (rc == 0 && !path)
        rc = error_set(error, ERR_MEMORY, "out of memory");
    run->part.classes = *run->classes;
    if (rc == 0)
        rc = part_write(path, &run->builder, &run->part_report, &run->part, error);
    free(path);
    run->part_count++;
    begin_part(run, run->part.end);
    return rc;
}

static int begin_shard(struct split_run *run, struct error *error) {
    char *path = name_in(run->directory, run->split->name, run->part_count, index_shard_name);
    int rc = path ? shard_writer_create(&run->writer, path, run->options->shard_bytes, error)
                  : error_set(error, ERR_MEMORY, "out of memory");
    free(path);
    return rc;
}

static int store_sample(struct split_run *run, struct intake_result *in, const struct sample_source *source,
                        struct error *error) {
    int rc = 0;
    if (run->writer && !shard_writer_fits(run->writer, in->record.size))
        rc = end_part(run, error);
    if (rc == 0 && !run->writer)
        rc = begin_shard(run, error);
    if (rc != 0)
        return rc;
    in->header.sample_id = run->row_count;
    record_encode_header(in->record.data, &in->header);
    rc = shard_writer_add(run->writer, run->row_count, (struct span){in->record.data, in->record.size}, error);
    if (rc != 0)
        return rc;
    struct index_sample row = {
        .rgb_format = in->header.rgb.codec | in->header.rgb.flags,
        .ir_format = in->header.ir.codec | in->header.ir.flags,
        .rgb_hash = in->header.rgb.hash,
        .ir_hash = in->header.ir.hash,
        .rgb_bytes = in->header.rgb.payload_bytes,
        .ir_bytes = in->header.ir.payload_bytes,
        .rgb_width = in->header.rgb.width,
        .rgb_height = in->header.rgb.height,
        .ir_width = in->header.ir.width,
        .ir_height = in->header.ir.height,
        .labels = (const struct index_label *)(const void *)in->labels.labels.data,
        .label_count = (uint32_t)(in->labels.labels.size / sizeof(struct index_label)),
        .points = (const float *)(const void *)in->labels.points.data,
        .point_count = (uint32_t)(in->labels.points.size / (sizeof(float) * run->builder.meta.point_dims)),
        .rgb_name = source->rgb ? source->rgb : "",
        .ir_name = source->ir ? source->ir : "",
        .label_name = source->label ? source->label : "",
    };
    run->row_count++;
    return index_builder_add(&run->builder, &row, error);
}

static int consume(void *arg, void *slot, uint64_t item, struct error *error) {
    struct split_run *run = arg;
    struct intake_result *in = slot;
    int rc = 0;

    if (in->counts.packed && in->counts.rows_kept > 0) {
        const struct label_counts *rows = &in->labels.counts;
        class_range_join(run->classes, (struct class_range){rows->min_class, rows->max_class + 1});
    }
    const struct sample_source *source = &run->split->samples[item];
    if (in->counts.packed && source->rgb && !source->ir)
        gray_tally_add(run->tally, source->rgb,
                       in->header.rgb.channels == 1 || (in->header.rgb.flags & IMAGE_GRAY) != 0);
    if (run->directory && in->counts.packed)
        rc = store_sample(run, in, source, error);
    if (rc == 0 && report_append(&run->part_report, &in->report) != 0)
        rc = error_set(error, ERR_MEMORY, "out of memory for the report");
    if (rc == 0 && report_append(run->report, &in->report) != 0)
        rc = error_set(error, ERR_MEMORY, "out of memory for the report");
    if (rc != 0)
        return rc;
    run->part.end = item + 1;
    run->part.fingerprint = part_chain(run->part.fingerprint, in->fingerprint);
    intake_counts_add(&run->part.counts, &in->counts);
    intake_counts_add(&run->result->counts, &in->counts);
    if (run->options->on_progress) {
        struct pack_progress progress = {run->split->name, item + 1, run->split->count,
                                         run->result->counts.source_bytes};
        run->options->on_progress(run->options->callback_arg, &progress);
    }
    return 0;
}

struct produce_arg {
    struct intake *intake;
    const struct split_source *split;
};

static int produce(void *worker, void *slot, uint64_t item, struct error *error) {
    struct produce_arg *w = worker;
    return intake_sample(w->intake, slot, &w->split->samples[item], error);
}

/* ---- going on after an interrupted run --------------------------------------------------------------------------- */

/* Are the part's sources what they were? */
static int check_sources(const struct split_run *run, const struct part *part, struct error *error) {
    uint64_t chain = 0;
    const struct part_source *source = &part->source;
    int base_fd = open(run->sources->base, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (base_fd < 0)
        return error_set_errno(error, errno, "cannot open %s", run->sources->base);
    int rc = source->end <= run->split->count && source->first <= source->end ? 0 : ERR_INPUT;
    for (uint64_t i = source->first; rc == 0 && i < source->end; i++) {
        struct source_stat stat;
        if ((rc = intake_stat(&stat, base_fd, &run->split->samples[i])) == 0)
            chain = part_chain(chain, stat.fingerprint);
    }
    close(base_fd);
    if (rc == ERR_MEMORY)
        return error_set(error, rc, "out of memory");
    if (rc != 0 || chain != source->fingerprint)
        return error_set(
            error, ERR_INPUT,
            "the images or labels of split %s have changed since the interrupted run. Pack again without --resume",
            run->split->name);
    return 0;
}

static int check_shard_length(const struct split_run *run, const struct part *part, struct error *error) {
    struct index_shard shard;
    struct stat st;
    if (part->view.shard_count == 0)
        return 0;
    int rc = index_shard(&part->view, 0, &shard, error);
    char *path = name_in(run->directory, run->split->name, run->part_count, index_shard_name);
    if (rc == 0 && !path)
        rc = error_set(error, ERR_MEMORY, "out of memory");
    if (rc == 0 && (stat(path, &st) != 0 || (uint64_t)st.st_size != shard.file_bytes))
        rc = error_set(error, ERR_CORRUPT, "%s: is not the shard its part file describes. Pack again without --resume",
                       path);
    free(path);
    return rc;
}

static int take_over_part(struct split_run *run, const struct part *part, struct error *error) {
    struct report report = {0};
    int rc = part->source.first == run->part.end ? check_sources(run, part, error)
                                                 : error_set(error, ERR_CORRUPT, "part files do not follow each other");
    if (rc == 0)
        rc = check_shard_length(run, part, error);
    if (rc == 0)
        rc = report_parse(&report, part->view.section[SECTION_REPORT], error);
    if (rc == 0 && report_append(run->report, &report) != 0)
        rc = error_set(error, ERR_MEMORY, "out of memory for the report");
    report_deinit(&report);
    if (rc != 0)
        return rc;
    intake_counts_add(&run->result->counts, &part->source.counts);
    run->row_count += part->view.sample_count;
    run->part_count++;
    run->part.end = part->source.end;
    class_range_join(run->classes, part->source.classes);
    return 0;
}

/* Takes over every part there is. */
static int resume_parts(struct split_run *run, struct error *error) {
    for (;;) {
        struct part part;
        struct error fault = {0};
        char *path = name_in(run->directory, run->split->name, run->part_count, part_name);
        int rc = path ? part_open(&part, path, &fault) : error_set(&fault, ERR_MEMORY, "out of memory");
        free(path);
        if (rc == ERR_NOT_FOUND)
            return 0;
        if (rc == 0) {
            rc = take_over_part(run, &part, &fault);
            part_close(&part);
        }
        if (rc != 0) {
            if (error)
                *error = fault;
            return rc;
        }
    }
}

/* ---- the whole split --------------------------------------------------------------------------------------------- */

/* What the files of a directory take on the disk. */
static int used_bytes(uint64_t *out, const char *directory, struct error *error) {
    DIR *dir = opendir(directory);
    *out = 0;
    if (!dir)
        return error_set_errno(error, errno, "cannot open %s", directory);
    for (struct dirent *e; (e = readdir(dir));) {
        struct stat st;
        if (fstatat(dirfd(dir), e->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode))
            *out += (uint64_t)st.st_blocks * 512;
    }
    closedir(dir);
    return 0;
}

static int source_bytes(uint64_t *out, const struct split_source *split, int base_fd) {
    int rc = 0;
    for (uint64_t i = 0; rc == 0 && i < split->count; i++) {
        struct source_stat stat;
        rc = intake_stat(&stat, base_fd, &split->samples[i]);
        *out += stat.bytes + 2048;
    }
    return rc;
}

int pack_split_check_space(const struct pack_options *options, const struct source_set *sources, const char *directory,
                           struct error *error) {
    uint64_t needed = 0, free_bytes = 0, used = 0;
    if (options->intake.preset != PRESET_KEEP)
        return 0;
    int base_fd = open(sources->base, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (base_fd < 0)
        return error_set_errno(error, errno, "cannot open %s", sources->base);
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < sources->split_count; i++)
        if (sources->splits[i].same_as == SIZE_MAX)
            rc = source_bytes(&needed, &sources->splits[i], base_fd);
    close(base_fd);
    if (rc != 0)
        return error_set(error, rc, "out of memory");
    if ((rc = used_bytes(&used, directory, error)) != 0 || (rc = disk_free_bytes(&free_bytes, directory, error)) != 0)
        return rc;
    if (needed > free_bytes + used)
        return error_set(
            error, ERR_SPACE,
            "no space: the pack needs about %llu MB and %s has %llu MB free. Make room, or choose another place with -o",
            (unsigned long long)((needed - used) / 1000000) + 1, directory, (unsigned long long)(free_bytes / 1000000));
    return 0;
}

static int run_pipeline(struct split_run *run, struct pack_workers *workers, struct error *error) {
    struct produce_arg *args = calloc(workers->job_count, sizeof *args);
    void **arg_pointers = calloc(workers->job_count, sizeof *arg_pointers);
    int rc;
    if (!args || !arg_pointers) {
        rc = error_set(error, ERR_MEMORY, "out of memory for %u workers", workers->job_count);
        goto out;
    }
    for (unsigned i = 0; i < workers->job_count; i++) {
        args[i] = (struct produce_arg){workers->intakes[i], run->split};
        arg_pointers[i] = &args[i];
    }
    struct pipeline pipeline = {
        .first = run->part.end,
        .end = run->split->count,
        .workers = arg_pointers,
        .job_count = workers->job_count,
        .slots = (void *const *)workers->slots,
        .slot_count = workers->slot_count,
        .produce = produce,
        .consume = consume,
        .consume_arg = run,
        .cancel = run->options->cancel,
    };
    begin_part(run, run->part.end);
    rc = pipeline_run(&pipeline, error);
    if (rc == 0 && run->directory && (run->part.end > run->part.first || run->part_count == run->part_first))
        rc = end_part(run, error);
out:
    free(args);
    free(arg_pointers);
    return rc;
}

int pack_split_run(struct pack_split_result *result, struct report *report, struct class_range *classes,
                   struct gray_tally *tally, const struct pack_options *options, const struct source_set *sources,
                   const struct split_source *split, const struct index_view *base, struct pack_workers *workers,
                   const char *directory, bool resume, struct error *error) {
    struct split_run run = {.options = options,
                            .sources = sources,
                            .split = split,
                            .directory = directory,
                            .result = result,
                            .report = report,
                            .classes = classes,
                            .tally = tally};
    if (base) {
        run.row_count = base->sample_count;
        run.part_first = run.part_count = base->shard_count;
    }
    snprintf(result->name, sizeof result->name, "%s", split->name);

    int rc = directory && resume ? resume_parts(&run, error) : 0;
    if (rc == 0)
        rc = run_pipeline(&run, workers, error);

    shard_writer_abort(&run.writer);
    index_builder_deinit(&run.builder);
    report_deinit(&run.part_report);
    return rc;
}

/* An index without samples that brings the class names into the merge. */
static int make_class_part(struct bytes *out, const struct index_meta *meta, const struct string_list *classes,
                           struct error *error) {
    struct index_builder builder = {.meta = *meta};
    int rc = set_classes(&builder, classes, 0, error);
    if (rc == 0)
        rc = index_builder_encode(&builder, out, error);
    index_builder_deinit(&builder);
    return rc;
}

static int open_parts(struct part **parts, uint64_t *count, const char *directory, const char *prefix, uint64_t first,
                      struct error *error) {
    uint64_t capacity = 0;
    int rc = 0;
    for (; rc == 0; *count += rc == 0) {
        if (*count == capacity) {
            capacity = capacity ? 2 * capacity : 16;
            struct part *grown = realloc(*parts, capacity * sizeof *grown);
            if (!grown)
                return error_set(error, ERR_MEMORY, "out of memory for %llu parts", (unsigned long long)capacity);
            *parts = grown;
        }
        struct error fault = {0};
        char *path = name_in(directory, prefix, first + *count, part_name);
        rc = path ? part_open(&(*parts)[*count], path, &fault) : error_set(&fault, ERR_MEMORY, "out of memory");
        free(path);
        if (rc != 0 && rc != ERR_NOT_FOUND && error)
            *error = fault;
    }
    return rc == ERR_NOT_FOUND && *count > 0 ? 0 : rc;
}

static int write_index(struct pack_split_result *result, const char *directory, const struct bytes *index,
                       struct error *error) {
    struct index_view view;
    char name[INDEX_SHARD_NAME_BYTES];
    snprintf(name, sizeof name, "%s.index", result->name);
    char *path = path_join(directory, name);
    int rc = path ? index_parse(&view, (struct span){index->data, index->size}, error)
                  : error_set(error, ERR_MEMORY, "out of memory");
    if (rc == 0)
        rc = file_write_atomic(path, index->data, index->size, error);
    free(path);
    if (rc != 0)
        return rc;
    result->shard_count = view.shard_count;
    result->index_bytes = index->size;
    result->content_hash = view.content_hash;
    return 0;
}

int pack_split_join(struct pack_split_result *result, const char *directory, const struct index_meta *meta,
                    const struct string_list *classes, struct index_view *views, uint64_t count,
                    uint64_t new_generation, struct error *error) {
    struct bytes class_part = {0}, index = {0};
    int rc = make_class_part(&class_part, meta, classes, error);
    if (rc == 0)
        rc = index_parse(&views[count], (struct span){class_part.data, class_part.size}, error);
    if (rc == 0)
        rc = index_merge(&index, views, count + 1, new_generation, error);
    if (rc == 0)
        rc = write_index(result, directory, &index, error);
    bytes_deinit(&index);
    bytes_deinit(&class_part);
    return rc;
}

int pack_split_finish(struct pack_split_result *result, const char *directory, const struct index_meta *meta,
                      const struct string_list *classes, const struct index_view *base, struct error *error) {
    struct part *parts = NULL;
    struct index_view *views = NULL;
    uint64_t count = 0, before = base ? 1 : 0;

    int rc = open_parts(&parts, &count, directory, result->name, base ? base->shard_count : 0, error);
    if (rc == 0 && !(views = calloc(before + count + 1, sizeof *views)))
        rc = error_set(error, ERR_MEMORY, "out of memory for %llu parts", (unsigned long long)count);
    if (rc == 0) {
        if (base)
            views[0] = *base;
        for (uint64_t i = 0; i < count; i++)
            views[before + i] = parts[i].view;
        rc = pack_split_join(result, directory, meta, classes, views, before + count, before, error);
    }
    for (uint64_t i = 0; i < count; i++)
        part_close(&parts[i]);
    free(views);
    free(parts);
    return rc;
}
