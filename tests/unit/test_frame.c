/* Pictures from records: what they become does not depend on the machine, nor on how they were stored. */
#include "tiny_pictures.h"

#include "unit/tiny_pack.h"

#include "cpu.h"
#include "yolopack.h"

/* In the place of common/cpu.c's, so that machines with less can be had. */
static enum cpu_level level = CPU_PLAIN;

enum cpu_level cpu_level(void) {
    return level;
}

static enum cpu_level best_level(void) {
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2"))
        return CPU_AVX2;
#endif
    return CPU_PLAIN;
}

enum { WIDTH = 150, HEIGHT = 100, PICTURES = 3 };

static char directory[TINY_PATH_BYTES];
static ypk_dataset *dataset;

/* One RGB picture a sample. */
static void make_pack(const struct bytes files[], int count) {
    static const char *const names[] = {"train.index", NULL};
    struct index_builder index = {.meta = {.task = TASK_DETECT,
                                           .modalities = MODALITY_RGB,
                                           .point_dims = 2,
                                           .page_bytes = (uint32_t)sysconf(_SC_PAGESIZE),
                                           .shard_prefix = "train"}};
    struct bytes record = {0}, encoded = {0};
    struct record headers[PICTURES];
    uint64_t offsets[PICTURES];
    struct shard_writer *writer;
    struct index_shard sealed;
    ypk_error error;
    char path[TINY_PATH_BYTES];
    tiny_directory(directory);
    tiny_join(path, directory, "train-00000.lmdb");
    CHECK(shard_writer_create(&writer, path, UINT64_C(16) << 20, NULL) == 0);
    for (int i = 0; i < count; i++) {
        headers[i] = (struct record){.sample_id = (uint64_t)i,
                                     .rgb = {.payload_bytes = (uint32_t)files[i].size,
                                             .codec = CODEC_JPEG,
                                             .channels = 3,
                                             .depth = 8,
                                             .width = WIDTH,
                                             .height = HEIGHT,
                                             .source_width = WIDTH,
                                             .source_height = HEIGHT,
                                             .hash = XXH3_64bits(files[i].data, files[i].size)}};
        record.size = 0;
        tiny_pad(&record, RECORD_HEADER_BYTES);
        CHECK(bytes_append(&record, files[i].data, files[i].size) == 0);
        tiny_pad(&record, record_bytes((uint32_t)files[i].size, 0));
        record_encode_header(record.data, &headers[i]);
        CHECK(shard_writer_add(writer, (uint64_t)i, (struct span){record.data, record.size}, NULL) == 0);
    }
    CHECK(shard_writer_seal(&writer, &sealed, offsets, NULL) == 0);
    CHECK(index_builder_add_shard(&index, &sealed, NULL) == 0);
    for (int i = 0; i < count; i++)
        tiny_add_row(&index, &headers[i], offsets[i], 0);
    tiny_index(&encoded, &index);
    tiny_write(directory, names[0], &encoded);
    tiny_manifest(directory, names, 1);
    bytes_deinit(&record);
    bytes_deinit(&encoded);
    index_builder_deinit(&index);
    cr_assert_eq(ypk_dataset_open(&dataset, directory, NULL, &error), YPK_OK, "%s", error.message);
}

/* Kinds that are decoded in different ways: straight to planes, by the library, and without chroma to interpolate. */
static void setup(void) {
    static const struct jpeg_recipe recipes[PICTURES] = {
        {.h = 2, .v = 2}, {.h = 2, .v = 2, .progressive = true}, {.h = 1}};
    struct pixels texture = make_texture(WIDTH, HEIGHT, 3, 8);
    struct bytes files[PICTURES];
    for (int i = 0; i < PICTURES; i++)
        files[i] = make_jpeg(&texture, 3, &recipes[i]);
    make_pack(files, PICTURES);
    for (int i = 0; i < PICTURES; i++)
        bytes_deinit(&files[i]);
    pixels_deinit(&texture);
}

static void teardown(void) {
    ypk_dataset_close(&dataset);
    CHECK(dir_remove_all(directory, NULL) == 0);
}

TestSuite(frame, .init = setup, .fini = teardown);

/* All pictures at that size, letterboxed: [PICTURES][3][side][side]. */
static uint8_t *load(enum cpu_level with, int fast, uint32_t side) {
    ypk_loader_options o;
    ypk_loader *loader;
    ypk_error error;
    ypk_batch b;
    ypk_loader_options_init(&o, sizeof o);
    o.mode = YPK_EVAL;
    o.image_size = side;
    o.batch = PICTURES;
    o.workers = 1;
    o.fast = fast;
    level = with;
    cr_assert_eq(ypk_loader_create(&loader, dataset, &o, &error), YPK_OK, "%s", error.message);
    cr_assert_eq(ypk_loader_next(loader, &b, YPK_NO_STREAM, &error), YPK_OK, "%s", error.message);
    size_t bytes = (size_t)PICTURES * 3 * side * side;
    uint8_t *copy = malloc(bytes);
    cr_assert_not_null(copy);
    memcpy(copy, b.images[0].data, bytes);
    ypk_batch_release(&b, YPK_NO_STREAM);
    ypk_loader_destroy(&loader);
    return copy;
}

static void assert_same(uint8_t *a, uint8_t *b, uint32_t side, const char *what) {
    cr_assert_eq(memcmp(a, b, (size_t)PICTURES * 3 * side * side), 0, "%s, side %u", what, side);
    free(a);
    free(b);
}

Test(frame, every_machine_loads_the_same_pixels) {
    static const uint32_t sides[] = {32, 64, 96, 160};
    for (size_t i = 0; i < sizeof sides / sizeof *sides; i++)
        for (int fast = 0; fast < 2; fast++)
            assert_same(load(CPU_PLAIN, fast, sides[i]), load(best_level(), fast, sides[i]), sides[i],
                        fast ? "fast" : "exact");
}

Test(frame, fast_is_exact_where_nothing_is_scaled) {
    assert_same(load(best_level(), 0, 64), load(best_level(), 1, 64), 64, "not four times as large");
    assert_same(load(CPU_PLAIN, 0, 64), load(CPU_PLAIN, 1, 64), 64, "not four times as large, plain");
    uint8_t *exact = load(best_level(), 0, 32), *fast = load(best_level(), 1, 32);
    cr_assert_neq(memcmp(exact, fast, 3 * 32 * 32), 0, "not scaled");
    free(exact);
    free(fast);
}
