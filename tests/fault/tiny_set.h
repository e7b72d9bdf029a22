/* A raw data set of six pairs, made as the test runs, and directories remembered byte for byte. */
#ifndef YPK_TESTS_FAULT_TINY_SET_H
#define YPK_TESTS_FAULT_TINY_SET_H

#include "inject.h"

#include "file.h"
#include "jpeg.h"
#include "pack.h"
#include "pixels.h"
#include "png_out.h"

#include <sys/stat.h>

enum { TINY_PATH_BYTES = 256, SNAPSHOT_FILES = 32 };

static inline const char *tiny_path(char out[TINY_PATH_BYTES], const char *directory, const char *name) {
    FAULT_CHECK(snprintf(out, TINY_PATH_BYTES, "%s/%s", directory, name) < TINY_PATH_BYTES, "%s", directory);
    return out;
}

/* Memory where there is some, since a run syncs hundreds of times. */
static inline void tiny_directory(char out[TINY_PATH_BYTES]) {
    const char *base = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : getenv("TMPDIR");
    snprintf(out, TINY_PATH_BYTES, "%s/ypk-fault-XXXXXX", base && *base ? base : "/tmp");
    FAULT_CHECK(mkdtemp(out), "%s", out);
}

static inline void tiny_write(const char *directory, const char *name, const void *data, size_t size) {
    char path[TINY_PATH_BYTES];
    FILE *file = fopen(tiny_path(path, directory, name), "wb");
    FAULT_CHECK(file && fwrite(data, 1, size, file) == size && fclose(file) == 0, "%s", path);
}

static inline void tiny_text(const char *directory, const char *name, const char *text) {
    tiny_write(directory, name, text, strlen(text));
}

/* Texture, so that no two pictures are alike. */
static inline void tiny_pixels(struct pixels *out, uint32_t width, uint32_t height, int channels, uint32_t seed) {
    FAULT_CHECK(pixels_init(out, width, height, channels, 8, NULL) == 0, "out of memory");
    for (size_t i = 0; i < out->stride * height; i++) {
        seed = seed * 1664525u + 1013904223u;
        out->data[i] = (uint8_t)(i * 3 + (seed >> 27));
    }
}

/* An EXIF marker behind the first: turned by 90 degrees. */
static inline void tiny_turn(struct bytes *file) {
    static const uint8_t app1[] = {0xff, 0xe1, 0,    34, 'E', 'x', 'i', 'f', 0, 0, 'I', 'I', '*', 0, 8, 0, 0, 0,
                                   1,    0,    0x12, 1,  3,   0,   1,   0,   0, 0, 6,   0,   0,   0, 0, 0, 0, 0};
    FAULT_CHECK(bytes_append(file, app1, sizeof app1) == 0, "out of memory");
    memmove(file->data + 2 + sizeof app1, file->data + 2, file->size - 2 - sizeof app1);
    memcpy(file->data + 2, app1, sizeof app1);
}

enum tiny_kind { TINY_JPEG, TINY_TURNED, TINY_PNG };

static inline void tiny_image(const char *set, const char *name, enum tiny_kind kind, uint32_t side, int channels,
                              uint32_t seed) {
    struct bytes file = {0};
    struct pixels pixels;
    struct jpeg *jpeg;
    struct error error = {0};
    tiny_pixels(&pixels, side, side / 2, channels, seed);
    FAULT_CHECK_OK(jpeg_handle_create(&jpeg, &error), &error);
    if (kind == TINY_PNG)
        FAULT_CHECK_OK(encode_png(&file, &pixels, &error), &error);
    else
        FAULT_CHECK_OK(jpeg_encode(jpeg, &file, &pixels, 90, false, &error), &error);
    if (kind == TINY_TURNED)
        tiny_turn(&file);
    tiny_write(set, name, file.data, file.size);
    jpeg_handle_destroy(&jpeg);
    pixels_deinit(&pixels);
    bytes_deinit(&file);
}

/* SET/data.yaml: four pairs in train, two in val; a PNG, a turned JPEG, a polygon, a background image. */
static inline void tiny_set_create(const char *set, uint32_t side) {
    static const char *const directories[] = {"images/train", "images/val",   "imagesIR/train",
                                              "imagesIR/val", "labels/train", "labels/val"};
    char path[TINY_PATH_BYTES], name[64];
    for (size_t i = 0; i < sizeof directories / sizeof *directories; i++)
        FAULT_CHECK(dir_create_all(tiny_path(path, set, directories[i]), NULL) == 0, "%s", path);
    tiny_text(set, "data.yaml", "path: .\ntrain: images/train\nval: images/val\nnames:\n  0: person\n  1: car\n");
    for (int i = 0; i < 6; i++) {
        const char *split = i < 4 ? "train" : "val";
        snprintf(name, sizeof name, "images/%s/%d.jpg", split, i);
        tiny_image(set, name, i == 2 ? TINY_TURNED : TINY_JPEG, side, 3, (uint32_t)i);
        snprintf(name, sizeof name, "imagesIR/%s/%d.%s", split, i, i == 1 ? "png" : "jpg");
        tiny_image(set, name, i == 1 ? TINY_PNG : TINY_JPEG, side, 1, (uint32_t)i + 10);
        snprintf(name, sizeof name, "labels/%s/%d.txt", split, i);
        if (i != 3)
            tiny_text(set, name, i == 0 ? "1 0.1 0.1 0.9 0.1 0.5 0.9\n" : "1 0.5 0.5 0.5 0.5\n");
    }
}

static inline void tiny_options(struct pack_options *options, const char *dataset, const char *output) {
    pack_options_init(options);
    options->source.dataset = dataset;
    options->output = output;
    options->shard_bytes = 8192; /* two shards in train */
    options->max_rejects = 0;    /* a sample that is lost is a failure here */
    options->strict = true;
}

/* ---- directories as they were ------------------------------------------------------------------------------------ */

struct snapshot {
    struct {
        char name[64];
        uint8_t *data;
        size_t size;
    } files[SNAPSHOT_FILES];
    size_t count;
};

static inline bool tiny_exists(const char *path) {
    return access(path, F_OK) == 0;
}

static inline int compare_text(const void *a, const void *b) {
    return strcmp(a, b);
}

/* Empty if there is no such directory. */
static inline void snapshot_take(struct snapshot *out, const char *directory) {
    char path[TINY_PATH_BYTES], names[SNAPSHOT_FILES][64];
    *out = (struct snapshot){0};
    DIR *dir = opendir(directory);
    for (struct dirent *e; dir && (e = readdir(dir));)
        if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0) {
            FAULT_CHECK(out->count < SNAPSHOT_FILES && strlen(e->d_name) < 64, "%s", e->d_name);
            strcpy(names[out->count++], e->d_name);
        }
    if (dir)
        closedir(dir);
    qsort(names, out->count, sizeof *names, compare_text);
    for (size_t i = 0; i < out->count; i++) {
        struct bytes file = {0};
        strcpy(out->files[i].name, names[i]);
        FAULT_CHECK(file_read(&file, AT_FDCWD, tiny_path(path, directory, names[i]), 1u << 30, NULL) == 0, "%s", path);
        out->files[i].data = file.data;
        out->files[i].size = file.size;
    }
}

static inline void snapshot_deinit(struct snapshot *s) {
    for (size_t i = 0; i < s->count; i++)
        free(s->files[i].data);
    *s = (struct snapshot){0};
}

static inline void snapshot_put(const struct snapshot *s, const char *directory) {
    FAULT_CHECK(dir_remove_all(directory, NULL) == 0, "%s", directory);
    if (s->count == 0)
        return;
    FAULT_CHECK(mkdir(directory, 0777) == 0, "%s", directory);
    for (size_t i = 0; i < s->count; i++)
        tiny_write(directory, s->files[i].name, s->files[i].data, s->files[i].size);
}

/* NULL if the directory holds these very bytes, else the first name that differs. */
static inline const char *snapshot_differs(const struct snapshot *s, const char *directory) {
    static char found[64];
    struct snapshot now;
    snapshot_take(&now, directory);
    const char *differs = NULL;
    for (size_t i = 0; !differs && i < (s->count > now.count ? s->count : now.count); i++) {
        if (i >= now.count)
            differs = s->files[i].name;
        else if (i >= s->count || strcmp(s->files[i].name, now.files[i].name) != 0 ||
                 s->files[i].size != now.files[i].size ||
                 memcmp(s->files[i].data, now.files[i].data, now.files[i].size) != 0)
            differs = strcpy(found, now.files[i].name);
    }
    snapshot_deinit(&now);
    return differs;
}

#endif
