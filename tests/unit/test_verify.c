#include "verify.h"

#include "reindex.h"
#include "tiny_pack.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <lmdb.h>

enum { SAMPLES = 60, PER_SHARD = 20 };

static struct tiny_pack pack;

struct faults {
    uint64_t count;
    char text[8192];
    uint64_t done, total;
};

static void on_fault(void *arg, const char *message) {
    struct faults *f = arg;
    size_t used = strlen(f->text);
    f->count++;
    snprintf(f->text + used, sizeof f->text - used, "%s\n", message);
}

static void on_progress(void *arg, uint64_t done, uint64_t total) {
    struct faults *f = arg;
    cr_assert_geq(done, f->done);
    f->done = done;
    f->total = total;
}

static int verify(struct faults *faults, struct verify_result *result, struct error *error) {
    struct verify_options options = {
        .jobs = 2, .on_fault = on_fault, .on_progress = on_progress, .callback_arg = faults};
    *faults = (struct faults){0};
    return verify_pack(result, pack.path, &options, error);
}

static void setup(void) {
    tiny_pack_create(&pack, SAMPLES, PER_SHARD);
}

static void teardown(void) {
    tiny_pack_remove(&pack);
}

TestSuite(verify, .init = setup, .fini = teardown);
TestSuite(reindex, .init = setup, .fini = teardown);

/* Flips a bit of a file in the pack. */
static void flip(const char *name, uint64_t offset) {
    char path[TINY_PATH_BYTES];
    uint8_t byte;
    tiny_join(path, pack.path, name);
    int fd = open(path, O_RDWR);
    cr_assert_geq(fd, 0);
    cr_assert_eq(pread(fd, &byte, 1, (off_t)offset), 1);
    byte ^= 1;
    cr_assert_eq(pwrite(fd, &byte, 1, (off_t)offset), 1);
    close(fd);
}

static void load_index(struct bytes *file, struct index_view *view, const char *name) {
    char path[TINY_PATH_BYTES];
    tiny_join(path, pack.path, name);
    cr_assert_eq(file_read(file, AT_FDCWD, path, 1 << 30, NULL), 0);
    cr_assert_eq(index_parse(view, (struct span){file->data, file->size}, NULL), 0);
}

static uint64_t record_offset(uint64_t row) {
    struct bytes file = {0};
    struct index_view view;
    struct index_sample sample;
    load_index(&file, &view, "train.index");
    cr_assert_eq(index_sample(&view, row, &sample, NULL), 0);
    bytes_deinit(&file);
    return sample.record_offset;
}

/* One fault, which says all of `words` (NULL at the end), and `damaged` samples. */
static void expect_fault(uint64_t damaged, const char *const *words) {
    struct faults faults;
    struct verify_result result;
    struct error error = {0};
    cr_assert_eq(verify(&faults, &result, &error), ERR_CORRUPT, "%s", error.message);
    cr_assert_eq(result.fault_count, 1, "%s", faults.text);
    cr_assert_eq(faults.count, 1);
    cr_assert_eq(result.damaged_samples, damaged, "%s", faults.text);
    for (; *words; words++)
        cr_assert(strstr(faults.text, *words), "\"%s\" is not in: %s", *words, faults.text);
}
#define EXPECT_FAULT(damaged, ...) expect_fault(damaged, (const char *const[]){__VA_ARGS__, NULL})

Test(verify, a_whole_pack) {
    struct faults faults;
    struct verify_result result;
    struct error error = {0};
    cr_assert_eq(verify(&faults, &result, &error), 0, "%s%s", error.message, faults.text);
    cr_assert_eq(faults.count, 0);
    cr_assert_eq(result.split_count, 2);
    cr_assert_eq(result.shard_count, 3, "shared shards are checked once");
    cr_assert_eq(result.sample_count, SAMPLES);
    cr_assert_eq(result.damaged_samples, 0);
    cr_assert_gt(faults.total, 0);
    cr_assert_eq(faults.done, faults.total);
    cr_assert_gt(result.bytes, faults.total);
}

Test(verify, options_may_be_absent) {
    struct verify_result result;
    cr_assert_eq(verify_pack(&result, pack.path, NULL, NULL), 0);
    flip("report.tsv", 3);
    cr_assert_eq(verify_pack(&result, pack.path, NULL, NULL), ERR_CORRUPT);
}

Test(verify, payload_names_sample_and_hashes) {
    flip("train-00001.lmdb", record_offset(27) + RECORD_HEADER_BYTES + 5);
    EXPECT_FAULT(1, "tiny.ypk/train-00001.lmdb: sample 27 (images/000027.jpg): RGB payload does not match its hash",
                 "(expected ", ", found ");
}

Test(verify, ir_payload) {
    struct record header;
    struct bytes record = {0};
    tiny_record(&record, &header, 30);
    flip("train-00001.lmdb", record_offset(30) + record_ir_offset(header.rgb.payload_bytes));
    EXPECT_FAULT(1, "sample 30 (images/000030.jpg): IR payload does not match");
    bytes_deinit(&record);
}

Test(verify, record_header) {
    flip("train-00002.lmdb", record_offset(41) + 20);
    EXPECT_FAULT(1, "train-00002.lmdb: sample 41 (images/000041.jpg): record: header does not match its hash");
}

Test(verify, pages_of_lmdb) {
    flip("train-00000.lmdb", 100);
    EXPECT_FAULT(0, "train-00000.lmdb: its first pages do not match their hash");
}

Test(verify, bytes_between_payloads) {
    flip("train-00000.lmdb", record_offset(4) - 10);
    EXPECT_FAULT(0, "train-00000.lmdb: its bytes between the payloads do not match their hash");
}

Test(verify, report_and_manifest) {
    flip("report.tsv", 0);
    EXPECT_FAULT(0, "tiny.ypk/report.tsv: does not match its hash");
    flip("report.tsv", 0);
    flip(MANIFEST_NAME, 20);
    EXPECT_FAULT(0, "tiny.ypk/pack.json: does not match its hash");
}

Test(verify, index) {
    flip("val.index", 600);
    EXPECT_FAULT(0, "tiny.ypk/val.index: does not match its hash");
}

Test(verify, missing_files) {
    char path[TINY_PATH_BYTES];
    tiny_join(path, pack.path, "train-00001.lmdb");
    unlink(path);
    EXPECT_FAULT(PER_SHARD, "train-00001.lmdb: cannot open the shard: No such file");
}

Test(verify, missing_report) {
    char path[TINY_PATH_BYTES];
    tiny_join(path, pack.path, "report.tsv");
    unlink(path);
    EXPECT_FAULT(0, "report.tsv: No such file");
}

Test(verify, a_cut_shard_counts_what_is_lost) {
    struct faults faults;
    struct verify_result result;
    char path[TINY_PATH_BYTES];
    tiny_join(path, pack.path, "train-00001.lmdb");
    cr_assert_eq(truncate(path, (off_t)record_offset(35)), 0);
    cr_assert_eq(verify(&faults, &result, NULL), ERR_CORRUPT);
    cr_assert_eq(result.damaged_samples, 5, "%s", faults.text);
    cr_assert(strstr(faults.text, "the index says"), "%s", faults.text);
    cr_assert(strstr(faults.text, "beyond the end of the file: 5 of its samples, the first is sample 35"), "%s",
              faults.text);
}

Test(verify, a_grown_shard) {
    char path[TINY_PATH_BYTES];
    struct stat st;
    tiny_join(path, pack.path, "train-00001.lmdb");
    cr_assert_eq(stat(path, &st), 0);
    cr_assert_eq(truncate(path, st.st_size + 1), 0);
    EXPECT_FAULT(0, "train-00001.lmdb: has ", "the index says ");
}

Test(verify, exchanged_shards) {
    char a[TINY_PATH_BYTES], b[TINY_PATH_BYTES], c[TINY_PATH_BYTES];
    struct faults faults;
    struct verify_result result;
    tiny_join(a, pack.path, "train-00000.lmdb");
    tiny_join(b, pack.path, "train-00001.lmdb");
    tiny_join(c, pack.path, "other");
    rename(a, c);
    rename(b, a);
    rename(c, b);
    cr_assert_eq(verify(&faults, &result, NULL), ERR_CORRUPT);
    cr_assert_geq(result.damaged_samples, PER_SHARD);
}

Test(verify, files_that_are_not_listed_are_ignored) {
    struct verify_result result;
    struct bytes text = {0};
    cr_assert_eq(bytes_append(&text, "x", 1), 0);
    tiny_write(pack.path, "train-00000.lmdb-lock", &text);
    cr_assert_eq(verify_pack(&result, pack.path, NULL, NULL), 0);
    bytes_deinit(&text);
}

Test(verify, cancel) {
    struct verify_result result;
    struct error error = {0};
    atomic_bool cancel = true;
    struct verify_options options = {.jobs = 2, .cancel = &cancel};
    cr_assert_eq(verify_pack(&result, pack.path, &options, &error), ERR_INTERRUPTED);
}

Test(verify, what_is_no_pack) {
    struct verify_result result;
    struct error error = {0};
    cr_assert_eq(verify_pack(&result, "/nonexistent", NULL, &error), ERR_NOT_FOUND);
    cr_assert_eq(verify_pack(&result, pack.directory, NULL, &error), ERR_CORRUPT);
    cr_assert_eq(result.fault_count, 1);
}

/* ---- manifest against indexes ------------------------------------------------------------------------------------ */

/* A manifest that says what the packer would; `key` of split val (or of the whole, with `whole`) is `value` instead. */
static void write_manifest(bool whole, const char *key, json_t *value) {
    struct index_view view;
    struct span map;
    struct bytes text = {0};
    char path[TINY_PATH_BYTES], hash[20];
    json_t *manifest;
    tiny_join(path, pack.path, "train.index");
    cr_assert_eq(file_map(&map, path, NULL), 0);
    cr_assert_eq(index_parse(&view, map, NULL), 0);
    snprintf(hash, sizeof hash, "%016llx", (unsigned long long)view.content_hash);
    cr_assert_eq(manifest_read(&manifest, pack.path, NULL), 0);
    json_t *splits = json_pack("{s:{s:s, s:i, s:i, s:s}, s:{s:s, s:i, s:i, s:s, s:s}}", "train", "index", "train.index",
                               "samples", SAMPLES, "shards", 3, "content_xxh3", hash, "val", "index", "val.index",
                               "samples", SAMPLES, "shards", 3, "content_xxh3", hash, "same_as", "train");
    json_object_set_new(manifest, "splits", splits);
    json_object_set_new(manifest, "task", json_string("detect"));
    json_object_set_new(manifest, "classes", json_pack("[s, s]", "person", "car"));
    if (key)
        json_object_set_new(whole ? manifest : json_object_get(splits, "val"), key, value);
    cr_assert_eq(manifest_encode(&text, manifest, NULL), 0);
    tiny_write(pack.path, MANIFEST_NAME, &text);
    json_decref(manifest);
    bytes_deinit(&text);
    file_unmap(&map);
}

static void finds_difference(bool whole, const char *key, json_t *value, const char *expected) {
    struct faults faults;
    struct verify_result result;
    struct error error = {0};
    write_manifest(whole, key, value);
    cr_assert_eq(verify(&faults, &result, &error), ERR_CORRUPT, "%s", key);
    cr_assert(strstr(faults.text, expected), "%s: %s", key, faults.text);
    cr_assert(strstr(faults.text, "/pack.json: "));
    cr_assert_eq(result.damaged_samples, 0);
}

Test(verify, what_the_manifest_says_of_its_indexes) {
    struct faults faults;
    struct verify_result result;
    struct error error = {0};
    write_manifest(false, NULL, NULL);
    cr_assert_eq(verify(&faults, &result, &error), 0, "%s", faults.text);
    finds_difference(false, "content_xxh3", json_string("0123456789abcdef"),
                     "split val: content_xxh3 is 0123456789abcdef, the index has ");
    finds_difference(false, "content_xxh3", json_null(), "content_xxh3 is absent");
    finds_difference(false, "samples", json_integer(SAMPLES + 1), "split val: samples is 61, the index has 60");
    finds_difference(false, "shards", json_integer(2), "split val: shards is 2, the index has 3");
    finds_difference(false, "same_as", json_string("test"), "said to be in the shards of test, the index names train");
    finds_difference(false, "index", json_string("test.index"), "split val: its index is not among the files");
    finds_difference(true, "task", json_string("pose"), "the task is pose, in the index of split train it is detect");
    finds_difference(true, "classes", json_pack("[s, s]", "person", "bus"),
                     "class 1 is \"bus\", in the index of split train it is \"car\"");
    finds_difference(true, "classes", json_pack("[s]", "person"), "class 1 is \"\"");
    write_manifest(true, "classes", json_pack("[s, s, s]", "person", "car", "bus"));
    cr_assert_eq(verify(&faults, &result, &error), 0, "an index from before the last class came");
}

Test(verify, what_the_manifest_says_of_key_points) {
    finds_difference(true, "options", json_pack("{s:[i, i]}", "flip_idx", 1, 0),
                     "flip_idx has 2 entries, labels in train.index have 0 key points");
    finds_difference(true, "options", json_pack("{s:[i, i]}", "flip_idx", 2, 0), "flip_idx is no list of key points");
    tiny_pack_remove(&pack);
    tiny_task_pack_create(&pack, SAMPLES, PER_SHARD, TASK_POSE);
    struct faults faults;
    struct verify_result result;
    write_manifest(true, "options", json_pack("{s:[i, i, i, i]}", "flip_idx", 0, 1, 3, 2));
    verify(&faults, &result, NULL);
    cr_assert_null(strstr(faults.text, "flip_idx"), "%s", faults.text);
    finds_difference(true, "options", json_pack("{s:[i, i, i]}", "flip_idx", 0, 2, 1),
                     "flip_idx has 3 entries, labels in val.index have 4 key points");
}

/* ---- reindex ----------------------------------------------------------------------------------------------------- */

/* What `mdb_copy -c -n` does to a shard. */
static void compact(const char *name) {
    char path[TINY_PATH_BYTES], copy[TINY_PATH_BYTES];
    MDB_env *env;
    tiny_join(path, pack.path, name);
    tiny_join(copy, pack.path, "copy");
    cr_assert_eq(mdb_env_create(&env), 0);
    cr_assert_eq(mdb_env_open(env, path, MDB_NOSUBDIR | MDB_NOLOCK | MDB_RDONLY, 0), 0);
    cr_assert_eq(mdb_env_copy2(env, copy, MDB_CP_COMPACT), 0);
    mdb_env_close(env);
    cr_assert_eq(rename(copy, path), 0);
}

Test(reindex, after_a_compacting_copy_the_pack_is_whole_again) {
    struct verify_result result;
    struct error error = {0};
    struct bytes before = {0}, after = {0};
    struct index_view old, fresh;
    load_index(&before, &old, "train.index");
    compact("train-00000.lmdb");
    compact("train-00002.lmdb");
    struct faults faults;
    cr_assert_eq(verify(&faults, &result, NULL), ERR_CORRUPT);
    cr_assert_eq(result.fault_count, 2, "one a shard: %s", faults.text);
    cr_assert(strstr(faults.text, "yolopack reindex"), "%s", faults.text);
    cr_assert_eq(reindex_pack(pack.path, &error), 0, "%s", error.message);
    cr_assert_eq(verify_pack(&result, pack.path, NULL, &error), 0, "%s", error.message);
    cr_assert_eq(result.shard_count, 3);
    load_index(&after, &fresh, "val.index");
    cr_assert_eq(old.content_hash, fresh.content_hash);
    cr_assert_eq(before.size, after.size);
    cr_assert_neq(memcmp(before.data, after.data, after.size), 0, "offsets have changed");
    bytes_deinit(&before);
    bytes_deinit(&after);
}

Test(reindex, a_whole_pack_stays_as_it_is) {
    struct bytes before = {0}, after = {0};
    struct error error = {0};
    char path[TINY_PATH_BYTES];
    tiny_join(path, pack.path, MANIFEST_NAME);
    cr_assert_eq(file_read(&before, AT_FDCWD, path, 1 << 20, NULL), 0);
    cr_assert_eq(reindex_pack(pack.path, &error), 0, "%s", error.message);
    cr_assert_eq(file_read(&after, AT_FDCWD, path, 1 << 20, NULL), 0);
    cr_assert_eq(before.size, after.size);
    cr_assert_eq(memcmp(before.data, after.data, after.size), 0);
    bytes_deinit(&before);
    bytes_deinit(&after);
}

Test(reindex, a_damaged_record_is_named_and_nothing_changes) {
    struct bytes before = {0}, after = {0};
    struct index_view view;
    struct error error = {0};
    load_index(&before, &view, "train.index");
    flip("train-00002.lmdb", record_offset(42) + RECORD_HEADER_BYTES);
    compact("train-00000.lmdb");
    compact("train-00002.lmdb");
    cr_assert_eq(reindex_pack(pack.path, &error), ERR_CORRUPT);
    cr_assert(strstr(error.message, "train-00002.lmdb: sample 42 (images/000042.jpg)"), "%s", error.message);
    load_index(&after, &view, "train.index");
    cr_assert_eq(memcmp(before.data, after.data, after.size), 0);
    bytes_deinit(&before);
    bytes_deinit(&after);
}

Test(reindex, a_shard_of_other_samples_is_refused) {
    char from[TINY_PATH_BYTES], to[TINY_PATH_BYTES];
    struct error error = {0};
    tiny_join(from, pack.path, "train-00001.lmdb");
    tiny_join(to, pack.path, "train-00000.lmdb");
    cr_assert_eq(rename(from, to), 0);
    cr_assert_eq(reindex_pack(pack.path, &error), ERR_CORRUPT);
    cr_assert(strstr(error.message, "sample 0 (images/000000.jpg) is missing, id 20 is in its place"), "%s",
              error.message);
}

Test(reindex, missing_pack_and_missing_shard) {
    struct error error = {0};
    char path[TINY_PATH_BYTES];
    cr_assert_eq(reindex_pack("/nonexistent", &error), ERR_NOT_FOUND);
    tiny_join(path, pack.path, "train-00001.lmdb");
    unlink(path);
    cr_assert_eq(reindex_pack(pack.path, &error), ERR_NOT_FOUND);
    cr_assert(strstr(error.message, "train-00001.lmdb"), "%s", error.message);
}
