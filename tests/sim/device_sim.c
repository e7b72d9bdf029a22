#include "sim/device_sim.h"

#include "check.h"
#include "device_maths.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { QUEUE = 256, FORBIDDEN_LIMIT = 16 };

struct sim_event {
    int ordinal;
    bool timed, by_consumer; /* the last record was on a consumer's stream */
    uint64_t recorded, done; /* how many times */
    uint64_t at_ns;
    uint32_t references;
    pthread_cond_t reached;
};

struct op {
    enum { OP_COPY, OP_CONVERT, OP_RECORD, OP_WAIT, OP_LAUNCH } kind;
    void *to;
    const void *from;
    size_t bytes;
    struct device_convert convert;
    struct sim_event *event;
    uint64_t count; /* of the event */
    void (*run)(void *arg, bool lost);
    void *arg;
};

struct sim_stream {
    int ordinal;
    bool consumer, capturing, closing, busy;
    pthread_t thread;
    pthread_cond_t work, room, idle;
    struct op queue[QUEUE];
    uint32_t first, count;
    uint64_t random;
    struct sim_stream *next;
};

struct device {
    int ordinal;
    uint64_t live;
};

static struct {
    pthread_mutex_t mutex; /* guards everything here and in all objects */
    struct sim_options options;
    uint64_t calls, live, violations, pinned_bytes;
    bool dead;
    struct sim_stream *streams;
    struct sim_stream *legacy[SIM_ORDINALS];
    uint32_t open[SIM_ORDINALS];
    pthread_t forbidden[FORBIDDEN_LIMIT];
    uint32_t forbidden_count;
    uint64_t next_seed;
} sim = {.mutex = PTHREAD_MUTEX_INITIALIZER};

static uint64_t next_random(uint64_t *state) {
    uint64_t z = (*state += UINT64_C(0x9e3779b97f4a7c15));
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

static uint64_t now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void lock(void) {
    pthread_mutex_lock(&sim.mutex);
}

static void unlock(void) {
    pthread_mutex_unlock(&sim.mutex);
}

/* The mutex is held. */
static void violation(const char *what) {
    fprintf(stderr, "device_sim: %s\n", what);
    sim.violations++;
}

/* Waited for by the clock that nobody sets. */
static void init_reached(struct sim_event *e) {
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&e->reached, &attributes);
    pthread_condattr_destroy(&attributes);
}

/* Waits a little: whoever waits for an event looks now and then whether the device still lives. */
static void wait_a_little(pthread_cond_t *cond) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    t.tv_nsec += 5000000;
    if (t.tv_nsec >= 1000000000) {
        t.tv_nsec -= 1000000000;
        t.tv_sec++;
    }
    pthread_cond_timedwait(cond, &sim.mutex, &t);
}

/* Counts a call that can fail, and says whether it does. The mutex is held. */
static int call(const char *name, struct error *error) {
    sim.calls++;
    bool fails = sim.dead || (sim.options.fail_at != 0 && sim.calls == sim.options.fail_at);
    if (!fails)
        return 0;
    if (!sim.dead && sim.options.fault != SIM_ONCE)
        sim.dead = true;
    if (sim.options.fault == SIM_LOST)
        return error_set(error, ERR_DEVICE_LOST, "sim: the device is lost, as call %llu (%s) found",
                         (unsigned long long)sim.calls, name);
    return error_set(error, ERR_DEVICE, "sim: call %llu (%s) fails", (unsigned long long)sim.calls, name);
}

/* ---- events ------------------------------------------------------------------------------------------------------ */

static void drop_event(struct sim_event *e) {
    if (--e->references > 0)
        return;
    pthread_cond_destroy(&e->reached);
    free(e);
}

static void await_event(struct sim_event *e, uint64_t count) {
    while (e->done < count && !sim.dead)
        wait_a_little(&e->reached);
}

/* ---- streams ----------------------------------------------------------------------------------------------------- */

static void take_time(struct sim_stream *s) {
    uint64_t random = next_random(&s->random);
    if (sim.options.delay_chance == 0 || random % sim.options.delay_chance != 0)
        return;
    struct timespec t = {0, (long)((random >> 32) % (sim.options.delay_us + 1)) * 1000};
    nanosleep(&t, NULL);
}

/* In two halves, with time in between: who looks too early sees one of them. */
static void run_copy(struct sim_stream *s, const struct op *op) {
    size_t half = op->bytes / 2;
    memcpy(op->to, op->from, half);
    take_time(s);
    memcpy((uint8_t *)op->to + half, (const uint8_t *)op->from + half, op->bytes - half);
}

static void run_convert(struct sim_stream *s, const struct device_convert *what) {
    for (uint32_t row = 0; row < what->rows; row++) {
        for (uint32_t channel = 0; channel < what->to_channels; channel++)
            for (size_t pixel = 0; pixel < device_area(what); pixel++)
                device_convert_one(what, row, channel, pixel);
        if (row == 0)
            take_time(s);
    }
}

/* The mutex is held, but not while bytes move. */
static void run_op(struct sim_stream *s, const struct op *op) {
    struct sim_event *e = op->event;
    bool dead = sim.dead;
    if (op->kind == OP_WAIT) {
        await_event(e, op->count);
        drop_event(e);
    } else if (op->kind == OP_RECORD) {
        e->done = e->done > op->count ? e->done : op->count;
        e->at_ns = now_ns();
        pthread_cond_broadcast(&e->reached);
        drop_event(e);
    } else {
        unlock();
        if (op->kind == OP_LAUNCH)
            op->run(op->arg, dead);
        else if (op->kind == OP_COPY && !dead)
            run_copy(s, op);
        else if (op->kind == OP_CONVERT && !dead)
            run_convert(s, &op->convert);
        lock();
    }
}

static void *run_stream(void *arg) {
    struct sim_stream *s = arg;
    lock();
    for (;;) {
        while (s->count == 0 && !s->closing)
            pthread_cond_wait(&s->work, &sim.mutex);
        if (s->count == 0)
            break;
        struct op op = s->queue[s->first];
        s->first = (s->first + 1) % QUEUE;
        s->count--;
        s->busy = true;
        pthread_cond_signal(&s->room);
        run_op(s, &op);
        s->busy = false;
        if (s->count == 0)
            pthread_cond_broadcast(&s->idle);
    }
    unlock();
    return NULL;
}

static struct sim_stream *make_stream(int ordinal, bool consumer) {
    struct sim_stream *s = calloc(1, sizeof *s);
    CHECK(s && ordinal >= 0 && ordinal < SIM_ORDINALS);
    s->ordinal = ordinal;
    s->consumer = consumer;
    s->random = next_random(&sim.next_seed);
    pthread_cond_init(&s->work, NULL);
    pthread_cond_init(&s->room, NULL);
    pthread_cond_init(&s->idle, NULL);
    s->next = sim.streams;
    sim.streams = s;
    CHECK(pthread_create(&s->thread, NULL, run_stream, s) == 0);
    return s;
}

static void finish_stream(struct sim_stream *s) {
    while (s->count > 0 || s->busy)
        pthread_cond_wait(&s->idle, &sim.mutex);
}

static void end_stream(struct sim_stream *s) {
    struct sim_stream **at = &sim.streams;
    while (*at != s)
        at = &(*at)->next;
    *at = s->next;
    s->closing = true;
    pthread_cond_signal(&s->work);
    unlock();
    pthread_join(s->thread, NULL);
    lock();
    pthread_cond_destroy(&s->work);
    pthread_cond_destroy(&s->room);
    pthread_cond_destroy(&s->idle);
    free(s);
}

/* The stream that a handle means on a device. */
static struct sim_stream *find_stream(int ordinal, void *stream) {
    struct sim_stream *s = stream ? stream : sim.legacy[ordinal];
    CHECK(s);
    if (s->ordinal != ordinal)
        violation("a stream of another device is used");
    return s;
}

static void enqueue(struct sim_stream *s, const struct op *op) {
    while (s->count == QUEUE)
        pthread_cond_wait(&s->room, &sim.mutex);
    s->queue[(s->first + s->count++) % QUEUE] = *op;
    pthread_cond_signal(&s->work);
}

/* ---- the device -------------------------------------------------------------------------------------------------- */

static int sim_open(struct device **out, int ordinal, struct error *error) {
    *out = NULL;
    lock();
    int rc = call("open", error);
    if (rc == 0 && ordinal >= SIM_ORDINALS)
        rc = error_set(error, ERR_DEVICE, "sim: there is no device %d", ordinal);
    if (rc == 0) {
        CHECK(*out = calloc(1, sizeof **out));
        (*out)->ordinal = ordinal;
        sim.live++;
        if (sim.open[ordinal]++ == 0)
            sim.legacy[ordinal] = make_stream(ordinal, true);
    }
    unlock();
    return rc;
}

static void sim_close(struct device **device) {
    struct device *d = *device;
    lock();
    if (d->live != 0)
        violation("a device is closed before what is its own");
    sim.live--;
    if (--sim.open[d->ordinal] == 0) {
        end_stream(sim.legacy[d->ordinal]);
        sim.legacy[d->ordinal] = NULL;
    }
    unlock();
    free(d);
    *device = NULL;
}

static void count_object(struct device *d, int change) {
    d->live += (uint64_t)change;
    sim.live += (uint64_t)change;
}

static int sim_pin(struct device *d, void *memory, size_t bytes, struct error *error) {
    lock();
    int rc = call("pin", error);
    (void)memory;
    if (rc == 0 && sim.options.pin_limit_bytes && sim.pinned_bytes + bytes > sim.options.pin_limit_bytes)
        rc = error_set(error, ERR_SPACE, "sim: %llu bytes can be page-locked",
                       (unsigned long long)sim.options.pin_limit_bytes);
    if (rc == 0) {
        sim.pinned_bytes += bytes;
        count_object(d, 1);
    }
    unlock();
    return rc;
}

static void sim_unpin(struct device *d, void *memory) {
    (void)memory;
    lock();
    count_object(d, -1);
    unlock();
}

static int sim_allocate(struct device *d, void **out, size_t bytes, struct error *error) {
    *out = NULL;
    lock();
    int rc = call("allocate", error);
    if (rc == 0) {
        CHECK(posix_memalign(out, 256, bytes) == 0);
        memset(*out, 0xa5, bytes);
        count_object(d, 1);
    }
    unlock();
    return rc;
}

/* As cudaFree() does, it waits for all that the device was given. */
static void sim_release(struct device *d, void *memory) {
    lock();
    for (struct sim_stream *s = sim.streams; s;) {
        if (s->ordinal == d->ordinal && (s->count > 0 || s->busy)) {
            finish_stream(s);
            s = sim.streams; /* others may have come and gone */
        } else {
            s = s->next;
        }
    }
    count_object(d, -1);
    unlock();
    free(memory);
}

static int stream_create(struct device *d, void **out, struct error *error) {
    *out = NULL;
    lock();
    int rc = call("stream_create", error);
    if (rc == 0) {
        *out = make_stream(d->ordinal, false);
        count_object(d, 1);
    }
    unlock();
    return rc;
}

static void stream_destroy(struct device *d, void *stream) {
    lock();
    count_object(d, -1);
    end_stream(stream);
    unlock();
}

static int event_create(struct device *d, void **out, bool timed, struct error *error) {
    *out = NULL;
    lock();
    int rc = call("event_create", error);
    if (rc == 0) {
        struct sim_event *e = calloc(1, sizeof *e);
        CHECK(e);
        e->ordinal = d->ordinal;
        e->timed = timed;
        e->references = 1;
        init_reached(e);
        count_object(d, 1);
        *out = e;
    }
    unlock();
    return rc;
}

static void event_destroy(struct device *d, void *event) {
    lock();
    count_object(d, -1);
    drop_event(event);
    unlock();
}

static int sim_copy(struct device *d, void *stream, void *to, const void *from, size_t bytes, struct error *error) {
    lock();
    int rc = call("copy", error);
    if (rc == 0)
        enqueue(find_stream(d->ordinal, stream), &(struct op){.kind = OP_COPY, .to = to, .from = from, .bytes = bytes});
    unlock();
    return rc;
}

static int sim_convert(struct device *d, void *stream, const struct device_convert *what, struct error *error) {
    lock();
    int rc = call("convert", error);
    if (rc == 0)
        enqueue(find_stream(d->ordinal, stream), &(struct op){.kind = OP_CONVERT, .convert = *what});
    unlock();
    return rc;
}

static int sim_record(struct device *d, void *event, void *stream, struct error *error) {
    struct sim_event *e = event;
    lock();
    int rc = call("record", error);
    struct sim_stream *s = find_stream(d->ordinal, stream);
    if (e->ordinal != d->ordinal)
        violation("an event of another device is recorded");
    if (rc == 0) {
        e->by_consumer = s->consumer;
        e->references++;
        enqueue(s, &(struct op){.kind = OP_RECORD, .event = e, .count = ++e->recorded});
    }
    unlock();
    return rc;
}

static bool left_out(const struct sim_stream *s, const struct sim_event *e) {
    enum sim_mutation m = sim.options.mutation;
    return (m == SIM_NO_READY_WAIT && s->consumer) || (m == SIM_NO_RELEASE_WAIT && !s->consumer && e->by_consumer) ||
           (m == SIM_NO_COPY_WAIT && !s->consumer && !e->by_consumer);
}

static int sim_wait(struct device *d, void *stream, void *event, struct error *error) {
    struct sim_event *e = event;
    lock();
    int rc = call("wait", error);
    struct sim_stream *s = find_stream(d->ordinal, stream);
    if (e->ordinal != d->ordinal)
        violation("an event of another device is waited for");
    if (rc == 0 && !left_out(s, e)) {
        e->references++;
        enqueue(s, &(struct op){.kind = OP_WAIT, .event = e, .count = e->recorded});
    }
    unlock();
    return rc;
}

static int sim_synchronise(struct device *d, void *event, struct error *error) {
    struct sim_event *e = event;
    (void)d;
    lock();
    for (uint32_t i = 0; i < sim.forbidden_count; i++)
        if (pthread_equal(sim.forbidden[i], pthread_self()))
            violation("a thread waits for the device that must not");
    int rc = call("synchronise", error);
    if (rc == 0 && sim.options.mutation != SIM_NO_SYNCHRONISE)
        await_event(e, e->recorded);
    if (rc == 0 && sim.dead)
        rc = call("synchronise", error);
    unlock();
    return rc;
}

static int sim_query(struct device *d, void *event, bool *done, struct error *error) {
    struct sim_event *e = event;
    (void)d;
    lock();
    int rc = call("query", error);
    *done = e->done >= e->recorded;
    unlock();
    return rc;
}

static int sim_elapsed(struct device *d, void *from, void *to, double *seconds, struct error *error) {
    struct sim_event *a = from, *b = to;
    (void)d;
    lock();
    int rc = call("elapsed", error);
    bool strict = sim.options.mutation != SIM_NO_SYNCHRONISE;
    if (rc == 0 && strict && (!a->timed || !b->timed || a->done == 0 || b->done == 0))
        rc = error_set(error, ERR_DEVICE, "sim: an event has no time");
    else if (rc == 0 && strict && (a->done < a->recorded || b->done < b->recorded))
        rc = error_set(error, ERR_DEVICE, "sim: an event was not reached yet");
    *seconds = ((double)b->at_ns - (double)a->at_ns) * 1e-9;
    unlock();
    return rc;
}

static int check_stream(struct device *d, void *stream, struct error *error) {
    lock();
    int rc = call("check_stream", error);
    if (rc == 0 && find_stream(d->ordinal, stream)->capturing)
        rc = error_set(error, ERR_ARGUMENT, "sim: the stream is being captured");
    unlock();
    return rc;
}

static void range_push(struct device *d, const char *name) {
    (void)d, (void)name;
}

static void range_pop(struct device *d) {
    (void)d;
}

static void pass_time(void *arg, bool lost) {
    const double ms = *(double *)arg;
    struct timespec t = {(time_t)(ms * 1e-3), (long)(ms * 1e6) % 1000000000};
    if (!lost)
        nanosleep(&t, NULL);
    free(arg);
}

static int busy(struct device *d, void *stream, double ms, struct error *error) {
    double *arg = malloc(sizeof *arg);
    CHECK(arg);
    *arg = ms;
    lock();
    int rc = call("busy", error);
    if (rc == 0)
        enqueue(find_stream(d->ordinal, stream), &(struct op){.kind = OP_LAUNCH, .run = pass_time, .arg = arg});
    else
        free(arg);
    unlock();
    return rc;
}

const struct device_ops device_sim = {
    .name = "sim",
    .dlpack_type = 2,
    .open = sim_open,
    .close = sim_close,
    .pin = sim_pin,
    .unpin = sim_unpin,
    .allocate = sim_allocate,
    .release = sim_release,
    .stream_create = stream_create,
    .stream_destroy = stream_destroy,
    .event_create = event_create,
    .event_destroy = event_destroy,
    .copy = sim_copy,
    .convert = sim_convert,
    .record = sim_record,
    .wait = sim_wait,
    .synchronise = sim_synchronise,
    .query = sim_query,
    .elapsed = sim_elapsed,
    .check_stream = check_stream,
    .range_push = range_push,
    .range_pop = range_pop,
    .busy = busy,
};

/* ---- for tests --------------------------------------------------------------------------------------------------- */

void sim_begin(const struct sim_options *options) {
    lock();
    sim.options = *options;
    sim.calls = sim.violations = sim.pinned_bytes = 0;
    sim.dead = false;
    sim.next_seed = options->seed;
    unlock();
}

static uint64_t read_count(const uint64_t *count) {
    lock();
    uint64_t value = *count;
    unlock();
    return value;
}

uint64_t sim_violations(void) {
    return read_count(&sim.violations);
}

uint64_t sim_live(void) {
    return read_count(&sim.live);
}

uint64_t sim_calls(void) {
    return read_count(&sim.calls);
}

void sim_forbid_waiting(bool forbidden) {
    lock();
    uint32_t at = 0;
    while (at < sim.forbidden_count && !pthread_equal(sim.forbidden[at], pthread_self()))
        at++;
    if (forbidden && at == sim.forbidden_count) {
        CHECK(at < FORBIDDEN_LIMIT);
        sim.forbidden[sim.forbidden_count++] = pthread_self();
    } else if (!forbidden && at < sim.forbidden_count) {
        sim.forbidden[at] = sim.forbidden[--sim.forbidden_count];
    }
    unlock();
}

void *sim_stream_create(int ordinal) {
    lock();
    struct sim_stream *s = make_stream(ordinal, true);
    unlock();
    return s;
}

void sim_stream_destroy(void *stream) {
    lock();
    end_stream(stream);
    unlock();
}

void sim_stream_capture(void *stream, bool capturing) {
    lock();
    ((struct sim_stream *)stream)->capturing = capturing;
    unlock();
}

void sim_launch(int ordinal, void *stream, void (*run)(void *arg, bool lost), void *arg) {
    lock();
    enqueue(find_stream(ordinal, stream), &(struct op){.kind = OP_LAUNCH, .run = run, .arg = arg});
    unlock();
}

void sim_follow(int ordinal, void *stream, void *behind) {
    struct sim_event *e = calloc(1, sizeof *e);
    CHECK(e);
    *e = (struct sim_event){.ordinal = ordinal, .recorded = 1, .references = 2};
    init_reached(e);
    lock();
    enqueue(find_stream(ordinal, behind), &(struct op){.kind = OP_RECORD, .event = e, .count = 1});
    enqueue(find_stream(ordinal, stream), &(struct op){.kind = OP_WAIT, .event = e, .count = 1});
    unlock();
}

void sim_finish(int ordinal, void *stream) {
    lock();
    finish_stream(find_stream(ordinal, stream));
    unlock();
}
