/* Walks a raw directory once and says what lies there. Paths are bytes from end to end. */
#ifndef YPK_PACKER_SCAN_H
#define YPK_PACKER_SCAN_H

#include "arena.h"
#include "error.h"
#include "report.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Relative paths ("images/train/a.jpg"), sorted as bytes, no duplicates; owned by the arena of the scan. */
struct path_list {
    const char **items;
    size_t count, capacity;
};

int path_list_add(struct path_list *list, const char *path); /* borrows; 0 or ERR_MEMORY */
void path_list_sort(struct path_list *list);                 /* and drops duplicates */

/* The first row of a sorted list that is `prefix` or greater, as bytes: what lies below "a/b" begins at that of "a/b/".
 * O(log n); with *hint (NULL: none), where the result is left, O(log distance) for ascending prefixes. */
size_t path_list_lower(const struct path_list *list, const char *prefix, size_t *hint);

/* The row of `path` in a sorted list, or SIZE_MAX. */
size_t path_list_find(const struct path_list *list, const char *path, size_t *hint);

/* Zero-initialise. */
struct scan {
    struct path_list images; /* names with a known image suffix (jpg jpeg jpe png bmp tif tiff webp mpo, any case) */
    struct path_list labels; /* *.txt, any case and whatever it is: a directory, a FIFO, a broken link too */
    uint64_t skipped_count;  /* everything else: each kind is a FILE_SKIPPED row of the report */
    struct arena arena;
};

/*
 * Walks `root` / `sub` ("" for all) and adds what it finds; may be called again with the same root. Paths come out
 * relative to `root`. Symbolic links to files and directories are followed; a directory reached twice in a call is
 * walked once, by its real path if that lies in the tree, and the other way to it is named as skipped. Never opens a
 * file: FIFOs, sockets, devices, broken links (but for *.txt) and directories with an image's name are named and
 * skipped. Known droppings (dot files and dot directories, Thumbs.db, desktop.ini, __MACOSX, *-lock, @eaDir) are
 * skipped and counted in one row a kind; so are other suffixes but yaml and yml, counted by suffix. At most two
 * directories are open at once, whatever the depth. A directory that cannot be read is ERR_IO naming it. `root` or
 * `sub` not being there is path_missing(). Rows go to `report`, which may be NULL. `cancel`, if not NULL, is looked at
 * now and then: ERR_INTERRUPTED.
 */
int scan_directory(struct scan *out, const char *root, const char *sub, struct report *report,
                   const atomic_bool *cancel, struct error *error);
void scan_deinit(struct scan *scan);

/* True for the file names that scan_directory() takes for images. */
bool scan_is_image_name(const char *name);

/* Sets ERR_NOT_FOUND, "no such file or directory (did you mean …?)" from the names beside `path`, and returns it. */
int path_missing(const char *path, struct error *error);

/* The path that is there and is most like `path`: with '/' for each '\\', and each name that is missing replaced by the
 * one beside it that it is nearest to. malloc'ed; NULL when there is none, or memory ran out. */
char *path_nearest(const char *path);

#endif
