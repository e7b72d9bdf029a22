/* Pages of records that were used leave the process, and the page cache. */
#include "unit/tiny_pack.h"

#include "yolopack.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <sys/mman.h>

enum { SAMPLES = 96, PAYLOAD_BYTES = 256 << 10, SIDE = 512, PACK_BYTES = SAMPLES * PAYLOAD_BYTES };

static char directory[TINY_PATH_BYTES], shard_path[TINY_PATH_BYTES];

/* One shard of 24 MB: gray squares, stored as they are, or said to be JPEGs. */
static void make_pack(uint8_t codec) {
    struct index_builder index = {.meta = {.task = TASK_DETECT,
                                           .modalities = MODALITY_IR,
                                           .point_dims = 2,
                                           .page_bytes = (uint32_t)sysconf(_SC_PAGESIZE),
                                           .shard_prefix = "train"}};
    struct bytes record = {0};
    struct record headers[SAMPLES];
    struct shard_writer *writer;
    tiny_directory(directory);
    tiny_join(shard_path, directory, "train-00000.lmdb");
    CHECK(shard_writer_create(&writer, shard_path, UINT64_C(64) << 20, NULL) == 0);
    for (uint64_t i = 0; i < SAMPLES; i++) {
        struct record *h = &headers[i];
        *h = (struct record){.sample_id = i};
        record.size = 0;
        tiny_pad(&record, record_ir_offset(0));
        CHECK(bytes_reserve(&record, record.size + PAYLOAD_BYTES) == 0);
        memset(record.data + record.size, (int)i, PAYLOAD_BYTES);
        h->ir = (struct record_image){.payload_bytes = PAYLOAD_BYTES,
                                      .codec = codec,
                                      .channels = 1,
                                      .depth = 8,
                                      .width = SIDE,
                                      .height = SIDE,
                                      .source_width = SIDE,
                                      .source_height = SIDE,
                                      .hash = XXH3_64bits(record.data + record.size, PAYLOAD_BYTES)};
        record.size += PAYLOAD_BYTES;
        tiny_pad(&record, record_bytes(0, PAYLOAD_BYTES));
        record_encode_header(record.data, h);
        CHECK(shard_writer_add(writer, i, (struct span){record.data, record.size}, NULL) == 0);
    }
    tiny_pack_finish(directory, &index, &writer, headers, SAMPLES);
    bytes_deinit(&record);
    index_builder_deinit(&index);
}

static void setup(void) {
    make_pack(CODEC_RAW);
}

static void teardown(void) {
    CHECK(dir_remove_all(directory, NULL) == 0);
}

TestSuite(drop_behind, .init = setup, .fini = teardown);

static ypk_dataset *open_with(int io, int drop_behind) {
    ypk_dataset_options options = {
        .size = sizeof options, .io = io, .stage = YPK_STAGE_OFF, .drop_behind = drop_behind};
    ypk_dataset *ds;
    ypk_error error;
    cr_assert_eq(ypk_dataset_open(&ds, directory, &options, &error), YPK_OK, "%s", error.message);
    return ds;
}

/* How much of the shard the page cache has. */
static uint64_t cached_bytes(void) {
    uint64_t bytes = 0;
    struct span map;
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    CHECK(file_map(&map, shard_path, NULL) == 0);
    size_t pages = (map.size + page - 1) / page;
    unsigned char *in_core = malloc(pages);
    CHECK(in_core && mincore((void *)map.data, map.size, in_core) == 0);
    for (size_t i = 0; i < pages; i++)
        bytes += (in_core[i] & 1) * page;
    free(in_core);
    file_unmap(&map);
    return bytes;
}

/* A tmpfs has no other place for its files, and pages that are still to be written to the disk stay. */
static bool cache_can_be_emptied(void) {
    CHECK(path_sync(shard_path, NULL) == 0);
    int fd = open(shard_path, O_RDONLY);
    CHECK(fd >= 0);
    posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
    close(fd);
    return cached_bytes() < PACK_BYTES / 10;
}

/* Of the process, bytes: counted page by page, while many kernels' figures in /proc/self/status are so many pages off
 * for each core. 0: not to be had here. */
static uint64_t file_pages(void) {
    char row[256];
    unsigned long long kb, all = 0, anonymous = 0;
    FILE *f = fopen("/proc/self/smaps_rollup", "r");
    while (f && fgets(row, sizeof row, f))
        if (sscanf(row, "Rss: %llu kB", &kb) == 1)
            all = kb;
        else if (sscanf(row, "Anonymous: %llu kB", &kb) == 1)
            anonymous = kb;
    if (f)
        fclose(f);
    return (all - anonymous) << 10;
}

/* Reads every sample, in an order of leaps, and checks it. Returns by how much the process's file pages grew
 * at most. */
static uint64_t read_all(ypk_dataset *ds, const uint8_t **first) {
    ypk_decoder *decoder;
    ypk_error error;
    uint64_t before = file_pages(), most = 0;
    cr_assert_eq(ypk_decoder_create(&decoder, ds, &error), YPK_OK);
    for (uint64_t i = 0; i < SAMPLES; i++) {
        const uint8_t *data;
        size_t size;
        uint64_t sample = i * 41 % SAMPLES;
        cr_assert_eq(ypk_decoder_payload(decoder, sample, YPK_IR, &data, &size, &error), YPK_OK, "%s", error.message);
        cr_assert(size == PAYLOAD_BYTES && data[0] == sample && data[size - 1] == sample);
        *first = i == 0 ? data : *first;
        uint64_t now = file_pages();
        most = now > before && now - before > most ? now - before : most;
    }
    ypk_decoder_destroy(&decoder);
    return most;
}

/* A machine that is short of memory may drop what nobody uses: then once more. */
static void read_into_cache(int io) {
    const uint8_t *first;
    for (int i = 0; i < 20 && (i == 0 || cached_bytes() <= PACK_BYTES * 9 / 10); i++) {
        ypk_dataset *ds = open_with(io, 0);
        read_all(ds, &first);
        ypk_dataset_close(&ds);
    }
    cr_assert_gt(cached_bytes(), PACK_BYTES * 9 / 10);
}

Test(drop_behind, mapped_pages_leave_the_process) {
    const uint8_t *first;
    if (file_pages() == 0)
        cr_skip("there is no /proc/self/smaps_rollup");
    ypk_dataset *ds = open_with(YPK_IO_MMAP, 0);
    cr_assert_gt(read_all(ds, &first), PACK_BYTES * 9 / 10, "what the option is for");
    ypk_dataset_close(&ds);

    ds = open_with(YPK_IO_MMAP, 1);
    for (int epoch = 0; epoch < 3; epoch++)
        cr_assert_leq(read_all(ds, &first), 8 * PAYLOAD_BYTES);
    cr_assert_eq(first[PAYLOAD_BYTES / 2], 0, "bytes that were lent stay good");
    ypk_dataset_close(&ds);
}

Test(drop_behind, records_of_jpegs_leave_the_process_without_it) {
    const uint8_t *first;
    if (file_pages() == 0)
        cr_skip("there is no /proc/self/smaps_rollup");
    teardown();
    make_pack(CODEC_JPEG);
    ypk_dataset *ds = open_with(YPK_IO_MMAP, 0);
    uint64_t most = read_all(ds, &first);
    cr_assert_leq(most, 20 * PAYLOAD_BYTES, "%llu", (unsigned long long)most);
    cr_assert_eq(first[PAYLOAD_BYTES / 2], 0, "bytes that were lent stay good");
    ypk_dataset_close(&ds);
    read_into_cache(YPK_IO_MMAP); /* where they stay */
}

static void cache_is_left(int io) {
    const uint8_t *first;
    if (!cache_can_be_emptied())
        cr_skip("this file system keeps its pages");
    read_into_cache(io);
    ypk_dataset *ds = open_with(io, 1);
    read_all(ds, &first);
    ypk_dataset_close(&ds);
    cr_assert_lt(cached_bytes(), PACK_BYTES / 10);
}

Test(drop_behind, page_cache_of_a_mapped_pack) {
    cache_is_left(YPK_IO_MMAP);
}

Test(drop_behind, page_cache_of_a_pack_that_is_read) {
    cache_is_left(YPK_IO_PREAD);
}

/* The sum of all bytes of an epoch, and the most by which file pages grew. */
static uint64_t train(ypk_dataset *ds, uint64_t *sum) {
    ypk_loader_options o;
    ypk_loader *loader;
    ypk_batch b;
    ypk_error error;
    uint64_t before = file_pages(), most = 0;
    int rc;
    ypk_loader_options_init(&o, sizeof o);
    o.batch = 8;
    o.image_size = SIDE; /* pictures are as they are stored: without the option they are used where they lie */
    o.epochs = 2;
    o.close_mosaic = 0;
    o.workers = 2;
    *sum = 0;
    cr_assert_eq(ypk_loader_create(&loader, ds, &o, &error), YPK_OK, "%s", error.message);
    while ((rc = ypk_loader_next(loader, &b, YPK_NO_STREAM, &error)) == YPK_OK) {
        const uint8_t *data = b.images[0].data;
        for (size_t i = 0; i < (size_t)b.images[0].shape[0] * SIDE * SIDE; i++)
            *sum += data[i] * (i % 251);
        ypk_batch_release(&b, YPK_NO_STREAM);
        uint64_t now = file_pages();
        most = now > before && now - before > most ? now - before : most;
    }
    cr_assert_eq(rc, YPK_END, "%s", error.message);
    ypk_loader_destroy(&loader);
    return most;
}

Test(drop_behind, case_17_a_training_keeps_no_pages) {
    uint64_t kept, dropped;
    if (file_pages() == 0)
        cr_skip("there is no /proc/self/smaps_rollup");
    ypk_dataset *ds = open_with(YPK_IO_MMAP, 0);
    cr_assert_gt(train(ds, &kept), PACK_BYTES * 9 / 10);
    ypk_dataset_close(&ds);
    ds = open_with(YPK_IO_MMAP, 1);
    cr_assert_leq(train(ds, &dropped), 16 * PAYLOAD_BYTES);
    ypk_dataset_close(&ds);
    cr_assert_eq(kept, dropped, "other bytes");
}
