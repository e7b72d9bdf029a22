/* From 16-bit counts to the 8 bits that training sees, once, when packing. */
#ifndef YPK_PACKER_NORMALISE_H
#define YPK_PACKER_NORMALISE_H

#include "error.h"
#include "pixels.h"

enum normalise_kind { NORMALISE_PERCENTILE, NORMALISE_MINMAX, NORMALISE_RANGE };

/* --ir-norm: percentile:LOW,HIGH (percent of the picture's samples), minmax, or range:LOW,HIGH (counts). */
struct normalise {
    enum normalise_kind kind;
    double low, high;
};

/* Reads the option's text. ERR_ARGUMENT says what is allowed. */
int normalise_parse(struct normalise *out, const char *text, struct error *error);

/* The counts that become 0 and 255. */
int normalise_range(const struct pixels *in, const struct normalise *rule, uint32_t *low, uint32_t *high,
                    struct error *error);

/* A new 8-bit picture: v -> (v - low) * 255 / (high - low), rounded half up, clamped to 0-255. low and high are counts:
 * given (range), the extremes (minmax), or for percentile:L,H the smallest counts that L % and H % of the samples do
 * not exceed. A picture of one value becomes 0. Integer arithmetic. */
int normalise_to_8bit(struct pixels *out, const struct pixels *in, const struct normalise *rule, struct error *error);

/* A new 8-bit picture of the high bytes: the rule for 16-bit RGB, as cv2.imread has it. */
int pixels_high_bytes(struct pixels *out, const struct pixels *in, struct error *error);

#endif
