#include "tiny_pack.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <lmdb.h>
#include <sys/resource.h>

static char directory[TINY_PATH_BYTES];
static char path[TINY_PATH_BYTES];

static void setup(void) {
    tiny_directory(directory);
    tiny_join(path, directory, "train-00000.lmdb");
}

static void teardown(void) {
    dir_remove_all(directory, NULL);
}

TestSuite(shard, .init = setup, .fini = teardown);

/* A record with an RGB payload of `payload_bytes` zeros. */
static void zeros_record(struct bytes *out, uint64_t id, uint32_t payload_bytes) {
    struct record header = {.sample_id = id,
                            .rgb = {.payload_bytes = payload_bytes,
                                    .codec = CODEC_RAW,
                                    .channels = 1,
                                    .depth = 8,
                                    .width = 1,
                                    .height = 1,
                                    .source_width = 1,
                                    .source_height = 1}};
    size_t size = (size_t)record_bytes(payload_bytes, 0);
    cr_assert_eq(bytes_reserve(out, size), 0);
    memset(out->data, 0, size);
    out->size = size;
    record_encode_header(out->data, &header);
}

static int add(struct shard_writer *w, uint64_t id, const struct bytes *record, struct error *error) {
    return shard_writer_add(w, id, (struct span){record->data, record->size}, error);
}

static void write_tiny(uint64_t first, uint64_t count, struct index_shard *sealed, uint64_t *offsets) {
    struct shard_writer *w;
    struct record header;
    struct bytes record = {0};
    struct error error = {0};
    cr_assert_eq(shard_writer_create(&w, path, 1 << 20, &error), 0, "%s", error.message);
    for (uint64_t i = 0; i < count; i++) {
        tiny_record(&record, &header, first + i);
        cr_assert_eq(add(w, first + i, &record, &error), 0, "%s", error.message);
    }
    cr_assert_eq(shard_writer_count(w), count);
    cr_assert_eq(shard_writer_seal(&w, sealed, offsets, &error), 0, "%s", error.message);
    cr_assert_null(w);
    bytes_deinit(&record);
}

Test(shard, records_lie_at_their_offsets) {
    enum { COUNT = 300 };
    uint64_t offsets[COUNT];
    struct index_shard sealed;
    struct bytes file = {0}, record = {0};
    struct record header;
    write_tiny(1000, COUNT, &sealed, offsets);
    cr_assert_eq(file_read(&file, AT_FDCWD, path, 1 << 30, NULL), 0);
    cr_assert_eq(sealed.file_bytes, file.size);
    cr_assert_eq(sealed.first_id, 1000);
    cr_assert_eq(sealed.sample_count, COUNT);
    cr_assert_eq(sealed.head_hash, XXH3_64bits(file.data, 2 * (size_t)sysconf(_SC_PAGESIZE)));
    for (uint64_t i = 0; i < COUNT; i++) {
        tiny_record(&record, &header, 1000 + i);
        cr_assert(range_fits(offsets[i], record.size, file.size));
        cr_assert_eq(memcmp(file.data + offsets[i], record.data, record.size), 0, "record %llu", (unsigned long long)i);
        cr_assert_eq(offsets[i] % 4096, 16);
    }
    bytes_deinit(&file);
    bytes_deinit(&record);
}

struct seen {
    uint64_t count, first;
    const uint64_t *offsets;
};

static int check_place(void *arg, const struct shard_record *record) {
    struct seen *s = arg;
    cr_assert_eq(record->sample_id, s->first + s->count);
    cr_assert_eq(record->offset, s->offsets[s->count]);
    s->count++;
    return 0;
}

Test(shard, liblmdb_finds_the_same_records) {
    enum { COUNT = 300 };
    uint64_t offsets[COUNT];
    struct index_shard sealed;
    struct error error = {0};
    write_tiny(7, COUNT, &sealed, offsets);
    struct seen seen = {0, 7, offsets};
    cr_assert_eq(shard_walk(path, check_place, &seen, &error), 0, "%s", error.message);
    cr_assert_eq(seen.count, COUNT);
}

static int stop(void *arg, const struct shard_record *record) {
    (void)arg;
    return record->sample_id == 3 ? ERR_INTERRUPTED : 0;
}

Test(shard, walk_stops_with_the_visitors_code) {
    uint64_t offsets[10];
    struct index_shard sealed;
    write_tiny(0, 10, &sealed, offsets);
    cr_assert_eq(shard_walk(path, stop, NULL, NULL), ERR_INTERRUPTED);
}

Test(shard, same_records_give_the_same_file) {
    enum { COUNT = 400 };
    uint64_t offsets[COUNT];
    struct index_shard sealed[2];
    struct bytes file[2] = {{0}, {0}};
    for (int i = 0; i < 2; i++) {
        /* Dirty the heap, so that bytes LMDB would leave unset differ. */
        char *noise = malloc(1 << 20);
        memset(noise, 0x55 + i, 1 << 20);
        free(noise);
        write_tiny(0, COUNT, &sealed[i], offsets);
        cr_assert_eq(file_read(&file[i], AT_FDCWD, path, 1 << 30, NULL), 0);
    }
    cr_assert_eq(sealed[0].structure_hash, sealed[1].structure_hash);
    cr_assert_eq(file[0].size, file[1].size);
    cr_assert_eq(memcmp(file[0].data, file[1].data, file[0].size), 0);
    bytes_deinit(&file[0]);
    bytes_deinit(&file[1]);
}

Test(shard, many_commits_and_sizes_are_sealed) {
    enum { COUNT = 600 };
    static uint64_t offsets[COUNT];
    struct shard_writer *w;
    struct index_shard sealed;
    struct bytes record = {0};
    struct error error = {0};
    uint64_t state = 5;
    cr_assert_eq(shard_writer_create(&w, path, UINT64_C(1) << 30, &error), 0, "%s", error.message);
    for (uint64_t id = 0; id < COUNT; id++) {
        /* From one page to 1 MB: many page counts, so that freed pages of earlier commits are used again. */
        zeros_record(&record, id, 1 + (uint32_t)(tiny_random(&state) % (id % 4 ? 5000 : 1000000)));
        cr_assert_eq(add(w, id, &record, &error), 0, "%s", error.message);
    }
    cr_assert_eq(shard_writer_seal(&w, &sealed, offsets, &error), 0, "%s", error.message);
    struct seen seen = {0, 0, offsets};
    cr_assert_eq(shard_walk(path, check_place, &seen, &error), 0, "%s", error.message);
    cr_assert_eq(seen.count, COUNT);
    bytes_deinit(&record);
}

Test(shard, fits_counts_pages) {
    struct shard_writer *w;
    struct bytes record = {0};
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    cr_assert_eq(shard_writer_create(&w, path, 4 * page, NULL), 0);
    cr_assert(shard_writer_fits(w, RECORD_LIMIT_BYTES), "the first record always fits");
    zeros_record(&record, 0, 100);
    cr_assert_eq(add(w, 0, &record, NULL), 0);
    cr_assert(shard_writer_fits(w, 3 * page - 16));
    cr_assert_not(shard_writer_fits(w, 3 * page - 15));
    cr_assert_not(shard_writer_fits(w, UINT64_MAX));
    shard_writer_abort(&w);
    cr_assert_null(w);
    cr_assert_neq(access(path, F_OK), 0, "an aborted shard leaves no file");
    shard_writer_abort(&w);
    bytes_deinit(&record);
}

Test(shard, a_record_larger_than_the_limit_is_a_shard_of_its_own) {
    struct shard_writer *w;
    struct index_shard sealed;
    struct bytes record = {0};
    struct error error = {0};
    uint64_t offset;
    cr_assert_eq(shard_writer_create(&w, path, 8192, &error), 0, "%s", error.message);
    zeros_record(&record, 9, 40 << 20);
    cr_assert(shard_writer_fits(w, record.size));
    cr_assert_eq(add(w, 9, &record, &error), 0, "%s", error.message);
    cr_assert_not(shard_writer_fits(w, RECORD_MINIMUM_BYTES));
    cr_assert_eq(shard_writer_seal(&w, &sealed, &offset, &error), 0, "%s", error.message);
    cr_assert_eq(sealed.first_id, 9);
    bytes_deinit(&record);
}

Test(shard, wrong_records_are_refused) {
    struct shard_writer *w;
    struct bytes record = {0};
    cr_assert_eq(shard_writer_create(&w, path, 1 << 20, NULL), 0);
    zeros_record(&record, 5, 100);
    cr_assert_eq(add(w, 6, &record, NULL), ERR_ARGUMENT, "id of the header differs");
    cr_assert_eq(bytes_append(&record, "x", 1), 0);
    cr_assert_eq(add(w, 5, &record, NULL), ERR_ARGUMENT, "one byte too long");
    record.size = RECORD_HEADER_BYTES;
    cr_assert_eq(add(w, 5, &record, NULL), ERR_CORRUPT, "cut");
    shard_writer_abort(&w);
    bytes_deinit(&record);
}

Test(shard, ids_must_count_up) {
    struct shard_writer *w;
    struct bytes record = {0};
    struct error error;
    cr_assert_eq(shard_writer_create(&w, path, 1 << 20, NULL), 0);
    zeros_record(&record, 5, 100);
    cr_assert_eq(add(w, 5, &record, NULL), 0);
    cr_assert_eq(add(w, 5, &record, &error), ERR_ARGUMENT);
    cr_assert(strstr(error.message, "sample 5"), "%s", error.message);
    zeros_record(&record, 7, 100);
    cr_assert_eq(add(w, 7, &record, &error), ERR_ARGUMENT);
    zeros_record(&record, 6, 100);
    cr_assert_eq(add(w, 6, &record, &error), 0);
    shard_writer_abort(&w);
    bytes_deinit(&record);
}

Test(shard, an_empty_shard_can_be_sealed) {
    struct shard_writer *w;
    struct index_shard sealed;
    struct error error = {0};
    cr_assert_eq(shard_writer_create(&w, path, 1 << 20, NULL), 0);
    cr_assert_eq(shard_writer_seal(&w, &sealed, NULL, &error), 0, "%s", error.message);
    cr_assert_eq(sealed.sample_count, 0);
    struct seen seen = {0, 0, NULL};
    cr_assert_eq(shard_walk(path, check_place, &seen, NULL), 0);
    cr_assert_eq(seen.count, 0);
}

/* ---- shard_hash_file --------------------------------------------------------------------------------------------- */

struct hashed {
    const struct record *headers;
    uint64_t count;
};

static int check_hashes(void *arg, const struct shard_extent *extent, const struct shard_found *found) {
    struct hashed *h = arg;
    const struct record *header = &h->headers[extent->row];
    uint8_t encoded[RECORD_HEADER_BYTES];
    record_encode_header(encoded, header);
    cr_assert_eq(memcmp(encoded, found->header, sizeof encoded), 0);
    cr_assert_eq(found->rgb_hash, header->rgb.hash);
    cr_assert_eq(found->ir_hash, header->ir.hash);
    h->count++;
    return 0;
}

static void extents_of(struct shard_extent *extents, struct record *headers, const uint64_t *offsets, uint64_t count) {
    struct bytes record = {0};
    for (uint64_t i = 0; i < count; i++) {
        tiny_record(&record, &headers[i], i);
        extents[i] = (struct shard_extent){offsets[i], i, headers[i].rgb.payload_bytes, headers[i].ir.payload_bytes};
    }
    shard_extents_sort(extents, count);
    bytes_deinit(&record);
}

Test(shard, a_full_pass_agrees_with_sealing) {
    enum { COUNT = 100 };
    uint64_t offsets[COUNT], page = (uint64_t)sysconf(_SC_PAGESIZE);
    struct shard_extent extents[COUNT];
    struct record headers[COUNT];
    struct index_shard sealed, found = {0};
    struct hashed hashed = {headers, 0};
    struct error error = {0};
    write_tiny(0, COUNT, &sealed, offsets);
    extents_of(extents, headers, offsets, COUNT);
    cr_assert_eq(shard_hash_file(&found, path, (uint32_t)page, extents, COUNT, check_hashes, &hashed, &error), 0, "%s",
                 error.message);
    cr_assert_eq(hashed.count, COUNT);
    cr_assert_eq(found.file_bytes, sealed.file_bytes);
    cr_assert_eq(found.head_hash, sealed.head_hash);
    cr_assert_eq(found.structure_hash, sealed.structure_hash);
}

static int ignore(void *arg, const struct shard_extent *extent, const struct shard_found *found) {
    (void)arg, (void)extent, (void)found;
    return 0;
}

Test(shard, hostile_extents_are_refused) {
    uint64_t offsets[4];
    struct index_shard sealed, found;
    write_tiny(0, 4, &sealed, offsets);
    uint32_t page = (uint32_t)sysconf(_SC_PAGESIZE);
    struct shard_extent overlap[2] = {{offsets[0], 0, 5000, 0}, {offsets[0] + 4096, 1, 10, 0}};
    struct shard_extent beyond = {sealed.file_bytes - 100, 0, 10, 0};
    struct shard_extent huge = {UINT64_MAX - 5, 0, UINT32_MAX, UINT32_MAX};
    cr_assert_eq(shard_hash_file(&found, path, page, overlap, 2, ignore, NULL, NULL), ERR_CORRUPT);
    cr_assert_eq(shard_hash_file(&found, path, page, &beyond, 1, ignore, NULL, NULL), ERR_CORRUPT);
    cr_assert_eq(shard_hash_file(&found, path, page, &huge, 1, ignore, NULL, NULL), ERR_CORRUPT);
    cr_assert_eq(shard_hash_file(&found, path, UINT32_MAX, NULL, 0, ignore, NULL, NULL), ERR_CORRUPT);
    cr_assert_eq(shard_hash_file(&found, "/nonexistent/x", page, NULL, 0, ignore, NULL, NULL), ERR_NOT_FOUND);
}

Test(shard, extents_are_sorted_by_offset) {
    struct shard_extent extents[4] = {{300, 0, 1, 1}, {100, 1, 1, 1}, {400, 2, 1, 1}, {200, 3, 1, 1}};
    shard_extents_sort(extents, 4);
    for (int i = 0; i < 4; i++)
        cr_assert_eq(extents[i].offset, (uint64_t)(i + 1) * 100);
    shard_extents_sort(extents, 0);
}

/* ---- files that are no whole shard ------------------------------------------------------------------------------- */

Test(shard, a_cut_file_is_not_walked) {
    uint64_t offsets[20];
    struct index_shard sealed;
    struct error error = {0};
    write_tiny(0, 20, &sealed, offsets);
    for (uint64_t size = 0; size < sealed.file_bytes; size += sealed.file_bytes / 40 + 1) {
        write_tiny(0, 20, &sealed, offsets);
        cr_assert_eq(truncate(path, (off_t)size), 0);
        int rc = shard_walk(path, stop, NULL, &error);
        cr_assert(rc < 0 && rc != ERR_INTERRUPTED, "cut to %llu", (unsigned long long)size);
    }
}

Test(shard, what_is_no_lmdb_file_is_refused) {
    struct error error = {0};
    struct bytes noise = {0};
    cr_assert_eq(shard_walk(path, stop, NULL, &error), ERR_NOT_FOUND);
    cr_assert_eq(bytes_reserve(&noise, 20000), 0);
    memset(noise.data, 'x', 20000);
    noise.size = 20000;
    tiny_write(directory, "train-00000.lmdb", &noise);
    cr_assert_eq(shard_walk(path, stop, NULL, &error), ERR_CORRUPT, "%s", error.message);
    bytes_deinit(&noise);
}

Test(shard, a_directory_that_is_not_there_is_named) {
    struct shard_writer *w;
    struct error error = {0};
    cr_assert_eq(shard_writer_create(&w, "/nonexistent/train-00000.lmdb", 1 << 20, &error), ERR_NOT_FOUND);
    cr_assert(strstr(error.message, "/nonexistent/train-00000.lmdb"), "%s", error.message);
    cr_assert_null(w);
    cr_assert_eq(shard_writer_create(&w, path, UINT64_MAX, &error), ERR_ARGUMENT);
}

#if defined(__SANITIZE_ADDRESS__)
#define ADDRESS_SPACE_IS_LIMITED 0 /* shadow memory needs more than any limit */
#else
#define ADDRESS_SPACE_IS_LIMITED 1
#endif

Test(shard, too_little_address_space_is_said) {
    if (!ADDRESS_SPACE_IS_LIMITED)
        cr_skip("the sanitizer needs unlimited address space");
    struct rlimit limit = {UINT64_C(900) << 20, UINT64_C(900) << 20};
    struct shard_writer *w;
    struct error error = {0};
    cr_assert_eq(setrlimit(RLIMIT_AS, &limit), 0);
    cr_assert_eq(shard_writer_create(&w, path, UINT64_C(1) << 30, &error), ERR_SPACE, "%s", error.message);
    cr_assert(strstr(error.message, "address space") && strstr(error.message, "900 MB"), "%s", error.message);
}

Test(shard, the_default_size_works_in_four_gigabytes) {
    if (!ADDRESS_SPACE_IS_LIMITED)
        cr_skip("the sanitizer needs unlimited address space");
    struct rlimit limit = {UINT64_C(4000000) << 10, UINT64_C(4000000) << 10};
    struct shard_writer *w;
    struct error error = {0};
    cr_assert_eq(setrlimit(RLIMIT_AS, &limit), 0);
    cr_assert_eq(shard_writer_create(&w, path, UINT64_C(1) << 30, &error), 0, "%s", error.message);
    shard_writer_abort(&w);
}
