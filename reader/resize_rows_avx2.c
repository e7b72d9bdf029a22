#include "resize_rows.h"

#include <immintrin.h>
#include <string.h>

#define GROUP 8
#define LOAD 16

static inline __m256i load256(const void *p) {
    return _mm256_load_si256(p);
}

/* Each half of the registers has the whole load, and fetches both taps of four columns as words. */
static inline __m256i sums8(const uint8_t *source, __m256i shuffle, __m256i weight) {
    const __m256i pixels = _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)(const void *)source));
    return _mm256_srli_epi32(_mm256_madd_epi16(_mm256_shuffle_epi8(pixels, shuffle), weight), 4);
}

static inline void horizontal_channels(const struct resize_line *line, int channels,
                                       const struct resize_columns *columns, int count) {
    for (int i = 0; i < count; i += GROUP) {
        const __m256i shuffle = load256(columns->shuffle + 4 * i), weight = load256(columns->weight + 2 * i);
        for (int c = 0; c < channels; c++) {
            const __m256i sums = sums8(line->source[c] + columns->base[i / GROUP], shuffle, weight);
            _mm_store_si128((__m128i *)(void *)(line->result[c] + i),
                            _mm_packs_epi32(_mm256_castsi256_si128(sums), _mm256_extracti128_si256(sums, 1)));
        }
    }
}

static void horizontal(const struct resize_line *line, const struct resize_columns *columns, int count) {
    if (line->channels == 3)
        horizontal_channels(line, 3, columns, count);
    else
        horizontal_channels(line, 1, columns, count);
}

static inline __m256i vertical16(const int16_t *upper, const int16_t *lower, __m256i above, __m256i below) {
    const __m256i u = _mm256_mulhi_epi16(load256(upper), above), l = _mm256_mulhi_epi16(load256(lower), below);
    return _mm256_mulhrs_epi16(_mm256_add_epi16(u, l), _mm256_set1_epi16(8192)); /* (x + 2) >> 2 */
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

const struct resize_rows resize_rows_avx2 = {
    .group = GROUP, .load = LOAD, .horizontal = horizontal, .vertical = vertical};
