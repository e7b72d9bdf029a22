#include "decimal.h"

#include <criterion/criterion.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static struct span text_span(const char *text) {
    return (struct span){(const uint8_t *)text, strlen(text)};
}

static void assert_float(const char *text, float expected) {
    struct decimal d;
    cr_assert_eq(decimal_parse(&d, text_span(text)), strlen(text), "%s", text);
    float value = decimal_to_float(&d);
    cr_assert(memcmp(&value, &expected, sizeof value) == 0, "%s: %a, expected %a", text, (double)value,
              (double)expected);
}

static uint64_t random_next(uint64_t *state) {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    return *state ^= *state << 17;
}

Test(decimal, forms) {
    assert_float("0", 0.0f);
    assert_float("-0", -0.0f);
    assert_float("+.5", 0.5f);
    assert_float("5.", 5.0f);
    assert_float("1e-05", 1e-5f);
    assert_float("1E+2", 100.0f);
    assert_float("00000000000000000000000000.250000000000000000000000000", 0.25f);
    assert_float("100000000000000000000000000000000e-33", 0.1f);
    assert_float("1e400", INFINITY);
    assert_float("-1e400", -INFINITY);
    assert_float("1e-400", 0.0f);
    assert_float("0e99999999999", 0.0f);
    assert_float("1e-45", 0x1p-149f);
}

Test(decimal, stops_where_the_number_ends) {
    struct decimal d;
    cr_assert_eq(decimal_parse(&d, text_span("1.5x")), 3);
    cr_assert_eq(decimal_parse(&d, text_span("1e")), 1);
    cr_assert_eq(decimal_parse(&d, text_span("1e+ 3")), 1);
    cr_assert_eq(decimal_parse(&d, text_span("0x10")), 1);
    cr_assert_eq(decimal_parse(&d, text_span("0,5")), 1);
    static const char *const none[] = {"", ".", "-", "+.", "e5", "nan", "inf", " 1", "-e1", ".e1"};
    for (size_t i = 0; i < sizeof none / sizeof *none; i++)
        cr_assert_eq(decimal_parse(&d, text_span(none[i])), 0, "%s", none[i]);
}

Test(decimal, longer_than_the_limit_is_refused) {
    char text[DECIMAL_TEXT_BYTES + 1];
    memset(text, '1', sizeof text);
    struct decimal d;
    cr_assert_eq(decimal_parse(&d, (struct span){(uint8_t *)text, sizeof text - 1}), DECIMAL_TEXT_BYTES);
    cr_assert_eq(decimal_parse(&d, (struct span){(uint8_t *)text, sizeof text}), 0);
}

Test(decimal, halfway_cases_round_as_strtof_does) {
    /* 1 + 2^-24 lies between two floats; so do its neighbours with a digit far behind. */
    assert_float("1.000000059604644775390625", 1.0f);
    assert_float("1.0000000596046447753906250000000000000000000000001", 0x1.000002p0f);
    assert_float("1.0000000596046447753906249999999999999999999999999", 1.0f);
    assert_float("1.000000178813934326171875", 0x1.000004p0f);
}

/* A sample of what a longer run compared: printed fractions of every length, and decimals next to float boundaries. */
Test(decimal, random_numbers_equal_strtof) {
    uint64_t state = 88172645463325252u;
    setlocale(LC_ALL, "C");
    for (int i = 0; i < 300000; i++) {
        double fraction = (double)(random_next(&state) >> 11) / 9007199254740992.0;
        if (i % 3 == 1)
            fraction = ((double)(float)fraction + (double)nextafterf((float)fraction, 2)) / 2;
        char text[128];
        snprintf(text, sizeof text, i % 2 ? "%.*f" : "%.*e", (int)(random_next(&state) % 40), fraction);
        assert_float(text, strtof(text, NULL));
    }
}

Test(decimal, the_locale_has_no_say) {
    if (!setlocale(LC_ALL, "de_DE.UTF-8"))
        cr_skip("no locale with a decimal comma here");
    assert_float("0.5", 0.5f);
    assert_float("1.000000059604644775390625", 1.0f); /* the slow way */
}

Test(decimal, integers) {
    static const struct {
        const char *text;
        int64_t value;
    } cases[] = {
        {"2", 2},
        {"2.0", 2},
        {"03", 3},
        {"1e1", 10},
        {"10e-1", 1},
        {"0", 0},
        {"-0", 0},
        {"0.0e-50", 0},
        {"79.000", 79},
        {"80", -1},
        {"-1", -1},
        {"1.5", -1},
        {"1e-1", -1},
        {"1e30", -1},
        {"1.00000000000000000000001", -1},
        {"18446744073709551617", -1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct decimal d;
        uint32_t value = 0;
        cr_assert_gt(decimal_parse(&d, text_span(cases[i].text)), 0);
        bool whole = decimal_to_integer(&d, 79, &value);
        cr_assert_eq(whole, cases[i].value >= 0, "%s", cases[i].text);
        if (whole)
            cr_assert_eq(value, cases[i].value, "%s", cases[i].text);
    }
}
