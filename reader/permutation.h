/*
 * A keyed permutation of 0 … count - 1, computed at one point: no table, nothing to build, nothing shared.
 *
 * Up to PERMUTATION_SMALL a swap-or-not shuffle (V. Hoang, B. Morris, P. Rogaway, "An enciphering scheme based on a
 * card shuffle", CRYPTO 2012): each round pairs x with K - x mod count and swaps the pair or not by one keyed bit. It
 * works for any count with no cycle walking and is close to uniform over all permutations even for a handful of
 * elements, where Feistel networks are poor; a shuffled table would be as good, but each thread would need its own for
 * each epoch at hand. Above, where those rounds would cost more than the chance they give, a Feistel network over Z_a x
 * Z_b (J. Black, P. Rogaway, "Ciphers with arbitrary finite domains", CT-RSA 2002) with a * b just over count, so that
 * walking the cycle back below count is rare.
 */
#ifndef YPK_READER_PERMUTATION_H
#define YPK_READER_PERMUTATION_H

#include <stdint.h>

#define PERMUTATION_LIMIT (UINT64_C(1) << 32) /* largest count */
#define PERMUTATION_SMALL 4096u

struct permutation {
    uint64_t count; /* 1 … PERMUTATION_LIMIT */
    uint64_t key[2];
    uint64_t left, right; /* Feistel halves: left * right >= count */
};

void permutation_init(struct permutation *out, uint64_t count, const uint64_t key[2]);

/* Another permutation of the same count. */
static inline void permutation_rekey(struct permutation *p, const uint64_t key[2]) {
    p->key[0] = key[0];
    p->key[1] = key[1];
}

/* Where `index` (< count) goes. */
uint64_t permutation_at(const struct permutation *p, uint64_t index);

/* The two methods by name, for tests; both are right for every count (swap-or-not: below PERMUTATION_LIMIT). */
uint64_t permutation_swap_or_not(const struct permutation *p, uint64_t index);
uint64_t permutation_feistel(const struct permutation *p, uint64_t index);

#endif
