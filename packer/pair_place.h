/* Paths that lists, maps and data.yaml name, brought under one base directory. */
#ifndef YPK_PACKER_PAIR_PLACE_H
#define YPK_PACKER_PAIR_PLACE_H

#include "arena.h"
#include "error.h"
#include "scan.h"

#include <stdbool.h>

/*
 * Every path that is put in comes out relative to the base: at once when it lies inside; else it is absolute until
 * pair_places_settle() moves the base up to a directory that holds all. So no sample's name is absolute or has a "..".
 */
struct pair_places {
    char *base;            /* as it was given, or the new one */
    char *absolute, *real; /* the same without "..", and without symbolic links */
    struct path_list subs; /* after settling: what has to be scanned, relative to the base ("": all) */
    struct arena arena;
    char *last_directory; /* of the last path that was put: lists name many of one directory */
    const char *last_place;
    bool any_inside;
};

int pair_places_init(struct pair_places *p, const char *base, struct error *error);

/* The place of `path`, which is absolute or relative to `root` (itself relative to the current directory). Owned by the
 * arena. NULL if memory ran out. */
const char *pair_places_put(struct pair_places *p, const char *root, const char *path);

/* The same for a directory: with a slash at its end, or "" for the base. */
const char *pair_places_put_directory(struct pair_places *p, const char *path);

/* Puts every path of the lists (NULL items stay) under the final base and fills `subs`. A path outside whose directory
 * is not there moves nothing: it stays absolute. 0 or ERR_MEMORY. */
int pair_places_settle(struct pair_places *p, struct path_list *const *lists, size_t list_count);

void pair_places_deinit(struct pair_places *p);

/* Takes "." and ".." and doubled slashes out of a path, in place, without asking the file system. */
void path_clean(char *path);

#endif
