#include "select.h"

#include "class_names.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>

enum { LIMIT = 3000 };

static char names[LIMIT][24];
static struct sample_source made[LIMIT];

static struct split_source split_of(size_t count) {
    cr_assert_leq(count, (size_t)LIMIT);
    for (size_t i = 0; i < count; i++) {
        snprintf(names[i], sizeof names[i], "images/%06zu.jpg", i);
        made[i] = (struct sample_source){.rgb = names[i]};
    }
    return (struct split_source){.name = "train", .samples = made, .count = count, .same_as = SIZE_MAX};
}

static size_t number_of(const struct split_source *split, size_t i) {
    return (size_t)atoi(split->samples[i].rgb + 7);
}

Test(part, ranges_cover_everything_once) {
    static const size_t counts[] = {0, 1, 2, 7, 100, 2999};
    static const uint32_t parts[] = {1, 2, 3, 7, 101, SELECT_PART_LIMIT};
    for (size_t c = 0; c < 6; c++)
        for (size_t p = 0; p < 6; p++) {
            size_t next = 0;
            uint32_t step = parts[p] > 1000 ? 1 : 0; /* of the many parts only those around samples */
            for (uint32_t k = 0; k < parts[p]; k++) {
                if (step && counts[c] * k / parts[p] == counts[c] * ((uint64_t)k + 1) / parts[p])
                    continue;
                struct split_source split = split_of(counts[c]);
                select_part(&split, k, parts[p]);
                for (size_t i = 0; i < split.count; i++)
                    cr_assert_eq(number_of(&split, i), next++);
                cr_assert_leq(split.count, counts[c] / parts[p] + 1);
            }
            cr_assert_eq(next, counts[c], "%zu in %u", counts[c], parts[p]);
        }
}

Test(part, the_list_that_was_cut_has_a_hash) {
    struct source_set set = {.split_count = 1};
    uint64_t first, again, other;
    set.splits[0] = split_of(100);
    cr_assert_eq(select_hash(&first, &set), 0);
    cr_assert_eq(select_hash(&again, &set), 0);
    cr_assert_eq(first, again);
    set.splits[0].samples[99].label = "labels/000099.txt";
    cr_assert_eq(select_hash(&other, &set), 0);
    cr_assert_neq(first, other);
    set.splits[0] = split_of(99);
    cr_assert_eq(select_hash(&other, &set), 0);
    cr_assert_neq(first, other);
}

Test(fraction, takes_as_many_as_it_says) {
    static const struct {
        double fraction;
        size_t count, kept;
    } cases[] = {{1, 100, 100}, {0.5, 100, 50}, {0.001, 100, 1}, {0.501, 100, 51},
                 {0.25, 3, 1},  {1e-9, 1, 1},   {0.5, 0, 0},     {0.999999, 3000, 3000}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct split_source split = split_of(cases[i].count);
        cr_assert_eq(select_fraction(&split, cases[i].fraction), 0);
        cr_assert_eq(split.count, cases[i].kept, "%g of %zu: %zu", cases[i].fraction, cases[i].count, split.count);
        for (size_t k = 1; k < split.count; k++)
            cr_assert_lt(number_of(&split, k - 1), number_of(&split, k), "the order of names stays");
    }
}

Test(fraction, a_larger_one_holds_a_smaller_one) {
    bool small[LIMIT] = {0};
    struct split_source split = split_of(1000);
    cr_assert_eq(select_fraction(&split, 0.1), 0);
    for (size_t i = 0; i < split.count; i++)
        small[number_of(&split, i)] = true;
    split = split_of(1000);
    cr_assert_eq(select_fraction(&split, 0.3), 0);
    size_t both = 0;
    for (size_t i = 0; i < split.count; i++)
        both += small[number_of(&split, i)];
    cr_assert_eq(both, 100);
}

/* A tenth from each tenth of the names, within five standard deviations of chance. */
Test(fraction, is_fair_along_the_names) {
    struct split_source split = split_of(3000);
    size_t found[10] = {0};
    cr_assert_eq(select_fraction(&split, 0.1), 0);
    for (size_t i = 0; i < split.count; i++)
        found[number_of(&split, i) / 300]++;
    for (size_t i = 0; i < 10; i++)
        cr_assert(found[i] >= 5 && found[i] <= 55, "%zu of 300 in tenth %zu", found[i], i);
}

/* ---- --classes --------------------------------------------------------------------------------------------------- */

static struct error error;

static int parse(uint8_t bits[CLASS_FILTER_BYTES], const char *text, size_t name_count) {
    static char *items[] = {"person", "car", "traffic light"};
    struct string_list list = {items, name_count};
    error = (struct error){0};
    return class_filter_parse(bits, text, &list, &error);
}

Test(classes, by_number_and_by_name) {
    uint8_t bits[CLASS_FILTER_BYTES];
    cr_assert_eq(parse(bits, "0,2", 3), 0);
    cr_assert_eq(bits[0], 5);
    cr_assert_eq(parse(bits, "traffic light,person,person", 3), 0);
    cr_assert_eq(bits[0], 5);
    cr_assert_eq(parse(bits, "car,00", 3), 0);
    cr_assert_eq(bits[0], 3);
    static char *twins[] = {"car", "bus", "car"};
    cr_assert_eq(class_filter_parse(bits, "car", &(struct string_list){twins, 3}, NULL), 0);
    cr_assert_eq(bits[0], 5, "both classes of that name");
    cr_assert_eq(parse(bits, "65534", 0), 0);
    cr_assert_eq(bits[65534 / 8], 1 << 65534 % 8);
}

Test(classes, what_is_none_is_named) {
    uint8_t bits[CLASS_FILTER_BYTES];
    static const struct {
        const char *text;
        size_t names;
        const char *says;
    } cases[] = {
        {"0,3", 3, "no class 3: they go from 0 to 2"},
        {"99999999999999999999", 3, "no class 99999999999999999999"},
        {"65535", 0, "they go from 0 to 65534"},
        {"persn", 3, "did you mean person?"},
        {"zebra", 3, "no class zebra among the 3"},
        {"person", 0, "names no classes"},
        {"0,,2", 3, "is empty"},
        {"", 3, "is empty"},
        {"-1", 3, "no class -1"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        cr_assert_eq(parse(bits, cases[i].text, cases[i].names), ERR_INPUT, "%s", cases[i].text);
        cr_assert(strstr(error.message, cases[i].says), "%s: %s", cases[i].text, error.message);
    }
}
