#include "infrared.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

enum { ONE = 1 << 20, COUNT = 65536 };

Test(infrared, nothing_to_do_changes_nothing) {
    struct infrared_jitter j;
    infrared_init(&j, false, ONE, 0, 0, 0);
    for (int i = 0; i < 256; i++)
        cr_assert_eq(j.table[i], i);
}

Test(infrared, polarity_gain_and_bias) {
    struct infrared_jitter j;
    infrared_init(&j, true, ONE, 0, 0, 0);
    cr_assert(j.table[0] == 255 && j.table[255] == 0 && j.table[100] == 155);
    infrared_init(&j, true, ONE / 2, 10 * ONE, 0, 0);
    cr_assert_eq(j.table[100], 155 / 2 + 10, "polarity comes before the gain");
    infrared_init(&j, false, 2 * ONE, -100 * ONE - 1, 0, 0);
    cr_assert(j.table[50] == 0 && j.table[51] == 1 && j.table[200] == 255, "clipped at both ends, rounded down");
    infrared_init(&j, false, INT32_MAX, INT32_MIN, INT32_MAX, 1);
    uint8_t row[2] = {0, 255};
    infrared_row(row, 2, 0, &j, &convert_rows_plain);
}

Test(infrared, noise_depends_on_place_alone) {
    static uint8_t whole[COUNT], parts[COUNT], other[COUNT];
    struct infrared_jitter j;
    infrared_init(&j, false, ONE, 0, 8 * ONE, 42);
    memset(whole, 128, COUNT), memset(parts, 128, COUNT), memset(other, 128, COUNT);
    infrared_row(whole, COUNT, 0, &j, convert_for(cpu_level()));
    for (size_t i = 0; i < COUNT; i += 1024)
        infrared_row(parts + i, 1024, i, &j, &convert_rows_plain);
    cr_assert_arr_eq(whole, parts, COUNT);
    infrared_init(&j, false, ONE, 0, 8 * ONE, 43);
    infrared_row(other, COUNT, 0, &j, &convert_rows_plain);
    cr_assert_neq(memcmp(whole, other, COUNT), 0);

    double sum = 0, squares = 0;
    for (int i = 0; i < COUNT; i++) {
        sum += whole[i] + 0.5 - 128;
        squares += (whole[i] + 0.5 - 128) * (whole[i] + 0.5 - 128);
    }
    cr_assert_lt(fabs(sum / COUNT), 0.2);
    cr_assert_lt(fabs(sqrt(squares / COUNT) - 8), 0.2);
}
