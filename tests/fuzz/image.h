/* One source image as the packer takes it in: sniff, probe, limit, check, decode; each step has to agree with
 * the last. */
#ifndef YPK_TESTS_FUZZ_IMAGE_H
#define YPK_TESTS_FUZZ_IMAGE_H

#include "source_image.h"
#include "target.h"

/* Small, so that a picture that says it is large costs no time: what a decoder gets wrong it gets wrong early. */
#define IMAGE_PIXEL_LIMIT (256u * 1024)

/* 0 if the picture decodes, 1 if the limit refuses it, else its error. */
static inline int fuzz_image_decode(const struct source_image_format *format, struct codec *codec, struct span file) {
    struct source_info info = {0};
    struct pixels pixels = {0};
    struct error error = {0};
    char warning[200] = "";
    int rc = format->probe(codec, &info, file, &error);
    if (rc != 0) {
        fuzz_check_refusal(rc, &error);
        return rc;
    }
    CHECK(info.width > 0 && info.height > 0 && info.orientation >= 1 && info.orientation <= 8);
    CHECK((info.channels == 1 || info.channels == 3) && (info.depth == 8 || info.depth == 16));
    CHECK(memchr(info.detail, 0, sizeof info.detail) && info.detail[0]);
    if ((uint64_t)info.width * info.height > IMAGE_PIXEL_LIMIT)
        return 1;
    rc = format->decode(codec, &pixels, warning, file, &error);
    CHECK(memchr(warning, 0, sizeof warning));
    if (rc != 0) {
        fuzz_check_refusal(rc, &error);
        CHECK(!pixels.data);
        return rc;
    }
    CHECK(pixels.width == info.width && pixels.height == info.height);
    CHECK(pixels.channels == info.channels && pixels.depth == info.depth);
    CHECK(pixels.stride >= (size_t)pixels.width * pixels.channels * pixels.depth / 8);
    volatile uint8_t sum = 0;
    for (size_t i = 0; i < pixels.stride * pixels.height; i++)
        sum = (uint8_t)(sum + pixels.data[i]);
    pixels_deinit(&pixels);
    return 0;
}

#endif
