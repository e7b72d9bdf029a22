#include "pair_split.h"

#include "file.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#define LIST_LIMIT_BYTES (UINT64_C(4) << 30)

enum { MEMBERS_RGB, MEMBERS_IR };

static int no_memory(struct error *error) {
    return error_set(error, ERR_MEMORY, "out of memory");
}

/* ---- entries to paths -------------------------------------------------------------------------------------------- */

static bool exists(const char *root, const char *path) {
    struct stat st;
    char *whole = path_join(root, path);
    bool found = whole && stat(whole, &st) == 0;
    free(whole);
    return found;
}

static int add_line(struct split_names *names, struct pair_places *places, const char *root, const char *text,
                    struct list_line line) {
    if (names->files.count == names->line_capacity) {
        size_t capacity = names->line_capacity ? 2 * names->line_capacity : 64;
        struct list_line *lines = reallocarray(names->lines, capacity, sizeof *lines);
        if (!lines)
            return ERR_MEMORY;
        names->lines = lines;
        names->line_capacity = capacity;
    }
    names->lines[names->files.count] = line;
    const char *path = pair_places_put(places, root, text);
    return path ? path_list_add(&names->files, path) : ERR_MEMORY;
}

/* The lines of a .txt list: "./x" is relative to the list, "x" to the base when the first such line is there, else to
 * the list. 0 or ERR_MEMORY. */
static int add_lines(struct split_names *names, struct pair_places *places, const char *base, const char *list,
                     const char *directory, char *text) {
    const char *root = NULL;
    struct list_line at = {.list = list};
    for (char *line = text, *next; line; line = next) {
        next = strchr(line, '\n');
        at.number++;
        if (next)
            *next++ = '\0';
        while (*line == ' ' || *line == '\t')
            line++;
        for (size_t size = strlen(line); size > 0 && strchr(" \t\r", line[size - 1]); size--)
            line[size - 1] = '\0';
        if (*line == '\0')
            continue;
        bool beside = line[0] == '.' && line[1] == '/';
        if (!root && !beside && line[0] != '/')
            root = exists(base, line) || !exists(directory, line) ? base : directory;
        if (add_line(names, places, beside || !root ? directory : root, line, at) != 0)
            return ERR_MEMORY;
    }
    return 0;
}

/* `entry` is what data.yaml calls the list at `path`. */
static int read_list(struct split_names *names, struct pair_places *places, const char *base, const char *entry,
                     const char *path, struct error *error) {
    struct bytes text = {0};
    const char *list = arena_text(&places->arena, entry, strlen(entry));
    char *directory = data_yaml_directory(path);
    int rc = directory && list ? file_read(&text, AT_FDCWD, path, LIST_LIMIT_BYTES, error) : no_memory(error);
    if (rc == 0 && text.size > 0 && memchr(text.data, '\0', text.size))
        rc = error_set(error, ERR_INPUT, "%s: a NUL byte: this is no list of pictures in UTF-8 text", path);
    if (rc == 0 && bytes_append(&text, "", 1) != 0)
        rc = no_memory(error);
    bool marked = rc == 0 && strncmp((char *)text.data, "\xEF\xBB\xBF", 3) == 0;
    if (rc == 0 && add_lines(names, places, base, list, directory, (char *)text.data + (marked ? 3 : 0)) != 0)
        rc = no_memory(error);
    bytes_deinit(&text);
    free(directory);
    return rc;
}

static int missing_entry(const struct data_yaml *yaml, const char *name, const char *entry, const char *path,
                         struct error *error) {
    char *here = path[0] == '/' ? NULL : realpath(".", NULL);
    char *whole = path_join(here ? here : "", path), *hint = data_yaml_hint(yaml->base, entry);
    if (whole)
        path_clean(whole);
    int rc = error_set(error, ERR_INPUT,
                       "%s: %s: %s is not there%s\n  tried  %s\n  try    correct \"path\" or \"%s\", or remove \"%s\"",
                       yaml->file, name, entry, hint ? hint : "", whole ? whole : path, name, name);
    free(hint);
    free(here);
    free(whole);
    return rc;
}

/* Without its test pictures the data set is whole. One that is nearly there was meant to be. */
static int note_missing_test(const struct data_yaml *yaml, const char *entry, struct report *report,
                             struct error *error) {
    char *hint = data_yaml_hint(yaml->base, entry);
    const char *file = path_base(yaml->file);
    struct span value = {(const uint8_t *)entry, strlen(entry)};
    int rc = !hint   ? ERR_MEMORY
             : *hint ? report_add(report, RULE_YAML_VALUE, file, 0, 0, value, "the test split is not there%s: left out",
                                  hint)
                     : report_add(report, RULE_FILE_SKIPPED, entry, 0, 0, (struct span){0},
                                  "the test split of %s is not there: left out", file);
    free(hint);
    return rc == 0 ? 0 : no_memory(error);
}

/* One entry of a split: a directory or a list. *missing is set when it is not there. */
static int add_entry(struct split_names *names, struct pair_places *places, const struct data_yaml *yaml,
                     const char *entry, const char *path, bool *missing, struct error *error) {
    struct stat st;
    *missing = stat(path, &st) != 0;
    if (*missing)
        return 0;
    if (!S_ISDIR(st.st_mode)) {
        if (strcasecmp(path_suffix(path), "txt") != 0)
            return error_set(error, ERR_INPUT, "%s: %s is neither a directory nor a .txt list", yaml->file, path);
        return read_list(names, places, yaml->base, entry, path, error);
    }
    const char *place = pair_places_put_directory(places, path);
    return place && path_list_add(&names->directories, place) == 0 ? 0 : no_memory(error);
}

static bool names_nothing(const struct split_names *names) {
    return names->directories.count == 0 && names->files.count == 0;
}

/* A list without a line. Without test pictures the data set is whole. */
static int note_empty_list(const struct data_yaml *yaml, const char *name, const char *entry, struct report *report,
                           struct error *error) {
    struct span value = {(const uint8_t *)entry, strlen(entry)};
    return report_add(report, RULE_YAML_VALUE, path_base(yaml->file), 0, 0, value, "%s: the list has no line", name) ==
                   0
               ? 0
               : no_memory(error);
}

static int add_entries(struct split_names *names, struct pair_places *places, const struct data_yaml *yaml,
                       const char *name, const struct string_list *entries, struct report *report,
                       struct error *error) {
    int rc = 0;
    for (size_t i = 0; i < entries->count && rc == 0; i++) {
        const char *entry = entries->items[i];
        char *path = data_yaml_resolve(yaml->base, entry);
        bool missing = false;
        size_t before = names->directories.count + names->files.count;
        rc = path ? add_entry(names, places, yaml, entry, path, &missing, error) : no_memory(error);
        if (rc == 0 && missing)
            rc = strcmp(name, "test") != 0 ? missing_entry(yaml, name, entry, path, error)
                                           : note_missing_test(yaml, entry, report, error);
        else if (rc == 0 && names->directories.count + names->files.count == before)
            rc = note_empty_list(yaml, name, entry, report, error);
        free(path);
    }
    if (rc == 0 && entries->count != 0 && names_nothing(names) && strcmp(name, "test") != 0)
        rc = error_set(error, ERR_INPUT, "%s: %s: %s has no line\n  try    fill the list, or remove \"%s\"", yaml->file,
                       name, entries->items[0], name);
    return rc;
}

int split_plans_read(struct split_plans *out, struct pair_places *places, const struct data_yaml *yaml,
                     struct report *report, struct error *error) {
    const struct {
        const char *name, *ir_name;
        const struct data_yaml_split *split;
    } splits[] = {{"train", "train_ir", &yaml->train}, {"val", "val_ir", &yaml->val}, {"test", "test_ir", &yaml->test}};
    for (size_t i = 0; i < PAIR_SPLIT_LIMIT; i++) {
        struct split_plan *plan = &out->items[out->count];
        plan->name = splits[i].name;
        int rc = add_entries(&plan->rgb, places, yaml, plan->name, &splits[i].split->rgb, report, error);
        if (rc == 0)
            rc = add_entries(&plan->ir, places, yaml, splits[i].ir_name, &splits[i].split->ir, report, error);
        if (rc != 0)
            return rc;
        out->has_ir |= !names_nothing(&plan->ir);
        out->count += !names_nothing(&plan->rgb) || !names_nothing(&plan->ir);
    }
    return 0;
}

void split_plans_lists(struct split_plans *plans, struct path_list *out[4 * PAIR_SPLIT_LIMIT]) {
    for (size_t i = 0; i < PAIR_SPLIT_LIMIT; i++) {
        struct split_plan *plan = &plans->items[i];
        out[4 * i] = &plan->rgb.directories;
        out[4 * i + 1] = &plan->rgb.files;
        out[4 * i + 2] = &plan->ir.directories;
        out[4 * i + 3] = &plan->ir.files;
    }
}

/* ---- paths to pictures ------------------------------------------------------------------------------------------- */

/* Growing members of one role of one split. */
struct members {
    struct pair_member *items;
    size_t count, capacity;
};

static int add_member(struct members *m, size_t image, size_t key) {
    if (m->count == m->capacity) {
        size_t capacity = m->capacity ? 2 * m->capacity : 64;
        struct pair_member *items = reallocarray(m->items, capacity, sizeof *items);
        if (!items)
            return ERR_MEMORY;
        m->items = items;
        m->capacity = capacity;
    }
    m->items[m->count++] = (struct pair_member){(uint32_t)image, (uint32_t)key};
    return 0;
}

static int add_range(struct members *m, const struct path_list *images, const char *directory) {
    size_t size = strlen(directory);
    for (size_t i = path_list_lower(images, directory, NULL); i < images->count; i++) {
        if (strncmp(images->items[i], directory, size) != 0)
            break;
        if (add_member(m, i, size) != 0)
            return ERR_MEMORY;
    }
    return 0;
}

/* Pictures below a directory. A link to a directory that was scanned by its own name has none below its own: they are
 * found where it leads. */
static int add_directory(struct members *m, const struct pair_places *places, const struct path_list *images,
                         const char *directory) {
    size_t before = m->count;
    int rc = add_range(m, images, directory);
    if (rc != 0 || m->count != before)
        return rc;
    char *whole = path_join(places->base, directory), *target = whole ? realpath(whole, NULL) : NULL;
    char *base = realpath(places->base, NULL);
    size_t base_size = base ? strlen(base) : 0;
    if (target && base && strncmp(target, base, base_size) == 0 && target[base_size] == '/') {
        size_t size = strlen(target) - base_size - 1;
        memmove(target, target + base_size + 1, size);
        target[size] = '/'; /* the base and its slash leave room */
        target[size + 1] = '\0';
        rc = add_range(m, images, target);
    }
    free(base);
    free(target);
    free(whole);
    return rc;
}

/* The length of the directory that all files lie in. */
static size_t common_directory(const struct path_list *files) {
    size_t common = files->count ? strlen(files->items[0]) : 0;
    for (size_t i = 0; i < files->count; i++) {
        size_t same = 0;
        while (same < common && files->items[i][same] == files->items[0][same])
            same++;
        common = same;
    }
    while (common > 0 && files->items[0][common - 1] != '/')
        common--;
    return common;
}

static struct span span_of(const char *text) {
    return (struct span){(const uint8_t *)text, strlen(text)};
}

/* A listed picture that the split has already; `earlier` is the line that named it, NULL for a directory. */
static int note_duplicate(struct report *report, const char *path, const struct list_line *line,
                          const struct list_line *earlier) {
    if (!earlier)
        return report_add(report, RULE_LIST_DUPLICATE, line->list, line->number, 1, span_of(path),
                          "a directory of the split has it already: taken once");
    return report_add(report, RULE_LIST_DUPLICATE, line->list, line->number, 1, span_of(path),
                      "line %" PRIu64 " of %s names it already: taken once", earlier->number, earlier->list);
}

/* `seen` is 0 for each picture that the split does not have yet, else one more than the number of its file; a directory
 * has none. */
static int add_files(struct members *m, const struct split_names *names, const struct path_list *images, size_t *seen,
                     struct report *report) {
    const struct path_list *files = &names->files;
    size_t key = common_directory(files), hint = 0;
    int rc = 0;
    for (size_t i = 0; i < files->count && rc == 0; i++) {
        const char *path = files->items[i];
        size_t image = path_list_find(images, path, &hint);
        if (image == SIZE_MAX) {
            rc = report_add(report, RULE_LIST_MISSING, names->lines[i].list, names->lines[i].number, 1, span_of(path),
                            strchr(path, '\\')         ? "not there: write / for \\"
                            : scan_is_image_name(path) ? "not there"
                                                       : "not a picture's name");
        } else if (seen[image] != 0) {
            size_t earlier = seen[image] - 1;
            rc = note_duplicate(report, path, &names->lines[i], earlier < i ? &names->lines[earlier] : NULL);
        } else {
            seen[image] = i + 1;
            rc = add_member(m, image, key);
        }
    }
    return rc;
}

static int add_listed(struct members *m, const struct split_names *names, const struct path_list *images,
                      struct report *report) {
    if (names->files.count == 0)
        return 0;
    size_t *seen = calloc(images->count + 1, sizeof *seen);
    if (!seen)
        return ERR_MEMORY;
    for (size_t i = 0; i < m->count; i++)
        seen[m->items[i].image] = SIZE_MAX;
    int rc = add_files(m, names, images, seen, report);
    free(seen);
    return rc;
}

static int resolve_names(struct pair_member **out, size_t *count, const struct split_names *names,
                         const struct pair_places *places, const struct path_list *images, struct report *report) {
    struct members m = {0};
    int rc = 0;
    for (size_t i = 0; i < names->directories.count && rc == 0; i++)
        rc = add_directory(&m, places, images, names->directories.items[i]);
    if (rc == 0)
        rc = add_listed(&m, names, images, report);
    *out = m.items;
    *count = m.count;
    return rc;
}

int split_plans_resolve(struct split_plans *plans, const struct pair_places *places, const struct path_list *images,
                        struct report *report, struct error *error) {
    for (size_t i = 0; i < plans->count; i++) {
        struct split_plan *plan = &plans->items[i];
        int rc = resolve_names(&plan->members[MEMBERS_RGB], &plan->member_count[MEMBERS_RGB], &plan->rgb, places,
                               images, report);
        if (rc == 0)
            rc = resolve_names(&plan->members[MEMBERS_IR], &plan->member_count[MEMBERS_IR], &plan->ir, places, images,
                               report);
        if (rc != 0)
            return no_memory(error);
    }
    return 0;
}

void split_plans_deinit(struct split_plans *plans) {
    for (size_t i = 0; i < PAIR_SPLIT_LIMIT; i++) {
        struct split_plan *plan = &plans->items[i];
        free(plan->rgb.directories.items);
        free(plan->rgb.files.items);
        free(plan->rgb.lines);
        free(plan->ir.directories.items);
        free(plan->ir.files.items);
        free(plan->ir.lines);
        free(plan->members[MEMBERS_RGB]);
        free(plan->members[MEMBERS_IR]);
    }
    *plans = (struct split_plans){0};
}
