#include "tree.h"

#include "home.h"

#include <dirent.h>

TestSuite(tree, .init = home_create, .fini = home_remove);

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

static bool there(const char *name) {
    return access(home_path(name), F_OK) == 0;
}

static int entries(const char *path) {
    DIR *dir = opendir(path);
    int count = -2;
    cr_assert_not_null(dir);
    while (readdir(dir) != NULL)
        count++;
    closedir(dir);
    return count;
}

Test(tree, writes_once_and_never_over_another) {
    struct tree tree;
    struct error error = {0};
    cr_assert_eq(tree_create(&tree, home_path("new"), &error), 0);
    cr_assert_eq(tree_write(&tree, "a/b/c.txt", "one", 3, &error), 0);
    cr_assert_eq(tree_write(&tree, "a/b/c.txt", "one", 3, &error), 0, "the same bytes are no conflict");
    cr_assert_eq(tree_write(&tree, "a/b/c.txt", "two", 3, &error), ERR_INPUT);
    cr_assert_not_null(strstr(error.message, "c.txt"));
    cr_assert_null(strstr(error.message, "unfinished"), "the name is the one it would have had");
    cr_assert_eq(tree_write(&tree, "empty.txt", NULL, 0, &error), 0);
    cr_assert_eq(tree_commit(&tree, &error), 0);
    tree_deinit(&tree);
    cr_assert(there("new/a/b/c.txt") && there("new/empty.txt"));
    cr_assert_eq(entries(home_path("new")), 2);
}

Test(tree, takes_an_empty_directory_and_no_other) {
    struct tree tree;
    struct error error = {0};
    cr_assert_eq(tree_create(&tree, home, &error), 0);
    cr_assert_eq(tree_write(&tree, "x", "x", 1, &error), 0);
    cr_assert_eq(tree_commit(&tree, &error), 0);
    tree_deinit(&tree);
    cr_assert_eq(tree_create(&tree, home, &error), ERR_ARGUMENT);
    tree_deinit(&tree);
}

/* What was not committed goes, with the directories made for it; what was there, or came from others, stays. */
Test(tree, leaves_nothing_unless_committed) {
    struct tree tree;
    struct error error = {0};
    cr_assert_eq(tree_create(&tree, home_path("new//a/b/"), &error), 0, "%s", error.message);
    cr_assert_eq(tree_write(&tree, "x/y", "x", 1, &error), 0);
    tree_deinit(&tree);
    cr_assert_eq(entries(home), 0);

    cr_assert_eq(tree_create(&tree, home, &error), 0);
    cr_assert_eq(tree_write(&tree, "x/y", "x", 1, &error), 0);
    tree_deinit(&tree);
    cr_assert_eq(entries(home), 0, "an empty directory stays, empty");

    cr_assert_eq(tree_create(&tree, home_path("new//a/b/"), &error), 0);
    cr_assert_eq(tree_write(&tree, "x/y", "x", 1, &error), 0);
    home_add_directory("new/a/theirs");
    tree_deinit(&tree);
    cr_assert(there("new/a/theirs") && !there("new/a/b"));
}

Test(tree, moves_all_or_nothing) {
    struct tree tree;
    struct error error = {0};
    cr_assert_eq(tree_create(&tree, home_path("new"), &error), 0);
    cr_assert_eq(tree_write(&tree, "a/x", "x", 1, &error), 0);
    cr_assert_eq(tree_write(&tree, "b", "b", 1, &error), 0);
    cr_assert_eq(tree_write(&tree, "c/x", "x", 1, &error), 0);
    home_add_directory("new/b");
    cr_assert_eq(tree_commit(&tree, &error), ERR_INPUT);
    cr_assert_not_null(strstr(error.message, home_path("new/b")), "%s", error.message);
    cr_assert(!there("new/a") && !there("new/c"));
    tree_deinit(&tree);
    cr_assert_eq(entries(home_path("new")), 1);
}
