/*
 * Opening a split costs the same for any number of samples: the index is mapped and its header checked, and each shard
 * shows its length and first pages. Shards are mapped when the first record of theirs is wanted, staged ones at once, so that
 * they stay whatever becomes of the copy; no descriptor stays open.
 */
#include "dataset.h"

#include "api_error.h"
#include "file.h"
#include "staged.h"
#include "suggest.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>
#include <xxhash.h>

#define INDEX_SUFFIX ".index"
#define MANIFEST_NAME "pack.json"
#define MANIFEST_LIMIT_BYTES (64u << 20)
#define SPLITS_SUGGESTED 64

/* ---- shards ------------------------------------------------------------------------------------------------------ */

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

static int shard_probe(const struct ypk_dataset *ds, uint64_t shard, struct error *error) {
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

/* Maps the staged file of a shard. One that is not there is no error: it is read from the pack. */
static int shard_map_staged(const struct ypk_dataset *ds, uint64_t shard, struct error *error) {
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
 * Asks for the pages of one record at once. Faults on a cold map otherwise cost either a disk access a page (MADV_RANDOM
 * alone: over ten times as long), or read around and ahead of what is wanted (without it: ten times the bytes).
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

/* A fault maps what the page cache has around it too, at most all of such a stretch of addresses (x86-64's large page). */
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

/* ---- splits ------------------------------------------------------------------------------------------------------ */

static int is_index(const struct dirent *entry) {
    size_t length = strlen(entry->d_name), suffix = sizeof INDEX_SUFFIX - 1;
    return length > suffix && strcmp(entry->d_name + length - suffix, INDEX_SUFFIX) == 0;
}

struct split_list {
    struct dirent **entries; /* names without their suffix */
    int count;
    char text[512]; /* "train, val" */
};

static int split_list_init(struct split_list *list, const char *root, struct error *error) {
    *list = (struct split_list){0};
    list->count = scandir(root, &list->entries, is_index, alphasort);
    if (list->count < 0) {
        list->count = 0;
        return error_set_errno(error, errno, "%s: cannot list", root);
    }
    for (int i = 0; i < list->count; i++) {
        char *name = list->entries[i]->d_name;
        size_t used = strlen(list->text);
        name[strlen(name) - (sizeof INDEX_SUFFIX - 1)] = 0;
        snprintf(list->text + used, sizeof list->text - used, "%s%s", i ? ", " : "", name);
    }
    return 0;
}

static void split_list_deinit(struct split_list *list) {
    for (int i = 0; i < list->count; i++)
        free(list->entries[i]);
    free(list->entries);
}

static int refuse_split(const struct split_list *list, const char *root, const char *split, struct error *error) {
    const char *names[SPLITS_SUGGESTED];
    size_t count = 0;
    for (int i = 0; i < list->count && count < SPLITS_SUGGESTED; i++)
        names[count++] = list->entries[i]->d_name;
    const char *nearest = suggest_nearest(split, names, count);
    return error_set(error, ERR_NOT_FOUND, "%s: has no split \"%s\"%s%s%s; it has %s", root, split,
                     nearest ? " (did you mean " : "", nearest ? nearest : "", nearest ? "?)" : "", list->text);
}

static bool split_exists(const struct split_list *list, const char *split) {
    for (int i = 0; i < list->count; i++)
        if (strcmp(list->entries[i]->d_name, split) == 0)
            return true;
    return false;
}

/* True if the manifest names a file of this split that a whole pack has. */
static bool manifest_names(const struct bytes *manifest, const char *split) {
    char name[INDEX_PREFIX_BYTES + 16];
    int length = snprintf(name, sizeof name, "\"%s" INDEX_SUFFIX "\"", split);
    return length > 0 && (size_t)length < sizeof name && manifest->size > 0 &&
           memmem(manifest->data, manifest->size, name, (size_t)length) != NULL;
}

/* The manifest is copied and published last: without it, or without an index that it names, the pack is not whole. */
static int check_whole(const struct ypk_dataset *ds, const struct split_list *list, const char *split,
                       struct error *error) {
    struct bytes manifest = {0};
    struct error fault = {0};
    char *path = path_join(ds->root, MANIFEST_NAME);
    int rc = path ? file_read(&manifest, AT_FDCWD, path, MANIFEST_LIMIT_BYTES, &fault) : ERR_MEMORY;
    if (rc == ERR_NOT_FOUND && !list->count)
        rc = error_set(error, ERR_NOT_FOUND, "%s: is no pack: there is no *" INDEX_SUFFIX " in it", ds->root);
    else if (rc == ERR_NOT_FOUND)
        rc = error_set(error, ERR_CORRUPT,
                       "%s: is not a complete pack: no " MANIFEST_NAME
                       ". Copy it again, or go on with an interrupted run by --resume",
                       ds->root);
    else if (rc)
        rc = error_set(error, rc, "%s", path ? fault.message : "out of memory");
    else if (!split_exists(list, split) && manifest_names(&manifest, split))
        rc = error_set(error, ERR_CORRUPT,
                       "%s: %s" INDEX_SUFFIX " is missing, and " MANIFEST_NAME " names it. Copy the pack again",
                       ds->root, split);
    bytes_deinit(&manifest);
    free(path);
    return rc;
}

/* The split that is meant: the wanted one, or "train", or the only one. */
static int pick_split(struct ypk_dataset *ds, const struct split_list *list, const char *wanted, struct error *error) {
    const char *split = wanted ? wanted : "train";
    int rc = check_whole(ds, list, split, error);
    if (rc)
        return rc;
    if (!wanted && list->count == 1)
        split = list->entries[0]->d_name;
    if (!list->count)
        return error_set(error, ERR_NOT_FOUND, "%s: is no pack: there is no *" INDEX_SUFFIX " in it", ds->root);
    if (!split_exists(list, split) && wanted)
        return refuse_split(list, ds->root, split, error);
    if (!split_exists(list, split))
        return error_set(error, ERR_ARGUMENT, "%s: has no split \"train\": name one of %s", ds->root, list->text);
    ds->split = strdup(split);
    if (!ds->split || asprintf(&ds->index_path, "%s/%s" INDEX_SUFFIX, ds->root, split) < 0) {
        ds->index_path = NULL;
        return error_set(error, ERR_MEMORY, "%s: out of memory", ds->root);
    }
    return 0;
}

static int choose_split(struct ypk_dataset *ds, const char *wanted, struct error *error) {
    struct split_list list;
    int rc = split_list_init(&list, ds->root, error);
    if (!rc)
        rc = pick_split(ds, &list, wanted, error);
    split_list_deinit(&list);
    return rc;
}

/* ---- open and close ---------------------------------------------------------------------------------------------- */

/* File systems on which another machine may cut a file that is mapped here. Magic numbers of statfs(2). */
static bool is_remote(const char *path) {
    static const uint32_t magics[] = {
        0x00006969, /* NFS */ 0x0000517b,     /* SMB */ 0xfe534d42,    /* SMB2 */ 0xff534d42, /* CIFS */
        0x65735546, /* FUSE */ 0x0bd00bd0,    /* Lustre */ 0x47504653, /* GPFS */ 0x00c36400, /* Ceph */
        0x5346414f, /* AFS */ 0x73757245,     /* Coda */ 0x01021997,   /* 9P */ 0x19830326,   /* BeeGFS */
        0xaad7aaea, /* Panasas */ 0x786f4256,                                                 /* vboxsf */
    };
    struct statfs fs;
    if (statfs(path, &fs))
        return false;
    for (size_t i = 0; i < sizeof magics / sizeof *magics; i++)
        if ((uint32_t)fs.f_type == magics[i])
            return true;
    return false;
}

static int find_root(struct ypk_dataset *ds, const char *path, struct error *error) {
    struct stat st;
    ds->root = realpath(path, NULL);
    if (!ds->root)
        return error_set_errno(error, errno, "%s: cannot open the pack", *path ? path : "\"\"");
    if (stat(ds->root, &st) == 0 && !S_ISDIR(st.st_mode))
        return error_set(error, ERR_NOT_FOUND, "%s: is no pack: a pack is a directory", path);
    return 0;
}

static int open_index(struct ypk_dataset *ds, struct error *error) {
    int rc = file_map(&ds->index_map, ds->index_path, error);
    if (!rc && (rc = index_parse(&ds->index, ds->index_map, error)))
        error_prefix(error, "%s: ", ds->index_path);
    return rc;
}

/* What the manifest says that the split holds; false if it says nothing. As the packer writes it, "index" comes first. */
static bool manifest_content(uint64_t *out, const struct bytes *manifest, const char *split) {
    static const char key[] = "\"content_xxh3\": \"";
    char name[INDEX_PREFIX_BYTES + 32], digits[17] = "";
    int length = snprintf(name, sizeof name, "\"index\": \"%s" INDEX_SUFFIX "\"", split);
    if (length <= 0 || (size_t)length >= sizeof name || manifest->size == 0)
        return false;
    const uint8_t *end = manifest->data + manifest->size;
    const uint8_t *at = memmem(manifest->data, manifest->size, name, (size_t)length);
    at = at ? memmem(at, (size_t)(end - at), key, sizeof key - 1) : NULL;
    if (!at || (size_t)(end - at) < sizeof key - 1 + 16)
        return false;
    memcpy(digits, at + sizeof key - 1, 16);
    char *after;
    *out = strtoull(digits, &after, 16);
    return after == digits + 16;
}

/* An index that took the name of another: of the test set, or of a pack with the same pictures. */
static int check_content(const struct ypk_dataset *ds, struct error *error) {
    struct bytes manifest = {0};
    uint64_t expected;
    char *path = path_join(ds->root, MANIFEST_NAME);
    int rc = path ? file_read(&manifest, AT_FDCWD, path, MANIFEST_LIMIT_BYTES, error)
                  : error_set(error, ERR_MEMORY, "%s: out of memory", ds->root);
    if (!rc && manifest_content(&expected, &manifest, ds->split) && expected != ds->index.content_hash)
        rc = error_set(error, ERR_CORRUPT,
                       "%s: is not the index of split %s: its content is %016" PRIx64 ", " MANIFEST_NAME
                       " says %016" PRIx64 ". Copy the pack again",
                       ds->index_path, ds->split, ds->index.content_hash, expected);
    bytes_deinit(&manifest);
    free(path);
    return rc;
}

static int open_shards(struct ypk_dataset *ds, int stage, struct error *error) {
    int rc = staged_find(&ds->staged, ds->root, stage, error);
    if (rc)
        return rc;
    ds->shards = calloc((size_t)ds->index.shard_count + 1, sizeof *ds->shards);
    if (!ds->shards)
        return error_set(error, ERR_MEMORY, "%s: out of memory", ds->root);
    for (uint64_t i = 0; i < ds->index.shard_count && !rc; i++) {
        struct index_shard row;
        if ((rc = index_shard(&ds->index, i, &row, error))) {
            error_prefix(error, "%s: ", ds->index_path);
            break;
        }
        ds->shards[i].file_bytes = row.file_bytes;
        ds->shards[i].head_hash = row.head_hash;
        ds->shards_bytes += row.file_bytes;
        if (ds->staged)
            rc = shard_map_staged(ds, i, error);
        ds->staged_count += ds->shards[i].staged;
        if (!rc && !ds->shards[i].staged)
            rc = shard_probe(ds, i, error);
    }
    if (!rc && stage == YPK_STAGE_REQUIRE && ds->staged_count < ds->index.shard_count)
        rc = error_set(error, ERR_NOT_FOUND,
                       "%s: only %" PRIu64 " of the %" PRIu64 " shards of split %s are staged (yolopack stage %s)",
                       ds->root, ds->staged_count, ds->index.shard_count, ds->split, ds->root);
    return rc;
}

/* Knows the struct of this header and larger ones of later headers whose further fields are not used. */
static int take_options(ypk_dataset_options *out, const ypk_dataset_options *options, struct error *error) {
    *out = (ypk_dataset_options){.size = sizeof *out};
    if (!options)
        return 0;
    if (options->size < sizeof *out)
        return error_set(error, ERR_ARGUMENT, "the options' size is %zu: set it to sizeof(ypk_dataset_options), %zu",
                         options->size, sizeof *out);
    for (size_t i = sizeof *out; i < options->size; i++)
        if (((const uint8_t *)options)[i])
            return error_set(error, ERR_ARGUMENT, "the options (%zu bytes) use a field that this library does not know",
                             options->size);
    memcpy(out, options, sizeof *out);
    if (out->io < YPK_IO_AUTO || out->io > YPK_IO_PREAD)
        return error_set(error, ERR_ARGUMENT, "io %d is none of YPK_IO_AUTO, YPK_IO_MMAP and YPK_IO_PREAD", out->io);
    if (out->stage < YPK_STAGE_AUTO || out->stage > YPK_STAGE_REQUIRE)
        return error_set(error, ERR_ARGUMENT, "stage %d is none of YPK_STAGE_AUTO, YPK_STAGE_OFF and YPK_STAGE_REQUIRE",
                         out->stage);
    return 0;
}

static int dataset_open(struct ypk_dataset *ds, const char *path, const ypk_dataset_options *options,
                        struct error *error) {
    ypk_dataset_options o;
    int rc = take_options(&o, options, error);
    ds->drops = !rc && o.drop_behind;
    if (!rc)
        rc = find_root(ds, path, error);
    if (!rc)
        rc = choose_split(ds, o.split, error);
    if (!rc)
        rc = open_index(ds, error);
    if (!rc)
        rc = check_content(ds, error);
    if (!rc)
        rc = open_shards(ds, o.stage, error);
    if (!rc)
        ds->reads = o.io == YPK_IO_PREAD || (o.io == YPK_IO_AUTO && is_remote(ds->root));
    return rc;
}

int ypk_dataset_open(ypk_dataset **out, const char *path, const ypk_dataset_options *options, ypk_error *error) {
    struct error inner = {0};
    if (out)
        *out = NULL;
    if (!out || !path) {
        error_set(&inner, ERR_ARGUMENT, "ypk_dataset_open: out and path must not be NULL");
        return api_fail(error, &inner);
    }
    ypk_dataset *ds = calloc(1, sizeof *ds);
    int rc = ds ? dataset_open(ds, path, options, &inner) : error_set(&inner, ERR_MEMORY, "%s: out of memory", path);
    if (rc) {
        ypk_dataset_close(&ds);
        return api_fail(error, &inner);
    }
    *out = ds;
    return YPK_OK;
}

void ypk_dataset_close(ypk_dataset **dataset) {
    if (!dataset || !*dataset)
        return;
    ypk_dataset *ds = *dataset;
    *dataset = NULL;
    for (uint64_t i = 0; ds->shards && i < ds->index.shard_count; i++) {
        const uint8_t *map = atomic_load_explicit(&ds->shards[i].map, memory_order_acquire);
        if (map)
            munmap((void *)map, (size_t)ds->shards[i].file_bytes);
    }
    free(ds->shards);
    file_unmap(&ds->index_map);
    free(ds->staged);
    free(ds->index_path);
    free(ds->split);
    free(ds->root);
    free(ds);
}

/* ---- what the index says ----------------------------------------------------------------------------------------- */

_Static_assert(sizeof(ypk_label) == sizeof(struct index_label) &&
                   offsetof(ypk_label, class_id) == offsetof(struct index_label, class_id) &&
                   offsetof(ypk_label, point_count) == offsetof(struct index_label, point_count) &&
                   offsetof(ypk_label, x) == offsetof(struct index_label, x) &&
                   offsetof(ypk_label, height) == offsetof(struct index_label, height),
               "labels are lent as they lie in the index");
_Static_assert((int)YPK_DETECT == (int)TASK_DETECT && (int)YPK_SEGMENT == (int)TASK_SEGMENT &&
                   (int)YPK_POSE == (int)TASK_POSE && (int)YPK_OBB == (int)TASK_OBB &&
                   (int)YPK_RGB == (int)MODALITY_RGB && (int)YPK_IR == (int)MODALITY_IR,
               "public and internal numbers are equal");

void ypk_dataset_get_info(const ypk_dataset *ds, ypk_dataset_info *out) {
    const struct index_view *v = &ds->index;
    *out = (ypk_dataset_info){.sample_count = v->sample_count,
                              .label_count = v->label_count,
                              .point_count = v->point_count,
                              .shard_count = v->shard_count,
                              .payload_bytes = ds->shards_bytes,
                              .content_hash = v->content_hash,
                              .class_count = (uint32_t)v->class_count,
                              .task = v->meta.task,
                              .modalities = v->meta.modalities,
                              .keypoint_count = v->meta.keypoint_count,
                              .point_dims = v->meta.point_dims,
                              .rgb_max_width = v->rgb_max_width,
                              .rgb_max_height = v->rgb_max_height,
                              .ir_max_width = v->ir_max_width,
                              .ir_max_height = v->ir_max_height,
                              .max_record_bytes = v->max_record_bytes,
                              .max_label_count = v->max_label_count,
                              .staged_shard_count = ds->staged_count,
                              .split = ds->split};
}

const char *ypk_dataset_class_name(const ypk_dataset *ds, uint32_t class_id) {
    return ds ? index_class_name(&ds->index, class_id) : NULL;
}

static ypk_image image_of(uint8_t format, uint32_t bytes, uint64_t hash, uint16_t width, uint16_t height) {
    return (ypk_image){.width = width,
                       .height = height,
                       .payload_bytes = bytes,
                       .hash = hash,
                       .codec = format & 0x0f,
                       .is_gray = (format & IMAGE_GRAY) != 0,
                       .is_transcoded = (format & IMAGE_TRANSCODED) != 0};
}

int ypk_dataset_sample(const ypk_dataset *ds, uint64_t index, ypk_sample *out, ypk_error *error) {
    struct error inner = {0};
    struct index_sample s;
    int rc;
    if (!ds || !out)
        rc = error_set(&inner, ERR_ARGUMENT, "ypk_dataset_sample: dataset and out must not be NULL");
    else if ((rc = index_sample(&ds->index, index, &s, &inner)))
        error_prefix(&inner, "%s: ", ds->index_path);
    if (rc)
        return api_fail(error, &inner);
    *out = (ypk_sample){.name = index_sample_name(&s),
                        .rgb_name = s.rgb_name,
                        .ir_name = s.ir_name,
                        .label_name = s.label_name,
                        .rgb = image_of(s.rgb_format, s.rgb_bytes, s.rgb_hash, s.rgb_width, s.rgb_height),
                        .ir = image_of(s.ir_format, s.ir_bytes, s.ir_hash, s.ir_width, s.ir_height),
                        .labels = (const ypk_label *)(const void *)s.labels,
                        .label_count = s.label_count,
                        .points = s.points,
                        .point_count = s.point_count};
    return YPK_OK;
}

int ypk_dataset_find(const ypk_dataset *ds, const char *name, uint64_t *index, ypk_error *error) {
    struct error inner = {0};
    int rc;
    if (!ds || !name || !index)
        rc = error_set(&inner, ERR_ARGUMENT, "ypk_dataset_find: dataset, name and index must not be NULL");
    else if ((rc = index_find(&ds->index, name, index, &inner)))
        error_prefix(&inner, "%s: ", ds->index_path);
    return rc ? api_fail(error, &inner) : YPK_OK;
}
