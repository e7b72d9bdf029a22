/*
 * The Huffman-coded data of a baseline scan: bits in, coefficients out.
 *
 *   file ──bytes without stuffing──> window (stays in the first cache) ──64 bits at a time──> codes and values
 *
 * It reads only data that are whole and as they should be. Anything else is refused, and somebody else's to judge:
 * there are no warnings here, and nothing is repaired.
 */
#ifndef YPK_COMMON_ENTROPY_H
#define YPK_COMMON_ENTROPY_H

#include "bytes.h"
#include "huffman.h"

#include <stdbool.h>
#include <stdint.h>

enum {
    ENTROPY_MCU_BLOCKS = 6,                                      /* at most */
    ENTROPY_MCU_BYTES = ENTROPY_MCU_BLOCKS * 64 * (16 + 11) / 8, /* no MCU is longer */
    ENTROPY_WINDOW_BYTES = 8 << 10,
};

struct entropy_bits {
    uint64_t next;     /* from the highest bit on; `count` are known to be there */
    const uint8_t *at; /* in the window: the first byte that is not wholly in `next` */
    unsigned count;
};

struct entropy {
    const uint8_t *from, *from_end; /* of the file: what is not yet in the window */
    uint8_t *window_end;            /* of the bytes that are in it */
    bool at_marker;                 /* the data end there, and `from` is at a marker */
    struct entropy_bits bits;
    uint8_t window[ENTROPY_WINDOW_BYTES + ENTROPY_MCU_BYTES + 16]; /* what is behind the end is 0 or old data */
};

/* One component's part in an MCU. */
struct entropy_component {
    const struct huffman *dc, *ac;
    int predicted; /* the last DC */
};

/* data: from behind the SOS segment on. Before the first MCU, entropy_fill(). */
void entropy_begin(struct entropy *e, struct span data);

/* Makes sure that the window has a whole MCU. False if the data end before, or are not as they should be. */
bool entropy_fill(struct entropy *e);

/* One block. block[places[k]] becomes coefficient k in zigzag order, if it is coded: the others have to be 0 already.
 * False for a code that is refused. */
bool entropy_block(struct entropy_bits *bits, struct entropy_component *c, int16_t *block, const uint8_t places[64]);

/* Passes the restart marker that has to be next. The DC predictions are the caller's. */
bool entropy_restart(struct entropy *e, unsigned number);

/* True if the data end here, to the bit, with an EOI marker. */
bool entropy_at_end(struct entropy *e);

#endif
