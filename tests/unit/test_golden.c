/* Files of every released format stay readable, and the current format is written with the same bytes for ever. */
#include "golden/content.h"

#include "file.h"

#include <criterion/criterion.h>
#include <fcntl.h>

static int check_index(struct span file, struct error *error) {
    struct index_view view;
    int code = index_parse(&view, file, error);
    return code != 0 ? code : index_check(&view, error);
}

static int check_record(struct span file, struct error *error) {
    struct record r;
    int code = record_decode_header(&r, file, error);
    if (code != 0)
        return code;
    struct span rgb = {file.data + RECORD_HEADER_BYTES, r.rgb.payload_bytes};
    struct span ir = {file.data + record_ir_offset(r.rgb.payload_bytes), r.ir.payload_bytes};
    if (rgb.size > 0 && (code = record_check_payload(&r.rgb, rgb, "RGB", error)) != 0)
        return code;
    return ir.size > 0 ? record_check_payload(&r.ir, ir, "IR", error) : 0;
}

static void read_golden(struct bytes *out, const char *name) {
    struct error error = {0};
    char *path = path_join("tests/golden/v1", name);
    cr_assert_eq(file_read(out, AT_FDCWD, path, 1 << 20, &error), 0, "%s (tests run in the repository's root)",
                 error.message);
    free(path);
}

Test(golden, bytes_are_those_of_today) {
    for (int i = 0; i < GOLDEN_FILE_COUNT; i++) {
        struct bytes stored = {0}, made = {0};
        read_golden(&stored, golden_files[i].name);
        golden_make(&made, &golden_files[i]);
        cr_expect(stored.size == made.size && (stored.size == 0 || memcmp(stored.data, made.data, made.size) == 0),
                  "%s differs from what is written today", golden_files[i].name);
        bytes_deinit(&stored);
        bytes_deinit(&made);
    }
}

Test(golden, every_file_gives_its_code) {
    for (int i = 0; i < GOLDEN_FILE_COUNT; i++) {
        const struct golden_file *g = &golden_files[i];
        struct bytes stored = {0};
        struct error error = {0};
        read_golden(&stored, g->name);
        struct span file = {stored.data, stored.size};
        bool record = strcmp(path_suffix(g->name), "record") == 0;
        int code = record ? check_record(file, &error) : check_index(file, &error);
        cr_expect_eq(code, g->code, "%s: code %d instead of %d: %s", g->name, code, g->code, error.message);
        cr_expect_eq(error.code, code, "%s", g->name);
        cr_expect(strstr(error.message, g->text), "%s: says \"%s\", not \"%s\"", g->name, error.message, g->text);
        bytes_deinit(&stored);
    }
}

/* The numbers that FORMAT.md gives, read without any of the code that wrote them. */
Test(golden, fields_lie_where_the_specification_says) {
    struct bytes f = {0};
    read_golden(&f, "detect.index");
    cr_assert_eq(f.size, 1184);
    cr_assert_arr_eq(f.data, "YPKINDEX", 8);
    cr_assert_arr_eq(f.data + 8, ((uint8_t[]){1, 0, 0, 0, 4, 3, 2, 1}), 8);
    cr_assert_eq(load_u64(f.data + 16), 1184);
    cr_assert_eq(load_u64(f.data + 40), 3);
    cr_assert_eq(load_u32(f.data + 48), 4096);
    cr_assert_eq(load_u32(f.data + 52), 6);
    cr_assert_arr_eq(f.data + 56, ((uint8_t[]){1, 3, 2, 0, 0, 0, 2, 0}), 8);
    cr_assert_str_eq((const char *)f.data + 64, "train");
    cr_assert_arr_eq(f.data + 112, ((uint8_t[]){0, 4, 0xe0, 1, 0x80, 1, 0x20, 1}), 8);
    cr_assert_eq(load_u32(f.data + 120), 112 + 90000);
    cr_assert_eq(load_u32(f.data + 124), 2);
    const uint8_t *row = f.data + 512;
    cr_assert_eq(load_u64(row), 12304);
    cr_assert_arr_eq(row + 8, ((uint8_t[]){0, 0, 1, 0x11, 0, 0, 0, 0}), 8);
    cr_assert_eq(load_u64(row + 16), 0x1111111111111111);
    cr_assert_eq(load_u32(row + 36), 20111);
    cr_assert_eq(load_u16(row + 54), 256);
    cr_assert_eq(load_u32(row + 56 + 12), 13 + 15 + 13);
    bytes_deinit(&f);
}
