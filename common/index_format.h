/* Where the fields of an index lie, for the files that read, check and write them. FORMAT.md describes each. */
#ifndef YPK_COMMON_INDEX_FORMAT_H
#define YPK_COMMON_INDEX_FORMAT_H

#include "index.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define INDEX_MAGIC "YPKINDEX"
#define INDEX_BYTE_ORDER_MARK 0x01020304u
#define INDEX_SECTION_ALIGNMENT 64u
#define INDEX_SHARD_LIMIT 65536u /* a row has 16 bits for its shard */
#define INDEX_CONTENT_SKIP 10u   /* bytes of a row that say where its record lies, and not what it holds */

/* Header. */
enum {
    HEADER_MAGIC = 0,
    HEADER_VERSION = 8,
    HEADER_BYTE_ORDER = 12,
    HEADER_FILE_BYTES = 16,
    HEADER_HASH = 24,
    HEADER_CONTENT_HASH = 32,
    HEADER_SAMPLE_COUNT = 40,
    HEADER_PAGE_BYTES = 48,
    HEADER_SECTION_COUNT = 52,
    HEADER_TASK = 56,
    HEADER_MODALITIES = 57,
    HEADER_POINT_DIMS = 58,
    HEADER_RESERVED = 59,
    HEADER_KEYPOINT_COUNT = 60,
    HEADER_CLASS_COUNT = 62,
    HEADER_SHARD_PREFIX = 64,
    HEADER_MAX_SIDES = 112, /* u16 each: RGB width, RGB height, IR width, IR height */
    HEADER_MAX_RECORD_BYTES = 120,
    HEADER_MAX_LABEL_COUNT = 124,
    HEADER_SECTIONS = 128,
    HEADER_MAX_PIXELS = 504 /* u32 each: RGB, IR */
};

/* A row of the section table. */
enum { TABLE_KIND = 0, TABLE_ROW_BYTES = 4, TABLE_OFFSET = 8, TABLE_BYTES = 16, TABLE_HASH = 24, TABLE_ROW_SIZE = 32 };

/* A row of SAMPLES. */
enum {
    ROW_RECORD_OFFSET = 0,
    ROW_SHARD = 8,
    ROW_RGB_FORMAT = 10,
    ROW_IR_FORMAT = 11,
    ROW_NAME_FIRST = 12,
    ROW_RGB_HASH = 16,
    ROW_IR_HASH = 24,
    ROW_RGB_BYTES = 32,
    ROW_IR_BYTES = 36,
    ROW_LABEL_FIRST = 40,
    ROW_POINT_FIRST = 44,
    ROW_RGB_WIDTH = 48,
    ROW_RGB_HEIGHT = 50,
    ROW_IR_WIDTH = 52,
    ROW_IR_HEIGHT = 54
};

/* A row of SHARDS. */
enum {
    SHARD_FILE_BYTES = 0,
    SHARD_HEAD_HASH = 8,
    SHARD_STRUCTURE_HASH = 16,
    SHARD_FIRST_SAMPLE = 24,
    SHARD_SAMPLE_COUNT = 32,
    SHARD_FIRST_ID = 40
};

_Static_assert(HEADER_SECTIONS + SECTION_COUNT * TABLE_ROW_SIZE <= HEADER_MAX_PIXELS, "the table fits the header");
_Static_assert((int)SECTION_COUNT <= 12, "every section has a row in the table");
_Static_assert(ROW_IR_HEIGHT + 2 == INDEX_SAMPLE_BYTES && SHARD_FIRST_ID + 8 == INDEX_SHARD_BYTES, "rows are full");
_Static_assert(sizeof(struct index_label) == INDEX_LABEL_BYTES, "labels are read in place");
_Static_assert(offsetof(struct index_label, x) == 4 && offsetof(struct index_label, height) == 16, "no holes");

/* Notes where in the file the fault is; passes the code through. */
static inline int index_at(struct error *error, uint64_t offset, int code) {
    if (error)
        error->offset = (int64_t)offset;
    return code;
}

static inline bool index_is_zero(const uint8_t *p, size_t size) {
    for (size_t i = 0; i < size; i++)
        if (p[i] != 0)
            return false;
    return true;
}

/* Row `row` of SAMPLES, up to the sentinel's. */
static inline const uint8_t *index_row_at(const struct index_view *view, uint64_t row) {
    return view->section[SECTION_SAMPLES].data + row * INDEX_SAMPLE_BYTES;
}

/* Where a generation begins; where the samples end for the one after the last. */
uint64_t index_generation_first(const struct index_view *view, uint64_t generation);

/* Bytes of one row of a section; 1 for text and other blobs. */
uint32_t index_section_row_bytes(int kind, uint8_t point_dims);

/* 0, or `code` with what is wrong with the description of the split. */
int index_meta_check(const struct index_meta *meta, int code, struct error *error);

/* Identity of what the samples hold. `section` is by kind, SAMPLES with its sentinel. 0 or ERR_MEMORY. */
int index_content_hash(uint64_t *out, const struct index_meta *meta, const struct span *section);

#endif
