#include "tree.h"

#include "bytes.h"
#include "file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int check_empty(const char *root, struct error *error) {
    DIR *dir = opendir(root);
    int entries = 0;
    if (dir == NULL)
        return error_set_errno(error, errno, "%s", root);
    while (readdir(dir) != NULL)
        entries++;
    closedir(dir);
    if (entries > 2)
        return error_set(error, ERR_ARGUMENT, "%s is not empty: nothing was written. Name a new directory", root);
    return 0;
}

/* How much of `path` has to be made: the length of its shortest beginning that is not there, or 0. */
static size_t missing_from(const char *path) {
    struct stat st;
    size_t length = 0;
    while (path[length] != '\0') {
        length += strspn(path + length, "/");
        length += strcspn(path + length, "/");
        char *beginning = strndup(path, length);
        bool there = beginning == NULL || lstat(beginning, &st) == 0;
        free(beginning);
        if (!there)
            return length;
    }
    return 0;
}

int tree_create(struct tree *t, const char *root, struct error *error) {
    *t = (struct tree){0};
    size_t made = missing_from(root);
    if ((t->root = strdup(root)) == NULL)
        return error_set(error, ERR_MEMORY, "out of memory");
    int rc = dir_create_all(root, error);
    t->made = made;
    if (rc == 0)
        rc = check_empty(root, error);
    if (rc == 0 && asprintf(&t->work, "%s/unfinished.XXXXXX", root) < 0) {
        t->work = NULL;
        rc = error_set(error, ERR_MEMORY, "out of memory");
    }
    if (rc == 0 && mkdtemp(t->work) == NULL) {
        rc = error_set_errno(error, errno, "%s: cannot make a directory in it", root);
        free(t->work);
        t->work = NULL;
    }
    return rc;
}

/* What is not empty belongs to somebody else by now, and so does all above it. */
static void remove_made(struct tree *t) {
    for (size_t length = strlen(t->root); t->made > 0 && length >= t->made;) {
        t->root[length] = '\0';
        if (rmdir(t->root) != 0 && errno != ENOENT)
            break;
        while (length > 0 && t->root[length - 1] != '/')
            length--;
        while (length > 0 && t->root[length - 1] == '/')
            length--;
    }
}

void tree_deinit(struct tree *t) {
    if (t->work != NULL)
        dir_remove_all(t->work, NULL);
    if (t->root != NULL)
        remove_made(t);
    free(t->root);
    free(t->work);
    free(t->parent);
    *t = (struct tree){0};
}

static int make_parent(struct tree *t, const char *full, struct error *error) {
    size_t length = (size_t)(path_base(full) - full);
    if (t->parent != NULL && strlen(t->parent) == length && memcmp(t->parent, full, length) == 0)
        return 0;
    free(t->parent);
    t->parent = strndup(full, length);
    return t->parent != NULL ? dir_create_all(t->parent, error) : error_set(error, ERR_MEMORY, "out of memory");
}

/* `name`, in messages, is where the file will be. */
static int compare_existing(const char *full, const char *name, const void *data, size_t size, struct error *error) {
    struct bytes there = {0};
    int rc = file_read(&there, AT_FDCWD, full, UINT32_MAX, error);
    if (rc == 0 && (there.size != size || (size > 0 && memcmp(there.data, data, size) != 0)))
        rc = error_set(error, ERR_INPUT, "two different files would be written to %s", name);
    bytes_deinit(&there);
    return rc;
}

int tree_write(struct tree *t, const char *path, const void *data, size_t size, struct error *error) {
    char *full = path_join(t->work, path), *name = path_join(t->root, path);
    int rc = full != NULL && name != NULL ? make_parent(t, full, error) : error_set(error, ERR_MEMORY, "out of memory");
    if (rc != 0)
        goto out;
    int fd = open(full, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd < 0) {
        rc = errno == EEXIST ? compare_existing(full, name, data, size, error)
                             : error_set_errno(error, errno, "cannot create %s", name);
        goto out;
    }
    rc = file_write_all(fd, data, size, name, error);
    if (close(fd) != 0 && rc == 0)
        rc = error_set_errno(error, errno, "cannot write %s", name);
out:
    free(full);
    free(name);
    return rc;
}

static int not_dots(const struct dirent *entry) {
    return strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
}

/* rename() that replaces nothing; some network file systems cannot promise that in one step. */
static int rename_new(const char *from, const char *to) {
    struct stat st;
    if (renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE) == 0)
        return 0;
    if (errno != EINVAL && errno != ENOSYS)
        return -1;
    if (lstat(to, &st) == 0) {
        errno = EEXIST;
        return -1;
    }
    return rename(from, to);
}

static int move_entry(const char *from, const char *to, const char *name, struct error *error) {
    char *source = path_join(from, name), *target = path_join(to, name);
    int rc = 0;
    if (source == NULL || target == NULL)
        rc = error_set(error, ERR_MEMORY, "out of memory");
    else if (rename_new(source, target) != 0)
        rc = errno == EEXIST ? error_set(error, ERR_INPUT, "%s was made by another meanwhile", target)
                             : error_set_errno(error, errno, "cannot move to %s", target);
    free(source);
    free(target);
    return rc;
}

int tree_commit(struct tree *t, struct error *error) {
    struct dirent **entries = NULL;
    int rc = 0, moved = 0, count = scandir(t->work, &entries, not_dots, NULL);
    if (count < 0)
        return error_set_errno(error, errno, "%s: cannot list", t->work);
    while (moved < count && (rc = move_entry(t->work, t->root, entries[moved]->d_name, error)) == 0)
        moved++;
    while (rc != 0 && moved > 0)
        move_entry(t->root, t->work, entries[--moved]->d_name, NULL);
    for (int i = 0; i < count; i++)
        free(entries[i]);
    free(entries);
    if (rc == 0)
        t->made = 0;
    return rc;
}

char *tree_safe_path(const char *path, bool *changed) {
    char *out = malloc(strlen(path) + 3);
    size_t at = 0;
    if (out == NULL)
        return NULL;
    for (const char *p = path; *p != '\0';) {
        size_t length = strcspn(p, "/");
        bool up = length == 2 && p[0] == '.' && p[1] == '.';
        if (length > 0 && !(length == 1 && p[0] == '.')) {
            if (at > 0)
                out[at++] = '/';
            memcpy(out + at, up ? "__" : p, length);
            at += length;
        }
        p += length + (p[length] == '/');
    }
    if (at == 0)
        out[at++] = '_';
    out[at] = '\0';
    *changed = strcmp(out, path) != 0;
    return out;
}
