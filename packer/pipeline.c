#include "pipeline.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

/* What became of the item in one slot of the ring. */
struct outcome {
    bool ready;
    int rc;
    struct error error;
};

struct run {
    const struct pipeline *pipeline;
    pthread_mutex_t mutex;   /* guards all below */
    pthread_cond_t produced; /* the consumer waits */
    pthread_cond_t consumed; /* producers wait */
    uint64_t next;           /* first item no producer has taken */
    uint64_t done;           /* first item not consumed */
    bool stop;
    struct outcome *outcomes; /* [slot_count] */
};

struct producer {
    struct run *run;
    void *worker;
    pthread_t thread;
};

static bool cancelled(const struct pipeline *p, struct error *error) {
    if (!p->cancel || !atomic_load_explicit(p->cancel, memory_order_relaxed))
        return false;
    error_set(error, ERR_INTERRUPTED, "interrupted");
    return true;
}

static void *produce_items(void *arg) {
    struct producer *self = arg;
    struct run *run = self->run;
    const struct pipeline *p = run->pipeline;

    pthread_mutex_lock(&run->mutex);
    for (;;) {
        while (!run->stop && run->next < p->end && run->next >= run->done + p->slot_count)
            pthread_cond_wait(&run->consumed, &run->mutex);
        if (run->stop || run->next >= p->end)
            break;
        uint64_t item = run->next++;
        size_t slot = item % p->slot_count;
        struct outcome *outcome = &run->outcomes[slot];
        pthread_mutex_unlock(&run->mutex);

        outcome->error = (struct error){0};
        outcome->rc = p->produce(self->worker, p->slots[slot], item, &outcome->error);

        pthread_mutex_lock(&run->mutex);
        outcome->ready = true;
        if (item == run->done)
            pthread_cond_signal(&run->produced);
    }
    pthread_mutex_unlock(&run->mutex);
    return NULL;
}

static int consume_items(struct run *run, struct error *error) {
    const struct pipeline *p = run->pipeline;
    int rc = 0;

    for (uint64_t item = p->first; item < p->end && rc == 0; item++) {
        size_t slot = item % p->slot_count;
        struct outcome *outcome = &run->outcomes[slot];

        pthread_mutex_lock(&run->mutex);
        while (!outcome->ready)
            pthread_cond_wait(&run->produced, &run->mutex);
        pthread_mutex_unlock(&run->mutex);

        if (cancelled(p, error)) {
            rc = ERR_INTERRUPTED;
        } else if (outcome->rc != 0) {
            rc = outcome->rc;
            if (error)
                *error = outcome->error;
        } else {
            rc = p->consume(p->consume_arg, p->slots[slot], item, error);
        }

        pthread_mutex_lock(&run->mutex);
        outcome->ready = false;
        run->done = item + 1;
        pthread_cond_broadcast(&run->consumed);
        pthread_mutex_unlock(&run->mutex);
    }
    return rc;
}

static int run_inline(const struct pipeline *p, struct error *error) {
    for (uint64_t item = p->first; item < p->end; item++) {
        void *slot = p->slots[item % p->slot_count];
        if (cancelled(p, error))
            return ERR_INTERRUPTED;
        int rc = p->produce(p->workers[0], slot, item, error);
        if (rc == 0)
            rc = p->consume(p->consume_arg, slot, item, error);
        if (rc != 0)
            return rc;
    }
    return 0;
}

static void stop_producers(struct run *run, struct producer *producers, unsigned count) {
    pthread_mutex_lock(&run->mutex);
    run->stop = true;
    pthread_cond_broadcast(&run->consumed);
    pthread_mutex_unlock(&run->mutex);
    for (unsigned i = 0; i < count; i++)
        pthread_join(producers[i].thread, NULL);
}

static int run_threads(const struct pipeline *p, struct error *error) {
    struct run run = {.pipeline = p, .next = p->first, .done = p->first};
    struct producer *producers = calloc(p->job_count, sizeof *producers);
    unsigned started = 0;
    int rc = 0;

    run.outcomes = calloc(p->slot_count, sizeof *run.outcomes);
    if (!producers || !run.outcomes) {
        free(producers);
        free(run.outcomes);
        return error_set(error, ERR_MEMORY, "out of memory for %u workers", p->job_count);
    }
    pthread_mutex_init(&run.mutex, NULL);
    pthread_cond_init(&run.produced, NULL);
    pthread_cond_init(&run.consumed, NULL);

    for (; started < p->job_count; started++) {
        producers[started] = (struct producer){.run = &run, .worker = p->workers[started]};
        rc = pthread_create(&producers[started].thread, NULL, produce_items, &producers[started]);
        if (rc != 0)
            break;
    }
    if (started > 0) /* a limit on threads costs speed, not the run */
        rc = consume_items(&run, error);
    else
        rc = error_set_errno(error, rc, "cannot start a worker thread");
    stop_producers(&run, producers, started);

    pthread_cond_destroy(&run.consumed);
    pthread_cond_destroy(&run.produced);
    pthread_mutex_destroy(&run.mutex);
    free(run.outcomes);
    free(producers);
    return rc;
}

int pipeline_run(const struct pipeline *pipeline, struct error *error) {
    return pipeline->job_count == 1 ? run_inline(pipeline, error) : run_threads(pipeline, error);
}
