#include "output.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>

Test(output, numbers_for_people) {
    cr_assert_str_eq(text_count(0).text, "0");
    cr_assert_str_eq(text_count(999).text, "999");
    cr_assert_str_eq(text_count(12025).text, "12,025");
    cr_assert_str_eq(text_count(UINT64_MAX).text, "18,446,744,073,709,551,615");
    cr_assert_str_eq(text_counted(1, "box").text, "1 box");
    cr_assert_str_eq(text_counted(2, "box").text, "2 boxes");
    cr_assert_str_eq(text_counted(3, "class").text, "3 classes");
    cr_assert_str_eq(text_counted(1000, "image").text, "1,000 images");
}

Test(output, bytes_in_powers_of_1000) {
    cr_assert_str_eq(text_bytes(0).text, "0 B");
    cr_assert_str_eq(text_bytes(999).text, "999 B");
    cr_assert_str_eq(text_bytes(1000).text, "1.0 kB");
    cr_assert_str_eq(text_bytes(999499).text, "999 kB");
    cr_assert_str_eq(text_bytes(999999).text, "1.0 MB");
    cr_assert_str_eq(text_bytes(2913000000).text, "2.9 GB");
    cr_assert_str_eq(text_bytes(UINT64_MAX).text, "18.4 EB");
}

Test(output, durations) {
    cr_assert_str_eq(text_seconds(0.42).text, "0.4 s");
    cr_assert_str_eq(text_seconds(9.96).text, "10 s");
    cr_assert_str_eq(text_seconds(59.7).text, "1 min 0 s");
    cr_assert_str_eq(text_seconds(12000).text, "3 h 20 min");
    cr_assert_eq(strncmp(text_seconds(1e300).text, "2777", 4), 0);
}

Test(output, exit_codes_separate_arguments_data_and_machine) {
    cr_assert_eq(output_exit_code(0), 0);
    cr_assert_eq(output_exit_code(ERR_ARGUMENT), 2);
    cr_assert_eq(output_exit_code(ERR_INPUT), 3);
    cr_assert_eq(output_exit_code(ERR_UNSUPPORTED), 3);
    cr_assert_eq(output_exit_code(ERR_NOT_FOUND), 3);
    cr_assert_eq(output_exit_code(ERR_IO), 4);
    cr_assert_eq(output_exit_code(ERR_SPACE), 4);
    cr_assert_eq(output_exit_code(ERR_MEMORY), 4);
    cr_assert_eq(output_exit_code(ERR_CORRUPT), 5);
    cr_assert_eq(output_exit_code(ERR_INTERRUPTED), 130);
}

static void assert_argument(const char *word, const char *expected) {
    char *text = NULL;
    size_t size;
    FILE *to = open_memstream(&text, &size);
    cr_assert_not_null(to);
    output_argument(to, word);
    fclose(to);
    cr_assert_str_eq(text, expected);
    free(text);
}

Test(output, arguments_are_quoted_where_a_shell_needs_it) {
    assert_argument("/data/night-2_b.ypk", "/data/night-2_b.ypk");
    assert_argument("nächte/é", "nächte/é");
    assert_argument("my set", "'my set'");
    assert_argument("-o", "./-o");
    assert_argument("-my set", "./'-my set'");
    assert_argument("it's", "'it'\\''s'");
    assert_argument("$HOME;x", "'$HOME;x'");
}

Test(output, any_bytes_become_a_json_string) {
    json_t *name = output_json_name("a\xff"
                                    "b.jpg");
    cr_assert_not_null(name);
    cr_assert_not_null(strstr(json_string_value(name), "\\x"));
    json_decref(name);
}
