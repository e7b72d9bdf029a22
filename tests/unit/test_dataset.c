#include "tiny_pack.h"

#include "yolopack.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>

enum { SAMPLES = 40, PER_SHARD = 15 };

static struct tiny_pack pack;

static void setup(void) {
    tiny_pack_create(&pack, SAMPLES, PER_SHARD);
}

static void teardown(void) {
    tiny_pack_remove(&pack);
}

TestSuite(dataset, .init = setup, .fini = teardown);
TestSuite(decoder, .init = setup, .fini = teardown);

static ypk_dataset *open_io(int io) {
    ypk_dataset *ds;
    ypk_error error = {0};
    ypk_dataset_options options = {.size = sizeof options, .io = io};
    cr_assert_eq(ypk_dataset_open(&ds, pack.path, &options, &error), YPK_OK, "%s", error.message);
    return ds;
}

static ypk_decoder *decoder_of(const ypk_dataset *ds) {
    ypk_decoder *decoder;
    ypk_error error = {0};
    cr_assert_eq(ypk_decoder_create(&decoder, ds, &error), YPK_OK, "%s", error.message);
    return decoder;
}

/* The record as it was written. */
static void expected_record(struct bytes *record, struct record *header, uint64_t id) {
    tiny_record(record, header, id);
}

static int open_fails(const char *path, const ypk_dataset_options *options, ypk_error *error) {
    ypk_dataset *ds = (ypk_dataset *)1;
    int rc = ypk_dataset_open(&ds, path, options, error);
    cr_assert_null(ds);
    cr_assert_eq(rc, error->code);
    return rc;
}

/* ---- what the index says ----------------------------------------------------------------------------------------- */

Test(dataset, info) {
    ypk_dataset *ds = open_io(YPK_IO_AUTO);
    ypk_dataset_info info;
    ypk_dataset_get_info(ds, &info);
    cr_assert_eq(info.sample_count, SAMPLES);
    cr_assert_eq(info.shard_count, 3);
    cr_assert_eq(info.class_count, 2);
    cr_assert_eq(info.task, YPK_DETECT);
    cr_assert_eq(info.modalities, YPK_RGB | YPK_IR);
    cr_assert_eq(info.point_dims, 2);
    cr_assert_gt(info.payload_bytes, SAMPLES * 2048);
    cr_assert_str_eq(info.split, "train");
    cr_assert_str_eq(ypk_dataset_class_name(ds, 1), "car");
    cr_assert_null(ypk_dataset_class_name(ds, 2));
    ypk_dataset_close(&ds);
    cr_assert_null(ds);
    ypk_dataset_close(&ds);
    ypk_dataset_close(NULL);
}

Test(dataset, samples) {
    ypk_dataset *ds = open_io(YPK_IO_AUTO);
    struct bytes record = {0};
    for (uint64_t i = 0; i < SAMPLES; i++) {
        struct record header;
        ypk_sample s;
        char name[64];
        tiny_name(name, "images", i, i % 5 == 3 ? "png" : "jpg");
        expected_record(&record, &header, i);
        cr_assert_eq(ypk_dataset_sample(ds, i, &s, NULL), YPK_OK);
        cr_assert_str_eq(s.name, name);
        cr_assert_eq(s.rgb.width, header.rgb.width);
        cr_assert_eq(s.rgb.payload_bytes, header.rgb.payload_bytes);
        cr_assert_eq(s.ir.height, header.ir.height);
        cr_assert_eq(s.ir.hash, header.ir.hash);
        cr_assert_eq(s.rgb.is_transcoded, i % 5 != 3);
        cr_assert_eq(s.label_count, i % 3);
        cr_assert_eq(s.point_count, i % 3 ? 3 : 0);
        if (i % 3) {
            cr_assert_eq(s.labels[0].x, 0.5f);
            cr_assert_eq(s.points[5], 0.75f);
        }
    }
    bytes_deinit(&record);
    ypk_dataset_close(&ds);
}

Test(dataset, find) {
    ypk_dataset *ds = open_io(YPK_IO_AUTO);
    ypk_error error = {0};
    uint64_t index;
    cr_assert_eq(ypk_dataset_find(ds, "images/000017.jpg", &index, &error), YPK_OK, "%s", error.message);
    cr_assert_eq(index, 17);
    cr_assert_eq(ypk_dataset_find(ds, "images/000017.jp", &index, &error), YPK_E_NOT_FOUND);
    cr_assert(strstr(error.message, "images/000017.jp"), "%s", error.message);
    ypk_dataset_close(&ds);
}

Test(dataset, wrong_arguments) {
    ypk_dataset *ds = open_io(YPK_IO_AUTO);
    ypk_error error = {0};
    ypk_sample s;
    uint64_t index;
    cr_assert_eq(ypk_dataset_sample(ds, SAMPLES, &s, &error), YPK_E_ARGUMENT);
    cr_assert(strstr(error.message, "sample 40 of 40"), "%s", error.message);
    cr_assert_eq(ypk_dataset_sample(ds, UINT64_MAX, &s, NULL), YPK_E_ARGUMENT);
    cr_assert_eq(ypk_dataset_sample(ds, 0, NULL, NULL), YPK_E_ARGUMENT);
    cr_assert_eq(ypk_dataset_sample(NULL, 0, &s, NULL), YPK_E_ARGUMENT);
    cr_assert_eq(ypk_dataset_find(ds, NULL, &index, NULL), YPK_E_ARGUMENT);
    cr_assert_eq(ypk_dataset_open(NULL, pack.path, NULL, NULL), YPK_E_ARGUMENT);
    cr_assert_eq(open_fails(NULL, NULL, &error), YPK_E_ARGUMENT);
    ypk_dataset_close(&ds);
}

/* ---- opening ----------------------------------------------------------------------------------------------------- */

Test(dataset, sizes_of_options) {
    ypk_dataset *ds;
    ypk_error error = {0};
    ypk_dataset_options none = {0};
    struct {
        ypk_dataset_options known;
        uint64_t later[2];
    } large = {.known = {.size = sizeof large}};
    cr_assert_eq(open_fails(pack.path, &none, &error), YPK_E_ARGUMENT);
    cr_assert(strstr(error.message, "sizeof(ypk_dataset_options)"), "%s", error.message);
    cr_assert_eq(ypk_dataset_open(&ds, pack.path, &large.known, &error), YPK_OK, "%s", error.message);
    ypk_dataset_close(&ds);
    large.later[1] = 1;
    cr_assert_eq(open_fails(pack.path, &large.known, &error), YPK_E_ARGUMENT);
    cr_assert_eq(open_fails(pack.path, &(ypk_dataset_options){.size = sizeof none, .io = 7}, &error), YPK_E_ARGUMENT);
}

Test(dataset, splits) {
    ypk_error error = {0};
    ypk_dataset *ds;
    ypk_dataset_options options = {.size = sizeof options, .split = "val"};
    ypk_dataset_info info;
    cr_assert_eq(ypk_dataset_open(&ds, pack.path, &options, &error), YPK_OK, "%s", error.message);
    ypk_dataset_get_info(ds, &info);
    cr_assert_str_eq(info.split, "val");
    ypk_dataset_close(&ds);
    options.split = "vall";
    cr_assert_eq(open_fails(pack.path, &options, &error), YPK_E_NOT_FOUND);
    cr_assert(strstr(error.message, "no split \"vall\" (did you mean val?); it has train, val"), "%s", error.message);
    options.split = "../tiny.ypk/val";
    cr_assert_eq(open_fails(pack.path, &options, &error), YPK_E_NOT_FOUND);
    cr_assert_null(strstr(error.message, "mean"), "%s", error.message);
}

Test(dataset, without_its_manifest_a_pack_is_not_whole) {
    char manifest[TINY_PATH_BYTES];
    ypk_error error = {0};
    tiny_join(manifest, pack.path, "pack.json");
    cr_assert_eq(unlink(manifest), 0);
    cr_assert_eq(open_fails(pack.path, NULL, &error), YPK_E_CORRUPT);
    cr_assert(strstr(error.message, "no pack.json"), "%s", error.message);
}

Test(dataset, the_split_when_none_is_named) {
    char train[TINY_PATH_BYTES], day[TINY_PATH_BYTES];
    ypk_error error = {0};
    ypk_dataset *ds;
    ypk_dataset_info info;
    tiny_join(train, pack.path, "train.index");
    tiny_join(day, pack.path, "day.index");
    cr_assert_eq(rename(train, day), 0);
    cr_assert_eq(open_fails(pack.path, NULL, &error), YPK_E_CORRUPT, "half a pack is not taken for one without train");
    cr_assert(strstr(error.message, "train.index is missing"), "%s", error.message);
    static const char *const files[] = {"day.index", "val.index", "report.tsv", NULL};
    tiny_manifest(pack.path, files, pack.shard_count);
    cr_assert_eq(open_fails(pack.path, NULL, &error), YPK_E_ARGUMENT);
    cr_assert(strstr(error.message, "name one of day, val"), "%s", error.message);
    tiny_join(train, pack.path, "val.index");
    unlink(train);
    cr_assert_eq(ypk_dataset_open(&ds, pack.path, NULL, &error), YPK_OK, "%s", error.message);
    ypk_dataset_get_info(ds, &info);
    cr_assert_str_eq(info.split, "day");
    ypk_dataset_close(&ds);
}

Test(dataset, what_is_no_pack) {
    ypk_error error = {0};
    char path[TINY_PATH_BYTES];
    cr_assert_eq(open_fails("/nonexistent.ypk", NULL, &error), YPK_E_NOT_FOUND);
    cr_assert(strstr(error.message, "/nonexistent.ypk"), "%s", error.message);
    cr_assert_eq(open_fails(pack.directory, NULL, &error), YPK_E_NOT_FOUND);
    cr_assert(strstr(error.message, "is no pack"), "%s", error.message);
    tiny_join(path, pack.path, "train.index");
    cr_assert_eq(open_fails(path, NULL, &error), YPK_E_NOT_FOUND);
    cr_assert(strstr(error.message, "a pack is a directory"), "%s", error.message);
}

Test(dataset, shards_that_are_not_those_of_the_index) {
    ypk_error error = {0};
    char path[TINY_PATH_BYTES], other[TINY_PATH_BYTES];
    struct stat st;
    tiny_join(path, pack.path, "train-00001.lmdb");
    tiny_join(other, pack.path, "kept");
    cr_assert_eq(stat(path, &st), 0);
    cr_assert_eq(truncate(path, st.st_size + 4096), 0);
    cr_assert_eq(open_fails(pack.path, NULL, &error), YPK_E_CORRUPT);
    cr_assert(strstr(error.message, "train-00001.lmdb: has ") && strstr(error.message, "the index says"), "%s",
              error.message);
    cr_assert_eq(truncate(path, st.st_size), 0);
    int fd = open(path, O_WRONLY);
    cr_assert_eq(pwrite(fd, "x", 1, 50), 1);
    close(fd);
    cr_assert_eq(open_fails(pack.path, NULL, &error), YPK_E_CORRUPT);
    cr_assert(strstr(error.message, "is not the shard that the index describes"), "%s", error.message);
    cr_assert_eq(rename(path, other), 0);
    cr_assert_eq(open_fails(pack.path, NULL, &error), YPK_E_CORRUPT);
    cr_assert(strstr(error.message, "train-00001.lmdb: the shard is missing"), "%s", error.message);
    cr_assert_eq(mkfifo(path, 0600), 0);
    cr_assert_eq(open_fails(pack.path, NULL, &error), YPK_E_CORRUPT, "a FIFO does not hang");
}

Test(dataset, a_cut_index_says_its_path) {
    ypk_error error = {0};
    char path[TINY_PATH_BYTES];
    tiny_join(path, pack.path, "train.index");
    cr_assert_eq(truncate(path, 1000), 0);
    cr_assert_eq(open_fails(pack.path, NULL, &error), YPK_E_CORRUPT);
    cr_assert(strstr(error.message, "tiny.ypk/train.index: "), "%s", error.message);
    cr_assert_eq(truncate(path, 0), 0);
    cr_assert_eq(open_fails(pack.path, NULL, &error), YPK_E_CORRUPT);
}

Test(dataset, two_hundred_shards_with_few_descriptors) {
    struct tiny_pack many;
    struct rlimit limit = {64, 64};
    tiny_pack_create(&many, 200, 1);
    cr_assert_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
    for (int io = YPK_IO_MMAP; io <= YPK_IO_PREAD; io++) {
        ypk_dataset *ds;
        ypk_error error = {0};
        const uint8_t *data;
        size_t size;
        ypk_dataset_options options = {.size = sizeof options, .io = io};
        cr_assert_eq(ypk_dataset_open(&ds, many.path, &options, &error), YPK_OK, "%s", error.message);
        ypk_decoder *decoder = decoder_of(ds);
        for (uint64_t i = 0; i < 200; i++)
            cr_assert_eq(ypk_decoder_payload(decoder, i, i % 5 == 3 ? YPK_IR : YPK_RGB, &data, &size, &error), YPK_OK,
                         "%s", error.message);
        ypk_decoder_destroy(&decoder);
        ypk_dataset_close(&ds);
    }
    tiny_pack_remove(&many);
}

/* ---- payloads and pixels ----------------------------------------------------------------------------------------- */

static void check_payload(ypk_decoder *decoder, uint64_t id, int modality, const struct record_image *image,
                          const uint8_t *expected) {
    const uint8_t *data;
    size_t size;
    ypk_error error = {0};
    int rc = ypk_decoder_payload(decoder, id, modality, &data, &size, &error);
    if (!image->payload_bytes) {
        cr_assert_eq(rc, YPK_E_ARGUMENT);
        cr_assert(strstr(error.message, modality == YPK_RGB ? "has no RGB image" : "has no IR image"), "%s",
                  error.message);
        return;
    }
    cr_assert_eq(rc, YPK_OK, "%s", error.message);
    cr_assert_eq(size, image->payload_bytes);
    cr_assert_eq(memcmp(data, expected, size), 0);
}

static void check_pixels(ypk_decoder *decoder, uint64_t id, int modality, const struct record_image *image,
                         const uint8_t *planes, size_t padding) {
    size_t channels = modality == YPK_RGB ? 3 : 1, width = image->width, height = image->height;
    size_t stride = width * channels + padding;
    ypk_error error = {0};
    uint8_t *pixels = malloc(stride * height);
    cr_assert_eq(ypk_decoder_decode(decoder, id, modality, pixels, padding ? stride : 0, &error), YPK_OK, "%s",
                 error.message);
    for (size_t y = 0; y < height; y++)
        for (size_t x = 0; x < width; x++)
            for (size_t c = 0; c < channels; c++)
                cr_assert_eq(pixels[y * stride + x * channels + c], planes[(c * height + y) * width + x]);
    free(pixels);
}

static void check_all(const ypk_dataset *ds) {
    ypk_decoder *decoder = decoder_of(ds);
    struct bytes record = {0};
    for (uint64_t i = 0; i < SAMPLES; i++) {
        struct record header;
        expected_record(&record, &header, i);
        const uint8_t *rgb = record.data + RECORD_HEADER_BYTES;
        const uint8_t *ir = record.data + record_ir_offset(header.rgb.payload_bytes);
        check_payload(decoder, i, YPK_RGB, &header.rgb, rgb);
        check_payload(decoder, i, YPK_IR, &header.ir, ir);
        if (header.rgb.payload_bytes)
            check_pixels(decoder, i, YPK_RGB, &header.rgb, rgb, i % 2 * 5);
        if (header.ir.payload_bytes)
            check_pixels(decoder, i, YPK_IR, &header.ir, ir, i % 2 * 5);
    }
    bytes_deinit(&record);
    ypk_decoder_destroy(&decoder);
    cr_assert_null(decoder);
    ypk_decoder_destroy(&decoder);
    ypk_decoder_destroy(NULL);
}

Test(decoder, mapped) {
    ypk_dataset *ds = open_io(YPK_IO_MMAP);
    const uint8_t *data;
    size_t size;
    check_all(ds);
    ypk_decoder *decoder = decoder_of(ds);
    for (uint64_t i = 0; i < SAMPLES; i++)
        if (!ypk_decoder_payload(decoder, i, YPK_IR, &data, &size, NULL))
            cr_assert_eq((uintptr_t)data % 64, 0);
    ypk_decoder_destroy(&decoder);
    ypk_dataset_close(&ds);
}

Test(decoder, read) {
    ypk_dataset *ds = open_io(YPK_IO_PREAD);
    check_all(ds);
    ypk_dataset_close(&ds);
}

Test(decoder, wrong_arguments) {
    ypk_dataset *ds = open_io(YPK_IO_AUTO);
    ypk_decoder *decoder = decoder_of(ds);
    ypk_error error = {0};
    const uint8_t *data;
    size_t size;
    static uint8_t pixels[100 * 100 * 3];
    cr_assert_eq(ypk_decoder_payload(decoder, SAMPLES, YPK_RGB, &data, &size, NULL), YPK_E_ARGUMENT);
    cr_assert_eq(ypk_decoder_payload(decoder, 0, YPK_RGB | YPK_IR, &data, &size, NULL), YPK_E_ARGUMENT);
    cr_assert_eq(ypk_decoder_payload(decoder, 0, YPK_RGB, NULL, &size, NULL), YPK_E_ARGUMENT);
    cr_assert_eq(ypk_decoder_decode(decoder, 0, YPK_RGB, NULL, 0, NULL), YPK_E_ARGUMENT);
    cr_assert_eq(ypk_decoder_decode(decoder, 0, YPK_RGB, pixels, 2, &error), YPK_E_ARGUMENT);
    cr_assert(strstr(error.message, "stride"), "%s", error.message);
    cr_assert_eq(ypk_decoder_decode(decoder, 0, YPK_RGB, pixels, SIZE_MAX, NULL), YPK_E_ARGUMENT);
    cr_assert_eq(ypk_decoder_create(NULL, ds, NULL), YPK_E_ARGUMENT);
    ypk_decoder_destroy(&decoder);
    cr_assert_eq(ypk_decoder_create(&decoder, NULL, NULL), YPK_E_ARGUMENT);
    ypk_dataset_close(&ds);
}

/* Flips a bit of a record; offset in the record. */
static void damage(uint64_t id, uint64_t offset) {
    char path[TINY_PATH_BYTES];
    struct bytes file = {0};
    struct index_view view;
    struct index_sample s;
    uint8_t byte;
    tiny_join(path, pack.path, "train.index");
    cr_assert_eq(file_read(&file, AT_FDCWD, path, 1 << 30, NULL), 0);
    cr_assert_eq(index_parse(&view, (struct span){file.data, file.size}, NULL), 0);
    cr_assert_eq(index_sample(&view, id, &s, NULL), 0);
    char name[INDEX_SHARD_NAME_BYTES];
    index_shard_name(name, "train", s.shard);
    tiny_join(path, pack.path, name);
    int fd = open(path, O_RDWR);
    cr_assert_eq(pread(fd, &byte, 1, (off_t)(s.record_offset + offset)), 1);
    byte ^= 0x10;
    cr_assert_eq(pwrite(fd, &byte, 1, (off_t)(s.record_offset + offset)), 1);
    close(fd);
    bytes_deinit(&file);
}

Test(decoder, damage_is_named_and_shows_no_pixels) {
    static uint8_t pixels[100 * 100 * 3];
    damage(1, RECORD_HEADER_BYTES + 9);
    damage(17, 30);
    for (int io = YPK_IO_MMAP; io <= YPK_IO_PREAD; io++) {
        ypk_dataset *ds = open_io(io);
        ypk_decoder *decoder = decoder_of(ds);
        ypk_error error = {0};
        ypk_sample s;
        cr_assert_eq(ypk_dataset_sample(ds, 1, &s, NULL), YPK_OK);
        memset(pixels, 7, sizeof pixels);
        cr_assert_eq(ypk_decoder_decode(decoder, 1, YPK_RGB, pixels, 0, &error), YPK_E_CORRUPT);
        cr_assert(strstr(error.message, "train-00000.lmdb: sample 1 (images/000001.jpg): RGB payload does not match"),
                  "%s", error.message);
        for (size_t i = 0; i < sizeof pixels; i++)
            cr_assert_eq(pixels[i], i < (size_t)s.rgb.width * s.rgb.height * 3 ? 0 : 7);
        cr_assert_eq(ypk_decoder_decode(decoder, 1, YPK_IR, pixels, 0, NULL), YPK_OK, "its partner is whole");
        cr_assert_eq(ypk_decoder_decode(decoder, 17, YPK_RGB, pixels, 0, &error), YPK_E_CORRUPT);
        cr_assert(strstr(error.message, "train-00001.lmdb: sample 17 (images/000017.jpg): "), "%s", error.message);
        ypk_decoder_destroy(&decoder);
        ypk_dataset_close(&ds);
    }
}

/* ---- files that change under a dataset --------------------------------------------------------------------------- */

Test(decoder, mapped_shards_survive_their_removal) {
    ypk_dataset *ds = open_io(YPK_IO_MMAP);
    check_all(ds);
    cr_assert_eq(dir_remove_all(pack.path, NULL), 0);
    check_all(ds);
    ypk_dataset_close(&ds);
}

Test(decoder, a_shard_exchanged_before_it_is_mapped) {
    char from[TINY_PATH_BYTES], to[TINY_PATH_BYTES];
    ypk_dataset *ds = open_io(YPK_IO_MMAP);
    ypk_decoder *decoder = decoder_of(ds);
    ypk_error error = {0};
    const uint8_t *data;
    size_t size;
    tiny_join(from, pack.path, "train-00000.lmdb");
    tiny_join(to, pack.path, "train-00001.lmdb");
    cr_assert_eq(rename(from, to), 0);
    cr_assert_eq(ypk_decoder_payload(decoder, 20, YPK_RGB, &data, &size, &error), YPK_E_CORRUPT);
    cr_assert(strstr(error.message, "train-00001.lmdb"), "%s", error.message);
    cr_assert_eq(ypk_decoder_payload(decoder, 0, YPK_RGB, &data, &size, &error), YPK_E_CORRUPT);
    cr_assert(strstr(error.message, "train-00000.lmdb: the shard is missing"), "%s", error.message);
    ypk_decoder_destroy(&decoder);
    ypk_dataset_close(&ds);
}

Test(decoder, a_cut_shard_is_an_error_with_pread) {
    char path[TINY_PATH_BYTES];
    ypk_dataset *ds = open_io(YPK_IO_PREAD);
    ypk_decoder *decoder = decoder_of(ds);
    ypk_error error = {0};
    const uint8_t *data;
    size_t size;
    tiny_join(path, pack.path, "train-00002.lmdb");
    cr_assert_eq(truncate(path, 8192), 0);
    cr_assert_eq(ypk_decoder_payload(decoder, 39, YPK_RGB, &data, &size, &error), YPK_E_IO);
    cr_assert(strstr(error.message, "train-00002.lmdb"), "%s", error.message);
    cr_assert_eq(ypk_decoder_payload(decoder, 0, YPK_RGB, &data, &size, &error), YPK_OK, "%s", error.message);
    ypk_decoder_destroy(&decoder);
    ypk_dataset_close(&ds);
}

Test(decoder, relative_paths_survive_chdir) {
    ypk_dataset *ds;
    ypk_error error = {0};
    cr_assert_eq(chdir(pack.directory), 0);
    cr_assert_eq(ypk_dataset_open(&ds, "tiny.ypk", NULL, &error), YPK_OK, "%s", error.message);
    cr_assert_eq(chdir("/"), 0);
    check_all(ds);
    ypk_dataset_close(&ds);
}

Test(decoder, a_child_may_use_the_dataset) {
    ypk_dataset *ds = open_io(YPK_IO_MMAP);
    pid_t child = fork();
    if (child == 0) {
        ypk_decoder *decoder;
        const uint8_t *data;
        size_t size;
        int rc = ypk_decoder_create(&decoder, ds, NULL);
        for (uint64_t i = 0; !rc && i < SAMPLES; i++)
            rc = ypk_decoder_payload(decoder, i, i % 5 == 3 ? YPK_IR : YPK_RGB, &data, &size, NULL);
        _exit(rc ? 1 : 0);
    }
    int status;
    cr_assert_eq(waitpid(child, &status, 0), child);
    cr_assert_eq(status, 0);
    ypk_dataset_close(&ds);
}

/* ---- errors ------------------------------------------------------------------------------------------------------ */

Test(api, codes_and_version) {
    char version[32];
    snprintf(version, sizeof version, "%d.%d.%d", YPK_VERSION_MAJOR, YPK_VERSION_MINOR, YPK_VERSION_PATCH);
    cr_assert_str_eq(ypk_version(), version);
    cr_assert_str_eq(ypk_code_text(YPK_E_CORRUPT), "corrupt pack");
    cr_assert_str_eq(ypk_code_text(YPK_OK), "success");
    cr_assert_str_eq(ypk_code_text(YPK_END), "end of the last epoch");
    cr_assert_not_null(ypk_code_text(-12345));
}
