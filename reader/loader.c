/*
 * Batches from worker threads, in order.
 *
 *   plan ──position──> worker: recipe ──> row_maker ──> row of a slot ──┐
 *                                                                       v
 *   consumer <──next── oldest full slot <── slots in the order of their batches
 *
 * Work is handed out row by row in the order of the batches, so the oldest unfinished batch is always finished first
 * and there is nothing to steal. A free slot opens the next batch. What a row looks like depends on its position alone.
 */
#include "loader_private.h"

#include "api_error.h"
#include "loader.h"
#include "plan.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Less than this part of the time is not worth a verdict. */
#define WAIT_WORTH_TELLING 0.02

/* ---- life -------------------------------------------------------------------------------------------------------- */

int loader_open_slot(struct ypk_loader *ld, struct slot *slot, struct error *error) {
    int rc = slot_init(slot, &ld->config.layout, ld, error);
    return rc || !ld->transfer ? rc : transfer_pin(ld->transfer, slot, error);
}

void loader_close_slot(struct ypk_loader *ld, struct slot *slot) {
    if (ld->transfer)
        transfer_unpin(ld->transfer, slot);
    slot_deinit(slot);
}

static int allocate_on_device(struct ypk_loader *ld, struct error *error) {
    const struct transfer_options options = {.loader = ld,
                                             .sent = &ld->config.layout,
                                             .delivered = &ld->config.delivered,
                                             .mean = ld->config.options.mean,
                                             .deviation = ld->config.options.deviation,
                                             .slots = ld->config.device_slots,
                                             .batch_count = ld->batch_count};
    return ld->transfer ? transfer_allocate(ld->transfer, &options, error) : 0;
}

static int allocate(struct ypk_loader *ld, struct error *error) {
    const struct loader_memory *m = &ld->config.memory;
    struct window_options window = loader_window_options(&ld->config, m->pictures);
    ld->slots = calloc(m->slots_most, sizeof *ld->slots);
    ld->queue = calloc(m->slots_most, sizeof *ld->queue);
    ld->workers = calloc(m->workers_most, sizeof *ld->workers);
    if (!ld->slots || !ld->queue || !ld->workers)
        return error_set(error, ERR_MEMORY, "out of memory for a loader");
    int rc = window_create(&ld->window, &window, error);
    if (rc == 0)
        rc = allocate_on_device(ld, error);
    for (uint32_t i = 0; rc == 0 && i < m->slots; i++)
        rc = loader_open_slot(ld, &ld->slots[i], error);
    for (uint32_t i = m->slots; i < m->slots_most; i++)
        ld->slots[i].state = SLOT_PARKED;
    tuning_begin(ld);
    return rc;
}

/* When neither the loader nor a batch is used any more. */
static void free_rest(struct ypk_loader *ld) {
    loader_config_deinit(&ld->config);
    pthread_cond_destroy(&ld->done);
    pthread_cond_destroy(&ld->work);
    pthread_mutex_destroy(&ld->mutex);
    free(ld->queue);
    free(ld->slots);
    free(ld);
}

/* Batches that are held outlive the loader: the last release frees the rest. */
static void destroy(struct ypk_loader *ld) {
    transfer_stop(ld->transfer);
    workers_stop(ld);
    transfer_join(ld->transfer);
    free(ld->workers);
    window_destroy(&ld->window);

    pthread_mutex_lock(&ld->mutex);
    for (uint32_t i = 0; ld->slots && i < ld->config.memory.slots_most; i++)
        if (ld->slots[i].state != SLOT_HELD)
            loader_close_slot(ld, &ld->slots[i]);
    transfer_destroy(&ld->transfer);
    ld->destroyed = true;
    bool last = ld->held == 0;
    pthread_mutex_unlock(&ld->mutex);
    if (last)
        free_rest(ld);
}

static int start(struct ypk_loader *ld, struct error *error) {
    int rc = workers_start(ld, error);
    return rc || !ld->transfer ? rc : transfer_start(ld->transfer, error);
}

/* With an open device, which is the loader's from now on, or NULL for host memory. */
static int create_with(struct ypk_loader **out, const struct ypk_dataset *dataset, const ypk_loader_options *options,
                       struct transfer *transfer, struct error *error) {
    struct ypk_loader *ld = calloc(1, sizeof *ld);
    if (!ld) {
        transfer_destroy(&transfer);
        return error_set(error, ERR_MEMORY, "out of memory for a loader");
    }
    ld->transfer = transfer;
    ld->dataset = dataset;
    ld->pid = getpid();
    pthread_mutex_init(&ld->mutex, NULL);
    pthread_cond_init(&ld->work, NULL);
    pthread_cond_init(&ld->done, NULL);
    int rc = loader_config_init(&ld->config, dataset, options, transfer != NULL, error);
    if (rc == 0) {
        int64_t end = plan_end(ld->config.plan);
        ld->batch_count = end == INT64_MAX ? end : end / plan_frozen_options(ld->config.plan)->batch;
        ld->started_ns = clock_ns();
        rc = allocate(ld, error);
    }
    if (rc == 0)
        rc = start(ld, error);
    if (rc != 0) {
        destroy(ld);
        return rc;
    }
    *out = ld;
    return 0;
}

int loader_create_on(struct ypk_loader **out, const struct ypk_dataset *dataset, const ypk_loader_options *options,
                     const struct device_ops *ops, int ordinal, struct error *error) {
    struct transfer *transfer = NULL;
    int rc = ops ? transfer_open(&transfer, ops, ordinal, error) : 0;
    return rc ? rc : create_with(out, dataset, options, transfer, error);
}

/* On the first CUDA device if that opens; else in host memory, and the stats say why. */
static int create_anywhere(struct ypk_loader **out, const struct ypk_dataset *dataset,
                           const ypk_loader_options *options, struct error *error) {
    const struct device_ops *ops;
    struct transfer *transfer = NULL;
    struct error why = {0};
    int ordinal;
    if (device_find(&ops, &ordinal, "cuda", &why) == 0)
        transfer_open(&transfer, ops, ordinal, &why);
    int rc = create_with(out, dataset, options, transfer, error);
    if (rc != 0)
        return rc;
    (*out)->any_stream = true;
    if (!transfer)
        snprintf((*out)->note, sizeof(*out)->note, "batches stay in host memory: %.200s", why.message);
    return 0;
}

static int create(struct ypk_loader **out, const struct ypk_dataset *dataset, const ypk_loader_options *options,
                  struct error *error) {
    const struct device_ops *ops;
    int ordinal;
    int rc = loader_options_check_size(options, error);
    if (rc == 0 && options->device && strcmp(options->device, "auto") == 0)
        return create_anywhere(out, dataset, options, error);
    if (rc == 0)
        rc = device_find(&ops, &ordinal, options->device, error);
    return rc ? rc : loader_create_on(out, dataset, options, ops, ordinal, error);
}

int ypk_loader_create(ypk_loader **out, const ypk_dataset *dataset, const ypk_loader_options *options,
                      ypk_error *error) {
    struct error inner = {0};
    if (out)
        *out = NULL;
    int rc = out && dataset && options
                 ? create(out, dataset, options, &inner)
                 : error_set(&inner, ERR_ARGUMENT, "ypk_loader_create: out, dataset and options must not be NULL");
    return rc ? api_fail(error, &inner) : YPK_OK;
}

void ypk_loader_destroy(ypk_loader **loader) {
    if (!loader || !*loader)
        return;
    if ((*loader)->pid == getpid()) /* in a child of fork() there are no workers, and a mutex may be held for ever */
        destroy(*loader);
    *loader = NULL;
}

/* ---- the consumer ------------------------------------------------------------------------------------------------ */

static int check_process(const struct ypk_loader *ld, struct error *error) {
    return ld->pid == getpid() ? 0
                               : error_set(error, ERR_ARGUMENT,
                                           "this loader was made before fork(): its workers live in "
                                           "the parent. Make one in the child");
}

static void pop_first(struct ypk_loader *ld) {
    ld->queue_first = (ld->queue_first + 1) % ld->config.memory.slots_most;
    ld->queue_count--;
}

struct slot *loader_take_full(struct ypk_loader *ld, bool wait) {
    struct slot *slot = NULL;
    pthread_mutex_lock(&ld->mutex);
    while (!slot && !ld->paused && !ld->stopped) {
        struct slot *first = ld->queue_count > 0 ? ld->queue[ld->queue_first] : NULL;
        if (first && first->state == SLOT_READY) {
            slot = first;
            slot->state = SLOT_SENDING;
            pop_first(ld);
        } else if (!wait) {
            break;
        } else {
            pthread_cond_wait(&ld->done, &ld->mutex);
        }
    }
    pthread_mutex_unlock(&ld->mutex);
    return slot;
}

void loader_give_back(struct ypk_loader *ld, struct slot *slot) {
    pthread_mutex_lock(&ld->mutex);
    slot->state = SLOT_FREE;
    pthread_cond_signal(&ld->work);
    pthread_mutex_unlock(&ld->mutex);
}

static void hold(struct ypk_loader *ld, struct slot *slot) {
    slot->state = SLOT_HELD;
    slot->references = 1;
    ld->held++;
    pop_first(ld);
}

/* Waits for the oldest batch. 0 with *slot, YPK_END, or an error. The mutex is held. */
static int wait_for_batch(struct ypk_loader *ld, struct slot **out, struct error *error) {
    uint64_t from = 0;
    int rc = 0;
    for (;;) {
        struct slot *first = ld->queue_count > 0 ? ld->queue[ld->queue_first] : NULL;
        if (first && first->state == SLOT_READY) {
            *out = first;
            break;
        }
        if (!first && ld->delivered >= ld->batch_count) {
            rc = YPK_END;
            break;
        }
        if (ld->held == ld->tuning.slots) {
            rc = error_set(error, ERR_SLOTS_HELD,
                           "all %u batches that the loader has are held: release one before asking "
                           "for the next, or set a larger prefetch",
                           ld->held);
            break;
        }
        from = from ? from : clock_ns();
        pthread_cond_wait(&ld->done, &ld->mutex);
    }
    if (from)
        ld->stats.wait_seconds += (double)(clock_ns() - from) * 1e-9;
    return rc;
}

static int next_in_memory(struct ypk_loader *ld, ypk_batch *out, int64_t *batch, struct error *error) {
    struct slot *slot = NULL;
    int rc;
    pthread_mutex_lock(&ld->mutex);
    rc = wait_for_batch(ld, &slot, error);
    if (rc == 0 && slot->error_code != 0) { /* stays at the head: every further call says the same */
        rc = slot->error_code;
        *error = slot->error;
    }
    if (rc == 0)
        hold(ld, slot);
    pthread_mutex_unlock(&ld->mutex);
    if (rc != 0)
        return rc;
    slot_describe(slot, out, slot_shown_rows(slot), slot_collate(slot));
    *batch = slot->batch;
    out->slot = slot;
    return 0;
}

static int next(struct ypk_loader *ld, ypk_batch *out, void *stream, struct error *error) {
    uint64_t per_epoch = plan_batches_per_epoch(ld->config.plan);
    int64_t batch = 0;
    int rc = check_process(ld, error);
    if (rc == 0)
        rc = ld->transfer ? transfer_next(ld->transfer, out, &batch, stream, error)
                          : next_in_memory(ld, out, &batch, error);
    if (rc != 0)
        return rc;
    out->epoch = (uint64_t)batch / per_epoch;
    out->index = (uint64_t)batch % per_epoch;
    pthread_mutex_lock(&ld->mutex);
    ld->delivered = batch + 1;
    ld->stats.batches++;
    ld->stats.samples += out->valid_count;
    pthread_mutex_unlock(&ld->mutex);
    return 0;
}

int ypk_loader_next(ypk_loader *loader, ypk_batch *out, void *stream, ypk_error *error) {
    struct error inner = {0};
    int rc;
    if (out)
        memset(out, 0, sizeof *out);
    if (!loader || !out)
        rc = error_set(&inner, ERR_ARGUMENT, "ypk_loader_next: loader and out must not be NULL");
    else if (stream != YPK_NO_STREAM && !loader->transfer && !loader->any_stream)
        rc = error_set(&inner, ERR_ARGUMENT, "ypk_loader_next: batches are in host memory: pass YPK_NO_STREAM");
    else
        rc = next(loader, out, stream, &inner);
    return rc < 0 ? api_fail(error, &inner) : rc;
}

int loader_retain(struct slot *slot, struct error *error) {
    struct ypk_loader *ld = slot->owner;
    if (slot->transfer)
        return transfer_retain(slot, error);
    int rc = check_process(ld, error);
    if (rc != 0)
        return rc;
    pthread_mutex_lock(&ld->mutex);
    slot->references++;
    pthread_mutex_unlock(&ld->mutex);
    return 0;
}

bool loader_release(struct slot *slot, void *stream) {
    struct ypk_loader *ld = slot->owner;
    bool last = false;
    if (slot->transfer)
        return transfer_release(slot, stream);
    if (ld->pid != getpid()) /* a child of fork() gives nothing back: the mutex may be held for ever */
        return true;
    pthread_mutex_lock(&ld->mutex);
    if (--slot->references == 0) {
        slot->state = SLOT_FREE;
        ld->held--;
        if (ld->destroyed) {
            slot_deinit(slot);
            last = ld->held == 0;
        } else {
            pthread_cond_signal(&ld->work);
        }
    }
    pthread_mutex_unlock(&ld->mutex);
    if (last)
        free_rest(ld);
    return true;
}

void ypk_batch_release(ypk_batch *batch, void *stream) {
    if (batch && batch->slot && loader_release(batch->slot, stream))
        memset(batch, 0, sizeof *batch);
}

static int use_on(const ypk_batch *batch, void *stream, struct error *error) {
    if (!batch || !batch->slot)
        return error_set(error, ERR_ARGUMENT, "ypk_batch_used_on: no batch that is held");
    if (stream == YPK_NO_STREAM)
        return error_set(error, ERR_ARGUMENT, "ypk_batch_used_on: stream is YPK_NO_STREAM, and it is to name one");
    struct slot *slot = batch->slot;
    return slot->transfer ? transfer_use(slot, stream, error) : 0; /* whoever uses host memory is done at its release */
}

int ypk_batch_used_on(ypk_batch *batch, void *stream, ypk_error *error) {
    struct error inner = {0};
    return use_on(batch, stream, &inner) ? api_fail(error, &inner) : YPK_OK;
}

/* ---- where it is, and elsewhere ---------------------------------------------------------------------------------- */

/* Stops the workers between two rows and begins again with batch `batch`. */
static int go_to(struct ypk_loader *ld, int64_t batch, struct error *error) {
    int rc = ld->transfer ? transfer_pause(ld->transfer, error) : 0;
    if (rc != 0)
        return rc;
    pthread_mutex_lock(&ld->mutex);
    if (ld->held > 0)
        rc =
            error_set(error, ERR_ARGUMENT, "release every batch before going elsewhere: %u of them are held", ld->held);
    ld->paused = true;
    if (ld->transfer) { /* it may wait for a full slot, and have others to give back */
        pthread_cond_broadcast(&ld->done);
        pthread_mutex_unlock(&ld->mutex);
        transfer_settle(ld->transfer);
        pthread_mutex_lock(&ld->mutex);
    }
    while (rc == 0 && ld->busy > 0)
        pthread_cond_wait(&ld->done, &ld->mutex);
    if (rc == 0) {
        for (uint32_t i = 0; i < ld->config.memory.slots_most; i++)
            if (ld->slots[i].state != SLOT_PARKED)
                ld->slots[i].state = SLOT_FREE;
        ld->queue_first = ld->queue_count = 0;
        ld->next_batch = ld->delivered = batch;
        window_restart(ld->window, batch * plan_frozen_options(ld->config.plan)->batch);
        ypk_loader_stats fresh = {0};
        ld->stats = fresh;
        ld->started_ns = clock_ns();
        if (ld->transfer)
            transfer_resume(ld->transfer, batch);
        tuning_restart(ld);
    }
    ld->paused = false;
    pthread_cond_broadcast(&ld->work);
    pthread_mutex_unlock(&ld->mutex);
    return rc;
}

int ypk_loader_state(ypk_loader *ld, char *text, size_t size, ypk_error *error) {
    struct error inner = {0};
    char state[PLAN_STATE_BYTES];
    int rc = ld && text ? check_process(ld, &inner)
                        : error_set(&inner, ERR_ARGUMENT, "ypk_loader_state: loader and text must not be NULL");
    if (rc != 0)
        return api_fail(error, &inner);
    pthread_mutex_lock(&ld->mutex);
    int64_t batch = ld->delivered;
    pthread_mutex_unlock(&ld->mutex);
    plan_state_encode(ld->config.plan, batch * plan_frozen_options(ld->config.plan)->batch, state);
    size_t length = strlen(state) + 1;
    if (length > size) {
        error_set(&inner, ERR_ARGUMENT, "ypk_loader_state: %zu bytes are needed, %zu given", length, size);
        return api_fail(error, &inner);
    }
    memcpy(text, state, length);
    return YPK_OK;
}

int ypk_loader_restore(ypk_loader *ld, const char *text, ypk_error *error) {
    struct error inner = {0};
    int64_t position = 0;
    int rc = ld && text ? check_process(ld, &inner)
                        : error_set(&inner, ERR_ARGUMENT, "ypk_loader_restore: loader and text must not be NULL");
    if (rc == 0)
        rc = plan_state_decode(ld->config.plan, text, strnlen(text, PLAN_STATE_BYTES), &position, &inner);
    if (rc == 0)
        rc = go_to(ld, position / plan_frozen_options(ld->config.plan)->batch, &inner);
    return rc ? api_fail(error, &inner) : YPK_OK;
}

static int seek(struct ypk_loader *ld, uint64_t epoch, uint64_t index, struct error *error) {
    uint64_t batches = plan_batches_per_epoch(ld->config.plan);
    int rc = check_process(ld, error);
    if (rc == 0 && epoch > PLAN_EPOCH_LIMIT)
        rc = error_set(error, ERR_ARGUMENT, "epoch %" PRIu64 " is over the limit of %u", epoch, PLAN_EPOCH_LIMIT);
    if (rc == 0 && index >= batches)
        rc = error_set(error, ERR_ARGUMENT, "batch %" PRIu64 ": an epoch has %" PRIu64 " of them, counted from 0",
                       index, batches);
    int64_t batch = rc == 0 ? (int64_t)(epoch * batches + index) : 0;
    if (rc == 0 && batch > ld->batch_count)
        rc = error_set(error, ERR_ARGUMENT,
                       "batch %" PRIu64 " of epoch %" PRIu64 ": the loader has %" PRIu32 " epochs, counted "
                       "from 0",
                       index, epoch, ld->config.options.epochs);
    return rc ? rc : go_to(ld, batch, error);
}

int ypk_loader_seek(ypk_loader *ld, uint64_t epoch, uint64_t index, ypk_error *error) {
    struct error inner = {0};
    int rc = ld ? seek(ld, epoch, index, &inner)
                : error_set(&inner, ERR_ARGUMENT, "ypk_loader_seek: loader must not be NULL");
    return rc ? api_fail(error, &inner) : YPK_OK;
}

uint64_t ypk_loader_batches_per_epoch(const ypk_loader *loader) {
    return plan_batches_per_epoch(loader->config.plan);
}

/* Streams that were seen waiting say more than the thread, which runs ahead of them. */
void loader_judge(ypk_loader_stats *s, const struct loader_wait *wait) {
    double waited = wait->stalls > 0 ? wait->stream : wait->host;
    double late = wait->stalls > 0 ? wait->stream_late : wait->host_late;
    double shown = late < s->copy_seconds ? late : s->copy_seconds;
    double augment = s->resize_seconds + s->warp_seconds + s->colour_seconds + s->write_seconds;
    s->copy_overlap = s->copy_seconds > 0 ? 1 - shown / s->copy_seconds : 0;
    if (waited < WAIT_WORTH_TELLING * s->seconds)
        s->verdict = "consumer-bound";
    else if (2 * late > waited)
        s->verdict = "transfer-bound";
    else if (s->read_seconds > s->decode_seconds && s->read_seconds > augment)
        s->verdict = "storage-bound";
    else
        s->verdict = s->decode_seconds > augment ? "decode-bound" : "augment-bound";
}

void loader_get_stats(struct ypk_loader *ld, ypk_loader_stats *out, struct loader_wait *wait) {
    bool parent = ld->pid == getpid(); /* in a child of fork() a mutex may be held for ever */
    memset(out, 0, sizeof *out);
    if (parent) {
        pthread_mutex_lock(&ld->mutex);
        workers_count_sleep(ld);
        *out = ld->stats;
        out->seconds = (double)(clock_ns() - ld->started_ns) * 1e-9;
    }
    tuning_memory(ld, out);
    if (parent)
        pthread_mutex_unlock(&ld->mutex);
    out->device = ld->transfer ? transfer_device(ld->transfer) : "cpu";
    out->note = ld->note;
    *wait = (struct loader_wait){.host = out->wait_seconds};
    if (parent && ld->transfer)
        transfer_get_stats(ld->transfer, out, wait);
    loader_judge(out, wait);
}

void ypk_loader_get_stats(ypk_loader *ld, ypk_loader_stats *out) {
    struct loader_wait wait;
    loader_get_stats(ld, out, &wait);
}
