#include "export_label.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

Test(export_label, shortest_decimals) {
    char text[EXPORT_FLOAT_BYTES];
    export_float(text, 0.5f);
    cr_assert_str_eq(text, "0.5");
    export_float(text, 0.1f);
    cr_assert_str_eq(text, "0.1");
    export_float(text, 1.0f / 3.0f);
    cr_assert_str_eq(text, "0.33333334");
    export_float(text, 1e-5f);
    cr_assert_str_eq(text, "1e-05");
}

Test(export_label, every_float_reads_back) {
    uint32_t bits = 1;
    for (int i = 0; i < 200000; i++) {
        float value;
        char text[EXPORT_FLOAT_BYTES];
        bits = bits * 1664525u + 1013904223u;
        memcpy(&value, &bits, sizeof value);
        if (!isfinite(value))
            continue;
        export_float(text, value);
        cr_assert_eq(strtof(text, NULL), value, "%s", text);
    }
}

static void check(const ypk_sample *sample, int task, uint32_t dims, const char *expected) {
    struct bytes out = {0};
    cr_assert_eq(export_labels(&out, sample, task, dims), 0);
    cr_assert_eq(out.size, strlen(expected));
    cr_assert_eq(memcmp(out.data, expected, out.size), 0, "%.*s", (int)out.size, (const char *)out.data);
    bytes_deinit(&out);
}

Test(export_label, boxes_and_polygons_by_turns) {
    const ypk_label labels[] = {
        {2, 0, 0.5f, 0.5f, 0.25f, 0.125f}, {7, 3, 0.2f, 0.2f, 0.2f, 0.2f}, {0, 0, 1, 1, 0.5f, 1}};
    const float points[] = {0.1f, 0.1f, 0.3f, 0.1f, 0.3f, 0.3f};
    const ypk_sample sample = {.labels = labels, .label_count = 3, .points = points, .point_count = 3};
    check(&sample, YPK_DETECT, 2, "2 0.5 0.5 0.25 0.125\n7 0.1 0.1 0.3 0.1 0.3 0.3\n0 1 1 0.5 1\n");
}

Test(export_label, key_points_follow_their_box) {
    const ypk_label labels[] = {{0, 2, 0.5f, 0.5f, 0.25f, 0.125f}};
    const float points[] = {0.5f, 0.25f, 2, 0, 0, 0};
    const ypk_sample sample = {.labels = labels, .label_count = 1, .points = points, .point_count = 2};
    check(&sample, YPK_POSE, 3, "0 0.5 0.5 0.25 0.125 0.5 0.25 2 0 0 0\n");
}
