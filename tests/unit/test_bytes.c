#include "bytes.h"

#include "error.h"

#include <criterion/criterion.h>

Test(bytes, append_grows_and_keeps) {
    struct bytes b = {0};
    for (unsigned i = 0; i < 100000; i++) {
        uint8_t byte = (uint8_t)i;
        cr_assert_eq(bytes_append(&b, &byte, 1), 0);
    }
    cr_assert_eq(b.size, 100000);
    cr_assert_geq(b.capacity, b.size);
    for (unsigned i = 0; i < 100000; i++)
        cr_assert_eq(b.data[i], (uint8_t)i);
    bytes_deinit(&b);
    cr_assert_null(b.data);
    cr_assert_eq(b.size + b.capacity, 0);
}

Test(bytes, reserve_keeps_content_and_never_shrinks) {
    struct bytes b = {0};
    cr_assert_eq(bytes_append(&b, "abc", 3), 0);
    cr_assert_eq(bytes_reserve(&b, 1000), 0);
    cr_assert_eq(b.capacity, 1000);
    cr_assert_eq(b.size, 3);
    const uint8_t *data = b.data;
    cr_assert_eq(bytes_reserve(&b, 10), 0);
    cr_assert_eq(b.capacity, 1000);
    cr_assert_eq(b.data, data);
    cr_assert_arr_eq(b.data, "abc", 3);
    bytes_deinit(&b);
}

Test(bytes, nothing_appended_needs_no_data) {
    struct bytes b = {0};
    cr_assert_eq(bytes_append(&b, NULL, 0), 0);
    cr_assert_null(b.data);
    bytes_deinit(&b);
}

Test(bytes, a_size_that_overflows_is_refused) {
    struct bytes b = {0};
    cr_assert_eq(bytes_append(&b, "abc", 3), 0);
    cr_assert_eq(bytes_append(&b, "abc", SIZE_MAX), ERR_MEMORY);
    cr_assert_eq(bytes_append(&b, "abc", SIZE_MAX - 2), ERR_MEMORY);
    cr_assert_eq(b.size, 3);
    cr_assert_arr_eq(b.data, "abc", 3);
    bytes_deinit(&b);
}

Test(bytes, range_fits_cannot_overflow) {
    cr_assert(range_fits(0, 0, 0));
    cr_assert(range_fits(0, 10, 10));
    cr_assert(range_fits(10, 0, 10));
    cr_assert_not(range_fits(11, 0, 10));
    cr_assert_not(range_fits(1, 10, 10));
    cr_assert_not(range_fits(UINT64_MAX, 2, 10));
    cr_assert_not(range_fits(2, UINT64_MAX, 10));
    cr_assert(range_fits(UINT64_MAX, 0, UINT64_MAX));
}

Test(bytes, align_up_to_powers_of_two) {
    cr_assert_eq(align_up(0, 64), 0);
    cr_assert_eq(align_up(1, 64), 64);
    cr_assert_eq(align_up(64, 64), 64);
    cr_assert_eq(align_up(65, 4096), 4096);
}

Test(bytes, fields_are_little_endian_at_any_address) {
    uint8_t b[16] = {0};
    store_u16(b + 1, 0x0102);
    store_u32(b + 3, 0x03040506);
    store_u64(b + 7, 0x0708090a0b0c0d0e);
    cr_assert_arr_eq(b, ((uint8_t[]){0, 2, 1, 6, 5, 4, 3, 14, 13, 12, 11, 10, 9, 8, 7, 0}), 16);
    cr_assert_eq(load_u16(b + 1), 0x0102);
    cr_assert_eq(load_u32(b + 3), 0x03040506u);
    cr_assert_eq(load_u64(b + 7), 0x0708090a0b0c0d0eull);
}
