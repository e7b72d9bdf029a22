/* Walks a raw directory once and says what lies there. Paths are bytes from end to end. */
#ifndef YPK_PACKER_SCAN_H
#define YPK_PACKER_SCAN_H

#include "error.h"
#include "report.h"

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

/* Relative paths ("images/train/a.jpg"), sorted as bytes, no duplicates; owned by one arena. */
struct path_list {
    const char **items;
    size_t count, capacity;
};

struct scan {
    struct path_list images;    /* names with a known image suffix (jpg jpeg jpe png bmp tif tiff webp mpo, any case) */
    struct path_list labels;    /* *.txt */
    uint64_t skipped_count;     /* everything else: each kind is a FILE_SKIPPED row of the report */
    void *arena;
};

/*
 * Walks `root` / `sub` ("" for all). Paths come out relative to `root`. Symbolic links to files and directories are
 * followed; a directory reached twice is walked once. Never opens a file: FIFOs, sockets, devices and directories with
 * an image's name are named and skipped. Known droppings (dot files and dot directories, Thumbs.db, desktop.ini,
 * __MACOSX, *-lock, @eaDir) are skipped and counted in one row a kind; so are other suffixes, counted by suffix. Few
 * directories are open at once, whatever the depth. A directory that cannot be read is ERR_IO naming it.
 * `root` not being there is ERR_NOT_FOUND ("no such directory (did you mean …?)" from the names beside it).
 * Rows go to `report`, which may be NULL. `cancel`, if not NULL, is looked at now and then: ERR_INTERRUPTED.
 */
int scan_directory(struct scan *out, const char *root, const char *sub, struct report *report,
                   const atomic_bool *cancel, struct error *error);
void scan_deinit(struct scan *scan);

/* The row of `path` in a sorted list, or SIZE_MAX. O(log n). */
size_t path_list_find(const struct path_list *list, const char *path);

#endif
