#include "tree.h"

#include "bytes.h"
#include "file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
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

int tree_create(struct tree *t, const char *root, struct error *error) {
    *t = (struct tree){0};
    int rc = dir_create_all(root, error);
    if (rc == 0)
        rc = check_empty(root, error);
    if (rc == 0 && (t->root = strdup(root)) == NULL)
        rc = error_set(error, ERR_MEMORY, "out of memory");
    return rc;
}

void tree_deinit(struct tree *t) {
    free(t->root);
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

static int compare_existing(const char *full, const void *data, size_t size, struct error *error) {
    struct bytes there = {0};
    int rc = file_read(&there, AT_FDCWD, full, UINT32_MAX, error);
    if (rc == 0 && (there.size != size || (size > 0 && memcmp(there.data, data, size) != 0)))
        rc = error_set(error, ERR_INPUT, "two different files would be written to %s", full);
    bytes_deinit(&there);
    return rc;
}

int tree_write(struct tree *t, const char *path, const void *data, size_t size, struct error *error) {
    char *full = path_join(t->root, path);
    if (full == NULL)
        return error_set(error, ERR_MEMORY, "out of memory");
    int rc = make_parent(t, full, error);
    if (rc != 0)
        goto out;
    int fd = open(full, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd < 0) {
        rc = errno == EEXIST ? compare_existing(full, data, size, error)
                             : error_set_errno(error, errno, "cannot create %s", full);
        goto out;
    }
    rc = file_write_all(fd, data, size, full, error);
    if (close(fd) != 0 && rc == 0)
        rc = error_set_errno(error, errno, "cannot write %s", full);
out:
    free(full);
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
