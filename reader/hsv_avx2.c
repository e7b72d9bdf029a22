/* hsv.h with AVX2 and FMA: bytes for what is done on bytes, single precision for the rest, where every intermediate
 * value of the way to HSV is an integer (or one in 1/4096) below 2^24 and therefore exact. */
#include "hsv.h"

#include <immintrin.h>

/* 32 pixels between the byte stage and the single precision stage. */
struct stage {
    uint8_t highest[32], diff[32];
    int16_t turn[32];
};

static inline __m256 byte8(const uint8_t *p) {
    return _mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i *)p)));
}

static inline __m256 short8(const int16_t *p) {
    return _mm256_cvtepi32_ps(_mm256_cvtepi16_epi32(_mm_loadu_si128((const __m128i *)p)));
}

static inline __m256i load(const uint8_t *p) {
    return _mm256_loadu_si256((const __m256i *)p);
}

static void to_stage(struct stage *stage, __m256i r, __m256i g, __m256i b) {
    const __m256i highest = _mm256_max_epu8(r, _mm256_max_epu8(g, b));
    const __m256i diff = _mm256_sub_epi8(highest, _mm256_min_epu8(r, _mm256_min_epu8(g, b)));
    const __m256i is_red = _mm256_cmpeq_epi8(highest, r);
    const __m256i is_green = _mm256_cmpeq_epi8(highest, g);
    const __m256i minuend = _mm256_blendv_epi8(_mm256_blendv_epi8(r, b, is_green), g, is_red);
    const __m256i subtrahend = _mm256_blendv_epi8(_mm256_blendv_epi8(g, r, is_green), b, is_red);
    /* 0, 1 or 2 times diff, doubled below: 0 for red, 2 for green, 4 for blue. */
    const __m256i first = _mm256_andnot_si256(is_red, diff);
    const __m256i second = _mm256_andnot_si256(is_green, first);
    _mm256_storeu_si256((__m256i *)stage->highest, highest);
    _mm256_storeu_si256((__m256i *)stage->diff, diff);
    const __m256i zero = _mm256_setzero_si256();
    __m256i turn[2];
    for (int i = 0; i < 2; i++) {
#define WIDEN(x) (i == 0 ? _mm256_unpacklo_epi8(x, zero) : _mm256_unpackhi_epi8(x, zero))
        const __m256i times = _mm256_add_epi16(WIDEN(first), WIDEN(second));
        turn[i] = _mm256_add_epi16(_mm256_sub_epi16(WIDEN(minuend), WIDEN(subtrahend)), _mm256_slli_epi16(times, 1));
#undef WIDEN
    }
    _mm256_storeu_si256((__m256i *)stage->turn, _mm256_permute2x128_si256(turn[0], turn[1], 0x20));
    _mm256_storeu_si256((__m256i *)(stage->turn + 16), _mm256_permute2x128_si256(turn[0], turn[1], 0x31));
}

static inline __m256 nearest(__m256 x) {
    return _mm256_round_ps(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}
static inline __m256 down(__m256 x) {
    return _mm256_round_ps(x, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC);
}

static inline __m256 gained(__m256 x, __m256 gain) {
    return down(_mm256_min_ps(_mm256_mul_ps(x, gain), _mm256_set1_ps(255.0f)));
}

static inline __m256i channel(__m256 value, __m256 saturation, __m256 distance) {
    const __m256 one = _mm256_set1_ps(1.0f);
    distance = _mm256_min_ps(_mm256_max_ps(distance, _mm256_setzero_ps()), one);
    const __m256 rest = _mm256_fnmadd_ps(saturation, distance, one);
    return _mm256_cvttps_epi32(_mm256_mul_ps(_mm256_mul_ps(value, rest), _mm256_set1_ps(255.0f)));
}

struct gains8 {
    __m256 hue, saturation, value;
};

static inline void eight(__m256i out[3], const struct stage *stage, int i, const struct gains8 *gains) {
    const __m256 one = _mm256_set1_ps(1.0f);
    const __m256 scale = _mm256_set1_ps(1.0f / 4096.0f);
    const __m256 highest = byte8(stage->highest + i), diff = byte8(stage->diff + i);
    /* Dividing by 1 instead of 0 is harmless: what it is multiplied with is 0. */
    const __m256 per_value = nearest(_mm256_div_ps(_mm256_set1_ps(255.0f * 4096.0f), _mm256_max_ps(highest, one)));
    const __m256 per_diff = nearest(_mm256_div_ps(_mm256_set1_ps(30.0f * 4096.0f), _mm256_max_ps(diff, one)));

    const __m256 half = _mm256_set1_ps(0.5f), round = _mm256_set1_ps(180.0f);
    __m256 hue = down(_mm256_fmadd_ps(_mm256_mul_ps(short8(stage->turn + i), per_diff), scale, gains->hue));
    __m256 less = _mm256_add_ps(hue, round);
    hue = _mm256_blendv_ps(hue, less, hue); /* by the sign */
    less = _mm256_sub_ps(hue, round);
    hue = _mm256_blendv_ps(less, hue, less);
    __m256 saturation = down(_mm256_fmadd_ps(_mm256_mul_ps(diff, per_value), scale, half));
    saturation = gained(saturation, gains->saturation);
    const __m256 value = gained(highest, gains->value);

    const __m256 h = _mm256_mul_ps(hue, _mm256_set1_ps(6.0f / 180.0f));
    const __m256 s = _mm256_mul_ps(saturation, _mm256_set1_ps(1.0f / 255.0f));
    const __m256 v = _mm256_mul_ps(value, _mm256_set1_ps(1.0f / 255.0f));
    const __m256 three = _mm256_set1_ps(3.0f), five = _mm256_set1_ps(5.0f);
    out[0] = channel(v, s, _mm256_min_ps(_mm256_sub_ps(h, one), _mm256_sub_ps(five, h)));
    out[1] = channel(v, s, _mm256_max_ps(_mm256_sub_ps(one, h), _mm256_sub_ps(h, three)));
    out[2] = channel(v, s, _mm256_max_ps(_mm256_sub_ps(three, h), _mm256_sub_ps(h, five)));
}

static inline void store32(uint8_t *p, __m256i a, __m256i b, __m256i c, __m256i d) {
    const __m256i bytes = _mm256_packus_epi16(_mm256_packus_epi32(a, b), _mm256_packus_epi32(c, d));
    _mm256_storeu_si256((__m256i *)p, _mm256_permutevar8x32_epi32(bytes, _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7)));
}

void hsv_row_avx2(uint8_t *r, uint8_t *g, uint8_t *b, size_t count, const struct hsv_gains *gains) {
    /* The hue shift is taken from -90 … 89, so that one turn either way brings every sum back. */
    const int shift = gains->hue_shift < 90 ? gains->hue_shift : gains->hue_shift - 180;
    const struct gains8 all = {
        _mm256_set1_ps((float)shift + 0.5f),
        _mm256_set1_ps((float)gains->saturation / 32768.0f),
        _mm256_set1_ps((float)gains->value / 32768.0f),
    };
    size_t i = 0;
    for (; i + 32 <= count; i += 32) {
        struct stage stage;
        __m256i out[4][3];
        to_stage(&stage, load(r + i), load(g + i), load(b + i));
        for (int k = 0; k < 4; k++)
            eight(out[k], &stage, 8 * k, &all);
        store32(r + i, out[0][0], out[1][0], out[2][0], out[3][0]);
        store32(g + i, out[0][1], out[1][1], out[2][1], out[3][1]);
        store32(b + i, out[0][2], out[1][2], out[2][2], out[3][2]);
    }
    hsv_row_plain(r + i, g + i, b + i, count - i, gains);
}
