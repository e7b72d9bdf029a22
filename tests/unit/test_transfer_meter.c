#include "transfer_meter.h"

#include "clock.h"

#include <criterion/criterion.h>
#include <stdlib.h>

/* A device whose time is what a test says, and whose streams have come as far as it says. */
static double now_s, reached_s;
static int events;

static int event_create(struct device *device, void **out, bool timed, struct error *error) {
    (void)device, (void)error;
    cr_assert(timed);
    *out = calloc(1, sizeof(double));
    events++;
    return 0;
}

static void event_destroy(struct device *device, void *event) {
    (void)device;
    free(event);
    events--;
}

static int record(struct device *device, void *event, void *stream, struct error *error) {
    (void)device, (void)stream, (void)error;
    *(double *)event = now_s;
    return 0;
}

static int query(struct device *device, void *event, bool *done, struct error *error) {
    (void)device, (void)error;
    *done = *(double *)event <= reached_s;
    return 0;
}

static int elapsed(struct device *device, void *from, void *to, double *seconds, struct error *error) {
    (void)device, (void)error;
    *seconds = *(double *)to - *(double *)from;
    return 0;
}

static const struct device_ops ops = {
    .event_create = event_create, .event_destroy = event_destroy, .record = record, .query = query, .elapsed = elapsed};
static struct transfer_meter meter;

static void setup(void) {
    transfer_meter_init(&meter, &ops, NULL);
    cr_assert_eq(transfer_meter_create_events(&meter, NULL), 0);
}

static void teardown(void) {
    transfer_meter_deinit(&meter);
    cr_assert_eq(events, 0);
}

TestSuite(transfer_meter, .init = setup, .fini = teardown);

static struct loader_wait counted(void) {
    ypk_loader_stats stats = {0};
    struct loader_wait wait;
    transfer_meter_get_stats(&meter, &stats, &wait);
    cr_assert_eq(stats.wait_seconds, wait.host);
    cr_assert_eq(stats.stream_wait_seconds, wait.stream);
    return wait;
}

/* A stream that stands still for so long; its batch was made `made_ns` after it was asked for. */
static void stand_still(double seconds, uint64_t made_ns) {
    struct transfer_stall *stall;
    cr_assert_eq(transfer_meter_begin(&meter, &stall, NULL, NULL), 0);
    now_s += seconds;
    cr_assert_eq(transfer_meter_go_on(&meter, stall, NULL, NULL), 0);
    transfer_meter_end(&meter, stall, stall->asked_ns + made_ns);
}

Test(transfer_meter, a_stall_counts_when_the_stream_has_gone_on) {
    now_s = reached_s = 0;
    stand_still(3, 1000000000); /* for one second the workers made it, for two it was on its way */
    cr_assert_eq(transfer_meter_collect(&meter, NULL), 0);
    cr_assert_eq(counted().stalls, 0);
    reached_s = 3;
    for (int i = 0; i < 2; i++) /* once */
        cr_assert_eq(transfer_meter_collect(&meter, NULL), 0);
    struct loader_wait wait = counted();
    cr_assert_eq(wait.stalls, 1);
    cr_assert_float_eq(wait.stream, 3, 1e-9);
    cr_assert_float_eq(wait.stream_late, 2, 1e-9);
    cr_assert_float_eq(transfer_meter_starved_seconds(&meter), 1, 1e-9);

    stand_still(1, 5000000000); /* the workers are all of it */
    reached_s = 4;
    cr_assert_eq(transfer_meter_collect(&meter, NULL), 0);
    cr_assert_float_eq(counted().stream, 4, 1e-9);
    cr_assert_float_eq(counted().stream_late, 2, 1e-9);
}

Test(transfer_meter, so_many_at_a_time_and_dropped_ones_come_back) {
    struct transfer_stall *stalls[TRANSFER_STALL_LIMIT], *more;
    for (int i = 0; i < TRANSFER_STALL_LIMIT; i++) {
        cr_assert_eq(transfer_meter_begin(&meter, &stalls[i], NULL, NULL), 0);
        cr_assert_not_null(stalls[i]);
    }
    cr_assert_eq(transfer_meter_begin(&meter, &more, NULL, NULL), 0);
    cr_assert_null(more);
    transfer_meter_drop(&meter, more);
    transfer_meter_end(&meter, more, 0);
    transfer_meter_drop(&meter, stalls[7]);
    cr_assert_eq(transfer_meter_begin(&meter, &more, NULL, NULL), 0);
    cr_assert_eq(more, stalls[7]);
    cr_assert_eq(transfer_meter_collect(&meter, NULL), 0);
    cr_assert_eq(counted().stalls, 0);
}

Test(transfer_meter, the_threads_waiting_and_copies_add_up_until_reset) {
    ypk_loader_stats stats = {.wait_seconds = 7};
    struct loader_wait wait;
    uint64_t asked_ns = clock_ns() - 2000000000;
    transfer_meter_add_wait(&meter, asked_ns, asked_ns + 500000000);
    transfer_meter_add_bytes(&meter, 100);
    transfer_meter_add_bytes(&meter, 23);
    transfer_meter_add_copy(&meter, 0.25);
    transfer_meter_get_stats(&meter, &stats, &wait);
    cr_assert_geq(wait.host, 2);
    cr_assert_float_eq(wait.host - wait.host_late, 0.5, 1e-9);
    cr_assert_float_eq(transfer_meter_starved_seconds(&meter), 0.5, 1e-9, "of the thread, since no stream was seen");
    cr_assert_float_eq(stats.wait_seconds, 7 + wait.host, 1e-9);
    cr_assert_eq(stats.copy_bytes, 123);
    cr_assert_eq(stats.copy_seconds, 0.25);
    transfer_meter_reset(&meter);
    stats = (ypk_loader_stats){0};
    transfer_meter_get_stats(&meter, &stats, &wait);
    cr_assert(wait.host == 0 && wait.host_late == 0 && stats.copy_bytes == 0 && stats.copy_seconds == 0);
}
