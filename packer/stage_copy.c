#include "stage_copy.h"

#include "cpus.h"
#include "file.h"
#include "hash.h"
#include "manifest.h"
#include "shard.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PARTIAL ".partial"
#define BUFFER_BYTES ((size_t)256 << 10)
#define PROGRESS_BYTES (UINT64_C(4) << 20)
#define BLOCK_BYTES UINT64_C(4096) /* a file's last page is a whole one */

enum { JOBS_LIMIT = 256 };

/* ---- what belongs to a pack -------------------------------------------------------------------------------------- */

static int add_file(struct stage_list *list, const struct stage_file *file, struct error *error) {
    struct stage_file *files = realloc(list->files, (list->file_count + 1) * sizeof *files);
    if (files)
        list->files = files;
    char *name = files ? strdup(file->name) : NULL;
    if (!name)
        return error_set(error, ERR_MEMORY, "%s: out of memory", list->pack);
    files[list->file_count] = *file;
    files[list->file_count++].name = name;
    list->bytes += file->bytes;
    return 0;
}

/* Splits that name the same samples share their shards. */
static bool shards_are_listed(const struct stage_list *list, const struct stage_split *split) {
    for (const struct stage_split *s = list->splits; s < split; s++)
        if (strcmp(s->view.meta.shard_prefix, split->view.meta.shard_prefix) == 0)
            return true;
    return false;
}

static int add_shards(struct stage_list *list, const struct stage_split *split, uint32_t rank, uint32_t world,
                      struct error *error) {
    if (shards_are_listed(list, split))
        return 0;
    list->pack_shard_count += split->view.shard_count;
    for (uint64_t i = rank; i < split->view.shard_count; i += world) {
        char name[INDEX_SHARD_NAME_BYTES];
        struct index_shard shard;
        int rc = index_shard(&split->view, i, &shard, error);
        if (rc)
            return rc;
        index_shard_name(name, split->view.meta.shard_prefix, i);
        struct stage_file file = {.name = name, .bytes = shard.file_bytes, .split = split, .shard = i};
        if ((rc = add_file(list, &file, error)))
            return rc;
        list->shard_count++;
    }
    return 0;
}

static int add_split(struct stage_list *list, const char *name, uint32_t rank, uint32_t world, struct error *error) {
    struct stage_split *split = &list->splits[list->split_count];
    char *path = path_join(list->pack, name);
    if (!path)
        return error_set(error, ERR_MEMORY, "%s: out of memory", list->pack);
    int rc = file_map(&split->map, path, error);
    if (rc == 0) {
        list->split_count++;
        rc = index_parse(&split->view, split->map, error);
        if (rc == 0)
            rc = add_shards(list, split, rank, world, error);
        if (rc)
            error_prefix(error, "%s: ", path);
    }
    free(path);
    return rc;
}

static int add_entry(struct stage_list *list, const json_t *entry, uint32_t rank, uint32_t world, struct error *error) {
    struct manifest_file listed;
    int rc = manifest_file(&listed, entry, error);
    if (rc || !listed.has_hash) /* a shard: its index has its hashes */
        return rc;
    struct stage_file file = {.name = (char *)listed.name, .bytes = listed.bytes, .hash = listed.hash};
    rc = add_file(list, &file, error);
    if (rc == 0 && strcmp(path_suffix(listed.name), "index") == 0)
        rc = add_split(list, listed.name, rank, world, error);
    return rc;
}

static int add_manifest(struct stage_list *list, struct error *error) {
    struct stage_file file = {.name = MANIFEST_NAME};
    char *path = path_join(list->pack, MANIFEST_NAME);
    if (!path)
        return error_set(error, ERR_MEMORY, "%s: out of memory", list->pack);
    int rc = manifest_hash_file(&file.bytes, &file.hash, path, error);
    if (rc == 0)
        rc = add_file(list, &file, error);
    free(path);
    return rc;
}

int stage_list_init(struct stage_list *out, const char *pack, uint32_t rank, uint32_t world, struct error *error) {
    *out = (struct stage_list){.pack = pack};
    json_t *manifest;
    int rc = manifest_read(&manifest, pack, error);
    if (rc)
        return rc;
    const json_t *entries = json_object_get(manifest, "files");
    size_t count = json_array_size(entries);
    out->splits = calloc(count + 1, sizeof *out->splits);
    if (!out->splits) {
        json_decref(manifest);
        return error_set(error, ERR_MEMORY, "%s: out of memory", pack);
    }
    for (size_t i = 0; rc == 0 && i < count; i++)
        rc = add_entry(out, json_array_get(entries, i), rank, world, error);
    if (rc == 0)
        rc = add_manifest(out, error);
    json_decref(manifest);
    if (rc)
        stage_list_deinit(out);
    return rc;
}

void stage_list_deinit(struct stage_list *list) {
    for (size_t i = 0; i < list->file_count; i++)
        free(list->files[i].name);
    for (size_t i = 0; i < list->split_count; i++)
        file_unmap(&list->splits[i].map);
    free(list->files);
    free(list->splits);
    *list = (struct stage_list){0};
}

/* ---- what is there already --------------------------------------------------------------------------------------- */

/* A shard that has its name was whole when it got it: length and first pages tell whether it still is the same file. */
static bool is_present(const struct stage_file *file, const char *path) {
    if (!file->split) {
        uint64_t bytes, hash;
        return manifest_hash_file(&bytes, &hash, path, NULL) == 0 && bytes == file->bytes && hash == file->hash;
    }
    struct index_shard shard, found;
    return index_shard(&file->split->view, file->shard, &shard, NULL) == 0 &&
           shard_head(&found, path, file->split->view.meta.page_bytes, NULL) == 0 &&
           found.file_bytes == shard.file_bytes && found.head_hash == shard.head_hash;
}

int stage_list_compare(struct stage_list *list, const char *directory, uint64_t *missing, struct error *error) {
    *missing = 0;
    for (size_t i = 0; i < list->file_count; i++) {
        struct stage_file *file = &list->files[i];
        char *path = path_join(directory, file->name);
        if (!path)
            return error_set(error, ERR_MEMORY, "%s: out of memory", directory);
        file->present = is_present(file, path);
        int rc = !file->present && unlink(path) != 0 && errno != ENOENT
                     ? error_set_errno(error, errno, "%s: cannot remove", path)
                     : 0;
        free(path);
        if (rc)
            return rc;
        if (!file->present)
            *missing += align_up(file->bytes, BLOCK_BYTES);
    }
    return 0;
}

int stage_remove_partial(const char *directory, struct error *error) {
    DIR *dir = opendir(directory);
    if (!dir)
        return error_set_errno(error, errno, "%s: cannot list", directory);
    const struct dirent *entry;
    int rc = 0;
    while (rc == 0 && (entry = readdir(dir)))
        if (strcmp(path_suffix(entry->d_name), &PARTIAL[1]) == 0 && unlinkat(dirfd(dir), entry->d_name, 0) != 0)
            rc = error_set_errno(error, errno, "%s: cannot remove %s", directory, entry->d_name);
    closedir(dir);
    return rc;
}

/* ---- copying ----------------------------------------------------------------------------------------------------- */

struct copier {
    const struct stage_list *list;
    const char *directory;
    const struct stage_copy_options *options;
    int (*each)(struct copier *c, const struct stage_file *file, struct error *error);
    atomic_size_t next;
    uint64_t total_bytes;
    pthread_mutex_t mutex; /* guards everything below, and the callback */
    uint64_t done_bytes;
    struct error stop; /* the first failure */
};

static bool is_cancelled(const struct copier *c) {
    return c->options->cancel && atomic_load_explicit(c->options->cancel, memory_order_relaxed);
}

static int check_cancel(const struct copier *c, struct error *error) {
    return is_cancelled(c) ? error_set(error, ERR_INTERRUPTED, "%s: interrupted", c->list->pack) : 0;
}

static void add_done(struct copier *c, uint64_t bytes) {
    pthread_mutex_lock(&c->mutex);
    c->done_bytes += bytes;
    if (c->options->on_progress)
        c->options->on_progress(c->options->callback_arg, c->done_bytes, c->total_bytes);
    pthread_mutex_unlock(&c->mutex);
}

static char *partial_path(const struct copier *c, const struct stage_file *file) {
    char *path;
    return asprintf(&path, "%s/%s" PARTIAL, c->directory, file->name) < 0 ? NULL : path;
}

static int reserve(int fd, const char *path, uint64_t bytes, struct error *error) {
    int rc;
    while ((rc = posix_fallocate(fd, 0, (off_t)bytes)) == EINTR)
        ;
    if (rc == 0 || rc == EOPNOTSUPP || rc == EINVAL) /* then the writes themselves say that there is no space */
        return 0;
    return error_set_errno(error, rc, "%s: cannot reserve %" PRIu64 " bytes", path, bytes);
}

/* With space reserved a lack of it is known before the first byte is copied. */
static int make_file(struct copier *c, const struct stage_file *file, struct error *error) {
    char *path = partial_path(c, file);
    if (!path)
        return error_set(error, ERR_MEMORY, "%s: out of memory", c->directory);
    int rc = check_cancel(c, error), fd = rc ? -1 : open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (rc == 0 && fd < 0)
        rc = error_set_errno(error, errno, "%s: cannot create", path);
    if (rc == 0 && c->options->reserve && file->bytes)
        rc = reserve(fd, path, file->bytes, error);
    if (fd >= 0)
        close(fd);
    free(path);
    return rc;
}

/* One file on its way. */
struct transfer {
    struct copier *copier;
    const struct stage_file *file;
    const char *from, *to;
    int to_fd;
    uint64_t told_bytes;
    struct error *error;
};

static int tell_progress(struct transfer *t, uint64_t bytes) {
    if (bytes - t->told_bytes < PROGRESS_BYTES && bytes != t->file->bytes)
        return 0;
    add_done(t->copier, bytes - t->told_bytes);
    t->told_bytes = bytes;
    return check_cancel(t->copier, t->error);
}

static int check_payload(const struct transfer *t, const struct index_sample *s, uint64_t row, const char *modality,
                         uint64_t expected, uint64_t found) {
    if (expected == found)
        return 0;
    return error_set(t->error, ERR_CORRUPT,
                     "%s: sample %" PRIu64 " (%s): %s payload does not match its hash (expected %016" PRIx64
                     ", found %016" PRIx64 "); yolopack verify %s lists all that is damaged",
                     t->from, row, index_sample_name(s), modality, expected, found, t->copier->list->pack);
}

static int check_record(void *arg, const struct shard_extent *extent, const struct shard_found *found) {
    struct transfer *t = arg;
    struct index_sample s;
    int rc = index_sample(&t->file->split->view, extent->row, &s, t->error);
    if (rc == 0)
        rc = check_payload(t, &s, extent->row, "RGB", s.rgb_hash, found->rgb_hash);
    if (rc == 0)
        rc = check_payload(t, &s, extent->row, "IR", s.ir_hash, found->ir_hash);
    /* What lies between two records, and before the first, is told with the next. */
    return rc ? rc : tell_progress(t, extent->offset);
}

static int transfer_shard(struct transfer *t) {
    const struct index_view *view = &t->file->split->view;
    struct shard_extent *extents = NULL;
    struct index_shard shard, found;
    int rc = index_shard(view, t->file->shard, &shard, t->error);
    if (rc == 0)
        rc = shard_extents_list(&extents, view, &shard, t->error);
    if (rc == 0)
        rc = shard_copy_file(&found, t->from, t->to_fd, t->to, view->meta.page_bytes, extents, shard.sample_count,
                             check_record, t, t->error);
    free(extents);
    if (rc == 0 && (found.file_bytes != shard.file_bytes || found.head_hash != shard.head_hash ||
                    found.structure_hash != shard.structure_hash))
        rc = error_set(t->error, ERR_CORRUPT,
                       "%s: is not the shard that the index describes, or is damaged (yolopack verify %s says where)",
                       t->from, t->copier->list->pack);
    return rc;
}

static int pump(struct transfer *t, int from_fd, uint8_t *buffer, XXH3_state_t *hash) {
    uint64_t at = 0;
    while (at < t->file->bytes) {
        uint64_t left = t->file->bytes - at;
        size_t n = left < BUFFER_BYTES ? (size_t)left : BUFFER_BYTES;
        int rc = file_pread_all(from_fd, buffer, n, at, t->from, t->error);
        if (rc == 0)
            rc = file_write_all(t->to_fd, buffer, n, t->to, t->error);
        if (rc)
            return rc;
        XXH3_64bits_update(hash, buffer, n);
        at += n;
        if ((rc = tell_progress(t, at)))
            return rc;
    }
    return 0;
}

static int transfer_plain(struct transfer *t) {
    uint8_t *buffer = malloc(BUFFER_BYTES);
    XXH3_state_t *hash = XXH3_createState();
    int rc = 0, fd = open(t->from, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        rc = error_set_errno(t->error, errno, "%s: cannot open", t->from);
    } else if (!buffer || !hash) {
        rc = error_set(t->error, ERR_MEMORY, "%s: out of memory", t->from);
    } else {
        XXH3_64bits_reset(hash);
        rc = pump(t, fd, buffer, hash);
        if (rc == 0 && XXH3_64bits_digest(hash) != t->file->hash)
            rc = error_set(t->error, ERR_CORRUPT, "%s: does not match its hash in " MANIFEST_NAME, t->from);
    }
    if (fd >= 0)
        close(fd);
    XXH3_freeState(hash);
    free(buffer);
    return rc;
}

static int transfer(struct transfer *t) {
    t->to_fd = open(t->to, O_WRONLY | O_CLOEXEC);
    if (t->to_fd < 0)
        return error_set_errno(t->error, errno, "%s: cannot open", t->to);
    int rc = t->file->split ? transfer_shard(t) : transfer_plain(t);
    if (rc == 0 && fdatasync(t->to_fd) != 0) /* nothing to do on a tmpfs */
        rc = error_set_errno(t->error, errno, "%s: cannot sync", t->to);
    close(t->to_fd);
    return rc;
}

/* From the pack to NAME.partial to NAME. */
static int copy_file(struct copier *c, const struct stage_file *file, struct error *error) {
    char *from = path_join(c->list->pack, file->name), *to = partial_path(c, file);
    char *final = path_join(c->directory, file->name);
    struct transfer t = {.copier = c, .file = file, .from = from, .to = to, .to_fd = -1, .error = error};
    int rc;
    if (!from || !to || !final)
        rc = error_set(error, ERR_MEMORY, "%s: out of memory", c->directory);
    else if ((rc = transfer(&t)) == 0 && rename(to, final) != 0)
        rc = error_set_errno(error, errno, "%s: cannot rename to it", final);
    if (rc == 0)
        add_done(c, file->bytes - t.told_bytes);
    free(final);
    free(to);
    free(from);
    return rc;
}

static void *run_files(void *arg) {
    struct copier *c = arg;
    size_t i;
    while ((i = atomic_fetch_add(&c->next, 1)) < c->list->file_count) {
        struct error error = {0};
        const struct stage_file *file = &c->list->files[i];
        if (file->present || c->each(c, file, &error) == 0)
            continue;
        pthread_mutex_lock(&c->mutex);
        if (!c->stop.code)
            c->stop = error;
        pthread_mutex_unlock(&c->mutex);
        atomic_store(&c->next, c->list->file_count);
        break;
    }
    return NULL;
}

/* `each` for every missing file. The caller's thread works too; a thread that does not start is one fewer. */
static int run_all(struct copier *c, int (*each)(struct copier *, const struct stage_file *, struct error *)) {
    pthread_t threads[JOBS_LIMIT];
    size_t jobs = c->options->jobs ? c->options->jobs : cpus_available(), started = 0;
    if (jobs > JOBS_LIMIT)
        jobs = JOBS_LIMIT;
    if (jobs > c->list->file_count)
        jobs = c->list->file_count;
    c->each = each;
    atomic_store(&c->next, 0);
    while (started + 1 < jobs && !pthread_create(&threads[started], NULL, run_files, c))
        started++;
    run_files(c);
    while (started)
        pthread_join(threads[--started], NULL);
    return c->stop.code;
}

int stage_copy(const struct stage_list *list, const char *directory, const struct stage_copy_options *options,
               struct error *error) {
    struct copier c = {.list = list, .directory = directory, .options = options};
    pthread_mutex_init(&c.mutex, NULL);
    for (size_t i = 0; i < list->file_count; i++)
        c.total_bytes += list->files[i].present ? 0 : list->files[i].bytes;
    int rc = run_all(&c, make_file);
    if (rc == 0)
        rc = run_all(&c, copy_file);
    if (rc != 0 && error)
        *error = c.stop;
    pthread_mutex_destroy(&c.mutex);
    return rc;
}
