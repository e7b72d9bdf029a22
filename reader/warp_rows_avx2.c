#include "bytes.h"
#include "nearest.h"
#include "warp_rows.h"

#include <immintrin.h>

static inline __m256i load256(const void *p) {
    return _mm256_loadu_si256(p);
}

/* Reads and writes past `count`: rows of positions are padded. */
static void affine(int32_t *positions, const int32_t *columns, int32_t row, int count) {
    const __m256i all = _mm256_set1_epi32(row);
    for (int i = 0; i < count; i += 8)
        _mm256_storeu_si256((__m256i *)(void *)(positions + i),
                            _mm256_srai_epi32(_mm256_add_epi32(load256(columns + i), all), 5));
}

/* nearest_int() of four. */
static inline __m128i nearest4(__m256d v) {
    v = _mm256_max_pd(v, _mm256_set1_pd(INT32_MIN));
    return _mm256_cvtpd_epi32(_mm256_min_pd(v, _mm256_set1_pd(INT32_MAX)));
}

static inline __m256d moved(double from, double step, __m256d i) {
    return _mm256_add_pd(_mm256_set1_pd(from), _mm256_mul_pd(_mm256_set1_pd(step), i));
}

static void perspective(int32_t *xs, int32_t *ys, const double from[3], const double step[3], int count) {
    int i = 0;
    for (; i + 4 <= count; i += 4) {
        const __m256d at = _mm256_cvtepi32_pd(_mm_add_epi32(_mm_set1_epi32(i), _mm_setr_epi32(0, 1, 2, 3)));
        const __m256d w = moved(from[2], step[2], at);
        const __m256d is_zero = _mm256_cmp_pd(w, _mm256_setzero_pd(), _CMP_EQ_OQ);
        const __m256d scale = _mm256_andnot_pd(is_zero, _mm256_div_pd(_mm256_set1_pd(32.0), w));
        _mm_storeu_si128((__m128i *)(void *)(xs + i), nearest4(_mm256_mul_pd(moved(from[0], step[0], at), scale)));
        _mm_storeu_si128((__m128i *)(void *)(ys + i), nearest4(_mm256_mul_pd(moved(from[1], step[1], at), scale)));
    }
    for (; i < count; i++) {
        const double w = from[2] + step[2] * i;
        const double scale = w != 0.0 ? 32.0 / w : 0.0;
        xs[i] = nearest_int((from[0] + step[0] * i) * scale);
        ys[i] = nearest_int((from[1] + step[1] * i) * scale);
    }
}

/* True if low <= v < low + count in all eight. */
static inline int all_between(__m256i v, int low, int count) {
    const __m256i out = _mm256_or_si256(_mm256_cmpgt_epi32(_mm256_set1_epi32(low), v),
                                        _mm256_cmpgt_epi32(v, _mm256_set1_epi32(low + count - 1)));
    return _mm256_testz_si256(out, out);
}

/* Eight pairs of neighbours. A gather would take longer: it moves four bytes for two. */
static inline __m128i pairs(const uint8_t *plane, const int32_t offset[8]) {
    __m128i v = _mm_setzero_si128();
#define PAIR(i) v = _mm_insert_epi16(v, load_u16(plane + offset[i]), i)
    PAIR(0);
    PAIR(1);
    PAIR(2);
    PAIR(3);
    PAIR(4);
    PAIR(5);
    PAIR(6);
    PAIR(7);
#undef PAIR
    return v;
}

struct weights {
    __m128i horizontal;  /* bytes 32 - a, a */
    __m128i vertical[2]; /* words 32 - b, b */
};

static inline struct weights weights_at(__m256i x, __m256i y) {
    const __m256i low = _mm256_set1_epi32(31), whole = _mm256_set1_epi32(32);
    const __m256i a = _mm256_and_si256(x, low), b = _mm256_and_si256(y, low);
    const __m256i pair = _mm256_or_si256(_mm256_sub_epi32(whole, a), _mm256_slli_epi32(a, 8));
    const __m256i vertical = _mm256_or_si256(_mm256_sub_epi32(whole, b), _mm256_slli_epi32(b, 16));
    return (struct weights){
        _mm_packus_epi32(_mm256_castsi256_si128(pair), _mm256_extracti128_si256(pair, 1)),
        {_mm256_castsi256_si128(vertical), _mm256_extracti128_si256(vertical, 1)},
    };
}

static inline void sample8(uint8_t *dst, const uint8_t *plane, const int32_t offset[8], size_t stride,
                           const struct weights *w) {
    const __m128i upper = _mm_maddubs_epi16(pairs(plane, offset), w->horizontal);
    const __m128i lower = _mm_maddubs_epi16(pairs(plane + stride, offset), w->horizontal);
    const __m128i half = _mm_set1_epi32(512);
    const __m128i first = _mm_madd_epi16(_mm_unpacklo_epi16(upper, lower), w->vertical[0]);
    const __m128i second = _mm_madd_epi16(_mm_unpackhi_epi16(upper, lower), w->vertical[1]);
    const __m128i words = _mm_packs_epi32(_mm_srli_epi32(_mm_add_epi32(first, half), 10),
                                          _mm_srli_epi32(_mm_add_epi32(second, half), 10));
    _mm_storel_epi64((__m128i *)(void *)dst, _mm_packus_epi16(words, words));
}

static void sample(uint8_t *const rows[WARP_PLANES], const struct warp_source *source, const int32_t *xs,
                   const int32_t *ys, int count) {
    int current = 0, i = 0;
    for (; i + 8 <= count; i += 8) {
        const __m256i x32 = load256(xs + i), y32 = load256(ys + i);
        const __m256i x = _mm256_srai_epi32(x32, 5), y = _mm256_srai_epi32(y32, 5);
        const struct warp_tile *t = NULL;
        for (int tried = 0; tried < source->tile_count && !t; tried++) {
            const struct warp_tile *const c = &source->tile[current];
            if (all_between(x, c->x, c->width - 1) && all_between(y, c->y, c->height - 1))
                t = c;
            else
                current = current + 1 < source->tile_count ? current + 1 : 0;
        }
        if (!t) {
            const struct warp_place at = warp_place(rows, source->plane_count, i);
            warp_rows_plain.sample(at.row, source, xs + i, ys + i, 8);
            continue;
        }
        int32_t offset[8];
        const __m256i row =
            _mm256_mullo_epi32(_mm256_sub_epi32(y, _mm256_set1_epi32(t->y)), _mm256_set1_epi32((int)t->stride));
        _mm256_storeu_si256((__m256i *)(void *)offset,
                            _mm256_add_epi32(row, _mm256_sub_epi32(x, _mm256_set1_epi32(t->x))));
        const struct weights weights = weights_at(x32, y32);
        for (int p = 0; p < source->plane_count; p++)
            sample8(rows[p] + i, t->plane[p], offset, t->stride, &weights);
    }
    const struct warp_place at = warp_place(rows, source->plane_count, i);
    warp_rows_plain.sample(at.row, source, xs + i, ys + i, count - i);
}

const struct warp_rows warp_rows_avx2 = {affine, perspective, sample};
