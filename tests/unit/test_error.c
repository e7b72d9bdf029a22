#include "error.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

Test(error, set_returns_the_code_and_fills_everything) {
    struct error e = {.os_errno = 5, .offset = 7};
    cr_assert_eq(error_set(&e, ERR_INPUT, "%s: %d rows", "a.txt", 3), ERR_INPUT);
    cr_assert_eq(e.code, ERR_INPUT);
    cr_assert_eq(e.os_errno, 0);
    cr_assert_eq(e.offset, -1);
    cr_assert_str_eq(e.message, "a.txt: 3 rows");
}

Test(error, null_is_allowed) {
    cr_assert_eq(error_set(NULL, ERR_CORRUPT, "x"), ERR_CORRUPT);
    cr_assert_eq(error_set_errno(NULL, ENOSPC, "x"), ERR_SPACE);
    error_prefix(NULL, "x");
}

Test(error, codes_follow_errno) {
    static const struct {
        int os_errno, code;
    } rows[] = {
        {ENOSPC, ERR_SPACE},      {EDQUOT, ERR_SPACE}, {ENOMEM, ERR_MEMORY}, {ENOENT, ERR_NOT_FOUND},
        {ENOTDIR, ERR_NOT_FOUND}, {EIO, ERR_IO},       {EACCES, ERR_IO},     {0, ERR_IO},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct error e = {0};
        cr_assert_eq(error_set_errno(&e, rows[i].os_errno, "f"), rows[i].code);
        cr_assert_eq(e.code, rows[i].code);
        cr_assert_eq(e.os_errno, rows[i].os_errno);
    }
}

Test(error, errno_text_ends_the_message_even_of_a_long_path) {
    char path[3000];
    memset(path, 'p', sizeof path - 1);
    path[sizeof path - 1] = 0;
    struct error e = {0};
    error_set_errno(&e, ENOENT, "%s", path);
    cr_assert_eq(strlen(e.message), ERROR_MESSAGE_BYTES - 1);
    cr_assert(strstr(e.message, ": No such file or directory"), "%s", e.message);
}

Test(error, prefix_goes_in_front) {
    struct error e = {0};
    error_set_errno(&e, EIO, "read");
    error_prefix(&e, "sample %d: ", 7);
    cr_assert_eq(strncmp(e.message, "sample 7: read: ", 16), 0, "%s", e.message);
    cr_assert_eq(e.code, ERR_IO);
    cr_assert_eq(e.os_errno, EIO);
}

Test(error, prefix_without_a_failure_does_nothing) {
    struct error e = {0};
    error_prefix(&e, "x: ");
    cr_assert_str_eq(e.message, "");
}

Test(error, prefix_cuts_the_end_not_the_context) {
    struct error e = {0};
    char text[ERROR_MESSAGE_BYTES];
    memset(text, 'm', sizeof text - 1);
    text[sizeof text - 1] = 0;
    error_set(&e, ERR_IO, "%s", text);
    error_prefix(&e, "a.jpg: ");
    cr_assert_eq(strncmp(e.message, "a.jpg: mmm", 10), 0);
    cr_assert_eq(strlen(e.message), ERROR_MESSAGE_BYTES - 1);
}

Test(error, message_may_be_made_of_itself) {
    struct error e = {0};
    error_set(&e, ERR_INPUT, "inner");
    error_set(&e, ERR_CORRUPT, "outer (%s)", e.message);
    cr_assert_str_eq(e.message, "outer (inner)");
    error_prefix(&e, "[%s] ", e.message);
    cr_assert_str_eq(e.message, "[outer (inner)] outer (inner)");
}

Test(error, names_that_are_not_text_are_escaped) {
    struct error e = {0};
    error_set(&e, ERR_INPUT, "%s",
              "a\xff"
              "b\x1b[31m\x7f\xc3\xa9 \xe7\xbc\xba \xf0\x9f\x98\x80 \xc0\xaf \xed\xa0\x80 \xe7\xbc");
    cr_assert_str_eq(e.message,
                     "a\\xFFb\\x1B[31m\\x7F\xc3\xa9 \xe7\xbc\xba \xf0\x9f\x98\x80 \\xC0\\xAF \\xED\\xA0\\x80 "
                     "\\xE7\\xBC");
    error_set(&e, ERR_INPUT, "two\nlines\t");
    cr_assert_str_eq(e.message, "two\nlines\\x09");
    error_set(&e, ERR_INPUT, "%s", "\xf4\x90\x80\x80\xf0\x80\x80\x80\xe0\x80\x80");
    cr_assert_eq(strlen(e.message), 11 * 4);
}

Test(error, cut_between_characters) {
    char text[2000];
    for (size_t shift = 0; shift < 3; shift++) {
        struct error e = {0};
        memset(text, 'x', shift);
        for (size_t i = shift; i + 4 < sizeof text; i += 3)
            memcpy(text + i, "\xe7\xbc\xba", 4);
        error_set(&e, ERR_INPUT, "%s", text);
        size_t n = strlen(e.message);
        cr_assert_gt(n, ERROR_MESSAGE_BYTES - 16);
        cr_assert_str_eq(e.message + n - 3, "\xe7\xbc\xba", "shift %zu", shift);
        error_set_errno(&e, ENOENT, "%s", text);
        cr_assert(strstr(e.message, "\xe7\xbc\xba: No such file"), "shift %zu", shift);
    }
}

Test(error, every_code_has_a_text) {
    cr_assert_str_eq(error_code_text(ERR_CORRUPT), "corrupt pack");
    cr_assert_str_eq(error_code_text(ERR_SPACE), "no space left");
    cr_assert_str_eq(error_code_text(0), "unknown error");
    cr_assert_str_eq(error_code_text(-1000), "unknown error");
}
