/*
 * Shards: written through liblmdb, read back by offset.
 *
 *   add  ->  one write transaction per COMMIT_BYTES of records  ->  commit, start writeback
 *   seal ->  last commit, fdatasync  ->  cursor walk: key -> file offset  ->  structure hash, headers compared
 *
 * What makes the same records give the same file: one unnamed database, keys appended in order, commits that depend on
 * nothing but the sizes of the records, a map size that depends on nothing but the limit, and pages that LMDB clears
 * before it uses them (so never MDB_WRITEMAP or MDB_NOMEMINIT).
 */
#include "shard.h"

#include "file.h"
#include "hash.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <lmdb.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#define COMMIT_BYTES (UINT64_C(16) << 20)
#define LIMIT_MAX_BYTES (UINT64_C(1) << 44)
#define LMDB_PAGE_HEADER_BYTES 16u
#define LMDB_KEY_BYTES 8u
#define WRITE_FLAGS (MDB_NOSUBDIR | MDB_NOLOCK | MDB_NOSYNC)
#define READ_FLAGS (MDB_NOSUBDIR | MDB_NOLOCK | MDB_RDONLY)
#define PASS_BUFFER_BYTES ((size_t)512 << 10) /* stays in the L2 cache between read and hash */
#define GAP_BUFFER_BYTES ((size_t)8 << 10)    /* a page's tail and the next record's header */

struct shard_writer {
    char *path;
    MDB_env *env;
    MDB_txn *txn; /* NULL between commit and the next add */
    MDB_dbi dbi;
    uint32_t page_bytes;
    uint64_t limit_pages, used_pages;
    uint64_t uncommitted_bytes;
    uint64_t first_id, count;
    struct bytes hashes;  /* uint64_t[count]: XXH3-64 of each record's header */
    struct bytes extents; /* struct shard_extent[count]; offsets are known after sealing */
};

const char *shard_library_version(void) {
    return mdb_version(NULL, NULL, NULL);
}

/* ---- LMDB's errors ----------------------------------------------------------------------------------------------- */

static int error_set_full(struct error *error, int os_errno, const char *path, uint64_t needed) {
    uint64_t free_bytes = 0;
    char *slash = strrchr(path, '/');
    char *dir = slash ? strndup(path, (size_t)(slash - path) + 1) : strdup(".");
    int known = dir && disk_free_bytes(&free_bytes, dir, NULL) == 0;
    free(dir);
    /* LMDB reports a short write as EIO: a disk with room for what was asked has another illness. */
    if (os_errno == EIO && (!known || free_bytes >= needed))
        return error_set_errno(error, os_errno, "%s: cannot write", path);
    int rc = error_set(error, ERR_SPACE,
                       "%s: the disk is full: the next %" PRIu64 " bytes of the shard do not fit, %" PRIu64 " are free",
                       path, needed, free_bytes);
    if (error)
        error->os_errno = os_errno;
    return rc;
}

static int error_set_lmdb(struct error *error, int rc, const char *path, const char *doing, uint64_t needed) {
    if (rc == EIO || rc == ENOSPC || rc == EDQUOT)
        return error_set_full(error, rc, path, needed);
    if (rc > 0)
        return error_set_errno(error, rc, "%s: cannot %s", path, doing);
    return error_set(error, rc == MDB_TXN_FULL || rc == MDB_MAP_FULL ? ERR_SPACE : ERR_CORRUPT,
                     "%s: liblmdb cannot %s: %s", path, doing, mdb_strerror(rc));
}

static int error_set_open(struct error *error, int rc, const char *path, uint64_t map_bytes) {
    struct rlimit limit;
    if (rc == ENOMEM && getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
        return error_set(error, ERR_SPACE,
                         "%s: no address space to map a shard: %" PRIu64 " MB needed, the limit is %" PRIu64
                         " MB (ulimit -v); raise it, or use smaller shards",
                         path, map_bytes >> 20, (uint64_t)limit.rlim_cur >> 20);
    return error_set_lmdb(error, rc, path, "open the shard", map_bytes);
}

/* ---- writing ----------------------------------------------------------------------------------------------------- */

/* Data pages stay within the larger of the limit and one largest record. A leaf page holds over 150 records of a page
 * or more each, and a commit leaves a handful of freed pages: a 64th and a constant are ample for LMDB's own. */
static uint64_t map_size(uint64_t limit_bytes) {
    uint64_t data = limit_bytes > RECORD_LIMIT_BYTES ? limit_bytes : RECORD_LIMIT_BYTES;
    return align_up(data + data / 64 + (UINT64_C(4) << 20), UINT64_C(1) << 20);
}

static int writer_begin(struct shard_writer *w, struct error *error) {
    int rc = mdb_txn_begin(w->env, NULL, 0, &w->txn);
    if (rc) {
        w->txn = NULL;
        return error_set_lmdb(error, rc, w->path, "begin a transaction", 0);
    }
    return 0;
}

static int writer_commit(struct shard_writer *w, struct error *error) {
    int rc = mdb_txn_commit(w->txn);
    uint64_t written = w->uncommitted_bytes;
    w->txn = NULL;
    w->uncommitted_bytes = 0;
    if (rc)
        return error_set_lmdb(error, rc, w->path, "write the shard", written);
    mdb_filehandle_t fd;
    mdb_env_get_fd(w->env, &fd);
    /* Only a hint: what is on its way to the disk now need not be waited for when sealing. */
    (void)sync_file_range(fd, 0, 0, SYNC_FILE_RANGE_WRITE);
    return 0;
}

static void writer_destroy(struct shard_writer **writer) {
    struct shard_writer *w = *writer;
    *writer = NULL;
    if (w->txn)
        mdb_txn_abort(w->txn);
    if (w->env)
        mdb_env_close(w->env);
    bytes_deinit(&w->hashes);
    bytes_deinit(&w->extents);
    free(w->path);
    free(w);
}

static int writer_open(struct shard_writer *w, uint64_t limit_bytes, struct error *error) {
    uint64_t map_bytes = map_size(limit_bytes);
    MDB_stat stat;
    int rc = mdb_env_create(&w->env);
    if (rc) {
        w->env = NULL;
        return error_set_lmdb(error, rc, w->path, "create an environment", 0);
    }
    if (unlink(w->path) && errno != ENOENT)
        return error_set_errno(error, errno, "%s: cannot remove the old shard", w->path);
    if (map_bytes > SIZE_MAX)
        return error_set(error, ERR_SPACE, "%s: shards of %" PRIu64 " bytes do not fit the address space", w->path,
                         limit_bytes);
    mdb_env_set_mapsize(w->env, (size_t)map_bytes);
    rc = mdb_env_open(w->env, w->path, WRITE_FLAGS, 0644);
    if (rc)
        return error_set_open(error, rc, w->path, map_bytes);
    mdb_env_stat(w->env, &stat);
    w->page_bytes = stat.ms_psize;
    w->limit_pages = limit_bytes / w->page_bytes;
    int result = writer_begin(w, error);
    if (result)
        return result;
    rc = mdb_dbi_open(w->txn, NULL, 0, &w->dbi);
    return rc ? error_set_lmdb(error, rc, w->path, "open the database", 0) : 0;
}

int shard_writer_create(struct shard_writer **out, const char *path, uint64_t limit_bytes, struct error *error) {
    *out = NULL;
    if (limit_bytes > LIMIT_MAX_BYTES)
        return error_set(error, ERR_ARGUMENT, "a shard size of %" PRIu64 " bytes is over the limit of %" PRIu64,
                         limit_bytes, LIMIT_MAX_BYTES);
    struct shard_writer *w = calloc(1, sizeof *w);
    if (!w || !(w->path = strdup(path))) {
        free(w);
        return error_set(error, ERR_MEMORY, "%s: out of memory", path);
    }
    int rc = writer_open(w, limit_bytes, error);
    if (rc) {
        shard_writer_abort(&w);
        return rc;
    }
    *out = w;
    return 0;
}

static uint64_t record_pages(const struct shard_writer *w, uint64_t bytes) {
    return bytes / w->page_bytes + (bytes % w->page_bytes + LMDB_PAGE_HEADER_BYTES + w->page_bytes - 1) / w->page_bytes;
}

bool shard_writer_fits(const struct shard_writer *w, uint64_t bytes) {
    if (!w->count)
        return true;
    uint64_t pages = record_pages(w, bytes);
    return w->used_pages <= w->limit_pages && pages <= w->limit_pages - w->used_pages;
}

uint64_t shard_writer_count(const struct shard_writer *w) {
    return w->count;
}

static int writer_remember(struct shard_writer *w, const struct record *record, struct span bytes,
                           struct error *error) {
    uint64_t hash = XXH3_64bits(bytes.data, RECORD_HEADER_BYTES);
    struct shard_extent extent = {0, w->count, record->rgb.payload_bytes, record->ir.payload_bytes};
    int rc = bytes_append(&w->hashes, &hash, sizeof hash);
    if (!rc)
        rc = bytes_append(&w->extents, &extent, sizeof extent);
    return rc ? error_set(error, rc, "%s: out of memory", w->path) : 0;
}

static int writer_put(struct shard_writer *w, uint64_t sample_id, struct span record, struct error *error) {
    uint64_t big_endian = __builtin_bswap64(sample_id);
    MDB_val key = {sizeof big_endian, &big_endian};
    MDB_val value = {record.size, NULL};
    int rc = mdb_put(w->txn, w->dbi, &key, &value, MDB_APPEND | MDB_RESERVE);
    if (rc)
        return error_set_lmdb(error, rc, w->path, "add a record", record.size);
    memcpy(value.mv_data, record.data, record.size);
    return 0;
}

int shard_writer_add(struct shard_writer *w, uint64_t sample_id, struct span record, struct error *error) {
    struct record header;
    int rc = record_decode_header(&header, record, error);
    if (rc)
        return rc;
    if (header.sample_id != sample_id || record.size > RECORD_LIMIT_BYTES ||
        record.size != record_bytes(header.rgb.payload_bytes, header.ir.payload_bytes))
        return error_set(error, ERR_ARGUMENT, "%s: the record of sample %" PRIu64 " has another id or length", w->path,
                         sample_id);
    if (w->count && sample_id - w->first_id != w->count)
        return error_set(error, ERR_ARGUMENT, "%s: sample %" PRIu64 " does not follow sample %" PRIu64, w->path,
                         sample_id, w->first_id + w->count - 1);
    if (!w->txn && (rc = writer_begin(w, error)))
        return rc;
    if ((rc = writer_remember(w, &header, record, error)) || (rc = writer_put(w, sample_id, record, error)))
        return rc;
    if (!w->count++)
        w->first_id = sample_id;
    w->used_pages += record_pages(w, record.size);
    w->uncommitted_bytes += record.size;
    return w->uncommitted_bytes >= COMMIT_BYTES ? writer_commit(w, error) : 0;
}

void shard_writer_abort(struct shard_writer **writer) {
    if (!*writer)
        return;
    if ((*writer)->env)
        (void)unlink((*writer)->path);
    writer_destroy(writer);
}

/* ---- walking through liblmdb ------------------------------------------------------------------------------------- */

static int record_place(struct shard_record *out, const MDB_val *key, const MDB_val *value, uint64_t page_bytes,
                        const char *path, struct error *error) {
    if (key->mv_size != LMDB_KEY_BYTES)
        return error_set(error, ERR_CORRUPT, "%s: a key of %zu bytes, %u expected", path, key->mv_size, LMDB_KEY_BYTES);
    uint64_t id;
    memcpy(&id, key->mv_data, sizeof id);
    id = __builtin_bswap64(id);
    if (value->mv_size < RECORD_MINIMUM_BYTES)
        return error_set(error, ERR_CORRUPT, "%s: sample %" PRIu64 ": a value of %zu bytes is no record", path, id,
                         value->mv_size);
    uintptr_t address = (uintptr_t)value->mv_data;
    uintptr_t in_page = address & (page_bytes - 1);
    uint64_t page_number = load_u64((const uint8_t *)value->mv_data - in_page);
    *out = (struct shard_record){id, page_number * page_bytes + in_page, value->mv_size};
    return 0;
}

static int walk_txn(MDB_txn *txn, const char *path, int (*visit)(void *, const struct shard_record *), void *arg,
                    struct error *error) {
    MDB_dbi dbi;
    MDB_stat stat;
    MDB_cursor *cursor;
    MDB_val key, value;
    int rc = mdb_dbi_open(txn, NULL, 0, &dbi);
    if (!rc)
        rc = mdb_stat(txn, dbi, &stat);
    if (!rc)
        rc = mdb_cursor_open(txn, dbi, &cursor);
    if (rc)
        return error_set_lmdb(error, rc, path, "read the database", 0);
    int result = 0;
    while (!result && !(rc = mdb_cursor_get(cursor, &key, &value, MDB_NEXT))) {
        struct shard_record record;
        result = record_place(&record, &key, &value, stat.ms_psize, path, error);
        if (!result)
            result = visit(arg, &record);
    }
    mdb_cursor_close(cursor);
    if (!result && rc != MDB_NOTFOUND)
        result = error_set_lmdb(error, rc, path, "walk the records", 0);
    return result;
}

static int walk_env(MDB_env *env, const char *path, int (*visit)(void *, const struct shard_record *), void *arg,
                    struct error *error) {
    mdb_filehandle_t fd;
    MDB_envinfo info;
    MDB_stat env_stat;
    MDB_txn *txn;
    struct stat file;
    mdb_env_get_fd(env, &fd);
    mdb_env_info(env, &info);
    mdb_env_stat(env, &env_stat);
    if (fstat(fd, &file))
        return error_set_errno(error, errno, "%s: cannot stat", path);
    uint64_t pages = (uint64_t)file.st_size / env_stat.ms_psize;
    if (info.me_last_pgno >= pages)
        return error_set(error, ERR_CORRUPT, "%s: %" PRIu64 " pages, at least %zu expected: the file was cut", path,
                         pages, info.me_last_pgno + 1);
    int rc = mdb_txn_begin(env, NULL, MDB_RDONLY, &txn);
    if (rc)
        return error_set_lmdb(error, rc, path, "begin reading", 0);
    int result = walk_txn(txn, path, visit, arg, error);
    mdb_txn_abort(txn);
    return result;
}

int shard_walk(const char *path, int (*visit)(void *arg, const struct shard_record *record), void *arg,
               struct error *error) {
    struct stat file;
    if (stat(path, &file))
        return error_set_errno(error, errno, "%s: cannot open the shard", path);
    MDB_env *env;
    int rc = mdb_env_create(&env);
    if (rc)
        return error_set_lmdb(error, rc, path, "create an environment", 0);
    /* Not the writer's map, which is larger than most shards. */
    mdb_env_set_mapsize(env, (size_t)file.st_size);
    rc = mdb_env_open(env, path, READ_FLAGS, 0);
    int result = rc ? error_set_open(error, rc, path, (uint64_t)file.st_size) : walk_env(env, path, visit, arg, error);
    mdb_env_close(env);
    return result;
}

/* ---- hashing ----------------------------------------------------------------------------------------------------- */

static int compare_extents(const void *a, const void *b) {
    uint64_t left = ((const struct shard_extent *)a)->offset, right = ((const struct shard_extent *)b)->offset;
    return left < right ? -1 : left > right;
}

void shard_extents_sort(struct shard_extent *extents, uint64_t count) {
    for (uint64_t i = 1; i < count; i++) {
        if (extents[i].offset < extents[i - 1].offset) {
            qsort(extents, (size_t)count, sizeof *extents, compare_extents);
            return;
        }
    }
}

int shard_extents_list(struct shard_extent **out, const struct index_view *view, const struct index_shard *shard,
                       struct error *error) {
    uint64_t count = shard->sample_count;
    struct shard_extent *extents = calloc(count ? (size_t)count : 1, sizeof *extents);
    *out = NULL;
    if (!extents)
        return error_set(error, ERR_MEMORY, "out of memory for %" PRIu64 " samples", count);
    for (uint64_t i = 0; i < count; i++) {
        struct index_sample s;
        uint64_t row = shard->first_sample + i;
        int rc = index_sample(view, row, &s, error);
        if (rc) {
            free(extents);
            return rc;
        }
        extents[i] = (struct shard_extent){s.record_offset, row, s.rgb_bytes, s.ir_bytes};
    }
    shard_extents_sort(extents, count);
    *out = extents;
    return 0;
}

/* One pass over a file. The buffer holds the `size` bytes from `start` on; everything before `position` is done. */
struct pass {
    int fd;
    const char *path;
    uint64_t file_bytes, position, start;
    size_t size, buffer_bytes;
    uint8_t *buffer;
    XXH3_state_t *structure, *payload; /* payload is NULL when payloads are skipped */
    int copy_fd;                       /* -1, or what is read is written here, at the same place */
    const char *copy_path;
    struct error *error;
};

static int pass_init(struct pass *p, size_t buffer_bytes, bool payloads) {
    p->buffer_bytes = buffer_bytes;
    p->buffer = malloc(buffer_bytes);
    p->structure = XXH3_createState();
    p->payload = payloads ? XXH3_createState() : NULL;
    if (!p->buffer || !p->structure || (payloads && !p->payload))
        return error_set(p->error, ERR_MEMORY, "%s: out of memory", p->path);
    XXH3_64bits_reset(p->structure);
    return 0;
}

static void pass_deinit(struct pass *p) {
    free(p->buffer);
    XXH3_freeState(p->structure);
    XXH3_freeState(p->payload);
}

static int pass_copy(const struct pass *p) {
    size_t done = 0;
    while (done < p->size) {
        ssize_t n = pwrite(p->copy_fd, p->buffer + done, p->size - done, (off_t)(p->start + done));
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return error_set_errno(p->error, n < 0 ? errno : EIO, "%s: cannot write", p->copy_path);
        done += (size_t)n;
    }
    return 0;
}

/* Takes everything up to `end` into `hash`, and to `copy` if that is not NULL. */
static int pass_hash(struct pass *p, uint64_t end, XXH3_state_t *hash, uint8_t *copy) {
    while (p->position < end) {
        if (p->position - p->start >= p->size) {
            uint64_t left = p->file_bytes - p->position;
            p->start = p->position;
            p->size = left < p->buffer_bytes ? (size_t)left : p->buffer_bytes;
            int rc = file_pread_all(p->fd, p->buffer, p->size, p->start, p->path, p->error);
            if (!rc && p->copy_fd >= 0)
                rc = pass_copy(p);
            if (rc)
                return rc;
        }
        const uint8_t *from = p->buffer + (p->position - p->start);
        uint64_t here = p->start + p->size - p->position, wanted = end - p->position;
        size_t n = (size_t)(here < wanted ? here : wanted);
        XXH3_64bits_update(hash, from, n);
        if (copy) {
            memcpy(copy, from, n);
            copy += n;
        }
        p->position += n;
    }
    return 0;
}

static int pass_payload(struct pass *p, uint64_t bytes, uint64_t *out) {
    *out = 0;
    if (!bytes)
        return 0;
    if (!p->payload) {
        p->position += bytes;
        return 0;
    }
    XXH3_64bits_reset(p->payload);
    int rc = pass_hash(p, p->position + bytes, p->payload, NULL);
    *out = XXH3_64bits_digest(p->payload);
    return rc;
}

static int pass_record(struct pass *p, const struct shard_extent *e, struct shard_found *out) {
    uint64_t size = record_bytes(e->rgb_bytes, e->ir_bytes);
    if (e->offset < p->position || !range_fits(e->offset, size, p->file_bytes))
        return error_set(p->error, ERR_CORRUPT,
                         "%s: the record at offset %" PRIu64 " overlaps another one, or the end of the file", p->path,
                         e->offset);
    int rc = pass_hash(p, e->offset, p->structure, NULL);
    if (!rc)
        rc = pass_hash(p, e->offset + RECORD_HEADER_BYTES, p->structure, out->header);
    if (!rc)
        rc = pass_payload(p, e->rgb_bytes, &out->rgb_hash);
    if (!rc && e->ir_bytes)
        rc = pass_hash(p, e->offset + record_ir_offset(e->rgb_bytes), p->structure, NULL);
    if (!rc)
        rc = pass_payload(p, e->ir_bytes, &out->ir_hash);
    /* The padding belongs to the record: none may begin in it. */
    return rc ? rc : pass_hash(p, e->offset + size, p->structure, NULL);
}

static int pass_head(struct pass *p, uint32_t page_bytes, uint64_t *out) {
    uint64_t size = 2 * (uint64_t)page_bytes;
    if (p->file_bytes < size)
        return error_set(p->error, ERR_CORRUPT, "%s: %" PRIu64 " bytes are too few for a shard", p->path,
                         p->file_bytes);
    XXH3_64bits_reset(p->structure);
    int rc = pass_hash(p, size, p->structure, NULL);
    *out = XXH3_64bits_digest(p->structure);
    p->position = 0;
    return rc;
}

static int hash_fd(struct pass *p, struct index_shard *out, uint32_t page_bytes, const struct shard_extent *extents,
                   uint64_t count, int (*record)(void *, const struct shard_extent *, const struct shard_found *),
                   void *arg) {
    struct stat file;
    if (fstat(p->fd, &file))
        return error_set_errno(p->error, errno, "%s: cannot stat", p->path);
    p->file_bytes = out->file_bytes = (uint64_t)file.st_size;
    int rc = pass_head(p, page_bytes, &out->head_hash);
    if (rc)
        return rc;
    XXH3_64bits_reset(p->structure);
    p->size = 0;
    for (uint64_t i = 0; i < count; i++) {
        struct shard_found found;
        if ((rc = pass_record(p, &extents[i], &found)) || (rc = record(arg, &extents[i], &found)))
            return rc;
    }
    rc = pass_hash(p, p->file_bytes, p->structure, NULL);
    out->structure_hash = XXH3_64bits_digest(p->structure);
    return rc;
}

int shard_copy_file(struct index_shard *out, const char *path, int to_fd, const char *to_path, uint32_t page_bytes,
                    const struct shard_extent *extents, uint64_t count,
                    int (*record)(void *arg, const struct shard_extent *extent, const struct shard_found *found),
                    void *arg, struct error *error) {
    struct pass p = {
        .fd = open(path, O_RDONLY | O_CLOEXEC), .path = path, .copy_fd = to_fd, .copy_path = to_path, .error = error};
    if (p.fd < 0)
        return error_set_errno(error, errno, "%s: cannot open the shard", path);
    (void)posix_fadvise(p.fd, 0, 0, POSIX_FADV_SEQUENTIAL);
    int rc = pass_init(&p, PASS_BUFFER_BYTES, true);
    if (!rc)
        rc = hash_fd(&p, out, page_bytes, extents, count, record, arg);
    pass_deinit(&p);
    close(p.fd);
    return rc;
}

int shard_hash_file(struct index_shard *out, const char *path, uint32_t page_bytes, const struct shard_extent *extents,
                    uint64_t count,
                    int (*record)(void *arg, const struct shard_extent *extent, const struct shard_found *found),
                    void *arg, struct error *error) {
    return shard_copy_file(out, path, -1, NULL, page_bytes, extents, count, record, arg, error);
}

int shard_head(struct index_shard *out, const char *path, uint32_t page_bytes, struct error *error) {
    struct stat file;
    struct pass p = {.fd = open(path, O_RDONLY | O_CLOEXEC), .path = path, .copy_fd = -1, .error = error};
    if (p.fd < 0)
        return error_set_errno(error, errno, "%s: cannot open the shard", path);
    *out = (struct index_shard){0};
    int rc = pass_init(&p, GAP_BUFFER_BYTES, false);
    if (!rc && fstat(p.fd, &file))
        rc = error_set_errno(error, errno, "%s: cannot stat", path);
    if (!rc) {
        p.file_bytes = out->file_bytes = (uint64_t)file.st_size;
        rc = pass_head(&p, page_bytes, &out->head_hash);
    }
    pass_deinit(&p);
    close(p.fd);
    return rc;
}

/* ---- sealing ----------------------------------------------------------------------------------------------------- */

struct seal {
    struct shard_writer *w;
    uint64_t *offsets;
    uint64_t seen;
    struct error *error;
};

static int seal_place(void *arg, const struct shard_record *record) {
    struct seal *s = arg;
    struct shard_extent *extents = (struct shard_extent *)s->w->extents.data;
    if (s->seen >= s->w->count || record->sample_id != s->w->first_id + s->seen ||
        record->size != record_bytes(extents[s->seen].rgb_bytes, extents[s->seen].ir_bytes))
        return error_set(s->error, ERR_IO, "%s: sample %" PRIu64 " was not written as it was given", s->w->path,
                         record->sample_id);
    extents[s->seen].offset = s->offsets[s->seen] = record->offset;
    s->seen++;
    return 0;
}

static int seal_compare(void *arg, const struct shard_extent *extent, const struct shard_found *found) {
    struct seal *s = arg;
    const uint64_t *hashes = (const uint64_t *)s->w->hashes.data;
    if (XXH3_64bits(found->header, sizeof found->header) == hashes[extent->row])
        return 0;
    return error_set(s->error, ERR_IO,
                     "%s: sample %" PRIu64 " does not read back at offset %" PRIu64 " as it was written", s->w->path,
                     s->w->first_id + extent->row, extent->offset);
}

/* The payloads were hashed when they were made and are read from the page cache only: what lies between is enough. */
static int seal_hash(struct seal *s, struct index_shard *out) {
    struct shard_writer *w = s->w;
    struct shard_extent *extents = (struct shard_extent *)w->extents.data;
    struct pass p = {.path = w->path, .copy_fd = -1, .error = s->error};
    mdb_env_get_fd(w->env, &p.fd);
    shard_extents_sort(extents, w->count);
    int rc = pass_init(&p, GAP_BUFFER_BYTES, false);
    if (!rc)
        rc = hash_fd(&p, out, w->page_bytes, extents, w->count, seal_compare, s);
    pass_deinit(&p);
    return rc;
}

static int seal_read_back(struct shard_writer *w, struct index_shard *out, uint64_t *offsets, struct error *error) {
    struct seal s = {w, offsets, 0, error};
    int rc = walk_env(w->env, w->path, seal_place, &s, error);
    if (!rc && s.seen != w->count)
        rc = error_set(error, ERR_IO, "%s: %" PRIu64 " of %" PRIu64 " records were written", w->path, s.seen, w->count);
    if (rc)
        return rc;
    out->first_id = w->first_id;
    out->sample_count = w->count;
    return seal_hash(&s, out);
}

int shard_writer_seal(struct shard_writer **writer, struct index_shard *out, uint64_t *offsets, struct error *error) {
    struct shard_writer *w = *writer;
    *out = (struct index_shard){0};
    int rc = w->txn ? writer_commit(w, error) : 0;
    if (!rc) {
        int os_errno = mdb_env_sync(w->env, 1);
        if (os_errno)
            rc = error_set_lmdb(error, os_errno, w->path, "sync the shard", 0);
    }
    if (!rc)
        rc = seal_read_back(w, out, offsets, error);
    writer_destroy(writer);
    return rc;
}
