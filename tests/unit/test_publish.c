#include "publish.h"

#include "file.h"
#include "manifest.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char home[64];

static void setup(void) {
    strcpy(home, "/tmp/ypk-publish-XXXXXX");
    cr_assert(mkdtemp(home));
    cr_assert_eq(chdir(home), 0);
}

static void teardown(void) {
    cr_assert_eq(chdir("/"), 0);
    cr_assert_eq(dir_remove_all(home, NULL), 0);
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

TestSuite(publish, .init = setup, .fini = teardown);

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
    cr_assert_eq(dir_create_all("n.ypk", NULL), 0);
    put("n.ypk", MANIFEST_NAME, "old");
    cr_assert_eq(publish_begin(&p, "n.ypk", false, 1, NULL), 0);
    put(p.directory, MANIFEST_NAME, "new");
    cr_assert(holds("n.ypk", MANIFEST_NAME, "old"));
    cr_assert_eq(publish_commit(&p, NULL), 0);
    cr_assert(holds("n.ypk", MANIFEST_NAME, "new"));
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
