/*
 * Copies the files of a pack into a staged copy, each byte hashed on its way.
 *
 *   list ──> what is there already ──> make (and reserve) all that is missing ─┐
 *                        jobs × (copy and hash ─> NAME.partial ─> NAME) <──────┘
 */
#ifndef YPK_PACKER_STAGE_COPY_H
#define YPK_PACKER_STAGE_COPY_H

#include "error.h"
#include "index.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct stage_split {
    struct span map;
    struct index_view view;
};

struct stage_file {
    char *name;
    uint64_t bytes, hash;            /* hash of the whole file; unused for a shard */
    const struct stage_split *split; /* of a shard; NULL for another file */
    uint64_t shard;
    bool present;
};

struct stage_list {
    const char *pack;
    struct stage_split *splits;
    size_t split_count;
    struct stage_file *files;
    size_t file_count;
    uint64_t shard_count, pack_shard_count; /* listed, and of the whole pack */
    uint64_t bytes;                         /* of all that is listed */
};

/* Everything but the shards whose number, modulo `world`, is not `rank`. */
int stage_list_init(struct stage_list *out, const char *pack, uint32_t rank, uint32_t world, struct error *error);
void stage_list_deinit(struct stage_list *list);

/* Marks what lies in `directory` as it should; removes what has the name of a listed file and is something else.
 * *missing is the space that the rest needs. */
int stage_list_compare(struct stage_list *list, const char *directory, uint64_t *missing, struct error *error);

struct stage_copy_options {
    unsigned jobs;
    bool reserve; /* all space before the first byte is copied */
    const atomic_bool *cancel;
    void (*on_progress)(void *arg, uint64_t done_bytes, uint64_t total_bytes); /* one call at a time, from any thread */
    void *callback_arg;
};

/* Copies what is not present. On failure the files that are finished stay, and *.partial may too. ERR_CORRUPT
 * names what does not match its hash; ERR_SPACE. */
int stage_copy(const struct stage_list *list, const char *directory, const struct stage_copy_options *options,
               struct error *error);

/* Removes every NAME.partial: only the holder of the copy's lock may. */
int stage_remove_partial(const char *directory, struct error *error);

#endif
