/* Pictures for the tests, made as the tests run: pixels with texture, and JPEG files of every kind. */
#ifndef YPK_TESTS_TINY_PICTURES_H
#define YPK_TESTS_TINY_PICTURES_H

#include "bytes.h"
#include "pixels.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jpeglib.h>

/* Gradients, edges and some noise from a fixed generator; gray if `channels` is 1. */
__attribute__((unused)) static struct pixels make_texture(uint32_t width, uint32_t height, int channels, int depth) {
    struct pixels p;
    uint32_t state = 12345;
    cr_assert_eq(pixels_init(&p, width, height, channels, depth, NULL), 0);
    for (uint32_t y = 0; y < height; y++)
        for (uint32_t x = 0; x < width; x++)
            for (int c = 0; c < channels; c++) {
                state = state * 1664525 + 1013904223;
                uint32_t edge = (x / 8 + y / 8 + (uint32_t)c) % 3 * 60;
                uint32_t value = (x * (3 + (uint32_t)c) + y * 2 + edge + (state >> 28)) & 0xFF;
                size_t i = (size_t)x * (size_t)channels + (size_t)c;
                uint16_t wide = (uint16_t)(value << 8 | state >> 24);
                if (depth == 8)
                    p.data[y * p.stride + i] = (uint8_t)value;
                else
                    memcpy(p.data + y * p.stride + 2 * i, &wide, sizeof wide);
            }
    return p;
}

/* The same picture with its luma in all three channels. */
__attribute__((unused)) static struct pixels make_gray_rgb(uint32_t width, uint32_t height) {
    struct pixels gray = make_texture(width, height, 1, 8), out;
    cr_assert_eq(pixels_convert(&out, &gray, 3, NULL), 0);
    pixels_deinit(&gray);
    return out;
}

struct jpeg_recipe {
    J_COLOR_SPACE from, to; /* 0: RGB or gray, and what libjpeg makes of it */
    int quality;            /* 0: 90 */
    int h, v;               /* sampling of the first component; 0: 1 */
    int restart_rows;
    bool progressive, arithmetic, no_adobe, separate_scans;
    const jpeg_scan_info *scans; /* instead of those */
    int scan_count;
};

/* A JPEG file by plain libjpeg. `data` is [height][width][channels of r->from]. */
__attribute__((unused)) static struct bytes make_jpeg(const struct pixels *p, int components,
                                                      const struct jpeg_recipe *r) {
    static const jpeg_scan_info separate[3] = {{1, {0}, 0, 63, 0, 0}, {1, {1}, 0, 63, 0, 0}, {1, {2}, 0, 63, 0, 0}};
    struct jpeg_compress_struct c;
    struct jpeg_error_mgr manager;
    struct bytes out = {0};
    unsigned char *data = NULL;
    unsigned long size = 0;

    c.err = jpeg_std_error(&manager);
    jpeg_create_compress(&c);
    jpeg_mem_dest(&c, &data, &size);
    c.image_width = p->width;
    c.image_height = p->height;
    c.input_components = components;
    c.in_color_space = r->from ? r->from : components == 1 ? JCS_GRAYSCALE : JCS_RGB;
    jpeg_set_defaults(&c);
    if (r->to)
        jpeg_set_colorspace(&c, r->to);
    if (r->no_adobe)
        c.write_Adobe_marker = FALSE;
    jpeg_set_quality(&c, r->quality ? r->quality : 90, TRUE);
    c.comp_info[0].h_samp_factor = r->h ? r->h : 1;
    c.comp_info[0].v_samp_factor = r->v ? r->v : 1;
    c.restart_in_rows = r->restart_rows;
    c.arith_code = r->arithmetic;
    if (r->progressive)
        jpeg_simple_progression(&c);
    if (r->separate_scans) {
        c.scan_info = separate;
        c.num_scans = 3;
    }
    if (r->scans) {
        c.scan_info = r->scans;
        c.num_scans = r->scan_count;
    }
    jpeg_start_compress(&c, TRUE);
    while (c.next_scanline < c.image_height) {
        JSAMPROW row = p->data + (size_t)c.next_scanline * p->stride;
        jpeg_write_scanlines(&c, &row, 1);
    }
    jpeg_finish_compress(&c);
    jpeg_destroy_compress(&c);
    cr_assert_eq(bytes_append(&out, data, size), 0);
    free(data);
    return out;
}

/* Bytes put into a file at an offset. */
__attribute__((unused)) static void insert_bytes(struct bytes *b, size_t offset, const void *data, size_t n) {
    cr_assert_eq(bytes_append(b, data, n), 0);
    memmove(b->data + offset + n, b->data + offset, b->size - n - offset);
    memcpy(b->data + offset, data, n);
}

/* A TIFF header whose IFD0 holds one SHORT orientation. */
__attribute__((unused)) static size_t make_exif(uint8_t out[32], bool big_endian, int orientation) {
    static const uint8_t little[26] = {'I', 'I', 42, 0, 8, 0, 0, 0, 1, 0, 0x12, 1, 3, 0, 1, 0, 0, 0};
    static const uint8_t big[26] = {'M', 'M', 0, 42, 0, 0, 0, 8, 0, 1, 1, 0x12, 0, 3, 0, 0, 0, 1};
    memcpy(out, big_endian ? big : little, 26);
    out[big_endian ? 19 : 18] = (uint8_t)orientation;
    return 26;
}

/* An APP1 segment with EXIF after the first `offset` bytes (2: after SOI, 20: after JFIF). */
__attribute__((unused)) static void insert_exif(struct bytes *jpeg, size_t offset, bool big_endian, int orientation) {
    uint8_t segment[64] = {0xFF, 0xE1, 0, 0, 'E', 'x', 'i', 'f', 0, 0};
    size_t n = 8 + make_exif(segment + 10, big_endian, orientation);
    segment[3] = (uint8_t)n;
    insert_bytes(jpeg, offset, segment, n + 2);
}

/* The offset of the n-th marker of that code, counted from 0. */
__attribute__((unused)) static size_t find_marker(const struct bytes *b, int code, int n) {
    for (size_t i = 0; i + 1 < b->size; i++)
        if (b->data[i] == 0xFF && b->data[i + 1] == code && n-- == 0)
            return i;
    cr_assert_fail("marker %02x is not there", code);
    return 0;
}

/* Exactly `n` bytes on the heap, so that reading past them is seen. */
__attribute__((unused)) static struct span copy_of(const void *data, size_t n) {
    uint8_t *p = malloc(n ? n : 1);
    cr_assert_not_null(p);
    if (n)
        memcpy(p, data, n);
    return (struct span){p, n};
}

__attribute__((unused)) static bool same_pixels(const struct pixels *a, const struct pixels *b) {
    if (a->width != b->width || a->height != b->height || a->channels != b->channels || a->depth != b->depth)
        return false;
    for (uint32_t y = 0; y < a->height; y++)
        if (memcmp(a->data + y * a->stride, b->data + y * b->stride, (size_t)a->width * a->channels * a->depth / 8) !=
            0)
            return false;
    return true;
}

#endif
