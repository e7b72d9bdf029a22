/* What runs on the device itself. Each call puts one kernel into the stream, on the current device. */
#ifndef YPK_READER_CUDA_KERNELS_H
#define YPK_READER_CUDA_KERNELS_H

#include "device.h"

#include <cuda_runtime_api.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Loads all of them, which may wait for the device: later calls do not. cudaErrorNoKernelImageForDevice: there are none
 * for such a device in this build. */
cudaError_t cuda_kernels_load(void);

cudaError_t cuda_kernels_convert(const struct device_convert *what, cudaStream_t stream);

/* One block that looks at the clock until the time is over. */
cudaError_t cuda_kernels_busy(double ms, cudaStream_t stream);

#ifdef __cplusplus
}
#endif
#endif
