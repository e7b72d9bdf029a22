#include "source_jpeg.h"

#include "jpeg.h"

#include <stdio.h>
#include <string.h>

static bool sniff(struct span file) {
    static const uint8_t magic[3] = {0xFF, 0xD8, 0xFF};
    return file.size >= sizeof magic && memcmp(file.data, magic, sizeof magic) == 0;
}

static int probe(struct codec *codec, struct source_info *out, struct span file, struct error *error) {
    struct jpeg_info info;

    *out = (struct source_info){0};
    int rc = jpeg_probe(codec_jpeg(codec), &info, file, error);
    if (rc != 0)
        return rc;
    *out = (struct source_info){
        .width = info.width,
        .height = info.height,
        .channels = info.components == 1 ? 1 : 3,
        .depth = info.precision,
        .orientation = info.orientation,
        .orientation_broken = info.orientation_broken,
        .keepable = info.precision == 8 && !info.cmyk,
    };
    if (info.cmyk)
        snprintf(out->detail, sizeof out->detail, "JPEG CMYK");
    else
        snprintf(out->detail, sizeof out->detail, "JPEG %s%s%s", info.subsampling,
                 info.progressive ? " progressive" : "", info.arithmetic ? " arithmetic" : "");
    return 0;
}

static int decode(struct codec *codec, struct pixels *out, char *warning, struct span file, struct error *error) {
    struct jpeg *jpeg = codec_jpeg(codec);
    struct jpeg_info info;

    *out = (struct pixels){0};
    warning[0] = 0;
    int rc = jpeg_probe(jpeg, &info, file, error);
    if (rc == 0)
        rc = pixels_init(out, info.width, info.height, info.components == 1 ? 1 : 3, 8, error);
    if (rc == 0)
        rc = jpeg_decode(jpeg, file, out, false, error);
    if (rc == 0)
        snprintf(warning, 200, "%s", jpeg_warning(jpeg));
    else
        pixels_deinit(out);
    return rc;
}

const struct source_image_format source_jpeg = {SOURCE_JPEG, "JPEG", sniff, probe, decode};
