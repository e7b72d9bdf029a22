#include "stray.h"

#include "arena.h"
#include "file.h"
#include "packed.h"
#include "report.h"
#include "scan.h"

#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

struct search {
    struct packed pack;
    struct scan scan;
    struct arena arena;
    struct path_list named;       /* images of samples */
    struct path_list directories; /* that hold them, each with its '/' */
    struct path_list rejected;    /* stems of what the report says was rejected, escaped as there */
    bool no_memory;               /* while the report was read */
};

/* ---- what the pack knows ----------------------------------------------------------------------------------------- */

/* Samples of one directory mostly come together, those of a pair from two of them by turns. */
static int add_directory(struct search *s, const char *path) {
    size_t size = (size_t)(path_base(path) - path), count = s->directories.count;
    for (size_t back = 1; back <= 2 && back <= count; back++) {
        const char *there = s->directories.items[count - back];
        if (strncmp(there, path, size) == 0 && there[size] == '\0')
            return 0;
    }
    char *directory = arena_text(&s->arena, path, size);
    return directory ? path_list_add(&s->directories, directory) : ERR_MEMORY;
}

static int add_image(struct search *s, const char *path) {
    if (*path == '\0')
        return 0;
    int rc = path_list_add(&s->named, path);
    return rc == 0 ? add_directory(s, path) : rc;
}

static int add_samples(struct search *s, const struct index_view *view, struct error *error) {
    for (uint64_t i = 0; i < view->sample_count; i++) {
        struct index_sample row;
        int rc = index_sample(view, i, &row, error);
        if (rc != 0)
            return rc;
        if (add_image(s, row.rgb_name) != 0 || add_image(s, row.ir_name) != 0)
            return error_set(error, ERR_MEMORY, "out of memory for the names of %s", s->pack.path);
    }
    return 0;
}

/* "images/a.jpg" is "images/a". */
static size_t stem_size(const char *path) {
    size_t suffix = strlen(path_suffix(path));
    return strlen(path) - (suffix > 0 ? suffix + 1 : 0);
}

static void take_row(void *arg, enum report_rule rule, const struct report_example *row) {
    struct search *s = arg;
    if (report_rule_info(rule)->action != ACTION_REJECTED || row->path.size == 0)
        return;
    char *path = arena_text(&s->arena, (const char *)row->path.data, row->path.size);
    if (path)
        path[stem_size(path)] = '\0';
    s->no_memory |= !path || path_list_add(&s->rejected, path) != 0;
}

/* By the name of the file first, so that what differs in a directory comes together. */
static int compare_names(const void *a, const void *b) {
    return strcmp(path_base(*(const char *const *)a), path_base(*(const char *const *)b));
}

static int learn(struct search *s, struct error *error) {
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < s->pack.split_count; i++)
        if (!s->pack.splits[i].same_as[0])
            rc = add_samples(s, &s->pack.splits[i].view, error);
    path_list_sort(&s->named);
    path_list_sort(&s->directories);
    report_visit(&s->pack.report, take_row, s);
    if (rc == 0 && s->no_memory)
        rc = error_set(error, ERR_MEMORY, "out of memory for the report of %s", s->pack.path);
    if (s->rejected.count > 0)
        qsort(s->rejected.items, s->rejected.count, sizeof *s->rejected.items, compare_names);
    return rc;
}

/* ---- what it does not know --------------------------------------------------------------------------------------- */

/* True if the paths have the same last component and differ in one other at most. */
static bool differ_in_one_directory(const char *a, const char *b) {
    unsigned different = 0;
    for (;;) {
        size_t n = strcspn(a, "/"), m = strcspn(b, "/");
        bool same = n == m && memcmp(a, b, n) == 0;
        different += !same;
        if (a[n] != b[m] || different > 1)
            return false;
        if (a[n] == '\0')
            return same;
        a += n + 1;
        b += m + 1;
    }
}

static bool was_rejected(const struct search *s, const char *path) {
    char *stem = report_printable((struct span){(const uint8_t *)path, stem_size(path)});
    const char *key = stem;
    bool found = false;
    const char **at = stem && s->rejected.count > 0 ? bsearch(&key, s->rejected.items, s->rejected.count,
                                                              sizeof *s->rejected.items, compare_names)
                                                    : NULL;
    const char **end = s->rejected.items + s->rejected.count;
    while (at && at > s->rejected.items && compare_names(at - 1, &key) == 0)
        at--;
    for (; at && !found && at < end && compare_names(at, &key) == 0; at++)
        found = differ_in_one_directory(*at, stem);
    free(stem);
    return found;
}

static bool has_samples_around(const struct search *s, const char *path) {
    char directory[PATH_MAX];
    for (const char *end = path_base(path);; end--) {
        size_t size = (size_t)(end - path);
        if (size < sizeof directory && (size == 0 || path[size - 1] == '/')) {
            memcpy(directory, path, size);
            directory[size] = '\0';
            if (path_list_find(&s->directories, directory, NULL) != SIZE_MAX)
                return true;
        }
        if (size == 0)
            return false;
    }
}

static uint64_t tell(const struct search *s, const struct stray_options *options) {
    uint64_t count = 0;
    size_t hint = 0;
    for (size_t i = 0; i < s->scan.images.count; i++) {
        const char *path = s->scan.images.items[i];
        if (path_list_find(&s->named, path, &hint) != SIZE_MAX || !has_samples_around(s, path) || was_rejected(s, path))
            continue;
        count++;
        if (options->on_stray)
            options->on_stray(options->callback_arg, path);
    }
    return count;
}

int stray_find(uint64_t *count, const char *pack, const char *base, const struct stray_options *options,
               struct error *error) {
    struct search s = {0};
    *count = 0;
    int rc = packed_open(&s.pack, pack, error);
    if (rc == 0)
        rc = learn(&s, error);
    if (rc == 0)
        rc = scan_directory(&s.scan, base, "", NULL, options->cancel, error);
    if (rc == 0)
        *count = tell(&s, options);
    scan_deinit(&s.scan);
    free(s.named.items);
    free(s.directories.items);
    free(s.rejected.items);
    arena_deinit(&s.arena);
    packed_close(&s.pack);
    return rc;
}
