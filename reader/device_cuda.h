/* CUDA devices: a shared object of its own, so that neither the library nor the command depends on anything of
 * NVIDIA's. */
#ifndef YPK_READER_DEVICE_CUDA_H
#define YPK_READER_DEVICE_CUDA_H

#include "device.h"
#include "error.h"

#include <stdint.h>

/* Loads the shared object (once in a process) and gives its functions. No context is made and no driver is asked: that
 * is what opening a device does. $YPK_CUDA_LIBRARY names the file; without it, it is looked for in the folder of the
 * library or program that this code is in, in ../lib of that, and where the loader looks. ERR_DEVICE says which of
 * these failed, or that the file belongs to another version. From any thread. */
int device_cuda_load(const struct device_ops **ops, struct error *error);

/* The only symbol of the shared object, which is of one build with the library that loads it: `version` is what
 * ypk_version() says there, and the sizes are those of the structs that both know. */
#define DEVICE_CUDA_FILE "libyolopack-cuda.so.0"
#define DEVICE_CUDA_SYMBOL "ypk_cuda_library"

struct device_cuda_library {
    const char *version;
    uint32_t ops_bytes, convert_bytes;
    const struct device_ops *ops;
};

#endif
