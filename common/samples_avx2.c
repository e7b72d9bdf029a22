/* samples.h with AVX2. */
#include <immintrin.h>
#include <string.h>

#define LANE_SHIFT 1
#define OP(name) _mm256_##name
typedef __m256i vec;

static inline vec vec_load(const void *from) {
    return _mm256_loadu_si256(from);
}
static inline void vec_store(void *to, vec v) {
    _mm256_storeu_si256(to, v);
}
static inline vec vec_and(vec a, vec b) {
    return _mm256_and_si256(a, b);
}
static inline vec vec_or(vec a, vec b) {
    return _mm256_or_si256(a, b);
}
static inline vec vec_xor(vec a, vec b) {
    return _mm256_xor_si256(a, b);
}
static inline int vec_any(vec v) {
    return !_mm256_testz_si256(v, v);
}
static inline vec bytes_to_words(const unsigned char *from) {
    return _mm256_cvtepu8_epi16(_mm_loadu_si128((const __m128i *)(const void *)from));
}
static inline vec in_all_lanes(__m128i lane) {
    return _mm256_broadcastsi128_si256(lane);
}
static inline void store_rows(unsigned char *to, size_t pitch, vec rows) {
    rows = _mm256_permute4x64_epi64(rows, 0xd8);
    _mm_storeu_si128((__m128i *)(void *)to, _mm256_castsi256_si128(rows));
    _mm_storeu_si128((__m128i *)(void *)(to + pitch), _mm256_extracti128_si256(rows, 1));
}
static inline void store_bytes(unsigned char *to, vec v, size_t count) {
    unsigned char bytes[sizeof v];
    if (count >= sizeof v) {
        vec_store(to, v);
        return;
    }
    vec_store(bytes, v);
    memcpy(to, bytes, count);
}

#include "samples_x86.h"

const struct samples samples_avx2 = {LANE_SHIFT, transform, sum, widen, full, half};
