/* samples.h with AVX-512. */
#include <immintrin.h>

#define LANE_SHIFT 2
#define OP(name) _mm512_##name
typedef __m512i vec;

static inline vec vec_load(const void *from) {
    return _mm512_loadu_si512(from);
}
static inline void vec_store(void *to, vec v) {
    _mm512_storeu_si512(to, v);
}
static inline vec vec_and(vec a, vec b) {
    return _mm512_and_si512(a, b);
}
static inline vec vec_or(vec a, vec b) {
    return _mm512_or_si512(a, b);
}
static inline vec vec_xor(vec a, vec b) {
    return _mm512_xor_si512(a, b);
}
static inline int vec_any(vec v) {
    return _mm512_test_epi32_mask(v, v) != 0;
}
static inline vec bytes_to_words(const unsigned char *from) {
    return _mm512_cvtepu8_epi16(_mm256_loadu_si256((const __m256i *)(const void *)from));
}
static inline vec in_all_lanes(__m128i lane) {
    return _mm512_broadcast_i32x4(lane);
}
static inline void store_rows(unsigned char *to, size_t pitch, vec rows) {
    rows = _mm512_permutexvar_epi64(_mm512_set_epi64(7, 5, 3, 1, 6, 4, 2, 0), rows);
    _mm256_storeu_si256((__m256i *)(void *)to, _mm512_castsi512_si256(rows));
    _mm256_storeu_si256((__m256i *)(void *)(to + pitch), _mm512_extracti64x4_epi64(rows, 1));
}
static inline void store_bytes(unsigned char *to, vec v, size_t count) {
    const __mmask64 mask = count >= sizeof v ? ~(__mmask64)0 : ((__mmask64)1 << count) - 1;
    _mm512_mask_storeu_epi8(to, mask, v);
}

#include "samples_x86.h"

const struct samples samples_avx512 = {LANE_SHIFT, transform, sum, widen, full, half};
