/*
 * 1,000 flipped bits and 100 cuts, anywhere in index, manifest, report and shards of a small pack: verify finds each
 * one, and neither verify nor the reader crashes or hangs. Repeatable: the seed is the first argument, or 1.
 */
#include "unit/tiny_pack.h"

#include "verify.h"
#include "yolopack.h"

#include <fcntl.h>

enum { SAMPLES = 30, PER_SHARD = 15, FLIPS = 1000, CUTS = 100, PIXELS_BYTES = 100 * 100 * 3 };

static const char *const files[] = {"train.index", "val.index",        MANIFEST_NAME,
                                    "report.tsv",  "train-00000.lmdb", "train-00001.lmdb"};
enum { FILES = sizeof files / sizeof *files };

/* Reads everything that can be read; what it says does not matter here, only that it comes back. Mapped files are not
 * cut while they are open, so that no SIGBUS is due. */
static void read_all(const char *pack, int io) {
    static uint8_t pixels[PIXELS_BYTES];
    ypk_dataset *ds;
    ypk_decoder *decoder;
    ypk_sample s;
    ypk_dataset_options options = {.size = sizeof options, .io = io};
    uint64_t found;
    if (ypk_dataset_open(&ds, pack, &options, NULL))
        return;
    CHECK(ypk_decoder_create(&decoder, ds, NULL) == YPK_OK);
    for (uint64_t i = 0; i < SAMPLES; i++) {
        if (ypk_dataset_sample(ds, i, &s, NULL))
            continue;
        (void)ypk_dataset_find(ds, s.name, &found, NULL);
        if (s.rgb.width <= 100 && s.rgb.height <= 100)
            (void)ypk_decoder_decode(decoder, i, YPK_RGB, pixels, 0, NULL);
        if (s.ir.width <= 100 && s.ir.height <= 100)
            (void)ypk_decoder_decode(decoder, i, YPK_IR, pixels, 0, NULL);
    }
    for (uint32_t i = 0; i < 4; i++)
        (void)ypk_dataset_class_name(ds, i);
    ypk_decoder_destroy(&decoder);
    ypk_dataset_close(&ds);
}

static int is_whole(const char *pack) {
    struct verify_result result;
    struct verify_options options = {.jobs = 1};
    return verify_pack(&result, pack, &options, NULL) == 0;
}

/* Replaces the file by the given bytes, in a new file: a map of the old one stays whole. */
static void put(const char *path, const uint8_t *data, size_t size) {
    unlink(path);
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL, 0644);
    CHECK(fd >= 0 && file_write_all(fd, data, size, path, NULL) == 0);
    close(fd);
}

static void try_damage(const struct tiny_pack *pack, const char *what, const char *file, uint64_t where) {
    if (is_whole(pack->path)) {
        fprintf(stderr, "%s: %s at %llu is not found by verify\n", file, what, (unsigned long long)where);
        exit(1);
    }
    read_all(pack->path, YPK_IO_MMAP);
    read_all(pack->path, YPK_IO_PREAD);
}

static void damage_file(const struct tiny_pack *pack, const char *file, int flips, int cuts, uint64_t *random) {
    char path[TINY_PATH_BYTES];
    struct bytes bytes = {0};
    tiny_join(path, pack->path, file);
    CHECK(file_read(&bytes, AT_FDCWD, path, 1 << 30, NULL) == 0);
    for (int i = 0; i < flips; i++) {
        uint64_t bit = tiny_random(random) % (bytes.size * 8);
        bytes.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
        put(path, bytes.data, bytes.size);
        try_damage(pack, "a flipped bit", file, bit);
        bytes.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
    for (int i = 0; i < cuts; i++) {
        size_t size = (size_t)(tiny_random(random) % bytes.size);
        put(path, bytes.data, size);
        try_damage(pack, "a cut", file, size);
    }
    put(path, bytes.data, bytes.size);
    bytes_deinit(&bytes);
}

int main(int argc, char **argv) {
    struct tiny_pack pack;
    uint64_t random = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
    tiny_pack_create(&pack, SAMPLES, PER_SHARD);
    CHECK(is_whole(pack.path));
    for (int i = 0; i < FILES; i++)
        damage_file(&pack, files[i], FLIPS / FILES + (i < FLIPS % FILES), CUTS / FILES + (i < CUTS % FILES), &random);
    CHECK(is_whole(pack.path));
    tiny_pack_remove(&pack);
    printf("stress_damage: %d flipped bits and %d cuts, each found\n", FLIPS, CUTS);
    return 0;
}
