#include "jpeg.h"

#include "tiny_source.h"

#include <png.h>

TestSuite(source_image, .init = codec_open, .fini = codec_close);

/* ---- PNG files --------------------------------------------------------------------------------------------------- */

struct png_recipe {
    int color_type, bit_depth;
    bool interlaced, transparent;
    const png_color *palette;
    int palette_size;
    int orientation; /* an eXIf chunk */
};

static void append_chunk(png_structp png, png_bytep data, size_t n) {
    cr_assert_eq(bytes_append(png_get_io_ptr(png), data, n), 0);
}

/* `rows` are as PNG stores them: packed below 8 bits, big-endian at 16. */
static struct bytes make_png(uint32_t width, uint32_t height, const uint8_t *rows, size_t stride,
                             const struct png_recipe *recipe) {
    struct bytes out = {0};
    png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, NULL, NULL, NULL);
    png_infop info = png_create_info_struct(png);
    png_set_write_fn(png, &out, append_chunk, NULL);
    png_set_IHDR(png, info, width, height, recipe->bit_depth, recipe->color_type,
                 recipe->interlaced ? PNG_INTERLACE_ADAM7 : PNG_INTERLACE_NONE, 0, 0);
    if (recipe->palette)
        png_set_PLTE(png, info, recipe->palette, recipe->palette_size);
    if (recipe->transparent) {
        uint8_t alpha[4] = {0, 128, 255, 7};
        png_color_16 key = {0};
        png_set_tRNS(png, info, alpha, recipe->palette ? 2 : 0, &key);
    }
    png_write_info(png, info);
    if (recipe->orientation) {
        uint8_t tiff[32];
        png_write_chunk(png, (png_const_bytep) "eXIf", tiff, make_exif(tiff, true, recipe->orientation));
    }
    int passes = png_set_interlace_handling(png);
    for (int pass = 0; pass < passes; pass++)
        for (uint32_t y = 0; y < height; y++)
            png_write_row(png, rows + y * stride);
    png_write_end(png, info);
    png_destroy_write_struct(&png, &info);
    return out;
}

static struct source_info probe(struct span file) {
    struct source_info info;
    const struct source_image_format *format = source_image_sniff(file);
    cr_assert_not_null(format);
    cr_assert_eq(format->probe(codec, &info, file, &error), 0, "%s", error.message);
    return info;
}

static struct pixels decode(const struct bytes *b) {
    struct span file = {b->data, b->size};
    struct source_info info = probe(file);
    struct pixels p;
    cr_assert_eq(source_image_sniff(file)->decode(codec, &p, warning, file, &error), 0, "%s", error.message);
    cr_assert_eq(p.width, info.width);
    cr_assert_eq(p.height, info.height);
    cr_assert_eq(p.channels, info.channels);
    cr_assert_eq(p.depth, info.depth);
    return p;
}

static void assert_refused(struct span file) {
    const struct source_image_format *format = source_image_sniff(file);
    struct pixels p;
    if (!format)
        return;
    cr_assert_eq(format->decode(codec, &p, warning, file, &error), ERR_INPUT);
    cr_assert_null(p.data);
    cr_assert_neq(error.message[0], 0);
}

Test(source_image, png_rgb_and_gray) {
    for (int channels = 1; channels <= 3; channels += 2)
        for (int interlaced = 0; interlaced < 2; interlaced++) {
            struct pixels in = make_texture(37, 21, channels, 8);
            struct bytes b =
                make_png(37, 21, in.data, in.stride,
                         &(struct png_recipe){.color_type = channels == 3 ? PNG_COLOR_TYPE_RGB : PNG_COLOR_TYPE_GRAY,
                                              .bit_depth = 8,
                                              .interlaced = interlaced});
            struct pixels out = decode(&b);
            cr_assert(same_pixels(&in, &out));
            cr_assert_str_eq(warning, "");
            pixels_deinit(&in);
            pixels_deinit(&out);
            bytes_deinit(&b);
        }
}

Test(source_image, png_16_bit_stays_16_bit) {
    uint8_t rows[] = {0x12, 0x34, 0xFF, 0xFE, 0x00, 0x01, 0x80, 0x00};
    struct bytes b = make_png(2, 2, rows, 4, &(struct png_recipe){.color_type = PNG_COLOR_TYPE_GRAY, .bit_depth = 16});
    struct pixels p = decode(&b);
    uint16_t values[4];
    cr_assert_eq(p.depth, 16);
    cr_assert_eq(p.channels, 1);
    memcpy(values, p.data, 8);
    cr_assert_arr_eq(values, ((uint16_t[]){0x1234, 0xFFFE, 1, 0x8000}), 8);
    cr_assert_str_eq(probe((struct span){b.data, b.size}).detail, "PNG 16-bit gray");
    pixels_deinit(&p);
    bytes_deinit(&b);
}

Test(source_image, png_small_depths_are_spread) {
    static const struct {
        int depth;
        uint8_t row[1], expected[4];
    } cases[] = {{1, {0xA0}, {255, 0, 255, 0}}, {2, {0x1B}, {0, 85, 170, 255}}};
    for (size_t i = 0; i < 2; i++)
        for (int transparent = 0; transparent < 2; transparent++) {
            struct bytes b = make_png(4, 1, cases[i].row, 1,
                                      &(struct png_recipe){.color_type = PNG_COLOR_TYPE_GRAY,
                                                           .bit_depth = cases[i].depth,
                                                           .transparent = transparent});
            struct pixels p = decode(&b);
            cr_assert_eq(p.channels, 1);
            cr_assert_eq(p.depth, 8);
            cr_assert_arr_eq(p.data, cases[i].expected, 4);
            pixels_deinit(&p);
            bytes_deinit(&b);
        }
    struct bytes b =
        make_png(2, 1, (uint8_t[]){0x3F}, 1, &(struct png_recipe){.color_type = PNG_COLOR_TYPE_GRAY, .bit_depth = 4});
    struct pixels p = decode(&b);
    cr_assert_arr_eq(p.data, ((uint8_t[]){51, 255}), 2);
    pixels_deinit(&p);
    bytes_deinit(&b);
}

Test(source_image, png_palette_with_transparency) {
    static const png_color palette[4] = {{10, 20, 30}, {40, 50, 60}, {70, 80, 90}, {1, 2, 3}};
    struct bytes b = make_png(4, 1, (uint8_t[]){0x1B}, 1,
                              &(struct png_recipe){.color_type = PNG_COLOR_TYPE_PALETTE,
                                                   .bit_depth = 2,
                                                   .palette = palette,
                                                   .palette_size = 4,
                                                   .transparent = true});
    struct pixels p = decode(&b);
    cr_assert_eq(p.channels, 3);
    cr_assert_arr_eq(p.data, ((uint8_t[]){10, 20, 30, 40, 50, 60, 70, 80, 90, 1, 2, 3}), 12);
    cr_assert_str_eq(probe((struct span){b.data, b.size}).detail, "PNG 2-bit palette");
    pixels_deinit(&p);
    bytes_deinit(&b);
}

Test(source_image, png_alpha_is_dropped) {
    struct bytes b = make_png(2, 1, (uint8_t[]){1, 2, 3, 0, 4, 5, 6, 128}, 8,
                              &(struct png_recipe){.color_type = PNG_COLOR_TYPE_RGBA, .bit_depth = 8});
    struct pixels p = decode(&b);
    cr_assert_arr_eq(p.data, ((uint8_t[]){1, 2, 3, 4, 5, 6}), 6);
    pixels_deinit(&p);
    bytes_deinit(&b);
    b = make_png(2, 1, (uint8_t[]){9, 0, 8, 255}, 4,
                 &(struct png_recipe){.color_type = PNG_COLOR_TYPE_GRAY_ALPHA, .bit_depth = 8, .interlaced = true});
    p = decode(&b);
    cr_assert_eq(p.channels, 1);
    cr_assert_arr_eq(p.data, ((uint8_t[]){9, 8}), 2);
    pixels_deinit(&p);
    bytes_deinit(&b);
}

Test(source_image, png_orientation_before_and_after_the_pixels) {
    uint8_t rows[4] = {1, 2, 3, 4}, chunk[64] = {0, 0, 0, 26, 'e', 'X', 'I', 'f'};
    struct bytes b = make_png(
        2, 2, rows, 2, &(struct png_recipe){.color_type = PNG_COLOR_TYPE_GRAY, .bit_depth = 8, .orientation = 6});
    cr_assert_eq(probe((struct span){b.data, b.size}).orientation, 6);

    /* The same chunk moved behind IDAT. */
    size_t at = 8 + 25;
    memcpy(chunk, b.data + at, 12 + 26);
    cr_assert_eq(memcmp(chunk + 4, "eXIf", 4), 0);
    memmove(b.data + at, b.data + at + 38, b.size - at - 38);
    b.size -= 38;
    cr_assert_eq(probe((struct span){b.data, b.size}).orientation, 1);
    insert_bytes(&b, b.size - 12, chunk, 38);
    struct source_info info = probe((struct span){b.data, b.size});
    cr_assert_eq(info.orientation, 6);
    cr_assert_not(info.orientation_broken);
    struct pixels p = decode(&b);
    cr_assert_arr_eq(p.data, rows, 4);
    pixels_deinit(&p);

    b.data[b.size - 12 - 20] ^= 1; /* its CRC is wrong now */
    info = probe((struct span){b.data, b.size});
    cr_assert_eq(info.orientation, 1);
    cr_assert(info.orientation_broken);
    bytes_deinit(&b);
}

Test(source_image, png_cut_anywhere) {
    struct pixels in = make_texture(31, 19, 3, 8);
    struct bytes b =
        make_png(31, 19, in.data, in.stride, &(struct png_recipe){.color_type = PNG_COLOR_TYPE_RGB, .bit_depth = 8});
    for (size_t n = 0; n < b.size; n += 1 + n / 100) {
        struct span file = copy_of(b.data, n);
        assert_refused(file);
        free((void *)file.data);
    }
    assert_refused((struct span){b.data, b.size - 1});
    pixels_deinit(&in);
    bytes_deinit(&b);
}

Test(source_image, png_wrong_bits) {
    struct pixels in = make_texture(16, 16, 3, 8);
    struct bytes b =
        make_png(16, 16, in.data, in.stride, &(struct png_recipe){.color_type = PNG_COLOR_TYPE_RGB, .bit_depth = 8});
    for (size_t i = 8; i < b.size; i++) { /* any bit of a critical chunk, its CRC included */
        struct span file = copy_of(b.data, b.size);
        struct source_info info;
        ((uint8_t *)file.data)[i] ^= (uint8_t)(1u << i % 8);
        const struct source_image_format *format = source_image_sniff(file);
        if (format->probe(codec, &info, file, &error) == 0 && info.width <= 1024 && info.height <= 1024)
            assert_refused(file);
        free((void *)file.data);
    }
    pixels_deinit(&in);
    bytes_deinit(&b);
}

/* Chunks whose contents are never looked at: a compressed text that does not unpack, and one over 8 MB. */
Test(source_image, png_strange_chunks_are_skipped) {
    uint8_t rows[4] = {1, 2, 3, 4};
    for (int large = 0; large < 2; large++) {
        struct bytes b = {0};
        uint8_t *text = calloc(1, 9 << 20);
        cr_assert_not_null(text);
        png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, NULL, NULL, NULL);
        png_infop info = png_create_info_struct(png);
        png_set_write_fn(png, &b, append_chunk, NULL);
        png_set_IHDR(png, info, 2, 2, 8, PNG_COLOR_TYPE_GRAY, PNG_INTERLACE_NONE, 0, 0);
        png_write_info(png, info);
        memcpy(text, "Comment\0\0junk", 13);
        png_write_chunk(png, (png_const_bytep) "zTXt", text, large ? 9 << 20 : 13);
        png_write_chunk(png, (png_const_bytep) "iCCP", text, 13);
        png_write_row(png, rows);
        png_write_row(png, rows + 2);
        png_write_end(png, NULL);
        png_destroy_write_struct(&png, &info);
        free(text);
        struct pixels p = decode(&b);
        cr_assert_arr_eq(p.data, rows, 4);
        pixels_deinit(&p);
        bytes_deinit(&b);
    }
}

Test(source_image, png_header_claims) {
    uint8_t rows[4] = {1, 2, 3, 4};
    struct bytes b = make_png(2, 2, rows, 2, &(struct png_recipe){.color_type = PNG_COLOR_TYPE_GRAY, .bit_depth = 8});
    struct source_info info;
    memset(b.data + 16, 0xFF, 4); /* width; the CRC does not fit either */
    cr_assert_eq(
        source_image_sniff((struct span){b.data, b.size})->probe(codec, &info, (struct span){b.data, b.size}, &error),
        ERR_INPUT);
    bytes_deinit(&b);
}

/* ---- formats ----------------------------------------------------------------------------------------------------- */

Test(source_image, sniffs_content) {
    static const struct {
        const char *bytes;
        size_t n;
        enum source_format format;
    } cases[] = {
        {"", 0, SOURCE_UNKNOWN},
        {"\xFF\xD8", 2, SOURCE_UNKNOWN},
        {"\xFF\xD8\xFF", 3, SOURCE_JPEG},
        {"x\xFF\xD8\xFF", 4, SOURCE_UNKNOWN},
        {"\x89PNG\r\n\x1A", 7, SOURCE_UNKNOWN},
        {"\x89PNG\r\n\x1A\n", 8, SOURCE_PNG},
        {"\x89PNG\n\x1A\n\0", 8, SOURCE_UNKNOWN},
        {"<html>404</html>", 16, SOURCE_UNKNOWN},
        {"II*", 3, SOURCE_UNKNOWN},
        {"II*\0", 4, SOURCE_TIFF},
        {"MM\0*", 4, SOURCE_TIFF},
        {"MM\0+", 4, SOURCE_TIFF},
        {"II\0*", 4, SOURCE_UNKNOWN},
        {"RIFF\0\0\0\0WEBP", 12, SOURCE_WEBP},
        {"RIFF\0\0\0\0WAVE", 12, SOURCE_UNKNOWN},
        {"BM............\x28\0\0\0", 18, SOURCE_BMP},
        {"BMW is a make of car", 20, SOURCE_UNKNOWN},
        {"BM............\x28\0\0", 17, SOURCE_UNKNOWN},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct span file = copy_of(cases[i].bytes, cases[i].n);
        const struct source_image_format *format = source_image_sniff(file);
        cr_assert_eq(format ? format->id : SOURCE_UNKNOWN, cases[i].format, "case %zu", i);
        free((void *)file.data);
    }
}

Test(source_image, jpeg) {
    struct pixels in = make_texture(45, 33, 3, 8);
    struct bytes b = make_jpeg(&in, 3, &(struct jpeg_recipe){.h = 2, .v = 2, .progressive = true});
    insert_exif(&b, 20, true, 8);
    struct source_info info = probe((struct span){b.data, b.size});
    cr_assert_str_eq(info.detail, "JPEG 4:2:0 progressive");
    cr_assert_eq(info.orientation, 8);
    struct pixels p = decode(&b);
    cr_assert_str_eq(warning, "");
    pixels_deinit(&p);
    b.size -= 2;
    p = decode(&b);
    cr_assert_str_eq(warning, "the EOI marker is missing");
    pixels_deinit(&p);
    assert_refused((struct span){b.data, b.size - 20});
    pixels_deinit(&in);
    bytes_deinit(&b);
}

/* ---- the collection of odd files --------------------------------------------------------------------------------- */

enum verdict { TAKEN, WARNED, NO_FORMAT, HEADER, UNSUPPORTED, DAMAGED };

struct odd_file {
    const char *name;
    enum verdict verdict;
    uint32_t width, height;
    uint8_t channels, depth, orientation;
};

/* Sizes as stored. Where the collection's manifest says something else, the reason is given. */
static const struct odd_file odd_files[] = {
    {"Landscape_1.jpg", TAKEN, 1800, 1200, 3, 8, 1},
    {"Portrait_1.jpg", TAKEN, 1200, 1800, 3, 8, 1},
    {"Landscape_3.jpg", TAKEN, 1800, 1200, 3, 8, 3},
    {"Portrait_3.jpg", TAKEN, 1200, 1800, 3, 8, 3},
    {"Landscape_6.jpg", TAKEN, 1200, 1800, 3, 8, 6},
    {"Portrait_6.jpg", TAKEN, 1800, 1200, 3, 8, 6},
    {"Landscape_7.jpg", TAKEN, 1200, 1800, 3, 8, 7},
    {"Portrait_8.jpg", TAKEN, 1800, 1200, 3, 8, 8},
    {"hopper_orientation_3.jpg", TAKEN, 128, 128, 3, 8, 3},
    {"hopper_orientation_4.jpg", TAKEN, 128, 128, 3, 8, 4},
    {"hopper_orientation_6.jpg", TAKEN, 128, 128, 3, 8, 6},
    {"hopper_orientation_7.jpg", TAKEN, 128, 128, 3, 8, 7},
    {"hopper_orientation_8.jpg", TAKEN, 128, 128, 3, 8, 8},
    {"exif_imagemagick_orientation.png", TAKEN, 512, 512, 3, 8, 1},
    {"testimgari.jpg", TAKEN, 227, 149, 3, 8, 1},
    {"monkey12.jpg", .verdict = UNSUPPORTED},
    {"testorig.jpg", TAKEN, 227, 149, 3, 8, 1},
    {"testimgint.jpg", TAKEN, 227, 149, 3, 8, 1},
    {"pil_sample_cmyk.jpg", TAKEN, 100, 100, 3, 8, 1},
    {"rgb.jpg", TAKEN, 100, 100, 3, 8, 1},
    {"jpg-cmyk-1.jpg", TAKEN, 32, 32, 3, 8, 1},
    {"jpg-gray.jpg", TAKEN, 32, 32, 1, 8, 1},
    {"hopper_gray.jpg", TAKEN, 128, 128, 1, 8, 1},
    /* Manifest: taken with a warning. Its scans end before their data do, and the library fills in the rest. */
    {"partial_progressive.jpg", DAMAGED, 4, 4, 3, 8, 1},
    {"progressive-missing-dc.jpg", DAMAGED, 8, 8, 1, 8, 1},
    {"non-interleaved-mcu.jpg", TAKEN, 64, 16, 3, 8, 1},
    {"extraneous-data.jpg", WARNED, 16, 16, 3, 8, 1},
    {"mjpeg.jpg", WARNED, 960, 720, 3, 8, 1},
    {"16bit-qtables.jpg", TAKEN, 1, 1, 3, 8, 1},
    {"hopper_16bit_qtables.jpg", TAKEN, 128, 128, 3, 8, 1},
    {"jpg-size-1x1.jpg", TAKEN, 1, 1, 3, 8, 1},
    {"MR4.jpg", .verdict = UNSUPPORTED},
    {"empty.jpg", .verdict = NO_FORMAT},
    {"null_height.jpg", .verdict = HEADER},
    {"max_size.jpg", .verdict = HEADER},
    {"missing-sof.jpg", .verdict = HEADER},
    {"missing-sos.jpg", .verdict = HEADER},
    {"invalid-dimensions.jpg", .verdict = HEADER},
    {"dc-predictor-overflow.jpg", DAMAGED, 144, 144, 1, 8, 1},
    {"derive-huffman-codes-overflow.jpg", .verdict = HEADER},
    /* Manifest: refused, or decoded in part. Only the last byte, half of the EOI marker, is missing: all ten scans are
     * there, and with them every bit of every coefficient. */
    {"truncated_jpeg.jpg", WARNED, 100, 100, 3, 8, 1},
    /* Manifest: 500x500, gray, taken. The data between its restart markers are rubbish, with codes that do
     * not exist. */
    {"hopper_bad_exif.jpg", DAMAGED, 500, 500, 1, 8, 1},
    {"multiple_exif.jpg", TAKEN, 1, 1, 1, 8, 1},
    {"junk_jpeg_header.jpg", WARNED, 1024, 768, 3, 8, 1},
    {"jpeg_ff00_header.jpg", WARNED, 300, 225, 3, 8, 1},
    {"icc_profile_big.jpg", TAKEN, 425, 250, 3, 8, 1},
    {"frozenpond.mpo", TAKEN, 640, 480, 3, 8, 1},
    {"sugarshack.mpo", TAKEN, 640, 480, 3, 8, 1},
    /* Manifest: taken. The file ends with the header of its first scan (14 bytes at 48,183 of 48,197), without one byte
     * of data; neither the picture nor the second one that its MPF index names is there. */
    {"ultrahdr.jpg", DAMAGED, 1512, 2688, 3, 8, 1},
    {"broken_exif_dpi.jpg", TAKEN, 100, 100, 3, 8, 1},
    {"drv_no_eoi.jpg", WARNED, 640, 428, 3, 8, 1},
    {"drv_trail_zeros.jpg", TAKEN, 640, 428, 3, 8, 1},
    {"drv_trail_text.jpg", TAKEN, 640, 428, 3, 8, 1},
    {"drv_two_jpegs.jpg", TAKEN, 640, 428, 3, 8, 1},
    {"drv_html.jpg", .verdict = NO_FORMAT},
    {"drv_zero.png", .verdict = NO_FORMAT},
    {"basi0g16.png", TAKEN, 32, 32, 1, 16, 1},
    {"tbbn0g04.png", TAKEN, 32, 32, 1, 8, 1},
    {"tbbn3p08.png", TAKEN, 32, 32, 3, 8, 1},
    {"ball.png", TAKEN, 100, 100, 3, 8, 1},
    {"1_trns.png", TAKEN, 64, 64, 1, 8, 1},
    {"hopper_bw_500.png", TAKEN, 500, 500, 1, 8, 1},
    {"transparent.png", TAKEN, 200, 150, 3, 8, 1},
    {"p_16.png", TAKEN, 128, 128, 3, 8, 1},
    {"exif.png", TAKEN, 512, 512, 3, 8, 1},
    {"hopper_idat_after_image_end.png", WARNED, 128, 128, 3, 8, 1},
    {"padded_idat.png", WARNED, 256, 10, 1, 8, 1},
    {"broken.png", .verdict = HEADER},
    {"broken_data_stream.png", DAMAGED, 128, 128, 3, 8, 1},
    {"png_decompression_dos.png", TAKEN, 1, 1, 1, 8, 1},
    {"drv_ir14.png", TAKEN, 320, 256, 1, 16, 1},
    {"16bit.cropped.tif", TAKEN, 64, 64, 1, 16, 1},
    {"16bit.MM.cropped.tif", TAKEN, 64, 64, 1, 16, 1},
    {"16bit.s.tif", .verdict = UNSUPPORTED},
    {"12in16bit.tif", TAKEN, 100, 100, 1, 16, 1},
    {"tiff_16bit_RGB.tiff", TAKEN, 100, 40, 3, 16, 1},
    {"tiff_strip_planar_16bit_RGB.tiff", TAKEN, 100, 40, 3, 16, 1},
    {"tiff_tiled_planar_16bit_RGBa.tiff", TAKEN, 100, 40, 3, 16, 1},
    /* Its samples are signed, which the manifest does not tell. */
    {"separate_planar_extra_samples.tiff", .verdict = UNSUPPORTED},
    {"hopper_unknown_pixel_mode.tif", .verdict = UNSUPPORTED},
    {"hopper_bigtiff.tif", TAKEN, 128, 128, 3, 8, 1},
    {"multipage.tiff", WARNED, 10, 10, 3, 8, 1},
    {"10ct_32bit_128.tiff", .verdict = UNSUPPORTED},
    {"tiff_strip_ycbcr_jpeg_2x2_sampling.tif", TAKEN, 480, 360, 3, 8, 1},
    {"hopper_lzma.tif", TAKEN, 128, 128, 3, 8, 1},
    {"hopper_webp.tif", TAKEN, 128, 128, 3, 8, 1},
    /* Manifest: an error. BitsPerSample has one value for its four samples, and the strip's length is nonsense, but
     * with 8 bits a sample the pixels are exactly what the file has: 160 + 52 x 53 x 4 bytes. */
    {"tiff_wrong_bits_per_sample.tiff", WARNED, 52, 53, 3, 8, 1},
    {"crash-0c7e0e8e11ce787078f00b5b0ca409a167f070e0.tif", DAMAGED, 480, 360, 3, 8, 1},
    {"rgb32f_color.tiff", .verdict = UNSUPPORTED},
    {"ycbcr_lzw_bt709.tif", TAKEN, 601, 81, 3, 8, 1},
    {"g4_orientation_5.tif", TAKEN, 88, 590, 1, 8, 5},
    {"drv_rgbt4_chunky.tiff", WARNED, 320, 256, 3, 8, 1},
    {"drv_rgbt4_planar.tiff", WARNED, 320, 256, 3, 8, 1},
    {"drv_rgbt4_16bit.tiff", WARNED, 320, 256, 3, 16, 1},
    /* Pages as channels is one program's convention: the first page, with a note that there are more. */
    {"drv_multipage4.tiff", WARNED, 320, 256, 1, 8, 1},
    {"drv_ir14.tiff", TAKEN, 320, 256, 1, 16, 1},
    {"rgb24.bmp", TAKEN, 127, 64, 3, 8, 1},
    /* Manifest: one channel. A BMP of 1 to 8 bits has a palette of colours; gray is found when it is stored. */
    {"Core_1_Bit.bmp", TAKEN, 435, 353, 3, 8, 1},
    {"Info_8_Bit_Top_Down.bmp", TAKEN, 6, 6, 3, 8, 1},
    {"rgb16-565.bmp", TAKEN, 127, 64, 3, 8, 1},
    {"rgba32.bmp", TAKEN, 127, 64, 3, 8, 1},
    {"shortfile.bmp", .verdict = HEADER},
    {"badbitcount.bmp", .verdict = HEADER},
    {"reallybig.bmp", .verdict = HEADER},
    {"hopper.webp", TAKEN, 128, 128, 3, 8, 1},
    {"transparent.webp", TAKEN, 200, 150, 3, 8, 1},
    {"hopper_orientation_6.webp", TAKEN, 128, 128, 3, 8, 6},
    {"hopper_orientation_8.webp", TAKEN, 128, 128, 3, 8, 8},
    {"drv_rgbt4_hwc.npy", .verdict = NO_FORMAT},
};

static struct bytes read_file(const char *folder, const char *name) {
    char path[4096];
    uint8_t buffer[16384];
    struct bytes b = {0};
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *f = fopen(path, "rb");
    cr_assert_not_null(f, "%s", path);
    for (size_t n; (n = fread(buffer, 1, sizeof buffer, f)) > 0;)
        cr_assert_eq(bytes_append(&b, buffer, n), 0);
    fclose(f);
    return b;
}

static void check_odd_file(const char *folder, const struct odd_file *odd) {
    struct bytes b = read_file(folder, odd->name);
    struct span file = copy_of(b.data, b.size);
    const struct source_image_format *format = source_image_sniff(file);
    struct source_info info;
    struct pixels p = {0};

    cr_expect_eq(format == NULL, odd->verdict == NO_FORMAT, "%s", odd->name);
    if (!format)
        goto out;
    int rc = format->probe(codec, &info, file, &error);
    if (rc == ERR_UNSUPPORTED && strstr(error.message, "this build has no"))
        goto out;
    cr_expect_eq(rc,
                 odd->verdict == HEADER        ? ERR_INPUT
                 : odd->verdict == UNSUPPORTED ? ERR_UNSUPPORTED
                                               : 0,
                 "%s: %d %s", odd->name, rc, error.message);
    if (rc != 0)
        goto out;
    cr_expect(info.width == odd->width && info.height == odd->height && info.channels == odd->channels &&
                  info.depth == odd->depth && info.orientation == odd->orientation,
              "%s: %ux%u, %d channels, %d bits, orientation %d", odd->name, info.width, info.height, info.channels,
              info.depth, info.orientation);
    rc = format->decode(codec, &p, warning, file, &error);
    cr_expect_eq(rc, odd->verdict == DAMAGED ? ERR_INPUT : 0, "%s: %s", odd->name, error.message);
    if (rc == 0)
        cr_expect_eq(warning[0] != 0, odd->verdict == WARNED, "%s: %s", odd->name, warning);
    if (format->id == SOURCE_JPEG) {
        struct jpeg_check check;
        cr_expect_eq(jpeg_check_full(codec_jpeg(codec), &check, file, &error), 0, "%s: %s", odd->name, error.message);
        cr_expect_eq(check.complete, rc == 0, "%s", odd->name);
    }
out:
    pixels_deinit(&p);
    free((void *)file.data);
    bytes_deinit(&b);
}

static const struct odd_file *find_odd_file(const char *name) {
    for (size_t i = 0; i < sizeof odd_files / sizeof odd_files[0]; i++)
        if (strcmp(odd_files[i].name, name) == 0)
            return &odd_files[i];
    return NULL;
}

/* Every row of the manifest, so that a file added there is missed here. */
Test(source_image, odd_files) {
    const char *data = getenv("YPK_TEST_DATA");
    char folder[2048], row[2048];
    if (!data)
        cr_skip("YPK_TEST_DATA is not set");
    snprintf(folder, sizeof folder, "%s/odd/MANIFEST.tsv", data);
    FILE *manifest = fopen(folder, "r");
    if (!manifest)
        cr_skip("no odd/MANIFEST.tsv in YPK_TEST_DATA");
    *strrchr(folder, '/') = 0;

    size_t count = 0;
    cr_assert_not_null(fgets(row, sizeof row, manifest)); /* the head line */
    while (fgets(row, sizeof row, manifest)) {
        row[strcspn(row, "\t\n")] = 0;
        const struct odd_file *odd = find_odd_file(row);
        cr_assert_not_null(odd, "%s has no expectation", row);
        check_odd_file(folder, odd);
        count++;
    }
    fclose(manifest);
    cr_expect_eq(count, sizeof odd_files / sizeof odd_files[0]);
}
