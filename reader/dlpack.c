/* A batch's tensors for other libraries: DLPack 0.8 (https://dmlc.github.io/dlpack/latest/c_api.html). */
#include "api_error.h"
#include "loader.h"
#include "slot.h"
#include "yolopack.h"

#include <stdlib.h>
#include <string.h>

struct dl_device {
    int32_t type, id;
};
struct dl_data_type {
    uint8_t code, bits;
    uint16_t lanes;
};
struct dl_tensor {
    void *data;
    struct dl_device device;
    int32_t dims;
    struct dl_data_type dtype;
    int64_t *shape, *strides;
    uint64_t byte_offset;
};
struct dl_managed_tensor {
    struct dl_tensor tensor;
    void *context;
    void (*deleter)(struct dl_managed_tensor *self);
};
enum { DL_UINT = 1, DL_FLOAT = 2, DL_BFLOAT = 4 };

/* What *out of ypk_batch_dlpack() points to the first member of. */
struct exported {
    struct dl_managed_tensor managed;
    int64_t shape[4], strides[4];
};

static void delete_exported(struct dl_managed_tensor *self) {
    loader_release(self->context, YPK_NO_STREAM); /* with the stream of ypk_loader_next(), which it knows */
    free(self);
}

static int export_tensor(struct exported **out, ypk_batch *batch, int which, struct error *error) {
    static const struct dl_data_type types[] = {[YPK_U8] = {DL_UINT, 8, 1},
                                                [YPK_F16] = {DL_FLOAT, 16, 1},
                                                [YPK_BF16] = {DL_BFLOAT, 16, 1},
                                                [YPK_F32] = {DL_FLOAT, 32, 1}};
    if (!batch || !batch->slot || which < 0 || which >= batch->image_count)
        return error_set(error, ERR_ARGUMENT, "ypk_batch_dlpack: no such tensor of a batch that is held");
    struct exported *e = calloc(1, sizeof *e);
    if (!e)
        return error_set(error, ERR_MEMORY, "out of memory for a tensor");
    int rc = loader_retain(batch->slot, error);
    if (rc != 0) {
        free(e);
        return rc;
    }
    const ypk_tensor *t = &batch->images[which];
    memcpy(e->shape, t->shape, sizeof e->shape);
    memcpy(e->strides, t->strides, sizeof e->strides);
    e->managed = (struct dl_managed_tensor){
        .tensor = {t->data, {t->device_type, t->device_id}, t->dims, types[t->dtype], e->shape, e->strides, 0},
        .context = batch->slot,
        .deleter = delete_exported,
    };
    *out = e;
    return 0;
}

int ypk_batch_dlpack(ypk_batch *batch, int which, void **out, ypk_error *error) {
    struct error inner = {0};
    struct exported *e = NULL;
    int rc = out ? export_tensor(&e, batch, which, &inner)
                 : error_set(&inner, ERR_ARGUMENT, "ypk_batch_dlpack: out must not be NULL");
    if (out)
        *out = e;
    return rc ? api_fail(error, &inner) : YPK_OK;
}
