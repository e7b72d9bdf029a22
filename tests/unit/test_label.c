#include "label.h"

#include <criterion/criterion.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>

static const struct label_options detect = {.task = TASK_DETECT, .class_count = 80, .clamp = LABEL_CLAMP};

struct parsed {
    struct label_set set;
    struct report report;
};

static struct parsed parse_bytes(const char *text, size_t size, const struct label_options *options) {
    struct parsed p = {0};
    uint8_t *exact = malloc(size ? size : 1); /* so that a sanitizer sees any read past the end */
    memcpy(exact, text, size);
    cr_assert_eq(label_parse(&p.set, (struct span){exact, size}, "labels/a.txt", options, &p.report), 0);
    free(exact);
    const struct label_counts *c = &p.set.counts;
    cr_assert_eq(c->rows, c->kept + c->dropped + c->duplicate + c->filtered);
    cr_assert_eq(c->kept * sizeof(struct index_label), p.set.labels.size);
    cr_assert_eq(c->dropped, report_count(&p.report, ACTION_DROPPED));
    cr_assert_eq(c->clamped, report_count(&p.report, ACTION_CLAMPED));
    cr_assert_eq(c->duplicate, p.report.counts[RULE_ROW_DUPLICATE]);
    return p;
}

static struct parsed parse(const char *text, const struct label_options *options) {
    return parse_bytes(text, strlen(text), options);
}

static const struct index_label *label(const struct parsed *p, size_t i) {
    cr_assert_lt(i, p->set.counts.kept);
    return (const struct index_label *)(void *)p->set.labels.data + i;
}

static void assert_box(const struct parsed *p, size_t i, uint16_t class_id, float x, float y, float w, float h) {
    const struct index_label *l = label(p, i);
    cr_assert_eq(l->class_id, class_id);
    cr_assert(l->x == x && l->y == y && l->width == w && l->height == h, "%g %g %g %g", (double)l->x, (double)l->y,
              (double)l->width, (double)l->height);
}

static void assert_reported(const struct parsed *p, const char *row_start) {
    struct bytes text = {0};
    cr_assert_eq(report_tsv(&p->report, &text), 0);
    cr_assert_eq(bytes_append(&text, "", 1), 0);
    char line[512];
    snprintf(line, sizeof line, "\n%s", row_start);
    cr_assert(strstr((char *)text.data, line), "no row \"%s\" in:\n%s", row_start, (char *)text.data);
    bytes_deinit(&text);
}

static void release(struct parsed *p) {
    label_set_deinit(&p->set);
    report_deinit(&p->report);
}

/* One row that must be dropped beside a good one that must stay. */
static void assert_dropped(const char *row, const struct label_options *options, const char *expected) {
    char text[512];
    snprintf(text, sizeof text, "%s\n1 0.5 0.5 0.2 0.2\n", row);
    struct parsed p = parse(text, options);
    cr_assert_eq(p.set.counts.kept, 1, "%s", row);
    cr_assert_eq(p.set.counts.dropped, 1, "%s", row);
    assert_box(&p, 0, 1, 0.5f, 0.5f, 0.2f, 0.2f);
    assert_reported(&p, expected);
    release(&p);
}

Test(label, coordinates_at_and_over_the_edge) {
    struct parsed p =
        parse("0 0.5 0.5 1.0 1.0\n0 0.95 0.5 0.2 0.2\n0 1.0000005 0.5 0.1 0.1\n0 -0.001 0.5 0.1 0.1\n", &detect);
    assert_box(&p, 0, 0, 0.5f, 0.5f, 1.0f, 1.0f);
    assert_box(&p, 1, 0, 0.95f, 0.5f, 0.2f, 0.2f);
    assert_box(&p, 2, 0, 1.0f, 0.5f, 0.1f, 0.1f);
    assert_box(&p, 3, 0, 0.0f, 0.5f, 0.1f, 0.1f);
    cr_assert_eq(p.set.counts.clamped, 2);
    assert_reported(&p, "labels/a.txt\t3\t3\trow-clamped\tclamped\t1.0000005\t");
    assert_reported(&p, "labels/a.txt\t4\t3\trow-clamped\tclamped\t-0.001\t");
    release(&p);
    assert_dropped("0 320 240 64 48", &detect, "labels/a.txt\t1\t3\trow-range\tdropped\t320\t");
    assert_dropped("0 0.42 0.33 -0.73 0.35", &detect, "labels/a.txt\t1\t13\trow-range\tdropped\t-0.73\t");
    assert_dropped("0 0.42 1.0011 0.73 0.35", &detect, "labels/a.txt\t1\t8\trow-range\tdropped\t1.0011\t");
    assert_dropped("0 0.5 0.5 0 0.35", &detect, "labels/a.txt\t1\t11\trow-size\tdropped\t0\t");
    assert_dropped("0 0.5 0.5 0.1 -0.0005", &detect, "labels/a.txt\t1\t15\trow-size\tdropped\t-0.0005\t");
    struct label_options none = detect, loose = detect;
    none.clamp = 0;
    loose.clamp = 0.01;
    assert_dropped("0 1.0000005 0.5 0.1 0.1", &none, "labels/a.txt\t1\t3\trow-range\tdropped\t1.0000005\t");
    p = parse("0 0.78 0.4987 0.41 1.0025\n", &loose);
    assert_box(&p, 0, 0, 0.78f, 0.4987f, 0.41f, 1.0f);
    release(&p);
}

Test(label, classes) {
    struct parsed p = parse("2.0 .5 .5 .1 .1\n03 .5 .5 .1 .1\n1e1 .5 .5 .1 .1\n79 .5 .5 .1 .1\n", &detect);
    cr_assert_eq(p.set.counts.kept, 4);
    cr_assert_eq(label(&p, 0)->class_id, 2);
    cr_assert_eq(label(&p, 1)->class_id, 3);
    cr_assert_eq(label(&p, 2)->class_id, 10);
    cr_assert_eq(p.set.counts.min_class, 2);
    cr_assert_eq(p.set.counts.max_class, 79);
    release(&p);
    assert_dropped("80 .5 .5 .1 .1", &detect, "labels/a.txt\t1\t1\trow-class\tdropped\t80\t");
    assert_dropped("-1 .5 .5 .1 .1", &detect, "labels/a.txt\t1\t1\trow-class\tdropped\t-1\t");
    assert_dropped("  1.5 .5 .5 .1 .1", &detect, "labels/a.txt\t1\t3\trow-class\tdropped\t1.5\t");
    assert_dropped("car .5 .5 .1 .1", &detect, "labels/a.txt\t1\t1\trow-class\tdropped\tcar\t");
    struct label_options unknown = {.task = TASK_DETECT};
    p = parse("65534 .5 .5 .1 .1\n65535 .5 .5 .1 .1", &unknown);
    cr_assert_eq(p.set.counts.kept, 1);
    cr_assert_eq(label(&p, 0)->class_id, 65534);
    release(&p);
}

Test(label, every_kind_of_text_gives_the_same_numbers) {
    static const char *const texts[] = {
        "\xEF\xBB\xBF\x30 0.5 0.5 0.2 0.2\n",
        "0 0.5 0.5 0.2 0.2\r\n",
        "0 0.5 0.5 0.2 0.2\r",
        "0\t0.5  0.5\t\t0.2 0.2",
        "\n\n  \n0 0.5 0.5 0.2 0.2 \n\n",
        "0 5e-01 +.5 0.20 2E-1\n",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct parsed p = parse(texts[i], &detect);
        cr_assert_eq(p.set.counts.rows, 1, "text %zu", i);
        assert_box(&p, 0, 0, 0.5f, 0.5f, 0.2f, 0.2f);
        cr_assert_eq(p.report.rows.size, 0);
        release(&p);
    }
}

Test(label, line_ends_may_be_mixed) {
    struct parsed p = parse("0 .5 .5 .2 .2\r1 .5 .5 .2 .2\n2 .5 .5 .2 .2\r\n\r3 .5 .5 .2 .2\r\n\nx", &detect);
    cr_assert_eq(p.set.counts.kept, 4);
    cr_assert_eq(label(&p, 3)->class_id, 3);
    assert_reported(&p, "labels/a.txt\t7\t1\trow-class\tdropped\tx\t");
    release(&p);
}

Test(label, encodings_are_named) {
    assert_dropped("0,0.5,0.5,0.2,0.2", &detect,
                   "labels/a.txt\t1\t1\tlabel-encoding\tdropped\t0,0.5,0.5,0.2,0.2\ta comma");
    assert_dropped("0 0,5 0,5 0,2 0,2", &detect, "labels/a.txt\t1\t3\tlabel-encoding\tdropped\t0,5\ta comma");
    static const char nul[] = "0 0.5 0.\0005 0.2 0.2\n1 0.5 0.5 0.2 0.2";
    struct parsed p = parse_bytes(nul, sizeof nul - 1, &detect);
    cr_assert_eq(p.set.counts.kept, 1);
    assert_reported(&p, "labels/a.txt\t1\t7\tlabel-encoding\tdropped\t0.\\x005\ta NUL byte");
    release(&p);
    static const char *const wide[] = {"\xFF\xFE"
                                       "0\0 \0",
                                       "\xFE\xFF\0"
                                       "0\0 ",
                                       "0\0 \0",
                                       "\0"
                                       "0\0 "};
    static const size_t sizes[] = {6, 6, 4, 4};
    for (size_t i = 0; i < 4; i++) {
        p = parse_bytes(wide[i], sizes[i], &detect);
        cr_assert_eq(p.set.counts.rows, 0);
        cr_assert_eq(p.report.counts[RULE_LABEL_UNREADABLE], 1, "case %zu", i);
        release(&p);
    }
}

Test(label, backgrounds_have_no_rows) {
    static const char *const texts[] = {"", "\n", "  \t ", "\r\n\r\n", "\xEF\xBB\xBF"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct parsed p = parse(texts[i], &detect);
        cr_assert_eq(p.set.counts.rows, 0);
        cr_assert_eq(p.report.rows.size, 0);
        release(&p);
    }
}

Test(label, boxes_and_polygons_row_by_row) {
    struct parsed p = parse("0 0.5 0.5 0.2 0.2\n0 0.1 0.1 0.3 0.1 0.3 0.3\n", &detect);
    cr_assert_eq(p.set.counts.kept, 2);
    assert_box(&p, 0, 0, 0.5f, 0.5f, 0.2f, 0.2f);
    cr_assert_eq(label(&p, 0)->point_count, 0);
    const struct index_label *polygon = label(&p, 1);
    cr_assert_eq(polygon->point_count, 3);
    cr_assert_float_eq(polygon->x, 0.2f, 1e-7);
    cr_assert_float_eq(polygon->y, 0.2f, 1e-7);
    cr_assert_float_eq(polygon->width, 0.2f, 1e-7);
    cr_assert_float_eq(polygon->height, 0.2f, 1e-7);
    static const float points[] = {0.1f, 0.1f, 0.3f, 0.1f, 0.3f, 0.3f};
    cr_assert_eq(p.set.points.size, sizeof points);
    cr_assert(memcmp(p.set.points.data, points, sizeof points) == 0);
    assert_reported(&p, "labels/a.txt\t2\t1\trow-mixed\tnote\t\tline 1 is a box, line 2 a polygon");
    release(&p);
    assert_dropped("0 0.1 0.1 0.3 0.1 0.5 0.1", &detect, "labels/a.txt\t1\t3\trow-size\tdropped\t0.1\t");
}

Test(label, wrong_counts_of_values) {
    static const char *const rows[] = {"0 0.5 0.5", "0 0.5 0.5 0.5", "0 0.5 0.5 0.2 0.2 0.9", "0",
                                       "0 .1 .1 .2 .2 .3 .3 .4"};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char expected[256];
        snprintf(expected, sizeof expected, "labels/a.txt\t1\t1\trow-tokens\tdropped\t%s\t", rows[i]);
        assert_dropped(rows[i], &detect, expected);
    }
}

Test(label, what_is_no_number) {
    assert_dropped("0 nan 0.5 0.2 0.2", &detect, "labels/a.txt\t1\t3\trow-number\tdropped\tnan\t");
    assert_dropped("0 0.5 inf 0.2 0.2", &detect, "labels/a.txt\t1\t7\trow-number\tdropped\tinf\t");
    assert_dropped("0 0.5 1e999 0.2 0.2", &detect, "labels/a.txt\t1\t7\trow-number\tdropped\t1e999\t");
    assert_dropped("0 0.5 0x1p-1 0.2 0.2", &detect, "labels/a.txt\t1\t7\trow-number\tdropped\t0x1p-1\t");
    assert_dropped("0 0.5 0.5\x0B 0.2 0.2", &detect, "labels/a.txt\t1\t7\trow-number\tdropped\t0.5\\x0B\t");
}

Test(label, duplicates_go_and_order_stays) {
    struct parsed p =
        parse("0 .5 .5 .2 .2\n1 .5 .5 .2 .2\n0 0.50 0.5 0.2 2e-1\n2 .1 .1 .3 .1 .3 .3\n2 .1 .1 .3 .1 .3 .3\n"
              "2 .1 .1 .3 .3 .3 .1\n",
              &detect);
    cr_assert_eq(p.set.counts.kept, 4);
    cr_assert_eq(p.set.counts.duplicate, 2);
    cr_assert_eq(label(&p, 0)->class_id, 0);
    cr_assert_eq(label(&p, 1)->class_id, 1);
    cr_assert_eq(label(&p, 2)->class_id, 2);
    cr_assert_eq(label(&p, 3)->class_id, 2);
    cr_assert_eq(p.set.points.size, 12 * sizeof(float));
    assert_reported(&p, "labels/a.txt\t3\t1\trow-duplicate\tnote\t0 0.50 0.5 0.2 2e-1\tthe same as line 1");
    release(&p);
}

Test(label, many_rows_half_of_them_twice) {
    struct bytes text = {0};
    for (int i = 0; i < 20000; i++) {
        char row[64];
        int size = snprintf(row, sizeof row, "0 0.%04d 0.5 0.2 0.2\n", i % 10000);
        bytes_append(&text, row, (size_t)size);
    }
    struct label_set set = {0};
    struct report report = {0};
    cr_assert_eq(label_parse(&set, (struct span){text.data, text.size}, "a", &detect, &report), 0);
    cr_assert_eq(set.counts.kept, 10000);
    cr_assert_eq(set.counts.duplicate, 10000);
    label_set_clear(&set);
    cr_assert_eq(label_parse(&set, (struct span){text.data, 22}, "a", &detect, &report), 0);
    cr_assert_eq(set.counts.kept, 1, "rows of an earlier file are not remembered");
    label_set_deinit(&set);
    report_deinit(&report);
    bytes_deinit(&text);
}

Test(label, oriented_boxes_and_key_points) {
    struct label_options obb = {.task = TASK_OBB, .class_count = 2};
    struct parsed p = parse("1 .1 .2 .5 .2 .5 .6 .1 .6\n1 .5 .5 .1 .1\n", &obb);
    cr_assert_eq(p.set.counts.kept, 1);
    cr_assert_eq(p.set.counts.dropped, 1);
    cr_assert_eq(label(&p, 0)->point_count, 4);
    release(&p);
    struct label_options pose = {
        .task = TASK_POSE, .class_count = 1, .keypoint_count = 2, .keypoint_dims = 3, .clamp = LABEL_CLAMP};
    p = parse(
        "0 .5 .5 .2 .2 .4 .4 2 0 0 0\n0 .5 .5 .2 .2 .4 .4 3 0 0 0\n0 .5 .5 .2 .2\n0 .5 .5 .2 .2 .4 1.0005 1 0 0 0\n",
        &pose);
    cr_assert_eq(p.set.counts.kept, 2);
    cr_assert_eq(p.set.counts.dropped, 2);
    static const float points[] = {0.4f, 0.4f, 2, 0, 0, 0, 0.4f, 1, 1, 0, 0, 0};
    cr_assert_eq(p.set.points.size, sizeof points);
    cr_assert(memcmp(p.set.points.data, points, sizeof points) == 0);
    cr_assert_eq(label(&p, 0)->point_count, 2);
    assert_reported(&p, "labels/a.txt\t2\t21\trow-range\tdropped\t3\t");
    release(&p);
}

Test(label, a_polygon_of_too_many_points) {
    struct bytes text = {0};
    bytes_append(&text, "0", 1);
    for (int i = 0; i < 65536; i++)
        bytes_append(&text, " .1 .2", 6);
    struct label_set set = {0};
    struct report report = {0};
    cr_assert_eq(label_parse(&set, (struct span){text.data, text.size}, "a", &detect, &report), 0);
    cr_assert_eq(report.counts[RULE_ROW_TOKENS], 1);
    cr_assert_eq(set.points.size, 0);
    label_set_deinit(&set);
    report_deinit(&report);
    bytes_deinit(&text);
}

Test(label, the_locale_has_no_say) {
    if (!setlocale(LC_ALL, "de_DE.UTF-8"))
        cr_skip("no locale with a decimal comma here");
    struct parsed p = parse("0 0.5 0.5 0.2 0.2", &detect);
    assert_box(&p, 0, 0, 0.5f, 0.5f, 0.2f, 0.2f);
    release(&p);
}

Test(label, rows_of_other_classes_are_left_out) {
    static const uint8_t wanted[(INDEX_CLASS_LIMIT + 7) / 8] = {1 << 2};
    const struct label_options options = {.task = TASK_DETECT, .class_count = 80, .wanted_classes = wanted};
    struct parsed p = parse("0 .5 .5 .2 .2\n2 .5 .5 .2 .2\n2 .5 .5 .2 .2\n1 7 7 7 7\n80 .5 .5 .2 .2\n", &options);
    cr_assert_eq(p.set.counts.kept, 1);
    cr_assert_eq(p.set.counts.filtered, 2); /* one of them also out of range */
    cr_assert_eq(p.set.counts.duplicate, 1);
    cr_assert_eq(p.set.counts.dropped, 1); /* 80 is no class at all */
    cr_assert_eq(p.report.counts[RULE_ROW_FILTERED], 1);
    cr_assert_eq(label(&p, 0)->class_id, 2);
    release(&p);
}

Test(label, all_classes_become_one_after_duplicates_went) {
    static const uint8_t wanted[(INDEX_CLASS_LIMIT + 7) / 8] = {1 << 2 | 1 << 3};
    const struct label_options options = {
        .task = TASK_DETECT, .class_count = 80, .wanted_classes = wanted, .single_class = true};
    struct parsed p = parse("2 .5 .5 .2 .2\n3 .5 .5 .2 .2\n3 .5 .5 .2 .2\n0 .5 .5 .2 .2\n", &options);
    cr_assert_eq(p.set.counts.kept, 2);
    cr_assert_eq(p.set.counts.duplicate, 1);
    cr_assert_eq(p.set.counts.filtered, 1);
    cr_assert_eq(label(&p, 0)->class_id, 0);
    cr_assert_eq(label(&p, 1)->class_id, 0);
    cr_assert(p.set.counts.min_class == 0 && p.set.counts.max_class == 0);
    release(&p);
}
