#include "balance.h"

#include <criterion/criterion.h>

/* A machine and a consumer, as far as a look sees them. */
struct world {
    double cpu_ms, storage_ms; /* of one row */
    double storage_rate;       /* rows a second that the storage gives at most; 0: any number */
    double demand;             /* rows a second that the consumer would take; 0: all */
    double jitter; /* part of the time in which the consumer is away, and then in a hurry; slots even it out */
    uint32_t cores;
    uint64_t room_bytes;
    uint32_t refuse_above; /* workers that can be had; 0: all */
    double noise;          /* of the rate: +- that part */
};

struct course {
    struct balance balance;
    uint32_t workers, slots, changes;
    uint32_t most_workers, least_workers;
    uint64_t random;
};

static const struct balance_limits usual = {
    .workers_least = 1, .workers_most = 64, .slots_least = 4, .slots_most = 10, .worker_bytes = 10, .slot_bytes = 20};

static struct world decoding(uint32_t cores) {
    return (struct world){.cpu_ms = 10, .cores = cores, .room_bytes = UINT64_MAX};
}

static void begin(struct course *c, const struct balance_limits *limits, uint32_t workers, uint32_t slots) {
    *c = (struct course){.workers = workers, .slots = slots, .random = 1, .least_workers = UINT32_MAX};
    balance_init(&c->balance, limits);
}

static double smaller(double a, double b) {
    return a < b ? a : b;
}

static double noise(struct course *c, double part) {
    c->random = c->random * 6364136223846793005u + 1442695040888963407u;
    return 1 + part * ((double)(c->random >> 33) / (1u << 30) - 1);
}

static double capacity(const struct world *w, uint32_t workers) {
    double rate = smaller(workers * 1e3 / (w->cpu_ms + w->storage_ms), w->cores * 1e3 / w->cpu_ms);
    return w->storage_rate > 0 ? smaller(rate, w->storage_rate) : rate;
}

static struct balance_sight see(struct course *c, const struct world *w) {
    double most = capacity(w, c->workers) * noise(c, w->noise), unevenness = w->jitter * 4 / c->slots;
    double rate = w->demand > 0 ? smaller(most, w->demand) : most;
    rate *= 1 - unevenness;
    struct balance_sight s = {.seconds = 0.5,
                              .rows = (uint64_t)(rate * 0.5),
                              .blocks = (uint64_t)(w->storage_ms > 0 ? rate : 0),
                              .cpu = rate * 0.5 * w->cpu_ms / 1e3,
                              .cores = w->cores,
                              .workers = c->workers,
                              .slots = c->slots,
                              .room_bytes = w->room_bytes};
    s.sleep = 0.5 * c->workers * smaller(1, 1 - rate / most);
    s.wait = w->demand > 0 ? 0.5 * (1 - rate / w->demand) : 0.45;
    if (s.wait == 0)
        s.spare = c->slots - 2;
    return s;
}

static void run(struct course *c, const struct world *w, int looks) {
    c->changes = 0;
    c->most_workers = 0;
    c->least_workers = UINT32_MAX;
    for (int i = 0; i < looks; i++) {
        struct balance_sight s = see(c, w);
        struct balance_aim aim = balance_look(&c->balance, &s);
        c->changes += aim.workers != c->workers || aim.slots != c->slots;
        c->workers = w->refuse_above && aim.workers > w->refuse_above ? w->refuse_above : aim.workers;
        c->slots = aim.slots;
        c->most_workers = c->workers > c->most_workers ? c->workers : c->most_workers;
        c->least_workers = c->workers < c->least_workers ? c->workers : c->least_workers;
    }
}

Test(balance, steady_decoding_stays) {
    for (uint32_t cores = 1; cores <= 64; cores *= 2) {
        struct course c;
        struct world w = decoding(cores);
        w.noise = 0.05;
        begin(&c, &usual, cores, 4);
        run(&c, &w, 1000);
        cr_assert_eq(c.changes, 0, "%u cores: %u changes", cores, c.changes);
    }
}

Test(balance, storage_bound_gets_up_to_twice_the_cores) {
    struct course c;
    struct world w = decoding(8);
    w.storage_ms = 30;
    begin(&c, &usual, 8, 4);
    run(&c, &w, 100);
    cr_assert_eq(c.workers, 16);
    run(&c, &w, 1000);
    cr_assert_eq(c.changes, 0);
    cr_assert_eq(c.slots, 4);
}

Test(balance, cores_that_others_use_are_left_to_them) {
    struct course c;
    struct world w = decoding(8);
    begin(&c, &usual, 8, 4);
    for (int i = 0; i < 500; i++) {
        struct balance_sight s = see(&c, &w);
        s.cpu /= 2;
        s.rows /= 2;
        struct balance_aim aim = balance_look(&c.balance, &s);
        cr_assert_eq(aim.workers, 8);
        cr_assert_eq(aim.slots, 4);
    }
}

Test(balance, as_many_as_the_cores_can_feed) {
    struct course c;
    struct world w = decoding(8);
    w.storage_ms = 3;
    begin(&c, &usual, 8, 4);
    run(&c, &w, 200);
    cr_assert(c.workers >= 10 && c.workers <= 12, "%u", c.workers);
}

Test(balance, storage_at_its_end_gets_no_more) {
    struct course c;
    struct world w = decoding(8);
    w.storage_ms = 30;
    w.storage_rate = 190; /* 8 workers could take 200 */
    w.noise = 0.02;
    begin(&c, &usual, 8, 4);
    run(&c, &w, 2000);
    cr_assert_eq(c.workers, 8);
    cr_assert(c.most_workers <= 10);
    cr_assert(c.changes <= 20, "%u changes", c.changes); /* each try waits twice as long as the one before */
    run(&c, &w, 2000);
    cr_assert(c.changes <= 4, "%u changes", c.changes);
}

Test(balance, when_the_storage_is_no_bound_any_more_there_are_as_many_as_cores) {
    struct course c;
    struct world w = decoding(8);
    w.storage_ms = 30;
    begin(&c, &usual, 8, 4);
    run(&c, &w, 100);
    cr_assert_eq(c.workers, 16);
    w.storage_ms = 0; /* the page cache has it all now */
    run(&c, &w, 100);
    cr_assert_eq(c.workers, 8);
    run(&c, &w, 1000);
    cr_assert_eq(c.changes, 0);
}

Test(balance, a_slow_consumer_parks_what_it_does_not_need) {
    for (uint32_t cores = 2; cores <= 64; cores *= 2) {
        struct course c;
        struct world w = decoding(cores);
        w.demand = 20 * cores; /* a fifth of what they could */
        w.noise = 0.1;
        begin(&c, &usual, cores, 4);
        run(&c, &w, 200);
        double needed = 0.2 * cores;
        cr_assert(c.workers >= needed && c.workers <= 1.7 * needed + 1, "%u cores: %u workers", cores, c.workers);
        cr_assert_eq(capacity(&w, c.workers) >= w.demand, true);
        run(&c, &w, 2000);
        cr_assert(c.changes <= 2, "%u cores: %u changes", cores, c.changes);
    }
}

Test(balance, nothing_swings_at_the_edge) {
    for (double demand = 90; demand <= 810; demand += 10) {
        struct course c;
        struct world w = decoding(8);
        w.demand = demand;
        w.noise = 0.05;
        begin(&c, &usual, 8, 4);
        run(&c, &w, 400);
        run(&c, &w, 2000);
        cr_assert(c.changes <= 4, "demand %.0f: %u changes", demand, c.changes);
        cr_assert(capacity(&w, c.workers) >= smaller(demand, 800), "demand %.0f: %u workers", demand, c.workers);
    }
}

Test(balance, a_consumer_that_gets_faster_is_followed) {
    struct course c;
    struct world w = decoding(32);
    w.demand = 100;
    begin(&c, &usual, 32, 4);
    run(&c, &w, 100);
    cr_assert(c.workers <= 3, "%u", c.workers);
    w.demand = 0;
    run(&c, &w, 40); /* 20 s */
    cr_assert_eq(c.workers, 32);
}

Test(balance, an_uneven_consumer_gets_slots) {
    struct course c;
    struct world w = decoding(4);
    w.demand = 400;
    w.jitter = 0.15;
    begin(&c, &usual, 4, 4);
    run(&c, &w, 100);
    cr_assert_eq(c.slots, 10);
    cr_assert_eq(c.workers, 4);
    w.jitter = 0;
    w.demand = 200;
    run(&c, &w, 2000);
    cr_assert_eq(c.slots, 4);
    run(&c, &w, 2000);
    cr_assert_eq(c.changes, 0);
}

/* Twenty looks of training in which the workers are the bound, then a long step: validation, say. */
Test(balance, a_pause_now_and_then_gets_slots_and_parks_nobody) {
    struct course c;
    struct world w = decoding(4);
    begin(&c, &usual, 4, 4);
    for (int round = 0; round < 20; round++) {
        run(&c, &w, 20);
        cr_assert_eq(c.least_workers, 4);
        struct balance_sight s = see(&c, &w);
        s.seconds = 5;
        s.sleep = 4.5 * c.workers;
        s.wait = 0.02;
        struct balance_aim aim = balance_look(&c.balance, &s);
        c.workers = aim.workers;
        c.slots = aim.slots;
    }
    cr_assert_eq(c.workers, 4);
    cr_assert_eq(c.slots, 10);
}

Test(balance, memory_sets_the_end) {
    struct course c;
    struct world w = decoding(8);
    w.storage_ms = 30;
    w.room_bytes = 9; /* not one more worker */
    begin(&c, &usual, 4, 4);
    run(&c, &w, 1000);
    cr_assert_eq(c.changes, 0);
    w.room_bytes = 10;
    run(&c, &w, 3);
    cr_assert_eq(c.workers, 5);

    w = decoding(4);
    w.demand = 400;
    w.jitter = 0.15;
    w.room_bytes = 19;
    begin(&c, &usual, 4, 4);
    run(&c, &w, 1000);
    cr_assert_eq(c.slots, 4);
}

Test(balance, what_cannot_be_had_is_asked_for_ever_more_seldom) {
    struct course c;
    struct world w = decoding(8);
    w.storage_ms = 30;
    w.refuse_above = 6;
    begin(&c, &usual, 6, 4);
    run(&c, &w, 2000);
    cr_assert_eq(c.workers, 6);
    cr_assert(c.changes <= 20, "%u", c.changes);
}

Test(balance, what_is_fixed_stays) {
    static const struct balance_limits fixed = {3, 3, 5, 5, 1, 1};
    struct world worlds[4] = {decoding(8), decoding(2), decoding(4), decoding(4)};
    worlds[0].storage_ms = 30;
    worlds[2].demand = 10;
    worlds[3].demand = 300;
    worlds[3].jitter = 0.2;
    for (int i = 0; i < 4; i++) {
        struct course c;
        begin(&c, &fixed, 3, 5);
        run(&c, &worlds[i], 300);
        worlds[i].cores *= 2;
        run(&c, &worlds[i], 300);
        cr_assert_eq(c.workers, 3);
        cr_assert_eq(c.slots, 5);
        cr_assert_eq(c.changes, 0);
    }
}

Test(balance, other_cores_are_followed) {
    struct course c;
    struct world w = decoding(8);
    begin(&c, &usual, 8, 4);
    run(&c, &w, 20);
    w.cores = 2;
    run(&c, &w, 2);
    cr_assert_eq(c.workers, 2);
    w.cores = 16;
    run(&c, &w, 2);
    cr_assert_eq(c.workers, 16);
    run(&c, &w, 500);
    cr_assert_eq(c.changes, 0);
    w.cores = 1;
    run(&c, &w, 500);
    cr_assert_eq(c.workers, 1);
}
