#include "tiny_source.h"

#include <tiffio.h>
#include <unistd.h>

static void setup(void) {
    codec_open();
    TIFFSetWarningHandler(NULL);
    TIFFSetErrorHandler(NULL);
}

TestSuite(source_tiff, .init = setup, .fini = codec_close);

/* ---- TIFF files -------------------------------------------------------------------------------------------------- */

struct tiff_recipe {
    const char *mode; /* NULL: "w" */
    int bits, samples, photometric, compression, format, extra_kind, orientation;
    bool planar, tiled;
    uint32_t block; /* rows a strip, or side of a tile; 0: 16 */
    const uint16_t *map[3];
    int pages;
};

/* `rows` as TIFF stores them before compression, `stride` apart; each plane of a planar file is plane_bytes behind the
 * other. */
static void write_blocks(TIFF *t, uint32_t width, uint32_t height, const uint8_t *rows, size_t stride,
                         const struct tiff_recipe *r) {
    uint32_t block = r->block ? r->block : 16;
    int planes = r->planar ? r->samples : 1;
    size_t pixel = (size_t)r->bits / 8 * (size_t)(r->planar ? 1 : r->samples);
    for (int p = 0; p < planes; p++) {
        const uint8_t *plane = rows + (size_t)p * stride * height;
        uint8_t *row = malloc(stride); /* the library swaps bytes in place */
        for (uint32_t y = 0; !r->tiled && y < height; y++) {
            memcpy(row, plane + y * stride, stride);
            cr_assert_eq(TIFFWriteScanline(t, row, y, (uint16_t)p), 1);
        }
        free(row);
        for (uint32_t y = 0; r->tiled && y < height; y += block)
            for (uint32_t x = 0; x < width; x += block) {
                uint8_t *tile = calloc(block, block * pixel);
                for (uint32_t i = 0; i < block && y + i < height; i++)
                    memcpy(tile + i * block * pixel, plane + (y + i) * stride + x * pixel,
                           (width - x < block ? width - x : block) * pixel);
                cr_assert_neq(TIFFWriteTile(t, tile, x, y, 0, (uint16_t)p), -1);
                free(tile);
            }
    }
}

static struct bytes make_tiff(uint32_t width, uint32_t height, const uint8_t *rows, size_t stride,
                              const struct tiff_recipe *r) {
    char path[] = "/tmp/yolopack-test-XXXXXX";
    int fd = mkstemp(path);
    struct bytes out = {0};
    cr_assert_geq(fd, 0);
    TIFF *t = TIFFFdOpen(fd, path, r->mode ? r->mode : "w");
    cr_assert_not_null(t);
    for (int page = 0; page < (r->pages ? r->pages : 1); page++) {
        TIFFSetField(t, TIFFTAG_IMAGEWIDTH, width);
        TIFFSetField(t, TIFFTAG_IMAGELENGTH, height);
        TIFFSetField(t, TIFFTAG_BITSPERSAMPLE, r->bits);
        TIFFSetField(t, TIFFTAG_SAMPLESPERPIXEL, r->samples);
        TIFFSetField(t, TIFFTAG_PHOTOMETRIC, r->photometric);
        TIFFSetField(t, TIFFTAG_COMPRESSION, r->compression ? r->compression : COMPRESSION_NONE);
        TIFFSetField(t, TIFFTAG_PLANARCONFIG, r->planar ? PLANARCONFIG_SEPARATE : PLANARCONFIG_CONTIG);
        if (r->format)
            TIFFSetField(t, TIFFTAG_SAMPLEFORMAT, r->format);
        if (r->orientation)
            TIFFSetField(t, TIFFTAG_ORIENTATION, r->orientation);
        if (r->map[0])
            TIFFSetField(t, TIFFTAG_COLORMAP, r->map[0], r->map[1], r->map[2]);
        uint16_t extra[4] = {(uint16_t)r->extra_kind, 0, 0, 0};
        int colours = r->photometric == PHOTOMETRIC_RGB ? 3 : 1;
        if (r->photometric <= PHOTOMETRIC_RGB && r->samples > colours)
            TIFFSetField(t, TIFFTAG_EXTRASAMPLES, r->samples - colours, extra);
        if (r->photometric == PHOTOMETRIC_YCBCR && r->compression == COMPRESSION_JPEG)
            TIFFSetField(t, TIFFTAG_JPEGCOLORMODE, JPEGCOLORMODE_RGB);
        if (r->tiled) {
            TIFFSetField(t, TIFFTAG_TILEWIDTH, r->block ? r->block : 16);
            TIFFSetField(t, TIFFTAG_TILELENGTH, r->block ? r->block : 16);
        } else {
            TIFFSetField(t, TIFFTAG_ROWSPERSTRIP, r->block ? r->block : 16);
        }
        write_blocks(t, width, height, rows, stride, r);
        cr_assert_eq(TIFFWriteDirectory(t), 1);
    }
    TIFFClose(t);
    FILE *f = fopen(path, "rb");
    uint8_t buffer[4096];
    for (size_t n; (n = fread(buffer, 1, sizeof buffer, f)) > 0;)
        cr_assert_eq(bytes_append(&out, buffer, n), 0);
    fclose(f);
    unlink(path);
    return out;
}

static struct pixels decode(const struct bytes *b) {
    struct span file = copy_of(b->data, b->size);
    const struct source_image_format *format = source_image_sniff(file);
    struct source_info info;
    struct pixels p;
    cr_assert_eq(format->id, SOURCE_TIFF);
    cr_assert_eq(format->probe(codec, &info, file, &error), 0, "%s", error.message);
    cr_assert_eq(format->decode(codec, &p, warning, file, &error), 0, "%s", error.message);
    cr_assert(p.width == info.width && p.height == info.height && p.channels == info.channels && p.depth == info.depth);
    free((void *)file.data);
    return p;
}

static struct source_info probe(const struct bytes *b) {
    struct source_info info;
    struct span file = {b->data, b->size};
    cr_assert_eq(source_image_sniff(file)->probe(codec, &info, file, &error), 0, "%s", error.message);
    return info;
}

static void assert_refused(const struct bytes *b, int code, const char *text) {
    struct span file = copy_of(b->data, b->size);
    const struct source_image_format *format = source_image_sniff(file);
    struct pixels p;
    cr_assert_not_null(format);
    cr_expect_eq(format->decode(codec, &p, warning, file, &error), code, "%s", error.message);
    cr_expect_not_null(strstr(error.message, text), "%s", error.message);
    cr_expect_null(p.data);
    free((void *)file.data);
}

/* Planes of interleaved samples, one after the other. */
static uint8_t *separate(const struct pixels *p) {
    size_t sample = p->depth / 8, plane = (size_t)p->width * p->height * sample;
    uint8_t *out = malloc(plane * p->channels);
    for (size_t i = 0; i < (size_t)p->width * p->height; i++)
        for (unsigned c = 0; c < p->channels; c++)
            memcpy(out + c * plane + i * sample, p->data + (i * p->channels + c) * sample, sample);
    return out;
}

/* ---- what is taken ----------------------------------------------------------------------------------------------- */

Test(source_tiff, every_layout_gives_the_same_pixels) {
    static const char *const modes[] = {"wl", "wb", "w8"};
    static const int compressions[] = {COMPRESSION_NONE, COMPRESSION_LZW, COMPRESSION_ADOBE_DEFLATE,
                                       COMPRESSION_PACKBITS};
    for (int depth = 8; depth <= 16; depth += 8)
        for (int channels = 1; channels <= 3; channels += 2)
            for (int variant = 0; variant < 3 * 4 * 4; variant++) {
                struct pixels in = make_texture(43, 37, channels, depth);
                uint8_t *planes = separate(&in);
                bool planar = variant & 1;
                struct tiff_recipe r = {.mode = modes[variant / 16],
                                        .bits = depth,
                                        .samples = channels,
                                        .photometric = channels == 3 ? PHOTOMETRIC_RGB : PHOTOMETRIC_MINISBLACK,
                                        .compression = compressions[variant / 4 % 4],
                                        .planar = planar,
                                        .tiled = variant & 2};
                size_t stride = planar ? in.stride / (size_t)channels : in.stride;
                struct bytes b = make_tiff(43, 37, planar ? planes : in.data, stride, &r);
                struct pixels out = decode(&b);
                cr_expect(same_pixels(&in, &out), "depth %d, channels %d, variant %d", depth, channels, variant);
                cr_expect_str_eq(warning, "");
                pixels_deinit(&in);
                pixels_deinit(&out);
                bytes_deinit(&b);
                free(planes);
            }
}

Test(source_tiff, samples_beyond_the_colours_are_dropped) {
    static const uint8_t rows[2 * 5] = {1, 2, 3, 99, 98, 4, 5, 6, 97, 96};
    static const struct {
        int samples, kind;
        const char *warning;
    } cases[] = {{4, EXTRASAMPLE_UNASSALPHA, ""},
                 {4, EXTRASAMPLE_ASSOCALPHA, ""},
                 {4, EXTRASAMPLE_UNSPECIFIED, "only the first 3 of its 4 samples a pixel are used"},
                 {5, EXTRASAMPLE_UNSPECIFIED, "only the first 3 of its 5 samples a pixel are used"}};
    for (size_t i = 0; i < 4; i++) {
        uint8_t used[10];
        for (int x = 0; x < 2; x++)
            memcpy(used + x * cases[i].samples, rows + 5 * x, (size_t)cases[i].samples);
        struct bytes b = make_tiff(
            2, 1, used, (size_t)cases[i].samples * 2,
            &(struct tiff_recipe){
                .bits = 8, .samples = cases[i].samples, .photometric = PHOTOMETRIC_RGB, .extra_kind = cases[i].kind});
        struct pixels p = decode(&b);
        cr_expect_arr_eq(p.data, ((uint8_t[]){1, 2, 3, 4, 5, 6}), 6);
        cr_expect_str_eq(warning, cases[i].warning);
        pixels_deinit(&p);
        bytes_deinit(&b);
    }
}

Test(source_tiff, small_depths_are_spread) {
    static const struct {
        int bits, photometric;
        uint8_t row, expected[4];
    } cases[] = {{1, PHOTOMETRIC_MINISBLACK, 0xA0, {255, 0, 255, 0}},
                 {1, PHOTOMETRIC_MINISWHITE, 0xA0, {0, 255, 0, 255}},
                 {2, PHOTOMETRIC_MINISBLACK, 0x1B, {0, 85, 170, 255}},
                 {2, PHOTOMETRIC_MINISWHITE, 0x1B, {255, 170, 85, 0}}};
    for (size_t i = 0; i < 4; i++) {
        struct bytes b =
            make_tiff(4, 1, &cases[i].row, 1,
                      &(struct tiff_recipe){.bits = cases[i].bits, .samples = 1, .photometric = cases[i].photometric});
        struct pixels p = decode(&b);
        cr_assert_eq(p.channels, 1);
        cr_assert_arr_eq(p.data, cases[i].expected, 4);
        pixels_deinit(&p);
        bytes_deinit(&b);
    }
}

Test(source_tiff, white_is_zero) {
    struct bytes b = make_tiff(2, 1, (uint8_t[]){0, 200}, 2,
                               &(struct tiff_recipe){.bits = 8, .samples = 1, .photometric = PHOTOMETRIC_MINISWHITE});
    struct pixels p = decode(&b);
    cr_assert_arr_eq(p.data, ((uint8_t[]){255, 55}), 2);
    pixels_deinit(&p);
    bytes_deinit(&b);
    b = make_tiff(2, 1, (uint8_t *)(uint16_t[]){0, 0x1234}, 4,
                  &(struct tiff_recipe){.bits = 16, .samples = 1, .photometric = PHOTOMETRIC_MINISWHITE});
    p = decode(&b);
    cr_assert_eq(load_u16(p.data), 0xFFFF);
    cr_assert_eq(load_u16(p.data + 2), 0xFFFF - 0x1234);
    pixels_deinit(&p);
    bytes_deinit(&b);
}

Test(source_tiff, palettes_of_16_and_of_8_bits) {
    uint16_t wide[3][16] = {{0, 0x1234, 0xFFFF}, {1, 0x00FF, 0}, {2, 3, 0x8000}},
             narrow[3][16] = {{0, 7}, {9, 255}, {4, 5}};
    struct tiff_recipe r = {
        .bits = 4, .samples = 1, .photometric = PHOTOMETRIC_PALETTE, .map = {wide[0], wide[1], wide[2]}};
    struct bytes b = make_tiff(3, 1, (uint8_t[]){0x01, 0x20}, 2, &r);
    struct pixels p = decode(&b);
    cr_assert_eq(p.channels, 3);
    cr_assert_arr_eq(p.data, ((uint8_t[]){0, 0, 0, 0x12, 0, 0, 0xFF, 0, 0x80}), 9);
    pixels_deinit(&p);
    bytes_deinit(&b);
    for (int c = 0; c < 3; c++)
        r.map[c] = narrow[c];
    b = make_tiff(2, 1, (uint8_t[]){0x01}, 1, &r);
    p = decode(&b);
    cr_assert_arr_eq(p.data, ((uint8_t[]){0, 9, 4, 7, 255, 5}), 6);
    pixels_deinit(&p);
    bytes_deinit(&b);
}

Test(source_tiff, fax_of_one_bit) {
    uint8_t rows[40 * 5];
    for (size_t i = 0; i < sizeof rows; i++)
        rows[i] = (uint8_t)(i / 5 % 8 < 4 ? 0xF0 : 0x0F);
    struct bytes b = make_tiff(40, 40, rows, 5,
                               &(struct tiff_recipe){.bits = 1,
                                                     .samples = 1,
                                                     .photometric = PHOTOMETRIC_MINISWHITE,
                                                     .compression = COMPRESSION_CCITTFAX4,
                                                     .orientation = 5,
                                                     .block = 40});
    struct pixels p = decode(&b);
    cr_assert_eq(probe(&b).orientation, 5);
    for (uint32_t y = 0; y < 40; y++)
        for (uint32_t x = 0; x < 40; x++)
            cr_assert_eq(p.data[y * p.stride + x], (y % 8 < 4) == (x % 8 < 4) ? 0 : 255);
    pixels_deinit(&p);
    b.data[12] ^= 0xFF; /* wrong codes, which the library would only warn of */
    b.data[13] ^= 0xFF;
    b.data[14] ^= 0xFF;
    assert_refused(&b, ERR_INPUT, "");
    bytes_deinit(&b);
}

Test(source_tiff, jpeg_inside) {
    struct pixels in = make_texture(64, 48, 3, 8);
    for (int tiled = 0; tiled < 2; tiled++) {
        struct bytes b = make_tiff(64, 48, in.data, in.stride,
                                   &(struct tiff_recipe){.bits = 8,
                                                         .samples = 3,
                                                         .photometric = PHOTOMETRIC_YCBCR,
                                                         .compression = COMPRESSION_JPEG,
                                                         .tiled = tiled});
        struct pixels p = decode(&b);
        uint64_t difference = 0;
        for (size_t i = 0; i < in.stride * in.height; i++)
            difference += (uint64_t)abs(in.data[i] - p.data[i]);
        cr_expect_lt(difference,
                     in.stride * in.height * 40); /* R,G,B, not Y,Cb,Cr: those would differ by more than 60 */
        cr_expect_str_eq(probe(&b).detail, tiled ? "TIFF 8-bit YCbCr tiled" : "TIFF 8-bit YCbCr");
        pixels_deinit(&p);
        bytes_deinit(&b);
    }
    pixels_deinit(&in);
}

Test(source_tiff, cmyk_is_converted_and_not_turned) {
    static const uint8_t rows[8] = {0, 0, 0, 0, 255, 0, 0, 0}; /* white, cyan */
    struct bytes b = make_tiff(
        2, 1, rows, 8,
        &(struct tiff_recipe){.bits = 8, .samples = 4, .photometric = PHOTOMETRIC_SEPARATED, .orientation = 2});
    struct pixels p = decode(&b);
    cr_assert_arr_eq(p.data, ((uint8_t[]){255, 255, 255, 0, 255, 255}), 6);
    cr_assert_eq(probe(&b).orientation, 2);
    pixels_deinit(&p);
    bytes_deinit(&b);
}

Test(source_tiff, first_of_two_pages) {
    struct pixels in = make_texture(20, 20, 1, 8);
    struct bytes b =
        make_tiff(20, 20, in.data, in.stride,
                  &(struct tiff_recipe){.bits = 8, .samples = 1, .photometric = PHOTOMETRIC_MINISBLACK, .pages = 2});
    struct pixels p = decode(&b);
    cr_assert(same_pixels(&in, &p));
    cr_assert_str_eq(warning, "only the first of its pages is used");
    pixels_deinit(&in);
    pixels_deinit(&p);
    bytes_deinit(&b);
}

/* ---- what is refused --------------------------------------------------------------------------------------------- */

Test(source_tiff, numbers_that_are_no_pixels) {
    static const struct {
        int bits, format;
        const char *text;
    } cases[] = {{16, SAMPLEFORMAT_INT, "signed 16-bit samples"},
                 {8, SAMPLEFORMAT_INT, "signed 8-bit samples"},
                 {32, SAMPLEFORMAT_UINT, "32-bit samples"},
                 {32, SAMPLEFORMAT_IEEEFP, "floating-point 32-bit samples"},
                 {64, SAMPLEFORMAT_IEEEFP, "floating-point 64-bit samples"}};
    uint8_t rows[16] = {0};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct bytes b = make_tiff(
            2, 1, rows, (size_t)cases[i].bits / 4,
            &(struct tiff_recipe){
                .bits = cases[i].bits, .samples = 1, .photometric = PHOTOMETRIC_MINISBLACK, .format = cases[i].format});
        assert_refused(&b, ERR_UNSUPPORTED, cases[i].text);
        bytes_deinit(&b);
    }
}

Test(source_tiff, cut_anywhere) {
    for (int compression = COMPRESSION_NONE; compression <= COMPRESSION_LZW; compression += 4) {
        struct pixels in = make_texture(40, 40, 3, 8);
        struct bytes b = make_tiff(
            40, 40, in.data, in.stride,
            &(struct tiff_recipe){.bits = 8, .samples = 3, .photometric = PHOTOMETRIC_RGB, .compression = compression});
        for (size_t n = 4; n < b.size; n += 1 + n / 50) {
            struct bytes cut = {b.data, n, n};
            struct span file = copy_of(cut.data, n);
            struct pixels p;
            cr_expect_neq(source_image_sniff(file)->decode(codec, &p, warning, file, &error), 0, "%zu bytes", n);
            cr_expect_null(p.data);
            free((void *)file.data);
        }
        pixels_deinit(&in);
        bytes_deinit(&b);
    }
}

/* Any byte of a small file replaced: refused or decoded, and nothing read out of bounds. */
Test(source_tiff, wrong_bytes) {
    struct pixels in = make_texture(16, 16, 1, 8);
    struct bytes b =
        make_tiff(16, 16, in.data, in.stride,
                  &(struct tiff_recipe){
                      .bits = 8, .samples = 1, .photometric = PHOTOMETRIC_MINISBLACK, .compression = COMPRESSION_LZW});
    for (size_t i = 4; i < b.size; i++)
        for (int value = 0; value < 256; value += 51) {
            struct span file = copy_of(b.data, b.size);
            struct source_info info;
            struct pixels p = {0};
            ((uint8_t *)(uintptr_t)file.data)[i] = (uint8_t)value;
            const struct source_image_format *format = source_image_sniff(file);
            if (format->probe(codec, &info, file, &error) == 0 && (uint64_t)info.width * info.height < 1 << 22) {
                int rc = format->decode(codec, &p, warning, file, &error);
                cr_assert(rc == 0 || rc == ERR_INPUT || rc == ERR_UNSUPPORTED, "byte %zu = %d: %d %s", i, value, rc,
                          error.message);
            }
            pixels_deinit(&p);
            free((void *)file.data);
        }
    pixels_deinit(&in);
    bytes_deinit(&b);
}

/* A header that claims a tile far larger than its picture costs no memory. */
Test(source_tiff, huge_tiles) {
    uint8_t rows[16 * 16] = {0};
    struct bytes b =
        make_tiff(16, 16, rows, 16,
                  &(struct tiff_recipe){.bits = 8, .samples = 1, .photometric = PHOTOMETRIC_MINISBLACK, .tiled = true});
    size_t changed = 0;
    for (size_t i = load_u32(b.data + 4) + 2; i + 12 <= b.size; i += 12) {
        uint16_t tag = load_u16(b.data + i);
        if (tag != TIFFTAG_TILEWIDTH && tag != TIFFTAG_TILELENGTH)
            continue;
        store_u16(b.data + i + 2, 4); /* LONG */
        store_u32(b.data + i + 8, 1 << 15);
        changed++;
    }
    cr_assert_eq(changed, 2);
    assert_refused(&b, ERR_INPUT, "tiles of 32768x32768 px");
    bytes_deinit(&b);
}
