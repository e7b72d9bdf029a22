/*
 * Staging: a pack's files copied into a tmpfs (or onto a fast disk), one copy for all jobs that use it.
 *
 * common/staging.h says where a copy lies, lease.h who uses it. Whatever changes a copy holds an exclusive flock on its
 * directory, so that of two jobs that stage the same pack one copies and the other waits; a killed job's lock is gone
 * with it. A file in a copy is whole as soon as it has its name: what a killed run leaves is *.partial files, which the
 * next one removes, and whole files, which it keeps. A copy without a lease is removed. Files are only ever unlinked,
 * never cut, so a reader that has mapped one keeps it.
 */
#ifndef YPK_PACKER_STAGE_H
#define YPK_PACKER_STAGE_H

#include "error.h"
#include "lease.h"

#include <limits.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct stage_options {
    const char *base;     /* NULL: $YPK_STAGE_DIR, or /dev/shm */
    const char *job;      /* the lease's name; NULL: the login session's */
    uint32_t rank, world; /* shards whose number modulo world is rank; 0 of 1: all */
    unsigned jobs;        /* files copied at once; 0: one a core */
    const atomic_bool *cancel;
    void (*on_wait)(void *arg); /* another job holds the copy */
    void (*on_progress)(void *arg, uint64_t done_bytes, uint64_t total_bytes);
    void *callback_arg;
};

struct stage_result {
    char directory[PATH_MAX];
    uint64_t bytes, copied_bytes; /* of the files asked for; of these, copied now */
    uint64_t shard_count, pack_shard_count;
    size_t lease_count;
};

/* Makes sure that the copy holds the shards asked for, and takes the lease. ERR_SPACE says what is needed, what is
 * free, and what to do; ERR_CORRUPT what does not match its hash; nothing is left behind then but what other
 * jobs use. */
int stage_pack(struct stage_result *result, const char *pack, const struct stage_options *options, struct error *error);

struct unstage_result {
    uint64_t copies;      /* that were found */
    uint64_t freed_bytes; /* of copies that nobody uses any more */
    size_t lease_count;   /* that are left */
};

/* Drops the lease (`all`: every lease) of the pack's copy in options->base, or wherever it is staged if that is NULL,
 * and removes what nobody uses. ERR_NOT_FOUND if it is staged and the lease is not there. */
int stage_drop(struct unstage_result *result, const char *pack, bool all, const struct stage_options *options,
               struct error *error);

struct staged_copy {
    const char *directory;
    const char *pack; /* from where it was staged first; "" if that is not known */
    uint64_t shard_count, bytes;
    size_t lease_count;
    const struct lease *leases; /* [lease_count] */
    bool busy;                  /* a job is changing it at this moment */
};

/* Removes what dead jobs left and calls `visit` for each copy in `base`, or in every place where readers look. */
int stage_each(const char *base, void (*visit)(void *arg, const struct staged_copy *copy), void *arg,
               struct error *error);

#endif
