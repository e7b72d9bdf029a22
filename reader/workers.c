/* The workers' side of the loader: rows handed out in the order of the batches, made, and put into their slots. */
#include "loader_private.h"

#include "plan.h"
#include "thread.h"

#include <string.h>

/* The slot whose next row is to be done, opening the next batch if none is open; NULL: nothing to do now. */
static struct slot *find_work(struct ypk_loader *ld) {
    uint32_t slots = ld->config.memory.slots;
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
        slot->full_ns = now_ns();
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

static void *work(void *arg) {
    struct worker *w = arg;
    struct ypk_loader *ld = w->loader;
    const struct plan *plan = ld->config.plan;

    pthread_mutex_lock(&ld->mutex);
    while (!ld->stopped) {
        struct slot *slot = find_work(ld);
        if (!slot) {
            uint64_t from = now_ns();
            pthread_cond_wait(&ld->work, &ld->mutex);
            ld->stats.idle_seconds += (double)(now_ns() - from) * 1e-9;
            continue;
        }
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
        finish_row(ld, slot, row, (struct size_px){recipe.output_width, recipe.output_height}, rc, &error);
        if (--ld->busy == 0 && ld->paused)
            pthread_cond_signal(&ld->done);
    }
    pthread_mutex_unlock(&ld->mutex);
    return NULL;
}

static int start_worker(struct ypk_loader *ld, struct worker *w, struct error *error) {
    w->loader = ld;
    int rc = row_maker_create(&w->maker, ld->dataset, &ld->config, ld->window, error);
    if (rc != 0)
        return rc;
    rc = thread_start(&w->thread, work, w);
    if (rc != 0 && ld->started > 0 && ld->config.options.workers == 0) { /* a limit on threads costs speed only */
        ld->config.memory.workers = ld->started;
        row_maker_destroy(&w->maker);
        return 0;
    }
    if (rc != 0)
        return error_set_errno(error, rc, "cannot start worker thread %u of %u", ld->started + 1,
                               ld->config.memory.workers);
    ld->started++;
    return 0;
}

int workers_start(struct ypk_loader *ld, struct error *error) {
    int rc = 0;
    for (uint32_t i = 0; rc == 0 && i < ld->config.memory.workers; i++)
        rc = start_worker(ld, &ld->workers[i], error);
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
    for (uint32_t i = 0; i < ld->started; i++)
        pthread_join(ld->workers[i].thread, NULL);
    for (uint32_t i = 0; ld->workers && i < ld->config.memory.workers; i++)
        row_maker_destroy(&ld->workers[i].maker);
}
