/*
 * One CUDA device as the loader uses it: its primary context, which it shares with everybody in the process who uses
 * the runtime (PyTorch does), entered for each call and left again. Entering pushes the context, and leaving pops it,
 * so the caller's current device stays what it was, even "none yet", and no context appears on any other device.
 */
#ifndef YPK_READER_CUDA_CONTEXT_H
#define YPK_READER_CUDA_CONTEXT_H

#include "error.h"

#include <cuda.h>
#include <cuda_runtime_api.h>
#include <stdatomic.h>
#include <stdbool.h>

/* What the runtime does not offer, from the driver's library that is loaded anyway. */
struct cuda_driver {
    CUresult (*retain)(CUcontext *, CUdevice);
    CUresult (*release)(CUdevice);
    CUresult (*push)(CUcontext);
    CUresult (*pop)(CUcontext *);
    CUresult (*device_name)(char *, int, CUdevice);
    CUresult (*stream_context)(CUstream, CUcontext *);
    CUresult (*context_device)(CUdevice *);
    CUresult (*error_name)(CUresult, const char **);
};

struct device {
    struct cuda_driver driver;
    CUdevice ordinal;
    CUcontext context;
    char name[96]; /* "cuda:0 (NVIDIA H200)" */
    atomic_bool lost;
};

/* ERR_DEVICE: no driver, one that is too old, no such device. */
int cuda_context_open(struct device *device, int ordinal, struct error *error);
void cuda_context_close(struct device *device);

/* Between the two, the runtime's calls of this thread go to the device, and may be made while a graph is being captured
 * elsewhere. After a failed enter there is nothing to leave. ERR_DEVICE_LOST once the device was lost. */
int cuda_enter(struct device *device, enum cudaStreamCaptureMode *before, struct error *error);
void cuda_leave(struct device *device, enum cudaStreamCaptureMode before);

/* For what only frees: true if it was entered, be the device lost or not; false when the process is ending. */
bool cuda_enter_to_free(struct device *device, enum cudaStreamCaptureMode *before);

/* 0 for cudaSuccess, else ERR_DEVICE_LOST, ERR_MEMORY or ERR_DEVICE with what was tried and CUDA's own words. */
int cuda_report(struct device *device, cudaError_t result, const char *what, struct error *error);

#endif
