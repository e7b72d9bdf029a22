#include "resize_rows.h"

#include <immintrin.h>

#define GROUP 16
#define LOAD 64
#define LOW_BYTES UINT64_C(0x5555555555555555)

/* One shuffle over 64 bytes fetches both taps of 16 columns as words. */
static inline __m256i sums16(const uint8_t *source, __m512i shuffle, __m512i weight) {
    const __m512i taps = _mm512_maskz_permutexvar_epi8(LOW_BYTES, shuffle, _mm512_loadu_si512(source));
    return _mm512_cvtepi32_epi16(_mm512_srli_epi32(_mm512_madd_epi16(taps, weight), 4));
}

static inline void horizontal_channels(const struct resize_line *line, int channels,
                                       const struct resize_columns *columns, int count) {
    for (int i = 0; i < count; i += GROUP) {
        const __m512i shuffle = _mm512_load_si512(columns->shuffle + 4 * i);
        const __m512i weight = _mm512_load_si512(columns->weight + 2 * i);
        for (int c = 0; c < channels; c++)
            _mm256_store_si256((__m256i *)(void *)(line->result[c] + i),
                               sums16(line->source[c] + columns->base[i / GROUP], shuffle, weight));
    }
}

static void horizontal(const struct resize_line *line, const struct resize_columns *columns, int count) {
    if (line->channels == 3)
        horizontal_channels(line, 3, columns, count);
    else
        horizontal_channels(line, 1, columns, count);
}

static inline __m512i vertical32(const int16_t *upper, const int16_t *lower, __m512i above, __m512i below) {
    const __m512i u = _mm512_mulhi_epi16(_mm512_load_si512(upper), above);
    const __m512i l = _mm512_mulhi_epi16(_mm512_load_si512(lower), below);
    return _mm512_mulhrs_epi16(_mm512_add_epi16(u, l), _mm512_set1_epi16(8192)); /* (x + 2) >> 2 */
}

static void vertical(uint8_t *dst, const int16_t *upper, const int16_t *lower, int above, int below, int count) {
    const __m512i a = _mm512_set1_epi16((int16_t)above), b = _mm512_set1_epi16((int16_t)below);
    const __m512i order = _mm512_setr_epi64(0, 2, 4, 6, 1, 3, 5, 7);
    for (int i = 0; i < count; i += 64) {
        const __m512i mixed = _mm512_packus_epi16(vertical32(upper + i, lower + i, a, b),
                                                  vertical32(upper + i + 32, lower + i + 32, a, b));
        const __m512i bytes = _mm512_permutexvar_epi64(order, mixed);
        if (i + 64 <= count)
            _mm512_storeu_si512(dst + i, bytes);
        else
            _mm512_mask_storeu_epi8(dst + i, ~UINT64_C(0) >> (64 - (count - i)), bytes);
    }
}

const struct resize_rows resize_rows_avx512 = {
    .group = GROUP, .load = LOAD, .horizontal = horizontal, .vertical = vertical};
