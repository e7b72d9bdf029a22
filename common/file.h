/* Files as the rest needs them: whole reads, atomic writes, read-only maps, directories made durable. */
#ifndef YPK_COMMON_FILE_H
#define YPK_COMMON_FILE_H

#include "bytes.h"
#include "error.h"

#include <stdint.h>
#include <sys/types.h>

/* Reads a whole regular file to the end of `out` (appended, so that a caller can leave room for a header in front).
 * Anything that is not a regular file, and anything over `limit_bytes`, is refused before it is read. A file that
 * changes its size while it is read is ERR_IO, naming it. `dir_fd` is a directory or AT_FDCWD. */
int file_read(struct bytes *out, int dir_fd, const char *path, uint64_t limit_bytes, struct error *error);

/* Writes all of `data` to `fd`, restarting after signals and short writes. `path` is for the message. */
int file_write_all(int fd, const void *data, size_t size, const char *path, struct error *error);

/* Reads exactly `size` bytes at `offset`; a shorter file is ERR_IO with what was there. */
int file_pread_all(int fd, void *data, size_t size, uint64_t offset, const char *path, struct error *error);

/* Creates `path` (mode 0644, replacing what is there) with `data`, by temporary name, fsync, rename and fsync of the
 * directory. On failure the old file, if any, is as it was and the temporary file is gone; only when that last fsync
 * fails is the new file already in its place, but not yet known to be durable. */
int file_write_atomic(const char *path, const void *data, size_t size, struct error *error);

/* The same for a name that a user gave: what is there and is neither file nor directory (a device, a pipe, a link such
 * as /dev/stdout) is written to, not replaced. */
int file_write_output(const char *path, const void *data, size_t size, struct error *error);

/* Can there be a file of that name? To be asked before work that takes long and ends in file_write_output(). */
int file_check_output(const char *path, struct error *error);

/* fsync of a directory, or of a file by name. */
int path_sync(const char *path, struct error *error);

/* A whole file mapped read-only and shared. An empty file gives {NULL, 0}. */
int file_map(struct span *out, const char *path, struct error *error);
void file_unmap(struct span *map);

/* mkdir -p with mode 0777 & ~umask. */
int dir_create_all(const char *path, struct error *error);

/* Removes a directory and everything below it; a path that is not there is success. Symlinks are removed,
 * not followed. */
int dir_remove_all(const char *path, struct error *error);

/* Bytes a non-root user can still write on the file system that holds `path` (which must exist). */
int disk_free_bytes(uint64_t *out, const char *path, struct error *error);

/* a/b from "a" and "b" ("b" if a is "" or "."), malloc'ed; NULL if memory ran out. An absolute b is returned as
 * it is. */
char *path_join(const char *a, const char *b);

/* The part after the last '/'. */
const char *path_base(const char *path);

/* The name's suffix without its dot ("jpg" of "a.b.jpg"), "" if there is none; a leading dot starts no suffix. */
const char *path_suffix(const char *path);

#endif
