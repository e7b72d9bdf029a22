#include "publish.h"

#include "bytes.h"
#include "file.h"
#include "manifest.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

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

/* ---- what may be removed ----------------------------------------------------------------------------------------- */

static bool ends_with(const char *name, size_t size, const char *end) {
    size_t n = strlen(end);
    return size > n && memcmp(name + size - n, end, n) == 0;
}

/* "train-00000.lmdb" */
static bool is_shard_name(const char *name, size_t size) {
    size_t digits = 0;
    if (!ends_with(name, size, ".lmdb"))
        return false;
    size -= strlen(".lmdb");
    while (digits < size && name[size - digits - 1] >= '0' && name[size - digits - 1] <= '9')
        digits++;
    return digits >= 5 && digits + 1 < size && name[size - digits - 1] == '-';
}

static bool pack_name(const char *name) {
    static const char *const whole[] = {MANIFEST_NAME, "report.tsv", "report.json"};
    size_t size = strlen(name);
    if (strncmp(name, ".nfs", 4) == 0) /* what is removed and still open on another machine */
        return true;
    if (ends_with(name, size, ".tmp")) /* a killed file_write_atomic()'s */
        size -= strlen(".tmp");
    for (size_t i = 0; i < sizeof whole / sizeof whole[0]; i++)
        if (strlen(whole[i]) == size && memcmp(name, whole[i], size) == 0)
            return true;
    if (ends_with(name, size, "-lock")) /* LMDB's */
        size -= strlen("-lock");
    return ends_with(name, size, ".index") || is_shard_name(name, size);
}

static bool unfinished_name(const char *name) {
    return strcmp(name, MANIFEST_STATE_NAME) == 0 || strcmp(name, MANIFEST_STATE_NAME ".tmp") == 0 ||
           strcmp(path_suffix(name), "part") == 0 || ends_with(name, strlen(name), ".part.tmp");
}

static bool unfinished_pack_name(const char *name) {
    return pack_name(name) || unfinished_name(name);
}

static bool manifest_name(const char *name) {
    return strcmp(name, MANIFEST_NAME) == 0;
}

/* All but what tells that the directory is ours: that goes last, so that a killed removal can be ended by the
 * next run. */
static bool no_mark(const char *name) {
    return !manifest_name(name) && strncmp(name, MANIFEST_STATE_NAME, strlen(MANIFEST_STATE_NAME)) != 0;
}

static bool any_name(const char *name) {
    (void)name;
    return true;
}

static bool is_dots(const char *name) {
    return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

/* Does something to each entry that `wanted` picks. */
static int for_each_entry(const char *directory, bool (*wanted)(const char *name),
                          int (*act)(const char *path, struct error *error), struct error *error) {
    int rc = 0;
    DIR *dir = opendir(directory);
    if (!dir)
        return error_set_errno(error, errno, "cannot open %s", directory);
    for (struct dirent *e; rc == 0 && (e = readdir(dir));) {
        if (is_dots(e->d_name) || !wanted(e->d_name))
            continue;
        char *path = path_join(directory, e->d_name);
        rc = path ? act(path, error) : error_set(error, ERR_MEMORY, "out of memory");
        free(path);
    }
    closedir(dir);
    return rc;
}

static void remove_directory(const char *directory) {
    if (for_each_entry(directory, no_mark, dir_remove_all, NULL) == 0)
        dir_remove_all(directory, NULL);
}

/* What a directory holds, by the names in it. */
struct content {
    bool any, manifest, index, state;
    char foreign[NAME_MAX + 1]; /* a name that is not `known`, or "" */
};

static int look(struct content *out, const char *directory, bool (*known)(const char *name), struct error *error) {
    *out = (struct content){0};
    DIR *dir = opendir(directory);
    if (!dir)
        return error_set_errno(error, errno, "cannot open %s", directory);
    for (struct dirent *e; errno = 0, (e = readdir(dir));) {
        struct stat st;
        if (is_dots(e->d_name))
            continue;
        out->any = true;
        out->manifest |= manifest_name(e->d_name);
        out->index |= strcmp(path_suffix(e->d_name), "index") == 0;
        out->state |= strncmp(e->d_name, MANIFEST_STATE_NAME, strlen(MANIFEST_STATE_NAME)) == 0;
        if (!known(e->d_name) || (fstatat(dirfd(dir), e->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(st.st_mode)))
            snprintf(out->foreign, sizeof out->foreign, "%s", e->d_name);
    }
    int rc = errno ? error_set_errno(error, errno, "cannot list %s", directory) : 0; /* unseen is not absent */
    closedir(dir);
    return rc;
}

/* A pack of ours by its manifest; by its other files too if the manifest is damaged, or newer than this program. */
static int is_pack(bool *out, const char *directory, const struct content *content, struct error *error) {
    struct error fault = {0};
    json_t *manifest = NULL;
    *out = false;
    if (!content->manifest)
        return 0;
    int rc = manifest_read(&manifest, directory, &fault);
    json_decref(manifest);
    *out = rc == 0 || ((rc == ERR_CORRUPT || rc == ERR_UNSUPPORTED) && content->index);
    if (rc != ERR_MEMORY && rc != ERR_IO)
        return 0;
    if (error)
        *error = fault;
    return rc;
}

static int foreign_file(const char *directory, const struct content *content, struct error *error) {
    return error_set(error, ERR_INPUT,
                     "%s holds %s, which is not of a pack: nothing was written. Choose another name with -o, or move "
                     "that away",
                     directory, content->foreign);
}

/* What stands at `output` may be replaced if it is a pack and nothing else, an empty directory, or nothing. */
static int check_replaceable(const char *output, struct error *error) {
    struct stat st;
    struct content content = {0};
    bool ours = false;
    int rc = 0;
    if (lstat(output, &st) != 0)
        return errno == ENOENT ? 0 : error_set_errno(error, errno, "%s", output);
    if (S_ISDIR(st.st_mode)) {
        if ((rc = look(&content, output, pack_name, error)) != 0 || !content.any ||
            (rc = is_pack(&ours, output, &content, error)) != 0)
            return rc;
    }
    if (!ours)
        return error_set(error, ERR_INPUT,
                         "%s exists and is not a pack: nothing was written. Choose another name with -o, or remove it",
                         output);
    return content.foreign[0] ? foreign_file(output, &content, error) : 0;
}

static int not_ours(const char *directory, struct error *error) {
    return error_set(error, ERR_INPUT,
                     "%s exists and is not what an interrupted run left: nothing was written. Choose another name "
                     "with -o, or remove it",
                     directory);
}

/* The directory to write in may be emptied if a run of ours left it, or was removing an older pack there. */
static int check_unfinished(const char *directory, struct error *error) {
    struct content content;
    bool ours;
    int rc = look(&content, directory, unfinished_pack_name, error);
    if (rc != 0 || !content.any)
        return rc;
    ours = content.state;
    if (!ours && (rc = is_pack(&ours, directory, &content, error)) != 0)
        return rc;
    if (!ours)
        return not_ours(directory, error);
    return content.foreign[0] ? foreign_file(directory, &content, error) : 0;
}

int publish_check(const char *output, struct error *error) {
    struct stat st;
    char *final = with_suffix(output, ""), *directory = with_suffix(output, ".partial");
    int rc = final && directory ? check_replaceable(final, error) : error_set(error, ERR_MEMORY, "out of memory");
    if (rc == 0 && lstat(directory, &st) == 0)
        rc = S_ISDIR(st.st_mode) ? check_unfinished(directory, error) : not_ours(directory, error);
    free(directory);
    free(final);
    return rc;
}

/* ---- the lock ---------------------------------------------------------------------------------------------------- */

/* 0, with *fd -1 if another process has it. Some network file systems have no locks. */
static int try_lock(int *fd, const char *directory, struct error *error) {
    if (flock(*fd, LOCK_EX | LOCK_NB) == 0 || errno == ENOLCK || errno == EOPNOTSUPP || errno == EINVAL)
        return 0;
    int rc = errno == EWOULDBLOCK ? 0 : error_set_errno(error, errno, "cannot lock %s", directory);
    close(*fd);
    *fd = -1;
    return rc;
}

/* False if whoever had the lock before has removed or moved the directory that `fd` is open on. */
static bool is_named(int fd, const char *path) {
    struct stat opened, named;
    return fstat(fd, &opened) == 0 && lstat(path, &named) == 0 && opened.st_dev == named.st_dev &&
           opened.st_ino == named.st_ino;
}

static int open_directory(int *fd, const char *directory, struct error *error) {
    while ((*fd = open(directory, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)) < 0 && errno == ENOENT) {
        struct error why = {0};
        if (dir_create_all(directory, &why) != 0)
            return error_set(error, why.code, "%s. Choose another place with -o", why.message);
    }
    if (*fd >= 0)
        return 0;
    return errno == ENOTDIR || errno == ELOOP ? not_ours(directory, error)
                                              : error_set_errno(error, errno, "cannot open %s", directory);
}

/* Makes the directory if it is not there. */
static int lock_directory(struct publish *p, struct error *error) {
    for (;;) {
        int rc = open_directory(&p->lock_fd, p->directory, error);
        if (rc != 0 || (rc = try_lock(&p->lock_fd, p->directory, error)) != 0)
            return rc;
        if (p->lock_fd < 0)
            return error_set(error, ERR_INPUT,
                             "%s: another yolopack is packing there. Wait for it, or choose another name with -o",
                             p->directory);
        if (is_named(p->lock_fd, p->directory))
            return 0;
        close(p->lock_fd);
    }
}

/* Removes the older pack that was exchanged for the new one, unless another packer has begun to write there. */
static void remove_older(const char *directory) {
    int fd = open(directory, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 || try_lock(&fd, directory, NULL) != 0 || fd < 0)
        return;
    if (is_named(fd, directory))
        remove_directory(directory);
    close(fd);
}

/* ---- the run ----------------------------------------------------------------------------------------------------- */

/* 1 if the directory holds an unfinished run with this fingerprint, 0 if it holds none, < 0 if it differs. */
static int read_state(const struct publish *p, uint64_t fingerprint, struct error *error) {
    char expected[128];
    struct bytes text = {0};
    char *path = path_join(p->directory, MANIFEST_STATE_NAME);
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
    char *path = path_join(p->directory, MANIFEST_STATE_NAME);
    int rc = path ? file_write_atomic(path, text, (size_t)n, error) : error_set(error, ERR_MEMORY, "out of memory");
    free(path);
    return rc;
}

/* Empties the directory and makes it this run's. It stays itself, since it is locked, and is recognisable at any
 * moment. */
static int start_anew(struct publish *p, uint64_t fingerprint, struct error *error) {
    int rc = for_each_entry(p->directory, no_mark, dir_remove_all, error);
    if (rc == 0)
        rc = write_state(p, fingerprint, error);
    return rc == 0 ? for_each_entry(p->directory, manifest_name, dir_remove_all, error) : rc;
}

int publish_begin(struct publish *p, const char *output, bool resume, uint64_t fingerprint, struct error *error) {
    int rc;
    bool keep = true;
    struct content content;
    *p = (struct publish){
        .output = with_suffix(output, ""), .directory = with_suffix(output, ".partial"), .lock_fd = -1};
    if (!p->output || !p->directory) {
        rc = error_set(error, ERR_MEMORY, "out of memory");
        goto fail;
    }
    if ((rc = check_replaceable(p->output, error)) != 0 || (rc = lock_directory(p, error)) != 0 ||
        (rc = check_unfinished(p->directory, error)) != 0 || (rc = look(&content, p->directory, any_name, error)) != 0)
        goto fail;
    if (resume) {
        rc = read_state(p, fingerprint, error);
        p->resumed = rc == 1;
        if (rc < 0)
            goto fail;
    }
    if (!p->resumed) {
        p->restarted = content.state;
        keep = false; /* from here on there is nothing to go on with */
        if ((rc = start_anew(p, fingerprint, error)) != 0)
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

/* The same where the file system cannot exchange: for a moment there is neither. The older pack waits under a name that
 * was free. */
static int exchange_in_steps(const char *directory, const char *output, struct error *error) {
    int rc = 0;
    char *old = with_suffix(directory, ".old-XXXXXX");
    if (!old)
        return error_set(error, ERR_MEMORY, "out of memory");
    if (!mkdtemp(old)) {
        rc = error_set_errno(error, errno, "cannot publish %s: no %s", output, old);
    } else if (rename(output, old) != 0) {
        rc = error_set_errno(error, errno, "cannot publish %s", output);
        rmdir(old);
    } else if (rename(directory, output) != 0) {
        rc = error_set_errno(error, errno, "cannot publish %s", output);
        if (rename(old, output) != 0)
            rc = error_set_errno(error, errno, "cannot publish %s (the older pack is at %s)", output, old);
    } else if (rename(old, directory) != 0) {
        rc = error_set_errno(error, errno, "%s is published, but the older pack stays at %s", output, old);
    }
    free(old);
    return rc;
}

/* Puts `directory` at `output`. What was there is at `directory` afterwards, and *older says if anything was. */
static int exchange(bool *older, const char *directory, const char *output, struct error *error) {
    *older = false;
    if (rename(directory, output) == 0) /* nothing there, or an empty directory */
        return 0;
    if (errno != ENOTEMPTY && errno != EEXIST)
        return error_set_errno(error, errno, "cannot publish %s", output);
    *older = true;
    if (renameat2(AT_FDCWD, directory, AT_FDCWD, output, RENAME_EXCHANGE) == 0)
        return 0;
    if (errno != EINVAL && errno != ENOSYS)
        return error_set_errno(error, errno, "cannot publish %s", output);
    return exchange_in_steps(directory, output, error);
}

int publish_commit(struct publish *p, struct error *error) {
    bool older = false;
    /* Again, since the run may have taken hours: nobody's file goes with the older pack. */
    int rc = check_replaceable(p->output, error);
    if (rc == 0)
        rc = for_each_entry(p->directory, unfinished_name, dir_remove_all, error);
    /* Every file, so that the rename never shows a pack whose bytes are not on the disk yet. */
    if (rc == 0)
        rc = for_each_entry(p->directory, any_name, path_sync, error);
    if (rc == 0)
        rc = path_sync(p->directory, error);
    if (rc == 0)
        rc = exchange(&older, p->directory, p->output, error);
    if (rc == 0)
        rc = sync_parent(p->output, error);
    if (rc == 0 && older)
        remove_older(p->directory);
    publish_abort(p, true);
    return rc;
}

void publish_abort(struct publish *p, bool keep) {
    if (p->directory && !keep)
        remove_directory(p->directory);
    if (p->lock_fd >= 0)
        close(p->lock_fd);
    free(p->directory);
    free(p->output);
    *p = (struct publish){.lock_fd = -1};
}
