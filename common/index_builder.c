/*
 * Writing an index. Samples are added to growing sections. A file is then laid out from the lengths of its sections,
 * filled, and ended with hashes and header: filled from a builder, or, in a merge, straight from the parts.
 */
#include "hash.h"
#include "index.h"

#include "index_format.h"
#include "record.h"

#include <inttypes.h>

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

static int too_many_shards(struct error *error) {
    return error_set(error, ERR_INPUT, "one index holds at most %u shards: make them larger", INDEX_SHARD_LIMIT);
}

static uint64_t point_bytes(const struct index_meta *meta) {
    return meta->point_dims * sizeof(float);
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
    if (b->sample_count > b->generation_first && strcmp(last_name(b), index_sample_name(s)) >= 0)
        return error_set(error, ERR_ARGUMENT, "%s: samples must come in the order of their names, after %s",
                         index_sample_name(s), last_name(b));
    return 0;
}

/* References have 32 bits. `counts` are the totals with what is to be added. */
static int check_limits(uint64_t names, uint64_t labels, uint64_t points, struct error *error) {
    const char *what = names > UINT32_MAX    ? "bytes of names"
                       : labels > UINT32_MAX ? "labels"
                       : points > UINT32_MAX ? "points"
                                             : NULL;
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
    store_u32(row + ROW_POINT_FIRST, (uint32_t)(b->section[SECTION_POINTS].size / point_bytes(&b->meta)));
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
    size_t sizes[] = {to[SECTION_SAMPLES].size, to[SECTION_NAMES].size, to[SECTION_LABELS].size,
                      to[SECTION_POINTS].size};
    if (bytes_append(&to[SECTION_NAMES], s->rgb_name, strlen(s->rgb_name) + 1) == 0 &&
        bytes_append(&to[SECTION_NAMES], s->ir_name, strlen(s->ir_name) + 1) == 0 &&
        bytes_append(&to[SECTION_NAMES], s->label_name, strlen(s->label_name) + 1) == 0 &&
        bytes_append(&to[SECTION_LABELS], s->labels, (size_t)s->label_count * INDEX_LABEL_BYTES) == 0 &&
        bytes_append(&to[SECTION_POINTS], s->points, s->point_count * point_bytes(&b->meta)) == 0 &&
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
                        b->section[SECTION_POINTS].size / point_bytes(&b->meta) + sample->point_count, error);
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
    widen32(&b->rgb_max_pixels, (uint32_t)sample->rgb_width * sample->rgb_height);
    widen32(&b->ir_max_pixels, (uint32_t)sample->ir_width * sample->ir_height);
    widen32(&b->max_record_bytes, (uint32_t)size);
    widen32(&b->max_label_count, sample->label_count);
    return 0;
}

int index_builder_add_shard(struct index_builder *b, const struct index_shard *shard, struct error *error) {
    if (b->section[SECTION_SHARDS].size / INDEX_SHARD_BYTES >= INDEX_SHARD_LIMIT)
        return too_many_shards(error);
    uint8_t row[INDEX_SHARD_BYTES] = {0};
    store_u64(row + SHARD_FILE_BYTES, shard->file_bytes);
    store_u64(row + SHARD_HEAD_HASH, shard->head_hash);
    store_u64(row + SHARD_STRUCTURE_HASH, shard->structure_hash);
    store_u64(row + SHARD_FIRST_SAMPLE, shard->first_sample);
    store_u64(row + SHARD_SAMPLE_COUNT, shard->sample_count);
    store_u64(row + SHARD_FIRST_ID, shard->first_id);
    return bytes_append(&b->section[SECTION_SHARDS], row, sizeof row) == 0 ? 0 : out_of_memory(error);
}

int index_builder_begin_generation(struct index_builder *b, struct error *error) {
    struct bytes *rows = &b->section[SECTION_GENERATIONS];
    uint8_t row[2 * INDEX_GENERATION_BYTES] = {0}; /* with the second comes the first, which begins at 0 */
    if (b->sample_count == b->generation_first)
        return 0;
    size_t skip = rows->size > 0 ? INDEX_GENERATION_BYTES : 0;
    store_u64(row + INDEX_GENERATION_BYTES, b->sample_count);
    if (bytes_append(rows, row + skip, sizeof row - skip) != 0)
        return out_of_memory(error);
    b->generation_first = b->sample_count;
    return 0;
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

/* ---- the file ---------------------------------------------------------------------------------------------------- */

/* A file in the making. `bytes` comes first; begin_file() makes room, then the sections are filled. */
struct draft {
    uint64_t bytes[SECTION_COUNT + 1]; /* by kind; SAMPLES with the row after the last sample */
    uint64_t offset[SECTION_COUNT + 1];
    uint64_t size;
    uint8_t *data;
};

/* Those after SHARDS are there only when there is something in them. */
static bool section_is_written(const struct draft *d, int kind) {
    return kind <= SECTION_SHARDS || d->bytes[kind] > 0;
}

/* Lays the sections out behind what `out` holds, without making that longer yet, and writes the zeros between them. */
static int begin_file(struct draft *d, struct bytes *out, struct error *error) {
    uint64_t end = INDEX_HEADER_BYTES;
    for (int kind = 1; kind <= SECTION_COUNT; kind++) {
        if (!section_is_written(d, kind))
            continue;
        d->offset[kind] = align_up(end, INDEX_SECTION_ALIGNMENT);
        end = d->offset[kind] + d->bytes[kind];
    }
    if (end > SIZE_MAX - out->size || bytes_reserve(out, out->size + (size_t)end) != 0)
        return out_of_memory(error);
    d->size = end;
    d->data = out->data + out->size;
    memset(d->data, 0, INDEX_HEADER_BYTES);
    end = INDEX_HEADER_BYTES;
    for (int kind = 1; kind <= SECTION_COUNT; kind++) {
        if (!section_is_written(d, kind))
            continue;
        memset(d->data + end, 0, (size_t)(d->offset[kind] - end));
        end = d->offset[kind] + d->bytes[kind];
    }
    return 0;
}

static uint64_t count_classes(struct span classes) {
    uint64_t count = 0;
    for (size_t i = 0; i < classes.size; i++)
        count += classes.data[i] == 0;
    return count;
}

static int check_classes(struct span labels, uint64_t class_count, struct error *error) {
    for (size_t i = 0; i < labels.size; i += INDEX_LABEL_BYTES) {
        uint16_t class_id = load_u16(labels.data + i);
        if (class_id >= class_count)
            return error_set(error, ERR_ARGUMENT, "a label has class %u, but only %" PRIu64 " classes have names",
                             class_id, class_count);
    }
    return 0;
}

/* The row after the last sample: where a further one would begin. */
static void write_sentinel(struct draft *d, const struct index_meta *meta) {
    uint8_t *row = d->data + d->offset[SECTION_SAMPLES] + d->bytes[SECTION_SAMPLES] - INDEX_SAMPLE_BYTES;
    memset(row, 0, INDEX_SAMPLE_BYTES);
    store_u32(row + ROW_NAME_FIRST, (uint32_t)d->bytes[SECTION_NAMES]);
    store_u32(row + ROW_LABEL_FIRST, (uint32_t)(d->bytes[SECTION_LABELS] / INDEX_LABEL_BYTES));
    store_u32(row + ROW_POINT_FIRST, (uint32_t)(d->bytes[SECTION_POINTS] / point_bytes(meta)));
}

/* Returns the number of rows. */
static uint32_t write_table(struct draft *d, const struct index_meta *meta) {
    uint8_t *row = d->data + HEADER_SECTIONS;
    uint32_t count = 0;
    for (int kind = 1; kind <= SECTION_COUNT; kind++) {
        if (!section_is_written(d, kind))
            continue;
        store_u32(row + TABLE_KIND, (uint32_t)kind);
        store_u32(row + TABLE_ROW_BYTES, index_section_row_bytes(kind, meta->point_dims));
        store_u64(row + TABLE_OFFSET, d->offset[kind]);
        store_u64(row + TABLE_BYTES, d->bytes[kind]);
        store_u64(row + TABLE_HASH, XXH3_64bits(d->data + d->offset[kind], (size_t)d->bytes[kind]));
        row += TABLE_ROW_SIZE;
        count++;
    }
    return count;
}

/* Of `b` the description and the sums, not the sections. */
static void write_header(struct draft *d, const struct index_builder *b, uint64_t content_hash, uint64_t class_count,
                         uint32_t section_count) {
    uint8_t *p = d->data;
    memcpy(p + HEADER_MAGIC, INDEX_MAGIC, 8);
    store_u32(p + HEADER_VERSION, INDEX_VERSION);
    store_u32(p + HEADER_BYTE_ORDER, INDEX_BYTE_ORDER_MARK);
    store_u64(p + HEADER_FILE_BYTES, d->size);
    store_u64(p + HEADER_CONTENT_HASH, content_hash);
    store_u64(p + HEADER_SAMPLE_COUNT, b->sample_count);
    store_u32(p + HEADER_PAGE_BYTES, b->meta.page_bytes);
    store_u32(p + HEADER_SECTION_COUNT, section_count);
    p[HEADER_TASK] = b->meta.task;
    p[HEADER_MODALITIES] = b->meta.modalities;
    p[HEADER_POINT_DIMS] = b->meta.point_dims;
    store_u16(p + HEADER_KEYPOINT_COUNT, b->meta.keypoint_count);
    store_u16(p + HEADER_CLASS_COUNT, (uint16_t)class_count);
    memcpy(p + HEADER_SHARD_PREFIX, b->meta.shard_prefix, INDEX_PREFIX_BYTES);
    store_u16(p + HEADER_MAX_SIDES, b->rgb_max_width);
    store_u16(p + HEADER_MAX_SIDES + 2, b->rgb_max_height);
    store_u16(p + HEADER_MAX_SIDES + 4, b->ir_max_width);
    store_u16(p + HEADER_MAX_SIDES + 6, b->ir_max_height);
    store_u32(p + HEADER_MAX_PIXELS, b->rgb_max_pixels);
    store_u32(p + HEADER_MAX_PIXELS + 4, b->ir_max_pixels);
    store_u32(p + HEADER_MAX_RECORD_BYTES, b->max_record_bytes);
    store_u32(p + HEADER_MAX_LABEL_COUNT, b->max_label_count);
    store_u64(p + HEADER_HASH, XXH3_64bits(p, INDEX_HEADER_BYTES)); /* the field is zero until here */
}

/* The sections are filled: checks the classes, writes the rest, and makes `out` as long as it now is. */
static int end_file(struct draft *d, struct bytes *out, const struct index_builder *b, struct error *error) {
    struct span section[SECTION_COUNT + 1] = {{0}};
    for (int kind = 1; kind <= SECTION_COUNT; kind++)
        section[kind] = (struct span){d->data + d->offset[kind], (size_t)d->bytes[kind]};
    uint64_t class_count = count_classes(section[SECTION_CLASSES]), content_hash;
    int code = check_classes(section[SECTION_LABELS], class_count, error);
    if (code != 0)
        return code;
    write_sentinel(d, &b->meta);
    if (index_content_hash(&content_hash, &b->meta, section) != 0)
        return out_of_memory(error);
    uint32_t section_count = write_table(d, &b->meta);
    write_header(d, b, content_hash, class_count, section_count);
    out->size += (size_t)d->size;
    return 0;
}

int index_builder_encode(const struct index_builder *b, struct bytes *out, struct error *error) {
    struct draft d = {0};
    for (int kind = 1; kind <= SECTION_COUNT; kind++)
        d.bytes[kind] = b->section[kind].size + (kind == SECTION_SAMPLES ? INDEX_SAMPLE_BYTES : 0);
    int code = index_meta_check(&b->meta, ERR_ARGUMENT, error);
    if (code != 0 || (code = begin_file(&d, out, error)) != 0)
        return code;
    for (int kind = 1; kind <= SECTION_COUNT; kind++)
        if (b->section[kind].size > 0)
            memcpy(d.data + d.offset[kind], b->section[kind].data, b->section[kind].size);
    return end_file(&d, out, b, error);
}

/* ---- merging ----------------------------------------------------------------------------------------------------- */

static int check_meta_agrees(const struct index_meta *first, const struct index_meta *meta, struct error *error) {
    const char *what = NULL;
    if (meta->task != first->task)
        what = "task";
    else if (meta->modalities != first->modalities)
        what = "modalities";
    else if (meta->point_dims != first->point_dims || meta->keypoint_count != first->keypoint_count)
        what = "shape of points";
    else if (meta->page_bytes != first->page_bytes)
        what = "page size";
    else if (memcmp(meta->shard_prefix, first->shard_prefix, INDEX_PREFIX_BYTES) != 0)
        what = "shard prefix";
    return what ? error_set(error, ERR_INPUT, "has another %s than part 1", what) : 0;
}

/* Every list ends with a NUL, so that a beginning of another's bytes is a beginning of its names. */
static int check_classes_agree(struct span *longest, struct span classes, struct error *error) {
    size_t common = longest->size < classes.size ? longest->size : classes.size;
    if (common > 0 && memcmp(longest->data, classes.data, common) != 0)
        return error_set(error, ERR_INPUT, "has other class names than the parts before it");
    if (classes.size > longest->size)
        *longest = classes;
    return 0;
}

/* `last` is the name of the last sample so far; moved on. */
static int check_order(const char **last, const struct index_view *part, struct error *error) {
    struct index_sample s;
    int code;
    if (part->sample_count == 0)
        return 0;
    if ((code = index_sample(part, 0, &s, error)) != 0)
        return code;
    if (strcmp(*last, index_sample_name(&s)) >= 0)
        return error_set(error, ERR_INPUT, "begins with %s, which is not after %s", index_sample_name(&s), *last);
    if ((code = index_sample(part, part->sample_count - 1, &s, error)) == 0)
        *last = index_sample_name(&s);
    return code;
}

static void add_sums(struct index_builder *sums, const struct index_view *part) {
    sums->sample_count += part->sample_count;
    widen16(&sums->rgb_max_width, part->rgb_max_width);
    widen16(&sums->rgb_max_height, part->rgb_max_height);
    widen16(&sums->ir_max_width, part->ir_max_width);
    widen16(&sums->ir_max_height, part->ir_max_height);
    widen32(&sums->rgb_max_pixels, part->rgb_max_pixels);
    widen32(&sums->ir_max_pixels, part->ir_max_pixels);
    widen32(&sums->max_record_bytes, part->max_record_bytes);
    widen32(&sums->max_label_count, part->max_label_count);
}

/* How many generations the whole has; where they begin to `to` unless that is NULL. A part continues the generation
 * before it, but for the first and for part `new_generation`; if that is empty, the next does. */
static uint64_t join_generations(uint8_t *to, const struct index_view *parts, uint64_t part_count,
                                 uint64_t new_generation) {
    uint64_t count = 0, row = 0;
    bool begins = true;
    for (uint64_t i = 0; i < part_count; i++) {
        const uint8_t *from = parts[i].section[SECTION_GENERATIONS].data;
        begins = begins || i == new_generation;
        for (uint64_t g = begins ? 0 : 1; parts[i].sample_count > 0 && g < parts[i].generation_count; g++, count++)
            if (to)
                store_u64(to + count * INDEX_GENERATION_BYTES,
                          row + (g > 0 ? load_u64(from + g * INDEX_GENERATION_BYTES) : 0));
        begins = begins && parts[i].sample_count == 0;
        row += parts[i].sample_count;
    }
    return count;
}

/* Can the parts be joined, and how long are the sections and large the sums then? */
static int plan_merge(struct draft *d, struct index_builder *sums, struct span *classes, const struct index_view *parts,
                      uint64_t part_count, uint64_t new_generation, struct error *error) {
    const char *last = "";
    for (uint64_t i = 0; i < part_count; i++) {
        int code;
        if (i == new_generation)
            last = "";
        if ((code = check_meta_agrees(&sums->meta, &parts[i].meta, error)) != 0 ||
            (code = check_classes_agree(classes, parts[i].section[SECTION_CLASSES], error)) != 0 ||
            (code = check_order(&last, &parts[i], error)) != 0) {
            error_prefix(error, "part %" PRIu64 " ", i + 1);
            return code;
        }
        for (int kind = 1; kind <= SECTION_SHARDS; kind++)
            d->bytes[kind] += parts[i].section[kind].size;
        d->bytes[SECTION_SAMPLES] -= INDEX_SAMPLE_BYTES;
        add_sums(sums, &parts[i]);
    }
    d->bytes[SECTION_SAMPLES] += INDEX_SAMPLE_BYTES;
    d->bytes[SECTION_CLASSES] = classes->size;
    uint64_t generations = join_generations(NULL, parts, part_count, new_generation);
    if (generations > 1)
        d->bytes[SECTION_GENERATIONS] = generations * INDEX_GENERATION_BYTES;
    if (d->bytes[SECTION_SHARDS] / INDEX_SHARD_BYTES > INDEX_SHARD_LIMIT)
        return too_many_shards(error);
    return check_limits(d->bytes[SECTION_NAMES], d->bytes[SECTION_LABELS] / INDEX_LABEL_BYTES,
                        d->bytes[SECTION_POINTS] / point_bytes(&sums->meta), error);
}

/* Moves what rows refer to on by what is there already. */
static void rebase_rows(uint8_t *row, uint64_t count, uint16_t shards, uint32_t names, uint32_t labels,
                        uint32_t points) {
    for (; count > 0; count--, row += INDEX_SAMPLE_BYTES) {
        store_u16(row + ROW_SHARD, (uint16_t)(load_u16(row + ROW_SHARD) + shards));
        store_u32(row + ROW_NAME_FIRST, load_u32(row + ROW_NAME_FIRST) + names);
        store_u32(row + ROW_LABEL_FIRST, load_u32(row + ROW_LABEL_FIRST) + labels);
        store_u32(row + ROW_POINT_FIRST, load_u32(row + ROW_POINT_FIRST) + points);
    }
}

/* Copies one part behind the `used` bytes of each section, and moves those on. */
static void join_part(struct draft *d, uint64_t used[SECTION_COUNT + 1], const struct index_view *part) {
    static const int joined[] = {SECTION_SAMPLES, SECTION_LABELS, SECTION_POINTS, SECTION_NAMES, SECTION_SHARDS};
    uint64_t before[SECTION_COUNT + 1];
    uint8_t *to[SECTION_COUNT + 1];
    memcpy(before, used, sizeof before);
    for (size_t i = 0; i < sizeof joined / sizeof *joined; i++) {
        int kind = joined[i];
        struct span from = part->section[kind];
        if (kind == SECTION_SAMPLES)
            from.size -= INDEX_SAMPLE_BYTES;
        to[kind] = d->data + d->offset[kind] + used[kind];
        memcpy(to[kind], from.data, from.size);
        used[kind] += from.size;
    }
    rebase_rows(to[SECTION_SAMPLES], part->sample_count, (uint16_t)(before[SECTION_SHARDS] / INDEX_SHARD_BYTES),
                (uint32_t)before[SECTION_NAMES], (uint32_t)(before[SECTION_LABELS] / INDEX_LABEL_BYTES),
                (uint32_t)(before[SECTION_POINTS] / point_bytes(&part->meta)));
    for (uint64_t i = 0; i < part->shard_count; i++) {
        uint8_t *first_sample = to[SECTION_SHARDS] + i * INDEX_SHARD_BYTES + SHARD_FIRST_SAMPLE;
        store_u64(first_sample, load_u64(first_sample) + before[SECTION_SAMPLES] / INDEX_SAMPLE_BYTES);
    }
}

int index_merge(struct bytes *out, const struct index_view *parts, uint64_t part_count, uint64_t new_generation,
                struct error *error) {
    if (part_count == 0)
        return error_set(error, ERR_ARGUMENT, "no parts to merge");
    struct index_builder sums = {.meta = parts[0].meta};
    struct draft d = {0};
    struct span classes = {0};
    uint64_t used[SECTION_COUNT + 1] = {0};
    int code = plan_merge(&d, &sums, &classes, parts, part_count, new_generation, error);
    if (code != 0 || (code = begin_file(&d, out, error)) != 0)
        return code;
    for (uint64_t i = 0; i < part_count; i++)
        join_part(&d, used, &parts[i]);
    if (classes.size > 0)
        memcpy(d.data + d.offset[SECTION_CLASSES], classes.data, classes.size);
    if (d.bytes[SECTION_GENERATIONS] > 0)
        join_generations(d.data + d.offset[SECTION_GENERATIONS], parts, part_count, new_generation);
    return end_file(&d, out, &sums, error);
}
