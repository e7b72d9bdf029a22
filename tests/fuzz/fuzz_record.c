/*
 * A record: as it is, and with its hashes mended; then its payloads through every codec, as the reader does it.
 *
 * A picture that cannot be decoded leaves zeros, never what was there before.
 */
#include "codec.h"
#include "hash.h"
#include "record.h"
#include "target.h"

#define PIXEL_LIMIT (256u * 1024)

enum { AT_RGB = 16, AT_IR = 40 }; /* FORMAT.md: the descriptions of the images */

/* Hashes of payloads that lie inside, then of the header. */
static void mend(uint8_t *bytes, size_t size) {
    if (size < RECORD_HEADER_BYTES)
        return;
    uint32_t rgb = load_u32(bytes + AT_RGB), ir = load_u32(bytes + AT_IR);
    uint64_t ir_offset = record_ir_offset(rgb);
    if (rgb && range_fits(RECORD_HEADER_BYTES, rgb, size))
        store_u64(bytes + AT_RGB + 16, XXH3_64bits(bytes + RECORD_HEADER_BYTES, rgb));
    if (ir && range_fits(ir_offset, ir, size))
        store_u64(bytes + AT_IR + 16, XXH3_64bits(bytes + ir_offset, ir));
    store_u64(bytes + RECORD_HEADER_BYTES - 8, XXH3_64bits(bytes, RECORD_HEADER_BYTES - 8));
}

static void decode(struct codec *codec, const struct record_image *image, struct span payload, int channels) {
    struct error error = {0};
    struct codec_planes planes;
    struct pixels out;
    FUZZ_CHECK_OK(pixels_init(&out, image->width, image->height, channels, 8, &error), &error);
    memset(out.data, 0xa5, out.stride * out.height);
    int rc = codec_decode(codec, image, payload, &out, &error);
    if (rc != 0) {
        fuzz_check_refusal(rc, &error);
        for (size_t i = 0; i < out.stride * out.height; i++)
            CHECK(out.data[i] == 0);
    }
    bool stored = image->codec == CODEC_RAW || image->codec == CODEC_ZSTD;
    int planes_rc = codec_planes(codec, &planes, image, payload, &error);
    CHECK(!stored || planes_rc == rc);
    CHECK(planes_rc != 0 || planes.count == (stored ? image->channels : 0));
    pixels_deinit(&out);
}

static void look_at_image(struct codec *codec, const struct record_image *image, struct span payload, int channels) {
    struct error error = {0};
    if (image->payload_bytes == 0)
        return;
    int rc = record_check_payload(image, payload, channels == 3 ? "RGB" : "IR", &error);
    if (rc != 0)
        fuzz_check_refusal(rc, &error);
    else if ((uint64_t)image->width * image->height <= PIXEL_LIMIT)
        decode(codec, image, payload, channels);
}

static void look_at(struct codec *codec, struct span bytes) {
    struct record record;
    struct error error = {0};
    int rc = record_decode_header(&record, bytes, &error);
    if (rc != 0) {
        fuzz_check_refusal(rc, &error);
        return;
    }
    uint32_t rgb = record.rgb.payload_bytes, ir = record.ir.payload_bytes;
    look_at_image(codec, &record.rgb, (struct span){bytes.data + RECORD_HEADER_BYTES, rgb}, 3);
    if (ir)
        look_at_image(codec, &record.ir, (struct span){bytes.data + record_ir_offset(rgb), ir}, 1);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct codec *codec;
    uint8_t *copy = fuzz_copy(data, size);
    CHECK(codec_create(&codec, NULL) == 0);
    look_at(codec, (struct span){data, size});
    mend(copy, size);
    look_at(codec, (struct span){copy, size});
    codec_destroy(&codec);
    free(copy);
    return 0;
}
