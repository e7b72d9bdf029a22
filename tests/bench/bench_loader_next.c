/*
 * The loader's own cost, without pictures to speak of: 200,000 batches of tiny ones in four runs, then how long
 * ypk_loader_next takes when a batch is ready, in host memory and on a device ("host", and the one that
 * $YPK_BENCH_DEVICE names). Fails if anything is allocated, or if memory grows, after the first tenth of a run, and if
 * a ready batch takes longer than it may.
 *
 *     bench_loader_next [BATCHES [PACK]]    batches a run; of another pack, what decoders allocate is only told
 */
#include "unit/count_allocations.h"
#include "unit/tiny_pack.h"

#include "yolopack.h"

#include <time.h>

enum { BATCHES = 50000, READY_CALLS = 4000, GROWTH_LIMIT_KB = 256 };

static double clock_us(clockid_t clock) {
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3;
}

static double now_us(void) {
    return clock_us(CLOCK_MONOTONIC);
}

static ypk_loader *make_loader(const ypk_dataset *dataset, uint32_t batch, double mosaic, const char *device) {
    ypk_loader_options o;
    ypk_loader *loader = NULL;
    ypk_error error;
    ypk_loader_options_init(&o, sizeof o);
    o.image_size = 32;
    o.batch = batch;
    o.mosaic = mosaic;
    o.device = device;
    o.dtype = device ? YPK_F16 : YPK_U8;
    o.epochs = 0;
    o.close_mosaic = 0;
    if (ypk_loader_create(&loader, dataset, &o, &error) != YPK_OK) {
        fprintf(stderr, "%s\n", error.message);
        exit(1);
    }
    return loader;
}

static void take(ypk_loader *loader, ypk_batch *b, void *stream) {
    ypk_error error;
    if (ypk_loader_next(loader, b, stream, &error) != YPK_OK) {
        fprintf(stderr, "%s\n", error.message);
        exit(1);
    }
}

static bool run_long(const ypk_dataset *dataset, uint32_t batch, double mosaic, long batches, bool gated) {
    ypk_loader *loader = make_loader(dataset, batch, mosaic, NULL);
    long after_warm_up = 0, most = 0;
    double from = 0;
    counts_as_here = true;
    for (long i = 0; i < batches; i++) {
        ypk_batch b;
        if (i == batches / 10) {
            after_warm_up = anonymous_kb();
            from = now_us();
            count_from_zero();
        }
        take(loader, &b, YPK_NO_STREAM);
        ypk_batch_release(&b, YPK_NO_STREAM);
        if (i > batches / 10 && i % 1000 == 0) {
            atomic_store(&allocation_count.on, false); /* the look at the memory allocates */
            long kb = anonymous_kb();
            most = kb > most ? kb : most;
            atomic_store(&allocation_count.on, true);
        }
    }
    atomic_store(&allocation_count.on, false);
    double seconds = (now_us() - from) * 1e-6, counted = (double)batches * 0.9;
    unsigned long here = atomic_load(&allocation_count.here), elsewhere = atomic_load(&allocation_count.elsewhere);
    ypk_loader_destroy(&loader);
    printf("%ld batches of %u, mosaic %g: %.1f us a batch; memory after a tenth %ld kB, at most %+ld kB later; "
           "allocations: next %lu, workers %.2f a sample\n",
           batches, batch, mosaic, seconds * 1e6 / counted, after_warm_up, most - after_warm_up, here,
           (double)elsewhere / counted / batch);
    return here == 0 && most - after_warm_up <= GROWTH_LIMIT_KB && (elsewhere == 0 || !gated);
}

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* What a ready batch costs the consumer's thread, of its time and by the clock. */
struct cost {
    double thread_us[READY_CALLS], clock_us[READY_CALLS];
    int count;
};

static void add_cost(struct cost *c, double thread_from, double clock_from) {
    c->thread_us[c->count] += clock_us(CLOCK_THREAD_CPUTIME_ID) - thread_from;
    c->clock_us[c->count] += now_us() - clock_from;
}

static double rank(double *us, int count, int percent) {
    qsort(us, (size_t)count, sizeof *us, by_value);
    return us[count * percent / 100];
}

/* The pause lets the workers finish; a call that waited all the same is not counted. */
static bool time_ready(const ypk_dataset *dataset, uint32_t batch, const char *device, double bar_us) {
    static struct cost c;
    struct timespec pause = {0, 100000L * batch};
    void *stream = device ? NULL : YPK_NO_STREAM;
    ypk_loader *loader = make_loader(dataset, batch, 1, device);
    memset(&c, 0, sizeof c);
    for (int i = 0; i < READY_CALLS; i++) {
        ypk_loader_stats before, after;
        ypk_batch b;
        nanosleep(&pause, NULL);
        ypk_loader_get_stats(loader, &before);
        c.thread_us[c.count] = c.clock_us[c.count] = 0;
        double thread = clock_us(CLOCK_THREAD_CPUTIME_ID), clock = now_us();
        take(loader, &b, stream);
        add_cost(&c, thread, clock);
        ypk_loader_get_stats(loader, &after);
        thread = clock_us(CLOCK_THREAD_CPUTIME_ID), clock = now_us();
        ypk_batch_release(&b, stream);
        add_cost(&c, thread, clock);
        c.count += after.wait_seconds <= before.wait_seconds;
    }
    ypk_loader_destroy(&loader);
    if (c.count == 0)
        return true;
    double cost = rank(c.thread_us, c.count, 50);
    printf(
        "next and release, ready batch of %u, %s: %.2f us of the thread (bar %.0f), 99 %% under %.2f; by the clock %.2f, "
        "99 %% under %.2f (%d calls)\n",
        batch, device ? device : "host memory", cost, bar_us, rank(c.thread_us, c.count, 99),
        rank(c.clock_us, c.count, 50), rank(c.clock_us, c.count, 99), c.count);
    return cost <= bar_us;
}

int main(int argc, char **argv) {
    struct tiny_pack pack = {0};
    ypk_dataset *dataset;
    ypk_error error;
    long batches = argc > 1 ? atol(argv[1]) : BATCHES;
    bool ours = argc < 3, good = true;
    if (ours)
        tiny_pack_create(&pack, 300, 100);
    if (ypk_dataset_open(&dataset, ours ? pack.path : argv[2], NULL, &error) != YPK_OK) {
        fprintf(stderr, "%s\n", error.message);
        return 1;
    }
    for (uint32_t batch = 1; batch <= 2; batch++)
        for (int mosaic = 0; mosaic <= 1; mosaic++)
            good = run_long(dataset, batch, mosaic, batches, ours) && good;
    for (uint32_t batch = 1; batch <= 16; batch += 15) {
        good = time_ready(dataset, batch, NULL, 20) && good;
        good = time_ready(dataset, batch, "host", 30) && good;
        if (getenv("YPK_BENCH_DEVICE"))
            good = time_ready(dataset, batch, getenv("YPK_BENCH_DEVICE"), 30) && good;
    }
    ypk_dataset_close(&dataset);
    if (ours)
        tiny_pack_remove(&pack);
    return good ? 0 : 1;
}
