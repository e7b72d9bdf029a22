/*
 * hsv.h with AVX-512, 64 pixels a step; the way back as hsv_avx2.c does it.
 *
 * A function of one byte is a table of 256, looked up by permutations of registers. Products on the way to HSV are of
 * 16 bits and rounded, (a b + 2^14) >> 15: the factors are chosen so that this is exact, which tests/unit/test_hsv.c
 * tries for every colour. Only the way back needs single precision.
 */
#include "hsv.h"

#include <immintrin.h>
#include <string.h>

enum { STEP = 64 };

/* ---- tables ------------------------------------------------------------------------------------------------------ */

/* Rounded, as the reciprocals in hsv.c are. By 0 anything: what it is multiplied with is 0. */
#define QUOTIENT(n, x) ((2 * (n) + (x)) / (2 * (x) + !(x)))

/* What 8 times the hue's numerator is multiplied with, for each difference; below 4, where that would take more than
 * 15 bits, what 32 times it is. */
#define PER_DIFF(x) ((x) < 4 ? QUOTIENT(30 * 1024, x) : QUOTIENT(30 * 4096, x))

/* The same for saturation, of each highest value: the difference is multiplied with FACTOR, then with PER_VALUE. For 1
 * these would be 256 and 32640; what stands there gives the same and fits into a byte. */
#define FACTOR(x) ((x) < 2 ? 255 : (x) < 4 ? 128 : (x) < 8 ? 64 : (x) < 16 ? 32 : (x) < 32 ? 16 : 8)
#define PER_VALUE(x) ((x) < 2 ? 32767 : QUOTIENT(8 * QUOTIENT(255 * 4096, x), FACTOR(x)))

#define LOW(f, x) (f(x) & 255)
#define HIGH(f, x) (f(x) >> 8)
#define FOUR(part, f, x) part(f, (x)), part(f, (x) + 1), part(f, (x) + 2), part(f, (x) + 3)
#define SIXTEEN(part, f, x) FOUR(part, f, x), FOUR(part, f, (x) + 4), FOUR(part, f, (x) + 8), FOUR(part, f, (x) + 12)
#define SIXTY_FOUR(part, f, x)                                                                                         \
    SIXTEEN(part, f, x), SIXTEEN(part, f, (x) + 16), SIXTEEN(part, f, (x) + 32), SIXTEEN(part, f, (x) + 48)
#define ALL(part, f) SIXTY_FOUR(part, f, 0), SIXTY_FOUR(part, f, 64), SIXTY_FOUR(part, f, 128), SIXTY_FOUR(part, f, 192)

static const uint8_t per_diff_low[256] = {ALL(LOW, PER_DIFF)}, per_diff_high[256] = {ALL(HIGH, PER_DIFF)};
static const uint8_t per_value_low[256] = {ALL(LOW, PER_VALUE)}, per_value_high[256] = {ALL(HIGH, PER_VALUE)};
static const uint8_t factor[64] = {SIXTY_FOUR(LOW, FACTOR, 0)};

static inline __m512i load(const uint8_t *p) {
    return _mm512_loadu_si512(p);
}

static inline void store(uint8_t *p, __m512i v) {
    _mm512_storeu_si512(p, v);
}

static inline __m512i look_up(const uint8_t table[256], __m512i index) {
    const __m512i low = _mm512_permutex2var_epi8(load(table), index, load(table + 64));
    const __m512i high = _mm512_permutex2var_epi8(load(table + 128), index, load(table + 192));
    return _mm512_mask_mov_epi8(low, _mm512_movepi8_mask(index), high);
}

/* Indices below 192. */
static inline __m512i look_up_192(const uint8_t table[192], __m512i index) {
    const __m512i low = _mm512_permutex2var_epi8(load(table), index, load(table + 64));
    return _mm512_mask_permutexvar_epi8(low, _mm512_movepi8_mask(index), index, load(table + 128));
}

/* Bytes as 16-bit numbers: `low` alone, or with `high`; in the order that packus turns back. */
struct words {
    __m512i half[2];
};

static inline struct words widen(__m512i low, __m512i high) {
    return (struct words){{_mm512_unpacklo_epi8(low, high), _mm512_unpackhi_epi8(low, high)}};
}

/* ---- to HSV ------------------------------------------------------------------------------------------------------ */

/* The hue + 30, which is 0-180. */
static inline __m512i hue_of(__m512i r, __m512i g, __m512i b, __m512i highest, __m512i diff) {
    const __mmask64 not_red = _mm512_cmpneq_epi8_mask(highest, r), not_green = _mm512_cmpneq_epi8_mask(highest, g);
    const __m512i minuend = _mm512_mask_mov_epi8(g, not_red, _mm512_mask_mov_epi8(b, not_green, r));
    const __m512i subtrahend = _mm512_mask_mov_epi8(b, not_red, _mm512_mask_mov_epi8(r, not_green, g));
    /* Twice diff is added for green, four times for blue. */
    const __m512i first = _mm512_maskz_mov_epi8(not_red, diff), second = _mm512_maskz_mov_epi8(not_green, first);

    const struct words difference = widen(minuend, subtrahend), added = widen(first, second);
    const struct words range = widen(diff, _mm512_setzero_si512());
    const struct words per_diff = widen(look_up(per_diff_low, diff), look_up(per_diff_high, diff));
    __m512i hue[2];
    for (int i = 0; i < 2; i++) {
        __m512i turn = _mm512_add_epi16(_mm512_maddubs_epi16(difference.half[i], _mm512_set1_epi16(8 - 8 * 256)),
                                        _mm512_maddubs_epi16(added.half[i], _mm512_set1_epi16(16 + 16 * 256)));
        turn = _mm512_mask_slli_epi16(turn, _mm512_cmplt_epu16_mask(range.half[i], _mm512_set1_epi16(4)), turn, 2);
        hue[i] = _mm512_add_epi16(_mm512_mulhrs_epi16(turn, per_diff.half[i]), _mm512_set1_epi16(30));
    }
    return _mm512_packus_epi16(hue[0], hue[1]);
}

static inline __m512i saturation_of(__m512i highest, __m512i diff) {
    const __m512i factors = _mm512_permutexvar_epi8(_mm512_min_epu8(highest, _mm512_set1_epi8(63)), load(factor));
    const struct words range = widen(diff, _mm512_setzero_si512()), times = widen(factors, _mm512_setzero_si512());
    const struct words per_value = widen(look_up(per_value_low, highest), look_up(per_value_high, highest));
    __m512i saturation[2];
    for (int i = 0; i < 2; i++)
        saturation[i] = _mm512_mulhrs_epi16(_mm512_mullo_epi16(range.half[i], times.half[i]), per_value.half[i]);
    return _mm512_packus_epi16(saturation[0], saturation[1]);
}

/* One row of planes: hue in place of red, saturation of green, value of blue; all with their gains. */
static void to_hsv(uint8_t *red, uint8_t *green, uint8_t *blue, size_t count, const struct hsv_gains *gains) {
    for (size_t i = 0; i < count; i += STEP) {
        const __m512i r = load(red + i), g = load(green + i), b = load(blue + i);
        const __m512i highest = _mm512_max_epu8(r, _mm512_max_epu8(g, b));
        const __m512i diff = _mm512_sub_epi8(highest, _mm512_min_epu8(r, _mm512_min_epu8(g, b)));
        store(red + i, look_up_192(gains->hues, hue_of(r, g, b, highest, diff)));
        store(green + i, look_up(gains->saturations, saturation_of(highest, diff)));
        store(blue + i, look_up(gains->values, highest));
    }
}

/* ---- and back ---------------------------------------------------------------------------------------------------- */

/* Byte i of each 32 bits times scale, rounded once. Below the high bits of 2^23 or 2^15 a byte is that power plus
 * itself; the multiplication takes the power away again, exactly. */
static inline __m512 scaled(__m512i bytes, int i, float scale) {
    const float power = i & 1 ? 0x1p15f : 0x1p23f;
    const __mmask64 mask = i & 1 ? 0x2222222222222222 : 0x1111111111111111;
    if (i >= 2)
        bytes = _mm512_srli_epi32(bytes, 16);
    const __m512i number = _mm512_mask_mov_epi8(_mm512_castps_si512(_mm512_set1_ps(power)), mask, bytes);
    return _mm512_fmadd_ps(_mm512_castsi512_ps(number), _mm512_set1_ps(scale), _mm512_set1_ps(-power * scale));
}

/* trunc(x * scale) as byte i of each 32 bits, with anything below it. */
static inline __m512i byte_of(__m512 x, float scale, int i) {
    return _mm512_cvttps_epu32(_mm512_mul_ps(x, _mm512_set1_ps(scale * (float)(1u << 8 * i))));
}

/* How far the hue is from 60, 180 or 300 degrees, in units of 120. */
static inline __m512 half_distance(__m512i hue, int i) {
    const __m512 third = _mm512_reduce_ps(scaled(hue, i, 3.0f / 180.0f), _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC);
    return _mm512_abs_ps(_mm512_sub_ps(third, _mm512_set1_ps(0.5f)));
}

struct channels {
    __m512i lowest, middle;
};

/* Byte i of each 32 bits of both. */
static inline struct channels quarter(__m512i hue, __m512i saturation, __m512i value, int i) {
    const __m512 v = scaled(value, i, 1.0f / 255.0f), twice_s = scaled(saturation, i, 2.0f / 255.0f);
    const __m512 twice_rest = _mm512_sub_ps(_mm512_set1_ps(2.0f), twice_s);
    const __m512 rest = _mm512_fnmadd_ps(twice_s, half_distance(hue, i), _mm512_set1_ps(1.0f));
    return (struct channels){
        byte_of(_mm512_mul_ps(v, twice_rest), 127.5f, i),
        byte_of(_mm512_mul_ps(v, rest), 255.0f, i),
    };
}

static inline __m512i join(__m512i a, __m512i b, __m512i c, __m512i d) {
    const __m512i ab = _mm512_mask_mov_epi8(a, 0x2222222222222222, b);
    return _mm512_mask_mov_epi8(_mm512_mask_mov_epi8(ab, 0x4444444444444444, c), 0x8888888888888888, d);
}

static inline struct channels channels_of(__m512i hue, __m512i saturation, __m512i value) {
    const struct channels a = quarter(hue, saturation, value, 0), b = quarter(hue, saturation, value, 1);
    const struct channels c = quarter(hue, saturation, value, 2), d = quarter(hue, saturation, value, 3);
    return (struct channels){join(a.lowest, b.lowest, c.lowest, d.lowest),
                             join(a.middle, b.middle, c.middle, d.middle)};
}

static void to_rgb(uint8_t *red, uint8_t *green, uint8_t *blue, size_t count) {
    for (size_t i = 0; i < count; i += STEP) {
        const __m512i hue = load(red + i), highest = load(blue + i);
        const struct channels c = channels_of(hue, load(green + i), highest);
        /* The middle one comes round twice in the circle. */
        const __m512i turned = _mm512_min_epu8(hue, _mm512_sub_epi8(hue, _mm512_set1_epi8(90)));
        const __mmask64 green_middle = _mm512_cmplt_epu8_mask(turned, _mm512_set1_epi8(30));
        const __mmask64 blue_middle = _mm512_cmpge_epu8_mask(turned, _mm512_set1_epi8(60));
        /* Of the other two, in the order of red, green, blue, the first one is the lowest at hues of 60 to 149. */
        const __m512i from_60 = _mm512_sub_epi8(hue, _mm512_set1_epi8(60));
        const __mmask64 first_lowest = _mm512_cmplt_epu8_mask(from_60, _mm512_set1_epi8(90));
        const __m512i first = _mm512_mask_mov_epi8(highest, first_lowest, c.lowest);
        const __m512i last = _mm512_mask_mov_epi8(c.lowest, first_lowest, highest);
        const __m512i other = _mm512_mask_mov_epi8(first, blue_middle, last);
        store(red + i, _mm512_mask_mov_epi8(c.middle, green_middle | blue_middle, first));
        store(green + i, _mm512_mask_mov_epi8(other, green_middle, c.middle));
        store(blue + i, _mm512_mask_mov_epi8(last, blue_middle, c.middle));
    }
}

void hsv_row_avx512(uint8_t *r, uint8_t *g, uint8_t *b, size_t count, const struct hsv_gains *gains) {
    const size_t rest = count % STEP, whole = count - rest;
    /* In two passes, between which a row stays in the first cache: in one the chain of a step is too long to overlap
     * with the next step's. */
    to_hsv(r, g, b, whole, gains);
    to_rgb(r, g, b, whole);
    /* Copied rather than masked: what was stored with a mask is slow to load again. */
    if (rest > 0) {
        uint8_t last[3][STEP] = {{0}};
        memcpy(last[0], r + whole, rest);
        memcpy(last[1], g + whole, rest);
        memcpy(last[2], b + whole, rest);
        hsv_row_avx512(last[0], last[1], last[2], STEP, gains);
        memcpy(r + whole, last[0], rest);
        memcpy(g + whole, last[1], rest);
        memcpy(b + whole, last[2], rest);
    }
}
