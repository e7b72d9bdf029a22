#include "tune_choice.h"

#include <criterion/criterion.h>

/* A setting that got the same rate in every round. */
static struct tune_setting steady(uint32_t workers, uint32_t prefetch, double rate, uint64_t memory_bytes) {
    struct tune_setting s = {.workers = workers, .prefetch = prefetch, .memory_bytes = memory_bytes};
    for (s.rounds = 0; s.rounds < TUNE_ROUNDS; s.rounds++)
        s.rates[s.rounds] = rate;
    s.seconds = TUNE_ROUNDS;
    return s;
}

static struct tune_setting by_itself(double rate, uint64_t memory_bytes) {
    struct tune_setting s = steady(2, 4, rate, memory_bytes);
    s.automatic = true;
    return s;
}

static size_t recommended(struct tune_setting *settings, size_t count, bool has_step) {
    tune_settle(settings, count);
    return tune_recommended(settings, count, has_step);
}

Test(tune_choice, finalists_are_the_fastest_within_a_tenth_and_the_automatic_one) {
    struct tune_setting s[12];
    const double rates[12] = {50, 91, 99, 100, 92, 93, 89, 94, 95, 0, 96, 10};
    size_t out[TUNE_FINALISTS + 1];
    for (size_t i = 0; i < 12; i++)
        s[i] = (struct tune_setting){.rates = {rates[i]}, .rounds = rates[i] > 0};
    s[11].automatic = true;
    cr_assert_eq(tune_finalists(out, s, 12), TUNE_FINALISTS + 1);
    const size_t expected[] = {3, 2, 10, 8, 7, 5, 11};
    cr_assert_arr_eq(out, expected, sizeof expected);
    cr_assert_eq(tune_finalists(out, s, 3), 2, "one within a tenth of 99, and the last");
    cr_assert_eq(out[0], 1);
    cr_assert_eq(out[1], 2);
    cr_assert_eq(tune_finalists(out, s + 11, 1), 1);
    cr_assert_eq(out[0], 0);
}

Test(tune_choice, equal_rates_are_chosen_in_order) {
    struct tune_setting s[10];
    size_t out[TUNE_FINALISTS + 1];
    for (size_t i = 0; i < 10; i++)
        s[i] = (struct tune_setting){.rates = {7}, .rounds = 1};
    const size_t expected[] = {0, 1, 2, 3, 4, 5, 9};
    cr_assert_eq(tune_finalists(out, s, 10), TUNE_FINALISTS + 1);
    cr_assert_arr_eq(out, expected, sizeof expected);
}

/* The machine was busy in two rounds. Who was measured then lost half; the ratios say who is fast. */
Test(tune_choice, a_busy_round_slows_all_alike) {
    const double busy[TUNE_ROUNDS] = {1, 1, 0.5, 0.6, 1, 1};
    struct tune_setting s[3] = {steady(1, 1, 90, 10), steady(2, 1, 100, 20), by_itself(99, 30)};
    for (size_t i = 0; i < 3; i++)
        for (unsigned r = 0; r < TUNE_ROUNDS; r++)
            s[i].rates[r] *= busy[r];
    tune_settle(s, 3);
    cr_assert_float_eq(s[0].rate / s[1].rate, 0.9, 1e-9);
    cr_assert_float_eq(s[1].rate, 82, 1e-9, "100 times the mean of what the final rounds left");
    cr_assert_float_eq(tune_best_rate(s, 3), s[1].rate, 0);
    cr_assert_eq(tune_recommended(s, 3, false), 1);
}

/* One setting lost a round to something else: its median does not know. */
Test(tune_choice, one_bad_measurement_does_not_decide) {
    struct tune_setting s[3] = {steady(1, 1, 100, 10), steady(2, 1, 100, 20), by_itself(100, 30)};
    s[0].rates[2] = 20;
    cr_assert_eq(recommended(s, 3, false), 0);
    s[0].rates[2] = 500; /* nor one that is too good */
    tune_settle(s, 3);
    cr_assert_float_eq(s[0].rate / s[1].rate, 1, 1e-9);
}

Test(tune_choice, the_least_memory_of_the_good_ones_then_the_fewest_workers) {
    struct tune_setting s[5] = {steady(1, 1, 97.9, 5), steady(4, 1, 98.1, 20), steady(2, 2, 99, 20),
                                steady(2, 4, 100, 40), by_itself(99.5, 20)};
    cr_assert_eq(recommended(s, 5, false), 2);
    s[1].memory_bytes = 19;
    cr_assert_eq(recommended(s, 5, false), 1);
    s[4].memory_bytes = 18;
    cr_assert_eq(recommended(s, 5, false), 4, "what the loader chose by itself may be the one");
}

Test(tune_choice, one_round_is_not_enough) {
    struct tune_setting s[3] = {steady(1, 1, 200, 5), steady(2, 1, 100, 20), by_itself(90, 30)};
    s[0].rounds = 1;
    cr_assert_eq(recommended(s, 3, false), 1);
    cr_assert_float_eq(s[0].rate, 200, 0);
    s[1].rounds = TUNE_ROUNDS - 1; /* memory was short once */
    cr_assert_eq(recommended(s, 3, false), 2);
}

Test(tune_choice, with_a_step_what_hardly_waits_is_good) {
    struct tune_setting s[3] = {steady(1, 1, 90, 5), steady(2, 1, 100, 20), by_itself(100, 30)};
    s[0].wait_seconds = 0.009 * s[0].seconds;
    s[1].wait_seconds = s[2].wait_seconds = 0;
    cr_assert_eq(recommended(s, 3, true), 0);
    cr_assert_eq(recommended(s, 3, false), 1, "without a step waiting is no measure");
    s[0].wait_seconds = 0.011 * s[0].seconds;
    cr_assert_eq(recommended(s, 3, true), 1);
}

Test(tune_choice, nothing_was_measured) {
    struct tune_setting s[2] = {{.workers = 1}, {.automatic = true}};
    tune_settle(s, 2);
    cr_assert_eq(tune_recommended(s, 2, true), 1);
    cr_assert_float_eq(tune_best_rate(s, 2), 0, 0);
    cr_assert_float_eq(tune_wait_ratio(&s[0]), 0, 0);
}
