#include "tiny_source.h"

TestSuite(source_bmp, .init = codec_open, .fini = codec_close);

struct bmp_recipe {
    unsigned header_bytes; /* 0: 40 */
    int32_t width, height;
    unsigned bits, compression, colours;
    const uint32_t *masks; /* 3 */
    const uint8_t *palette;
    size_t palette_bytes;
};

/* `rows` as the file has them, bottom row first unless the height is negative, padded. */
static struct bytes make_bmp(const struct bmp_recipe *r, const void *rows, size_t n) {
    unsigned header_bytes = r->header_bytes ? r->header_bytes : 40;
    struct bytes out = {0};
    uint8_t h[14 + 124] = "BM", *info = h + 14;
    size_t masks = r->masks && header_bytes == 40 ? 12 : 0;
    store_u32(h + 10, (uint32_t)(14 + header_bytes + masks + r->palette_bytes));
    store_u32(info, header_bytes);
    if (header_bytes == 12) {
        store_u16(info + 4, (uint16_t)r->width);
        store_u16(info + 6, (uint16_t)r->height);
        store_u16(info + 8, 1);
        store_u16(info + 10, (uint16_t)r->bits);
    } else {
        store_u32(info + 4, (uint32_t)r->width);
        store_u32(info + 8, (uint32_t)r->height);
        store_u16(info + 12, 1);
        store_u16(info + 14, (uint16_t)r->bits);
        store_u32(info + 16, r->compression);
        store_u32(info + 32, r->colours);
        for (int c = 0; r->masks && c < 3; c++)
            store_u32(info + 40 + 4 * c, r->masks[c]);
    }
    cr_assert_eq(bytes_append(&out, h, 14 + header_bytes + masks), 0);
    if (r->palette_bytes > 0)
        cr_assert_eq(bytes_append(&out, r->palette, r->palette_bytes), 0);
    cr_assert_eq(bytes_append(&out, rows, n), 0);
    return out;
}

static int try_decode(const struct bytes *b, size_t n, struct pixels *p) {
    struct span file = copy_of(b->data, n);
    const struct source_image_format *format = source_image_sniff(file);
    int rc = format ? format->decode(codec, p, warning, file, &error) : ERR_INPUT;
    if (!format)
        *p = (struct pixels){0};
    free((void *)file.data);
    return rc;
}

static void assert_pixels(const struct bmp_recipe *r, const void *rows, size_t n, const uint8_t *expected) {
    struct bytes b = make_bmp(r, rows, n);
    struct pixels p;
    cr_assert_eq(try_decode(&b, b.size, &p), 0, "%s", error.message);
    cr_assert(p.channels == 3 && p.depth == 8);
    cr_expect_arr_eq(p.data, expected, (size_t)p.width * p.height * 3);
    pixels_deinit(&p);
    bytes_deinit(&b);
}

static void assert_refused(const struct bmp_recipe *r, const void *rows, size_t n, int code, const char *text) {
    struct bytes b = make_bmp(r, rows, n);
    struct pixels p;
    cr_expect_eq(try_decode(&b, b.size, &p), code, "%s: %s", text, error.message);
    cr_expect_not_null(strstr(error.message, text), "%s", error.message);
    cr_expect_null(p.data);
    bytes_deinit(&b);
}

static const uint8_t two_by_two[16] = {9, 8, 7, 6, 5, 4, 0, 0, 3, 2, 1, 30, 20, 10, 0, 0};

Test(source_bmp, rows_upwards_and_downwards) {
    static const uint8_t upwards[] = {1, 2, 3, 10, 20, 30, 7, 8, 9, 4, 5, 6},
                         downwards[] = {7, 8, 9, 4, 5, 6, 1, 2, 3, 10, 20, 30};
    static const unsigned headers[] = {40, 52, 56, 64, 108, 124};
    for (size_t i = 0; i < 6; i++) {
        assert_pixels(&(struct bmp_recipe){.header_bytes = headers[i], .width = 2, .height = 2, .bits = 24}, two_by_two,
                      16, upwards);
        assert_pixels(&(struct bmp_recipe){.header_bytes = headers[i], .width = 2, .height = -2, .bits = 24},
                      two_by_two, 16, downwards);
    }
    assert_pixels(&(struct bmp_recipe){.header_bytes = 12, .width = 2, .height = 2, .bits = 24}, two_by_two, 16,
                  upwards);
    assert_pixels(&(struct bmp_recipe){.width = 2, .height = 2, .bits = 24}, two_by_two, 14,
                  upwards); /* no last padding */
}

Test(source_bmp, palettes) {
    static const uint8_t colours4[] = {3, 2, 1, 0, 6, 5, 4, 0, 9, 8, 7, 0, 12, 11, 10, 0},
                         colours3[] = {3, 2, 1, 6, 5, 4};
    static const uint8_t one[] = {1, 2, 3, 4, 5, 6, 1, 2, 3}, four[] = {7, 8, 9, 10, 11, 12, 0, 0, 0};
    assert_pixels(&(struct bmp_recipe){.width = 3, .height = 1, .bits = 1, .palette = colours4, .palette_bytes = 8},
                  "\x40\0\0", 4, one);
    assert_pixels(
        &(struct bmp_recipe){
            .header_bytes = 12, .width = 3, .height = 1, .bits = 1, .palette = colours3, .palette_bytes = 6},
        "\x40\0\0", 4, one);
    /* An index past the palette is black, and not what the memory held. */
    assert_pixels(&(struct bmp_recipe){.width = 3, .height = 1, .bits = 4, .palette = colours4, .palette_bytes = 16},
                  "\x23\xF0\0", 4, four);
    assert_pixels(&(struct bmp_recipe){.width = 3, .height = 1, .bits = 8, .palette = colours4, .palette_bytes = 16},
                  "\x02\x03\xC8", 4, four);
    assert_pixels(
        &(struct bmp_recipe){
            .width = 3, .height = 1, .bits = 8, .colours = 4, .palette = colours4, .palette_bytes = 16},
        "\x02\x03\x04", 4, four);
}

Test(source_bmp, bit_fields) {
    static const uint32_t rgb565[3] = {0xF800, 0x07E0, 0x001F}, swapped[3] = {0xFF, 0xFF00, 0xFF0000};
    static const uint8_t primaries[] = {255, 0, 0, 0, 255, 0}, wide[] = {1, 2, 3};
    assert_pixels(&(struct bmp_recipe){.width = 2, .height = 1, .bits = 16, .compression = 3, .masks = rgb565},
                  (uint16_t[]){0xF800, 0x07E0}, 4, primaries);
    assert_pixels(
        &(struct bmp_recipe){
            .header_bytes = 56, .width = 2, .height = 1, .bits = 16, .compression = 3, .masks = rgb565},
        (uint16_t[]){0xF800, 0x07E0}, 4, primaries);
    assert_pixels(&(struct bmp_recipe){.width = 2, .height = 1, .bits = 16}, (uint16_t[]){0x7C00, 0x03E0}, 4,
                  primaries);
    assert_pixels(&(struct bmp_recipe){.width = 1, .height = 1, .bits = 32, .compression = 3, .masks = swapped},
                  (uint8_t[]){1, 2, 3, 77}, 4, wide);
    assert_pixels(&(struct bmp_recipe){.width = 1, .height = 1, .bits = 32}, (uint8_t[]){3, 2, 1, 77}, 4, wide);
}

Test(source_bmp, refusals_by_name) {
    static const uint32_t broken[3] = {0x80000001, 0xFF00, 0xFF}, deep[3] = {0x3FF00000, 0xFFC00, 0x3FF}, none[3] = {0};
    static const uint8_t palette[8] = {0};
    static const struct {
        struct bmp_recipe recipe;
        int code;
        const char *text;
    } cases[] = {
        {{.width = 2, .height = 2, .bits = 8, .compression = 1}, ERR_UNSUPPORTED, "run-length"},
        {{.width = 2, .height = 2, .bits = 4, .compression = 2}, ERR_UNSUPPORTED, "run-length"},
        {{.width = 2, .height = 2, .bits = 24, .compression = 4}, ERR_UNSUPPORTED, "JPEG"},
        {{.width = 2, .height = 2, .bits = 24, .compression = 5}, ERR_UNSUPPORTED, "PNG"},
        {{.width = 2, .height = 2, .bits = 24, .compression = 77}, ERR_UNSUPPORTED, "compression 77"},
        {{.width = 2, .height = 2, .bits = 24, .compression = 3, .masks = deep}, ERR_INPUT, "bit fields"},
        {{.width = 1, .height = 1, .bits = 32, .compression = 3, .masks = broken}, ERR_UNSUPPORTED, "0x80000001"},
        {{.width = 1, .height = 1, .bits = 32, .compression = 3, .masks = deep}, ERR_UNSUPPORTED, "0x3ff00000"},
        {{.width = 1, .height = 1, .bits = 32, .compression = 3, .masks = none}, ERR_UNSUPPORTED, "0x00000000"},
        {{.width = 2, .height = 2, .bits = 15}, ERR_INPUT, "15 bits"},
        {{.width = 0, .height = 2, .bits = 24}, ERR_INPUT, "no size"},
        {{.width = -2, .height = 2, .bits = 24}, ERR_INPUT, "a side is over"},
        {{.width = 2, .height = INT32_MIN, .bits = 24}, ERR_INPUT, "a side is over"},
        {{.width = 60000, .height = 60000, .bits = 24}, ERR_INPUT, "cut"},
        {{.width = 3, .height = 2, .bits = 24}, ERR_INPUT, "cut"},
        {{.width = 2, .height = 2, .bits = 8}, ERR_INPUT, "palette"},
        {{.header_bytes = 16, .width = 2, .height = 2, .bits = 24, .palette = palette, .palette_bytes = 8},
         ERR_UNSUPPORTED,
         "header of 16 bytes"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        assert_refused(&cases[i].recipe, two_by_two, 16, cases[i].code, cases[i].text);
}

Test(source_bmp, cut_anywhere) {
    struct bytes b = make_bmp(&(struct bmp_recipe){.width = 2, .height = 2, .bits = 24}, two_by_two, 14);
    struct pixels p;
    for (size_t n = 0; n < b.size; n++) {
        cr_expect_eq(try_decode(&b, n, &p), ERR_INPUT, "%zu bytes", n);
        cr_expect_null(p.data);
    }
    store_u32(b.data + 10, 20); /* pixels inside the header */
    cr_expect_eq(try_decode(&b, b.size, &p), ERR_INPUT);
    store_u32(b.data + 10, UINT32_MAX);
    cr_expect_eq(try_decode(&b, b.size, &p), ERR_INPUT);
    bytes_deinit(&b);
}
