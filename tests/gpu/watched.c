#include "gpu/watched.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

enum { STREAMS = 64 };

static struct device_ops table;
static const struct device_ops *base;
static struct watched what;
static pthread_t consumer;
static _Atomic uint64_t waits, random_state;
static void *_Atomic streams[STREAMS]; /* that were made through the table: the loader's */
static atomic_uint stream_count;

static double below(double most) {
    uint64_t x = atomic_fetch_add(&random_state, UINT64_C(0x9e3779b97f4a7c15));
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return most * (double)(x >> 11) * 0x1p-53;
}

static int stream_create(struct device *device, void **out, struct error *error) {
    int rc = base->stream_create(device, out, error);
    if (rc == 0)
        atomic_store(&streams[atomic_fetch_add(&stream_count, 1) % STREAMS], *out);
    return rc;
}

static bool is_loaders(const void *stream) {
    for (int i = 0; i < STREAMS; i++)
        if (atomic_load(&streams[i]) == stream)
            return true;
    return false;
}

static int copy(struct device *device, void *stream, void *to, const void *from, size_t bytes, struct error *error) {
    int rc = what.copy_ms > 0 ? base->busy(device, stream, below(what.copy_ms), error) : 0;
    return rc ? rc : base->copy(device, stream, to, from, bytes, error);
}

static int wait_for(struct device *device, void *stream, void *event, struct error *error) {
    bool loaders = is_loaders(stream);
    if ((what.no_ready_wait && !loaders) || (what.no_release_wait && loaders && stream == streams[0]))
        return 0;
    return base->wait(device, stream, event, error);
}

static int synchronise(struct device *device, void *event, struct error *error) {
    if (pthread_equal(pthread_self(), consumer))
        atomic_fetch_add(&waits, 1);
    return base->synchronise(device, event, error);
}

const struct device_ops *watched_begin(const struct device_ops *ops, const struct watched *options) {
    base = ops;
    what = *options;
    consumer = pthread_self();
    atomic_store(&waits, 0);
    atomic_store(&stream_count, 0);
    for (int i = 0; i < STREAMS; i++)
        atomic_store(&streams[i], NULL);
    table = *ops;
    table.stream_create = stream_create;
    table.copy = copy;
    table.wait = wait_for;
    table.synchronise = synchronise;
    return &table;
}

uint64_t watched_waits(void) {
    return atomic_load(&waits);
}
