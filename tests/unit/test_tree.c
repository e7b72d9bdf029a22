#include "tree.h"

#include "file.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void check_path(const char *path, const char *expected) {
    bool changed;
    char *safe = tree_safe_path(path, &changed);
    cr_assert_str_eq(safe, expected);
    cr_assert_eq(changed, strcmp(path, expected) != 0);
    free(safe);
}

Test(tree, paths_stay_inside) {
    check_path("images/a.jpg", "images/a.jpg");
    check_path("/etc/passwd", "etc/passwd");
    check_path("../../x/a.jpg", "__/__/x/a.jpg");
    check_path("a/../../b", "a/__/__/b");
    check_path("./a//b/./c", "a/b/c");
    check_path("..", "__");
    check_path("...", "...");
    check_path("", "_");
    check_path("/", "_");
    check_path("a/..b/c", "a/..b/c");
}

struct scratch {
    char root[64];
    char inner[96];
};

static struct scratch make(void) {
    struct scratch s;
    snprintf(s.root, sizeof s.root, "/tmp/ypk-tree.XXXXXX");
    cr_assert_not_null(mkdtemp(s.root));
    snprintf(s.inner, sizeof s.inner, "%s/new", s.root);
    return s;
}

Test(tree, writes_once_and_never_over_another) {
    struct scratch s = make();
    struct tree tree;
    struct error error = {0};
    cr_assert_eq(tree_create(&tree, s.inner, &error), 0);
    cr_assert_eq(tree_write(&tree, "a/b/c.txt", "one", 3, &error), 0);
    cr_assert_eq(tree_write(&tree, "a/b/c.txt", "one", 3, &error), 0, "the same bytes are no conflict");
    cr_assert_eq(tree_write(&tree, "a/b/c.txt", "two", 3, &error), ERR_INPUT);
    cr_assert_not_null(strstr(error.message, "c.txt"));
    cr_assert_eq(tree_write(&tree, "empty.txt", NULL, 0, &error), 0);
    tree_deinit(&tree);
    cr_assert_eq(dir_remove_all(s.root, &error), 0);
}

Test(tree, takes_an_empty_directory_and_no_other) {
    struct scratch s = make();
    struct tree tree;
    struct error error = {0};
    cr_assert_eq(tree_create(&tree, s.root, &error), 0);
    cr_assert_eq(tree_write(&tree, "x", "x", 1, &error), 0);
    tree_deinit(&tree);
    cr_assert_eq(tree_create(&tree, s.root, &error), ERR_ARGUMENT);
    tree_deinit(&tree);
    cr_assert_eq(dir_remove_all(s.root, &error), 0);
}
