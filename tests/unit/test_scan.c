#include "scan.h"

#include "file.h"

#include <criterion/criterion.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static char root[64];

static void make_root(void) {
    const char *parent = getenv("TMPDIR");
    snprintf(root, sizeof root, "%s/scan-XXXXXX", parent && strlen(parent) < 40 ? parent : "/tmp");
    cr_assert_not_null(mkdtemp(root));
}

static void remove_root(void) {
    dir_remove_all(root, NULL);
}

static void whole_path(char out[4096], const char *path) {
    snprintf(out, 4096, "%s/%s", root, path);
}

static void add_file(const char *path) {
    char whole[4096], directory[4096];
    whole_path(whole, path);
    snprintf(directory, sizeof directory, "%.*s", (int)(path_base(whole) - whole), whole);
    cr_assert_eq(dir_create_all(directory, NULL), 0);
    int fd = open(whole, O_CREAT | O_WRONLY, 0644);
    cr_assert_geq(fd, 0, "%s", whole);
    close(fd);
}

static void add_link(const char *target, const char *path) {
    char whole[4096];
    whole_path(whole, path);
    cr_assert_eq(symlink(target, whole), 0);
}

static void assert_list(const struct path_list *list, const char *const *expected, size_t count) {
    cr_assert_eq(list->count, count, "%zu paths, expected %zu", list->count, count);
    for (size_t i = 0; i < count; i++)
        cr_assert_str_eq(list->items[i], expected[i]);
}

static bool has_row(const struct report *r, const char *text) {
    return r->rows.size && memmem(r->rows.data, r->rows.size, text, strlen(text)) != NULL;
}

TestSuite(scan, .init = make_root, .fini = remove_root);

Test(scan, finds_images_and_labels_by_any_case_in_order_of_bytes) {
    static const char *const files[] = {"images/b.JPG",      "images/x.JpEg",    "images/a.jpg.jpg", "images/v1.2.png",
                                        "images/a-b/1.webp", "images/a/1.bmp",   "set.v2/22.05.png", "x.txt.jpg",
                                        "labels/A.TXT",      "labels/a.jpg.txt", "notes.md"};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        add_file(files[i]);
    struct scan scan = {0};
    struct report report = {0};
    cr_assert_eq(scan_directory(&scan, root, "", &report, NULL, NULL), 0);
    static const char *const images[] = {"images/a-b/1.webp", "images/a.jpg.jpg", "images/a/1.bmp",   "images/b.JPG",
                                         "images/v1.2.png",   "images/x.JpEg",    "set.v2/22.05.png", "x.txt.jpg"};
    static const char *const labels[] = {"labels/A.TXT", "labels/a.jpg.txt"};
    assert_list(&scan.images, images, sizeof images / sizeof *images);
    assert_list(&scan.labels, labels, 2);
    cr_assert_eq(scan.skipped_count, 1);
    cr_assert(has_row(&report, "notes.md\t0\t0\tfile-skipped\tnote\t*.md\t1 such file\n"));
    scan_deinit(&scan);
    report_deinit(&report);
}

Test(scan, droppings_are_counted_and_odd_things_never_opened) {
    static const char *const files[] = {"images/a.jpg",
                                        "images/._a.jpg",
                                        "images/.DS_Store",
                                        "images/.jpg",
                                        "images/Thumbs.db",
                                        "images/desktop.ini",
                                        "__MACOSX/images/a.jpg",
                                        "lmdb-lock",
                                        "@eaDir/a.jpg",
                                        ".git/x.png",
                                        "d.jpg/inside.png",
                                        "a.json",
                                        "b.JSON",
                                        "plain"};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        add_file(files[i]);
    char whole[4096];
    whole_path(whole, "images/empty");
    mkdir(whole, 0755);
    whole_path(whole, "images/fifo.jpg");
    cr_assert_eq(mkfifo(whole, 0644), 0);
    add_link("nowhere", "images/broken.jpg");
    struct scan scan = {0};
    struct report report = {0};
    cr_assert_eq(scan_directory(&scan, root, "", &report, NULL, NULL), 0);
    static const char *const images[] = {"images/a.jpg"};
    assert_list(&scan.images, images, 1);
    cr_assert(has_row(&report, "d.jpg\t0\t0\tfile-skipped\tnote\t\ta directory with an image's name\n"));
    cr_assert(has_row(&report, "images/fifo.jpg\t0\t0\tfile-skipped\tnote\t\ta FIFO\n"));
    cr_assert(has_row(&report, "images/broken.jpg\t0\t0\tfile-skipped\tnote\t\ta broken symbolic link\n"));
    cr_assert(has_row(&report, ".git\t0\t0\tfile-skipped\tnote\tdot file\t4 such files, this is the first\n"));
    cr_assert(has_row(&report, "a.json\t0\t0\tfile-skipped\tnote\t*.json\t2 such files, this is the first\n"));
    cr_assert(has_row(&report, "\t__MACOSX\t1 such file\n"));
    cr_assert(has_row(&report, "\t*-lock\t1 such file\n"));
    cr_assert(has_row(&report, "\tno suffix\t1 such file\n"));
    cr_assert_eq(scan.skipped_count, 3 + 4 + 2 + 1 + 1 + 1 + 1 + 1 + 1);
    scan_deinit(&scan);
    report_deinit(&report);
}

Test(scan, what_has_a_labels_name_is_a_label) {
    char whole[4096];
    add_file("labels/a.txt");
    add_file("labels/b.txt/c.txt");
    add_file("labels/b.txt/d.png");
    whole_path(whole, "labels/f.TXT");
    cr_assert_eq(mkfifo(whole, 0644), 0);
    add_link("nowhere", "labels/g.txt");
    add_link("/dev/null", "labels/h.txt");
    struct scan scan = {0};
    struct report report = {0};
    cr_assert_eq(scan_directory(&scan, root, "", &report, NULL, NULL), 0);
    static const char *const labels[] = {"labels/a.txt", "labels/b.txt", "labels/b.txt/c.txt",
                                         "labels/f.TXT", "labels/g.txt", "labels/h.txt"};
    static const char *const images[] = {"labels/b.txt/d.png"};
    assert_list(&scan.labels, labels, 6);
    assert_list(&scan.images, images, 1);
    cr_assert_eq(scan.skipped_count, 0);
    scan_deinit(&scan);
    report_deinit(&report);
}

Test(scan, names_are_bytes) {
    char longest[256 + 8] = "i/";
    memset(longest + 2, 'n', 251);
    strcpy(longest + 253, ".png");
    const char *const files[] = {"i/a%b#c.jpg", longest, "i/q'uote.jpg", "i/缺陷 0001 (2).jpg", "i/\xFF.jpg"};
    for (size_t i = 0; i < 5; i++)
        add_file(files[i]);
    struct scan scan = {0};
    cr_assert_eq(scan_directory(&scan, root, "", NULL, NULL, NULL), 0);
    assert_list(&scan.images, files, 5);
    scan_deinit(&scan);
}

Test(scan, links_are_followed_and_loops_end) {
    add_file("real/train/a.jpg");
    add_file("other/b.jpg");
    add_link("../real/train", "other/again");
    add_link(".", "loop");
    add_link("../../other/b.jpg", "real/train/c.jpg");
    struct scan scan = {0};
    struct report report = {0};
    cr_assert_eq(scan_directory(&scan, root, "", &report, NULL, NULL), 0);
    static const char *const images[] = {"other/b.jpg", "real/train/a.jpg", "real/train/c.jpg"};
    assert_list(&scan.images, images, 3);
    cr_assert(has_row(&report, "loop\t0\t0\tfile-skipped\tnote\t\ta second way"));
    cr_assert(has_row(&report, "other/again\t0\t0\tfile-skipped\tnote\t\ta second way"));
    scan_deinit(&scan);
    cr_assert_eq(scan_directory(&scan, root, "other", NULL, NULL, NULL), 0);
    static const char *const below[] = {"other/again/a.jpg", "other/again/c.jpg", "other/b.jpg"};
    assert_list(&scan.images, below, 3);
    scan_deinit(&scan);
    report_deinit(&report);
}

Test(scan, parts_add_up_without_duplicates) {
    add_file("a/1.jpg");
    add_file("b/2.jpg");
    add_file("c/3.jpg");
    struct scan scan = {0};
    cr_assert_eq(scan_directory(&scan, root, "b", NULL, NULL, NULL), 0);
    cr_assert_eq(scan_directory(&scan, root, "a", NULL, NULL, NULL), 0);
    cr_assert_eq(scan_directory(&scan, root, "b", NULL, NULL, NULL), 0);
    static const char *const images[] = {"a/1.jpg", "b/2.jpg"};
    assert_list(&scan.images, images, 2);
    scan_deinit(&scan);
}

Test(scan, deep_trees_need_few_descriptors) {
    char path[4096] = "";
    for (int i = 0; i < 300; i++)
        strcat(path, "d/");
    strcat(path, "a.jpg");
    add_file(path);
    for (int i = 0; i < 500; i++) {
        char name[64];
        snprintf(name, sizeof name, "wide/%d/%d.png", i, i);
        add_file(name);
    }
    struct rlimit few = {16, 16};
    cr_assert_eq(setrlimit(RLIMIT_NOFILE, &few), 0);
    struct scan scan = {0};
    struct error error = {0};
    cr_assert_eq(scan_directory(&scan, root, "", NULL, NULL, &error), 0, "%s", error.message);
    cr_assert_eq(scan.images.count, 501);
    scan_deinit(&scan);
}

Test(scan, what_is_not_there_gets_a_suggestion) {
    add_file("night/a.jpg");
    char whole[4096], expected[8300];
    struct error error = {0};
    struct scan scan = {0};
    whole_path(whole, "nigth");
    cr_assert_eq(scan_directory(&scan, whole, "", NULL, NULL, &error), ERR_NOT_FOUND);
    snprintf(expected, sizeof expected, "%s: no such file or directory (did you mean %s/night?)", whole, root);
    cr_assert_str_eq(error.message, expected);
    cr_assert_eq(scan_directory(&scan, root, "nigth", NULL, NULL, &error), ERR_NOT_FOUND);
    cr_assert_str_eq(error.message, expected);
    whole_path(whole, "zebra");
    cr_assert_eq(scan_directory(&scan, whole, "", NULL, NULL, &error), ERR_NOT_FOUND);
    cr_assert_null(strstr(error.message, "mean"));
    whole_path(whole, "night/a.jpg");
    cr_assert_eq(scan_directory(&scan, whole, "", NULL, NULL, &error), ERR_INPUT);
    scan_deinit(&scan);
}

Test(scan, unreadable_directories_stop_it) {
    if (geteuid() == 0)
        cr_skip("root may read every directory");
    add_file("images/secret/a.jpg");
    char whole[4096];
    whole_path(whole, "images/secret");
    chmod(whole, 0);
    struct error error = {0};
    struct scan scan = {0};
    cr_assert_eq(scan_directory(&scan, root, "", NULL, NULL, &error), ERR_IO);
    cr_assert_not_null(strstr(error.message, "images/secret"));
    scan_deinit(&scan);
    chmod(whole, 0755);
}

Test(scan, can_be_interrupted) {
    add_file("images/a.jpg");
    atomic_bool cancel = true;
    struct scan scan = {0};
    cr_assert_eq(scan_directory(&scan, root, "", NULL, &cancel, NULL), ERR_INTERRUPTED);
    scan_deinit(&scan);
}

Test(scan, lists_are_searched_with_and_without_a_hint) {
    struct path_list list = {0};
    cr_assert_eq(path_list_find(&list, "a", NULL), SIZE_MAX);
    static const char *const names[] = {"c", "a/b", "a", "a-b", "c", "b"};
    for (size_t i = 0; i < 6; i++)
        cr_assert_eq(path_list_add(&list, names[i]), 0);
    path_list_sort(&list);
    static const char *const sorted[] = {"a", "a-b", "a/b", "b", "c"};
    assert_list(&list, sorted, 5);
    size_t hint = 0;
    for (size_t i = 0; i < 5; i++) {
        cr_assert_eq(path_list_find(&list, sorted[i], &hint), i);
        cr_assert_eq(hint, i);
        for (size_t near = 0; near < 8; near++) {
            size_t any = near; /* a hint never changes what is found */
            cr_assert_eq(path_list_find(&list, sorted[i], &any), i);
        }
    }
    cr_assert_eq(path_list_find(&list, "a", &hint), 0);
    cr_assert_eq(path_list_find(&list, "aa", &hint), SIZE_MAX);
    cr_assert_eq(path_list_find(&list, "z", NULL), SIZE_MAX);
    cr_assert_eq(path_list_lower(&list, "a/", NULL), 2);
    cr_assert_eq(path_list_lower(&list, "z", &hint), 5);
    free(list.items);
}
