/*
 * What becomes of one byte on its way to a device: which number it turns into, and where that number goes. Compiled as
 * C for the CPU (convert.h's tables are made with it, so that the tests cover it) and as CUDA for the kernels, and it
 * is bit for bit the same: divisions and subtractions are rounded to the nearest one by one, and nothing is contracted.
 */
#ifndef YPK_READER_DEVICE_MATHS_H
#define YPK_READER_DEVICE_MATHS_H

#include "device.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#if defined(__CUDACC__)
#define DEVICE_MATHS static __host__ __device__ inline
#else
#define DEVICE_MATHS static inline
#endif

/* ---- numbers ----------------------------------------------------------------------------------------------------- */

DEVICE_MATHS uint32_t device_float_bits(float v) {
#if defined(__CUDA_ARCH__)
    return __float_as_uint(v);
#else
    uint32_t bits;
    memcpy(&bits, &v, sizeof bits);
    return bits;
#endif
}

/* (level / 255 - mean) / deviation */
DEVICE_MATHS float device_normalise(uint8_t level, float mean, float deviation) {
#if defined(__CUDA_ARCH__)
    return __fdiv_rn(__fsub_rn(__fdiv_rn((float)level, 255.0f), mean), deviation);
#else
    return ((float)level / 255.0f - mean) / deviation;
#endif
}

/* Drops the low `count` bits, to the nearest, halves to even. */
DEVICE_MATHS uint32_t device_round_bits(uint32_t bits, int count) {
    const uint32_t odd = bits >> count & 1;
    return (bits + ((UINT32_C(1) << (count - 1)) - 1) + odd) >> count;
}

DEVICE_MATHS uint16_t device_bf16(float v) {
    return (uint16_t)device_round_bits(device_float_bits(v), 16);
}

DEVICE_MATHS uint16_t device_f16(float v) {
    const uint32_t bits = device_float_bits(v), sign = bits >> 16 & 0x8000, magnitude = bits & 0x7fffffff;
    if (magnitude >= 0x47800000) /* 65536 and more, infinity */
        return (uint16_t)(sign | 0x7c00);
    if (magnitude >= 0x38800000) /* normal; rounding may carry up to infinity, which is right */
        return (uint16_t)(sign | device_round_bits(magnitude - 0x38000000, 13));
    const int shift = 126 - (int)(magnitude >> 23); /* subnormal: in units of 2^-24 */
    if (shift > 24)
        return (uint16_t)sign;
    return (uint16_t)(sign | device_round_bits((magnitude & 0x7fffff) | 0x800000, shift));
}

/* The bits of the number that a level becomes, in the low end. */
DEVICE_MATHS uint32_t device_number(uint8_t level, enum number_type type, float mean, float deviation) {
    if (type == NUMBER_U8)
        return level;
    const float v = device_normalise(level, mean, deviation);
    return type == NUMBER_F32 ? device_float_bits(v) : type == NUMBER_F16 ? device_f16(v) : device_bf16(v);
}

/* ---- places ------------------------------------------------------------------------------------------------------ */

/* A pixel is counted through its plane: y * width + x. */

DEVICE_MATHS size_t device_area(const struct device_convert *what) {
    return (size_t)what->width * what->height;
}

/* The channel that was sent for channel `channel` of what is delivered: the last one stands for all that follow. */
DEVICE_MATHS uint32_t device_source_channel(const struct device_convert *what, uint32_t channel) {
    return channel < what->from_channels ? channel : what->from_channels - 1;
}

/* Index of a byte in what->from. */
DEVICE_MATHS size_t device_from_index(const struct device_convert *what, uint32_t row, uint32_t channel, size_t pixel) {
    const size_t plane = (size_t)row * what->from_channels + device_source_channel(what, channel);
    return plane * device_area(what) + pixel;
}

/* Index of a number (not a byte) in what->to. */
DEVICE_MATHS size_t device_to_index(const struct device_convert *what, uint32_t row, uint32_t channel, size_t pixel) {
    return what->interleaved ? ((size_t)row * device_area(what) + pixel) * what->to_channels + channel
                             : ((size_t)row * what->to_channels + channel) * device_area(what) + pixel;
}

DEVICE_MATHS void device_store(void *to, size_t index, enum number_type type, uint32_t bits) {
    if (type == NUMBER_U8)
        ((uint8_t *)to)[index] = (uint8_t)bits;
    else if (type == NUMBER_F32)
        ((uint32_t *)to)[index] = bits;
    else
        ((uint16_t *)to)[index] = (uint16_t)bits;
}

/* The whole way of one number. */
DEVICE_MATHS void device_convert_one(const struct device_convert *what, uint32_t row, uint32_t channel, size_t pixel) {
    const uint8_t level = what->from[device_from_index(what, row, channel, pixel)];
    const uint32_t bits = device_number(level, what->type, what->mean[channel], what->deviation[channel]);
    device_store(what->to, device_to_index(what, row, channel, pixel), what->type, bits);
}

#endif
