/* Every image format of the table that has no target of its own. */
#include "image.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct codec *codec;
    struct span file = {data, size};
    const struct source_image_format *format = source_image_sniff(file);
    if (!format || format->id == SOURCE_JPEG || format->id == SOURCE_PNG)
        return 0;
    CHECK(codec_create(&codec, NULL) == 0);
    fuzz_image_decode(format, codec, file);
    codec_destroy(&codec);
    return 0;
}
