/*
 * Huffman tables of JPEG for decoding: what the next bits of a scan mean, in one look-up for codes up to HUFFMAN_BITS
 * long.
 */
#ifndef YPK_COMMON_HUFFMAN_H
#define YPK_COMMON_HUFFMAN_H

#include <stdbool.h>
#include <stdint.h>

enum { HUFFMAN_BITS = 9, HUFFMAN_LONGEST = 16 };

/*
 * One symbol, as four bytes: bits of the code and of the value behind it, bits of the code, bits of the value, and how
 * far the place in the block moves (run + 1). A step of HUFFMAN_END or more leaves the block: at its end if that bit is
 * set, else because there is no such code, or none that this decoder takes.
 */
typedef uint32_t huffman_entry;
enum { HUFFMAN_NONE = 64, HUFFMAN_END = 128 };

static inline unsigned huffman_total(huffman_entry e) {
    return e & 63;
}
static inline unsigned huffman_code_bits(huffman_entry e) {
    return e >> 8 & 63;
}
static inline unsigned huffman_value_bits(huffman_entry e) {
    return e >> 16 & 63;
}
static inline int huffman_step(huffman_entry e) {
    return (int)(e >> 24);
}

struct huffman {
    huffman_entry first[1 << HUFFMAN_BITS]; /* by the next bits; total 0: the code is longer, or there is none */
    uint32_t limit[HUFFMAN_LONGEST + 1];    /* of each length: one past its last code, as the first of 16 bits */
    int32_t offset[HUFFMAN_LONGEST + 1];    /* from a code to its place in `symbols` */
    huffman_entry symbols[256];             /* in the order of their codes */
};

/* From the counts of codes of each length (counts[1] … counts[16]) and their symbols, as a DHT segment has them. A DC
 * table has symbols of at most 11 bits of value; in an AC table they are run and bits of the value (at most 10), end of
 * block and a run of 16. Other symbols are not taken when they come. False for a table that libjpeg refuses. */
bool huffman_init(struct huffman *h, const uint8_t counts[17], const uint8_t symbols[256], bool is_dc);

/* The entry of a code that is longer than HUFFMAN_BITS. `bits` are the next 16. */
huffman_entry huffman_long(const struct huffman *h, uint32_t bits);

#endif
