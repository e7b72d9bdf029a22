#include "data_yaml.h"

#include "index.h"
#include "report.h"
#include "yaml_nodes.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KEY_LIMIT 1000u
#define MERGE_LIMIT 1000u
#define MERGE_DEPTH_LIMIT 32u
#define REMARK_LIMIT 100u /* of one file */

struct reader {
    struct data_yaml *out;
    struct yaml_nodes nodes;
    struct string_list keys; /* of the top level, so far */
    long class_count;        /* `nc`; -1 while not given */
    const struct yaml_node *class_count_node, *flip_index_node;
    char **class_names; /* by id, of a mapping */
    size_t class_end;   /* one more than its largest id */
    size_t merge_count;
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
    for (size_t i = 0; i < yaml->remark_count; i++) {
        free(yaml->remarks[i].value);
        free(yaml->remarks[i].text);
    }
    free(yaml->remarks);
    free(yaml->file);
    free(yaml->path);
    free(yaml->base);
    free(yaml->task);
    *yaml = (struct data_yaml){0};
}

/* ---- remarks ----------------------------------------------------------------------------------------------------- */

static int remark(struct reader *r, size_t line, const char *value, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
static int remark(struct reader *r, size_t line, const char *value, const char *format, ...) {
    struct data_yaml *y = r->out;
    struct data_yaml_remark *remarks = reallocarray(y->remarks, y->remark_count + 1, sizeof *remarks);
    if (!remarks)
        return yaml_no_memory(&r->nodes);
    y->remarks = remarks;
    struct data_yaml_remark *last = &remarks[y->remark_count];
    va_list arguments;
    va_start(arguments, format);
    *last = (struct data_yaml_remark){.line = line, .value = strdup(value)};
    if (!last->value || vasprintf(&last->text, format, arguments) < 0) {
        free(last->value);
        last = NULL;
    }
    va_end(arguments);
    y->remark_count += last != NULL;
    return last ? 0 : yaml_no_memory(&r->nodes);
}

/* ---- one value --------------------------------------------------------------------------------------------------- */

static int expect_scalar(struct reader *r, const struct yaml_node *node, const char *key, const char *wanted) {
    return yaml_is_scalar(node) ? 0 : yaml_fail(&r->nodes, node, "%s: expected %s", key, wanted);
}

/* Text of a value; NULL stays for one that is empty. */
static int read_text(struct reader *r, const struct yaml_node *node, const char *key, char **out) {
    int rc = expect_scalar(r, node, key, "one value");
    if (rc != 0 || yaml_is_null(node))
        return rc;
    *out = strdup((const char *)yaml_text(node).data);
    return *out ? 0 : yaml_no_memory(&r->nodes);
}

/* A whole decimal number from 0 to `limit`. */
static int read_number(struct reader *r, const struct yaml_node *node, const char *key, long limit, long *out) {
    int rc = expect_scalar(r, node, key, "a number");
    if (rc != 0)
        return rc;
    const char *text = (const char *)yaml_text(node).data;
    long value = 0;
    const char *c = text;
    for (; *c >= '0' && *c <= '9' && value <= limit; c++)
        value = value * 10 + (*c - '0');
    if (c == text || *c || value > limit) {
        char before[128], after[64];
        snprintf(before, sizeof before, "%s:", key);
        snprintf(after, sizeof after, " is no whole number from 0 to %ld", limit);
        return yaml_fail_value(&r->nodes, node, before, after);
    }
    *out = value;
    return 0;
}

/* ---- mappings ---------------------------------------------------------------------------------------------------- */

/* `merged`: the pair came by a merge key (<<), so that one of the same key that was there before it counts. */
typedef int visit_pair(struct reader *r, const struct yaml_node *key, const struct yaml_node *value, bool merged);

static bool is_merge_key(const struct yaml_node *key) {
    return yaml_is_scalar(key) && key->event.data.scalar.style == YAML_PLAIN_SCALAR_STYLE &&
           strcmp((const char *)yaml_text(key).data, "<<") == 0;
}

static int visit_pairs(struct reader *r, const struct yaml_node *mapping, unsigned depth, visit_pair *visit);

/* The value of a merge key: a mapping, or a list of them. */
static int visit_merged(struct reader *r, const struct yaml_node *value, unsigned depth, visit_pair *visit) {
    size_t at;
    if (value->event.type == YAML_MAPPING_START_EVENT) {
        if (depth == MERGE_DEPTH_LIMIT || ++r->merge_count > MERGE_LIMIT)
            return yaml_fail(&r->nodes, value, "<<: too many merges: write the keys out");
        return visit_pairs(r, value, depth + 1, visit);
    }
    if (value->event.type != YAML_SEQUENCE_START_EVENT)
        return yaml_fail(&r->nodes, value, "<<: expected a mapping (*name of one), or a list of those");
    int rc = 0;
    for (const struct yaml_node *item = yaml_first(&r->nodes, value, &at); item && rc == 0;
         item = yaml_after(&r->nodes, &at))
        rc = item->event.type == YAML_MAPPING_START_EVENT
                 ? visit_merged(r, item, depth, visit)
                 : yaml_fail(&r->nodes, item, "<<: expected a mapping (*name of one)");
    return rc;
}

/* Every pair of a mapping: its own first, then those that are merged into it. */
static int visit_pairs(struct reader *r, const struct yaml_node *mapping, unsigned depth, visit_pair *visit) {
    int rc = 0;
    for (int merging = 0; merging < 2; merging++) {
        size_t at;
        for (const struct yaml_node *key = yaml_first(&r->nodes, mapping, &at); key && rc == 0;
             key = yaml_after(&r->nodes, &at)) {
            const struct yaml_node *value = yaml_after(&r->nodes, &at);
            if (is_merge_key(key) == merging)
                rc = merging ? visit_merged(r, value, depth, visit) : visit(r, key, value, depth > 0);
        }
    }
    return rc;
}

/* ---- splits ------------------------------------------------------------------------------------------------------ */

static int add_entry(struct reader *r, const struct yaml_node *node, const char *key, struct string_list *list) {
    int rc = expect_scalar(r, node, key, "a directory or .txt list, or a list of those");
    if (rc != 0 || yaml_is_null(node))
        return rc;
    struct span text = yaml_text(node);
    if (text.size == 0)
        return yaml_fail(&r->nodes, node, "%s: an empty path", key);
    for (size_t i = 0; i < text.size; i++)
        if (text.data[i] < ' ')
            return yaml_fail(&r->nodes, node,
                             text.data[i] == '\n'
                                 ? "%s: a path of several lines: write a list, [one, two]"
                                 : "%s: a control character in the path (in double quotes \\t is a tab): write '/'",
                             key);
    return string_list_add(list, (const char *)text.data) ? yaml_no_memory(&r->nodes) : 0;
}

static int read_entries(struct reader *r, const struct yaml_node *node, const char *key, struct string_list *list) {
    if (list->count != 0)
        return yaml_fail(&r->nodes, node, "%s: the split is given twice under different names", key);
    size_t at;
    int rc = 0;
    if (node->event.type == YAML_SEQUENCE_START_EVENT)
        for (const struct yaml_node *item = yaml_first(&r->nodes, node, &at); item && rc == 0;
             item = yaml_after(&r->nodes, &at))
            rc = add_entry(r, item, key, list);
    else
        rc = add_entry(r, node, key, list);
    if (rc == 0 && list->count == 0 && strcmp(key, "test") != 0)
        rc = remark(r, yaml_line(node), key, "the key has no value: there is no such split");
    return rc;
}

/* ---- classes ----------------------------------------------------------------------------------------------------- */

static int fail_blank(struct reader *r, const struct yaml_node *node) {
    return yaml_fail_value(&r->nodes, node, "names:", " has no blank after the colon: write \"0: name\"");
}

static int read_name(struct reader *r, const struct yaml_node *node, char **out) {
    int rc = expect_scalar(r, node, "names", "a name");
    if (rc != 0)
        return rc;
    struct span text = yaml_text(node);
    if (text.size == 0)
        return yaml_fail(&r->nodes, node, "names: a class without a name");
    if (memchr(text.data, '\0', text.size))
        return yaml_fail(&r->nodes, node, "names: a NUL character in a name");
    if (node->event.data.scalar.style == YAML_PLAIN_SCALAR_STYLE && text.data[0] >= '0' && text.data[0] <= '9' &&
        yaml_lacks_blank(text))
        return fail_blank(r, node);
    *out = strdup((const char *)text.data);
    return *out ? 0 : yaml_no_memory(&r->nodes);
}

static int read_names_list(struct reader *r, const struct yaml_node *list) {
    struct string_list *names = &r->out->names;
    size_t at;
    int rc = 0;
    for (const struct yaml_node *item = yaml_first(&r->nodes, list, &at); item && rc == 0;
         item = yaml_after(&r->nodes, &at)) {
        char *name = NULL;
        if (names->count == INDEX_CLASS_LIMIT)
            return yaml_fail(&r->nodes, item, "names: more than %u classes", INDEX_CLASS_LIMIT);
        rc = read_name(r, item, &name);
        if (rc == 0 && string_list_add(names, name) != 0)
            rc = yaml_no_memory(&r->nodes);
        free(name);
    }
    return rc;
}

/* One "id: name". */
static int read_names_pair(struct reader *r, const struct yaml_node *key, const struct yaml_node *value, bool merged) {
    long id = 0;
    if (yaml_is_scalar(key) && yaml_lacks_blank(yaml_text(key)))
        return fail_blank(r, key);
    int rc = read_number(r, key, "names", INDEX_CLASS_LIMIT - 1, &id);
    if (rc != 0)
        return rc;
    if (r->class_names[id]) {
        const char *first = r->class_names[id];
        char *shown = merged ? NULL : report_printable((struct span){(const uint8_t *)first, strlen(first)});
        rc = merged ? 0
             : shown
                 ? yaml_fail(&r->nodes, key, "names: class %ld is there twice, \"%.60s\" first: remove one", id, shown)
                 : yaml_no_memory(&r->nodes);
        free(shown);
        return rc;
    }
    if ((size_t)id >= r->class_end)
        r->class_end = (size_t)id + 1;
    return read_name(r, value, &r->class_names[id]);
}

static int read_names_map(struct reader *r, const struct yaml_node *map) {
    r->class_names = calloc(INDEX_CLASS_LIMIT, sizeof *r->class_names);
    if (!r->class_names)
        return yaml_no_memory(&r->nodes);
    int rc = visit_pairs(r, map, 0, read_names_pair);
    for (size_t i = 0; i < r->class_end && rc == 0; i++) {
        if (!r->class_names[i])
            rc = yaml_fail(&r->nodes, map, "names: class %zu is missing (ids go from 0 to %zu without a gap)%s", i,
                           r->class_end - 1, i == 0 ? ": do they start at 1? Subtract 1, in the label files too" : "");
        else if (string_list_add(&r->out->names, r->class_names[i]) != 0)
            rc = yaml_no_memory(&r->nodes);
    }
    for (size_t i = 0; i < INDEX_CLASS_LIMIT; i++)
        free(r->class_names[i]);
    free(r->class_names);
    return rc;
}

struct named {
    const char *name;
    uint32_t id;
};

static int compare_named(const void *a, const void *b) {
    const struct named *x = a, *y = b;
    int order = strcmp(x->name, y->name);
    return order != 0 ? order : x->id < y->id ? -1 : x->id > y->id;
}

/* Classes of one name stay apart, as their ids do; but who wrote that hardly meant it. */
static int remark_equal_names(struct reader *r, size_t line) {
    const struct string_list *names = &r->out->names;
    struct named *sorted = calloc(names->count + 1, sizeof *sorted);
    int rc = sorted ? 0 : yaml_no_memory(&r->nodes);
    for (size_t i = 0; i < names->count && rc == 0; i++)
        sorted[i] = (struct named){names->items[i], (uint32_t)i};
    if (rc == 0)
        qsort(sorted, names->count, sizeof *sorted, compare_named);
    for (size_t i = 1, first = 0; i < names->count && rc == 0; i++) {
        if (strcmp(sorted[i].name, sorted[first].name) != 0)
            first = i;
        else if (r->out->remark_count < REMARK_LIMIT)
            rc = remark(r, line, sorted[i].name, "classes %u and %u have this name, and stay two: correct names",
                        sorted[first].id, sorted[i].id);
    }
    free(sorted);
    return rc;
}

static int read_names(struct reader *r, const struct yaml_node *node) {
    int rc = 0;
    if (node->event.type == YAML_SEQUENCE_START_EVENT)
        rc = read_names_list(r, node);
    else if (node->event.type == YAML_MAPPING_START_EVENT)
        rc = read_names_map(r, node);
    else if (yaml_is_null(node))
        return 0;
    else if (yaml_is_scalar(node) && yaml_lacks_blank(yaml_text(node)))
        return fail_blank(r, node);
    else
        return yaml_fail(&r->nodes, node, "names: expected a list of names, [car, bus], or a map of ids to names");
    return rc == 0 ? remark_equal_names(r, yaml_line(node)) : rc;
}

static int read_class_count(struct reader *r, const struct yaml_node *node) {
    if (yaml_is_null(node))
        return 0;
    r->class_count_node = node;
    return read_number(r, node, "nc", INDEX_CLASS_LIMIT, &r->class_count);
}

/* Only then are both keys known. Without names, nc alone gives those that it gives in Ultralytics. */
static int check_class_count(struct reader *r) {
    struct string_list *names = &r->out->names;
    int rc = 0;
    if (names->count != 0)
        return r->class_count >= 0 && (size_t)r->class_count != names->count
                   ? yaml_fail(&r->nodes, r->class_count_node, "nc is %ld but names has %zu: correct one of them",
                               r->class_count, names->count)
                   : 0;
    if (r->class_count <= 0)
        return remark(r, 0, "names", "there are none: classes are called by their numbers, and any number is one");
    for (long i = 0; i < r->class_count && rc == 0; i++) {
        char name[32];
        snprintf(name, sizeof name, "class_%ld", i);
        rc = string_list_add(names, name) == 0 ? 0 : yaml_no_memory(&r->nodes);
    }
    return rc == 0 ? remark(r, yaml_line(r->class_count_node), "names",
                            "there are none: by nc, classes are called class_0 to class_%ld", r->class_count - 1)
                   : rc;
}

/* ---- key points -------------------------------------------------------------------------------------------------- */

static int read_keypoint_shape(struct reader *r, const struct yaml_node *node) {
    long shape[2] = {0};
    size_t count = 0, at;
    if (node->event.type != YAML_SEQUENCE_START_EVENT)
        return yaml_is_null(node) ? 0 : yaml_fail(&r->nodes, node, "kpt_shape: expected [points, 2 or 3]");
    for (const struct yaml_node *item = yaml_first(&r->nodes, node, &at); item; item = yaml_after(&r->nodes, &at)) {
        if (count == 2)
            return yaml_fail(&r->nodes, item, "kpt_shape: expected [points, 2 or 3]");
        int rc = read_number(r, item, "kpt_shape", KEYPOINT_LIMIT, &shape[count++]);
        if (rc != 0)
            return rc;
    }
    if (shape[0] == 0 || shape[1] < 2 || shape[1] > 3)
        return yaml_fail(&r->nodes, node, "kpt_shape: expected [points, 2 or 3]");
    r->out->keypoint_count = (int)shape[0];
    r->out->keypoint_dims = (int)shape[1];
    return 0;
}

static int read_flip_index(struct reader *r, const struct yaml_node *node) {
    struct flip_index *flip = &r->out->flip_index;
    size_t at;
    if (node->event.type != YAML_SEQUENCE_START_EVENT)
        return yaml_is_null(node) ? 0 : yaml_fail(&r->nodes, node, "flip_idx: expected a list of key points");
    r->flip_index_node = node;
    for (const struct yaml_node *item = yaml_first(&r->nodes, node, &at); item; item = yaml_after(&r->nodes, &at)) {
        long point = 0;
        if (flip->count == KEYPOINT_LIMIT)
            return yaml_fail(&r->nodes, item, "flip_idx: more than %d key points", KEYPOINT_LIMIT);
        int rc = read_number(r, item, "flip_idx", KEYPOINT_LIMIT - 1, &point);
        if (rc != 0)
            return rc;
        flip->places[flip->count++] = (uint16_t)point;
    }
    return 0;
}

/* Only then are both keys known. What is no pose set may have any, as with Ultralytics. */
static int check_flip_index(struct reader *r) {
    const struct flip_index *flip = &r->out->flip_index;
    uint32_t points = (uint32_t)r->out->keypoint_count;
    if (flip->count == 0 || points == 0)
        return 0;
    if (flip->count != points)
        return yaml_fail(&r->nodes, r->flip_index_node,
                         "flip_idx has %u entries but kpt_shape has %u points: correct one of them", flip->count,
                         points);
    for (uint32_t i = 0; i < points; i++)
        if (flip->places[i] >= points)
            return yaml_fail(&r->nodes, r->flip_index_node,
                             "flip_idx[%u] is %u: it is 0 to %u, one of kpt_shape's points", i, flip->places[i],
                             points - 1);
    return 0;
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

/* A key with an anchor is there to be named elsewhere. */
static bool has_anchor(const struct yaml_node *value) {
    const yaml_event_t *e = &value->event;
    return (e->type == YAML_SCALAR_EVENT && e->data.scalar.anchor) ||
           (e->type == YAML_SEQUENCE_START_EVENT && e->data.sequence_start.anchor) ||
           (e->type == YAML_MAPPING_START_EVENT && e->data.mapping_start.anchor);
}

static int note_unknown(struct reader *r, const char *key, size_t line) {
    char *text;
    if (asprintf(&text, "%s (line %zu)", key, line) < 0)
        return yaml_no_memory(&r->nodes);
    int rc = string_list_add(&r->out->unknown_keys, text);
    free(text);
    return rc ? yaml_no_memory(&r->nodes) : 0;
}

static int read_split(struct reader *r, const struct yaml_node *node, const char *key, struct data_yaml_split *split,
                      bool infrared) {
    if (!infrared)
        split->line = yaml_line(node);
    return read_entries(r, node, key, infrared ? &split->ir : &split->rgb);
}

/* The value of a key of the top level. */
static int read_value(struct reader *r, const struct yaml_node *node, const char *key, size_t line) {
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
            return read_split(r, node, key, splits[i].split, splits[i].infrared);
    if (strcmp(key, "path") == 0)
        return read_text(r, node, key, &y->path);
    if (strcmp(key, "task") == 0)
        return read_text(r, node, key, &y->task);
    if (strcmp(key, "names") == 0)
        return read_names(r, node);
    if (strcmp(key, "nc") == 0)
        return read_class_count(r, node);
    if (strcmp(key, "kpt_shape") == 0)
        return read_keypoint_shape(r, node);
    if (strcmp(key, "flip_idx") == 0)
        return read_flip_index(r, node);
    return is_ignored_key(key) || has_anchor(node) ? 0 : note_unknown(r, key, line);
}

/* A key of the top level and its value. */
static int read_pair(struct reader *r, const struct yaml_node *key, const struct yaml_node *value, bool merged) {
    int rc = expect_scalar(r, key, "key", "a word");
    const char *text = rc == 0 ? (const char *)yaml_text(key).data : "";
    for (size_t i = 0; i < r->keys.count && rc == 0; i++)
        if (strcmp(r->keys.items[i], text) == 0)
            return merged ? 0 : yaml_fail_value(&r->nodes, key, "key", " is there twice: remove one");
    if (rc == 0 && r->keys.count == KEY_LIMIT)
        rc = yaml_fail(&r->nodes, key, "more than %u keys: this is no data.yaml", KEY_LIMIT);
    if (rc == 0 && string_list_add(&r->keys, text) != 0)
        rc = yaml_no_memory(&r->nodes);
    return rc != 0 ? rc : read_value(r, value, text, yaml_line(key));
}

static int read_document(struct reader *r) {
    int rc = yaml_nodes_read(&r->nodes);
    if (rc != 0)
        return rc;
    const struct yaml_node *root = yaml_root(&r->nodes);
    if (root && yaml_is_scalar(root) && yaml_lacks_blank(yaml_text(root)))
        return yaml_fail(&r->nodes, root, "no blank after the colon: write \"key: value\"");
    if (!root || root->event.type != YAML_MAPPING_START_EVENT)
        return yaml_fail(&r->nodes, root, "not a mapping: expected \"path: …\", \"train: …\", \"names: …\"");
    rc = visit_pairs(r, root, 0, read_pair);
    if (rc == 0)
        rc = check_class_count(r);
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
    char *copy = malloc(size + 1);
    struct reader r = {
        .out = out, .nodes = {.file = file, .text = copy, .size = size, .error = error}, .class_count = -1};
    int rc = 0;
    if (!out->file || !out->base || !copy) {
        rc = error_set(error, ERR_MEMORY, "%s: out of memory", file);
        goto out;
    }
    memcpy(copy, text, size);
    bool utf16 = size >= 2 && ((uint8_t)text[0] ^ (uint8_t)text[1]) == 1 && (uint8_t)text[0] >= 0xFE;
    if (!utf16)
        blank_comments(copy, size);
    rc = size > DATA_YAML_LIMIT_BYTES ? error_set(error, ERR_INPUT, "%s: over 1 MiB: this is no data.yaml", file)
                                      : read_document(&r);
out:
    yaml_nodes_deinit(&r.nodes);
    string_list_deinit(&r.keys);
    free(copy);
    if (rc != 0)
        data_yaml_deinit(out);
    return rc;
}
