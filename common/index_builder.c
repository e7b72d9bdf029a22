/*
 * Writing an index: samples are added to growing sections, which encode lays out as a file. A merge joins the sections of
 * parts and goes through the same encode.
 */
#include "index.h"

#include "index_format.h"
#include "record.h"

#include <inttypes.h>
#include <xxhash.h>

/* ---- adding ------------------------------------------------------------------------------------------------------ */

static int out_of_memory(struct error *error) {
    return error_set(error, ERR_MEMORY, "out of memory for the index");
}

/* The name of the sample added last, "" before the first. */
static const char *last_name(const struct index_builder *b) {
    const struct bytes *rows = &b->section[SECTION_SAMPLES];
    if (rows->size == 0)
        return "";
    uint32_t first = load_u32(rows->data + rows->size - INDEX_SAMPLE_BYTES + ROW_NAME_FIRST);
    const char *rgb_name = (const char *)b->section[SECTION_NAMES].data + first;
    return *rgb_name ? rgb_name : rgb_name + 1; /* the IR name follows the NUL of the empty one */
}

static uint64_t point_bytes(const struct index_builder *b) {
    return b->meta.point_dims * sizeof(float);
}

/* What only a mistake of the caller can get wrong. */
static int check_call(const struct index_builder *b, const struct index_sample *s, struct error *error) {
    int modalities = (s->rgb_format ? MODALITY_RGB : 0) | (s->ir_format ? MODALITY_IR : 0);
    uint64_t points = 0;
    for (uint32_t i = 0; i < s->label_count; i++)
        points += s->labels[i].point_count;
    if (index_meta_check(&b->meta, ERR_ARGUMENT, error) != 0)
        return ERR_ARGUMENT;
    if (modalities == 0 || (modalities & ~b->meta.modalities) != 0)
        return error_set(error, ERR_ARGUMENT, "%s: its images do not fit the set's modalities", index_sample_name(s));
    if (points != s->point_count)
        return error_set(error, ERR_ARGUMENT, "%s: %" PRIu32 " points, but its labels have %" PRIu64,
                         index_sample_name(s), s->point_count, points);
    if (strcmp(last_name(b), index_sample_name(s)) >= 0)
        return error_set(error, ERR_ARGUMENT, "%s: samples must come in the order of their names, after %s",
                         index_sample_name(s), last_name(b));
    return 0;
}

/* References have 32 bits. `counts` are the totals with what is to be added. */
static int check_limits(uint64_t names, uint64_t labels, uint64_t points, struct error *error) {
    const char *what = names > UINT32_MAX ? "bytes of names" : labels > UINT32_MAX ? "labels"
                       : points > UINT32_MAX ? "points" : NULL;
    return what ? error_set(error, ERR_INPUT, "one index holds at most 4,294,967,295 %s: split the data set", what) : 0;
}

static void widen16(uint16_t *max, uint16_t value) {
    *max = value > *max ? value : *max;
}

static void widen32(uint32_t *max, uint32_t value) {
    *max = value > *max ? value : *max;
}

static void encode_row(uint8_t row[INDEX_SAMPLE_BYTES], const struct index_builder *b, const struct index_sample *s) {
    store_u64(row + ROW_RECORD_OFFSET, s->record_offset);
    store_u16(row + ROW_SHARD, s->shard);
    row[ROW_RGB_FORMAT] = s->rgb_format;
    row[ROW_IR_FORMAT] = s->ir_format;
    store_u32(row + ROW_NAME_FIRST, (uint32_t)b->section[SECTION_NAMES].size);
    store_u64(row + ROW_RGB_HASH, s->rgb_hash);
    store_u64(row + ROW_IR_HASH, s->ir_hash);
    store_u32(row + ROW_RGB_BYTES, s->rgb_bytes);
    store_u32(row + ROW_IR_BYTES, s->ir_bytes);
    store_u32(row + ROW_LABEL_FIRST, (uint32_t)(b->section[SECTION_LABELS].size / INDEX_LABEL_BYTES));
    store_u32(row + ROW_POINT_FIRST, (uint32_t)(b->section[SECTION_POINTS].size / point_bytes(b)));
    store_u16(row + ROW_RGB_WIDTH, s->rgb_width);
    store_u16(row + ROW_RGB_HEIGHT, s->rgb_height);
    store_u16(row + ROW_IR_WIDTH, s->ir_width);
    store_u16(row + ROW_IR_HEIGHT, s->ir_height);
}

/* Appends to all sections, or to none. */
static int append_sample(struct index_builder *b, const struct index_sample *s) {
    uint8_t row[INDEX_SAMPLE_BYTES];
    encode_row(row, b, s);
    struct bytes *to = b->section;
    size_t sizes[] = {to[SECTION_SAMPLES].size, to[SECTION_NAMES].size, to[SECTION_LABELS].size, to[SECTION_POINTS].size};
    if (bytes_append(&to[SECTION_NAMES], s->rgb_name, strlen(s->rgb_name) + 1) == 0 &&
        bytes_append(&to[SECTION_NAMES], s->ir_name, strlen(s->ir_name) + 1) == 0 &&
        bytes_append(&to[SECTION_NAMES], s->label_name, strlen(s->label_name) + 1) == 0 &&
        bytes_append(&to[SECTION_LABELS], s->labels, (size_t)s->label_count * INDEX_LABEL_BYTES) == 0 &&
        bytes_append(&to[SECTION_POINTS], s->points, s->point_count * point_bytes(b)) == 0 &&
        bytes_append(&to[SECTION_SAMPLES], row, sizeof row) == 0)
        return 0;
    to[SECTION_SAMPLES].size = sizes[0];
    to[SECTION_NAMES].size = sizes[1];
    to[SECTION_LABELS].size = sizes[2];
    to[SECTION_POINTS].size = sizes[3];
    return ERR_MEMORY;
}

int index_builder_add(struct index_builder *b, const struct index_sample *sample, struct error *error) {
    int code = check_call(b, sample, error);
    if (code != 0)
        return code;
    uint64_t names = strlen(sample->rgb_name) + strlen(sample->ir_name) + strlen(sample->label_name) + 3;
    uint64_t size = record_bytes(sample->rgb_bytes, sample->ir_bytes);
    code = check_limits(b->section[SECTION_NAMES].size + names,
                        b->section[SECTION_LABELS].size / INDEX_LABEL_BYTES + sample->label_count,
                        b->section[SECTION_POINTS].size / point_bytes(b) + sample->point_count, error);
    if (code == 0 && size > RECORD_LIMIT_BYTES)
        code = error_set(error, ERR_INPUT, "%s: a record of %" PRIu64 " bytes is over the limit of %u",
                         index_sample_name(sample), size, RECORD_LIMIT_BYTES);
    if (code != 0)
        return code;
    if (append_sample(b, sample) != 0)
        return out_of_memory(error);
    b->sample_count++;
    widen16(&b->rgb_max_width, sample->rgb_width);
    widen16(&b->rgb_max_height, sample->rgb_height);
    widen16(&b->ir_max_width, sample->ir_width);
    widen16(&b->ir_max_height, sample->ir_height);
    widen32(&b->max_record_bytes, (uint32_t)size);
    widen32(&b->max_label_count, sample->label_count);
    return 0;
}

int index_builder_add_shard(struct index_builder *b, const struct index_shard *shard, struct error *error) {
    if (b->section[SECTION_SHARDS].size / INDEX_SHARD_BYTES >= INDEX_SHARD_LIMIT)
        return error_set(error, ERR_INPUT, "one index holds at most %u shards: make them larger", INDEX_SHARD_LIMIT);
    uint8_t row[INDEX_SHARD_BYTES] = {0};
    store_u64(row + SHARD_FILE_BYTES, shard->file_bytes);
    store_u64(row + SHARD_HEAD_HASH, shard->head_hash);
    store_u64(row + SHARD_STRUCTURE_HASH, shard->structure_hash);
    store_u64(row + SHARD_FIRST_SAMPLE, shard->first_sample);
    store_u64(row + SHARD_SAMPLE_COUNT, shard->sample_count);
    store_u64(row + SHARD_FIRST_ID, shard->first_id);
    return bytes_append(&b->section[SECTION_SHARDS], row, sizeof row) == 0 ? 0 : out_of_memory(error);
}

void index_builder_place(struct index_builder *b, uint64_t row, uint64_t record_offset) {
    store_u64(b->section[SECTION_SAMPLES].data + row * INDEX_SAMPLE_BYTES + ROW_RECORD_OFFSET, record_offset);
}

int index_builder_set_classes(struct index_builder *b, const char *const *names, uint64_t count, struct error *error) {
    if (count > INDEX_CLASS_LIMIT)
        return error_set(error, ERR_INPUT, "%" PRIu64 " classes: an index holds at most %u", count, INDEX_CLASS_LIMIT);
    struct bytes classes = {0};
    for (uint64_t i = 0; i < count; i++) {
        if (bytes_append(&classes, names[i], strlen(names[i]) + 1) != 0) {
            bytes_deinit(&classes);
            return out_of_memory(error);
        }
    }
    bytes_deinit(&b->section[SECTION_CLASSES]);
    b->section[SECTION_CLASSES] = classes;
    return 0;
}

void index_builder_deinit(struct index_builder *b) {
    for (int kind = 0; kind <= SECTION_COUNT; kind++)
        bytes_deinit(&b->section[kind]);
    *b = (struct index_builder){0};
}

/* ---- encoding ---------------------------------------------------------------------------------------------------- */

static uint64_t class_count(const struct index_builder *b) {
    uint64_t count = 0;
    for (size_t i = 0; i < b->section[SECTION_CLASSES].size; i++)
        count += b->section[SECTION_CLASSES].data[i] == 0;
    return count;
}

static int check_complete(const struct index_builder *b, struct error *error) {
    uint64_t classes = class_count(b);
    const struct bytes *labels = &b->section[SECTION_LABELS];
    for (size_t i = 0; i < labels->size; i += INDEX_LABEL_BYTES) {
        uint16_t class_id = load_u16(labels->data + i);
        if (class_id >= classes)
            return error_set(error, ERR_ARGUMENT, "a label has class %u, but only %" PRIu64 " classes have names",
                             class_id, classes);
    }
    return index_meta_check(&b->meta, ERR_ARGUMENT, error);
}

/* Bytes of a section in the file: the rows of samples are one more than the builder holds. */
static uint64_t section_bytes(const struct index_builder *b, int kind) {
    return b->section[kind].size + (kind == SECTION_SAMPLES ? INDEX_SAMPLE_BYTES : 0);
}

/* Only a part has the last two, and only when there is something in them. */
static bool section_is_written(const struct index_builder *b, int kind) {
    return kind <= SECTION_SHARDS || b->section[kind].size > 0;
}

/* Copies one section to its place (zeroed) in the file. */
static void write_section(uint8_t *to, const struct index_builder *b, int kind) {
    if (b->section[kind].size > 0)
        memcpy(to, b->section[kind].data, b->section[kind].size);
    if (kind != SECTION_SAMPLES)
        return;
    uint8_t *sentinel = to + b->section[kind].size;
    store_u32(sentinel + ROW_NAME_FIRST, (uint32_t)b->section[SECTION_NAMES].size);
    store_u32(sentinel + ROW_LABEL_FIRST, (uint32_t)(b->section[SECTION_LABELS].size / INDEX_LABEL_BYTES));
    store_u32(sentinel + ROW_POINT_FIRST, (uint32_t)(b->section[SECTION_POINTS].size / point_bytes(b)));
}

/* Writes all sections and their table rows; `written` gets where each lies. Returns the number of sections. */
static uint32_t write_sections(uint8_t *file, const struct index_builder *b, struct span written[SECTION_COUNT + 1]) {
    uint8_t *table = file + HEADER_SECTIONS;
    uint64_t end = INDEX_HEADER_BYTES;
    uint32_t count = 0;
    for (int kind = 1; kind <= SECTION_COUNT; kind++) {
        if (!section_is_written(b, kind))
            continue;
        uint64_t offset = align_up(end, INDEX_SECTION_ALIGNMENT), bytes = section_bytes(b, kind);
        memset(file + end, 0, (size_t)(offset + bytes - end));
        write_section(file + offset, b, kind);
        written[kind] = (struct span){file + offset, (size_t)bytes};
        store_u32(table + TABLE_KIND, (uint32_t)kind);
        store_u32(table + TABLE_ROW_BYTES, index_section_row_bytes(kind, b->meta.point_dims));
        store_u64(table + TABLE_OFFSET, offset);
        store_u64(table + TABLE_BYTES, bytes);
        store_u64(table + TABLE_HASH, XXH3_64bits(file + offset, (size_t)bytes));
        table += TABLE_ROW_SIZE;
        end = offset + bytes;
        count++;
    }
    return count;
}

static void write_header(uint8_t *p, const struct index_builder *b, uint64_t file_bytes, uint64_t content_hash,
                         uint32_t section_count) {
    memcpy(p + HEADER_MAGIC, INDEX_MAGIC, 8);
    store_u32(p + HEADER_VERSION, INDEX_VERSION);
    store_u32(p + HEADER_BYTE_ORDER, INDEX_BYTE_ORDER_MARK);
    store_u64(p + HEADER_FILE_BYTES, file_bytes);
    store_u64(p + HEADER_CONTENT_HASH, content_hash);
    store_u64(p + HEADER_SAMPLE_COUNT, b->sample_count);
    store_u32(p + HEADER_PAGE_BYTES, b->meta.page_bytes);
    store_u32(p + HEADER_SECTION_COUNT, section_count);
    p[HEADER_TASK] = b->meta.task;
    p[HEADER_MODALITIES] = b->meta.modalities;
    p[HEADER_POINT_DIMS] = b->meta.point_dims;
    store_u16(p + HEADER_KEYPOINT_COUNT, b->meta.keypoint_count);
    store_u16(p + HEADER_CLASS_COUNT, (uint16_t)class_count(b));
    memcpy(p + HEADER_SHARD_PREFIX, b->meta.shard_prefix, INDEX_PREFIX_BYTES);
    store_u16(p + HEADER_MAX_SIDES, b->rgb_max_width);
    store_u16(p + HEADER_MAX_SIDES + 2, b->rgb_max_height);
    store_u16(p + HEADER_MAX_SIDES + 4, b->ir_max_width);
    store_u16(p + HEADER_MAX_SIDES + 6, b->ir_max_height);
    store_u32(p + HEADER_MAX_RECORD_BYTES, b->max_record_bytes);
    store_u32(p + HEADER_MAX_LABEL_COUNT, b->max_label_count);
    store_u64(p + HEADER_HASH, XXH3_64bits(p, INDEX_HEADER_BYTES)); /* the field is zero until here */
}

int index_builder_encode(const struct index_builder *b, struct bytes *out, struct error *error) {
    int code = check_complete(b, error);
    if (code != 0)
        return code;
    uint64_t size = INDEX_HEADER_BYTES;
    for (int kind = 1; kind <= SECTION_COUNT; kind++)
        if (section_is_written(b, kind))
            size = align_up(size, INDEX_SECTION_ALIGNMENT) + section_bytes(b, kind);
    if (size > SIZE_MAX - out->size || bytes_reserve(out, out->size + (size_t)size) != 0)
        return out_of_memory(error);

    uint8_t *file = out->data + out->size;
    struct span written[SECTION_COUNT + 1] = {{0}};
    uint64_t content_hash;
    memset(file, 0, INDEX_HEADER_BYTES);
    uint32_t section_count = write_sections(file, b, written);
    if (index_content_hash(&content_hash, &b->meta, written) != 0)
        return out_of_memory(error);
    write_header(file, b, size, content_hash, section_count);
    out->size += (size_t)size;
    return 0;
}

/* ---- merging ----------------------------------------------------------------------------------------------------- */

static int check_meta_agrees(const struct index_meta *first, const struct index_meta *meta, uint64_t part,
                             struct error *error) {
    const char *what = meta->task != first->task ? "task"
                       : meta->modalities != first->modalities ? "modalities"
                       : meta->point_dims != first->point_dims || meta->keypoint_count != first->keypoint_count
                           ? "shape of points"
                       : meta->page_bytes != first->page_bytes ? "page size"
                       : memcmp(meta->shard_prefix, first->shard_prefix, INDEX_PREFIX_BYTES) != 0 ? "shard prefix"
                                                                                                 : NULL;
    return what ? error_set(error, ERR_INPUT, "part %" PRIu64 " has another %s than part 1", part + 1, what) : 0;
}

/* A list ends with a NUL, so that a beginning of the other's bytes is a beginning of its names. */
static int join_classes(struct index_builder *b, struct span classes, uint64_t part, struct error *error) {
    struct bytes *have = &b->section[SECTION_CLASSES];
    size_t common = have->size < classes.size ? have->size : classes.size;
    if (common > 0 && memcmp(have->data, classes.data, common) != 0)
        return error_set(error, ERR_INPUT, "part %" PRIu64 " has other class names than the parts before it", part + 1);
    if (bytes_append(have, classes.data + common, classes.size - common) != 0)
        return out_of_memory(error);
    return 0;
}

/* Copies rows, moving what they refer to on by what is there already. */
static void rebase_rows(uint8_t *to, struct span rows, uint16_t shards, uint32_t names, uint32_t labels,
                        uint32_t points) {
    for (size_t i = 0; i < rows.size; i += INDEX_SAMPLE_BYTES) {
        uint8_t *row = to + i;
        memcpy(row, rows.data + i, INDEX_SAMPLE_BYTES);
        store_u16(row + ROW_SHARD, (uint16_t)(load_u16(row + ROW_SHARD) + shards));
        store_u32(row + ROW_NAME_FIRST, load_u32(row + ROW_NAME_FIRST) + names);
        store_u32(row + ROW_LABEL_FIRST, load_u32(row + ROW_LABEL_FIRST) + labels);
        store_u32(row + ROW_POINT_FIRST, load_u32(row + ROW_POINT_FIRST) + points);
    }
}

/* Room for all parts at once: sections never move while they are filled. */
static int reserve_total(struct index_builder *b, const struct index_view *parts, uint64_t part_count,
                         struct error *error) {
    uint64_t total[SECTION_COUNT + 1] = {0};
    for (uint64_t i = 0; i < part_count; i++)
        for (int kind = 1; kind <= SECTION_SHARDS; kind++)
            total[kind] += parts[i].section[kind].size;
    int code = check_limits(total[SECTION_NAMES], total[SECTION_LABELS] / INDEX_LABEL_BYTES,
                            total[SECTION_POINTS] / point_bytes(b), error);
    if (code == 0 && total[SECTION_SHARDS] / INDEX_SHARD_BYTES > INDEX_SHARD_LIMIT)
        code = error_set(error, ERR_INPUT, "one index holds at most %u shards: make them larger", INDEX_SHARD_LIMIT);
    for (int kind = 1; code == 0 && kind <= SECTION_SHARDS; kind++)
        if (kind != SECTION_CLASSES && bytes_reserve(&b->section[kind], (size_t)total[kind]) != 0)
            code = out_of_memory(error);
    return code;
}

/* Does the part go on where the ones before it end? */
static int check_follows(const struct index_builder *b, const struct index_view *part, uint64_t index,
                         struct error *error) {
    struct index_sample first;
    int code = 0;
    if (part->sample_count > 0 && (code = index_sample(part, 0, &first, error)) == 0 &&
        strcmp(last_name(b), index_sample_name(&first)) >= 0)
        return error_set(error, ERR_INPUT, "part %" PRIu64 " begins with %s, which is not after %s", index + 1,
                         index_sample_name(&first), last_name(b));
    return code;
}

/* Memory was reserved, so that nothing here can fail. */
static void join_part(struct index_builder *b, const struct index_view *part) {
    struct bytes *to = b->section;
    struct span rows = part->section[SECTION_SAMPLES];
    rows.size -= INDEX_SAMPLE_BYTES; /* the sentinel is made anew */
    rebase_rows(to[SECTION_SAMPLES].data + to[SECTION_SAMPLES].size, rows,
                (uint16_t)(to[SECTION_SHARDS].size / INDEX_SHARD_BYTES), (uint32_t)to[SECTION_NAMES].size,
                (uint32_t)(to[SECTION_LABELS].size / INDEX_LABEL_BYTES),
                (uint32_t)(to[SECTION_POINTS].size / point_bytes(b)));
    to[SECTION_SAMPLES].size += rows.size;
    uint8_t *shards = part->shard_count > 0 ? to[SECTION_SHARDS].data + to[SECTION_SHARDS].size : NULL;
    static const int plain[] = {SECTION_LABELS, SECTION_POINTS, SECTION_NAMES, SECTION_SHARDS};
    for (size_t i = 0; i < sizeof plain / sizeof *plain; i++) {
        struct span from = part->section[plain[i]];
        if (from.size > 0)
            memcpy(to[plain[i]].data + to[plain[i]].size, from.data, from.size);
        to[plain[i]].size += from.size;
    }
    for (uint64_t i = 0; i < part->shard_count; i++) {
        uint8_t *first_sample = shards + i * INDEX_SHARD_BYTES + SHARD_FIRST_SAMPLE;
        store_u64(first_sample, load_u64(first_sample) + b->sample_count);
    }
    b->sample_count += part->sample_count;
    widen16(&b->rgb_max_width, part->rgb_max_width);
    widen16(&b->rgb_max_height, part->rgb_max_height);
    widen16(&b->ir_max_width, part->ir_max_width);
    widen16(&b->ir_max_height, part->ir_max_height);
    widen32(&b->max_record_bytes, part->max_record_bytes);
    widen32(&b->max_label_count, part->max_label_count);
}

int index_merge(struct bytes *out, const struct index_view *parts, uint64_t part_count, struct error *error) {
    if (part_count == 0)
        return error_set(error, ERR_ARGUMENT, "no parts to merge");
    struct index_builder b = {.meta = parts[0].meta};
    int code = reserve_total(&b, parts, part_count, error);
    for (uint64_t i = 0; code == 0 && i < part_count; i++) {
        if ((code = check_meta_agrees(&b.meta, &parts[i].meta, i, error)) != 0 ||
            (code = check_follows(&b, &parts[i], i, error)) != 0 ||
            (code = join_classes(&b, parts[i].section[SECTION_CLASSES], i, error)) != 0)
            break;
        join_part(&b, &parts[i]);
    }
    if (code == 0)
        code = index_builder_encode(&b, out, error);
    index_builder_deinit(&b);
    return code;
}
