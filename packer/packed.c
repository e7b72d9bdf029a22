#include "packed.h"

#include "file.h"
#include "manifest.h"
#include "pack_manifest.h"
#include "shard.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define REPORT_LIMIT_BYTES (UINT64_C(16) << 30)

/* ---- opening ----------------------------------------------------------------------------------------------------- */

static int bad_manifest(const struct packed *p, struct error *error) {
    return error_set(error, ERR_CORRUPT, "%s/%s: its splits are not described as this version does it", p->path,
                     MANIFEST_NAME);
}

static int open_index(struct packed_split *split, const struct packed *p, struct error *error) {
    char name[64];
    snprintf(name, sizeof name, "%s.index", split->name);
    char *path = path_join(p->path, name);
    int rc = path ? file_map(&split->map, path, error) : error_set(error, ERR_MEMORY, "%s: out of memory", p->path);
    if (rc == 0 &&
        ((rc = index_parse(&split->view, split->map, error)) != 0 || (rc = index_check(&split->view, error)) != 0))
        error_prefix(error, "%s: ", path);
    free(path);
    return rc;
}

static int open_split(struct packed *p, const char *name, const json_t *described, struct error *error) {
    const char *same_as = json_string_value(json_object_get(described, "same_as"));
    if (p->split_count == sizeof p->splits / sizeof p->splits[0])
        return bad_manifest(p, error);
    struct packed_split *split = &p->splits[p->split_count++];
    if (strlen(name) >= sizeof split->name || strchr(name, '/') ||
        (same_as && strlen(same_as) >= sizeof split->same_as) ||
        !pack_manifest_counts(&split->counts, json_object_get(described, "counts")))
        return bad_manifest(p, error);
    strcpy(split->name, name);
    strcpy(split->same_as, same_as ? same_as : "");
    split->report_rows = (uint64_t)json_integer_value(json_object_get(described, "report_rows"));
    int rc = open_index(split, p, error);
    const char *prefix = same_as ? same_as : name;
    if (rc == 0 && strcmp(split->view.meta.shard_prefix, prefix) != 0)
        rc = error_set(error, ERR_CORRUPT, "%s: %s.index is of the shards of %s, not of %s", p->path, name,
                       split->view.meta.shard_prefix, prefix);
    return rc;
}

static int open_splits(struct packed *p, struct error *error) {
    json_t *splits = json_object_get(p->manifest, "splits"), *described;
    const char *name;
    int rc = json_object_size(splits) > 0 && json_is_object(json_object_get(p->manifest, "options")) &&
                     json_is_array(json_object_get(p->manifest, "classes"))
                 ? 0
                 : bad_manifest(p, error);
    json_object_foreach(splits, name, described) {
        if (rc == 0)
            rc = open_split(p, name, described, error);
    }
    return rc;
}

static int open_report(struct packed *p, struct error *error) {
    struct bytes text = {0};
    char *path = path_join(p->path, "report.tsv");
    int rc = path ? file_read(&text, AT_FDCWD, path, REPORT_LIMIT_BYTES, error)
                  : error_set(error, ERR_MEMORY, "%s: out of memory", p->path);
    if (rc == 0 && (rc = report_parse_tsv(&p->report, (struct span){text.data, text.size}, error)) != 0)
        error_prefix(error, "%s: ", path);
    bytes_deinit(&text);
    free(path);
    return rc;
}

int packed_identity(uint64_t *out, const char *path, struct error *error) {
    uint64_t bytes;
    char *manifest = path_join(path, MANIFEST_NAME);
    int rc = manifest ? manifest_hash_file(&bytes, out, manifest, error)
                      : error_set(error, ERR_MEMORY, "%s: out of memory", path);
    free(manifest);
    return rc;
}

int packed_open(struct packed *out, const char *path, struct error *error) {
    *out = (struct packed){.path = path};
    int rc = manifest_read(&out->manifest, path, error);
    if (rc != 0)
        return rc;
    if ((rc = packed_identity(&out->identity, path, error)) != 0)
        return rc;
    if (!pack_manifest_part(&out->part, json_object_get(out->manifest, "part")))
        return error_set(error, ERR_CORRUPT, "%s/%s: says of which part it is, but not rightly", path, MANIFEST_NAME);
    rc = open_splits(out, error);
    return rc == 0 ? open_report(out, error) : rc;
}

void packed_close(struct packed *p) {
    for (size_t i = 0; i < p->split_count; i++)
        file_unmap(&p->splits[i].map);
    json_decref(p->manifest);
    report_deinit(&p->report);
    *p = (struct packed){0};
}

const struct packed_split *packed_split(const struct packed *p, const char *name) {
    for (size_t i = 0; i < p->split_count; i++)
        if (strcmp(p->splits[i].name, name) == 0)
            return &p->splits[i];
    return NULL;
}

int packed_classes(struct string_list *out, const struct packed *p, struct error *error) {
    json_t *classes = json_object_get(p->manifest, "classes"), *name;
    size_t i;
    json_array_foreach(classes, i, name) {
        const char *text = json_string_value(name);
        if (!text)
            return error_set(error, ERR_CORRUPT, "%s/%s: class %zu has no name", p->path, MANIFEST_NAME, i);
        if (string_list_add(out, text) != 0)
            return error_set(error, ERR_MEMORY, "out of memory for class names");
    }
    return 0;
}

/* ---- options ----------------------------------------------------------------------------------------------------- */

static void value_text(char out[64], const json_t *value) {
    char *text = value ? json_dumps(value, JSON_ENCODE_ANY | JSON_REAL_PRECISION(6) | JSON_COMPACT) : NULL;
    snprintf(out, 64, "%s", text ? text : "none");
    if (text && strlen(text) >= 64)
        strcpy(out + 60, "...");
    free(text);
}

static bool is_version(const char *key) {
    return strcmp(key, "libjpeg_turbo") == 0 || strcmp(key, "lmdb") == 0;
}

static bool find_difference(struct packed_difference *out, json_t *ours, const json_t *theirs, bool any_version) {
    const char *key;
    json_t *value;
    json_object_foreach(ours, key, value) {
        const json_t *other = json_object_get(theirs, key);
        if ((any_version && is_version(key)) || json_equal(value, other))
            continue;
        snprintf(out->key, sizeof out->key, "%s", key);
        value_text(out->ours, value);
        value_text(out->theirs, other);
        return true;
    }
    return false;
}

bool packed_options_differ(struct packed_difference *out, const json_t *ours, const json_t *theirs, bool any_version) {
    struct packed_difference turned;
    if (find_difference(out, (json_t *)ours, theirs, any_version))
        return true;
    if (!find_difference(&turned, (json_t *)theirs, ours, any_version))
        return false;
    *out = turned; /* what only they have */
    memcpy(out->ours, turned.theirs, sizeof out->ours);
    memcpy(out->theirs, turned.ours, sizeof out->theirs);
    return true;
}

/* ---- shards ------------------------------------------------------------------------------------------------------ */

static int link_failed(const char *from, const char *to, struct error *error) {
    int os_errno = errno;
    if (os_errno == EXDEV)
        return error_set(
            error, ERR_INPUT,
            "%s and %s are on different file systems: shards are linked, not copied. Write the pack beside "
            "its parts (-o), or bring the parts there first",
            from, to);
    return error_set_errno(error, os_errno,
                           "cannot hard-link %s to %s (a file of another user, or a file system without links?)", from,
                           to);
}

static int link_shard(const struct index_shard *row, uint32_t page_bytes, const char *from, const char *to,
                      struct error *error) {
    struct index_shard found;
    int rc = shard_head(&found, from, page_bytes, error);
    if (rc == ERR_NOT_FOUND)
        return error_set(error, ERR_CORRUPT, "%s: the shard is missing (a copy that is not complete?)", from);
    if (rc != 0)
        return rc;
    if (found.file_bytes != row->file_bytes || found.head_hash != row->head_hash)
        return error_set(error, ERR_CORRUPT,
                         "%s: is not the shard that its index describes (yolopack verify says more)", from);
    if (unlink(to) != 0 && errno != ENOENT)
        return error_set_errno(error, errno, "cannot replace %s", to);
    return link(from, to) == 0 ? 0 : link_failed(from, to, error);
}

int packed_link_shards(const struct packed *p, const struct packed_split *split, const char *directory, uint64_t first,
                       struct error *error) {
    const struct index_meta *meta = &split->view.meta;
    int rc = 0;
    for (uint64_t i = 0; rc == 0 && i < split->view.shard_count; i++) {
        struct index_shard row;
        char name[INDEX_SHARD_NAME_BYTES];
        index_shard_name(name, meta->shard_prefix, i);
        char *from = path_join(p->path, name);
        index_shard_name(name, meta->shard_prefix, first + i);
        char *to = path_join(directory, name);
        rc = from && to ? index_shard(&split->view, i, &row, error) : error_set(error, ERR_MEMORY, "out of memory");
        if (rc == 0)
            rc = link_shard(&row, meta->page_bytes, from, to, error);
        free(from);
        free(to);
    }
    return rc;
}
