/* What a loader is made of: for the files of the loader only. */
#ifndef YPK_READER_LOADER_PRIVATE_H
#define YPK_READER_LOADER_PRIVATE_H

#include "dataset.h"
#include "error.h"
#include "loader_options.h"
#include "row_maker.h"
#include "slot.h"
#include "transfer.h"
#include "window.h"
#include "yolopack.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

struct worker {
    struct ypk_loader *loader;
    pthread_t thread;
    struct row_maker *maker;
};

struct ypk_loader {
    const struct ypk_dataset *dataset;
    struct loader_config config;
    struct window *window;
    struct transfer *transfer; /* NULL: batches are in host memory */
    char note[256];            /* of what is not as it was asked for; "" */
    bool any_stream;           /* a device was asked for if there is one: then streams have no meaning without it */
    struct slot *slots;        /* [config.memory.slots] */
    struct worker *workers;    /* [config.memory.workers] */
    uint32_t started;
    int64_t batch_count; /* of all epochs; INT64_MAX without end */
    pid_t pid;

    pthread_mutex_t mutex; /* guards all below, and what slot.h says */
    pthread_cond_t work;   /* workers wait: a slot became free, or the pause is over */
    pthread_cond_t done;   /* the consumer waits: a batch is full, or no worker is at work */
    struct slot **queue;   /* ring of slots at work or full, in the order of their batches */
    uint32_t queue_first, queue_count;
    int64_t next_batch; /* the next to be opened */
    int64_t delivered;  /* the next to be delivered */
    uint32_t busy;      /* workers at work on a row */
    uint32_t held;      /* slots of batches that the consumer has */
    bool paused, stopped, destroyed;
    ypk_loader_stats stats;
    uint64_t started_ns;
};

static inline uint64_t now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Starts config.memory.workers of them. On failure those that run are for workers_stop(). */
int workers_start(struct ypk_loader *ld, struct error *error);

/* Ends all of them, in the middle of a batch if need be, and frees what they have. */
void workers_stop(struct ypk_loader *ld);

#endif
