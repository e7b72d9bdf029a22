#include "jpeg.h"
#include "tiny_pictures.h"

#include <glob.h>
#include <math.h>

static struct error error;
static struct jpeg *jpeg;

static void setup(void) {
    cr_assert_eq(jpeg_handle_create(&jpeg, &error), 0);
}

static void teardown(void) {
    jpeg_handle_destroy(&jpeg);
    cr_assert_null(jpeg);
}

TestSuite(jpeg, .init = setup, .fini = teardown);

static struct span span_of(const struct bytes *b) {
    return (struct span){b->data, b->size};
}

static struct bytes textured_jpeg(uint32_t width, uint32_t height, int channels, const struct jpeg_recipe *recipe) {
    struct pixels p = make_texture(width, height, channels, 8);
    struct bytes b = make_jpeg(&p, channels, recipe);
    pixels_deinit(&p);
    return b;
}

static struct jpeg_check check_of(struct span file) {
    struct jpeg_check check;
    cr_assert_eq(jpeg_check_full(jpeg, &check, file, &error), 0, "%s", error.message);
    return check;
}

static uint32_t next_random(uint32_t *state) {
    return (*state = *state * 1664525 + 1013904223) >> 8;
}

/* What is decoded straight to planes is whole, and the same; `pixels` has three channels. True if it was decoded. */
static bool planes_agree(struct span file, const struct pixels *pixels, bool whole, enum cpu_level level) {
    const size_t stride = pixels->width + 3, plane = stride * pixels->height;
    uint8_t *data = malloc(3 * plane);
    cr_assert_not_null(data);
    memset(data, 0xAA, 3 * plane);
    struct jpeg_planes out = {{data, data + plane, data + 2 * plane}, stride, pixels->width, pixels->height, 3};
    bool decoded;
    cr_assert_eq(jpeg_decode_planes(jpeg, &out, &decoded, file, level, &error), 0, "%s", error.message);
    cr_assert(!decoded || whole, "level %d takes what is not whole", (int)level);
    for (size_t y = 0; decoded && y < pixels->height; y++)
        for (size_t c = 0; c < 3; c++) {
            for (size_t x = 0; x < pixels->width; x++)
                cr_assert_eq(out.plane[c][y * stride + x], pixels->data[y * pixels->stride + 3 * x + c],
                             "level %d, channel %zu at %zu, %zu of %ux%u", (int)level, c, x, y, pixels->width,
                             pixels->height);
            for (size_t x = pixels->width; x < stride; x++)
                cr_assert_eq(out.plane[c][y * stride + x], 0xAA, "written behind the row");
        }
    free(data);
    return decoded;
}

/* Decodes and checks; both must agree, and what goes straight to planes with them. True if the picture is whole. */
static bool decodes(struct span file, uint32_t width, uint32_t height, struct pixels *out) {
    struct jpeg_check check;
    cr_assert_eq(pixels_init(out, width, height, 3, 8, &error), 0);
    memset(out->data, 0xAA, out->stride * out->height);
    int rc = jpeg_decode(jpeg, file, out, false, &error);
    bool complete = jpeg_check_full(jpeg, &check, file, NULL) == 0 && check.complete;
    cr_assert_eq(complete, rc == 0, "check says %d, decode %d: %s", complete, rc, error.message);
    if (rc != 0) {
        cr_assert_eq(rc, ERR_INPUT);
        for (size_t i = 0; i < out->stride * out->height; i++)
            cr_assert_eq(out->data[i], 0, "left over at byte %zu", i);
    }
    for (enum cpu_level level = CPU_PLAIN; level <= cpu_level(); level++)
        planes_agree(file, out, complete, level);
    return rc == 0;
}

static bool is_whole(struct span file, uint32_t width, uint32_t height) {
    struct pixels p;
    bool whole = decodes(file, width, height, &p);
    pixels_deinit(&p);
    return whole;
}

/* What djpeg -dct int does. */
static struct pixels plain_decode(struct span file, J_COLOR_SPACE space) {
    struct jpeg_decompress_struct d;
    struct jpeg_error_mgr manager;
    struct pixels p;
    d.err = jpeg_std_error(&manager);
    jpeg_create_decompress(&d);
    jpeg_mem_src(&d, file.data, file.size);
    jpeg_read_header(&d, TRUE);
    d.out_color_space = space;
    d.dct_method = JDCT_ISLOW;
    jpeg_start_decompress(&d);
    cr_assert_eq(pixels_init(&p, d.output_width, d.output_height, d.output_components, 8, NULL), 0);
    while (d.output_scanline < d.output_height) {
        JSAMPROW row = p.data + d.output_scanline * p.stride;
        jpeg_read_scanlines(&d, &row, 1);
    }
    jpeg_finish_decompress(&d);
    jpeg_destroy_decompress(&d);
    return p;
}

/* ---- probe ------------------------------------------------------------------------------------------------------- */

Test(jpeg, probe_kinds) {
    static const struct {
        struct jpeg_recipe recipe;
        int channels;
        const char *subsampling;
    } kinds[] = {
        {{0}, 3, "4:4:4"},
        {{.h = 2}, 3, "4:2:2"},
        {{.h = 2, .v = 2}, 3, "4:2:0"},
        {{.v = 2}, 3, "4:4:0"},
        {{.h = 4}, 3, "4:1:1"},
        {{.h = 3}, 3, "other"},
        {{0}, 1, "gray"},
        {{.progressive = true}, 3, "4:4:4"},
        {{.arithmetic = true}, 3, "4:4:4"},
    };
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        struct bytes b = textured_jpeg(45, 33, kinds[i].channels, &kinds[i].recipe);
        struct jpeg_info info;
        cr_assert_eq(jpeg_probe(jpeg, &info, span_of(&b), &error), 0, "%s", error.message);
        cr_assert_eq(info.width, 45);
        cr_assert_eq(info.height, 33);
        cr_assert_eq(info.components, kinds[i].channels);
        cr_assert_eq(info.precision, 8);
        cr_assert_eq(info.orientation, 1);
        cr_assert_not(info.orientation_broken);
        cr_assert_eq(info.progressive, kinds[i].recipe.progressive);
        cr_assert_eq(info.arithmetic, kinds[i].recipe.arithmetic);
        cr_assert_not(info.cmyk);
        cr_assert_str_eq(info.subsampling, kinds[i].subsampling);
        bytes_deinit(&b);
    }
}

Test(jpeg, probe_orientation) {
    for (int o = 1; o <= 8; o++)
        for (int big = 0; big < 2; big++)
            for (size_t at = 2; at <= 20; at += 18) {
                struct bytes b = textured_jpeg(16, 16, 3, &(struct jpeg_recipe){0});
                struct jpeg_info info;
                insert_exif(&b, at, big, o);
                insert_bytes(&b, at, "\xFF\xE1\x00\x09http:\xFF", 11); /* XMP in front, not even UTF-8 */
                insert_exif(&b, b.size - 2, big, 9 - o);               /* and a second one, too late to count */
                cr_assert_eq(jpeg_probe(jpeg, &info, span_of(&b), &error), 0, "%s", error.message);
                cr_assert_eq(info.orientation, o);
                cr_assert_not(info.orientation_broken);
                bytes_deinit(&b);
            }
}

Test(jpeg, probe_first_exif_counts) {
    struct bytes b = textured_jpeg(16, 16, 3, &(struct jpeg_recipe){0});
    struct jpeg_info info;
    insert_exif(&b, 2, false, 3);
    insert_exif(&b, 2, false, 6);
    cr_assert_eq(jpeg_probe(jpeg, &info, span_of(&b), &error), 0);
    cr_assert_eq(info.orientation, 6);
    bytes_deinit(&b);
}

Test(jpeg, probe_broken_exif_is_upright) {
    static const int values[] = {0, 9, 200};
    for (size_t i = 0; i < 3; i++) {
        struct bytes b = textured_jpeg(16, 16, 3, &(struct jpeg_recipe){0});
        struct jpeg_info info;
        insert_exif(&b, 2, true, values[i]);
        cr_assert_eq(jpeg_probe(jpeg, &info, span_of(&b), &error), 0);
        cr_assert_eq(info.orientation, 1);
        cr_assert(info.orientation_broken);
        bytes_deinit(&b);
    }
    struct bytes b = textured_jpeg(16, 16, 3, &(struct jpeg_recipe){0});
    struct jpeg_info info;
    insert_bytes(&b, 2,
                 "\xFF\xE1\x00\x02\xFF\xE1\x00\x08"
                 "Exif\0\0",
                 14); /* an empty APP1, an EXIF without TIFF */
    cr_assert_eq(jpeg_probe(jpeg, &info, span_of(&b), &error), 0);
    cr_assert(info.orientation_broken);
    bytes_deinit(&b);
}

Test(jpeg, probe_ignores_thumbnails) {
    struct bytes thumb = textured_jpeg(8, 24, 3, &(struct jpeg_recipe){0});
    struct bytes b = textured_jpeg(40, 32, 3, &(struct jpeg_recipe){0});
    uint8_t head[10] = {0xFF, 0xE1, 0, 0, 'E', 'x', 'i', 'f', 0, 0};
    size_t length = 2 + 6 + thumb.size;
    struct jpeg_info info;

    head[2] = (uint8_t)(length >> 8);
    head[3] = (uint8_t)length;
    insert_bytes(&b, 2, thumb.data, thumb.size);
    insert_bytes(&b, 2, head, sizeof head);
    cr_assert_eq(jpeg_probe(jpeg, &info, span_of(&b), &error), 0);
    cr_assert_eq(info.width, 40);
    cr_assert_eq(info.height, 32);
    struct jpeg_check check = check_of(span_of(&b));
    cr_assert(check.complete);
    cr_assert_eq(check.warning_count, 0);
    bytes_deinit(&thumb);
    bytes_deinit(&b);
}

Test(jpeg, probe_refuses_by_name) {
    struct bytes b = textured_jpeg(16, 16, 3, &(struct jpeg_recipe){0});
    struct jpeg_info info;
    size_t sof = find_marker(&b, 0xC0, 0);

    b.data[sof + 4] = 12;
    b.data[sof + 1] = 0xC1;
    cr_assert_eq(jpeg_probe(jpeg, &info, span_of(&b), &error), ERR_UNSUPPORTED);
    cr_assert_str_eq(error.message, "unsupported precision 12");
    b.data[sof + 4] = 8;
    b.data[sof + 1] = 0xC3;
    struct bytes lossless = b;
    size_t sos = find_marker(&b, 0xDA, 0);
    lossless.data[sos + 11] = 1; /* predictor */
    lossless.data[sos + 12] = 0;
    cr_assert_eq(jpeg_probe(jpeg, &info, span_of(&lossless), &error), ERR_UNSUPPORTED);
    cr_assert_str_eq(error.message, "unsupported SOF3 (lossless)");
    b.data[sof + 1] = 0xC5;
    cr_assert_eq(jpeg_probe(jpeg, &info, span_of(&b), &error), ERR_UNSUPPORTED);
    cr_assert_str_eq(error.message, "unsupported SOF5 (hierarchical)");
    b.data[sof + 1] = 0xC0;
    memset(b.data + sof + 5, 0, 2);
    cr_assert_eq(jpeg_probe(jpeg, &info, span_of(&b), &error), ERR_INPUT);
    bytes_deinit(&b);
}

Test(jpeg, probe_cut_header) {
    struct bytes b = textured_jpeg(16, 16, 3, &(struct jpeg_recipe){0});
    size_t end = find_marker(&b, 0xDA, 0) + 14;
    for (size_t n = 0; n < end; n++) {
        struct span cut = copy_of(b.data, n);
        struct jpeg_info info;
        struct jpeg_check check;
        cr_assert_eq(jpeg_probe(jpeg, &info, cut, &error), ERR_INPUT, "%zu bytes", n);
        cr_assert_neq(error.message[0], 0);
        cr_assert_eq(jpeg_check_full(jpeg, &check, cut, &error), ERR_INPUT, "%zu bytes", n);
        free((void *)cut.data);
    }
    bytes_deinit(&b);
}

/* ---- check and decode -------------------------------------------------------------------------------------------- */

static const struct jpeg_recipe all_kinds[] = {
    {0},
    {.h = 2},
    {.h = 2, .v = 2},
    {.v = 2},
    {.h = 4},
    {.h = 2, .v = 2, .restart_rows = 1},
    {.progressive = true, .h = 2, .v = 2},
    {.separate_scans = true, .h = 2},
    {.arithmetic = true},
    {.to = JCS_RGB},
};
enum { KINDS = sizeof all_kinds / sizeof all_kinds[0], ARITHMETIC = 8, PROGRESSIVE = 6 };

Test(jpeg, decode_equals_plain_libjpeg) {
    for (size_t i = 0; i < KINDS; i++) {
        struct bytes b = textured_jpeg(83, 57, 3, &all_kinds[i]);
        struct pixels rgb, gray;
        cr_assert(decodes(span_of(&b), 83, 57, &rgb), "kind %zu", i);
        struct pixels expected = plain_decode(span_of(&b), JCS_RGB);
        cr_assert(same_pixels(&rgb, &expected), "kind %zu", i);
        pixels_deinit(&expected);

        cr_assert_eq(pixels_init(&gray, 83, 57, 1, 8, &error), 0);
        cr_assert_eq(jpeg_decode(jpeg, span_of(&b), &gray, false, &error), 0);
        expected = plain_decode(span_of(&b), JCS_GRAYSCALE);
        cr_assert(same_pixels(&gray, &expected), "kind %zu", i);
        pixels_deinit(&expected);
        pixels_deinit(&gray);
        pixels_deinit(&rgb);
        bytes_deinit(&b);
    }
}

Test(jpeg, decode_keeps_to_the_stride) {
    struct bytes b = textured_jpeg(21, 9, 3, &(struct jpeg_recipe){0});
    struct pixels tight;
    uint8_t wide[100 * 9];
    struct pixels out = {wide, 100, 21, 9, 3, 8};
    memset(wide, 0x55, sizeof wide);
    cr_assert(decodes(span_of(&b), 21, 9, &tight));
    cr_assert_eq(jpeg_decode(jpeg, span_of(&b), &out, false, &error), 0);
    cr_assert(same_pixels(&tight, &out));
    for (size_t y = 0; y < 9; y++)
        for (size_t x = 63; x < 100; x++)
            cr_assert_eq(wide[y * 100 + x], 0x55);
    pixels_deinit(&tight);
    bytes_deinit(&b);
}

Test(jpeg, decode_gray_file_to_rgb) {
    struct bytes b = textured_jpeg(31, 17, 1, &(struct jpeg_recipe){0});
    struct pixels rgb;
    cr_assert(decodes(span_of(&b), 31, 17, &rgb));
    struct pixels expected = plain_decode(span_of(&b), JCS_RGB);
    cr_assert(same_pixels(&rgb, &expected));
    pixels_deinit(&expected);
    pixels_deinit(&rgb);
    bytes_deinit(&b);
}

/* Where there is no chroma to interpolate and nothing to scale, fast and exact are one. */
Test(jpeg, fast_decode) {
    const struct jpeg_recipe full = {.h = 1, .v = 1};
    struct bytes file = textured_jpeg(100, 75, 3, &full);
    struct pixels exact, fast;
    cr_assert_eq(pixels_init(&exact, 100, 75, 3, 8, NULL), 0);
    cr_assert_eq(pixels_init(&fast, 100, 75, 3, 8, NULL), 0);
    cr_assert_eq(jpeg_decode(jpeg, span_of(&file), &exact, false, &error), 0);
    cr_assert_eq(jpeg_decode_fast(jpeg, span_of(&file), &fast, false, &error), 0);
    cr_assert_arr_eq(exact.data, fast.data, 100 * 75 * 3);
    pixels_deinit(&fast);
    for (int eighths = 1; eighths < 8; eighths++) {
        uint32_t width = jpeg_scaled_side(100, eighths), height = jpeg_scaled_side(75, eighths);
        cr_assert_eq(pixels_init(&fast, width, height, 3, 8, NULL), 0);
        cr_assert_eq(jpeg_decode_fast(jpeg, span_of(&file), &fast, false, &error), 0, "%s", error.message);
        cr_assert_neq(jpeg_decode(jpeg, span_of(&file), &fast, false, &error), 0, "exact is never scaled");
        pixels_deinit(&fast);
    }
    cr_assert_eq(pixels_init(&fast, 51, 38, 3, 8, NULL), 0);
    cr_assert_eq(jpeg_decode_fast(jpeg, span_of(&file), &fast, false, &error), ERR_INPUT, "no scale gives 51x38");
    pixels_deinit(&fast);
    pixels_deinit(&exact);
    bytes_deinit(&file);
}

Test(jpeg, decode_checks_its_arguments) {
    struct bytes b = textured_jpeg(16, 16, 3, &(struct jpeg_recipe){0});
    struct pixels out;
    cr_assert_eq(pixels_init(&out, 16, 15, 3, 8, &error), 0);
    memset(out.data, 1, out.stride * out.height);
    cr_assert_eq(jpeg_decode(jpeg, span_of(&b), &out, false, &error), ERR_INPUT);
    cr_assert_eq(out.data[0], 0);
    out.channels = 2;
    cr_assert_eq(jpeg_decode(jpeg, span_of(&b), &out, false, &error), ERR_ARGUMENT);
    out.channels = 3;
    out.stride = 47;
    cr_assert_eq(jpeg_decode(jpeg, span_of(&b), &out, false, &error), ERR_ARGUMENT);
    pixels_deinit(&out);
    bytes_deinit(&b);
}

Test(jpeg, gray_in_three_components) {
    static const struct jpeg_recipe kinds[] = {{0}, {.h = 2, .v = 2}, {.progressive = true}, {.separate_scans = true}};
    for (size_t i = 0; i < 4; i++) {
        struct pixels p = make_gray_rgb(67, 45), rgb, gray;
        struct bytes b = make_jpeg(&p, 3, &kinds[i]);
        struct jpeg_check check = check_of(span_of(&b));
        cr_assert(check.complete);
        cr_assert(check.equal_channels);
        cr_assert_eq(check.rows_decoded, 45);

        cr_assert(decodes(span_of(&b), 67, 45, &rgb));
        cr_assert(pixels_equal_channels(&rgb));
        cr_assert_eq(pixels_init(&gray, 67, 45, 3, 8, &error), 0);
        cr_assert_eq(jpeg_decode(jpeg, span_of(&b), &gray, true, &error), 0);
        cr_assert(same_pixels(&rgb, &gray));
        pixels_deinit(&gray);
        pixels_deinit(&rgb);
        pixels_deinit(&p);
        bytes_deinit(&b);
    }
}

Test(jpeg, one_coloured_block_is_not_gray) {
    for (int progressive = 0; progressive < 2; progressive++) {
        struct pixels p = make_gray_rgb(64, 64);
        for (uint32_t y = 56; y < 64; y++) /* the last block, long after the rows that are looked at first */
            for (uint32_t x = 56; x < 64; x++)
                p.data[y * p.stride + 3 * x] ^= 0x40;
        struct bytes b = make_jpeg(&p, 3, &(struct jpeg_recipe){.progressive = progressive});
        struct jpeg_check check = check_of(span_of(&b));
        cr_assert(check.complete);
        cr_assert_not(check.equal_channels);
        pixels_deinit(&p);
        bytes_deinit(&b);
    }
}

Test(jpeg, missing_eoi_is_accepted) {
    for (size_t i = 0; i < KINDS; i++) {
        struct bytes b = textured_jpeg(64, 48, 3, &all_kinds[i]);
        struct pixels whole, cut;
        cr_assert(decodes(span_of(&b), 64, 48, &whole));
        cr_assert_str_eq(jpeg_warning(jpeg), "");
        for (size_t lost = 1; lost <= 2; lost++) {
            struct span file = copy_of(b.data, b.size - lost);
            if (i == ARITHMETIC) {
                cr_assert_not(is_whole(file, 64, 48), "nothing proves that the data are all there");
            } else {
                struct jpeg_check check = check_of(file);
                cr_assert(check.complete, "kind %zu: %s", i, check.warning);
                cr_assert(check.missing_eoi);
                cr_assert_eq(check.rows_decoded, 48);
                cr_assert_eq(check.warning_count, 0);
                cr_assert(decodes(file, 64, 48, &cut));
                cr_assert(same_pixels(&whole, &cut));
                pixels_deinit(&cut);
            }
            free((void *)file.data);
        }
        pixels_deinit(&whole);
        bytes_deinit(&b);
    }
}

Test(jpeg, cut_anywhere_is_refused) {
    for (size_t i = 0; i < KINDS; i++) {
        struct bytes b = textured_jpeg(48, 40, 3, &all_kinds[i]);
        for (size_t n = b.size - 4; n > 200; n -= 1 + n / 64) { /* the last two bytes of the data are cut at least */
            struct span file = copy_of(b.data, n);
            cr_assert_not(is_whole(file, 48, 40), "kind %zu, %zu of %zu bytes", i, n, b.size);
            free((void *)file.data);
        }
        bytes_deinit(&b);
    }
}

Test(jpeg, cut_between_scans_is_refused) {
    static const struct jpeg_recipe kinds[] = {{.progressive = true}, {.separate_scans = true}};
    for (size_t i = 0; i < 2; i++) {
        struct bytes b = textured_jpeg(48, 40, 3, &kinds[i]);
        for (int scan = 1; scan < (i == 0 ? 10 : 3); scan++) {
            size_t at = find_marker(&b, 0xDA, scan);
            while (b.data[at - 1] != 0xFF || b.data[at] != 0xC4) /* back over the scan's Huffman tables */
                if (--at < 4 || at + 400 < find_marker(&b, 0xDA, scan))
                    break;
            size_t cut = b.data[at] == 0xC4 ? at - 1 : find_marker(&b, 0xDA, scan);
            cr_assert_not(is_whole((struct span){b.data, cut}, 48, 40), "kind %zu, before scan %d", i, scan);
            cr_assert_not(is_whole((struct span){b.data, find_marker(&b, 0xDA, scan)}, 48, 40));
            cr_assert_not(is_whole((struct span){b.data, find_marker(&b, 0xDA, scan) + 5}, 48, 40));
        }
        bytes_deinit(&b);
    }
}

Test(jpeg, rows_decoded_of_a_cut_picture) {
    struct bytes b = textured_jpeg(64, 320, 3, &(struct jpeg_recipe){.restart_rows = 1});
    for (int row = 1; row < 39; row += 7) {
        /* Cut right behind the restart marker that ends this row of blocks. */
        size_t n = 0;
        for (int seen = 0; seen < row; n++)
            seen += b.data[n] == 0xFF && b.data[n + 1] >= 0xD0 && b.data[n + 1] <= 0xD7;
        struct jpeg_check check = check_of((struct span){b.data, n + 1});
        cr_assert_not(check.complete);
        cr_assert_not(check.corrupt);
        cr_assert_not(check.missing_eoi);
        cr_assert_eq(check.rows_decoded, (uint32_t)row * 8, "%u rows, cut after %d", check.rows_decoded, row * 8);
        cr_assert_neq(check.warning[0], 0);
    }
    bytes_deinit(&b);
}

Test(jpeg, cut_and_filled_with_zeros) {
    struct bytes b = textured_jpeg(64, 64, 3, &(struct jpeg_recipe){0});
    memset(b.data + b.size * 6 / 10, 0, b.size - b.size * 6 / 10);
    cr_assert_not(is_whole(span_of(&b), 64, 64));
    bytes_deinit(&b);

    /* All of the picture, and zeros where the EOI should be: nothing proves that they are not lost data. */
    b = textured_jpeg(64, 64, 3, &(struct jpeg_recipe){0});
    memset(b.data + b.size - 2, 0, 2);
    uint8_t zeros[64] = {0};
    insert_bytes(&b, b.size, zeros, sizeof zeros);
    cr_assert_not(is_whole(span_of(&b), 64, 64));
    bytes_deinit(&b);
}

Test(jpeg, bytes_after_the_picture_are_silent) {
    static const char text[] = "\r\n--boundary\r\nContent-Type: image/jpeg\r\n";
    for (size_t i = 0; i < KINDS; i++) {
        struct bytes b = textured_jpeg(32, 24, 3, &all_kinds[i]), again = {0}, other;
        struct pixels whole, with_tail;
        uint8_t zeros[64] = {0};
        size_t size = b.size;

        cr_assert(decodes(span_of(&b), 32, 24, &whole));
        other = textured_jpeg(16, 16, 3, &(struct jpeg_recipe){0});
        for (int tail = 0; tail < 3; tail++) {
            b.size = size;
            const void *data = tail == 0 ? (const void *)zeros : tail == 1 ? (const void *)text : other.data;
            cr_assert_eq(bytes_append(&b, data, tail == 0 ? 64 : tail == 1 ? sizeof text : other.size), 0);
            struct jpeg_check check = check_of(span_of(&b));
            cr_assert(check.complete);
            cr_assert_not(check.missing_eoi);
            cr_assert_eq(check.warning_count, 0);
            cr_assert(decodes(span_of(&b), 32, 24, &with_tail));
            cr_assert(same_pixels(&whole, &with_tail));
            pixels_deinit(&with_tail);
        }
        pixels_deinit(&whole);
        bytes_deinit(&again);
        bytes_deinit(&other);
        bytes_deinit(&b);
    }
}

Test(jpeg, junk_between_segments_is_a_warning) {
    struct bytes b = textured_jpeg(32, 24, 3, &(struct jpeg_recipe){0});
    insert_bytes(&b, find_marker(&b, 0xDB, 0), "\x01\x02\xFF\x00", 4);
    struct jpeg_check check = check_of(span_of(&b));
    cr_assert(check.complete);
    cr_assert_eq(check.warning_count, 1);
    cr_assert_neq(check.warning[0], 0);
    cr_assert(is_whole(span_of(&b), 32, 24));
    cr_assert_neq(jpeg_warning(jpeg)[0], 0);
    bytes_deinit(&b);
}

/* `size` bytes of one value or of many before the EOI marker, none of them 0xFF. */
static struct jpeg_check check_before_eoi(size_t size, bool many) {
    struct bytes b = textured_jpeg(32, 24, 3, &(struct jpeg_recipe){0});
    char stray[400] = {0};
    uint32_t state = 1;
    for (size_t i = 0; many && i < size; i++)
        stray[i] = (char)(next_random(&state) % 255);
    insert_bytes(&b, find_marker(&b, 0xD9, 0), stray, size);
    struct jpeg_check check = check_of(span_of(&b));
    cr_assert_eq(is_whole(span_of(&b), 32, 24), check.complete);
    bytes_deinit(&b);
    return check;
}

Test(jpeg, data_left_over_at_the_end_are_corrupt) {
    for (int many = 0; many < 2; many++) {
        struct jpeg_check check = check_before_eoi(20, many);
        cr_assert(check.complete, "%s", check.warning);
        cr_assert_eq(check.warning_count, 1);
    }
    cr_assert(check_before_eoi(400, false).complete, "padding");
    struct jpeg_check check = check_before_eoi(400, true);
    cr_assert(!check.complete && check.corrupt);
    cr_assert_neq(strstr(check.warning, "extraneous"), NULL, "%s", check.warning);
}

Test(jpeg, fill_bytes_are_silent) {
    struct bytes b = textured_jpeg(32, 24, 3, &(struct jpeg_recipe){0});
    insert_bytes(&b, 2, "\xFF\xFF\xFF\xFF\xFF", 5);
    insert_bytes(&b, find_marker(&b, 0xDB, 0), "\xFF\xFF", 2);
    struct jpeg_check check = check_of(span_of(&b));
    cr_assert(check.complete);
    cr_assert_eq(check.warning_count, 0);
    bytes_deinit(&b);
}

Test(jpeg, junk_before_restart_is_a_warning) {
    struct bytes b = textured_jpeg(32, 24, 3, &(struct jpeg_recipe){.restart_rows = 1});
    struct pixels whole, junk;
    cr_assert(decodes(span_of(&b), 32, 24, &whole));
    insert_bytes(&b, find_marker(&b, 0xD1, 0), "\x01\x02", 2);
    struct jpeg_check check = check_of(span_of(&b));
    cr_assert(check.complete, "%s", check.warning);
    cr_assert(decodes(span_of(&b), 32, 24, &junk));
    cr_assert(same_pixels(&whole, &junk));
    pixels_deinit(&whole);
    pixels_deinit(&junk);
    bytes_deinit(&b);
}

Test(jpeg, wrong_scan_parameters_are_a_warning) {
    struct bytes b = textured_jpeg(32, 24, 3, &(struct jpeg_recipe){0});
    b.data[find_marker(&b, 0xDA, 0) + 12] = 0; /* Se of a baseline picture */
    struct jpeg_check check = check_of(span_of(&b));
    cr_assert(check.complete);
    cr_assert_eq(check.warning_count, 1);
    cr_assert(is_whole(span_of(&b), 32, 24));
    bytes_deinit(&b);
}

Test(jpeg, lost_restart_marker_is_corrupt) {
    struct bytes b = textured_jpeg(32, 40, 3, &(struct jpeg_recipe){.restart_rows = 1});
    b.data[find_marker(&b, 0xD2, 0) + 1] = 0xD5;
    struct jpeg_check check = check_of(span_of(&b));
    cr_assert_not(check.complete);
    cr_assert(check.corrupt);
    cr_assert_eq(check.rows_decoded, 24);
    cr_assert_not(is_whole(span_of(&b), 32, 40));
    bytes_deinit(&b);
}

Test(jpeg, early_eoi_is_refused) {
    struct bytes b = textured_jpeg(64, 64, 3, &(struct jpeg_recipe){0});
    size_t at = b.size * 7 / 10;
    b.data[at] = 0xFF;
    b.data[at + 1] = 0xD9;
    struct jpeg_check check = check_of((struct span){b.data, at + 2});
    cr_assert_not(check.complete);
    cr_assert_lt(check.rows_decoded, 64);
    cr_assert_not(is_whole((struct span){b.data, at + 2}, 64, 64));
    bytes_deinit(&b);
}

Test(jpeg, unrefined_progressive_with_eoi_is_a_warning) {
    struct pixels p = make_texture(40, 40, 3, 8);
    static const jpeg_scan_info dc_rough[] = {{3, {0, 1, 2}, 0, 0, 0, 1},
                                              {1, {0}, 1, 63, 0, 0},
                                              {1, {1}, 1, 63, 0, 0},
                                              {1, {2}, 1, 63, 0, 0},
                                              {3, {0, 1, 2}, 0, 0, 1, 0}};
    struct bytes b = make_jpeg(&p, 3, &(struct jpeg_recipe){.scans = dc_rough, .scan_count = 5});
    size_t last = find_marker(&b, 0xDA, 4);

    cr_assert(check_of(span_of(&b)).complete);
    cr_assert_not(is_whole((struct span){b.data, last}, 40, 40), "without EOI the scan may be lost");
    b.data[last + 1] = 0xD9;
    struct jpeg_check check = check_of((struct span){b.data, last + 2});
    cr_assert(check.complete);
    cr_assert_eq(check.warning_count, 1);
    cr_assert(is_whole((struct span){b.data, last + 2}, 40, 40));
    bytes_deinit(&b);
    pixels_deinit(&p);
}

Test(jpeg, component_without_scan_is_corrupt) {
    struct bytes b = textured_jpeg(40, 40, 3, &(struct jpeg_recipe){.separate_scans = true});
    size_t third = find_marker(&b, 0xDA, 2), end = third;
    while (b.data[end - 1] != 0xFF || b.data[end] != 0xC4)
        if (end-- + 400 < third)
            break;
    size_t cut = b.data[end] == 0xC4 ? end - 1 : third;
    b.data[cut] = 0xFF;
    b.data[cut + 1] = 0xD9;
    struct jpeg_check check = check_of((struct span){b.data, cut + 2});
    cr_assert_not(check.complete);
    cr_assert(check.corrupt);
    cr_assert_str_eq(check.warning, "a component has no scan");
    bytes_deinit(&b);
}

Test(jpeg, too_many_scans) {
    /* The scan that refines the DC of four blocks: a header of 10 bytes, and one byte. Here it comes 600 times. */
    struct bytes b = textured_jpeg(16, 16, 1, &(struct jpeg_recipe){.progressive = true});
    size_t at = find_marker(&b, 0xDA, 4);
    uint8_t scan[11];
    struct jpeg_check check;
    struct pixels out;

    memcpy(scan, b.data + at, sizeof scan);
    cr_assert_eq(scan[9], 0x10);
    cr_assert_eq(b.data[at + sizeof scan], 0xFF);
    for (int i = 0; i < 600; i++)
        insert_bytes(&b, at, scan, sizeof scan);
    cr_assert_eq(jpeg_check_full(jpeg, &check, span_of(&b), &error), 0);
    cr_assert_not(check.complete);
    cr_assert_str_eq(check.warning, "more than 500 scans");
    cr_assert_not(decodes(span_of(&b), 16, 16, &out));
    pixels_deinit(&out);
    bytes_deinit(&b);
}

Test(jpeg, tables_do_not_survive_their_file) {
    struct bytes b = textured_jpeg(16, 16, 3, &(struct jpeg_recipe){.quality = 30}), other = {0};
    struct pixels out;
    cr_assert(is_whole(span_of(&b), 16, 16));

    /* Without quantisation tables: refused, though the picture before had them. */
    size_t dqt = find_marker(&b, 0xDB, 0), sof = find_marker(&b, 0xC0, 0);
    cr_assert_eq(bytes_append(&other, b.data, dqt), 0);
    cr_assert_eq(bytes_append(&other, b.data + sof, b.size - sof), 0);
    cr_assert_not(is_whole(span_of(&other), 16, 16));

    /* Without Huffman tables (motion JPEG): the standard's own are meant, which this file was written with. */
    other.size = 0;
    size_t dht = find_marker(&b, 0xC4, 0), sos = find_marker(&b, 0xDA, 0);
    cr_assert_eq(bytes_append(&other, b.data, dht), 0);
    cr_assert_eq(bytes_append(&other, b.data + sos, b.size - sos), 0);
    struct pixels in = make_texture(16, 16, 3, 8), whole;
    struct bytes optimised = {0};
    cr_assert_eq(jpeg_encode(jpeg, &optimised, &in, 100, false, &error), 0); /* tables of its own */
    cr_assert(is_whole(span_of(&optimised), 16, 16));
    cr_assert(decodes(span_of(&b), 16, 16, &whole));
    cr_assert(is_whole(span_of(&optimised), 16, 16));
    cr_assert(decodes(span_of(&other), 16, 16, &out));
    cr_assert(same_pixels(&out, &whole));
    pixels_deinit(&in);
    pixels_deinit(&whole);
    pixels_deinit(&out);
    bytes_deinit(&optimised);
    bytes_deinit(&other);
    bytes_deinit(&b);
}

Test(jpeg, hostile_bytes) {
    uint32_t state = 7;
    for (size_t i = 0; i < KINDS; i++) {
        struct bytes b = textured_jpeg(40, 24, 3, &all_kinds[i]);
        for (int round = 0; round < 150; round++) {
            struct span file = copy_of(b.data, b.size);
            for (int flips = 0; flips <= round % 4; flips++) {
                state = state * 1664525 + 1013904223;
                ((uint8_t *)file.data)[(state >> 8) % file.size] ^= (uint8_t)(1u << (state & 7));
            }
            struct jpeg_info info;
            if (jpeg_probe(jpeg, &info, file, &error) == 0 && info.width <= 256 && info.height <= 256)
                is_whole(file, info.width, info.height); /* check and decode agree, and failures leave no pixels */
            free((void *)file.data);
        }
        bytes_deinit(&b);
    }
}

/* ---- planes ------------------------------------------------------------------------------------------------------ */

/* Noise of every strength, so that all lengths of codes and both ends of the range occur. */
static struct pixels make_noise(uint32_t width, uint32_t height, uint32_t *state) {
    struct pixels p;
    cr_assert_eq(pixels_init(&p, width, height, 3, 8, NULL), 0);
    const uint32_t shift = next_random(state) % 8, base = next_random(state) & 0xFF;
    for (size_t i = 0; i < p.stride * height; i++) {
        const uint32_t value = (base + i / 3 % width * 2 + (next_random(state) & 0xFF) / (1u << shift));
        p.data[i] = (uint8_t)(shift == 0 && value & 1 ? 255 * (value >> 1 & 1) : value);
    }
    return p;
}

/* Where this machine has the instructions, pictures of the usual kinds must go straight to planes. */
static void check_planes(const struct pixels *in, const struct jpeg_recipe *recipe, bool taken) {
    struct bytes b = make_jpeg(in, 3, recipe);
    struct pixels out;
    cr_assert_eq(pixels_init(&out, in->width, in->height, 3, 8, &error), 0);
    cr_assert_eq(jpeg_decode(jpeg, span_of(&b), &out, false, &error), 0, "%s", error.message);
    for (enum cpu_level level = CPU_PLAIN; level <= cpu_level(); level++)
        cr_assert_eq(planes_agree(span_of(&b), &out, true, level), taken && level > CPU_PLAIN, "%ux%u, %dx%d, level %d",
                     in->width, in->height, recipe->h, recipe->v, (int)level);
    pixels_deinit(&out);
    bytes_deinit(&b);
}

static const struct { int h, v; } usual[] = {{1, 1}, {2, 1}, {2, 2}};

Test(jpeg, planes_of_every_size) {
    uint32_t state = 1;
    for (uint32_t width = 1; width <= 70; width++)
        for (uint32_t height = 1; height <= 70; height++)
            for (size_t i = 0; i < 3; i++) {
                if ((width + height + i) % 3 != 0 && width > 40 && height > 40)
                    continue;
                struct jpeg_recipe recipe = {.h = usual[i].h, .v = usual[i].v};
                recipe.quality = 1 + (int)(next_random(&state) % 100);
                recipe.restart_rows = (int)(next_random(&state) % 4);
                struct pixels in = make_noise(width, height, &state);
                check_planes(&in, &recipe, usual[i].h == 1 || width > 4);
                pixels_deinit(&in);
            }
}

Test(jpeg, planes_of_every_quality) {
    uint32_t state = 2;
    for (int quality = 1; quality <= 100; quality++)
        for (size_t i = 0; i < 3; i++) {
            struct pixels noise = make_noise(131, 67, &state), smooth = make_texture(260, 51, 3, 8);
            struct jpeg_recipe recipe = {.h = usual[i].h, .v = usual[i].v, .quality = quality};
            check_planes(&noise, &recipe, true);
            check_planes(&smooth, &recipe, true);
            pixels_deinit(&noise);
            pixels_deinit(&smooth);
        }
}

Test(jpeg, planes_of_large_pictures) {
    static const uint32_t sizes[][2] = {{1281, 1023}, {4099, 17}, {16, 2053}, {65500, 3}, {5, 9001}};
    uint32_t state = 3;
    for (size_t k = 0; k < sizeof sizes / sizeof sizes[0]; k++)
        for (size_t i = 0; i < 3; i++) {
            struct pixels in = make_noise(sizes[k][0], sizes[k][1], &state);
            check_planes(&in, &(struct jpeg_recipe){.h = usual[i].h, .v = usual[i].v, .quality = 60 + 10 * (int)i},
                         true);
            pixels_deinit(&in);
        }
}

Test(jpeg, planes_of_other_kinds_are_left_to_the_library) {
    static const struct jpeg_recipe others[] = {
        {.progressive = true},
        {.arithmetic = true},
        {.separate_scans = true},
        {.h = 4},
        {.v = 2},
        {.to = JCS_RGB, .h = 1},
        {.h = 3},
    };
    struct pixels in = make_texture(45, 33, 3, 8);
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        check_planes(&in, &others[i], false);
    pixels_deinit(&in);
}

Test(jpeg, one_plane_is_luma) {
    for (int channels = 1; channels <= 3; channels += 2)
        for (size_t i = 0; i < 3; i++) {
            const struct jpeg_recipe recipe = {.h = usual[i].h, .v = usual[i].v, .restart_rows = 1};
            struct bytes b = textured_jpeg(83, 61, channels, &recipe);
            struct pixels luma;
            bool decoded;
            uint8_t plane[61][83];
            cr_assert_eq(pixels_init(&luma, 83, 61, 1, 8, &error), 0);
            cr_assert_eq(jpeg_decode(jpeg, span_of(&b), &luma, false, &error), 0);
            for (enum cpu_level level = CPU_AVX2; level <= cpu_level(); level++) {
                struct jpeg_planes out = {{plane[0]}, 83, 83, 61, 1};
                cr_assert_eq(jpeg_decode_planes(jpeg, &out, &decoded, span_of(&b), level, &error), 0);
                cr_assert(decoded);
                cr_assert_eq(memcmp(plane, luma.data, sizeof plane), 0);
                out.width--;
                cr_assert_eq(jpeg_decode_planes(jpeg, &out, &decoded, span_of(&b), level, &error), 0);
                cr_assert_not(decoded, "another size");
            }
            pixels_deinit(&luma);
            bytes_deinit(&b);
        }
}

static struct bytes file_content(const char *path) {
    struct bytes b = {0};
    FILE *f = fopen(path, "rb");
    cr_assert_not_null(f);
    for (uint8_t part[4096]; !feof(f);)
        cr_assert_eq(bytes_append(&b, part, fread(part, 1, sizeof part, f)), 0);
    fclose(f);
    return b;
}

/* All JPEGs of a directory. */
static int check_files(const char *pattern) {
    glob_t found;
    int rc = glob(pattern, 0, NULL, &found), taken = 0;
    for (size_t i = 0; rc == 0 && i < found.gl_pathc; i++) {
        struct bytes b = file_content(found.gl_pathv[i]);
        struct jpeg_info info;
        struct pixels out;
        if (jpeg_probe(jpeg, &info, span_of(&b), NULL) == 0) {
            cr_assert_eq(pixels_init(&out, info.width, info.height, 3, 8, &error), 0);
            const bool whole = jpeg_decode(jpeg, span_of(&b), &out, false, &error) == 0;
            for (enum cpu_level level = CPU_AVX2; level <= cpu_level(); level++)
                taken += planes_agree(span_of(&b), &out, whole, level);
            pixels_deinit(&out);
        }
        bytes_deinit(&b);
    }
    globfree(&found);
    return taken;
}

Test(jpeg, planes_of_real_pictures) {
    static const char *const places[] = {"coco128/images/*/*.jpg", "llvip/*/*/*.jpg", "roadscene/images*/*/*.jpg",
                                         "odd/*.jp*g"};
    const char *data = getenv("YPK_TEST_DATA");
    char pattern[4096];
    int taken = 0;
    if (!data)
        cr_skip("YPK_TEST_DATA is not set");
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        snprintf(pattern, sizeof pattern, "%s/%s", data, places[i]);
        taken += check_files(pattern);
    }
    if (cpu_level() > CPU_PLAIN)
        cr_assert_gt(taken, 0, "no picture in YPK_TEST_DATA goes straight to planes");
}

/* ---- CMYK -------------------------------------------------------------------------------------------------------- */

/* Patches of 16x16 px: white, cyan, magenta, yellow, black, and a mixture; as ink, 255 = full. */
static const uint8_t inks[6][4] = {{0, 0, 0, 0},   {255, 0, 0, 0}, {0, 255, 0, 0},
                                   {0, 0, 255, 0}, {0, 0, 0, 255}, {40, 90, 200, 60}};

static struct bytes make_cmyk(J_COLOR_SPACE to, bool adobe) {
    enum { SIDE = 16 };
    uint8_t *data = malloc(6 * SIDE * SIDE * 4);
    cr_assert_not_null(data);
    struct pixels p = {data, 6 * SIDE * 4, 6 * SIDE, SIDE, 3, 8};
    for (size_t y = 0; y < SIDE; y++)
        for (size_t x = 0; x < 6 * SIDE; x++)
            for (size_t c = 0; c < 4; c++)
                data[y * p.stride + 4 * x + c] = inks[x / SIDE][c] ^ (adobe ? 0xFF : 0);
    struct bytes b =
        make_jpeg(&p, 4, &(struct jpeg_recipe){.from = JCS_CMYK, .to = to, .quality = 100, .no_adobe = !adobe});
    free(data);
    return b;
}

Test(jpeg, cmyk_becomes_rgb) {
    static const struct {
        J_COLOR_SPACE to;
        bool adobe;
    } kinds[] = {{JCS_CMYK, true}, {JCS_CMYK, false}, {JCS_YCCK, true}};
    for (size_t i = 0; i < 3; i++) {
        struct bytes b = make_cmyk(kinds[i].to, kinds[i].adobe);
        struct jpeg_info info;
        struct pixels rgb, gray;
        cr_assert_eq(jpeg_probe(jpeg, &info, span_of(&b), &error), 0);
        cr_assert(info.cmyk);
        cr_assert_eq(info.components, 4);
        cr_assert(decodes(span_of(&b), 96, 16, &rgb));
        cr_assert_eq(pixels_init(&gray, 96, 16, 1, 8, &error), 0);
        cr_assert_eq(jpeg_decode(jpeg, span_of(&b), &gray, false, &error), 0);
        for (uint32_t patch = 0; patch < 6; patch++) {
            const uint8_t *pixel = rgb.data + 8 * rgb.stride + 3 * (patch * 16 + 8);
            double expected[3];
            for (int c = 0; c < 3; c++) {
                expected[c] = (255.0 - inks[patch][c]) * (255.0 - inks[patch][3]) / 255.0;
                cr_assert_leq(fabs(pixel[c] - expected[c]), 3, "kind %zu patch %u: %d for %f", i, patch, pixel[c],
                              expected[c]);
            }
            double luma = 0.299 * expected[0] + 0.587 * expected[1] + 0.114 * expected[2];
            cr_assert_leq(fabs(gray.data[8 * gray.stride + patch * 16 + 8] - luma), 3);
        }
        cr_assert_not(check_of(span_of(&b)).equal_channels);
        pixels_deinit(&rgb);
        pixels_deinit(&gray);
        bytes_deinit(&b);
    }
}

/* ---- encode ------------------------------------------------------------------------------------------------------ */

static double psnr(const struct pixels *a, const struct pixels *b) {
    double sum = 0;
    size_t n = a->stride * a->height;
    for (size_t i = 0; i < n; i++)
        sum += (a->data[i] - b->data[i]) * (a->data[i] - b->data[i]);
    return 10 * log10(255.0 * 255.0 * (double)n / sum);
}

Test(jpeg, encode_round_trip) {
    for (int channels = 1; channels <= 3; channels += 2)
        for (int subsample = 0; subsample < 2; subsample++) {
            struct pixels in = make_texture(301, 203, channels, 8), out;
            struct bytes b = {0};
            struct jpeg_info info;
            cr_assert_eq(bytes_append(&b, "head", 4), 0);
            cr_assert_eq(jpeg_encode(jpeg, &b, &in, 95, subsample, &error), 0, "%s", error.message);
            cr_assert_eq(memcmp(b.data, "head\xFF\xD8", 6), 0);
            struct span file = {b.data + 4, b.size - 4};
            cr_assert_eq(jpeg_probe(jpeg, &info, file, &error), 0);
            cr_assert_str_eq(info.subsampling, channels == 1 ? "gray" : subsample ? "4:2:0" : "4:4:4");
            struct jpeg_check check = check_of(file);
            cr_assert(check.complete);
            cr_assert_not(check.missing_eoi);
            cr_assert_eq(check.warning_count, 0);
            cr_assert_eq(pixels_init(&out, 301, 203, channels, 8, &error), 0);
            cr_assert_eq(jpeg_decode(jpeg, file, &out, false, &error), 0);
            if (!subsample || channels == 1)
                cr_assert_gt(psnr(&in, &out), 35);
            pixels_deinit(&in);
            pixels_deinit(&out);
            bytes_deinit(&b);
        }
}

Test(jpeg, encode_is_optimised_and_repeatable) {
    struct pixels in = make_texture(300, 300, 3, 8);
    struct bytes a = {0}, b = {0}, plain = make_jpeg(&in, 3, &(struct jpeg_recipe){.quality = 90});
    cr_assert_eq(jpeg_encode(jpeg, &a, &in, 90, false, &error), 0);
    cr_assert_eq(jpeg_encode(jpeg, &b, &in, 90, false, &error), 0);
    cr_assert_eq(a.size, b.size);
    cr_assert_arr_eq(a.data, b.data, a.size);
    cr_assert_lt(a.size, plain.size);
    cr_assert_gt(a.size, 64u << 10, "large enough to fill the output more than once");
    bytes_deinit(&a);
    bytes_deinit(&b);
    bytes_deinit(&plain);
    pixels_deinit(&in);
}

Test(jpeg, encode_refuses) {
    struct pixels wide, in = make_texture(16, 16, 3, 16);
    struct bytes b = {0};
    cr_assert_eq(bytes_append(&b, "head", 4), 0);
    cr_assert_eq(jpeg_encode(jpeg, &b, &in, 90, false, &error), ERR_ARGUMENT);
    in.depth = 8;
    cr_assert_eq(jpeg_encode(jpeg, &b, &in, 0, false, &error), ERR_ARGUMENT);
    cr_assert_eq(jpeg_encode(jpeg, &b, &in, 101, false, &error), ERR_ARGUMENT);
    cr_assert_eq(pixels_init(&wide, 65501, 1, 1, 8, &error), 0);
    memset(wide.data, 0, wide.stride);
    cr_assert_eq(jpeg_encode(jpeg, &b, &wide, 90, false, &error), ERR_INPUT);
    cr_assert_eq(b.size, 4);
    pixels_deinit(&wide);
    pixels_deinit(&in);
    bytes_deinit(&b);
}

/* ---- transform --------------------------------------------------------------------------------------------------- */

Test(jpeg, transform_is_exact) {
    static const struct jpeg_recipe kinds[] = {{0}, {.to = JCS_RGB}, {.progressive = true}, {.arithmetic = true}};
    for (size_t i = 0; i < 4; i++)
        for (int o = 2; o <= 8; o++) {
            struct bytes b = textured_jpeg(48, 32, 3, &kinds[i]), turned = {0};
            struct pixels before, upright, after;
            struct jpeg_info info;
            bool exact = false;
            insert_exif(&b, 2, false, o);
            cr_assert_eq(bytes_append(&turned, "head", 4), 0);
            cr_assert_eq(jpeg_transform(jpeg, &turned, &exact, span_of(&b), o, &error), 0, "%s", error.message);
            cr_assert(exact);
            struct span file = {turned.data + 4, turned.size - 4};
            cr_assert_eq(jpeg_probe(jpeg, &info, file, &error), 0);
            cr_assert_eq(info.orientation, 1);
            cr_assert_eq(info.width, o >= 5 ? 32 : 48);
            cr_assert(check_of(file).complete);

            /* With unsubsampled chroma the turned coefficients decode to the turned pixels, give or take the
             * rounding of the inverse DCT. */
            cr_assert(decodes(span_of(&b), 48, 32, &before));
            cr_assert_eq(pixels_orient(&upright, &before, o, &error), 0);
            cr_assert(decodes(file, info.width, info.height, &after));
            for (size_t k = 0; k < upright.stride * upright.height; k++)
                cr_assert_leq(abs(upright.data[k] - after.data[k]), 3, "kind %zu orientation %d", i, o);
            pixels_deinit(&before);
            pixels_deinit(&upright);
            pixels_deinit(&after);
            bytes_deinit(&b);
            bytes_deinit(&turned);
        }
}

static bool transform_works(uint32_t width, uint32_t height, int channels, const struct jpeg_recipe *recipe,
                            int orientation) {
    struct bytes b = textured_jpeg(width, height, channels, recipe), out = {0};
    bool exact = true;
    cr_assert_eq(jpeg_transform(jpeg, &out, &exact, span_of(&b), orientation, &error), 0, "%s", error.message);
    cr_assert_eq(exact, out.size > 0);
    bytes_deinit(&b);
    bytes_deinit(&out);
    return exact;
}

Test(jpeg, transform_at_partial_blocks) {
    static const struct jpeg_recipe plain = {0}, halved = {.h = 2, .v = 2}, odd = {.h = 3};
    /* By orientation, 2 to 8: does it work when only the width, only the height is a whole number of blocks? */
    static const bool whole_width[9] = {[2] = true, [5] = true, [8] = true};
    static const bool whole_height[9] = {[4] = true, [5] = true, [6] = true};
    for (int o = 2; o <= 8; o++) {
        cr_assert_eq(transform_works(48, 35, 3, &plain, o), whole_width[o], "orientation %d", o);
        cr_assert_eq(transform_works(35, 48, 3, &plain, o), whole_height[o], "orientation %d", o);
        cr_assert(transform_works(48, 48, 3, &halved, o));
        cr_assert_eq(transform_works(40, 40, 3, &halved, o), o == 5, "orientation %d", o); /* half a block of 16 */
        cr_assert(transform_works(40, 40, 1, &plain, o));
    }
    bool known = jpeg_library_version()[0] >= '3'; /* TurboJPEG turns any subsampling since its version 3 */
    cr_assert_eq(transform_works(48, 48, 3, &odd, 3), known);
}

Test(jpeg, transform_of_odd_subsampling_is_exact_where_it_is_done) {
    struct bytes b = textured_jpeg(48, 48, 3, &(struct jpeg_recipe){.h = 3}), turned = {0};
    struct pixels before, upright, after;
    bool exact;
    cr_assert_eq(jpeg_transform(jpeg, &turned, &exact, span_of(&b), 3, &error), 0, "%s", error.message);
    if (exact) {
        cr_assert(decodes(span_of(&b), 48, 48, &before));
        cr_assert_eq(pixels_orient(&upright, &before, 3, &error), 0);
        cr_assert(decodes(span_of(&turned), 48, 48, &after));
        for (size_t k = 0; k < upright.stride * upright.height; k++)
            cr_assert_leq(abs(upright.data[k] - after.data[k]), 3);
        pixels_deinit(&before);
        pixels_deinit(&upright);
        pixels_deinit(&after);
    }
    bytes_deinit(&b);
    bytes_deinit(&turned);
}

Test(jpeg, transform_of_damaged_pictures) {
    struct bytes b = textured_jpeg(48, 48, 3, &(struct jpeg_recipe){0}), out = {0};
    bool exact = true;
    cr_assert_eq(jpeg_transform(jpeg, &out, &exact, (struct span){b.data, b.size * 6 / 10}, 6, &error), ERR_INPUT);
    cr_assert_not(exact);
    cr_assert_eq(out.size, 0);
    cr_assert_eq(jpeg_transform(jpeg, &out, &exact, (struct span){b.data, b.size - 2}, 6, &error), 0);
    cr_assert(exact, "only the EOI is missing");
    cr_assert(is_whole(span_of(&out), 48, 48));
    cr_assert_eq(jpeg_transform(jpeg, &out, &exact, span_of(&b), 1, &error), ERR_ARGUMENT);
    cr_assert_eq(jpeg_transform(jpeg, &out, &exact, span_of(&b), 9, &error), ERR_ARGUMENT);
    cr_assert_eq(jpeg_transform(jpeg, &out, &exact, (struct span){b.data, 10}, 2, &error), ERR_INPUT);
    bytes_deinit(&b);
    bytes_deinit(&out);
}

Test(jpeg, version) {
    cr_assert_eq(jpeg_library_version()[1], '.');
}
