#include "hash.h"
#include "index.h"

#include "index_format.h"
#include "record.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>

static struct error error;

static const struct index_meta meta = {.task = TASK_SEGMENT,
                                       .modalities = MODALITY_RGB | MODALITY_IR,
                                       .point_dims = 2,
                                       .page_bytes = 4096,
                                       .shard_prefix = "train"};
static const char *const class_names[] = {"person", "bicycle", "car"};

/* ---- a set made by a rule: sample i has i % 4 labels, every third has no IR, every seventh no RGB ---------------- */

struct made {
    char rgb_name[64], ir_name[64], label_name[64];
    struct index_label labels[3];
    float points[9][2];
    struct index_sample sample;
};

static void make_sample(struct made *m, uint64_t i, uint16_t shard, uint64_t place) {
    *m = (struct made){0};
    bool rgb = i % 7 != 6, ir = !rgb || i % 3 != 2;
    if (rgb)
        snprintf(m->rgb_name, sizeof m->rgb_name, "images/%08llu.jpg", (unsigned long long)i);
    if (ir)
        snprintf(m->ir_name, sizeof m->ir_name, "%s/%08llu.jpg", rgb ? "imagesIR" : "images", (unsigned long long)i);
    if (i % 4 != 0)
        snprintf(m->label_name, sizeof m->label_name, "labels/%08llu.txt", (unsigned long long)i);
    uint32_t points = 0;
    for (uint32_t k = 0; k < i % 4; k++) {
        uint16_t count = k == 1 ? 3 : 0;
        m->labels[k] = (struct index_label){(uint16_t)((i + k) % 3), count, 0.5f, 0.25f, 0.125f * (float)k, 1.0f};
        for (uint32_t p = 0; p < count; p++, points++)
            m->points[points][0] = m->points[points][1] = (float)p / 4;
    }
    m->sample = (struct index_sample){
        .record_offset = RECORD_PAGE_OFFSET + (place + 2) * 4096,
        .shard = shard,
        .rgb_format = rgb ? CODEC_JPEG : 0,
        .ir_format = ir ? CODEC_ZSTD | IMAGE_TRANSCODED : 0,
        .rgb_hash = rgb ? i * 0x9e3779b97f4a7c15 + 1 : 0,
        .ir_hash = ir ? i * 0xc2b2ae3d27d4eb4f + 1 : 0,
        .rgb_bytes = rgb ? (uint32_t)(1000 + i % 100) : 0,
        .ir_bytes = ir ? (uint32_t)(500 + i % 50) : 0,
        .rgb_width = rgb ? (uint16_t)(640 + i % 3) : 0,
        .rgb_height = rgb ? 480 : 0,
        .ir_width = ir ? 320 : 0,
        .ir_height = ir ? (uint16_t)(256 + i % 2) : 0,
        .labels = m->labels,
        .label_count = (uint32_t)(i % 4),
        .points = &m->points[0][0],
        .point_count = points,
        .rgb_name = m->rgb_name,
        .ir_name = m->ir_name,
        .label_name = m->label_name,
    };
}

enum { PER_SHARD = 5 };

/* Adds samples [first, end), a shard for every PER_SHARD of them; `first` is a multiple of PER_SHARD. */
static void add_samples(struct index_builder *b, uint64_t first, uint64_t end) {
    for (uint64_t i = first; i < end; i++) {
        struct made m;
        uint64_t row = i - first;
        make_sample(&m, i, (uint16_t)(row / PER_SHARD), 0);
        cr_assert_eq(index_builder_add(b, &m.sample, &error), 0, "%s", error.message);
        index_builder_place(b, row, RECORD_PAGE_OFFSET + (i % PER_SHARD + 2) * 4096);
    }
    for (uint64_t i = first; i < end; i += PER_SHARD) {
        uint64_t count = end - i < PER_SHARD ? end - i : PER_SHARD;
        struct index_shard s = {.file_bytes = (count + 2) * 4096,
                                .head_hash = i + 1,
                                .structure_hash = i + 2,
                                .first_sample = i - first,
                                .sample_count = count,
                                .first_id = i};
        cr_assert_eq(index_builder_add_shard(b, &s, &error), 0);
    }
}

static void build(struct bytes *out, uint64_t first, uint64_t end, uint64_t class_count, bool part) {
    struct index_builder b = {.meta = meta};
    add_samples(&b, first, end);
    cr_assert_eq(index_builder_set_classes(&b, class_names, class_count, &error), 0);
    if (part) {
        cr_assert_eq(bytes_append(&b.section[SECTION_REPORT], "rows\n", 5), 0);
        cr_assert_eq(bytes_append(&b.section[SECTION_SOURCE], "source", 6), 0);
    }
    cr_assert_eq(index_builder_encode(&b, out, &error), 0, "%s", error.message);
    index_builder_deinit(&b);
}

static struct span span_of(const struct bytes *b) {
    return (struct span){b->data, b->size};
}

static struct index_view open_checked(const struct bytes *file) {
    struct index_view view;
    cr_assert_eq(index_parse(&view, span_of(file), &error), 0, "%s", error.message);
    cr_assert_eq(index_check(&view, &error), 0, "%s", error.message);
    return view;
}

static bool equal(const struct bytes *a, const struct bytes *b) {
    return a->size == b->size && memcmp(a->data, b->data, a->size) == 0;
}

/* ---- writing and reading back ------------------------------------------------------------------------------------ */

static void assert_sample_eq(const struct index_sample *a, const struct index_sample *b) {
    cr_assert_eq(a->record_offset, b->record_offset);
    cr_assert_eq(a->shard, b->shard);
    cr_assert_eq(a->rgb_format, b->rgb_format);
    cr_assert_eq(a->ir_format, b->ir_format);
    cr_assert_eq(a->rgb_hash, b->rgb_hash);
    cr_assert_eq(a->ir_hash, b->ir_hash);
    cr_assert_eq(a->rgb_bytes, b->rgb_bytes);
    cr_assert_eq(a->ir_bytes, b->ir_bytes);
    cr_assert_eq(a->rgb_width, b->rgb_width);
    cr_assert_eq(a->rgb_height, b->rgb_height);
    cr_assert_eq(a->ir_width, b->ir_width);
    cr_assert_eq(a->ir_height, b->ir_height);
    cr_assert_str_eq(a->rgb_name, b->rgb_name);
    cr_assert_str_eq(a->ir_name, b->ir_name);
    cr_assert_str_eq(a->label_name, b->label_name);
    cr_assert_eq(a->label_count, b->label_count);
    cr_assert_eq(a->point_count, b->point_count);
    cr_assert_eq(memcmp(a->labels, b->labels, a->label_count * sizeof *a->labels), 0);
    cr_assert_eq(memcmp(a->points, b->points, a->point_count * 2 * sizeof(float)), 0);
}

Test(index, comes_back_as_it_was) {
    struct bytes file = {0};
    build(&file, 0, 23, 3, false);
    struct index_view v = open_checked(&file);
    cr_assert_eq(v.sample_count, 23);
    cr_assert_eq(v.shard_count, 5);
    cr_assert_eq(v.class_count, 3);
    cr_assert_eq(v.label_count, 5 * 6 + 0 + 1 + 2);
    cr_assert_eq(v.rgb_max_width, 642);
    cr_assert_eq(v.ir_max_height, 257);
    cr_assert_eq(v.max_label_count, 3);
    cr_assert_eq(memcmp(&v.meta, &meta, sizeof meta), 0);
    for (uint64_t i = 0; i < 23; i++) {
        struct made m;
        struct index_sample s;
        make_sample(&m, i, (uint16_t)(i / PER_SHARD), i % PER_SHARD);
        cr_assert_eq(index_sample(&v, i, &s, &error), 0, "%s", error.message);
        assert_sample_eq(&s, &m.sample);
    }
    struct index_shard shard;
    cr_assert_eq(index_shard(&v, 4, &shard, &error), 0);
    cr_assert_eq(shard.first_sample, 20);
    cr_assert_eq(shard.first_id, 20);
    cr_assert_eq(shard.sample_count, 3);
    cr_assert_eq(shard.file_bytes, 5 * 4096);
    cr_assert_eq(shard.head_hash, 21);
    cr_assert_eq(shard.structure_hash, 22);
    bytes_deinit(&file);
}

Test(index, past_the_end_is_the_callers_mistake) {
    struct bytes file = {0};
    struct index_sample s;
    struct index_shard shard;
    build(&file, 0, 7, 3, false);
    struct index_view v = open_checked(&file);
    cr_assert_eq(index_sample(&v, 7, &s, &error), ERR_ARGUMENT);
    cr_assert_eq(index_sample(&v, UINT64_MAX, &s, NULL), ERR_ARGUMENT);
    cr_assert_eq(index_shard(&v, 2, &shard, &error), ERR_ARGUMENT);
    bytes_deinit(&file);
}

Test(index, classes_by_id) {
    struct bytes file = {0};
    build(&file, 0, 7, 3, false);
    struct index_view v = open_checked(&file);
    for (uint64_t i = 0; i < 3; i++)
        cr_assert_str_eq(index_class_name(&v, i), class_names[i]);
    cr_assert_null(index_class_name(&v, 3));
    cr_assert_null(index_class_name(&v, UINT64_MAX));
    bytes_deinit(&file);
}

Test(index, find_by_name) {
    struct bytes file = {0};
    build(&file, 0, 100, 3, false);
    struct index_view v = open_checked(&file);
    for (uint64_t i = 0; i < 100; i++) {
        char name[64];
        uint64_t row = UINT64_MAX;
        snprintf(name, sizeof name, "images/%08llu.jpg", (unsigned long long)i);
        cr_assert_eq(index_find(&v, name, &row, &error), 0, "%s", error.message);
        cr_assert_eq(row, i);
    }
    static const char *const absent[] = {
        "", "a", "zzz", "images/00000001", "images/00000001.jpgx", "imagesIR/00000001.jpg", "\xff"};
    for (size_t i = 0; i < sizeof absent / sizeof *absent; i++) {
        uint64_t row;
        cr_assert_eq(index_find(&v, absent[i], &row, &error), ERR_NOT_FOUND, "%s", absent[i]);
    }
    bytes_deinit(&file);
}

/* As strcmp() orders them: unsigned bytes, with a shorter name before its continuation. */
Test(index, names_are_ordered_as_bytes) {
    static const char *const names[] = {"A", "Z", "a", "a.b", "aa", "z", "\xc3\xa9", "\xff"};
    struct index_builder b = {.meta = meta};
    struct bytes file = {0};
    for (uint64_t i = 0; i < 8; i++) {
        struct made m;
        make_sample(&m, 0, 0, i);
        m.sample.rgb_name = names[i];
        cr_assert_eq(index_builder_add(&b, &m.sample, &error), 0, "%s", error.message);
    }
    struct index_shard s = {.file_bytes = 1 << 20, .sample_count = 8};
    cr_assert_eq(index_builder_add_shard(&b, &s, &error), 0);
    cr_assert_eq(index_builder_encode(&b, &file, &error), 0);
    struct index_view v = open_checked(&file);
    for (uint64_t i = 0; i < 8; i++) {
        uint64_t row = 99;
        cr_assert_eq(index_find(&v, names[i], &row, &error), 0);
        cr_assert_eq(row, i);
    }
    index_builder_deinit(&b);
    bytes_deinit(&file);
}

Test(index, without_samples) {
    struct bytes file = {0};
    uint64_t row;
    build(&file, 0, 0, 3, false);
    struct index_view v = open_checked(&file);
    cr_assert_eq(v.sample_count, 0);
    cr_assert_eq(index_find(&v, "a", &row, &error), ERR_NOT_FOUND);
    bytes_deinit(&file);
}

Test(index, is_appended_to_what_is_there) {
    struct bytes alone = {0}, after = {0};
    build(&alone, 0, 7, 3, false);
    cr_assert_eq(bytes_append(&after, "head", 4), 0);
    build(&after, 0, 7, 3, false);
    cr_assert_eq(after.size, alone.size + 4);
    cr_assert_eq(memcmp(after.data + 4, alone.data, alone.size), 0);
    bytes_deinit(&alone);
    bytes_deinit(&after);
}

Test(index, costs_at_most_64_bytes_a_sample) {
    struct bytes few = {0}, many = {0};
    build(&few, 0, 1000, 3, false);
    build(&many, 0, 3000, 3, false);
    struct index_view a = open_checked(&few), b = open_checked(&many);
    size_t text_a = a.section[SECTION_NAMES].size + a.section[SECTION_LABELS].size + a.section[SECTION_POINTS].size +
                    a.section[SECTION_SHARDS].size;
    size_t text_b = b.section[SECTION_NAMES].size + b.section[SECTION_LABELS].size + b.section[SECTION_POINTS].size +
                    b.section[SECTION_SHARDS].size;
    cr_assert_leq((many.size - text_b) - (few.size - text_a), 64 * 2000);
    cr_assert_eq(sizeof(struct index_label), 20);
    bytes_deinit(&few);
    bytes_deinit(&many);
}

Test(index, shard_names) {
    char name[INDEX_SHARD_NAME_BYTES];
    index_shard_name(name, "train", 3);
    cr_assert_str_eq(name, "train-00003.lmdb");
    index_shard_name(name, "a23456789_123456789_123456789_123456789_1234567", 65535);
    cr_assert_str_eq(name, "a23456789_123456789_123456789_123456789_1234567-65535.lmdb");
}

/* ---- identity ---------------------------------------------------------------------------------------------------- */

static uint64_t content_hash_of(const struct index_builder *b) {
    struct bytes file = {0};
    struct index_view v;
    cr_assert_eq(index_builder_encode(b, &file, &error), 0, "%s", error.message);
    cr_assert_eq(index_parse(&v, span_of(&file), &error), 0, "%s", error.message);
    bytes_deinit(&file);
    return v.content_hash;
}

Test(index, identity_is_what_samples_hold_not_where) {
    struct index_builder a = {.meta = meta}, b = {.meta = meta}, c = {.meta = meta};
    snprintf(b.meta.shard_prefix, sizeof b.meta.shard_prefix, "other");
    b.meta.page_bytes = 16384;
    for (uint64_t i = 0; i < 10; i++) {
        struct made m;
        make_sample(&m, i, 0, i);
        cr_assert_eq(index_builder_add(&a, &m.sample, &error), 0);
        m.sample.shard = (uint16_t)i;
        m.sample.record_offset = 99;
        cr_assert_eq(index_builder_add(&b, &m.sample, &error), 0);
        m.labels[0].x = 0.75f;
        cr_assert_eq(index_builder_add(&c, &m.sample, &error), 0);
    }
    for (int i = 0; i < 3; i++)
        cr_assert_eq(index_builder_set_classes(i == 0 ? &a : i == 1 ? &b : &c, class_names, 3, &error), 0);
    cr_assert_eq(content_hash_of(&a), content_hash_of(&b));
    cr_assert_neq(content_hash_of(&a), content_hash_of(&c));
    cr_assert_eq(index_builder_set_classes(&b, (const char *const[]){"person", "bicycle", "bus"}, 3, &error), 0);
    cr_assert_neq(content_hash_of(&a), content_hash_of(&b));
    index_builder_deinit(&a);
    index_builder_deinit(&b);
    index_builder_deinit(&c);
}

/* The definition of FORMAT.md, followed step by step with nothing of index.c. */
Test(index, content_hash_is_as_specified) {
    struct bytes file = {0}, all = {0};
    build(&file, 0, 150, 3, false);
    struct index_view v = open_checked(&file);
    cr_assert_eq(bytes_append(&all, file.data + 56, 6), 0);
    for (uint64_t i = 0; i <= 150; i++)
        cr_assert_eq(bytes_append(&all, v.section[SECTION_SAMPLES].data + i * 56 + 10, 46), 0);
    const int order[] = {SECTION_NAMES, SECTION_CLASSES, SECTION_LABELS, SECTION_POINTS};
    for (int i = 0; i < 4; i++)
        cr_assert_eq(bytes_append(&all, v.section[order[i]].data, v.section[order[i]].size), 0);
    cr_assert_eq(XXH3_64bits(all.data, all.size), v.content_hash);
    bytes_deinit(&file);
    bytes_deinit(&all);
}

/* ---- mistakes of the caller -------------------------------------------------------------------------------------- */

static void assert_refused(struct index_builder *b, const struct index_sample *s, int code, const char *text) {
    size_t sizes[SECTION_COUNT + 1];
    uint64_t count = b->sample_count;
    for (int i = 0; i <= SECTION_COUNT; i++)
        sizes[i] = b->section[i].size;
    cr_assert_eq(index_builder_add(b, s, &error), code);
    cr_assert(strstr(error.message, text), "%s", error.message);
    cr_assert_eq(b->sample_count, count);
    for (int i = 0; i <= SECTION_COUNT; i++)
        cr_assert_eq(b->section[i].size, sizes[i]);
}

Test(builder, refuses_mistakes_and_stays_as_it_was) {
    struct index_builder b = {.meta = meta};
    struct made m;
    make_sample(&m, 5, 0, 0);
    cr_assert_eq(index_builder_add(&b, &m.sample, &error), 0);
    assert_refused(&b, &m.sample, ERR_ARGUMENT, "in the order of their names");
    make_sample(&m, 4, 0, 0);
    assert_refused(&b, &m.sample, ERR_ARGUMENT, "in the order of their names");
    make_sample(&m, 7, 0, 0);
    m.sample.point_count--;
    assert_refused(&b, &m.sample, ERR_ARGUMENT, "2 points, but its labels have 3");
    make_sample(&m, 7, 0, 0);
    b.meta.modalities = MODALITY_RGB;
    assert_refused(&b, &m.sample, ERR_ARGUMENT, "modalities");
    b.meta.modalities = meta.modalities;
    m.sample.rgb_format = m.sample.ir_format = 0;
    assert_refused(&b, &m.sample, ERR_ARGUMENT, "modalities");
    make_sample(&m, 7, 0, 0);
    m.sample.rgb_bytes = RECORD_LIMIT_BYTES;
    assert_refused(&b, &m.sample, ERR_INPUT, "over the limit");
    b.meta.task = 0;
    assert_refused(&b, &m.sample, ERR_ARGUMENT, "task 0");
    index_builder_deinit(&b);
}

/* Sizes are set, not filled: 4 GiB of names are not written here. */
Test(builder, refuses_more_than_32_bits_can_count) {
    static const struct {
        int kind;
        uint64_t row_bytes;
        const char *text;
    } rows[] = {{SECTION_NAMES, 1, "bytes of names"}, {SECTION_LABELS, 20, "labels"}, {SECTION_POINTS, 8, "points"}};
    for (int i = 0; i < 3; i++) {
        struct index_builder b = {.meta = meta};
        struct made m;
        make_sample(&m, 7, 0, 0);
        b.section[rows[i].kind].size = UINT32_MAX * rows[i].row_bytes;
        cr_assert_eq(index_builder_add(&b, &m.sample, &error), ERR_INPUT);
        cr_assert(strstr(error.message, rows[i].text), "%s", error.message);
        cr_assert(strstr(error.message, "split the data set"), "%s", error.message);
        b.section[rows[i].kind].size = 0;
        index_builder_deinit(&b);
    }
}

Test(builder, refuses_too_many_shards_and_classes) {
    struct index_builder b = {.meta = meta};
    struct index_shard s = {0};
    for (unsigned i = 0; i < INDEX_SHARD_LIMIT; i++)
        cr_assert_eq(index_builder_add_shard(&b, &s, &error), 0);
    cr_assert_eq(index_builder_add_shard(&b, &s, &error), ERR_INPUT);
    cr_assert_eq(index_builder_set_classes(&b, NULL, INDEX_CLASS_LIMIT + 1, &error), ERR_INPUT);
    index_builder_deinit(&b);
}

Test(builder, holds_as_many_classes_as_promised) {
    struct index_builder b = {.meta = meta};
    struct bytes file = {0};
    const char **names = malloc(INDEX_CLASS_LIMIT * sizeof *names);
    for (unsigned i = 0; i < INDEX_CLASS_LIMIT; i++)
        names[i] = i % 2 ? "odd" : "even";
    cr_assert_eq(index_builder_set_classes(&b, names, INDEX_CLASS_LIMIT, &error), 0);
    cr_assert_eq(index_builder_encode(&b, &file, &error), 0);
    struct index_view v = open_checked(&file);
    cr_assert_eq(v.class_count, INDEX_CLASS_LIMIT);
    cr_assert_str_eq(index_class_name(&v, INDEX_CLASS_LIMIT - 1), "even");
    free(names);
    index_builder_deinit(&b);
    bytes_deinit(&file);
}

Test(builder, encodes_only_what_is_complete) {
    struct index_builder b = {.meta = meta};
    struct bytes file = {0};
    add_samples(&b, 0, 10);
    cr_assert_eq(index_builder_set_classes(&b, class_names, 2, &error), 0);
    cr_assert_eq(index_builder_encode(&b, &file, &error), ERR_ARGUMENT);
    cr_assert_str_eq(error.message, "a label has class 2, but only 2 classes have names");
    cr_assert_eq(index_builder_set_classes(&b, class_names, 3, &error), 0);
    static const char *const prefixes[] = {"", "a/b", "..", "a b", "\xc3\xa9"};
    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++) {
        memset(b.meta.shard_prefix, 0, sizeof b.meta.shard_prefix);
        memcpy(b.meta.shard_prefix, prefixes[i], strlen(prefixes[i]));
        cr_assert_eq(index_builder_encode(&b, &file, &error), ERR_ARGUMENT, "%s", prefixes[i]);
    }
    memset(b.meta.shard_prefix, 'x', sizeof b.meta.shard_prefix);
    cr_assert_eq(index_builder_encode(&b, &file, &error), ERR_ARGUMENT, "no end");
    cr_assert_eq(file.size, 0);
    index_builder_deinit(&b);
    bytes_deinit(&file);
}

/* ---- merging ----------------------------------------------------------------------------------------------------- */

/* Merges parts that begin at `starts` (multiples of PER_SHARD); the last entry is the end. Class counts by part. */
static int merge(struct bytes *out, const uint64_t *starts, const uint64_t *classes, size_t part_count) {
    struct bytes files[8] = {{0}};
    struct index_view views[8];
    memset(views, 0, sizeof views);
    for (size_t i = 0; i < part_count; i++) {
        build(&files[i], starts[i], starts[i + 1], classes[i], true);
        views[i] = open_checked(&files[i]);
        cr_assert_eq(views[i].section[SECTION_SOURCE].size, 6);
        cr_assert_arr_eq(views[i].section[SECTION_REPORT].data, "rows\n", 5);
    }
    int code = index_merge(out, views, part_count, 0, &error);
    for (size_t i = 0; i < part_count; i++)
        bytes_deinit(&files[i]);
    return code;
}

Test(merge, gives_the_bytes_of_the_whole) {
    static const uint64_t starts[][7] = {{0, 48}, {0, 20, 48}, {0, 5, 10, 15, 20, 45, 48}, {0, 0, 25, 25, 25, 48}};
    static const size_t counts[] = {1, 2, 6, 5};
    static const uint64_t classes[] = {3, 3, 3, 3, 3, 3};
    struct bytes whole = {0};
    build(&whole, 0, 48, 3, false);
    for (size_t i = 0; i < 4; i++) {
        struct bytes merged = {0};
        cr_assert_eq(merge(&merged, starts[i], classes, counts[i]), 0, "%s", error.message);
        cr_assert(equal(&merged, &whole), "split %zu", i);
        open_checked(&merged);
        bytes_deinit(&merged);
    }
    bytes_deinit(&whole);
}

Test(merge, the_longest_class_list_wins) {
    struct bytes merged = {0}, whole = {0};
    build(&whole, 0, 10, 3, false);
    cr_assert_eq(merge(&merged, (uint64_t[]){0, 0, 10, 10}, (uint64_t[]){1, 3, 2}, 3), 0, "%s", error.message);
    cr_assert(equal(&merged, &whole));
    bytes_deinit(&merged);
    bytes_deinit(&whole);
}

/* Two one-part views, the second changed by `change`, must not merge. */
static void assert_not_merged(void (*change)(struct index_builder *b), const char *text) {
    struct bytes files[2] = {{0}}, merged = {0};
    struct index_view views[2];
    for (int i = 0; i < 2; i++) {
        struct index_builder b = {.meta = meta};
        add_samples(&b, i ? 5 : 0, i ? 10 : 5);
        cr_assert_eq(index_builder_set_classes(&b, class_names, 3, &error), 0);
        if (i == 1)
            change(&b);
        cr_assert_eq(index_builder_encode(&b, &files[i], &error), 0, "%s", error.message);
        views[i] = open_checked(&files[i]);
        index_builder_deinit(&b);
    }
    cr_assert_eq(index_merge(&merged, views, 2, 0, &error), ERR_INPUT);
    cr_assert(strstr(error.message, text), "%s", error.message);
    cr_assert_eq(merged.size, 0);
    for (int i = 0; i < 2; i++)
        bytes_deinit(&files[i]);
    bytes_deinit(&merged);
}

static void change_task(struct index_builder *b) {
    b->meta.task = TASK_DETECT;
}
static void change_page(struct index_builder *b) {
    b->meta.page_bytes = 2048;
}
static void change_prefix(struct index_builder *b) {
    b->meta.shard_prefix[0] = 'b';
}

static void change_classes(struct index_builder *b) {
    cr_assert_eq(index_builder_set_classes(b, (const char *const[]){"person", "bike", "car"}, 3, &error), 0);
}

static void change_order(struct index_builder *b) {
    struct index_meta kept = b->meta;
    index_builder_deinit(b);
    b->meta = kept;
    add_samples(b, 0, 5);
    cr_assert_eq(index_builder_set_classes(b, class_names, 3, &error), 0);
}

Test(merge, parts_of_different_packs_are_refused) {
    struct bytes merged = {0};
    assert_not_merged(change_task, "part 2 has another task than part 1");
    assert_not_merged(change_page, "another page size");
    assert_not_merged(change_prefix, "another shard prefix");
    assert_not_merged(change_classes, "part 2 has other class names");
    assert_not_merged(change_order, "is not after images/00000004.jpg");
    cr_assert_eq(index_merge(&merged, NULL, 0, 0, &error), ERR_ARGUMENT);
}

/* ---- generations ------------------------------------------------------------------------------------------------- */

/* Samples 20-47, then 0-9, then 10-19: each a generation. */
static void build_generations(struct bytes *out) {
    static const uint64_t runs[][2] = {{20, 48}, {0, 10}, {10, 20}};
    struct index_builder b = {.meta = meta};
    uint64_t row = 0;
    for (size_t g = 0; g < 3; g++) {
        cr_assert_eq(index_builder_begin_generation(&b, &error), 0);
        for (uint64_t i = runs[g][0]; i < runs[g][1]; i++, row++) {
            struct made m;
            uint64_t shard = b.section[SECTION_SHARDS].size / INDEX_SHARD_BYTES;
            make_sample(&m, i, (uint16_t)shard, i % PER_SHARD);
            cr_assert_eq(index_builder_add(&b, &m.sample, &error), 0, "%s", error.message);
            if (i % PER_SHARD + 1 < PER_SHARD && i + 1 < runs[g][1])
                continue;
            uint64_t count = i % PER_SHARD + 1, first = i + 1 - count;
            struct index_shard s = {(count + 2) * 4096, first + 1, first + 2, row + 1 - count, count, first};
            cr_assert_eq(index_builder_add_shard(&b, &s, &error), 0);
        }
    }
    cr_assert_eq(index_builder_set_classes(&b, class_names, 3, &error), 0);
    cr_assert_eq(index_builder_encode(&b, out, &error), 0, "%s", error.message);
    index_builder_deinit(&b);
}

Test(generations, every_name_is_found) {
    struct bytes file = {0};
    build_generations(&file);
    struct index_view view = open_checked(&file);
    cr_assert_eq(view.generation_count, 3);
    for (uint64_t row = 0; row < view.sample_count; row++) {
        struct index_sample s;
        uint64_t found;
        cr_assert_eq(index_sample(&view, row, &s, &error), 0);
        cr_assert_eq(index_find(&view, index_sample_name(&s), &found, &error), 0, "%s", error.message);
        cr_assert_eq(found, row);
    }
    uint64_t found;
    cr_assert_eq(index_find(&view, "images/00000048.jpg", &found, &error), ERR_NOT_FOUND);
    cr_assert_eq(index_find(&view, "images", &found, &error), ERR_NOT_FOUND);
    static const struct index_generation expected[] = {{0, 28}, {28, 10}, {38, 10}};
    for (uint64_t g = 0; g < 3; g++) {
        struct index_generation seen;
        cr_assert_eq(index_generation(&view, g, &seen, &error), 0);
        cr_assert_eq(seen.first_sample, expected[g].first_sample);
        cr_assert_eq(seen.sample_count, expected[g].sample_count);
    }
    cr_assert_eq(index_generation(&view, 3, &(struct index_generation){0}, &error), ERR_ARGUMENT);
    bytes_deinit(&file);
}

Test(generations, an_index_that_was_never_appended_to_has_one) {
    struct bytes file = {0};
    struct index_generation all;
    build(&file, 0, 48, 3, false);
    struct index_view view = open_checked(&file);
    cr_assert_eq(view.generation_count, 1);
    cr_assert_eq(view.section[SECTION_GENERATIONS].size, 0);
    cr_assert_eq(index_generation(&view, 0, &all, &error), 0);
    cr_assert(all.first_sample == 0 && all.sample_count == 48);
    bytes_deinit(&file);
}

/* Appending twice, once with nothing in between, is merging each time. */
Test(generations, are_what_merges_make) {
    struct bytes whole = {0}, parts[6] = {{0}}, once = {0}, twice = {0};
    struct index_view views[4];
    build_generations(&whole);
    build(&parts[0], 20, 35, 3, true);
    build(&parts[1], 35, 48, 3, true);
    build(&parts[2], 0, 0, 3, true);
    build(&parts[3], 0, 10, 3, true);
    build(&parts[4], 10, 15, 3, true);
    build(&parts[5], 15, 20, 3, true);
    for (int i = 0; i < 4; i++)
        views[i] = open_checked(&parts[i]);
    cr_assert_eq(index_merge(&once, views, 4, 0, &error), ERR_INPUT);
    cr_assert(strstr(error.message, "part 4 begins with images/00000000.jpg"), "%s", error.message);
    cr_assert_eq(index_merge(&once, views, 4, 2, &error), 0, "%s", error.message);
    views[0] = open_checked(&once);
    cr_assert_eq(views[0].generation_count, 2);
    views[1] = open_checked(&parts[4]);
    views[2] = open_checked(&parts[5]);
    cr_assert_eq(index_merge(&twice, views, 3, 1, &error), 0, "%s", error.message);
    cr_assert(equal(&twice, &whole));
    bytes_deinit(&once);
    cr_assert_eq(index_merge(&once, &(struct index_view){0}, 0, 0, &error), ERR_ARGUMENT);
    views[0] = open_checked(&twice); /* by itself it stays as it is */
    cr_assert_eq(index_merge(&once, views, 1, 0, &error), 0);
    cr_assert(equal(&once, &whole));
    for (int i = 0; i < 6; i++)
        bytes_deinit(&parts[i]);
    bytes_deinit(&once);
    bytes_deinit(&twice);
    bytes_deinit(&whole);
}

Test(generations, a_name_in_two_is_found_out) {
    struct bytes parts[2] = {{0}}, merged = {0};
    struct index_view views[2], view;
    build(&parts[0], 0, 10, 3, false);
    build(&parts[1], 5, 15, 3, false);
    views[0] = open_checked(&parts[0]);
    views[1] = open_checked(&parts[1]);
    cr_assert_eq(index_merge(&merged, views, 2, 1, &error), 0);
    cr_assert_eq(index_parse(&view, span_of(&merged), &error), 0);
    cr_assert_eq(index_check(&view, &error), ERR_CORRUPT);
    cr_assert(strstr(error.message, "is in two generations"), "%s", error.message);
    for (int i = 0; i < 2; i++)
        bytes_deinit(&parts[i]);
    bytes_deinit(&merged);
}

/* ---- hostile bytes ----------------------------------------------------------------------------------------------- */

static int parse_and_check(struct span file) {
    struct index_view v;
    int code = index_parse(&v, file, &error);
    return code != 0 ? code : index_check(&v, &error);
}

Test(hostile, every_flipped_bit_is_found) {
    struct bytes file = {0};
    build(&file, 0, 12, 3, true);
    for (size_t bit = 0; bit < file.size * 8; bit++) {
        file.data[bit / 8] ^= (uint8_t)(1u << bit % 8);
        int code = parse_and_check(span_of(&file));
        cr_assert(code == ERR_CORRUPT || (code == ERR_UNSUPPORTED && bit / 8 >= 8 && bit / 8 < 12),
                  "bit %zu of byte %zu: code %d", bit % 8, bit / 8, code);
        file.data[bit / 8] ^= (uint8_t)(1u << bit % 8);
    }
    cr_assert_eq(parse_and_check(span_of(&file)), 0);
    bytes_deinit(&file);
}

/* In memory of exactly that size, so that a sanitizer sees a byte too many. */
Test(hostile, every_shorter_length_is_refused) {
    struct bytes file = {0};
    build(&file, 0, 12, 3, false);
    for (size_t size = 0; size < file.size; size++) {
        uint8_t *cut = malloc(size ? size : 1);
        memcpy(cut, file.data, size);
        cr_assert_eq(parse_and_check((struct span){cut, size}), ERR_CORRUPT, "%zu bytes", size);
        free(cut);
    }
    bytes_deinit(&file);
}

Test(hostile, bytes_that_cannot_be_read_in_place_are_refused) {
    struct bytes file = {0};
    struct index_view v;
    cr_assert_eq(bytes_append(&file, "x", 1), 0);
    build(&file, 0, 3, 3, false);
    cr_assert_eq(index_parse(&v, (struct span){file.data + 1, file.size - 1}, &error), ERR_ARGUMENT);
    bytes_deinit(&file);
}

static uint32_t next_random(uint32_t *state) {
    *state ^= *state << 13;
    *state ^= *state >> 17;
    return *state ^= *state << 5;
}

/* Makes the header's hash right again; a mutation would get no further than it otherwise. */
static void reseal_header(uint8_t *file) {
    store_u64(file + HEADER_HASH, 0);
    store_u64(file + HEADER_HASH, XXH3_64bits(file, INDEX_HEADER_BYTES));
}

/* One to four fields become values that look for an overflow or a neighbour. */
static void mutate(uint8_t *file, size_t size, uint32_t *state) {
    static const uint64_t values[] = {
        0,          1,          2,           0x7f,      0xff,       0x7fff,         0xffff,
        0x7fffffff, 0xffffffff, 0x100000000, INT64_MAX, UINT64_MAX, UINT64_MAX - 63};
    for (uint32_t n = 1 + next_random(state) % 4; n > 0; n--) {
        static const uint8_t widths[] = {1, 2, 4, 8};
        size_t width = widths[next_random(state) % 4];
        size_t limit = next_random(state) % 2 ? INDEX_HEADER_BYTES : size;
        size_t at = next_random(state) % (limit / width) * width;
        uint64_t value = values[next_random(state) % (sizeof values / sizeof *values)];
        if (next_random(state) % 3 == 0) {
            memcpy(&value, file + at, width);
            value += next_random(state) % 2 ? 1 : UINT64_MAX;
        }
        memcpy(file + at, &value, width);
    }
}

/* Everything a reader does with a file that index_parse() let through. */
static void use_all(const struct index_view *v) {
    struct index_sample s;
    struct index_shard shard;
    uint64_t row, sum = 0;
    for (uint64_t i = 0; i < v->sample_count; i++) {
        if (index_sample(v, i, &s, NULL) != 0)
            continue;
        sum += strlen(s.rgb_name) + strlen(s.ir_name) + strlen(s.label_name) + strlen(index_sample_name(&s));
        for (uint32_t k = 0; k < s.label_count; k++)
            sum += s.labels[k].class_id + (s.labels[k].height > 0.5f);
        for (uint32_t k = 0; k < s.point_count * v->meta.point_dims; k++)
            sum += s.points[k] > 0.5f;
    }
    for (uint64_t i = 0; i <= v->shard_count; i++)
        sum += index_shard(v, i, &shard, NULL) == 0;
    for (uint64_t i = 0; i <= 4; i++) {
        const char *name = index_class_name(v, i);
        sum += name ? strlen(name) : 0;
    }
    sum += index_find(v, "images/00000003.jpg", &row, NULL) == 0;
    sum += index_check(v, NULL) == 0;
    cr_assert_lt(sum, UINT64_MAX);
}

Test(hostile, mutations_never_read_out_of_bounds) {
    struct bytes file = {0};
    build(&file, 0, 12, 3, true);
    uint8_t *copy = malloc(file.size);
    uint32_t state = 20250101;
    unsigned parsed = 0;
    for (unsigned i = 0; i < 60000; i++) {
        struct index_view v;
        memcpy(copy, file.data, file.size);
        mutate(copy, file.size, &state);
        reseal_header(copy);
        if (index_parse(&v, (struct span){copy, file.size}, NULL) != 0)
            continue;
        parsed++;
        use_all(&v);
    }
    cr_assert_gt(parsed, 1000, "mutations must get past the header to test anything: %u", parsed);
    free(copy);
    bytes_deinit(&file);
}

/* Readers plan their memory by the header alone: a row that passes it must never be borrowed. */
Test(hostile, rows_larger_than_the_header_says_are_refused) {
    static const size_t maxima[] = {112, 114, 116, 118, 504, 508}; /* sides of RGB and IR, pixels of RGB and IR */
    struct bytes file = {0};
    build(&file, 0, 12, 3, false);
    for (size_t i = 0; i < sizeof maxima / sizeof maxima[0]; i++) {
        struct index_view v;
        struct index_sample s;
        unsigned refused = 0;
        uint8_t *copy = malloc(file.size);
        memcpy(copy, file.data, file.size);
        copy[maxima[i]] = copy[maxima[i] + 1] = 0;
        if (maxima[i] >= 504)
            copy[maxima[i] + 2] = 0;
        reseal_header(copy);
        cr_assert_eq(index_parse(&v, (struct span){copy, file.size}, NULL), 0);
        for (uint64_t row = 0; row < v.sample_count; row++)
            refused += index_sample(&v, row, &s, NULL) == ERR_CORRUPT;
        cr_assert_gt(refused, 0, "maximum at %zu", maxima[i]);
        free(copy);
    }
    bytes_deinit(&file);
}
