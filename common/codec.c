#include "codec.h"

#include "jpeg.h"

#include <stdlib.h>
#include <string.h>
#include <zstd.h>

struct codec {
    struct jpeg *jpeg;
    ZSTD_DCtx *unpacker; /* both made when first needed */
    ZSTD_CCtx *packer;
    struct bytes planes; /* scratch: a planar picture before packing or after unpacking */
    uint8_t *lent;       /* instead, for unpacking, where it suffices */
    size_t lent_size;
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

/* ---- jpeg -------------------------------------------------------------------------------------------------------- */

static int decode_jpeg(struct codec *codec, const struct decode_task *task, struct error *error) {
    return jpeg_decode(codec->jpeg, task->payload, task->out, task->image->flags & IMAGE_GRAY, error);
}

/* ---- raw: [channels][height][width], 8 bit ----------------------------------------------------------------------- */

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

/* ---- zstd: one frame of the raw form, its content size in the header, no checksum (the payload has a hash) ------- */

/* One frame of exactly `expected` bytes to *out, with room for `more` behind them. */
static int unpack_frame(struct codec *codec, uint8_t **out, struct span payload, size_t expected, size_t more,
                        struct error *error) {
    unsigned long long content = ZSTD_getFrameContentSize(payload.data, payload.size);

    if (content != expected || ZSTD_findFrameCompressedSize(payload.data, payload.size) != payload.size)
        return error_set(error, ERR_CORRUPT, "zstd payload is not one frame of %zu bytes", expected);
    if (!codec->unpacker && !(codec->unpacker = ZSTD_createDCtx()))
        return out_of_memory(error, "zstd");
    bool fits = codec->lent_size >= expected + more;
    if (!fits && bytes_reserve(&codec->planes, expected + more) != 0)
        return out_of_memory(error, "a raw picture");
    *out = fits ? codec->lent : codec->planes.data;
    size_t n = ZSTD_decompressDCtx(codec->unpacker, *out, expected, payload.data, payload.size);
    if (ZSTD_isError(n))
        return error_set(error, ERR_CORRUPT, "zstd payload: %s", ZSTD_getErrorName(n));
    if (n != expected)
        return error_set(error, ERR_CORRUPT, "zstd payload holds %zu bytes, expected %zu", n, expected);
    return 0;
}

static int unpack_zstd(struct codec *codec, const uint8_t **planes, const struct record_image *image,
                       struct span payload, struct error *error) {
    uint8_t *unpacked = NULL;
    int rc = unpack_frame(codec, &unpacked, payload, planar_bytes(image), 0, error);
    *planes = unpacked;
    return rc;
}

/* Appends one frame of codec->planes. */
static int pack_frame(struct codec *codec, struct bytes *out, int level, struct error *error) {
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

int codec_encode_zstd(struct codec *codec, struct bytes *out, const struct pixels *in, int level, struct error *error) {
    codec->planes.size = 0;
    int rc = put_planes(&codec->planes, in, error);
    return rc == 0 ? pack_frame(codec, out, level, error) : rc;
}

/*
 * ---- zstd16: low and high count, then one zstd frame ----------------------------------------------------------------
 *
 * Each count less the one above it (in the first row: the one to its left), the difference folded so that small ones of
 * either sign have a high byte of 0, then all low bytes, then all high bytes. Of the predictors tried (left, above,
 * their mean, median) none was smaller by more than 3 %, and this one runs along whole rows.
 */

enum { RANGE_BYTES = 4 };

static uint16_t fold(uint16_t difference) {
    return (uint16_t)(difference << 1 ^ -(difference >> 15));
}

static uint16_t unfold(uint16_t folded) {
    return (uint16_t)(folded >> 1 ^ -(folded & 1));
}

static void fold_rows(uint8_t *low, uint8_t *high, const struct pixels *in) {
    for (uint32_t y = 0; y < in->height; y++) {
        const uint8_t *at = in->data + y * in->stride;
        for (uint32_t x = 0; x < in->width; x++, at += 2) {
            uint16_t predicted = y > 0 ? load_u16(at - in->stride) : x > 0 ? load_u16(at - 2) : 0;
            uint16_t folded = fold((uint16_t)(load_u16(at) - predicted));
            *low++ = (uint8_t)folded;
            *high++ = (uint8_t)(folded >> 8);
        }
    }
}

/* Makes of the row above the next one; `row` holds zeros before the first. */
static void unfold_row(uint16_t *restrict row, const uint8_t *restrict low, const uint8_t *restrict high,
                       uint32_t width, bool first) {
    for (uint32_t x = 0; x < width; x++)
        row[x] = (uint16_t)(row[x] + unfold((uint16_t)(low[x] | high[x] << 8)));
    for (uint32_t x = 1; first && x < width; x++)
        row[x] = (uint16_t)(row[x] + row[x - 1]);
}

int codec_encode_zstd16(struct codec *codec, struct bytes *out, const struct pixels *in, uint32_t low, uint32_t high,
                        int level, struct error *error) {
    if (in->depth != 16 || in->channels != 1 || low > UINT16_MAX || high > UINT16_MAX)
        return error_set(error, ERR_ARGUMENT, "zstd16 payloads hold 16-bit counts of one channel");
    size_t count = (size_t)in->width * in->height, size = out->size;
    if (count > SIZE_MAX / 2 || bytes_reserve(&codec->planes, 2 * count) != 0)
        return out_of_memory(error, "a raw picture");
    codec->planes.size = 2 * count;
    fold_rows(codec->planes.data, codec->planes.data + count, in);

    uint8_t range[RANGE_BYTES];
    store_u16(range, (uint16_t)low);
    store_u16(range + 2, (uint16_t)high);
    int rc = bytes_append(out, range, sizeof range) == 0 ? pack_frame(codec, out, level, error)
                                                         : out_of_memory(error, "a compressed picture");
    if (rc != 0)
        out->size = size;
    return rc;
}

/* 16-bit rows as they are, or 8-bit ones scaled to the payload's range. */
static void put_counts(const struct pixels *out, uint32_t y, const uint16_t *row, uint32_t low, uint32_t high) {
    uint8_t *to = out->data + y * out->stride;
    if (out->depth == 16) {
        memcpy(to, row, (size_t)out->width * sizeof *row);
        return;
    }
    pixels_scale_row(to, row, out->width, low, high);
    if (out->channels == 3)
        for (uint32_t x = out->width; x-- > 0;)
            memset(to + 3 * (size_t)x, to[x], 3);
}

static int decode_zstd16(struct codec *codec, const struct decode_task *task, struct error *error) {
    uint32_t width = task->image->width, height = task->image->height;
    size_t count = (size_t)width * height, row_bytes = width * sizeof(uint16_t);
    if (task->payload.size < RANGE_BYTES)
        return error_set(error, ERR_CORRUPT, "zstd16 payload of %zu bytes", task->payload.size);
    struct span frame = {task->payload.data + RANGE_BYTES, task->payload.size - RANGE_BYTES};
    uint8_t *unpacked;
    int rc = unpack_frame(codec, &unpacked, frame, 2 * count, row_bytes, error);
    if (rc != 0)
        return rc;
    uint32_t low = load_u16(task->payload.data), high = load_u16(task->payload.data + 2);
    const uint8_t *low_bytes = unpacked, *high_bytes = low_bytes + count;
    uint16_t *row = (uint16_t *)(void *)(unpacked + 2 * count); /* an even place */
    memset(row, 0, row_bytes);
    for (uint32_t y = 0; y < height; y++) {
        unfold_row(row, low_bytes + (size_t)y * width, high_bytes + (size_t)y * width, width, y == 0);
        put_counts(task->out, y, row, low, high);
    }
    return 0;
}

/* ---- table ------------------------------------------------------------------------------------------------------- */

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
    [CODEC_ZSTD16] = {"zstd16", decode_zstd16, NULL},
};

static bool codec_exists(int codec) {
    return codec > CODEC_NONE && (size_t)codec < sizeof codecs / sizeof codecs[0];
}

const char *codec_name(int codec) {
    return codec_exists(codec) ? codecs[codec].name : NULL;
}

/* Only JPEG has four channels; 16 bits are of one channel. */
static bool stored_shape_is_known(const struct record_image *image) {
    if (image->width == 0 || image->height == 0)
        return false;
    if (image->codec == CODEC_ZSTD16)
        return image->depth == 16 && image->channels == 1;
    return image->depth == 8 &&
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

/* Checked pixels, zeroed when the picture cannot be had. */
static int decode_or_clear(struct codec *codec, const struct decode_task *task, struct error *error) {
    const struct pixels *out = task->out;
    int rc = decode_any(codec, task, error);
    if (rc == 0)
        return 0;
    for (uint32_t y = 0; y < out->height; y++)
        memset(out->data + y * out->stride, 0, (size_t)out->width * out->channels * (out->depth / 8));
    if (rc == ERR_MEMORY)
        return rc;
    if (error)
        error->code = ERR_CORRUPT; /* an unusable or unsupported picture cannot be in a whole pack */
    return ERR_CORRUPT;
}

int codec_decode(struct codec *codec, const struct record_image *image, struct span payload, const struct pixels *out,
                 struct error *error) {
    const struct decode_task task = {image, payload, out};

    if (out->width != image->width || out->height != image->height || out->depth != 8 ||
        (out->channels != 1 && out->channels != 3) || out->stride < (size_t)out->width * out->channels)
        return error_set(error, ERR_ARGUMENT, "pixels of another shape than the picture's %ux%u", image->width,
                         image->height);
    return decode_or_clear(codec, &task, error);
}

int codec_decode16(struct codec *codec, const struct record_image *image, struct span payload, const struct pixels *out,
                   struct error *error) {
    const struct decode_task task = {image, payload, out};

    if (image->codec != CODEC_ZSTD16)
        return error_set(error, ERR_ARGUMENT, "the picture is stored with 8 bits");
    if (out->width != image->width || out->height != image->height || out->depth != 16 || out->channels != 1 ||
        out->stride < 2 * (size_t)out->width || out->stride % 2 != 0)
        return error_set(error, ERR_ARGUMENT, "pixels of another shape than the picture's %ux%u", image->width,
                         image->height);
    return decode_or_clear(codec, &task, error);
}

/* ---- handle ------------------------------------------------------------------------------------------------------ */

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

void codec_lend(struct codec *codec, uint8_t *memory, size_t size) {
    codec->lent = memory;
    codec->lent_size = size;
}

struct jpeg *codec_jpeg(struct codec *codec) {
    return codec->jpeg;
}
