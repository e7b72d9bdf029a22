/* In the place of device_cuda_load.c where CUDA is not built in. */
#include "device_cuda.h"

#include <stddef.h>

int device_cuda_load(const struct device_ops **ops, struct error *error) {
    *ops = NULL;
    return error_set(error, ERR_DEVICE,
                     "this yolopack was built without CUDA: build it with CUDA=1 where there is an nvcc, or take the "
                     "device \"cpu\"");
}
