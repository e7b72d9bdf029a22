#include "hash.h"
#include "record.h"

#include <criterion/criterion.h>
#include <stdlib.h>

static const struct record pair = {
    .sample_id = 0x1122334455667788,
    .rgb = {1000, CODEC_JPEG, IMAGE_GRAY, 3, 8, 640, 480, 1280, 960, 0xabcdef},
    .ir = {500, CODEC_RAW, IMAGE_TRANSCODED, 1, 8, 20, 25, 20, 25, 0x123456},
};

static struct error error;

/* The record with nothing in its payloads; freed by the caller. */
static struct bytes encode(const struct record *r) {
    struct bytes b = {0};
    size_t size = (size_t)record_bytes(r->rgb.payload_bytes, r->ir.payload_bytes);
    cr_assert_eq(bytes_reserve(&b, size), 0);
    memset(b.data, 0, size);
    b.size = size;
    record_encode_header(b.data, r);
    return b;
}

static int decode(struct record *out, const struct bytes *b) {
    return record_decode_header(out, (struct span){b->data, b->size}, &error);
}

static void assert_image_eq(const struct record_image *a, const struct record_image *b) {
    cr_assert_eq(a->payload_bytes, b->payload_bytes);
    cr_assert_eq(a->codec, b->codec);
    cr_assert_eq(a->flags, b->flags);
    cr_assert_eq(a->channels, b->channels);
    cr_assert_eq(a->depth, b->depth);
    cr_assert_eq(a->width, b->width);
    cr_assert_eq(a->height, b->height);
    cr_assert_eq(a->source_width, b->source_width);
    cr_assert_eq(a->source_height, b->source_height);
    cr_assert_eq(a->hash, b->hash);
}

Test(record, comes_back_as_it_was) {
    struct record single = pair, back;
    for (int which = 0; which < 3; which++) {
        single = pair;
        if (which == 1)
            single.rgb = (struct record_image){0};
        if (which == 2)
            single.ir = (struct record_image){0};
        struct bytes b = encode(&single);
        cr_assert_eq(decode(&back, &b), 0, "%s", error.message);
        cr_assert_eq(back.sample_id, single.sample_id);
        assert_image_eq(&back.rgb, &single.rgb);
        assert_image_eq(&back.ir, &single.ir);
        bytes_deinit(&b);
    }
}

Test(record, payloads_are_aligned_and_do_not_overlap) {
    for (uint32_t rgb = 0; rgb < 5000; rgb++) {
        uint64_t ir = record_ir_offset(rgb);
        cr_assert_eq((RECORD_PAGE_OFFSET + ir) % RECORD_PAYLOAD_ALIGNMENT, 0);
        cr_assert_geq(ir, RECORD_HEADER_BYTES + rgb);
        cr_assert_lt(ir, RECORD_HEADER_BYTES + rgb + RECORD_PAYLOAD_ALIGNMENT);
    }
    cr_assert_eq(record_ir_offset(0), RECORD_HEADER_BYTES);
    cr_assert_eq(record_ir_offset(UINT32_MAX) % 64, 48);
    cr_assert_gt(record_ir_offset(UINT32_MAX), UINT32_MAX);
}

Test(record, length_has_a_minimum_and_no_tail) {
    cr_assert_eq(record_bytes(0, 1), RECORD_MINIMUM_BYTES);
    cr_assert_eq(record_bytes(1936, 0), RECORD_MINIMUM_BYTES);
    cr_assert_eq(record_bytes(1937, 0), RECORD_MINIMUM_BYTES + 1);
    cr_assert_eq(record_bytes(10000, 0), 112 + 10000);
    cr_assert_eq(record_bytes(0, 10000), 112 + 10000);
    cr_assert_eq(record_bytes(10000, 7), record_ir_offset(10000) + 7);
    cr_assert_eq(record_bytes(UINT32_MAX, UINT32_MAX), record_ir_offset(UINT32_MAX) + UINT32_MAX);
}

Test(record, every_bit_of_the_header_counts) {
    struct bytes b = encode(&pair);
    struct record back;
    for (unsigned bit = 0; bit < RECORD_HEADER_BYTES * 8; bit++) {
        b.data[bit / 8] ^= (uint8_t)(1u << bit % 8);
        int code = decode(&back, &b);
        cr_assert(code == ERR_CORRUPT || (code == ERR_UNSUPPORTED && bit / 8 >= 4 && bit / 8 < 6), "bit %u: %d", bit,
                  code);
        cr_assert_eq(back.rgb.payload_bytes, 0, "a refused record gives nothing");
        b.data[bit / 8] ^= (uint8_t)(1u << bit % 8);
    }
    cr_assert_eq(decode(&back, &b), 0);
    bytes_deinit(&b);
}

/* In memory of exactly that size, so that a sanitizer sees a byte too many. */
Test(record, every_shorter_length_is_refused) {
    struct bytes whole = encode(&pair);
    for (size_t size = 0; size < whole.size; size++) {
        struct bytes cut = {malloc(size ? size : 1), size, size};
        struct record back;
        memcpy(cut.data, whole.data, size);
        cr_assert_eq(decode(&back, &cut), ERR_CORRUPT, "%zu bytes", size);
        free(cut.data);
    }
    bytes_deinit(&whole);
}

Test(record, over_the_limit_is_refused) {
    struct record large = pair, back;
    large.rgb.payload_bytes = RECORD_LIMIT_BYTES;
    uint8_t header[RECORD_HEADER_BYTES];
    record_encode_header(header, &large);
    cr_assert_eq(record_decode_header(&back, (struct span){header, SIZE_MAX / 2}, &error), ERR_CORRUPT);
    cr_assert(strstr(error.message, "bytes for its payloads"), "%s", error.message);
}

Test(record, four_channels_are_for_jpeg_alone) {
    struct record cmyk = pair, back;
    cmyk.rgb.channels = 4;
    struct bytes b = encode(&cmyk);
    cr_assert_eq(decode(&back, &b), 0);
    bytes_deinit(&b);
    cmyk.rgb.codec = CODEC_ZSTD;
    b = encode(&cmyk);
    cr_assert_eq(decode(&back, &b), ERR_CORRUPT);
    bytes_deinit(&b);
}

Test(record, payload_is_checked_by_size_and_hash) {
    uint8_t payload[300];
    for (size_t i = 0; i < sizeof payload; i++)
        payload[i] = (uint8_t)(i * 7);
    struct record_image image = {.payload_bytes = sizeof payload, .hash = XXH3_64bits(payload, sizeof payload)};
    struct span span = {payload, sizeof payload};
    cr_assert_eq(record_check_payload(&image, span, "RGB", &error), 0);
    payload[299] ^= 1;
    cr_assert_eq(record_check_payload(&image, span, "IR", &error), ERR_CORRUPT);
    cr_assert(strstr(error.message, "IR payload does not match its hash"), "%s", error.message);
    span.size--;
    cr_assert_eq(record_check_payload(&image, span, "IR", &error), ERR_CORRUPT);
    cr_assert(strstr(error.message, "299 bytes instead of 300"), "%s", error.message);
}
