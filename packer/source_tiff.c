/*
 * TIFF through libtiff: the first page, as the usual loaders take it.
 *
 *   taken      gray and RGB of 8 and 16 bits, gray and palettes of 1, 2 and 4; strips and tiles, chunky and planar,
 *              both byte orders, BigTIFF, every compression the library was built with; YCbCr and CMYK of 8 bits
 *   dropped    samples beyond gray or R,G,B: transparency silently, others (a fourth band of infrared) with a note
 *   refused    signed, floating and complex numbers, other depths, Lab and other colours, old-style JPEG
 *
 * Blocks (strips or tiles) are decoded one at a time into a buffer and their samples copied. What is stored with chroma
 * subsampled is left to the library: JPEG converts by itself, the rest goes through its RGBA interface, with the
 * orientation taken out. A picture is never of more memory than its pixels, one block, and the library's own limit.
 */
#include "source_tiff.h"

#include "tiff_memory.h"

#include <stdio.h>
#include <stdlib.h>

enum {
    SAMPLE_LIMIT = 16,
    SIDE_LIMIT_PX = 1000000,
    OPEN_LIMIT_BYTES = 64 << 20, /* for directories and decoders, beside a file's own size */
    TILE_LIMIT_BYTES = 64 << 20  /* a tile may be larger than its picture, but not by more */
};

/* How samples become pixels. */
enum kind { KIND_GRAY, KIND_RGB, KIND_PALETTE, KIND_LIBRARY };

struct layout {
    uint32_t width, height;
    uint16_t bits, samples, extra, photometric, planar, compression, orientation;
    uint16_t extra_kind; /* of the first extra sample */
    enum kind kind;
    bool tiled, last_page;
};

static int library_fault(const struct tiff_memory *m, const char *otherwise, struct error *error) {
    if (m->out_of_memory)
        return error_set(error, ERR_MEMORY, "out of memory for a TIFF");
    return error_set(error, ERR_INPUT, "%s", m->fault[0] ? m->fault : otherwise);
}

/* ---- header ------------------------------------------------------------------------------------------------------ */

static int check_numbers(TIFF *tiff, const struct layout *l, struct error *error) {
    static const char *const names[] = {[SAMPLEFORMAT_INT] = "signed",
                                        [SAMPLEFORMAT_IEEEFP] = "floating-point",
                                        [SAMPLEFORMAT_COMPLEXINT] = "complex",
                                        [SAMPLEFORMAT_COMPLEXIEEEFP] = "complex"};
    uint16_t format = SAMPLEFORMAT_UINT;
    TIFFGetFieldDefaulted(tiff, TIFFTAG_SAMPLEFORMAT, &format);
    if (format < sizeof names / sizeof names[0] && names[format])
        return error_set(error, ERR_UNSUPPORTED, "unsupported: %s %u-bit samples", names[format], l->bits);
    bool whole = l->bits == 8 || l->bits == 16, part = l->bits == 1 || l->bits == 2 || l->bits == 4;
    if (!(whole && !(l->bits == 16 && (l->kind == KIND_PALETTE || l->kind == KIND_LIBRARY))) &&
        !(part && (l->kind == KIND_GRAY || l->kind == KIND_PALETTE)))
        return error_set(error, ERR_UNSUPPORTED, "unsupported: %u-bit samples", l->bits);
    return 0;
}

static int find_kind(struct layout *l, struct error *error) {
    unsigned colours = l->samples - l->extra;
    switch (l->photometric) {
    case PHOTOMETRIC_MINISWHITE:
    case PHOTOMETRIC_MINISBLACK:
        l->kind = KIND_GRAY;
        l->extra = (uint16_t)(l->samples - 1); /* some writers count none of the others as extra */
        return 0;
    case PHOTOMETRIC_PALETTE:
        l->kind = KIND_PALETTE;
        l->extra = (uint16_t)(l->samples - 1);
        return 0;
    case PHOTOMETRIC_RGB: l->kind = KIND_RGB; break;
    case PHOTOMETRIC_YCBCR: l->kind = l->compression == COMPRESSION_JPEG ? KIND_RGB : KIND_LIBRARY; break;
    case PHOTOMETRIC_SEPARATED:
        l->kind = KIND_LIBRARY;
        if (colours == 4)
            return 0;
        break;
    default: return error_set(error, ERR_UNSUPPORTED, "unsupported: photometric interpretation %u", l->photometric);
    }
    if (l->samples < 3)
        return error_set(error, ERR_INPUT, "a colour picture with %u samples a pixel", l->samples);
    if (l->kind == KIND_RGB)
        l->extra = (uint16_t)(l->samples - 3);
    return 0;
}

static int read_layout(TIFF *tiff, const struct tiff_memory *m, struct layout *l, struct error *error) {
    uint16_t *extra_kinds = NULL;

    *l = (struct layout){.orientation = 1};
    if (!TIFFGetField(tiff, TIFFTAG_IMAGEWIDTH, &l->width) || !TIFFGetField(tiff, TIFFTAG_IMAGELENGTH, &l->height))
        return error_set(error, ERR_INPUT, "no width or height");
    if (l->width == 0 || l->height == 0)
        return error_set(error, ERR_INPUT, "%ux%u px is no size", l->width, l->height);
    if (l->width > SIDE_LIMIT_PX || l->height > SIDE_LIMIT_PX)
        return error_set(error, ERR_INPUT, "%ux%u px: a side is over %d px", l->width, l->height, SIDE_LIMIT_PX);
    TIFFGetFieldDefaulted(tiff, TIFFTAG_BITSPERSAMPLE, &l->bits);
    TIFFGetFieldDefaulted(tiff, TIFFTAG_SAMPLESPERPIXEL, &l->samples);
    TIFFGetFieldDefaulted(tiff, TIFFTAG_PLANARCONFIG, &l->planar);
    TIFFGetFieldDefaulted(tiff, TIFFTAG_COMPRESSION, &l->compression);
    TIFFGetFieldDefaulted(tiff, TIFFTAG_ORIENTATION, &l->orientation);
    if (TIFFGetField(tiff, TIFFTAG_EXTRASAMPLES, &l->extra, &extra_kinds) && l->extra > 0)
        l->extra_kind = extra_kinds[0];
    if (!TIFFGetField(tiff, TIFFTAG_PHOTOMETRIC, &l->photometric))
        l->photometric = l->samples >= 3 ? PHOTOMETRIC_RGB : PHOTOMETRIC_MINISBLACK;
    l->tiled = TIFFIsTiled(tiff);
    l->last_page = TIFFLastDirectory(tiff);

    if (l->samples == 0 || l->samples > SAMPLE_LIMIT || l->extra >= l->samples)
        return error_set(error, ERR_UNSUPPORTED, "unsupported: %u samples a pixel, %u of them extra", l->samples,
                         l->extra);
    if (l->compression == COMPRESSION_OJPEG)
        return error_set(error, ERR_UNSUPPORTED, "unsupported: old-style JPEG compression");
    if (!TIFFIsCODECConfigured(l->compression))
        return error_set(error, ERR_UNSUPPORTED, "unsupported: compression %u, which this libtiff was built without",
                         l->compression);
    int rc = find_kind(l, error);
    if (rc == 0)
        rc = check_numbers(tiff, l, error);
    return rc == 0 && m->out_of_memory ? library_fault(m, "", error) : rc;
}

static int channels_of(const struct layout *l) {
    return l->kind == KIND_GRAY ? 1 : 3;
}

static void describe(struct source_info *out, const struct layout *l) {
    static const char *const kinds[] = {[KIND_GRAY] = "gray", [KIND_RGB] = "RGB", [KIND_PALETTE] = "palette"};
    *out = (struct source_info){
        .width = l->width,
        .height = l->height,
        .channels = (uint8_t)channels_of(l),
        .depth = l->bits == 16 ? 16 : 8,
        .orientation = (uint8_t)(l->orientation >= 1 && l->orientation <= 8 ? l->orientation : 1),
        .orientation_broken = l->orientation < 1 || l->orientation > 8,
    };
    const char *kind = l->photometric == PHOTOMETRIC_YCBCR       ? "YCbCr"
                       : l->photometric == PHOTOMETRIC_SEPARATED ? "CMYK"
                                                                 : kinds[l->kind];
    snprintf(out->detail, sizeof out->detail, "TIFF %u-bit %s%s%s%s", l->bits, kind, l->extra ? " and more" : "",
             l->tiled ? " tiled" : "", l->planar == PLANARCONFIG_SEPARATE && l->samples > 1 ? " planar" : "");
}

static int probe(struct codec *codec, struct source_info *out, struct span file, struct error *error) {
    struct tiff_memory m = {.file = file};
    struct layout l;

    (void)codec;
    *out = (struct source_info){0};
    TIFF *tiff = tiff_memory_open(&m, file.size + OPEN_LIMIT_BYTES);
    if (!tiff)
        return library_fault(&m, "the first page cannot be read", error);
    int rc = read_layout(tiff, &m, &l, error);
    if (rc == 0)
        describe(out, &l);
    TIFFClose(tiff);
    return rc;
}

/* ---- samples to pixels ------------------------------------------------------------------------------------------- */

/* Colours of a palette picture, 8 bits each. */
struct palette {
    uint8_t colour[256][3];
};

/* Maps have 16 bits a colour; those of some old writers have 8, which is seen by no entry being over 255. */
static int read_palette(TIFF *tiff, const struct layout *l, struct palette *out, struct error *error) {
    uint16_t *maps[3];
    unsigned count = 1u << l->bits, largest = 0;
    if (!TIFFGetField(tiff, TIFFTAG_COLORMAP, &maps[0], &maps[1], &maps[2]))
        return error_set(error, ERR_INPUT, "a palette picture without its palette");
    for (unsigned c = 0; c < 3; c++)
        for (unsigned i = 0; i < count; i++)
            largest = maps[c][i] > largest ? maps[c][i] : largest;
    for (unsigned c = 0; c < 3; c++)
        for (unsigned i = 0; i < count; i++)
            out->colour[i][c] = (uint8_t)(largest > 255 ? maps[c][i] >> 8 : maps[c][i]);
    return 0;
}

static unsigned small_sample(const uint8_t *row, size_t i, unsigned bits) {
    size_t bit = i * bits;
    return (unsigned)row[bit / 8] >> (8 - bits - bit % 8) & ((1u << bits) - 1);
}

/* `count` pixels of one decoded row. `row` has `in_row` samples a pixel, of which the first `used` go to the channels
 * from `first` on. */
struct row_copy {
    const struct layout *layout;
    const struct palette *palette;
    unsigned in_row, used, first;
};

static void copy_small_row(uint8_t *to, const uint8_t *row, uint32_t count, const struct row_copy *c) {
    unsigned bits = c->layout->bits, highest = (1u << bits) - 1;
    unsigned flip = c->layout->photometric == PHOTOMETRIC_MINISWHITE ? highest : 0;
    for (uint32_t x = 0; x < count; x++) {
        unsigned value = small_sample(row, (size_t)x * c->in_row, bits);
        if (c->layout->kind == KIND_PALETTE)
            memcpy(to + 3 * (size_t)x, c->palette->colour[value], 3);
        else
            to[x] = (uint8_t)((value ^ flip) * 255 / highest);
    }
}

static void copy_row_8(uint8_t *to, const uint8_t *row, uint32_t count, const struct row_copy *c) {
    unsigned channels = (unsigned)channels_of(c->layout);
    uint8_t flip = c->layout->photometric == PHOTOMETRIC_MINISWHITE ? 0xFF : 0;
    for (uint32_t x = 0; x < count; x++)
        for (unsigned s = 0; s < c->used; s++)
            to[(size_t)x * channels + c->first + s] = row[(size_t)x * c->in_row + s] ^ flip;
}

static void copy_row_16(uint8_t *to, const uint8_t *row, uint32_t count, const struct row_copy *c) {
    unsigned channels = (unsigned)channels_of(c->layout);
    uint16_t flip = c->layout->photometric == PHOTOMETRIC_MINISWHITE ? 0xFFFF : 0;
    for (uint32_t x = 0; x < count; x++)
        for (unsigned s = 0; s < c->used; s++) /* the library has swapped the bytes */
            store_u16(to + 2 * ((size_t)x * channels + c->first + s),
                      load_u16(row + 2 * ((size_t)x * c->in_row + s)) ^ flip);
}

static void copy_row(uint8_t *to, const uint8_t *row, uint32_t count, const struct row_copy *c) {
    if (c->layout->bits == 16)
        copy_row_16(to, row, count, c);
    else if (c->layout->kind == KIND_PALETTE || c->layout->bits < 8)
        copy_small_row(to, row, count, c);
    else
        copy_row_8(to, row, count, c);
}

/* ---- blocks ------------------------------------------------------------------------------------------------------ */

/* Strips are tiles as wide as the picture. */
struct blocks {
    uint32_t width, height; /* px */
    size_t row_bytes, bytes;
};

static int find_blocks(TIFF *tiff, const struct layout *l, const struct tiff_memory *m, struct blocks *b,
                       struct error *error) {
    tmsize_t row, size;
    *b = (struct blocks){.width = l->width};
    if (l->tiled) {
        TIFFGetField(tiff, TIFFTAG_TILEWIDTH, &b->width);
        TIFFGetField(tiff, TIFFTAG_TILELENGTH, &b->height);
        row = TIFFTileRowSize(tiff);
        size = TIFFTileSize(tiff);
    } else {
        TIFFGetFieldDefaulted(tiff, TIFFTAG_ROWSPERSTRIP, &b->height);
        b->height = b->height < l->height ? b->height : l->height;
        row = TIFFScanlineSize(tiff);
        size = TIFFStripSize(tiff);
    }
    if (b->width == 0 || b->height == 0 || row <= 0 || size <= 0)
        return library_fault(m, "strips or tiles of no size", error);
    b->row_bytes = (size_t)row;
    b->bytes = (size_t)size;

    unsigned in_row = l->planar == PLANARCONFIG_SEPARATE ? 1 : l->samples;
    uint64_t picture = (uint64_t)l->width * l->height * l->samples * (l->bits > 8 ? 2 : 1);
    if (b->bytes > picture + TILE_LIMIT_BYTES)
        return error_set(error, ERR_INPUT, "tiles of %ux%u px in a picture of %ux%u", b->width, b->height, l->width,
                         l->height);
    if (b->row_bytes < ((uint64_t)b->width * in_row * l->bits + 7) / 8 || b->bytes / b->row_bytes < b->height)
        return error_set(error, ERR_UNSUPPORTED, "unsupported: strips or tiles of %zu bytes a row", b->row_bytes);
    return 0;
}

/* One strip or tile at (x, y) of `plane` into the picture. */
static int read_block(TIFF *tiff, const struct tiff_memory *m, const struct pixels *out, const struct blocks *b,
                      uint8_t *buffer, uint32_t x, uint32_t y, const struct row_copy *copy, struct error *error) {
    const struct layout *l = copy->layout;
    uint32_t columns = l->width - x < b->width ? l->width - x : b->width;
    uint32_t rows = l->height - y < b->height ? l->height - y : b->height;
    uint16_t plane = (uint16_t)copy->first;
    size_t needed = l->tiled ? b->bytes : rows * b->row_bytes;

    tmsize_t got = l->tiled
                       ? TIFFReadEncodedTile(tiff, TIFFComputeTile(tiff, x, y, 0, plane), buffer, (tmsize_t)b->bytes)
                       : TIFFReadEncodedStrip(tiff, TIFFComputeStrip(tiff, y, plane), buffer, (tmsize_t)needed);
    if (got < 0 || m->fault[0])
        return library_fault(m, "a strip or tile cannot be decoded", error);
    if ((size_t)got < needed || m->damage[0])
        return error_set(error, ERR_INPUT, "the strip or tile at row %u: %s", y,
                         m->damage[0] ? m->damage : "it has too few bytes");
    size_t pixel = (size_t)out->channels * (out->depth / 8);
    for (uint32_t i = 0; i < rows; i++)
        copy_row(out->data + (y + (size_t)i) * out->stride + x * pixel, buffer + i * b->row_bytes, columns, copy);
    return 0;
}

static int read_blocks(TIFF *tiff, const struct tiff_memory *m, const struct layout *l, const struct pixels *out,
                       struct error *error) {
    struct palette palette;
    struct blocks b;
    bool planar = l->planar == PLANARCONFIG_SEPARATE;
    unsigned planes = planar ? out->channels : 1, in_row = planar ? 1 : l->samples;
    struct row_copy copy = {l, &palette, in_row, planar ? 1 : out->channels, 0};

    if (l->kind == KIND_PALETTE) {
        planes = copy.used = 1;
        int rc = read_palette(tiff, l, &palette, error);
        if (rc != 0)
            return rc;
    }
    if (l->photometric == PHOTOMETRIC_YCBCR)
        TIFFSetField(tiff, TIFFTAG_JPEGCOLORMODE, JPEGCOLORMODE_RGB);
    int rc = find_blocks(tiff, l, m, &b, error);
    if (rc != 0)
        return rc;
    uint8_t *buffer = malloc(b.bytes);
    if (!buffer)
        return error_set(error, ERR_MEMORY, "out of memory for a TIFF");
    for (copy.first = 0; rc == 0 && copy.first < planes; copy.first++)
        for (uint32_t y = 0; rc == 0 && y < l->height; y += b.height)
            for (uint32_t x = 0; rc == 0 && x < l->width; x += b.width)
                rc = read_block(tiff, m, out, &b, buffer, x, y, &copy, error);
    free(buffer);
    return rc;
}

/* YCbCr that is not JPEG, and CMYK: the library's conversion to 8-bit R,G,B,A, in the order of storage. */
static int read_by_library(TIFF *tiff, const struct tiff_memory *m, const struct layout *l, const struct pixels *out,
                           struct error *error) {
    TIFFRGBAImage image;
    char text[1024] = "";
    if (!TIFFRGBAImageBegin(&image, tiff, 1, text))
        return error_set(error, ERR_UNSUPPORTED, "unsupported: %.150s", text);
    image.orientation = image.req_orientation = ORIENTATION_TOPLEFT;
    uint32_t *raster = malloc((size_t)l->width * l->height * sizeof *raster);
    int rc = raster ? 0 : error_set(error, ERR_MEMORY, "out of memory for a TIFF");
    if (rc == 0 && (!TIFFRGBAImageGet(&image, raster, l->width, l->height) || m->fault[0] || m->damage[0]))
        rc = library_fault(m, m->damage[0] ? m->damage : "the picture cannot be decoded", error);
    for (uint32_t y = 0; rc == 0 && y < l->height; y++)
        for (uint32_t x = 0; x < l->width; x++) {
            uint32_t value = raster[(size_t)y * l->width + x];
            uint8_t *to = out->data + y * out->stride + 3 * (size_t)x;
            to[0] = (uint8_t)TIFFGetR(value);
            to[1] = (uint8_t)TIFFGetG(value);
            to[2] = (uint8_t)TIFFGetB(value);
        }
    free(raster);
    TIFFRGBAImageEnd(&image);
    return rc;
}

/* ---- picture ----------------------------------------------------------------------------------------------------- */

static void put_warning(char *warning, const struct tiff_memory *m, const struct layout *l) {
    bool transparency = l->extra == 1 && l->extra_kind != EXTRASAMPLE_UNSPECIFIED;
    if (m->warning[0])
        snprintf(warning, TIFF_TEXT_BYTES, "%s", m->warning);
    else if (!l->last_page)
        snprintf(warning, TIFF_TEXT_BYTES, "only the first of its pages is used");
    else if (l->extra > 0 && !transparency)
        snprintf(warning, TIFF_TEXT_BYTES, "only the first %d of its %u samples a pixel are used",
                 l->kind == KIND_GRAY || l->kind == KIND_PALETTE ? 1 : l->samples - l->extra, l->samples);
}

static int decode(struct codec *codec, struct pixels *out, char *warning, struct span file, struct error *error) {
    struct tiff_memory m = {.file = file};
    struct source_info info;
    struct layout l;

    *out = (struct pixels){0};
    warning[0] = 0;
    int rc = probe(codec, &info, file, error);
    if (rc != 0)
        return rc;
    uint64_t limit = (uint64_t)info.width * info.height * 8 + file.size + OPEN_LIMIT_BYTES;
    TIFF *tiff = tiff_memory_open(&m, limit < SIZE_MAX / 2 ? (size_t)limit : SIZE_MAX / 2);
    if (!tiff)
        return library_fault(&m, "the first page cannot be read", error);
    if ((rc = read_layout(tiff, &m, &l, error)) == 0)
        rc = pixels_init(out, info.width, info.height, info.channels, info.depth, error);
    m.fault[0] = 0; /* what the library said of the directory and went on */
    if (rc == 0)
        rc = l.kind == KIND_LIBRARY ? read_by_library(tiff, &m, &l, out, error) : read_blocks(tiff, &m, &l, out, error);
    if (rc == 0)
        put_warning(warning, &m, &l);
    else
        pixels_deinit(out);
    TIFFClose(tiff);
    return rc;
}

const struct source_image_format source_tiff = {SOURCE_TIFF, "TIFF", source_tiff_sniff, probe, decode};
