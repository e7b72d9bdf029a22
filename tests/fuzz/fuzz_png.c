/* PNG: as it is, and with the checksums of its chunks mended, so that what they guard is reached. */
#include "image.h"

enum { SIGNATURE_BYTES = 8, FRAME_BYTES = 12 };

static uint32_t get_u32(const uint8_t *p) {
    return __builtin_bswap32(load_u32(p));
}

static uint32_t crc32_of(const uint8_t *data, size_t size) {
    uint32_t crc = 0xFFFFFFFFu;
    for (size_t i = 0; i < size; i++) {
        crc ^= data[i];
        for (int bit = 0; bit < 8; bit++)
            crc = crc >> 1 ^ (crc & 1 ? 0xEDB88320u : 0);
    }
    return ~crc;
}

static void mend(uint8_t *file, size_t size) {
    for (size_t at = SIGNATURE_BYTES; range_fits(at, FRAME_BYTES, size);) {
        uint32_t length = get_u32(file + at);
        if (!range_fits(at + FRAME_BYTES, length, size))
            break;
        store_u32(file + at + 8 + length, __builtin_bswap32(crc32_of(file + at + 4, (size_t)length + 4)));
        at += FRAME_BYTES + length;
    }
}

static void look_at(struct codec *codec, struct span file) {
    const struct source_image_format *format = source_image_sniff(file);
    if (format && format->id == SOURCE_PNG)
        fuzz_image_decode(format, codec, file);
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
