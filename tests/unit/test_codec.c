#include "codec.h"
#include "jpeg.h"
#include "tiny_pictures.h"

#include <zstd.h>

static struct error error;
static struct codec *codec;

static void setup(void) {
    cr_assert_eq(codec_create(&codec, &error), 0);
}

static void teardown(void) {
    codec_destroy(&codec);
    cr_assert_null(codec);
    codec_destroy(&codec); /* of nothing */
}

TestSuite(codec, .init = setup, .fini = teardown);

static struct record_image image_of(enum codec_id id, int flags, int channels, uint16_t width, uint16_t height) {
    return (struct record_image){.codec = (uint8_t)id,
                                 .flags = (uint8_t)flags,
                                 .channels = (uint8_t)channels,
                                 .depth = 8,
                                 .width = width,
                                 .height = height};
}

static struct pixels decode(const struct record_image *image, struct span payload, int channels) {
    struct pixels out;
    cr_assert_eq(pixels_init(&out, image->width, image->height, channels, 8, &error), 0);
    cr_assert_eq(codec_decode(codec, image, payload, &out, &error), 0, "%s", error.message);
    return out;
}

static void assert_corrupt(const struct record_image *image, struct span payload) {
    struct pixels out;
    cr_assert_eq(pixels_init(&out, image->width, image->height, 3, 8, &error), 0);
    memset(out.data, 0xAA, out.stride * out.height);
    error = (struct error){0};
    cr_assert_eq(codec_decode(codec, image, payload, &out, &error), ERR_CORRUPT);
    cr_assert_eq(error.code, ERR_CORRUPT);
    cr_assert_neq(error.message[0], 0);
    for (size_t i = 0; i < out.stride * out.height; i++)
        cr_assert_eq(out.data[i], 0);
    cr_assert_eq(codec_decode(codec, image, payload, &out, NULL), ERR_CORRUPT);
    pixels_deinit(&out);
}

static void encode(struct bytes *out, enum codec_id id, const struct pixels *p) {
    out->size = 0;
    cr_assert_eq(bytes_append(out, "head", 4), 0);
    int rc = id == CODEC_RAW ? codec_encode_raw(codec, out, p, &error) : codec_encode_zstd(codec, out, p, 3, &error);
    cr_assert_eq(rc, 0, "%s", error.message);
    cr_assert_eq(memcmp(out->data, "head", 4), 0);
}

Test(codec, names) {
    cr_assert_str_eq(codec_name(CODEC_JPEG), "jpeg");
    cr_assert_str_eq(codec_name(CODEC_RAW), "raw");
    cr_assert_str_eq(codec_name(CODEC_ZSTD), "zstd");
    cr_assert_null(codec_name(CODEC_NONE));
    cr_assert_str_eq(codec_name(CODEC_ZSTD16), "zstd16");
    cr_assert_null(codec_name(5));
    cr_assert_null(codec_name(-1));
    cr_assert_not_null(codec_jpeg(codec));
}

Test(codec, raw_is_planar) {
    uint8_t data[] = {1, 2, 3, 4, 5, 6, 99, 99, 7, 8, 9, 10, 11, 12, 99, 99};
    struct pixels p = {data, 8, 2, 2, 3, 8};
    struct bytes b = {0};
    encode(&b, CODEC_RAW, &p);
    cr_assert_eq(b.size, 4 + 12);
    cr_assert_arr_eq(b.data + 4, ((uint8_t[]){1, 4, 7, 10, 2, 5, 8, 11, 3, 6, 9, 12}), 12);
    bytes_deinit(&b);
}

Test(codec, round_trips) {
    for (int id = CODEC_RAW; id <= CODEC_ZSTD; id++)
        for (int channels = 1; channels <= 3; channels += 2) {
            /* Two sizes, the larger first, so that the scratch of one meets the other. */
            for (uint16_t width = 201; width > 50; width -= 100) {
                struct pixels p = make_texture(width, 37, channels, 8), rgb, gray;
                struct bytes b = {0};
                struct record_image image = image_of(id, 0, channels, width, 37);
                encode(&b, id, &p);
                struct span payload = copy_of(b.data + 4, b.size - 4);
                cr_assert_eq(pixels_convert(&rgb, &p, 3, &error), 0);
                cr_assert_eq(pixels_convert(&gray, &p, 1, &error), 0);
                struct pixels got_rgb = decode(&image, payload, 3), got_gray = decode(&image, payload, 1);
                cr_assert(same_pixels(&rgb, &got_rgb));
                cr_assert(same_pixels(&gray, &got_gray));
                pixels_deinit(&p);
                pixels_deinit(&rgb);
                pixels_deinit(&gray);
                pixels_deinit(&got_rgb);
                pixels_deinit(&got_gray);
                free((void *)payload.data);
                bytes_deinit(&b);
            }
        }
}

Test(codec, gray_flag_of_raw) {
    struct pixels p = make_gray_rgb(33, 9);
    struct bytes b = {0};
    struct record_image image = image_of(CODEC_RAW, IMAGE_GRAY, 3, 33, 9);
    encode(&b, CODEC_RAW, &p);
    struct pixels got = decode(&image, (struct span){b.data + 4, b.size - 4}, 3);
    cr_assert(same_pixels(&p, &got));
    pixels_deinit(&p);
    pixels_deinit(&got);
    bytes_deinit(&b);
}

Test(codec, raw_of_the_wrong_length) {
    struct pixels p = make_texture(16, 16, 3, 8);
    struct bytes b = {0};
    struct record_image image = image_of(CODEC_RAW, 0, 3, 16, 16);
    encode(&b, CODEC_RAW, &p);
    assert_corrupt(&image, (struct span){b.data + 4, b.size - 5});
    assert_corrupt(&image, (struct span){b.data + 3, b.size - 3});
    assert_corrupt(&image, (struct span){b.data, 0});
    pixels_deinit(&p);
    bytes_deinit(&b);
}

Test(codec, damaged_zstd) {
    struct pixels p = make_texture(40, 40, 3, 8);
    struct bytes b = {0}, whole = {0};
    struct record_image image = image_of(CODEC_ZSTD, 0, 3, 40, 40), small = image_of(CODEC_ZSTD, 0, 3, 40, 39);
    encode(&whole, CODEC_ZSTD, &p);
    cr_assert_eq(bytes_append(&b, whole.data + 4, whole.size - 4), 0);
    cr_assert_eq(ZSTD_getFrameContentSize(b.data, b.size), 4800);

    assert_corrupt(&small, (struct span){b.data, b.size});
    assert_corrupt(&image, (struct span){b.data, 0});
    for (size_t n = 0; n < b.size; n += 1 + n / 16) {
        struct span cut = copy_of(b.data, n);
        assert_corrupt(&image, cut);
        free((void *)cut.data);
    }
    cr_assert_eq(bytes_append(&b, "x", 1), 0);
    assert_corrupt(&image, (struct span){b.data, b.size});
    b.size--;
    for (size_t i = 0; i < b.size; i += 7) { /* wrong bits: pixels or an error, never a crash */
        struct pixels out;
        struct span file = copy_of(b.data, b.size);
        ((uint8_t *)file.data)[i] ^= 0x10;
        cr_assert_eq(pixels_init(&out, 40, 40, 3, 8, &error), 0);
        int rc = codec_decode(codec, &image, file, &out, &error);
        cr_assert(rc == 0 || rc == ERR_CORRUPT);
        pixels_deinit(&out);
        free((void *)file.data);
    }
    pixels_deinit(&p);
    bytes_deinit(&b);
    bytes_deinit(&whole);
}

Test(codec, jpeg) {
    struct pixels p = make_texture(50, 40, 3, 8), gray = make_gray_rgb(50, 40);
    struct bytes b = make_jpeg(&p, 3, &(struct jpeg_recipe){0}), g = make_jpeg(&gray, 3, &(struct jpeg_recipe){0});
    struct record_image image = image_of(CODEC_JPEG, 0, 3, 50, 40),
                        flagged = image_of(CODEC_JPEG, IMAGE_GRAY, 3, 50, 40);
    struct span file = {b.data, b.size}, gray_file = {g.data, g.size};

    struct pixels expected, got = decode(&image, file, 3);
    cr_assert_eq(pixels_init(&expected, 50, 40, 3, 8, &error), 0);
    cr_assert_eq(jpeg_decode(codec_jpeg(codec), file, &expected, false, &error), 0);
    cr_assert(same_pixels(&expected, &got));
    pixels_deinit(&got);

    got = decode(&flagged, gray_file, 3);
    cr_assert_eq(jpeg_decode(codec_jpeg(codec), gray_file, &expected, false, &error), 0);
    cr_assert(same_pixels(&expected, &got));
    pixels_deinit(&got);
    pixels_deinit(&expected);

    got = decode(&image, (struct span){b.data, b.size - 2}, 1); /* accepted by the packer, so read here */
    pixels_deinit(&got);
    assert_corrupt(&image, (struct span){b.data, b.size / 2});
    assert_corrupt(&image, (struct span){b.data, 20});
    image.width = 49;
    assert_corrupt(&image, file);
    pixels_deinit(&p);
    pixels_deinit(&gray);
    bytes_deinit(&b);
    bytes_deinit(&g);
}

Test(codec, unknown_shapes) {
    uint8_t data[64] = {0};
    struct record_image image = image_of(9, 0, 3, 4, 4);
    assert_corrupt(&image, (struct span){data, 48});
    image.codec = CODEC_NONE;
    assert_corrupt(&image, (struct span){data, 48});
    image.codec = CODEC_RAW;
    image.channels = 4;
    assert_corrupt(&image, (struct span){data, 64});
    image.channels = 3;
    image.depth = 16;
    assert_corrupt(&image, (struct span){data, 48});
}

/* ---- zstd16 ------------------------------------------------------------------------------------------------------ */

static struct record_image counts_of(const struct pixels *p) {
    struct record_image image = image_of(CODEC_ZSTD16, 0, 1, (uint16_t)p->width, (uint16_t)p->height);
    image.depth = 16;
    return image;
}

static void assert_lossless(const struct pixels *in, uint32_t low, uint32_t high) {
    struct record_image image = counts_of(in);
    struct bytes b = {0};
    struct pixels out, gray, rgb;
    cr_assert_eq(codec_encode_zstd16(codec, &b, in, low, high, 3, &error), 0, "%s", error.message);
    struct span payload = copy_of(b.data, b.size);
    cr_assert_eq(load_u16(payload.data), low);
    cr_assert_eq(load_u16(payload.data + 2), high);
    cr_assert_eq(pixels_init(&out, in->width, in->height, 1, 16, &error), 0);
    cr_assert_eq(codec_decode16(codec, &image, payload, &out, &error), 0, "%s", error.message);
    cr_assert(same_pixels(in, &out));

    gray = decode(&image, payload, 1);
    rgb = decode(&image, payload, 3);
    for (uint32_t y = 0; y < in->height; y++)
        for (uint32_t x = 0; x < in->width; x++) {
            double v = load_u16(in->data + y * in->stride + 2 * (size_t)x), span = (double)high - low;
            v = v <= low ? 0 : v >= high ? 255 : (v - low) * 255 / span;
            uint8_t expected = high > low ? (uint8_t)(v + 0.5) : 0;
            cr_assert_eq(gray.data[y * gray.stride + x], expected);
            for (int c = 0; c < 3; c++)
                cr_assert_eq(rgb.data[y * rgb.stride + 3 * (size_t)x + (size_t)c], expected);
        }
    free((void *)(uintptr_t)payload.data);
    pixels_deinit(&out);
    pixels_deinit(&gray);
    pixels_deinit(&rgb);
    bytes_deinit(&b);
}

Test(codec, zstd16_is_lossless) {
    static const uint32_t sizes[][2] = {{1, 1}, {1, 9}, {9, 1}, {64, 48}, {33, 17}};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        struct pixels in = make_texture(sizes[i][0], sizes[i][1], 1, 16);
        assert_lossless(&in, 0, 65535);
        assert_lossless(&in, 7000, 9815);
        assert_lossless(&in, 40000, 40001);
        assert_lossless(&in, 9, 9);
        for (uint32_t n = 0; n < in.width * in.height; n++) /* the largest steps, both ways */
            store_u16(in.data + 2 * (size_t)n, n % 3 == 0 ? 0 : n % 3 == 1 ? 0xFFFF : 0x8000);
        assert_lossless(&in, 1, 65534);
        pixels_deinit(&in);
    }
}

Test(codec, zstd16_refuses) {
    struct pixels in = make_texture(20, 10, 1, 16), out, other = make_texture(20, 10, 1, 8);
    struct record_image image = counts_of(&in), eight = image_of(CODEC_RAW, 0, 1, 20, 10);
    struct codec_planes planes;
    struct bytes b = {0};
    cr_assert_eq(codec_encode_zstd16(codec, &b, &other, 0, 1, 3, &error), ERR_ARGUMENT);
    cr_assert_eq(codec_encode_zstd16(codec, &b, &in, 0, 65536, 3, &error), ERR_ARGUMENT);
    cr_assert_eq(codec_encode_zstd16(codec, &b, &in, 0, 65535, 3, &error), 0);
    struct span payload = {b.data, b.size};
    cr_assert_eq(codec_planes(codec, &planes, &image, payload, &error), 0);
    cr_assert_eq(planes.count, 0);
    out = make_texture(20, 10, 1, 16);
    cr_assert_eq(codec_decode16(codec, &eight, payload, &out, &error), ERR_ARGUMENT);
    cr_assert_eq(codec_decode16(codec, &image, payload, &other, &error), ERR_ARGUMENT);
    for (size_t n = 0; n < b.size; n++) {
        memset(out.data, 0xAA, out.stride * out.height);
        cr_assert_eq(codec_decode16(codec, &image, (struct span){b.data, n}, &out, &error), ERR_CORRUPT);
        for (size_t i = 0; i < out.stride * out.height; i++)
            cr_assert_eq(out.data[i], 0);
    }
    assert_corrupt(&image, (struct span){b.data, b.size - 1});
    image.height = 11;
    assert_corrupt(&image, payload);
    image.height = 10;
    image.depth = 8;
    assert_corrupt(&image, payload);
    image.depth = 16;
    image.channels = 3;
    assert_corrupt(&image, payload);
    pixels_deinit(&in);
    pixels_deinit(&out);
    pixels_deinit(&other);
    bytes_deinit(&b);
}

Test(codec, wrong_arguments) {
    uint8_t data[48] = {0};
    struct record_image image = image_of(CODEC_RAW, 0, 3, 4, 4);
    struct pixels out;
    struct bytes b = {0};
    cr_assert_eq(pixels_init(&out, 4, 5, 3, 8, &error), 0);
    cr_assert_eq(codec_decode(codec, &image, (struct span){data, 48}, &out, &error), ERR_ARGUMENT);
    pixels_deinit(&out);
    out = make_texture(4, 4, 3, 16);
    cr_assert_eq(codec_decode(codec, &image, (struct span){data, 48}, &out, &error), ERR_ARGUMENT);
    cr_assert_eq(codec_encode_raw(codec, &b, &out, &error), ERR_ARGUMENT);
    cr_assert_eq(codec_encode_zstd(codec, &b, &out, 1, &error), ERR_ARGUMENT);
    cr_assert_eq(b.size, 0);
    pixels_deinit(&out);
}
