#include "dataset_split.h"

#include "bytes.h"
#include "file.h"
#include "suggest.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define INDEX_SUFFIX ".index"
#define MANIFEST_NAME "pack.json"
#define MANIFEST_LIMIT_BYTES (64u << 20)
#define SPLITS_SUGGESTED 64

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

int dataset_split_choose(struct ypk_dataset *ds, const char *wanted, struct error *error) {
    struct split_list list;
    int rc = split_list_init(&list, ds->root, error);
    if (!rc)
        rc = pick_split(ds, &list, wanted, error);
    split_list_deinit(&list);
    return rc;
}

/* What the manifest says that the split holds; false if it says nothing. As the packer writes it, "index"
 * comes first. */
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

int dataset_split_check(const struct ypk_dataset *ds, struct error *error) {
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
