#include "file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

/* The two errors of open() that name no cause. */
static int cannot_open(int dir_fd, const char *path, int os_errno, struct error *error) {
    struct stat st;
    if (os_errno == ENOENT && fstatat(dir_fd, path, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(st.st_mode))
        return error_set(error, ERR_NOT_FOUND, "%s: is a symbolic link that leads nowhere", path);
    if (os_errno == ENXIO && fstatat(dir_fd, path, &st, 0) == 0)
        return error_set(error, ERR_INPUT, "%s: is a %s, not a regular file", path,
                         S_ISSOCK(st.st_mode) ? "socket" : "device");
    return error_set_errno(error, os_errno, "%s", path);
}

/* Opens a regular file for reading. O_NONBLOCK keeps a FIFO without a writer from stopping the run; it does nothing to
 * regular files. Returns 0 with *fd and *size_bytes, or a code with nothing open. */
static int open_regular(int *fd, uint64_t *size_bytes, int dir_fd, const char *path, struct error *error) {
    int opened = openat(dir_fd, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (opened < 0)
        return cannot_open(dir_fd, path, errno, error);
    struct stat st;
    int code = 0;
    if (fstat(opened, &st) != 0)
        code = error_set_errno(error, errno, "%s", path);
    else if (!S_ISREG(st.st_mode))
        code = error_set(error, ERR_INPUT, "%s: is %s, not a regular file", path,
                         S_ISDIR(st.st_mode)    ? "a directory"
                         : S_ISFIFO(st.st_mode) ? "a FIFO"
                                                : "a device or socket");
    if (code != 0) {
        close(opened);
        return code;
    }
    *fd = opened;
    *size_bytes = (uint64_t)st.st_size;
    return 0;
}

/* Reads up to `capacity` bytes, or to the end of the file. The number read, or -1 with errno. */
static ssize_t read_up_to(int fd, uint8_t *data, size_t capacity) {
    size_t got = 0;
    while (got < capacity) {
        ssize_t n = read(fd, data + got, capacity - got);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -1;
        if (n == 0)
            break;
        got += (size_t)n;
    }
    return (ssize_t)got;
}

int file_read(struct bytes *out, int dir_fd, const char *path, uint64_t limit_bytes, struct error *error) {
    int fd;
    uint64_t size;
    int code = open_regular(&fd, &size, dir_fd, path, error);
    if (code != 0)
        return code;
    if (size > limit_bytes) {
        code =
            error_set(error, ERR_INPUT, "%s: %" PRIu64 " bytes, over the limit of %" PRIu64, path, size, limit_bytes);
        goto out;
    }
    /* One byte more is asked for than fstat() promised: that is how a file that grows is seen. */
    if (size >= SSIZE_MAX - out->size || bytes_reserve(out, out->size + (size_t)size + 1) != 0) {
        code = error_set(error, ERR_MEMORY, "%s: out of memory for its %" PRIu64 " bytes", path, size);
        goto out;
    }
    ssize_t got = read_up_to(fd, out->data + out->size, (size_t)size + 1);
    if (got < 0)
        code = error_set_errno(error, errno, "%s", path);
    else if ((uint64_t)got != size)
        code = error_set(error, ERR_IO, "%s: changed while it was read: had %" PRIu64 " bytes, then %s", path, size,
                         (uint64_t)got > size ? "more" : "fewer");
    else
        out->size += (size_t)size;
out:
    close(fd);
    return code;
}

int file_write_all(int fd, const void *data, size_t size, const char *path, struct error *error) {
    const uint8_t *p = data;
    while (size > 0) {
        ssize_t n = write(fd, p, size);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return error_set_errno(error, n < 0 ? errno : EIO, "%s: cannot write", path);
        p += n;
        size -= (size_t)n;
    }
    return 0;
}

int file_pread_all(int fd, void *data, size_t size, uint64_t offset, const char *path, struct error *error) {
    size_t got = 0;
    while (got < size) {
        ssize_t n = pread(fd, (uint8_t *)data + got, size - got, (off_t)(offset + got));
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return error_set_errno(error, errno, "%s: cannot read at byte %" PRIu64, path, offset + got);
        if (n == 0)
            return error_set(error, ERR_IO, "%s: ends after %zu of the %zu bytes expected at byte %" PRIu64, path, got,
                             size, offset);
        got += (size_t)n;
    }
    return 0;
}

/* Writes, syncs and closes a new file. */
static int write_new(const char *path, const void *data, size_t size, struct error *error) {
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    if (fd < 0)
        return error_set_errno(error, errno, "%s: cannot create", path);
    int code = file_write_all(fd, data, size, path, error);
    if (code == 0 && fsync(fd) != 0)
        code = error_set_errno(error, errno, "%s: cannot sync", path);
    if (close(fd) != 0 && code == 0)
        code = error_set_errno(error, errno, "%s: cannot close", path);
    return code;
}

/* The directory that holds `path`, malloc'ed. */
static char *path_parent(const char *path) {
    const char *base = path_base(path);
    if (base == path)
        return strdup(".");
    size_t length = (size_t)(base - path);
    return strndup(path, length > 1 ? length - 1 : 1);
}

int file_write_atomic(const char *path, const void *data, size_t size, struct error *error) {
    char *parent = path_parent(path), *temporary = NULL;
    int code = 0;
    if (!parent || asprintf(&temporary, "%s.tmp", path) < 0) {
        temporary = NULL;
        code = error_set(error, ERR_MEMORY, "%s: out of memory", path);
        goto out;
    }
    unlink(temporary); /* a killed run's; O_EXCL then refuses whatever else may stand there, links above all */
    code = write_new(temporary, data, size, error);
    if (code == 0 && rename(temporary, path) != 0)
        code = error_set_errno(error, errno, "%s: cannot rename to it", path);
    if (code != 0)
        unlink(temporary);
    else
        code = path_sync(parent, error);
out:
    free(temporary);
    free(parent);
    return code;
}

int file_write_output(const char *path, const void *data, size_t size, struct error *error) {
    struct stat st;
    if (lstat(path, &st) != 0 || S_ISREG(st.st_mode) || S_ISDIR(st.st_mode))
        return file_write_atomic(path, data, size, error);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOCTTY, 0644);
    if (fd < 0)
        return error_set_errno(error, errno, "%s: cannot open", path);
    int code = file_write_all(fd, data, size, path, error);
    if (close(fd) != 0 && code == 0)
        code = error_set_errno(error, errno, "%s: cannot close", path);
    return code;
}

int file_check_output(const char *path, struct error *error) {
    struct stat st;
    bool directory = stat(path, &st) == 0 && S_ISDIR(st.st_mode);
    if (directory)
        return error_set_errno(error, EISDIR, "%s: cannot be written", path);
    if (lstat(path, &st) == 0 && !S_ISREG(st.st_mode))
        return 0; /* a device, a pipe or a link: it will say so itself */
    char *parent = path_parent(path);
    int code = !parent                       ? error_set(error, ERR_MEMORY, "%s: out of memory", path)
               : access(parent, W_OK | X_OK) ? error_set_errno(error, errno, "%s: cannot be written: %s", path, parent)
                                             : 0;
    free(parent);
    return code;
}

int path_sync(const char *path, struct error *error) {
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return error_set_errno(error, errno, "%s", path);
    int code = 0;
    if (fsync(fd) != 0 && errno != EINVAL) /* some network file systems know no fsync of directories */
        code = error_set_errno(error, errno, "%s: cannot sync", path);
    close(fd);
    return code;
}

int file_map(struct span *out, const char *path, struct error *error) {
    *out = (struct span){0};
    int fd;
    uint64_t size;
    int code = open_regular(&fd, &size, AT_FDCWD, path, error);
    if (code != 0)
        return code;
    if (size > 0) {
        void *data = mmap(NULL, (size_t)size, PROT_READ, MAP_SHARED, fd, 0);
        if (data == MAP_FAILED)
            code = error_set_errno(error, errno, "%s: cannot map its %" PRIu64 " bytes", path, size);
        else
            *out = (struct span){data, (size_t)size};
    }
    close(fd);
    return code;
}

void file_unmap(struct span *map) {
    if (map->data)
        munmap((void *)map->data, map->size);
    *map = (struct span){0};
}

static bool is_directory(const char *path) {
    struct stat st;
    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

/* What mkdir() says of a directory that is there differs (EEXIST, EROFS, EACCES), so it is looked at instead. */
static int make_directory(const char *path, struct error *error) {
    if (mkdir(path, 0777) == 0)
        return 0;
    int os_errno = errno;
    if (is_directory(path))
        return 0;
    return error_set_errno(error, os_errno == EEXIST ? ENOTDIR : os_errno, "%s: cannot make the directory", path);
}

int dir_create_all(const char *path, struct error *error) {
    char *copy = strdup(path);
    if (!copy)
        return error_set(error, ERR_MEMORY, "%s: out of memory", path);
    int code = 0;
    for (char *p = copy + 1; code == 0 && *copy && *p; p++) {
        if (*p != '/' || p[-1] == '/')
            continue;
        *p = 0;
        code = make_directory(copy, error);
        *p = '/';
    }
    if (code == 0)
        code = make_directory(copy, error);
    free(copy);
    return code;
}

static int remove_entry(int dir_fd, const char *name, const char *root, struct error *error);

static int remove_content(int fd, const char *root, struct error *error) {
    DIR *dir = fdopendir(fd);
    if (!dir) {
        int code = error_set_errno(error, errno, "%s: cannot list", root);
        close(fd);
        return code;
    }
    int code = 0;
    while (code == 0) {
        errno = 0;
        const struct dirent *entry = readdir(dir);
        if (!entry) {
            if (errno != 0)
                code = error_set_errno(error, errno, "%s: cannot list", root);
            break;
        }
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            code = remove_entry(dirfd(dir), entry->d_name, root, error);
    }
    closedir(dir);
    return code;
}

/* Removes `name` in `dir_fd`: a directory with what it holds, anything else as it is. `root` is for the message. */
static int remove_entry(int dir_fd, const char *name, const char *root, struct error *error) {
    int fd = openat(dir_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    int flags = fd >= 0 ? AT_REMOVEDIR : 0;
    if (fd < 0 && errno != ENOTDIR && errno != ELOOP)
        return errno == ENOENT ? 0 : error_set_errno(error, errno, "%s: cannot remove %s", root, name);
    int code = fd >= 0 ? remove_content(fd, root, error) : 0;
    if (code == 0 && unlinkat(dir_fd, name, flags) != 0 && errno != ENOENT)
        code = error_set_errno(error, errno, "%s: cannot remove %s", root, name);
    return code;
}

int dir_remove_all(const char *path, struct error *error) {
    return remove_entry(AT_FDCWD, path, path, error);
}

int disk_free_bytes(uint64_t *out, const char *path, struct error *error) {
    struct statvfs fs;
    if (statvfs(path, &fs) != 0)
        return error_set_errno(error, errno, "%s: cannot ask for free space", path);
    *out = (uint64_t)fs.f_bavail * fs.f_frsize;
    return 0;
}

char *path_join(const char *a, const char *b) {
    if (*b == '/' || *a == 0 || strcmp(a, ".") == 0)
        return strdup(b);
    if (*b == 0)
        return strdup(a);
    char *joined;
    const char *slash = a[strlen(a) - 1] == '/' ? "" : "/";
    return asprintf(&joined, "%s%s%s", a, slash, b) < 0 ? NULL : joined;
}

const char *path_base(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

const char *path_suffix(const char *path) {
    const char *base = path_base(path), *dot = strrchr(base, '.');
    return dot && dot != base ? dot + 1 : "";
}
