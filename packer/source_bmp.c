/*
 * BMP through stb_image, which reads zeros past the end of a cut file, takes the palettes of OS/2 files from the wrong
 * place and leaves missing palette entries as they were in memory. So it never sees the file itself, but a plain one
 * made here:
 *
 *   any header (OS/2 12 bytes, Windows 40 to 124)  ──>  checked against the file's size  ──>  40-byte header, masks,
 *                                                       the whole palette, rows in their order  ──>  stb_image
 *
 * 1, 4, 8, 16, 24 and 32 bits a pixel, either row order, bit fields of up to 8 bits; alpha is dropped. Run-length, JPEG
 * and PNG payloads are refused by name.
 */
#include "source_bmp.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STB_IMAGE_IMPLEMENTATION
#define STBI_ONLY_BMP
#define STBI_NO_STDIO
#define STBI_NO_LINEAR
#define STBI_NO_HDR
#define STBI_FAILURE_USERMSG
#define STBI_ASSERT(x) ((void)0)
#include <stb_image.h>

enum {
    FILE_HEADER_BYTES = 14,
    OS2_HEADER_BYTES = 12,
    INFO_HEADER_BYTES = 40,
    MASK_BYTES = 12,
    SIDE_LIMIT_PX = 1 << 20,
    PLAIN = 0,
    BIT_FIELDS = 3
};

struct header {
    uint32_t width, height;
    bool top_down;
    unsigned bits;
    uint32_t masks[3]; /* R, G, B; 0 without bit fields */
    size_t palette, palette_entries, palette_entry_bytes;
    size_t pixels, row_bytes; /* offset in the file; padded */
};

/* ---- header ------------------------------------------------------------------------------------------------------ */

static int refuse_compression(uint32_t compression, struct error *error) {
    static const char *const names[] = {[1] = "run-length", [2] = "run-length", [4] = "JPEG", [5] = "PNG"};
    if (compression < sizeof names / sizeof names[0] && names[compression])
        return error_set(error, ERR_UNSUPPORTED, "unsupported: %s-compressed BMP", names[compression]);
    return error_set(error, ERR_UNSUPPORTED, "unsupported: BMP compression %u", compression);
}

static bool mask_is_usable(uint32_t mask) {
    uint32_t low = mask & -mask, field = low ? mask / low : 0;
    return field != 0 && (field & (field + 1)) == 0 && field <= 0xFF;
}

/* The size, depth and masks that the header states. *end is where the palette begins. */
static int read_fields(struct header *h, struct span file, size_t *end, uint32_t *colours, struct error *error) {
    const uint8_t *p = file.data + FILE_HEADER_BYTES;
    uint32_t header_bytes = load_u32(p), compression = PLAIN;
    *end = (size_t)FILE_HEADER_BYTES + header_bytes;
    if (!range_fits(FILE_HEADER_BYTES, header_bytes, file.size))
        return error_set(error, ERR_INPUT, "the file ends inside the header");
    if (header_bytes == OS2_HEADER_BYTES) {
        h->width = load_u16(p + 4);
        h->height = load_u16(p + 6);
        h->bits = load_u16(p + 10);
        return 0;
    }
    if (header_bytes < INFO_HEADER_BYTES)
        return error_set(error, ERR_UNSUPPORTED, "unsupported: BMP header of %u bytes", header_bytes);
    uint32_t height = load_u32(p + 8);
    h->top_down = height >> 31;
    h->width = load_u32(p + 4);
    h->height = h->top_down ? -height : height;
    h->bits = load_u16(p + 14);
    *colours = load_u32(p + 32);
    compression = load_u32(p + 16);
    if (compression != PLAIN && compression != BIT_FIELDS)
        return refuse_compression(compression, error);
    if (compression == PLAIN)
        return 0;
    if ((h->bits != 16 && h->bits != 32) || !range_fits(FILE_HEADER_BYTES + INFO_HEADER_BYTES, MASK_BYTES, file.size))
        return error_set(error, ERR_INPUT, "bit fields in a BMP of %u bits a pixel", h->bits);
    for (int c = 0; c < 3; c++) {
        h->masks[c] = load_u32(p + INFO_HEADER_BYTES + 4 * c);
        if (!mask_is_usable(h->masks[c]))
            return error_set(error, ERR_UNSUPPORTED, "unsupported: bit field 0x%08x", h->masks[c]);
    }
    if (h->masks[0] == h->masks[1] && h->masks[1] == h->masks[2])
        return error_set(error, ERR_UNSUPPORTED, "unsupported: three bit fields 0x%08x", h->masks[0]);
    return 0;
}

static int read_header(struct header *h, struct span file, struct error *error) {
    size_t end;
    uint32_t colours = 0;
    *h = (struct header){0};
    int rc = read_fields(h, file, &end, &colours, error);
    if (rc != 0)
        return rc;
    if (h->width == 0 || h->height == 0)
        return error_set(error, ERR_INPUT, "%ux%u px is no size", h->width, h->height);
    if (h->width > SIDE_LIMIT_PX || h->height > SIDE_LIMIT_PX)
        return error_set(error, ERR_INPUT, "%ux%u px: a side is over %d px", h->width, h->height, SIDE_LIMIT_PX);
    if (h->bits != 1 && h->bits != 4 && h->bits != 8 && h->bits != 16 && h->bits != 24 && h->bits != 32)
        return error_set(error, ERR_INPUT, "%u bits a pixel is no BMP", h->bits);

    h->pixels = load_u32(file.data + 10);
    h->row_bytes = (((size_t)h->width * h->bits + 31) / 32) * 4;
    size_t last_row = ((size_t)h->width * h->bits + 7) / 8; /* the padding after it may be missing */
    uint64_t needed = (uint64_t)h->row_bytes * (h->height - 1) + last_row;
    if (h->pixels < end || !range_fits(h->pixels, needed, file.size))
        return error_set(error, ERR_INPUT, "the file is cut: %ux%u px of %u bits need %llu bytes from byte %zu on",
                         h->width, h->height, h->bits, (unsigned long long)needed, h->pixels);
    if (h->bits > 8)
        return 0;
    h->palette = end;
    h->palette_entry_bytes = load_u32(file.data + FILE_HEADER_BYTES) == OS2_HEADER_BYTES ? 3 : 4;
    h->palette_entries = (h->pixels - end) / h->palette_entry_bytes;
    size_t most = colours > 0 && colours < 1u << h->bits ? colours : 1u << h->bits;
    h->palette_entries = h->palette_entries < most ? h->palette_entries : most;
    return h->palette_entries > 0 ? 0 : error_set(error, ERR_INPUT, "a palette picture without its palette");
}

static int probe(struct codec *codec, struct source_info *out, struct span file, struct error *error) {
    struct header h;
    (void)codec;
    *out = (struct source_info){0};
    int rc = read_header(&h, file, error);
    if (rc != 0)
        return rc;
    *out = (struct source_info){.width = h.width, .height = h.height, .channels = 3, .depth = 8, .orientation = 1};
    snprintf(out->detail, sizeof out->detail, "BMP %u-bit%s%s", h.bits, h.bits <= 8 ? " palette" : "",
             h.top_down ? " top-down" : "");
    return 0;
}

/* ---- the plain file ---------------------------------------------------------------------------------------------- */

static void put_palette(uint8_t *to, const struct header *h, struct span file) {
    memset(to, 0, (size_t)4 << h->bits); /* entries that are missing are black */
    for (size_t i = 0; i < h->palette_entries; i++)
        memcpy(to + 4 * i, file.data + h->palette + i * h->palette_entry_bytes, 3);
}

static int make_plain(struct bytes *out, const struct header *h, struct span file, struct error *error) {
    size_t extra = h->bits <= 8 ? (size_t)4 << h->bits : h->masks[0] ? MASK_BYTES : 0;
    size_t start = FILE_HEADER_BYTES + INFO_HEADER_BYTES + extra, rows = h->row_bytes * h->height;
    if (start + rows > INT32_MAX) /* stb_image counts in int */
        return error_set(error, ERR_UNSUPPORTED, "unsupported: a BMP of %zu bytes", rows);
    if (bytes_reserve(out, start + rows) != 0)
        return error_set(error, ERR_MEMORY, "out of memory for a BMP");
    uint8_t *p = out->data, *info = p + FILE_HEADER_BYTES;
    out->size = start + rows;
    memset(p, 0, start);
    memcpy(p, "BM", 2);
    store_u32(p + 10, (uint32_t)start);
    store_u32(info, INFO_HEADER_BYTES);
    store_u32(info + 4, h->width);
    store_u32(info + 8, h->top_down ? -h->height : h->height);
    store_u16(info + 12, 1);
    store_u16(info + 14, (uint16_t)h->bits);
    store_u32(info + 16, h->masks[0] ? BIT_FIELDS : PLAIN);
    if (h->bits <= 8)
        put_palette(info + INFO_HEADER_BYTES, h, file);
    for (int c = 0; h->masks[0] && c < 3; c++)
        store_u32(info + INFO_HEADER_BYTES + 4 * c, h->masks[c]);

    size_t there = file.size - h->pixels < rows ? file.size - h->pixels : rows;
    memcpy(p + start, file.data + h->pixels, there);
    memset(p + start + there, 0, rows - there);
    return 0;
}

static int decode(struct codec *codec, struct pixels *out, char *warning, struct span file, struct error *error) {
    struct header h;
    struct bytes plain = {0};
    int width, height, channels;
    stbi_uc *rgb = NULL;

    (void)codec;
    *out = (struct pixels){0};
    warning[0] = 0;
    int rc = read_header(&h, file, error);
    if (rc == 0)
        rc = make_plain(&plain, &h, file, error);
    if (rc == 0 && !(rgb = stbi_load_from_memory(plain.data, (int)plain.size, &width, &height, &channels, 3))) {
        const char *reason = stbi_failure_reason();
        rc = error_set(error, strstr(reason, "memory") ? ERR_MEMORY : ERR_INPUT, "%s", reason);
    }
    if (rc == 0)
        rc = pixels_init(out, h.width, h.height, 3, 8, error);
    if (rc == 0)
        memcpy(out->data, rgb, out->stride * out->height);
    free(rgb);
    bytes_deinit(&plain);
    return rc;
}

const struct source_image_format source_bmp = {SOURCE_BMP, "BMP", source_bmp_sniff, probe, decode};
