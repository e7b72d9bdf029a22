/* Batches that went to a device are the batches that stay in host memory. */
#include "device_maths.h"
#include "loader.h"

#include "managed_tensor.h"
#include "sim/device_sim.h"
#include "tiny_loader.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static int expected_type = YPK_DEVICE_CPU;

static void setup(void) {
    open_pack(29, 20, TASK_DETECT);
}

TestSuite(transfer, .init = setup, .fini = close_pack);

static ypk_loader_options small_options(void) {
    ypk_loader_options o;
    ypk_loader_options_init(&o, sizeof o);
    o.image_size = 64;
    o.batch = 6;
    o.epochs = 2;
    o.close_mosaic = 1;
    o.seed = 7;
    o.workers = 2;
    o.multi_scale = 0.5;
    return o;
}

static void assert_same_tensor(const ypk_tensor *a, const ypk_tensor *b) {
    static const size_t number[] = {1, 2, 2, 4};
    cr_assert(a->dtype == b->dtype && a->dims == b->dims && b->device_type == expected_type);
    cr_assert_eq(memcmp(a->shape, b->shape, sizeof a->shape), 0);
    cr_assert_eq(memcmp(a->strides, b->strides, sizeof a->strides), 0);
    size_t bytes = (size_t)(a->shape[0] * a->strides[0]) * number[a->dtype];
    cr_assert_eq(memcmp(a->data, b->data, bytes), 0);
}

static void assert_same_batch(const ypk_batch *a, const ypk_batch *b) {
    cr_assert(a->epoch == b->epoch && a->index == b->index && a->image_count == b->image_count);
    for (int i = 0; i < a->image_count; i++)
        assert_same_tensor(&a->images[i], &b->images[i]);
    cr_assert(a->sample_count == b->sample_count && a->valid_count == b->valid_count);
    cr_assert_eq(memcmp(a->samples, b->samples, a->sample_count * sizeof *a->samples), 0);
    cr_assert_eq(a->label_count, b->label_count);
    cr_assert_eq(memcmp(a->label_batch, b->label_batch, a->label_count * sizeof(float)), 0);
    cr_assert_eq(memcmp(a->label_class, b->label_class, a->label_count * sizeof(float)), 0);
    cr_assert_eq(memcmp(a->label_box, b->label_box, a->label_count * 4 * sizeof(float)), 0);
    cr_assert(a->points_per_label == b->points_per_label && a->point_dims == b->point_dims);
    cr_assert(!a->label_points == !b->label_points && !a->label_rotation == !b->label_rotation);
    size_t numbers = (size_t)a->label_count * a->points_per_label * a->point_dims;
    cr_assert(!a->label_points || memcmp(a->label_points, b->label_points, numbers * sizeof(float)) == 0);
    cr_assert(!a->label_rotation || memcmp(a->label_rotation, b->label_rotation, a->label_count * sizeof(float)) == 0);
}

/* To the end, step by step; returns how many. */
static int assert_same_run(ypk_loader *here, ypk_loader *there, void *stream) {
    ypk_batch a, b;
    ypk_error error;
    for (int count = 0;; count++) {
        int rc = ypk_loader_next(here, &a, YPK_NO_STREAM, &error);
        cr_assert_eq(ypk_loader_next(there, &b, stream, &error), rc, "%s", error.message);
        if (rc == YPK_END)
            return count;
        assert_same_batch(&a, &b);
        ypk_batch_release(&a, YPK_NO_STREAM);
        ypk_batch_release(&b, stream);
        cr_assert(b.slot == NULL);
    }
}

Test(transfer, same_bytes_for_every_type_layout_and_channels) {
    ypk_loader_options o = small_options();
    for (int i = 0; i < 4; i++) {
        o.mean[i] = 0.1f * (float)(i + 1);
        o.deviation[i] = 0.5f + 0.1f * (float)i;
    }
    o.bgr = 0.5;
    for (o.dtype = YPK_U8; o.dtype <= YPK_F32; o.dtype++)
        for (o.layout = YPK_NCHW; o.layout <= YPK_NHWC; o.layout++)
            for (o.channels = YPK_CHANNELS_RGB; o.channels <= YPK_CHANNELS_TWO; o.channels++) {
                o.device = NULL;
                ypk_loader *here = make_loader(&o);
                o.device = "host";
                ypk_loader *there = make_loader(&o);
                cr_assert_eq(assert_same_run(here, there, o.layout ? NULL : YPK_NO_STREAM), 10);
                ypk_loader_destroy(&here);
                ypk_loader_destroy(&there);
            }
}

Test(transfer, key_points_and_rotations_go_along) {
    static const uint8_t tasks[] = {TASK_POSE, TASK_OBB};
    for (size_t i = 0; i < sizeof tasks; i++) {
        ypk_loader_options o = small_options();
        close_pack();
        open_pack(29, 20, tasks[i]);
        ypk_loader *here = make_loader(&o);
        o.device = "host";
        ypk_loader *there = make_loader(&o);
        cr_assert_eq(assert_same_run(here, there, NULL), 10);
        ypk_loader_destroy(&here);
        ypk_loader_destroy(&there);
    }
}

/* ---- on a simulated device --------------------------------------------------------------------------------------- */

static ypk_loader *make_on_sim(const ypk_loader_options *o, int ordinal) {
    ypk_loader *loader;
    struct error error;
    cr_assert_eq(loader_create_on(&loader, dataset, o, &device_sim, ordinal, &error), 0, "%s", error.message);
    expected_type = YPK_DEVICE_CUDA; /* as which it goes */
    return loader;
}

static void begin_slow(void) {
    sim_begin(&(struct sim_options){.seed = 3, .delay_us = 2000, .delay_chance = 2});
}

static void assert_nothing_left(void) {
    cr_assert_eq(sim_live(), 0, "%lu things are left", (unsigned long)sim_live());
    cr_assert_eq(sim_violations(), 0);
}

Test(transfer, same_bytes_from_slow_streams) {
    ypk_loader_options o = small_options();
    o.epochs = 1;
    o.close_mosaic = 0;
    sim_begin(&(struct sim_options){.seed = 2, .delay_us = 300, .delay_chance = 8});
    for (o.dtype = YPK_U8; o.dtype <= YPK_F32; o.dtype++)
        for (o.layout = YPK_NCHW; o.layout <= YPK_NHWC; o.layout++)
            for (o.channels = YPK_CHANNELS_RGB; o.channels <= YPK_CHANNELS_TWO; o.channels++) {
                ypk_loader *here = make_loader(&o), *there = make_on_sim(&o, 1);
                cr_assert_eq(assert_same_run(here, there, YPK_NO_STREAM), 5);
                ypk_loader_destroy(&here);
                ypk_loader_destroy(&there);
            }
    assert_nothing_left();
}

/* Pictures of many sizes, a last batch that is not full, ranks whose last batch is padded, and no labels at all. */
Test(transfer, same_batches_of_every_shape) {
    ypk_loader_options o = small_options();
    o.mode = YPK_EVAL;
    o.batch = 4;
    o.dtype = YPK_F16;
    o.channels = YPK_CHANNELS_TWO;
    begin_slow();
    for (o.rect = 0; o.rect <= 1; o.rect++)
        for (o.world = 1; o.world <= 3; o.world++)
            for (o.rank = 0; o.rank < o.world; o.rank++) {
                ypk_loader *here = make_loader(&o), *there = make_on_sim(&o, 0);
                cr_assert_geq(assert_same_run(here, there, YPK_NO_STREAM), 6);
                ypk_loader_destroy(&here);
                ypk_loader_destroy(&there);
            }
    o.world = 1;
    o.rank = 0;
    close_pack();
    open_pack(1, 1, TASK_DETECT);
    ypk_loader *here = make_loader(&o), *there = make_on_sim(&o, 0);
    cr_assert_eq(assert_same_run(here, there, YPK_NO_STREAM), 2);
    ypk_loader_destroy(&here);
    ypk_loader_destroy(&there);
    assert_nothing_left();
}

Test(transfer, holding_every_batch_names_them) {
    ypk_loader_options o = small_options();
    ypk_batch held[5] = {0};
    ypk_error error;
    begin_slow();
    o.device_slots = 3;
    ypk_loader *loader = make_on_sim(&o, 0);
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < 3; i++)
            cr_assert_eq(ypk_loader_next(loader, &held[i], NULL, &error), YPK_OK, "%s", error.message);
        cr_assert_eq(ypk_loader_next(loader, &held[3], NULL, &error), YPK_E_SLOTS_HELD);
        cr_assert(strstr(error.message, "all 3 batches") && strstr(error.message, "0, 1, 2"), "%s", error.message);
        for (int i = 0; i < 3; i++)
            ypk_batch_release(&held[i], NULL);
        cr_assert_eq(ypk_loader_seek(loader, 0, 0, &error), YPK_OK, "%s", error.message);
    }
    ypk_loader_destroy(&loader);
    assert_nothing_left();
}

Test(transfer, goes_on_from_a_state) {
    ypk_loader_options o = small_options();
    char state[YPK_STATE_BYTES];
    ypk_error error;
    ypk_batch b;
    begin_slow();
    ypk_loader *here = make_loader(&o), *there = make_on_sim(&o, 0);
    for (int i = 0; i < 3; i++) {
        cr_assert_eq(ypk_loader_next(there, &b, NULL, &error), YPK_OK, "%s", error.message);
        if (i == 1) {
            cr_assert_eq(ypk_loader_state(there, state, sizeof state, &error), YPK_OK);
            cr_assert_eq(ypk_loader_restore(there, state, &error), YPK_E_ARGUMENT, "a batch is held");
        }
        ypk_batch_release(&b, NULL);
    }
    cr_assert_eq(ypk_loader_restore(there, state, &error), YPK_OK, "%s", error.message);
    cr_assert_eq(ypk_loader_restore(here, state, &error), YPK_OK, "%s", error.message);
    cr_assert_eq(assert_same_run(here, there, YPK_NO_STREAM), 8);
    cr_assert_eq(ypk_loader_next(there, &b, NULL, &error), YPK_END, "the end stays");
    cr_assert_eq(ypk_loader_seek(there, 1, 4, &error), YPK_OK);
    cr_assert_eq(ypk_loader_seek(here, 1, 4, &error), YPK_OK);
    cr_assert_eq(assert_same_run(here, there, YPK_NO_STREAM), 1);
    ypk_loader_destroy(&here);
    ypk_loader_destroy(&there);
    assert_nothing_left();
}

Test(transfer, a_stream_that_is_captured_is_refused) {
    ypk_loader_options o = small_options();
    ypk_error error;
    ypk_batch b, other;
    sim_begin(&(struct sim_options){.seed = 1});
    ypk_loader *loader = make_on_sim(&o, 0);
    void *stream = sim_stream_create(0);
    sim_stream_capture(stream, true);
    cr_assert_eq(ypk_loader_next(loader, &b, stream, &error), YPK_E_ARGUMENT);
    cr_assert(strstr(error.message, "captured"), "%s", error.message);
    cr_assert_eq(ypk_loader_next(loader, &b, NULL, &error), YPK_OK, "%s", error.message);
    cr_assert_eq(b.index, 0);
    cr_assert_eq(ypk_batch_used_on(&b, stream, &error), YPK_E_ARGUMENT);
    ypk_batch_release(&b, stream);
    cr_assert(b.slot != NULL, "it is held as before");
    cr_assert_eq(ypk_loader_next(loader, &other, NULL, &error), YPK_E_ARGUMENT);
    cr_assert(strstr(error.message, "not released") && strstr(error.message, "captured"), "%s", error.message);
    cr_assert_eq(ypk_loader_next(loader, &other, NULL, &error), YPK_OK, "it is told once");
    sim_stream_capture(stream, false);
    ypk_batch_release(&b, stream);
    ypk_batch_release(&other, stream);
    ypk_loader_destroy(&loader);
    sim_stream_destroy(stream);
    assert_nothing_left();
}

Test(transfer, streams_that_use_a_batch_are_counted) {
    ypk_loader_options o = small_options();
    void *streams[8];
    ypk_error error;
    ypk_batch b;
    sim_begin(&(struct sim_options){.seed = 1});
    ypk_loader *loader = make_on_sim(&o, 0);
    for (int i = 0; i < 8; i++)
        streams[i] = sim_stream_create(0);
    for (int round = 0; round < 5; round++) {
        cr_assert_eq(ypk_loader_next(loader, &b, streams[0], &error), YPK_OK);
        for (int i = 0; i < 7; i++)
            cr_assert_eq(ypk_batch_used_on(&b, streams[i], &error), YPK_OK, "%s", error.message);
        cr_assert_eq(ypk_batch_used_on(&b, streams[7], &error), YPK_E_ARGUMENT);
        cr_assert(strstr(error.message, "7 streams"), "%s", error.message);
        ypk_batch_release(&b, streams[7]);
        cr_assert_eq(ypk_batch_used_on(&b, streams[0], &error), YPK_E_ARGUMENT, "it is released");
    }
    cr_assert_eq(ypk_loader_next(loader, &b, streams[0], &error), YPK_OK);
    cr_assert_eq(ypk_batch_used_on(&b, YPK_NO_STREAM, &error), YPK_E_ARGUMENT);
    ypk_batch_release(&b, YPK_NO_STREAM);
    ypk_loader_destroy(&loader);
    for (int i = 0; i < 8; i++)
        sim_stream_destroy(streams[i]);
    assert_nothing_left();
}

static void launch_nothing(void *arg, bool lost) {
    (void)arg, (void)lost;
}

Test(transfer, a_lost_device_is_said_at_once_and_for_ever) {
    ypk_loader_options o = small_options();
    ypk_batch held[2], b;
    ypk_error error;
    ypk_loader_stats stats;
    o.epochs = o.close_mosaic = 0; /* else the end might come before */
    sim_begin(&(struct sim_options){.seed = 1, .fail_at = 200, .fault = SIM_LOST});
    ypk_loader *loader = make_on_sim(&o, 0);
    int rc, count = 0;
    for (count = 0; (rc = ypk_loader_next(loader, &b, NULL, &error)) == YPK_OK; count++) {
        if (count < 2) {
            held[count] = b;
            continue;
        }
        sim_launch(0, NULL, launch_nothing, NULL);
        ypk_batch_release(&b, NULL);
    }
    cr_assert(count >= 2 && rc == YPK_E_DEVICE_LOST, "%d: %s", rc, error.message);
    cr_assert(strstr(error.message, "lost"), "%s", error.message);
    cr_assert_eq(ypk_loader_next(loader, &b, NULL, &error), YPK_E_DEVICE_LOST);
    cr_assert_eq(ypk_loader_next(loader, &b, YPK_NO_STREAM, &error), YPK_E_DEVICE_LOST);
    cr_assert_eq(ypk_loader_seek(loader, 0, 0, &error), YPK_E_DEVICE_LOST);
    ypk_loader_get_stats(loader, &stats);
    cr_assert_eq(ypk_batch_used_on(&held[0], NULL, &error), YPK_E_DEVICE_LOST);
    ypk_batch_release(&held[0], NULL);
    ypk_loader_destroy(&loader);
    ypk_batch_release(&held[1], NULL);
    assert_nothing_left();
}

/* On the average; a slow step is three times as long. */
static uint32_t copy_us;

static void work_for_a_while(void *arg, bool lost) {
    struct timespec t = {3 * copy_us / 1000000, (long)(3 * copy_us % 1000000) * 1000};
    (void)arg, (void)lost;
    nanosleep(&t, NULL);
}

static ypk_loader *make_with_slow_copies(void) {
    ypk_loader_options o = small_options();
    o.epochs = 0;
    o.close_mosaic = 0;
    o.batch = 1;
    o.prefetch = 4;
    sim_begin(&(struct sim_options){.seed = 1, .delay_us = 2 * copy_us, .delay_chance = 1});
    return make_on_sim(&o, 0);
}

/* 80 batches, with no step or a slow one. */
static ypk_loader_stats measure(ypk_loader *loader, bool slow_step, void *stream, struct loader_wait *wait) {
    ypk_loader_stats stats;
    ypk_error error;
    ypk_batch b;
    for (int i = 0; i < 80; i++) {
        cr_assert_eq(ypk_loader_next(loader, &b, stream, &error), YPK_OK, "%s", error.message);
        if (slow_step && stream == NULL)
            sim_launch(0, NULL, work_for_a_while, NULL);
        else if (slow_step)
            work_for_a_while(NULL, false);
        ypk_batch_release(&b, stream);
    }
    sim_finish(0, NULL);
    loader_get_stats(loader, &stats, wait);
    return stats;
}

static double waited(const struct loader_wait *wait, void *stream) {
    return stream == NULL ? wait->stream : wait->host;
}

/* Over all, and in each half of the time by the difference of what was waited. */
static bool copies_are_seen_to_bound(void *stream) {
    struct loader_wait wait, after;
    ypk_loader *loader = make_with_slow_copies();
    ypk_loader_stats s = measure(loader, false, stream, &wait);
    cr_assert_eq(s.stream_wait_seconds > 0, stream == NULL);
    cr_assert_gt(s.copy_bytes, 79 * 64 * 64 * 4);
    bool seen = strcmp(s.verdict, "transfer-bound") == 0 && s.copy_overlap < 0.5 && s.copy_seconds > 0.5 * s.seconds &&
                (stream == NULL ? s.stream_wait_seconds : s.wait_seconds) > 0.5 * s.seconds;
    double seconds = s.seconds;
    s = measure(loader, true, stream, &after);
    cr_assert_eq(after.stalls > wait.stalls, stream == NULL);
    seen = seen && waited(&after, stream) - waited(&wait, stream) < 0.2 * (s.seconds - seconds);
    ypk_loader_destroy(&loader);
    return seen;
}

static bool a_slow_step_is_seen_to_bound(void *stream) {
    struct loader_wait wait;
    ypk_loader *loader = make_with_slow_copies();
    ypk_loader_stats s = measure(loader, true, stream, &wait);
    ypk_loader_destroy(&loader);
    return s.copy_overlap > 0.8 && (stream == NULL ? s.stream_wait_seconds : s.wait_seconds) < 0.2 * s.seconds;
}

/* Copies and steps last as long as they are told to; making a batch takes what the machine takes, which is little
 * beside them if they are long enough: on one that is slow or busy, longer than at first. */
static void assert_is_seen(bool (*look)(void *stream), void *stream) {
    for (copy_us = 4000; !look(stream); copy_us *= 2)
        cr_assert_lt(copy_us, 200000, "not even with copies of %u us", copy_us);
    assert_nothing_left();
}

Test(transfer, what_bounds_the_rate_is_seen) {
    assert_is_seen(copies_are_seen_to_bound, YPK_NO_STREAM);
    assert_is_seen(a_slow_step_is_seen_to_bound, YPK_NO_STREAM);
}

Test(transfer, what_bounds_the_rate_of_a_stream_is_seen) {
    assert_is_seen(copies_are_seen_to_bound, NULL);
    assert_is_seen(a_slow_step_is_seen_to_bound, NULL);
}

Test(transfer, memory_that_cannot_be_locked_is_used_all_the_same) {
    ypk_loader_options o = small_options();
    ypk_loader_stats stats;
    sim_begin(&(struct sim_options){.seed = 1, .pin_limit_bytes = 1});
    ypk_loader *here = make_loader(&o), *there = make_on_sim(&o, 0);
    ypk_loader_get_stats(there, &stats);
    cr_assert_eq(stats.pinned_bytes, 0);
    cr_assert(strstr(stats.note, "copies are slower") && strstr(stats.note, "page-locked"), "%s", stats.note);
    cr_assert_str_eq(stats.device, "sim:0");
    cr_assert(stats.device_bytes > 0 && stats.device_slots == 4);
    cr_assert_eq(assert_same_run(here, there, YPK_NO_STREAM), 10);
    ypk_loader_destroy(&here);
    ypk_loader_destroy(&there);
    assert_nothing_left();
}

Test(transfer, a_bad_sample_is_told_in_its_turn) {
    ypk_loader_options o = small_options();
    ypk_error first, error;
    ypk_batch b;
    tiny_damage(&pack, 11);
    o.mode = YPK_EVAL;
    sim_begin(&(struct sim_options){.seed = 1});
    ypk_loader *loader = make_on_sim(&o, 0);
    cr_assert_eq(ypk_loader_next(loader, &b, NULL, &first), YPK_OK);
    ypk_batch_release(&b, NULL);
    cr_assert_eq(ypk_loader_next(loader, &b, NULL, &first), YPK_E_CORRUPT);
    cr_assert(strstr(first.message, "000011"), "%s", first.message);
    cr_assert_eq(ypk_loader_next(loader, &b, NULL, &error), YPK_E_CORRUPT);
    cr_assert_str_eq(first.message, error.message);
    cr_assert_eq(ypk_loader_seek(loader, 0, 2, &error), YPK_OK, "%s", error.message);
    cr_assert_eq(ypk_loader_next(loader, &b, NULL, &error), YPK_OK, "%s", error.message);
    cr_assert_eq(b.samples[0].index, 12);
    ypk_batch_release(&b, NULL);
    ypk_loader_destroy(&loader);
    assert_nothing_left();
}

/* ---- what goes wrong half-way ------------------------------------------------------------------------------------ */

/* Work that waits for a sign, and then tells whether the memory is still what it was. */
struct late_look {
    atomic_bool go;
    const void *memory;
    void *expected;
    size_t bytes;
    bool same;
};

static void look_late(void *arg, bool lost) {
    struct late_look *l = arg;
    (void)lost;
    while (!atomic_load(&l->go))
        usleep(100);
    l->same = memcmp(l->memory, l->expected, l->bytes) == 0;
}

static void begin_late_look(struct late_look *l, const ypk_tensor *tensor, void *stream) {
    l->bytes = (size_t)(tensor->shape[0] * tensor->strides[0]);
    l->memory = tensor->data;
    cr_assert_not_null(l->expected = malloc(l->bytes));
    sim_finish(0, stream);
    memcpy(l->expected, tensor->data, l->bytes);
    sim_launch(0, stream, look_late, l);
}

/* The bad batch 3 gets the memory of batch 0, which is still at work on a stream of its own. */
Test(transfer, memory_of_a_bad_batch_still_waits_for_those_who_use_it) {
    ypk_loader_options o = small_options();
    struct late_look late = {.memory = NULL};
    ypk_error error;
    ypk_batch b[3], bad;
    tiny_damage(&pack, 20);
    o.mode = YPK_EVAL;
    o.device_slots = 3;
    sim_begin(&(struct sim_options){.seed = 1});
    ypk_loader *loader = make_on_sim(&o, 0);
    void *slow = sim_stream_create(0), *other = sim_stream_create(0);
    for (int i = 0; i < 3; i++)
        cr_assert_eq(ypk_loader_next(loader, &b[i], i ? other : slow, &error), YPK_OK, "%s", error.message);
    begin_late_look(&late, &b[0].images[0], slow);
    ypk_batch_release(&b[0], slow);
    cr_assert_eq(ypk_loader_next(loader, &bad, other, &error), YPK_E_CORRUPT);
    ypk_batch_release(&b[1], other);
    ypk_batch_release(&b[2], other);

    cr_assert_eq(ypk_loader_seek(loader, 0, 0, &error), YPK_OK, "%s", error.message);
    usleep(50000); /* copies to all three are asked for, and those that do not wait are done */
    atomic_store(&late.go, true);
    sim_finish(0, slow);
    cr_assert(late.same);
    ypk_loader_destroy(&loader);
    sim_stream_destroy(slow);
    sim_stream_destroy(other);
    free(late.expected);
    assert_nothing_left();
}

static ypk_loader *make_on(const struct device_ops *ops, const ypk_loader_options *o) {
    ypk_loader *loader;
    struct error error;
    cr_assert_eq(loader_create_on(&loader, dataset, o, ops, 0, &error), 0, "%s", error.message);
    return loader;
}

static void *refused_stream;

static int refuse_to_wait(struct device *device, void *stream, void *event, struct error *error) {
    return stream == refused_stream ? error_set(error, ERR_MEMORY, "no memory to wait with")
                                    : device_sim.wait(device, stream, event, error);
}

Test(transfer, a_batch_that_could_not_be_waited_for_is_not_skipped) {
    ypk_loader_options o = small_options();
    static struct device_ops ops; /* outlives a test that fails */
    ops = device_sim;
    ypk_error error;
    ypk_batch b;
    ops.wait = refuse_to_wait;
    sim_begin(&(struct sim_options){.seed = 1});
    ypk_loader *loader = make_on(&ops, &o);
    void *good = sim_stream_create(0);
    refused_stream = sim_stream_create(0);
    cr_assert_eq(ypk_loader_next(loader, &b, good, &error), YPK_OK, "%s", error.message);
    ypk_batch_release(&b, good);
    cr_assert_eq(ypk_loader_next(loader, &b, refused_stream, &error), YPK_E_MEMORY);
    cr_assert_eq(ypk_loader_next(loader, &b, good, &error), YPK_E_MEMORY, "it stays");
    cr_assert(strstr(error.message, "to wait with"), "%s", error.message);
    ypk_loader_destroy(&loader);
    sim_stream_destroy(good);
    sim_stream_destroy(refused_stream);
    assert_nothing_left();
}

/* From a sign on: the first copy is remembered, with what it copies, and the second one fails. */
static struct {
    atomic_bool armed;
    const void *from;
    void *expected;
    size_t bytes;
} half;

static int fail_half_way(struct device *device, void *stream, void *to, const void *from, size_t bytes,
                         struct error *error) {
    if (atomic_load(&half.armed) && half.expected) {
        usleep(5000); /* the first one is under way by now */
        return error_set(error, ERR_DEVICE, "half-way");
    }
    if (atomic_load(&half.armed)) {
        half.from = from;
        half.bytes = bytes;
        cr_assert_not_null(half.expected = malloc(bytes));
        memcpy(half.expected, from, bytes);
    }
    return device_sim.copy(device, stream, to, from, bytes, error);
}

Test(transfer, what_is_copied_half_way_is_not_filled_again) {
    ypk_loader_options o = small_options();
    static struct device_ops ops; /* outlives a test that fails */
    ops = device_sim;
    ypk_error error;
    ypk_batch b[3];
    ops.copy = fail_half_way;
    o.channels = YPK_CHANNELS_TWO; /* two copies at least */
    o.device_slots = 3;
    o.prefetch = 1;
    begin_slow();
    ypk_loader *loader = make_on(&ops, &o);
    for (int i = 0; i < 3; i++)
        cr_assert_eq(ypk_loader_next(loader, &b[i], NULL, &error), YPK_OK, "%s", error.message);
    atomic_store(&half.armed, true);
    ypk_batch_release(&b[0], NULL);
    cr_assert_eq(ypk_loader_next(loader, &b[0], NULL, &error), YPK_E_DEVICE);
    cr_assert_str_eq(error.message, "half-way");
    usleep(100000); /* workers have filled what they got back */
    cr_assert_eq(memcmp(half.from, half.expected, half.bytes), 0);
    ypk_batch_release(&b[1], NULL);
    ypk_batch_release(&b[2], NULL);
    ypk_loader_destroy(&loader);
    free(half.expected);
    assert_nothing_left();
}

/* Batches that another thread, which is this one, releases while the loader is destroyed and waits for its device. */
static struct {
    pthread_t destroyer;
    bool armed;
    ypk_batch batches[3];
} between;

static int fail_on_stream(struct device *device, void *stream, struct error *error) {
    return stream == refused_stream ? error_set(error, ERR_DEVICE, "no such stream")
                                    : device_sim.check_stream(device, stream, error);
}

static int release_between(struct device *device, void *event, struct error *error) {
    if (pthread_equal(pthread_self(), between.destroyer) && between.armed) {
        between.armed = false;
        for (int i = 0; i < 3; i++)
            ypk_batch_release(&between.batches[i], YPK_NO_STREAM);
    }
    return device_sim.synchronise(device, event, error);
}

Test(transfer, batches_are_released_while_a_failed_device_is_waited_for) {
    ypk_loader_options o = small_options();
    static struct device_ops ops; /* outlives a test that fails */
    ypk_error error;
    ypk_batch b;
    ops = device_sim;
    ops.check_stream = fail_on_stream;
    ops.synchronise = release_between;
    o.device_slots = 3;
    begin_slow();
    ypk_loader *loader = make_on(&ops, &o);
    refused_stream = sim_stream_create(0);
    for (int i = 0; i < 3; i++)
        cr_assert_eq(ypk_loader_next(loader, &between.batches[i], NULL, &error), YPK_OK, "%s", error.message);
    cr_assert_eq(ypk_loader_next(loader, &b, refused_stream, &error), YPK_E_DEVICE);
    between.destroyer = pthread_self();
    between.armed = true;
    ypk_loader_destroy(&loader);
    cr_assert(!between.armed && !between.batches[2].slot);
    sim_stream_destroy(refused_stream);
    assert_nothing_left();
}

Test(transfer, tensors_name_their_device_and_outlive_everything) {
    ypk_loader_options o = small_options();
    ypk_error error;
    ypk_batch b;
    void *out;
    begin_slow();
    ypk_loader *loader = make_on_sim(&o, 2);
    cr_assert_eq(ypk_loader_next(loader, &b, NULL, &error), YPK_OK);
    cr_assert_eq(ypk_batch_dlpack(&b, 0, &out, &error), YPK_OK);
    struct managed *tensor = out;
    cr_assert(tensor->device[0] == 2 && tensor->device[1] == 2);
    ypk_batch_release(&b, NULL);
    ypk_loader_destroy(&loader);
    uint8_t first = *(uint8_t *)tensor->data; /* memory that is there */
    (void)first;
    tensor->deleter(tensor);
    assert_nothing_left();
}

Test(transfer, a_child_leaves_the_device_alone) {
    ypk_loader_options o = small_options();
    ypk_error error;
    ypk_batch b;
    int status;
    sim_begin(&(struct sim_options){.seed = 1});
    ypk_loader *loader = make_on_sim(&o, 0);
    cr_assert_eq(ypk_loader_next(loader, &b, NULL, &error), YPK_OK);
    pid_t pid = fork();
    if (pid == 0) {
        ypk_loader_stats stats;
        ypk_batch other;
        void *tensor;
        bool refused = ypk_loader_next(loader, &other, NULL, &error) == YPK_E_ARGUMENT &&
                       ypk_batch_used_on(&b, NULL, &error) == YPK_E_ARGUMENT &&
                       ypk_batch_dlpack(&b, 0, &tensor, &error) == YPK_E_ARGUMENT && !tensor;
        ypk_loader_get_stats(loader, &stats);
        ypk_batch_release(&b, NULL);
        ypk_loader_destroy(&loader);
        _exit(refused ? 0 : 1);
    }
    cr_assert_eq(waitpid(pid, &status, 0), pid);
    cr_assert_eq(status, 0);
    ypk_batch_release(&b, NULL);
    ypk_loader_destroy(&loader);
    assert_nothing_left();
}

/* ---- options ----------------------------------------------------------------------------------------------------- */

static void assert_refused(const ypk_loader_options *o, int code, const char *text) {
    ypk_loader *loader;
    ypk_error error;
    cr_assert_eq(ypk_loader_create(&loader, dataset, o, &error), code, "%s", error.message);
    cr_assert(strstr(error.message, text), "%s", error.message);
}

Test(transfer, devices_are_named) {
    static const char *const wrong[] = {
        "gpu", "", "cuda:", "cuda:x", "cuda:1x", "cuda:-1", "cuda:99999999999999999999"};
    ypk_loader_options o = small_options();
    ypk_loader_stats stats;
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        o.device = wrong[i];
        assert_refused(&o, YPK_E_ARGUMENT, "cuda:N");
    }
    o.device = "host";
    o.device_slots = 2;
    assert_refused(&o, YPK_E_ARGUMENT, "device_slots is 2");
    o.device_slots = 65;
    assert_refused(&o, YPK_E_ARGUMENT, "device_slots is 65");
    o.device_slots = 3;
    ypk_loader *loader = make_loader(&o);
    ypk_loader_get_stats(loader, &stats);
    cr_assert_eq(stats.device_slots, 3);
    ypk_loader_destroy(&loader);
    o.device = "cpu";
    loader = make_loader(&o);
    ypk_loader_get_stats(loader, &stats);
    cr_assert(stats.device_slots == 0 && strcmp(stats.device, "cpu") == 0 && stats.note[0] == '\0');
    ypk_loader_destroy(&loader);
}

/* Where there is no GPU, and where there is one that cannot be had here. */
Test(transfer, auto_is_host_memory_without_a_gpu) {
    ypk_loader_options o = small_options();
    ypk_loader_stats stats;
    ypk_error error;
    ypk_batch b;
    setenv("CUDA_VISIBLE_DEVICES", "-1", 1);
    o.device = "auto";
    ypk_loader *loader = make_loader(&o);
    ypk_loader_get_stats(loader, &stats);
    cr_assert_str_eq(stats.device, "cpu");
    cr_assert(strstr(stats.note, "host memory"), "%s", stats.note);
    cr_assert_eq(ypk_loader_next(loader, &b, NULL, &error), YPK_OK, "streams have no meaning");
    cr_assert_eq(ypk_batch_used_on(&b, NULL, &error), YPK_OK);
    ypk_batch_release(&b, NULL);
    ypk_loader_destroy(&loader);
    o.device = "cuda:0";
    cr_assert_eq(ypk_loader_create(&loader, dataset, &o, &error), YPK_E_DEVICE, "%s", error.message);
}

/* ---- maths ------------------------------------------------------------------------------------------------------- */

Test(transfer, places_are_those_of_plain_loops) {
    uint8_t from[2 * 4 * 3 * 5], to[2 * 6 * 3 * 5];
    for (size_t i = 0; i < sizeof from; i++)
        from[i] = (uint8_t)(i * 7);
    for (int interleaved = 0; interleaved < 2; interleaved++) {
        struct device_convert what = {from, to, 2, 4, 6, 5, 3, interleaved != 0, NUMBER_U8, {0}, {0}};
        memset(to, 0, sizeof to);
        cr_assert_eq(device_host.convert(NULL, NULL, &what, NULL), 0);
        for (int n = 0; n < 2; n++)
            for (int c = 0; c < 6; c++)
                for (int y = 0; y < 3; y++)
                    for (int x = 0; x < 5; x++) {
                        int at = interleaved ? ((n * 3 + y) * 5 + x) * 6 + c : ((n * 6 + c) * 3 + y) * 5 + x;
                        cr_assert_eq(to[at], from[((n * 4 + (c < 3 ? c : 3)) * 3 + y) * 5 + x]);
                    }
    }
}
