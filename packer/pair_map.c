#include "pair_map.h"

#include "data_yaml.h"
#include "file.h"
#include "suggest.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAP_LIMIT_BYTES (UINT64_C(4) << 30)

enum { COLUMN_RGB, COLUMN_IR, COLUMN_LABEL, COLUMN_COUNT };

static const char *const column_names[COLUMN_COUNT] = {"rgb", "ir", "label"};

struct map_reader {
    struct pair_map *out;
    struct pair_places *places;
    const char *file, *base;
    const char *directory;     /* of the map */
    const char *root;          /* base or directory; NULL until the first relative path */
    int columns[COLUMN_COUNT]; /* of a TSV: the field's number, or -1 */
    size_t line;
    struct error *error;
};

static int no_memory(const struct map_reader *r) {
    return error_set(r->error, ERR_MEMORY, "%s: out of memory", r->file);
}

static bool exists(const char *root, const char *path) {
    struct stat st;
    char *whole = path_join(root, path);
    bool found = whole && stat(whole, &st) == 0;
    free(whole);
    return found;
}

static int add_line_number(struct map_reader *r) {
    struct pair_map *map = r->out;
    if (map->rgb.count == map->line_capacity) {
        size_t capacity = map->line_capacity ? 2 * map->line_capacity : 64;
        uint64_t *lines = reallocarray(map->lines, capacity, sizeof *lines);
        if (!lines)
            return ERR_MEMORY;
        map->lines = lines;
        map->line_capacity = capacity;
    }
    map->lines[map->rgb.count] = r->line;
    return 0;
}

/* Adds one sample; its paths are "" or NULL where there is none. */
static int add_sample(struct map_reader *r, const char *const paths[COLUMN_COUNT]) {
    struct path_list *lists[COLUMN_COUNT] = {&r->out->rgb, &r->out->ir, &r->out->label};
    bool any = (paths[COLUMN_RGB] && *paths[COLUMN_RGB]) || (paths[COLUMN_IR] && *paths[COLUMN_IR]);
    if (!any)
        return error_set(r->error, ERR_INPUT, "%s:%zu: neither an RGB nor an IR picture", r->file, r->line);
    if (add_line_number(r) != 0)
        return no_memory(r);
    r->out->has_pairs |= paths[COLUMN_RGB] && *paths[COLUMN_RGB] && paths[COLUMN_IR] && *paths[COLUMN_IR];
    for (int i = 0; i < COLUMN_COUNT; i++) {
        const char *path = paths[i] && *paths[i] ? paths[i] : NULL, *place = NULL;
        if (path && !r->root && path[0] != '/')
            r->root = exists(r->base, path) || !exists(r->directory, path) ? r->base : r->directory;
        if (path) {
            place = pair_places_put(r->places, r->root ? r->root : r->base, path);
            if (!place)
                return no_memory(r);
        }
        if (path_list_add(lists[i], place) != 0)
            return no_memory(r);
    }
    return 0;
}

/* Other keys are the user's own, but for one with a text that is nearly one of ours where that is missing. Of two
 * letters much is near ("id"), so there only the case may differ. */
static int refuse_misspelt(const struct map_reader *r, json_t *object) {
    const char *key;
    json_t *value;
    json_object_foreach(object, key, value) {
        const char *near = suggest_nearest(key, column_names, COLUMN_COUNT);
        if (near && json_is_string(value) && !json_object_get(object, near) &&
            (strlen(key) > 2 || strcasecmp(key, near) == 0))
            return error_set(r->error, ERR_INPUT, "%s:%zu: no \"%s\", but \"%.80s\": did you mean %s?", r->file,
                             r->line, near, key, near);
    }
    return 0;
}

static int read_json(struct map_reader *r, const char *line) {
    json_error_t fault;
    json_t *object = json_loads(line, JSON_REJECT_DUPLICATES, &fault);
    const char *paths[COLUMN_COUNT];
    int rc = 0;
    if (!json_is_object(object))
        rc = error_set(r->error, ERR_INPUT, "%s:%zu:%d: %s", r->file, r->line, object ? 1 : fault.column,
                       object ? "expected an object {\"rgb\": …, \"ir\": …, \"label\": …}" : fault.text);
    else
        rc = refuse_misspelt(r, object);
    for (int i = 0; i < COLUMN_COUNT && rc == 0; i++) {
        const json_t *value = json_object_get(object, column_names[i]);
        paths[i] = json_string_value(value);
        if (value && !json_is_null(value) && !paths[i])
            rc = error_set(r->error, ERR_INPUT, "%s:%zu: \"%s\" is no text", r->file, r->line, column_names[i]);
    }
    if (rc == 0)
        rc = add_sample(r, paths);
    json_decref(object);
    return rc;
}

/* Cuts the line at its tabs. Returns how many fields there are; those past `limit` are only counted. */
static size_t split_fields(char *line, const char **fields, size_t limit) {
    size_t count = 0;
    for (char *field = line, *next; field; field = next) {
        next = strchr(field, '\t');
        if (next)
            *next++ = '\0';
        if (count < limit)
            fields[count] = field;
        count++;
    }
    return count;
}

/* True, and the columns noted, if the fields are a head line. */
static bool read_head(struct map_reader *r, const char *const *fields, size_t count) {
    bool head = false;
    int columns[COLUMN_COUNT] = {-1, -1, -1};
    for (size_t f = 0; f < count; f++) {
        for (int i = 0; i < COLUMN_COUNT; i++) {
            if (strcasecmp(fields[f], column_names[i]) == 0) {
                columns[i] = (int)f;
                head |= i != COLUMN_LABEL;
            }
        }
    }
    if (head)
        memcpy(r->columns, columns, sizeof columns);
    return head;
}

static int read_fields(struct map_reader *r, char *line, bool first) {
    const char *fields[16], *paths[COLUMN_COUNT] = {NULL};
    size_t count = split_fields(line, fields, 16), known = count < 16 ? count : 16;
    if (first && read_head(r, fields, known))
        return 0;
    bool plain = r->columns[0] == 0 && r->columns[1] == 1 && r->columns[2] == 2;
    if (plain && (count < 2 || count > COLUMN_COUNT))
        return error_set(r->error, ERR_INPUT, "%s:%zu: %zu tab-separated values, expected rgb, ir and label", r->file,
                         r->line, count);
    for (int i = 0; i < COLUMN_COUNT; i++)
        if (r->columns[i] >= 0 && (size_t)r->columns[i] < known)
            paths[i] = fields[r->columns[i]];
    return add_sample(r, paths);
}

static int read_lines(struct map_reader *r, char *text) {
    bool first = true, json = false;
    int rc = 0;
    for (char *line = text, *next; line && rc == 0; line = next) {
        next = strchr(line, '\n');
        if (next)
            *next++ = '\0';
        r->line++;
        size_t size = strlen(line);
        if (size > 0 && line[size - 1] == '\r')
            line[size - 1] = '\0';
        if (line[strspn(line, " \t")] == '\0')
            continue;
        if (first)
            json = line[strspn(line, " \t")] == '{';
        rc = json ? read_json(r, line) : read_fields(r, line, first);
        first = false;
    }
    if (rc == 0 && r->out->rgb.count == 0)
        rc = error_set(r->error, ERR_INPUT, "%s: the map is empty", r->file);
    return rc;
}

int pair_map_read(struct pair_map *out, struct pair_places *places, const char *base, const char *file,
                  struct error *error) {
    struct map_reader r = {
        .out = out, .places = places, .file = file, .base = base, .columns = {0, 1, 2}, .error = error};
    struct bytes text = {0};
    char *directory = data_yaml_directory(file);
    r.directory = directory;
    int rc = !directory                                   ? no_memory(&r)
             : access(file, F_OK) != 0 && errno == ENOENT ? path_missing(file, error)
                                                          : file_read(&text, AT_FDCWD, file, MAP_LIMIT_BYTES, error);
    if (rc == 0 && text.size > 0 && memchr(text.data, '\0', text.size))
        rc = error_set(error, ERR_INPUT, "%s: a NUL byte: save the map as UTF-8 text", file);
    if (rc == 0 && bytes_append(&text, "", 1) != 0)
        rc = no_memory(&r);
    bool marked = rc == 0 && strncmp((char *)text.data, "\xEF\xBB\xBF", 3) == 0;
    if (rc == 0)
        rc = read_lines(&r, (char *)text.data + (marked ? 3 : 0));
    bytes_deinit(&text);
    free(directory);
    return rc;
}

void pair_map_deinit(struct pair_map *map) {
    free(map->rgb.items);
    free(map->ir.items);
    free(map->label.items);
    free(map->lines);
    *map = (struct pair_map){0};
}
