#include "tree.h"

#include "file.h"

#include <criterion/criterion.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
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

static bool there(const char *root, const char *name) {
    char path[160];
    snprintf(path, sizeof path, "%s/%s", root, name);
    return access(path, F_OK) == 0;
}

static int entries(const char *root) {
    DIR *dir = opendir(root);
    int count = -2;
    cr_assert_not_null(dir);
    while (readdir(dir) != NULL)
        count++;
    closedir(dir);
    return count;
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
    cr_assert_null(strstr(error.message, "unfinished"), "the name is the one it would have had");
    cr_assert_eq(tree_write(&tree, "empty.txt", NULL, 0, &error), 0);
    cr_assert_eq(tree_commit(&tree, &error), 0);
    tree_deinit(&tree);
    cr_assert(there(s.inner, "a/b/c.txt") && there(s.inner, "empty.txt"));
    cr_assert_eq(entries(s.inner), 2);
    cr_assert_eq(dir_remove_all(s.root, &error), 0);
}

Test(tree, takes_an_empty_directory_and_no_other) {
    struct scratch s = make();
    struct tree tree;
    struct error error = {0};
    cr_assert_eq(tree_create(&tree, s.root, &error), 0);
    cr_assert_eq(tree_write(&tree, "x", "x", 1, &error), 0);
    cr_assert_eq(tree_commit(&tree, &error), 0);
    tree_deinit(&tree);
    cr_assert_eq(tree_create(&tree, s.root, &error), ERR_ARGUMENT);
    tree_deinit(&tree);
    cr_assert_eq(dir_remove_all(s.root, &error), 0);
}

/* What was not committed goes, with the directories made for it; what was there, or came from others, stays. */
Test(tree, leaves_nothing_unless_committed) {
    struct scratch s = make();
    struct tree tree;
    struct error error = {0};
    char deep[160];
    snprintf(deep, sizeof deep, "%s//a/b/", s.inner);
    cr_assert_eq(tree_create(&tree, deep, &error), 0, "%s", error.message);
    cr_assert_eq(tree_write(&tree, "x/y", "x", 1, &error), 0);
    tree_deinit(&tree);
    cr_assert_eq(entries(s.root), 0);

    cr_assert_eq(tree_create(&tree, s.root, &error), 0);
    cr_assert_eq(tree_write(&tree, "x/y", "x", 1, &error), 0);
    tree_deinit(&tree);
    cr_assert_eq(entries(s.root), 0, "an empty directory stays, empty");

    cr_assert_eq(tree_create(&tree, deep, &error), 0);
    cr_assert_eq(tree_write(&tree, "x/y", "x", 1, &error), 0);
    snprintf(deep, sizeof deep, "%s/a/theirs", s.inner);
    cr_assert_eq(mkdir(deep, 0777), 0);
    tree_deinit(&tree);
    cr_assert(there(s.inner, "a/theirs") && !there(s.inner, "a/b"));
    cr_assert_eq(dir_remove_all(s.root, &error), 0);
}

Test(tree, moves_all_or_nothing) {
    struct scratch s = make();
    struct tree tree;
    struct error error = {0};
    char theirs[160];
    cr_assert_eq(tree_create(&tree, s.inner, &error), 0);
    cr_assert_eq(tree_write(&tree, "a/x", "x", 1, &error), 0);
    cr_assert_eq(tree_write(&tree, "b", "b", 1, &error), 0);
    cr_assert_eq(tree_write(&tree, "c/x", "x", 1, &error), 0);
    snprintf(theirs, sizeof theirs, "%s/b", s.inner);
    cr_assert_eq(mkdir(theirs, 0777), 0);
    cr_assert_eq(tree_commit(&tree, &error), ERR_INPUT);
    cr_assert_not_null(strstr(error.message, theirs), "%s", error.message);
    cr_assert(!there(s.inner, "a") && !there(s.inner, "c"));
    tree_deinit(&tree);
    cr_assert_eq(entries(s.inner), 1);
    cr_assert_eq(dir_remove_all(s.root, &error), 0);
}
