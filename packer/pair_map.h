/* An explicit map of pairs: a line a sample. */
#ifndef YPK_PACKER_PAIR_MAP_H
#define YPK_PACKER_PAIR_MAP_H

#include "pair_place.h"
#include "scan.h"

/* Three lists of one length; NULL where a line says nothing. Zero-initialise. */
struct pair_map {
    struct path_list rgb, ir, label;
    uint64_t *lines; /* their numbers in the file, from 1 */
    size_t line_capacity;
    bool has_pairs; /* a line names both */
};

/*
 * Reads FILE: lines of tab-separated rgb, ir, label, with a head line that names them in any order or without one; or
 * JSON Lines, objects with those keys. Empty or null: there is none (a line needs rgb or ir; a label is then looked
 * for by rule). Other columns and keys are passed over. Paths are absolute, or relative to the data set `base` when the
 * first one is there, else to the map's directory; they are put into `places`. ERR_INPUT names file and line.
 */
int pair_map_read(struct pair_map *out, struct pair_places *places, const char *base, const char *file,
                  struct error *error);
void pair_map_deinit(struct pair_map *map);

#endif
