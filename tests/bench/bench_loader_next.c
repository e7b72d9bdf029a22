/*
 * The loader's own cost, without pictures to speak of: 200,000 batches of tiny ones in four runs, then how long ypk_loader_next takes
 * when a batch is ready. Fails if anything is allocated, or if memory grows, after the first tenth of a run.
 *
 *     bench_loader_next [BATCHES [PACK]]    batches a run; of another pack, what decoders allocate is only told
 */
#include "unit/count_allocations.h"
#include "unit/tiny_pack.h"

#include "yolopack.h"

#include <time.h>

enum { BATCHES = 50000, READY_CALLS = 4000, GROWTH_LIMIT_KB = 256 };

static double now_us(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3;
}

static ypk_loader *make_loader(const ypk_dataset *dataset, uint32_t batch, double mosaic) {
    ypk_loader_options o;
    ypk_loader *loader = NULL;
    ypk_error error;
    ypk_loader_options_init(&o, sizeof o);
    o.image_size = 32;
    o.batch = batch;
    o.mosaic = mosaic;
    o.epochs = 0;
    o.close_mosaic = 0;
    if (ypk_loader_create(&loader, dataset, &o, &error) != YPK_OK) {
        fprintf(stderr, "%s\n", error.message);
        exit(1);
    }
    return loader;
}

static void take(ypk_loader *loader, ypk_batch *b) {
    ypk_error error;
    if (ypk_loader_next(loader, b, YPK_NO_STREAM, &error) != YPK_OK) {
        fprintf(stderr, "%s\n", error.message);
        exit(1);
    }
}

static bool run_long(const ypk_dataset *dataset, uint32_t batch, double mosaic, long batches, bool gated) {
    ypk_loader *loader = make_loader(dataset, batch, mosaic);
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
        take(loader, &b);
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

/* The pause lets the workers finish; a call that waited all the same is not counted. */
static void time_ready(const ypk_dataset *dataset, uint32_t batch) {
    static double us[READY_CALLS];
    struct timespec pause = {0, 100000L * batch};
    ypk_loader *loader = make_loader(dataset, batch, 1);
    int count = 0;
    for (int i = 0; i < READY_CALLS; i++) {
        ypk_loader_stats before, after;
        ypk_batch b;
        nanosleep(&pause, NULL);
        ypk_loader_get_stats(loader, &before);
        double from = now_us();
        take(loader, &b);
        double took = now_us() - from;
        ypk_loader_get_stats(loader, &after);
        if (after.wait_seconds <= before.wait_seconds)
            us[count++] = took;
        ypk_batch_release(&b, YPK_NO_STREAM);
    }
    ypk_loader_destroy(&loader);
    qsort(us, (size_t)count, sizeof *us, by_value);
    if (count > 0)
        printf("next on a ready batch of %u: median %.2f us, 99 %% under %.2f us (%d calls; the bar is 20 us)\n", batch,
               us[count / 2], us[count * 99 / 100], count);
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
    time_ready(dataset, 1);
    time_ready(dataset, 16);
    ypk_dataset_close(&dataset);
    if (ours)
        tiny_pack_remove(&pack);
    return good ? 0 : 1;
}
