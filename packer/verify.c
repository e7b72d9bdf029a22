/*
 * Verification: manifest, then the files it lists, then the indexes, then every shard.
 *
 *   pack.json ──> listed files (length, hash) ──> *.index (every row) ──> shards, several at once:
 *       length ─> one pass: head, headers, payloads, structure ─> only if all that is whole: liblmdb, keys and offsets
 *
 * liblmdb trusts its files, so it sees none that is not known to be what was sealed. A fault does not end the work:
 * what is still whole is worth knowing. What does end it is that this process cannot look (memory, permission, cancel).
 */
#include "verify.h"

#include "cpus.h"
#include "file.h"
#include "index.h"
#include "manifest.h"
#include "pack_manifest.h"
#include "record.h"
#include "shard.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PROGRESS_BYTES (UINT64_C(8) << 20)
#define JOBS_LIMIT 256u

struct split {
    const char *file; /* "train.index", while the manifest is open */
    struct span map;
    struct index_view view;
};

struct task {
    const struct split *split;
    uint64_t shard;
};

struct verifier {
    const char *pack;
    const struct verify_options *options;
    struct split *splits;
    size_t split_count;
    struct task *tasks;
    size_t task_count;
    uint64_t total_bytes;
    atomic_size_t next_task;
    pthread_mutex_t mutex; /* guards everything below, and the callbacks */
    struct verify_result *result;
    uint64_t done_bytes;
    struct error stop; /* what ended the work early */
};

/* ---- faults ------------------------------------------------------------------------------------------------------ */

static void fault_report(struct verifier *v, const char *message) {
    pthread_mutex_lock(&v->mutex);
    v->result->fault_count++;
    if (v->options->on_fault)
        v->options->on_fault(v->options->callback_arg, message);
    pthread_mutex_unlock(&v->mutex);
}

/* True for what is wrong with the pack; false for what is wrong with this process or machine. */
static bool error_is_fault(const struct error *error) {
    switch (error->code) {
    case ERR_CORRUPT:
    case ERR_NOT_FOUND:
    case ERR_UNSUPPORTED: return true;
    case ERR_IO: return error->os_errno == 0 || error->os_errno == EIO;
    default: return false;
    }
}

/* 0 if the failure is a fault, which is reported; else its code: the work has to end. */
static int fault_or_stop(struct verifier *v, const struct error *error) {
    if (!error_is_fault(error))
        return error->code;
    fault_report(v, error->message);
    return 0;
}

static int verifier_stop(struct verifier *v, const struct error *error) {
    pthread_mutex_lock(&v->mutex);
    if (!v->stop.code)
        v->stop = *error;
    pthread_mutex_unlock(&v->mutex);
    return error->code;
}

static bool is_cancelled(const struct verifier *v) {
    return v->options->cancel && atomic_load_explicit(v->options->cancel, memory_order_relaxed);
}

static void add_done(struct verifier *v, uint64_t bytes) {
    pthread_mutex_lock(&v->mutex);
    v->done_bytes += bytes;
    if (v->options->on_progress)
        v->options->on_progress(v->options->callback_arg, v->done_bytes, v->total_bytes);
    pthread_mutex_unlock(&v->mutex);
}

/* ---- one shard --------------------------------------------------------------------------------------------------- */

struct shard_check {
    struct verifier *v;
    const struct split *split;
    struct index_shard shard; /* as the index has it */
    char *path;
    struct shard_extent *extents;
    uint64_t told_bytes; /* of the file, as progress */
    uint64_t faults, damaged, walked;
    bool header_damaged;
    struct error error; /* of the call that failed last */
};

/* Reports c->error. */
static void shard_error(struct shard_check *c) {
    c->faults++;
    fault_report(c->v, c->error.message);
}

static void shard_fault(struct shard_check *c, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void shard_fault(struct shard_check *c, const char *format, ...) {
    char what[ERROR_MESSAGE_BYTES];
    va_list args;
    va_start(args, format);
    vsnprintf(what, sizeof what, format, args);
    va_end(args);
    error_set(&c->error, ERR_CORRUPT, "%s: %s", c->path, what);
    shard_error(c);
}

static const char *sample_name(const struct split *split, uint64_t row) {
    struct index_sample sample;
    return index_sample(&split->view, row, &sample, NULL) ? "" : index_sample_name(&sample);
}

static uint64_t record_id(const struct shard_check *c, uint64_t row) {
    return c->shard.first_id + (row - c->shard.first_sample);
}

/* The header decides what a reader does with the payloads, so each field that the index has too must agree. */
static bool header_is_whole(struct shard_check *c, const struct index_sample *s, uint64_t row, const uint8_t *bytes) {
    struct record r;
    struct span header = {bytes, (size_t)record_bytes(s->rgb_bytes, s->ir_bytes)}; /* only its beginning is read */
    struct error error;
    if (record_decode_header(&r, header, &error)) {
        shard_fault(c, "sample %" PRIu64 " (%s): %s", row, index_sample_name(s), error.message);
        return false;
    }
    if (r.sample_id == record_id(c, row) && index_sample_describes(s, &r))
        return true;
    shard_fault(c, "sample %" PRIu64 " (%s): its record is another one than the index describes (id %" PRIu64 ")", row,
                index_sample_name(s), r.sample_id);
    return false;
}

static bool payload_is_whole(struct shard_check *c, const struct index_sample *s, uint64_t row, const char *modality,
                             uint64_t expected, uint64_t found) {
    if (expected == found)
        return true;
    shard_fault(c,
                "sample %" PRIu64 " (%s): %s payload does not match its hash (expected %016" PRIx64
                ", found %016" PRIx64 ")",
                row, index_sample_name(s), modality, expected, found);
    return false;
}

static void tell_progress(struct shard_check *c, uint64_t bytes) {
    add_done(c->v, bytes - c->told_bytes);
    c->told_bytes = bytes;
}

static int check_record(void *arg, const struct shard_extent *extent, const struct shard_found *found) {
    struct shard_check *c = arg;
    struct index_sample s;
    if (is_cancelled(c->v))
        return error_set(&c->error, ERR_INTERRUPTED, "%s: interrupted", c->v->pack);
    int rc = index_sample(&c->split->view, extent->row, &s, &c->error);
    if (rc)
        return rc;
    bool header = header_is_whole(c, &s, extent->row, found->header);
    bool rgb = payload_is_whole(c, &s, extent->row, "RGB", s.rgb_hash, found->rgb_hash);
    bool ir = payload_is_whole(c, &s, extent->row, "IR", s.ir_hash, found->ir_hash);
    c->header_damaged |= !header;
    c->damaged += !(header && rgb && ir);
    if (extent->offset - c->told_bytes >= PROGRESS_BYTES)
        tell_progress(c, extent->offset);
    return 0;
}

static int check_place(void *arg, const struct shard_record *record) {
    struct shard_check *c = arg;
    uint64_t row = c->shard.first_sample + c->walked++;
    struct index_sample s;
    if (c->walked > c->shard.sample_count || index_sample(&c->split->view, row, &s, NULL) ||
        record->sample_id != record_id(c, row) || record->offset != s.record_offset ||
        record->size != record_bytes(s.rgb_bytes, s.ir_bytes))
        return error_set(&c->error, ERR_CORRUPT,
                         "%s: liblmdb finds id %" PRIu64 " (%" PRIu64 " bytes at %" PRIu64
                         ") where the index has sample %" PRIu64 " (%s)",
                         c->path, record->sample_id, record->size, record->offset, row, sample_name(c->split, row));
    return 0;
}

static int check_through_lmdb(struct shard_check *c) {
    int rc = shard_walk(c->path, check_place, c, &c->error);
    if (rc && !error_is_fault(&c->error))
        return rc;
    if (rc)
        shard_error(c);
    else if (c->walked != c->shard.sample_count)
        shard_fault(c, "liblmdb finds %" PRIu64 " of %" PRIu64 " samples", c->walked, c->shard.sample_count);
    return 0;
}

/* How many of the sorted extents lie in a file of that length; the rest is lost, and said so. */
static uint64_t extents_inside(struct shard_check *c, uint64_t file_bytes) {
    uint64_t count = c->shard.sample_count;
    while (count &&
           !range_fits(c->extents[count - 1].offset,
                       record_bytes(c->extents[count - 1].rgb_bytes, c->extents[count - 1].ir_bytes), file_bytes))
        count--;
    uint64_t lost = c->shard.sample_count - count;
    c->damaged += lost;
    if (lost)
        shard_fault(c, "beyond the end of the file: %" PRIu64 " of its samples, the first is sample %" PRIu64 " (%s)",
                    lost, c->extents[count].row, sample_name(c->split, c->extents[count].row));
    return count;
}

/* Tells a file of other bytes from one with a few damaged ones: thousands of faults would say no more than one. */
static bool first_record_is_there(const struct shard_check *c) {
    uint8_t bytes[RECORD_HEADER_BYTES];
    struct record header;
    if (!c->shard.sample_count)
        return true;
    const struct shard_extent *e = &c->extents[0];
    struct span record = {bytes, (size_t)record_bytes(e->rgb_bytes, e->ir_bytes)};
    int fd = open(c->path, O_RDONLY | O_CLOEXEC);
    bool there = fd >= 0 && !file_pread_all(fd, bytes, sizeof bytes, e->offset, c->path, NULL) &&
                 !record_decode_header(&header, record, NULL) && header.sample_id == record_id(c, e->row);
    if (fd >= 0)
        close(fd);
    return there;
}

static int check_bytes(struct shard_check *c) {
    struct index_shard found;
    uint32_t page_bytes = c->split->view.meta.page_bytes;
    int rc = shard_head(&found, c->path, page_bytes, &c->error);
    if (rc)
        return rc;
    bool length_differs = found.file_bytes != c->shard.file_bytes;
    if (found.head_hash != c->shard.head_hash && (length_differs || !first_record_is_there(c)))
        return error_set(&c->error, ERR_CORRUPT,
                         "%s: is another file than the index describes: other first pages, %" PRIu64
                         " bytes where %" PRIu64 " are expected (after a compacting copy: yolopack reindex)",
                         c->path, found.file_bytes, c->shard.file_bytes);
    if (length_differs)
        shard_fault(c, "has %" PRIu64 " bytes, the index says %" PRIu64, found.file_bytes, c->shard.file_bytes);
    uint64_t count = extents_inside(c, found.file_bytes);
    rc = shard_hash_file(&found, c->path, page_bytes, c->extents, count, check_record, c, &c->error);
    if (rc)
        return rc;
    if (found.head_hash != c->shard.head_hash)
        shard_fault(c, "its first pages do not match their hash (expected %016" PRIx64 ", found %016" PRIx64 ")",
                    c->shard.head_hash, found.head_hash);
    else if (found.structure_hash != c->shard.structure_hash && !c->header_damaged && !length_differs)
        shard_fault(
            c, "its bytes between the payloads do not match their hash (expected %016" PRIx64 ", found %016" PRIx64 ")",
            c->shard.structure_hash, found.structure_hash);
    return 0;
}

static int check_shard(struct shard_check *c, uint64_t shard) {
    int rc = index_shard(&c->split->view, shard, &c->shard, &c->error);
    if (!rc)
        rc = shard_extents_list(&c->extents, &c->split->view, &c->shard, &c->error);
    if (!rc)
        rc = check_bytes(c);
    if (rc && error_is_fault(&c->error)) {
        shard_error(c);
        c->damaged = c->shard.sample_count;
        rc = 0;
    }
    return rc || c->faults ? rc : check_through_lmdb(c);
}

static int run_task(struct verifier *v, const struct task *task) {
    struct shard_check c = {.v = v, .split = task->split};
    char name[INDEX_SHARD_NAME_BYTES];
    index_shard_name(name, task->split->view.meta.shard_prefix, task->shard);
    c.path = path_join(v->pack, name);
    int rc = c.path ? check_shard(&c, task->shard) : error_set(&c.error, ERR_MEMORY, "%s: out of memory", v->pack);
    tell_progress(&c, c.shard.file_bytes);
    pthread_mutex_lock(&v->mutex);
    v->result->damaged_samples += c.damaged;
    pthread_mutex_unlock(&v->mutex);
    free(c.extents);
    free(c.path);
    return rc ? verifier_stop(v, &c.error) : 0;
}

static void *run_tasks(void *arg) {
    struct verifier *v = arg;
    for (;;) {
        size_t i = atomic_fetch_add(&v->next_task, 1);
        if (i >= v->task_count || run_task(v, &v->tasks[i])) {
            atomic_store(&v->next_task, v->task_count);
            return NULL;
        }
    }
}

/* The caller's thread works too; a thread that does not start is one fewer. */
static void run_all(struct verifier *v) {
    pthread_t threads[JOBS_LIMIT];
    size_t jobs = v->options->jobs ? v->options->jobs : cpus_available(), started = 0;
    if (jobs > v->task_count)
        jobs = v->task_count;
    if (jobs > JOBS_LIMIT)
        jobs = JOBS_LIMIT;
    while (started + 1 < jobs && !pthread_create(&threads[started], NULL, run_tasks, v))
        started++;
    run_tasks(v);
    while (started)
        pthread_join(threads[--started], NULL);
}

/* ---- the files around the shards --------------------------------------------------------------------------------- */

/* Two splits may name the same samples: their shards are checked once. */
static bool shares_shards(const struct split *a, const struct split *b) {
    static const int kinds[] = {SECTION_SHARDS, SECTION_SAMPLES, SECTION_NAMES};
    if (strcmp(a->view.meta.shard_prefix, b->view.meta.shard_prefix) != 0)
        return false;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        struct span left = a->view.section[kinds[i]], right = b->view.section[kinds[i]];
        if (left.size != right.size || (left.size && memcmp(left.data, right.data, left.size) != 0))
            return false;
    }
    return true;
}

static int add_tasks(struct verifier *v, const struct split *split, struct error *error) {
    for (const struct split *s = v->splits; s < split; s++)
        if (shares_shards(s, split))
            return 0;
    uint64_t count = split->view.shard_count;
    struct task *tasks = realloc(v->tasks, (v->task_count + (size_t)count + 1) * sizeof *tasks);
    if (!tasks)
        return error_set(error, ERR_MEMORY, "%s: out of memory", v->pack);
    v->tasks = tasks;
    for (uint64_t i = 0; i < count; i++) {
        struct index_shard shard;
        int rc = index_shard(&split->view, i, &shard, error);
        if (rc)
            return rc;
        v->tasks[v->task_count++] = (struct task){split, i};
        v->total_bytes += shard.file_bytes;
        v->result->bytes += shard.file_bytes;
    }
    v->result->shard_count += count;
    v->result->sample_count += split->view.sample_count;
    return 0;
}

/* Opens an index whose bytes are known to be those of the manifest. */
static int add_split(struct verifier *v, const char *file, const char *path, struct error *error) {
    struct split *s = &v->splits[v->split_count];
    *s = (struct split){.file = file};
    int rc = file_map(&s->map, path, error);
    if (rc)
        return rc;
    if ((rc = index_parse(&s->view, s->map, error)) || (rc = index_check(&s->view, error))) {
        error_prefix(error, "%s: ", path);
        file_unmap(&s->map);
        return rc;
    }
    v->split_count++;
    return add_tasks(v, s, error);
}

static int check_file(struct verifier *v, const struct manifest_file *file, const char *path, struct error *error) {
    uint64_t bytes, hash;
    int rc = manifest_hash_file(&bytes, &hash, path, error);
    if (rc)
        return rc;
    v->result->bytes += bytes;
    if (bytes != file->bytes)
        return error_set(error, ERR_CORRUPT, "%s: has %" PRIu64 " bytes, " MANIFEST_NAME " says %" PRIu64, path, bytes,
                         file->bytes);
    if (hash != file->hash)
        return error_set(error, ERR_CORRUPT,
                         "%s: does not match its hash (expected %016" PRIx64 ", found %016" PRIx64 ")", path,
                         file->hash, hash);
    return strcmp(path_suffix(file->name), "index") == 0 ? add_split(v, file->name, path, error) : 0;
}

/* 0 when done, faults or not; else the code that ends the work. */
static int check_entry(struct verifier *v, const json_t *entry, struct error *error) {
    struct manifest_file file;
    int rc = manifest_file(&file, entry, error);
    if (rc) {
        error_prefix(error, "%s: ", v->pack);
        return fault_or_stop(v, error);
    }
    if (!file.has_hash) /* a shard: its index knows more of it */
        return 0;
    char *path = path_join(v->pack, file.name);
    if (!path)
        return error_set(error, ERR_MEMORY, "%s: out of memory", v->pack);
    rc = check_file(v, &file, path, error);
    free(path);
    return rc ? fault_or_stop(v, error) : 0;
}

/* ---- what the manifest says of the indexes ----------------------------------------------------------------------- */

static void manifest_fault(struct verifier *v, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void manifest_fault(struct verifier *v, const char *format, ...) {
    struct error fault; /* for its printable text */
    char text[ERROR_MESSAGE_BYTES];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    error_set(&fault, ERR_CORRUPT, "%s/" MANIFEST_NAME ": %s", v->pack, text);
    fault_report(v, fault.message);
}

static void compare_count(struct verifier *v, const char *split, const json_t *says, const char *key, uint64_t has) {
    const json_t *value = json_object_get(says, key);
    if (!json_is_integer(value) || (uint64_t)json_integer_value(value) != has)
        manifest_fault(v, "split %s: %s is %" JSON_INTEGER_FORMAT ", the index has %" PRIu64, split, key,
                       json_integer_value(value), has);
}

/* A split that had its index before a later one brought more classes has the first of them. */
static void compare_classes(struct verifier *v, const char *split, const json_t *classes,
                            const struct index_view *view) {
    for (uint32_t i = 0; i < view->class_count; i++) {
        const char *says = json_string_value(json_array_get(classes, i)), *has = index_class_name(view, i);
        if (says && has && strcmp(says, has) == 0)
            continue;
        manifest_fault(v, "class %" PRIu32 " is \"%s\", in the index of split %s it is \"%s\"", i, says ? says : "",
                       split, has ? has : "");
        return;
    }
}

/* What `info` shows, and what tells one pack from another, must be what the samples are. */
static void compare_split(struct verifier *v, const char *name, const json_t *says, const json_t *manifest) {
    static const char *const tasks[] = {
        [TASK_DETECT] = "detect", [TASK_SEGMENT] = "segment", [TASK_POSE] = "pose", [TASK_OBB] = "obb"};
    const char *file = json_string_value(json_object_get(says, "index")), *same_as, *text;
    const struct split *s = NULL;
    char hash[20];
    for (size_t i = 0; file && i < v->split_count; i++)
        s = strcmp(v->splits[i].file, file) == 0 ? &v->splits[i] : s;
    if (!s) {
        if (v->result->fault_count == 0) /* else that index is why */
            manifest_fault(v, "split %s: its index is not among the files", name);
        return;
    }
    compare_count(v, name, says, "samples", s->view.sample_count);
    compare_count(v, name, says, "shards", s->view.shard_count);
    snprintf(hash, sizeof hash, "%016" PRIx64, s->view.content_hash);
    text = json_string_value(json_object_get(says, "content_xxh3"));
    if (!text || strcmp(text, hash) != 0)
        manifest_fault(v, "split %s: content_xxh3 is %s, the index has %s", name, text ? text : "absent", hash);
    same_as = json_string_value(json_object_get(says, "same_as"));
    if (strcmp(same_as ? same_as : name, s->view.meta.shard_prefix) != 0)
        manifest_fault(v, "split %s: its samples are said to be in the shards of %s, the index names %s", name,
                       same_as ? same_as : name, s->view.meta.shard_prefix);
    text = json_string_value(json_object_get(manifest, "task"));
    if (!text || strcmp(text, tasks[s->view.meta.task]) != 0)
        manifest_fault(v, "the task is %s, in the index of split %s it is %s", text ? text : "absent", name,
                       tasks[s->view.meta.task]);
    compare_classes(v, name, json_object_get(manifest, "classes"), &s->view);
}

static void compare_flip_index(struct verifier *v, const json_t *options) {
    struct flip_index flip;
    if (!pack_manifest_flip_index(&flip, options)) {
        manifest_fault(v, "flip_idx is no list of key points, each the number of one of them");
        return;
    }
    for (size_t i = 0; flip.count > 0 && i < v->split_count; i++) {
        unsigned points = v->splits[i].view.meta.keypoint_count;
        if (flip.count != points)
            manifest_fault(v, "flip_idx has %" PRIu32 " entries, labels in %s have %u key points", flip.count,
                           v->splits[i].file, points);
    }
}

static void compare_manifest(struct verifier *v, json_t *manifest) {
    const char *name;
    json_t *says;
    json_object_foreach(json_object_get(manifest, "splits"), name, says) {
        compare_split(v, name, says, manifest);
    }
    compare_flip_index(v, json_object_get(manifest, "options"));
}

static int check_files(struct verifier *v, struct error *error) {
    json_t *manifest;
    int rc = manifest_read(&manifest, v->pack, error);
    if (rc)
        return rc == ERR_CORRUPT ? fault_or_stop(v, error) : rc;
    const json_t *files = json_object_get(manifest, "files");
    size_t count = json_array_size(files), i;
    v->splits = calloc(count + 1, sizeof *v->splits);
    if (!v->splits)
        rc = error_set(error, ERR_MEMORY, "%s: out of memory", v->pack);
    for (i = 0; i < count && !rc; i++)
        rc = is_cancelled(v) ? error_set(error, ERR_INTERRUPTED, "%s: interrupted", v->pack)
                             : check_entry(v, json_array_get(files, i), error);
    if (!rc)
        compare_manifest(v, manifest);
    json_decref(manifest);
    v->result->split_count = v->split_count;
    if (!rc && !v->split_count && !v->result->fault_count)
        fault_report(v, "a pack without any index");
    return rc;
}

static void verifier_deinit(struct verifier *v) {
    for (size_t i = 0; i < v->split_count; i++)
        file_unmap(&v->splits[i].map);
    free(v->splits);
    free(v->tasks);
    pthread_mutex_destroy(&v->mutex);
}

static int set_verdict(const struct verifier *v, struct error *error) {
    const struct verify_result *r = v->result;
    if (!r->fault_count)
        return 0;
    return error_set(error, ERR_CORRUPT,
                     "%s: %" PRIu64 " fault%s; of %" PRIu64 " samples that could be checked, %" PRIu64
                     " are damaged; copy the pack again, or pack its source again",
                     v->pack, r->fault_count, r->fault_count == 1 ? "" : "s", r->sample_count, r->damaged_samples);
}

int verify_pack(struct verify_result *result, const char *pack, const struct verify_options *options,
                struct error *error) {
    static const struct verify_options defaults;
    struct verifier v = {.pack = pack, .options = options ? options : &defaults, .result = result};
    struct error inner = {0};
    *result = (struct verify_result){0};
    pthread_mutex_init(&v.mutex, NULL);
    int rc = check_files(&v, &inner);
    if (!rc) {
        run_all(&v);
        inner = v.stop;
        rc = inner.code;
    }
    if (!rc)
        rc = set_verdict(&v, &inner);
    if (error && rc)
        *error = inner;
    verifier_deinit(&v);
    return rc;
}
