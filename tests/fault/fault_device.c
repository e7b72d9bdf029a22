/*
 * A loader with a device while one call after another fails: each call to the device once and from then on, a device
 * that is lost, and each allocation. The failure is told, nothing hangs, everything is released, and the next try
 * succeeds.
 */
#include "inject.h"

#include "sim/device_sim.h"
#include "unit/tiny_pack.h"

#include "loader.h"
#include "yolopack.h"

enum { BATCHES = 10, HELD = 2 };

struct scene {
    struct tiny_pack pack;
    ypk_dataset *dataset;
    const struct device_ops *ops;
    uint64_t delivered;
};

static void use(void *arg, bool lost) {
    if (!lost)
        (*(volatile uint8_t *)arg)++; /* of the batch, on its stream */
}

static ypk_loader_options small_options(void) {
    ypk_loader_options o;
    ypk_loader_options_init(&o, sizeof o);
    o.image_size = 32;
    o.batch = 2;
    o.workers = 2;
    o.prefetch = 1;
    o.device_slots = 3;
    o.channels = YPK_CHANNELS_TWO;
    o.dtype = YPK_F16;
    return o;
}

/* Batches with work on two streams; some of them held, one as a tensor; then elsewhere. */
static int take_all(struct scene *s, ypk_loader *loader, ypk_batch held[HELD], void *other, ypk_error *error) {
    ypk_batch b;
    int rc = 0;
    for (int i = 0; rc == 0 && i < BATCHES; i++) {
        rc = ypk_loader_next(loader, &b, i % 4 == 3 ? YPK_NO_STREAM : NULL, error);
        if (rc != 0)
            break;
        s->delivered++;
        if (s->ops == &device_sim && i % 4 != 3)
            sim_launch(0, NULL, use, b.images[0].data);
        if (i % 3 == 1)
            rc = ypk_batch_used_on(&b, other, error);
        if (held[i % HELD].slot)
            ypk_batch_release(&held[i % HELD], NULL);
        held[i % HELD] = b;
    }
    if (rc != 0)
        return rc;
    for (int i = 0; i < HELD; i++)
        ypk_batch_release(&held[i], NULL);
    rc = ypk_loader_seek(loader, 1, 0, error);
    return rc ? rc : ypk_loader_next(loader, &held[0], NULL, error);
}

static int run_loader(void *arg, struct error *error) {
    struct scene *s = arg;
    ypk_loader_options o = small_options();
    ypk_loader *loader = NULL;
    ypk_batch held[HELD] = {0};
    ypk_loader_stats stats;
    ypk_error outer = {0};
    void *other = s->ops == &device_sim ? sim_stream_create(0) : NULL;
    s->delivered = 0;
    int rc = loader_create_on(&loader, s->dataset, &o, s->ops, 0, error);
    if (rc == 0) {
        rc = take_all(s, loader, held, other, &outer);
        error->code = outer.code;
        snprintf(error->message, sizeof error->message, "%s", outer.message);
        ypk_loader_get_stats(loader, &stats);
        ypk_batch_release(&held[0], NULL);
    }
    ypk_loader_destroy(&loader);
    for (int i = 0; i < HELD; i++)
        ypk_batch_release(&held[i], NULL);
    if (other)
        sim_stream_destroy(other);
    return rc;
}

/* ---- calls to the device ----------------------------------------------------------------------------------------- */

static void check_fault(struct scene *s, enum sim_fault fault, uint64_t n) {
    static const char *const how[] = {"fails alone", "and every later one fail", "finds the device lost"};
    struct error error = {0};
    snprintf(fault_where, sizeof fault_where, "device call %llu %s", (unsigned long long)n, how[fault]);
    alarm(FAULT_RUN_SECONDS);
    int rc = run_loader(s, &error);
    alarm(0);
    int code = fault == SIM_LOST ? ERR_DEVICE_LOST : ERR_DEVICE;
    FAULT_CHECK(rc == 0 || rc == code, "code %d: %s", rc, error.message);
    FAULT_CHECK(rc == 0 || strstr(error.message, "sim: "), "%s", error.message);
    FAULT_CHECK(fault == SIM_ONCE || rc != 0 || s->delivered == BATCHES, "nothing was said");
    FAULT_CHECK(sim_live() == 0, "%llu things are left", (unsigned long long)sim_live());
    FAULT_CHECK(sim_violations() == 0, "misuse");
    if (__lsan_do_recoverable_leak_check && n % 32 == 0)
        FAULT_CHECK(__lsan_do_recoverable_leak_check() == 0, "leak");
}

static void loop_device(struct scene *s, enum sim_fault fault) {
    struct sim_options options = {.seed = 1, .delay_us = 200, .delay_chance = 3};
    struct error error = {0};
    uint64_t n = 0, calls;
    do { /* until a run has fewer calls */
        options.fail_at = ++n;
        options.fault = fault;
        sim_begin(&options);
        check_fault(s, fault, n);
        calls = sim_calls();
    } while (calls >= n);
    options.fail_at = 0;
    sim_begin(&options);
    FAULT_CHECK_OK(run_loader(s, &error), &error);
    printf("device calls, %s: %llu\n",
           fault == SIM_ONCE   ? "once"
           : fault == SIM_LOST ? "lost"
                               : "from then on",
           (unsigned long long)n - 1);
}

/* ---- allocations: a sanitizer's own threads begin with one ------------------------------------------------------- */

#ifndef INJECT_SANITIZED
static void nothing(void *arg) {
    (void)arg;
}

static void judge(void *arg, int rc, const struct error *error, enum fault_kind kind, int os_errno) {
    struct error again = {0};
    (void)kind, (void)os_errno;
    FAULT_CHECK(rc == 0 || rc == ERR_MEMORY || rc == ERR_IO, "code %d for: %s", rc, error->message);
    FAULT_CHECK_OK(run_loader(arg, &again), &again);
}

/* On the host, since the simulated device is a test's own. */
static void loop_allocations(struct scene *s) {
    s->ops = &device_host;
    fault_loop(&(struct fault_run){.name = "a loader with a device",
                                   .arg = s,
                                   .kind = FAULT_ALLOC,
                                   .os_errno = ENOMEM,
                                   .prepare = nothing,
                                   .run = run_loader,
                                   .judge = judge});
}
#endif

int main(void) {
    static struct scene s;
    ypk_error error = {0};
    tiny_pack_create(&s.pack, 11, 20);
    FAULT_CHECK(ypk_dataset_open(&s.dataset, s.pack.path, NULL, &error) == YPK_OK, "%s", error.message);
    s.ops = &device_sim;
    for (enum sim_fault fault = SIM_ONCE; fault <= SIM_LOST; fault++)
        loop_device(&s, fault);
#ifndef INJECT_SANITIZED
    loop_allocations(&s);
#endif
    ypk_dataset_close(&s.dataset);
    tiny_pack_remove(&s.pack);
    return 0;
}
