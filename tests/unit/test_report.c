#include "report.h"

#include <criterion/criterion.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

static struct span text_span(const char *text) {
    return (struct span){(const uint8_t *)text, strlen(text)};
}

static void assert_rows(const struct report *r, const char *expected) {
    cr_assert_eq(r->rows.size, strlen(expected), "got: %.*s", (int)r->rows.size, (char *)r->rows.data);
    cr_assert(memcmp(r->rows.data, expected, r->rows.size) == 0, "got: %.*s", (int)r->rows.size, (char *)r->rows.data);
}

Test(report, row_has_seven_fields) {
    struct report r = {0};
    cr_assert_eq(report_add(&r, RULE_ROW_CLASS, "labels/a.txt", 3, 1, text_span("80"), "class %d of %d", 80, 80), 0);
    assert_rows(&r, "labels/a.txt\t3\t1\trow-class\tdropped\t80\tclass 80 of 80\n");
    cr_assert_eq(r.counts[RULE_ROW_CLASS], 1);
    cr_assert_eq(report_count(&r, ACTION_DROPPED), 1);
    cr_assert_eq(report_count(&r, ACTION_REJECTED), 0);
    report_deinit(&r);
    cr_assert_null(r.rows.data);
}

Test(report, unprintable_bytes_are_escaped_and_reversible) {
    struct report r = {0};
    report_add(&r, RULE_ROW_NUMBER, "a\tb\\\xFF\xC3\xA9.txt", 1, 2, (struct span){(const uint8_t *)"x\0\n\x1B\x7F", 5},
               "a\\b\n\xC2\x85");
    assert_rows(&r, "a\\tb\\\\\\xFF\xC3\xA9.txt\t1\t2\trow-number\tdropped\tx\\x00\\n\\x1B\\x7F\ta\\b\\n\\xC2\\x85\n");
    report_deinit(&r);
}

Test(report, malformed_utf8_never_passes) {
    static const char *const bad[] = {"\xC0\xAF",         "\xE0\x80\x80", "\xED\xA0\x80",
                                      "\xF4\x90\x80\x80", "\xF8\x88",     "\xE2\x82"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char *text = report_printable(text_span(bad[i]));
        cr_assert_not_null(text);
        for (const char *p = text; *p; p++)
            cr_assert((unsigned char)*p < 0x80, "byte %zu of case %zu", (size_t)(p - text), i);
        free(text);
    }
    char *good = report_printable(text_span("缺陷 é 🙂"));
    cr_assert_str_eq(good, "缺陷 é 🙂");
    free(good);
}

Test(report, long_values_are_cut_on_a_character) {
    char value[400];
    memset(value, 'x', sizeof value);
    memcpy(value + 159, "é", 2);
    struct report r = {0};
    report_add(&r, RULE_ROW_NUMBER, "p", 1, 1, (struct span){(uint8_t *)value, sizeof value}, "m");
    cr_assert(memmem(r.rows.data, r.rows.size, "xx…\tm\n", 8) != NULL);
    cr_assert_null(memmem(r.rows.data, r.rows.size, "\\x", 2));
    report_deinit(&r);
}

Test(report, long_messages_and_paths_are_kept) {
    char path[5000];
    memset(path, 'p', sizeof path - 1);
    path[sizeof path - 1] = '\0';
    struct report r = {0};
    cr_assert_eq(report_add(&r, RULE_LIST_MISSING, path, 0, 0, (struct span){0}, "see %s", path), 0);
    cr_assert_gt(r.rows.size, 2 * (sizeof path - 1));
    struct report again;
    cr_assert_eq(report_parse(&again, (struct span){r.rows.data, r.rows.size}, NULL), 0);
    report_deinit(&again);
    report_deinit(&r);
}

Test(report, parse_rebuilds_counts) {
    struct report r = {0}, back, sum = {0};
    report_add(&r, RULE_ROW_CLASS, "a", 1, 1, text_span("9"), "m");
    report_add(&r, RULE_LABEL_ORPHAN, "b\n", 0, 0, text_span(""), "m");
    report_add(&r, RULE_ROW_CLASS, "c", 2, 1, text_span("8"), "m");
    cr_assert_eq(report_parse(&back, (struct span){r.rows.data, r.rows.size}, NULL), 0);
    cr_assert(memcmp(back.counts, r.counts, sizeof r.counts) == 0);
    cr_assert_eq(report_append(&sum, &r), 0);
    cr_assert_eq(report_append(&sum, &back), 0);
    cr_assert_eq(sum.counts[RULE_ROW_CLASS], 4);
    cr_assert_eq(sum.rows.size, 2 * r.rows.size);
    report_clear(&sum);
    cr_assert_eq(sum.rows.size, 0);
    cr_assert_eq(sum.counts[RULE_ROW_CLASS], 0);
    report_deinit(&sum);
    report_deinit(&back);
    report_deinit(&r);
}

Test(report, parse_refuses_what_is_no_row) {
    static const char *const bad[] = {
        "a\t1\t1\trow-class\tdropped\tv\tm",      /* no newline */
        "a\t1\t1\trow-class\tdropped\tv\n",       /* six fields */
        "a\t1\t1\trow-class\tdropped\tv\tm\tx\n", /* eight */
        "a\t1\t1\trow-clas\tdropped\tv\tm\n",     /* no such rule */
        "a\t1\t1\trow-class\tnote\tv\tm\n",       /* not its action */
        "a\t-1\t1\trow-class\tdropped\tv\tm\n",   /* no line */
        "a\t\t1\trow-class\tdropped\tv\tm\n",
        "a\xFF\t1\t1\trow-class\tdropped\tv\tm\n", /* not UTF-8 */
        "\n",
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct report r;
        struct error error = {0};
        cr_assert_eq(report_parse(&r, text_span(bad[i]), &error), ERR_CORRUPT, "case %zu", i);
        cr_assert_eq(error.code, ERR_CORRUPT);
        cr_assert_null(r.rows.data);
    }
}

Test(report, tsv_has_a_head_line) {
    struct report r = {0};
    struct bytes out = {0};
    report_add(&r, RULE_LABEL_EMPTY, "a", 0, 0, text_span(""), "m");
    cr_assert_eq(report_tsv(&r, &out), 0);
    static const char expected[] = "path\tline\tcolumn\trule\taction\tvalue\tmessage\n"
                                   "a\t0\t0\tlabel-empty\tnote\t\tm\n";
    cr_assert_eq(out.size, sizeof expected - 1);
    cr_assert(memcmp(out.data, expected, out.size) == 0);
    bytes_deinit(&out);
    report_deinit(&r);
}

Test(report, json_reads_back) {
    struct report r = {0};
    struct bytes out = {0};
    report_add(&r, RULE_ROW_RANGE, "labels/\"é\".txt", 12, 3, text_span("1.5"), "x \\ y");
    report_add(&r, RULE_ROW_RANGE, "b\xFF", 1, 0, text_span(""), "m");
    cr_assert_eq(report_json(&r, &out), 0);
    json_t *root = json_loadb((char *)out.data, out.size, 0, NULL);
    cr_assert_not_null(root);
    cr_assert_eq(json_integer_value(json_object_get(json_object_get(root, "counts"), "row-range")), 2);
    json_t *row = json_array_get(json_object_get(root, "rows"), 0);
    cr_assert_str_eq(json_string_value(json_object_get(row, "path")), "labels/\"é\".txt");
    cr_assert_eq(json_integer_value(json_object_get(row, "line")), 12);
    cr_assert_eq(json_integer_value(json_object_get(row, "column")), 3);
    cr_assert_str_eq(json_string_value(json_object_get(row, "message")), "x \\ y");
    row = json_array_get(json_object_get(root, "rows"), 1);
    cr_assert_str_eq(json_string_value(json_object_get(row, "path")), "b\\xFF");
    json_decref(root);
    bytes_deinit(&out);
    report_deinit(&r);
}

Test(report, empty_report) {
    struct report r = {0};
    struct bytes out = {0};
    cr_assert_eq(report_json(&r, &out), 0);
    json_t *root = json_loadb((char *)out.data, out.size, 0, NULL);
    cr_assert_not_null(root);
    cr_assert_eq(json_array_size(json_object_get(root, "rows")), 0);
    json_decref(root);
    bytes_deinit(&out);
    struct report back;
    cr_assert_eq(report_parse(&back, (struct span){0}, NULL), 0);
    report_deinit(&back);
}

Test(report, every_rule_has_a_name_of_its_own) {
    for (int i = 0; i < RULE_COUNT; i++)
        for (int k = 0; k < i; k++)
            cr_assert_str_neq(report_rule_info((enum report_rule)i)->name, report_rule_info((enum report_rule)k)->name);
}

static bool is_duplicate(enum report_rule rule) {
    return rule == RULE_ROW_DUPLICATE;
}

Test(report, rows_of_some_rules_are_left_out) {
    struct report r = {0}, kept = {0}, back;
    struct bytes text = {0};
    struct error error;
    cr_assert_eq(report_add(&r, RULE_ROW_DUPLICATE, "a.txt", 1, 1, (struct span){0}, "x"), 0);
    cr_assert_eq(report_add(&r, RULE_ROW_CLASS, "a.txt", 2, 1, (struct span){0}, "y"), 0);
    cr_assert_eq(report_add(&r, RULE_ROW_DUPLICATE, "b.txt", 1, 1, (struct span){0}, "x"), 0);
    cr_assert_eq(report_append_except(&kept, &r, is_duplicate), 0);
    cr_assert_eq(kept.counts[RULE_ROW_CLASS], 1);
    cr_assert_eq(kept.counts[RULE_ROW_DUPLICATE], 0);
    cr_assert_eq(report_tsv(&kept, &text), 0);
    cr_assert_eq(report_parse_tsv(&back, (struct span){text.data, text.size}, &error), 0, "%s", error.message);
    cr_assert_eq(back.counts[RULE_ROW_CLASS], 1);
    cr_assert(back.rows.size == kept.rows.size && memcmp(back.rows.data, kept.rows.data, kept.rows.size) == 0);
    report_deinit(&back);
    cr_assert_eq(report_parse_tsv(&back, (struct span){text.data + 1, text.size - 1}, &error), ERR_CORRUPT);
    bytes_deinit(&text);
    report_deinit(&kept);
    report_deinit(&r);
}

Test(report, the_first_row_of_the_most_frequent_rule) {
    struct report r = {0};
    struct report_example example;
    char text[80];
    cr_assert_eq(report_most(&r, ACTION_DROPPED), RULE_COUNT);
    cr_assert_not(report_first(&r, RULE_ROW_RANGE, &example));
    cr_assert_eq(report_add(&r, RULE_ROW_CLASS, "a.txt", 1, 1, (struct span){(const uint8_t *)"9", 1}, "no class"), 0);
    cr_assert_eq(report_add(&r, RULE_ROW_RANGE, "b.txt", 3, 5, (struct span){(const uint8_t *)"32", 2}, "outside"), 0);
    cr_assert_eq(report_add(&r, RULE_ROW_RANGE, "c.txt", 4, 5, (struct span){(const uint8_t *)"33", 2}, "outside"), 0);
    cr_assert_eq(report_most(&r, ACTION_DROPPED), RULE_ROW_RANGE);
    cr_assert(report_first(&r, RULE_ROW_RANGE, &example));
    report_example_text(text, sizeof text, &example);
    cr_assert_str_eq(text, "b.txt:3:5: \"32\": outside");
    report_example_text(text, 8, &example);
    cr_assert_str_eq(text, "b.txt:3");
    cr_assert_eq(report_add(&r, RULE_LABEL_UNREADABLE, "d.txt", 0, 0, (struct span){0}, "gone"), 0);
    cr_assert(report_first(&r, RULE_LABEL_UNREADABLE, &example));
    report_example_text(text, sizeof text, &example);
    cr_assert_str_eq(text, "d.txt: gone");
    report_deinit(&r);
}

Test(report, rows_by_number) {
    struct report r = {0}, out = {0};
    size_t at = 0;
    cr_assert_eq(report_append_rows(&out, &r, &at, 3), 0);
    for (uint64_t i = 0; i < 5; i++)
        cr_assert_eq(report_add(&r, i % 2 ? RULE_ROW_CLASS : RULE_ROW_RANGE, "a.txt", i + 1, 1, (struct span){0}, "x"),
                     0);
    cr_assert_eq(report_rows(&r), 5);
    cr_assert_eq(report_append_rows(&out, &r, &at, 0), 0);
    cr_assert_eq(at, 0);
    cr_assert_eq(report_append_rows(&out, &r, &at, 2), 0);
    cr_assert_eq(report_rows(&out), 2);
    cr_assert_eq(out.rows.size, at);
    cr_assert_eq(out.counts[RULE_ROW_CLASS], 1);
    cr_assert_eq(report_append_rows(&out, &r, &at, UINT64_MAX), 0, "as many as there are");
    cr_assert_eq(at, r.rows.size);
    cr_assert(out.rows.size == r.rows.size && memcmp(out.rows.data, r.rows.data, r.rows.size) == 0);
    cr_assert_eq(out.counts[RULE_ROW_RANGE], 3);
    report_deinit(&out);
    report_deinit(&r);
}
