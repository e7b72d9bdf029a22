/*
 * The codecs a pack stores pictures with: one row of a table each. Encoding is for the packer, decoding for the reader.
 */
#ifndef YPK_COMMON_CODEC_H
#define YPK_COMMON_CODEC_H

#include "bytes.h"
#include "error.h"
#include "pixels.h"
#include "record.h"

/* Codec handles and scratch of one thread. */
struct codec;
int codec_create(struct codec **out, struct error *error);
void codec_destroy(struct codec **codec);

/* The thread's JPEG handle, borrowed. */
struct jpeg *codec_jpeg(struct codec *codec);

/* Memory of the caller's, at an even address, that pictures are unpacked in where it suffices, instead of the codec's
 * own; until it is taken back with `size` 0. */
void codec_lend(struct codec *codec, uint8_t *memory, size_t size);

/* Decodes the payload of one image as its record describes it. `channels` 3 or 1 is what the caller wants: gray is
 * replicated, colour becomes luma. out->data is the caller's (stride * height bytes), its size must be the image's.
 * ERR_CORRUPT if the payload does not decode to exactly that; the pixels are zeroed then. */
int codec_decode(struct codec *codec, const struct record_image *image, struct span payload, const struct pixels *out,
                 struct error *error);

/* The planes of a payload that is stored as such (raw, or zstd of it): [count][height][width], borrowed from the
 * payload or from the codec (what is lent to it) until its next call. count is 0 (and the code 0) for a codec that has
 * to be decoded (jpeg, zstd16). */
struct codec_planes {
    const uint8_t *plane[3];
    int count;
};
int codec_planes(struct codec *codec, struct codec_planes *out, const struct record_image *image, struct span payload,
                 struct error *error);

/* Appends a planar 8-bit payload (CODEC_RAW) or its zstd form (CODEC_ZSTD, at `level`) of `in` to `out`. */
int codec_encode_raw(struct codec *codec, struct bytes *out, const struct pixels *in, struct error *error);
int codec_encode_zstd(struct codec *codec, struct bytes *out, const struct pixels *in, int level, struct error *error);

/* Appends 16-bit counts of one channel without loss (CODEC_ZSTD16). low and high (at most 65,535) are the counts that
 * become 0 and 255 where 8 bits are asked for: codec_decode() uses pixels_scale_row(). */
int codec_encode_zstd16(struct codec *codec, struct bytes *out, const struct pixels *in, uint32_t low, uint32_t high,
                        int level, struct error *error);

/* The counts of a CODEC_ZSTD16 payload. out has depth 16, one channel and the image's size; its data and stride are
 * aligned for uint16. Errors as of codec_decode(), and ERR_ARGUMENT for an image of another codec. */
int codec_decode16(struct codec *codec, const struct record_image *image, struct span payload, const struct pixels *out,
                   struct error *error);

/* "jpeg", "raw", "zstd", "zstd16"; NULL for a number that is no codec. */
const char *codec_name(int codec);

#endif
