#include "yaml_nodes.h"

#include "report.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/*
 *   text ──> libyaml's events ──> one node each, in a table
 *
 * An alias is a node of its own that points back to what it stands for, so that nothing is ever copied or expanded.
 */

#define NODE_LIMIT 200000u

/* ---- messages ---------------------------------------------------------------------------------------------------- */

int yaml_no_memory(const struct yaml_nodes *y) {
    return error_set(y->error, ERR_MEMORY, "%s: out of memory", y->file);
}

static int fail_at(const struct yaml_nodes *y, yaml_mark_t mark, const char *text) {
    return error_set(y->error, ERR_INPUT, "%s:%zu:%zu: %s", y->file, mark.line + 1, mark.column + 1, text);
}

int yaml_fail(const struct yaml_nodes *y, const struct yaml_node *node, const char *format, ...) {
    char text[ERROR_MESSAGE_BYTES];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    return fail_at(y, node ? node->event.start_mark : (yaml_mark_t){0}, text);
}

int yaml_fail_value(const struct yaml_nodes *y, const struct yaml_node *scalar, const char *before, const char *after) {
    struct span value = yaml_text(scalar);
    if (value.size > 60)
        value.size = 60;
    char *shown = report_printable(value);
    if (!shown)
        return yaml_no_memory(y);
    int rc = yaml_fail(y, scalar, "%s \"%s\"%s", before, shown, after);
    free(shown);
    return rc;
}

static struct span line_text(const struct yaml_nodes *y, size_t line) {
    const char *at = y->text, *end = y->text + y->size;
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

bool yaml_lacks_blank(struct span text) {
    size_t i = 0;
    while (i < text.size && (text.data[i] == ' ' || text.data[i] == '-'))
        i++;
    size_t start = i;
    while (i < text.size && is_word(text.data[i]))
        i++;
    return i > start && i + 1 < text.size && text.data[i] == ':' && text.data[i + 1] > ' ' && text.data[i + 1] != '/' &&
           text.data[i + 1] != '\\';
}

static size_t indentation(struct span text) {
    size_t i = 0;
    while (i < text.size && text.data[i] == ' ')
        i++;
    return i;
}

static bool is_indented_by_tab(struct span text) {
    size_t i = indentation(text);
    return i < text.size && text.data[i] == '\t';
}

/* True for "-car". */
static bool lacks_blank_after_dash(struct span text) {
    size_t i = indentation(text);
    return i + 1 < text.size && text.data[i] == '-' && is_word(text.data[i + 1]);
}

/* What to do about one of libyaml's complaints; "" where it says enough. */
static const char *remedy_of(const char *problem) {
    static const char *const remedies[][2] = {
        {"unknown escape character", ": in double quotes \\ begins an escape: write '/', or single quotes"},
        {"mapping values are not allowed", ": put a value with a colon in it in quotes, and begin keys of one level in "
                                           "one column"},
        {"did not find expected <document start>", ": begin all keys in one column"},
        {"undefined alias", ": an anchor (&name) has to come first"},
    };
    for (size_t i = 0; i < sizeof remedies / sizeof *remedies; i++)
        if (strstr(problem, remedies[i][0]))
            return remedies[i][1];
    return "";
}

/* What libyaml complains about, with the remedy for the faults that people make. */
static int fail_syntax(const struct yaml_nodes *y, const yaml_parser_t *p) {
    char text[ERROR_MESSAGE_BYTES];
    if (p->error == YAML_MEMORY_ERROR)
        return yaml_no_memory(y);
    if (p->error == YAML_READER_ERROR)
        return error_set(y->error, ERR_INPUT, "%s: byte %zu: %s (save it as UTF-8 text)", y->file, p->problem_offset,
                         p->problem);
    size_t lines[] = {p->problem_mark.line, p->context ? p->context_mark.line : p->problem_mark.line,
                      p->problem_mark.line > 0 ? p->problem_mark.line - 1 : 0};
    for (int i = 0; i < 3; i++) {
        yaml_mark_t mark = {.line = lines[i]};
        if (is_indented_by_tab(line_text(y, lines[i])))
            return fail_at(y, mark, "a tab in the indentation: use blanks");
        if (yaml_lacks_blank(line_text(y, lines[i])))
            return fail_at(y, mark, "no blank after the colon: write \"key: value\"");
        if (lacks_blank_after_dash(line_text(y, lines[i])))
            return fail_at(y, mark, "no blank after the dash: write \"- name\"");
    }
    snprintf(text, sizeof text, "%s%s%s%s", p->context ? p->context : "", p->context ? ", " : "", p->problem,
             remedy_of(p->problem));
    return fail_at(y, p->problem_mark, text);
}

/* ---- reading ----------------------------------------------------------------------------------------------------- */

/* The event's anchor, alias or tag; NULL if it has none. */
static const char *anchor_of(const yaml_event_t *e) {
    const yaml_char_t *name = e->type == YAML_SCALAR_EVENT           ? e->data.scalar.anchor
                              : e->type == YAML_SEQUENCE_START_EVENT ? e->data.sequence_start.anchor
                              : e->type == YAML_MAPPING_START_EVENT  ? e->data.mapping_start.anchor
                                                                     : NULL;
    return (const char *)name;
}

static const char *tag_of(const yaml_event_t *e) {
    const yaml_char_t *tag = e->type == YAML_SCALAR_EVENT           ? e->data.scalar.tag
                             : e->type == YAML_SEQUENCE_START_EVENT ? e->data.sequence_start.tag
                             : e->type == YAML_MAPPING_START_EVENT  ? e->data.mapping_start.tag
                                                                    : NULL;
    return (const char *)tag;
}

static bool is_start(const struct yaml_node *node) {
    return node->event.type == YAML_SEQUENCE_START_EVENT || node->event.type == YAML_MAPPING_START_EVENT;
}

static bool is_end(const struct yaml_node *node) {
    return node->event.type == YAML_SEQUENCE_END_EVENT || node->event.type == YAML_MAPPING_END_EVENT;
}

/* "!!str" and its like; Python's and a program's own would need more than reading. */
static int check_tag(const struct yaml_nodes *y, const struct yaml_node *node) {
    static const char plain[] = "tag:yaml.org,2002:";
    const char *tag = tag_of(&node->event);
    if (!tag || strcmp(tag, "!") == 0)
        return 0;
    bool is_plain = strncmp(tag, plain, sizeof plain - 1) == 0;
    const char *type = is_plain ? tag + sizeof plain - 1 : tag;
    if (is_plain && strncmp(type, "python/", 7) != 0)
        return 0;
    char *shown = report_printable((struct span){(const uint8_t *)type, strlen(type)});
    if (!shown)
        return yaml_no_memory(y);
    int rc = yaml_fail(y, node, "the tag %s%.60s is not read: remove it and write the value out", is_plain ? "!!" : "",
                       shown);
    free(shown);
    return rc;
}

/* Points the alias to the last node before it with that anchor. Anchors are few, and aliases fewer. */
static int resolve(const struct yaml_nodes *y, struct yaml_node *alias, size_t *const anchors, size_t anchor_count) {
    const char *name = (const char *)alias->event.data.alias.anchor;
    for (size_t i = anchor_count; i-- > 0;) {
        const struct yaml_node *node = &y->items[anchors[i]];
        if (strcmp(anchor_of(&node->event), name) != 0)
            continue;
        if (node->next == 0)
            return yaml_fail_value(y, alias, "the alias", " stands inside of what it names: write the value out");
        alias->target = anchors[i];
        return 0;
    }
    return yaml_fail_value(y, alias, "the alias", " names nothing: an anchor (&name) has to come first");
}

static int add_node(struct yaml_nodes *y, yaml_event_t *event) {
    if (y->count == NODE_LIMIT) {
        int rc = fail_at(y, event->start_mark, "more than 200,000 values: this is no data.yaml");
        yaml_event_delete(event);
        return rc;
    }
    if (y->count == y->capacity) {
        size_t capacity = y->capacity ? 2 * y->capacity : 64;
        struct yaml_node *items = reallocarray(y->items, capacity, sizeof *items);
        if (!items) {
            yaml_event_delete(event);
            return yaml_no_memory(y);
        }
        y->items = items;
        y->capacity = capacity;
    }
    y->items[y->count] = (struct yaml_node){.event = *event, .target = y->count};
    y->count++;
    return 0;
}

/* What is open, and which nodes have anchors, while the table grows. */
struct building {
    size_t open[YAML_DEPTH_LIMIT + 1], depth;
    size_t anchors[1000], anchor_count;
};

/* The node that was added last: where it ends, or that what is open ends with it. */
static int place_node(struct yaml_nodes *y, struct building *b) {
    size_t index = y->count - 1;
    struct yaml_node *node = &y->items[index];
    if (anchor_of(&node->event)) {
        if (b->anchor_count == sizeof b->anchors / sizeof *b->anchors)
            return yaml_fail(y, node, "more than 1000 anchors: this is no data.yaml");
        b->anchors[b->anchor_count++] = index;
    }
    if (is_start(node)) {
        if (b->depth == YAML_DEPTH_LIMIT)
            return yaml_fail(y, node, "more than %d levels deep", YAML_DEPTH_LIMIT);
        b->open[b->depth++] = index;
        return check_tag(y, node);
    }
    node->next = index + 1;
    if (is_end(node))
        y->items[b->open[--b->depth]].next = index + 1;
    return node->event.type == YAML_ALIAS_EVENT ? resolve(y, node, b->anchors, b->anchor_count) : check_tag(y, node);
}

/* Reads events up to the end of the stream, or until something is wrong. */
static int read_events(struct yaml_nodes *y, yaml_parser_t *parser) {
    struct building b = {.depth = 0};
    for (bool first = true;;) {
        yaml_event_t event;
        if (!yaml_parser_parse(parser, &event))
            return fail_syntax(y, parser);
        yaml_event_type_t type = event.type;
        bool is_node = type != YAML_STREAM_START_EVENT && type != YAML_STREAM_END_EVENT &&
                       type != YAML_DOCUMENT_START_EVENT && type != YAML_DOCUMENT_END_EVENT;
        int rc = 0;
        if (type == YAML_DOCUMENT_START_EVENT && !first)
            rc = fail_at(y, event.start_mark, "a second document (---): only one is read, put all keys into it");
        first = first && type != YAML_DOCUMENT_START_EVENT;
        if (is_node)
            rc = add_node(y, &event);
        else
            yaml_event_delete(&event);
        if (rc == 0 && is_node)
            rc = place_node(y, &b);
        if (rc != 0 || type == YAML_STREAM_END_EVENT)
            return rc;
    }
}

int yaml_nodes_read(struct yaml_nodes *y) {
    yaml_parser_t parser;
    if (!yaml_parser_initialize(&parser))
        return yaml_no_memory(y);
    yaml_parser_set_input_string(&parser, (const unsigned char *)y->text, y->size);
    int rc = read_events(y, &parser);
    yaml_parser_delete(&parser);
    return rc;
}

void yaml_nodes_deinit(struct yaml_nodes *y) {
    for (size_t i = 0; i < y->count; i++)
        yaml_event_delete(&y->items[i].event);
    free(y->items);
    y->items = NULL;
    y->count = y->capacity = 0;
}

/* ---- walking ----------------------------------------------------------------------------------------------------- */

static const struct yaml_node *node_at(const struct yaml_nodes *y, size_t at) {
    return is_end(&y->items[at]) ? NULL : &y->items[y->items[at].target];
}

const struct yaml_node *yaml_root(const struct yaml_nodes *y) {
    return y->count ? node_at(y, 0) : NULL;
}

const struct yaml_node *yaml_first(const struct yaml_nodes *y, const struct yaml_node *collection, size_t *at) {
    *at = (size_t)(collection - y->items) + 1;
    return node_at(y, *at);
}

const struct yaml_node *yaml_after(const struct yaml_nodes *y, size_t *at) {
    *at = y->items[*at].next;
    return node_at(y, *at);
}

bool yaml_is_scalar(const struct yaml_node *node) {
    return node->event.type == YAML_SCALAR_EVENT;
}

bool yaml_is_null(const struct yaml_node *node) {
    const char *text = (const char *)node->event.data.scalar.value;
    return yaml_is_scalar(node) && node->event.data.scalar.style == YAML_PLAIN_SCALAR_STYLE &&
           (*text == '\0' || strcmp(text, "~") == 0 || strcasecmp(text, "null") == 0);
}

struct span yaml_text(const struct yaml_node *scalar) {
    if (scalar->event.type == YAML_ALIAS_EVENT) {
        const char *name = (const char *)scalar->event.data.alias.anchor;
        return (struct span){(const uint8_t *)name, strlen(name)};
    }
    return (struct span){scalar->event.data.scalar.value, scalar->event.data.scalar.length};
}

size_t yaml_line(const struct yaml_node *node) {
    return node->event.start_mark.line + 1;
}
