/* hsv.h with AVX-512: as hsv_avx2.c does it, sixteen pixels a step, in 32 bits throughout. */
#include "hsv.h"

#include <immintrin.h>

struct gains16 {
    __m512 hue, saturation, value;
};

static inline __m512 nearest(__m512 x) {
    return _mm512_roundscale_ps(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}
static inline __m512 down(__m512 x) {
    return _mm512_roundscale_ps(x, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC);
}

static inline __m512 gained(__m512 x, __m512 gain) {
    return down(_mm512_min_ps(_mm512_mul_ps(x, gain), _mm512_set1_ps(255.0f)));
}

static inline __m128i channel(__m512 value, __m512 saturation, __m512 distance) {
    const __m512 one = _mm512_set1_ps(1.0f);
    distance = _mm512_min_ps(_mm512_max_ps(distance, _mm512_setzero_ps()), one);
    const __m512 rest = _mm512_fnmadd_ps(saturation, distance, one);
    return _mm512_cvtepi32_epi8(_mm512_cvttps_epi32(_mm512_mul_ps(_mm512_mul_ps(value, rest), _mm512_set1_ps(255.0f))));
}

/* The hue's numerator: which sixth of the circle, and how far in it, in units of diff. */
static inline __m512i turn16(__m512i r, __m512i g, __m512i b, __m512i highest, __m512i diff) {
    const __m512i blue = _mm512_add_epi32(_mm512_sub_epi32(r, g), _mm512_slli_epi32(diff, 2));
    const __m512i green = _mm512_add_epi32(_mm512_sub_epi32(b, r), _mm512_slli_epi32(diff, 1));
    const __m512i turn = _mm512_mask_mov_epi32(blue, _mm512_cmpeq_epi32_mask(highest, g), green);
    return _mm512_mask_sub_epi32(turn, _mm512_cmpeq_epi32_mask(highest, r), g, b);
}

static inline void sixteen(__m128i out[3], __m512i r, __m512i g, __m512i b, const struct gains16 *gains) {
    const __m512i max = _mm512_max_epi32(r, _mm512_max_epi32(g, b));
    const __m512i range = _mm512_sub_epi32(max, _mm512_min_epi32(r, _mm512_min_epi32(g, b)));
    const __m512 turn = _mm512_cvtepi32_ps(turn16(r, g, b, max, range));
    const __m512 highest = _mm512_cvtepi32_ps(max), diff = _mm512_cvtepi32_ps(range);

    const __m512 one = _mm512_set1_ps(1.0f);
    const __m512 scale = _mm512_set1_ps(1.0f / 4096.0f), half = _mm512_set1_ps(0.5f), round = _mm512_set1_ps(180.0f);
    /* Dividing by 1 instead of 0 is harmless: what it is multiplied with is 0. */
    const __m512 per_value = nearest(_mm512_div_ps(_mm512_set1_ps(255.0f * 4096.0f), _mm512_max_ps(highest, one)));
    const __m512 per_diff = nearest(_mm512_div_ps(_mm512_set1_ps(30.0f * 4096.0f), _mm512_max_ps(diff, one)));

    __m512 hue = down(_mm512_fmadd_ps(_mm512_mul_ps(turn, per_diff), scale, gains->hue));
    hue = _mm512_mask_add_ps(hue, _mm512_cmp_ps_mask(hue, _mm512_setzero_ps(), _CMP_LT_OQ), hue, round);
    hue = _mm512_mask_sub_ps(hue, _mm512_cmp_ps_mask(hue, round, _CMP_GE_OQ), hue, round);
    __m512 saturation = down(_mm512_fmadd_ps(_mm512_mul_ps(diff, per_value), scale, half));
    saturation = gained(saturation, gains->saturation);

    const __m512 h = _mm512_mul_ps(hue, _mm512_set1_ps(6.0f / 180.0f));
    const __m512 s = _mm512_mul_ps(saturation, _mm512_set1_ps(1.0f / 255.0f));
    const __m512 v = _mm512_mul_ps(gained(highest, gains->value), _mm512_set1_ps(1.0f / 255.0f));
    const __m512 three = _mm512_set1_ps(3.0f), five = _mm512_set1_ps(5.0f);
    out[0] = channel(v, s, _mm512_min_ps(_mm512_sub_ps(h, one), _mm512_sub_ps(five, h)));
    out[1] = channel(v, s, _mm512_max_ps(_mm512_sub_ps(one, h), _mm512_sub_ps(h, three)));
    out[2] = channel(v, s, _mm512_max_ps(_mm512_sub_ps(three, h), _mm512_sub_ps(h, five)));
}

void hsv_row_avx512(uint8_t *r, uint8_t *g, uint8_t *b, size_t count, const struct hsv_gains *gains) {
    /* The hue shift is taken from -90 … 89, so that one turn either way brings every sum back. */
    const int shift = gains->hue_shift < 90 ? gains->hue_shift : gains->hue_shift - 180;
    const struct gains16 all = {
        _mm512_set1_ps((float)shift + 0.5f),
        _mm512_set1_ps((float)gains->saturation / 32768.0f),
        _mm512_set1_ps((float)gains->value / 32768.0f),
    };
    for (size_t i = 0; i < count; i += 16) {
        const __mmask16 mask = count - i < 16 ? (__mmask16)((1u << (count - i)) - 1) : (__mmask16)0xffff;
        __m128i out[3];
        sixteen(out, _mm512_cvtepu8_epi32(_mm_maskz_loadu_epi8(mask, r + i)),
                _mm512_cvtepu8_epi32(_mm_maskz_loadu_epi8(mask, g + i)),
                _mm512_cvtepu8_epi32(_mm_maskz_loadu_epi8(mask, b + i)), &all);
        _mm_mask_storeu_epi8(r + i, mask, out[0]);
        _mm_mask_storeu_epi8(g + i, mask, out[1]);
        _mm_mask_storeu_epi8(b + i, mask, out[2]);
    }
}
