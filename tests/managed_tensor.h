/* The head of a DLManagedTensor (DLPack 0.8) as its specification has it, not as reader/dlpack.c does: what is exported
 * is held against it. */
#ifndef YPK_TESTS_MANAGED_TENSOR_H
#define YPK_TESTS_MANAGED_TENSOR_H

#include <stdint.h>

struct managed {
    void *data;
    int32_t device[2], dims;
    uint8_t code, bits;
    uint16_t lanes;
    int64_t *shape, *strides;
    uint64_t byte_offset;
    void *context;
    void (*deleter)(struct managed *self);
};

#endif
