#include "transfer.h"

#include "clock.h"
#include "loader.h"
#include "thread.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Streams that one batch is used on: one of ypk_loader_next(), one of ypk_batch_release(), the others are named. */
#define USER_LIMIT 8
#define NAMED_LIMIT (USER_LIMIT - 1)

/* Waits of the consumer's stream that are measured at a time. */
#define STALL_LIMIT 16

struct device_slot {
    struct slot slot;             /* as the consumer has it, and first: a held batch leads here */
    void *memory, *staged;        /* staged NULL: the bytes are delivered as they are sent */
    void *begun, *copied, *ready; /* ready is copied where there is nothing to convert */
    uint32_t rows, label_count;
    size_t label_bytes;
    struct slot *source; /* the thread's: what is copied from, until the copy is known to have ended */

    /* guarded by the mutex; the streams that use the batch and, once it is released, what they have to reach */
    void *users[USER_LIMIT], *used[USER_LIMIT];
    uint32_t user_count;
};

/* How long the consumer's stream stood still for a batch, known when it has gone on. */
struct stall {
    void *from, *to;
    enum { STALL_IDLE, STALL_TAKEN, STALL_RUNNING } state;
    uint64_t asked_ns, full_ns; /* when the batch was asked for, and when the workers had made it */
};

struct transfer {
    const struct device_ops *ops;
    struct device *device;
    int ordinal;
    char name[24];
    struct transfer_options options;
    bool converts;
    void *copy_stream, *convert_stream;
    struct device_slot *slots; /* [options.slots] */
    pthread_t thread;
    bool started;
    pid_t pid;
    uint64_t device_bytes;

    /* the thread's */
    struct device_slot **flying; /* ring: copies that may not have ended, oldest first */
    uint32_t flying_first, flying_count;
    uint32_t last; /* the slot that was sent last */

    pthread_mutex_t mutex;      /* guards all below, and the slots' state */
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
    struct stall stalls[STALL_LIMIT];
    uint64_t pinned_bytes;
    char note[256];
    struct {
        double copy_seconds;
        uint64_t copy_bytes;
        struct loader_wait wait;
    } sums;
};

static void fail(struct transfer *t, const struct error *error) {
    pthread_mutex_lock(&t->mutex);
    if (t->failure.code == 0)
        t->failure = *error;
    pthread_cond_broadcast(&t->sent);
    pthread_mutex_unlock(&t->mutex);
}

/* What a batch was waited for: all of it, and what came after the workers had made it. */
static double late_part(double waited, uint64_t asked_ns, uint64_t full_ns) {
    double making = full_ns > asked_ns ? (double)(full_ns - asked_ns) * 1e-9 : 0;
    return waited > making ? waited - making : 0;
}

void transfer_range_push(struct transfer *t, const char *name) {
    if (t)
        t->ops->range_push(t->device, name);
}

void transfer_range_pop(struct transfer *t) {
    if (t)
        t->ops->range_pop(t->device);
}

/* ---- the thread ----------------------------------------------------------------------------------------------------- */

/* The batch as the consumer will see it, but for the bytes. */
static void describe(struct transfer *t, struct device_slot *d, struct slot *source) {
    struct slot *s = &d->slot;
    s->batch = source->batch;
    s->error_code = 0;
    s->size = source->size;
    s->full_ns = source->full_ns;
    d->rows = slot_shown_rows(source);
    d->label_count = slot_collate(source);
    d->label_bytes = slot_pack_labels(source, d->label_count);
    memcpy(s->samples, source->samples, t->options.sent->rows * sizeof *s->samples);
    slot_place_labels(s, s->images + slot_parts(s->layout).label_box, d->label_count);
}

static int copy_bytes(struct transfer *t, const struct device_slot *d, const struct slot *source, struct error *error) {
    const struct batch_layout *sent = t->options.sent;
    uint8_t *to = d->staged ? d->staged : d->memory;
    size_t bytes, total = 0, area = (size_t)source->size.width * source->size.height;
    int rc = 0;
    for (int i = 0; rc == 0 && slot_channels(sent, i) > 0; i++) {
        size_t offset = i ? slot_parts(sent).second : 0;
        bytes = d->rows * (size_t)slot_channels(sent, i) * area;
        rc = t->ops->copy(t->device, t->copy_stream, to + offset, source->images + offset, bytes, error);
        total += bytes;
    }
    bytes = d->label_bytes;
    if (rc == 0 && bytes > 0)
        rc = t->ops->copy(t->device, t->copy_stream, d->slot.label_box, source->label_box, bytes, error);
    pthread_mutex_lock(&t->mutex);
    t->sums.copy_bytes += total + bytes;
    pthread_mutex_unlock(&t->mutex);
    return rc;
}

static int convert_tensor(struct transfer *t, const struct device_slot *d, int which, struct error *error) {
    const struct batch_layout *sent = t->options.sent, *delivered = t->options.delivered;
    struct device_convert what = {
        .from = (uint8_t *)d->staged + (which ? slot_parts(sent).second : 0),
        .to = (uint8_t *)d->memory + (which ? slot_parts(delivered).second : 0),
        .rows = d->rows,
        .from_channels = (uint32_t)slot_channels(sent, which),
        .to_channels = (uint32_t)slot_channels(delivered, which),
        .width = d->slot.size.width,
        .height = d->slot.size.height,
        .interleaved = delivered->interleaved,
        .type = delivered->type,
    };
    for (uint32_t c = 0; c < what.to_channels; c++) {
        bool rgb = which == 0 && c < (uint32_t)delivered->rgb_channels;
        what.mean[c] = t->options.mean[rgb ? c : 3];
        what.deviation[c] = t->options.deviation[rgb ? c : 3];
    }
    return t->ops->convert(t->device, t->convert_stream, &what, error);
}

static int convert_all(struct transfer *t, const struct device_slot *d, struct error *error) {
    int rc = t->ops->wait(t->device, t->convert_stream, d->copied, error);
    for (int i = 0; rc == 0 && slot_channels(t->options.delivered, i) > 0; i++)
        rc = convert_tensor(t, d, i, error);
    return rc ? rc : t->ops->record(t->device, d->ready, t->convert_stream, error);
}

/* The copy waits for those who used the slot, and for its last conversion if nobody ever took that batch. */
static int copy_all(struct transfer *t, struct device_slot *d, const struct slot *source, struct error *error) {
    int rc = 0;
    for (uint32_t i = 0; rc == 0 && i < d->user_count; i++)
        rc = t->ops->wait(t->device, t->copy_stream, d->used[i], error);
    if (rc == 0 && t->converts)
        rc = t->ops->wait(t->device, t->copy_stream, d->ready, error);
    if (rc == 0)
        rc = t->ops->record(t->device, d->begun, t->copy_stream, error);
    if (rc == 0)
        rc = copy_bytes(t, d, source, error);
    return rc ? rc : t->ops->record(t->device, d->copied, t->copy_stream, error);
}

static int hand_to_streams(struct transfer *t, struct device_slot *d, struct slot *source, struct error *error) {
    describe(t, d, source);
    transfer_range_push(t, "yolopack: copy");
    int rc = copy_all(t, d, source, error);
    transfer_range_pop(t);
    if (rc == 0 && t->converts) {
        transfer_range_push(t, "yolopack: convert");
        rc = convert_all(t, d, error);
        transfer_range_pop(t);
    }
    return rc;
}

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
    } else if (hand_to_streams(t, d, source, &error) == 0) {
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

/* Counts the stalls that have ended. Those that run are this thread's. */
static int collect_stalls(struct transfer *t, struct error *error) {
    int rc = 0;
    for (int i = 0; rc == 0 && i < STALL_LIMIT; i++) {
        struct stall *stall = &t->stalls[i];
        bool done = false;
        double seconds = 0;
        pthread_mutex_lock(&t->mutex);
        bool running = stall->state == STALL_RUNNING;
        pthread_mutex_unlock(&t->mutex);
        if (running)
            rc = t->ops->query(t->device, stall->to, &done, error);
        if (rc == 0 && done)
            rc = t->ops->elapsed(t->device, stall->from, stall->to, &seconds, error);
        if (rc != 0 || !done)
            continue;
        pthread_mutex_lock(&t->mutex);
        t->sums.wait.stream += seconds;
        t->sums.wait.stream_late += late_part(seconds, stall->asked_ns, stall->full_ns);
        t->sums.wait.stalls++;
        stall->state = STALL_IDLE;
        pthread_mutex_unlock(&t->mutex);
    }
    return rc;
}

/* Waits for the oldest copy and gives its slot back to the workers. After a failure it is not: who knows what reads it. */
static void recycle(struct transfer *t) {
    struct device_slot *d = t->flying[t->flying_first];
    struct error error = {0};
    double seconds = 0;
    transfer_range_push(t, "yolopack: wait for a copy");
    int rc = t->ops->synchronise(t->device, d->copied, &error);
    transfer_range_pop(t);
    if (rc == 0)
        rc = t->ops->elapsed(t->device, d->begun, d->copied, &seconds, &error);
    t->flying_first = (t->flying_first + 1) % t->options.slots;
    t->flying_count--;
    if (rc == 0) {
        loader_give_back(t->options.loader, d->source);
        d->source = NULL;
        pthread_mutex_lock(&t->mutex);
        t->sums.copy_seconds += seconds;
        pthread_mutex_unlock(&t->mutex);
        rc = collect_stalls(t, &error);
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

/* ---- life ----------------------------------------------------------------------------------------------------------- */

int transfer_open(struct transfer **out, const struct device_ops *ops, int ordinal, struct error *error) {
    struct transfer *t = calloc(1, sizeof *t);
    *out = NULL;
    if (!t)
        return error_set(error, ERR_MEMORY, "out of memory for a device");
    t->ops = ops;
    t->ordinal = ordinal;
    snprintf(t->name, sizeof t->name, "%s:%d", ops->name, ordinal);
    t->references = 1;
    t->pid = getpid();
    int rc = ops->open(&t->device, ordinal, error);
    if (rc != 0) {
        free(t);
        return rc;
    }
    pthread_mutex_init(&t->mutex, NULL);
    pthread_cond_init(&t->freed, NULL);
    pthread_cond_init(&t->sent, NULL);
    *out = t;
    return 0;
}

static int allocate(struct transfer *t, void **out, size_t bytes, struct error *error) {
    int rc = t->ops->allocate(t->device, out, bytes, error);
    if (rc == 0)
        t->device_bytes += bytes;
    return rc;
}

static int open_slot(struct transfer *t, struct device_slot *d, struct error *error) {
    const struct batch_layout *l = t->options.delivered;
    d->slot = (struct slot){
        .layout = l, .transfer = t, .device_type = t->ops->dlpack_type, .device_id = t->ordinal, .state = SLOT_FREE};
    d->slot.samples = calloc(l->rows, sizeof *d->slot.samples);
    if (!d->slot.samples)
        return error_set(error, ERR_MEMORY, "out of memory for a batch");
    int rc = allocate(t, &d->memory, slot_parts(l).label_end, error);
    if (rc == 0 && t->converts)
        rc = allocate(t, &d->staged, slot_parts(t->options.sent).label_box, error);
    d->slot.images = d->memory;
    if (rc == 0)
        rc = t->ops->event_create(t->device, &d->begun, true, error);
    if (rc == 0)
        rc = t->ops->event_create(t->device, &d->copied, true, error);
    if (rc == 0 && t->converts)
        rc = t->ops->event_create(t->device, &d->ready, false, error);
    else
        d->ready = d->copied;
    for (int i = 0; rc == 0 && i < USER_LIMIT; i++)
        rc = t->ops->event_create(t->device, &d->used[i], false, error);
    return rc;
}

static void destroy_event(struct transfer *t, void *event) {
    if (event)
        t->ops->event_destroy(t->device, event);
}

/* When all that was asked of the device for this slot is done, or never will be. */
static void close_slot(struct transfer *t, struct device_slot *d) {
    for (uint32_t i = 0; i < d->user_count; i++)
        t->ops->synchronise(t->device, d->used[i], NULL);
    if (d->ready)
        t->ops->synchronise(t->device, d->ready, NULL);
    for (int i = 0; i < USER_LIMIT; i++)
        destroy_event(t, d->used[i]);
    if (d->ready != d->copied)
        destroy_event(t, d->ready);
    destroy_event(t, d->copied);
    destroy_event(t, d->begun);
    if (d->staged)
        t->ops->release(t->device, d->staged);
    if (d->memory)
        t->ops->release(t->device, d->memory);
    free(d->slot.samples);
}

static bool same_bytes(const struct batch_layout *sent, const struct batch_layout *delivered) {
    return delivered->type == NUMBER_U8 && !delivered->interleaved && sent->ir_channels == delivered->ir_channels;
}

int transfer_allocate(struct transfer *t, const struct transfer_options *options, struct error *error) {
    const struct batch_layout *l = options->delivered;
    t->options = *options;
    t->converts = !same_bytes(options->sent, l);
    if ((uint64_t)l->rows * l->row_labels > UINT32_MAX)
        return error_set(error, ERR_ARGUMENT,
                         "a batch of %u samples with up to %u boxes each has more labels than can be counted", l->rows,
                         l->row_labels);
    t->slots = calloc(options->slots, sizeof *t->slots);
    t->flying = calloc(options->slots, sizeof(struct device_slot *));
    t->queue = calloc(options->slots, sizeof(struct device_slot *));
    if (!t->slots || !t->flying || !t->queue)
        return error_set(error, ERR_MEMORY, "out of memory for a device");
    int rc = t->ops->stream_create(t->device, &t->copy_stream, error);
    if (rc == 0 && t->converts)
        rc = t->ops->stream_create(t->device, &t->convert_stream, error);
    for (uint32_t i = 0; rc == 0 && i < options->slots; i++)
        rc = open_slot(t, &t->slots[i], error);
    for (int i = 0; rc == 0 && i < STALL_LIMIT; i++) {
        rc = t->ops->event_create(t->device, &t->stalls[i].from, true, error);
        if (rc == 0)
            rc = t->ops->event_create(t->device, &t->stalls[i].to, true, error);
    }
    return rc;
}

int transfer_pin(struct transfer *t, struct slot *slot, struct error *error) {
    size_t bytes = slot_bytes(slot->layout);
    struct error limit = {0};
    int rc = t->ops->pin(t->device, slot->memory, bytes, &limit);
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
    t->ops->unpin(t->device, slot->memory);
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
    if (t->ops->record(t->device, event, t->copy_stream, NULL) == 0)
        t->ops->synchronise(t->device, event, NULL);
    if (t->convert_stream && t->ops->record(t->device, event, t->convert_stream, NULL) == 0)
        t->ops->synchronise(t->device, event, NULL);
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
            close_slot(t, &t->slots[i]);
    }
}

/* Gives one reference back; the last takes everything along. The mutex is held, and no more afterwards. */
static void leave(struct transfer *t) {
    bool last = --t->references == 0;
    pthread_mutex_unlock(&t->mutex);
    if (!last)
        return;
    for (int i = 0; i < STALL_LIMIT; i++) {
        destroy_event(t, t->stalls[i].from);
        destroy_event(t, t->stalls[i].to);
    }
    if (t->convert_stream)
        t->ops->stream_destroy(t->device, t->convert_stream);
    if (t->copy_stream)
        t->ops->stream_destroy(t->device, t->copy_stream);
    t->ops->close(&t->device);
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

/* ---- elsewhere ------------------------------------------------------------------------------------------------------ */

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
    pthread_mutex_lock(&t->mutex);
    for (uint32_t i = 0; i < t->options.slots; i++)
        t->slots[i].slot.state = SLOT_FREE;
    t->queue_first = t->queue_count = 0;
    t->delivered = batch;
    memset(&t->sums, 0, sizeof t->sums);
    t->paused = false;
    pthread_cond_signal(&t->freed);
    pthread_mutex_unlock(&t->mutex);
}

/* ---- the consumer --------------------------------------------------------------------------------------------------- */

/* Another stream that uses the batch; false: there are too many. The mutex is held. */
static bool note_user(struct device_slot *d, void *stream, uint32_t limit) {
    for (uint32_t i = 0; i < d->user_count; i++)
        if (d->users[i] == stream)
            return true;
    if (d->user_count >= limit)
        return false;
    d->users[d->user_count++] = stream;
    return true;
}

/* Marks where the consumer's stream begins to wait. *out NULL: this one is not measured. */
static int begin_stall(struct transfer *t, struct stall **out, void *stream, struct error *error) {
    struct stall *stall = NULL;
    pthread_mutex_lock(&t->mutex);
    for (int i = 0; !stall && i < STALL_LIMIT; i++)
        if (t->stalls[i].state == STALL_IDLE)
            stall = &t->stalls[i];
    if (stall)
        stall->state = STALL_TAKEN;
    pthread_mutex_unlock(&t->mutex);
    *out = stall;
    if (!stall)
        return 0;
    stall->asked_ns = clock_ns();
    return t->ops->record(t->device, stall->from, stream, error);
}

static void end_stall(struct transfer *t, struct stall *stall, const struct device_slot *d) {
    if (!stall)
        return;
    pthread_mutex_lock(&t->mutex);
    if (d)
        stall->full_ns = d->slot.full_ns;
    stall->state = d ? STALL_RUNNING : STALL_IDLE;
    pthread_mutex_unlock(&t->mutex);
}

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
            note_user(d, stream, USER_LIMIT);
    }
    pthread_mutex_unlock(&t->mutex);
    *out = d;
    return rc;
}

/* The stream waits for the batch; without one, the thread does. */
static int await(struct transfer *t, const struct device_slot *d, void *stream, struct stall *stall,
                 struct error *error) {
    if (stream == YPK_NO_STREAM)
        return t->ops->synchronise(t->device, d->ready, error);
    int rc = t->ops->wait(t->device, stream, d->ready, error);
    return rc || !stall ? rc : t->ops->record(t->device, stall->to, stream, error);
}

static void count_wait(struct transfer *t, const struct device_slot *d, uint64_t asked_ns) {
    double waited = (double)(clock_ns() - asked_ns) * 1e-9;
    pthread_mutex_lock(&t->mutex);
    t->sums.wait.host += waited;
    t->sums.wait.host_late += late_part(waited, asked_ns, d->slot.full_ns);
    pthread_mutex_unlock(&t->mutex);
}

static int next(struct transfer *t, struct device_slot **out, void *stream, struct error *error) {
    struct stall *stall = NULL;
    struct device_slot *d = NULL;
    bool waited;
    uint64_t asked_ns = clock_ns();
    int rc = stream == YPK_NO_STREAM ? 0 : begin_stall(t, &stall, stream, error);
    if (rc == 0)
        rc = take(t, &d, stream, &waited, error);
    if (rc == 0)
        rc = await(t, d, stream, stall, error);
    if (rc == 0 && (waited || stream == YPK_NO_STREAM))
        count_wait(t, d, asked_ns);
    end_stall(t, stall, rc == 0 ? d : NULL);
    if (rc != 0 && d) { /* the batch is lost: nothing that follows it may be delivered */
        fail(t, error);
        transfer_release(&d->slot, YPK_NO_STREAM);
    }
    *out = d;
    return rc;
}

int transfer_next(struct transfer *t, ypk_batch *out, int64_t *batch, void *stream, struct error *error) {
    struct device_slot *d = NULL;
    int rc = stream == YPK_NO_STREAM ? 0 : t->ops->check_stream(t->device, stream, error);
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
        rc = t->ops->check_stream(t->device, stream, error);
    if (rc != 0)
        return rc;
    pthread_mutex_lock(&t->mutex);
    if (!note_user((struct device_slot *)slot, stream, NAMED_LIMIT))
        rc = error_set(error, ERR_ARGUMENT, "a batch is used on %d streams at most", NAMED_LIMIT);
    pthread_mutex_unlock(&t->mutex);
    return rc;
}

/* Marks how far each stream has to come before the slot is filled again. */
static void record_uses(struct transfer *t, struct device_slot *d) {
    struct error error = {0};
    int rc = 0;
    for (uint32_t i = 0; rc == 0 && i < d->user_count; i++)
        rc = t->ops->record(t->device, d->used[i], d->users[i], &error);
    if (rc != 0)
        fail(t, &error);
}

static bool refuses(struct transfer *t, void *stream) {
    struct error error = {0};
    if (stream == YPK_NO_STREAM || t->ops->check_stream(t->device, stream, &error) != ERR_ARGUMENT)
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
    record_uses(t, d);
    pthread_mutex_lock(&t->mutex);
    t->held--;
    if (t->closing) {
        pthread_mutex_unlock(&t->mutex);
        close_slot(t, d);
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
        note_user(d, stream, USER_LIMIT);
    bool last = --slot->references == 0;
    pthread_mutex_unlock(&t->mutex);
    if (last)
        free_held(t, d);
    return true;
}

/* ---- what is told --------------------------------------------------------------------------------------------------- */

const char *transfer_device(const struct transfer *t) {
    return t->name;
}

double transfer_starved_seconds(struct transfer *t) {
    pthread_mutex_lock(&t->mutex);
    const struct loader_wait *w = &t->sums.wait;
    double seconds = w->stalls > 0 ? w->stream - w->stream_late : w->host - w->host_late;
    pthread_mutex_unlock(&t->mutex);
    return seconds;
}

void transfer_get_stats(struct transfer *t, ypk_loader_stats *out, struct loader_wait *wait) {
    pthread_mutex_lock(&t->mutex);
    *wait = t->sums.wait;
    out->wait_seconds += wait->host;
    out->stream_wait_seconds = wait->stream;
    out->copy_seconds = t->sums.copy_seconds;
    out->copy_bytes = t->sums.copy_bytes;
    out->pinned_bytes = t->pinned_bytes;
    out->device_bytes = t->device_bytes;
    out->device_slots = t->options.slots;
    if (t->note[0])
        out->note = t->note;
    pthread_mutex_unlock(&t->mutex);
}
