#include "staging.h"

#include "file.h"
#include "hash.h"
#include "index.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

size_t staging_bases(const char *out[STAGING_BASES]) {
    size_t count = 0;
    const char *own = secure_getenv("YPK_STAGE_DIR");
    if (own && *own)
        out[count++] = own;
    out[count++] = "/dev/shm";
    return count;
}

char *staging_home(const char *base) {
    char *home;
    return asprintf(&home, "%s/yolopack-%u", base, (unsigned)geteuid()) < 0 ? NULL : home;
}

char *staging_copy(const char *home, uint64_t identity) {
    char *path;
    return asprintf(&path, "%s/%016" PRIx64, home, identity) < 0 ? NULL : path;
}

int staging_check_home(const char *home, struct error *error) {
    struct stat st;
    if (lstat(home, &st))
        return error_set_errno(error, errno, "%s", home);
    if (!S_ISDIR(st.st_mode))
        return error_set(error, ERR_INPUT, "%s: is no directory, so nothing can be staged there", home);
    if (st.st_uid != geteuid() || (st.st_mode & (S_IWGRP | S_IWOTH)))
        return error_set(error, ERR_INPUT,
                         "%s: belongs to user %u, mode %03o: what others can write is not trusted (it should belong to "
                         "user %u, mode 700)",
                         home, (unsigned)st.st_uid, (unsigned)st.st_mode & 0777, (unsigned)geteuid());
    return 0;
}

static int is_index(const struct dirent *entry) {
    return entry->d_name[0] != '.' && strcmp(path_suffix(entry->d_name), "index") == 0;
}

/* As bytes: the locale has no say in what a pack is. */
static int compare_names(const struct dirent **a, const struct dirent **b) {
    return strcmp((*a)->d_name, (*b)->d_name);
}

static int hash_split(XXH3_state_t *hash, const char *pack, const char *name, struct error *error) {
    struct span map = {0};
    struct index_view view;
    char *path = path_join(pack, name);
    if (!path)
        return error_set(error, ERR_MEMORY, "%s: out of memory", pack);
    int rc = file_map(&map, path, error);
    if (rc == 0 && (rc = index_parse(&view, map, error)) != 0)
        error_prefix(error, "%s: ", path);
    if (rc == 0) {
        XXH3_64bits_update(hash, name, strlen(name) + 1);
        XXH3_64bits_update(hash, view.meta.shard_prefix, strlen(view.meta.shard_prefix) + 1);
        XXH3_64bits_update(hash, &view.content_hash, sizeof view.content_hash);
        XXH3_64bits_update(hash, view.section[SECTION_SHARDS].data, view.section[SECTION_SHARDS].size);
    }
    file_unmap(&map);
    free(path);
    return rc;
}

int staging_identity(uint64_t *out, const char *pack, struct error *error) {
    struct dirent **entries = NULL;
    int rc = 0, count = scandir(pack, &entries, is_index, compare_names);
    if (count < 0)
        return error_set_errno(error, errno, "%s: cannot list", pack);
    XXH3_state_t *hash = XXH3_createState();
    if (!hash)
        rc = error_set(error, ERR_MEMORY, "%s: out of memory", pack);
    else if (count == 0)
        rc = error_set(error, ERR_NOT_FOUND, "%s: is no pack: there is no *.index in it", pack);
    else
        XXH3_64bits_reset(hash);
    for (int i = 0; i < count; i++) {
        if (rc == 0)
            rc = hash_split(hash, pack, entries[i]->d_name, error);
        free(entries[i]);
    }
    if (rc == 0)
        *out = XXH3_64bits_digest(hash);
    XXH3_freeState(hash);
    free(entries);
    return rc;
}
