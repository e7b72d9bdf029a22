/* The workers' side of the loader: rows handed out in the order of the batches, made, and put into their slots. */
#include "loader_private.h"

#include "plan.h"
#include "thread.h"

#include <string.h>

/* How many full slots there are when a batch is opened, so soon after the consumer gave one back. */
static void note_spare(struct ypk_loader *ld) {
    uint32_t full = 0;
    for (uint32_t i = 0; i < ld->queue_count; i++)
        full += ld->queue[(ld->queue_first + i) % ld->config.memory.slots_most]->state == SLOT_READY;
    if (full < ld->tuning.spare)
        ld->tuning.spare = full;
}

/* The slot whose next row is to be done, opening the next batch if none is open; NULL: nothing to do now. */
static struct slot *find_work(struct ypk_loader *ld) {
    uint32_t slots = ld->config.memory.slots_most;
    if (ld->paused)
        return NULL;
    if (ld->queue_count > 0) {
        struct slot *last = ld->queue[(ld->queue_first + ld->queue_count - 1) % slots];
        if (last->rows_handed < ld->config.layout.rows)
            return last;
    }
    if (ld->next_batch >= ld->batch_count)
        return NULL;
    for (uint32_t i = 0; i < slots; i++) {
        struct slot *slot = &ld->slots[i];
        if (slot->state != SLOT_FREE)
            continue;
        note_spare(ld);
        slot->state = SLOT_FILLING;
        slot->batch = ld->next_batch++;
        slot->rows_handed = slot->rows_done = 0;
        slot->error_code = 0;
        memset(slot->label_counts, 0, ld->config.layout.rows * sizeof *slot->label_counts);
        ld->queue[(ld->queue_first + ld->queue_count++) % slots] = slot;
        if (ld->config.layout.rows > 1)
            pthread_cond_broadcast(&ld->work);
        return slot;
    }
    return NULL;
}

static void finish_row(struct ypk_loader *ld, struct slot *slot, uint32_t row, struct size_px size, int rc,
                       const struct error *error) {
    if (rc != 0 && (slot->error_code == 0 || row < slot->error_row)) {
        slot->error_code = rc;
        slot->error_row = row;
        slot->error = *error;
    }
    slot->size = size;
    if (++slot->rows_done == ld->config.layout.rows) {
        slot->state = SLOT_READY;
        slot->full_ns = clock_ns();
        pthread_cond_signal(&ld->done);
    }
}

static void add_counts(ypk_loader_stats *stats, const struct row_counts *counts) {
    const struct frame_times *t = &counts->times;
    stats->read_seconds += (double)t->read * 1e-9;
    stats->decode_seconds += (double)t->decode * 1e-9;
    stats->resize_seconds += (double)t->resize * 1e-9;
    stats->warp_seconds += (double)t->warp * 1e-9;
    stats->colour_seconds += (double)t->colour * 1e-9;
    stats->write_seconds += (double)t->write * 1e-9;
    stats->decodes += counts->decodes;
    stats->substituted += counts->substituted;
}

void workers_count_sleep(struct ypk_loader *ld) {
    uint64_t now = clock_ns();
    ld->stats.idle_seconds += (double)(now - ld->tuning.sleeping_ns) * 1e-9 * ld->tuning.sleeping;
    ld->tuning.sleeping_ns = now;
}

static void wait_for_work(struct ypk_loader *ld) {
    workers_count_sleep(ld);
    ld->tuning.sleeping++;
    pthread_cond_wait(&ld->work, &ld->mutex);
    workers_count_sleep(ld);
    ld->tuning.sleeping--;
}

/* The mutex is held, but not while the row is made. */
static void make_next_row(struct worker *w, struct slot *slot) {
    struct ypk_loader *ld = w->loader;
    const struct plan *plan = ld->config.plan;
    uint32_t row = slot->rows_handed++;
    int64_t position = plan_rank_position(plan, ld->config.options.rank, slot->batch, row);
    ld->busy++;
    pthread_mutex_unlock(&ld->mutex);

    struct recipe recipe;
    struct error error = {0};
    plan_sample(plan, position, &recipe);
    transfer_range_push(ld->transfer, "yolopack: make a row");
    int rc = row_maker_make(w->maker, slot, row, &recipe, &error);
    transfer_range_pop(ld->transfer);
    struct row_counts counts = row_maker_take_counts(w->maker);

    pthread_mutex_lock(&ld->mutex);
    add_counts(&ld->stats, &counts);
    ld->tuning.rows++;
    finish_row(ld, slot, row, (struct size_px){recipe.output_width, recipe.output_height}, rc, &error);
    if (--ld->busy == 0 && ld->paused)
        pthread_cond_signal(&ld->done);
}

static void *work(void *arg) {
    struct worker *w = arg;
    struct ypk_loader *ld = w->loader;

    pthread_mutex_lock(&ld->mutex);
    while (!ld->stopped && !tuning_parks(w)) {
        if (tuning_step(ld))
            continue;
        struct slot *slot = find_work(ld);
        if (slot)
            make_next_row(w, slot);
        else
            wait_for_work(ld);
    }
    pthread_mutex_unlock(&ld->mutex);
    return NULL;
}

int workers_add(struct ypk_loader *ld, struct error *error) {
    struct worker *w = &ld->workers[ld->tuning.workers];
    w->loader = ld;
    w->index = ld->tuning.workers;
    int rc = row_maker_create(&w->maker, ld->dataset, &ld->config, ld->window, error);
    if (rc != 0)
        return rc;
    pthread_mutex_lock(&ld->mutex);
    if (ld->stopped)
        rc = ERR_INTERRUPTED;
    bool before = w->started;
    w->started = false;
    pthread_mutex_unlock(&ld->mutex);
    if (before) /* it was parked: its thread ended, or is about to */
        pthread_join(w->thread, NULL);
    int code = rc == 0 ? thread_start(&w->thread, work, w) : 0;
    if (code != 0)
        rc = error_set_errno(error, code, "cannot start worker thread %u", w->index + 1);
    pthread_mutex_lock(&ld->mutex);
    w->started = rc == 0;
    pthread_mutex_unlock(&ld->mutex);
    if (rc != 0)
        row_maker_destroy(&w->maker);
    return rc;
}

int workers_start(struct ypk_loader *ld, struct error *error) {
    int rc = 0;
    ld->tuning.changing = true; /* until all of them are there */
    while (rc == 0 && ld->tuning.workers < ld->config.memory.workers) {
        rc = workers_add(ld, error);
        pthread_mutex_lock(&ld->mutex);
        ld->tuning.workers += rc == 0;
        pthread_mutex_unlock(&ld->mutex);
    }
    if (rc != 0 && ld->tuning.workers > 0 && ld->config.options.workers == 0) /* a limit on threads costs speed only */
        rc = 0;
    pthread_mutex_lock(&ld->mutex);
    ld->tuning.aim = (struct balance_aim){ld->tuning.workers, ld->tuning.slots};
    ld->tuning.changing = false;
    pthread_mutex_unlock(&ld->mutex);
    return rc;
}

void workers_stop(struct ypk_loader *ld) {
    pthread_mutex_lock(&ld->mutex);
    ld->stopped = true;
    pthread_cond_broadcast(&ld->work);
    pthread_cond_broadcast(&ld->done);
    pthread_mutex_unlock(&ld->mutex);
    if (ld->window)
        window_cancel(ld->window);
    for (uint32_t i = 0; ld->workers && i < ld->config.memory.workers_most; i++) {
        pthread_mutex_lock(&ld->mutex); /* the workers before it may have started it just now */
        bool started = ld->workers[i].started;
        pthread_mutex_unlock(&ld->mutex);
        if (started)
            pthread_join(ld->workers[i].thread, NULL);
        row_maker_destroy(&ld->workers[i].maker);
    }
}
