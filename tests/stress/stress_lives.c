/*
 * Short lives of loaders on a simulated device that fails, or is lost, at any call: at their creation, among batches
 * that are held, exported and released late on another thread, while workers and slots come and go, after a bad sample,
 * in a seek, at their end. Nothing may hang, be left over, or be used when it is gone.
 *
 *     stress_lives [LIVES [SEED]]
 */
#include "sim/device_sim.h"
#include "unit/tiny_pack.h"

#include "loader.h"
#include "managed_tensor.h"
#include "yolopack.h"

#include <pthread.h>
#include <time.h>

enum { LIVES = 400, SAMPLES = 53, KEPT = 8 };

struct life {
    ypk_loader *loader;
    void *stream;
    uint64_t random;
    ypk_batch batches[KEPT]; /* that are held */
    struct managed *tensors[KEPT];
    uint32_t batch_count, tensor_count, late_us;
    uint64_t delivered, failures;
};

static uint32_t below(struct life *l, uint32_t n) {
    return (uint32_t)(tiny_random(&l->random) % n);
}

static void pause_us(uint32_t us) {
    struct timespec t = {0, (long)us * 1000};
    nanosleep(&t, NULL);
}

static void let_go(struct life *l) {
    for (uint32_t i = 0; i < l->tensor_count; i++)
        l->tensors[i]->deleter(l->tensors[i]);
    for (uint32_t i = 0; i < l->batch_count; i++)
        ypk_batch_release(&l->batches[i], l->stream);
    l->tensor_count = l->batch_count = 0;
}

static void *let_go_late(void *arg) {
    struct life *l = arg;
    pause_us(l->late_us);
    let_go(l);
    return NULL;
}

static void begin_device(struct life *l) {
    sim_begin(&(struct sim_options){.seed = tiny_random(&l->random),
                                    .delay_us = below(l, 2) ? 2000 : 200,
                                    .delay_chance = below(l, 3) * 4,
                                    .fail_at = below(l, 2) ? 1 + below(l, below(l, 2) ? 60 : 600) : 0,
                                    .fault = (enum sim_fault)below(l, 3)});
}

static ypk_loader_options any_options(struct life *l) {
    ypk_loader_options o;
    ypk_loader_options_init(&o, sizeof o);
    o.image_size = 32;
    o.close_mosaic = 0;
    o.epochs = 1 + below(l, 2);
    o.mode = (int)below(l, 2);
    o.rect = o.mode == YPK_EVAL && below(l, 2);
    o.batch = 1 + below(l, 5);
    o.workers = below(l, 4);
    o.prefetch = below(l, 4);
    o.device_slots = 3 + below(l, 3);
    o.channels = YPK_CHANNELS_RGB + (int)below(l, 5);
    o.dtype = (int)below(l, 4);
    o.layout = (int)below(l, 2);
    return o;
}

static void keep(struct life *l, ypk_batch *b) {
    ypk_error error;
    void *tensor;
    if (below(l, 4) == 0 && l->tensor_count < KEPT && ypk_batch_dlpack(b, 0, &tensor, &error) == YPK_OK)
        l->tensors[l->tensor_count++] = tensor;
    if (below(l, 4) == 0 && l->batch_count < KEPT)
        l->batches[l->batch_count++] = *b;
    else
        ypk_batch_release(b, l->stream);
}

/* One batch, or what stands in its place. False when this life is over. */
static bool step(struct life *l) {
    ypk_error error;
    ypk_batch b;
    int rc = ypk_loader_next(l->loader, &b, l->stream, &error);
    switch (rc) {
    case YPK_OK:
        l->delivered++;
        keep(l, &b);
        return true;
    case YPK_E_SLOTS_HELD: let_go(l); return true;
    case YPK_E_CORRUPT:
        let_go(l);
        ypk_loader_seek(l->loader, 0, below(l, (uint32_t)ypk_loader_batches_per_epoch(l->loader)), &error);
        return true;
    case YPK_E_DEVICE:
    case YPK_E_DEVICE_LOST:
        l->failures++;
        CHECK(ypk_loader_seek(l->loader, 0, 0, &error) == rc);
        return below(l, 2);
    default: CHECK(rc == YPK_END); return false;
    }
}

static void live(struct life *l, const ypk_dataset *dataset) {
    ypk_loader_options o = any_options(l);
    struct error error;
    pthread_t thread;
    begin_device(l);
    if (loader_create_on(&l->loader, dataset, &o, &device_sim, 0, &error) != 0) {
        l->failures++;
        return;
    }
    l->stream = below(l, 2) ? NULL : YPK_NO_STREAM;
    for (uint32_t left = below(l, 30); left > 0 && step(l); left--)
        if (below(l, 4) == 0)
            loader_aim(l->loader, 1 + below(l, 6), 1 + below(l, 10));
    l->late_us = below(l, 3000);
    uint32_t pause = below(l, 2000);
    l->stream = YPK_NO_STREAM; /* of a device that may be gone by then */
    CHECK(pthread_create(&thread, NULL, let_go_late, l) == 0);
    loader_aim(l->loader, 1 + pause % 6, 1 + pause % 10);
    pause_us(pause);
    ypk_loader_destroy(&l->loader);
    pthread_join(thread, NULL);
}

static int run(const ypk_dataset *dataset, uint64_t lives, uint64_t seed) {
    struct life l = {.random = seed};
    for (uint64_t i = 0; i < lives; i++) {
        live(&l, dataset);
        if (sim_live() || sim_violations()) {
            fprintf(stderr, "stress_lives: life %llu: %llu things left over, %llu misuses\n", (unsigned long long)i,
                    (unsigned long long)sim_live(), (unsigned long long)sim_violations());
            return 1;
        }
    }
    printf("stress_lives: %llu loaders, %llu batches, %llu failures\n", (unsigned long long)lives,
           (unsigned long long)l.delivered, (unsigned long long)l.failures);
    return l.delivered > 0 && (lives < LIVES || l.failures > 0) ? 0 : 1;
}

int main(int argc, char **argv) {
    struct tiny_pack pack;
    ypk_dataset *dataset;
    ypk_error error;
    tiny_pack_create(&pack, SAMPLES, 20);
    tiny_damage(&pack, 31);
    CHECK(ypk_dataset_open(&dataset, pack.path, NULL, &error) == YPK_OK);
    int code = run(dataset, argc > 1 ? strtoull(argv[1], NULL, 10) : LIVES, argc > 2 ? strtoull(argv[2], NULL, 10) : 1);
    ypk_dataset_close(&dataset);
    tiny_pack_remove(&pack);
    return code;
}
