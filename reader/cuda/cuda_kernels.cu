/*
 * A level can become only 256 numbers, so each block makes the table of its channel with the maths that the CPU uses, and
 * every pixel is one look-up in shared memory: what is left is reading bytes and writing numbers, both in whole vectors.
 */
#include "cuda_kernels.h"

#include "device_maths.h"

#define THREADS 256
#define CHANNEL_LIMIT 6
#define TILE_PX (THREADS * 4) /* of interleaved pixels: each thread reads four of each channel */
#define VECTOR_BYTES 16
#define STEPS 4 /* vectors or tiles a thread or block has to do, so that making the table is little beside it */

/* As many levels as make a vector of 16 bytes of numbers. */
template <typename Number> struct levels;
template <> struct levels<uint8_t> { typedef uint4 packed; };
template <> struct levels<uint16_t> { typedef uint2 packed; };
template <> struct levels<uint32_t> { typedef uint32_t packed; };

/* Block (x, y, z): its share of channel y, of samples z, z + gridDim.z, … */
template <typename Number>
__global__ void __launch_bounds__(THREADS) planar(const __grid_constant__ struct device_convert what) {
    typedef typename levels<Number>::packed packed;
    const uint32_t channel = blockIdx.y;
    __shared__ Number table[256];
    table[threadIdx.x] =
        (Number)device_number((uint8_t)threadIdx.x, what.type, what.mean[channel], what.deviation[channel]);
    __syncthreads();

    const size_t vectors = device_area(&what) / (VECTOR_BYTES / sizeof(Number));
    for (uint32_t row = blockIdx.z; row < what.rows; row += gridDim.z) {
        const packed *from = (const packed *)(what.from + device_from_index(&what, row, channel, 0));
        uint4 *to = (uint4 *)((Number *)what.to + device_to_index(&what, row, channel, 0));
        for (size_t i = (size_t)blockIdx.x * THREADS + threadIdx.x; i < vectors; i += (size_t)gridDim.x * THREADS) {
            union {
                packed all;
                uint8_t level[sizeof(packed)];
            } in = {__ldg(from + i)};
            union {
                uint4 all;
                Number number[sizeof(packed)];
            } out;
#pragma unroll
            for (size_t k = 0; k < sizeof(packed); k++)
                out.number[k] = table[in.level[k]];
            to[i] = out.all;
        }
    }
}

/* Block (x, 0, z): tiles x, x + gridDim.x, … of samples z, z + gridDim.z, …. Pixels are put together in shared memory, so
 * that what goes out is in whole vectors for any number of channels. */
template <typename Number>
__global__ void __launch_bounds__(THREADS) interleaved(const __grid_constant__ struct device_convert what) {
    __shared__ Number table[CHANNEL_LIMIT * 256];
    __shared__ uint4 tile[TILE_PX * CHANNEL_LIMIT * sizeof(Number) / VECTOR_BYTES];
    const uint32_t channels = what.to_channels;
    for (uint32_t i = threadIdx.x; i < channels * 256; i += THREADS)
        table[i] = (Number)device_number((uint8_t)i, what.type, what.mean[i >> 8], what.deviation[i >> 8]);
    __syncthreads();

    const size_t area = device_area(&what);
    for (uint32_t row = blockIdx.z; row < what.rows; row += gridDim.z) {
        for (size_t first = (size_t)blockIdx.x * TILE_PX; first < area; first += (size_t)gridDim.x * TILE_PX) {
            const uint32_t count = (uint32_t)(area - first < TILE_PX ? area - first : TILE_PX), pixel = threadIdx.x * 4;
            for (uint32_t channel = 0; channel < channels && pixel < count; channel++) {
                const uint8_t *from = what.from + device_from_index(&what, row, channel, first + pixel);
                const uchar4 level = __ldg((const uchar4 *)from);
                Number *out = (Number *)tile + pixel * channels + channel;
                out[0] = table[channel * 256 + level.x];
                out[channels] = table[channel * 256 + level.y];
                out[2 * channels] = table[channel * 256 + level.z];
                out[3 * channels] = table[channel * 256 + level.w];
            }
            __syncthreads();
            uint4 *to = (uint4 *)((Number *)what.to + device_to_index(&what, row, 0, first));
            const uint32_t vectors = count * channels * (uint32_t)sizeof(Number) / VECTOR_BYTES;
            for (uint32_t i = threadIdx.x; i < vectors; i += THREADS)
                to[i] = tile[i];
            __syncthreads();
        }
    }
}

/* Sizes whose planes do not begin at whole vectors: number by number. Block (x, y, z): as for planar(). */
__global__ void __launch_bounds__(THREADS) any_size(const __grid_constant__ struct device_convert what) {
    const size_t area = device_area(&what);
    for (uint32_t row = blockIdx.z; row < what.rows; row += gridDim.z)
        for (size_t i = (size_t)blockIdx.x * THREADS + threadIdx.x; i < area; i += (size_t)gridDim.x * THREADS)
            device_convert_one(&what, row, blockIdx.y, i);
}

__device__ static unsigned long long now_ns(void) {
    unsigned long long now = 0;
#if defined(__CUDA_ARCH__)
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
#endif
    return now;
}

__global__ void busy(unsigned long long ns) {
    const unsigned long long from = now_ns();
    while (now_ns() - from < ns)
        __nanosleep(1000);
}

/* By enum number_type. */
static const void *const planar_kernels[] = {(const void *)planar<uint8_t>, (const void *)planar<uint16_t>,
                                             (const void *)planar<uint16_t>, (const void *)planar<uint32_t>};
static const void *const interleaved_kernels[] = {
    (const void *)interleaved<uint8_t>, (const void *)interleaved<uint16_t>, (const void *)interleaved<uint16_t>,
    (const void *)interleaved<uint32_t>};

cudaError_t cuda_kernels_load(void) {
    const void *const others[] = {(const void *)any_size, (const void *)busy};
    struct cudaFuncAttributes attributes;
    cudaError_t result = cudaSuccess;
    for (int i = 0; result == cudaSuccess && i < 4; i++)
        result = cudaFuncGetAttributes(&attributes, planar_kernels[i]);
    for (int i = 0; result == cudaSuccess && i < 4; i++)
        result = cudaFuncGetAttributes(&attributes, interleaved_kernels[i]);
    for (int i = 0; result == cudaSuccess && i < 2; i++)
        result = cudaFuncGetAttributes(&attributes, others[i]);
    return result;
}

static uint32_t divide_up(size_t a, size_t b) {
    return (uint32_t)((a + b - 1) / b);
}

cudaError_t cuda_kernels_convert(const struct device_convert *what, cudaStream_t stream) {
    const size_t area = device_area(what), size = what->type == NUMBER_U8 ? 1 : what->type == NUMBER_F32 ? 4 : 2;
    const bool whole = area % VECTOR_BYTES == 0 && (uintptr_t)what->from % VECTOR_BYTES == 0 &&
                       (uintptr_t)what->to % VECTOR_BYTES == 0;
    dim3 grid(divide_up(area, THREADS * STEPS), what->to_channels, what->rows < 65535 ? what->rows : 65535);
    const void *kernel = (const void *)any_size;
    if (area == 0 || what->rows == 0)
        return cudaSuccess;
    if (whole && what->interleaved) {
        kernel = interleaved_kernels[what->type];
        grid.x = divide_up(area, TILE_PX * STEPS);
        grid.y = 1;
    } else if (whole) {
        kernel = planar_kernels[what->type];
        grid.x = divide_up(area * size, VECTOR_BYTES * THREADS * STEPS);
    }
    void *arguments[] = {(void *)what};
    return cudaLaunchKernel(kernel, grid, dim3(THREADS), arguments, 0, stream);
}

cudaError_t cuda_kernels_busy(double ms, cudaStream_t stream) {
    unsigned long long ns = (unsigned long long)(ms * 1e6);
    void *arguments[] = {&ns};
    return cudaLaunchKernel((const void *)busy, dim3(1), dim3(32), arguments, 0, stream);
}
