#include "huffman.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

/* The luma tables of the standard. */
static const uint8_t dc_counts[17] = {0, 0, 1, 5, 1, 1, 1, 1, 1, 1};
static const uint8_t dc_symbols[256] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};

static struct huffman *h;

static void setup(void) {
    h = malloc(sizeof *h);
    cr_assert_not_null(h);
}
static void teardown(void) {
    free(h);
}

TestSuite(huffman, .init = setup, .fini = teardown);

static huffman_entry look_up(uint32_t bits16) {
    const huffman_entry e = h->first[bits16 >> (16 - HUFFMAN_BITS)];
    return huffman_total(e) ? e : huffman_long(h, bits16);
}

Test(huffman, every_code_of_a_table) {
    cr_assert(huffman_init(h, dc_counts, dc_symbols, true));
    uint32_t code = 0;
    unsigned n = 0;
    for (unsigned bits = 1; bits <= 16; bits++, code <<= 1)
        for (unsigned i = 0; i < dc_counts[bits]; i++, code++, n++)
            for (uint32_t rest = 0; rest < 1u << (16 - bits); rest++) {
                const huffman_entry e = look_up((code << (16 - bits)) | rest);
                cr_assert_eq(huffman_code_bits(e), bits);
                cr_assert_eq(huffman_value_bits(e), dc_symbols[n]);
                cr_assert_eq(huffman_total(e), bits + dc_symbols[n]);
                cr_assert_eq(huffman_step(e), 0);
            }
    cr_assert_eq(huffman_step(look_up(0xFFFF)), HUFFMAN_NONE, "no code is all ones");
}

Test(huffman, long_codes) {
    uint8_t counts[17] = {0}, symbols[256];
    for (int bits = 1; bits <= 16; bits++)
        counts[bits] = 1; /* 0, 10, 110, ... */
    for (int i = 0; i < 256; i++)
        symbols[i] = (uint8_t)(i % 15 << 4 | 3);
    cr_assert(huffman_init(h, counts, symbols, false));
    for (unsigned bits = 1; bits <= 16; bits++) {
        const huffman_entry e = look_up((0xFFFFu << (17 - bits)) & 0xFFFF);
        cr_assert_eq(huffman_code_bits(e), bits);
        cr_assert_eq(huffman_step(e), (int)((bits - 1) % 15 + 1));
        cr_assert_eq(huffman_value_bits(e), 3);
    }
}

Test(huffman, meaning_of_ac_symbols) {
    static const uint8_t counts[17] = {0, 0, 0, 0, 7};
    static const uint8_t symbols[256] = {0x00, 0xF0, 0x0A, 0xFA, 0x0B, 0x10, 0xE0};
    static const int steps[] = {HUFFMAN_END, 16, 1, 16, HUFFMAN_NONE, HUFFMAN_NONE, HUFFMAN_NONE};
    static const unsigned bits[] = {0, 0, 10, 10, 0, 0, 0};
    cr_assert(huffman_init(h, counts, symbols, false));
    for (uint32_t i = 0; i < 7; i++) {
        cr_assert_eq(huffman_step(look_up(i << 12)), steps[i], "symbol %02x", symbols[i]);
        cr_assert_eq(huffman_value_bits(look_up(i << 12)), bits[i]);
    }
}

Test(huffman, tables_that_are_none) {
    static const uint8_t too_many[17] = {0, 2}, all_ones[17] = {0, 1, 2}, large[17] = {0, 0, 1};
    static const uint8_t full[17] = {0, 0, 0, 0, 0, 0, 0, 0, 255, 255};
    static const uint8_t symbols[256] = {16};
    cr_assert_not(huffman_init(h, too_many, symbols, false));
    cr_assert_not(huffman_init(h, all_ones, symbols, false));
    cr_assert_not(huffman_init(h, full, symbols, false), "more than 256 symbols");
    cr_assert_not(huffman_init(h, large, symbols, true), "a DC symbol over 15");
    cr_assert(huffman_init(h, large, symbols, false));
}
