/*
 * A small pack without the packer's pipeline: pictures of noise stored raw, a few labels, shards, index, manifest.
 * For tests only: whatever fails here ends the program.
 */
#ifndef YPK_TESTS_TINY_PACK_H
#define YPK_TESTS_TINY_PACK_H

#include "check.h"
#include "file.h"
#include "hash.h"
#include "index.h"
#include "manifest.h"
#include "record.h"
#include "shard.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { TINY_PATH_BYTES = 512 };

struct tiny_pack {
    char directory[TINY_PATH_BYTES]; /* temporary, holds the pack */
    char path[TINY_PATH_BYTES];      /* of the pack */
    uint64_t sample_count;
    uint64_t shard_count;
};

static inline uint64_t tiny_random(uint64_t *state) {
    uint64_t z = (*state += UINT64_C(0x9e3779b97f4a7c15));
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

static inline void tiny_directory(char out[TINY_PATH_BYTES]) {
    const char *base = getenv("TMPDIR");
    snprintf(out, TINY_PATH_BYTES, "%s/ypk-test-XXXXXX", base && *base ? base : "/tmp");
    CHECK(mkdtemp(out));
}

static inline void tiny_join(char out[TINY_PATH_BYTES], const char *directory, const char *name) {
    CHECK(snprintf(out, TINY_PATH_BYTES, "%s/%s", directory, name) < TINY_PATH_BYTES);
}

/* Sides of sample `id`: odd, of many sizes, some smaller than a page. */
static inline uint16_t tiny_side(uint64_t id, int which) {
    return (uint16_t)(10 + (id * 37 + (uint64_t)which * 11) % 90);
}

/* The picture's bytes as CODEC_RAW keeps them: [channels][height][width]. */
static inline void tiny_payload(struct bytes *out, struct record_image *image, uint64_t id, uint8_t channels) {
    uint16_t width = tiny_side(id, channels), height = tiny_side(id, channels + 1);
    uint32_t size = (uint32_t)width * height * channels;
    uint64_t state = id * 4 + channels;
    size_t start = out->size;
    CHECK(bytes_reserve(out, start + size) == 0);
    for (uint32_t i = 0; i < size; i++)
        out->data[start + i] = (uint8_t)tiny_random(&state);
    out->size += size;
    *image = (struct record_image){.payload_bytes = size,
                                   .codec = CODEC_RAW,
                                   .flags = IMAGE_TRANSCODED,
                                   .channels = channels,
                                   .depth = 8,
                                   .width = width,
                                   .height = height,
                                   .source_width = width,
                                   .source_height = height,
                                   .hash = XXH3_64bits(out->data + start, size)};
}

static inline void tiny_pad(struct bytes *record, uint64_t size) {
    static const uint8_t zeros[RECORD_MINIMUM_BYTES];
    CHECK(size >= record->size && size - record->size <= sizeof zeros);
    CHECK(bytes_append(record, zeros, (size_t)size - record->size) == 0);
}

/* Every fifth sample from 3 on has no RGB, every seventh from 5 on no IR. */
static inline void tiny_record(struct bytes *out, struct record *header, uint64_t id) {
    out->size = 0;
    *header = (struct record){.sample_id = id};
    tiny_pad(out, RECORD_HEADER_BYTES);
    if (id % 5 != 3)
        tiny_payload(out, &header->rgb, id, 3);
    if (id % 5 == 3 || id % 7 != 5) {
        tiny_pad(out, record_ir_offset(header->rgb.payload_bytes));
        tiny_payload(out, &header->ir, id, 1);
    }
    tiny_pad(out, record_bytes(header->rgb.payload_bytes, header->ir.payload_bytes));
    record_encode_header(out->data, header);
}

static inline void tiny_name(char out[64], const char *folder, uint64_t id, const char *suffix) {
    snprintf(out, 64, "%s/%06llu.%s", folder, (unsigned long long)id, suffix);
}

/* Points of tiny labels: a triangle of the last one, or (poses, oriented boxes) as many as the task wants for each. */
static inline uint32_t tiny_points(struct index_label labels[2], float points[24], uint32_t label_count,
                                   const struct index_meta *meta) {
    const float triangle[6] = {0.0f, 0.25f, 0.5f, 0.25f, 0.25f, 0.75f};
    const float corners[2][4][2] = {{{0.25f, 0.5f}, {0.5f, 0.375f}, {0.75f, 0.5f}, {0.5f, 0.625f}},
                                    {{0.0f, 0.25f}, {0.5f, 0.25f}, {0.5f, 0.75f}, {0.0f, 0.75f}}};
    if (meta->task != TASK_POSE && meta->task != TASK_OBB) {
        memcpy(points, triangle, sizeof triangle);
        if (label_count)
            labels[label_count - 1].point_count = 3;
        return label_count ? 3 : 0;
    }
    for (uint32_t i = 0; i < label_count; i++) {
        labels[i].point_count = 4;
        for (uint32_t k = 0; k < 4; k++) {
            float *point = points + (i * 4 + k) * meta->point_dims;
            memcpy(point, corners[i][k], sizeof corners[i][k]);
            if (meta->point_dims == 3)
                point[2] = (float)(k % 3);
        }
    }
    return 4 * label_count;
}

/* Sample `id` as the index has it: id % 3 labels. */
static inline void tiny_add_row(struct index_builder *index, const struct record *r, uint64_t offset, uint16_t shard) {
    uint64_t id = r->sample_id;
    uint32_t label_count = (uint32_t)(id % 3);
    struct index_label labels[2] = {{(uint16_t)(id % 2), 0, 0.5f, 0.5f, 0.25f, 0.125f},
                                    {1, 0, 0.25f, 0.5f, 0.5f, 0.5f}};
    float points[24] = {0};
    char rgb[64] = "", ir[64] = "", label[64] = "";
    uint32_t point_count = tiny_points(labels, points, label_count, &index->meta);
    if (label_count)
        tiny_name(label, "labels", id, "txt");
    if (r->rgb.payload_bytes)
        tiny_name(rgb, "images", id, "jpg");
    if (r->ir.payload_bytes)
        tiny_name(ir, r->rgb.payload_bytes ? "imagesIR" : "images", id, "png");
    struct index_sample row = {.record_offset = offset,
                               .shard = shard,
                               .rgb_format = (uint8_t)(r->rgb.codec | r->rgb.flags),
                               .ir_format = (uint8_t)(r->ir.codec | r->ir.flags),
                               .rgb_hash = r->rgb.hash,
                               .ir_hash = r->ir.hash,
                               .rgb_bytes = r->rgb.payload_bytes,
                               .ir_bytes = r->ir.payload_bytes,
                               .rgb_width = r->rgb.width,
                               .rgb_height = r->rgb.height,
                               .ir_width = r->ir.width,
                               .ir_height = r->ir.height,
                               .labels = labels,
                               .label_count = label_count,
                               .points = points,
                               .point_count = point_count,
                               .rgb_name = rgb,
                               .ir_name = ir,
                               .label_name = label};
    CHECK(index_builder_add(index, &row, NULL) == 0);
}

static inline void tiny_write(const char *directory, const char *name, const struct bytes *bytes) {
    char path[TINY_PATH_BYTES];
    tiny_join(path, directory, name);
    CHECK(file_write_atomic(path, bytes->data, bytes->size, NULL) == 0);
}

/* Writes pack.json for the given files; `names` ends with NULL. */
static inline void tiny_manifest(const char *pack, const char *const *names, uint64_t shard_count) {
    json_t *manifest = json_object(), *files = json_array();
    struct bytes text = {0};
    CHECK(manifest && files);
    json_object_set_new(manifest, "version", json_integer(MANIFEST_VERSION));
    for (; *names; names++)
        CHECK(manifest_add_file(files, pack, *names, NULL) == 0);
    for (uint64_t i = 0; i < shard_count; i++) {
        char name[INDEX_SHARD_NAME_BYTES];
        index_shard_name(name, "train", i);
        CHECK(manifest_add_file(files, pack, name, NULL) == 0);
    }
    json_object_set_new(manifest, "files", files);
    CHECK(manifest_encode(&text, manifest, NULL) == 0);
    tiny_write(pack, MANIFEST_NAME, &text);
    json_decref(manifest);
    bytes_deinit(&text);
}

/* Shards of at most `per_shard` samples into `pack`; rows and shards into `index`. Returns the number of shards. */
static inline uint64_t tiny_shards(struct index_builder *index, const char *pack, uint64_t samples,
                                   uint64_t per_shard) {
    struct bytes record = {0};
    struct record *headers = calloc(per_shard, sizeof *headers);
    uint64_t *offsets = calloc(per_shard, sizeof *offsets), shards = 0;
    CHECK(headers && offsets);
    for (uint64_t first = 0; first < samples; first += per_shard, shards++) {
        uint64_t count = samples - first < per_shard ? samples - first : per_shard;
        char name[INDEX_SHARD_NAME_BYTES], path[TINY_PATH_BYTES];
        struct shard_writer *writer;
        struct index_shard sealed;
        index_shard_name(name, "train", shards);
        tiny_join(path, pack, name);
        CHECK(shard_writer_create(&writer, path, UINT64_C(64) << 20, NULL) == 0);
        for (uint64_t i = 0; i < count; i++) {
            tiny_record(&record, &headers[i], first + i);
            CHECK(shard_writer_add(writer, first + i, (struct span){record.data, record.size}, NULL) == 0);
        }
        CHECK(shard_writer_seal(&writer, &sealed, offsets, NULL) == 0);
        sealed.first_sample = first;
        CHECK(index_builder_add_shard(index, &sealed, NULL) == 0);
        for (uint64_t i = 0; i < count; i++)
            tiny_add_row(index, &headers[i], offsets[i], (uint16_t)shards);
    }
    free(headers);
    free(offsets);
    bytes_deinit(&record);
    return shards;
}

static inline void tiny_index(struct bytes *out, struct index_builder *index) {
    static const char *const classes[] = {"person", "car"};
    CHECK(index_builder_set_classes(index, classes, 2, NULL) == 0);
    CHECK(index_builder_encode(index, out, NULL) == 0);
}

/* "train" and "val" share their samples, as splits of a data.yaml may. */
static inline void tiny_task_pack_create(struct tiny_pack *out, uint64_t samples, uint64_t per_shard, uint8_t task) {
    static const char *const files[] = {"train.index", "val.index", "report.tsv", NULL};
    struct bytes encoded = {0}, report = {0};
    struct index_builder index = {.meta = {.task = task,
                                           .modalities = MODALITY_RGB | MODALITY_IR,
                                           .point_dims = task == TASK_POSE ? 3 : 2,
                                           .keypoint_count = task == TASK_POSE ? 4 : 0,
                                           .page_bytes = (uint32_t)sysconf(_SC_PAGESIZE),
                                           .shard_prefix = "train"}};
    *out = (struct tiny_pack){.sample_count = samples};
    tiny_directory(out->directory);
    tiny_join(out->path, out->directory, "tiny.ypk");
    CHECK(mkdir(out->path, 0777) == 0);
    out->shard_count = tiny_shards(&index, out->path, samples, per_shard);
    tiny_index(&encoded, &index);
    CHECK(bytes_append(&report, "path\tline\n", 10) == 0);
    tiny_write(out->path, files[0], &encoded);
    tiny_write(out->path, files[1], &encoded);
    tiny_write(out->path, files[2], &report);
    tiny_manifest(out->path, files, out->shard_count);
    bytes_deinit(&encoded);
    bytes_deinit(&report);
    index_builder_deinit(&index);
}

/* Seals the only shard of a pack, whose records are there, and writes the index and the manifest. */
static inline void tiny_pack_finish(const char *directory, struct index_builder *index, struct shard_writer **writer,
                                    const struct record headers[], uint64_t count) {
    static const char *const files[] = {"train.index", NULL};
    struct index_shard sealed;
    struct bytes encoded = {0};
    uint64_t *offsets = calloc((size_t)count, sizeof *offsets);
    CHECK(offsets);
    CHECK(shard_writer_seal(writer, &sealed, offsets, NULL) == 0);
    CHECK(index_builder_add_shard(index, &sealed, NULL) == 0);
    for (uint64_t i = 0; i < count; i++)
        tiny_add_row(index, &headers[i], offsets[i], 0);
    tiny_index(&encoded, index);
    tiny_write(directory, files[0], &encoded);
    tiny_manifest(directory, files, 1);
    bytes_deinit(&encoded);
    free(offsets);
}

static inline void tiny_pack_create(struct tiny_pack *out, uint64_t samples, uint64_t per_shard) {
    tiny_task_pack_create(out, samples, per_shard, TASK_DETECT);
}

/* Flips a byte of sample `id`'s first payload on the disk, wherever the shard has it. */
static inline void tiny_damage(const struct tiny_pack *pack, uint64_t id) {
    struct bytes record = {0};
    struct record header;
    bool found = false;
    tiny_record(&record, &header, id);
    for (uint64_t shard = 0; shard < pack->shard_count; shard++) {
        char name[INDEX_SHARD_NAME_BYTES], path[TINY_PATH_BYTES];
        struct bytes file = {0};
        index_shard_name(name, "train", shard);
        tiny_join(path, pack->path, name);
        CHECK(file_read(&file, -100, path, 1u << 30, NULL) == 0);
        uint8_t *at = memmem(file.data, file.size, record.data, record.size);
        if (at) {
            long offset =
                (long)(at - file.data) +
                (header.rgb.payload_bytes ? RECORD_HEADER_BYTES : (long)record_ir_offset(header.rgb.payload_bytes));
            FILE *f = fopen(path, "r+b");
            CHECK(f && fseek(f, offset, SEEK_SET) == 0 && fputc(file.data[offset] ^ 0xff, f) != EOF);
            CHECK(fclose(f) == 0);
            found = true;
        }
        bytes_deinit(&file);
    }
    bytes_deinit(&record);
    CHECK(found);
}

static inline void tiny_pack_remove(struct tiny_pack *pack) {
    CHECK(dir_remove_all(pack->directory, NULL) == 0);
}

#endif
