/*
 * Index rows and shard rows made anew from shards that LMDB moved things about in (mdb_copy -c).
 *
 *   for each index:  shard unlike its row? ─> liblmdb: id -> offset ─> one pass: header, payloads against the index
 *                    ─> builder ─> encode ─> same content hash? ─> replace, and the manifest last
 */
#include "reindex.h"

#include "file.h"
#include "index.h"
#include "manifest.h"
#include "record.h"
#include "shard.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* One index on its way from the old bytes to the new. */
struct rebuild {
    const char *pack;
    char *path; /* of the index */
    struct span map;
    struct index_view view;
    struct index_builder builder;
    struct bytes encoded;
    bool changed;
};

/* One shard of it. */
struct shard_rebuild {
    const struct rebuild *r;
    const struct index_shard *old;
    const char *path;
    struct shard_extent *extents; /* [old->sample_count]: in the order of rows, then sorted by offset */
    uint64_t *offsets;            /* [old->sample_count] in the order of rows */
    uint64_t walked;
    struct error *error;
};

static uint64_t record_id(const struct shard_rebuild *s, uint64_t row) {
    return s->old->first_id + (row - s->old->first_sample);
}

static int take_place(void *arg, const struct shard_record *record) {
    struct shard_rebuild *s = arg;
    uint64_t row = s->old->first_sample + s->walked;
    struct index_sample sample;
    if (s->walked >= s->old->sample_count)
        return error_set(s->error, ERR_CORRUPT, "%s: id %" PRIu64 " is one more than the %" PRIu64 " of the index",
                         s->path, record->sample_id, s->old->sample_count);
    int rc = index_sample(&s->r->view, row, &sample, s->error);
    if (rc)
        return rc;
    if (record->sample_id != record_id(s, row))
        return error_set(s->error, ERR_CORRUPT,
                         "%s: sample %" PRIu64 " (%s) is missing, id %" PRIu64 " is in its place", s->path, row,
                         index_sample_name(&sample), record->sample_id);
    if (record->size != record_bytes(sample.rgb_bytes, sample.ir_bytes))
        return error_set(
            s->error, ERR_CORRUPT, "%s: sample %" PRIu64 " (%s): a record of %" PRIu64 " bytes, %" PRIu64 " expected",
            s->path, row, index_sample_name(&sample), record->size, record_bytes(sample.rgb_bytes, sample.ir_bytes));
    s->extents[s->walked] = (struct shard_extent){record->offset, row, sample.rgb_bytes, sample.ir_bytes};
    s->offsets[s->walked++] = record->offset;
    return 0;
}

static int check_record(void *arg, const struct shard_extent *extent, const struct shard_found *found) {
    struct shard_rebuild *s = arg;
    struct index_sample sample;
    struct record header;
    struct span bytes = {found->header, (size_t)record_bytes(extent->rgb_bytes, extent->ir_bytes)};
    int rc = index_sample(&s->r->view, extent->row, &sample, s->error);
    if (rc)
        return rc;
    if ((rc = record_decode_header(&header, bytes, s->error))) {
        error_prefix(s->error, "%s: sample %" PRIu64 " (%s): ", s->path, extent->row, index_sample_name(&sample));
        return rc;
    }
    if (header.sample_id == record_id(s, extent->row) && header.rgb.hash == sample.rgb_hash &&
        header.ir.hash == sample.ir_hash && found->rgb_hash == sample.rgb_hash && found->ir_hash == sample.ir_hash)
        return 0;
    return error_set(s->error, ERR_CORRUPT, "%s: sample %" PRIu64 " (%s) is damaged, or of another pack", s->path,
                     extent->row, index_sample_name(&sample));
}

static int locate_records(struct shard_rebuild *s, struct index_shard *out) {
    int rc = shard_walk(s->path, take_place, s, s->error);
    if (rc)
        return rc;
    if (s->walked != s->old->sample_count)
        return error_set(s->error, ERR_CORRUPT, "%s: %" PRIu64 " of %" PRIu64 " samples are there", s->path, s->walked,
                         s->old->sample_count);
    shard_extents_sort(s->extents, s->walked);
    *out = *s->old;
    return shard_hash_file(out, s->path, s->r->view.meta.page_bytes, s->extents, s->walked, check_record, s, s->error);
}

/* Length and first pages tell a shard that is as it was sealed from one that was rewritten. */
static int is_unchanged(bool *out, const struct rebuild *r, const struct index_shard *old, const char *path,
                        struct error *error) {
    struct index_shard head;
    int rc = shard_head(&head, path, r->view.meta.page_bytes, error);
    *out = !rc && head.file_bytes == old->file_bytes && head.head_hash == old->head_hash;
    return rc;
}

static int add_rows(struct rebuild *r, const struct index_shard *shard, const uint64_t *offsets, struct error *error) {
    int rc = index_builder_add_shard(&r->builder, shard, error);
    for (uint64_t i = 1; !rc && i < r->view.generation_count; i++) {
        struct index_generation g;
        rc = index_generation(&r->view, i, &g, error);
        if (!rc && g.first_sample == shard->first_sample)
            rc = index_builder_begin_generation(&r->builder, error);
    }
    for (uint64_t i = 0; !rc && i < shard->sample_count; i++) {
        struct index_sample sample;
        rc = index_sample(&r->view, shard->first_sample + i, &sample, error);
        if (!rc && offsets)
            sample.record_offset = offsets[i];
        if (!rc)
            rc = index_builder_add(&r->builder, &sample, error);
    }
    return rc;
}

static int rebuild_shard(struct rebuild *r, uint64_t number, struct error *error) {
    struct index_shard old, fresh;
    char name[INDEX_SHARD_NAME_BYTES];
    bool unchanged = false;
    struct shard_rebuild s = {.r = r, .old = &old, .error = error};
    index_shard_name(name, r->view.meta.shard_prefix, number);
    int rc = index_shard(&r->view, number, &old, error);
    if (rc)
        return rc;
    char *path = path_join(r->pack, name);
    s.path = path;
    s.extents = calloc((size_t)old.sample_count + 1, sizeof *s.extents);
    s.offsets = calloc((size_t)old.sample_count + 1, sizeof *s.offsets);
    if (!path || !s.extents || !s.offsets)
        rc = error_set(error, ERR_MEMORY, "%s: out of memory", r->pack);
    if (!rc)
        rc = is_unchanged(&unchanged, r, &old, path, error);
    if (!rc && !unchanged)
        rc = locate_records(&s, &fresh);
    if (!rc)
        rc = add_rows(r, unchanged ? &old : &fresh, unchanged ? NULL : s.offsets, error);
    r->changed |= !unchanged;
    free(s.offsets);
    free(s.extents);
    free(path);
    return rc;
}

static int copy_classes(struct rebuild *r, struct error *error) {
    uint64_t count = r->view.class_count;
    const char **names = calloc((size_t)count + 1, sizeof *names);
    if (!names)
        return error_set(error, ERR_MEMORY, "%s: out of memory", r->path);
    const char *next = (const char *)r->view.section[SECTION_CLASSES].data;
    for (uint64_t i = 0; i < count; i++) { /* index_check() has counted them */
        names[i] = next;
        next += strlen(next) + 1;
    }
    int rc = index_builder_set_classes(&r->builder, names, count, error);
    free(names);
    return rc;
}

static int rebuild_encode(struct rebuild *r, struct error *error) {
    struct index_view fresh;
    int rc = index_builder_encode(&r->builder, &r->encoded, error);
    if (!rc)
        rc = index_parse(&fresh, (struct span){r->encoded.data, r->encoded.size}, error);
    if (!rc && fresh.content_hash != r->view.content_hash)
        rc = error_set(error, ERR_CORRUPT, "%s: would get another content hash: %016" PRIx64 " instead of %016" PRIx64,
                       r->path, fresh.content_hash, r->view.content_hash);
    return rc;
}

static int rebuild_load(struct rebuild *r, const char *name, struct error *error) {
    r->path = path_join(r->pack, name);
    if (!r->path)
        return error_set(error, ERR_MEMORY, "%s: out of memory", r->pack);
    int rc = file_map(&r->map, r->path, error);
    if (rc)
        return rc;
    if ((rc = index_parse(&r->view, r->map, error)) || (rc = index_check(&r->view, error)))
        error_prefix(error, "%s: ", r->path);
    r->builder.meta = r->view.meta;
    return rc;
}

static int rebuild_index(struct rebuild *r, const char *name, struct error *error) {
    int rc = rebuild_load(r, name, error);
    if (!rc)
        rc = copy_classes(r, error);
    for (uint64_t i = 0; !rc && i < r->view.shard_count; i++)
        rc = rebuild_shard(r, i, error);
    return rc || !r->changed ? rc : rebuild_encode(r, error);
}

static void rebuild_deinit(struct rebuild *r) {
    index_builder_deinit(&r->builder);
    bytes_deinit(&r->encoded);
    file_unmap(&r->map);
    free(r->path);
}

static bool is_index(const struct manifest_file *file) {
    return strcmp(path_suffix(file->name), "index") == 0;
}

/* All indexes are made before the first is replaced, so that a damaged shard leaves everything as it was. */
static int rebuild_all(struct rebuild *rebuilds, const json_t *files, struct error *error) {
    int rc = 0;
    for (size_t i = 0; i < json_array_size(files) && !rc; i++) {
        struct manifest_file file;
        rc = manifest_file(&file, json_array_get(files, i), error);
        if (!rc && is_index(&file))
            rc = rebuild_index(&rebuilds[i], file.name, error);
    }
    for (size_t i = 0; i < json_array_size(files) && !rc; i++)
        if (rebuilds[i].changed)
            rc = file_write_atomic(rebuilds[i].path, rebuilds[i].encoded.data, rebuilds[i].encoded.size, error);
    return rc;
}

/* Lists every file anew; other members of the manifest stay. */
static int replace_manifest(const char *pack, json_t *manifest, struct error *error) {
    const json_t *old = json_object_get(manifest, "files");
    json_t *files = json_array();
    struct bytes text = {0};
    char *path = path_join(pack, MANIFEST_NAME);
    int rc = files && path ? 0 : error_set(error, ERR_MEMORY, "%s: out of memory", pack);
    for (size_t i = 0; i < json_array_size(old) && !rc; i++) {
        struct manifest_file file;
        rc = manifest_file(&file, json_array_get(old, i), error);
        if (!rc && (is_index(&file) || !file.has_hash))
            rc = manifest_add_file(files, pack, file.name, error);
        else if (!rc && json_array_append(files, json_array_get(old, i)))
            rc = error_set(error, ERR_MEMORY, "%s: out of memory", pack);
    }
    if (!rc && json_object_set(manifest, "files", files))
        rc = error_set(error, ERR_MEMORY, "%s: out of memory", pack);
    if (!rc)
        rc = manifest_encode(&text, manifest, error);
    if (!rc)
        rc = file_write_atomic(path, text.data, text.size, error);
    bytes_deinit(&text);
    json_decref(files);
    free(path);
    return rc;
}

int reindex_pack(const char *pack, struct error *error) {
    json_t *manifest;
    int rc = manifest_read(&manifest, pack, error);
    if (rc)
        return rc;
    const json_t *files = json_object_get(manifest, "files");
    size_t count = json_array_size(files);
    struct rebuild *rebuilds = calloc(count + 1, sizeof *rebuilds);
    if (!rebuilds) {
        json_decref(manifest);
        return error_set(error, ERR_MEMORY, "%s: out of memory", pack);
    }
    for (size_t i = 0; i < count; i++)
        rebuilds[i].pack = pack;
    rc = rebuild_all(rebuilds, files, error);
    /* Also when no index changed: a run that ended after its indexes is finished so. */
    if (!rc)
        rc = replace_manifest(pack, manifest, error);
    for (size_t i = 0; i < count; i++)
        rebuild_deinit(&rebuilds[i]);
    free(rebuilds);
    json_decref(manifest);
    return rc;
}
