/* What people's pictures do to other loaders, from source file to decoded sample: packed, opened and compared. */
#include "home.h"
#include "jpeg.h"
#include "pack.h"
#include "source_image.h"
#include "tiny_pictures.h"
#include "yolopack.h"

#include <png.h>
#include <sys/stat.h>

static struct error error;
static struct jpeg *jpeg;
static struct pack_options options;
static struct pack_result result;
static ypk_dataset *dataset;
static ypk_decoder *decoder;

static void setup(void) {
    home_create();
    home_add_directory("set/images");
    home_add_directory("set/imagesIR");
    cr_assert_eq(jpeg_handle_create(&jpeg, &error), 0);
    pack_options_init(&options);
    options.max_rejects = 1;
    options.jobs = 1;
}

static void forget_pack(void) {
    ypk_decoder_destroy(&decoder);
    ypk_dataset_close(&dataset);
    pack_result_deinit(&result);
}

static void teardown(void) {
    forget_pack();
    jpeg_handle_destroy(&jpeg);
    home_remove();
}

TestSuite(cases_image, .init = setup, .fini = teardown);

/* ---- a data set, packed and opened ------------------------------------------------------------------------------- */

static void put(const char *name, const struct bytes *b) {
    char relative[128];
    snprintf(relative, sizeof relative, "set/%s", name);
    cr_assert_eq(file_write_atomic(home_path(relative), b->data, b->size, &error), 0, "%s", error.message);
}

static void put_away(const char *name, struct bytes *b) {
    put(name, b);
    bytes_deinit(b);
}

static void pack(void) {
    static int count;
    char name[32];
    forget_pack();
    snprintf(name, sizeof name, "%d.ypk", count++);
    options.source.dataset = home_path("set");
    options.output = home_path(name);
    ypk_error fault;
    cr_assert_eq(pack_run(&result, &options, &error), 0, "%s", error.message);
    cr_assert_eq(ypk_dataset_open(&dataset, options.output, NULL, &fault), YPK_OK, "%s", fault.message);
    cr_assert_eq(ypk_decoder_create(&decoder, dataset, &fault), YPK_OK);
}

static uint64_t index_of(const char *name) {
    uint64_t index;
    ypk_error fault;
    cr_assert_eq(ypk_dataset_find(dataset, name, &index, &fault), YPK_OK, "%s", fault.message);
    return index;
}

static bool is_packed(const char *name) {
    uint64_t index;
    return ypk_dataset_find(dataset, name, &index, NULL) == YPK_OK;
}

static struct pixels read_back(const char *name, int modality) {
    ypk_sample s;
    ypk_error fault;
    struct pixels p;
    uint64_t index = index_of(name);
    cr_assert_eq(ypk_dataset_sample(dataset, index, &s, &fault), YPK_OK);
    const ypk_image *image = modality == YPK_RGB ? &s.rgb : &s.ir;
    cr_assert_eq(pixels_init(&p, image->width, image->height, modality == YPK_RGB ? 3 : 1, 8, &error), 0);
    cr_assert_eq(ypk_decoder_decode(decoder, index, modality, p.data, 0, &fault), YPK_OK, "%s", fault.message);
    return p;
}

static bool payload_is(const char *name, int modality, const struct bytes *file) {
    const uint8_t *data;
    size_t size;
    ypk_error fault;
    cr_assert_eq(ypk_decoder_payload(decoder, index_of(name), modality, &data, &size, &fault), YPK_OK);
    return size == file->size && memcmp(data, file->data, size) == 0;
}

/* The report's row for that file and rule, and how many there are. The text is its value and message; "" without
 * a row. */
static int find_rows(char text[400], const char *path, enum report_rule rule) {
    char start[256];
    int found = 0;
    text[0] = 0;
    snprintf(start, sizeof start, "%s\t", path);
    const char *row = (const char *)result.report.rows.data, *end = row + result.report.rows.size;
    for (; row && row < end; row = (const char *)memchr(row, '\n', (size_t)(end - row)) + 1) {
        char line[1024];
        size_t n = (size_t)((const char *)memchr(row, '\n', (size_t)(end - row)) - row);
        snprintf(line, sizeof line, "%.*s", (int)(n < sizeof line ? n : sizeof line - 1), row);
        if (strncmp(line, start, strlen(start)) != 0 || !strstr(line, report_rule_info(rule)->name))
            continue;
        found++;
        snprintf(text, 400, "%.399s", line + strlen(start));
    }
    return found;
}

static int count_rows(const char *path, enum report_rule rule) {
    char text[400];
    return find_rows(text, path, rule);
}

static void assert_row(const char *path, enum report_rule rule, const char *part) {
    char text[400];
    cr_expect_eq(find_rows(text, path, rule), 1, "%s: %d rows of %s", path, find_rows(text, path, rule),
                 report_rule_info(rule)->name);
    cr_expect_not_null(strstr(text, part), "%s: \"%s\" is not in \"%s\"", path, part, text);
}

static unsigned largest_difference(const struct pixels *a, const struct pixels *b) {
    unsigned largest = 0;
    cr_assert(a->width == b->width && a->height == b->height && a->channels == b->channels);
    for (uint32_t y = 0; y < a->height; y++)
        for (size_t i = 0; i < (size_t)a->width * a->channels; i++) {
            unsigned d = (unsigned)abs(a->data[y * a->stride + i] - b->data[y * b->stride + i]);
            largest = d > largest ? d : largest;
        }
    return largest;
}

static struct pixels decode_source(const struct bytes *b) {
    struct codec *codec;
    struct pixels p;
    char warning[200];
    struct span file = {b->data, b->size};
    cr_assert_eq(codec_create(&codec, &error), 0);
    cr_assert_eq(source_image_sniff(file)->decode(codec, &p, warning, file, &error), 0, "%s", error.message);
    codec_destroy(&codec);
    return p;
}

/* ---- damaged files ----------------------------------------------------------------------------------------------- */

Test(cases_image, cut_and_tailed_jpegs) {
    struct pixels in = make_texture(320, 240, 3, 8);
    struct bytes whole = make_jpeg(&in, 3, &(struct jpeg_recipe){.h = 2, .v = 2}), part = whole;
    static const uint8_t zeros[64];
    struct stat before[2], after[2];
    const char *const path[] = {"set/images/a.jpg", "set/images/b.jpg"};
    put("images/whole.jpg", &whole);
    part.size = whole.size - 2;
    put("images/a.jpg", &part);
    part.size = whole.size * 6 / 10;
    put("images/b.jpg", &part);
    part.size = 300;
    put("images/d.jpg", &part);
    part.size = 0;
    put("images/e.jpg", &part);
    cr_assert_eq(bytes_append(&whole, zeros, 64), 0);
    put("images/c.jpg", &whole);
    for (int i = 0; i < 2; i++)
        cr_assert_eq(stat(home_path(path[i]), &before[i]), 0);

    pack();
    cr_assert_eq(result.total.packed, 3);
    cr_assert_eq(result.total.rejected, 3);
    cr_assert_eq(count_rows("images/c.jpg", RULE_IMAGE_WARNING), 0);
    cr_assert(payload_is("images/c.jpg", YPK_RGB, &whole));
    assert_row("images/a.jpg", RULE_IMAGE_WARNING, "every row is there");
    assert_row("images/b.jpg", RULE_IMAGE_TRUNCATED, " of 240 rows could be decoded");
    assert_row("images/d.jpg", RULE_IMAGE_CORRUPT, "the file ends inside the header");
    assert_row("images/e.jpg", RULE_IMAGE_EMPTY, "0 bytes");
    struct pixels a = read_back("images/a.jpg", YPK_RGB), original = read_back("images/whole.jpg", YPK_RGB);
    cr_assert(same_pixels(&a, &original));
    for (int i = 0; i < 2; i++) {
        cr_assert_eq(stat(home_path(path[i]), &after[i]), 0);
        cr_assert(before[i].st_size == after[i].st_size && before[i].st_mtim.tv_sec == after[i].st_mtim.tv_sec &&
                  before[i].st_mtim.tv_nsec == after[i].st_mtim.tv_nsec && before[i].st_ino == after[i].st_ino);
    }
    pixels_deinit(&in);
    pixels_deinit(&a);
    pixels_deinit(&original);
    bytes_deinit(&whole);
}

/* One verdict for each, by the check, the packer and the reader; what is accepted with a warning is warned of once. */
Test(cases_image, bytes_where_none_belong) {
    enum { SILENT, WARNED, REFUSED };
    struct pixels in = make_texture(64, 64, 3, 8);
    struct bytes plain = make_jpeg(&in, 3, &(struct jpeg_recipe){.restart_rows = 1}), files[8];
    static const int verdicts[8] = {SILENT, SILENT, REFUSED, REFUSED, REFUSED, WARNED, SILENT, WARNED};
    for (int i = 0; i < 8; i++) {
        files[i] = (struct bytes){0};
        cr_assert_eq(bytes_append(&files[i], plain.data, plain.size), 0);
    }
    insert_bytes(&files[0], find_marker(&files[0], 0xD1, 0), "\x12\x34", 2); /* fewer than are read ahead */
    insert_bytes(&files[7], find_marker(&files[7], 0xD1, 0), "0123456789012345678901234567890123456789", 40);
    insert_bytes(&files[1], 2, "\xFF\xFF\xFF\xFF\xFF", 5);
    insert_bytes(&files[2], 0, "\x0A", 1);
    files[3].data[find_marker(&files[3], 0xC4, 0) + 5] = 0xFF; /* 255 codes of one bit */
    files[4].data[find_marker(&files[4], 0xD0, 0) + 1] = 0xD5; /* a restart marker out of turn */
    files[5].data[find_marker(&files[5], 0xDA, 0) + 12] = 17;  /* spectral selection of a baseline scan */
    bytes_deinit(&files[6]);
    files[6] = make_jpeg(&in, 3, &(struct jpeg_recipe){.quality = 90});
    size_t at = find_marker(&files[6], 0xDB, 0); /* its table with 16 bits an entry */
    uint8_t wide[64] = {0};
    cr_assert_eq(files[6].data[at + 4], 0);
    files[6].data[at + 3] += 64;
    files[6].data[at + 4] = 0x10;
    for (size_t i = 0; i < 64; i++) {
        insert_bytes(&files[6], at + 5 + 2 * i, wide, 1);
    }
    char name[64];
    for (int i = 0; i < 8; i++) {
        snprintf(name, sizeof name, "images/%d.jpg", i);
        put(name, &files[i]);
    }
    pack();
    for (int i = 0; i < 8; i++) {
        struct jpeg_check check = {0};
        snprintf(name, sizeof name, "images/%d.jpg", i);
        cr_expect_eq(is_packed(name), verdicts[i] != REFUSED, "%s", name);
        cr_expect_eq(count_rows(name, RULE_IMAGE_WARNING), verdicts[i] == WARNED, "%s", name);
        int rc = jpeg_check_full(jpeg, &check, (struct span){files[i].data, files[i].size}, &error);
        cr_expect_eq(rc == 0 && check.complete, verdicts[i] != REFUSED, "%s", name);
        if (is_packed(name)) {
            struct pixels p = read_back(name, YPK_RGB), expected = decode_source(&files[i]);
            cr_expect(same_pixels(&p, &expected), "%s", name);
            cr_expect(payload_is(name, YPK_RGB, &files[i]), "%s", name);
            pixels_deinit(&p);
            pixels_deinit(&expected);
        }
        bytes_deinit(&files[i]);
    }
    pixels_deinit(&in);
    bytes_deinit(&plain);
}

/* An APP1 segment with these bytes behind "Exif\0\0". */
static void insert_tiff(struct bytes *b, const uint8_t *tiff, size_t n) {
    uint8_t segment[96] = {0xFF, 0xE1, 0, (uint8_t)(n + 8), 'E', 'x', 'i', 'f', 0, 0};
    memcpy(segment + 10, tiff, n);
    insert_bytes(b, 2, segment, n + 10);
}

Test(cases_image, broken_metadata) {
    enum { COUNT_FFFF, OFFSET, TYPE_0, TYPE_13, ENDIAN, LOOP, VALUE_0, VALUE_9, VALUE_65535, XMP, LENGTH_2, KINDS };
    struct pixels in = make_texture(40, 32, 3, 8);
    char name[64];
    for (int kind = 0; kind < KINDS; kind++) {
        struct bytes b = make_jpeg(&in, 3, &(struct jpeg_recipe){0});
        uint8_t tiff[32];
        size_t n = make_exif(tiff, false, 6);
        switch (kind) {
        case COUNT_FFFF:
            tiff[8] = tiff[9] = 0xFF;
            tiff[10] = 0x13; /* so that the search has to go past the end */
            break;
        case OFFSET: tiff[5] = 0x40; break;
        case TYPE_0: tiff[12] = 0; break;
        case TYPE_13: tiff[12] = 13; break;
        case ENDIAN: n = make_exif(tiff, true, 6), tiff[0] = tiff[1] = 'I'; break;
        case LOOP: tiff[10] = 0x13, store_u32(tiff + 4, 0), store_u32(tiff + 22, 8); break;
        case VALUE_0: tiff[18] = 0; break;
        case VALUE_9: tiff[18] = 9; break;
        case VALUE_65535: tiff[18] = tiff[19] = 0xFF; break;
        }
        if (kind < XMP)
            insert_tiff(&b, tiff, n);
        else if (kind == XMP)
            insert_bytes(&b, 2, "\xFF\xE1\0\x23http://ns.adobe.com/xap/1.0/\0\xFF\xFE\x80\xC0", 37);
        else
            insert_bytes(&b, 2, "\xFF\xE1\0\2", 4);
        snprintf(name, sizeof name, "images/%02d.jpg", kind);
        put_away(name, &b);
    }
    pack();
    cr_assert_eq(result.total.packed, KINDS);
    for (int kind = 0; kind < KINDS; kind++) {
        snprintf(name, sizeof name, "images/%02d.jpg", kind);
        struct pixels p = read_back(name, YPK_RGB);
        cr_expect(p.width == 40 && p.height == 32, "%s", name);
        cr_expect_eq(count_rows(name, RULE_IMAGE_WARNING), kind < XMP, "%s", name);
        cr_expect_eq(count_rows(name, RULE_IMAGE_ROTATED), 0);
        pixels_deinit(&p);
    }
    pixels_deinit(&in);
}

/* Size and pixels are those of the first picture; what follows it stays in the file, and is kept with it. */
Test(cases_image, pictures_inside_pictures) {
    struct pixels in = make_texture(64, 48, 3, 8), small = make_texture(16, 24, 3, 8);
    struct bytes main_picture = make_jpeg(&in, 3, &(struct jpeg_recipe){0}),
                 thumbnail = make_jpeg(&small, 3, &(struct jpeg_recipe){0}), two = {0}, with_thumbnail = {0},
                 segment = {0};
    cr_assert_eq(bytes_append(&two, main_picture.data, main_picture.size), 0);
    insert_bytes(&two, 2, "\xFF\xE2\0\x10MPF\0II*\0\x08\0\0\0\0\0", 18);
    cr_assert_eq(bytes_append(&two, thumbnail.data, thumbnail.size), 0);

    uint8_t head[64] = {0xFF, 0xE1, 0, 0, 'E', 'x', 'i', 'f', 0, 0};
    size_t n = 10 + make_exif(head + 10, false, 1);
    size_t length = n - 2 + thumbnail.size;
    head[2] = (uint8_t)(length >> 8);
    head[3] = (uint8_t)length;
    cr_assert_eq(bytes_append(&segment, head, n), 0);
    cr_assert_eq(bytes_append(&segment, thumbnail.data, thumbnail.size), 0);
    cr_assert_eq(bytes_append(&with_thumbnail, main_picture.data, main_picture.size), 0);
    insert_bytes(&with_thumbnail, 2, segment.data, segment.size);
    insert_bytes(&with_thumbnail, 2, "\xFF\xFF\xFF", 3);

    put("images/mpo.jpg", &two);
    put("images/thumbnail.jpg", &with_thumbnail);
    pack();
    static const char *const names[] = {"images/mpo.jpg", "images/thumbnail.jpg"};
    struct pixels expected = decode_source(&main_picture);
    for (int i = 0; i < 2; i++) {
        struct pixels p = read_back(names[i], YPK_RGB);
        cr_expect(same_pixels(&p, &expected));
        cr_expect_eq(count_rows(names[i], RULE_IMAGE_WARNING), 0);
        cr_expect(payload_is(names[i], YPK_RGB, i == 0 ? &two : &with_thumbnail));
        pixels_deinit(&p);
    }
    pixels_deinit(&in);
    pixels_deinit(&small);
    pixels_deinit(&expected);
    bytes_deinit(&main_picture);
    bytes_deinit(&thumbnail);
    bytes_deinit(&two);
    bytes_deinit(&with_thumbnail);
    bytes_deinit(&segment);
}

/* ---- orientation ------------------------------------------------------------------------------------------------- */

static const uint8_t quadrant_colours[4][3] = {{220, 30, 30}, {30, 200, 40}, {40, 50, 210}, {230, 230, 60}};

/* Upright: red, green above blue, yellow. */
static struct pixels make_quadrants(uint32_t width, uint32_t height) {
    struct pixels p;
    cr_assert_eq(pixels_init(&p, width, height, 3, 8, &error), 0);
    for (uint32_t y = 0; y < height; y++)
        for (uint32_t x = 0; x < width; x++)
            memcpy(p.data + y * p.stride + 3 * (size_t)x, quadrant_colours[(y >= height / 2) * 2 + (x >= width / 2)],
                   3);
    return p;
}

/* What a camera held that way stores: turned back by the inverse. */
static struct pixels as_stored(const struct pixels *upright, int orientation) {
    static const int inverse[9] = {0, 1, 2, 3, 4, 5, 8, 7, 6};
    struct pixels out;
    cr_assert_eq(pixels_orient(&out, upright, inverse[orientation], &error), 0);
    return out;
}

static bool has_orientation(const char *name) {
    const uint8_t *data;
    size_t size;
    struct jpeg_info info;
    cr_assert_eq(ypk_decoder_payload(decoder, index_of(name), YPK_RGB, &data, &size, NULL), YPK_OK);
    cr_assert_eq(jpeg_probe(jpeg, &info, (struct span){data, size}, &error), 0);
    return info.orientation != 1 || info.orientation_broken;
}

static void orientation_name(char out[64], int size, int orientation, int place) {
    snprintf(out, 64, "images/%d-%d-%d.jpg", size, orientation, place);
}

/* Turned without loss where blocks allow it (64x48), re-encoded where they do not (40x30); EXIF of either byte order,
 * after SOI, APP0 and an XMP segment. */
Test(cases_image, upright_for_every_orientation) {
    static const uint32_t sizes[2][2] = {{64, 48}, {40, 30}};
    char name[64];
    for (int size = 0; size < 2; size++)
        for (int orientation = 1; orientation <= 8; orientation++)
            for (int place = 0; place < 3; place++) {
                struct pixels upright = make_quadrants(sizes[size][0], sizes[size][1]);
                struct pixels stored = as_stored(&upright, orientation);
                struct bytes b = make_jpeg(&stored, 3, &(struct jpeg_recipe){.quality = 98, .h = 1 + place / 2});
                if (place == 1)
                    insert_bytes(&b, 20, "\xFF\xE1\0\x1Fhttp://ns.adobe.com/xap/1.0/\0", 33);
                insert_exif(&b, place == 0 ? 2 : place == 1 ? 53 : 20, place != 0, orientation);
                orientation_name(name, size, orientation, place);
                put_away(name, &b);
                pixels_deinit(&upright);
                pixels_deinit(&stored);
            }
    pack();
    cr_assert_eq(result.total.packed, 48);
    cr_assert_eq(result.total.images_rotated, 42);
    for (int size = 0; size < 2; size++) {
        struct pixels upright = make_quadrants(sizes[size][0], sizes[size][1]);
        for (int orientation = 1; orientation <= 8; orientation++)
            for (int place = 0; place < 3; place++) {
                orientation_name(name, size, orientation, place);
                struct pixels p = read_back(name, YPK_RGB);
                cr_assert(p.width == upright.width && p.height == upright.height, "%s: %ux%u", name, p.width, p.height);
                for (int q = 0; q < 4; q++) {
                    size_t x = p.width * (1 + 2 * (size_t)(q % 2)) / 4, y = p.height * (1 + 2 * (size_t)(q / 2)) / 4;
                    for (int c = 0; c < 3; c++)
                        cr_expect_leq(abs(p.data[y * p.stride + 3 * x + (size_t)c] - quadrant_colours[q][c]), 8, "%s",
                                      name);
                }
                cr_expect_not(has_orientation(name), "%s", name); /* nothing turns it twice */
                if (orientation > 1)
                    assert_row(name, RULE_IMAGE_ROTATED, size == 0 ? "turned losslessly" : "EXIF orientation");
                pixels_deinit(&p);
            }
        pixels_deinit(&upright);
    }
}

/* With pixels stored as they are, the way of turning can be compared exactly, and the lossless way to
 * within rounding. */
Test(cases_image, turned_pixels_are_the_sources) {
    static struct bytes files[9];
    char name[64];
    for (int orientation = 1; orientation <= 8; orientation++) {
        struct pixels in = make_texture(64, 48, 3, 8);
        files[orientation] = make_jpeg(&in, 3, &(struct jpeg_recipe){0});
        insert_exif(&files[orientation], 2, false, orientation);
        orientation_name(name, 0, orientation, 0);
        put(name, &files[orientation]);
        pixels_deinit(&in);
    }
    for (int preset = PRESET_KEEP; preset <= PRESET_RAW; preset += PRESET_RAW - PRESET_KEEP) {
        options.intake.preset = (enum preset)preset;
        pack();
        for (int orientation = 1; orientation <= 8; orientation++) {
            struct pixels source = decode_source(&files[orientation]), turned, p;
            orientation_name(name, 0, orientation, 0);
            p = read_back(name, YPK_RGB);
            cr_assert_eq(pixels_orient(&turned, &source, orientation, &error), 0);
            cr_expect_leq(largest_difference(&p, &turned), preset == PRESET_RAW ? 0 : 3, "%s", name);
            pixels_deinit(&source);
            pixels_deinit(&turned);
            pixels_deinit(&p);
        }
    }
    options.intake.preset = PRESET_RAW;
    options.intake.ignore_exif = true;
    pack();
    for (int orientation = 1; orientation <= 8; orientation++) {
        struct pixels source = decode_source(&files[orientation]), p;
        orientation_name(name, 0, orientation, 0);
        p = read_back(name, YPK_RGB);
        cr_expect(same_pixels(&source, &p));
        pixels_deinit(&source);
        pixels_deinit(&p);
        bytes_deinit(&files[orientation]);
    }
}

/* ---- real files of all orientations ------------------------------------------------------------------------------ */

static double mean_difference(const struct pixels *a, const struct pixels *b) {
    uint64_t sum = 0;
    cr_assert(a->width == b->width && a->height == b->height);
    for (size_t i = 0; i < a->stride * a->height; i++)
        sum += (uint64_t)abs(a->data[i] - b->data[i]);
    return (double)sum / (double)(a->stride * a->height);
}

static bool copy_odd(const char *name) {
    char from[2048], to[128];
    struct bytes b = {0};
    snprintf(from, sizeof from, "%s/odd/%s", getenv("YPK_TEST_DATA") ? getenv("YPK_TEST_DATA") : "", name);
    if (file_read(&b, -100, from, 1 << 30, &error) != 0)
        return false;
    snprintf(to, sizeof to, "images/%s", name);
    put_away(to, &b);
    return true;
}

Test(cases_image, photographs_are_upright) {
    static const char *const groups[3][7] = {
        {"Landscape_1.jpg", "Landscape_3.jpg", "Landscape_6.jpg", "Landscape_7.jpg"},
        {"Portrait_1.jpg", "Portrait_3.jpg", "Portrait_6.jpg", "Portrait_8.jpg"},
        {"hopper_orientation_3.jpg", "hopper_orientation_4.jpg", "hopper_orientation_6.jpg", "hopper_orientation_7.jpg",
         "hopper_orientation_8.jpg", "hopper_orientation_6.webp", "hopper_orientation_8.webp"}};
    char name[64];
    for (int g = 0; g < 3; g++)
        for (int i = 0; i < 7 && groups[g][i]; i++)
            if (!copy_odd(groups[g][i]))
                cr_skip("no odd/ in YPK_TEST_DATA");
    for (int preset = PRESET_KEEP; preset <= PRESET_RAW; preset += PRESET_RAW - PRESET_KEEP) {
        options.intake.preset = (enum preset)preset;
        pack();
        for (int g = 0; g < 3; g++) {
            snprintf(name, sizeof name, "images/%s", groups[g][0]);
            struct pixels first = read_back(name, YPK_RGB);
            for (int i = 1; i < 7 && groups[g][i]; i++) {
                snprintf(name, sizeof name, "images/%s", groups[g][i]);
                if (!is_packed(name)) /* this build has no WebP */
                    continue;
                struct pixels p = read_back(name, YPK_RGB);
                cr_expect_lt(mean_difference(&first, &p), 10, "%s: %.1f", name, mean_difference(&first, &p));
                pixels_deinit(&p);
            }
            pixels_deinit(&first);
        }
    }
}

/* ---- channels and colours ---------------------------------------------------------------------------------------- */

static void append_png(png_structp png, png_bytep data, size_t n) {
    cr_assert_eq(bytes_append(png_get_io_ptr(png), data, n), 0);
}

/* 16x16; every row is the same, as PNG stores it. orientation 0: no eXIf chunk. */
static struct bytes make_striped_png(int type, int depth, const uint8_t *row, bool interlaced, int orientation) {
    struct bytes out = {0};
    static const png_color palette[4] = {{10, 20, 30}, {40, 50, 60}, {70, 80, 90}, {100, 110, 120}};
    static const uint8_t alpha[2] = {0, 128};
    png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, NULL, NULL, NULL);
    png_infop info = png_create_info_struct(png);
    png_set_write_fn(png, &out, append_png, NULL);
    png_set_IHDR(png, info, 16, 16, depth, type, interlaced ? PNG_INTERLACE_ADAM7 : PNG_INTERLACE_NONE, 0, 0);
    if (type == PNG_COLOR_TYPE_PALETTE) {
        png_set_PLTE(png, info, palette, 4);
        png_set_tRNS(png, info, alpha, 2, NULL);
    }
    png_write_info(png, info);
    uint8_t tiff[32];
    if (orientation > 0)
        png_write_chunk(png, (png_const_bytep) "eXIf", tiff, make_exif(tiff, true, orientation));
    int passes = png_set_interlace_handling(png);
    for (int pass = 0; pass < passes; pass++)
        for (int y = 0; y < 16; y++)
            png_write_row(png, row);
    png_write_end(png, info);
    png_destroy_write_struct(&png, &info);
    return out;
}

Test(cases_image, channels_by_modality) {
    static const struct {
        const char *name;
        int type, depth;
        uint8_t pixel[4]; /* the first pixels of each row */
        uint8_t expected[6];
    } cases[] = {
        {"images/rgba.png", PNG_COLOR_TYPE_RGBA, 8, {10, 20, 30, 0}, {10, 20, 30, 0, 0, 0}},
        {"images/palette.png", PNG_COLOR_TYPE_PALETTE, 2, {0x1B}, {10, 20, 30, 40, 50, 60}},
        {"images/gray_alpha.png", PNG_COLOR_TYPE_GRAY_ALPHA, 8, {77, 0, 99, 255}, {77, 77, 77, 99, 99, 99}},
        {"images/one.png", PNG_COLOR_TYPE_GRAY, 1, {0x40}, {0, 0, 0, 255, 255, 255}},
        {"images/two.png", PNG_COLOR_TYPE_GRAY, 2, {0x60}, {85, 85, 85, 170, 170, 170}},
    };
    for (size_t i = 0; i < 5; i++)
        for (int interlaced = 0; interlaced < 2; interlaced++) {
            uint8_t row[64] = {0};
            memcpy(row, cases[i].pixel, 4);
            struct bytes b = make_striped_png(cases[i].type, cases[i].depth, row, interlaced, 0);
            put_away(cases[i].name, &b);
            options.intake.preset = PRESET_RAW;
            pack();
            struct pixels p = read_back(cases[i].name, YPK_RGB);
            cr_expect_eq(p.channels, 3);
            cr_expect_arr_eq(p.data, cases[i].expected, 6, "%s", cases[i].name);
            cr_expect_arr_eq(p.data + 15 * p.stride, cases[i].expected, 6, "%s", cases[i].name);
            pixels_deinit(&p);
        }
}

Test(cases_image, png_with_exif_is_turned) {
    uint8_t row[16] = {200};
    struct bytes b = make_striped_png(PNG_COLOR_TYPE_GRAY, 8, row, false, 6);
    put_away("images/a.png", &b);
    options.intake.preset = PRESET_RAW;
    pack();
    struct pixels p = read_back("images/a.png", YPK_RGB);
    for (size_t i = 0; i < 16 * 16 * 3; i++)
        cr_assert_eq(p.data[i], i < 16 * 3 ? 200 : 0); /* the left column is on top now */
    assert_row("images/a.png", RULE_IMAGE_ROTATED, "EXIF orientation 6, turned and re-encoded");
    pixels_deinit(&p);
}

Test(cases_image, gray_in_rgb_and_colour_in_infrared) {
    struct pixels gray = make_texture(32, 32, 1, 8), colour = make_quadrants(32, 32), luma;
    struct bytes a = make_jpeg(&gray, 1, &(struct jpeg_recipe){0}), b = make_jpeg(&colour, 3, &(struct jpeg_recipe){0});
    put("images/a.jpg", &a);
    put("imagesIR/a.jpg", &b);
    pack();
    assert_row("images/a.jpg", RULE_RGB_GRAY, "infrared");
    assert_row("imagesIR/a.jpg", RULE_IR_COLOUR, "luma is used");
    struct pixels rgb = read_back("images/a.jpg", YPK_RGB), ir = read_back("images/a.jpg", YPK_IR);
    struct pixels plain = decode_source(&a), rgb_of_ir = decode_source(&b);
    cr_expect(pixels_equal_channels(&rgb));
    for (size_t i = 0; i < 32 * 32; i++)
        cr_expect_eq(rgb.data[3 * i], plain.data[i]);
    cr_assert_eq(pixels_convert(&luma, &rgb_of_ir, 1, &error), 0);
    cr_expect_leq(largest_difference(&luma, &ir), 2); /* Y as stored, against the weights of its own R,G,B */
    pixels_deinit(&gray);
    pixels_deinit(&colour);
    pixels_deinit(&luma);
    pixels_deinit(&rgb);
    pixels_deinit(&ir);
    pixels_deinit(&plain);
    pixels_deinit(&rgb_of_ir);
    bytes_deinit(&a);
    bytes_deinit(&b);
}

Test(cases_image, red_green_blue_in_that_order) {
    static const uint8_t colours[3][3] = {{255, 0, 0}, {0, 255, 0}, {0, 0, 255}};
    char name[64];
    for (int i = 0; i < 3; i++) {
        struct pixels p;
        cr_assert_eq(pixels_init(&p, 16, 16, 3, 8, &error), 0);
        for (size_t k = 0; k < 256; k++)
            memcpy(p.data + 3 * k, colours[i], 3);
        struct bytes b = make_jpeg(&p, 3, &(struct jpeg_recipe){.h = 2, .v = 2, .quality = 100});
        snprintf(name, sizeof name, "images/%d.jpg", i);
        put_away(name, &b);
        pixels_deinit(&p);
    }
    for (int preset = PRESET_KEEP; preset <= PRESET_RAW; preset++) {
        options.intake.preset = (enum preset)preset;
        pack();
        for (int i = 0; i < 3; i++) {
            snprintf(name, sizeof name, "images/%d.jpg", i);
            struct pixels p = read_back(name, YPK_RGB);
            for (int c = 0; c < 3; c++)
                cr_expect(c == i ? p.data[c] >= 250 : p.data[c] <= 5, "%s: %d is %d", name, c, p.data[c]);
            pixels_deinit(&p);
        }
    }
}

/* C, M, Y, K of full ink on white, with an Adobe marker (CMYK stored inverted, and YCCK) and without. */
Test(cases_image, cmyk_patches) {
    static const uint8_t inks[5][4] = {{255, 0, 0, 0}, {0, 255, 0, 0}, {0, 0, 255, 0}, {0, 0, 0, 255}, {0, 0, 0, 0}},
                         expected[5][3] = {{0, 255, 255}, {255, 0, 255}, {255, 255, 0}, {0, 0, 0}, {255, 255, 255}};
    char name[64];
    for (int kind = 0; kind < 3; kind++)
        for (int ink = 0; ink < 5; ink++) {
            struct pixels p = {.stride = 64 * 4, .width = 64, .height = 64, .channels = 4, .depth = 8};
            p.data = malloc(p.stride * p.height);
            for (size_t i = 0; i < p.stride * p.height; i++)
                p.data[i] = (uint8_t)(inks[ink][i % 4] ^ (kind < 2 ? 0xFF : 0));
            struct bytes b = make_jpeg(
                &p, 4,
                &(struct jpeg_recipe){
                    .from = JCS_CMYK, .to = kind == 1 ? JCS_YCCK : JCS_CMYK, .no_adobe = kind == 2, .quality = 100});
            snprintf(name, sizeof name, "images/%d%d.jpg", kind, ink);
            put_away(name, &b);
            free(p.data);
        }
    pack();
    cr_assert_eq(result.total.packed, 15);
    for (int kind = 0; kind < 3; kind++)
        for (int ink = 0; ink < 5; ink++) {
            snprintf(name, sizeof name, "images/%d%d.jpg", kind, ink);
            struct pixels p = read_back(name, YPK_RGB);
            for (size_t i = 0; i < p.stride * p.height; i++)
                cr_assert_leq(abs(p.data[i] - expected[ink][i % 3]), 3, "%s: %d", name, p.data[i]);
            assert_row(name, RULE_IMAGE_TRANSCODED, "JPEG CMYK to JPEG quality 95");
            pixels_deinit(&p);
        }
}

/* ---- the same pixels as the library, and no quality lost unasked ------------------------------------------------- */

/* As `djpeg -dct int` decodes. */
static struct pixels decode_plainly(const struct bytes *b) {
    struct jpeg_decompress_struct d;
    struct jpeg_error_mgr manager;
    struct pixels p;
    d.err = jpeg_std_error(&manager);
    jpeg_create_decompress(&d);
    jpeg_mem_src(&d, b->data, b->size);
    jpeg_read_header(&d, TRUE);
    d.dct_method = JDCT_ISLOW;
    d.out_color_space = JCS_RGB;
    jpeg_start_decompress(&d);
    cr_assert_eq(pixels_init(&p, d.output_width, d.output_height, 3, 8, &error), 0);
    while (d.output_scanline < d.output_height) {
        JSAMPROW row = p.data + d.output_scanline * p.stride;
        jpeg_read_scanlines(&d, &row, 1);
    }
    jpeg_finish_decompress(&d);
    jpeg_destroy_decompress(&d);
    return p;
}

Test(cases_image, kept_jpegs_decode_as_the_library_does) {
    static const int sampling[5][2] = {{2, 2}, {2, 1}, {1, 2}, {1, 1}, {1, 1}};
    struct bytes files[5];
    char name[64];
    for (int i = 0; i < 5; i++) {
        struct pixels in = make_texture(75, 61, i == 4 ? 1 : 3, 8);
        files[i] = make_jpeg(&in, i == 4 ? 1 : 3, &(struct jpeg_recipe){.h = sampling[i][0], .v = sampling[i][1]});
        snprintf(name, sizeof name, "images/%d.jpg", i);
        put(name, &files[i]);
        pixels_deinit(&in);
    }
    pack();
    cr_assert_eq(result.total.images_kept, 5);
    for (int i = 0; i < 5; i++) {
        snprintf(name, sizeof name, "images/%d.jpg", i);
        struct pixels p = read_back(name, YPK_RGB), plain = decode_plainly(&files[i]);
        cr_expect(same_pixels(&p, &plain), "%s", name);
        cr_expect(payload_is(name, YPK_RGB, &files[i]), "%s", name);
        pixels_deinit(&p);
        pixels_deinit(&plain);
        bytes_deinit(&files[i]);
    }
    char path[300];
    struct bytes manifest = {0};
    snprintf(path, sizeof path, "%s/pack.json", result.output);
    cr_assert_eq(file_read(&manifest, -100, path, 1 << 20, &error), 0);
    cr_assert_eq(bytes_append(&manifest, "", 1), 0);
    snprintf(path, sizeof path, "\"libjpeg_turbo\": \"%s\"", jpeg_library_version());
    cr_expect_not_null(strstr((char *)manifest.data, path));
    bytes_deinit(&manifest);
}

Test(cases_image, encoding_again_is_asked_for_and_told) {
    struct bytes files[4];
    char name[64];
    for (int i = 0; i < 4; i++) {
        struct pixels in = make_texture(200, 100, 3, 8);
        files[i] = make_jpeg(&in, 3, &(struct jpeg_recipe){.h = 2, .v = 2, .quality = 75 + 6 * i});
        snprintf(name, sizeof name, "images/%d.jpg", i);
        put(name, &files[i]);
        pixels_deinit(&in);
    }
    uint8_t row[64] = {200}; /* red in the corner: not gray */
    struct bytes png = make_striped_png(PNG_COLOR_TYPE_RGBA, 8, row, false, 0);
    put_away("images/p.png", &png);
    pack();
    for (int i = 0; i < 4; i++) {
        snprintf(name, sizeof name, "images/%d.jpg", i);
        cr_expect(payload_is(name, YPK_RGB, &files[i]));
        cr_expect_eq(count_rows(name, RULE_IMAGE_TRANSCODED), 0);
        bytes_deinit(&files[i]);
    }
    assert_row("images/p.png", RULE_IMAGE_TRANSCODED, "PNG 8-bit RGBA to JPEG quality 95 4:4:4, 16x16");
    options.intake.quality = 90;
    pack();
    assert_row("images/p.png", RULE_IMAGE_TRANSCODED, "quality 90 4:4:4");
    options.intake.preset = PRESET_TRAIN;
    options.intake.image_size_px = 64;
    pack();
    cr_expect_eq(result.total.images_transcoded, 5);
    assert_row("images/0.jpg", RULE_IMAGE_TRANSCODED, "JPEG 4:2:0 to JPEG quality 90 4:2:0, 64x32");
}
