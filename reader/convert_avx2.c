#include "convert.h"

#include <immintrin.h>

#define X (-1)

static inline __m256i load256(const uint8_t *p) {
    return _mm256_loadu_si256((const __m256i *)(const void *)p);
}
static inline void store256(uint8_t *p, __m256i v) {
    _mm256_storeu_si256((__m256i *)(void *)p, v);
}

static inline __m256i two_lanes(const uint8_t *low, const uint8_t *high) {
    return _mm256_inserti128_si256(_mm256_castsi128_si256(_mm_loadu_si128((const __m128i *)(const void *)low)),
                                   _mm_loadu_si128((const __m128i *)(const void *)high), 1);
}

static inline __m256i both(__m128i v) {
    return _mm256_broadcastsi128_si256(v);
}

static inline __m256i pick3(__m256i a, __m256i b, __m256i c, __m128i from_a, __m128i from_b, __m128i from_c) {
    return _mm256_or_si256(_mm256_or_si256(_mm256_shuffle_epi8(a, both(from_a)), _mm256_shuffle_epi8(b, both(from_b))),
                           _mm256_shuffle_epi8(c, both(from_c)));
}

/* 32 pixels at a time, 16 in each half of the registers. */
void convert_split_avx2(uint8_t *const planes[3], const uint8_t *interleaved, size_t count) {
    size_t i = 0;
    for (; i + 32 <= count; i += 32) {
        const uint8_t *const p = interleaved + 3 * i;
        const __m256i a = two_lanes(p, p + 48), b = two_lanes(p + 16, p + 64), c = two_lanes(p + 32, p + 80);
        store256(planes[0] + i, pick3(a, b, c, _mm_setr_epi8(0, 3, 6, 9, 12, 15, X, X, X, X, X, X, X, X, X, X),
                                      _mm_setr_epi8(X, X, X, X, X, X, 2, 5, 8, 11, 14, X, X, X, X, X),
                                      _mm_setr_epi8(X, X, X, X, X, X, X, X, X, X, X, 1, 4, 7, 10, 13)));
        store256(planes[1] + i, pick3(a, b, c, _mm_setr_epi8(1, 4, 7, 10, 13, X, X, X, X, X, X, X, X, X, X, X),
                                      _mm_setr_epi8(X, X, X, X, X, 0, 3, 6, 9, 12, 15, X, X, X, X, X),
                                      _mm_setr_epi8(X, X, X, X, X, X, X, X, X, X, X, 2, 5, 8, 11, 14)));
        store256(planes[2] + i, pick3(a, b, c, _mm_setr_epi8(2, 5, 8, 11, 14, X, X, X, X, X, X, X, X, X, X, X),
                                      _mm_setr_epi8(X, X, X, X, X, 1, 4, 7, 10, 13, X, X, X, X, X, X),
                                      _mm_setr_epi8(X, X, X, X, X, X, X, X, X, X, 0, 3, 6, 9, 12, 15)));
    }
    uint8_t *const rest[3] = {planes[0] + i, planes[1] + i, planes[2] + i};
    convert_rows_plain.split(rest, interleaved + 3 * i, count - i);
}

static inline __m256i mirrored(__m256i v) {
    const __m128i order = _mm_setr_epi8(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
    return _mm256_permute4x64_epi64(_mm256_shuffle_epi8(v, both(order)), 0x4e);
}

void convert_reverse_avx2(uint8_t *row, size_t count) {
    size_t left = 0, right = count;
    for (; right - left >= 64; left += 32, right -= 32) {
        const __m256i a = load256(row + left), b = load256(row + right - 32);
        store256(row + left, mirrored(b));
        store256(row + right - 32, mirrored(a));
    }
    convert_rows_plain.reverse(row + left, right - left);
}

static inline __m256i blend8(const uint8_t *row, const uint8_t *other, __m256i ratio) {
    const __m256i a = _mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i *)(const void *)row));
    const __m256i b = _mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i *)(const void *)other));
    const __m256i moved = _mm256_mullo_epi32(_mm256_sub_epi32(a, b), ratio);
    return _mm256_srli_epi32(_mm256_add_epi32(_mm256_slli_epi32(b, 20), moved), 20);
}

void convert_blend_avx2(uint8_t *row, const uint8_t *other, size_t count, int32_t ratio) {
    const __m256i k = _mm256_set1_epi32(ratio);
    size_t i = 0;
    for (; i + 32 <= count; i += 32) {
        const __m256i low = _mm256_packus_epi32(blend8(row + i, other + i, k), blend8(row + i + 8, other + i + 8, k));
        const __m256i high =
            _mm256_packus_epi32(blend8(row + i + 16, other + i + 16, k), blend8(row + i + 24, other + i + 24, k));
        store256(row + i, _mm256_permutevar8x32_epi32(_mm256_packus_epi16(low, high),
                                                      _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7)));
    }
    convert_rows_plain.blend(row + i, other + i, count - i, ratio);
}

const struct convert_rows convert_rows_avx2 = {convert_split_avx2, convert_reverse_avx2, convert_blend_avx2,
                                               convert_look_up_plain};
