/*
 * samples.h for vectors of any width. The including file defines
 *
 *   LANE_SHIFT               log2 of the 128-bit lanes of a vector
 *   vec, OP(name)            its type, and the intrinsic of a name
 *   vec_load, vec_store      unaligned
 *   vec_and, vec_or, vec_xor, vec_any
 *   in_all_lanes             the same 128 bits in each
 *   bytes_to_words           half a vector of bytes, widened
 *   store_rows               two rows of LANES * 8 samples from one vector: in each lane eight of either
 *   store_bytes              the first `count` bytes of a vector
 *
 * All arithmetic stays in its 128-bit lane, so that a wider vector is more blocks or more pixels at once, and no more.
 */
#include "samples.h"

enum { LANES = 1 << LANE_SHIFT, VEC_BYTES = 16 * LANES };

/* ---- transform ------------------------------------------------------------------------------------------------------
 *
 * The IDCT of Loeffler, Ligtenberg and Moschytz with constants of 13 bits, first along columns, then along rows. Which
 * sums are made in 16 bits and where they saturate is libjpeg-turbo's.
 */

enum {
    F_0_298 = 2446,
    F_0_390 = 3196,
    F_0_541 = 4433,
    F_0_765 = 6270,
    F_0_899 = 7373,
    F_1_175 = 9633,
    F_1_501 = 12299,
    F_1_847 = 15137,
    F_1_961 = 16069,
    F_2_053 = 16819,
    F_2_562 = 20995,
    F_3_072 = 25172,
    CONST_BITS = 13,
    PASS1_BITS = 2,
};

/* 32-bit numbers, one for each 16-bit lane: of the lower and of the upper half of a 128-bit lane. */
struct wide {
    vec low, high;
};

/* a * x + b * y */
static inline struct wide weigh(vec a, vec b, int x, int y) {
    const vec weights = OP(set1_epi32)((int)((uint32_t)(uint16_t)x | (uint32_t)y << 16));
    return (struct wide){OP(madd_epi16)(OP(unpacklo_epi16)(a, b), weights),
                         OP(madd_epi16)(OP(unpackhi_epi16)(a, b), weights)};
}

static inline struct wide add(struct wide a, struct wide b) {
    return (struct wide){OP(add_epi32)(a.low, b.low), OP(add_epi32)(a.high, b.high)};
}
static inline struct wide subtract(struct wide a, struct wide b) {
    return (struct wide){OP(sub_epi32)(a.low, b.low), OP(sub_epi32)(a.high, b.high)};
}

/* a << CONST_BITS, plus what rounds the end result. */
static inline struct wide scale(vec a, int shift) {
    const vec zero = OP(set1_epi32)(0), half = OP(set1_epi32)(1 << (shift - 1));
    const vec low = OP(srai_epi32)(OP(unpacklo_epi16)(zero, a), 16 - CONST_BITS);
    const vec high = OP(srai_epi32)(OP(unpackhi_epi16)(zero, a), 16 - CONST_BITS);
    return (struct wide){OP(add_epi32)(low, half), OP(add_epi32)(high, half)};
}

static inline vec narrow(struct wide a, int shift) {
    return OP(packs_epi32)(OP(srai_epi32)(a.low, shift), OP(srai_epi32)(a.high, shift));
}

static inline __attribute__((always_inline)) void pass(vec d[8], int shift) {
    const struct wide even2 = weigh(d[2], d[6], F_0_541, F_0_541 - F_1_847);
    const struct wide even3 = weigh(d[2], d[6], F_0_541 + F_0_765, F_0_541);
    const struct wide even0 = scale(OP(add_epi16)(d[0], d[4]), shift);
    const struct wide even1 = scale(OP(sub_epi16)(d[0], d[4]), shift);
    const struct wide sum0 = add(even0, even3), sum3 = subtract(even0, even3);
    const struct wide sum1 = add(even1, even2), sum2 = subtract(even1, even2);

    const vec z3 = OP(add_epi16)(d[7], d[3]), z4 = OP(add_epi16)(d[5], d[1]);
    const struct wide turned3 = weigh(z3, z4, F_1_175 - F_1_961, F_1_175);
    const struct wide turned4 = weigh(z3, z4, F_1_175, F_1_175 - F_0_390);
    const struct wide odd0 = add(weigh(d[7], d[1], F_0_298 - F_0_899, -F_0_899), turned3);
    const struct wide odd3 = add(weigh(d[7], d[1], -F_0_899, F_1_501 - F_0_899), turned4);
    const struct wide odd1 = add(weigh(d[5], d[3], F_2_053 - F_2_562, -F_2_562), turned4);
    const struct wide odd2 = add(weigh(d[5], d[3], -F_2_562, F_3_072 - F_2_562), turned3);

    d[0] = narrow(add(sum0, odd3), shift);
    d[7] = narrow(subtract(sum0, odd3), shift);
    d[1] = narrow(add(sum1, odd2), shift);
    d[6] = narrow(subtract(sum1, odd2), shift);
    d[2] = narrow(add(sum2, odd1), shift);
    d[5] = narrow(subtract(sum2, odd1), shift);
    d[3] = narrow(add(sum3, odd0), shift);
    d[4] = narrow(subtract(sum3, odd0), shift);
}

/* Rows become columns in every block. */
static inline void transpose(vec d[8]) {
    vec a[8], b[8];
    for (int i = 0; i < 4; i++) { /* a: pairs of rows i, i + 4 */
        a[2 * i] = OP(unpacklo_epi16)(d[i], d[i + 4]);
        a[2 * i + 1] = OP(unpackhi_epi16)(d[i], d[i + 4]);
    }
    for (int i = 0; i < 4; i++) { /* b: rows i & 1 and every second one after it */
        b[2 * i] = OP(unpacklo_epi16)(a[i], a[i + 4]);
        b[2 * i + 1] = OP(unpackhi_epi16)(a[i], a[i + 4]);
    }
    for (int i = 0; i < 4; i++) {
        d[2 * i] = OP(unpacklo_epi16)(b[i], b[i + 4]);
        d[2 * i + 1] = OP(unpackhi_epi16)(b[i], b[i + 4]);
    }
}

/* Columns of words to bytes, and to rows. */
static inline void store_samples(uint8_t *to, size_t pitch, const vec d[8]) {
    const vec middle = OP(set1_epi8)((char)128);
    vec a[4], b[4], c[4];
    for (int i = 0; i < 4; i++)
        a[i] = OP(add_epi8)(OP(packs_epi16)(d[i], d[i + 4]), middle);
    for (int i = 0; i < 2; i++) { /* columns 0, 2 and 1, 3; 4, 6 and 5, 7 */
        b[i] = OP(unpacklo_epi8)(a[i], a[i + 2]);
        b[i + 2] = OP(unpackhi_epi8)(a[i], a[i + 2]);
    }
    for (int i = 0; i < 2; i++) { /* columns 0-3 of rows 0-3 and 4-7; columns 4-7 */
        c[2 * i] = OP(unpacklo_epi8)(b[2 * i], b[2 * i + 1]);
        c[2 * i + 1] = OP(unpackhi_epi8)(b[2 * i], b[2 * i + 1]);
    }
    for (int i = 0; i < 2; i++) {
        store_rows(to + (size_t)(4 * i) * pitch, pitch, OP(unpacklo_epi32)(c[i], c[i + 2]));
        store_rows(to + (size_t)(4 * i + 2) * pitch, pitch, OP(unpackhi_epi32)(c[i], c[i + 2]));
    }
}

/* Blocks of one colour, from their first coefficients. */
static inline void store_flat(uint8_t *to, size_t pitch, vec dc) {
    const vec sample = OP(srai_epi16)(OP(add_epi16)(dc, OP(set1_epi16)(4)), 3);
    const vec bytes = OP(add_epi8)(OP(packs_epi16)(sample, sample), OP(set1_epi8)((char)128));
    const vec rows = OP(shuffle_epi8)(bytes, OP(set1_epi8)(0));
    for (int i = 0; i < 8; i += 2)
        store_rows(to + (size_t)i * pitch, pitch, rows);
}

static bool transform(uint8_t *to, size_t pitch, const int16_t *group, const int16_t *quantiser) {
    vec d[8], others = vec_and(vec_load(group), in_all_lanes(_mm_set_epi16(-1, -1, -1, -1, -1, -1, -1, 0)));
    d[0] = OP(mullo_epi16)(vec_load(group), vec_load(quantiser));
    for (int i = 1; i < 8; i++) {
        d[i] = vec_load(group + i * 8 * LANES);
        others = vec_or(others, d[i]);
        d[i] = OP(mullo_epi16)(d[i], vec_load(quantiser + i * 8 * LANES));
    }
    /* The library shifts a block without other rows, and lets the bits fall that another block saturates by. */
    const vec folded = vec_xor(d[0], OP(srai_epi16)(d[0], 15));
    if (vec_any(OP(srli_epi16)(folded, 13)))
        return false;
    if (!vec_any(others)) {
        store_flat(to, pitch, d[0]);
        return true;
    }
    pass(d, CONST_BITS - PASS1_BITS);
    transpose(d);
    pass(d, CONST_BITS + PASS1_BITS + 3);
    store_samples(to, pitch, d);
    return true;
}

/* ---- chroma rows ------------------------------------------------------------------------------------------------- */

static void sum(int16_t *sums, const uint8_t *near, const uint8_t *far, size_t count) {
    for (size_t i = 0; i < count; i += VEC_BYTES / 2) {
        const vec n = bytes_to_words(near + i), f = bytes_to_words(far + i);
        vec_store(sums + i, OP(add_epi16)(OP(add_epi16)(n, f), OP(add_epi16)(n, n)));
    }
}

static void widen(int16_t *widened, const uint8_t *row, size_t count) {
    for (size_t i = 0; i < count; i += VEC_BYTES / 2)
        vec_store(widened + i, bytes_to_words(row + i));
}

/* ---- colour ---------------------------------------------------------------------------------------------------------
 *
 * Pixels at even and at odd places are kept apart, as words: that is how half as many samples of chroma are spread, and
 * luma is taken apart by a mask and a shift. Chroma comes as 2 * (sample - 128). The factors of Cr in R (1.402) and Cb
 * in B (1.772) are of 14 bits with which the rounded product is right for each of the 256 samples; G needs the sum of
 * two exact products.
 */

enum { CR_TO_R = 22970, CB_TO_B = 29033, CB_TO_G = -11277, CR_TO_G = -23401 };

struct colours {
    vec r, g, b;
};

static inline struct colours convert(vec y, vec cb, vec cr) {
    const vec half = OP(set1_epi32)(1 << 15);
    struct wide green = weigh(cb, cr, CB_TO_G, CR_TO_G);
    green = add(green, (struct wide){half, half});
    return (struct colours){
        OP(add_epi16)(y, OP(mulhrs_epi16)(cr, OP(set1_epi16)(CR_TO_R))),
        OP(add_epi16)(y, narrow(green, 16)),
        OP(add_epi16)(y, OP(mulhrs_epi16)(cb, OP(set1_epi16)(CB_TO_B))),
    };
}

/* Saturated bytes in the order of the pixels. */
static inline vec interleave(vec even, vec odd) {
    const __m128i order = _mm_set_epi8(15, 7, 14, 6, 13, 5, 12, 4, 11, 3, 10, 2, 9, 1, 8, 0);
    return OP(shuffle_epi8)(OP(packus_epi16)(even, odd), in_all_lanes(order));
}

static inline void store_pixels(uint8_t *const rgb[3], size_t at, size_t count, struct colours even,
                                struct colours odd) {
    store_bytes(rgb[0] + at, interleave(even.r, odd.r), count - at);
    store_bytes(rgb[1] + at, interleave(even.g, odd.g), count - at);
    store_bytes(rgb[2] + at, interleave(even.b, odd.b), count - at);
}

static inline vec even_bytes(vec bytes) {
    return vec_and(bytes, OP(set1_epi16)(0xff));
}
static inline vec odd_bytes(vec bytes) {
    return OP(srli_epi16)(bytes, 8);
}

static inline vec centred(vec sample) {
    const vec less = OP(sub_epi16)(sample, OP(set1_epi16)(128));
    return OP(add_epi16)(less, less);
}

static void full(uint8_t *const rgb[3], const uint8_t *y, const uint8_t *cb, const uint8_t *cr, size_t count) {
    for (size_t i = 0; i < count; i += VEC_BYTES) {
        const vec luma = vec_load(y + i), blue = vec_load(cb + i), red = vec_load(cr + i);
        store_pixels(rgb, i, count, convert(even_bytes(luma), centred(even_bytes(blue)), centred(even_bytes(red))),
                     convert(odd_bytes(luma), centred(odd_bytes(blue)), centred(odd_bytes(red))));
    }
}

/* Samples between two of chroma: (3 * nearer + farther + round) >> shift, nearer to the left (even) or right (odd). */
struct spread {
    vec even, odd;
};

static inline struct spread spread(const int16_t *row, int round_even, int round_odd, int shift) {
    const vec here = vec_load(row), thrice = OP(add_epi16)(OP(add_epi16)(here, here), here);
    const vec even = OP(add_epi16)(vec_load(row - 1), OP(set1_epi16)((short)round_even));
    const vec odd = OP(add_epi16)(vec_load(row + 1), OP(set1_epi16)((short)round_odd));
    return (struct spread){centred(OP(srli_epi16)(OP(add_epi16)(thrice, even), shift)),
                           centred(OP(srli_epi16)(OP(add_epi16)(thrice, odd), shift))};
}

static inline void half_row(uint8_t *const rgb[3], const uint8_t *y, const struct chroma_row *chroma, size_t count,
                            int round_even, int round_odd, int shift) {
    for (size_t i = 0; i < count; i += VEC_BYTES) {
        const vec luma = vec_load(y + i);
        const struct spread cb = spread(chroma->cb + i / 2, round_even, round_odd, shift);
        const struct spread cr = spread(chroma->cr + i / 2, round_even, round_odd, shift);
        store_pixels(rgb, i, count, convert(even_bytes(luma), cb.even, cr.even),
                     convert(odd_bytes(luma), cb.odd, cr.odd));
    }
}

static void half(uint8_t *const rgb[3], const uint8_t *y, const struct chroma_row *chroma, size_t count) {
    if (chroma->vertical)
        half_row(rgb, y, chroma, count, 8, 7, 4);
    else
        half_row(rgb, y, chroma, count, 1, 2, 2);
}
