#include "pack_manifest.h"
#include "tiny_pack.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <sys/stat.h>

static char directory[TINY_PATH_BYTES];

static void setup(void) {
    static const char *const none[] = {NULL};
    tiny_directory(directory);
    tiny_manifest(directory, none, 0);
}

static void teardown(void) {
    dir_remove_all(directory, NULL);
}

TestSuite(manifest, .init = setup, .fini = teardown);

static void read_text(struct bytes *out) {
    char path[TINY_PATH_BYTES];
    tiny_join(path, directory, MANIFEST_NAME);
    cr_assert_eq(file_read(out, AT_FDCWD, path, 1 << 20, NULL), 0);
}

static int read_back(struct error *error) {
    json_t *manifest;
    int rc = manifest_read(&manifest, directory, error);
    cr_assert_eq(manifest != NULL, rc == 0);
    json_decref(manifest);
    return rc;
}

/* Writes `text` with a right hash. */
static void encode_text(const char *text) {
    json_t *manifest = json_loads(text, 0, NULL);
    struct bytes out = {0};
    cr_assert_not_null(manifest);
    cr_assert_eq(manifest_encode(&out, manifest, NULL), 0);
    tiny_write(directory, MANIFEST_NAME, &out);
    json_decref(manifest);
    bytes_deinit(&out);
}

Test(manifest, what_was_written_is_read) {
    struct error error = {0};
    cr_assert_eq(read_back(&error), 0, "%s", error.message);
}

Test(manifest, encoding_twice_gives_the_same_and_appends) {
    json_t *manifest = json_loads("{\"version\": 1, \"files\": [], \"name\": \"night\"}", 0, NULL);
    struct bytes first = {0}, second = {0};
    cr_assert_eq(bytes_append(&second, "x", 1), 0);
    cr_assert_eq(manifest_encode(&first, manifest, NULL), 0);
    cr_assert_eq(manifest_encode(&second, manifest, NULL), 0);
    cr_assert_eq(second.size, first.size + 1);
    cr_assert_eq(memcmp(first.data, second.data + 1, first.size), 0);
    json_decref(manifest);
    bytes_deinit(&first);
    bytes_deinit(&second);
}

Test(manifest, every_flipped_bit_is_found) {
    struct bytes text = {0};
    read_text(&text);
    for (size_t bit = 0; bit < text.size * 8; bit++) {
        text.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
        tiny_write(directory, MANIFEST_NAME, &text);
        cr_assert_eq(read_back(NULL), ERR_CORRUPT, "bit %zu", bit);
        text.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
    bytes_deinit(&text);
}

Test(manifest, every_cut_is_found) {
    struct bytes text = {0};
    read_text(&text);
    while (text.size--) {
        tiny_write(directory, MANIFEST_NAME, &text);
        cr_assert_eq(read_back(NULL), ERR_CORRUPT, "cut to %zu", text.size);
        if (!text.size)
            break;
    }
    bytes_deinit(&text);
}

Test(manifest, a_directory_without_it_is_no_complete_pack) {
    struct error error = {0};
    char path[TINY_PATH_BYTES];
    json_t *manifest;
    tiny_join(path, directory, MANIFEST_NAME);
    cr_assert_eq(manifest_read(&manifest, path, &error), ERR_NOT_FOUND);
    cr_assert(strstr(error.message, "a pack is a directory"), "%s", error.message);
    unlink(path);
    cr_assert_eq(manifest_read(&manifest, directory, &error), ERR_CORRUPT);
    cr_assert(strstr(error.message, "not a pack, or not all of one: no pack.json"), "%s", error.message);
    cr_assert_eq(manifest_read(&manifest, "/nonexistent", &error), ERR_NOT_FOUND);
    cr_assert(strstr(error.message, "/nonexistent: no such file or directory"), "%s", error.message);
}

Test(manifest, an_unfinished_pack_is_called_so) {
    struct error error = {0};
    char path[TINY_PATH_BYTES];
    struct bytes none = {0};
    json_t *manifest;
    tiny_join(path, directory, "n.ypk.partial");
    cr_assert_eq(mkdir(path, 0777), 0);
    tiny_join(path, directory, "n.ypk/");
    cr_assert_eq(manifest_read(&manifest, path, &error), ERR_NOT_FOUND);
    cr_assert(strstr(error.message, "no such file"), "not a run's: %s", error.message);
    tiny_write(directory, "n.ypk.partial/" MANIFEST_STATE_NAME, &none);
    cr_assert_eq(manifest_read(&manifest, path, &error), ERR_NOT_FOUND);
    cr_assert(strstr(error.message, "unfinished") && strstr(error.message, "--resume"), "%s", error.message);
}

Test(manifest, versions) {
    struct error error = {0};
    encode_text("{\"version\": 2, \"files\": []}");
    cr_assert_eq(read_back(&error), ERR_UNSUPPORTED);
    cr_assert(strstr(error.message, "newer"), "%s", error.message);
    encode_text("{\"version\": 0, \"files\": []}");
    cr_assert_eq(read_back(NULL), ERR_CORRUPT);
    encode_text("{\"files\": []}");
    cr_assert_eq(read_back(NULL), ERR_CORRUPT);
    encode_text("{\"version\": 1, \"files\": {}}");
    cr_assert_eq(read_back(NULL), ERR_CORRUPT);
}

Test(manifest, files_are_listed_with_length_and_hash) {
    static const uint8_t content[] = "hello";
    struct bytes bytes = {(uint8_t *)content, 5, 5};
    json_t *files = json_array();
    struct manifest_file file;
    tiny_write(directory, "report.tsv", &bytes);
    tiny_write(directory, "train-00000.lmdb", &bytes);
    cr_assert_eq(manifest_add_file(files, directory, "report.tsv", NULL), 0);
    cr_assert_eq(manifest_add_file(files, directory, "train-00000.lmdb", NULL), 0);
    cr_assert_eq(manifest_add_file(files, directory, "absent", NULL), ERR_NOT_FOUND);
    cr_assert_eq(manifest_add_file(files, directory, "absent.lmdb", NULL), ERR_NOT_FOUND);
    cr_assert_eq(json_array_size(files), 2);
    cr_assert_eq(manifest_file(&file, json_array_get(files, 0), NULL), 0);
    cr_assert_str_eq(file.name, "report.tsv");
    cr_assert_eq(file.bytes, 5);
    cr_assert(file.has_hash);
    cr_assert_eq(file.hash, XXH3_64bits("hello", 5));
    cr_assert_eq(manifest_file(&file, json_array_get(files, 1), NULL), 0);
    cr_assert_eq(file.bytes, 5);
    cr_assert_not(file.has_hash);
    json_decref(files);
}

static json_t *options_with(uint8_t task, const struct flip_index *flip) {
    struct pack_options options;
    struct source_set sources = {.keypoint_count = 3, .keypoint_dims = 2, .flip_index = *flip};
    pack_options_init(&options);
    options.intake.label.task = task;
    json_t *object = pack_manifest_options(&options, &sources);
    cr_assert_not_null(object);
    return object;
}

Test(manifest, key_points_that_change_places_are_read_back) {
    static const struct flip_index turn = {{1, 2, 0}, 3}, none = {.count = 0};
    struct flip_index read;
    json_t *options = options_with(TASK_POSE, &turn);
    cr_assert(pack_manifest_flip_index(&read, options));
    cr_assert_eq(memcmp(&read, &turn, sizeof read), 0);
    json_decref(options);
    options = options_with(TASK_POSE, &none);
    cr_assert_null(json_object_get(options, "flip_idx"), "only when it is given");
    cr_assert(pack_manifest_flip_index(&read, options) && read.count == 0);
    json_decref(options);
    options = options_with(TASK_DETECT, &turn);
    cr_assert_null(json_object_get(options, "flip_idx"), "only of poses");
    json_decref(options);
    cr_assert(pack_manifest_flip_index(&read, NULL) && read.count == 0, "a manifest without options");
}

Test(manifest, hostile_places_are_refused) {
    static const char *const options[] = {
        "{\"flip_idx\": []}",     "{\"flip_idx\": null}",    "{\"flip_idx\": 1}",        "{\"flip_idx\": {\"0\": 0}}",
        "{\"flip_idx\": [0, 2]}", "{\"flip_idx\": [0, -1]}", "{\"flip_idx\": [1, 0.0]}", "{\"flip_idx\": [1, \"0\"]}",
    };
    struct flip_index read;
    for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
        json_t *object = json_loads(options[i], 0, NULL);
        cr_assert_not_null(object);
        cr_assert_not(pack_manifest_flip_index(&read, object), "%s", options[i]);
        cr_assert_eq(read.count, 0);
        json_decref(object);
    }
    json_t *object = json_object(), *list = json_array();
    json_object_set_new(object, "flip_idx", list);
    for (int i = 0; i < KEYPOINT_LIMIT; i++)
        json_array_append_new(list, json_integer(i));
    cr_assert(pack_manifest_flip_index(&read, object) && read.count == KEYPOINT_LIMIT);
    json_array_append_new(list, json_integer(0));
    cr_assert_not(pack_manifest_flip_index(&read, object), "more than a label can have");
    json_decref(object);
}

Test(manifest, hostile_entries_are_refused) {
    static const char *const entries[] = {
        "{}",
        "[]",
        "{\"name\": \"../x\", \"bytes\": 1, \"xxh3\": \"0123456789abcdef\"}",
        "{\"name\": \"..\", \"bytes\": 1, \"xxh3\": \"0123456789abcdef\"}",
        "{\"name\": \"/etc/passwd\", \"bytes\": 1, \"xxh3\": \"0123456789abcdef\"}",
        "{\"name\": \"\", \"bytes\": 1, \"xxh3\": \"0123456789abcdef\"}",
        "{\"name\": \"a\", \"bytes\": -1, \"xxh3\": \"0123456789abcdef\"}",
        "{\"name\": \"a\", \"bytes\": 1.5, \"xxh3\": \"0123456789abcdef\"}",
        "{\"name\": \"a\", \"bytes\": 1, \"xxh3\": null}",
        "{\"name\": \"a\", \"bytes\": 1, \"xxh3\": \"0123456789abcde\"}",
        "{\"name\": \"a\", \"bytes\": 1, \"xxh3\": \"0123456789ABCDEF\"}",
        "{\"name\": \"a\", \"bytes\": 1, \"xxh3\": \"0x23456789abcdef\"}",
    };
    for (size_t i = 0; i < sizeof entries / sizeof *entries; i++) {
        struct manifest_file file;
        json_t *entry = json_loads(entries[i], 0, NULL);
        cr_assert_not_null(entry);
        cr_assert_eq(manifest_file(&file, entry, NULL), ERR_CORRUPT, "%s", entries[i]);
        json_decref(entry);
    }
}
