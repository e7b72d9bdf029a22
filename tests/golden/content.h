/*
 * The golden files of format 1: what is in them, and what a reader has to say about each. make_golden.c writes them,
 * tests/unit/test_golden.c reads them back and compares them with what the code writes today.
 *
 * A file that must fail is made from a good one by one change. Where the change alone would only be a wrong hash, the
 * hashes are made right again, so that the check behind them is what refuses the file.
 */
#ifndef GOLDEN_CONTENT_H
#define GOLDEN_CONTENT_H

#include "bytes.h"
#include "error.h"
#include "hash.h"
#include "index.h"
#include "index_format.h"
#include "record.h"

#include <stdio.h>
#include <stdlib.h>

#define GOLDEN_CHECK(call)                                                                                             \
    do {                                                                                                               \
        struct error golden_error = {0};                                                                               \
        if ((call) != 0) {                                                                                             \
            fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #call, golden_error.message);                       \
            abort();                                                                                                   \
        }                                                                                                              \
    } while (0)

enum { GOLDEN_RGB_BYTES = 333, GOLDEN_IR_BYTES = 77 };

/* Bytes of a payload: any that are always the same. */
static inline void golden_payload(uint8_t *out, size_t size, uint32_t seed) {
    for (size_t i = 0; i < size; i++)
        out[i] = (uint8_t)((seed = seed * 1664525u + 1013904223u) >> 24);
}

static inline struct index_meta golden_meta(uint8_t task, uint8_t point_dims, uint16_t keypoint_count) {
    return (struct index_meta){.task = task,
                               .modalities = MODALITY_RGB | MODALITY_IR,
                               .point_dims = point_dims,
                               .keypoint_count = keypoint_count,
                               .page_bytes = 4096,
                               .shard_prefix = "train"};
}

/* A pair, an RGB image alone and an IR image alone; 2, 0 and 1 labels, one of them a polygon. Two shards. */
static inline void golden_detect(struct index_builder *b) {
    static const struct index_label labels[] = {{0, 0, 0.5f, 0.25f, 0.125f, 0.0625f}, {1, 3, 0.75f, 0.5f, 0.5f, 1.0f}};
    static const float triangle[] = {0.5f, 0.0f, 1.0f, 0.0f, 0.75f, 1.0f};
    static const char *const classes[] = {"person", "bicycle"};
    const struct index_sample samples[] = {
        {.record_offset = 12304,
         .rgb_format = CODEC_JPEG,
         .ir_format = CODEC_JPEG | IMAGE_GRAY,
         .rgb_hash = 0x1111111111111111,
         .ir_hash = 0x2222222222222222,
         .rgb_bytes = 48213,
         .ir_bytes = 20111,
         .rgb_width = 640,
         .rgb_height = 480,
         .ir_width = 320,
         .ir_height = 256,
         .labels = labels,
         .label_count = 2,
         .points = triangle,
         .point_count = 3,
         .rgb_name = "images/a.jpg",
         .ir_name = "imagesIR/a.jpg",
         .label_name = "labels/a.txt"},
        {.record_offset = 81936,
         .rgb_format = CODEC_JPEG | IMAGE_TRANSCODED,
         .rgb_hash = 0x3333333333333333,
         .rgb_bytes = 1200,
         .rgb_width = 1024,
         .rgb_height = 10,
         .rgb_name = "images/b \xe7\xbc\xba.png",
         .ir_name = "",
         .label_name = ""},
        {.record_offset = 12304,
         .shard = 1,
         .ir_format = CODEC_ZSTD | IMAGE_TRANSCODED,
         .ir_hash = 0x4444444444444444,
         .ir_bytes = 90000,
         .ir_width = 384,
         .ir_height = 288,
         .labels = labels,
         .label_count = 1,
         .rgb_name = "",
         .ir_name = "imagesIR/c.png",
         .label_name = "labels/c.txt"},
    };
    b->meta = golden_meta(TASK_DETECT, 2, 0);
    for (size_t i = 0; i < 3; i++)
        GOLDEN_CHECK(index_builder_add(b, &samples[i], &golden_error));
    GOLDEN_CHECK(index_builder_add_shard(b, &(struct index_shard){90112, 0xaaaa, 0xbbbb, 0, 2, 100}, &golden_error));
    GOLDEN_CHECK(index_builder_add_shard(b, &(struct index_shard){106496, 0xcccc, 0xdddd, 2, 1, 500}, &golden_error));
    GOLDEN_CHECK(index_builder_set_classes(b, classes, 2, &golden_error));
}

/* One person with two key points, the second hidden. */
static inline void golden_pose(struct index_builder *b) {
    static const struct index_label label = {0, 2, 0.5f, 0.5f, 0.5f, 0.5f};
    static const float points[] = {0.375f, 0.5f, 2.0f, 0.0f, 0.0f, 0.0f};
    static const char *const classes[] = {"person"};
    b->meta = golden_meta(TASK_POSE, 3, 2);
    const struct index_sample s = {.record_offset = 8208,
                                   .rgb_format = CODEC_RAW | IMAGE_TRANSCODED,
                                   .rgb_hash = 5,
                                   .rgb_bytes = 300,
                                   .rgb_width = 10,
                                   .rgb_height = 10,
                                   .labels = &label,
                                   .label_count = 1,
                                   .points = points,
                                   .point_count = 2,
                                   .rgb_name = "p.png",
                                   .ir_name = "",
                                   .label_name = "p.txt"};
    GOLDEN_CHECK(index_builder_add(b, &s, &golden_error));
    GOLDEN_CHECK(index_builder_add_shard(b, &(struct index_shard){12288, 1, 2, 0, 1, 0}, &golden_error));
    GOLDEN_CHECK(index_builder_set_classes(b, classes, 1, &golden_error));
}

/* What was appended comes first by name. */
static inline void golden_generations(struct index_builder *b) {
    static const char *const names[] = {"b.png", "c.png", "a.png"};
    b->meta = golden_meta(TASK_DETECT, 2, 0);
    for (uint64_t i = 0; i < 3; i++) {
        const struct index_sample s = {.record_offset = i == 1 ? 12304 : 8208,
                                       .shard = i / 2,
                                       .rgb_format = CODEC_RAW | IMAGE_TRANSCODED,
                                       .rgb_hash = i + 1,
                                       .rgb_bytes = 300,
                                       .rgb_width = 10,
                                       .rgb_height = 10,
                                       .rgb_name = names[i],
                                       .ir_name = "",
                                       .label_name = ""};
        if (i == 2)
            GOLDEN_CHECK(index_builder_begin_generation(b, &golden_error));
        GOLDEN_CHECK(index_builder_add(b, &s, &golden_error));
    }
    GOLDEN_CHECK(index_builder_add_shard(b, &(struct index_shard){16384, 1, 2, 0, 2, 0}, &golden_error));
    GOLDEN_CHECK(index_builder_add_shard(b, &(struct index_shard){12288, 3, 4, 2, 1, 2}, &golden_error));
}

static inline void golden_empty(struct index_builder *b) {
    b->meta = golden_meta(TASK_SEGMENT, 2, 0);
}

/* The same as detect, as a part would have it. */
static inline void golden_part(struct index_builder *b) {
    golden_detect(b);
    GOLDEN_CHECK(bytes_append(&b->section[SECTION_REPORT], "a\t1\t2\tnote\n", 11));
    GOLDEN_CHECK(bytes_append(&b->section[SECTION_SOURCE], "source", 6));
}

static inline void golden_index(struct bytes *out, void (*fill)(struct index_builder *b)) {
    struct index_builder b = {0};
    fill(&b);
    GOLDEN_CHECK(index_builder_encode(&b, out, &golden_error));
    index_builder_deinit(&b);
}

/* A whole record; `modalities` of MODALITY_*. */
static inline void golden_record(struct bytes *out, int modalities, enum codec_id ir_codec) {
    struct record r = {.sample_id = 0x0102030405060708};
    uint32_t rgb = modalities & MODALITY_RGB ? GOLDEN_RGB_BYTES : 0,
             ir = modalities & MODALITY_IR ? GOLDEN_IR_BYTES : 0;
    size_t size = (size_t)record_bytes(rgb, ir);
    GOLDEN_CHECK(bytes_reserve(out, size));
    memset(out->data, 0, size);
    out->size = size;
    if (rgb > 0) {
        golden_payload(out->data + RECORD_HEADER_BYTES, rgb, 1);
        r.rgb = (struct record_image){rgb, CODEC_JPEG, 0,    3,   8,
                                      640, 480,        1280, 960, XXH3_64bits(out->data + RECORD_HEADER_BYTES, rgb)};
    }
    if (ir > 0) {
        golden_payload(out->data + record_ir_offset(rgb), ir, 2);
        r.ir = (struct record_image){ir,
                                     ir_codec,
                                     IMAGE_TRANSCODED,
                                     1,
                                     ir_codec == CODEC_ZSTD16 ? 16 : 8,
                                     320,
                                     256,
                                     320,
                                     256,
                                     XXH3_64bits(out->data + record_ir_offset(rgb), ir)};
    }
    record_encode_header(out->data, &r);
}

static inline void base_detect(struct bytes *out) {
    golden_index(out, golden_detect);
}
static inline void base_pose(struct bytes *out) {
    golden_index(out, golden_pose);
}
static inline void base_empty(struct bytes *out) {
    golden_index(out, golden_empty);
}
static inline void base_generations(struct bytes *out) {
    golden_index(out, golden_generations);
}
static inline void base_part(struct bytes *out) {
    golden_index(out, golden_part);
}
static inline void base_pair(struct bytes *out) {
    golden_record(out, MODALITY_RGB | MODALITY_IR, CODEC_ZSTD);
}
static inline void base_rgb(struct bytes *out) {
    golden_record(out, MODALITY_RGB, CODEC_NONE);
}
static inline void base_ir(struct bytes *out) {
    golden_record(out, MODALITY_IR, CODEC_ZSTD);
}
static inline void base_thermal(struct bytes *out) {
    golden_record(out, MODALITY_IR, CODEC_ZSTD16);
}

/* ---- damage to an index ------------------------------------------------------------------------------------------ */

static inline uint8_t *table_row(struct bytes *f, int kind) {
    return f->data + HEADER_SECTIONS + (kind - 1) * TABLE_ROW_SIZE;
}

static inline uint8_t *section(struct bytes *f, int kind) {
    return f->data + load_u64(table_row(f, kind) + TABLE_OFFSET);
}

static inline uint8_t *sample_row(struct bytes *f, int row) {
    return section(f, SECTION_SAMPLES) + row * (int)INDEX_SAMPLE_BYTES;
}

static inline void reseal_header(struct bytes *f) {
    store_u64(f->data + HEADER_HASH, 0);
    store_u64(f->data + HEADER_HASH, XXH3_64bits(f->data, INDEX_HEADER_BYTES));
}

/* The n-th section of the table is of kind n, but for what follows SHARDS. */
static inline void reseal(struct bytes *f) {
    for (int kind = 1; kind <= (int)load_u32(f->data + HEADER_SECTION_COUNT); kind++)
        store_u64(table_row(f, kind) + TABLE_HASH,
                  XXH3_64bits(section(f, kind), load_u64(table_row(f, kind) + TABLE_BYTES)));
    reseal_header(f);
}

static inline void replace(struct bytes *f, const char *text) {
    f->size = 0;
    GOLDEN_CHECK(bytes_append(f, text, strlen(text)));
}

/* clang-format off */
#define DAMAGE(name, ...) static inline void damage_##name(struct bytes *f) { __VA_ARGS__ }
DAMAGE(empty, f->size = 0;)
DAMAGE(text, replace(f, "<!DOCTYPE html>\n<title>404</title>\n");)
DAMAGE(lfs, replace(f, "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a2146\nsize 12345\n");)
DAMAGE(zeros, memset(f->data, 0, f->size);)
DAMAGE(magic, f->data[7] ^= 0x80;)
DAMAGE(cut_header, f->size = 100;)
DAMAGE(cut, f->size -= 1;)
DAMAGE(longer, GOLDEN_CHECK(bytes_append(f, "", 1));)
DAMAGE(big_endian, store_u32(f->data + HEADER_BYTE_ORDER, 0x04030201);)
DAMAGE(byte_order, f->data[HEADER_BYTE_ORDER] ^= 1;)
DAMAGE(newer, store_u32(f->data + HEADER_VERSION, INDEX_VERSION + 1); reseal_header(f);)
DAMAGE(version_0, store_u32(f->data + HEADER_VERSION, 0); reseal_header(f);)
DAMAGE(header_hash, f->data[HEADER_HASH] ^= 1;)
DAMAGE(reserved, f->data[HEADER_RESERVED] = 1; reseal_header(f);)
DAMAGE(task, f->data[HEADER_TASK] = 9; reseal_header(f);)
DAMAGE(modalities, f->data[HEADER_MODALITIES] = 4; reseal_header(f);)
DAMAGE(dims, f->data[HEADER_POINT_DIMS] = 0; reseal_header(f);)
DAMAGE(keypoints, store_u16(f->data + HEADER_KEYPOINT_COUNT, 17); reseal_header(f);)
DAMAGE(page, store_u32(f->data + HEADER_PAGE_BYTES, 4095); reseal_header(f);)
DAMAGE(prefix, memcpy(f->data + HEADER_SHARD_PREFIX, "../up", 5); reseal_header(f);)
DAMAGE(sample_count, store_u64(f->data + HEADER_SAMPLE_COUNT, UINT64_MAX); reseal_header(f);)
DAMAGE(few_sections, store_u32(f->data + HEADER_SECTION_COUNT, 5); reseal_header(f);)
DAMAGE(many_sections, store_u32(f->data + HEADER_SECTION_COUNT, UINT32_MAX); reseal_header(f);)
DAMAGE(section_kind, store_u32(table_row(f, 2) + TABLE_KIND, 12); reseal_header(f);)
DAMAGE(section_unknown, store_u32(table_row(f, 8) + TABLE_KIND, 12); reseal_header(f);)
DAMAGE(section_rows, store_u32(table_row(f, 2) + TABLE_ROW_BYTES, 0); reseal_header(f);)
DAMAGE(section_end, store_u64(table_row(f, 6) + TABLE_BYTES, 960); reseal_header(f);)
DAMAGE(section_far, store_u64(table_row(f, 6) + TABLE_OFFSET, UINT64_MAX - 63); reseal_header(f);)
DAMAGE(section_hash, section(f, SECTION_LABELS)[3] ^= 0x10;)
DAMAGE(padding, section(f, SECTION_LABELS)[-1] = 1;)
DAMAGE(name_end, store_u32(sample_row(f, 1) + ROW_NAME_FIRST, 100000); reseal(f);)
DAMAGE(name_nul, section(f, SECTION_NAMES)[12] = 'x'; reseal(f);)
DAMAGE(name_order, memcpy(section(f, SECTION_NAMES), "zmages", 6); reseal(f);)
DAMAGE(label_end, store_u32(sample_row(f, 1) + ROW_LABEL_FIRST, 1000); reseal(f);)
DAMAGE(label_back, store_u32(sample_row(f, 1) + ROW_LABEL_FIRST, 0);
       store_u32(sample_row(f, 2) + ROW_LABEL_FIRST, 0); reseal(f);)
DAMAGE(point_end, store_u32(sample_row(f, 1) + ROW_POINT_FIRST, 1000); reseal(f);)
DAMAGE(point_sum, store_u16(section(f, SECTION_LABELS) + 2, 7); reseal(f);)
DAMAGE(shard_end, store_u16(sample_row(f, 0) + ROW_SHARD, 2); reseal(f);)
DAMAGE(shard_other, store_u16(sample_row(f, 0) + ROW_SHARD, 1); reseal(f);)
DAMAGE(shard_gap, store_u64(section(f, SECTION_SHARDS) + SHARD_SAMPLE_COUNT, 1); reseal(f);)
DAMAGE(shard_ids, store_u64(section(f, SECTION_SHARDS) + SHARD_FIRST_ID, UINT64_MAX); reseal(f);)
DAMAGE(record_end, store_u64(sample_row(f, 0) + ROW_RECORD_OFFSET, 86032); reseal(f);)
DAMAGE(record_align, store_u64(sample_row(f, 0) + ROW_RECORD_OFFSET, 12305); reseal(f);)
DAMAGE(format, sample_row(f, 0)[ROW_RGB_FORMAT] = 0x0f; reseal(f);)
DAMAGE(no_image, memset(sample_row(f, 1) + ROW_RGB_FORMAT, 0, 2); reseal(f);)
DAMAGE(class, store_u16(section(f, SECTION_LABELS), 2); reseal(f);)
DAMAGE(class_count, section(f, SECTION_CLASSES)[6] = 'x'; reseal(f);)
DAMAGE(box_nan, store_u32(section(f, SECTION_LABELS) + 4, 0x7fc00000); reseal(f);)
DAMAGE(box_range, store_u32(section(f, SECTION_LABELS) + 8, 0x3f800001); reseal(f);)
DAMAGE(point_nan, store_u32(section(f, SECTION_POINTS), 0xffc00000); reseal(f);)
DAMAGE(visibility, store_u32(section(f, SECTION_POINTS) + 8, 0x3f000000); reseal(f);)
DAMAGE(first_row, store_u32(sample_row(f, 0) + ROW_NAME_FIRST, 1); reseal(f);)
DAMAGE(sentinel, store_u32(sample_row(f, 3) + ROW_RGB_BYTES, 1); reseal(f);)
DAMAGE(maximum, store_u16(f->data + HEADER_MAX_SIDES, 2048); reseal_header(f);)
DAMAGE(generation_first, store_u64(section(f, 7), 1); reseal(f);)
DAMAGE(generation_end, store_u64(section(f, 7) + 8, 3); reseal(f);)
DAMAGE(generation_back, store_u64(section(f, 7) + 8, 0); reseal(f);)
DAMAGE(generation_shard, store_u64(section(f, 7) + 8, 1); reseal(f);)
DAMAGE(generation_name, memcpy(section(f, SECTION_NAMES) + 16, "b", 1); reseal(f);)
DAMAGE(generation_alone, store_u64(table_row(f, 7) + TABLE_BYTES, 8); f->size -= 8;
       store_u64(f->data + HEADER_FILE_BYTES, f->size); reseal(f);)
DAMAGE(content, f->data[HEADER_CONTENT_HASH] ^= 1; reseal_header(f);)

/* ---- damage to a record ------------------------------------------------------------------------------------------ */

static inline void reseal_record(struct bytes *f) {
    store_u64(f->data + 104, XXH3_64bits(f->data, 104));
}

DAMAGE(record_cut_header, f->size = 111;)
DAMAGE(record_cut, f->size -= 1;)
DAMAGE(record_magic, f->data[0] = 'y';)
DAMAGE(record_newer, store_u16(f->data + 4, RECORD_VERSION + 1); reseal_record(f);)
DAMAGE(record_version_0, store_u16(f->data + 4, 0); reseal_record(f);)
DAMAGE(record_hash, f->data[20] ^= 1;)
DAMAGE(record_reserved, f->data[64] = 1; reseal_record(f);)
DAMAGE(record_empty, memset(f->data + 16, 0, 48); reseal_record(f);)
DAMAGE(record_ghost, store_u32(f->data + 16, 0); reseal_record(f);)
DAMAGE(record_codec, f->data[20] = 4; reseal_record(f);) /* zstd16 has 16 bits */
DAMAGE(record_codec_unknown, f->data[20] = 5; reseal_record(f);)
DAMAGE(record_flags, f->data[21] = 0x80; reseal_record(f);)
DAMAGE(record_channels, f->data[22] = 2; reseal_record(f);)
DAMAGE(record_depth, f->data[23] = 16; reseal_record(f);)
DAMAGE(record_side, store_u16(f->data + 26, 0); reseal_record(f);)
DAMAGE(record_large, store_u32(f->data + 16, 0xffffffff); reseal_record(f);)
DAMAGE(record_payload, f->data[RECORD_HEADER_BYTES + 5] ^= 1;)
#undef DAMAGE
/* clang-format on */

/* ---- the files --------------------------------------------------------------------------------------------------- */

struct golden_file {
    const char *name;
    void (*base)(struct bytes *out);
    void (*damage)(struct bytes *file); /* NULL: a good file */
    int code;                           /* what reading and checking it gives */
    const char *text;                   /* a part of the message */
};

/* clang-format off */
static const struct golden_file golden_files[] = {
    {"detect.index", base_detect, NULL, 0, ""},
    {"pose.index", base_pose, NULL, 0, ""},
    {"no-samples.index", base_empty, NULL, 0, ""},
    {"train-00000.part", base_part, NULL, 0, ""},
    {"generations.index", base_generations, NULL, 0, ""},
    {"pair.record", base_pair, NULL, 0, ""},
    {"rgb-only.record", base_rgb, NULL, 0, ""},
    {"ir-only.record", base_ir, NULL, 0, ""},
    {"thermal.record", base_thermal, NULL, 0, ""},
#define BAD(name, base, damage, code, text) {"must-fail/" name, base_##base, damage_##damage, code, text},
    BAD("empty.index", detect, empty, ERR_CORRUPT, "is empty")
    BAD("text.index", detect, text, ERR_CORRUPT, "is a text file, not an index (begins with \"<!DOCTYPE html>\")")
    BAD("git-lfs-pointer.index", detect, lfs, ERR_CORRUPT, "git lfs pull")
    BAD("zeros.index", detect, zeros, ERR_CORRUPT, "begins with zeros")
    BAD("magic.index", detect, magic, ERR_CORRUPT, "begins with other bytes than YPKINDEX")
    BAD("cut-header.index", detect, cut_header, ERR_CORRUPT, "has 100 bytes, its header alone has 512")
    BAD("cut.index", detect, cut, ERR_CORRUPT, "is cut: 1184 bytes expected, 1183 found")
    BAD("longer.index", detect, longer, ERR_CORRUPT, "goes on after its end")
    BAD("big-endian.index", detect, big_endian, ERR_UNSUPPORTED, "big-endian")
    BAD("byte-order.index", detect, byte_order, ERR_CORRUPT, "byte order mark")
    BAD("newer.index", detect, newer, ERR_UNSUPPORTED, "made by a newer yolopack: format 2, this one reads up to 1")
    BAD("version-0.index", detect, version_0, ERR_CORRUPT, "no format 0")
    BAD("header-hash.index", detect, header_hash, ERR_CORRUPT, "header does not match its hash")
    BAD("reserved.index", detect, reserved, ERR_CORRUPT, "reserved")
    BAD("task.index", detect, task, ERR_CORRUPT, "task 9")
    BAD("modalities.index", detect, modalities, ERR_CORRUPT, "modalities 4")
    BAD("point-dims.index", detect, dims, ERR_CORRUPT, "2 or 3 numbers")
    BAD("keypoints.index", detect, keypoints, ERR_CORRUPT, "17 key points")
    BAD("page-bytes.index", detect, page, ERR_CORRUPT, "4095")
    BAD("shard-prefix.index", detect, prefix, ERR_CORRUPT, "shard prefix")
    BAD("sample-count.index", detect, sample_count, ERR_CORRUPT, "cannot be in 4 rows")
    BAD("few-sections.index", detect, few_sections, ERR_CORRUPT, "too few")
    BAD("many-sections.index", detect, many_sections, ERR_CORRUPT, "too many")
    BAD("section-missing.index", detect, section_kind, ERR_CORRUPT, "section 2 is missing")
    BAD("section-unknown.part", part, section_unknown, ERR_CORRUPT, "section kind 12 is unknown")
    BAD("section-rows.index", detect, section_rows, ERR_CORRUPT, "no rows of 0")
    BAD("section-past-the-end.index", detect, section_end, ERR_CORRUPT, "does not lie where it should")
    BAD("section-far-away.index", detect, section_far, ERR_CORRUPT, "does not lie where it should")
    BAD("section-hash.index", detect, section_hash, ERR_CORRUPT, "section 2 does not match its hash")
    BAD("padding.index", detect, padding, ERR_CORRUPT, "bytes before section 2 are not zero")
    BAD("name-past-the-end.index", detect, name_end, ERR_CORRUPT, "sample 0: names 0 to 100000")
    BAD("name-without-end.index", detect, name_nul, ERR_CORRUPT, "a name has no end")
    BAD("names-out-of-order.index", detect, name_order, ERR_CORRUPT, "not in the order of names")
    BAD("label-past-the-end.index", detect, label_end, ERR_CORRUPT, "sample 0: labels 0 to 1000")
    BAD("labels-of-another.index", detect, label_back, ERR_CORRUPT, "3 points, but its labels have 0")
    BAD("point-past-the-end.index", detect, point_end, ERR_CORRUPT, "sample 0: points 0 to 1000")
    BAD("point-sum.index", detect, point_sum, ERR_CORRUPT, "3 points, but its labels have 10")
    BAD("shard-past-the-end.index", detect, shard_end, ERR_CORRUPT, "is not in shard 0")
    BAD("shard-of-another.index", detect, shard_other, ERR_CORRUPT, "is not in shard 0")
    BAD("shard-gap.index", detect, shard_gap, ERR_CORRUPT, "shard 1 does not begin where")
    BAD("shard-ids.index", detect, shard_ids, ERR_CORRUPT, "shard 0: its row is damaged")
    BAD("record-past-the-end.index", detect, record_end, ERR_CORRUPT, "cannot be at 86032")
    BAD("record-unaligned.index", detect, record_align, ERR_CORRUPT, "cannot be at 12305")
    BAD("format.index", detect, format, ERR_CORRUPT, "format 0x0f of the RGB image")
    BAD("no-image.index", detect, no_image, ERR_CORRUPT, "neither an RGB nor an IR image")
    BAD("class.index", detect, class, ERR_CORRUPT, "class 2 of 2")
    BAD("class-count.index", detect, class_count, ERR_CORRUPT, "1 class names where 2")
    BAD("box-nan.index", detect, box_nan, ERR_CORRUPT, "box of label 0 is not in 0-1")
    BAD("box-range.index", detect, box_range, ERR_CORRUPT, "box of label 0 is not in 0-1")
    BAD("point-nan.index", detect, point_nan, ERR_CORRUPT, "point 0 is not in 0-1")
    BAD("visibility.index", pose, visibility, ERR_CORRUPT, "visibility of point 0")
    BAD("first-row.index", detect, first_row, ERR_CORRUPT, "first sample does not begin")
    BAD("sentinel.index", detect, sentinel, ERR_CORRUPT, "row after the last sample")
    BAD("generation-first.index", generations, generation_first, ERR_CORRUPT, "the first from sample 0")
    BAD("generation-alone.index", generations, generation_alone, ERR_CORRUPT, "two or more")
    BAD("generation-past-the-end.index", generations, generation_end, ERR_CORRUPT, "generation 1 begins with sample 3 of 3")
    BAD("generation-back.index", generations, generation_back, ERR_CORRUPT, "generation 1 begins with sample 0 of 3")
    BAD("generation-in-a-shard.index", generations, generation_shard, ERR_CORRUPT, "which no shard begins with")
    BAD("generation-same-name.index", generations, generation_name, ERR_CORRUPT, "b.png is in two generations")
    BAD("maximum.index", detect, maximum, ERR_CORRUPT, "largest sizes")
    BAD("content-hash.index", detect, content, ERR_CORRUPT, "content does not match its hash")
    BAD("cut-header.record", pair, record_cut_header, ERR_CORRUPT, "111 bytes are fewer than its header of 112")
    BAD("cut.record", pair, record_cut, ERR_CORRUPT, "needs 2048 bytes for its payloads, has 2047")
    BAD("magic.record", pair, record_magic, ERR_CORRUPT, "begins with 79 50 4b 52")
    BAD("newer.record", pair, record_newer, ERR_UNSUPPORTED, "format 2, this one reads up to 1")
    BAD("version-0.record", pair, record_version_0, ERR_CORRUPT, "not one of format 1")
    BAD("header-hash.record", pair, record_hash, ERR_CORRUPT, "header does not match its hash")
    BAD("reserved.record", pair, record_reserved, ERR_CORRUPT, "not one of format 1")
    BAD("no-image.record", pair, record_empty, ERR_CORRUPT, "holds no image")
    BAD("image-without-bytes.record", pair, record_ghost, ERR_CORRUPT, "RGB image has no bytes")
    BAD("codec.record", pair, record_codec, ERR_CORRUPT, "codec 4 of the RGB image")
    BAD("codec-unknown.record", pair, record_codec_unknown, ERR_CORRUPT, "codec 5 of the RGB image is unknown")
    BAD("flags.record", pair, record_flags, ERR_CORRUPT, "flags 0x80")
    BAD("channels.record", pair, record_channels, ERR_CORRUPT, "2 channels")
    BAD("depth.record", pair, record_depth, ERR_CORRUPT, "16 bits")
    BAD("side.record", pair, record_side, ERR_CORRUPT, "side of 0 px")
    BAD("large.record", pair, record_large, ERR_CORRUPT, "bytes for its payloads")
    BAD("payload.record", pair, record_payload, ERR_CORRUPT, "RGB payload does not match its hash")
#undef BAD
};
/* clang-format on */

enum { GOLDEN_FILE_COUNT = sizeof golden_files / sizeof *golden_files };

/* What the code makes of it today. */
static inline void golden_make(struct bytes *out, const struct golden_file *file) {
    file->base(out);
    if (file->damage)
        file->damage(out);
}

#endif
