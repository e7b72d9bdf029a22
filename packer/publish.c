#include "publish.h"

#include "bytes.h"
#include "file.h"
#include "manifest.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define STATE_NAME "resume.txt"
#define STATE_FORMAT "yolopack unfinished pack, format 1, fingerprint %016" PRIx64 "\n"

static char *with_suffix(const char *path, const char *suffix) {
    size_t n = strlen(path);
    while (n > 1 && path[n - 1] == '/')
        n--;
    char *out = malloc(n + strlen(suffix) + 1);
    if (out) {
        memcpy(out, path, n);
        strcpy(out + n, suffix);
    }
    return out;
}

static int exists_in(bool *out, const char *directory, const char *name, struct error *error) {
    char *path = path_join(directory, name);
    if (!path)
        return error_set(error, ERR_MEMORY, "out of memory");
    *out = access(path, F_OK) == 0;
    free(path);
    return 0;
}

static int is_empty(bool *out, const char *directory, struct error *error) {
    int entries = 0;
    DIR *dir = opendir(directory);
    if (!dir)
        return error_set_errno(error, errno, "cannot open %s", directory);
    while (entries <= 2 && readdir(dir))
        entries++;
    closedir(dir);
    *out = entries <= 2;
    return 0;
}

/* What stands at `output` may be replaced if it is a pack, an empty directory, or nothing. */
static int check_replaceable(const char *output, struct error *error) {
    struct stat st;
    bool replaceable = false;
    int rc = 0;
    if (lstat(output, &st) != 0)
        return errno == ENOENT ? 0 : error_set_errno(error, errno, "%s", output);
    if (S_ISDIR(st.st_mode)) {
        rc = exists_in(&replaceable, output, MANIFEST_NAME, error);
        if (rc == 0 && !replaceable)
            rc = is_empty(&replaceable, output, error);
    }
    if (rc != 0 || replaceable)
        return rc;
    return error_set(error, ERR_INPUT,
                     "%s exists and is not a pack: nothing was written. Choose another name with -o, or remove it",
                     output);
}

static int lock_directory(struct publish *p, struct error *error) {
    p->lock_fd = open(p->directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (p->lock_fd < 0)
        return error_set_errno(error, errno, "cannot open %s", p->directory);
    if (flock(p->lock_fd, LOCK_EX | LOCK_NB) != 0) {
        if (errno == EWOULDBLOCK)
            return error_set(error, ERR_INPUT,
                             "%s: another yolopack is packing there. Wait for it, or choose another name with -o",
                             p->directory);
        if (errno != ENOLCK && errno != EOPNOTSUPP && errno != EINVAL) /* some network file systems have no locks */
            return error_set_errno(error, errno, "cannot lock %s", p->directory);
    }
    return 0;
}

/* 1 if the directory holds an unfinished run with this fingerprint, 0 if it holds none, < 0 if it differs. */
static int read_state(const struct publish *p, uint64_t fingerprint, struct error *error) {
    char expected[128];
    struct bytes text = {0};
    char *path = path_join(p->directory, STATE_NAME);
    int rc = path ? 0 : error_set(error, ERR_MEMORY, "out of memory");

    if (rc == 0 && access(path, F_OK) == 0) {
        rc = file_read(&text, AT_FDCWD, path, 4096, error);
        int n = snprintf(expected, sizeof expected, STATE_FORMAT, fingerprint);
        if (rc == 0 && text.size == (size_t)n && memcmp(text.data, expected, text.size) == 0)
            rc = 1;
        else if (rc == 0)
            rc = error_set(
                error, ERR_INPUT,
                "%s was begun with other options or another version: it cannot be continued. Pack again without --resume",
                p->directory);
    }
    bytes_deinit(&text);
    free(path);
    return rc;
}

static int write_state(const struct publish *p, uint64_t fingerprint, struct error *error) {
    char text[128];
    int n = snprintf(text, sizeof text, STATE_FORMAT, fingerprint);
    char *path = path_join(p->directory, STATE_NAME);
    int rc = path ? file_write_atomic(path, text, (size_t)n, error) : error_set(error, ERR_MEMORY, "out of memory");
    free(path);
    return rc;
}

static bool any_name(const char *name) {
    (void)name;
    return true;
}

static bool unfinished_name(const char *name) {
    return strcmp(name, STATE_NAME) == 0 || strcmp(path_suffix(name), "part") == 0;
}

/* Does something to each entry that `wanted` picks. */
static int for_each_entry(const char *directory, bool (*wanted)(const char *name),
                          int (*act)(const char *path, struct error *error), struct error *error) {
    int rc = 0;
    DIR *dir = opendir(directory);
    if (!dir)
        return error_set_errno(error, errno, "cannot open %s", directory);
    for (struct dirent *e; rc == 0 && (e = readdir(dir));) {
        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0 || !wanted(e->d_name))
            continue;
        char *path = path_join(directory, e->d_name);
        rc = path ? act(path, error) : error_set(error, ERR_MEMORY, "out of memory");
        free(path);
    }
    closedir(dir);
    return rc;
}

int publish_begin(struct publish *p, const char *output, bool resume, uint64_t fingerprint, struct error *error) {
    int rc;
    bool keep = true, unfinished = false;
    *p = (struct publish){
        .output = with_suffix(output, ""), .directory = with_suffix(output, ".partial"), .lock_fd = -1};
    if (!p->output || !p->directory) {
        rc = error_set(error, ERR_MEMORY, "out of memory");
        goto fail;
    }
    if ((rc = check_replaceable(p->output, error)) != 0 || (rc = dir_create_all(p->directory, error)) != 0 ||
        (rc = lock_directory(p, error)) != 0 || (rc = exists_in(&unfinished, p->directory, STATE_NAME, error)) != 0)
        goto fail;
    if (resume) {
        rc = read_state(p, fingerprint, error);
        p->resumed = rc == 1;
        if (rc < 0)
            goto fail;
    }
    if (!p->resumed) {
        p->restarted = unfinished;
        keep = false; /* from here on there is nothing to go on with */
        /* the directory itself stays: it is locked */
        if ((rc = for_each_entry(p->directory, any_name, dir_remove_all, error)) != 0 ||
            (rc = write_state(p, fingerprint, error)) != 0)
            goto fail;
    }
    return 0;
fail:
    publish_abort(p, keep);
    return rc;
}

static int sync_parent(const char *path, struct error *error) {
    const char *base = path_base(path);
    char *parent = base == path ? strdup(".") : strndup(path, (size_t)(base - path));
    int rc = parent ? path_sync(parent, error) : error_set(error, ERR_MEMORY, "out of memory");
    free(parent);
    return rc;
}

/* Puts `directory` at `output`. What was there is at `directory` afterwards, if anything was. */
static int exchange(const char *directory, const char *output, struct error *error) {
    if (rename(directory, output) == 0) /* nothing there, or an empty directory */
        return 0;
    if (errno == ENOTEMPTY || errno == EEXIST) {
        if (renameat2(AT_FDCWD, directory, AT_FDCWD, output, RENAME_EXCHANGE) == 0)
            return 0;
        if (errno != EINVAL && errno != ENOSYS)
            return error_set_errno(error, errno, "cannot publish %s", output);
        /* No exchange on this file system: for a moment there is neither. */
        char *old = with_suffix(output, ".old");
        int rc = old ? dir_remove_all(old, error) : error_set(error, ERR_MEMORY, "out of memory");
        if (rc == 0 && (rename(output, old) != 0 || rename(directory, output) != 0))
            rc = error_set_errno(error, errno, "cannot publish %s (an older pack may be at %s)", output, old);
        if (rc == 0 && rename(old, directory) != 0)
            rc = error_set_errno(error, errno, "%s is published, but the older pack stays at %s", output, old);
        free(old);
        return rc;
    }
    return error_set_errno(error, errno, "cannot publish %s", output);
}

int publish_commit(struct publish *p, struct error *error) {
    int rc = for_each_entry(p->directory, unfinished_name, dir_remove_all, error);
    /* Every file, so that the rename never shows a pack whose bytes are not on the disk yet. */
    if (rc == 0)
        rc = for_each_entry(p->directory, any_name, path_sync, error);
    if (rc == 0)
        rc = path_sync(p->directory, error);
    if (rc == 0)
        rc = exchange(p->directory, p->output, error);
    if (rc == 0)
        rc = sync_parent(p->output, error);
    publish_abort(p, rc != 0); /* removes the older pack, which is at `directory` now */
    return rc;
}

void publish_abort(struct publish *p, bool keep) {
    if (p->directory && !keep)
        dir_remove_all(p->directory, NULL);
    if (p->lock_fd >= 0)
        close(p->lock_fd);
    free(p->directory);
    free(p->output);
    *p = (struct publish){.lock_fd = -1};
}
