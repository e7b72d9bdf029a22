#include "tiny_source.h"

#include <webp/encode.h>

TestSuite(source_webp, .init = codec_open, .fini = codec_close);

static struct bytes make_webp(const struct pixels *p, bool lossless) {
    uint8_t *data = NULL;
    struct bytes out = {0};
    size_t n = lossless ? WebPEncodeLosslessRGB(p->data, (int)p->width, (int)p->height, (int)p->stride, &data)
                        : WebPEncodeRGB(p->data, (int)p->width, (int)p->height, (int)p->stride, 90, &data);
    cr_assert_gt(n, 0);
    cr_assert_eq(bytes_append(&out, data, n), 0);
    WebPFree(data);
    return out;
}

/* The extended form: VP8X, the picture's own chunk, EXIF. */
static struct bytes make_extended(const struct bytes *plain, uint32_t width, uint32_t height, uint8_t flags,
                                  const void *exif, size_t exif_bytes) {
    struct bytes out = {0};
    uint8_t header[30] = "RIFF....WEBPVP8X", chunk[8] = "EXIF";
    store_u32(header + 16, 10);
    header[20] = flags;
    store_u32(header + 24, width - 1);
    header[27] = (uint8_t)(height - 1);
    header[28] = (uint8_t)((height - 1) >> 8);
    store_u32(chunk + 4, (uint32_t)exif_bytes);
    cr_assert_eq(bytes_append(&out, header, 30), 0);
    cr_assert_eq(bytes_append(&out, plain->data + 12, plain->size - 12), 0);
    cr_assert_eq(bytes_append(&out, chunk, 8), 0);
    cr_assert_eq(bytes_append(&out, exif, exif_bytes + exif_bytes % 2), 0);
    store_u32(out.data + 4, (uint32_t)out.size - 8);
    return out;
}

static int try_decode(struct span whole, size_t n, struct pixels *p) {
    struct span file = copy_of(whole.data, n);
    const struct source_image_format *format = source_image_sniff(file);
    int rc = format ? format->decode(codec, p, warning, file, &error) : ERR_INPUT;
    if (!format)
        *p = (struct pixels){0};
    free((void *)file.data);
    return rc;
}

Test(source_webp, lossless_and_lossy) {
    struct pixels in = make_texture(45, 33, 3, 8), p;
    struct bytes b = make_webp(&in, true);
    struct source_info info;
    struct span file = {b.data, b.size};
    cr_assert_eq(source_image_sniff(file)->probe(codec, &info, file, &error), 0);
    cr_assert_str_eq(info.detail, "WebP lossless");
    cr_assert(info.width == 45 && info.height == 33 && info.channels == 3 && info.orientation == 1);
    cr_assert_eq(try_decode(file, b.size, &p), 0, "%s", error.message);
    cr_assert(same_pixels(&in, &p));
    pixels_deinit(&p);
    bytes_deinit(&b);

    b = make_webp(&in, false);
    cr_assert_eq(try_decode((struct span){b.data, b.size}, b.size, &p), 0);
    pixels_deinit(&p);
    bytes_deinit(&b);
    pixels_deinit(&in);
}

Test(source_webp, alpha_is_dropped) {
    static const uint8_t rgba[8] = {10, 20, 30, 255, 40, 50, 60, 128};
    uint8_t *data;
    size_t n = WebPEncodeLosslessRGBA(rgba, 2, 1, 8, &data);
    struct pixels p;
    cr_assert_eq(try_decode((struct span){data, n}, n, &p), 0);
    cr_assert_eq(p.channels, 3);
    cr_assert_arr_eq(p.data, ((uint8_t[]){10, 20, 30, 40, 50, 60}), 6);
    pixels_deinit(&p);
    WebPFree(data);
}

Test(source_webp, orientation_with_and_without_jpegs_prefix) {
    struct pixels in = make_texture(20, 10, 3, 8), p;
    struct bytes plain = make_webp(&in, true);
    for (int prefix = 0; prefix < 2; prefix++)
        for (int orientation = 1; orientation <= 9; orientation++) {
            uint8_t exif[64] = "Exif\0";
            size_t n = 6u * (unsigned)prefix + make_exif(exif + 6 * prefix, orientation % 2, orientation);
            struct bytes b = make_extended(&plain, 20, 10, 0x08, exif, n);
            struct source_info info;
            struct span file = {b.data, b.size};
            cr_assert_eq(source_image_sniff(file)->probe(codec, &info, file, &error), 0, "%s", error.message);
            cr_expect_eq(info.orientation, orientation == 9 ? 1 : orientation);
            cr_expect_eq(info.orientation_broken, orientation == 9);
            cr_assert_eq(try_decode(file, b.size, &p), 0, "%s", error.message);
            cr_expect(same_pixels(&in, &p));
            pixels_deinit(&p);
            bytes_deinit(&b);
        }
    pixels_deinit(&in);
    bytes_deinit(&plain);
}

Test(source_webp, animation_is_refused_by_name) {
    struct pixels in = make_texture(20, 10, 3, 8), p;
    struct bytes plain = make_webp(&in, true), b = make_extended(&plain, 20, 10, 0x02, "\0\0", 2);
    cr_assert_eq(try_decode((struct span){b.data, b.size}, b.size, &p), ERR_UNSUPPORTED);
    cr_assert_str_eq(error.message, "unsupported: animated WebP");
    pixels_deinit(&in);
    bytes_deinit(&plain);
    bytes_deinit(&b);
}

Test(source_webp, cut_anywhere) {
    struct pixels in = make_texture(64, 64, 3, 8), p;
    for (int lossless = 0; lossless < 2; lossless++) {
        struct bytes b = make_webp(&in, lossless);
        size_t end = b.size - 1 - b.data[16] % 2; /* an odd chunk ends with a byte of padding */
        for (size_t n = 0; n < end; n += 1 + n / 100) {
            cr_expect_eq(try_decode((struct span){b.data, b.size}, n, &p), ERR_INPUT, "%zu of %zu", n, b.size);
            cr_expect_null(p.data);
        }
        bytes_deinit(&b);
    }
    pixels_deinit(&in);
}
