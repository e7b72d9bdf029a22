#include "cuda_context.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

/* ---- the driver -------------------------------------------------------------------------------------------------- */

/* The oldest driver of each major version of CUDA. Its runtime works with every driver of that major version. */
static const char *driver_needed(void) {
    switch (CUDART_VERSION / 1000) {
    case 11: return "450.80";
    case 12: return "525.60";
    case 13: return "580.65";
    default: return "newer";
    }
}

/* "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.104.05  …": the first word that begins with a digit after it. */
static void find_kernel_driver(char out[32]) {
    char line[256] = "";
    FILE *f = fopen("/proc/driver/nvidia/version", "re");
    out[0] = '\0';
    if (!f)
        return;
    if (fgets(line, sizeof line, f)) {
        char *rest = NULL;
        for (char *word = strtok_r(line, " \t\n", &rest); word; word = strtok_r(NULL, " \t\n", &rest)) {
            if (word[0] >= '0' && word[0] <= '9' && strchr(word, '.')) {
                snprintf(out, 32, "%s", word);
                break;
            }
        }
    }
    fclose(f);
}

static int refuse_driver(int ordinal, struct error *error) {
    int version = 0;
    char kernel[32];
    cudaDriverGetVersion(&version);
    find_kernel_driver(kernel);
    if (version == 0 && kernel[0] == '\0')
        return error_set(error, ERR_DEVICE,
                         "cuda:%d: there is no NVIDIA driver here. This build needs driver %s or newer (CUDA %d); "
                         "without a GPU take the device \"cpu\", or \"auto\"",
                         ordinal, driver_needed(), CUDART_VERSION / 1000);
    if (version == 0)
        return error_set(error, ERR_DEVICE,
                         "cuda:%d: the machine has NVIDIA driver %s, but libcuda.so.1 is not to be found here: a "
                         "container has to be started with its GPUs (docker run --gpus all)",
                         ordinal, kernel);
    return error_set(
        error, ERR_DEVICE,
        "cuda:%d: the NVIDIA driver is too old: it is %s and knows CUDA %d.%d; this build needs %s or newer "
        "(CUDA %d). Update it, or build yolopack with an older nvcc",
        ordinal, kernel[0] ? kernel : "of unknown version", version / 1000, version % 1000 / 10, driver_needed(),
        CUDART_VERSION / 1000);
}

static int refuse_ordinal(int ordinal, int count, struct error *error) {
    if (count <= 0)
        return error_set(
            error, ERR_DEVICE,
            "cuda:%d: the NVIDIA driver shows no GPU (CUDA_VISIBLE_DEVICES can hide them); take the device "
            "\"cpu\", or \"auto\"",
            ordinal);
    return error_set(error, ERR_DEVICE,
                     "cuda:%d: there are %d CUDA devices, counted from 0 (CUDA_VISIBLE_DEVICES can hide some)", ordinal,
                     count);
}

static int find_device(int ordinal, struct error *error) {
    int count = 0;
    cudaError_t result = cudaGetDeviceCount(&count);
    if (result != cudaSuccess)
        cudaGetLastError();
    if (result == cudaErrorInsufficientDriver || result == cudaErrorStubLibrary)
        return refuse_driver(ordinal, error);
    if (result != cudaSuccess && result != cudaErrorNoDevice)
        return error_set(error, ERR_DEVICE, "cuda:%d: CUDA cannot be used: %s (%s)", ordinal,
                         cudaGetErrorString(result), cudaGetErrorName(result));
    if (ordinal < 0 || ordinal >= count)
        return refuse_ordinal(ordinal, count, error);
    return 0;
}

/* Whatever toolkit this was built with, the driver's library has these names. It is never unloaded. */
static int find_functions(struct cuda_driver *driver, struct error *error) {
    void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!library)
        return error_set(error, ERR_DEVICE, "the NVIDIA driver's library cannot be loaded: %s", dlerror());
    const struct {
        void *function;
        const char *name;
    } wanted[] = {
        {&driver->retain, "cuDevicePrimaryCtxRetain"}, {&driver->release, "cuDevicePrimaryCtxRelease_v2"},
        {&driver->push, "cuCtxPushCurrent_v2"},        {&driver->pop, "cuCtxPopCurrent_v2"},
        {&driver->device_name, "cuDeviceGetName"},     {&driver->stream_context, "cuStreamGetCtx"},
        {&driver->context_device, "cuCtxGetDevice"},   {&driver->error_name, "cuGetErrorName"},
    };
    for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++) {
        void *function = dlsym(library, wanted[i].name);
        if (!function)
            return error_set(error, ERR_DEVICE, "the NVIDIA driver's library has no %s: it is too old", wanted[i].name);
        memcpy(wanted[i].function, &function, sizeof function);
    }
    return 0;
}

/* ---- errors ------------------------------------------------------------------------------------------------------ */

/* After these nothing works in the context any more, or there is none. */
static bool is_lost(cudaError_t result) {
    switch (result) {
    case cudaErrorCudartUnloading:
    case cudaErrorECCUncorrectable:
    case cudaErrorNvlinkUncorrectable:
    case cudaErrorIllegalAddress:
    case cudaErrorLaunchTimeout:
    case cudaErrorContextIsDestroyed:
    case cudaErrorAssert:
    case cudaErrorHardwareStackError:
    case cudaErrorIllegalInstruction:
    case cudaErrorMisalignedAddress:
    case cudaErrorInvalidAddressSpace:
    case cudaErrorInvalidPc:
    case cudaErrorLaunchFailure:
    case cudaErrorUnknown: return true;
    default: return false;
    }
}

static const char lost_text[] =
    "the device is lost for this process: destroy the loader, and start the process again to use the device";

int cuda_report(struct device *device, cudaError_t result, const char *what, struct error *error) {
    if (result == cudaSuccess)
        return 0;
    cudaGetLastError(); /* or the next call would show this one's */
    const char *text = cudaGetErrorString(result), *name = cudaGetErrorName(result);
    if (is_lost(result)) {
        atomic_store(&device->lost, true);
        return error_set(error, ERR_DEVICE_LOST, "%s: %s: %s (%s): %s", device->name, what, text, name, lost_text);
    }
    return error_set(error, result == cudaErrorMemoryAllocation ? ERR_MEMORY : ERR_DEVICE, "%s: %s: %s (%s)",
                     device->name, what, text, name);
}

static int report_driver(struct device *device, CUresult result, const char *what, struct error *error) {
    const char *name = NULL;
    device->driver.error_name(result, &name);
    return error_set(error, result == CUDA_ERROR_OUT_OF_MEMORY ? ERR_MEMORY : ERR_DEVICE, "%s: %s: %s", device->name,
                     what, name ? name : "an error without a name");
}

/* ---- the context ------------------------------------------------------------------------------------------------- */

int cuda_context_open(struct device *device, int ordinal, struct error *error) {
    char model[64] = "";
    int rc = find_device(ordinal, error);
    if (rc == 0)
        rc = find_functions(&device->driver, error);
    if (rc != 0)
        return rc;
    device->ordinal = ordinal;
    atomic_init(&device->lost, false);
    if (device->driver.device_name(model, sizeof model, ordinal) == CUDA_SUCCESS)
        snprintf(device->name, sizeof device->name, "cuda:%d (%s)", ordinal, model);
    else
        snprintf(device->name, sizeof device->name, "cuda:%d", ordinal);
    CUresult result = device->driver.retain(&device->context, ordinal);
    return result == CUDA_SUCCESS ? 0 : report_driver(device, result, "it cannot be used", error);
}

void cuda_context_close(struct device *device) {
    device->driver.release(device->ordinal); /* fails when the process is ending, and then there is nothing to do */
}

static bool push(struct device *device, enum cudaStreamCaptureMode *before, CUresult *result) {
    *result = device->driver.push(device->context);
    if (*result != CUDA_SUCCESS)
        return false;
    *before = cudaStreamCaptureModeRelaxed;
    cudaThreadExchangeStreamCaptureMode(before);
    return true;
}

int cuda_enter(struct device *device, enum cudaStreamCaptureMode *before, struct error *error) {
    CUresult result;
    if (!atomic_load(&device->lost) && push(device, before, &result))
        return 0;
    atomic_store(&device->lost, true); /* the context is gone: it was reset, or the process is ending */
    return error_set(error, ERR_DEVICE_LOST, "%s: %s", device->name, lost_text);
}

bool cuda_enter_to_free(struct device *device, enum cudaStreamCaptureMode *before) {
    CUresult result;
    return push(device, before, &result);
}

void cuda_leave(struct device *device, enum cudaStreamCaptureMode before) {
    CUcontext ours;
    cudaThreadExchangeStreamCaptureMode(&before);
    device->driver.pop(&ours);
}
