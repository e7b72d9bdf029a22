#include "resize_rows.h"

#include <immintrin.h>
#include <string.h>

static void horizontal(int16_t *dst, const uint8_t *src, const struct resize_columns *columns, int groups) {
    for (int g = 0; g < groups; g++) {
        const __m128i pixels = _mm_loadu_si128((const __m128i *)(const void *)(src + columns->base[g]));
        const __m128i shuffle = _mm_loadu_si128((const __m128i *)(const void *)(columns->shuffle + 16 * g));
        const __m256i taps = _mm256_cvtepu8_epi16(_mm_shuffle_epi8(pixels, shuffle));
        const __m256i weights = _mm256_loadu_si256((const __m256i *)(const void *)(columns->weight + 16 * g));
        const __m256i sums = _mm256_srli_epi32(_mm256_madd_epi16(taps, weights), 4);
        _mm_storeu_si128((__m128i *)(void *)(dst + RESIZE_GROUP * g),
                         _mm_packs_epi32(_mm256_castsi256_si128(sums), _mm256_extracti128_si256(sums, 1)));
    }
}

static inline __m256i vertical16(const int16_t *upper, const int16_t *lower, __m256i above, __m256i below) {
    const __m256i u = _mm256_mulhi_epi16(_mm256_loadu_si256((const __m256i *)(const void *)upper), above);
    const __m256i l = _mm256_mulhi_epi16(_mm256_loadu_si256((const __m256i *)(const void *)lower), below);
    return _mm256_srai_epi16(_mm256_add_epi16(_mm256_add_epi16(u, l), _mm256_set1_epi16(2)), 2);
}

static void vertical(uint8_t *dst, const int16_t *upper, const int16_t *lower, int above, int below, int count) {
    const __m256i a = _mm256_set1_epi16((int16_t)above), b = _mm256_set1_epi16((int16_t)below);
    for (int i = 0; i < count; i += 32) {
        __m256i bytes = _mm256_packus_epi16(vertical16(upper + i, lower + i, a, b),
                                            vertical16(upper + i + 16, lower + i + 16, a, b));
        bytes = _mm256_permute4x64_epi64(bytes, 0xd8);
        if (i + 32 <= count) {
            _mm256_storeu_si256((__m256i *)(void *)(dst + i), bytes);
        } else {
            uint8_t rest[32];
            _mm256_storeu_si256((__m256i *)(void *)rest, bytes);
            memcpy(dst + i, rest, (size_t)(count - i));
        }
    }
}

const struct resize_rows resize_rows_avx2 = {horizontal, vertical};
