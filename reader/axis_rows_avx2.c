#include "axis_rows.h"

#include <immintrin.h>
#include <string.h>

#define GROUP 8
#define REACH 16

static inline __m128i load128(const void *p) {
    return _mm_loadu_si128(p);
}
static inline __m256i load256(const void *p) {
    return _mm256_loadu_si256(p);
}

static inline void resample8(uint16_t *dst, const uint8_t *src, const struct axis_columns *columns, int group) {
    const __m128i taps = _mm_shuffle_epi8(load128(src), load128(columns->shuffle + 2 * GROUP * group));
    _mm_store_si128((__m128i *)(void *)(dst + GROUP * group),
                    _mm_maddubs_epi16(taps, load128(columns->weight + 2 * GROUP * group)));
}

/* The part of a line that a group loads, put together. */
static void load_line(uint8_t out[REACH], const struct axis_line *line, int plane, int from) {
    memset(out, line->fill, REACH);
    for (int i = 0; i < line->piece_count; i++) {
        const struct axis_piece *const piece = &line->piece[i];
        const int left = piece->from > from ? piece->from : from;
        const int right = piece->to < from + REACH ? piece->to : from + REACH;
        if (left < right)
            memcpy(out + (left - from), piece->plane[plane] + (left - piece->from), (size_t)(right - left));
    }
}

static void resample(uint16_t *dst, size_t pitch, const struct axis_line *line, const struct axis_columns *columns,
                     int begin, int end) {
    for (int g = begin; g < end; g++)
        for (int p = 0; p < line->plane_count; p++) {
            uint8_t pixels[REACH];
            load_line(pixels, line, p, columns->base[g]);
            resample8(dst + (size_t)p * pitch, pixels, columns, g);
        }
}

/* Two groups, one in each half of the registers. */
static inline void resample16(uint16_t *dst, const uint8_t *src, int second, __m256i shuffle, __m256i weight) {
    const __m256i pixels = _mm256_inserti128_si256(_mm256_castsi128_si256(load128(src)), load128(src + second), 1);
    _mm256_storeu_si256((__m256i *)(void *)dst, _mm256_maddubs_epi16(_mm256_shuffle_epi8(pixels, shuffle), weight));
}

static inline void resample_planes(uint16_t *dst, size_t pitch, const struct axis_piece *piece, int plane_count,
                                   const struct axis_columns *columns, int begin, int end) {
    int g = begin;
    for (; g + 2 <= end; g += 2) {
        const __m256i shuffle = load256(columns->shuffle + 2 * GROUP * g);
        const __m256i weight = load256(columns->weight + 2 * GROUP * g);
        const int from = columns->base[g] - piece->from, second = columns->base[g + 1] - columns->base[g];
        for (int p = 0; p < plane_count; p++)
            resample16(dst + (size_t)p * pitch + GROUP * g, piece->plane[p] + from, second, shuffle, weight);
    }
    for (int p = 0; g < end && p < plane_count; p++)
        resample8(dst + (size_t)p * pitch, piece->plane[p] + (columns->base[g] - piece->from), columns, g);
}

static void resample_piece(uint16_t *dst, size_t pitch, const struct axis_piece *piece, int plane_count,
                           const struct axis_columns *columns, int begin, int end) {
    if (plane_count == 3)
        resample_planes(dst, pitch, piece, 3, columns, begin, end);
    else
        resample_planes(dst, pitch, piece, 1, columns, begin, end);
}

static inline __m256i blend16(const uint16_t *heavy, const uint16_t *light, __m256i factor) {
    const __m256i h = load256(heavy), l = load256(light);
    const __m256i moved = _mm256_mulhi_epi16(_mm256_sub_epi16(h, l), factor);
    return _mm256_mulhrs_epi16(_mm256_add_epi16(h, moved), _mm256_set1_epi16(512)); /* (x + 32) >> 6 */
}

static inline __m256i blend32(const uint16_t *heavy, const uint16_t *light, __m256i factor) {
    const __m256i bytes = _mm256_packus_epi16(blend16(heavy, light, factor), blend16(heavy + 16, light + 16, factor));
    return _mm256_permute4x64_epi64(bytes, 0xd8);
}

static void blend(uint8_t *dst, const uint16_t *upper, const uint16_t *lower, int weight, int count) {
    const struct axis_blend b = axis_blend(upper, lower, weight);
    const __m256i factor = _mm256_set1_epi16(b.factor);
    int i = 0;
    for (; i + 32 <= count; i += 32)
        _mm256_storeu_si256((__m256i *)(void *)(dst + i), blend32(b.heavy + i, b.light + i, factor));
    if (i < count) {
        uint8_t rest[32];
        _mm256_storeu_si256((__m256i *)(void *)rest, blend32(b.heavy + i, b.light + i, factor));
        memcpy(dst + i, rest, (size_t)(count - i));
    }
}

const struct axis_rows axis_rows_avx2 = {
    .group = GROUP,
    .reach = REACH,
    .load = REACH,
    .resample = resample,
    .resample_piece = resample_piece,
    .blend = blend,
};
