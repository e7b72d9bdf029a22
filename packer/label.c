#include "label.h"

#include "decimal.h"
#include "hash.h"

#include <stdbool.h>

/*
 * text -> lines -> tokens -> [class | values] -> shape of the row -> values in range -> box, points -> not seen before
 *
 * The values of a row are parsed to the free end of out->points, where they stay if the row keeps its points.
 */

#define POINT_COUNT_LIMIT UINT16_MAX
#define TEXT_LIMIT_BYTES (UINT64_C(1) << 30)
#define ROW_BYTES_MIN 10u /* "0 0 0 1 1\n" */

enum shape { SHAPE_NONE, SHAPE_BOX, SHAPE_POLYGON, SHAPE_ORIENTED, SHAPE_POSE };

/* A slot of the hash table over the rows of one file. */
struct seen {
    uint32_t hash;
    uint32_t line;         /* 0: free */
    uint32_t label, point; /* where the row's label and its points begin, counted in labels and floats */
};

struct parser {
    struct label_set *out;
    const char *path;
    const struct label_options *options;
    struct report *report;
    uint64_t line;
    struct span row; /* the line's text, without its end */
    struct decimal class_number;
    float *values; /* after the class; in out->points */
    size_t value_count;
    size_t clamped_token; /* the first that was moved, 0: none (0 is the class) */
    struct seen *seen;    /* in out->seen; never more than half full */
    uint32_t seen_mask;
    uint64_t first_line[SHAPE_POSE + 1]; /* by shape, of the rows that are kept */
};

static bool is_blank(uint8_t c) {
    return c == ' ' || c == '\t';
}

/* The token that starts at or after `at`; empty at the end of the row. */
static struct span next_token(struct span row, size_t at) {
    while (at < row.size && is_blank(row.data[at]))
        at++;
    size_t end = at;
    while (end < row.size && !is_blank(row.data[end]))
        end++;
    return (struct span){row.data + at, end - at};
}

static struct span token_at(struct span row, size_t index) {
    struct span token = next_token(row, 0);
    for (size_t i = 0; i < index; i++)
        token = next_token(row, (size_t)(token.data - row.data) + token.size);
    return token;
}

static uint64_t column_of(const struct parser *p, struct span token) {
    return (uint64_t)(token.data - p->row.data) + 1;
}

/* ---- what is wrong with a row: each writes its line of the report, and the row is dropped ------------------------ */

/* Adds a row to the report about `token`. Expands to 0 or ERR_MEMORY. */
#define REPORT(p, rule, token, ...)                                                                                    \
    report_add((p)->report, rule, (p)->path, (p)->line, column_of(p, token), token, __VA_ARGS__)

static int drop_number(struct parser *p, struct span token, size_t index) {
    p->out->counts.dropped++;
    if (memchr(token.data, '\0', token.size))
        return REPORT(p, RULE_LABEL_ENCODING, token, "a NUL byte: the file is damaged or not text");
    if (memchr(token.data, ',', token.size))
        return REPORT(p, RULE_LABEL_ENCODING, token, "a comma: separate values by blanks, write decimals with a point");
    if (index == 0)
        return REPORT(p, RULE_ROW_CLASS, token, "the class is no number (the class id comes first, counted from 0)");
    return REPORT(p, RULE_ROW_NUMBER, token, "value %zu is no finite decimal number", index + 1);
}

static int drop_tokens(struct parser *p) {
    static const char *const expected[] = {
        [TASK_DETECT] = "5 for a box, or an odd number from 7 for a polygon",
        [TASK_SEGMENT] = "5 for a box, or an odd number from 7 for a polygon",
        [TASK_OBB] = "9 for an oriented box",
    };
    p->out->counts.dropped++;
    const struct label_options *o = p->options;
    struct span whole = {p->row.data, p->row.size};
    size_t count = p->value_count + 1;
    if (o->task == TASK_POSE)
        return REPORT(p, RULE_ROW_TOKENS, whole, "%zu values, expected %d (5 and %d key points of %d)", count,
                      5 + o->keypoint_count * o->keypoint_dims, o->keypoint_count, o->keypoint_dims);
    if (count > 2 * (size_t)POINT_COUNT_LIMIT && count % 2 == 1 && o->task != TASK_OBB)
        return REPORT(p, RULE_ROW_TOKENS, whole, "a polygon of %zu points, at most %u are kept", count / 2,
                      (unsigned)POINT_COUNT_LIMIT);
    return REPORT(p, RULE_ROW_TOKENS, whole, "%zu values, expected %s", count, expected[o->task]);
}

static int drop_class(struct parser *p) {
    struct span token = token_at(p->row, 0);
    uint32_t count = p->options->class_count;
    p->out->counts.dropped++;
    if (count == 0)
        return REPORT(p, RULE_ROW_CLASS, token, "the class is no whole number from 0 to %u", INDEX_CLASS_LIMIT - 1);
    return REPORT(p, RULE_ROW_CLASS, token, "the class is no whole number from 0 to %u (names has %u)", count - 1,
                  count);
}

static int drop_range(struct parser *p, size_t index) {
    float value = p->values[index];
    struct span token = token_at(p->row, index + 1);
    p->out->counts.dropped++;
    if (value > 1 && value <= 1e6f)
        return REPORT(p, RULE_ROW_RANGE, token, "value %zu is outside 0-1 by %.6g (in pixels?)", index + 2,
                      (double)value - 1);
    return REPORT(p, RULE_ROW_RANGE, token, "value %zu is outside 0-1", index + 2);
}

static int drop_visibility(struct parser *p, size_t index) {
    p->out->counts.dropped++;
    return REPORT(p, RULE_ROW_RANGE, token_at(p->row, index + 1), "value %zu is no visibility (0, 1 or 2)", index + 2);
}

static int drop_size(struct parser *p, enum shape shape, const struct index_label *box) {
    const char *side = box->width > 0 ? "height" : "width";
    p->out->counts.dropped++;
    if (shape == SHAPE_POLYGON || shape == SHAPE_ORIENTED)
        return REPORT(p, RULE_ROW_SIZE, token_at(p->row, 1), "all points are on one line: the %s is 0", side);
    return REPORT(p, RULE_ROW_SIZE, token_at(p->row, box->width > 0 ? 4 : 3), "the %s is 0", side);
}

/* ---- judging a row ----------------------------------------------------------------------------------------------- */

/* Parses the tokens of the row. *valid is false when the row was dropped for one that is no number. */
static int parse_values(struct parser *p, bool *valid) {
    struct bytes *points = &p->out->points;
    int rc = bytes_reserve(points, points->size + (p->row.size / 2 + 1) * sizeof(float));
    if (rc != 0)
        return rc;
    p->values = (float *)(void *)(points->data + points->size);
    p->value_count = 0;
    size_t at = 0, index = 0;
    for (;; index++) {
        while (at < p->row.size && is_blank(p->row.data[at]))
            at++;
        if (at == p->row.size)
            break;
        struct decimal number;
        size_t size = decimal_parse(&number, (struct span){p->row.data + at, p->row.size - at});
        bool whole = size != 0 && (at + size == p->row.size || is_blank(p->row.data[at + size]));
        float value = whole ? decimal_to_float(&number) + 0.0f : 0.0f; /* + 0: there is no minus zero */
        if (!whole || (value - value != 0 && index != 0))
            return drop_number(p, next_token(p->row, at), index);
        if (index == 0)
            p->class_number = number;
        else
            p->values[p->value_count++] = value;
        at += size;
    }
    *valid = true;
    return 0;
}

static enum shape shape_of(const struct label_options *o, size_t value_count) {
    if (o->task == TASK_POSE)
        return value_count == 4 + (size_t)(o->keypoint_count * o->keypoint_dims) ? SHAPE_POSE : SHAPE_NONE;
    if (o->task == TASK_OBB)
        return value_count == 8 ? SHAPE_ORIENTED : SHAPE_NONE;
    if (value_count == 4)
        return SHAPE_BOX;
    bool polygon = value_count % 2 == 0 && value_count >= 6 && value_count / 2 <= POINT_COUNT_LIMIT;
    return polygon ? SHAPE_POLYGON : SHAPE_NONE;
}

/* Moves values that are a little outside into 0-1. *valid is false when the row was dropped for one further out. */
static int check_values(struct parser *p, enum shape shape, bool *valid) {
    float low = (float)-p->options->clamp, high = (float)(1 + p->options->clamp);
    bool with_visibility = shape == SHAPE_POSE && p->options->keypoint_dims == 3;
    p->clamped_token = 0;
    *valid = false;
    for (size_t i = 0; i < p->value_count; i++) {
        float value = p->values[i];
        if (with_visibility && i >= 4 && (i - 4) % 3 == 2) {
            if (value != 0 && value != 1 && value != 2)
                return drop_visibility(p, i);
            continue;
        }
        if (value >= 0 && value <= 1)
            continue;
        if (!(value >= low && value <= high))
            return drop_range(p, i);
        p->values[i] = value < 0 ? 0.0f : 1.0f;
        if (p->clamped_token == 0)
            p->clamped_token = i + 1;
    }
    *valid = true;
    return 0;
}

static void bounding_box(struct index_label *box, const float *xy, size_t point_count) {
    float low[2] = {xy[0], xy[1]}, high[2] = {xy[0], xy[1]};
    for (size_t i = 2; i < 2 * point_count; i++) {
        if (xy[i] < low[i % 2])
            low[i % 2] = xy[i];
        if (xy[i] > high[i % 2])
            high[i % 2] = xy[i];
    }
    box->x = (low[0] + high[0]) / 2;
    box->y = (low[1] + high[1]) / 2;
    box->width = high[0] - low[0];
    box->height = high[1] - low[1];
}

/* The label of the values; the points that stay are moved to the start of them, and their size in bytes is returned. */
static size_t shape_label(struct index_label *box, struct parser *p, enum shape shape) {
    if (shape == SHAPE_BOX || shape == SHAPE_POSE) {
        box->x = p->values[0];
        box->y = p->values[1];
        box->width = p->values[2];
        box->height = p->values[3];
        size_t points_size = (p->value_count - 4) * sizeof(float);
        box->point_count = (uint16_t)(shape == SHAPE_POSE ? p->options->keypoint_count : 0);
        memmove(p->values, p->values + 4, points_size);
        return points_size;
    }
    box->point_count = (uint16_t)(p->value_count / 2);
    bounding_box(box, p->values, p->value_count / 2);
    return p->value_count * sizeof(float);
}

/* ---- duplicates -------------------------------------------------------------------------------------------------- */

/* An empty table with room for every row that `text` can hold. */
static int seen_init(struct parser *p, struct span text) {
    struct bytes *seen = &p->out->seen;
    size_t row_limit = text.size / ROW_BYTES_MIN + 1, slot_count = 2;
    while (slot_count < 2 * row_limit)
        slot_count *= 2;
    int rc = bytes_reserve(seen, slot_count * sizeof(struct seen));
    if (rc != 0)
        return rc;
    memset(seen->data, 0, slot_count * sizeof(struct seen));
    p->seen = (struct seen *)(void *)seen->data;
    p->seen_mask = (uint32_t)(slot_count - 1);
    return 0;
}

/* The line of an earlier row that equals `label` with its points at p->values; 0, and the row noted, if none does. */
static uint32_t seen_before(struct parser *p, const struct index_label *label, size_t points_size) {
    const struct index_label *labels = (const struct index_label *)(const void *)p->out->labels.data;
    const float *points = (const float *)(const void *)p->out->points.data;
    uint32_t hash = (uint32_t)XXH3_64bits_withSeed(p->values, points_size, XXH3_64bits(label, sizeof *label));
    uint32_t at = hash & p->seen_mask;
    for (; p->seen[at].line != 0; at = (at + 1) & p->seen_mask) {
        const struct seen *s = &p->seen[at];
        if (s->hash == hash && memcmp(&labels[s->label], label, sizeof *label) == 0 &&
            memcmp(&points[s->point], p->values, points_size) == 0)
            return s->line;
    }
    p->seen[at] = (struct seen){hash, (uint32_t)p->line, (uint32_t)(p->out->labels.size / sizeof *label),
                                (uint32_t)(p->out->points.size / sizeof(float))};
    return 0;
}

/* ---- rows and files ---------------------------------------------------------------------------------------------- */

static void count_kept(struct label_counts *c, uint32_t class_id) {
    if (c->kept == 0 || class_id < c->min_class)
        c->min_class = class_id;
    if (c->kept == 0 || class_id > c->max_class)
        c->max_class = class_id;
    c->kept++;
}

static int keep_row(struct parser *p, enum shape shape, const struct index_label *label, size_t points_size) {
    struct label_counts *counts = &p->out->counts;
    uint32_t earlier = seen_before(p, label, points_size);
    if (earlier != 0) {
        counts->duplicate++;
        return REPORT(p, RULE_ROW_DUPLICATE, p->row, "the same as line %u", earlier);
    }
    int rc = bytes_append(&p->out->labels, label, sizeof *label);
    if (rc != 0)
        return rc;
    p->out->points.size += points_size;
    count_kept(counts, label->class_id);
    if (p->first_line[shape] == 0)
        p->first_line[shape] = p->line;
    if (p->clamped_token == 0)
        return 0;
    counts->clamped++;
    return REPORT(p, RULE_ROW_CLAMPED, token_at(p->row, p->clamped_token), "value %zu moved into 0-1",
                  p->clamped_token + 1);
}

static int judge_row(struct parser *p) {
    p->out->counts.rows++;
    bool valid = false;
    int rc = parse_values(p, &valid);
    if (rc != 0 || !valid)
        return rc;
    enum shape shape = shape_of(p->options, p->value_count);
    if (shape == SHAPE_NONE)
        return drop_tokens(p);
    uint32_t class_id, class_count = p->options->class_count;
    if (!decimal_to_integer(&p->class_number, (class_count ? class_count : INDEX_CLASS_LIMIT) - 1, &class_id))
        return drop_class(p);
    if (p->options->wanted_classes && !(p->options->wanted_classes[class_id / 8] >> class_id % 8 & 1)) {
        p->out->counts.filtered++;
        return 0;
    }
    rc = check_values(p, shape, &valid);
    if (rc != 0 || !valid)
        return rc;
    struct index_label label = {.class_id = (uint16_t)class_id};
    size_t points_size = shape_label(&label, p, shape);
    if (!(label.width > 0 && label.height > 0))
        return drop_size(p, shape, &label);
    return keep_row(p, shape, &label, points_size);
}

/* UTF-16 by its byte order mark, or by the NUL that every other byte of ASCII is. */
static bool is_utf16(struct span text) {
    const uint8_t *c = text.data;
    if (text.size >= 2 && ((c[0] == 0xFF && c[1] == 0xFE) || (c[0] == 0xFE && c[1] == 0xFF)))
        return true;
    return text.size >= 4 && (c[0] == 0) != (c[1] == 0) && (c[0] == 0) == (c[2] == 0) && (c[1] == 0) == (c[3] == 0);
}

static int refuse_file(struct parser *p, struct span found, const char *message) {
    return report_add(p->report, RULE_LABEL_UNREADABLE, p->path, 0, 0, found, "%s", message);
}

static int note_mixed(struct parser *p) {
    uint64_t box = p->first_line[SHAPE_BOX], polygon = p->first_line[SHAPE_POLYGON];
    if (box == 0 || polygon == 0)
        return 0;
    return report_add(p->report, RULE_ROW_MIXED, p->path, box > polygon ? box : polygon, 1, (struct span){0},
                      "line %llu is a box, line %llu a polygon", (unsigned long long)box, (unsigned long long)polygon);
}

static int note_filtered(struct parser *p, uint64_t before) {
    uint64_t count = p->out->counts.filtered - before;
    if (count == 0)
        return 0;
    return report_add(p->report, RULE_ROW_FILTERED, p->path, 0, 0, (struct span){0},
                      "%llu row%s of classes that --classes leaves out", (unsigned long long)count,
                      count == 1 ? "" : "s");
}

/* Boxes of two classes in one place are two boxes still. */
static void make_single_class(struct label_set *out, size_t first_byte) {
    for (size_t i = first_byte; i < out->labels.size; i += sizeof(struct index_label))
        ((struct index_label *)(void *)(out->labels.data + i))->class_id = 0;
    out->counts.min_class = out->counts.max_class = 0;
}

static int parse_lines(struct parser *p, struct span text) {
    int rc = 0;
    const uint8_t *at = text.data, *end = text.data + text.size, *newline = NULL;
    while (at < end && rc == 0) {
        if (!newline || newline < at)
            newline = memchr(at, '\n', (size_t)(end - at));
        if (!newline)
            newline = end;
        const uint8_t *stop = memchr(at, '\r', (size_t)(newline - at));
        if (!stop)
            stop = newline;
        p->line++;
        p->row = (struct span){at, (size_t)(stop - at)};
        if (next_token(p->row, 0).size != 0)
            rc = judge_row(p);
        at = stop + 1;
        if (at == newline && newline < end) /* CRLF is one end */
            at++;
    }
    return rc;
}

int label_parse(struct label_set *out, struct span text, const char *path, const struct label_options *options,
                struct report *report) {
    struct parser p = {.out = out, .path = path, .options = options, .report = report};
    if (text.size > TEXT_LIMIT_BYTES)
        return refuse_file(&p, (struct span){0}, "over 1 GiB: no label file");
    if (is_utf16(text))
        return refuse_file(&p, (struct span){text.data, 2}, "UTF-16: save it as UTF-8 text");
    if (text.size >= 3 && memcmp(text.data, "\xEF\xBB\xBF", 3) == 0)
        text = (struct span){text.data + 3, text.size - 3};
    if (text.size == 0)
        return 0;
    uint64_t filtered = out->counts.filtered;
    size_t first_byte = out->labels.size;
    int rc = seen_init(&p, text);
    if (rc == 0)
        rc = parse_lines(&p, text);
    if (rc == 0)
        rc = note_filtered(&p, filtered);
    if (options->single_class)
        make_single_class(out, first_byte);
    return rc != 0 ? rc : note_mixed(&p);
}

void label_set_clear(struct label_set *set) {
    set->labels.size = 0;
    set->points.size = 0;
    set->counts = (struct label_counts){0};
}

void label_set_deinit(struct label_set *set) {
    bytes_deinit(&set->labels);
    bytes_deinit(&set->points);
    bytes_deinit(&set->seen);
    *set = (struct label_set){0};
}
