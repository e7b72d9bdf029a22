#include "random.h"

#include <criterion/criterion.h>

/* The known answers that the authors of Philox publish with their library (philox4x32, 10 rounds). */
Test(random, philox_known_answers) {
    static const struct {
        uint32_t counter[4], key[2], answer[4];
    } known[] = {
        {{0, 0, 0, 0}, {0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
        {{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff},
         {0xffffffff, 0xffffffff},
         {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
        {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
         {0xa4093822, 0x299f31d0},
         {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        struct random_block block = philox4x32(known[i].counter, known[i].key);
        for (int w = 0; w < 4; w++) {
            cr_assert_eq(block.word[w], known[i].answer[w], "vector %zu, word %d: %08x", i, w, block.word[w]);
        }
    }
}

Test(random, draws_differ_by_every_part_of_their_key) {
    struct random_block base = random_draw(7, RANDOM_FLIP, 100, 0);
    const struct random_block other[] = {
        random_draw(8, RANDOM_FLIP, 100, 0),  random_draw(7 + (UINT64_C(1) << 32), RANDOM_FLIP, 100, 0),
        random_draw(7, RANDOM_MIX, 100, 0),   random_draw(7, RANDOM_FLIP, 101, 0),
        random_draw(7, RANDOM_FLIP, -100, 0), random_draw(7, RANDOM_FLIP, 100 + (INT64_C(1) << 32), 0),
        random_draw(7, RANDOM_FLIP, 100, 1),
    };
    for (size_t i = 0; i < sizeof other / sizeof *other; i++) {
        cr_assert_neq(random_u64(&base, 0), random_u64(&other[i], 0), "%zu", i);
    }
    struct random_block again = random_draw(7, RANDOM_FLIP, 100, 0);
    cr_assert_arr_eq(base.word, again.word, sizeof base.word);
}

Test(random, below_stays_below) {
    cr_assert_eq(random_below(0, 5), 0);
    cr_assert_eq(random_below(UINT32_MAX, 5), 4);
    cr_assert_eq(random_below(UINT32_MAX, 1), 0);
    cr_assert_eq(random_below(UINT32_MAX, UINT32_MAX), UINT32_MAX - 1);
}

Test(random, chance_is_certain_at_its_ends) {
    cr_assert_not(random_chance(0, 0));
    cr_assert(random_chance(UINT32_MAX, 1));
    cr_assert(random_chance(0x7fffffff, 0.5));
    cr_assert_not(random_chance(0x80000000, 0.5));
}

Test(random, grid_rounds_to_the_nearest) {
    cr_assert_eq(random_grid(0), 0);
    cr_assert_eq(random_grid(-0.0), 0);
    cr_assert_eq(random_grid(1), 1 << 20);
    cr_assert_eq(random_grid(-1.5), -(3 << 19));
    cr_assert_eq(random_grid(0x1p-21), 1);
    cr_assert_eq(random_grid(-0x1p-21), -1);
    cr_assert_eq(random_grid(0x1.fp-22), 0);
    cr_assert_eq(random_grid(65536.0), INT64_C(1) << 36);
}

Test(random, uniform_covers_its_interval) {
    cr_assert_eq(random_uniform(0, -2, 2), -(2 << 20));
    cr_assert_eq(random_uniform(0x80000000, -2, 2), 0);
    cr_assert_leq(random_uniform(UINT32_MAX, -2, 2), 2 << 20);
    cr_assert_eq(random_uniform(12345, 0, 0), 0);
}

/* Each bit of each word is set about half the time, over positions that differ by one. */
Test(random, bits_are_balanced) {
    enum { DRAWS = 20000 };
    int set[4][32] = {{0}};
    for (int i = 0; i < DRAWS; i++) {
        struct random_block block = random_draw(1, RANDOM_COLOUR, i, 0);
        for (int w = 0; w < 4; w++) {
            for (int bit = 0; bit < 32; bit++) {
                set[w][bit] += block.word[w] >> bit & 1;
            }
        }
    }
    for (int w = 0; w < 4; w++) {
        for (int bit = 0; bit < 32; bit++) { /* 4.5 standard deviations of 70.7 */
            cr_assert(abs(set[w][bit] - DRAWS / 2) < 318, "word %d bit %d: %d of %d", w, bit, set[w][bit], DRAWS);
        }
    }
}
