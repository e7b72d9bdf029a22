/* What the loader allocates: all of it at the start, as much as it says, and nothing afterwards. */
#include "count_allocations.h"

#include "picture_pack.h"
#include "tiny_loader.h"

#include "codec.h"

static void setup(void) {
    if (!COUNTS_ALLOCATIONS)
        cr_skip("a sanitizer has its own malloc");
    open_pack(53, 20, TASK_DETECT);
}

static void teardown(void) {
    if (dataset)
        close_pack();
}

TestSuite(loader_memory, .init = setup, .fini = teardown);

static ypk_loader_options endless_options(void) {
    ypk_loader_options o;
    ypk_loader_options_init(&o, sizeof o);
    o.image_size = 32;
    o.batch = 2;
    o.epochs = 0;
    o.close_mosaic = 0;
    o.workers = 3;
    o.prefetch = 4;
    return o;
}

static void take(ypk_loader *loader, int count) {
    for (int i = 0; i < count; i++) {
        ypk_batch b;
        ypk_error error;
        cr_assert_eq(ypk_loader_next(loader, &b, YPK_NO_STREAM, &error), YPK_OK, "%s", error.message);
        ypk_batch_release(&b, YPK_NO_STREAM);
    }
}

static void assert_allocates_nothing(const ypk_loader_options *o, const char *what) {
    ypk_loader *loader = make_loader(o);
    take(loader, 500);
    counts_as_here = true;
    count_from_zero();
    take(loader, 3000);
    atomic_store(&allocation_count.on, false);
    unsigned long here = atomic_load(&allocation_count.here), elsewhere = atomic_load(&allocation_count.elsewhere);
    ypk_loader_destroy(&loader);
    cr_assert_eq(here, 0, "%s: %lu allocations in next and release", what, here);
    cr_assert_eq(elsewhere, 0, "%s: %lu allocations in workers", what, elsewhere);
}

Test(loader_memory, nothing_is_allocated_in_the_steady_state) {
    ypk_loader_options o = endless_options();
    assert_allocates_nothing(&o, "mosaic");
    o.mosaic = 0;
    assert_allocates_nothing(&o, "no mosaic");
    o.mosaic = 1;
    o.mixup = o.cutmix = 0.5;
    o.degrees = 10;
    o.perspective = 0.001;
    o.ir_noise = 0.1;
    o.dtype = YPK_F16;
    o.layout = YPK_NHWC;
    assert_allocates_nothing(&o, "everything");
    o.device = "host";
    assert_allocates_nothing(&o, "everything, to a device");
    o = endless_options();
    o.mode = YPK_EVAL;
    o.rect = 1;
    assert_allocates_nothing(&o, "evaluation");
}

Test(loader_memory, what_is_allocated_is_what_it_says) {
    static const int sides[] = {64, 320, 640};
    for (int i = 0; i < 3; i++) {
        ypk_loader_options o = endless_options();
        ypk_loader_stats s;
        o.image_size = (uint32_t)sides[i];
        o.mixup = 0.5;
        count_from_zero();
        ypk_loader *loader = make_loader(&o);
        take(loader, 200);
        atomic_store(&allocation_count.on, false);
        unsigned long asked = atomic_load(&allocation_count.bytes);
        ypk_loader_get_stats(loader, &s);
        ypk_loader_destroy(&loader);
        double told = (double)(s.slot_bytes + s.window_bytes + s.scratch_bytes);
        cr_assert(asked <= told * 1.02 + (1 << 17), "side %d: %lu bytes allocated, %.0f told", sides[i], asked, told);
        cr_assert(asked >= told * 0.9, "side %d: %lu bytes allocated, %.0f told", sides[i], asked, told);
    }
}

/* Large pictures, packed by zstd: read from a map or with pread, workers hold no more than is told. */
Test(loader_memory, what_pictures_are_read_and_unpacked_in_is_told) {
    enum { SIDE = 600, COUNT = 3 };
    struct record_image images[COUNT];
    struct bytes payloads[COUNT] = {{0}};
    char directory[TINY_PATH_BYTES];
    struct codec *codec;
    cr_assert_eq(codec_create(&codec, NULL), 0);
    for (int i = 0; i < COUNT; i++) {
        struct pixels p;
        uint64_t random = (uint64_t)i;
        cr_assert_eq(pixels_init(&p, SIDE, SIDE, 3, 8, NULL), 0);
        for (size_t k = 0; k < p.stride * SIDE; k++)
            p.data[k] = (uint8_t)tiny_random(&random);
        cr_assert_eq(codec_encode_zstd(codec, &payloads[i], &p, 1, NULL), 0);
        images[i] = (struct record_image){.codec = CODEC_ZSTD, .channels = 3, .width = SIDE, .height = SIDE};
        pixels_deinit(&p);
    }
    codec_destroy(&codec);
    picture_pack_create(directory, images, payloads, COUNT);
    for (int io = YPK_IO_MMAP; io <= YPK_IO_PREAD; io++) {
        const ypk_dataset_options how = {.size = sizeof how, .io = io};
        ypk_loader_options o = endless_options();
        ypk_dataset *pictures;
        ypk_loader *loader;
        ypk_loader_stats s;
        ypk_error error;
        o.mosaic = 0;
        cr_assert_eq(ypk_dataset_open(&pictures, directory, &how, &error), YPK_OK, "%s", error.message);
        count_from_zero();
        cr_assert_eq(ypk_loader_create(&loader, pictures, &o, &error), YPK_OK, "%s", error.message);
        take(loader, 50);
        atomic_store(&allocation_count.on, false);
        ypk_loader_get_stats(loader, &s);
        ypk_loader_destroy(&loader);
        ypk_dataset_close(&pictures);
        unsigned long asked = atomic_load(&allocation_count.bytes);
        double told = (double)(s.slot_bytes + s.window_bytes + s.scratch_bytes);
        cr_assert(asked <= told * 1.02 + (1 << 20), "io %d: %lu bytes allocated, %.0f told", io, asked, told);
    }
    for (int i = 0; i < COUNT; i++)
        bytes_deinit(&payloads[i]);
    cr_assert_eq(dir_remove_all(directory, NULL), 0);
}
