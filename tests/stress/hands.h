/* Batches, and tensors of them, on their way to threads that release them in any order; and what stress
 * programs draw. */
#ifndef YPK_TESTS_STRESS_HANDS_H
#define YPK_TESTS_STRESS_HANDS_H

#include "unit/tiny_pack.h"

#include "managed_tensor.h"
#include "yolopack.h"

#include <pthread.h>
#include <time.h>

enum { HANDS_THREADS = 2, HANDS_PARCELS = 16 };

static inline uint32_t below(uint64_t *random, uint32_t n) {
    return (uint32_t)(tiny_random(random) % n);
}

static inline void pause_us(uint32_t us) {
    struct timespec t = {0, (long)us * 1000};
    if (us > 0)
        nanosleep(&t, NULL);
}

struct parcel {
    ypk_batch batch;
    void *stream;           /* of the release */
    struct managed *tensor; /* NULL: the batch itself */
    uint64_t hash;          /* what its bytes must still have, where they are looked at */
};

struct hands {
    void (*let_go)(struct parcel *parcel);
    pthread_t threads[HANDS_THREADS];
    pthread_mutex_t mutex; /* guards all below */
    pthread_cond_t changed;
    struct parcel parcels[HANDS_PARCELS];
    int count, busy;
    bool closed;
    uint64_t random;
};

static inline void *hands_release(void *arg) {
    struct hands *h = arg;
    pthread_mutex_lock(&h->mutex);
    for (;;) {
        while (h->count == 0 && !h->closed)
            pthread_cond_wait(&h->changed, &h->mutex);
        if (h->count == 0)
            break;
        int i = (int)below(&h->random, (uint32_t)h->count);
        struct parcel p = h->parcels[i];
        h->parcels[i] = h->parcels[--h->count];
        h->busy++;
        uint64_t random = tiny_random(&h->random);
        pthread_mutex_unlock(&h->mutex);
        if (random % 3 == 0)
            pause_us(below(&random, 1500));
        h->let_go(&p);
        pthread_mutex_lock(&h->mutex);
        h->busy--;
        pthread_cond_broadcast(&h->changed);
    }
    pthread_mutex_unlock(&h->mutex);
    return NULL;
}

static inline void hands_init(struct hands *h, void (*let_go)(struct parcel *parcel), uint64_t random) {
    *h = (struct hands){.let_go = let_go, .random = random};
    pthread_mutex_init(&h->mutex, NULL);
    pthread_cond_init(&h->changed, NULL);
    for (int i = 0; i < HANDS_THREADS; i++)
        CHECK(pthread_create(&h->threads[i], NULL, hands_release, h) == 0);
}

static inline void hands_deinit(struct hands *h) {
    pthread_mutex_lock(&h->mutex);
    h->closed = true;
    pthread_cond_broadcast(&h->changed);
    pthread_mutex_unlock(&h->mutex);
    for (int i = 0; i < HANDS_THREADS; i++)
        pthread_join(h->threads[i], NULL);
    pthread_cond_destroy(&h->changed);
    pthread_mutex_destroy(&h->mutex);
}

static inline void hand_over(struct hands *h, const struct parcel *p) {
    pthread_mutex_lock(&h->mutex);
    while (h->count == HANDS_PARCELS)
        pthread_cond_wait(&h->changed, &h->mutex);
    h->parcels[h->count++] = *p;
    pthread_cond_broadcast(&h->changed);
    pthread_mutex_unlock(&h->mutex);
}

static inline void hands_wait_until_empty(struct hands *h) {
    pthread_mutex_lock(&h->mutex);
    while (h->count + h->busy > 0)
        pthread_cond_wait(&h->changed, &h->mutex);
    pthread_mutex_unlock(&h->mutex);
}

#endif
