/* Batches that went to a device are the batches that stay in host memory. */
#include "yolopack.h"

#include "device_maths.h"
#include "tiny_pack.h"

#include <criterion/criterion.h>
#include <sys/wait.h>

static struct tiny_pack pack;
static ypk_dataset *dataset;

static void setup(void) {
    ypk_error error;
    tiny_pack_create(&pack, 29, 20);
    cr_assert_eq(ypk_dataset_open(&dataset, pack.path, NULL, &error), YPK_OK, "%s", error.message);
}

static void teardown(void) {
    ypk_dataset_close(&dataset);
    tiny_pack_remove(&pack);
}

TestSuite(transfer, .init = setup, .fini = teardown);

static ypk_loader_options small_options(void) {
    ypk_loader_options o;
    ypk_loader_options_init(&o, sizeof o);
    o.image_size = 64;
    o.batch = 6;
    o.epochs = 2;
    o.close_mosaic = 1;
    o.seed = 7;
    o.workers = 2;
    o.multi_scale = 0.5;
    return o;
}

static ypk_loader *make(const ypk_loader_options *o) {
    ypk_loader *loader;
    ypk_error error;
    cr_assert_eq(ypk_loader_create(&loader, dataset, o, &error), YPK_OK, "%s", error.message);
    return loader;
}

static void assert_same_tensor(const ypk_tensor *a, const ypk_tensor *b) {
    static const size_t number[] = {1, 2, 2, 4};
    cr_assert(a->dtype == b->dtype && a->dims == b->dims && b->device_type == YPK_DEVICE_CPU);
    cr_assert_eq(memcmp(a->shape, b->shape, sizeof a->shape), 0);
    cr_assert_eq(memcmp(a->strides, b->strides, sizeof a->strides), 0);
    size_t bytes = (size_t)(a->shape[0] * a->strides[0]) * number[a->dtype];
    cr_assert_eq(memcmp(a->data, b->data, bytes), 0);
}

static void assert_same_batch(const ypk_batch *a, const ypk_batch *b) {
    cr_assert(a->epoch == b->epoch && a->index == b->index && a->image_count == b->image_count);
    for (int i = 0; i < a->image_count; i++)
        assert_same_tensor(&a->images[i], &b->images[i]);
    cr_assert(a->sample_count == b->sample_count && a->valid_count == b->valid_count);
    cr_assert_eq(memcmp(a->samples, b->samples, a->sample_count * sizeof *a->samples), 0);
    cr_assert_eq(a->label_count, b->label_count);
    cr_assert_eq(memcmp(a->label_batch, b->label_batch, a->label_count * sizeof(float)), 0);
    cr_assert_eq(memcmp(a->label_class, b->label_class, a->label_count * sizeof(float)), 0);
    cr_assert_eq(memcmp(a->label_box, b->label_box, a->label_count * 4 * sizeof(float)), 0);
}

/* To the end, step by step; returns how many. */
static int assert_same_run(ypk_loader *here, ypk_loader *there, void *stream) {
    ypk_batch a, b;
    ypk_error error;
    for (int count = 0;; count++) {
        int rc = ypk_loader_next(here, &a, YPK_NO_STREAM, &error);
        cr_assert_eq(ypk_loader_next(there, &b, stream, &error), rc, "%s", error.message);
        if (rc == YPK_END)
            return count;
        assert_same_batch(&a, &b);
        ypk_batch_release(&a, YPK_NO_STREAM);
        ypk_batch_release(&b, stream);
        cr_assert(b.slot == NULL);
    }
}

Test(transfer, same_bytes_for_every_type_layout_and_channels, .timeout = 120) {
    ypk_loader_options o = small_options();
    for (int i = 0; i < 4; i++) {
        o.mean[i] = 0.1f * (float)(i + 1);
        o.deviation[i] = 0.5f + 0.1f * (float)i;
    }
    for (o.dtype = YPK_U8; o.dtype <= YPK_F32; o.dtype++)
        for (o.layout = YPK_NCHW; o.layout <= YPK_NHWC; o.layout++)
            for (o.channels = YPK_CHANNELS_RGB; o.channels <= YPK_CHANNELS_TWO; o.channels++) {
                o.device = NULL;
                ypk_loader *here = make(&o);
                o.device = "host";
                ypk_loader *there = make(&o);
                cr_assert_eq(assert_same_run(here, there, o.layout ? NULL : YPK_NO_STREAM), 10);
                ypk_loader_destroy(&here);
                ypk_loader_destroy(&there);
            }
}
