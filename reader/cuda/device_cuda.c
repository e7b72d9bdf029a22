/* What device.h asks for, on CUDA's runtime, which is linked in: of the process's own copy of it nothing is used. */
#include "device_cuda.h"

#include "cuda_context.h"
#include "cuda_kernels.h"
#include "yolopack.h"

#include <stdlib.h>

#if __has_include(<nvtx3/nvToolsExt.h>)
#include <nvtx3/nvToolsExt.h>
#define HAVE_NVTX 1
#endif

/* ---- the device -------------------------------------------------------------------------------------------------- */

static int load_kernels(struct device *d, struct error *error) {
    enum cudaStreamCaptureMode before;
    int major = 0, minor = 0;
    int rc = cuda_enter(d, &before, error);
    if (rc != 0)
        return rc;
    cudaError_t result = cuda_kernels_load();
    cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, d->ordinal);
    cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, d->ordinal);
    if (result == cudaErrorNoKernelImageForDevice || result == cudaErrorUnsupportedPtxVersion)
        rc = error_set(error, ERR_DEVICE,
                       "%s: this build has no code for its compute capability, %d.%d, that the driver can use: build "
                       "yolopack with CUDA_ARCHS=%d%d",
                       d->name, major, minor, major, minor);
    else
        rc = cuda_report(d, result, "loading the kernels", error);
    cuda_leave(d, before);
    return rc;
}

static int open_device(struct device **out, int ordinal, struct error *error) {
    struct device *d = calloc(1, sizeof *d);
    *out = NULL;
    if (!d)
        return error_set(error, ERR_MEMORY, "out of memory for a device");
    int rc = cuda_context_open(d, ordinal, error);
    if (rc != 0) {
        free(d);
        return rc;
    }
    rc = load_kernels(d, error);
    if (rc != 0) {
        cuda_context_close(d);
        free(d);
        return rc;
    }
    *out = d;
    return 0;
}

static void close_device(struct device **device) {
    if (!*device)
        return;
    cuda_context_close(*device);
    free(*device);
    *device = NULL;
}

/* ---- memory ------------------------------------------------------------------------------------------------------ */

/* Pages that cannot be locked are no reason to stop: whatever forbids it, copies still work. */
static int report_pin(struct device *d, cudaError_t result, size_t bytes, struct error *error) {
    switch (result) {
    case cudaErrorMemoryAllocation:
    case cudaErrorNotSupported:
    case cudaErrorNotPermitted:
    case cudaErrorOperatingSystem:
        cudaGetLastError();
        return error_set(
            error, ERR_SPACE,
            "%s: %zu MB of memory cannot be page-locked (%s): copies are slower. Look at the limits of the "
            "container and at ulimit -l",
            d->name, bytes >> 20, cudaGetErrorString(result));
    default: return cuda_report(d, result, "page-locking memory (cudaHostRegister)", error);
    }
}

static int pin(struct device *d, void *memory, size_t bytes, struct error *error) {
    enum cudaStreamCaptureMode before;
    int rc = cuda_enter(d, &before, error);
    if (rc == 0) {
        rc = report_pin(d, cudaHostRegister(memory, bytes, cudaHostRegisterPortable), bytes, error);
        cuda_leave(d, before);
    }
    return rc;
}

static void unpin(struct device *d, void *memory) {
    enum cudaStreamCaptureMode before;
    if (memory && cuda_enter_to_free(d, &before)) {
        cuda_report(d, cudaHostUnregister(memory), "", NULL);
        cuda_leave(d, before);
    }
}

static int allocate(struct device *d, void **out, size_t bytes, struct error *error) {
    enum cudaStreamCaptureMode before;
    size_t left = 0, all = 0;
    *out = NULL;
    int rc = cuda_enter(d, &before, error);
    if (rc != 0)
        return rc;
    rc = cuda_report(d, cudaMalloc(out, bytes), "allocating memory (cudaMalloc)", error);
    if (rc == ERR_MEMORY && cudaMemGetInfo(&left, &all) == cudaSuccess)
        error_set(error, rc, "%s: out of memory: %zu MB are wanted, %zu of %zu MB are free", d->name, bytes >> 20,
                  left >> 20, all >> 20);
    cuda_leave(d, before);
    return rc;
}

static void release(struct device *d, void *memory) {
    enum cudaStreamCaptureMode before;
    if (memory && cuda_enter_to_free(d, &before)) {
        cuda_report(d, cudaFree(memory), "", NULL);
        cuda_leave(d, before);
    }
}

/* ---- streams and events ------------------------------------------------------------------------------------------ */

static int stream_create(struct device *d, void **out, struct error *error) {
    enum cudaStreamCaptureMode before;
    cudaStream_t stream = NULL;
    int rc = cuda_enter(d, &before, error);
    if (rc == 0) {
        rc = cuda_report(d, cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "making a stream", error);
        cuda_leave(d, before);
    }
    *out = stream;
    return rc;
}

static void stream_destroy(struct device *d, void *stream) {
    enum cudaStreamCaptureMode before;
    if (stream && cuda_enter_to_free(d, &before)) {
        cuda_report(d, cudaStreamDestroy(stream), "", NULL);
        cuda_leave(d, before);
    }
}

static int event_create(struct device *d, void **out, bool timed, struct error *error) {
    enum cudaStreamCaptureMode before;
    cudaEvent_t event = NULL;
    unsigned flags = cudaEventBlockingSync | (timed ? 0 : cudaEventDisableTiming);
    int rc = cuda_enter(d, &before, error);
    if (rc == 0) {
        rc = cuda_report(d, cudaEventCreateWithFlags(&event, flags), "making an event", error);
        cuda_leave(d, before);
    }
    *out = event;
    return rc;
}

static void event_destroy(struct device *d, void *event) {
    enum cudaStreamCaptureMode before;
    if (event && cuda_enter_to_free(d, &before)) {
        cuda_report(d, cudaEventDestroy(event), "", NULL);
        cuda_leave(d, before);
    }
}

static int record(struct device *d, void *event, void *stream, struct error *error) {
    enum cudaStreamCaptureMode before;
    int rc = cuda_enter(d, &before, error);
    if (rc == 0) {
        rc = cuda_report(d, cudaEventRecord(event, stream), "recording an event", error);
        cuda_leave(d, before);
    }
    return rc;
}

static int wait_for(struct device *d, void *stream, void *event, struct error *error) {
    enum cudaStreamCaptureMode before;
    int rc = cuda_enter(d, &before, error);
    if (rc == 0) {
        rc = cuda_report(d, cudaStreamWaitEvent(stream, event, 0), "making a stream wait", error);
        cuda_leave(d, before);
    }
    return rc;
}

static int synchronise(struct device *d, void *event, struct error *error) {
    enum cudaStreamCaptureMode before;
    int rc = cuda_enter(d, &before, error);
    if (rc == 0) {
        rc = cuda_report(d, cudaEventSynchronize(event), "waiting for an event", error);
        cuda_leave(d, before);
    }
    return rc;
}

static int query(struct device *d, void *event, bool *done, struct error *error) {
    enum cudaStreamCaptureMode before;
    *done = false;
    int rc = cuda_enter(d, &before, error);
    if (rc != 0)
        return rc;
    cudaError_t result = cudaEventQuery(event);
    *done = result == cudaSuccess;
    if (result == cudaErrorNotReady)
        cudaGetLastError();
    else
        rc = cuda_report(d, result, "looking at an event", error);
    cuda_leave(d, before);
    return rc;
}

static int elapsed(struct device *d, void *from, void *to, double *seconds, struct error *error) {
    enum cudaStreamCaptureMode before;
    float ms = 0;
    int rc = cuda_enter(d, &before, error);
    if (rc == 0) {
        rc = cuda_report(d, cudaEventElapsedTime(&ms, from, to), "the time between two events", error);
        cuda_leave(d, before);
    }
    *seconds = (double)ms * 1e-3;
    return rc;
}

/* ---- work -------------------------------------------------------------------------------------------------------- */

static int copy(struct device *d, void *stream, void *to, const void *from, size_t bytes, struct error *error) {
    enum cudaStreamCaptureMode before;
    int rc = cuda_enter(d, &before, error);
    if (rc == 0) {
        rc = cuda_report(d, cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, stream), "copying", error);
        cuda_leave(d, before);
    }
    return rc;
}

static int convert(struct device *d, void *stream, const struct device_convert *what, struct error *error) {
    enum cudaStreamCaptureMode before;
    int rc = cuda_enter(d, &before, error);
    if (rc == 0) {
        rc = cuda_report(d, cuda_kernels_convert(what, stream), "starting the conversion", error);
        cuda_leave(d, before);
    }
    return rc;
}

static int busy(struct device *d, void *stream, double ms, struct error *error) {
    enum cudaStreamCaptureMode before;
    int rc = cuda_enter(d, &before, error);
    if (rc == 0) {
        rc = cuda_report(d, cuda_kernels_busy(ms, stream), "starting a kernel", error);
        cuda_leave(d, before);
    }
    return rc;
}

/* ---- the consumer's stream --------------------------------------------------------------------------------------- */

/* A stream made in another context than the device's primary one cannot wait for our events. The special handles have
 * none. */
static int check_context(struct device *d, void *stream, struct error *error) {
    CUcontext context, ignored;
    CUdevice other = -1;
    if (stream == NULL || stream == cudaStreamLegacy || stream == cudaStreamPerThread)
        return 0;
    if (d->driver.stream_context(stream, &context) != CUDA_SUCCESS)
        return error_set(error, ERR_ARGUMENT, "%s: the stream %p is none of CUDA's", d->name, stream);
    if (context == d->context)
        return 0;
    if (d->driver.push(context) == CUDA_SUCCESS) {
        d->driver.context_device(&other);
        d->driver.pop(&ignored);
    }
    if (other != d->ordinal)
        return error_set(error, ERR_ARGUMENT,
                         "the batches are on %s and the stream is one of cuda:%d: pass a stream of the "
                         "same device",
                         d->name, other);
    return error_set(error, ERR_ARGUMENT, "%s: the stream was made in another context than the device's primary one",
                     d->name);
}

static int check_capture(struct device *d, void *stream, struct error *error) {
    enum cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
    cudaError_t result = cudaStreamIsCapturing(stream, &status);
    if (result == cudaErrorStreamCaptureImplicit || (result == cudaSuccess && status != cudaStreamCaptureStatusNone)) {
        cudaGetLastError();
        return error_set(error, ERR_ARGUMENT,
                         "%s: a CUDA graph is being captured on this stream%s: take and release batches outside of the "
                         "capture, and capture what uses them",
                         d->name, result == cudaSuccess ? "" : " or one that it waits for");
    }
    return cuda_report(d, result, "looking at the stream", error);
}

static int check_stream(struct device *d, void *stream, struct error *error) {
    enum cudaStreamCaptureMode before;
    int rc = cuda_enter(d, &before, error);
    if (rc != 0)
        return rc;
    rc = check_context(d, stream, error);
    if (rc == 0)
        rc = check_capture(d, stream, error);
    cuda_leave(d, before);
    return rc;
}

/* ---- timelines --------------------------------------------------------------------------------------------------- */

static void range_push(struct device *d, const char *name) {
    (void)d;
    (void)name;
#ifdef HAVE_NVTX
    nvtxRangePushA(name);
#endif
}

static void range_pop(struct device *d) {
    (void)d;
#ifdef HAVE_NVTX
    nvtxRangePop();
#endif
}

static const struct device_ops device_cuda = {
    .name = "cuda",
    .dlpack_type = 2, /* kDLCUDA */
    .open = open_device,
    .close = close_device,
    .pin = pin,
    .unpin = unpin,
    .allocate = allocate,
    .release = release,
    .stream_create = stream_create,
    .stream_destroy = stream_destroy,
    .event_create = event_create,
    .event_destroy = event_destroy,
    .copy = copy,
    .convert = convert,
    .record = record,
    .wait = wait_for,
    .synchronise = synchronise,
    .query = query,
    .elapsed = elapsed,
    .check_stream = check_stream,
    .range_push = range_push,
    .range_pop = range_pop,
    .busy = busy,
};

#define TEXT_OF(x) #x
#define VERSION_TEXT(major, minor, patch) TEXT_OF(major) "." TEXT_OF(minor) "." TEXT_OF(patch)

extern const struct device_cuda_library ypk_cuda_library;
YPK_API const struct device_cuda_library ypk_cuda_library = {
    .version = VERSION_TEXT(YPK_VERSION_MAJOR, YPK_VERSION_MINOR, YPK_VERSION_PATCH),
    .ops_bytes = sizeof(struct device_ops),
    .convert_bytes = sizeof(struct device_convert),
    .ops = &device_cuda,
};
