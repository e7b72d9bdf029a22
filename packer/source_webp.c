/*
 * WebP through libwebp, lossy and lossless. Transparency is dropped (the stored colour stays). Orientation comes from
 * the EXIF chunk, as for every other format. Animations are refused by name: which of their pictures the labels belong
 * to, nobody can know.
 */
#include "source_webp.h"

#include "exif.h"

#include <stdio.h>
#include <webp/decode.h>

enum { RIFF_HEADER_BYTES = 12, CHUNK_HEADER_BYTES = 8 };

static int find_orientation(struct span file) {
    size_t at = RIFF_HEADER_BYTES;
    while (range_fits(at, CHUNK_HEADER_BYTES, file.size)) {
        uint32_t length = load_u32(file.data + at + 4);
        struct span chunk = {file.data + at + CHUNK_HEADER_BYTES, length};
        if (!range_fits(at + CHUNK_HEADER_BYTES, length, file.size))
            break;
        if (memcmp(file.data + at, "EXIF", 4) == 0) {
            if (length >= 6 && memcmp(chunk.data, "Exif\0\0", 6) == 0) /* JPEG's prefix, left there by some writers */
                chunk = (struct span){chunk.data + 6, length - 6};
            return exif_orientation(chunk);
        }
        at += CHUNK_HEADER_BYTES + (size_t)length + length % 2;
    }
    return EXIF_ABSENT;
}

static int status_error(VP8StatusCode status, struct error *error) {
    switch (status) {
    case VP8_STATUS_OUT_OF_MEMORY: return error_set(error, ERR_MEMORY, "out of memory for a WebP");
    case VP8_STATUS_NOT_ENOUGH_DATA: return error_set(error, ERR_INPUT, "the file is cut");
    case VP8_STATUS_UNSUPPORTED_FEATURE:
        return error_set(error, ERR_UNSUPPORTED, "unsupported: a feature of this WebP");
    default: return error_set(error, ERR_INPUT, "damaged WebP data");
    }
}

static int probe(struct codec *codec, struct source_info *out, struct span file, struct error *error) {
    static const char *const kinds[] = {"", " lossy", " lossless"};
    WebPBitstreamFeatures features;

    (void)codec;
    *out = (struct source_info){0};
    VP8StatusCode status = WebPGetFeatures(file.data, file.size, &features);
    if (status != VP8_STATUS_OK)
        return status_error(status, error);
    if (features.has_animation)
        return error_set(error, ERR_UNSUPPORTED, "unsupported: animated WebP");
    int found = find_orientation(file);
    *out = (struct source_info){
        .width = (uint32_t)features.width,
        .height = (uint32_t)features.height,
        .channels = 3,
        .depth = 8,
        .orientation = (uint8_t)(found >= 1 ? found : 1),
        .orientation_broken = found == EXIF_BROKEN,
    };
    snprintf(out->detail, sizeof out->detail, "WebP%s%s", kinds[features.format <= 2 ? features.format : 0],
             features.has_alpha ? " with alpha" : "");
    return 0;
}

static int decode(struct codec *codec, struct pixels *out, char *warning, struct span file, struct error *error) {
    struct source_info info;
    WebPDecoderConfig config;

    *out = (struct pixels){0};
    warning[0] = 0;
    int rc = probe(codec, &info, file, error);
    if (rc == 0)
        rc = pixels_init(out, info.width, info.height, 3, 8, error);
    if (rc != 0)
        return rc;
    if (!WebPInitDecoderConfig(&config)) {
        pixels_deinit(out);
        return error_set(error, ERR_UNSUPPORTED, "this build's libwebp is not the one that runs");
    }
    config.output.colorspace = MODE_RGB;
    config.output.is_external_memory = 1;
    config.output.u.RGBA.rgba = out->data;
    config.output.u.RGBA.stride = (int)out->stride;
    config.output.u.RGBA.size = out->stride * out->height;
    VP8StatusCode status = WebPDecode(file.data, file.size, &config);
    WebPFreeDecBuffer(&config.output);
    if (status == VP8_STATUS_OK)
        return 0;
    pixels_deinit(out);
    return status_error(status == VP8_STATUS_SUSPENDED ? VP8_STATUS_NOT_ENOUGH_DATA : status, error);
}

const struct source_image_format source_webp = {SOURCE_WEBP, "WebP", source_webp_sniff, probe, decode};
