/* Eight threads decode random samples of one dataset; every shard is first mapped in a race. For ThreadSanitizer. */
#include "unit/tiny_pack.h"

#include "yolopack.h"

#include <pthread.h>

enum { THREADS = 8, SAMPLES = 120, PER_SHARD = 4, DECODES = 1500, PIXELS_BYTES = 100 * 100 * 3 };

struct worker {
    const ypk_dataset *ds;
    uint64_t seed;
};

static void *work(void *arg) {
    struct worker *w = arg;
    ypk_decoder *decoder;
    uint8_t *pixels = malloc(PIXELS_BYTES);
    CHECK(pixels && ypk_decoder_create(&decoder, w->ds, NULL) == YPK_OK);
    for (int i = 0; i < DECODES; i++) {
        uint64_t id = tiny_random(&w->seed) % SAMPLES, found;
        ypk_sample s;
        CHECK(ypk_dataset_sample(w->ds, id, &s, NULL) == YPK_OK);
        CHECK(ypk_dataset_find(w->ds, s.name, &found, NULL) == YPK_OK && found == id);
        int modality = s.rgb.width ? YPK_RGB : YPK_IR;
        CHECK(ypk_decoder_decode(decoder, id, modality, pixels, 0, NULL) == YPK_OK);
    }
    ypk_decoder_destroy(&decoder);
    free(pixels);
    return NULL;
}

static void run(const char *pack, int io) {
    pthread_t threads[THREADS];
    struct worker workers[THREADS];
    ypk_dataset *ds;
    ypk_dataset_options options = {.size = sizeof options, .io = io};
    CHECK(ypk_dataset_open(&ds, pack, &options, NULL) == YPK_OK);
    for (int i = 0; i < THREADS; i++) {
        workers[i] = (struct worker){ds, (uint64_t)i};
        CHECK(pthread_create(&threads[i], NULL, work, &workers[i]) == 0);
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    ypk_dataset_close(&ds);
}

int main(void) {
    struct tiny_pack pack;
    tiny_pack_create(&pack, SAMPLES, PER_SHARD);
    run(pack.path, YPK_IO_MMAP);
    run(pack.path, YPK_IO_PREAD);
    tiny_pack_remove(&pack);
    printf("stress_dataset: %d threads, %d decodes each, mapped and read\n", THREADS, DECODES);
    return 0;
}
