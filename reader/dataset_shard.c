/*
 * The shards of a dataset: files that are checked when it is opened and mapped when the first record of theirs is
 * wanted. Any thread may be the first, and there is no lock: who comes second takes the first one's map.
 */
#include "dataset_shard.h"

#include "bytes.h"
#include "file.h"
#include "hash.h"
#include "record.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static char *path_of_shard(const struct ypk_dataset *ds, uint64_t shard, const char *directory) {
    char name[INDEX_SHARD_NAME_BYTES];
    index_shard_name(name, ds->index.meta.shard_prefix, shard);
    return path_join(directory, name);
}

static char *shard_path(const struct ypk_dataset *ds, uint64_t shard) {
    return path_of_shard(ds, shard, ds->root);
}

const char *dataset_shard_directory(const struct ypk_dataset *ds, uint64_t shard) {
    return ds->shards[shard].staged ? ds->staged : ds->root;
}

/* What a cut, exchanged or half-copied shard shows: its length, and LMDB's two meta pages. */
static int shard_check(const struct ypk_dataset *ds, const struct dataset_shard *s, int fd, const char *path,
                       struct error *error) {
    struct stat st;
    size_t head_bytes = 2 * (size_t)ds->index.meta.page_bytes;
    if (fstat(fd, &st))
        return error_set_errno(error, errno, "%s: cannot stat", path);
    if (!S_ISREG(st.st_mode))
        return error_set(error, ERR_CORRUPT, "%s: is no regular file", path);
    if ((uint64_t)st.st_size != s->file_bytes || s->file_bytes < head_bytes)
        return error_set(error, ERR_CORRUPT,
                         "%s: has %" PRIu64 " bytes, the index says %" PRIu64
                         " (a copy that is not complete, or of another pack)",
                         path, (uint64_t)st.st_size, s->file_bytes);
    uint8_t *head = malloc(head_bytes);
    if (!head)
        return error_set(error, ERR_MEMORY, "%s: out of memory", path);
    int rc = file_pread_all(fd, head, head_bytes, 0, path, error);
    uint64_t found = rc ? 0 : XXH3_64bits(head, head_bytes);
    free(head);
    if (!rc && found != s->head_hash)
        rc = error_set(error, ERR_CORRUPT,
                       "%s: is not the shard that the index describes: first pages have hash %016" PRIx64
                       ", expected %016" PRIx64 " (after a compacting copy: yolopack reindex)",
                       path, found, s->head_hash);
    return rc;
}

/* O_NONBLOCK: a FIFO in a shard's place must not hang the reader. */
static int shard_open(int *fd, const char *path, struct error *error) {
    *fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (*fd >= 0)
        return 0;
    if (errno == ENOENT)
        return error_set(error, ERR_CORRUPT, "%s: the shard is missing (a copy that is not complete?)", path);
    return error_set_errno(error, errno, "%s: cannot open the shard", path);
}

/* Gives up the page cache of a range. Pages that are mapped somewhere stay; failing costs no more than that. */
static void forget_range(int fd, uint64_t offset, uint64_t size) {
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), start = offset / page * page;
    (void)posix_fadvise(fd, (off_t)start, (off_t)(offset + size - start), POSIX_FADV_DONTNEED);
}

int dataset_shard_probe(const struct ypk_dataset *ds, uint64_t shard, struct error *error) {
    int fd = -1;
    char *path = shard_path(ds, shard);
    if (!path)
        return error_set(error, ERR_MEMORY, "%s: out of memory", ds->root);
    int rc = shard_open(&fd, path, error);
    if (!rc) {
        rc = shard_check(ds, &ds->shards[shard], fd, path, error);
        if (ds->drops) /* what was left of writing it lies in large pieces, which go as a whole or not at all */
            forget_range(fd, 0, ds->shards[shard].file_bytes);
        close(fd);
    }
    free(path);
    return rc;
}

/* Checked here too: the file may have been exchanged since the dataset was opened. */
static int shard_map_file(const struct ypk_dataset *ds, const struct dataset_shard *s, int fd, const char *path,
                          void **out, struct error *error) {
    int rc = shard_check(ds, s, fd, path, error);
    if (!rc) {
        *out = mmap(NULL, (size_t)s->file_bytes, PROT_READ, MAP_SHARED, fd, 0);
        if (*out == MAP_FAILED)
            rc = error_set_errno(error, errno,
                                 "%s: cannot map its %" PRIu64 " bytes (address space is limited? see ulimit -v, or"
                                 " open with pread)",
                                 path, s->file_bytes);
    }
    return rc;
}

static int shard_map(const struct ypk_dataset *ds, uint64_t shard, const uint8_t **out, struct error *error) {
    struct dataset_shard *s = &ds->shards[shard];
    void *map;
    *out = atomic_load_explicit(&s->map, memory_order_acquire);
    if (*out)
        return 0;
    char *path = shard_path(ds, shard);
    if (!path)
        return error_set(error, ERR_MEMORY, "%s: out of memory", ds->root);
    int fd, rc = shard_open(&fd, path, error);
    if (!rc) {
        rc = shard_map_file(ds, s, fd, path, &map, error);
        close(fd);
    }
    free(path);
    if (rc)
        return rc;
    (void)madvise(map, (size_t)s->file_bytes, MADV_RANDOM); /* record_ask() says what is wanted instead */
    const uint8_t *expected = NULL;
    if (!atomic_compare_exchange_strong_explicit(&s->map, &expected, map, memory_order_acq_rel, memory_order_acquire)) {
        munmap(map, (size_t)s->file_bytes); /* another thread was first */
        map = (void *)expected;
    }
    *out = map;
    return 0;
}

int dataset_shard_map_staged(const struct ypk_dataset *ds, uint64_t shard, struct error *error) {
    struct dataset_shard *s = &ds->shards[shard];
    void *map;
    char *path = path_of_shard(ds, shard, ds->staged);
    if (!path)
        return error_set(error, ERR_MEMORY, "%s: out of memory", ds->root);
    int rc = 0, fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0 && errno != ENOENT)
        rc = error_set_errno(error, errno, "%s: cannot open the staged shard", path);
    if (fd >= 0) {
        rc = shard_map_file(ds, s, fd, path, &map, error);
        close(fd);
    }
    if (rc)
        error_prefix(error, "the staged copy of %s does not fit it (yolopack unstage --all %s, then stage it again): ",
                     ds->root, ds->root);
    free(path);
    if (rc || fd < 0)
        return rc;
    s->staged = true;
    atomic_store_explicit(&s->map, map, memory_order_release);
    return 0;
}

static int shard_read(const struct ypk_dataset *ds, uint64_t shard, uint64_t offset, size_t size, struct bytes *scratch,
                      struct error *error) {
    int fd = -1;
    char *path = shard_path(ds, shard);
    scratch->size = 0;
    int rc = path ? bytes_reserve(scratch, size) : ERR_MEMORY;
    if (rc)
        error_set(error, rc, "%s: out of memory for a record of %zu bytes", ds->root, size);
    if (!rc)
        rc = shard_open(&fd, path, error);
    if (!rc) {
        rc = file_pread_all(fd, scratch->data, size, offset, path, error);
        if (ds->drops)
            forget_range(fd, offset, size);
        close(fd);
    }
    if (!rc)
        scratch->size = size;
    free(path);
    return rc;
}

/*
 * Asks for the pages of one record at once. Faults on a cold map otherwise cost either a disk access a page
 * (MADV_RANDOM alone: over ten times as long), or read around and ahead of what is wanted (without it: ten times the
 * bytes).
 */
static void record_ask(const uint8_t *record, size_t size) {
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    size_t in_page = (uintptr_t)record & (page - 1);
    (void)madvise((void *)(record - in_page), size + in_page, MADV_WILLNEED);
}

int dataset_record(const struct ypk_dataset *ds, const struct index_sample *sample, struct bytes *scratch,
                   struct span *out, struct error *error) {
    size_t size = (size_t)record_bytes(sample->rgb_bytes, sample->ir_bytes);
    const uint8_t *map = NULL;
    bool reads = ds->reads && !ds->shards[sample->shard].staged;
    int rc = reads ? shard_read(ds, sample->shard, sample->record_offset, size, scratch, error)
                   : shard_map(ds, sample->shard, &map, error);
    if (rc)
        return rc;
    *out = (struct span){reads ? scratch->data : map + sample->record_offset, size};
    if (!reads)
        record_ask(out->data, size);
    return 0;
}

/* A fault maps what the page cache has around it too, at most all of such a stretch of addresses (x86-64's
 * large page). */
#define FAULT_AROUND_BYTES ((uintptr_t)2 << 20)

static void shard_unmap_range(const struct dataset_shard *s, uint64_t offset, uint64_t size) {
    const uint8_t *map = atomic_load_explicit(&s->map, memory_order_acquire);
    uintptr_t first = (uintptr_t)map, last = first + (uintptr_t)s->file_bytes;
    uintptr_t start = (first + (uintptr_t)offset) / FAULT_AROUND_BYTES * FAULT_AROUND_BYTES;
    uintptr_t end = align_up(first + (uintptr_t)(offset + size), FAULT_AROUND_BYTES);
    start = start > first ? start : first;
    end = end < last ? end : last;
    if (map)
        (void)madvise((void *)start, (size_t)(end - start), MADV_DONTNEED);
}

/* Raw planes may be looked at where they lie, for longer than the record itself is. */
static bool holds_raw(const struct index_sample *sample) {
    return (sample->rgb_format & 0x0f) == CODEC_RAW || (sample->ir_format & 0x0f) == CODEC_RAW;
}

void dataset_record_done(const struct ypk_dataset *ds, const struct index_sample *sample) {
    const struct dataset_shard *s = &ds->shards[sample->shard];
    uint64_t size = record_bytes(sample->rgb_bytes, sample->ir_bytes);
    if (ds->reads || s->staged)
        return;
    if (ds->drops || !holds_raw(sample))
        shard_unmap_range(s, sample->record_offset, size);
    if (!ds->drops)
        return;
    char *path = shard_path(ds, sample->shard);
    int fd = path ? open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK) : -1;
    if (fd >= 0) {
        forget_range(fd, sample->record_offset, size);
        close(fd);
    }
    free(path);
}

void dataset_shard_unmap(struct dataset_shard *s) {
    const uint8_t *map = atomic_load_explicit(&s->map, memory_order_acquire);
    if (map)
        munmap((void *)map, (size_t)s->file_bytes);
}
