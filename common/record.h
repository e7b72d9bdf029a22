/* One sample as it lies in a shard: a fixed header, the RGB payload, the IR payload. FORMAT.md has the bytes. */
#ifndef YPK_COMMON_RECORD_H
#define YPK_COMMON_RECORD_H

#include "bytes.h"
#include "error.h"

#include <stdint.h>

#define RECORD_VERSION 1u
#define RECORD_HEADER_BYTES 112u   /* 48 mod 64: LMDB puts records at 16 mod 4096, so payloads start 64-byte aligned */
#define RECORD_MINIMUM_BYTES 2048u /* LMDB keeps values of 2,023 bytes and more contiguous in overflow pages */
#define RECORD_PAYLOAD_ALIGNMENT 64u
#define RECORD_PAGE_OFFSET 16u        /* where in a page LMDB puts a record: after its own page header */
#define RECORD_LIMIT_BYTES (1u << 30) /* the largest record a pack can hold */

enum codec_id { CODEC_NONE = 0, CODEC_JPEG = 1, CODEC_RAW = 2, CODEC_ZSTD = 3, CODEC_ZSTD16 = 4 };

/* Bits of record_image.flags and of the index row's format byte (codec in the low 4 bits, flags in the high 4). */
enum {
    IMAGE_GRAY = 1 << 4,       /* three stored channels are equal in every pixel: luma says everything */
    IMAGE_TRANSCODED = 1 << 5, /* not the bytes of the source file */
};

struct record_image {
    uint32_t payload_bytes;               /* 0: no such image */
    uint8_t codec;                        /* enum codec_id */
    uint8_t flags;                        /* IMAGE_* */
    uint8_t channels;                     /* stored channels: 1, 3 or (CMYK JPEG) 4 */
    uint8_t depth;                        /* bits a sample: 8; 16 with CODEC_ZSTD16, which has one channel */
    uint16_t width, height;               /* px, upright */
    uint16_t source_width, source_height; /* px, upright, of the source before any reduction */
    uint64_t hash;                        /* XXH3-64 of the payload */
};

struct record {
    uint64_t sample_id;
    struct record_image rgb, ir;
};

/* Where the payloads lie in a record, and how long the record is (padding to the minimum included). */
uint64_t record_ir_offset(uint32_t rgb_bytes);
uint64_t record_bytes(uint32_t rgb_bytes, uint32_t ir_bytes);

/* Writes the header, its own hash included. */
void record_encode_header(uint8_t out[RECORD_HEADER_BYTES], const struct record *record);

/* Checks magic, version, header hash, codecs and that the payloads lie inside `bytes`; fills *out. ERR_CORRUPT says
 * what is wrong; ERR_UNSUPPORTED is a newer version. Payload hashes are not checked: record_check_payload()
 * does that. */
int record_decode_header(struct record *out, struct span bytes, struct error *error);
int record_check_payload(const struct record_image *image, struct span payload, const char *modality,
                         struct error *error);

#endif
