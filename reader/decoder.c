/* Records to payloads to pixels, each step checked against the one before: index row, record header, payload hash. */
#include "decoder.h"

#include "api_error.h"
#include "codec.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct ypk_decoder {
    const struct ypk_dataset *dataset;
    struct codec *codec;
    struct bytes scratch;  /* with pread: what was read last */
    struct span record;    /* the record that was fetched last, so that a pair is fetched once */
    uint64_t record_index; /* its sample; UINT64_MAX: none */
    struct index_sample record_row;
};

/* One image of one sample, found and checked. */
struct image {
    struct record_image header;
    struct span payload;
};

int decoder_create(struct ypk_decoder **out, const struct ypk_dataset *dataset, struct error *error) {
    struct ypk_decoder *d = calloc(1, sizeof *d);
    int rc = d ? codec_create(&d->codec, error) : error_set(error, ERR_MEMORY, "out of memory for a decoder");
    if (rc) {
        free(d);
        return rc;
    }
    d->dataset = dataset;
    d->record_index = UINT64_MAX;
    *out = d;
    return 0;
}

static void leave_record(struct ypk_decoder *d) {
    if (d->record_index != UINT64_MAX)
        dataset_record_done(d->dataset, &d->record_row);
    d->record_index = UINT64_MAX;
}

void decoder_destroy(struct ypk_decoder **decoder) {
    if (!*decoder)
        return;
    leave_record(*decoder);
    codec_destroy(&(*decoder)->codec);
    bytes_deinit(&(*decoder)->scratch);
    free(*decoder);
    *decoder = NULL;
}

struct codec *decoder_codec(struct ypk_decoder *decoder) {
    return decoder->codec;
}

/* ---- finding an image -------------------------------------------------------------------------------------------- */

static int find_row(const ypk_decoder *d, uint64_t index, int modality, struct index_sample *out, struct error *error) {
    if (modality != YPK_RGB && modality != YPK_IR)
        return error_set(error, ERR_ARGUMENT, "modality %d is neither YPK_RGB nor YPK_IR", modality);
    int rc = index_sample(&d->dataset->index, index, out, error);
    if (rc) {
        error_prefix(error, "%s: ", d->dataset->index_path);
        return rc;
    }
    if (!(modality == YPK_RGB ? out->rgb_bytes : out->ir_bytes))
        return error_set(error, ERR_ARGUMENT, "sample %" PRIu64 " (%s) has no %s image", index, index_sample_name(out),
                         modality == YPK_RGB ? "RGB" : "IR");
    return 0;
}

static int fetch_record(ypk_decoder *d, uint64_t index, const struct index_sample *row, struct span *out,
                        struct error *error) {
    if (d->record_index != index) {
        leave_record(d);
        int rc = dataset_record(d->dataset, row, &d->scratch, &d->record, error);
        if (rc)
            return rc;
        d->record_index = index;
        d->record_row = *row;
    }
    *out = d->record;
    return 0;
}

static int check_image(struct image *out, const struct index_view *view, uint64_t index, int modality,
                       const struct index_sample *row, struct span bytes, struct error *error) {
    struct record r;
    struct index_shard shard;
    int rc = index_shard(view, row->shard, &shard, error);
    if (rc || (rc = record_decode_header(&r, bytes, error)))
        return rc;
    if (r.sample_id != shard.first_id + (index - shard.first_sample) || !index_sample_describes(row, &r))
        return error_set(error, ERR_CORRUPT, "the record is another one than the index describes (id %" PRIu64 ")",
                         r.sample_id);
    bool rgb = modality == YPK_RGB;
    out->header = rgb ? r.rgb : r.ir;
    out->payload = (struct span){bytes.data + (rgb ? RECORD_HEADER_BYTES : record_ir_offset(r.rgb.payload_bytes)),
                                 out->header.payload_bytes};
    return record_check_payload(&out->header, out->payload, rgb ? "RGB" : "IR", error);
}

/* Says which sample of which shard a message is about. */
static void name_sample(const ypk_decoder *d, uint64_t index, const struct index_sample *row, struct error *error) {
    char shard[INDEX_SHARD_NAME_BYTES];
    index_shard_name(shard, d->dataset->index.meta.shard_prefix, row->shard);
    error_prefix(error, "%s/%s: sample %" PRIu64 " (%s): ", dataset_shard_directory(d->dataset, row->shard), shard,
                 index, index_sample_name(row));
}

static int fetch_image(ypk_decoder *d, uint64_t index, int modality, const struct index_sample *row, struct image *out,
                       struct error *error) {
    struct span record;
    int rc = fetch_record(d, index, row, &record, error);
    if (!rc && (rc = check_image(out, &d->dataset->index, index, modality, row, record, error)))
        name_sample(d, index, row, error);
    return rc;
}

int decoder_image(struct ypk_decoder *d, uint64_t index, int modality, struct record_image *image, struct span *payload,
                  struct error *error) {
    struct index_sample row;
    struct image found;
    int rc = find_row(d, index, modality, &row, error);
    if (!rc && !(rc = fetch_image(d, index, modality, &row, &found, error))) {
        *image = found.header;
        *payload = found.payload;
    }
    return rc;
}

size_t decoder_bytes_after(const struct ypk_decoder *d, uint64_t index, struct span payload) {
    struct index_sample row;
    if (index_sample(&d->dataset->index, index, &row, NULL) != 0)
        return 0;
    const struct dataset_shard *shard = &d->dataset->shards[row.shard];
    if (d->dataset->drops && !shard->staged) /* it would be read again */
        return 0;
    const uint8_t *map = atomic_load_explicit(&shard->map, memory_order_acquire), *end = payload.data + payload.size;
    bool mapped = map && payload.data >= map && end <= map + shard->file_bytes;
    return mapped ? (size_t)(map + shard->file_bytes - end) : 0;
}

void decoder_name_sample(struct ypk_decoder *d, uint64_t index, struct error *error) {
    struct index_sample row;
    if (index_sample(&d->dataset->index, index, &row, NULL) == 0)
        name_sample(d, index, &row, error);
}

/* ---- the public calls -------------------------------------------------------------------------------------------- */

int ypk_decoder_create(ypk_decoder **out, const ypk_dataset *dataset, ypk_error *error) {
    struct error inner = {0};
    if (out)
        *out = NULL;
    int rc = out && dataset ? decoder_create(out, dataset, &inner)
                            : error_set(&inner, ERR_ARGUMENT, "ypk_decoder_create: out and dataset must not be NULL");
    return rc ? api_fail(error, &inner) : YPK_OK;
}

void ypk_decoder_destroy(ypk_decoder **decoder) {
    if (decoder)
        decoder_destroy(decoder);
}

int ypk_decoder_payload(ypk_decoder *d, uint64_t index, int modality, const uint8_t **data, size_t *size,
                        ypk_error *error) {
    struct error inner = {0};
    struct index_sample row;
    struct image image;
    int rc;
    if (!d || !data || !size)
        rc = error_set(&inner, ERR_ARGUMENT, "ypk_decoder_payload: decoder, data and size must not be NULL");
    else if (!(rc = find_row(d, index, modality, &row, &inner)))
        rc = fetch_image(d, index, modality, &row, &image, &inner);
    if (rc)
        return api_fail(error, &inner);
    *data = image.payload.data;
    *size = image.payload.size;
    return YPK_OK;
}

/* The caller's buffer as the row describes the picture. */
static int describe_pixels(struct pixels *out, void *data, size_t stride, int modality, int depth,
                           const struct index_sample *row, struct error *error) {
    bool rgb = modality == YPK_RGB;
    *out = (struct pixels){.data = data,
                           .width = rgb ? row->rgb_width : row->ir_width,
                           .height = rgb ? row->rgb_height : row->ir_height,
                           .channels = rgb ? 3 : 1,
                           .depth = (uint8_t)depth};
    size_t tight = (size_t)out->width * out->channels * (out->depth / 8);
    out->stride = stride ? stride : tight;
    if (out->stride < tight || out->stride > SIZE_MAX / 2 / out->height || out->stride % (out->depth / 8) != 0)
        return error_set(error, ERR_ARGUMENT, "a stride of %zu bytes does not fit rows of %zu", stride, tight);
    return 0;
}

static int decode(ypk_decoder *d, uint64_t index, int modality, int depth, void *data, size_t stride,
                  struct error *error) {
    struct index_sample row;
    struct image image;
    struct pixels pixels;
    int rc = find_row(d, index, modality, &row, error);
    if (!rc)
        rc = describe_pixels(&pixels, data, stride, modality, depth, &row, error);
    if (rc)
        return rc;
    rc = fetch_image(d, index, modality, &row, &image, error);
    if (!rc && (rc = depth == 8 ? codec_decode(d->codec, &image.header, image.payload, &pixels, error)
                                : codec_decode16(d->codec, &image.header, image.payload, &pixels, error)))
        name_sample(d, index, &row, error);
    if (rc)
        memset(data, 0, pixels.stride * pixels.height);
    return rc;
}

int ypk_decoder_decode(ypk_decoder *d, uint64_t index, int modality, uint8_t *pixels, size_t stride_bytes,
                       ypk_error *error) {
    struct error inner = {0};
    int rc = d && pixels ? decode(d, index, modality, 8, pixels, stride_bytes, &inner)
                         : error_set(&inner, ERR_ARGUMENT, "ypk_decoder_decode: decoder and pixels must not be NULL");
    return rc ? api_fail(error, &inner) : YPK_OK;
}

int ypk_decoder_decode16(ypk_decoder *d, uint64_t index, uint16_t *counts, size_t stride_bytes, ypk_error *error) {
    struct error inner = {0};
    int rc = d && counts ? decode(d, index, YPK_IR, 16, counts, stride_bytes, &inner)
                         : error_set(&inner, ERR_ARGUMENT, "ypk_decoder_decode16: decoder and counts must not be NULL");
    return rc ? api_fail(error, &inner) : YPK_OK;
}
