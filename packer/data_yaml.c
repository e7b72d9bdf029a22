#include "data_yaml.h"

#include "index.h"
#include "report.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <yaml.h>

#define DEPTH_LIMIT 32
#define KEY_LIMIT 1000

struct reader {
    struct data_yaml *out;
    struct error *error;
    const char *text; /* of the file, comments made harmless */
    size_t size;
    yaml_parser_t parser;
    yaml_event_t event;      /* the last one, owned */
    struct string_list keys; /* of the top level, so far */
    long class_count;        /* `nc`; -1 while not given */
    size_t class_count_line;
    yaml_mark_t flip_index_mark;
};

void string_list_deinit(struct string_list *list) {
    for (size_t i = 0; i < list->count; i++)
        free(list->items[i]);
    free(list->items);
    *list = (struct string_list){0};
}

int string_list_add(struct string_list *list, const char *text) {
    /* Full at every power of two. */
    if ((list->count & (list->count - 1)) == 0) {
        size_t capacity = list->count == 0 ? 1 : 2 * list->count;
        char **items = reallocarray(list->items, capacity, sizeof *items);
        if (!items)
            return ERR_MEMORY;
        list->items = items;
    }
    char *copy = strdup(text);
    if (!copy)
        return ERR_MEMORY;
    list->items[list->count++] = copy;
    return 0;
}

void data_yaml_deinit(struct data_yaml *yaml) {
    struct data_yaml_split *splits[] = {&yaml->train, &yaml->val, &yaml->test};
    for (int i = 0; i < 3; i++) {
        string_list_deinit(&splits[i]->rgb);
        string_list_deinit(&splits[i]->ir);
    }
    string_list_deinit(&yaml->names);
    string_list_deinit(&yaml->unknown_keys);
    free(yaml->file);
    free(yaml->path);
    free(yaml->base);
    free(yaml->task);
    *yaml = (struct data_yaml){0};
}

/* ---- messages ---------------------------------------------------------------------------------------------------- */

static int no_memory(struct reader *r) {
    return error_set(r->error, ERR_MEMORY, "%s: out of memory", r->out->file);
}

/* "file:line:column: " and the rest. */
static int fail(struct reader *r, yaml_mark_t mark, const char *format, ...) __attribute__((format(printf, 3, 4)));
static int fail(struct reader *r, yaml_mark_t mark, const char *format, ...) {
    char text[ERROR_MESSAGE_BYTES];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    return error_set(r->error, ERR_INPUT, "%s:%zu:%zu: %s", r->out->file, mark.line + 1, mark.column + 1, text);
}

/* fail() about the scalar of the event: `format` has one %s, its text made printable. */
static int fail_value(struct reader *r, const char *before, const char *after) {
    struct span value = {r->event.data.scalar.value, r->event.data.scalar.length};
    if (value.size > 60)
        value.size = 60;
    char *shown = report_printable(value);
    if (!shown)
        return no_memory(r);
    int rc = fail(r, r->event.start_mark, "%s \"%s\"%s", before, shown, after);
    free(shown);
    return rc;
}

static struct span line_text(const struct reader *r, size_t line) {
    const char *at = r->text, *end = r->text + r->size;
    for (; line > 0 && at < end; line--) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        at = newline ? newline + 1 : end;
    }
    const char *stop = at < end ? memchr(at, '\n', (size_t)(end - at)) : NULL;
    return (struct span){(const uint8_t *)at, (size_t)((stop ? stop : end) - at)};
}

static bool is_word(uint8_t c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

/* True for "0:a" and "nc:3": a key with no blank behind its colon. */
static bool lacks_blank(struct span text) {
    size_t i = 0;
    while (i < text.size && (text.data[i] == ' ' || text.data[i] == '-'))
        i++;
    size_t start = i;
    while (i < text.size && is_word(text.data[i]))
        i++;
    return i > start && i + 1 < text.size && text.data[i] == ':' && text.data[i + 1] > ' ' && text.data[i + 1] != '/' &&
           text.data[i + 1] != '\\';
}

static bool is_indented_by_tab(struct span text) {
    size_t i = 0;
    while (i < text.size && text.data[i] == ' ')
        i++;
    return i < text.size && text.data[i] == '\t';
}

/* What libyaml complains about, with the remedy for the two faults that people make. */
static int fail_syntax(struct reader *r) {
    const yaml_parser_t *p = &r->parser;
    if (p->error == YAML_MEMORY_ERROR)
        return no_memory(r);
    if (p->error == YAML_READER_ERROR)
        return error_set(r->error, ERR_INPUT, "%s: byte %zu: %s (save it as UTF-8 text)", r->out->file,
                         p->problem_offset, p->problem);
    size_t lines[] = {p->problem_mark.line, p->context ? p->context_mark.line : p->problem_mark.line,
                      p->problem_mark.line > 0 ? p->problem_mark.line - 1 : 0};
    for (int i = 0; i < 3; i++) {
        yaml_mark_t mark = {.line = lines[i]};
        if (is_indented_by_tab(line_text(r, lines[i])))
            return fail(r, mark, "a tab in the indentation: use blanks");
        if (lacks_blank(line_text(r, lines[i])))
            return fail(r, mark, "no blank after the colon: write \"key: value\"");
    }
    return fail(r, p->problem_mark, "%s%s%s", p->context ? p->context : "", p->context ? ", " : "", p->problem);
}

/* ---- events ------------------------------------------------------------------------------------------------------ */

static int next(struct reader *r) {
    yaml_event_delete(&r->event);
    return yaml_parser_parse(&r->parser, &r->event) ? 0 : fail_syntax(r);
}

static bool is_null(const yaml_event_t *event) {
    const char *text = (const char *)event->data.scalar.value;
    return event->type == YAML_SCALAR_EVENT && event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE &&
           (*text == '\0' || strcmp(text, "~") == 0 || strcasecmp(text, "null") == 0);
}

/* Passes over the value whose first event is the current one. */
static int skip_value(struct reader *r) {
    int depth = 0;
    for (;;) {
        yaml_event_type_t type = r->event.type;
        depth += type == YAML_SEQUENCE_START_EVENT || type == YAML_MAPPING_START_EVENT;
        depth -= type == YAML_SEQUENCE_END_EVENT || type == YAML_MAPPING_END_EVENT;
        if (depth == 0)
            return 0;
        if (depth > DEPTH_LIMIT)
            return fail(r, r->event.start_mark, "more than %d levels deep", DEPTH_LIMIT);
        int rc = next(r);
        if (rc != 0)
            return rc;
    }
}

/* Checks that the event is a scalar. */
static int expect_scalar(struct reader *r, const char *key, const char *wanted) {
    if (r->event.type == YAML_SCALAR_EVENT)
        return 0;
    if (r->event.type == YAML_ALIAS_EVENT)
        return fail(r, r->event.start_mark, "%s: aliases (*name) are not read: write the value out", key);
    return fail(r, r->event.start_mark, "%s: expected %s", key, wanted);
}

static int read_text(struct reader *r, const char *key, char **out) {
    int rc = expect_scalar(r, key, "one value");
    if (rc != 0 || is_null(&r->event))
        return rc;
    *out = strdup((const char *)r->event.data.scalar.value);
    return *out ? 0 : no_memory(r);
}

/* A whole decimal number from 0 to `limit`. */
static int read_number(struct reader *r, const char *key, long limit, long *out) {
    int rc = expect_scalar(r, key, "a number");
    if (rc != 0)
        return rc;
    const char *text = (const char *)r->event.data.scalar.value;
    long value = 0;
    const char *c = text;
    for (; *c >= '0' && *c <= '9' && value <= limit; c++)
        value = value * 10 + (*c - '0');
    if (c == text || *c || value > limit) {
        char before[128], after[64];
        snprintf(before, sizeof before, "%s:", key);
        snprintf(after, sizeof after, " is no whole number from 0 to %ld", limit);
        return fail_value(r, before, after);
    }
    *out = value;
    return 0;
}

/* ---- values ------------------------------------------------------------------------------------------------------ */

static int add_entry(struct reader *r, const char *key, struct string_list *list) {
    int rc = expect_scalar(r, key, "a directory or .txt list, or a list of those");
    if (rc != 0 || is_null(&r->event))
        return rc;
    if (r->event.data.scalar.length == 0)
        return fail(r, r->event.start_mark, "%s: an empty path", key);
    return string_list_add(list, (const char *)r->event.data.scalar.value) ? no_memory(r) : 0;
}

static int read_entries(struct reader *r, const char *key, struct string_list *list) {
    if (list->count != 0)
        return fail(r, r->event.start_mark, "%s: the split is given twice under different names", key);
    if (r->event.type != YAML_SEQUENCE_START_EVENT)
        return add_entry(r, key, list);
    int rc = next(r);
    while (rc == 0 && r->event.type != YAML_SEQUENCE_END_EVENT) {
        rc = add_entry(r, key, list);
        if (rc == 0)
            rc = next(r);
    }
    return rc;
}

/* The current scalar as the name of a class. */
static int read_name(struct reader *r, char **out) {
    int rc = expect_scalar(r, "names", "a name");
    if (rc != 0)
        return rc;
    struct span text = {r->event.data.scalar.value, r->event.data.scalar.length};
    if (text.size == 0)
        return fail(r, r->event.start_mark, "names: a class without a name");
    if (memchr(text.data, '\0', text.size))
        return fail(r, r->event.start_mark, "names: a NUL character in a name");
    if (r->event.data.scalar.style == YAML_PLAIN_SCALAR_STYLE && text.data[0] >= '0' && text.data[0] <= '9' &&
        lacks_blank(text))
        return fail_value(r, "names:", " has no blank after the colon: write \"0: name\"");
    *out = strdup((const char *)text.data);
    return *out ? 0 : no_memory(r);
}

static int read_names_list(struct reader *r) {
    struct string_list *names = &r->out->names;
    int rc = next(r);
    while (rc == 0 && r->event.type != YAML_SEQUENCE_END_EVENT) {
        char *name = NULL;
        if (names->count == INDEX_CLASS_LIMIT)
            return fail(r, r->event.start_mark, "names: more than %u classes", INDEX_CLASS_LIMIT);
        rc = read_name(r, &name);
        if (rc == 0 && string_list_add(names, name) != 0)
            rc = no_memory(r);
        free(name);
        if (rc == 0)
            rc = next(r);
    }
    return rc;
}

/* One "id: name" into `by_id`; *end is one more than the largest id. */
static int read_names_pair(struct reader *r, char **by_id, size_t *end) {
    long id = 0;
    if (r->event.type == YAML_SCALAR_EVENT &&
        lacks_blank((struct span){r->event.data.scalar.value, r->event.data.scalar.length}))
        return fail_value(r, "names:", " has no blank after the colon: write \"0: name\"");
    int rc = read_number(r, "names", INDEX_CLASS_LIMIT - 1, &id);
    if (rc == 0 && by_id[id])
        rc = fail(r, r->event.start_mark, "names: class %ld is there twice", id);
    if (rc == 0)
        rc = next(r);
    if (rc == 0)
        rc = read_name(r, &by_id[id]);
    if (rc == 0 && (size_t)id >= *end)
        *end = (size_t)id + 1;
    return rc;
}

static int read_names_map(struct reader *r) {
    yaml_mark_t mark = r->event.start_mark;
    char **by_id = calloc(INDEX_CLASS_LIMIT, sizeof *by_id);
    if (!by_id)
        return no_memory(r);
    size_t end = 0;
    int rc = next(r);
    while (rc == 0 && r->event.type != YAML_MAPPING_END_EVENT) {
        rc = read_names_pair(r, by_id, &end);
        if (rc == 0)
            rc = next(r);
    }
    for (size_t i = 0; i < end && rc == 0; i++) {
        if (!by_id[i])
            rc = fail(r, mark, "names: class %zu is missing (ids go from 0 to %zu without a gap)", i, end - 1);
        else if (string_list_add(&r->out->names, by_id[i]) != 0)
            rc = no_memory(r);
    }
    for (size_t i = 0; i < INDEX_CLASS_LIMIT; i++)
        free(by_id[i]);
    free(by_id);
    return rc;
}

static int read_names(struct reader *r) {
    if (r->event.type == YAML_SEQUENCE_START_EVENT)
        return read_names_list(r);
    if (r->event.type == YAML_MAPPING_START_EVENT)
        return read_names_map(r);
    if (is_null(&r->event))
        return 0;
    if (r->event.type == YAML_SCALAR_EVENT &&
        lacks_blank((struct span){r->event.data.scalar.value, r->event.data.scalar.length}))
        return fail_value(r, "names:", " has no blank after the colon: write \"0: name\"");
    return fail(r, r->event.start_mark, "names: expected a list of names, or a map of ids to names");
}

static int read_keypoint_shape(struct reader *r) {
    long shape[2] = {0};
    size_t count = 0;
    if (r->event.type != YAML_SEQUENCE_START_EVENT)
        return is_null(&r->event) ? 0 : fail(r, r->event.start_mark, "kpt_shape: expected [points, 2 or 3]");
    yaml_mark_t mark = r->event.start_mark;
    int rc = next(r);
    for (; rc == 0 && r->event.type != YAML_SEQUENCE_END_EVENT; count++) {
        if (count == 2)
            return fail(r, r->event.start_mark, "kpt_shape: expected [points, 2 or 3]");
        rc = read_number(r, "kpt_shape", KEYPOINT_LIMIT, &shape[count]);
        if (rc == 0)
            rc = next(r);
    }
    if (rc == 0 && (shape[0] == 0 || shape[1] < 2 || shape[1] > 3))
        return fail(r, mark, "kpt_shape: expected [points, 2 or 3]");
    r->out->keypoint_count = (int)shape[0];
    r->out->keypoint_dims = (int)shape[1];
    return rc;
}

static int read_flip_index(struct reader *r) {
    struct flip_index *flip = &r->out->flip_index;
    if (r->event.type != YAML_SEQUENCE_START_EVENT)
        return is_null(&r->event) ? 0 : fail(r, r->event.start_mark, "flip_idx: expected a list of key points");
    r->flip_index_mark = r->event.start_mark;
    int rc = next(r);
    while (rc == 0 && r->event.type != YAML_SEQUENCE_END_EVENT) {
        long point = 0;
        if (flip->count == KEYPOINT_LIMIT)
            return fail(r, r->event.start_mark, "flip_idx: more than %d key points", KEYPOINT_LIMIT);
        rc = read_number(r, "flip_idx", KEYPOINT_LIMIT - 1, &point);
        flip->places[flip->count++] = (uint16_t)point;
        if (rc == 0)
            rc = next(r);
    }
    return rc;
}

/* Only then are both keys known. What is no pose set may have any, as with Ultralytics. */
static int check_flip_index(struct reader *r) {
    const struct flip_index *flip = &r->out->flip_index;
    uint32_t points = (uint32_t)r->out->keypoint_count;
    if (flip->count == 0 || points == 0)
        return 0;
    if (flip->count != points)
        return fail(r, r->flip_index_mark, "flip_idx has %u entries but kpt_shape has %u points: correct one of them",
                    flip->count, points);
    for (uint32_t i = 0; i < points; i++)
        if (flip->places[i] >= points)
            return fail(r, r->flip_index_mark, "flip_idx[%u] is %u: it is 0 to %u, one of kpt_shape's points", i,
                        flip->places[i], points - 1);
    return 0;
}

static int read_class_count(struct reader *r) {
    if (is_null(&r->event))
        return 0;
    r->class_count_line = r->event.start_mark.line + 1;
    return read_number(r, "nc", INDEX_CLASS_LIMIT, &r->class_count);
}

/* ---- the file ---------------------------------------------------------------------------------------------------- */

/* Keys that say nothing about samples or labels. */
static bool is_ignored_key(const char *key) {
    static const char *const keys[] = {"download", "kpt_names", "channels", "roboflow", "yaml_file",  "minival",
                                       "author",   "version",   "license",  "date",     "description"};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (strcmp(key, keys[i]) == 0)
            return true;
    return false;
}

static int note_unknown(struct reader *r, const char *key, size_t line) {
    char *text;
    if (asprintf(&text, "%s (line %zu)", key, line) < 0)
        return no_memory(r);
    int rc = string_list_add(&r->out->unknown_keys, text);
    free(text);
    return rc ? no_memory(r) : 0;
}

static int read_split(struct reader *r, const char *key, struct data_yaml_split *split, bool infrared) {
    if (!infrared)
        split->line = r->event.start_mark.line + 1;
    return read_entries(r, key, infrared ? &split->ir : &split->rgb);
}

/* The value of a key of the top level; its first event is the current one. */
static int read_value(struct reader *r, const char *key, size_t line) {
    struct data_yaml *y = r->out;
    const struct {
        const char *name;
        struct data_yaml_split *split;
        bool infrared;
    } splits[] = {{"train", &y->train, false},    {"val", &y->val, false},     {"valid", &y->val, false},
                  {"validation", &y->val, false}, {"test", &y->test, false},   {"train_ir", &y->train, true},
                  {"val_ir", &y->val, true},      {"valid_ir", &y->val, true}, {"test_ir", &y->test, true}};
    for (size_t i = 0; i < sizeof splits / sizeof *splits; i++)
        if (strcmp(key, splits[i].name) == 0)
            return read_split(r, key, splits[i].split, splits[i].infrared);
    if (strcmp(key, "path") == 0)
        return read_text(r, key, &y->path);
    if (strcmp(key, "task") == 0)
        return read_text(r, key, &y->task);
    if (strcmp(key, "names") == 0)
        return read_names(r);
    if (strcmp(key, "nc") == 0)
        return read_class_count(r);
    if (strcmp(key, "kpt_shape") == 0)
        return read_keypoint_shape(r);
    if (strcmp(key, "flip_idx") == 0)
        return read_flip_index(r);
    int rc = is_ignored_key(key) ? 0 : note_unknown(r, key, line);
    return rc != 0 ? rc : skip_value(r);
}

/* The key that is the current event, and its value. */
static int read_pair(struct reader *r) {
    size_t line = r->event.start_mark.line + 1;
    int rc = expect_scalar(r, "key", "a word");
    for (size_t i = 0; i < r->keys.count && rc == 0; i++)
        if (strcmp(r->keys.items[i], (const char *)r->event.data.scalar.value) == 0)
            rc = fail_value(r, "key", " is there twice: remove one");
    if (rc == 0 && r->keys.count == KEY_LIMIT)
        rc = fail(r, r->event.start_mark, "more than %d keys: this is no data.yaml", KEY_LIMIT);
    if (rc == 0 && string_list_add(&r->keys, (const char *)r->event.data.scalar.value) != 0)
        rc = no_memory(r);
    if (rc == 0)
        rc = next(r);
    return rc != 0 ? rc : read_value(r, r->keys.items[r->keys.count - 1], line);
}

static int read_document(struct reader *r) {
    int rc = 0;
    do {
        rc = next(r);
    } while (rc == 0 && (r->event.type == YAML_STREAM_START_EVENT || r->event.type == YAML_DOCUMENT_START_EVENT));
    if (rc != 0)
        return rc;
    if (r->event.type != YAML_MAPPING_START_EVENT) {
        if (lacks_blank(line_text(r, r->event.start_mark.line)))
            return fail(r, r->event.start_mark, "no blank after the colon: write \"key: value\"");
        return fail(r, r->event.start_mark, "not a mapping: expected \"path: …\", \"train: …\", \"names: …\"");
    }
    rc = next(r);
    while (rc == 0 && r->event.type != YAML_MAPPING_END_EVENT) {
        rc = read_pair(r);
        if (rc == 0)
            rc = next(r);
    }
    if (rc == 0 && r->class_count >= 0 && r->out->names.count != 0 && (size_t)r->class_count != r->out->names.count)
        rc = error_set(r->error, ERR_INPUT, "%s:%zu: nc is %ld but names has %zu: correct one of them", r->out->file,
                       r->class_count_line, r->class_count, r->out->names.count);
    return rc == 0 ? check_flip_index(r) : rc;
}

/* Bytes of comments that are not ASCII become '?', so that libyaml does not judge their encoding. A '#' is a comment at
 * the start of a line or behind a blank, outside quotes (which are taken to end with their line). */
static void blank_comments(char *text, size_t size) {
    char quote = 0, before = '\n';
    bool comment = false;
    size_t start = size >= 3 && memcmp(text, "\xEF\xBB\xBF", 3) == 0 ? 3 : 0;
    for (size_t i = start; i < size; before = text[i++]) {
        char c = text[i];
        bool at_start = strchr(" \t\n\r,:[{", before) != NULL;
        if (c == '\n' || c == '\r')
            quote = 0, comment = false;
        else if (comment && ((unsigned char)c >= 0x80 || ((unsigned char)c < 0x20 && c != '\t') || c == 0x7F))
            text[i] = '?';
        else if (!comment && !quote && c == '#' && strchr(" \t\n\r", before))
            comment = true;
        else if (!comment && quote && c == quote)
            quote = 0;
        else if (!comment && !quote && at_start && (c == '"' || c == '\''))
            quote = c;
    }
}

int data_yaml_parse(struct data_yaml *out, const char *file, const char *text, size_t size, struct error *error) {
    *out = (struct data_yaml){.file = strdup(file), .base = data_yaml_directory(file)};
    struct reader r = {.out = out, .error = error, .size = size, .class_count = -1};
    char *copy = malloc(size + 1);
    int rc = 0;
    if (!out->file || !out->base || !copy || !yaml_parser_initialize(&r.parser)) {
        rc = error_set(error, ERR_MEMORY, "%s: out of memory", file);
        goto out;
    }
    memcpy(copy, text, size);
    bool utf16 = size >= 2 && ((uint8_t)text[0] ^ (uint8_t)text[1]) == 1 && (uint8_t)text[0] >= 0xFE;
    if (!utf16)
        blank_comments(copy, size);
    r.text = copy;
    yaml_parser_set_input_string(&r.parser, (const unsigned char *)copy, size);
    rc = size > DATA_YAML_LIMIT_BYTES ? error_set(error, ERR_INPUT, "%s: over 1 MiB: this is no data.yaml", file)
                                      : read_document(&r);
    yaml_event_delete(&r.event);
    yaml_parser_delete(&r.parser);
out:
    string_list_deinit(&r.keys);
    free(copy);
    if (rc != 0)
        data_yaml_deinit(out);
    return rc;
}
