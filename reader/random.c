#include "random.h"

#include <float.h>

#if FLT_EVAL_METHOD != 0
#error "recipes need plain double arithmetic: use -mfpmath=sse or its like"
#endif

enum { PHILOX_ROUNDS = 10 };

struct random_block philox4x32(const uint32_t counter[4], const uint32_t key[2]) {
    uint32_t c0 = counter[0], c1 = counter[1], c2 = counter[2], c3 = counter[3], k0 = key[0], k1 = key[1];
    for (int round = 0; round < PHILOX_ROUNDS; round++) {
        uint64_t a = UINT64_C(0xD2511F53) * c0, b = UINT64_C(0xCD9E8D57) * c2;
        c0 = (uint32_t)(b >> 32) ^ c1 ^ k0;
        c1 = (uint32_t)b;
        c2 = (uint32_t)(a >> 32) ^ c3 ^ k1;
        c3 = (uint32_t)a;
        k0 += UINT32_C(0x9E3779B9);
        k1 += UINT32_C(0xBB67AE85);
    }
    return (struct random_block){{c0, c1, c2, c3}};
}

struct random_block random_draw(uint64_t seed, enum random_purpose purpose, int64_t position, uint32_t index) {
    uint64_t place = (uint64_t)position;
    const uint32_t counter[4] = {(uint32_t)place, (uint32_t)(place >> 32), index, (uint32_t)purpose};
    const uint32_t key[2] = {(uint32_t)seed, (uint32_t)(seed >> 32)};
    return philox4x32(counter, key);
}

int64_t random_grid(double value) {
    double scaled = value * 0x1p20;
    return (int64_t)(scaled < 0 ? scaled - 0.5 : scaled + 0.5);
}
