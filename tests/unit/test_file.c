#include "file.h"

#include "home.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static struct error error;

TestSuite(file, .init = home_create, .fini = home_remove);

static void put(const char *name, const char *text) {
    cr_assert_eq(file_write_atomic(home_path(name), text, strlen(text), &error), 0, "%s", error.message);
}

static bool exists(const char *name) {
    struct stat st;
    return lstat(home_path(name), &st) == 0;
}

Test(file, read_appends_the_whole_file) {
    struct bytes b = {0};
    put("a", "hello");
    cr_assert_eq(bytes_append(&b, "head ", 5), 0);
    cr_assert_eq(file_read(&b, AT_FDCWD, home_path("a"), 5, &error), 0, "%s", error.message);
    cr_assert_eq(b.size, 10);
    cr_assert_arr_eq(b.data, "head hello", 10);
    bytes_deinit(&b);
}

Test(file, read_relative_to_a_directory) {
    struct bytes b = {0};
    put("a", "x");
    int fd = open(home, O_RDONLY | O_DIRECTORY);
    cr_assert_eq(file_read(&b, fd, "a", 100, &error), 0, "%s", error.message);
    cr_assert_eq(b.size, 1);
    close(fd);
    bytes_deinit(&b);
}

Test(file, read_of_an_empty_file) {
    struct bytes b = {0};
    put("a", "");
    cr_assert_eq(file_read(&b, AT_FDCWD, home_path("a"), 0, &error), 0, "%s", error.message);
    cr_assert_eq(b.size, 0);
    bytes_deinit(&b);
}

Test(file, read_refuses_what_is_over_the_limit) {
    struct bytes b = {0};
    put("a", "123456");
    cr_assert_eq(file_read(&b, AT_FDCWD, home_path("a"), 5, &error), ERR_INPUT);
    cr_assert(strstr(error.message, "6 bytes, over the limit of 5"), "%s", error.message);
    cr_assert_null(b.data);
}

Test(file, read_refuses_what_is_no_regular_file) {
    struct bytes b = {0};
    cr_assert_eq(mkfifo(home_path("fifo"), 0644), 0);
    cr_assert_eq(file_read(&b, AT_FDCWD, home_path("fifo"), 100, &error), ERR_INPUT);
    cr_assert(strstr(error.message, "is a FIFO"), "%s", error.message);
    cr_assert_eq(file_read(&b, AT_FDCWD, home, 100, &error), ERR_INPUT);
    cr_assert(strstr(error.message, "is a directory"), "%s", error.message);
    cr_assert_eq(file_read(&b, AT_FDCWD, "/dev/null", 100, &error), ERR_INPUT);
    cr_assert_eq(file_read(&b, AT_FDCWD, home_path("none"), 100, &error), ERR_NOT_FOUND);
    cr_assert_eq(error.os_errno, ENOENT);
    cr_assert_null(b.data);
}

/* A line's length divides every page's: a write that crosses pages grows the file in two steps, which anyone
 * can see. */
static const char log_line[16] = "fifteen letters\n";

struct growing {
    char path[1024];
    atomic_bool stop;
};

static void *grow(void *arg) {
    struct growing *g = arg;
    int fd = open(g->path, O_WRONLY | O_APPEND);
    while (!atomic_load(&g->stop))
        if (write(fd, log_line, sizeof log_line) != sizeof log_line || lseek(fd, 0, SEEK_END) > 1 << 20)
            if (ftruncate(fd, 0) != 0)
                break;
    close(fd);
    return NULL;
}

/* Either the file as it was at one moment, or an error that says so: never a part of a file as if it were whole. */
Test(file, read_of_a_file_that_changes) {
    struct growing g = {0};
    put("log", "");
    snprintf(g.path, sizeof g.path, "%s", home_path("log"));
    pthread_t thread;
    cr_assert_eq(pthread_create(&thread, NULL, grow, &g), 0);
    int changed = 0;
    while (changed < 5) { /* else tests/run ends it */
        struct bytes b = {0};
        int code = file_read(&b, AT_FDCWD, g.path, 1 << 24, &error);
        if (code != 0) {
            cr_assert_eq(code, ERR_IO);
            cr_assert(strstr(error.message, "changed while it was read"), "%s", error.message);
            cr_assert_eq(b.size, 0);
            changed++;
        } else {
            cr_assert_eq(b.size % sizeof log_line, 0);
        }
        bytes_deinit(&b);
    }
    atomic_store(&g.stop, true);
    pthread_join(thread, NULL);
}

/* /proc files call themselves empty: the same case, every time. */
Test(file, read_of_a_file_with_more_than_it_says) {
    struct bytes b = {0};
    cr_assert_eq(file_read(&b, AT_FDCWD, "/proc/self/status", 1 << 20, &error), ERR_IO);
    cr_assert(strstr(error.message, "had 0 bytes, then more"), "%s", error.message);
    bytes_deinit(&b);
}

Test(file, pread_reads_exactly_or_says_what_was_there) {
    char text[8] = {0};
    put("a", "0123456789");
    int fd = open(home_path("a"), O_RDONLY);
    cr_assert_eq(file_pread_all(fd, text, 4, 3, "a", &error), 0);
    cr_assert_str_eq(text, "3456");
    cr_assert_eq(file_pread_all(fd, text, 4, 8, "a", &error), ERR_IO);
    cr_assert_str_eq(error.message, "a: ends after 2 of the 4 bytes expected at byte 8");
    cr_assert_eq(file_pread_all(fd, text, 4, UINT64_MAX - 1, "a", &error), ERR_IO);
    cr_assert_eq(file_pread_all(fd, text, 0, 100, "a", &error), 0);
    close(fd);
}

Test(file, write_atomic_replaces_and_leaves_nothing_else) {
    struct bytes b = {0};
    put("a", "old");
    put("a.tmp", "of a killed run");
    put("a", "new text");
    cr_assert_not(exists("a.tmp"));
    cr_assert_eq(file_read(&b, AT_FDCWD, home_path("a"), 100, &error), 0);
    cr_assert_eq(b.size, 8);
    cr_assert_arr_eq(b.data, "new text", 8);
    bytes_deinit(&b);
    struct stat st;
    mode_t mask = umask(0);
    umask(mask);
    cr_assert_eq(stat(home_path("a"), &st), 0);
    cr_assert_eq(st.st_mode & 0777, 0644 & ~mask);
}

Test(file, write_atomic_does_not_follow_a_link_at_its_temporary_name) {
    struct bytes b = {0};
    put("victim", "precious");
    cr_assert_eq(symlink("victim", home_path("a.tmp")), 0);
    put("a", "new");
    cr_assert_eq(file_read(&b, AT_FDCWD, home_path("victim"), 100, &error), 0);
    cr_assert_arr_eq(b.data, "precious", 8);
    bytes_deinit(&b);
}

Test(file, write_atomic_that_fails_changes_nothing) {
    cr_assert_eq(mkdir(home_path("d"), 0777), 0);
    put("d/content", "x");
    cr_assert_neq(file_write_atomic(home_path("d"), "new", 3, &error), 0); /* a file cannot replace a directory */
    cr_assert_not(exists("d.tmp"));
    cr_assert(exists("d/content"));
    cr_assert_eq(file_write_atomic(home_path("none/a"), "new", 3, &error), ERR_NOT_FOUND);
}

/* As root, a rename would put a file in the place of /dev/null. */
Test(file, write_output_goes_through_links_and_devices_and_replaces_files) {
    struct bytes b = {0};
    struct stat st;
    put("target", "a longer old text");
    cr_assert_eq(symlink("target", home_path("link")), 0);
    cr_assert_eq(symlink("/dev/null", home_path("null")), 0);
    cr_assert_eq(symlink("/dev/full", home_path("full")), 0);
    cr_assert_eq(file_write_output(home_path("link"), "new", 3, &error), 0, "%s", error.message);
    cr_assert_eq(file_write_output(home_path("null"), "new", 3, &error), 0, "%s", error.message);
    cr_assert_eq(file_write_output(home_path("full"), "new", 3, &error), ERR_SPACE);
    cr_assert_eq(lstat(home_path("link"), &st), 0);
    cr_assert(S_ISLNK(st.st_mode));
    cr_assert_eq(lstat(home_path("null"), &st), 0);
    cr_assert(S_ISLNK(st.st_mode));
    cr_assert_eq(file_read(&b, AT_FDCWD, home_path("target"), 100, &error), 0);
    cr_assert_eq(b.size, 3);
    cr_assert_arr_eq(b.data, "new", 3);
    cr_assert_eq(file_write_output(home_path("target"), "of a file", 9, &error), 0);
    cr_assert_not(exists("target.tmp"));
    cr_assert_eq(mkfifo(home_path("pipe"), 0600), 0);
    int fd = open(home_path("pipe"), O_RDONLY | O_NONBLOCK);
    char got[8] = "";
    cr_assert_eq(file_write_output(home_path("pipe"), "down", 4, &error), 0, "%s", error.message);
    cr_assert_eq(read(fd, got, sizeof got), 4);
    cr_assert_arr_eq(got, "down", 4);
    cr_assert_eq(lstat(home_path("pipe"), &st), 0);
    cr_assert(S_ISFIFO(st.st_mode));
    close(fd);
    bytes_deinit(&b);
}

Test(file, check_output_knows_where_no_file_can_be) {
    put("old", "");
    cr_assert_eq(symlink("/dev/full", home_path("link")), 0);
    cr_assert_eq(file_check_output(home_path("old"), &error), 0, "%s", error.message);
    cr_assert_eq(file_check_output(home_path("new"), &error), 0, "%s", error.message);
    cr_assert_eq(file_check_output("/dev/stdout", &error), 0, "%s", error.message);
    cr_assert_eq(file_check_output(home_path("link"), &error), 0, "%s", error.message);
    cr_assert_not(exists("new"));
    cr_assert_neq(file_check_output(home, &error), 0);
    cr_assert(strstr(error.message, home), "%s", error.message);
    cr_assert_neq(file_check_output(home_path("nowhere/new"), &error), 0);
    cr_assert(strstr(error.message, "nowhere/new: cannot be written"), "%s", error.message);
}

Test(file, write_of_nothing_to_a_full_device_is_no_space) {
    int fd = open("/dev/full", O_WRONLY);
    cr_assert_geq(fd, 0);
    cr_assert_eq(file_write_all(fd, "x", 1, "out", &error), ERR_SPACE);
    cr_assert_eq(error.os_errno, ENOSPC);
    cr_assert_eq(file_write_all(fd, "", 0, "out", &error), 0);
    close(fd);
}

Test(file, map_shows_the_file) {
    struct span map;
    put("a", "mapped");
    put("empty", "");
    cr_assert_eq(file_map(&map, home_path("a"), &error), 0, "%s", error.message);
    cr_assert_eq(map.size, 6);
    cr_assert_arr_eq(map.data, "mapped", 6);
    file_unmap(&map);
    cr_assert_null(map.data);
    file_unmap(&map);
    cr_assert_eq(file_map(&map, home_path("empty"), &error), 0);
    cr_assert_null(map.data);
    cr_assert_eq(map.size, 0);
    cr_assert_eq(file_map(&map, home_path("none"), &error), ERR_NOT_FOUND);
    cr_assert_eq(file_map(&map, home, &error), ERR_INPUT);
}

Test(file, sync_of_files_and_directories) {
    put("a", "x");
    cr_assert_eq(path_sync(home_path("a"), &error), 0);
    cr_assert_eq(path_sync(home, &error), 0);
    cr_assert_eq(path_sync(home_path("none"), &error), ERR_NOT_FOUND);
}

Test(file, create_all_makes_what_is_missing) {
    cr_assert_eq(dir_create_all(home_path("x//y/z/"), &error), 0, "%s", error.message);
    cr_assert(exists("x/y/z"));
    cr_assert_eq(dir_create_all(home_path("x/y/z"), &error), 0);
    cr_assert_eq(dir_create_all("/", &error), 0);
    cr_assert_eq(dir_create_all(".", &error), 0);
    put("f", "x");
    cr_assert_eq(dir_create_all(home_path("f"), &error), ERR_NOT_FOUND);
    cr_assert_eq(error.os_errno, ENOTDIR);
    cr_assert_eq(dir_create_all(home_path("f/g"), &error), ERR_NOT_FOUND);
    cr_assert_eq(symlink("x", home_path("link")), 0);
    cr_assert_eq(dir_create_all(home_path("link/new"), &error), 0);
    cr_assert(exists("x/new"));
    cr_assert_neq(dir_create_all("", &error), 0);
}

Test(file, remove_all_stays_inside) {
    put("precious", "x");
    cr_assert_eq(dir_create_all(home_path("t/u/v"), &error), 0);
    cr_assert_eq(dir_create_all(home_path("outside"), &error), 0);
    put("outside/a", "x");
    put("t/a", "x");
    put("t/u/v/b", "x");
    cr_assert_eq(symlink("../../outside", home_path("t/u/dir_link")), 0);
    cr_assert_eq(symlink("../precious", home_path("t/file_link")), 0);
    cr_assert_eq(mkfifo(home_path("t/fifo"), 0644), 0);
    cr_assert_eq(dir_remove_all(home_path("t"), &error), 0, "%s", error.message);
    cr_assert_not(exists("t"));
    cr_assert(exists("outside/a"));
    cr_assert(exists("precious"));
    cr_assert_eq(dir_remove_all(home_path("t"), &error), 0);
    cr_assert_eq(symlink("outside", home_path("link")), 0);
    cr_assert_eq(dir_remove_all(home_path("link"), &error), 0);
    cr_assert_not(exists("link"));
    cr_assert(exists("outside/a"));
}

Test(file, free_bytes_of_a_path_that_exists) {
    uint64_t bytes = 0;
    cr_assert_eq(disk_free_bytes(&bytes, home, &error), 0);
    cr_assert_gt(bytes, 0);
    cr_assert_eq(disk_free_bytes(&bytes, home_path("none"), &error), ERR_NOT_FOUND);
}

Test(path, join) {
    static const char *const rows[][3] = {
        {"a", "b", "a/b"}, {"a/", "b", "a/b"}, {"", "b", "b"}, {".", "b", "b"},       {"a", "/b", "/b"},
        {"/", "b", "/b"},  {"a", "", "a"},     {"", "", ""},   {"./a", "b", "./a/b"}, {"..", "b", "../b"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char *joined = path_join(rows[i][0], rows[i][1]);
        cr_assert_str_eq(joined, rows[i][2]);
        free(joined);
    }
}

Test(path, base_and_suffix) {
    static const char *const rows[][3] = {
        {"a/b.jpg", "b.jpg", "jpg"},
        {"a.b.jpg", "a.b.jpg", "jpg"},
        {".jpg", ".jpg", ""},
        {"d/.hidden", ".hidden", ""},
        {".a.png", ".a.png", "png"},
        {"set.v2/x", "x", ""},
        {"a.", "a.", ""},
        {"", "", ""},
        {"a/", "", ""},
        {"x.JpEg", "x.JpEg", "JpEg"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        cr_assert_str_eq(path_base(rows[i][0]), rows[i][1]);
        cr_assert_str_eq(path_suffix(rows[i][0]), rows[i][2]);
    }
}
