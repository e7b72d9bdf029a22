#include "data_yaml.h"

#include "file.h"
#include "scan.h"
#include "suggest.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

/* ---- the base directory ------------------------------------------------------------------------------------------ */

static bool exists(const char *path) {
    struct stat st;
    return stat(path, &st) == 0;
}

char *data_yaml_directory(const char *file) {
    size_t size = (size_t)(path_base(file) - file);
    return size == 0 ? strdup(".") : size == 1 ? strdup("/") : strndup(file, size - 1);
}

char *data_yaml_resolve(const char *base, const char *entry) {
    char *path = path_join(base, entry);
    if (!path || exists(path))
        return path;
    const char *inside = entry;
    while (strncmp(inside, "../", 3) == 0)
        inside += 3;
    char *other = inside != entry ? path_join(base, inside) : NULL;
    if (!other || !exists(other)) {
        free(other);
        return path;
    }
    free(path);
    return other;
}

/* Sets *holds if `base` is a directory with the entry in it; always when there is none, or it is absolute. */
static int base_holds(const char *base, const char *entry, bool *holds) {
    struct stat st;
    *holds = stat(base, &st) == 0 && S_ISDIR(st.st_mode);
    if (!*holds || entry[0] == '/')
        return 0;
    char *path = data_yaml_resolve(base, entry);
    if (!path)
        return ERR_MEMORY;
    *holds = exists(path);
    free(path);
    return 0;
}

/* The path without symbolic links or "..", or as it is if it is not there. */
static char *absolute(const char *path) {
    char *whole = realpath(path, NULL);
    if (whole || path[0] == '/')
        return whole ? whole : strdup(path);
    char *here = realpath(".", NULL);
    whole = here ? path_join(here, path) : strdup(path);
    free(here);
    return whole;
}

#define BASE_BESIDE 1u /* the file's directory, among the bases when there is a `path` */

/* The bases to try, in order. */
static int list_bases(const struct data_yaml *y, struct string_list *bases) {
    char *directory = data_yaml_directory(y->file);
    bool here = y->path && strcmp(y->path, ".") == 0;
    char *inside = directory && y->path ? path_join(directory, here ? "" : y->path) : NULL;
    int rc = !directory || (y->path && !inside) ? ERR_MEMORY : 0;
    if (rc == 0 && y->path)
        rc = string_list_add(bases, inside); /* `path` itself when it is absolute */
    if (rc == 0)
        rc = string_list_add(bases, directory);
    if (rc == 0 && y->path && y->path[0] != '/')
        rc = string_list_add(bases, y->path);
    free(inside);
    free(directory);
    return rc;
}

/* What people write into a path that nobody expands. */
static const char *misunderstanding(const char *entry) {
    static const struct {
        const char *sign, *text;
        bool first; /* only as the first letter */
    } table[] = {
        {"~", " (~ is the shell's: write the directory out)", true},
        {"$", " (variables are the shell's: write the directory out)", false},
        {"://", " (nothing is fetched: write where it lies)", false},
        {"*", " (patterns are not read: name the directory, or a .txt list)", false},
        {"?", " (patterns are not read: name the directory, or a .txt list)", false},
        {",", " (several are a list: [one, two])", false},
        {"\\", " (write / for \\)", false},
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        const char *found = strstr(entry, table[i].sign);
        if (found && (found == entry || !table[i].first))
            return table[i].text;
    }
    return "";
}

char *data_yaml_hint(const char *base, const char *entry) {
    char *path = path_join(base, entry), *near = path ? path_nearest(path) : NULL, *hint = NULL;
    size_t size = strlen(base);
    bool inside = near && strcmp(base, ".") != 0 && strncmp(near, base, size) == 0 && near[size] == '/';
    const char *shown = inside ? near + size + 1 : near;
    if (!near || strcmp(shown, entry) == 0)
        hint = strdup(misunderstanding(entry));
    else if (asprintf(&hint, " (did you mean %s?)", shown) < 0)
        hint = NULL;
    free(near);
    free(path);
    return hint;
}

/* The first base that has something like the entry says so; else the entry speaks for itself. */
static char *hint_among(const struct string_list *bases, const char *entry) {
    char *hint = NULL;
    for (size_t i = 0; i < bases->count && (!hint || strncmp(hint, " (did", 5) != 0); i++) {
        free(hint);
        hint = data_yaml_hint(bases->items[i], entry);
    }
    return hint;
}

static int nowhere(const struct data_yaml *y, const struct data_yaml_split *split, const struct string_list *bases,
                   struct error *error) {
    const char *name = split == &y->train ? "train" : split == &y->val ? "val" : "test";
    const char *entry = split->rgb.items[0];
    char places[ERROR_MESSAGE_BYTES] = "", *hint = hint_among(bases, entry);
    size_t size = 0;
    for (size_t i = 0; i < bases->count && size < sizeof places; i++) {
        char *base = absolute(bases->items[i]), *place = base ? path_join(base, entry) : NULL;
        char line[ERROR_MESSAGE_BYTES];
        snprintf(line, sizeof line, "\n  tried  %s", place ? place : "?");
        if (!strstr(places, line)) /* "." and the file's directory may be one */
            size += (size_t)snprintf(places + size, sizeof places - size, "%s", line);
        free(place);
        free(base);
    }
    int rc = error_set(error, ERR_INPUT, "%s:%zu: %s is not there%s%s\n  try    correct \"%s\"%s in %s", y->file,
                       split->line, entry, hint ? hint : "", places, name, y->path ? " or \"path\"" : "", y->file);
    free(hint);
    return rc;
}

/* A key that is nearly a split's when that is missing; `train_only` where a word near "val" or "test" may
 * be another. */
static int refuse_misspelt(const struct data_yaml *y, bool train_only, struct error *error) {
    static const char *const splits[] = {"train", "val", "test"};
    for (size_t i = 0; i < y->unknown_keys.count; i++) {
        const char *text = y->unknown_keys.items[i], *end = strstr(text, " (line "); /* which every entry ends with */
        char *key = strndup(text, end ? (size_t)(end - text) : strlen(text));
        if (!key)
            return error_set(error, ERR_MEMORY, "%s: out of memory", y->file);
        const char *near = suggest_nearest(key, splits, train_only ? 1 : 3);
        free(key);
        if (near)
            return error_set(error, ERR_INPUT, "%s: no %s in it, but %s: did you mean %s?", y->file, near, text, near);
    }
    return 0;
}

static bool is_same_place(const char *a, const char *b) {
    struct stat x, y;
    return stat(a, &x) == 0 && stat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

static int find_base(struct data_yaml *y, struct error *error) {
    const struct data_yaml_split *splits[] = {&y->train, &y->val, &y->test}, *first = NULL;
    for (int i = 2; i >= 0; i--)
        if (splits[i]->rgb.count != 0)
            first = splits[i];
    if (!first || y->train.rgb.count == 0) {
        int misspelt = refuse_misspelt(y, first != NULL, error);
        if (misspelt != 0)
            return misspelt;
    }
    if (!first)
        return error_set(error, ERR_INPUT, "%s: no train, val or test: it names no images", y->file);
    struct string_list bases = {0};
    int rc = list_bases(y, &bases);
    bool holds = false;
    for (size_t i = 0; i < bases.count && rc == 0 && !holds; i++) {
        rc = base_holds(bases.items[i], first->rgb.items[0], &holds);
        if (rc == 0 && holds) {
            free(y->base);
            y->base = strdup(bases.items[i]);
            rc = y->base ? 0 : ERR_MEMORY;
            y->path_unused = y->path && i == BASE_BESIDE && !is_same_place(bases.items[i], y->path);
        }
    }
    if (rc != 0)
        error_set(error, rc, "%s: out of memory", y->file);
    else if (!holds)
        rc = nowhere(y, first, &bases, error);
    string_list_deinit(&bases);
    return rc;
}

int data_yaml_read(struct data_yaml *out, const char *file, struct error *error) {
    *out = (struct data_yaml){0};
    if (!exists(file) && errno == ENOENT)
        return path_missing(file, error);
    struct bytes text = {0};
    int rc = file_read(&text, AT_FDCWD, file, DATA_YAML_LIMIT_BYTES, error);
    if (rc == 0)
        rc = data_yaml_parse(out, file, text.size ? (char *)text.data : "", text.size, error);
    bytes_deinit(&text);
    if (rc == 0)
        rc = find_base(out, error);
    if (rc != 0)
        data_yaml_deinit(out);
    return rc;
}

/* ---- which file -------------------------------------------------------------------------------------------------- */

static bool names_split(const char *text, size_t size) {
    static const char *const keys[] = {"train:", "val:", "test:", "valid:", "validation:"};
    for (const char *at = text, *end = text + size; at < end;) {
        for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
            if ((size_t)(end - at) >= strlen(keys[i]) && memcmp(at, keys[i], strlen(keys[i])) == 0)
                return true;
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        at = newline ? newline + 1 : end;
    }
    return false;
}

static int is_data_yaml(const struct dirent *entry) {
    const char *suffix = path_suffix(entry->d_name);
    return strcasecmp(suffix, "yaml") == 0 || strcasecmp(suffix, "yml") == 0;
}

/* Adds `directory`/`name` to *list if it says where a split is. A file that cannot be read is none. */
static int consider(struct string_list *list, const char *directory, const char *name) {
    char *path = path_join(directory, name);
    if (!path)
        return ERR_MEMORY;
    struct bytes text = {0};
    int rc = file_read(&text, AT_FDCWD, path, DATA_YAML_LIMIT_BYTES, NULL);
    if (rc == 0 && names_split((char *)text.data, text.size))
        rc = string_list_add(list, path);
    bytes_deinit(&text);
    free(path);
    return rc == ERR_MEMORY ? rc : 0;
}

static int choose(char **out, const struct string_list *found, const char *directory, struct error *error) {
    if (found->count > 1)
        return error_set(error, ERR_INPUT, "%s: %zu files say where the splits are (%s, %s%s): name the one you mean",
                         directory, found->count, found->items[0], found->items[1], found->count > 2 ? ", …" : "");
    *out = found->count == 1 ? strdup(found->items[0]) : NULL;
    return found->count == 1 && !*out ? error_set(error, ERR_MEMORY, "out of memory") : 0;
}

int data_yaml_locate(char **out, const char *directory, struct error *error) {
    static const char *const usual[] = {"data.yaml", "dataset.yaml"};
    *out = NULL;
    for (int i = 0; i < 2; i++) {
        char *path = path_join(directory, usual[i]);
        if (!path)
            return error_set(error, ERR_MEMORY, "out of memory");
        if (exists(path)) {
            *out = path;
            return 0;
        }
        free(path);
    }
    struct dirent **entries;
    int count = scandir(directory, &entries, is_data_yaml, alphasort), rc = 0;
    if (count < 0)
        return errno == ENOENT ? path_missing(directory, error) : error_set_errno(error, errno, "%s", directory);
    struct string_list found = {0};
    for (int i = 0; i < count; i++) {
        if (rc == 0 && consider(&found, directory, entries[i]->d_name) != 0)
            rc = error_set(error, ERR_MEMORY, "out of memory");
        free(entries[i]);
    }
    free(entries);
    if (rc == 0)
        rc = choose(out, &found, directory, error);
    string_list_deinit(&found);
    return rc;
}
