#include "publish.h"

#include "home.h"
#include "manifest.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static bool no_exchange;

static const char *move_before_lock; /* by another process, say */

/* In libc's place: something happens between open() and flock(). */
int flock(int fd, int operation) {
    if (move_before_lock) {
        cr_assert_eq(rename(move_before_lock, "moved"), 0);
        move_before_lock = NULL;
    }
    return (int)syscall(SYS_flock, fd, operation);
}

/* In libc's place: a file system that cannot exchange. */
int renameat2(int from_fd, const char *from, int to_fd, const char *to, unsigned flags) {
    if (!no_exchange)
        return (int)syscall(SYS_renameat2, from_fd, from, to_fd, to, flags);
    errno = EINVAL;
    return -1;
}

static void setup(void) {
    home_create();
    cr_assert_eq(chdir(home), 0);
}

static void put(const char *directory, const char *name, const char *text) {
    char *path = path_join(directory, name);
    cr_assert_eq(file_write_atomic(path, text, strlen(text), NULL), 0);
    free(path);
}

static bool holds(const char *directory, const char *name, const char *text) {
    char *path = path_join(directory, name);
    struct bytes b = {0};
    bool same = file_read(&b, -100 /* AT_FDCWD */, path, 1000, NULL) == 0 && b.size == strlen(text) &&
                memcmp(b.data, text, b.size) == 0;
    bytes_deinit(&b);
    free(path);
    return same;
}

/* A pack as far as its names and its manifest go; "name" tells one from another. */
static void put_pack(const char *directory, const char *name) {
    struct bytes text = {0};
    json_t *manifest = json_pack("{s:i, s:s, s:[]}", "version", MANIFEST_VERSION, "name", name, "files");
    char *path = path_join(directory, MANIFEST_NAME);
    cr_assert_eq(dir_create_all(directory, NULL), 0);
    cr_assert_eq(manifest_encode(&text, manifest, NULL), 0);
    cr_assert_eq(file_write_atomic(path, text.data, text.size, NULL), 0);
    bytes_deinit(&text);
    json_decref(manifest);
    free(path);
    put(directory, "report.tsv", "");
    put(directory, "report.json", "");
    put(directory, "val.index", "");
    put(directory, "train-00000.lmdb", "");
    put(directory, "train-00000.lmdb-lock", "");
}

static bool holds_pack(const char *directory, const char *name) {
    json_t *manifest = NULL;
    cr_assert_eq(manifest_read(&manifest, directory, NULL), 0);
    bool same = strcmp(json_string_value(json_object_get(manifest, "name")), name) == 0;
    json_decref(manifest);
    return same;
}

/* Both checks refuse, and name what is in the way. */
static void refused(const char *output, bool resume, const char *what) {
    struct publish p;
    struct error error = {0};
    cr_assert_eq(publish_check(output, &error), ERR_INPUT);
    cr_assert(strstr(error.message, what) && strstr(error.message, "-o"), "%s", error.message);
    cr_assert_eq(publish_begin(&p, output, resume, 1, &error), ERR_INPUT);
    cr_assert(strstr(error.message, what) && strstr(error.message, "-o"), "%s", error.message);
}

TestSuite(publish, .init = setup, .fini = home_remove);

Test(publish, new_pack_appears_whole) {
    struct publish p;
    cr_assert_eq(publish_begin(&p, "a/b/night.ypk/", false, 1, NULL), 0);
    cr_assert(!p.resumed && !p.restarted);
    put(p.directory, MANIFEST_NAME, "new");
    put(p.directory, "train-00000.part", "part");
    cr_assert_neq(access("a/b/night.ypk", F_OK), 0);
    cr_assert_eq(publish_commit(&p, NULL), 0);
    cr_assert(holds("a/b/night.ypk", MANIFEST_NAME, "new"));
    cr_assert_neq(access("a/b/night.ypk/train-00000.part", F_OK), 0, "part files do not belong to a pack");
    cr_assert_neq(access("a/b/night.ypk/resume.txt", F_OK), 0);
    cr_assert_neq(access("a/b/night.ypk.partial", F_OK), 0);
}

Test(publish, older_pack_stays_until_the_end_and_goes_then) {
    struct publish p;
    put_pack("n.ypk", "old");
    cr_assert_eq(publish_check("n.ypk", NULL), 0);
    cr_assert_eq(publish_begin(&p, "n.ypk", false, 1, NULL), 0);
    put_pack(p.directory, "new");
    cr_assert(holds_pack("n.ypk", "old"));
    cr_assert_eq(publish_commit(&p, NULL), 0);
    cr_assert(holds_pack("n.ypk", "new"));
    cr_assert_neq(access("n.ypk.partial", F_OK), 0);
}

Test(publish, what_is_no_pack_is_never_replaced) {
    struct publish p;
    struct error error = {0};
    cr_assert_eq(dir_create_all("photos", NULL), 0);
    put("photos", "a.jpg", "precious");
    cr_assert_eq(publish_begin(&p, "photos", false, 1, &error), ERR_INPUT);
    cr_assert(strstr(error.message, "photos") && strstr(error.message, "not a pack"), "%s", error.message);
    put(".", "file", "x");
    cr_assert_eq(publish_begin(&p, "file", false, 1, &error), ERR_INPUT);
    cr_assert(holds("photos", "a.jpg", "precious"));
    cr_assert_neq(access("photos.partial", F_OK), 0);
}

Test(publish, an_empty_directory_may_be_the_place) {
    struct publish p;
    cr_assert_eq(dir_create_all("empty", NULL), 0);
    cr_assert_eq(publish_begin(&p, "empty", false, 1, NULL), 0);
    put(p.directory, MANIFEST_NAME, "new");
    cr_assert_eq(publish_commit(&p, NULL), 0);
    cr_assert(holds("empty", MANIFEST_NAME, "new"));
}

Test(publish, resume_needs_the_same_fingerprint) {
    struct publish p;
    struct error error = {0};
    cr_assert_eq(publish_begin(&p, "n.ypk", false, 7, NULL), 0);
    put(p.directory, "train-00000.part", "part");
    publish_abort(&p, true);

    cr_assert_eq(publish_begin(&p, "n.ypk", true, 8, &error), ERR_INPUT);
    cr_assert(strstr(error.message, "other options"), "%s", error.message);
    cr_assert(holds("n.ypk.partial", "train-00000.part", "part"));

    cr_assert_eq(publish_begin(&p, "n.ypk", true, 7, NULL), 0);
    cr_assert(p.resumed);
    cr_assert(holds("n.ypk.partial", "train-00000.part", "part"));
    publish_abort(&p, true);

    cr_assert_eq(publish_begin(&p, "n.ypk", false, 7, NULL), 0);
    cr_assert(p.restarted && !p.resumed);
    cr_assert_neq(access("n.ypk.partial/train-00000.part", F_OK), 0, "a fresh run starts with an empty directory");
    publish_abort(&p, false);
    cr_assert_neq(access("n.ypk.partial", F_OK), 0);
}

Test(publish, two_packers_do_not_share_a_directory) {
    struct publish first, second;
    struct error error = {0};
    cr_assert_eq(publish_begin(&first, "n.ypk", false, 1, NULL), 0);
    cr_assert_eq(publish_begin(&second, "n.ypk", false, 1, &error), ERR_INPUT);
    cr_assert(strstr(error.message, "another yolopack"), "%s", error.message);
    publish_abort(&first, false);
}

Test(publish, a_foreign_directory_of_the_unfinished_name_stays) {
    cr_assert_eq(dir_create_all("n.ypk.partial/below", NULL), 0);
    put("n.ypk.partial/below", "thesis.txt", "precious");
    for (int resume = 0; resume < 2; resume++)
        refused("n.ypk", resume, "n.ypk.partial");
    put("n.ypk.partial", MANIFEST_NAME, "{\"version\": 1, \"files\": []}");
    refused("n.ypk", false, "n.ypk.partial");
    cr_assert(holds("n.ypk.partial/below", "thesis.txt", "precious"));
}

Test(publish, a_link_of_the_unfinished_name_is_not_followed) {
    cr_assert_eq(dir_create_all("elsewhere", NULL), 0);
    put("elsewhere", MANIFEST_STATE_NAME, "x");
    cr_assert_eq(symlink("elsewhere", "n.ypk.partial"), 0);
    refused("n.ypk", false, "n.ypk.partial");
    refused("n.ypk", true, "n.ypk.partial");
    cr_assert(holds("elsewhere", MANIFEST_STATE_NAME, "x"));
    cr_assert_eq(symlink("nowhere", "m.ypk.partial"), 0);
    refused("m.ypk", false, "m.ypk.partial");
    put(".", "k.ypk.partial", "a file");
    refused("k.ypk", false, "k.ypk.partial");
}

Test(publish, a_foreign_file_in_an_unfinished_pack_stays) {
    struct publish p;
    cr_assert_eq(publish_begin(&p, "n.ypk", false, 1, NULL), 0);
    publish_abort(&p, true);
    put("n.ypk.partial", "notes.md", "precious");
    refused("n.ypk", false, "notes.md");
    refused("n.ypk", true, "notes.md");
    cr_assert(holds("n.ypk.partial", "notes.md", "precious"));
}

Test(publish, an_interrupted_removal_is_ended_by_the_next_run) {
    struct publish p;
    put_pack("n.ypk.partial", "older");
    cr_assert_eq(publish_begin(&p, "n.ypk", true, 1, NULL), 0);
    cr_assert(!p.resumed && !p.restarted);
    cr_assert_neq(access("n.ypk.partial/pack.json", F_OK), 0);
    cr_assert_neq(access("n.ypk.partial/train-00000.lmdb", F_OK), 0);
    publish_abort(&p, false);
    cr_assert_eq(dir_create_all("m.ypk.partial", NULL), 0);
    put("m.ypk.partial", "resume.txt.tmp", "");
    cr_assert_eq(publish_begin(&p, "m.ypk", false, 1, NULL), 0);
    publish_abort(&p, false);
}

Test(publish, a_pack_with_a_foreign_file_is_not_replaced) {
    struct publish p;
    static const char *const names[] = {"notes.md", "a-0000.lmdb", "-00000.lmdb", "report.docx", "data.lmdb"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        put_pack("n.ypk", "old");
        put("n.ypk", names[i], "precious");
        refused("n.ypk", false, names[i]);
        cr_assert(holds("n.ypk", names[i], "precious"));
        cr_assert_neq(access("n.ypk.partial", F_OK), 0);
        cr_assert_eq(dir_remove_all("n.ypk", NULL), 0);
    }
    put_pack("n.ypk", "old");
    cr_assert_eq(dir_create_all("n.ypk/val-00000.lmdb", NULL), 0);
    refused("n.ypk", false, "val-00000.lmdb");
    cr_assert_eq(rmdir("n.ypk/val-00000.lmdb"), 0);

    cr_assert_eq(publish_begin(&p, "n.ypk", false, 1, NULL), 0);
    put_pack(p.directory, "new");
    put("n.ypk", "notes.md", "came while packing");
    cr_assert_eq(publish_commit(&p, NULL), ERR_INPUT);
    cr_assert(holds("n.ypk", "notes.md", "came while packing") && holds_pack("n.ypk", "old"));
    cr_assert(holds_pack("n.ypk.partial", "new"), "what was packed is lost");
}

Test(publish, a_foreign_pack_json_makes_no_pack) {
    cr_assert_eq(dir_create_all("npm", NULL), 0);
    put("npm", MANIFEST_NAME, "{\"version\": 1, \"files\": []}");
    refused("npm", false, "not a pack");
    cr_assert_eq(access("npm/pack.json", F_OK), 0);
    put("npm", "index.html", "x");
    refused("npm", false, "not a pack");
}

Test(publish, a_damaged_pack_may_be_replaced) {
    struct publish p;
    put_pack("n.ypk", "old");
    put("n.ypk", MANIFEST_NAME, "{ cut");
    cr_assert_eq(publish_begin(&p, "n.ypk", false, 1, NULL), 0);
    put_pack(p.directory, "new");
    cr_assert_eq(publish_commit(&p, NULL), 0);
    cr_assert(holds_pack("n.ypk", "new"));
}

Test(publish, without_exchange_nothing_beside_is_touched) {
    struct publish p;
    static const char *const bystanders[] = {"n.ypk.old", "n.ypk.partial.old"};
    put_pack("n.ypk", "old");
    for (size_t i = 0; i < 2; i++) {
        cr_assert_eq(dir_create_all(bystanders[i], NULL), 0);
        put(bystanders[i], "thesis.txt", "precious");
    }
    no_exchange = true;
    cr_assert_eq(publish_begin(&p, "n.ypk", false, 1, NULL), 0);
    put_pack(p.directory, "new");
    cr_assert_eq(publish_commit(&p, NULL), 0);
    cr_assert(holds_pack("n.ypk", "new"));
    cr_assert_neq(access("n.ypk.partial", F_OK), 0);
    for (size_t i = 0; i < 2; i++)
        cr_assert(holds(bystanders[i], "thesis.txt", "precious"));
}

Test(publish, a_directory_that_goes_before_it_is_locked_is_made_again) {
    struct publish p;
    struct stat locked, named;
    move_before_lock = "n.ypk.partial";
    cr_assert_eq(publish_begin(&p, "n.ypk", false, 1, NULL), 0);
    cr_assert_null(move_before_lock);
    cr_assert_eq(fstat(p.lock_fd, &locked), 0);
    cr_assert_eq(stat("n.ypk.partial", &named), 0);
    cr_assert(locked.st_ino == named.st_ino && locked.st_dev == named.st_dev);
    cr_assert_eq(access("moved/resume.txt", F_OK), -1);
    put_pack(p.directory, "new");
    cr_assert_eq(publish_commit(&p, NULL), 0);
    cr_assert(holds_pack("n.ypk", "new"));
}
