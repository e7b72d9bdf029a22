/* Bytes from outside: bounds, little-endian fields, alignment and overflow checks, all in one place. */
#ifndef YPK_COMMON_BYTES_H
#define YPK_COMMON_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Borrowed bytes. */
struct span {
    const uint8_t *data;
    size_t size;
};

/* Growable bytes, owned. Zero-initialise; bytes_deinit() frees. */
struct bytes {
    uint8_t *data;
    size_t size;
    size_t capacity;
};

int bytes_reserve(struct bytes *b, size_t capacity);           /* 0 or ERR_MEMORY; the content stays */
int bytes_append(struct bytes *b, const void *data, size_t n); /* 0 or ERR_MEMORY */
void bytes_deinit(struct bytes *b);

/* True if [offset, offset + length) lies inside `size` bytes; cannot overflow. */
static inline bool range_fits(uint64_t offset, uint64_t length, uint64_t size) {
    return offset <= size && length <= size - offset;
}

/* `alignment` is a power of two; the caller has made sure that value + alignment does not overflow. */
static inline uint64_t align_up(uint64_t value, uint64_t alignment) {
    return (value + alignment - 1) & ~(alignment - 1);
}

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "packs are little-endian and read in place: this host is not supported"
#endif

static inline uint16_t load_u16(const uint8_t *p) {
    uint16_t v;
    memcpy(&v, p, sizeof v);
    return v;
}
static inline uint32_t load_u32(const uint8_t *p) {
    uint32_t v;
    memcpy(&v, p, sizeof v);
    return v;
}
static inline uint64_t load_u64(const uint8_t *p) {
    uint64_t v;
    memcpy(&v, p, sizeof v);
    return v;
}
static inline void store_u16(uint8_t *p, uint16_t v) {
    memcpy(p, &v, sizeof v);
}
static inline void store_u32(uint8_t *p, uint32_t v) {
    memcpy(p, &v, sizeof v);
}
static inline void store_u64(uint8_t *p, uint64_t v) {
    memcpy(p, &v, sizeof v);
}

#endif
