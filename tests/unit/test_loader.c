/* The same plan gives the same bytes, whatever carries it out. */
#include "loader.h"

#include "managed_tensor.h"
#include "tiny_loader.h"

#include <math.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SAMPLES = 53, GLOBAL_BATCH = 12, SIDE = 64, EPOCHS = 3 };

static void setup(void) {
    open_pack(SAMPLES, 20, TASK_DETECT);
}

TestSuite(loader, .init = setup, .fini = close_pack);

static ypk_loader_options small_options(void) {
    ypk_loader_options o;
    ypk_loader_options_init(&o, sizeof o);
    o.image_size = SIDE;
    o.batch = GLOBAL_BATCH;
    o.epochs = EPOCHS;
    o.close_mosaic = 1;
    o.seed = 7;
    o.workers = 2;
    o.last_batch = YPK_LAST_WRAP;
    o.degrees = 10;
    o.mixup = 0.3;
    o.channels = YPK_CHANNELS_RGB_IR3;
    return o;
}

/* Pixels, labels and identity of one row. */
static uint64_t hash_row(const ypk_batch *b, uint32_t row) {
    XXH3_state_t *state = XXH3_createState();
    XXH3_64bits_reset(state);
    for (int i = 0; i < b->image_count; i++) {
        const ypk_tensor *t = &b->images[i];
        static const size_t number[] = {1, 2, 2, 4};
        size_t bytes = (size_t)t->strides[0] * number[t->dtype];
        XXH3_64bits_update(state, (const uint8_t *)t->data + row * bytes, bytes);
    }
    for (uint32_t i = 0; i < b->label_count; i++)
        if (b->label_batch[i] == (float)row) {
            XXH3_64bits_update(state, &b->label_class[i], sizeof(float));
            XXH3_64bits_update(state, &b->label_box[4 * i], 4 * sizeof(float));
            size_t numbers = (size_t)b->points_per_label * b->point_dims;
            if (b->label_points)
                XXH3_64bits_update(state, b->label_points + i * numbers, numbers * sizeof(float));
            if (b->label_rotation)
                XXH3_64bits_update(state, &b->label_rotation[i], sizeof(float));
        }
    XXH3_64bits_update(state, &b->samples[row].index, sizeof b->samples[row].index);
    uint64_t hash = XXH3_64bits_digest(state);
    XXH3_freeState(state);
    return hash;
}

#define ROW_LIMIT 1024

struct trace {
    uint64_t hash[ROW_LIMIT]; /* by absolute position */
    uint64_t sample[ROW_LIMIT];
    uint64_t rows;
    double decodes;
};

static void record_batch(struct trace *t, const ypk_batch *b, const ypk_loader_options *o, uint64_t per_epoch) {
    for (uint32_t row = 0; row < b->sample_count; row++) {
        uint64_t at = (b->epoch * per_epoch + b->index) * o->batch * o->world + row * o->world + o->rank;
        cr_assert_lt(at, ROW_LIMIT);
        t->hash[at] = hash_row(b, row);
        t->sample[at] = b->samples[row].index;
        t->rows++;
    }
}

static void run_all(struct trace *t, const ypk_loader_options *o) {
    ypk_loader *loader = make_loader(o);
    ypk_loader_stats stats;
    ypk_batch b;
    ypk_error error;
    int rc;
    while ((rc = ypk_loader_next(loader, &b, YPK_NO_STREAM, &error)) == YPK_OK) {
        record_batch(t, &b, o, ypk_loader_batches_per_epoch(loader));
        ypk_batch_release(&b, YPK_NO_STREAM);
    }
    cr_assert_eq(rc, YPK_END, "%s", error.message);
    ypk_loader_get_stats(loader, &stats);
    t->decodes += (double)stats.decodes;
    ypk_loader_destroy(&loader);
}

static void assert_same(const struct trace *a, const struct trace *b, const char *what) {
    cr_assert_eq(a->rows, b->rows, "%s", what);
    for (size_t i = 0; i < ROW_LIMIT; i++)
        cr_assert_eq(a->hash[i], b->hash[i], "%s: position %zu differs", what, i);
}

static const struct trace *reference(void) {
    static struct trace t;
    if (t.rows == 0) {
        ypk_loader_options o = small_options();
        o.workers = 1;
        run_all(&t, &o);
    }
    return &t;
}

Test(loader, same_bytes_for_any_workers_and_prefetch) {
    static const struct { uint32_t workers, prefetch; } forms[] = {{1, 1}, {2, 1}, {2, 8}, {5, 1}, {5, 8}};
    for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++) {
        static struct trace t;
        ypk_loader_options o = small_options();
        memset(&t, 0, sizeof t);
        o.workers = forms[i].workers;
        o.prefetch = forms[i].prefetch;
        run_all(&t, &o);
        assert_same(reference(), &t, "workers and prefetch");
    }
}

static uint64_t memory_of(const ypk_loader_stats *s) {
    return s->slot_bytes + s->window_bytes + s->scratch_bytes;
}

/* What the automatic mode may do, without its reasons. */
Test(loader, same_bytes_while_workers_and_slots_come_and_go) {
    for (uint64_t seed = 1; seed <= 6; seed++) {
        static struct trace t;
        ypk_loader_options o = small_options();
        ypk_loader_stats stats;
        ypk_batch b;
        ypk_error error;
        uint64_t random = seed;
        memset(&t, 0, sizeof t);
        o.workers = seed % 3 ? 0 : 2;
        o.prefetch = seed % 3 == 1 ? 3 : 0;
        ypk_loader *loader = make_loader(&o);
        ypk_loader_get_stats(loader, &stats);
        ypk_loader_destroy(&loader);
        o.memory_limit = seed % 2 ? 0 : memory_of(&stats) * 5 / 4;
        loader = make_loader(&o);
        while (ypk_loader_next(loader, &b, YPK_NO_STREAM, &error) == YPK_OK) {
            record_batch(&t, &b, &o, ypk_loader_batches_per_epoch(loader));
            ypk_batch_release(&b, YPK_NO_STREAM);
            loader_aim(loader, (uint32_t)(tiny_random(&random) % 6), (uint32_t)(tiny_random(&random) % 12));
            ypk_loader_get_stats(loader, &stats);
            cr_assert(o.workers == 0 || stats.workers == o.workers);
            cr_assert(o.prefetch == 0 || stats.slots == o.prefetch + 2);
            cr_assert(o.memory_limit == 0 || memory_of(&stats) <= o.memory_limit);
        }
        ypk_loader_destroy(&loader);
        assert_same(reference(), &t, "workers and slots that come and go");
    }
}

/* Takes batches until there are as many; tests/run sets the limit. Said again and again, since the automatic mode looks
 * for itself every half a second, on a slow machine in the middle of this. */
static ypk_loader_stats aim_until(ypk_loader *loader, uint32_t workers, uint32_t slots) {
    ypk_loader_stats stats;
    ypk_error error;
    do {
        ypk_batch b;
        loader_aim(loader, workers, slots);
        cr_assert_eq(ypk_loader_next(loader, &b, YPK_NO_STREAM, &error), YPK_OK);
        ypk_batch_release(&b, YPK_NO_STREAM);
        ypk_loader_get_stats(loader, &stats);
    } while (stats.workers != workers || stats.slots != slots);
    return stats;
}

Test(loader, what_is_parked_gives_its_memory_back_and_can_be_had_again) {
    ypk_loader_options o = small_options();
    o.epochs = o.close_mosaic = 0;
    o.workers = 0;
    ypk_loader *loader = make_loader(&o);
    ypk_loader_stats before, few, many, again;
    ypk_loader_get_stats(loader, &before);
    few = aim_until(loader, 1, 3);
    cr_assert_eq(few.scratch_bytes, before.scratch_bytes / before.workers);
    cr_assert_eq(few.slot_bytes, before.slot_bytes / before.slots * 3);
    many = aim_until(loader, before.workers + 1, 8);
    cr_assert_eq(many.slot_bytes, before.slot_bytes / before.slots * 8);
    cr_assert_gt(many.window_pictures, before.window_pictures);
    again = aim_until(loader, 1, 3);
    cr_assert_eq(again.scratch_bytes, few.scratch_bytes);
    cr_assert_geq(again.window_pictures, many.window_pictures, "the window stays");
    loader_aim(loader, 2, 4);
    ypk_loader_destroy(&loader);
}

static rlim_t address_space(void) {
    unsigned long pages = 0;
    FILE *f = fopen("/proc/self/statm", "r");
    cr_assert(f && fscanf(f, "%lu", &pages) == 1);
    fclose(f);
    return (rlim_t)pages * (rlim_t)sysconf(_SC_PAGESIZE);
}

Test(loader, an_addition_that_fails_is_not_made) {
#if defined(__SANITIZE_ADDRESS__)
    cr_skip("a sanitizer needs its own address space");
#endif
    ypk_loader_options o = small_options();
    ypk_loader_stats before, stats;
    ypk_batch b;
    ypk_error error;
    o.epochs = o.close_mosaic = 0;
    o.image_size = 640; /* a slot is 29 MB */
    o.workers = 1;
    ypk_loader *loader = make_loader(&o);
    before = aim_until(loader, 1, 1 + (2 + GLOBAL_BATCH - 1) / GLOBAL_BATCH + 2);
    struct rlimit wide, tight;
    cr_assert_eq(getrlimit(RLIMIT_AS, &wide), 0);
    tight = (struct rlimit){address_space() + (16 << 20), wide.rlim_max};
    cr_assert_eq(setrlimit(RLIMIT_AS, &tight), 0);
    loader_aim(loader, 1, before.slots + 2);
    for (int i = 0; i < 8; i++) {
        cr_assert_eq(ypk_loader_next(loader, &b, YPK_NO_STREAM, &error), YPK_OK, "%s", error.message);
        ypk_batch_release(&b, YPK_NO_STREAM);
    }
    ypk_loader_get_stats(loader, &stats);
    cr_assert_eq(stats.slots, before.slots);
    cr_assert_eq(setrlimit(RLIMIT_AS, &wide), 0);
    aim_until(loader, 1, before.slots + 2);
    ypk_loader_destroy(&loader);
}

/* With mmap, raw planes that have the size wanted are used where they lie; with pread everything is copied. */
Test(loader, same_bytes_mapped_and_read) {
    static struct trace mapped, copied;
    ypk_loader_options o = small_options();
    ypk_dataset_options reading = {.size = sizeof reading, .io = YPK_IO_PREAD};
    ypk_error error;
    o.image_size = 96;
    run_all(&mapped, &o);
    ypk_dataset_close(&dataset);
    cr_assert_eq(ypk_dataset_open(&dataset, pack.path, &reading, &error), YPK_OK, "%s", error.message);
    run_all(&copied, &o);
    assert_same(&mapped, &copied, "mmap and pread");
}

Test(loader, same_bytes_with_tight_memory) {
    static struct trace t;
    ypk_loader_options o = small_options();
    ypk_loader *loader = NULL;
    ypk_error error;
    o.memory_limit = 1;
    cr_assert_eq(ypk_loader_create(&loader, dataset, &o, &error), YPK_E_ARGUMENT);
    const char *smallest = strstr(error.message, "options is "), *exact = strstr(error.message, " MB (");
    cr_assert(smallest && exact, "%s", error.message);
    uint64_t rounded = strtoull(smallest + strlen("options is "), NULL, 10) * 1000000;
    o.memory_limit = strtoull(exact + strlen(" MB ("), NULL, 10);
    cr_assert(rounded >= o.memory_limit && rounded - o.memory_limit < 1000000, "as it is said it must work");
    run_all(&t, &o);
    assert_same(reference(), &t, "tight memory");
    cr_assert_gt(t.decodes, reference()->decodes, "a smaller window costs decodes (%g)", t.decodes);
}

/* A whole batch and a rest: most lanes miss every second batch, so partners lie twice as far back. */
Test(loader, same_bytes_when_a_partial_batch_leaves_lanes_empty) {
    static struct trace one, many;
    ypk_loader_options o = small_options();
    o.batch = 48;
    o.epochs = 6;
    o.last_batch = YPK_LAST_PARTIAL;
    o.workers = 1;
    o.prefetch = 1;
    run_all(&one, &o);
    cr_assert_eq(one.rows, 6 * SAMPLES);
    o.workers = 5;
    o.prefetch = 8;
    run_all(&many, &o);
    assert_same(&one, &many, "partial batches");
}

Test(loader, seek_goes_to_a_batch) {
    ypk_loader_options o = small_options();
    ypk_loader *loader = make_loader(&o);
    ypk_batch b;
    ypk_error error;
    cr_assert_eq(ypk_loader_batches_per_epoch(loader), 5);
    for (uint64_t epoch = EPOCHS; epoch-- > 0;)
        for (uint64_t index = 5; index-- > 0;) {
            static struct trace t;
            cr_assert_eq(ypk_loader_seek(loader, epoch, index, &error), YPK_OK, "%s", error.message);
            cr_assert_eq(ypk_loader_next(loader, &b, YPK_NO_STREAM, &error), YPK_OK, "%s", error.message);
            cr_assert(b.epoch == epoch && b.index == index);
            record_batch(&t, &b, &o, 5);
            cr_assert_eq(ypk_loader_seek(loader, 0, 0, &error), YPK_E_ARGUMENT, "a batch is held");
            ypk_batch_release(&b, YPK_NO_STREAM);
            uint64_t first = (epoch * 5 + index) * GLOBAL_BATCH;
            for (uint64_t i = first; i < first + GLOBAL_BATCH; i++)
                cr_assert_eq(t.hash[i], reference()->hash[i]);
        }
    cr_assert_eq(ypk_loader_seek(loader, EPOCHS, 0, &error), YPK_OK);
    cr_assert_eq(ypk_loader_next(loader, &b, YPK_NO_STREAM, &error), YPK_END);
    cr_assert_eq(ypk_loader_seek(loader, EPOCHS, 1, &error), YPK_E_ARGUMENT);
    cr_assert_eq(ypk_loader_seek(loader, EPOCHS + 9, 0, &error), YPK_E_ARGUMENT);
    cr_assert(strstr(error.message, "epochs, counted from 0"), "%s", error.message);
    cr_assert_eq(ypk_loader_seek(loader, 0, 5, &error), YPK_E_ARGUMENT);
    cr_assert(strstr(error.message, "an epoch has 5"), "%s", error.message);
    cr_assert_eq(ypk_loader_seek(loader, UINT64_MAX, 0, &error), YPK_E_ARGUMENT);
    cr_assert_eq(ypk_loader_seek(NULL, 0, 0, &error), YPK_E_ARGUMENT);
    ypk_loader_destroy(&loader);
}

Test(loader, a_batch_outlives_its_loader) {
    ypk_loader_options o = small_options();
    ypk_loader *loader = make_loader(&o);
    ypk_batch first, second;
    ypk_error error;
    cr_assert_eq(ypk_loader_next(loader, &first, YPK_NO_STREAM, &error), YPK_OK);
    cr_assert_eq(ypk_loader_next(loader, &second, YPK_NO_STREAM, &error), YPK_OK);
    ypk_loader_destroy(&loader);
    for (uint32_t row = 0; row < GLOBAL_BATCH; row++) {
        cr_assert_eq(hash_row(&first, row), reference()->hash[row]);
        cr_assert_eq(hash_row(&second, row), reference()->hash[GLOBAL_BATCH + row]);
    }
    ypk_batch_release(&first, YPK_NO_STREAM);
    ypk_batch_release(&second, YPK_NO_STREAM);
}

Test(loader, same_bytes_after_restore) {
    ypk_loader_options o = small_options();
    ypk_loader *first = make_loader(&o);
    ypk_error error;
    ypk_batch b;
    char state[YPK_STATE_BYTES];
    for (int at = 0; ypk_loader_next(first, &b, YPK_NO_STREAM, &error) == YPK_OK; at++) {
        ypk_batch_release(&b, YPK_NO_STREAM);
        if (at % 7 != 3)
            continue;
        cr_assert_eq(ypk_loader_state(first, state, sizeof state, &error), YPK_OK);
        static struct trace t;
        memset(&t, 0, sizeof t);
        ypk_loader *second = make_loader(&o);
        cr_assert_eq(ypk_loader_restore(second, state, &error), YPK_OK, "%s", error.message);
        while (ypk_loader_next(second, &b, YPK_NO_STREAM, &error) == YPK_OK) {
            record_batch(&t, &b, &o, ypk_loader_batches_per_epoch(second));
            ypk_batch_release(&b, YPK_NO_STREAM);
        }
        ypk_loader_destroy(&second);
        cr_assert_eq(t.rows, reference()->rows - (uint64_t)(at + 1) * GLOBAL_BATCH);
        for (size_t i = 0; i < ROW_LIMIT; i++)
            cr_assert(t.hash[i] == 0 || t.hash[i] == reference()->hash[i], "after batch %d: position %zu differs", at,
                      i);
    }
    ypk_loader_destroy(&first);
}

Test(loader, same_bytes_and_one_decode_for_any_world) {
    static const uint32_t worlds[] = {1, 2, 3, 4, 6};
    for (size_t i = 0; i < sizeof worlds / sizeof worlds[0]; i++) {
        static struct trace t;
        memset(&t, 0, sizeof t);
        for (uint32_t rank = 0; rank < worlds[i]; rank++) {
            ypk_loader_options o = small_options();
            o.world = worlds[i];
            o.rank = rank;
            o.batch = GLOBAL_BATCH / worlds[i];
            run_all(&t, &o);
        }
        assert_same(reference(), &t, "world");
        /* What the first samples need of the epoch before is decoded once more than there are samples. */
        double extra = t.decodes - (double)t.rows;
        cr_assert(extra >= 0 && extra <= 8 * GLOBAL_BATCH, "world %u: %g decodes of %lu samples", worlds[i], t.decodes,
                  (unsigned long)t.rows);
    }
}

Test(loader, training_covers_every_sample_each_epoch) {
    const struct trace *t = reference();
    uint64_t span = (SAMPLES + GLOBAL_BATCH - 1) / GLOBAL_BATCH * GLOBAL_BATCH;
    for (uint64_t epoch = 0; epoch < EPOCHS; epoch++) {
        int seen[SAMPLES] = {0};
        for (uint64_t g = 0; g < span; g++)
            seen[t->sample[epoch * span + g]]++;
        for (int s = 0; s < SAMPLES; s++)
            cr_assert(seen[s] >= 1 && seen[s] <= 2, "sample %d is there %d times", s, seen[s]);
    }
    int changed = 0;
    for (uint64_t g = 0; g < span; g++)
        changed += t->sample[g] != t->sample[span + g];
    cr_assert_gt(changed, SAMPLES / 2, "another order each epoch");
}

Test(loader, evaluation_shows_every_sample_exactly_once) {
    static const struct {
        uint32_t batch, world;
        int rect;
    } forms[] = {{12, 1, 0}, {5, 1, 1}, {4, 3, 0}, {53, 1, 0}, {64, 1, 0}};
    for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++) {
        int seen[SAMPLES] = {0};
        for (uint32_t rank = 0; rank < forms[i].world; rank++) {
            ypk_loader_options o = small_options();
            o.mode = YPK_EVAL;
            o.last_batch = YPK_LAST_AUTO;
            o.epochs = 1;
            o.batch = forms[i].batch;
            o.world = forms[i].world;
            o.rank = rank;
            o.rect = forms[i].rect;
            ypk_loader *loader = make_loader(&o);
            ypk_batch b;
            ypk_error error;
            while (ypk_loader_next(loader, &b, YPK_NO_STREAM, &error) == YPK_OK) {
                for (uint32_t row = 0; row < b.sample_count; row++)
                    if (b.samples[row].valid)
                        seen[b.samples[row].index]++;
                ypk_batch_release(&b, YPK_NO_STREAM);
            }
            ypk_loader_destroy(&loader);
        }
        for (int s = 0; s < SAMPLES; s++)
            cr_assert_eq(seen[s], 1, "form %zu: sample %d was shown %d times", i, s, seen[s]);
    }
}

Test(loader, letterbox_puts_the_picture_where_it_says) {
    ypk_loader_options o = small_options();
    o.mode = YPK_EVAL;
    o.last_batch = YPK_LAST_AUTO;
    o.epochs = 1;
    o.channels = YPK_CHANNELS_TWO;
    ypk_loader *loader = make_loader(&o);
    ypk_batch b;
    ypk_error error;
    cr_assert_eq(ypk_loader_next(loader, &b, YPK_NO_STREAM, &error), YPK_OK, "%s", error.message);
    cr_assert_eq(b.image_count, 2);
    cr_assert_eq(b.images[0].shape[1], 3);
    cr_assert_eq(b.images[1].shape[1], 1);
    for (uint32_t row = 0; row < b.sample_count; row++) {
        const ypk_batch_sample *s = &b.samples[row];
        const uint8_t *rgb = (const uint8_t *)b.images[0].data + (int64_t)row * b.images[0].strides[0];
        uint32_t x = (uint32_t)s->pad_x, y = (uint32_t)s->pad_y;
        cr_assert_eq(s->resized_width == SIDE || s->resized_height == SIDE, 1);
        if (x > 0)
            cr_assert_eq(rgb[(size_t)y * SIDE + x - 1], 114);
        if (y > 0)
            cr_assert_eq(rgb[(size_t)(y - 1) * SIDE + x], 114);
    }
    for (uint32_t i = 0; i < b.label_count; i++)
        for (int k = 0; k < 4; k++)
            cr_assert(b.label_box[4 * i + (uint32_t)k] >= 0 && b.label_box[4 * i + (uint32_t)k] <= 1);
    ypk_batch_release(&b, YPK_NO_STREAM);
    ypk_loader_destroy(&loader);
}

Test(loader, layouts_and_numbers_hold_the_same_picture) {
    static const int dtypes[] = {YPK_U8, YPK_F16, YPK_BF16, YPK_F32};
    ypk_loader_options o = small_options();
    ypk_error error;
    ypk_batch plain, other;
    ypk_loader *a = make_loader(&o);
    cr_assert_eq(ypk_loader_next(a, &plain, YPK_NO_STREAM, &error), YPK_OK);
    for (int layout = YPK_NCHW; layout <= YPK_NHWC; layout++)
        for (size_t d = 0; d < 4; d++) {
            o.layout = layout;
            o.dtype = dtypes[d];
            ypk_loader *l = make_loader(&o);
            cr_assert_eq(ypk_loader_next(l, &other, YPK_NO_STREAM, &error), YPK_OK);
            const ypk_tensor *p = &plain.images[0], *t = &other.images[0];
            for (int64_t i = 0; i < 2 * 6 * SIDE * SIDE; i += 7) {
                int64_t n = i / (6 * SIDE * SIDE), c = i / (SIDE * SIDE) % 6, y = i / SIDE % SIDE, x = i % SIDE;
                int64_t at = layout == YPK_NCHW ? n * t->strides[0] + c * t->strides[1] + y * t->strides[2] + x
                                                : n * t->strides[0] + y * t->strides[1] + x * t->strides[2] + c;
                uint8_t level = ((const uint8_t *)p->data)[i];
                if (o.dtype == YPK_U8)
                    cr_assert_eq(((const uint8_t *)t->data)[at], level);
                if (o.dtype == YPK_F32)
                    cr_assert_eq(((const float *)t->data)[at], (float)level / 255.0f);
                if (o.dtype == YPK_BF16) {
                    uint32_t bits = (uint32_t)((const uint16_t *)t->data)[at] << 16;
                    float value;
                    memcpy(&value, &bits, sizeof value);
                    cr_assert_float_eq(value, (float)level / 255.0f, 1.0f / 256);
                }
            }
            ypk_batch_release(&other, YPK_NO_STREAM);
            ypk_loader_destroy(&l);
        }
    ypk_batch_release(&plain, YPK_NO_STREAM);
    ypk_loader_destroy(&a);
}

Test(loader, holding_every_batch_is_an_error_and_no_hang) {
    ypk_loader_options o = small_options();
    ypk_batch held[16];
    ypk_error error;
    o.prefetch = 1;
    ypk_loader *loader = make_loader(&o);
    ypk_loader_stats stats;
    ypk_loader_get_stats(loader, &stats);
    for (uint32_t i = 0; i < stats.slots; i++)
        cr_assert_eq(ypk_loader_next(loader, &held[i], YPK_NO_STREAM, &error), YPK_OK);
    cr_assert_eq(ypk_loader_next(loader, &held[15], YPK_NO_STREAM, &error), YPK_E_SLOTS_HELD);
    ypk_batch_release(&held[0], YPK_NO_STREAM);
    cr_assert_eq(ypk_loader_next(loader, &held[0], YPK_NO_STREAM, &error), YPK_OK);
    for (uint32_t i = 0; i < stats.slots; i++)
        ypk_batch_release(&held[i], YPK_NO_STREAM);
    ypk_loader_destroy(&loader);
}

Test(loader, a_child_of_fork_is_told) {
    ypk_loader_options o = small_options();
    ypk_loader *loader = make_loader(&o);
    ypk_batch held;
    ypk_error failure;
    cr_assert_eq(ypk_loader_next(loader, &held, YPK_NO_STREAM, &failure), YPK_OK);
    pid_t child = fork();
    if (child == 0) {
        ypk_batch b;
        ypk_error error;
        ypk_loader_stats stats;
        char state[YPK_STATE_BYTES];
        bool told =
            ypk_loader_next(loader, &b, YPK_NO_STREAM, &error) == YPK_E_ARGUMENT && strstr(error.message, "fork");
        told = told && ypk_loader_state(loader, state, sizeof state, &error) == YPK_E_ARGUMENT;
        told = told && ypk_loader_seek(loader, 0, 0, &error) == YPK_E_ARGUMENT;
        void *tensor;
        told = told && ypk_batch_dlpack(&held, 0, &tensor, &error) == YPK_E_ARGUMENT && !tensor;
        ypk_loader_get_stats(loader, &stats);
        ypk_batch_release(&held, YPK_NO_STREAM);
        ypk_loader_destroy(&loader);
        _exit(told && !loader && stats.workers == 2 ? 0 : 1);
    }
    int status;
    cr_assert_eq(waitpid(child, &status, 0), child);
    cr_assert(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    ypk_batch_release(&held, YPK_NO_STREAM);
    ypk_loader_destroy(&loader);
}

Test(loader, a_bad_sample_fails_by_name_or_is_replaced) {
    ypk_loader_options o = small_options();
    ypk_error error;
    ypk_batch b;
    cr_assert_gt(reference()->rows, 0); /* made while the pack is whole */
    tiny_damage(&pack, 7);
    tiny_damage(&pack, 20);
    ypk_loader *loader = make_loader(&o);
    int rc;
    while ((rc = ypk_loader_next(loader, &b, YPK_NO_STREAM, &error)) == YPK_OK)
        ypk_batch_release(&b, YPK_NO_STREAM);
    cr_assert_eq(rc, YPK_E_CORRUPT);
    cr_assert(strstr(error.message, "images/000007.jpg") || strstr(error.message, "images/000020.jpg"), "%s",
              error.message);
    cr_assert_eq(ypk_loader_next(loader, &b, YPK_NO_STREAM, &error), YPK_E_CORRUPT, "it stays at the fault");
    ypk_loader_destroy(&loader);

    static struct trace t, again;
    o.bad_sample = YPK_BAD_SUBSTITUTE;
    run_all(&t, &o);
    o.workers = 5;
    run_all(&again, &o);
    assert_same(&t, &again, "substitutes");
    for (uint64_t i = 0; i < ROW_LIMIT && i < t.rows; i++) {
        cr_assert_neq(t.sample[i], 7);
        cr_assert_neq(t.sample[i], 20);
        if (reference()->sample[i] != 7 && reference()->sample[i] != 20)
            cr_assert_eq(t.sample[i], reference()->sample[i], "the order of the others is unchanged");
    }
}

Test(loader, a_state_of_something_else_is_refused_by_name) {
    ypk_loader_options o = small_options();
    ypk_error error;
    char state[YPK_STATE_BYTES];
    ypk_loader *a = make_loader(&o);
    cr_assert_eq(ypk_loader_state(a, state, sizeof state, &error), YPK_OK);
    o.seed = 8;
    ypk_loader *b = make_loader(&o);
    cr_assert_eq(ypk_loader_restore(b, state, &error), YPK_E_ARGUMENT);
    cr_assert(strstr(error.message, "seed"), "%s", error.message);
    cr_assert_eq(ypk_loader_restore(b, "rubbish", &error), YPK_E_CORRUPT);
    ypk_loader_destroy(&b);
    o = small_options();
    o.fast = 1;
    b = make_loader(&o);
    cr_assert_eq(ypk_loader_restore(b, state, &error), YPK_E_ARGUMENT);
    cr_assert(strstr(error.message, "fast"), "%s", error.message);
    ypk_loader_destroy(&b);
    ypk_loader_destroy(&a);
}

Test(loader, wrong_options_are_named) {
    ypk_loader *loader = NULL;
    ypk_error error;
#define REFUSED(field, value, word)                                                                                    \
    do {                                                                                                               \
        ypk_loader_options o = small_options();                                                                        \
        o.field = value;                                                                                               \
        cr_assert_eq(ypk_loader_create(&loader, dataset, &o, &error), YPK_E_ARGUMENT, #field);                         \
        cr_assert(strstr(error.message, word), "%s: %s", #field, error.message);                                       \
        cr_assert_null(loader);                                                                                        \
    } while (0)
    REFUSED(size, 8, "size");
    REFUSED(batch, 0, "batch");
    REFUSED(rank, 1, "rank");
    REFUSED(world, 0, "world");
    REFUSED(dtype, 9, "dtype");
    REFUSED(layout, -1, "layout");
    REFUSED(channels, 17, "channels");
    REFUSED(image_size, 100, "image_size");
    REFUSED(mosaic, 1.5, "mosaic");
    REFUSED(fliplr, -0.1, "fliplr");
    REFUSED(deviation[2], 0, "deviation");
    REFUSED(deviation[1], INFINITY, "deviation");
    REFUSED(deviation[0], NAN, "deviation");
    REFUSED(mean[3], NAN, "mean[3]");
    REFUSED(mean[0], -INFINITY, "mean[0]");
    REFUSED(workers, 5000, "workers");
#undef REFUSED
}

static const char *verdict(ypk_loader_stats s, struct loader_wait wait) {
    loader_judge(&s, &wait);
    return s.verdict;
}

/* The time that the figures are of decides: a tool's are those of its measurement, without the warming up. */
Test(loader, the_verdict_is_that_of_the_figures) {
    ypk_loader_stats s = {.seconds = 10, .decode_seconds = 5, .warp_seconds = 1};
    struct loader_wait wait = {.host = 0.1};
    cr_assert_str_eq(verdict(s, wait), "consumer-bound");
    wait.host = 3;
    cr_assert_str_eq(verdict(s, wait), "decode-bound");
    s.resize_seconds = 2;
    s.colour_seconds = s.write_seconds = 1.5;
    cr_assert_str_eq(verdict(s, wait), "augment-bound");
    s.read_seconds = 7;
    cr_assert_str_eq(verdict(s, wait), "storage-bound");
    wait.host_late = 1.6;
    cr_assert_str_eq(verdict(s, wait), "transfer-bound");
    /* streams that were seen waiting have the last word */
    wait = (struct loader_wait){.host = 5, .host_late = 5, .stream = 0.1, .stream_late = 0.1, .stalls = 9};
    cr_assert_str_eq(verdict(s, wait), "consumer-bound");
    wait.stream = 3;
    cr_assert_str_eq(verdict(s, wait), "storage-bound");
    wait.stream_late = 2;
    cr_assert_str_eq(verdict(s, wait), "transfer-bound");
}

Test(loader, copies_that_were_not_waited_for_were_overlapped) {
    ypk_loader_stats s = {.seconds = 10, .copy_seconds = 4};
    loader_judge(&s, &(struct loader_wait){.host = 3, .host_late = 1});
    cr_assert_float_eq(s.copy_overlap, 0.75, 1e-12);
    loader_judge(&s, &(struct loader_wait){.host = 8, .host_late = 6});
    cr_assert_eq(s.copy_overlap, 0);
    s.copy_seconds = 0;
    loader_judge(&s, &(struct loader_wait){.host = 0});
    cr_assert_eq(s.copy_overlap, 0);
}

Test(loader, dlpack_keeps_the_memory_until_both_let_go) {
    ypk_loader_options o = small_options();
    ypk_error error;
    ypk_batch b, more;
    void *exported;
    o.prefetch = 1;
    ypk_loader *loader = make_loader(&o);
    cr_assert_eq(ypk_loader_next(loader, &b, YPK_NO_STREAM, &error), YPK_OK);
    uint64_t hash = hash_row(&b, 0);
    cr_assert_eq(ypk_batch_dlpack(&b, 0, &exported, &error), YPK_OK, "%s", error.message);
    cr_assert_eq(ypk_batch_dlpack(&b, 1, &more.slot, &error), YPK_E_ARGUMENT);
    struct managed *m = exported;
    cr_assert_eq(m->device[0], 1);
    cr_assert_eq(m->dims, 4);
    cr_assert_eq(m->shape[1], 6);
    cr_assert_eq(m->bits, 8);
    ypk_batch seen = b;
    ypk_batch_release(&b, YPK_NO_STREAM);
    for (int i = 0; i < 8; i++) { /* the others go round while this one is kept */
        cr_assert_eq(ypk_loader_next(loader, &more, YPK_NO_STREAM, &error), YPK_OK);
        cr_assert_neq(more.images[0].data, m->data);
        ypk_batch_release(&more, YPK_NO_STREAM);
    }
    cr_assert_eq(hash_row(&seen, 0), hash, "exported memory was written to");
    m->deleter(m);
    ypk_loader_destroy(&loader);
}

Test(loader, options_of_a_later_header_are_taken_unless_it_uses_more) {
    struct {
        ypk_loader_options known;
        uint64_t later;
    } o;
    ypk_loader *loader;
    ypk_error error;
    memset(&o, 0xff, sizeof o);
    ypk_loader_options_init(&o.known, sizeof o);
    o.known.image_size = SIDE;
    cr_assert_eq(ypk_loader_create(&loader, dataset, &o.known, &error), YPK_OK, "%s", error.message);
    ypk_loader_destroy(&loader);
    o.later = 1;
    cr_assert_eq(ypk_loader_create(&loader, dataset, &o.known, &error), YPK_E_ARGUMENT);
    cr_assert(strstr(error.message, "does not know"), "%s", error.message);
    ypk_loader_options_init(&o.known, sizeof o.known - 1);
    cr_assert_eq(ypk_loader_create(&loader, dataset, &o.known, &error), YPK_E_ARGUMENT);
    cr_assert(strstr(error.message, "size"), "%s", error.message);
}

Test(loader, partners_from_the_whole_set_take_no_window) {
    ypk_loader_options o = small_options();
    ypk_loader_stats s;
    o.workers = 2;
    o.mosaic_pool_all = 1;
    ypk_loader *loader = make_loader(&o);
    ypk_loader_get_stats(loader, &s);
    ypk_loader_destroy(&loader);
    cr_assert_eq(s.window_pictures, 2 * 2 * 4, "%u, where two workers use four each for both layers",
                 s.window_pictures);
}
