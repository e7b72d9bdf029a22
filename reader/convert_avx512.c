#include "convert.h"

#include <immintrin.h>

/* Two shuffles, each over half of the table: they look at seven bits, the mask at the eighth. */
static void look_up(uint8_t *row, size_t count, const uint8_t table[256]) {
    const __m512i a = _mm512_loadu_si512(table), b = _mm512_loadu_si512(table + 64);
    const __m512i c = _mm512_loadu_si512(table + 128), d = _mm512_loadu_si512(table + 192);
    for (size_t i = 0; i < count; i += 64) {
        const __mmask64 mask = ~UINT64_C(0) >> (count - i < 64 ? 64 - (count - i) : 0);
        const __m512i at = _mm512_maskz_loadu_epi8(mask, row + i);
        const __m512i low = _mm512_permutex2var_epi8(a, at, b), high = _mm512_permutex2var_epi8(c, at, d);
        _mm512_mask_storeu_epi8(row + i, mask, _mm512_mask_mov_epi8(low, _mm512_movepi8_mask(at), high));
    }
}

const struct convert_rows convert_rows_avx512 = {convert_split_avx2, convert_reverse_avx2, convert_blend_avx2, look_up};
