#include "tiny_pack.h"

#include "decoder.h"
#include "lease.h"
#include "stage.h"
#include "staging.h"
#include "yolopack.h"

#include <criterion/criterion.h>
#include <sys/wait.h>

enum { SAMPLES = 40, PER_SHARD = 15 };

static struct tiny_pack pack;
static char base[TINY_PATH_BYTES];

static void setup(void) {
    tiny_pack_create(&pack, SAMPLES, PER_SHARD);
    tiny_directory(base);
    setenv("YPK_STAGE_DIR", base, 1);
}

static void teardown(void) {
    tiny_pack_remove(&pack);
    dir_remove_all(base, NULL);
}

TestSuite(stage, .init = setup, .fini = teardown);

static void stage_as(const char *job, uint32_t rank, uint32_t world, struct stage_result *result) {
    struct stage_options options = {.job = job, .rank = rank, .world = world, .jobs = 2};
    struct error error = {0};
    cr_assert_eq(stage_pack(result, pack.path, &options, &error), 0, "%s", error.message);
}

static int drop_as(const char *job, bool all, struct unstage_result *result) {
    struct stage_options options = {.job = job, .world = 1};
    struct error error = {0};
    int rc = stage_drop(result, pack.path, all, &options, &error);
    cr_assert_eq(rc, error.code);
    return rc;
}

/* Opens the pack and returns the code; *staged: shards that come from the copy. */
static int open_with(int stage, uint64_t *staged, ypk_error *error) {
    ypk_dataset_options options = {.size = sizeof options, .stage = stage};
    ypk_dataset_info info = {0};
    ypk_dataset *ds;
    int rc = ypk_dataset_open(&ds, pack.path, &options, error);
    if (rc == YPK_OK)
        ypk_dataset_get_info(ds, &info);
    *staged = info.staged_shard_count;
    ypk_dataset_close(&ds);
    return rc;
}

/* The payloads of all samples, each checked against its hash by the reader. */
static void read_all(const ypk_dataset *ds) {
    ypk_decoder *decoder;
    ypk_error error;
    const uint8_t *data;
    size_t size;
    cr_assert_eq(ypk_decoder_create(&decoder, ds, &error), YPK_OK);
    for (uint64_t i = 0; i < SAMPLES; i++) {
        ypk_sample s;
        cr_assert_eq(ypk_dataset_sample(ds, i, &s, &error), YPK_OK);
        int modality = s.rgb.width ? YPK_RGB : YPK_IR;
        cr_assert_eq(ypk_decoder_payload(decoder, i, modality, &data, &size, &error), YPK_OK, "%s", error.message);
    }
    ypk_decoder_destroy(&decoder);
}

/* How many samples' payloads can be used where they lie. */
static uint64_t count_lasting(int stage) {
    ypk_dataset_options options = {.size = sizeof options, .stage = stage, .drop_behind = 1};
    struct ypk_decoder *decoder;
    ypk_dataset *ds;
    ypk_dataset_info info;
    uint64_t count = 0;
    cr_assert_eq(ypk_dataset_open(&ds, pack.path, &options, NULL), YPK_OK);
    ypk_dataset_get_info(ds, &info);
    cr_assert_eq(decoder_create(&decoder, ds, NULL), 0);
    for (uint64_t i = 0; i < info.sample_count; i++) {
        struct record_image image;
        struct span payload;
        cr_assert_eq(decoder_image(decoder, i, i % 5 == 3 ? YPK_IR : YPK_RGB, &image, &payload, NULL), 0);
        count += decoder_bytes_after(decoder, i, payload) > 0;
    }
    decoder_destroy(&decoder);
    ypk_dataset_close(&ds);
    return count;
}

Test(stage, pages_of_the_copy_are_not_dropped) {
    struct stage_result r;
    struct unstage_result u;
    stage_as("a", 0, 1, &r);
    cr_assert_eq(count_lasting(YPK_STAGE_REQUIRE), pack.sample_count);
    cr_assert_eq(count_lasting(YPK_STAGE_OFF), 0);
    cr_assert_eq(drop_as("a", false, &u), 0);
}

Test(stage, found_read_and_removed) {
    struct stage_result r;
    struct unstage_result u;
    ypk_error error;
    uint64_t staged;
    cr_assert_eq(open_with(YPK_STAGE_REQUIRE, &staged, &error), YPK_E_NOT_FOUND);
    stage_as("a", 0, 1, &r);
    cr_assert_eq(r.shard_count, 3);
    cr_assert_eq(r.copied_bytes, r.bytes);
    cr_assert_eq(open_with(YPK_STAGE_REQUIRE, &staged, &error), YPK_OK, "%s", error.message);
    cr_assert_eq(staged, 3);
    cr_assert_eq(open_with(YPK_STAGE_OFF, &staged, &error), YPK_OK);
    cr_assert_eq(staged, 0);
    cr_assert_eq(open_with(3, &staged, &error), YPK_E_ARGUMENT);

    stage_as("b", 0, 1, &r);
    cr_assert_eq(r.copied_bytes, 0);
    cr_assert_eq(r.lease_count, 2);
    cr_assert_eq(drop_as("a", false, &u), 0);
    cr_assert_eq(u.lease_count, 1);
    cr_assert_eq(drop_as("a", false, &u), ERR_NOT_FOUND, "its lease is gone, b's is not");
    cr_assert_eq(open_with(YPK_STAGE_REQUIRE, &staged, &error), YPK_OK);
    cr_assert_eq(drop_as("b", false, &u), 0);
    cr_assert_gt(u.freed_bytes, 0);
    cr_assert_eq(open_with(YPK_STAGE_AUTO, &staged, &error), YPK_OK);
    cr_assert_eq(staged, 0);
    cr_assert_eq(drop_as("b", false, &u), 0, "unstage may be called twice");
    cr_assert_eq(u.copies, 0);
    char *home = staging_home(base);
    cr_assert_neq(access(home, F_OK), 0, "nothing stays behind");
    free(home);
}

Test(stage, some_of_the_shards) {
    struct stage_result r;
    struct unstage_result u;
    ypk_dataset *ds;
    ypk_error error;
    uint64_t staged;
    stage_as("a", 1, 2, &r);
    cr_assert_eq(r.shard_count, 1);
    cr_assert_eq(r.pack_shard_count, 3);
    cr_assert_eq(open_with(YPK_STAGE_AUTO, &staged, &error), YPK_OK);
    cr_assert_eq(staged, 1);
    cr_assert_eq(open_with(YPK_STAGE_REQUIRE, &staged, &error), YPK_E_NOT_FOUND);
    cr_assert(strstr(error.message, "only 1 of the 3 shards"), "%s", error.message);
    cr_assert_eq(ypk_dataset_open(&ds, pack.path, NULL, &error), YPK_OK);
    read_all(ds);
    ypk_dataset_close(&ds);
    stage_as("b", 0, 2, &r); /* the other rank adds to the same copy */
    cr_assert_eq(open_with(YPK_STAGE_REQUIRE, &staged, &error), YPK_OK);
    cr_assert_eq(drop_as(NULL, true, &u), 0);
}

Test(stage, vanishes_while_it_is_open) {
    struct stage_result r;
    struct unstage_result u;
    ypk_dataset *ds;
    ypk_error error;
    stage_as("a", 0, 1, &r);
    cr_assert_eq(ypk_dataset_open(&ds, pack.path, NULL, &error), YPK_OK);
    cr_assert_eq(drop_as("a", false, &u), 0);
    cr_assert_neq(access(r.directory, F_OK), 0);
    read_all(ds); /* shards that were never touched before, too */
    ypk_dataset_close(&ds);
}

Test(stage, other_content_is_refused_by_name) {
    struct stage_result r;
    struct unstage_result u;
    ypk_error error;
    uint64_t staged;
    char path[PATH_MAX + 32];
    stage_as("a", 0, 1, &r);
    snprintf(path, sizeof path, "%s/train-00001.lmdb", r.directory);
    FILE *f = fopen(path, "r+");
    fseek(f, 4096 + 16, SEEK_SET);
    fputs("garbage", f);
    fclose(f);
    cr_assert_eq(open_with(YPK_STAGE_AUTO, &staged, &error), YPK_E_CORRUPT);
    cr_assert(strstr(error.message, path), "%s", error.message);
    cr_assert(strstr(error.message, "unstage"), "%s", error.message);
    stage_as("a", 0, 1, &r); /* and staging again repairs it */
    cr_assert_gt(r.copied_bytes, 0);
    cr_assert_lt(r.copied_bytes, r.bytes);
    cr_assert_eq(open_with(YPK_STAGE_REQUIRE, &staged, &error), YPK_OK);
    cr_assert_eq(drop_as("a", false, &u), 0);
}

Test(stage, damaged_payload_in_the_copy_names_the_copy) {
    struct stage_result r;
    struct unstage_result u;
    ypk_dataset *ds;
    ypk_decoder *decoder;
    ypk_error error;
    const uint8_t *data;
    size_t size;
    char path[PATH_MAX + 32];
    stage_as("a", 0, 1, &r);
    snprintf(path, sizeof path, "%s/train-00000.lmdb", r.directory);
    FILE *f = fopen(path, "r+");
    fseek(f, 0, SEEK_END);
    long end = ftell(f);
    for (long at = 2 * 4096 + 300; at < end; at += 500) { /* no record stays whole */
        fseek(f, at, SEEK_SET);
        fputc(0xa5, f);
    }
    fclose(f);
    cr_assert_eq(ypk_dataset_open(&ds, pack.path, NULL, &error), YPK_OK);
    cr_assert_eq(ypk_decoder_create(&decoder, ds, &error), YPK_OK);
    cr_assert_eq(ypk_decoder_payload(decoder, 0, YPK_RGB, &data, &size, &error), YPK_E_CORRUPT);
    cr_assert(strstr(error.message, path), "%s", error.message);
    ypk_decoder_destroy(&decoder);
    ypk_dataset_close(&ds);
    cr_assert_eq(drop_as("a", false, &u), 0);
}

Test(stage, damaged_pack_is_not_staged) {
    struct stage_options options = {.job = "a", .world = 1};
    struct stage_result r;
    struct error error = {0};
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/train-00002.lmdb", pack.path);
    FILE *f = fopen(path, "r+");
    fseek(f, -3000, SEEK_END);
    fputs("damage", f);
    fclose(f);
    cr_assert_eq(stage_pack(&r, pack.path, &options, &error), ERR_CORRUPT);
    cr_assert(strstr(error.message, "train-00002.lmdb"), "%s", error.message);
    char *home = staging_home(base);
    cr_assert_neq(access(home, F_OK), 0, "nothing stays behind");
    free(home);
}

Test(stage, home_of_another_is_not_trusted) {
    struct stage_options options = {.job = "a", .world = 1};
    struct stage_result r;
    struct error error = {0};
    ypk_error open_error;
    uint64_t staged;
    stage_as("a", 0, 1, &r);
    char *home = staging_home(base);
    chmod(home, 0777);
    cr_assert_eq(open_with(YPK_STAGE_AUTO, &staged, &open_error), YPK_OK);
    cr_assert_eq(staged, 0);
    cr_assert_eq(open_with(YPK_STAGE_REQUIRE, &staged, &open_error), YPK_E_INPUT);
    cr_assert_eq(stage_pack(&r, pack.path, &options, &error), ERR_INPUT);
    cr_assert(strstr(error.message, "mode 777"), "%s", error.message);
    free(home);
}

static void count_copies(void *arg, const struct staged_copy *copy) {
    size_t *count = arg;
    ++*count;
    cr_assert_str_eq(copy->pack, pack.path);
    cr_assert_eq(copy->shard_count, 3);
}

Test(stage, lease_of_a_dead_process_is_cleaned) {
    struct stage_result r;
    struct lease lease;
    struct error error = {0};
    size_t count = 0;
    stage_as("a", 0, 1, &r);
    pid_t child = fork();
    if (child == 0) { /* the leader of its session: so the lease is its parent's, unless it has a child of its own */
        setsid();
        pid_t grandchild = fork();
        if (grandchild == 0) {
            int rc = lease_name(&lease, NULL, NULL);
            _exit(rc == 0 && lease_take(r.directory, &lease, NULL) == 0 ? 0 : 1);
        }
        int status;
        waitpid(grandchild, &status, 0);
        _exit(WEXITSTATUS(status));
    }
    int status;
    waitpid(child, &status, 0);
    cr_assert_eq(WEXITSTATUS(status), 0);
    cr_assert_eq(lease_list(&count, r.directory, NULL, NULL, &error), 0);
    cr_assert_eq(count, 2);
    count = 0;
    cr_assert_eq(stage_each(base, count_copies, &count, &error), 0);
    cr_assert_eq(count, 1);
    cr_assert_eq(lease_list(&count, r.directory, NULL, NULL, &error), 0);
    cr_assert_eq(count, 1, "the dead one's is gone");
    cr_assert_eq(lease_name(&lease, "a", &error), 0);
    cr_assert_eq(lease_drop(r.directory, &lease, &error), 0);
    count = 0;
    cr_assert_eq(stage_each(base, count_copies, &count, &error), 0);
    cr_assert_eq(count, 0, "and without a lease the copy is");
    cr_assert_neq(access(r.directory, F_OK), 0);
}

Test(lease, names) {
    struct lease lease;
    struct error error = {0};
    char text[LEASE_BYTES];
    cr_assert_eq(lease_name(&lease, "4711.batch_0-x", &error), 0);
    lease_text(text, sizeof text, &lease);
    cr_assert_str_eq(text, "job 4711.batch_0-x");
    cr_assert_eq(lease_name(&lease, NULL, &error), 0);
    lease_text(text, sizeof text, &lease);
    cr_assert(strncmp(text, "process ", 8) == 0, "%s", text);
    const char *bad[] = {"", "a/b", "a b", "\xc3\xa9",
                         "0123456789012345678901234567890123456789012345678901234567890123456789"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        cr_assert_eq(lease_name(&lease, bad[i], &error), ERR_ARGUMENT, "%s", bad[i]);
}

Test(stage, identity_is_the_content_not_the_name) {
    struct tiny_pack other;
    struct error error = {0};
    uint64_t a, b, c;
    char moved[TINY_PATH_BYTES];
    cr_assert_eq(staging_identity(&a, pack.path, &error), 0);
    tiny_pack_create(&other, SAMPLES, PER_SHARD + 1); /* the same samples in other shards */
    cr_assert_eq(staging_identity(&b, other.path, &error), 0);
    cr_assert_neq(a, b);
    tiny_pack_remove(&other);
    tiny_join(moved, pack.directory, "renamed.ypk");
    cr_assert_eq(rename(pack.path, moved), 0);
    cr_assert_eq(staging_identity(&c, moved, &error), 0);
    cr_assert_eq(a, c);
    cr_assert_eq(staging_identity(&c, base, &error), ERR_NOT_FOUND);
    cr_assert_eq(staging_identity(&c, pack.path, &error), ERR_NOT_FOUND);
}
