/* What a loader is made of: for the files of the loader only. */
#ifndef YPK_READER_LOADER_PRIVATE_H
#define YPK_READER_LOADER_PRIVATE_H

#include "balance.h"
#include "clock.h"
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

/* How many workers and slots there are, and how many there should be. Guarded by the loader's mutex. */
struct tuning {
    bool automatic;
    struct balance balance;  /* of the one that changes something, as `changing` says */
    bool changing;           /* somebody adds or parks one, or looks what to do: one change at a time */
    struct balance_aim aim;  /* where the changes lead to */
    uint32_t workers, slots; /* that there are */
    uint32_t pictures;       /* buffers of the window */
    uint32_t changes;        /* of the aim */
    uint32_t sleeping;       /* workers that wait for work, */
    uint64_t sleeping_ns;    /* and until when their sleep is in the stats */
    uint64_t rows;           /* made, since the last look */
    uint32_t spare;          /* the fewest full slots when a batch was opened, since the last look */
    int64_t look_from;       /* the batch of which the first look is: before it the window fills */
    uint64_t look_ns;        /* the last look, and what there was then: */
    uint64_t look_batches, look_cpu_ns, look_blocks;
    double look_wait, look_sleep;
};

struct worker {
    struct ypk_loader *loader;
    uint32_t index;
    pthread_t thread;
    bool started; /* guarded by the mutex: a thread that is to be joined, even if it has ended */
    struct row_maker *maker;
};

struct ypk_loader {
    const struct ypk_dataset *dataset;
    struct loader_config config;
    struct window *window;
    struct transfer *transfer; /* NULL: batches are in host memory */
    char note[256];            /* of what is not as it was asked for; "" */
    bool any_stream;           /* a device was asked for if there is one: then streams have no meaning without it */
    struct slot *slots;        /* [config.memory.slots_most], some of them parked */
    struct worker *workers;    /* [config.memory.workers_most], of which the first tuning.workers are at work */
    int64_t batch_count;       /* of all epochs; INT64_MAX without end */
    pid_t pid;

    pthread_mutex_t mutex; /* guards all below, and what slot.h says */
    pthread_cond_t work;   /* workers wait: a slot became free, the pause is over, or something is to be changed */
    pthread_cond_t done;   /* the consumer waits: a batch is full, or no worker is at work */
    struct slot **queue;   /* ring of slots at work or full, in the order of their batches: [slots_most] */
    uint32_t queue_first, queue_count;
    int64_t next_batch; /* the next to be opened */
    int64_t delivered;  /* the next to be delivered */
    uint32_t busy;      /* workers at work on a row or on a change */
    uint32_t held;      /* slots of batches that the consumer has */
    bool paused, stopped, destroyed;
    ypk_loader_stats stats;
    uint64_t started_ns;
    struct tuning tuning;
};

/* loader.c */

/* A slot's memory, page-locked where a device copies from it. */
int loader_open_slot(struct ypk_loader *ld, struct slot *slot, struct error *error);
void loader_close_slot(struct ypk_loader *ld, struct slot *slot);

/* workers.c */

/* Starts config.memory.workers of them. On failure those that run are for workers_stop(). */
int workers_start(struct ypk_loader *ld, struct error *error);

/* Ends all of them, in the middle of a batch if need be, and frees what they have. */
void workers_stop(struct ypk_loader *ld);

/* One more, which is workers[tuning.workers]: the caller counts it. The mutex is not held. */
int workers_add(struct ypk_loader *ld, struct error *error);

/* Brings the sleep of those who sleep into the stats. The mutex is held. */
void workers_count_sleep(struct ypk_loader *ld);

/* tuning.c; the mutex is held */

/* With what the configuration says; and where the counting begins after going elsewhere. */
void tuning_begin(struct ypk_loader *ld);
void tuning_restart(struct ypk_loader *ld);

/* Adds or parks a slot, adds a worker, or looks whether to do so, if it is time for one of them: then true, and what
 * was known before is out of date, since the mutex was given up meanwhile. */
bool tuning_step(struct ypk_loader *ld);

/* True if this worker is one too many: it has no tools any more and ends. The mutex may be given up meanwhile. */
bool tuning_parks(struct worker *w);

/* Bytes of slots, window and scratch, each of all together. */
void tuning_memory(const struct ypk_loader *ld, ypk_loader_stats *out);

#endif
