/*
 * Label rows. The first byte chooses task, number of classes and shape of the key points; the rest is the file.
 *
 * Whatever the text, sums agree, and what was kept is what an index may hold.
 */
#include "label.h"
#include "target.h"

static struct label_options choose(uint8_t byte) {
    return (struct label_options){
        .task = (uint8_t)(TASK_DETECT + (byte & 3)),
        .class_count = byte & 4 ? 80 : 0,
        .keypoint_count = (byte & 3) + TASK_DETECT == TASK_POSE ? 3 : 0,
        .keypoint_dims = (byte & 3) + TASK_DETECT != TASK_POSE ? 0
                         : byte & 8                            ? 3
                                                               : 2,
        .clamp = byte & 16 ? LABEL_CLAMP : 0.01,
    };
}

static void check_point(const float *point, int dims) {
    CHECK(point[0] >= 0 && point[0] <= 1 && point[1] >= 0 && point[1] <= 1);
    CHECK(dims == 2 || point[2] == 0 || point[2] == 1 || point[2] == 2);
}

static void check_labels(const struct label_set *set, const struct label_options *options) {
    int dims = options->keypoint_dims == 3 ? 3 : 2;
    const struct index_label *labels = (const struct index_label *)(const void *)set->labels.data;
    const float *points = (const float *)(const void *)set->points.data;
    uint64_t count = set->labels.size / sizeof *labels, point_count = 0;
    CHECK(count == set->counts.kept && set->labels.size % sizeof *labels == 0);
    for (uint64_t i = 0; i < count; i++) {
        const struct index_label *l = &labels[i];
        CHECK(l->x >= 0 && l->x <= 1 && l->y >= 0 && l->y <= 1);
        CHECK(l->width > 0 && l->width <= 1 && l->height > 0 && l->height <= 1);
        CHECK(l->class_id < (options->class_count ? options->class_count : INDEX_CLASS_LIMIT));
        CHECK(l->class_id <= set->counts.max_class && l->class_id >= set->counts.min_class);
        point_count += l->point_count;
    }
    CHECK(set->points.size == point_count * (uint64_t)dims * sizeof *points);
    for (uint64_t i = 0; i < point_count; i++)
        check_point(points + i * (uint64_t)dims, dims);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct label_set set = {0};
    struct report report = {0};
    if (size == 0)
        return 0;
    struct label_options options = choose(data[0]);
    CHECK(label_parse(&set, (struct span){data + 1, size - 1}, "labels/a.txt", &options, &report) == 0);
    const struct label_counts *c = &set.counts;
    CHECK(c->rows == c->kept + c->dropped + c->duplicate && c->clamped <= c->kept);
    CHECK(report_count(&report, ACTION_DROPPED) == c->dropped && report_count(&report, ACTION_CLAMPED) == c->clamped);
    check_labels(&set, &options);

    struct report again;
    struct error error = {0};
    FUZZ_CHECK_OK(report_parse(&again, (struct span){report.rows.data, report.rows.size}, &error), &error);
    CHECK(memcmp(again.counts, report.counts, sizeof report.counts) == 0);
    report_deinit(&again);
    report_deinit(&report);
    label_set_deinit(&set);
    return 0;
}
