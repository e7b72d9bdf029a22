/* A pack of one RGB picture a sample, stored as the test wants them. For tests only: whatever fails here ends the
 * program. */
#ifndef YPK_TESTS_PICTURE_PACK_H
#define YPK_TESTS_PICTURE_PACK_H

#include "tiny_pack.h"

enum { PICTURES_MOST = 16 };

/* Of images[i], codec, channels, width and height are the caller's; the rest follows. */
static inline void picture_record(struct bytes *out, struct record *header, const struct record_image *image,
                                  const struct bytes *payload) {
    header->rgb = *image;
    header->rgb.payload_bytes = (uint32_t)payload->size;
    header->rgb.depth = 8;
    header->rgb.source_width = image->width;
    header->rgb.source_height = image->height;
    header->rgb.hash = XXH3_64bits(payload->data, payload->size);
    out->size = 0;
    tiny_pad(out, RECORD_HEADER_BYTES);
    CHECK(bytes_append(out, payload->data, payload->size) == 0);
    tiny_pad(out, record_bytes(header->rgb.payload_bytes, 0));
    record_encode_header(out->data, header);
}

/* In a directory of its own, which becomes `directory`. */
static inline void picture_pack_create(char directory[TINY_PATH_BYTES], const struct record_image images[],
                                       const struct bytes payloads[], uint64_t count) {
    struct index_builder index = {.meta = {.task = TASK_DETECT,
                                           .modalities = MODALITY_RGB,
                                           .point_dims = 2,
                                           .page_bytes = (uint32_t)sysconf(_SC_PAGESIZE),
                                           .shard_prefix = "train"}};
    struct bytes record = {0};
    struct record headers[PICTURES_MOST];
    struct shard_writer *writer;
    char path[TINY_PATH_BYTES];
    CHECK(count <= PICTURES_MOST);
    tiny_directory(directory);
    tiny_join(path, directory, "train-00000.lmdb");
    CHECK(shard_writer_create(&writer, path, UINT64_C(64) << 20, NULL) == 0);
    for (uint64_t i = 0; i < count; i++) {
        headers[i] = (struct record){.sample_id = i};
        picture_record(&record, &headers[i], &images[i], &payloads[i]);
        CHECK(shard_writer_add(writer, i, (struct span){record.data, record.size}, NULL) == 0);
    }
    tiny_pack_finish(directory, &index, &writer, headers, count);
    bytes_deinit(&record);
    index_builder_deinit(&index);
}

#endif
