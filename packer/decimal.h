/* Decimal numbers in text, exactly, whatever the locale says. */
#ifndef YPK_PACKER_DECIMAL_H
#define YPK_PACKER_DECIMAL_H

#include "bytes.h"

#include <stdbool.h>
#include <stdint.h>

#define DECIMAL_TEXT_BYTES 128u /* a longer number is refused */

/* significand * 10^exponent; `cut` if digits that are not zero follow the 19 that are kept. */
struct decimal {
    uint64_t significand;
    int exponent;
    bool negative, cut;
    struct span text;
};

/* Reads [+-] digits [. digits] [(e|E) [+-] digits] at the start of `text`, with at least one digit before the exponent.
 * Returns how many bytes it took, 0 if there is no number or a longer one than DECIMAL_TEXT_BYTES. */
size_t decimal_parse(struct decimal *out, struct span text);

/* The nearest float32, ties to even, as strtof() gives it in the C locale; infinite when out of range. */
float decimal_to_float(const struct decimal *d);

/* True, and the value in *out, if it is a whole number from 0 to `limit` (below 2^32). "2.0", "03" and "1e1" are. */
bool decimal_to_integer(const struct decimal *d, uint32_t limit, uint32_t *out);

#endif
