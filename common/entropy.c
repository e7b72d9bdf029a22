#include "entropy.h"

#include <string.h>

enum { MARKER = 0xFF, RST0 = 0xD0, EOI = 0xD9 };

/* ---- window ------------------------------------------------------------------------------------------------------ */

/* Bits that were not consumed; negative if there were not as many as were consumed. */
static int64_t bits_left(const struct entropy *e) {
    return 8 * (e->window_end - e->bits.at) + (int64_t)e->bits.count;
}

/* Copies data without their stuffing to the window's end, until that is full or a marker comes. False if the
 * file ends. */
static bool unstuff(struct entropy *e) {
    uint8_t *to = e->window_end, *const to_end = e->window + ENTROPY_WINDOW_BYTES;
    while (to < to_end) {
        const size_t room = (size_t)(to_end - to), there = (size_t)(e->from_end - e->from);
        const uint8_t *const found = memchr(e->from, MARKER, there < room ? there : room);
        const size_t n = found ? (size_t)(found - e->from) : there < room ? there : room;
        memcpy(to, e->from, n);
        to += n;
        e->from += n;
        if (n == room)
            break;
        if (!found || e->from_end - found < 2)
            return false;
        if (found[1] != 0) {
            e->at_marker = true;
            break;
        }
        *to++ = MARKER;
        e->from += 2;
    }
    e->window_end = to;
    return true;
}

/* Moves what is left of the window to its beginning and adds to it. */
static bool slide(struct entropy *e) {
    const size_t left = (size_t)(e->window_end - e->bits.at);
    memmove(e->window, e->bits.at, left);
    e->bits.at = e->window;
    e->window_end = e->window + left;
    return unstuff(e);
}

bool entropy_fill(struct entropy *e) {
    if (e->window_end - e->bits.at >= ENTROPY_MCU_BYTES + (ptrdiff_t)sizeof e->bits.next)
        return true;
    return e->at_marker ? bits_left(e) >= 0 : slide(e);
}

void entropy_begin(struct entropy *e, struct span data) {
    e->from = data.data;
    e->from_end = data.data + data.size;
    e->bits = (struct entropy_bits){.at = e->window};
    e->window_end = e->window;
    e->at_marker = false;
    memset(e->window, 0, sizeof e->window);
}

/* True if nothing but padding is left before a marker, and that is `marker`. */
static bool at_marker(struct entropy *e, int marker) {
    if (!e->at_marker && !slide(e))
        return false;
    const int64_t left = bits_left(e);
    return e->at_marker && left >= 0 && left < 8 && e->from[1] == marker;
}

bool entropy_restart(struct entropy *e, unsigned number) {
    if (!at_marker(e, RST0 + (int)number))
        return false;
    e->from += 2;
    e->bits = (struct entropy_bits){.at = e->window};
    e->window_end = e->window;
    e->at_marker = false;
    return true;
}

bool entropy_at_end(struct entropy *e) {
    return at_marker(e, EOI);
}

/* ---- blocks ------------------------------------------------------------------------------------------------------ */

/* Makes `count` at least 56. */
static inline void refill(struct entropy_bits *b) {
    uint64_t more;
    memcpy(&more, b->at, sizeof more);
    b->next |= __builtin_bswap64(more) >> b->count;
    b->at += (63 - b->count) >> 3;
    b->count |= 56;
}

static inline huffman_entry next_entry(const struct entropy_bits *b, const struct huffman *h) {
    const huffman_entry e = h->first[b->next >> (64 - HUFFMAN_BITS)];
    if (__builtin_expect(huffman_total(e) == 0, 0))
        return huffman_long(h, (uint32_t)(b->next >> (64 - HUFFMAN_LONGEST)));
    return e;
}

/* Consumes a code and the value behind it: of n bits, with the highest one 0 for negative values, which are less by
 * 2^n - 1. Without branches, so that nothing is guessed wrong. */
static inline int take_value(struct entropy_bits *b, huffman_entry e) {
    const uint64_t value = b->next << huffman_code_bits(e);
    const int64_t negative = -(int64_t)(~value >> 63);
    const uint64_t magnitude = (value ^ (uint64_t)negative) >> 1 >> (63 - huffman_value_bits(e));
    b->next <<= huffman_total(e);
    b->count -= huffman_total(e);
    return (int)(((int64_t)magnitude ^ negative) - negative);
}

/* One coefficient of those behind the first. False at the end of the block, or at what is none of them: *k tells. */
static inline bool take_coefficient(struct entropy_bits *b, const struct huffman *ac, int *k, int16_t *block,
                                    const uint8_t places[64]) {
    const huffman_entry e = next_entry(b, ac);
    const int value = take_value(b, e);
    *k += huffman_step(e);
    if (*k > 63)
        return false;
    block[places[*k]] = (int16_t)value;
    return *k < 63;
}

bool entropy_block(struct entropy_bits *bits, struct entropy_component *c, int16_t *block, const uint8_t places[64]) {
    struct entropy_bits b = *bits;
    int k = 0;
    refill(&b);
    const huffman_entry e = next_entry(&b, c->dc);
    c->predicted += take_value(&b, e);
    block[0] = (int16_t)c->predicted;
    if (huffman_step(e) != 0 || c->predicted != block[0])
        return false;
    /* A refill is enough for two codes and their values. */
    while (take_coefficient(&b, c->ac, &k, block, places)) {
        refill(&b);
        if (!take_coefficient(&b, c->ac, &k, block, places))
            break;
    }
    *bits = b;
    return k == 63 || k >= HUFFMAN_END;
}
