#include "pipeline.h"

#include <criterion/criterion.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define SLOTS 7

struct log {
    uint64_t items[1000];
    size_t count;
    uint64_t fail_at;
    atomic_bool *cancel_at_100;
};

static int square(void *worker, void *slot, uint64_t item, struct error *error) {
    uint64_t *value = slot;
    (void)worker;
    if (item % 3 == 0) /* let later items overtake */
        nanosleep(&(struct timespec){.tv_nsec = 20000}, NULL);
    *value = item * item;
    return item == 777 ? error_set(error, ERR_IO, "item 777") : 0;
}

static int append(void *arg, void *slot, uint64_t item, struct error *error) {
    struct log *log = arg;
    cr_assert_eq(*(uint64_t *)slot, item * item, "slot of item %lu was overwritten", (unsigned long)item);
    if (item == log->fail_at)
        return error_set(error, ERR_SPACE, "consumer stops");
    log->items[log->count++] = item;
    if (log->cancel_at_100 && item == 100)
        atomic_store(log->cancel_at_100, true);
    return 0;
}

static int run(struct log *log, unsigned jobs, uint64_t first, uint64_t end, const atomic_bool *cancel,
               struct error *error) {
    uint64_t values[SLOTS];
    void *slots[SLOTS], *workers[16] = {0};
    for (size_t i = 0; i < SLOTS; i++)
        slots[i] = &values[i];
    struct pipeline p = {.first = first,
                         .end = end,
                         .workers = workers,
                         .job_count = jobs,
                         .slots = slots,
                         .slot_count = SLOTS,
                         .produce = square,
                         .consume = append,
                         .consume_arg = log,
                         .cancel = cancel};
    return pipeline_run(&p, error);
}

Test(pipeline, keeps_order_for_any_number_of_jobs) {
    static const unsigned jobs[] = {1, 2, 5, 16};
    for (size_t j = 0; j < 4; j++) {
        struct log log = {.fail_at = UINT64_MAX};
        cr_assert_eq(run(&log, jobs[j], 5, 700, NULL, NULL), 0);
        cr_assert_eq(log.count, 695);
        for (size_t i = 0; i < log.count; i++)
            cr_assert_eq(log.items[i], i + 5);
    }
}

Test(pipeline, nothing_to_do) {
    struct log log = {.fail_at = UINT64_MAX};
    cr_assert_eq(run(&log, 4, 9, 9, NULL, NULL), 0);
    cr_assert_eq(log.count, 0);
}

Test(pipeline, first_failure_in_item_order_ends_it) {
    for (unsigned jobs = 1; jobs <= 8; jobs *= 2) {
        struct log log = {.fail_at = UINT64_MAX};
        struct error error = {0};
        cr_assert_eq(run(&log, jobs, 0, 1000, NULL, &error), ERR_IO);
        cr_assert_str_eq(error.message, "item 777");
        cr_assert_eq(log.count, 777);
    }
}

Test(pipeline, consumer_failure_ends_it) {
    for (unsigned jobs = 1; jobs <= 8; jobs *= 2) {
        struct log log = {.fail_at = 300};
        struct error error = {0};
        cr_assert_eq(run(&log, jobs, 0, 1000, NULL, &error), ERR_SPACE);
        cr_assert_str_eq(error.message, "consumer stops");
        cr_assert_eq(log.count, 300);
    }
}

Test(pipeline, cancel_is_prompt) {
    for (unsigned jobs = 1; jobs <= 8; jobs *= 2) {
        atomic_bool cancel = false;
        struct log log = {.fail_at = UINT64_MAX, .cancel_at_100 = &cancel};
        struct error error = {0};
        cr_assert_eq(run(&log, jobs, 0, 700, &cancel, &error), ERR_INTERRUPTED);
        cr_assert_eq(log.count, 101);
    }
}
