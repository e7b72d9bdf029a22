#include "record.h"

#include "hash.h"

#include <inttypes.h>

/* Fields of the header; FORMAT.md describes them. The hash of the 104 bytes before it ends the header. XXH3 is called
 * in the shared library: for such short inputs inlining it saved less than 1 ns of 7. */
enum {
    AT_MAGIC = 0,
    AT_VERSION = 4,
    AT_HEADER_BYTES = 6,
    AT_SAMPLE_ID = 8,
    AT_RGB = 16,
    AT_IR = 40,
    AT_RESERVED = 64,
    AT_HASH = 104
};

static const char record_magic[4] = {'Y', 'P', 'K', 'R'};

_Static_assert((RECORD_PAGE_OFFSET + RECORD_HEADER_BYTES) % RECORD_PAYLOAD_ALIGNMENT == 0, "payloads are aligned");
_Static_assert(AT_HASH + 8 == RECORD_HEADER_BYTES, "the hash ends the header");

uint64_t record_ir_offset(uint32_t rgb_bytes) {
    uint64_t in_page = RECORD_PAGE_OFFSET + RECORD_HEADER_BYTES + (uint64_t)rgb_bytes;
    return align_up(in_page, RECORD_PAYLOAD_ALIGNMENT) - RECORD_PAGE_OFFSET;
}

uint64_t record_bytes(uint32_t rgb_bytes, uint32_t ir_bytes) {
    uint64_t end = ir_bytes > 0 ? record_ir_offset(rgb_bytes) + ir_bytes : (uint64_t)RECORD_HEADER_BYTES + rgb_bytes;
    return end > RECORD_MINIMUM_BYTES ? end : RECORD_MINIMUM_BYTES;
}

static void encode_image(uint8_t *p, const struct record_image *image) {
    store_u32(p, image->payload_bytes);
    p[4] = image->codec;
    p[5] = image->flags;
    p[6] = image->channels;
    p[7] = image->depth;
    store_u16(p + 8, image->width);
    store_u16(p + 10, image->height);
    store_u16(p + 12, image->source_width);
    store_u16(p + 14, image->source_height);
    store_u64(p + 16, image->hash);
}

void record_encode_header(uint8_t out[RECORD_HEADER_BYTES], const struct record *record) {
    memset(out, 0, RECORD_HEADER_BYTES);
    memcpy(out + AT_MAGIC, record_magic, sizeof record_magic);
    store_u16(out + AT_VERSION, RECORD_VERSION);
    store_u16(out + AT_HEADER_BYTES, RECORD_HEADER_BYTES);
    store_u64(out + AT_SAMPLE_ID, record->sample_id);
    encode_image(out + AT_RGB, &record->rgb);
    encode_image(out + AT_IR, &record->ir);
    store_u64(out + AT_HASH, XXH3_64bits(out, AT_HASH));
}

static int decode_image(struct record_image *out, const uint8_t *p, const char *modality, struct error *error) {
    *out = (struct record_image){
        .payload_bytes = load_u32(p),
        .codec = p[4],
        .flags = p[5],
        .channels = p[6],
        .depth = p[7],
        .width = load_u16(p + 8),
        .height = load_u16(p + 10),
        .source_width = load_u16(p + 12),
        .source_height = load_u16(p + 14),
        .hash = load_u64(p + 16),
    };
    if (out->payload_bytes == 0) {
        static const uint8_t none[AT_IR - AT_RGB];
        if (memcmp(p, none, sizeof none) != 0)
            return error_set(error, ERR_CORRUPT, "record: the %s image has no bytes, but a description", modality);
        return 0;
    }
    if (out->codec < CODEC_JPEG || out->codec > CODEC_ZSTD16)
        return error_set(error, ERR_CORRUPT, "record: codec %u of the %s image is unknown", out->codec, modality);
    if (out->flags & ~(IMAGE_GRAY | IMAGE_TRANSCODED))
        return error_set(error, ERR_CORRUPT, "record: flags 0x%02x of the %s image are unknown", out->flags, modality);
    if (out->depth != (out->codec == CODEC_ZSTD16 ? 16 : 8))
        return error_set(error, ERR_CORRUPT, "record: codec %u of the %s image cannot have %u bits a sample",
                         out->codec, modality, out->depth);
    if (out->channels != 1 && !(out->channels == 3 && out->codec != CODEC_ZSTD16) &&
        !(out->channels == 4 && out->codec == CODEC_JPEG))
        return error_set(error, ERR_CORRUPT, "record: the %s image cannot have %u channels", modality, out->channels);
    if (out->width == 0 || out->height == 0 || out->source_width == 0 || out->source_height == 0)
        return error_set(error, ERR_CORRUPT, "record: the %s image has a side of 0 px", modality);
    return 0;
}

/* Magic, version and hash: is this a header that record_encode_header() wrote? */
static int check_header(struct span bytes, struct error *error) {
    const uint8_t *p = bytes.data;
    if (bytes.size < RECORD_HEADER_BYTES)
        return error_set(error, ERR_CORRUPT, "record: %zu bytes are fewer than its header of %u", bytes.size,
                         RECORD_HEADER_BYTES);
    if (memcmp(p + AT_MAGIC, record_magic, sizeof record_magic) != 0)
        return error_set(error, ERR_CORRUPT, "record: begins with %02x %02x %02x %02x instead of YPKR", p[0], p[1],
                         p[2], p[3]);
    unsigned version = load_u16(p + AT_VERSION);
    if (version > RECORD_VERSION)
        return error_set(error, ERR_UNSUPPORTED, "record: made by a newer yolopack: format %u, this one reads up to %u",
                         version, RECORD_VERSION);
    uint64_t expected = load_u64(p + AT_HASH), found = XXH3_64bits(p, AT_HASH);
    if (expected != found)
        return error_set(error, ERR_CORRUPT,
                         "record: header does not match its hash (expected %016" PRIx64 ", found %016" PRIx64 ")",
                         expected, found);
    static const uint8_t reserved[AT_HASH - AT_RESERVED];
    if (version != RECORD_VERSION || load_u16(p + AT_HEADER_BYTES) != RECORD_HEADER_BYTES ||
        memcmp(p + AT_RESERVED, reserved, sizeof reserved) != 0)
        return error_set(error, ERR_CORRUPT, "record: header is not one of format %u", RECORD_VERSION);
    return 0;
}

int record_decode_header(struct record *out, struct span bytes, struct error *error) {
    *out = (struct record){0};
    int code = check_header(bytes, error);
    if (code != 0)
        return code;
    struct record found = {.sample_id = load_u64(bytes.data + AT_SAMPLE_ID)};
    if ((code = decode_image(&found.rgb, bytes.data + AT_RGB, "RGB", error)) != 0 ||
        (code = decode_image(&found.ir, bytes.data + AT_IR, "IR", error)) != 0)
        return code;
    if (found.rgb.payload_bytes == 0 && found.ir.payload_bytes == 0)
        return error_set(error, ERR_CORRUPT, "record: holds no image");
    uint64_t needed = record_bytes(found.rgb.payload_bytes, found.ir.payload_bytes);
    if (needed > RECORD_LIMIT_BYTES || needed > bytes.size)
        return error_set(error, ERR_CORRUPT, "record: needs %" PRIu64 " bytes for its payloads, has %zu", needed,
                         bytes.size);
    *out = found;
    return 0;
}

int record_check_payload(const struct record_image *image, struct span payload, const char *modality,
                         struct error *error) {
    if (payload.size != image->payload_bytes)
        return error_set(error, ERR_CORRUPT, "%s payload has %zu bytes instead of %" PRIu32, modality, payload.size,
                         image->payload_bytes);
    uint64_t found = XXH3_64bits(payload.data, payload.size);
    if (found != image->hash)
        return error_set(error, ERR_CORRUPT,
                         "%s payload does not match its hash (expected %016" PRIx64 ", found %016" PRIx64 ")", modality,
                         image->hash, found);
    return 0;
}
