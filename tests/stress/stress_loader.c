/*
 * A loader that is treated badly gives the bytes that one worker gives in peace: slow consumers, batches held for long
 * and released elsewhere in any order, restores and seeks in mid-epoch, workers and slots that come and go, tight
 * memory, bad samples, an early end. Each round draws its options and its script. Repeatable but for the threads' luck:
 * the seed is the first argument, or 1; the number of rounds the second.
 */
#include "hands.h"

#include "loader.h"

enum { ROUNDS = 45, STEPS = 40, HELD = 16, BATCHES = 60, SLOT_LIMIT = 10 };

/* What one worker gives: batch by batch, from the beginning. */
struct reference {
    uint64_t hash[BATCHES];
    int code[BATCHES]; /* YPK_OK, YPK_END, or the failure's */
    char message[BATCHES][256];
};

struct round {
    const ypk_dataset *dataset;
    ypk_loader_options options;
    struct reference expected;
    ypk_loader *loader;
    struct hands *hands;
    struct parcel held[HELD];
    int held_count;
    bool automatic; /* workers and slots come and go */
    int64_t at;     /* the batch that comes next */
    uint64_t random, per_epoch;
};

static uint64_t hash_tensor(const void *data, const int64_t *shape, int bits) {
    return XXH3_64bits(data, (size_t)(shape[0] * shape[1] * shape[2] * shape[3]) * (size_t)bits / 8);
}

static uint64_t hash_batch(const ypk_batch *b) {
    static const int bits[] = {8, 16, 16, 32};
    uint64_t h[6] = {b->label_count};
    for (int i = 0; i < b->image_count; i++)
        h[1 + i] = hash_tensor(b->images[i].data, b->images[i].shape, bits[b->images[i].dtype]);
    h[3] = XXH3_64bits(b->label_batch, b->label_count * sizeof(float));
    h[4] = XXH3_64bits(b->label_class, b->label_count * sizeof(float));
    h[5] = XXH3_64bits(b->label_box, b->label_count * 4 * sizeof(float));
    for (uint32_t row = 0; row < b->sample_count; row++)
        h[0] = h[0] * 31 + b->samples[row].index + (uint64_t)b->samples[row].substituted;
    return XXH3_64bits(h, sizeof h);
}

static void let_go(struct parcel *p) {
    if (p->tensor) {
        CHECK(hash_tensor(p->tensor->data, p->tensor->shape, p->tensor->bits) == p->hash);
        p->tensor->deleter(p->tensor);
    } else {
        CHECK(hash_batch(&p->batch) == p->hash);
        ypk_batch_release(&p->batch, YPK_NO_STREAM);
        CHECK(p->batch.slot == NULL);
    }
}

/* ---- a round ----------------------------------------------------------------------------------------------------- */

static double chance_of(uint64_t *random, double value) {
    return below(random, 2) ? value : 0;
}

static ypk_loader_options draw_options(uint64_t *random) {
    static const int channels[] = {YPK_CHANNELS_AUTO, YPK_CHANNELS_RGB, YPK_CHANNELS_IR, YPK_CHANNELS_RGB_IR,
                                   YPK_CHANNELS_TWO};
    ypk_loader_options o;
    ypk_loader_options_init(&o, sizeof o);
    o.seed = tiny_random(random) >> 1;
    o.image_size = 32 + 32 * below(random, 2);
    o.batch = 1 + below(random, 8);
    o.world = 1 + below(random, 2);
    o.rank = below(random, o.world);
    o.epochs = 1 + below(random, 6);
    o.close_mosaic = below(random, 2);
    o.channels = channels[below(random, 5)];
    o.dtype = (int)below(random, 4);
    o.layout = (int)below(random, 2);
    o.mosaic = below(random, 4) ? 1 : 0.5 * below(random, 2);
    o.mosaic_depth = 1 + below(random, 8);
    o.mosaic_pool_all = below(random, 6) == 0;
    o.mixup = chance_of(random, 0.5);
    o.cutmix = chance_of(random, 0.5);
    o.degrees = chance_of(random, 20);
    o.multi_scale = o.image_size == 64 ? chance_of(random, 0.4) : 0;
    o.ir_noise = chance_of(random, 0.1);
    o.flipud = 0.3;
    if (below(random, 4) == 0) {
        o.mode = YPK_EVAL;
        o.rect = (int)below(random, 2);
    }
    return o;
}

static void must(int rc, const ypk_error *error) {
    if (rc != YPK_OK)
        fprintf(stderr, "stress_loader: %s\n", error->message);
    CHECK(rc == YPK_OK);
}

static void learn(struct round *r) {
    ypk_loader_options o = r->options;
    ypk_loader *loader = NULL;
    ypk_error error = {0};
    ypk_batch b;
    o.workers = 1;
    o.prefetch = 1;
    must(ypk_loader_create(&loader, r->dataset, &o, &error), &error);
    r->per_epoch = ypk_loader_batches_per_epoch(loader);
    for (uint64_t i = 0; i < BATCHES; i++) {
        int rc = r->expected.code[i] = ypk_loader_next(loader, &b, YPK_NO_STREAM, &error);
        if (rc == YPK_OK) {
            CHECK(b.epoch * r->per_epoch + b.index == i);
            r->expected.hash[i] = hash_batch(&b);
            ypk_batch_release(&b, YPK_NO_STREAM);
        } else if (rc != YPK_END) { /* past the fault, to the next batch */
            snprintf(r->expected.message[i], sizeof r->expected.message[i], "%.255s", error.message);
            must(ypk_loader_seek(loader, (i + 1) / r->per_epoch, (i + 1) % r->per_epoch, &error), &error);
        }
    }
    ypk_loader_destroy(&loader);
}

/* The options of the loader under test: any number of threads, and half of the time as little memory as it can
 * do with. */
static void begin(struct round *r) {
    ypk_loader_options o = r->options;
    ypk_error error = {0};
    r->automatic = below(&r->random, 2);
    o.workers = r->automatic ? 0 : 1 + below(&r->random, 5);
    o.prefetch = r->automatic && below(&r->random, 2) ? 0 : 1 + below(&r->random, 8);
    if (below(&r->random, 2)) {
        o.memory_limit = 1;
        CHECK(ypk_loader_create(&r->loader, r->dataset, &o, &error) == YPK_E_ARGUMENT && r->loader == NULL);
        const char *smallest = strstr(error.message, " MB (");
        CHECK(smallest);
        o.memory_limit = strtoull(smallest + strlen(" MB ("), NULL, 10);
    }
    must(ypk_loader_create(&r->loader, r->dataset, &o, &error), &error);
}

static void give_away(struct round *r, int i) {
    struct parcel p = r->held[i];
    r->held[i] = r->held[--r->held_count];
    if (below(&r->random, 4) == 0)
        let_go(&p);
    else
        hand_over(r->hands, &p);
}

static void release_all(struct round *r) {
    while (r->held_count > 0)
        give_away(r, 0);
    hands_wait_until_empty(r->hands);
}

static void export_one(struct round *r, const struct parcel *whole) {
    struct parcel p = *whole;
    ypk_error error = {0};
    void *tensor;
    must(ypk_batch_dlpack(&p.batch, 0, &tensor, &error), &error);
    p.tensor = tensor;
    p.hash = hash_tensor(p.tensor->data, p.tensor->shape, p.tensor->bits);
    r->held[r->held_count++] = p;
}

static void take(struct round *r) {
    struct parcel p = {0};
    ypk_error error = {0};
    if (r->at >= BATCHES || r->held_count + 2 > HELD)
        return;
    int rc = ypk_loader_next(r->loader, &p.batch, YPK_NO_STREAM, &error);
    if (rc == YPK_E_SLOTS_HELD) {
        release_all(r);
        rc = ypk_loader_next(r->loader, &p.batch, YPK_NO_STREAM, &error);
    }
    CHECK(rc == r->expected.code[r->at]);
    if (rc != YPK_OK) {
        CHECK(rc == YPK_END || strncmp(error.message, r->expected.message[r->at], 255) == 0);
        return;
    }
    p.hash = hash_batch(&p.batch);
    if (p.hash != r->expected.hash[r->at] || p.batch.epoch * r->per_epoch + p.batch.index != (uint64_t)r->at)
        fprintf(stderr, "stress_loader: batch %lld is not what it should be\n", (long long)r->at);
    CHECK(p.hash == r->expected.hash[r->at]);
    r->held[r->held_count++] = p;
    r->at++;
    if (below(&r->random, 8) == 0)
        export_one(r, &p);
}

static void go_elsewhere(struct round *r) {
    ypk_error error = {0};
    int64_t to = below(&r->random, BATCHES);
    uint64_t epoch = (uint64_t)to / r->per_epoch, index = (uint64_t)to % r->per_epoch;
    if (r->held_count > 0 && below(&r->random, 2))
        CHECK(ypk_loader_seek(r->loader, epoch, index, &error) == YPK_E_ARGUMENT);
    release_all(r);
    if ((uint64_t)to > r->options.epochs * r->per_epoch) { /* past the end: it stays where it is */
        CHECK(ypk_loader_seek(r->loader, epoch, index, &error) == YPK_E_ARGUMENT);
        return;
    }
    must(ypk_loader_seek(r->loader, epoch, index, &error), &error);
    r->at = to;
}

/* To where it was a few batches ago, or where it is: what was ready is made again. */
static void restore(struct round *r, char state[YPK_STATE_BYTES], int64_t *saved) {
    ypk_error error = {0};
    if (*saved < 0 || below(&r->random, 2)) {
        must(ypk_loader_state(r->loader, state, YPK_STATE_BYTES, &error), &error);
        *saved = r->at;
        return;
    }
    release_all(r);
    must(ypk_loader_restore(r->loader, state, &error), &error);
    r->at = *saved;
}

static void play(struct round *r) {
    char state[YPK_STATE_BYTES];
    int64_t saved = -1;
    int steps = (int)below(&r->random, STEPS + 1); /* 0: destroyed before the first batch */
    bool slow = below(&r->random, 2);
    for (int i = 0; i < steps; i++) {
        uint32_t action = below(&r->random, 24);
        if (action == 0)
            go_elsewhere(r);
        else if (action <= 2)
            restore(r, state, &saved);
        else if (action <= 10 && r->held_count > 0)
            give_away(r, (int)below(&r->random, (uint32_t)r->held_count));
        else
            take(r);
        if (r->automatic && below(&r->random, 3) == 0)
            loader_aim(r->loader, below(&r->random, 9), below(&r->random, SLOT_LIMIT + 1));
        if (slow)
            pause_us(below(&r->random, 1000));
    }
}

/* The loader goes while batches of it are on their way to other threads, and in this one. */
static void end(struct round *r) {
    ypk_loader_stats stats;
    for (int i = r->held_count / 2; i > 0; i--)
        give_away(r, 0);
    ypk_loader_get_stats(r->loader, &stats);
    CHECK((r->automatic || stats.slots <= SLOT_LIMIT) && stats.verdict);
    ypk_loader_destroy(&r->loader);
    CHECK(r->loader == NULL);
    release_all(r);
}

static void run_round(const ypk_dataset *dataset, uint64_t seed, bool bad, struct hands *hands) {
    static struct round r;
    r = (struct round){.dataset = dataset, .random = seed, .hands = hands};
    r.options = draw_options(&r.random);
    r.options.bad_sample = bad && below(&r.random, 2) ? YPK_BAD_FAIL : YPK_BAD_SUBSTITUTE;
    learn(&r);
    begin(&r);
    play(&r);
    end(&r);
}

/* Few samples too: with them an epoch is one batch, or a whole one and a rest. */
static void run_pack(uint64_t samples, int rounds, bool bad, uint64_t *random) {
    struct tiny_pack pack;
    struct hands hands;
    ypk_dataset *dataset;
    ypk_error error = {0};
    tiny_pack_create(&pack, samples, 20);
    for (uint64_t i = 0; bad && i < 3; i++)
        tiny_damage(&pack, i * 7 % samples);
    must(ypk_dataset_open(&dataset, pack.path, NULL, &error), &error);
    hands_init(&hands, let_go, tiny_random(random));
    for (int i = 0; i < rounds; i++)
        run_round(dataset, tiny_random(random), bad, &hands);
    hands_deinit(&hands);
    ypk_dataset_close(&dataset);
    tiny_pack_remove(&pack);
}

int main(int argc, char **argv) {
    uint64_t random = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
    int rounds = argc > 2 ? atoi(argv[2]) : ROUNDS;
    run_pack(53, rounds / 3, false, &random);
    run_pack(5 + below(&random, 12), rounds / 3, false, &random);
    run_pack(29, rounds / 3, true, &random);
    printf("stress_loader: %d rounds, each batch as one worker makes it\n", rounds / 3 * 3);
    return 0;
}
