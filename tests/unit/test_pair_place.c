#include "pair_place.h"

#include "file.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void assert_clean(const char *path, const char *expected) {
    char *copy = strdup(path); /* of the exact size, for the sanitizer */
    path_clean(copy);
    cr_assert_str_eq(copy, expected, "%s became %s", path, copy);
    free(copy);
}

Test(pair_place, clean) {
    assert_clean("a/b", "a/b");
    assert_clean("./a//b/./c/", "a/b/c");
    assert_clean("a/../b", "b");
    assert_clean("a/b/../../c", "c");
    assert_clean("../a", "../a");
    assert_clean("../../a/..", "../..");
    assert_clean("a/../../b", "../b");
    assert_clean("/../a", "/a");
    assert_clean("/a/..", "/");
    assert_clean("/", "/");
    assert_clean(".", "");
    assert_clean("", "");
    assert_clean("...", "...");
    assert_clean("a/.b/..c", "a/.b/..c");
}

static char root[64];

static void make_root(void) {
    const char *parent = getenv("TMPDIR");
    snprintf(root, sizeof root, "%s/place-XXXXXX", parent && strlen(parent) < 40 ? parent : "/tmp");
    cr_assert_not_null(mkdtemp(root));
    char *resolved = realpath(root, NULL);
    snprintf(root, sizeof root, "%s", resolved);
    free(resolved);
}

static void remove_root(void) {
    cr_assert_eq(chdir("/"), 0);
    dir_remove_all(root, NULL);
}

TestSuite(pair_place_file, .init = make_root, .fini = remove_root);

static void add_directory(const char *path) {
    char *whole = path_join(root, path);
    cr_assert_eq(dir_create_all(whole, NULL), 0);
    free(whole);
}

Test(pair_place_file, inside_is_relative_at_once) {
    char base[128], link[128], path[256];
    struct pair_places places;
    add_directory("set/images");
    snprintf(base, sizeof base, "%s/set", root);
    snprintf(link, sizeof link, "%s/link", root);
    cr_assert_eq(symlink("set", link), 0);
    cr_assert_eq(chdir(root), 0);
    static const char *const bases[] = {"set", "./set/", "set/images/..", "link"};
    for (size_t i = 0; i < 4; i++) {
        cr_assert_eq(pair_places_init(&places, bases[i], NULL), 0);
        cr_assert_str_eq(pair_places_put(&places, bases[i], "images/a.jpg"), "images/a.jpg");
        cr_assert_str_eq(pair_places_put(&places, bases[i], "./images//b.jpg"), "images/b.jpg");
        cr_assert_str_eq(pair_places_put(&places, bases[i], "images/../c.jpg"), "c.jpg");
        snprintf(path, sizeof path, "%s/images/d.jpg", base);
        cr_assert_str_eq(pair_places_put(&places, "nowhere", path), "images/d.jpg");
        cr_assert_str_eq(pair_places_put_directory(&places, base), "");
        cr_assert_str_eq(pair_places_put_directory(&places, "set/images"), "images/");
        cr_assert_eq(pair_places_settle(&places, NULL, 0), 0);
        cr_assert_eq(places.subs.count, 1);
        cr_assert_str_eq(places.subs.items[0], "");
        cr_assert_str_eq(places.base, bases[i]);
        pair_places_deinit(&places);
    }
}

Test(pair_place_file, what_is_not_there_moves_nothing) {
    struct pair_places places;
    struct path_list list = {0};
    struct path_list *const lists[] = {&list};
    add_directory("set/images");
    cr_assert_eq(chdir(root), 0);
    cr_assert_eq(pair_places_init(&places, "set", NULL), 0);
    cr_assert_eq(path_list_add(&list, pair_places_put(&places, "set", "images/x.jpg")), 0);
    cr_assert_eq(path_list_add(&list, pair_places_put(&places, "set", "/no-such/machine/images/train/y.jpg")), 0);
    cr_assert_eq(pair_places_settle(&places, lists, 1), 0);
    cr_assert_str_eq(places.base, "set");
    cr_assert_str_eq(list.items[0], "images/x.jpg");
    cr_assert_str_eq(list.items[1], "/no-such/machine/images/train/y.jpg");
    cr_assert_eq(places.subs.count, 1);
    cr_assert_str_eq(places.subs.items[0], "");
    pair_places_deinit(&places);
    free(list.items);
}

Test(pair_place_file, outside_moves_the_base_up) {
    char path[256];
    struct pair_places places;
    struct path_list list = {0};
    struct path_list *const lists[] = {&list};
    add_directory("a/set/images");
    add_directory("a/other/images/train");
    add_directory("a/otherwise");
    cr_assert_eq(chdir(root), 0);
    cr_assert_eq(pair_places_init(&places, "a/set", NULL), 0);
    cr_assert_eq(path_list_add(&list, pair_places_put(&places, "a/set", "images/x.jpg")), 0);
    cr_assert_eq(path_list_add(&list, pair_places_put(&places, "a/other", "images/train/y.jpg")), 0);
    cr_assert_eq(path_list_add(&list, NULL), 0);
    cr_assert_eq(path_list_add(&list, pair_places_put_directory(&places, "a/otherwise")), 0);
    cr_assert_eq(pair_places_settle(&places, lists, 1), 0);
    snprintf(path, sizeof path, "%s/a", root);
    cr_assert_str_eq(places.base, path);
    cr_assert_str_eq(list.items[0], "set/images/x.jpg");
    cr_assert_str_eq(list.items[1], "other/images/train/y.jpg");
    cr_assert_null(list.items[2]);
    cr_assert_str_eq(list.items[3], "otherwise/");
    cr_assert_eq(places.subs.count, 3);
    cr_assert_str_eq(places.subs.items[0], "other");
    cr_assert_str_eq(places.subs.items[1], "otherwise");
    cr_assert_str_eq(places.subs.items[2], "set");
    pair_places_deinit(&places);
    free(list.items);
}
