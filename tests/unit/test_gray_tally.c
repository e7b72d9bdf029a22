#include "gray_tally.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct gray_tally tally;
static char paths[200][64];
static size_t used;

static void add(const char *directory, size_t count, bool gray) {
    for (size_t i = 0; i < count; i++) {
        snprintf(paths[used], sizeof paths[used], "%s%zu.png", directory, used);
        gray_tally_add(&tally, paths[used++], gray);
    }
}

static void assert_hint(const char *part) {
    char *hint;
    cr_assert_eq(gray_tally_hint(&hint, &tally), 0);
    if (part)
        cr_assert(hint && strstr(hint, part), "%s", hint);
    else
        cr_assert_null(hint, "%s", hint);
    free(hint);
    tally = (struct gray_tally){0};
    used = 0;
}

Test(gray_tally, a_set_of_gray_pictures) {
    assert_hint(NULL);
    add("a/", 1, true);
    assert_hint(NULL);
    add("a/", 2, true);
    add("", 1, true);
    assert_hint("all 3 pictures are gray");
    add("a/", 20, true);
    add("a/", 1, false);
    assert_hint(NULL);
}

Test(gray_tally, a_directory_of_gray_pictures) {
    add("a/", 5, false);
    add("lw/", 10, true);
    add("z/", 5, false);
    assert_hint("all 10 pictures of lw/ are gray");
    add("a/", 5, false);
    add("lw/", 10, true);
    add("lx/", 10, true);
    assert_hint("all 20 pictures of lw/ and 1 other directory are gray");
    /* few, or others elsewhere, as any set has */
    add("a/", 5, false);
    add("lw/", 9, true);
    assert_hint(NULL);
    add("a/", 5, false);
    add("lw/", 50, true);
    add("a/", 1, true);
    assert_hint(NULL);
    add("a/", 100, false);
    add("a/", 1, true);
    assert_hint(NULL);
}

Test(gray_tally, of_many_directories_only_the_whole_is_judged) {
    char name[16];
    for (int i = 0; i < 70; i++) {
        snprintf(name, sizeof name, "d%d/", i);
        add(name, 1, true);
    }
    add("a/", 1, true);
    assert_hint("all 71 pictures");
    add("lw/", 10, true);
    for (int i = 0; i < 70; i++) {
        snprintf(name, sizeof name, "d%d/", i);
        add(name, 1, false);
    }
    assert_hint(NULL);
}
