/* Pictures from records: what they become does not depend on the machine, nor on how they were stored. */
#include "tiny_pictures.h"

#include "picture_pack.h"

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

/* Kinds that are decoded in different ways: straight to planes, by the library, and without chroma to interpolate. */
static void setup(void) {
    static const struct jpeg_recipe recipes[PICTURES] = {
        {.h = 2, .v = 2}, {.h = 2, .v = 2, .progressive = true}, {.h = 1}};
    struct pixels texture = make_texture(WIDTH, HEIGHT, 3, 8);
    struct bytes files[PICTURES];
    struct record_image images[PICTURES];
    ypk_error error;
    for (int i = 0; i < PICTURES; i++) {
        files[i] = make_jpeg(&texture, 3, &recipes[i]);
        images[i] = (struct record_image){.codec = CODEC_JPEG, .channels = 3, .width = WIDTH, .height = HEIGHT};
    }
    picture_pack_create(directory, images, files, PICTURES);
    cr_assert_eq(ypk_dataset_open(&dataset, directory, NULL, &error), YPK_OK, "%s", error.message);
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

static bool is_same(const uint8_t *a, const uint8_t *b, uint32_t side, int picture) {
    size_t bytes = (size_t)3 * side * side;
    return memcmp(a + bytes * (size_t)picture, b + bytes * (size_t)picture, bytes) == 0;
}

/* 150 x 100 to 96 x 64: not twice as large. To 64 x 43 and to 32 x 21: scaled, but for the one with all its chroma. */
Test(frame, fast_is_exact_where_nothing_is_scaled) {
    static const uint32_t scaled[] = {64, 32};
    assert_same(load(best_level(), 0, 96), load(best_level(), 1, 96), 96, "not twice as large");
    assert_same(load(CPU_PLAIN, 0, 96), load(CPU_PLAIN, 1, 96), 96, "not twice as large, plain");
    for (size_t i = 0; i < sizeof scaled / sizeof *scaled; i++) {
        uint8_t *exact = load(best_level(), 0, scaled[i]), *fast = load(best_level(), 1, scaled[i]);
        cr_assert_not(is_same(exact, fast, scaled[i], 0), "4:2:0, side %u", scaled[i]);
        cr_assert_not(is_same(exact, fast, scaled[i], 1), "4:2:0 progressive, side %u", scaled[i]);
        cr_assert(is_same(exact, fast, scaled[i], 2), "4:4:4, side %u", scaled[i]);
        free(exact);
        free(fast);
    }
}
