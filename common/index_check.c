/*
 * The whole of an index: every byte against its hash, every row, and what rows, tables and header say of each other.
 */
#include "hash.h"
#include "index.h"

#include "index_format.h"
#include "record.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Every section against its hash, and zeros between them. */
static int check_sections(const struct index_view *v, struct error *error) {
    uint64_t end = INDEX_HEADER_BYTES;
    uint32_t count = load_u32(v->file.data + HEADER_SECTION_COUNT);
    for (uint32_t i = 0; i < count; i++) {
        const uint8_t *row = v->file.data + HEADER_SECTIONS + (size_t)i * TABLE_ROW_SIZE;
        uint32_t kind = load_u32(row + TABLE_KIND);
        uint64_t offset = load_u64(row + TABLE_OFFSET), bytes = load_u64(row + TABLE_BYTES);
        if (!index_is_zero(v->file.data + end, (size_t)(offset - end)))
            return index_at(error, end,
                            error_set(error, ERR_CORRUPT, "bytes before section %" PRIu32 " are not zero", kind));
        uint64_t expected = load_u64(row + TABLE_HASH), found = XXH3_64bits(v->file.data + offset, (size_t)bytes);
        if (expected != found)
            return index_at(error, offset,
                            error_set(error, ERR_CORRUPT,
                                      "section %" PRIu32 " does not match its hash (expected %016" PRIx64
                                      ", found %016" PRIx64 ")",
                                      kind, expected, found));
        end = offset + bytes;
    }
    return 0;
}

static int check_classes(const struct index_view *v, struct error *error) {
    struct span s = v->section[SECTION_CLASSES];
    uint64_t found = 0;
    for (size_t i = 0; i < s.size; i++)
        found += s.data[i] == 0;
    if (found != v->class_count || (s.size > 0 && s.data[s.size - 1] != 0))
        return error_set(error, ERR_CORRUPT, "%" PRIu64 " class names where %" PRIu64 " are expected", found,
                         v->class_count);
    return 0;
}

/* Shards follow one another, and together have all samples. */
static int check_shards(const struct index_view *v, struct error *error) {
    uint64_t row = 0;
    for (uint64_t i = 0; i < v->shard_count; i++) {
        struct index_shard s;
        int code = index_shard(v, i, &s, error);
        if (code != 0)
            return code;
        if (s.first_sample != row || s.sample_count > v->sample_count - row)
            return error_set(error, ERR_CORRUPT, "shard %" PRIu64 " does not begin where the one before it ends", i);
        for (uint64_t end = row + s.sample_count; row < end; row++)
            if (load_u16(index_row_at(v, row) + ROW_SHARD) != i)
                return error_set(error, ERR_CORRUPT,
                                 "sample %" PRIu64 " is not in shard %" PRIu64 ", as its place says", row, i);
    }
    if (row != v->sample_count)
        return error_set(error, ERR_CORRUPT, "%" PRIu64 " samples are in no shard", v->sample_count - row);
    return 0;
}

/* The first row begins at the beginning of everything, the last one, after the samples, has the totals. */
static int check_ends(const struct index_view *v, struct error *error) {
    uint8_t sentinel[INDEX_SAMPLE_BYTES] = {0};
    store_u32(sentinel + ROW_NAME_FIRST, (uint32_t)v->section[SECTION_NAMES].size);
    store_u32(sentinel + ROW_LABEL_FIRST, (uint32_t)v->label_count);
    store_u32(sentinel + ROW_POINT_FIRST, (uint32_t)v->point_count);
    const uint8_t *first = index_row_at(v, 0), *last = index_row_at(v, v->sample_count);
    if (load_u32(first + ROW_NAME_FIRST) != 0 || load_u32(first + ROW_LABEL_FIRST) != 0 ||
        load_u32(first + ROW_POINT_FIRST) != 0)
        return error_set(error, ERR_CORRUPT, "the first sample does not begin at the first name, label and point");
    if (memcmp(last, sentinel, sizeof sentinel) != 0)
        return error_set(error, ERR_CORRUPT, "the row after the last sample does not have the totals");
    return 0;
}

/* Each generation has samples, and begins with a shard. */
static int check_generations(const struct index_view *v, struct error *error) {
    uint64_t shard = 0;
    struct span rows = v->section[SECTION_GENERATIONS];
    if (rows.size == 0)
        return 0;
    if (v->generation_count < 2 || load_u64(rows.data) != 0)
        return error_set(error, ERR_CORRUPT, "a table of generations has two or more, the first from sample 0");
    for (uint64_t i = 1; i < v->generation_count; i++) {
        uint64_t first = index_generation_first(v, i);
        if (first <= index_generation_first(v, i - 1) || first >= v->sample_count)
            return error_set(error, ERR_CORRUPT, "generation %" PRIu64 " begins with sample %" PRIu64 " of %" PRIu64, i,
                             first, v->sample_count);
        struct index_shard s = {0};
        while (s.first_sample < first && shard < v->shard_count)
            if (index_shard(v, shard++, &s, error) != 0)
                return ERR_CORRUPT;
        if (s.first_sample != first)
            return error_set(error, ERR_CORRUPT,
                             "generation %" PRIu64 " begins with sample %" PRIu64 ", which no shard begins with", i,
                             first);
    }
    return 0;
}

struct hashed_name {
    uint64_t hash;
    const char *name;
};

static int compare_hashed(const void *a, const void *b) {
    const struct hashed_name *x = a, *y = b;
    return x->hash != y->hash ? (x->hash > y->hash) - (x->hash < y->hash) : strcmp(x->name, y->name);
}

/* Order says that a name is unique in its generation, but not that no other generation has it. */
static int check_names_unique(const struct index_view *v, struct error *error) {
    struct index_sample s;
    int code = 0;
    if (v->generation_count < 2)
        return 0;
    struct hashed_name *names = malloc((size_t)v->sample_count * sizeof *names);
    if (!names)
        return error_set(error, ERR_MEMORY, "out of memory to check the index");
    for (uint64_t row = 0; code == 0 && row < v->sample_count; row++) {
        if ((code = index_sample(v, row, &s, error)) != 0)
            break;
        const char *name = index_sample_name(&s);
        names[row] = (struct hashed_name){XXH3_64bits(name, strlen(name)), name};
    }
    if (code == 0)
        qsort(names, (size_t)v->sample_count, sizeof *names, compare_hashed);
    for (uint64_t i = 1; code == 0 && i < v->sample_count; i++)
        if (compare_hashed(&names[i - 1], &names[i]) == 0)
            code = error_set(error, ERR_CORRUPT, "sample %s is in two generations", names[i].name);
    free(names);
    return code;
}

static uint32_t larger(uint32_t a, uint32_t b) {
    return a > b ? a : b;
}

/* Every row, the order of the names, and what the header says of the largest. */
static int check_rows(const struct index_view *v, struct error *error) {
    struct index_sample s;
    const char *previous = "";
    uint32_t rgb_width = 0, rgb_height = 0, ir_width = 0, ir_height = 0, record = 0, labels = 0;
    uint32_t rgb_pixels = 0, ir_pixels = 0;
    uint64_t generation = 1;
    for (uint64_t row = 0; row < v->sample_count; row++) {
        int code = index_sample(v, row, &s, error);
        if (code != 0)
            return code;
        if (row == index_generation_first(v, generation)) {
            generation++;
            previous = "";
        }
        if (strcmp(previous, index_sample_name(&s)) >= 0)
            return error_set(error, ERR_CORRUPT, "sample %" PRIu64 " (%s) is not in the order of names", row,
                             index_sample_name(&s));
        previous = index_sample_name(&s);
        rgb_width = larger(rgb_width, s.rgb_width);
        rgb_height = larger(rgb_height, s.rgb_height);
        ir_width = larger(ir_width, s.ir_width);
        ir_height = larger(ir_height, s.ir_height);
        rgb_pixels = larger(rgb_pixels, (uint32_t)s.rgb_width * s.rgb_height);
        ir_pixels = larger(ir_pixels, (uint32_t)s.ir_width * s.ir_height);
        record = larger(record, (uint32_t)record_bytes(s.rgb_bytes, s.ir_bytes));
        labels = larger(labels, s.label_count);
    }
    if (rgb_width != v->rgb_max_width || rgb_height != v->rgb_max_height || ir_width != v->ir_max_width ||
        ir_height != v->ir_max_height || rgb_pixels != v->rgb_max_pixels || ir_pixels != v->ir_max_pixels ||
        record != v->max_record_bytes || labels != v->max_label_count)
        return index_at(error, HEADER_MAX_SIDES,
                        error_set(error, ERR_CORRUPT,
                                  "the largest sizes in the header are not those "
                                  "of the samples"));
    return 0;
}

/* 46 bytes a call would cost 12 ns each; in blocks it is 4. */
static void hash_rows(XXH3_state_t *state, struct span rows) {
    enum { KEPT = INDEX_SAMPLE_BYTES - INDEX_CONTENT_SKIP, BLOCK_ROWS = 64 };
    uint8_t block[KEPT * BLOCK_ROWS];
    size_t used = 0;
    for (size_t i = 0; i < rows.size; i += INDEX_SAMPLE_BYTES) {
        memcpy(block + used, rows.data + i + INDEX_CONTENT_SKIP, KEPT);
        used += KEPT;
        if (used == sizeof block || i + INDEX_SAMPLE_BYTES == rows.size) {
            XXH3_64bits_update(state, block, used);
            used = 0;
        }
    }
}

int index_content_hash(uint64_t *out, const struct index_meta *meta, const struct span *section) {
    static const int blobs[] = {SECTION_NAMES, SECTION_CLASSES, SECTION_LABELS, SECTION_POINTS};
    uint8_t head[6] = {meta->task, meta->modalities, meta->point_dims};
    store_u16(head + 4, meta->keypoint_count);
    XXH3_state_t *state = XXH3_createState();
    if (!state)
        return ERR_MEMORY;
    XXH3_64bits_reset(state);
    XXH3_64bits_update(state, head, sizeof head);
    hash_rows(state, section[SECTION_SAMPLES]);
    for (size_t i = 0; i < sizeof blobs / sizeof *blobs; i++)
        XXH3_64bits_update(state, section[blobs[i]].data, section[blobs[i]].size);
    *out = XXH3_64bits_digest(state);
    XXH3_freeState(state);
    return 0;
}

int index_check(const struct index_view *view, struct error *error) {
    int code;
    if ((code = check_sections(view, error)) != 0 || (code = check_classes(view, error)) != 0 ||
        (code = check_ends(view, error)) != 0 || (code = check_shards(view, error)) != 0 ||
        (code = check_generations(view, error)) != 0 || (code = check_rows(view, error)) != 0 ||
        (code = check_names_unique(view, error)) != 0)
        return code;
    uint64_t found;
    if (index_content_hash(&found, &view->meta, view->section) != 0)
        return error_set(error, ERR_MEMORY, "out of memory to check the index");
    if (found != view->content_hash)
        return index_at(error, HEADER_CONTENT_HASH,
                        error_set(error, ERR_CORRUPT,
                                  "content does not match its hash (expected "
                                  "%016" PRIx64 ", found %016" PRIx64 ")",
                                  view->content_hash, found));
    return 0;
}
