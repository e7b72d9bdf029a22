#include "transfer.h"

#include "clock.h"
#include "device_slot.h"
#include "loader.h"
#include "thread.h"
#include "transfer_meter.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct transfer {
    struct device_route route;
    struct transfer_meter meter;
    struct transfer_options options;
    char name[24];
    struct device_slot *slots; /* [options.slots] */
    pthread_t thread;
    bool started;
    pid_t pid;

    /* the thread's, like the slots that are free */
    struct device_slot **flying; /* ring: copies that may not have ended, oldest first */
    uint32_t flying_first, flying_count;
    uint32_t last; /* the slot that was sent last */

    pthread_mutex_t mutex;      /* guards all below, and the slots' state and users */
    pthread_cond_t freed;       /* the thread waits: a slot is free, or it is asked to do something else */
    pthread_cond_t sent;        /* the consumer waits: a batch was handed over; or the thread has settled */
    struct device_slot **queue; /* ring: handed over and not delivered, in the order of their batches */
    uint32_t queue_first, queue_count;
    int64_t delivered; /* the next to be delivered */
    uint32_t held;
    uint32_t references; /* the loader's, and one of each batch that is held */
    bool paused, settled, stopped, closing;
    struct error failure; /* of the device: stays */
    struct error refusal; /* of a release: told once */
    uint64_t pinned_bytes;
    char note[256];
};

static void fail(struct transfer *t, const struct error *error) {
    pthread_mutex_lock(&t->mutex);
    if (t->failure.code == 0)
        t->failure = *error;
    pthread_cond_broadcast(&t->sent);
    pthread_mutex_unlock(&t->mutex);
}

void transfer_range_push(struct transfer *t, const char *name) {
    if (t)
        t->route.ops->range_push(t->route.device, name);
}

void transfer_range_pop(struct transfer *t) {
    if (t)
        t->route.ops->range_pop(t->route.device);
}

/* ---- the thread -------------------------------------------------------------------------------------------------- */

/* A batch whose making failed is handed over too, for the consumer to be told in its turn. */
static void hand_over_failure(struct transfer *t, struct device_slot *d, struct slot *source) {
    d->slot.batch = source->batch;
    d->slot.error_code = source->error_code;
    d->slot.error = source->error;
    loader_give_back(t->options.loader, source);
}

static void send(struct transfer *t, struct device_slot *d, struct slot *source) {
    struct error error = {0};
    const bool failed = source->error_code != 0;
    if (failed) {
        hand_over_failure(t, d, source);
    } else if (device_slot_fill(d, &t->route, source, &error) == 0) {
        transfer_meter_add_bytes(&t->meter, d->copied_bytes);
        d->source = source;
        t->flying[(t->flying_first + t->flying_count++) % t->options.slots] = d;
    } else { /* what was put on the streams may still read the source: it is not given back */
        fail(t, &error);
        return;
    }
    pthread_mutex_lock(&t->mutex);
    if (!failed) /* else the next copy to this slot waits for them */
        d->user_count = 0;
    d->slot.state = SLOT_READY;
    t->queue[(t->queue_first + t->queue_count++) % t->options.slots] = d;
    pthread_cond_broadcast(&t->sent);
    pthread_mutex_unlock(&t->mutex);
}

/* Waits for the oldest copy and gives its slot back to the workers. After a failure it is not: who knows what
 * reads it. */
static void recycle(struct transfer *t) {
    struct device_slot *d = t->flying[t->flying_first];
    struct error error = {0};
    double seconds = 0;
    transfer_range_push(t, "yolopack: wait for a copy");
    int rc = t->route.ops->synchronise(t->route.device, d->copied, &error);
    transfer_range_pop(t);
    if (rc == 0)
        rc = t->route.ops->elapsed(t->route.device, d->begun, d->copied, &seconds, &error);
    t->flying_first = (t->flying_first + 1) % t->options.slots;
    t->flying_count--;
    if (rc == 0) {
        loader_give_back(t->options.loader, d->source);
        d->source = NULL;
        transfer_meter_add_copy(&t->meter, seconds);
        rc = transfer_meter_collect(&t->meter, &error);
    }
    if (rc != 0)
        fail(t, &error);
}

/* The free slot whose turn it is. The mutex is held. */
static struct device_slot *free_slot(struct transfer *t) {
    if (t->paused || t->failure.code != 0)
        return NULL;
    for (uint32_t i = 1; i <= t->options.slots; i++) {
        uint32_t at = (t->last + i) % t->options.slots;
        if (t->slots[at].slot.state == SLOT_FREE && !t->slots[at].source) {
            t->last = at;
            return &t->slots[at];
        }
    }
    return NULL;
}

static void *run(void *arg) {
    struct transfer *t = arg;
    pthread_mutex_lock(&t->mutex);
    while (!t->stopped) {
        struct device_slot *d = free_slot(t);
        if (!d && t->flying_count == 0) {
            t->settled = true;
            pthread_cond_broadcast(&t->sent);
            pthread_cond_wait(&t->freed, &t->mutex);
            continue;
        }
        t->settled = false;
        pthread_mutex_unlock(&t->mutex);
        struct slot *source = d ? loader_take_full(t->options.loader, t->flying_count == 0) : NULL;
        if (source)
            send(t, d, source);
        else if (t->flying_count > 0)
            recycle(t);
        pthread_mutex_lock(&t->mutex);
    }
    pthread_mutex_unlock(&t->mutex);
    while (t->flying_count > 0)
        recycle(t);
    return NULL;
}

/* ---- life -------------------------------------------------------------------------------------------------------- */

int transfer_open(struct transfer **out, const struct device_ops *ops, int ordinal, struct error *error) {
    struct transfer *t = calloc(1, sizeof *t);
    *out = NULL;
    if (!t)
        return error_set(error, ERR_MEMORY, "out of memory for a device");
    t->route = (struct device_route){.ops = ops, .ordinal = ordinal};
    snprintf(t->name, sizeof t->name, "%s:%d", ops->name, ordinal);
    t->references = 1;
    t->pid = getpid();
    int rc = ops->open(&t->route.device, ordinal, error);
    if (rc != 0) {
        free(t);
        return rc;
    }
    transfer_meter_init(&t->meter, ops, t->route.device);
    pthread_mutex_init(&t->mutex, NULL);
    pthread_cond_init(&t->freed, NULL);
    pthread_cond_init(&t->sent, NULL);
    *out = t;
    return 0;
}

static bool same_bytes(const struct batch_layout *sent, const struct batch_layout *delivered) {
    return delivered->type == NUMBER_U8 && !delivered->interleaved && sent->ir_channels == delivered->ir_channels;
}

static int open_route(struct transfer *t, struct error *error) {
    struct device_route *r = &t->route;
    r->sent = t->options.sent;
    r->delivered = t->options.delivered;
    r->mean = t->options.mean;
    r->deviation = t->options.deviation;
    r->converts = !same_bytes(r->sent, r->delivered);
    int rc = r->ops->stream_create(r->device, &r->copy_stream, error);
    if (rc == 0 && r->converts)
        rc = r->ops->stream_create(r->device, &r->convert_stream, error);
    return rc;
}

int transfer_allocate(struct transfer *t, const struct transfer_options *options, struct error *error) {
    const struct batch_layout *l = options->delivered;
    t->options = *options;
    if ((uint64_t)l->rows * l->row_labels > UINT32_MAX)
        return error_set(error, ERR_ARGUMENT,
                         "a batch of %u samples with up to %u boxes each has more labels than can be counted", l->rows,
                         l->row_labels);
    t->slots = calloc(options->slots, sizeof *t->slots);
    t->flying = calloc(options->slots, sizeof(struct device_slot *));
    t->queue = calloc(options->slots, sizeof(struct device_slot *));
    if (!t->slots || !t->flying || !t->queue)
        return error_set(error, ERR_MEMORY, "out of memory for a device");
    int rc = open_route(t, error);
    for (uint32_t i = 0; rc == 0 && i < options->slots; i++)
        rc = device_slot_init(&t->slots[i], t, &t->route, error);
    return rc ? rc : transfer_meter_create_events(&t->meter, error);
}

int transfer_pin(struct transfer *t, struct slot *slot, struct error *error) {
    size_t bytes = slot_bytes(slot->layout);
    struct error limit = {0};
    int rc = t->route.ops->pin(t->route.device, slot->memory, bytes, &limit);
    if (rc != 0 && rc != ERR_SPACE) {
        if (error)
            *error = limit;
        return rc;
    }
    slot->pinned = rc == 0;
    pthread_mutex_lock(&t->mutex);
    if (slot->pinned)
        t->pinned_bytes += bytes;
    else if (!t->note[0])
        snprintf(t->note, sizeof t->note, "copies are slower than they could be: %.200s", limit.message);
    pthread_mutex_unlock(&t->mutex);
    return 0;
}

void transfer_unpin(struct transfer *t, struct slot *slot) {
    if (!slot->pinned)
        return;
    t->route.ops->unpin(t->route.device, slot->memory);
    slot->pinned = false;
    pthread_mutex_lock(&t->mutex);
    t->pinned_bytes -= slot_bytes(slot->layout);
    pthread_mutex_unlock(&t->mutex);
}

int transfer_start(struct transfer *t, struct error *error) {
    int rc = thread_start(&t->thread, run, t);
    if (rc != 0)
        return error_set_errno(error, rc, "cannot start the thread that feeds the device");
    t->started = true;
    return 0;
}

void transfer_stop(struct transfer *t) {
    if (!t)
        return;
    pthread_mutex_lock(&t->mutex);
    t->stopped = true;
    pthread_cond_signal(&t->freed);
    pthread_mutex_unlock(&t->mutex);
}

/* After a failure, what was handed over before it: no event may stand for that. */
static void drain(struct transfer *t) {
    void *event = t->slots[0].copied;
    if (t->route.ops->record(t->route.device, event, t->route.copy_stream, NULL) == 0)
        t->route.ops->synchronise(t->route.device, event, NULL);
    if (t->route.convert_stream && t->route.ops->record(t->route.device, event, t->route.convert_stream, NULL) == 0)
        t->route.ops->synchronise(t->route.device, event, NULL);
}

void transfer_join(struct transfer *t) {
    if (!t)
        return;
    if (t->started)
        pthread_join(t->thread, NULL);
    pthread_mutex_lock(&t->mutex);
    bool failed = t->failure.code != 0;
    pthread_mutex_unlock(&t->mutex);
    if (t->started && failed)
        drain(t); /* while nobody closes a slot, whose event this uses */
    pthread_mutex_lock(&t->mutex);
    t->closing = true; /* from now on, whoever releases a batch closes its slot */
    pthread_mutex_unlock(&t->mutex);
    for (uint32_t i = 0; t->slots && i < t->options.slots; i++) {
        pthread_mutex_lock(&t->mutex);
        bool held = t->slots[i].slot.state == SLOT_HELD;
        pthread_mutex_unlock(&t->mutex);
        if (!held)
            device_slot_deinit(&t->slots[i], &t->route);
    }
}

/* Gives one reference back; the last takes everything along. The mutex is held, and no more afterwards. */
static void leave(struct transfer *t) {
    bool last = --t->references == 0;
    pthread_mutex_unlock(&t->mutex);
    if (!last)
        return;
    const struct device_ops *ops = t->route.ops;
    transfer_meter_deinit(&t->meter);
    if (t->route.convert_stream)
        ops->stream_destroy(t->route.device, t->route.convert_stream);
    if (t->route.copy_stream)
        ops->stream_destroy(t->route.device, t->route.copy_stream);
    ops->close(&t->route.device);
    pthread_cond_destroy(&t->sent);
    pthread_cond_destroy(&t->freed);
    pthread_mutex_destroy(&t->mutex);
    free(t->queue);
    free(t->flying);
    free(t->slots);
    free(t);
}

void transfer_destroy(struct transfer **transfer) {
    struct transfer *t = *transfer;
    *transfer = NULL;
    if (!t)
        return;
    pthread_mutex_lock(&t->mutex);
    leave(t);
}

/* ---- elsewhere --------------------------------------------------------------------------------------------------- */

int transfer_pause(struct transfer *t, struct error *error) {
    int rc = 0;
    pthread_mutex_lock(&t->mutex);
    if (t->failure.code != 0) {
        rc = t->failure.code;
        *error = t->failure;
    } else if (t->held > 0) {
        rc = error_set(error, ERR_ARGUMENT, "release every batch before going elsewhere: %u of them are held", t->held);
    } else {
        t->paused = true;
        t->settled = false;
        pthread_cond_signal(&t->freed);
    }
    pthread_mutex_unlock(&t->mutex);
    return rc;
}

void transfer_settle(struct transfer *t) {
    pthread_mutex_lock(&t->mutex);
    while (!t->settled)
        pthread_cond_wait(&t->sent, &t->mutex);
    pthread_mutex_unlock(&t->mutex);
}

void transfer_resume(struct transfer *t, int64_t batch) {
    transfer_meter_reset(&t->meter);
    pthread_mutex_lock(&t->mutex);
    for (uint32_t i = 0; i < t->options.slots; i++)
        t->slots[i].slot.state = SLOT_FREE;
    t->queue_first = t->queue_count = 0;
    t->delivered = batch;
    t->paused = false;
    pthread_cond_signal(&t->freed);
    pthread_mutex_unlock(&t->mutex);
}

/* ---- the consumer ------------------------------------------------------------------------------------------------ */

/* The lowest batch over `over` in any slot, or INT64_MAX. */
static int64_t next_held(const struct transfer *t, int64_t over) {
    int64_t lowest = INT64_MAX;
    for (uint32_t i = 0; i < t->options.slots; i++) {
        int64_t batch = t->slots[i].slot.batch;
        lowest = batch > over && batch < lowest ? batch : lowest;
    }
    return lowest;
}

static int say_all_held(struct transfer *t, struct error *error) {
    char names[160] = "";
    size_t at = 0;
    for (int64_t n = next_held(t, -1); n != INT64_MAX && at < sizeof names - 24; n = next_held(t, n))
        at += (size_t)snprintf(names + at, sizeof names - at, "%s%" PRId64, at ? ", " : "", n);
    return error_set(error, ERR_SLOTS_HELD,
                     "all %u batches that fit on the device are held (%s, counted over all epochs from 0): release "
                     "one before asking for the next, or set more device_slots",
                     t->held, names);
}

/* Looks for the next batch: 0 with *out NULL if it is not there yet. The mutex is held. */
static int look(struct transfer *t, struct device_slot **out, struct error *error) {
    struct device_slot *first = t->queue_count > 0 ? t->queue[t->queue_first] : NULL;
    *out = NULL;
    if (t->failure.code != 0 || t->refusal.code != 0) {
        *error = t->failure.code ? t->failure : t->refusal;
        t->refusal.code = 0;
        return error->code;
    }
    if (first && first->slot.error_code != 0) { /* stays at the head: every further call says the same */
        *error = first->slot.error;
        return first->slot.error_code;
    }
    if (!first && t->delivered >= t->options.batch_count)
        return YPK_END;
    if (!first && t->held == t->options.slots)
        return say_all_held(t, error);
    *out = first;
    return 0;
}

/* Takes the next batch off the queue, waiting until it has been handed over. */
static int take(struct transfer *t, struct device_slot **out, void *stream, bool *waited, struct error *error) {
    struct device_slot *d;
    int rc;
    *waited = false;
    pthread_mutex_lock(&t->mutex);
    while ((rc = look(t, &d, error)) == 0 && !d) {
        pthread_cond_wait(&t->sent, &t->mutex);
        *waited = true;
    }
    if (rc == 0) {
        t->queue_first = (t->queue_first + 1) % t->options.slots;
        t->queue_count--;
        t->delivered = d->slot.batch + 1;
        t->held++;
        t->references++;
        d->slot.state = SLOT_HELD;
        d->slot.references = 1;
        if (stream != YPK_NO_STREAM)
            device_slot_note_user(d, stream, DEVICE_USER_LIMIT);
    }
    pthread_mutex_unlock(&t->mutex);
    *out = d;
    return rc;
}

/* The stream waits for the batch; without one, the thread does. */
static int await(struct transfer *t, const struct device_slot *d, void *stream, struct transfer_stall *stall,
                 struct error *error) {
    if (stream == YPK_NO_STREAM)
        return t->route.ops->synchronise(t->route.device, d->ready, error);
    int rc = t->route.ops->wait(t->route.device, stream, d->ready, error);
    return rc || !stall ? rc : transfer_meter_go_on(&t->meter, stall, stream, error);
}

static int next(struct transfer *t, struct device_slot **out, void *stream, struct error *error) {
    struct transfer_stall *stall = NULL;
    struct device_slot *d = NULL;
    bool waited;
    uint64_t asked_ns = clock_ns();
    int rc = stream == YPK_NO_STREAM ? 0 : transfer_meter_begin(&t->meter, &stall, stream, error);
    if (rc == 0)
        rc = take(t, &d, stream, &waited, error);
    if (rc == 0)
        rc = await(t, d, stream, stall, error);
    *out = d;
    if (rc == 0) {
        if (waited || stream == YPK_NO_STREAM)
            transfer_meter_add_wait(&t->meter, asked_ns, d->slot.full_ns);
        transfer_meter_end(&t->meter, stall, d->slot.full_ns);
        return 0;
    }
    transfer_meter_drop(&t->meter, stall);
    if (d) { /* the batch is lost: nothing that follows it may be delivered */
        fail(t, error);
        transfer_release(&d->slot, YPK_NO_STREAM);
    }
    return rc;
}

int transfer_next(struct transfer *t, ypk_batch *out, int64_t *batch, void *stream, struct error *error) {
    struct device_slot *d = NULL;
    int rc = stream == YPK_NO_STREAM ? 0 : t->route.ops->check_stream(t->route.device, stream, error);
    if (rc == ERR_ARGUMENT) /* that stream only */
        return rc;
    transfer_range_push(t, "yolopack: next");
    if (rc == 0)
        rc = next(t, &d, stream, error);
    transfer_range_pop(t);
    if (rc == ERR_DEVICE || rc == ERR_DEVICE_LOST)
        fail(t, error);
    if (rc != 0)
        return rc;
    slot_describe(&d->slot, out, d->rows, d->label_count);
    *batch = d->slot.batch;
    out->slot = &d->slot;
    return 0;
}

/* In a child of fork() the mutex may be held for ever. */
static int check_process(const struct transfer *t, struct error *error) {
    return t->pid == getpid() ? 0 : error_set(error, ERR_ARGUMENT, "this batch was taken before fork(), by the parent");
}

int transfer_retain(struct slot *slot, struct error *error) {
    struct transfer *t = slot->transfer;
    int rc = check_process(t, error);
    if (rc != 0)
        return rc;
    pthread_mutex_lock(&t->mutex);
    slot->references++;
    pthread_mutex_unlock(&t->mutex);
    return 0;
}

int transfer_use(struct slot *slot, void *stream, struct error *error) {
    struct transfer *t = slot->transfer;
    int rc = check_process(t, error);
    if (rc == 0)
        rc = t->route.ops->check_stream(t->route.device, stream, error);
    if (rc != 0)
        return rc;
    pthread_mutex_lock(&t->mutex);
    if (!device_slot_note_user((struct device_slot *)slot, stream, DEVICE_NAMED_LIMIT))
        rc = error_set(error, ERR_ARGUMENT, "a batch is used on %d streams at most", DEVICE_NAMED_LIMIT);
    pthread_mutex_unlock(&t->mutex);
    return rc;
}

static bool refuses(struct transfer *t, void *stream) {
    struct error error = {0};
    if (stream == YPK_NO_STREAM || t->route.ops->check_stream(t->route.device, stream, &error) != ERR_ARGUMENT)
        return false;
    error_prefix(&error, "a batch was not released, and is still held: ");
    pthread_mutex_lock(&t->mutex);
    t->refusal = error;
    pthread_cond_broadcast(&t->sent);
    pthread_mutex_unlock(&t->mutex);
    return true;
}

/* The last reference to a batch is gone. */
static void free_held(struct transfer *t, struct device_slot *d) {
    struct error error = {0};
    if (device_slot_mark_uses(d, &t->route, &error) != 0)
        fail(t, &error);
    pthread_mutex_lock(&t->mutex);
    t->held--;
    if (t->closing) {
        pthread_mutex_unlock(&t->mutex);
        device_slot_deinit(d, &t->route);
        pthread_mutex_lock(&t->mutex);
    } else {
        d->slot.state = SLOT_FREE;
        pthread_cond_signal(&t->freed);
    }
    leave(t);
}

bool transfer_release(struct slot *slot, void *stream) {
    struct transfer *t = slot->transfer;
    struct device_slot *d = (struct device_slot *)slot;
    if (t->pid != getpid()) /* a child of fork() gives nothing back: the mutex may be held for ever */
        return true;
    if (refuses(t, stream))
        return false;
    pthread_mutex_lock(&t->mutex);
    if (stream != YPK_NO_STREAM)
        device_slot_note_user(d, stream, DEVICE_USER_LIMIT);
    bool last = --slot->references == 0;
    pthread_mutex_unlock(&t->mutex);
    if (last)
        free_held(t, d);
    return true;
}

/* ---- what is told ------------------------------------------------------------------------------------------------ */

const char *transfer_device(const struct transfer *t) {
    return t->name;
}

double transfer_starved_seconds(struct transfer *t) {
    return transfer_meter_starved_seconds(&t->meter);
}

void transfer_get_stats(struct transfer *t, ypk_loader_stats *out, struct loader_wait *wait) {
    transfer_meter_get_stats(&t->meter, out, wait);
    out->device_bytes = t->options.slots * (uint64_t)device_slot_bytes(&t->route);
    out->device_slots = t->options.slots;
    pthread_mutex_lock(&t->mutex);
    out->pinned_bytes = t->pinned_bytes;
    if (t->note[0])
        out->note = t->note;
    pthread_mutex_unlock(&t->mutex);
}
