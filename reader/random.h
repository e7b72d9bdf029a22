/*
 * Chance without state: every draw is a pure function of a key, a purpose and a position.
 *
 * The generator is Philox-4x32-10 (J. Salmon, M. Moraes, R. Dror, D. Shaw, "Parallel random numbers: as easy as 1, 2,
 * 3", SC 2011, section 3.3), written from that description. A new purpose never disturbs the draws of another.
 */
#ifndef YPK_READER_RANDOM_H
#define YPK_READER_RANDOM_H

#include <stdbool.h>
#include <stdint.h>

/* Numbers are part of every saved state: append, never renumber. */
enum random_purpose {
    RANDOM_ORDER = 1,    /* position: epoch */
    RANDOM_PARTNERS = 2, /* position: sample; so are all below unless they say otherwise */
    RANDOM_GEOMETRY = 3,
    RANDOM_COLOUR = 4,
    RANDOM_FLIP = 5,
    RANDOM_MIX = 6,
    RANDOM_BETA = 7,
    RANDOM_CUT = 8,
    RANDOM_SIDE = 9, /* position: batch */
    RANDOM_INFRARED = 10
};

struct random_block {
    uint32_t word[4];
};

/* The generator itself: counter[0] and key[0] are the least significant words. */
struct random_block philox4x32(const uint32_t counter[4], const uint32_t key[2]);

/* Block `index` of the draws for `purpose` at `position`. */
struct random_block random_draw(uint64_t seed, enum random_purpose purpose, int64_t position, uint32_t index);

/* 64 bits of a block, `half` 0 or 1. */
static inline uint64_t random_u64(const struct random_block *block, unsigned half) {
    return (uint64_t)block->word[2 * half + 1] << 32 | block->word[2 * half];
}

/* 0 … count - 1, each equally likely to within count / 2^32. */
static inline uint32_t random_below(uint32_t word, uint32_t count) {
    return (uint32_t)((uint64_t)word * count >> 32);
}

/* True with `probability` (0-1; 0 is never, 1 is always). */
static inline bool random_chance(uint32_t word, double probability) {
    return (double)word < probability * 4294967296.0;
}

/* The multiple of 2^-20 nearest to `value` (halves away from zero), times 2^20. |value| < 2^42. */
int64_t random_grid(double value);

/* Uniform in [low, high], on that grid, times 2^20. */
static inline int64_t random_uniform(uint32_t word, double low, double high) {
    return random_grid(low + (high - low) * ((double)word * 0x1p-32));
}

/* Stirs 64 bits so that each output bit depends on each input bit (the finaliser of MurmurHash3, A. Appleby, public
 * domain). */
static inline uint64_t random_mix(uint64_t x) {
    x = (x ^ x >> 33) * UINT64_C(0xff51afd7ed558ccd);
    x = (x ^ x >> 33) * UINT64_C(0xc4ceb9fe1a85ec53);
    return x ^ x >> 33;
}

#endif
