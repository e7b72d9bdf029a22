#include "codec.h"

#include <stdlib.h>
#include <string.h>
#include <zstd.h>

struct codec {
    struct jpeg *jpeg;
    ZSTD_DCtx *unpacker; /* both made when first needed */
    ZSTD_CCtx *packer;
    struct bytes planes; /* scratch: a planar picture before packing or after unpacking */
};

/* What a payload is to become: decoders get this as it was asked for. */
struct decode_task {
    const struct record_image *image;
    struct span payload;
    const struct pixels *out;
};

static size_t planar_bytes(const struct record_image *image) {
    return (size_t)image->width * image->height * image->channels;
}

static int out_of_memory(struct error *error, const char *what) {
    return error_set(error, ERR_MEMORY, "out of memory for %s", what);
}

/* ---- jpeg ----------------------------------------------------------------------------------------------------------- */

static int decode_jpeg(struct codec *codec, const struct decode_task *task, struct error *error) {
    return jpeg_decode(codec->jpeg, task->payload, task->out, task->image->flags & IMAGE_GRAY, error);
}

/* ---- raw: [channels][height][width], 8 bit -------------------------------------------------------------------------- */

static void interleave_row(uint8_t *restrict to, const uint8_t *const planes[3], uint32_t width) {
    const uint8_t *r = planes[0], *g = planes[1], *b = planes[2];
    for (uint32_t x = 0; x < width; x++) {
        to[3 * (size_t)x] = r[x];
        to[3 * (size_t)x + 1] = g[x];
        to[3 * (size_t)x + 2] = b[x];
    }
}

static void luma_row(uint8_t *restrict to, const uint8_t *const planes[3], uint32_t width) {
    uint8_t pixels[3 * 64];
    for (uint32_t x = 0; x < width; x += 64) {
        uint32_t n = width - x < 64 ? width - x : 64;
        interleave_row(pixels, (const uint8_t *const[3]){planes[0] + x, planes[1] + x, planes[2] + x}, n);
        pixels_luma_row(to + x, pixels, n);
    }
}

static void take_planes(const struct decode_task *task, const uint8_t *data) {
    const struct record_image *image = task->image;
    const struct pixels *out = task->out;
    size_t plane = (size_t)image->width * image->height;
    bool gray = image->channels == 1 || image->flags & IMAGE_GRAY;

    for (uint32_t y = 0; y < image->height; y++) {
        const uint8_t *first = data + (size_t)y * image->width;
        const uint8_t *const planes[3] = {first, gray ? first : first + plane, gray ? first : first + 2 * plane};
        uint8_t *to = out->data + y * out->stride;
        if (gray && out->channels == 1)
            memcpy(to, first, image->width);
        else if (gray)
            pixels_spread_row(to, first, image->width);
        else if (out->channels == 3)
            interleave_row(to, planes, image->width);
        else
            luma_row(to, planes, image->width);
    }
}

static int unpack_raw(struct codec *codec, const uint8_t **planes, const struct record_image *image,
                      struct span payload, struct error *error) {
    (void)codec;
    if (payload.size != planar_bytes(image))
        return error_set(error, ERR_CORRUPT, "raw payload of %zu bytes, expected %zu", payload.size,
                         planar_bytes(image));
    *planes = payload.data;
    return 0;
}

static int put_planes(struct bytes *out, const struct pixels *in, struct error *error) {
    if (in->depth != 8)
        return error_set(error, ERR_ARGUMENT, "raw payloads hold 8-bit pixels, not %d-bit", in->depth);
    size_t plane = (size_t)in->width * in->height;
    if (plane > (SIZE_MAX - out->size) / in->channels || bytes_reserve(out, out->size + plane * in->channels) != 0)
        return out_of_memory(error, "a raw picture");

    uint8_t *to = out->data + out->size;
    for (unsigned c = 0; c < in->channels; c++)
        for (uint32_t y = 0; y < in->height; y++) {
            const uint8_t *from = in->data + y * in->stride + c;
            for (uint32_t x = 0; x < in->width; x++)
                *to++ = from[(size_t)x * in->channels];
        }
    out->size += plane * in->channels;
    return 0;
}

int codec_encode_raw(struct codec *codec, struct bytes *out, const struct pixels *in, struct error *error) {
    (void)codec;
    return put_planes(out, in, error);
}

/* ---- zstd: one frame of the raw form, its content size in the header, no checksum (the payload has a hash) ---------- */

static int unpack_zstd(struct codec *codec, const uint8_t **planes, const struct record_image *image,
                       struct span payload, struct error *error) {
    size_t expected = planar_bytes(image);
    unsigned long long content = ZSTD_getFrameContentSize(payload.data, payload.size);

    if (content != expected || ZSTD_findFrameCompressedSize(payload.data, payload.size) != payload.size)
        return error_set(error, ERR_CORRUPT, "zstd payload is not one frame of %zu bytes", expected);
    if (!codec->unpacker && !(codec->unpacker = ZSTD_createDCtx()))
        return out_of_memory(error, "zstd");
    if (bytes_reserve(&codec->planes, expected) != 0)
        return out_of_memory(error, "a raw picture");
    size_t n = ZSTD_decompressDCtx(codec->unpacker, codec->planes.data, expected, payload.data, payload.size);
    if (ZSTD_isError(n))
        return error_set(error, ERR_CORRUPT, "zstd payload: %s", ZSTD_getErrorName(n));
    if (n != expected)
        return error_set(error, ERR_CORRUPT, "zstd payload holds %zu bytes, expected %zu", n, expected);
    *planes = codec->planes.data;
    return 0;
}

int codec_encode_zstd(struct codec *codec, struct bytes *out, const struct pixels *in, int level, struct error *error) {
    codec->planes.size = 0;
    int rc = put_planes(&codec->planes, in, error);
    if (rc != 0)
        return rc;
    if (!codec->packer && !(codec->packer = ZSTD_createCCtx()))
        return out_of_memory(error, "zstd");
    size_t bound = ZSTD_compressBound(codec->planes.size);
    if (ZSTD_isError(bound) || bound > SIZE_MAX - out->size || bytes_reserve(out, out->size + bound) != 0)
        return out_of_memory(error, "a compressed picture");
    size_t n =
        ZSTD_compressCCtx(codec->packer, out->data + out->size, bound, codec->planes.data, codec->planes.size, level);
    if (ZSTD_isError(n))
        return error_set(error, ERR_MEMORY, "zstd: %s", ZSTD_getErrorName(n));
    out->size += n;
    return 0;
}

/* ---- table ---------------------------------------------------------------------------------------------------------- */

/* A codec either decodes to interleaved pixels or gives its planes, borrowed. */
static const struct {
    const char *name;
    int (*decode)(struct codec *codec, const struct decode_task *task, struct error *error);
    int (*unpack)(struct codec *codec, const uint8_t **planes, const struct record_image *image, struct span payload,
                  struct error *error);
} codecs[] = {
    [CODEC_JPEG] = {"jpeg", decode_jpeg, NULL},
    [CODEC_RAW] = {"raw", NULL, unpack_raw},
    [CODEC_ZSTD] = {"zstd", NULL, unpack_zstd},
};

static bool codec_exists(int codec) {
    return codec > CODEC_NONE && (size_t)codec < sizeof codecs / sizeof codecs[0];
}

const char *codec_name(int codec) {
    return codec_exists(codec) ? codecs[codec].name : NULL;
}

/* Only JPEG has four channels. */
static bool stored_shape_is_known(const struct record_image *image) {
    return image->depth == 8 && image->width > 0 && image->height > 0 &&
           (image->channels == 1 || image->channels == 3 || (image->channels == 4 && image->codec == CODEC_JPEG));
}

static int check_image(const struct record_image *image, struct error *error) {
    if (!codec_exists(image->codec))
        return error_set(error, ERR_CORRUPT, "payload of unknown codec %d", image->codec);
    if (!stored_shape_is_known(image))
        return error_set(error, ERR_CORRUPT, "payload with %d channels of %d bits", image->channels, image->depth);
    return 0;
}

int codec_planes(struct codec *codec, struct codec_planes *out, const struct record_image *image, struct span payload,
                 struct error *error) {
    const uint8_t *planes;
    *out = (struct codec_planes){0};
    int rc = check_image(image, error);
    if (rc != 0 || !codecs[image->codec].unpack)
        return rc;
    if ((rc = codecs[image->codec].unpack(codec, &planes, image, payload, error)) != 0)
        return rc;
    out->count = image->channels;
    for (int c = 0; c < out->count; c++)
        out->plane[c] = planes + (size_t)c * image->width * image->height;
    return 0;
}

static int decode_any(struct codec *codec, const struct decode_task *task, struct error *error) {
    const uint8_t *planes;
    int rc = check_image(task->image, error);
    if (rc == 0 && codecs[task->image->codec].decode)
        return codecs[task->image->codec].decode(codec, task, error);
    if (rc == 0 && (rc = codecs[task->image->codec].unpack(codec, &planes, task->image, task->payload, error)) == 0)
        take_planes(task, planes);
    return rc;
}

int codec_decode(struct codec *codec, const struct record_image *image, struct span payload, const struct pixels *out,
                 struct error *error) {
    const struct decode_task task = {image, payload, out};

    if (out->width != image->width || out->height != image->height || out->depth != 8 ||
        (out->channels != 1 && out->channels != 3) || out->stride < (size_t)out->width * out->channels)
        return error_set(error, ERR_ARGUMENT, "pixels of another shape than the picture's %ux%u", image->width,
                         image->height);
    int rc = decode_any(codec, &task, error);
    if (rc == 0)
        return 0;
    for (uint32_t y = 0; y < out->height; y++)
        memset(out->data + y * out->stride, 0, (size_t)out->width * out->channels);
    if (rc == ERR_MEMORY)
        return rc;
    if (error)
        error->code = ERR_CORRUPT; /* an unusable or unsupported picture cannot be in a whole pack */
    return ERR_CORRUPT;
}

/* ---- handle --------------------------------------------------------------------------------------------------------- */

int codec_create(struct codec **out, struct error *error) {
    struct codec *codec = *out = calloc(1, sizeof *codec);
    if (!codec)
        return out_of_memory(error, "a codec handle");
    int rc = jpeg_handle_create(&codec->jpeg, error);
    if (rc != 0)
        codec_destroy(out);
    return rc;
}

void codec_destroy(struct codec **out) {
    struct codec *codec = *out;
    if (!codec)
        return;
    jpeg_handle_destroy(&codec->jpeg);
    ZSTD_freeDCtx(codec->unpacker);
    ZSTD_freeCCtx(codec->packer);
    bytes_deinit(&codec->planes);
    free(codec);
    *out = NULL;
}

struct jpeg *codec_jpeg(struct codec *codec) {
    return codec->jpeg;
}
