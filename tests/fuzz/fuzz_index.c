/*
 * An index file: as it is, and with its hashes mended, so that the checks behind them are reached.
 *
 * Every row can be borrowed without a check of the whole. What passed the check gives every row, finds every name, and
 * survives a merge.
 */
#include "hash.h"
#include "index.h"
#include "index_format.h"
#include "report.h"
#include "target.h"

/* Length and hashes as they should be for these bytes. The header is hashed with its own hash as zeros. */
static void mend(uint8_t *file, size_t size) {
    struct index_view view;
    uint64_t content;
    if (size < INDEX_HEADER_BYTES)
        return;
    store_u64(file + HEADER_FILE_BYTES, size);
    uint32_t count = load_u32(file + HEADER_SECTION_COUNT);
    for (uint32_t i = 0; i < count && i < 12; i++) {
        uint8_t *row = file + HEADER_SECTIONS + (size_t)i * TABLE_ROW_SIZE;
        uint64_t offset = load_u64(row + TABLE_OFFSET), length = load_u64(row + TABLE_BYTES);
        if (range_fits(offset, length, size))
            store_u64(row + TABLE_HASH, XXH3_64bits(file + offset, (size_t)length));
    }
    for (int pass = 0; pass < 2; pass++) {
        store_u64(file + HEADER_HASH, 0);
        store_u64(file + HEADER_HASH, XXH3_64bits(file, INDEX_HEADER_BYTES));
        if (pass == 0) {
            if (index_parse(&view, (struct span){file, size}, NULL) != 0 ||
                index_content_hash(&content, &view.meta, view.section) != 0)
                return;
            store_u64(file + HEADER_CONTENT_HASH, content);
        }
    }
}

/* Touches everything that a row lends. */
static uint64_t sum_row(const struct index_sample *s, uint8_t dims) {
    uint64_t sum = strlen(s->rgb_name) + strlen(s->ir_name) + strlen(s->label_name);
    for (uint32_t i = 0; i < s->label_count; i++)
        sum += s->labels[i].class_id + (s->labels[i].x > 0.5f);
    for (uint64_t i = 0; i < (uint64_t)s->point_count * dims; i++)
        sum += s->points[i] > 0.5f;
    return sum;
}

static void borrow_rows(const struct index_view *view, int checked) {
    uint64_t sum = 0;
    struct error error = {0};
    for (uint64_t i = 0; i < view->sample_count; i++) {
        struct index_sample sample;
        uint64_t row;
        int rc = index_sample(view, i, &sample, &error);
        if (rc != 0) {
            CHECK(!checked);
            fuzz_check_refusal(rc, &error);
            continue;
        }
        sum += sum_row(&sample, view->meta.point_dims);
        rc = index_find(view, index_sample_name(&sample), &row, &error);
        CHECK(!checked || (rc == 0 && row == i));
    }
    for (uint64_t i = 0; i < view->shard_count; i++) {
        struct index_shard shard;
        CHECK(index_shard(view, i, &shard, &error) == 0 || !checked);
    }
    for (uint64_t i = 0; i <= view->class_count; i++) {
        const char *name = index_class_name(view, i);
        CHECK(!checked || (name != NULL) == (i < view->class_count));
        sum += name ? strlen(name) : 0;
    }
    CHECK(sum < UINT64_MAX); /* keeps the reads */
    CHECK(index_sample(view, view->sample_count, &(struct index_sample){0}, &error) == ERR_ARGUMENT);
}

static void merge_alone(const struct index_view *view) {
    struct bytes merged = {0};
    struct index_view again;
    struct error error = {0};
    int rc = index_merge(&merged, view, 1, 0, &error);
    if (rc == 0) {
        FUZZ_CHECK_OK(index_parse(&again, (struct span){merged.data, merged.size}, &error), &error);
        FUZZ_CHECK_OK(index_check(&again, &error), &error);
        CHECK(again.content_hash == view->content_hash);
    } else {
        fuzz_check_refusal(rc, &error);
    }
    bytes_deinit(&merged);
}

static void look_at(struct span file) {
    struct index_view view;
    struct report report;
    struct error error = {0};
    int rc = index_parse(&view, file, &error);
    if (rc != 0) {
        fuzz_check_refusal(rc, &error);
        return;
    }
    rc = index_check(&view, &error);
    if (rc != 0)
        fuzz_check_refusal(rc, &error);
    borrow_rows(&view, rc == 0);
    if (rc == 0)
        merge_alone(&view);
    if (report_parse(&report, view.section[SECTION_REPORT], &error) == 0)
        report_deinit(&report);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    uint8_t *copy = fuzz_copy(data, size);
    look_at((struct span){data, size});
    mend(copy, size);
    look_at((struct span){copy, size});
    free(copy);
    return 0;
}
