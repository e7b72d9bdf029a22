#include "huffman.h"

#include <string.h>

enum { LARGEST_DC = 11, LARGEST_AC = 10, /* bits of an 8-bit picture's values */ HIGHEST_DC = 15 };

static huffman_entry entry(unsigned code_bits, unsigned value_bits, unsigned step) {
    return (code_bits + value_bits) | code_bits << 8 | value_bits << 16 | step << 24;
}

static huffman_entry dc_entry(unsigned code_bits, unsigned symbol) {
    return symbol <= LARGEST_DC ? entry(code_bits, symbol, 0) : entry(code_bits, 0, HUFFMAN_NONE);
}

static huffman_entry ac_entry(unsigned code_bits, unsigned symbol) {
    const unsigned run = symbol >> 4, value_bits = symbol & 15;
    if (symbol == 0)
        return entry(code_bits, 0, HUFFMAN_END);
    if (value_bits > LARGEST_AC || (value_bits == 0 && run < 15))
        return entry(code_bits, 0, HUFFMAN_NONE);
    return entry(code_bits, value_bits, run + 1);
}

bool huffman_init(struct huffman *h, const uint8_t counts[17], const uint8_t symbols[256], bool is_dc) {
    uint32_t code = 0; /* the next one, with as many bits as are looked at */
    unsigned n = 0;

    memset(h, 0, sizeof *h);
    for (unsigned bits = 1; bits <= HUFFMAN_LONGEST; bits++, code <<= 1) {
        /* No code is all ones. */
        if (counts[bits] > 256 - n || (counts[bits] > 0 && code + counts[bits] >= 1u << bits))
            return false;
        h->offset[bits] = (int32_t)n - (int32_t)code;
        for (unsigned i = 0; i < counts[bits]; i++, code++, n++) {
            if (is_dc && symbols[n] > HIGHEST_DC)
                return false;
            h->symbols[n] = is_dc ? dc_entry(bits, symbols[n]) : ac_entry(bits, symbols[n]);
            for (uint32_t k = 0; bits <= HUFFMAN_BITS && k < 1u << (HUFFMAN_BITS - bits); k++)
                h->first[(code << (HUFFMAN_BITS - bits)) + k] = h->symbols[n];
        }
        h->limit[bits] = code << (HUFFMAN_LONGEST - bits);
    }
    return true;
}

huffman_entry huffman_long(const struct huffman *h, uint32_t bits) {
    for (unsigned length = HUFFMAN_BITS + 1; length <= HUFFMAN_LONGEST; length++)
        if (bits < h->limit[length])
            return h->symbols[(int32_t)(bits >> (HUFFMAN_LONGEST - length)) + h->offset[length]];
    return entry(0, 0, HUFFMAN_NONE);
}
