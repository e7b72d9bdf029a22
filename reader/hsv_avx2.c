/*
 * hsv.h with AVX2 and FMA: bytes for what is done on bytes, single precision for the rest, where every intermediate
 * value of the way to HSV is an integer (or one in 1/4096) below 2^24 and therefore exact.
 *
 * On the way back one channel is at distance 0 and gets the value as it is, one is at distance 1, and only the middle
 * one is between. So two of them are computed, and the hue says which is whose:
 *
 *     hue       0-29     30-59    60-89    90-119   120-149  150-179
 *     highest   red      green    green    blue     blue     red
 *     middle    green    red      blue     green    red      blue
 *     lowest    blue     blue     red      red      green    green
 */
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

static inline void store(uint8_t *p, __m256i v) {
    _mm256_storeu_si256((__m256i *)p, v);
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
    store(stage->highest, highest);
    store(stage->diff, diff);
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

/* trunc(x * y) */
static inline __m256i product(__m256 x, float y) {
    return _mm256_cvttps_epi32(_mm256_mul_ps(x, _mm256_set1_ps(y)));
}

struct gains8 {
    __m256 hue, saturation, value;
};

/* Eight pixels before the channels are told apart; the value is the highest one. */
struct pixels8 {
    __m256i hue, value, lowest, middle;
};

/* How far the hue is from 60, 180 or 300 degrees, in units of 120. */
static inline __m256 half_distance(__m256 hue) {
    const __m256 turn = _mm256_mul_ps(hue, _mm256_set1_ps(3.0f / 180.0f));
    const __m256 x = _mm256_sub_ps(_mm256_sub_ps(turn, down(turn)), _mm256_set1_ps(0.5f));
    return _mm256_andnot_ps(_mm256_set1_ps(-0.0f), x);
}

static inline struct pixels8 eight(const struct stage *stage, int i, const struct gains8 *gains) {
    const __m256 one = _mm256_set1_ps(1.0f), round = _mm256_set1_ps(180.0f);
    const __m256 scale = _mm256_set1_ps(1.0f / 4096.0f);
    const __m256 highest = byte8(stage->highest + i), diff = byte8(stage->diff + i);
    /* Dividing by 1 instead of 0 is harmless: what it is multiplied with is 0. */
    const __m256 per_value = nearest(_mm256_div_ps(_mm256_set1_ps(255.0f * 4096.0f), _mm256_max_ps(highest, one)));
    const __m256 per_diff = nearest(_mm256_div_ps(_mm256_set1_ps(30.0f * 4096.0f), _mm256_max_ps(diff, one)));

    __m256 hue = down(_mm256_fmadd_ps(_mm256_mul_ps(short8(stage->turn + i), per_diff), scale, gains->hue));
    const __m256 less = _mm256_sub_ps(hue, round);
    hue = _mm256_blendv_ps(less, hue, less); /* by the sign */
    __m256 saturation = down(_mm256_fmadd_ps(_mm256_mul_ps(diff, per_value), scale, _mm256_set1_ps(0.5f)));
    saturation = gained(saturation, gains->saturation);
    const __m256 value = gained(highest, gains->value);

    const __m256 twice_s = _mm256_mul_ps(saturation, _mm256_set1_ps(2.0f / 255.0f));
    const __m256 v = _mm256_mul_ps(value, _mm256_set1_ps(1.0f / 255.0f));
    const __m256 twice_rest = _mm256_sub_ps(_mm256_set1_ps(2.0f), twice_s);
    const __m256 rest = _mm256_fnmadd_ps(twice_s, half_distance(hue), one);
    return (struct pixels8){
        .hue = _mm256_cvttps_epi32(hue),
        .value = _mm256_cvttps_epi32(value),
        .lowest = product(_mm256_mul_ps(v, twice_rest), 127.5f),
        .middle = product(_mm256_mul_ps(v, rest), 255.0f),
    };
}

static inline __m256i join(__m256i a, __m256i b, __m256i c, __m256i d) {
    const __m256i bytes = _mm256_packus_epi16(_mm256_packus_epi32(a, b), _mm256_packus_epi32(c, d));
    return _mm256_permutevar8x32_epi32(bytes, _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7));
}

/* Each where the hue has it. */
static inline void put_channels(uint8_t *red, uint8_t *green, uint8_t *blue, __m256i hue, __m256i highest,
                                __m256i middle, __m256i lowest) {
    /* The middle one comes round twice in the circle. */
    const __m256i turned = _mm256_min_epu8(hue, _mm256_sub_epi8(hue, _mm256_set1_epi8(90)));
    const __m256i green_middle = _mm256_cmpgt_epi8(_mm256_set1_epi8(30), turned);
    const __m256i blue_middle = _mm256_cmpgt_epi8(turned, _mm256_set1_epi8(59));
    /* Of the other two, in the order of red, green, blue, the first one is the lowest at hues of 60 to 149. */
    const __m256i from_60 = _mm256_sub_epi8(hue, _mm256_set1_epi8(60));
    const __m256i first_lowest = _mm256_cmpeq_epi8(from_60, _mm256_min_epu8(from_60, _mm256_set1_epi8(89)));
    const __m256i first = _mm256_blendv_epi8(highest, lowest, first_lowest);
    const __m256i last = _mm256_blendv_epi8(lowest, highest, first_lowest);
    store(red, _mm256_blendv_epi8(middle, first, _mm256_or_si256(green_middle, blue_middle)));
    store(green, _mm256_blendv_epi8(_mm256_blendv_epi8(first, last, blue_middle), middle, green_middle));
    store(blue, _mm256_blendv_epi8(last, middle, blue_middle));
}

void hsv_row_avx2(uint8_t *r, uint8_t *g, uint8_t *b, size_t count, const struct hsv_gains *gains) {
    /* What is added to a hue of -30 to 150 leaves it below two turns, and never negative. */
    const struct gains8 all = {
        _mm256_set1_ps((float)((gains->hue_shift + 150) % 180) + 30.5f),
        _mm256_set1_ps((float)gains->saturation / 32768.0f),
        _mm256_set1_ps((float)gains->value / 32768.0f),
    };
    size_t i = 0;
    for (; i + 32 <= count; i += 32) {
        struct stage stage;
        to_stage(&stage, load(r + i), load(g + i), load(b + i));
        const struct pixels8 k = eight(&stage, 0, &all), l = eight(&stage, 8, &all);
        const struct pixels8 m = eight(&stage, 16, &all), n = eight(&stage, 24, &all);
        put_channels(r + i, g + i, b + i, join(k.hue, l.hue, m.hue, n.hue), join(k.value, l.value, m.value, n.value),
                     join(k.middle, l.middle, m.middle, n.middle), join(k.lowest, l.lowest, m.lowest, n.lowest));
    }
    hsv_row_plain(r + i, g + i, b + i, count - i, gains);
}
