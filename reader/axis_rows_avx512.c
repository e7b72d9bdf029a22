#include "axis_rows.h"

#include <immintrin.h>

#define GROUP 32
#define REACH 64

/* The columns that a group spans: masked, so that nothing beside them is touched. */
static inline __m512i load_span(const uint8_t *src, uint64_t span) {
    return _mm512_maskz_loadu_epi8(_cvtu64_mask64(span), src);
}

/* One shuffle over 64 bytes fetches both taps of 32 columns. */
static inline void store_sums(uint16_t *dst, __m512i pixels, __m512i shuffle, __m512i weight) {
    _mm512_store_si512(dst, _mm512_maddubs_epi16(_mm512_permutexvar_epi8(shuffle, pixels), weight));
}

/* Bits of the columns from <= x < to among the 64 that begin at `base`. */
static inline uint64_t columns_between(int from, int to, int base) {
    from = from > base ? from - base : 0;
    to = to < base + REACH ? to - base : REACH;
    return from < to ? ~UINT64_C(0) >> (REACH - (to - from)) << from : 0;
}

/* Only the bytes of the mask are read, so a piece may begin behind the load's first byte. */
static inline __m512i load_line(const struct axis_line *line, int plane, int base, uint64_t span) {
    __m512i pixels = _mm512_set1_epi8((char)line->fill);
    for (int i = 0; i < line->piece_count; i++) {
        const struct axis_piece *const piece = &line->piece[i];
        const uint64_t mask = span & columns_between(piece->from, piece->to, base);
        const uintptr_t at = (uintptr_t)piece->plane[plane] + (uintptr_t)(intptr_t)(base - piece->from);
        if (mask)
            pixels = _mm512_mask_loadu_epi8(pixels, _cvtu64_mask64(mask), (const void *)at);
    }
    return pixels;
}

static void resample(uint16_t *dst, size_t pitch, const struct axis_line *line, const struct axis_columns *columns,
                     int begin, int end) {
    for (int g = begin; g < end; g++) {
        const __m512i shuffle = _mm512_load_si512(columns->shuffle + 2 * GROUP * g);
        const __m512i weight = _mm512_load_si512(columns->weight + 2 * GROUP * g);
        for (int p = 0; p < line->plane_count; p++)
            store_sums(dst + (size_t)p * pitch + GROUP * g, load_line(line, p, columns->base[g], columns->span[g]),
                       shuffle, weight);
    }
}

static inline void resample_planes(uint16_t *dst, size_t pitch, const struct axis_piece *piece, int plane_count,
                                   const struct axis_columns *columns, int begin, int end) {
    for (int g = begin; g < end; g++) {
        const __m512i shuffle = _mm512_load_si512(columns->shuffle + 2 * GROUP * g);
        const __m512i weight = _mm512_load_si512(columns->weight + 2 * GROUP * g);
        const int from = columns->base[g] - piece->from;
        for (int p = 0; p < plane_count; p++)
            store_sums(dst + (size_t)p * pitch + GROUP * g, load_span(piece->plane[p] + from, columns->span[g]),
                       shuffle, weight);
    }
}

static void resample_piece(uint16_t *dst, size_t pitch, const struct axis_piece *piece, int plane_count,
                           const struct axis_columns *columns, int begin, int end) {
    if (plane_count == 3)
        resample_planes(dst, pitch, piece, 3, columns, begin, end);
    else
        resample_planes(dst, pitch, piece, 1, columns, begin, end);
}

static inline __m512i blend32(const uint16_t *heavy, const uint16_t *light, __m512i factor) {
    const __m512i h = _mm512_load_si512(heavy), l = _mm512_load_si512(light);
    const __m512i moved = _mm512_mulhi_epi16(_mm512_sub_epi16(h, l), factor);
    return _mm512_mulhrs_epi16(_mm512_add_epi16(h, moved), _mm512_set1_epi16(512)); /* (x + 32) >> 6 */
}

static void blend(uint8_t *dst, const uint16_t *upper, const uint16_t *lower, int weight, int count) {
    const struct axis_blend b = axis_blend(upper, lower, weight);
    const __m512i factor = _mm512_set1_epi16(b.factor), order = _mm512_setr_epi64(0, 2, 4, 6, 1, 3, 5, 7);
    int i = 0;
    for (; i + 64 <= count; i += 64) {
        const __m512i bytes = _mm512_packus_epi16(blend32(b.heavy + i, b.light + i, factor),
                                                  blend32(b.heavy + i + 32, b.light + i + 32, factor));
        _mm512_storeu_si512(dst + i, _mm512_permutexvar_epi64(order, bytes));
    }
    for (; i < count; i += 32) {
        const __mmask32 rest = count - i < 32 ? _cvtu32_mask32((UINT32_C(1) << (count - i)) - 1) : ~(__mmask32)0;
        _mm256_mask_storeu_epi8(dst + i, rest, _mm512_cvtepi16_epi8(blend32(b.heavy + i, b.light + i, factor)));
    }
}

const struct axis_rows axis_rows_avx512 = {
    .group = GROUP,
    .reach = REACH,
    .load = 1,
    .resample = resample,
    .resample_piece = resample_piece,
    .blend = blend,
};
