/*
 * PNG through libpng. Only IHDR, PLTE, IDAT and IEND are interpreted: gamma and colour profiles are ignored as the
 * usual loaders ignore them, transparency is dropped (the stored colour stays), and text and profiles are never
 * unpacked, which leaves nothing for a decompression bomb but the pixels, whose number the caller has limited.
 *
 * Orientation comes from an eXIf chunk before or after the pixels. The text chunks in which ImageMagick kept EXIF
 * before eXIf existed ("Raw profile type exif") are ignored, as viewers and other loaders do.
 */
#include "source_png.h"

#include "exif.h"

#include <png.h>
#include <setjmp.h>
#include <stdio.h>
#include <string.h>

enum { SIGNATURE_BYTES = 8, CHUNK_FRAME_BYTES = 12, SIDE_LIMIT_PX = 1000000, WARNING_BYTES = 200 };

struct reader {
    jmp_buf failed;
    struct span file;
    size_t position;
    int code; /* of the failure that jumped, and its text */
    char message[WARNING_BYTES];
    char *warning; /* the first; WARNING_BYTES */
    png_structp png;
    png_infop info;
};

/* ---- what libpng calls ------------------------------------------------------------------------------------------- */

static void on_error(png_structp png, png_const_charp text) {
    struct reader *r = png_get_error_ptr(png);
    r->code = strstr(text, "memory") ? ERR_MEMORY
                                     : ERR_INPUT; /* libpng has no codes: "Out of memory", "Insufficient memory…" */
    snprintf(r->message, sizeof r->message, "%s", text);
    longjmp(r->failed, 1);
}

static void on_warning(png_structp png, png_const_charp text) {
    struct reader *r = png_get_error_ptr(png);
    if (r->warning[0] == 0)
        snprintf(r->warning, WARNING_BYTES, "%s", text);
}

static void on_read(png_structp png, png_bytep to, size_t count) {
    struct reader *r = png_get_io_ptr(png);
    if (!range_fits(r->position, count, r->file.size))
        png_error(png, "the file is cut");
    memcpy(to, r->file.data + r->position, count);
    r->position += count;
}

/* ---- one picture ------------------------------------------------------------------------------------------------- */

/* The only setjmp. Whatever a step changes lives in *r or behind its pointers, so that nothing is lost by the jump. */
static int run(struct reader *r, int (*step)(struct reader *r, void *out, struct error *error), void *out,
               struct error *error) {
    int rc;
    r->png = png_create_read_struct(PNG_LIBPNG_VER_STRING, r, on_error, on_warning);
    r->info = r->png ? png_create_info_struct(r->png) : NULL;
    if (!r->info)
        rc = error_set(error, ERR_MEMORY, "out of memory for a PNG");
    else if (setjmp(r->failed) == 0)
        rc = step(r, out, error);
    else
        rc = error_set(error, r->code, "%s", r->message);
    png_destroy_read_struct(&r->png, &r->info, NULL);
    return rc;
}

static void read_header(struct reader *r) {
    png_set_read_fn(r->png, r, on_read);
    png_set_user_limits(r->png, SIDE_LIMIT_PX, SIDE_LIMIT_PX);
    png_set_chunk_malloc_max(r->png, 0); /* nothing but the palette is kept, and long chunks are only skipped */
    png_set_keep_unknown_chunks(r->png, PNG_HANDLE_CHUNK_NEVER, NULL, -1);
    png_set_keep_unknown_chunks(r->png, PNG_HANDLE_CHUNK_NEVER, (png_const_bytep) "tRNS", 1);
    png_read_info(r->png, r->info);
}

static int channels_of(const struct reader *r) {
    return png_get_color_type(r->png, r->info) & PNG_COLOR_MASK_COLOR ? 3 : 1;
}

static int depth_of(const struct reader *r) {
    return png_get_bit_depth(r->png, r->info) == 16 ? 16 : 8;
}

static int decode_step(struct reader *r, void *arg, struct error *error) {
    struct pixels *out = arg;

    read_header(r);
    int channels = channels_of(r), depth = depth_of(r), type = png_get_color_type(r->png, r->info);
    if (type == PNG_COLOR_TYPE_PALETTE)
        png_set_palette_to_rgb(r->png);
    if (type == PNG_COLOR_TYPE_GRAY)
        png_set_expand_gray_1_2_4_to_8(r->png);
    png_set_strip_alpha(r->png);
    if (depth == 16)
        png_set_swap(r->png); /* PNG is big-endian */
    int passes = png_set_interlace_handling(r->png);
    png_read_update_info(r->png, r->info);

    int rc = pixels_init(out, png_get_image_width(r->png, r->info), png_get_image_height(r->png, r->info), channels,
                         depth, error);
    if (rc != 0)
        return rc;
    if (png_get_rowbytes(r->png, r->info) != out->stride)
        return error_set(error, ERR_UNSUPPORTED, "unsupported pixel format");
    for (int pass = 0; pass < passes; pass++)
        for (uint32_t y = 0; y < out->height; y++)
            png_read_row(r->png, out->data + y * out->stride, NULL);
    if (range_fits(r->position, 8, r->file.size) && memcmp(r->file.data + r->position + 4, "IDAT", 4) == 0)
        png_warning(r->png, "IDAT chunk after the last pixel");
    png_read_end(r->png, NULL);
    return 0;
}

static int decode(struct codec *codec, struct pixels *out, char *warning, struct span file, struct error *error) {
    struct reader r = {.file = file, .warning = warning};

    (void)codec;
    *out = (struct pixels){0};
    warning[0] = 0;
    int rc = run(&r, decode_step, out, error);
    if (rc != 0)
        pixels_deinit(out);
    return rc;
}

/* ---- header ------------------------------------------------------------------------------------------------------ */

static bool sniff(struct span file) {
    return file.size >= SIGNATURE_BYTES && png_sig_cmp(file.data, 0, SIGNATURE_BYTES) == 0;
}

static uint32_t get_u32(const uint8_t *p) {
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

/* The chunk's CRC-32, bit by bit: it is asked for once a file, for a few hundred bytes. */
static uint32_t crc32_of(struct span bytes) {
    uint32_t crc = 0xFFFFFFFFu;
    for (size_t i = 0; i < bytes.size; i++) {
        crc ^= bytes.data[i];
        for (int bit = 0; bit < 8; bit++)
            crc = crc >> 1 ^ (crc & 1 ? 0xEDB88320u : 0);
    }
    return ~crc;
}

/* Walks the chunks without reading them, because libpng shows only what stands before the pixels. */
static int find_orientation(struct span file) {
    size_t at = SIGNATURE_BYTES;

    while (range_fits(at, CHUNK_FRAME_BYTES, file.size)) {
        const uint8_t *chunk = file.data + at;
        uint32_t length = get_u32(chunk);
        if (!range_fits(at + CHUNK_FRAME_BYTES, length, file.size) || memcmp(chunk + 4, "IEND", 4) == 0)
            break;
        if (memcmp(chunk + 4, "eXIf", 4) == 0) {
            bool whole = crc32_of((struct span){chunk + 4, (size_t)length + 4}) == get_u32(chunk + 8 + length);
            return whole ? exif_orientation((struct span){chunk + 8, length}) : EXIF_BROKEN;
        }
        at += CHUNK_FRAME_BYTES + length;
    }
    return EXIF_ABSENT;
}

static int probe_step(struct reader *r, void *arg, struct error *error) {
    static const char *const kinds[8] = {[0] = "gray", [2] = "RGB", [3] = "palette", [4] = "gray+alpha", [6] = "RGBA"};
    struct source_info *out = arg;

    (void)error;
    read_header(r);
    int found = find_orientation(r->file);
    *out = (struct source_info){
        .width = png_get_image_width(r->png, r->info),
        .height = png_get_image_height(r->png, r->info),
        .channels = (uint8_t)channels_of(r),
        .depth = (uint8_t)depth_of(r),
        .orientation = (uint8_t)(found >= 1 ? found : 1),
        .orientation_broken = found == EXIF_BROKEN,
    };
    snprintf(out->detail, sizeof out->detail, "PNG %d-bit %s%s", png_get_bit_depth(r->png, r->info),
             kinds[png_get_color_type(r->png, r->info) & 7],
             png_get_interlace_type(r->png, r->info) == PNG_INTERLACE_NONE ? "" : " interlaced");
    return 0;
}

static int probe(struct codec *codec, struct source_info *out, struct span file, struct error *error) {
    char warning[WARNING_BYTES] = "";
    struct reader r = {.file = file, .warning = warning};

    (void)codec;
    *out = (struct source_info){0};
    return run(&r, probe_step, out, error);
}

const struct source_image_format source_png = {SOURCE_PNG, "PNG", sniff, probe, decode};
