/*
 * JPEG: everything that is done to one. The check that decodes no pixels has to agree with the decoder about what is
 * whole, and a picture turned without loss has to be whole again.
 */
#include "image.h"
#include "jpeg.h"

/* What goes straight to planes is whole, and has the pixels of `out`; a refusal leaves the planes with anything. */
static void check_planes(struct jpeg *jpeg, struct span file, const struct pixels *out, bool whole) {
    const size_t plane = (size_t)out->width * out->height;
    uint8_t *data = malloc(plane * out->channels);
    CHECK(data);
    for (enum cpu_level level = CPU_PLAIN; level <= cpu_level(); level++) {
        struct jpeg_planes planes = {{data}, out->width, out->width, out->height, out->channels};
        struct error error = {0};
        bool decoded;
        for (unsigned c = 1; c < out->channels; c++)
            planes.plane[c] = data + c * plane;
        FUZZ_CHECK_OK(jpeg_decode_planes(jpeg, &planes, &decoded, file, level, &error), &error);
        CHECK(!decoded || whole);
        for (size_t i = 0; decoded && i < plane; i++)
            for (unsigned c = 0; c < out->channels; c++)
                CHECK(data[c * plane + i] == out->data[i * out->channels + c]);
    }
    free(data);
}

static void check_decoded(struct jpeg *jpeg, struct span file, const struct jpeg_check *check) {
    struct jpeg_info info;
    struct error error = {0};
    FUZZ_CHECK_OK(jpeg_probe(jpeg, &info, file, &error), &error);
    for (int channels = 1; channels <= 3; channels += 2) {
        struct pixels out;
        FUZZ_CHECK_OK(pixels_init(&out, info.width, info.height, channels, 8, &error), &error);
        int rc = jpeg_decode(jpeg, file, &out, channels == 3 && check->equal_channels, &error);
        CHECK((rc == 0) == check->complete);
        check_planes(jpeg, file, &out, check->complete);
        pixels_deinit(&out);
    }
}

static void check_turned(struct jpeg *jpeg, struct span file, int orientation) {
    struct bytes turned = {0};
    struct jpeg_check check;
    struct error error = {0};
    bool exact;
    int rc = jpeg_transform(jpeg, &turned, &exact, file, orientation, &error);
    if (rc != 0)
        fuzz_check_refusal(rc, &error);
    else if (exact) {
        FUZZ_CHECK_OK(jpeg_check_full(jpeg, &check, (struct span){turned.data, turned.size}, &error), &error);
        CHECK(check.complete);
    } else
        CHECK(turned.size == 0);
    bytes_deinit(&turned);
}

static void look_at(struct codec *codec, struct span file) {
    struct jpeg *jpeg = codec_jpeg(codec);
    struct jpeg_check check;
    struct error error = {0};
    const struct source_image_format *format = source_image_sniff(file);
    if (!format || format->id != SOURCE_JPEG)
        return;
    int decoded = fuzz_image_decode(format, codec, file);
    if (decoded == 1)
        return;
    int rc = jpeg_check_full(jpeg, &check, file, &error);
    if (rc != 0) {
        fuzz_check_refusal(rc, &error);
        CHECK(decoded != 0);
        return;
    }
    CHECK(memchr(check.warning, 0, sizeof check.warning) && (check.complete || check.warning[0]));
    check_decoded(jpeg, file, &check);
    check_turned(jpeg, file, 2 + (int)(file.size % 7));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct codec *codec;
    CHECK(codec_create(&codec, NULL) == 0);
    look_at(codec, (struct span){data, size});
    codec_destroy(&codec);
    return 0;
}
