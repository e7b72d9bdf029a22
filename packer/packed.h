/* A pack that is there already, as merging and appending take it in: manifest, report, and each index, checked. */
#ifndef YPK_PACKER_PACKED_H
#define YPK_PACKER_PACKED_H

#include "error.h"
#include "index.h"
#include "intake.h"
#include "pack.h"
#include "report.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

struct packed_split {
    char name[48];
    char same_as[48]; /* "" or the split whose shards it shares */
    struct intake_counts counts;
    uint64_t report_rows; /* of a part: about its samples */
    struct span map;
    struct index_view view;
};

struct packed {
    const char *path; /* borrowed */
    json_t *manifest;
    uint64_t identity; /* of its files, by packed_identity() */
    struct pack_part part;
    struct packed_split splits[8];
    size_t split_count;
    struct report report;
};

/* Opens and checks everything but the shards' bytes. Codes of manifest_read(), file_map() and index_check(), the
 * message naming the file. Close it either way. */
int packed_open(struct packed *out, const char *path, struct error *error);
void packed_close(struct packed *p);

/* Hash of the manifest's bytes, which has the hashes of all other files. */
int packed_identity(uint64_t *out, const char *path, struct error *error);

/* NULL if the pack has none of that name. */
const struct packed_split *packed_split(const struct packed *p, const char *name);

/* The class names in the manifest, appended to `out`. */
int packed_classes(struct string_list *out, const struct packed *p, struct error *error);

/* The first member in which the options of two packs differ, with both values as text. */
struct packed_difference {
    char key[32];
    char ours[64], theirs[64];
};

/* False if the options (manifest member "options") are equal. With `any_version` other versions of libraries are no
 * difference. */
bool packed_options_differ(struct packed_difference *out, const json_t *ours, const json_t *theirs, bool any_version);

/* Hard-links the shards of a split into `directory`, numbered from `first` on, in place of what is there. A shard that
 * is not there, or not as the index has it, is ERR_CORRUPT; another file system is ERR_INPUT. */
int packed_link_shards(const struct packed *p, const struct packed_split *split, const char *directory, uint64_t first,
                       struct error *error);

#endif
