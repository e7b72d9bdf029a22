/*
 * Reading an index.
 *
 *   index_parse   header page only: is this file what it says, and does every section lie inside it?
 *   index_sample  one row, everything it refers to: called when the row is needed
 *   index_check   every byte: hashes, padding, all rows, order, totals (index_check.c)
 */
#include "index.h"

#include "hash.h"
#include "index_format.h"
#include "record.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

uint32_t index_section_row_bytes(int kind, uint8_t point_dims) {
    switch (kind) {
    case SECTION_SAMPLES: return INDEX_SAMPLE_BYTES;
    case SECTION_LABELS: return INDEX_LABEL_BYTES;
    case SECTION_POINTS: return point_dims * (uint32_t)sizeof(float);
    case SECTION_SHARDS: return INDEX_SHARD_BYTES;
    case SECTION_GENERATIONS: return INDEX_GENERATION_BYTES;
    default: return 1;
    }
}

/* The prefix becomes part of a path, so that nothing but these letters may be in it. */
static bool prefix_is_valid(const char prefix[INDEX_PREFIX_BYTES]) {
    size_t length = strnlen(prefix, INDEX_PREFIX_BYTES);
    if (length == 0 || !index_is_zero((const uint8_t *)prefix + length, INDEX_PREFIX_BYTES - length))
        return false;
    return length < INDEX_PREFIX_BYTES &&
           strspn(prefix, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_") == length;
}

int index_meta_check(const struct index_meta *meta, int code, struct error *error) {
    uint32_t page = meta->page_bytes;
    if (meta->task < TASK_DETECT || meta->task > TASK_OBB)
        return error_set(error, code, "task %u is unknown", meta->task);
    if (meta->modalities == 0 || meta->modalities > (MODALITY_RGB | MODALITY_IR))
        return error_set(error, code, "modalities %u are unknown", meta->modalities);
    if (meta->point_dims != 2 && meta->point_dims != 3)
        return error_set(error, code, "a point has 2 or 3 numbers, not %u", meta->point_dims);
    if (meta->keypoint_count > 0 && meta->task != TASK_POSE)
        return error_set(error, code, "%u key points in a set that is not for poses", meta->keypoint_count);
    if (page < 512 || page > 65536 || (page & (page - 1)) != 0)
        return error_set(error, code, "a page of %" PRIu32 " bytes is none of LMDB's", page);
    if (!prefix_is_valid(meta->shard_prefix))
        return error_set(error, code, "the shard prefix is not made of letters, digits, '-' and '_'");
    return 0;
}

/* ---- header ------------------------------------------------------------------------------------------------------ */

/* The bytes begin with something else than the magic: says what it looks like. */
static int refuse_magic(struct span file, struct error *error) {
    static const char lfs[] = "version https://git-lfs";
    char head[17] = {0};
    size_t n = file.size < 16 ? file.size : 16, printable = 0;
    memcpy(head, file.data, n);
    while (printable < n && ((head[printable] >= ' ' && head[printable] <= '~') || strchr("\t\r\n", head[printable])) &&
           head[printable])
        printable++;
    if (file.size >= sizeof lfs - 1 && memcmp(file.data, lfs, sizeof lfs - 1) == 0)
        return error_set(error, ERR_CORRUPT, "is a Git LFS pointer, not an index: run git lfs pull");
    if (printable == n)
        return error_set(error, ERR_CORRUPT, "is a text file, not an index (begins with \"%.*s\")",
                         (int)strcspn(head, "\t\r\n"), head);
    if (index_is_zero(file.data, n))
        return error_set(error, ERR_CORRUPT, "is not an index: begins with zeros, as after an interrupted copy");
    return error_set(error, ERR_CORRUPT, "is not an index: begins with other bytes than " INDEX_MAGIC);
}

/* Is this an index that this program can read, complete and with the header it was written with? */
static int check_identity(struct span file, struct error *error) {
    const uint8_t *p = file.data;
    if (file.size == 0)
        return index_at(error, 0, error_set(error, ERR_CORRUPT, "is empty"));
    if (file.size < 8 || memcmp(p, INDEX_MAGIC, 8) != 0)
        return index_at(error, 0, refuse_magic(file, error));
    if (file.size < INDEX_HEADER_BYTES)
        return index_at(error, file.size,
                        error_set(error, ERR_CORRUPT, "is cut: has %zu bytes, its header alone has %u", file.size,
                                  INDEX_HEADER_BYTES));
    uint32_t mark = load_u32(p + HEADER_BYTE_ORDER), version = load_u32(p + HEADER_VERSION);
    if (mark == __builtin_bswap32(INDEX_BYTE_ORDER_MARK))
        return index_at(error, HEADER_BYTE_ORDER,
                        error_set(error, ERR_UNSUPPORTED, "is big-endian: packs are little-endian"));
    if (mark != INDEX_BYTE_ORDER_MARK)
        return index_at(error, HEADER_BYTE_ORDER,
                        error_set(error, ERR_CORRUPT, "byte order mark is damaged (%08" PRIx32 ")", mark));
    if (version > INDEX_VERSION)
        return index_at(error, HEADER_VERSION,
                        error_set(error, ERR_UNSUPPORTED,
                                  "made by a newer yolopack: format %" PRIu32 ", this one reads up to %u", version,
                                  INDEX_VERSION));

    static const uint8_t zero[8];
    uint8_t header[INDEX_HEADER_BYTES];
    memcpy(header, p, sizeof header);
    memcpy(header + HEADER_HASH, zero, sizeof zero);
    uint64_t expected = load_u64(p + HEADER_HASH), found = XXH3_64bits(header, sizeof header);
    if (expected != found)
        return index_at(error, 0,
                        error_set(error, ERR_CORRUPT,
                                  "header does not match its hash (expected %016" PRIx64 ", found %016" PRIx64 ")",
                                  expected, found));
    if (version != INDEX_VERSION)
        return index_at(error, HEADER_VERSION, error_set(error, ERR_CORRUPT, "there is no format %" PRIu32, version));
    uint64_t file_bytes = load_u64(p + HEADER_FILE_BYTES);
    if (file_bytes != file.size)
        return index_at(error, file.size < file_bytes ? file.size : file_bytes,
                        error_set(error, ERR_CORRUPT, "%s: %" PRIu64 " bytes expected, %zu found",
                                  file.size < file_bytes ? "is cut" : "goes on after its end", file_bytes, file.size));
    return 0;
}

static int read_header(struct index_view *v, struct error *error) {
    const uint8_t *p = v->file.data;
    v->meta.task = p[HEADER_TASK];
    v->meta.modalities = p[HEADER_MODALITIES];
    v->meta.point_dims = p[HEADER_POINT_DIMS];
    v->meta.keypoint_count = load_u16(p + HEADER_KEYPOINT_COUNT);
    v->meta.page_bytes = load_u32(p + HEADER_PAGE_BYTES);
    memcpy(v->meta.shard_prefix, p + HEADER_SHARD_PREFIX, INDEX_PREFIX_BYTES);
    v->sample_count = load_u64(p + HEADER_SAMPLE_COUNT);
    v->class_count = load_u16(p + HEADER_CLASS_COUNT);
    v->content_hash = load_u64(p + HEADER_CONTENT_HASH);
    v->rgb_max_width = load_u16(p + HEADER_MAX_SIDES);
    v->rgb_max_height = load_u16(p + HEADER_MAX_SIDES + 2);
    v->ir_max_width = load_u16(p + HEADER_MAX_SIDES + 4);
    v->ir_max_height = load_u16(p + HEADER_MAX_SIDES + 6);
    v->rgb_max_pixels = load_u32(p + HEADER_MAX_PIXELS);
    v->ir_max_pixels = load_u32(p + HEADER_MAX_PIXELS + 4);
    v->max_record_bytes = load_u32(p + HEADER_MAX_RECORD_BYTES);
    v->max_label_count = load_u32(p + HEADER_MAX_LABEL_COUNT);
    if (p[HEADER_RESERVED] != 0)
        return index_at(error, HEADER_RESERVED,
                        error_set(error, ERR_CORRUPT, "a reserved byte of the header is not zero"));
    return index_at(error, HEADER_TASK, index_meta_check(&v->meta, ERR_CORRUPT, error));
}

/* One row of the section table. Sections follow one another without a gap but for alignment, so that there is no byte
 * in the file that belongs to nothing. `end` is where the section before ended; moved on. */
static int read_section(struct index_view *v, const uint8_t *row, uint64_t *end, struct error *error) {
    uint32_t kind = load_u32(row + TABLE_KIND), row_bytes = load_u32(row + TABLE_ROW_BYTES);
    uint64_t offset = load_u64(row + TABLE_OFFSET), bytes = load_u64(row + TABLE_BYTES);
    uint64_t where = (uint64_t)(row - v->file.data);
    if (kind < 1 || kind > SECTION_COUNT)
        return index_at(error, where, error_set(error, ERR_CORRUPT, "section kind %" PRIu32 " is unknown", kind));
    if (row_bytes != index_section_row_bytes((int)kind, v->meta.point_dims) || bytes % row_bytes != 0)
        return index_at(error, where,
                        error_set(error, ERR_CORRUPT, "section %" PRIu32 ": %" PRIu64 " bytes are no rows of %" PRIu32,
                                  kind, bytes, row_bytes));
    if (offset != align_up(*end, INDEX_SECTION_ALIGNMENT) || !range_fits(offset, bytes, v->file.size))
        return index_at(error, where,
                        error_set(error, ERR_CORRUPT,
                                  "section %" PRIu32 " (%" PRIu64 " bytes at %" PRIu64
                                  ") does not lie where it should in a file of %zu bytes",
                                  kind, bytes, offset, v->file.size));
    v->section[kind] = (struct span){v->file.data + offset, (size_t)bytes};
    *end = offset + bytes;
    return 0;
}

static int read_sections(struct index_view *v, struct error *error) {
    const uint8_t *table = v->file.data + HEADER_SECTIONS;
    uint32_t count = load_u32(v->file.data + HEADER_SECTION_COUNT), previous = 0;
    uint64_t end = INDEX_HEADER_BYTES;
    if (count < SECTION_SHARDS || count > SECTION_COUNT)
        return index_at(error, HEADER_SECTION_COUNT,
                        error_set(error, ERR_CORRUPT, "%" PRIu32 " sections are too %s", count,
                                  count < SECTION_SHARDS ? "few" : "many"));
    for (uint32_t i = 0; i < count; i++) {
        const uint8_t *row = table + (size_t)i * TABLE_ROW_SIZE;
        uint32_t kind = load_u32(row + TABLE_KIND);
        if (kind <= previous || (i < SECTION_SHARDS && kind != i + 1))
            return index_at(
                error, (uint64_t)(row - v->file.data),
                error_set(error, ERR_CORRUPT, "section %" PRIu32 " is missing or out of order", previous + 1));
        int code = read_section(v, row, &end, error);
        if (code != 0)
            return code;
        previous = kind;
    }
    if (end != v->file.size)
        return index_at(error, end,
                        error_set(error, ERR_CORRUPT, "%" PRIu64 " bytes after the last section", v->file.size - end));
    if (!index_is_zero(table + (size_t)count * TABLE_ROW_SIZE,
                       HEADER_MAX_PIXELS - HEADER_SECTIONS - count * TABLE_ROW_SIZE))
        return index_at(error, HEADER_SECTIONS,
                        error_set(error, ERR_CORRUPT, "the section table is not zero after its end"));
    return 0;
}

/* Counts follow from the lengths of sections; those that rows refer to with 32 bits must fit them. */
static int read_counts(struct index_view *v, struct error *error) {
    v->label_count = v->section[SECTION_LABELS].size / INDEX_LABEL_BYTES;
    v->point_count = v->section[SECTION_POINTS].size / (v->meta.point_dims * sizeof(float));
    v->shard_count = v->section[SECTION_SHARDS].size / INDEX_SHARD_BYTES;
    uint64_t generations = v->section[SECTION_GENERATIONS].size / INDEX_GENERATION_BYTES;
    v->generation_count = generations > 0 ? generations : 1;
    uint64_t rows = v->section[SECTION_SAMPLES].size / INDEX_SAMPLE_BYTES;
    if (rows == 0 || v->sample_count != rows - 1)
        return index_at(error, HEADER_SAMPLE_COUNT,
                        error_set(error, ERR_CORRUPT, "%" PRIu64 " samples and one cannot be in %" PRIu64 " rows",
                                  v->sample_count, rows));
    if (v->label_count > UINT32_MAX || v->point_count > UINT32_MAX || v->section[SECTION_NAMES].size > UINT32_MAX ||
        v->shard_count > INDEX_SHARD_LIMIT)
        return index_at(error, HEADER_SECTIONS,
                        error_set(error, ERR_CORRUPT,
                                  "more labels, points, names or shards than the "
                                  "format can hold"));
    return 0;
}

int index_parse(struct index_view *out, struct span file, struct error *error) {
    *out = (struct index_view){0};
    if ((uintptr_t)file.data % _Alignof(struct index_label) != 0)
        return error_set(error, ERR_ARGUMENT, "an index is read in place: its bytes must start at a multiple of %zu",
                         _Alignof(struct index_label));
    int code = check_identity(file, error);
    if (code != 0)
        return code;
    struct index_view v = {.file = file};
    if ((code = read_header(&v, error)) != 0 || (code = read_sections(&v, error)) != 0 ||
        (code = read_counts(&v, error)) != 0)
        return code;
    *out = v;
    return 0;
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

const char *index_sample_name(const struct index_sample *sample) {
    return *sample->rgb_name ? sample->rgb_name : sample->ir_name;
}

/* The three names of a row; its NULs must be exactly where the next row begins. */
static int borrow_names(const char *names[3], const struct index_view *view, const uint8_t *row, struct error *error) {
    struct span all = view->section[SECTION_NAMES];
    uint32_t first = load_u32(row + ROW_NAME_FIRST), next = load_u32(row + INDEX_SAMPLE_BYTES + ROW_NAME_FIRST);
    if (first > next || next > all.size)
        return error_set(error, ERR_CORRUPT, "names %" PRIu32 " to %" PRIu32 " of %zu bytes", first, next, all.size);
    const uint8_t *p = all.data + first, *end = all.data + next;
    for (int i = 0; i < 3; i++) {
        const uint8_t *nul = memchr(p, 0, (size_t)(end - p));
        if (!nul)
            return error_set(error, ERR_CORRUPT, "a name has no end");
        names[i] = (const char *)p;
        p = nul + 1;
    }
    return p == end ? 0 : error_set(error, ERR_CORRUPT, "more names than three");
}

static int check_image(const char *modality, bool allowed, unsigned format, const char *name, uint32_t bytes,
                       uint64_t hash, unsigned width, unsigned height, struct error *error) {
    if (format == 0) {
        if (bytes != 0 || hash != 0 || width != 0 || height != 0 || *name)
            return error_set(error, ERR_CORRUPT, "there is no %s image, but a description of one", modality);
        return 0;
    }
    unsigned codec = format & 0x0fu, flags = format & 0xf0u;
    if (codec < CODEC_JPEG || codec > CODEC_ZSTD16 || (flags & ~(unsigned)(IMAGE_GRAY | IMAGE_TRANSCODED)) != 0)
        return error_set(error, ERR_CORRUPT, "format 0x%02x of the %s image is unknown", format, modality);
    if (!allowed)
        return error_set(error, ERR_CORRUPT, "an %s image in a set that has none", modality);
    if (bytes == 0 || width == 0 || height == 0 || !*name)
        return error_set(error, ERR_CORRUPT, "the %s image has no %s", modality,
                         !*name       ? "name"
                         : bytes == 0 ? "bytes"
                                      : "size");
    return 0;
}

/* Memory is planned by what the header says of the largest: no row may pass it. */
static int check_maxima(const struct index_view *v, const struct index_sample *s, struct error *error) {
    if (s->rgb_width > v->rgb_max_width || s->rgb_height > v->rgb_max_height || s->ir_width > v->ir_max_width ||
        s->ir_height > v->ir_max_height || (uint32_t)s->rgb_width * s->rgb_height > v->rgb_max_pixels ||
        (uint32_t)s->ir_width * s->ir_height > v->ir_max_pixels)
        return error_set(error, ERR_CORRUPT, "an image is larger than the header says of the largest");
    return 0;
}

static int check_images(const struct index_view *view, const struct index_sample *s, struct error *error) {
    if (s->rgb_format == 0 && s->ir_format == 0)
        return error_set(error, ERR_CORRUPT, "there is neither an RGB nor an IR image");
    int code = check_image("RGB", view->meta.modalities & MODALITY_RGB, s->rgb_format, s->rgb_name, s->rgb_bytes,
                           s->rgb_hash, s->rgb_width, s->rgb_height, error);
    return code != 0 ? code
                     : check_image("IR", view->meta.modalities & MODALITY_IR, s->ir_format, s->ir_name, s->ir_bytes,
                                   s->ir_hash, s->ir_width, s->ir_height, error);
}

/* The record must lie inside its shard, where LMDB puts the data of overflow pages, and not be larger
 * than announced. */
static int check_place(const struct index_view *view, const struct index_sample *s, struct error *error) {
    if (s->shard >= view->shard_count)
        return error_set(error, ERR_CORRUPT, "shard %u of %" PRIu64, s->shard, view->shard_count);
    const uint8_t *shard = view->section[SECTION_SHARDS].data + (size_t)s->shard * INDEX_SHARD_BYTES;
    uint64_t size = record_bytes(s->rgb_bytes, s->ir_bytes), file_bytes = load_u64(shard + SHARD_FILE_BYTES);
    if (size > view->max_record_bytes || size > RECORD_LIMIT_BYTES)
        return error_set(error, ERR_CORRUPT, "a record of %" PRIu64 " bytes where the largest has %" PRIu32, size,
                         view->max_record_bytes);
    if (s->record_offset % view->meta.page_bytes != RECORD_PAGE_OFFSET ||
        !range_fits(s->record_offset, size, file_bytes))
        return error_set(error, ERR_CORRUPT,
                         "a record of %" PRIu64 " bytes cannot be at %" PRIu64 " of a shard of %" PRIu64, size,
                         s->record_offset, file_bytes);
    return 0;
}

/* The comparison is false for NaN too. */
static bool is_fraction(float value) {
    return value >= 0.0f && value <= 1.0f;
}

static int check_labels(const struct index_view *view, const struct index_sample *s, struct error *error) {
    uint64_t points = 0;
    for (uint32_t i = 0; i < s->label_count; i++) {
        const struct index_label *l = &s->labels[i];
        if (l->class_id >= view->class_count)
            return error_set(error, ERR_CORRUPT, "label %" PRIu32 " has class %u of %" PRIu64, i, l->class_id,
                             view->class_count);
        if (!is_fraction(l->x) || !is_fraction(l->y) || !is_fraction(l->width) || !is_fraction(l->height))
            return error_set(error, ERR_CORRUPT, "the box of label %" PRIu32 " is not in 0-1", i);
        points += l->point_count;
    }
    if (points != s->point_count)
        return error_set(error, ERR_CORRUPT, "%" PRIu32 " points, but its labels have %" PRIu64, s->point_count,
                         points);
    for (uint32_t i = 0; i < s->point_count; i++) {
        const float *p = s->points + (size_t)i * view->meta.point_dims;
        if (!is_fraction(p[0]) || !is_fraction(p[1]))
            return error_set(error, ERR_CORRUPT, "point %" PRIu32 " is not in 0-1", i);
        if (view->meta.point_dims == 3 && p[2] != 0.0f && p[2] != 1.0f && p[2] != 2.0f)
            return error_set(error, ERR_CORRUPT, "the visibility of point %" PRIu32 " is not 0, 1 or 2", i);
    }
    return 0;
}

static int borrow_labels(struct index_sample *out, const struct index_view *view, const uint8_t *row,
                         struct error *error) {
    const uint8_t *next_row = row + INDEX_SAMPLE_BYTES;
    uint32_t label = load_u32(row + ROW_LABEL_FIRST), next_label = load_u32(next_row + ROW_LABEL_FIRST);
    uint32_t point = load_u32(row + ROW_POINT_FIRST), next_point = load_u32(next_row + ROW_POINT_FIRST);
    if (label > next_label || next_label > view->label_count || next_label - label > view->max_label_count)
        return error_set(error, ERR_CORRUPT,
                         "labels %" PRIu32 " to %" PRIu32 " of %" PRIu64 ", at most %" PRIu32 " a sample", label,
                         next_label, view->label_count, view->max_label_count);
    if (point > next_point || next_point > view->point_count)
        return error_set(error, ERR_CORRUPT, "points %" PRIu32 " to %" PRIu32 " of %" PRIu64, point, next_point,
                         view->point_count);
    out->labels = (const struct index_label *)(const void *)view->section[SECTION_LABELS].data + label;
    out->label_count = next_label - label;
    out->points =
        (const float *)(const void *)view->section[SECTION_POINTS].data + (size_t)point * view->meta.point_dims;
    out->point_count = next_point - point;
    return check_labels(view, out, error);
}

int index_sample(const struct index_view *view, uint64_t row, struct index_sample *out, struct error *error) {
    *out = (struct index_sample){0};
    if (row >= view->sample_count)
        return error_set(error, ERR_ARGUMENT, "sample %" PRIu64 " of %" PRIu64 " (they count from 0)", row,
                         view->sample_count);
    const uint8_t *p = index_row_at(view, row);
    const char *names[3];
    int code = borrow_names(names, view, p, error);
    if (code != 0)
        goto out;
    struct index_sample s = {
        .record_offset = load_u64(p + ROW_RECORD_OFFSET),
        .shard = load_u16(p + ROW_SHARD),
        .rgb_format = p[ROW_RGB_FORMAT],
        .ir_format = p[ROW_IR_FORMAT],
        .rgb_hash = load_u64(p + ROW_RGB_HASH),
        .ir_hash = load_u64(p + ROW_IR_HASH),
        .rgb_bytes = load_u32(p + ROW_RGB_BYTES),
        .ir_bytes = load_u32(p + ROW_IR_BYTES),
        .rgb_width = load_u16(p + ROW_RGB_WIDTH),
        .rgb_height = load_u16(p + ROW_RGB_HEIGHT),
        .ir_width = load_u16(p + ROW_IR_WIDTH),
        .ir_height = load_u16(p + ROW_IR_HEIGHT),
        .rgb_name = names[0],
        .ir_name = names[1],
        .label_name = names[2],
    };
    if ((code = check_images(view, &s, error)) == 0 && (code = check_place(view, &s, error)) == 0 &&
        (code = borrow_labels(&s, view, p, error)) == 0 && (code = check_maxima(view, &s, error)) == 0)
        *out = s;
out:
    if (code != 0) {
        error_prefix(error, "sample %" PRIu64 ": ", row);
        index_at(error, (uint64_t)(p - view->file.data), code);
    }
    return code;
}

static bool image_matches(const struct record_image *image, uint8_t format, uint32_t bytes, uint64_t hash,
                          uint16_t width, uint16_t height) {
    return (image->codec | image->flags) == format && image->payload_bytes == bytes && image->hash == hash &&
           image->width == width && image->height == height;
}

bool index_sample_describes(const struct index_sample *s, const struct record *r) {
    return image_matches(&r->rgb, s->rgb_format, s->rgb_bytes, s->rgb_hash, s->rgb_width, s->rgb_height) &&
           image_matches(&r->ir, s->ir_format, s->ir_bytes, s->ir_hash, s->ir_width, s->ir_height);
}

int index_shard(const struct index_view *view, uint64_t shard, struct index_shard *out, struct error *error) {
    *out = (struct index_shard){0};
    if (shard >= view->shard_count)
        return error_set(error, ERR_ARGUMENT, "shard %" PRIu64 " of %" PRIu64 " (they count from 0)", shard,
                         view->shard_count);
    const uint8_t *p = view->section[SECTION_SHARDS].data + shard * INDEX_SHARD_BYTES;
    struct index_shard s = {
        .file_bytes = load_u64(p + SHARD_FILE_BYTES),
        .head_hash = load_u64(p + SHARD_HEAD_HASH),
        .structure_hash = load_u64(p + SHARD_STRUCTURE_HASH),
        .first_sample = load_u64(p + SHARD_FIRST_SAMPLE),
        .sample_count = load_u64(p + SHARD_SAMPLE_COUNT),
        .first_id = load_u64(p + SHARD_FIRST_ID),
    };
    if (s.sample_count > view->sample_count || s.file_bytes > INT64_MAX || s.first_id > UINT64_MAX - s.sample_count)
        return index_at(error, (uint64_t)(p - view->file.data),
                        error_set(error, ERR_CORRUPT, "shard %" PRIu64 ": its row is damaged", shard));
    *out = s;
    return 0;
}

uint64_t index_generation_first(const struct index_view *view, uint64_t generation) {
    if (generation == view->generation_count)
        return view->sample_count;
    return generation > 0 ? load_u64(view->section[SECTION_GENERATIONS].data + generation * INDEX_GENERATION_BYTES) : 0;
}

int index_generation(const struct index_view *view, uint64_t generation, struct index_generation *out,
                     struct error *error) {
    *out = (struct index_generation){0};
    if (generation >= view->generation_count)
        return error_set(error, ERR_ARGUMENT, "generation %" PRIu64 " of %" PRIu64 " (they count from 0)", generation,
                         view->generation_count);
    uint64_t first = index_generation_first(view, generation), end = index_generation_first(view, generation + 1);
    if (first > end || end > view->sample_count)
        return error_set(error, ERR_CORRUPT, "generation %" PRIu64 ": samples %" PRIu64 " to %" PRIu64 " of %" PRIu64,
                         generation, first, end, view->sample_count);
    *out = (struct index_generation){first, end - first};
    return 0;
}

const char *index_class_name(const struct index_view *view, uint64_t class_id) {
    if (class_id >= view->class_count)
        return NULL;
    struct span rest = view->section[SECTION_CLASSES];
    for (;; class_id--) {
        const uint8_t *nul = rest.size > 0 ? memchr(rest.data, 0, rest.size) : NULL;
        if (!nul)
            return NULL;
        if (class_id == 0)
            return (const char *)rest.data;
        rest.size -= (size_t)(nul + 1 - rest.data);
        rest.data = nul + 1;
    }
}

/* 0 with *row set, 1 if it is not among the rows from `low` to before `high`, < 0 = error. */
static int find_between(const struct index_view *view, const char *name, uint64_t low, uint64_t high, uint64_t *row,
                        struct error *error) {
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        const char *names[3];
        int code = borrow_names(names, view, index_row_at(view, middle), error);
        if (code != 0) {
            error_prefix(error, "sample %" PRIu64 ": ", middle);
            return code;
        }
        int order = strcmp(name, *names[0] ? names[0] : names[1]);
        if (order == 0) {
            *row = middle;
            return 0;
        }
        if (order < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return 1;
}

int index_find(const struct index_view *view, const char *name, uint64_t *row, struct error *error) {
    for (uint64_t i = 0; i < view->generation_count; i++) {
        struct index_generation g;
        int code = index_generation(view, i, &g, error);
        if (code == 0)
            code = find_between(view, name, g.first_sample, g.first_sample + g.sample_count, row, error);
        if (code <= 0)
            return code;
    }
    return error_set(error, ERR_NOT_FOUND, "there is no sample %s", name);
}

void index_shard_name(char out[INDEX_SHARD_NAME_BYTES], const char *prefix, uint64_t shard) {
    snprintf(out, INDEX_SHARD_NAME_BYTES, "%.47s-%05u.lmdb", prefix, (unsigned)(shard & (INDEX_SHARD_LIMIT - 1)));
}
