/*
 * The index of one split: everything about its samples but their pixels. FORMAT.md has the bytes.
 *
 *   header (512 bytes, hashed)  ->  section table  ->  samples | labels | points | names | classes | shards
 *
 * A view borrows the bytes of a mapped or read file. Opening one costs the same for ten samples and ten million: the
 * header and the section bounds are checked, nothing else is touched. Rows are checked when they are borrowed.
 * All functions are pure: bytes in, bytes or structs out.
 */
#ifndef YPK_COMMON_INDEX_H
#define YPK_COMMON_INDEX_H

#include "bytes.h"
#include "error.h"
#include "record.h"

#include <stdbool.h>
#include <stdint.h>

#define INDEX_VERSION 1u
#define INDEX_HEADER_BYTES 512u
#define INDEX_SAMPLE_BYTES 56u
#define INDEX_LABEL_BYTES 20u
#define INDEX_SHARD_BYTES 48u
#define INDEX_GENERATION_BYTES 8u
#define INDEX_PREFIX_BYTES 48u /* of the shard prefix, its NUL included */
#define INDEX_CLASS_LIMIT 65535u

enum index_task { TASK_DETECT = 1, TASK_SEGMENT = 2, TASK_POSE = 3, TASK_OBB = 4 };
enum { MODALITY_RGB = 1, MODALITY_IR = 2 }; /* bits */

enum index_section_kind {
    SECTION_SAMPLES = 1,
    SECTION_LABELS,
    SECTION_POINTS,
    SECTION_NAMES,
    SECTION_CLASSES,
    SECTION_SHARDS,
    SECTION_REPORT,      /* only in the part files of an unfinished pack: report rows */
    SECTION_SOURCE,      /* only there: which source samples the part used, and their fingerprint */
    SECTION_GENERATIONS, /* only in an index that was appended to: where each generation begins */
    SECTION_COUNT = SECTION_GENERATIONS
};

/* A box of the LABELS section, read in place. Normalised to the upright picture: centre and size, 0-1. */
struct index_label {
    uint16_t class_id;
    uint16_t point_count; /* rows of POINTS that belong to it: polygon, oriented box (4), key points */
    float x, y, width, height;
};

struct index_sample {
    uint64_t record_offset; /* absolute, in the shard file */
    uint16_t shard;
    uint8_t rgb_format, ir_format;                       /* codec | IMAGE_* flags; 0: no such image */
    uint64_t rgb_hash, ir_hash;                          /* XXH3-64 of the payloads */
    uint32_t rgb_bytes, ir_bytes;                        /* payloads */
    uint16_t rgb_width, rgb_height, ir_width, ir_height; /* px, upright, as stored */
    const struct index_label *labels;                    /* borrowed */
    uint32_t label_count;
    const float *points; /* borrowed: [point_count][point_dims]: x, y and, in some pose sets, visibility 0, 1 or 2 */
    uint32_t point_count;
    /* borrowed, NUL-terminated paths relative to the data set; "" if none */
    const char *rgb_name, *ir_name, *label_name;
};

/* A sample's name: rgb_name, or ir_name when there is no RGB. Rows of a generation are sorted by it, as bytes. */
const char *index_sample_name(const struct index_sample *sample);

/* True if the row's images are those of the record: codec, size in bytes and px, hash. */
bool index_sample_describes(const struct index_sample *sample, const struct record *record);

struct index_shard {
    uint64_t file_bytes;
    uint64_t head_hash;      /* XXH3-64 of the first two pages (LMDB's meta pages) */
    uint64_t structure_hash; /* XXH3-64 of every byte of the file that is in no payload, in file order */
    uint64_t first_sample;   /* row, in this index, of its first record */
    uint64_t sample_count;
    uint64_t first_id; /* LMDB key and record id of its first record; the others count up from it */
};

/* What one packing added: samples in the order of their names, in shards of their own. */
struct index_generation {
    uint64_t first_sample; /* row */
    uint64_t sample_count;
};

/* What describes the split as a whole; set by the packer, carried in the header. */
struct index_meta {
    uint8_t task;                          /* enum index_task */
    uint8_t modalities;                    /* MODALITY_* */
    uint8_t point_dims;                    /* 2 or 3 */
    uint16_t keypoint_count;               /* 0 unless pose */
    uint32_t page_bytes;                   /* LMDB's page size */
    char shard_prefix[INDEX_PREFIX_BYTES]; /* "train": its shards are train-00000.lmdb, … */
};

struct index_view {
    struct span file;
    struct index_meta meta;
    uint64_t sample_count, label_count, point_count, shard_count, class_count;
    uint64_t generation_count; /* 1 unless the index was appended to */
    uint64_t content_hash;     /* identity: what the samples hold, not where */
    uint16_t rgb_max_width, rgb_max_height, ir_max_width, ir_max_height; /* px: memory can be planned at open */
    uint32_t rgb_max_pixels, ir_max_pixels;                              /* of one picture */
    uint32_t max_record_bytes, max_label_count;
    struct span section[SECTION_COUNT + 1]; /* by kind; [0] unused */
};

/* Checks the header (magic, byte order, version, length of the file, hash) and that every section lies inside. O(1). */
int index_parse(struct index_view *out, struct span file, struct error *error);

/* Checks everything else: section hashes, every row's references, order of names, content hash. O(samples). */
int index_check(const struct index_view *view, struct error *error);

/* Row `row`, its references checked. ERR_ARGUMENT past the end, ERR_CORRUPT for a bad row. */
int index_sample(const struct index_view *view, uint64_t row, struct index_sample *out, struct error *error);
int index_shard(const struct index_view *view, uint64_t shard, struct index_shard *out, struct error *error);
int index_generation(const struct index_view *view, uint64_t generation, struct index_generation *out,
                     struct error *error);

/* NULL past the end. O(class): classes are few. */
const char *index_class_name(const struct index_view *view, uint64_t class_id);

/* The row whose sample has this name, by binary search in each generation. ERR_NOT_FOUND. */
int index_find(const struct index_view *view, const char *name, uint64_t *row, struct error *error);

/* Builds one index in memory. Zero-initialise, then set `meta`; a part's REPORT and SOURCE are appended to their
 * section by the caller. */
struct index_builder {
    struct index_meta meta;
    uint64_t sample_count;
    uint64_t generation_first; /* row at which the last generation begins */
    uint16_t rgb_max_width, rgb_max_height, ir_max_width, ir_max_height;
    uint32_t rgb_max_pixels, ir_max_pixels;
    uint32_t max_record_bytes, max_label_count;
    struct bytes section[SECTION_COUNT + 1];
};

/* Samples of a generation must come in the order of their names, with `shard` counted from 0 in this index
 * (ERR_ARGUMENT otherwise: a programmer's error of the caller). ERR_INPUT when a limit of the format is passed (4 Gi
 * labels, points or name bytes), saying which. Everything is copied. On failure the builder is as it was. */
int index_builder_add(struct index_builder *b, const struct index_sample *sample, struct error *error);
int index_builder_add_shard(struct index_builder *b, const struct index_shard *shard, struct error *error);
int index_builder_set_classes(struct index_builder *b, const char *const *names, uint64_t count, struct error *error);

/* The next sample is the first of a further generation; nothing if it is the first of all. */
int index_builder_begin_generation(struct index_builder *b, struct error *error);

/* Says where a row's record lies, once its shard is sealed. `row` < sample_count. */
void index_builder_place(struct index_builder *b, uint64_t row, uint64_t record_offset);

/* Appends the file to `out`. ERR_ARGUMENT if meta is not complete or a label's class has no name. */
int index_builder_encode(const struct index_builder *b, struct bytes *out, struct error *error);
void index_builder_deinit(struct index_builder *b);

/* One index out of consecutive pieces of one pack: rows, labels and names joined, references and shard numbers moved
 * on, REPORT and SOURCE sections left out. Parts come from index_parse() and have passed index_check(). Meta must
 * agree, class lists be a beginning of the longest, and names ascend from part to part (ERR_INPUT says what does not).
 * Part `new_generation` begins a generation, whose names are free of those before it; 0: none does. Gives the same
 * bytes as building the whole at once; appended to `out`. That no part is missing is for the caller to know. */
int index_merge(struct bytes *out, const struct index_view *parts, uint64_t part_count, uint64_t new_generation,
                struct error *error);

/* "train-00003.lmdb" into a buffer of INDEX_SHARD_NAME_BYTES. */
#define INDEX_SHARD_NAME_BYTES 64u
void index_shard_name(char out[INDEX_SHARD_NAME_BYTES], const char *prefix, uint64_t shard);

#endif
