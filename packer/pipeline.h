/*
 * Many producers, one consumer, order kept:
 *
 *   items first … end ──> jobs × produce(worker, slot, item) ──> ring of slots ──> consume(slot, item), in item order
 *
 * The ring bounds what is in flight; a full ring blocks the producers and nothing is ever dropped. The consumer runs on
 * the caller's thread. With one job everything runs inline on the caller's thread, by the same functions.
 */
#ifndef YPK_PACKER_PIPELINE_H
#define YPK_PACKER_PIPELINE_H

#include "error.h"

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

struct pipeline {
    uint64_t first, end;
    void *const *workers; /* [job_count]: each belongs to one thread */
    unsigned job_count;
    void *const *slots; /* [slot_count] */
    size_t slot_count;
    int (*produce)(void *worker, void *slot, uint64_t item, struct error *error);
    int (*consume)(void *arg, void *slot, uint64_t item, struct error *error);
    void *consume_arg;
    const atomic_bool *cancel; /* may be NULL; ERR_INTERRUPTED when it turns true */
};

/* Runs all items. The first failure in item order ends it: items before the failing one have been consumed, none after.
 * All threads have ended when this returns. */
int pipeline_run(const struct pipeline *pipeline, struct error *error);

#endif
