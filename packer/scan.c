#include "scan.h"

#include "file.h"
#include "suggest.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

/*
 *   pending: real directories, walked first ──> files to images, labels, tallies; sub-directories to pending, links
 *   links:   links to directories, in order of name, each walked when nothing is pending and nobody was there before
 */

#define KIND_LIMIT 200u       /* kinds of skipped files told apart; the rest is one kind */
#define CANCEL_INTERVAL 4096u /* entries between looks at the flag */

/* A kind of skipped files: how many, and the first of them by name. */
struct tally {
    const char *kind, *path;
    uint64_t count;
};

/* Something skipped that deserves a row of its own. */
struct oddity {
    const char *path, *what;
};

struct directory_id {
    dev_t device;
    ino_t inode;
};

struct walk {
    struct scan *out;
    const atomic_bool *cancel;
    const char *root;
    int root_fd;
    struct path_list pending, links;
    struct directory_id *visited;
    size_t visited_count, visited_capacity;
    struct tally *tallies;
    size_t tally_count, tally_capacity;
    struct oddity *oddities;
    size_t oddity_count, oddity_capacity;
    uint64_t entry_count;
};

/* ---- path lists -------------------------------------------------------------------------------------------------- */

/* Room for one more item of `item_size` bytes. */
static void *grown(void *items, size_t count, size_t *capacity, size_t item_size) {
    if (count < *capacity)
        return items;
    size_t wanted = *capacity ? 2 * *capacity : 64;
    void *larger = reallocarray(items, wanted, item_size);
    if (larger)
        *capacity = wanted;
    return larger;
}

int path_list_add(struct path_list *list, const char *path) {
    const char **items = grown(list->items, list->count, &list->capacity, sizeof *items);
    if (!items)
        return ERR_MEMORY;
    list->items = items;
    items[list->count++] = path;
    return 0;
}

static int compare_paths(const void *a, const void *b) {
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

void path_list_sort(struct path_list *list) {
    if (list->count == 0)
        return;
    qsort(list->items, list->count, sizeof *list->items, compare_paths);
    size_t kept = 1;
    for (size_t i = 1; i < list->count; i++)
        if (strcmp(list->items[i], list->items[kept - 1]) != 0)
            list->items[kept++] = list->items[i];
    list->count = kept;
}

size_t path_list_lower(const struct path_list *list, const char *prefix, size_t *hint) {
    size_t low = 0, high = list->count, near = hint ? *hint : 0;
    if (near > 0 && near <= list->count && strcmp(list->items[near - 1], prefix) < 0) {
        low = near; /* rows before it are smaller: double the step until one is not */
        for (size_t step = 1; low + step < list->count; step *= 2) {
            if (strcmp(list->items[low + step - 1], prefix) >= 0) {
                high = low + step - 1;
                break;
            }
            low += step;
        }
    }
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (strcmp(list->items[middle], prefix) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    if (hint)
        *hint = low;
    return low;
}

size_t path_list_find(const struct path_list *list, const char *path, size_t *hint) {
    size_t row = path_list_lower(list, path, hint);
    return row < list->count && strcmp(list->items[row], path) == 0 ? row : SIZE_MAX;
}

/* ---- what a name says -------------------------------------------------------------------------------------------- */

bool scan_is_image_name(const char *name) {
    static const char *const suffixes[] = {"jpg", "jpeg", "jpe", "png", "bmp", "tif", "tiff", "webp", "mpo"};
    const char *suffix = path_suffix(name);
    for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; i++)
        if (strcasecmp(suffix, suffixes[i]) == 0)
            return true;
    return false;
}

/* The kind of a name that nobody means to have in a data set, or NULL. */
static const char *dropping_kind(const char *name) {
    static const char *const names[] = {"Thumbs.db", "desktop.ini", "__MACOSX", "@eaDir"};
    if (name[0] == '.')
        return "dot file";
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcasecmp(name, names[i]) == 0)
            return names[i];
    size_t size = strlen(name);
    return size > 5 && strcmp(name + size - 5, "-lock") == 0 ? "*-lock" : NULL;
}

/* ---- what is skipped --------------------------------------------------------------------------------------------- */

static int tally_add(struct walk *w, const char *kind, const char *path) {
    w->out->skipped_count++;
    if (w->tally_count >= KIND_LIMIT)
        kind = "other kinds";
    for (size_t i = 0; i < w->tally_count; i++) {
        struct tally *t = &w->tallies[i];
        if (strcmp(t->kind, kind) == 0) {
            t->count++;
            if (strcmp(path, t->path) < 0)
                t->path = path;
            return 0;
        }
    }
    struct tally *tallies = grown(w->tallies, w->tally_count, &w->tally_capacity, sizeof *tallies);
    if (!tallies)
        return ERR_MEMORY;
    w->tallies = tallies;
    tallies[w->tally_count++] = (struct tally){kind, path, 1};
    return 0;
}

/* Files of another suffix are one kind a suffix, without case. */
static int tally_suffix(struct walk *w, const char *path) {
    char lower[NAME_MAX + 8];
    int size = snprintf(lower, sizeof lower, "*.%s", path_suffix(path));
    if (size == 2)
        return tally_add(w, "no suffix", path);
    for (char *c = lower; *c; c++)
        *c = (char)tolower((unsigned char)*c);
    const char *kind = arena_text(&w->out->arena, lower, strlen(lower));
    return kind ? tally_add(w, kind, path) : ERR_MEMORY;
}

static int oddity_add(struct walk *w, const char *path, const char *what) {
    w->out->skipped_count++;
    struct oddity *oddities = grown(w->oddities, w->oddity_count, &w->oddity_capacity, sizeof *oddities);
    if (!oddities)
        return ERR_MEMORY;
    w->oddities = oddities;
    oddities[w->oddity_count++] = (struct oddity){path, what};
    return 0;
}

static int compare_tallies(const void *a, const void *b) {
    return strcmp(((const struct tally *)a)->kind, ((const struct tally *)b)->kind);
}

static int compare_oddities(const void *a, const void *b) {
    return strcmp(((const struct oddity *)a)->path, ((const struct oddity *)b)->path);
}

static int report_skipped(struct walk *w, struct report *report) {
    int rc = 0;
    if (w->oddity_count)
        qsort(w->oddities, w->oddity_count, sizeof *w->oddities, compare_oddities);
    for (size_t i = 0; i < w->oddity_count && rc == 0; i++)
        rc = report_add(report, RULE_FILE_SKIPPED, w->oddities[i].path, 0, 0, (struct span){0}, "%s",
                        w->oddities[i].what);
    if (w->tally_count)
        qsort(w->tallies, w->tally_count, sizeof *w->tallies, compare_tallies);
    for (size_t i = 0; i < w->tally_count && rc == 0; i++) {
        const struct tally *t = &w->tallies[i];
        struct span kind = {(const uint8_t *)t->kind, strlen(t->kind)};
        rc =
            report_add(report, RULE_FILE_SKIPPED, t->path, 0, 0, kind,
                       t->count == 1 ? "%" PRIu64 " such file" : "%" PRIu64 " such files, this is the first", t->count);
    }
    return rc;
}

/* ---- the walk ---------------------------------------------------------------------------------------------------- */

static size_t visited_slot(const struct walk *w, struct directory_id id) {
    uint64_t hash = ((uint64_t)id.inode * UINT64_C(0x9E3779B97F4A7C15)) ^ (uint64_t)id.device;
    size_t slot = (size_t)(hash >> 16) & (w->visited_capacity - 1);
    while (w->visited[slot].inode != 0 && (w->visited[slot].inode != id.inode || w->visited[slot].device != id.device))
        slot = (slot + 1) & (w->visited_capacity - 1);
    return slot;
}

static int visited_grow(struct walk *w) {
    struct directory_id *old = w->visited;
    size_t old_capacity = w->visited_capacity, capacity = old_capacity ? 2 * old_capacity : 256;
    struct directory_id *larger = calloc(capacity, sizeof *larger);
    if (!larger)
        return ERR_MEMORY;
    w->visited = larger;
    w->visited_capacity = capacity;
    for (size_t i = 0; i < old_capacity; i++)
        if (old[i].inode != 0)
            larger[visited_slot(w, old[i])] = old[i];
    free(old);
    return 0;
}

static int unreadable(const struct walk *w, const char *path, int os_errno, struct error *error) {
    char *whole = path_join(w->root, path);
    int rc = !whole                ? error_set(error, ERR_MEMORY, "out of memory")
             : os_errno == ENOENT  ? path_missing(whole, error)
             : os_errno == ENOTDIR ? error_set(error, ERR_INPUT, "%s: not a directory", whole)
                                   : error_set_errno(error, os_errno, "%s: cannot be read", whole);
    free(whole);
    return rc;
}

static int visit(struct walk *w, int fd, const char *path, bool *first, struct error *error) {
    struct stat st;
    if (fstat(fd, &st) != 0)
        return unreadable(w, path, errno, error);
    if (2 * (w->visited_count + 1) > w->visited_capacity && visited_grow(w) != 0)
        return error_set(error, ERR_MEMORY, "out of memory");
    struct directory_id id = {st.st_dev, st.st_ino};
    size_t slot = visited_slot(w, id);
    *first = w->visited[slot].inode == 0;
    if (*first) {
        w->visited[slot] = id;
        w->visited_count++;
    }
    return 0;
}

static bool is_label_name(const char *path) {
    return strcasecmp(path_suffix(path), "txt") == 0;
}

/* What has a label's name is the label of its picture, whatever it is: the picture is no background. Reading
 * it fails. */
static int take_odd(struct walk *w, const char *path, const char *what) {
    return is_label_name(path) ? path_list_add(&w->out->labels, path) : oddity_add(w, path, what);
}

static int take_directory(struct walk *w, const char *path, bool link) {
    if (scan_is_image_name(path))
        return oddity_add(w, path, "a directory with an image's name");
    if (is_label_name(path) && path_list_add(&w->out->labels, path) != 0)
        return ERR_MEMORY;
    return path_list_add(link ? &w->links : &w->pending, path);
}

static bool is_configuration(const char *path) {
    return strcasecmp(path_suffix(path), "yaml") == 0 || strcasecmp(path_suffix(path), "yml") == 0;
}

static int take_file(struct walk *w, const char *path) {
    if (scan_is_image_name(path))
        return path_list_add(&w->out->images, path);
    if (is_label_name(path))
        return path_list_add(&w->out->labels, path);
    if (is_configuration(path)) /* data_yaml_locate() judges these */
        return 0;
    return tally_suffix(w, path);
}

static const char *odd_type(mode_t mode) {
    return S_ISFIFO(mode) ? "a FIFO" : S_ISSOCK(mode) ? "a socket" : "a device";
}

/* 0 or ERR_MEMORY. */
static int take_entry(struct walk *w, int fd, const char *directory, const struct dirent *entry) {
    const char *path = arena_path(&w->out->arena, directory, entry->d_name);
    if (!path)
        return ERR_MEMORY;
    const char *dropping = dropping_kind(entry->d_name);
    if (dropping)
        return tally_add(w, dropping, path);
    if (entry->d_type == DT_REG)
        return take_file(w, path);
    if (entry->d_type == DT_DIR)
        return take_directory(w, path, false);
    struct stat st, target;
    if (fstatat(fd, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) != 0)
        return take_odd(w, path, "cannot be examined");
    bool link = S_ISLNK(st.st_mode);
    if (fstatat(fd, entry->d_name, &target, 0) != 0)
        return take_odd(w, path, "a broken symbolic link");
    if (S_ISREG(target.st_mode))
        return take_file(w, path);
    return S_ISDIR(target.st_mode) ? take_directory(w, path, link) : take_odd(w, path, odd_type(target.st_mode));
}

static int read_entries(struct walk *w, DIR *stream, const char *path, struct error *error) {
    for (;;) {
        errno = 0;
        const struct dirent *entry = readdir(stream);
        if (!entry)
            return errno == 0 ? 0 : unreadable(w, path, errno, error);
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        if (++w->entry_count % CANCEL_INTERVAL == 0 && w->cancel && atomic_load(w->cancel))
            return error_set(error, ERR_INTERRUPTED, "interrupted");
        if (take_entry(w, dirfd(stream), path, entry) != 0)
            return error_set(error, ERR_MEMORY, "out of memory after %" PRIu64 " files", w->entry_count);
    }
}

static int walk_directory(struct walk *w, const char *path, struct error *error) {
    int fd = openat(w->root_fd, path[0] ? path : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return unreadable(w, path, errno, error);
    bool first = false;
    int rc = visit(w, fd, path, &first, error);
    if (rc == 0 && !first && oddity_add(w, path, "a second way to a directory that is taken already") != 0)
        rc = error_set(error, ERR_MEMORY, "out of memory");
    DIR *stream = rc == 0 && first ? fdopendir(fd) : NULL;
    if (stream) {
        rc = read_entries(w, stream, path, error);
        closedir(stream);
        return rc;
    }
    if (rc == 0 && first)
        rc = unreadable(w, path, errno, error);
    close(fd);
    return rc;
}

/* Real directories first, so that the order in which the file system lists names decides nothing. */
static int walk_pending(struct walk *w, struct error *error) {
    int rc = 0;
    while (rc == 0 && w->pending.count != 0) {
        if (w->cancel && atomic_load(w->cancel))
            return error_set(error, ERR_INTERRUPTED, "interrupted");
        rc = walk_directory(w, w->pending.items[--w->pending.count], error);
    }
    return rc;
}

static int walk_all(struct walk *w, const char *sub, struct error *error) {
    int rc = walk_directory(w, sub, error);
    if (rc == 0)
        rc = walk_pending(w, error);
    while (rc == 0 && w->links.count != 0) {
        struct path_list links = w->links;
        w->links = (struct path_list){0};
        path_list_sort(&links);
        for (size_t i = 0; i < links.count && rc == 0; i++) {
            rc = walk_directory(w, links.items[i], error);
            if (rc == 0)
                rc = walk_pending(w, error);
        }
        free(links.items);
    }
    return rc;
}

static void walk_deinit(struct walk *w) {
    if (w->root_fd >= 0)
        close(w->root_fd);
    free(w->pending.items);
    free(w->links.items);
    free(w->visited);
    free(w->tallies);
    free(w->oddities);
}

int scan_directory(struct scan *out, const char *root, const char *sub, struct report *report,
                   const atomic_bool *cancel, struct error *error) {
    struct walk w = {.out = out, .cancel = cancel, .root = root};
    w.root_fd = open(root[0] ? root : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (w.root_fd < 0)
        return unreadable(&w, "", errno, error);
    int rc = walk_all(&w, sub, error);
    if (rc == 0 && report && report_skipped(&w, report) != 0)
        rc = error_set(error, ERR_MEMORY, "out of memory");
    walk_deinit(&w);
    path_list_sort(&out->images);
    path_list_sort(&out->labels);
    return rc;
}

void scan_deinit(struct scan *scan) {
    free(scan->images.items);
    free(scan->labels.items);
    arena_deinit(&scan->arena);
    *scan = (struct scan){0};
}

/* ---- a path that is not there ------------------------------------------------------------------------------------ */

/* The name in `directory` that `name` is most like, malloc'ed; NULL if none is. */
static char *nearest_name(const char *directory, const char *name) {
    char *nearest = NULL;
    struct dirent **entries;
    int count = scandir(directory, &entries, NULL, alphasort);
    if (count < 0)
        return NULL;
    const char **names = reallocarray(NULL, (size_t)count + 1, sizeof *names);
    for (int i = 0; i < count && names; i++)
        names[i] = entries[i]->d_name[0] == '.' ? NULL : entries[i]->d_name;
    const char *found = names ? suggest_nearest(name, names, (size_t)count) : NULL;
    if (found)
        nearest = strdup(found);
    for (int i = 0; i < count; i++)
        free(entries[i]);
    free(entries);
    free(names);
    return nearest;
}

static bool exists(const char *path) {
    struct stat st;
    return stat(path, &st) == 0;
}

/* `directory`/`name`, or the name in the directory that is nearest. Takes over `directory`. */
static char *nearest_in(char *directory, const char *name) {
    char *path = path_join(directory, name);
    if (path && !exists(path)) {
        char *nearest = nearest_name(*directory ? directory : ".", name);
        free(path);
        path = nearest ? path_join(directory, nearest) : NULL;
        free(nearest);
    }
    free(directory);
    return path;
}

char *path_nearest(const char *path) {
    char *copy = strdup(path), *found = strdup(path[0] == '/' ? "/" : "");
    for (char *c = copy; c && *c; c++)
        if (*c == '\\')
            *c = '/';
    for (char *rest = copy, *name; copy && found && (name = strsep(&rest, "/"));)
        if (*name && strcmp(name, ".") != 0)
            found = nearest_in(found, name);
    if (found && (!copy || *found == '\0')) {
        free(found);
        found = NULL;
    }
    free(copy);
    return found;
}

int path_missing(const char *path, struct error *error) {
    char *copy = strdup(path);
    if (!copy)
        return error_set(error, ERR_MEMORY, "out of memory");
    for (size_t size = strlen(copy); size > 1 && copy[size - 1] == '/'; size--)
        copy[size - 1] = '\0';
    const char *name = path_base(copy);
    size_t parent_size = (size_t)(name - copy);
    char *parent = parent_size ? strndup(copy, parent_size) : strdup(".");
    char *nearest = parent ? nearest_name(parent, name) : NULL;
    int rc = nearest ? error_set(error, ERR_NOT_FOUND, "%s: no such file or directory (did you mean %.*s%s?)", path,
                                 (int)parent_size, copy, nearest)
                     : error_set(error, ERR_NOT_FOUND, "%s: no such file or directory", path);
    free(nearest);
    free(parent);
    free(copy);
    return rc;
}
