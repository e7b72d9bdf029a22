#include "entropy.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

/* DC and AC codes of four bits: DC 0000 is a difference of 0, 0001 one bit; AC 0000 ends the block, 0001 is one bit. */
static const uint8_t counts[17] = {0, 0, 0, 0, 2};
static const uint8_t symbols[256] = {0x00, 0x01};

static struct huffman dc, ac;
static struct entropy *e;
static struct entropy_component component;
static uint8_t places[64];

static void setup(void) {
    e = malloc(sizeof *e);
    cr_assert(e && huffman_init(&dc, counts, symbols, true) && huffman_init(&ac, counts, symbols, false));
    component = (struct entropy_component){&dc, &ac, 0};
    for (uint8_t i = 0; i < 64; i++)
        places[i] = i;
}
static void teardown(void) {
    free(e);
}

TestSuite(entropy, .init = setup, .fini = teardown);

/* A block of its own memory, so that sanitizers see what is read and written. */
static bool next_block(int16_t block[64]) {
    memset(block, 0, 64 * sizeof *block);
    return entropy_fill(e) && entropy_block(&e->bits, &component, block, places);
}

static void begin(const uint8_t *data, size_t size) {
    component.predicted = 0;
    entropy_begin(e, (struct span){data, size});
}

Test(entropy, values_and_places) {
    /* DC +1, AC -1, +1, end: 0001 1, 0001 0, 0001 1, 0000, padding 1; then DC 0, end; EOI */
    static const uint8_t data[] = {0x18, 0x86, 0x1F, 0xFF, 0xD9}; /* 00011 00010 00011 0000 + 11111 */
    int16_t block[64];
    begin(data, sizeof data);
    cr_assert(next_block(block));
    cr_assert_eq(block[0], 1);
    cr_assert_eq(block[1], -1);
    cr_assert_eq(block[2], 1);
    cr_assert_eq(block[3], 0);
    cr_assert(entropy_at_end(e));
}

Test(entropy, all_63_coefficients_have_no_end) {
    /* 0000, then 63 times 0001 1: 319 bits, and one of padding */
    uint8_t data[42] = {0};
    int16_t block[64];
    for (int i = 0; i < 63; i++)
        for (int bit = 3; bit < 5; bit++)
            data[(4 + 5 * i + bit) / 8] |= (uint8_t)(0x80 >> (4 + 5 * i + bit) % 8);
    data[39] |= 1;
    data[40] = 0xFF;
    data[41] = 0xD9;
    begin(data, sizeof data);
    cr_assert(next_block(block));
    for (int i = 1; i < 64; i++)
        cr_assert_eq(block[i], 1);
    cr_assert(entropy_at_end(e));
}

Test(entropy, ends) {
    static const struct {
        uint8_t data[6];
        size_t size;
        bool block, end;
    } cases[] = {
        {{0x00, 0xFF, 0xD9}, 3, true, true},
        {{0x00, 0xFF, 0xD8}, 3, true, false},        /* another marker */
        {{0x00, 0x00, 0xFF, 0xD9}, 4, true, false},  /* a byte too many */
        {{0x00, 0xFF, 0xFF, 0xD9}, 4, true, false},  /* fill bytes are the library's */
        {{0xFF, 0xD9}, 2, true, false},              /* a byte too few, which reads as 0 */
        {{0x00}, 1, false, false},                   /* no marker */
        {{0x00, 0xFF}, 2, false, false},             /* half of one */
        {{0xFF, 0x00, 0xFF, 0xD9}, 4, false, false}, /* no such code */
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        uint8_t *data = malloc(cases[i].size);
        int16_t block[64];
        memcpy(data, cases[i].data, cases[i].size);
        begin(data, cases[i].size);
        bool decoded = next_block(block);
        cr_assert_eq(decoded, cases[i].block, "case %zu", i);
        cr_assert_eq(decoded && entropy_at_end(e), cases[i].end, "case %zu", i);
        free(data);
    }
}

Test(entropy, restart_markers) {
    static const uint8_t data[] = {0x00, 0xFF, 0xD0, 0x00, 0xFF, 0xD1, 0x00, 0xFF, 0xD9};
    int16_t block[64];
    begin(data, sizeof data);
    cr_assert(next_block(block));
    cr_assert_not(entropy_at_end(e));
    cr_assert_not(entropy_restart(e, 1));
    cr_assert(entropy_restart(e, 0));
    cr_assert(next_block(block));
    cr_assert(entropy_restart(e, 1));
    cr_assert(next_block(block));
    cr_assert_not(entropy_restart(e, 2));
    cr_assert(entropy_at_end(e));
}

/* Writes bits as a scan has them: a byte of ones is followed by one of zeros. */
struct writer {
    uint8_t *data;
    size_t size;
    uint32_t bits;
    int count;
};

static void put_bits(struct writer *w, uint32_t value, int count) {
    while (count-- > 0) {
        w->bits = w->bits << 1 | (value >> count & 1);
        if (++w->count % 8 != 0)
            continue;
        w->data[w->size++] = (uint8_t)w->bits;
        if ((w->bits & 0xFF) == 0xFF)
            w->data[w->size++] = 0;
    }
}

/* More than a window, with stuffed bytes at many places of it. */
Test(entropy, long_data) {
    enum { BLOCKS = 60000, VALUE = 1023 };
    static const uint8_t wide[256] = {0x00, 0x0A};
    struct writer w = {.data = malloc(6 * BLOCKS)};
    int16_t block[64];
    cr_assert(w.data && huffman_init(&dc, counts, wide, true));
    for (int i = 0; i < BLOCKS; i++) /* DC +1023 or -1023, end */
        put_bits(&w, 1u << 14 | (i % 2 == 0 ? VALUE : 0u) << 4, 18);
    put_bits(&w, 0x7F, 7 - (w.count + 7) % 8);
    w.data[w.size++] = 0xFF;
    w.data[w.size++] = 0xD9;
    cr_assert_gt(w.size, BLOCKS * 18 / 8 + 1000);
    begin(w.data, w.size);
    for (int i = 0; i < BLOCKS; i++) {
        cr_assert(next_block(block), "block %d", i);
        cr_assert_eq(block[0], i % 2 == 0 ? VALUE : 0, "block %d", i);
    }
    cr_assert(entropy_at_end(e));
    free(w.data);
}
