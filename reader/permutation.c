#include "permutation.h"

#include "random.h"

/* Chi-square tests of counts 5 to 128 fail with 8 swap-or-not rounds and pass with 16; with 12 Feistel rounds they
 * fail at 5 and pass with 14. Feistel rounds are even, so that the halves end in place. */
enum { SWAP_ROUNDS = 48, FEISTEL_ROUNDS = 16 };

#define ROUND_STEP UINT64_C(0x9E3779B97F4A7C15)

/* The smallest root with root * root >= count. */
static uint64_t root_above(uint64_t count) {
    uint64_t root = 0;
    for (uint64_t bit = UINT64_C(1) << 16; bit > 0; bit >>= 1) {
        if ((root + bit) * (root + bit) < count) {
            root += bit;
        }
    }
    return root + 1;
}

void permutation_init(struct permutation *out, uint64_t count, const uint64_t key[2]) {
    out->count = count;
    permutation_rekey(out, key);
    out->left = root_above(count);
    out->right = (count + out->left - 1) / out->left;
}

uint64_t permutation_swap_or_not(const struct permutation *p, uint64_t index) {
    uint32_t count = (uint32_t)p->count, x = (uint32_t)index;
    uint64_t round_key = p->key[0];
    for (int round = 0; round < SWAP_ROUNDS; round++) {
        round_key += ROUND_STEP;
        uint64_t stirred = random_mix(round_key);
        uint32_t mirror = random_below((uint32_t)(stirred >> 32), count);
        uint32_t partner = mirror >= x ? mirror - x : mirror + (count - x);
        uint32_t larger = x > partner ? x : partner;
        x = random_mix(stirred ^ p->key[1] ^ larger) >> 63 ? partner : x;
    }
    return x;
}

/* Both halves are at most 2^16: 32 stirred bits scale to them with a bias of 2^-16 at worst. */
static uint64_t feistel_round(uint64_t half, uint64_t other, uint64_t modulus, uint64_t round_key) {
    uint64_t sum = half + ((random_mix(other ^ round_key) >> 32) * modulus >> 32);
    return sum >= modulus ? sum - modulus : sum;
}

uint64_t permutation_feistel(const struct permutation *p, uint64_t index) {
    do {
        uint64_t left = index % p->left, right = index / p->left, round_key = p->key[0];
        for (int round = 0; round < FEISTEL_ROUNDS; round += 2) {
            round_key += ROUND_STEP;
            left = feistel_round(left, right, p->left, random_mix(round_key) ^ p->key[1]);
            round_key += ROUND_STEP;
            right = feistel_round(right, left, p->right, random_mix(round_key) ^ p->key[1]);
        }
        index = right * p->left + left;
    } while (index >= p->count);
    return index;
}

uint64_t permutation_at(const struct permutation *p, uint64_t index) {
    return p->count <= PERMUTATION_SMALL ? permutation_swap_or_not(p, index) : permutation_feistel(p, index);
}
