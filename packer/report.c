#include "report.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#define VALUE_SHOWN_BYTES 160 /* of a value; the rest is cut, so that one bad file cannot fill the report */

static const char REPORT_HEAD[] = "path\tline\tcolumn\trule\taction\tvalue\tmessage\n";

enum { FIELD_PATH, FIELD_LINE, FIELD_COLUMN, FIELD_RULE, FIELD_ACTION, FIELD_VALUE, FIELD_MESSAGE, FIELD_COUNT };

const struct report_rule_info *report_rule_info(enum report_rule rule) {
    static const struct report_rule_info table[RULE_COUNT] = {
#define X(id, name, action, what, remedy) [RULE_##id] = {name, action, what, remedy},
        REPORT_RULES(X)
#undef X
    };
    return &table[rule];
}

const char *report_action_text(enum report_action action) {
    switch (action) {
    case ACTION_REJECTED: return "rejected";
    case ACTION_DROPPED: return "dropped";
    case ACTION_CLAMPED: return "clamped";
    case ACTION_NOTE: return "note";
    }
    return "note";
}

/* Bytes of the well-formed UTF-8 sequence at `p` if its character is printable (no C0, DEL or C1); else 0. */
static size_t printable_length(const uint8_t *p, size_t n) {
    uint8_t c = p[0];
    if (c < 0x80)
        return c >= 0x20 && c != 0x7F;
    size_t length = c >= 0xC2 && c <= 0xDF ? 2 : c >= 0xE0 && c <= 0xEF ? 3 : c >= 0xF0 && c <= 0xF4 ? 4 : 0;
    if (length == 0 || length > n)
        return 0;
    for (size_t i = 1; i < length; i++)
        if ((p[i] & 0xC0) != 0x80)
            return 0;
    bool overlong = (c == 0xE0 && p[1] < 0xA0) || (c == 0xF0 && p[1] < 0x90);
    bool surrogate = c == 0xED && p[1] > 0x9F;
    bool beyond = c == 0xF4 && p[1] > 0x8F;
    bool control = c == 0xC2 && p[1] < 0xA0;
    return overlong || surrogate || beyond || control ? 0 : length;
}

/* In fields that must lead back to the bytes on disk a backslash is doubled; in sentences it stays. */
enum escape { ESCAPE_REVERSIBLE, ESCAPE_SENTENCE };

static int append_escaped(struct bytes *out, struct span text, enum escape escape) {
    int rc = 0;
    size_t done = 0; /* bytes before it are written */
    for (size_t i = 0; i < text.size && rc == 0;) {
        uint8_t c = text.data[i];
        size_t length = printable_length(text.data + i, text.size - i);
        if (length != 0 && (c != '\\' || escape == ESCAPE_SENTENCE)) {
            i += length;
            continue;
        }
        char code[8];
        int size = c == '\\'   ? snprintf(code, sizeof code, "\\\\")
                   : c == '\t' ? snprintf(code, sizeof code, "\\t")
                   : c == '\n' ? snprintf(code, sizeof code, "\\n")
                               : snprintf(code, sizeof code, "\\x%02X", c);
        rc = bytes_append(out, text.data + done, i - done);
        if (rc == 0)
            rc = bytes_append(out, code, (size_t)size);
        done = ++i;
    }
    return rc != 0 || done == text.size ? rc : bytes_append(out, text.data + done, text.size - done);
}

static struct span span_of(const char *text) {
    return (struct span){(const uint8_t *)text, text ? strlen(text) : 0};
}

static int append_value(struct bytes *out, struct span value) {
    if (value.size <= VALUE_SHOWN_BYTES)
        return append_escaped(out, value, ESCAPE_REVERSIBLE);
    size_t shown = VALUE_SHOWN_BYTES;
    while (shown > VALUE_SHOWN_BYTES - 3 && (value.data[shown] & 0xC0) == 0x80)
        shown--;
    int rc = append_escaped(out, (struct span){value.data, shown}, ESCAPE_REVERSIBLE);
    return rc != 0 ? rc : bytes_append(out, "…", sizeof "…" - 1);
}

static int append_message(struct bytes *out, const char *format, va_list arguments) {
    char shorter[512];
    va_list again;
    va_copy(again, arguments);
    int rc = 0;
    char *longer = NULL;
    int size = vsnprintf(shorter, sizeof shorter, format, arguments);
    if (size < 0)
        size = 0;
    if ((size_t)size >= sizeof shorter) {
        longer = malloc((size_t)size + 1);
        if (longer)
            vsnprintf(longer, (size_t)size + 1, format, again);
        else
            rc = ERR_MEMORY;
    }
    if (rc == 0)
        rc = append_escaped(out, (struct span){(uint8_t *)(longer ? longer : shorter), (size_t)size}, ESCAPE_SENTENCE);
    free(longer);
    va_end(again);
    return rc;
}

static int append_row(struct bytes *rows, enum report_rule rule, const char *path, uint64_t line, uint64_t column,
                      struct span value, const char *format, va_list arguments) {
    const struct report_rule_info *info = report_rule_info(rule);
    int rc = append_escaped(rows, span_of(path), ESCAPE_REVERSIBLE);
    if (rc != 0)
        return rc;
    char middle[128];
    int size = snprintf(middle, sizeof middle, "\t%llu\t%llu\t%s\t%s\t", (unsigned long long)line,
                        (unsigned long long)column, info->name, report_action_text(info->action));
    if ((rc = bytes_append(rows, middle, (size_t)size)) != 0 || (rc = append_value(rows, value)) != 0 ||
        (rc = bytes_append(rows, "\t", 1)) != 0 || (rc = append_message(rows, format, arguments)) != 0)
        return rc;
    return bytes_append(rows, "\n", 1);
}

int report_add(struct report *r, enum report_rule rule, const char *path, uint64_t line, uint64_t column,
               struct span value, const char *format, ...) {
    size_t before = r->rows.size;
    va_list arguments;
    va_start(arguments, format);
    int rc = append_row(&r->rows, rule, path, line, column, value, format, arguments);
    va_end(arguments);
    if (rc != 0)
        r->rows.size = before;
    else
        r->counts[rule]++;
    return rc;
}

int report_append(struct report *to, const struct report *from) {
    int rc = bytes_append(&to->rows, from->rows.data, from->rows.size);
    if (rc != 0)
        return rc;
    for (int i = 0; i < RULE_COUNT; i++)
        to->counts[i] += from->counts[i];
    return 0;
}

/* The row at the start of `text`, without its newline, cut at the tabs. False if it is not one. */
static bool split_row(struct span fields[FIELD_COUNT], size_t *row_size, struct span text) {
    const uint8_t *end = text.size ? memchr(text.data, '\n', text.size) : NULL;
    if (!end)
        return false;
    const uint8_t *p = text.data;
    for (int i = 0; i < FIELD_COUNT; i++) {
        const uint8_t *stop = memchr(p, '\t', (size_t)(end - p));
        if ((stop == NULL) != (i == FIELD_COUNT - 1))
            return false;
        if (!stop)
            stop = end;
        fields[i] = (struct span){p, (size_t)(stop - p)};
        for (; p < stop; p += printable_length(p, (size_t)(stop - p)))
            if (printable_length(p, (size_t)(stop - p)) == 0)
                return false;
        p = stop + 1;
    }
    *row_size = (size_t)(end - text.data) + 1;
    return true;
}

static bool is_number(struct span text) {
    for (size_t i = 0; i < text.size; i++)
        if (text.data[i] < '0' || text.data[i] > '9')
            return false;
    return text.size > 0 && text.size < 20;
}

static bool span_equals(struct span a, const char *b) {
    return a.size == strlen(b) && memcmp(a.data, b, a.size) == 0;
}

static int find_rule(const struct span fields[FIELD_COUNT]) {
    for (int i = 0; i < RULE_COUNT; i++) {
        const struct report_rule_info *info = report_rule_info((enum report_rule)i);
        if (span_equals(fields[FIELD_RULE], info->name) &&
            span_equals(fields[FIELD_ACTION], report_action_text(info->action)))
            return i;
    }
    return -1;
}

int report_parse(struct report *out, struct span rows, struct error *error) {
    *out = (struct report){0};
    for (size_t at = 0, size = 0; at < rows.size; at += size) {
        struct span fields[FIELD_COUNT];
        int rule = -1;
        if (split_row(fields, &size, (struct span){rows.data + at, rows.size - at}) && is_number(fields[FIELD_LINE]) &&
            is_number(fields[FIELD_COLUMN]))
            rule = find_rule(fields);
        if (rule < 0) {
            report_deinit(out);
            return error_set(error, ERR_CORRUPT, "report: the row at byte %zu is not one of a report", at);
        }
        out->counts[rule]++;
    }
    if (bytes_append(&out->rows, rows.data, rows.size) != 0) {
        report_deinit(out);
        return error_set(error, ERR_MEMORY, "report: out of memory (%zu bytes)", rows.size);
    }
    return 0;
}

int report_parse_tsv(struct report *out, struct span text, struct error *error) {
    size_t head = sizeof REPORT_HEAD - 1;
    *out = (struct report){0};
    if (text.size < head || memcmp(text.data, REPORT_HEAD, head) != 0)
        return error_set(error, ERR_CORRUPT, "report: does not begin with the head line of one");
    return report_parse(out, (struct span){text.data + head, text.size - head}, error);
}

int report_append_except(struct report *to, const struct report *from, bool (*left_out)(enum report_rule rule)) {
    struct span fields[FIELD_COUNT];
    size_t before = to->rows.size;
    uint64_t counts[RULE_COUNT] = {0};
    for (size_t at = 0, size = 0; at < from->rows.size; at += size) {
        struct span rest = {from->rows.data + at, from->rows.size - at};
        int rule = split_row(fields, &size, rest) ? find_rule(fields) : -1;
        if (rule < 0)
            break; /* cannot be */
        if (left_out((enum report_rule)rule))
            continue;
        if (bytes_append(&to->rows, rest.data, size) != 0) {
            to->rows.size = before;
            return ERR_MEMORY;
        }
        counts[rule]++;
    }
    for (int i = 0; i < RULE_COUNT; i++)
        to->counts[i] += counts[i];
    return 0;
}

static struct report_example example_of(const struct span fields[FIELD_COUNT]) {
    return (struct report_example){
        .path = fields[FIELD_PATH],
        .value = fields[FIELD_VALUE],
        .message = fields[FIELD_MESSAGE],
        .line = strtoull((const char *)fields[FIELD_LINE].data, NULL, 10), /* the tab behind it stops it */
        .column = strtoull((const char *)fields[FIELD_COLUMN].data, NULL, 10),
    };
}

void report_visit(const struct report *r,
                  void (*visit)(void *arg, enum report_rule rule, const struct report_example *row), void *arg) {
    struct span fields[FIELD_COUNT];
    for (size_t at = 0, size = 0; at < r->rows.size; at += size) {
        int rule =
            split_row(fields, &size, (struct span){r->rows.data + at, r->rows.size - at}) ? find_rule(fields) : -1;
        if (rule < 0)
            break; /* cannot be */
        const struct report_example row = example_of(fields);
        visit(arg, (enum report_rule)rule, &row);
    }
}

uint64_t report_rows(const struct report *r) {
    uint64_t rows = 0;
    for (int i = 0; i < RULE_COUNT; i++)
        rows += r->counts[i];
    return rows;
}

int report_append_rows(struct report *to, const struct report *from, size_t *at, uint64_t count) {
    struct span fields[FIELD_COUNT];
    uint64_t counts[RULE_COUNT] = {0};
    size_t end = *at, size = 0;
    for (; count > 0 && end < from->rows.size; count--, end += size) {
        int rule = split_row(fields, &size, (struct span){from->rows.data + end, from->rows.size - end})
                       ? find_rule(fields)
                       : -1;
        if (rule < 0)
            break; /* cannot be */
        counts[rule]++;
    }
    if (bytes_append(&to->rows, from->rows.data + *at, end - *at) != 0)
        return ERR_MEMORY;
    *at = end;
    for (int i = 0; i < RULE_COUNT; i++)
        to->counts[i] += counts[i];
    return 0;
}

bool report_first(const struct report *r, enum report_rule rule, struct report_example *out) {
    struct span fields[FIELD_COUNT];
    for (size_t at = 0, size = 0; r->counts[rule] != 0 && at < r->rows.size; at += size) {
        if (!split_row(fields, &size, (struct span){r->rows.data + at, r->rows.size - at}))
            break; /* cannot be */
        if (find_rule(fields) != (int)rule)
            continue;
        *out = example_of(fields);
        return true;
    }
    return false;
}

enum report_rule report_most(const struct report *r, enum report_action action) {
    int most = RULE_COUNT;
    for (int i = 0; i < RULE_COUNT; i++)
        if (report_rule_info((enum report_rule)i)->action == action && r->counts[i] != 0 &&
            (most == RULE_COUNT || r->counts[i] > r->counts[most]))
            most = i;
    return (enum report_rule)most;
}

void report_example_text(char *out, size_t size, const struct report_example *example) {
    char place[48] = "";
    if (example->line != 0 && example->column != 0)
        snprintf(place, sizeof place, ":%" PRIu64 ":%" PRIu64, example->line, example->column);
    else if (example->line != 0)
        snprintf(place, sizeof place, ":%" PRIu64, example->line);
    const char *quote = example->value.size != 0 ? "\"" : "";
    snprintf(out, size, "%.*s%s: %s%.*s%s%s%.*s", (int)example->path.size, (const char *)example->path.data, place,
             quote, (int)example->value.size, example->value.size != 0 ? (const char *)example->value.data : "", quote,
             *quote ? ": " : "", (int)example->message.size, (const char *)example->message.data);
}

uint64_t report_count(const struct report *r, enum report_action action) {
    uint64_t sum = 0;
    for (int i = 0; i < RULE_COUNT; i++)
        if (report_rule_info((enum report_rule)i)->action == action)
            sum += r->counts[i];
    return sum;
}

void report_clear(struct report *r) {
    r->rows.size = 0;
    memset(r->counts, 0, sizeof r->counts);
}

void report_deinit(struct report *r) {
    bytes_deinit(&r->rows);
    *r = (struct report){0};
}

int report_tsv(const struct report *r, struct bytes *out) {
    int rc = bytes_append(out, REPORT_HEAD, sizeof REPORT_HEAD - 1);
    return rc != 0 ? rc : bytes_append(out, r->rows.data, r->rows.size);
}

struct json_sink {
    struct bytes *out;
    int rc;
};

/* The failure is kept: jansson passes over some of them. */
static int append_json_text(const char *text, size_t size, void *arg) {
    struct json_sink *sink = arg;
    if (sink->rc == 0)
        sink->rc = bytes_append(sink->out, text, size);
    return sink->rc;
}

/* Takes over `value` (NULL: memory ran out). */
static int append_json(struct bytes *out, json_t *value) {
    struct json_sink sink = {.out = out};
    int rc = value ? json_dump_callback(value, append_json_text, &sink, JSON_COMPACT | JSON_SORT_KEYS) : -1;
    json_decref(value);
    return rc == 0 && sink.rc == 0 ? 0 : ERR_MEMORY;
}

static json_t *row_json(const struct span fields[FIELD_COUNT]) {
    static const char *const keys[FIELD_COUNT] = {"path", "line", "column", "rule", "action", "value", "message"};
    json_t *row = json_object();
    for (int i = 0; i < FIELD_COUNT && row; i++) {
        const char *text = (const char *)fields[i].data;
        bool number = i == FIELD_LINE || i == FIELD_COLUMN; /* the tab behind it stops strtoll */
        json_t *value = number ? json_integer(strtoll(text, NULL, 10)) : json_stringn(text, fields[i].size);
        if (json_object_set_new(row, keys[i], value) != 0) {
            json_decref(row);
            row = NULL;
        }
    }
    return row;
}

static json_t *counts_json(const struct report *r) {
    json_t *counts = json_object();
    for (int i = 0; i < RULE_COUNT && counts; i++) {
        const char *name = report_rule_info((enum report_rule)i)->name;
        if (r->counts[i] != 0 && json_object_set_new(counts, name, json_integer((json_int_t)r->counts[i])) != 0) {
            json_decref(counts);
            counts = NULL;
        }
    }
    return counts;
}

int report_json(const struct report *r, struct bytes *out) {
    int rc = bytes_append(out, "{\"counts\":", 10);
    if (rc == 0)
        rc = append_json(out, counts_json(r));
    if (rc == 0)
        rc = bytes_append(out, ",\"rows\":[", 9);
    struct span fields[FIELD_COUNT];
    for (size_t at = 0, size = 0; rc == 0 && at < r->rows.size; at += size) {
        if (!split_row(fields, &size, (struct span){r->rows.data + at, r->rows.size - at}))
            break; /* cannot be: rows come from report_add() or passed report_parse() */
        rc = bytes_append(out, at ? ",\n" : "\n", at ? 2 : 1);
        if (rc == 0)
            rc = append_json(out, row_json(fields));
    }
    return rc != 0 ? rc : bytes_append(out, "\n]}\n", 4);
}

char *report_printable(struct span value) {
    struct bytes out = {0};
    if (append_escaped(&out, value, ESCAPE_REVERSIBLE) != 0 || bytes_append(&out, "", 1) != 0) {
        bytes_deinit(&out);
        return NULL;
    }
    return (char *)out.data;
}
