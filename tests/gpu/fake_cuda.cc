#include "fake_cuda.h"

#include <cuda.h>
#include <cuda_runtime_api.h>
#include <vector_functions.h>

#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <atomic>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

/* ---- kernels ----------------------------------------------------------------------------------------------------- */

#undef __global__
#undef __device__
#undef __host__
#undef __shared__
#undef __launch_bounds__
#undef __grid_constant__
#define __global__
#define __device__
#define __host__
#define __shared__ alignas(16) static
#define __launch_bounds__(threads)
#define __grid_constant__

static thread_local uint3 threadIdx, blockIdx;
static dim3 gridDim;
static pthread_barrier_t block_barrier;

static void __syncthreads() {
    pthread_barrier_wait(&block_barrier);
}

static void __nanosleep(unsigned) {
}

template <typename T> static T __ldg(const T *from) {
    return *from;
}

#include "cuda_kernels.cu"

/* One block after the other, the threads of each side by side: as strict about missing barriers as a sanitizer can be. */
static void run_thread(uint32_t index, dim3 grid, void (*kernel)(const struct device_convert),
                       const device_convert *what) {
    threadIdx = make_uint3(index, 0, 0);
    for (uint32_t z = 0; z < grid.z; z++)
        for (uint32_t y = 0; y < grid.y; y++)
            for (uint32_t x = 0; x < grid.x; x++) {
                blockIdx = make_uint3(x, y, z);
                kernel(*what);
                __syncthreads();
            }
}

static void run_kernel(dim3 grid, dim3 block, void (*kernel)(const struct device_convert), const device_convert *what) {
    static std::mutex one_at_a_time; /* shared memory is static */
    std::lock_guard<std::mutex> lock(one_at_a_time);
    std::vector<std::thread> threads;
    gridDim = grid;
    pthread_barrier_init(&block_barrier, nullptr, block.x);
    for (uint32_t i = 0; i < block.x; i++)
        threads.emplace_back(run_thread, i, grid, kernel, what);
    for (auto &thread : threads)
        thread.join();
    pthread_barrier_destroy(&block_barrier);
}

static void sleep_ns(unsigned long long ns) {
    struct timespec t = {(time_t)(ns / 1000000000), (long)(ns % 1000000000)};
    nanosleep(&t, nullptr);
}

/* ---- what there is ----------------------------------------------------------------------------------------------- */

static const int DEVICES = 2;

struct CUctx_st {
    int device;
    std::atomic<int> references;
};

struct CUstream_st {
    CUctx_st *context;
    std::atomic<bool> capturing;
};

struct CUevent_st {
    struct timespec at;
    bool timed;
};

static CUctx_st contexts[DEVICES] = {{0, {0}}, {1, {0}}};
static std::atomic<int> live, mistakes, driver_version{13000};
static std::atomic<int> sticky;
static std::mutex failure_mutex;
static std::string failing_function; /* guarded by failure_mutex, as the next */
static int failing_error;

static thread_local std::vector<CUctx_st *> stack;
static thread_local cudaStreamCaptureMode capture_mode = cudaStreamCaptureModeGlobal;

static bool is_sticky(int error) {
    return error == cudaErrorIllegalAddress || error == cudaErrorLaunchFailure || error == cudaErrorCudartUnloading;
}

/* cudaSuccess, or what the call of this name has to fail with. */
static cudaError_t asked_to_fail(const char *function) {
    std::lock_guard<std::mutex> lock(failure_mutex);
    if (failing_function == function) {
        failing_function.clear();
        if (is_sticky(failing_error))
            sticky = failing_error;
        return (cudaError_t)failing_error;
    }
    return (cudaError_t)sticky.load();
}

/* The same for a call that needs the device. */
static cudaError_t begin(const char *function) {
    if (stack.empty() || stack.back()->references == 0 || capture_mode != cudaStreamCaptureModeRelaxed)
        mistakes++;
    return asked_to_fail(function);
}

extern "C" {

void fake_cuda_get_state(struct fake_cuda_state *out) {
    out->contexts[0] = contexts[0].references;
    out->contexts[1] = contexts[1].references;
    out->live = live;
    out->current_device = stack.empty() ? -1 : stack.back()->device;
    out->depth = (int)stack.size();
    out->capture_mode = capture_mode;
    out->mistakes = mistakes;
}

void fake_cuda_set_device(int device) {
    stack.clear();
    if (device >= 0)
        stack.push_back(&contexts[device]);
}

void fake_cuda_fail(const char *function, int error) {
    std::lock_guard<std::mutex> lock(failure_mutex);
    failing_function = function;
    failing_error = error;
}

void fake_cuda_heal(void) {
    fake_cuda_fail("", 0);
    sticky = 0;
}

void fake_cuda_set_driver(int version) {
    driver_version = version;
}

void *fake_cuda_stream(int device) {
    return new CUstream_st{&contexts[device], {false}};
}

void fake_cuda_destroy_stream(void *stream) {
    delete (CUstream_st *)stream;
}

void fake_cuda_capture(void *stream, int on) {
    ((CUstream_st *)stream)->capturing = on;
}

/* ---- the driver -------------------------------------------------------------------------------------------------- */

static CUresult retain(CUcontext *out, CUdevice device) {
    if (asked_to_fail("cuDevicePrimaryCtxRetain") != cudaSuccess)
        return CUDA_ERROR_OUT_OF_MEMORY;
    contexts[device].references++;
    *out = &contexts[device];
    return CUDA_SUCCESS;
}

static CUresult release(CUdevice device) {
    contexts[device].references--;
    return CUDA_SUCCESS;
}

static CUresult push(CUcontext context) {
    if (asked_to_fail("cuCtxPushCurrent") == cudaErrorCudartUnloading)
        return CUDA_ERROR_DEINITIALIZED;
    stack.push_back(context);
    return CUDA_SUCCESS;
}

static CUresult pop(CUcontext *out) {
    *out = stack.back();
    stack.pop_back();
    return CUDA_SUCCESS;
}

static CUresult device_name(char *out, int size, CUdevice) {
    strncpy(out, "Fake", (size_t)size);
    return CUDA_SUCCESS;
}

static CUresult stream_context(CUstream stream, CUcontext *out) {
    *out = stream->context;
    return CUDA_SUCCESS;
}

static CUresult context_device(CUdevice *out) {
    *out = stack.back()->device;
    return CUDA_SUCCESS;
}

static CUresult error_name(CUresult, const char **out) {
    *out = "CUDA_ERROR_FAKE";
    return CUDA_SUCCESS;
}

/* In this shared object alone, these two are what it calls. */
__attribute__((visibility("hidden"))) void *dlopen(const char *, int) {
    return driver_version ? &contexts : nullptr;
}

__attribute__((visibility("hidden"))) char *dlerror(void) {
    return (char *)"there is no such library";
}

__attribute__((visibility("hidden"))) void *dlsym(void *, const char *name) {
    static const struct {
        const char *name;
        void *function;
    } functions[] = {
        {"cuDevicePrimaryCtxRetain", (void *)retain}, {"cuDevicePrimaryCtxRelease_v2", (void *)release},
        {"cuCtxPushCurrent_v2", (void *)push},        {"cuCtxPopCurrent_v2", (void *)pop},
        {"cuDeviceGetName", (void *)device_name},     {"cuStreamGetCtx", (void *)stream_context},
        {"cuCtxGetDevice", (void *)context_device},   {"cuGetErrorName", (void *)error_name},
    };
    for (const auto &f : functions)
        if (strcmp(f.name, name) == 0)
            return f.function;
    return nullptr;
}

/* ---- the runtime ------------------------------------------------------------------------------------------------- */

cudaError_t cudaDriverGetVersion(int *out) {
    *out = driver_version;
    return cudaSuccess;
}

cudaError_t cudaGetDeviceCount(int *count) {
    cudaError_t result = asked_to_fail("cudaGetDeviceCount");
    if (driver_version < CUDART_VERSION / 1000 * 1000)
        result = cudaErrorInsufficientDriver;
    *count = result == cudaSuccess ? DEVICES : 0;
    return result;
}

cudaError_t cudaGetLastError(void) {
    return (cudaError_t)sticky.load();
}

const char *cudaGetErrorString(cudaError_t) {
    return "a fake error";
}

const char *cudaGetErrorName(cudaError_t) {
    return "cudaErrorFake";
}

cudaError_t cudaDeviceGetAttribute(int *value, cudaDeviceAttr attribute, int) {
    *value = attribute == cudaDevAttrComputeCapabilityMajor ? 6 : 1;
    return cudaSuccess;
}

cudaError_t cudaThreadExchangeStreamCaptureMode(cudaStreamCaptureMode *mode) {
    std::swap(*mode, capture_mode);
    return cudaSuccess;
}

cudaError_t cudaFuncGetAttributes(cudaFuncAttributes *, const void *) {
    return begin("cudaFuncGetAttributes");
}

cudaError_t cudaHostRegister(void *, size_t, unsigned) {
    cudaError_t result = begin("cudaHostRegister");
    live += result == cudaSuccess;
    return result;
}

cudaError_t cudaHostUnregister(void *) {
    live--;
    return begin("cudaHostUnregister");
}

cudaError_t cudaMemGetInfo(size_t *left, size_t *all) {
    *left = (size_t)3 << 20;
    *all = (size_t)5 << 20;
    return begin("cudaMemGetInfo");
}

cudaError_t cudaMalloc(void **out, size_t bytes) {
    cudaError_t result = begin("cudaMalloc");
    if (result != cudaSuccess)
        return result;
    *out = aligned_alloc(256, (bytes + 255) / 256 * 256);
    live++;
    return cudaSuccess;
}

cudaError_t cudaFree(void *memory) {
    free(memory);
    live--;
    return begin("cudaFree");
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *out, unsigned flags) {
    cudaError_t result = begin("cudaStreamCreateWithFlags");
    if (flags != cudaStreamNonBlocking)
        mistakes++;
    if (result != cudaSuccess)
        return result;
    *out = new CUstream_st{stack.back(), {false}};
    live++;
    return cudaSuccess;
}

cudaError_t cudaStreamDestroy(cudaStream_t stream) {
    delete stream;
    live--;
    return begin("cudaStreamDestroy");
}

cudaError_t cudaStreamWaitEvent(cudaStream_t, cudaEvent_t, unsigned) {
    return begin("cudaStreamWaitEvent");
}

cudaError_t cudaStreamIsCapturing(cudaStream_t stream, cudaStreamCaptureStatus *out) {
    bool special = stream == nullptr || stream == cudaStreamLegacy || stream == cudaStreamPerThread;
    *out = !special && stream->capturing ? cudaStreamCaptureStatusActive : cudaStreamCaptureStatusNone;
    return begin("cudaStreamIsCapturing");
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t *out, unsigned flags) {
    cudaError_t result = begin("cudaEventCreateWithFlags");
    if (!(flags & cudaEventBlockingSync))
        mistakes++;
    if (result != cudaSuccess)
        return result;
    *out = new CUevent_st{{0, 0}, !(flags & cudaEventDisableTiming)};
    live++;
    return cudaSuccess;
}

cudaError_t cudaEventDestroy(cudaEvent_t event) {
    delete event;
    live--;
    return begin("cudaEventDestroy");
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t) {
    cudaError_t result = begin("cudaEventRecord");
    if (result == cudaSuccess && event->timed)
        clock_gettime(CLOCK_MONOTONIC, &event->at);
    return result;
}

cudaError_t cudaEventSynchronize(cudaEvent_t) {
    return begin("cudaEventSynchronize");
}

cudaError_t cudaEventQuery(cudaEvent_t) {
    return begin("cudaEventQuery");
}

cudaError_t cudaEventElapsedTime(float *ms, cudaEvent_t from, cudaEvent_t to) {
    cudaError_t result = begin("cudaEventElapsedTime");
    if (!from->timed || !to->timed)
        return cudaErrorInvalidResourceHandle;
    *ms = (float)(to->at.tv_sec - from->at.tv_sec) * 1e3f + (float)(to->at.tv_nsec - from->at.tv_nsec) * 1e-6f;
    return result;
}

cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, cudaMemcpyKind, cudaStream_t) {
    cudaError_t result = begin("cudaMemcpyAsync");
    if (result == cudaSuccess)
        memcpy(to, from, bytes);
    return result;
}

cudaError_t cudaLaunchKernel(const void *kernel, dim3 grid, dim3 block, void **arguments, size_t, cudaStream_t) {
    cudaError_t result = begin("cudaLaunchKernel");
    if (result != cudaSuccess)
        return result;
    if (kernel == (const void *)busy)
        sleep_ns(*(unsigned long long *)arguments[0]);
    else
        run_kernel(grid, block, (void (*)(const struct device_convert))kernel, (const device_convert *)arguments[0]);
    return cudaSuccess;
}
}
