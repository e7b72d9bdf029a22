/*
 * Batches on a simulated device, whose copies take time, for consumers who only put work on streams: what that work
 * sees is the batch it was given, whole, from its beginning to its end. Slow and fast consumers, batches held and
 * released by other threads and as tensors, several streams, several devices, workers and slots that come and go, an
 * early end. Then the same with one wait after the other left out: each time it must be seen.
 *
 *     stress_transfer [BATCHES [SEED]]      100,000 batches (fewer under a sanitizer)
 *     stress_transfer PACK mutation N       exits with 3 if it was seen (see enum sim_mutation)
 */
#include "hands.h"
#include "sim/device_sim.h"

#include "loader.h"

#include <stdatomic.h>
#include <sys/wait.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { BATCHES = 3000 };
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
enum { BATCHES = 3000 };
#else
enum { BATCHES = 100000 };
#endif
#else
enum { BATCHES = 100000 };
#endif

enum { SAMPLES = 53, SEGMENT = 2000, ROWS = 4, SIDE = 32, LABELS = 2, HELD = 8, SEEN = 3, STREAMS = 2 };
enum { MUTATION_TRIES = 100 };

/* What each sample is when nothing is left to chance: the bytes of its row, its labels. */
struct expected {
    uint8_t *rows; /* [SAMPLES][row_bytes] */
    size_t row_bytes;
    uint32_t label_count[SAMPLES];
    float label_class[SAMPLES][LABELS], label_box[SAMPLES][LABELS][4];
};

static bool wrong_is_wanted;

/* Work on a stream: looks at the batch, takes its time, and looks again. */
struct look {
    const struct expected *expected;
    _Atomic uint64_t *wrong;
    ypk_batch batch;
    uint64_t index[ROWS];
    uint32_t delay_us;
};

static void must(int rc, const char *message) {
    if (rc != 0)
        fprintf(stderr, "stress_transfer: %s\n", message);
    CHECK(rc == 0);
}

/* ---- what is expected -------------------------------------------------------------------------------------------- */

static ypk_loader_options plain_options(uint64_t *random) {
    ypk_loader_options o;
    ypk_loader_options_init(&o, sizeof o);
    o.image_size = SIDE;
    o.epochs = 0;
    o.close_mosaic = 0;
    o.mosaic = o.translate = o.scale = o.hsv_h = o.hsv_s = o.hsv_v = o.fliplr = 0;
    o.seed = tiny_random(random) >> 1;
    o.batch = 1 + below(random, ROWS);
    o.workers = 1 + below(random, 2);
    o.prefetch = 1 + below(random, 4);
    o.device_slots = 3 + below(random, 3);
    o.channels = YPK_CHANNELS_RGB + (int)below(random, 4);
    o.dtype = (int)below(random, 4);
    o.layout = (int)below(random, 2);
    return o;
}

static size_t row_bytes(const ypk_batch *b) {
    static const size_t number[] = {1, 2, 2, 4};
    return (size_t)b->images[0].strides[0] * number[b->images[0].dtype];
}

static void learn_row(struct expected *e, const ypk_batch *b, uint32_t row) {
    uint64_t sample = b->samples[row].index;
    memcpy(e->rows + sample * e->row_bytes, (uint8_t *)b->images[0].data + row * e->row_bytes, e->row_bytes);
    uint32_t n = 0;
    for (uint32_t i = 0; i < b->label_count; i++)
        if (b->label_batch[i] == (float)row) {
            CHECK(n < LABELS);
            e->label_class[sample][n] = b->label_class[i];
            memcpy(e->label_box[sample][n++], b->label_box + 4 * (size_t)i, 4 * sizeof(float));
        }
    e->label_count[sample] = n;
}

static void learn(struct expected *e, const ypk_dataset *dataset, const ypk_loader_options *options) {
    ypk_loader_options o = *options;
    ypk_loader *loader = NULL;
    ypk_error error = {0};
    ypk_batch b;
    o.epochs = 1;
    must(ypk_loader_create(&loader, dataset, &o, &error), error.message);
    for (bool first = true; ypk_loader_next(loader, &b, YPK_NO_STREAM, &error) == YPK_OK; first = false) {
        if (first) {
            e->row_bytes = row_bytes(&b);
            CHECK(e->rows = malloc(SAMPLES * e->row_bytes));
        }
        for (uint32_t row = 0; row < b.sample_count; row++)
            learn_row(e, &b, row);
        ypk_batch_release(&b, YPK_NO_STREAM);
    }
    ypk_loader_destroy(&loader);
}

static bool as_expected(const struct look *l) {
    const struct expected *e = l->expected;
    const ypk_batch *b = &l->batch;
    uint32_t at = 0;
    for (uint32_t row = 0; row < b->sample_count; row++) {
        uint64_t sample = l->index[row];
        if (memcmp((uint8_t *)b->images[0].data + row * e->row_bytes, e->rows + sample * e->row_bytes, e->row_bytes))
            return false;
        for (uint32_t i = 0; i < e->label_count[sample]; i++, at++)
            if (at >= b->label_count || b->label_batch[at] != (float)row ||
                b->label_class[at] != e->label_class[sample][i] ||
                memcmp(b->label_box + 4 * (size_t)at, e->label_box[sample][i], 4 * sizeof(float)))
                return false;
    }
    return at == b->label_count;
}

static void look_at(void *arg, bool lost) {
    struct look *l = arg;
    bool good = lost || as_expected(l);
    pause_us(l->delay_us);
    if (!good || !(lost || as_expected(l))) {
        if (wrong_is_wanted)
            _exit(SEEN);
        atomic_fetch_add(l->wrong, 1);
    }
    free(l);
}

/* ---- a consumer -------------------------------------------------------------------------------------------------- */

static void let_go(struct parcel *p) {
    if (p->tensor)
        p->tensor->deleter(p->tensor);
    else
        ypk_batch_release(&p->batch, p->stream);
}

struct consumer {
    const ypk_dataset *dataset;
    int ordinal;
    uint64_t random, batches;
    _Atomic uint64_t wrong;

    ypk_loader *loader;
    struct expected expected;
    struct hands hands;
    void *streams[STREAMS]; /* the first is NULL at times */
    struct parcel held[HELD];
    uint32_t held_count, slots;
    bool slow;
};

static void put_look(struct consumer *c, const ypk_batch *b, void *stream) {
    struct look *l = malloc(sizeof *l);
    CHECK(l && b->sample_count <= ROWS);
    *l = (struct look){.expected = &c->expected, .wrong = &c->wrong, .batch = *b};
    for (uint32_t row = 0; row < b->sample_count; row++)
        l->index[row] = b->samples[row].index;
    if (below(&c->random, 100) == 0)
        l->delay_us = below(&c->random, 1000);
    sim_launch(c->ordinal, stream, look_at, l);
}

static void export(struct consumer *c, struct parcel *p) {
    struct parcel tensor = {0};
    ypk_error error = {0};
    void *out;
    must(ypk_batch_dlpack(&p->batch, 0, &out, &error), error.message);
    tensor.tensor = out;
    CHECK(tensor.tensor->device[0] == 2 && tensor.tensor->device[1] == c->ordinal);
    hand_over(&c->hands, &tensor);
}

static void give_one(struct consumer *c) {
    uint32_t i = below(&c->random, c->held_count);
    struct parcel p = c->held[i];
    c->held[i] = c->held[--c->held_count];
    if (below(&c->random, 16) == 0)
        export(c, &p);
    if (below(&c->random, 4) == 0)
        hand_over(&c->hands, &p);
    else
        let_go(&p);
}

static void give_all(struct consumer *c) {
    while (c->held_count > 0)
        give_one(c);
    hands_wait_until_empty(&c->hands);
}

/* One more stream has work with the batch. */
static void use_elsewhere(struct consumer *c, struct parcel *p) {
    ypk_error error = {0};
    void *other = c->streams[1];
    sim_follow(c->ordinal, other, p->stream);
    put_look(c, &p->batch, other);
    if (below(&c->random, 2))
        p->stream = other; /* the release says so */
    else
        must(ypk_batch_used_on(&p->batch, other, &error), error.message);
}

static void take(struct consumer *c) {
    struct parcel p = {0};
    ypk_error error = {0};
    p.stream = c->streams[below(&c->random, 8) == 0];
    int rc = ypk_loader_next(c->loader, &p.batch, p.stream, &error);
    if (rc == YPK_E_SLOTS_HELD) { /* others still have some */
        hands_wait_until_empty(&c->hands);
        rc = ypk_loader_next(c->loader, &p.batch, p.stream, &error);
    }
    must(rc, error.message);
    CHECK(p.batch.images[0].device_type == 2 && p.batch.images[0].device_id == c->ordinal);
    put_look(c, &p.batch, p.stream);
    if (below(&c->random, 16) == 0)
        use_elsewhere(c, &p);
    c->held[c->held_count++] = p;
    while (c->held_count >= c->slots || (c->held_count > 0 && below(&c->random, 3)))
        give_one(c);
    if (c->slow && below(&c->random, 50) == 0)
        pause_us(below(&c->random, 500));
}

/* Elsewhere and back: what was on its way is dropped. */
static void go_back(struct consumer *c) {
    char state[YPK_STATE_BYTES];
    ypk_error error = {0};
    give_all(c);
    must(ypk_loader_state(c->loader, state, sizeof state, &error), error.message);
    must(below(&c->random, 2) ? ypk_loader_restore(c->loader, state, &error)
                              : ypk_loader_seek(c->loader, below(&c->random, 100), 0, &error),
         error.message);
}

static void run_segment(struct consumer *c, uint64_t batches) {
    ypk_loader_options o = plain_options(&c->random);
    struct error error = {0};
    ypk_loader_stats stats;
    learn(&c->expected, c->dataset, &o);
    c->slots = o.device_slots;
    bool automatic = below(&c->random, 2); /* workers and slots come and go */
    if (automatic)
        o.workers = o.prefetch = 0;
    c->slow = below(&c->random, 2);
    c->streams[0] = below(&c->random, 2) ? sim_stream_create(c->ordinal) : NULL;
    c->streams[1] = sim_stream_create(c->ordinal);
    must(loader_create_on(&c->loader, c->dataset, &o, &device_sim, c->ordinal, &error), error.message);
    sim_forbid_waiting(true);
    for (uint64_t i = 0; i < batches; i++) {
        take(c);
        if (automatic && below(&c->random, 64) == 0)
            loader_aim(c->loader, 1 + below(&c->random, 4), 3 + below(&c->random, 6));
        if (below(&c->random, 500) == 0)
            go_back(c);
    }
    sim_forbid_waiting(false);
    ypk_loader_get_stats(c->loader, &stats);
    CHECK(stats.copy_bytes > 0 && stats.copy_overlap >= 0 && stats.copy_overlap <= 1 && stats.device_bytes > 0);
    CHECK((automatic || stats.pinned_bytes == stats.slot_bytes) && stats.note[0] == '\0' && stats.device[0] == 's');
    if (below(&c->random, 2))
        give_all(c);
    ypk_loader_destroy(&c->loader); /* with copies on their way, and batches held that are released late */
    give_all(c);
    if (c->streams[0])
        sim_stream_destroy(c->streams[0]);
    sim_stream_destroy(c->streams[1]);
    free(c->expected.rows);
}

static void *consume(void *arg) {
    struct consumer *c = arg;
    hands_init(&c->hands, let_go, tiny_random(&c->random));
    for (uint64_t left = c->batches; left > 0;) {
        uint64_t batches = left < SEGMENT ? left : SEGMENT;
        run_segment(c, batches);
        left -= batches;
    }
    hands_deinit(&c->hands);
    return NULL;
}

/* On `devices` devices at a time; returns how many looks saw what they should not. */
static uint64_t consume_on(const ypk_dataset *dataset, int devices, uint64_t batches, uint64_t seed) {
    static struct consumer consumers[SIM_ORDINALS];
    pthread_t threads[SIM_ORDINALS];
    uint64_t wrong = 0;
    for (int i = 0; i < devices; i++) {
        consumers[i] = (struct consumer){
            .dataset = dataset, .ordinal = i, .random = seed + (uint64_t)i, .batches = batches / (uint64_t)devices};
        CHECK(pthread_create(&threads[i], NULL, consume, &consumers[i]) == 0);
    }
    for (int i = 0; i < devices; i++) {
        pthread_join(threads[i], NULL);
        wrong += consumers[i].wrong;
    }
    return wrong;
}

/* ---- mutations --------------------------------------------------------------------------------------------------- */

/* In a process of its own: what is wrong in it is wanted, and a sanitizer would say so. */
static void see_mutation(const char *pack, enum sim_mutation mutation, const char *what) {
    char number[8];
    int status;
    snprintf(number, sizeof number, "%d", (int)mutation);
    pid_t pid = fork();
    CHECK(pid >= 0);
    if (pid == 0) {
        setenv("TSAN_OPTIONS", "report_bugs=0", 1);
        execl("/proc/self/exe", "stress_transfer", pack, "mutation", number, (char *)NULL);
        _exit(1);
    }
    CHECK(waitpid(pid, &status, 0) == pid);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != SEEN) {
        fprintf(stderr, "stress_transfer: %s, and nobody saw it (status %d)\n", what, status);
        exit(1);
    }
    printf("stress_transfer: %s: seen\n", what);
}

static int run_mutation(const char *pack, enum sim_mutation mutation) {
    struct sim_options options = {.seed = 5, .delay_us = 400, .delay_chance = 4, .mutation = mutation};
    ypk_dataset *dataset;
    ypk_error error = {0};
    must(ypk_dataset_open(&dataset, pack, NULL, &error), error.message);
    wrong_is_wanted = true;
    for (uint64_t seed = 3; seed < 3 + MUTATION_TRIES; seed++) { /* the threads' luck: one is enough as a rule */
        sim_begin(&options);
        consume_on(dataset, 1, 1000, seed);
    }
    ypk_dataset_close(&dataset);
    return 0;
}

static int run_whole(const ypk_dataset *dataset, uint64_t batches, uint64_t seed) {
    struct sim_options options = {.seed = seed, .delay_us = 300, .delay_chance = 64};
    sim_begin(&options);
    uint64_t wrong = consume_on(dataset, 1, batches - batches / 4, seed) + consume_on(dataset, 3, batches / 4, seed);
    printf("stress_transfer: %llu batches, %llu looks at one that was not as it should be, %llu things left over, "
           "%llu misuses\n",
           (unsigned long long)batches, (unsigned long long)wrong, (unsigned long long)sim_live(),
           (unsigned long long)sim_violations());
    return wrong || sim_live() || sim_violations() ? 1 : 0;
}

int main(int argc, char **argv) {
    struct tiny_pack pack;
    ypk_dataset *dataset;
    ypk_error error = {0};
    if (argc == 4 && strcmp(argv[2], "mutation") == 0)
        return run_mutation(argv[1], (enum sim_mutation)atoi(argv[3]));
    tiny_pack_create(&pack, SAMPLES, 20);
    must(ypk_dataset_open(&dataset, pack.path, NULL, &error), error.message);
    int code = run_whole(dataset, argc > 1 ? strtoull(argv[1], NULL, 10) : BATCHES,
                         argc > 2 ? strtoull(argv[2], NULL, 10) : 1);
    see_mutation(pack.path, SIM_NO_READY_WAIT, "streams do not wait for their batch");
    see_mutation(pack.path, SIM_NO_RELEASE_WAIT, "copies do not wait for those who use their target");
    see_mutation(pack.path, SIM_NO_COPY_WAIT, "conversions do not wait for their copy");
    see_mutation(pack.path, SIM_NO_SYNCHRONISE, "slots are filled again while they are copied");
    ypk_dataset_close(&dataset);
    tiny_pack_remove(&pack);
    return code;
}
