#include "pair_place.h"

#include "file.h"
#include "pair_rule.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

void path_clean(char *path) {
    bool rooted = path[0] == '/';
    char *start = path + rooted, *out = start;
    size_t names = 0; /* written that a ".." may take back */
    for (char *in = start; *in;) {
        size_t size = strcspn(in, "/");
        char *after = in + size + (in[size] == '/');
        bool up = size == 2 && memcmp(in, "..", 2) == 0;
        if (up && names > 0) {
            while (out > start && *--out != '/')
                ;
            names--;
        } else if (size > 1 ? !(up && rooted) : size == 1 && *in != '.') {
            if (out > start)
                *out++ = '/';
            memmove(out, in, size);
            out += size;
            names += !up;
        }
        in = after;
    }
    *out = '\0';
}

static bool goes_up(const char *path) {
    for (const char *at = strstr(path, ".."); at; at = strstr(at + 2, ".."))
        if ((at == path || at[-1] == '/') && (at[2] == '/' || at[2] == '\0'))
            return true;
    return false;
}

/* malloc'ed; NULL if memory ran out or there is no current directory. Symbolic links stay, except where ".." makes it
 * matter what they are. */
static char *absolute_of(const char *path) {
    char *whole = goes_up(path) ? realpath(path, NULL) : NULL;
    if (whole)
        return whole;
    char *here = path[0] == '/' ? NULL : realpath(".", NULL);
    whole = path[0] == '/' ? strdup(path) : here ? path_join(here, path) : NULL;
    free(here);
    if (whole)
        path_clean(whole);
    return whole;
}

int pair_places_init(struct pair_places *p, const char *base, struct error *error) {
    *p = (struct pair_places){.base = strdup(base), .absolute = absolute_of(base)};
    p->real = p->absolute ? realpath(p->absolute, NULL) : NULL;
    if (!p->real && p->absolute)
        p->real = strdup(p->absolute);
    if (p->base && p->absolute && p->real)
        return 0;
    pair_places_deinit(p);
    return error_set(error, ERR_MEMORY, "%s: out of memory", base);
}

/* What follows the directory in the path: "" for the directory itself, NULL when the path is not inside. */
static const char *inside(const char *directory, const char *path) {
    size_t size = strlen(directory);
    if (size == 1)
        return path + 1; /* "/" */
    if (strncmp(path, directory, size) != 0 || (path[size] != '/' && path[size] != '\0'))
        return NULL;
    return path[size] ? path + size + 1 : path + size;
}

/* The place of a directory. */
static const char *place_directory(struct pair_places *p, const char *directory) {
    char *whole = absolute_of(directory), *real = NULL;
    const char *rest = whole ? inside(p->absolute, whole) : NULL;
    if (!rest && whole) {
        real = realpath(whole, NULL);
        rest = real ? inside(p->real, real) : NULL;
    }
    const char *found = rest ? rest : real ? real : whole;
    const char *place = found ? arena_text(&p->arena, found, strlen(found)) : NULL;
    p->any_inside |= rest != NULL;
    free(real);
    free(whole);
    return place;
}

const char *pair_places_put(struct pair_places *p, const char *root, const char *path) {
    char *whole = path_join(root, path);
    if (!whole)
        return NULL;
    const char *name = path_base(whole), *place = NULL;
    size_t size = (size_t)(name - whole);
    if (!p->last_directory || strlen(p->last_directory) != size || memcmp(p->last_directory, whole, size) != 0) {
        free(p->last_directory);
        p->last_directory = strndup(whole, size);
        p->last_place = p->last_directory ? place_directory(p, size ? p->last_directory : ".") : NULL;
    }
    if (p->last_place)
        place = arena_path(&p->arena, strcmp(p->last_place, "/") == 0 ? "" : p->last_place, name);
    free(whole);
    return place;
}

const char *pair_places_put_directory(struct pair_places *p, const char *path) {
    const char *place = place_directory(p, path);
    return place && *place ? arena_path(&p->arena, place, "") : place;
}

/* ---- settling ---------------------------------------------------------------------------------------------------- */

/* The length of the part of an outside path to scan so that partners and labels are seen too: up to the directory that
 * a rule would replace, or the directory of the picture. */
static size_t anchor_size(const char *path) {
    const char *last = NULL;
    const struct pair_rule *rule;
    for (size_t i = 0; (rule = pair_rule_auto(i)) && rule->kind == PAIR_BY_DIRECTORY; i++) {
        const char *found = path_component(path, rule->rgb), *other = path_component(path, rule->ir);
        last = found && (!last || found > last) ? found : last;
        last = other && (!last || other > last) ? other : last;
    }
    const char *end = last ? last : path_base(path);
    return end > path + 1 ? (size_t)(end - path) - 1 : 1;
}

/* Shortens `ancestor` until the directory `path` (of `size` bytes) lies in it. */
static void widen(char *ancestor, const char *path, size_t size) {
    size_t same = 0;
    while (same < size && ancestor[same] == path[same] && ancestor[same])
        same++;
    bool whole =
        (ancestor[same] == '\0' && (same == size || path[same] == '/')) || (same == size && ancestor[same] == '/');
    while (!whole && same > 0 && ancestor[same - 1] != '/')
        same--;
    if (!whole && same > 1)
        same--; /* the slash */
    ancestor[same > 0 ? same : 1] = '\0';
}

static int add_sub(struct pair_places *p, const char *directory, size_t size) {
    const char *copy = arena_text(&p->arena, directory, size);
    return copy ? path_list_add(&p->subs, copy) : ERR_MEMORY;
}

static bool is_there(const char *path, size_t size) {
    struct stat st;
    char *copy = strndup(path, size);
    bool there = !copy || stat(copy, &st) == 0 || (errno != ENOENT && errno != ENOTDIR);
    free(copy);
    return there;
}

/* The anchors of all outside paths, absolute, in `subs`; not of those that are not there, as in a list that was made on
 * another machine: such a path stays as it is, and no picture has it. */
static int collect_anchors(struct pair_places *p, struct path_list *const *lists, size_t list_count) {
    size_t last_size = 0;
    const char *last = "";
    for (size_t l = 0; l < list_count; l++) {
        for (size_t i = 0; i < lists[l]->count; i++) {
            const char *path = lists[l]->items[i];
            if (!path || path[0] != '/')
                continue;
            size_t size = anchor_size(path);
            if (size == last_size && memcmp(last, path, size) == 0)
                continue;
            last = path;
            last_size = size;
            if (is_there(path, size) && add_sub(p, path, size) != 0)
                return ERR_MEMORY;
        }
    }
    path_list_sort(&p->subs);
    return 0;
}

static int rebase_list(struct pair_places *p, struct path_list *list, const char *prefix, const char *base) {
    for (size_t i = 0; i < list->count; i++) {
        const char *path = list->items[i];
        if (!path)
            continue;
        const char *rest = path[0] == '/' ? inside(base, path) : arena_path(&p->arena, prefix, path);
        if (!rest && path[0] != '/')
            return ERR_MEMORY;
        list->items[i] = rest ? rest : path;
    }
    return 0;
}

int pair_places_settle(struct pair_places *p, struct path_list *const *lists, size_t list_count) {
    int rc = collect_anchors(p, lists, list_count);
    if (rc != 0 || p->subs.count == 0)
        return rc != 0 ? rc : add_sub(p, "", 0);
    char *base = strdup(p->any_inside ? p->real : p->subs.items[0]);
    if (!base)
        return ERR_MEMORY;
    for (size_t i = 0; i < p->subs.count; i++)
        widen(base, p->subs.items[i], strlen(p->subs.items[i]));
    const char *prefix = p->any_inside ? inside(base, p->real) : "";
    for (size_t l = 0; l < list_count && rc == 0; l++)
        rc = rebase_list(p, lists[l], prefix, base);
    for (size_t i = 0; i < p->subs.count; i++)
        p->subs.items[i] = inside(base, p->subs.items[i]);
    if (rc == 0 && p->any_inside)
        rc = add_sub(p, prefix, strlen(prefix));
    free(p->base);
    p->base = base;
    return rc;
}

void pair_places_deinit(struct pair_places *p) {
    free(p->base);
    free(p->absolute);
    free(p->real);
    free(p->last_directory);
    free(p->subs.items);
    arena_deinit(&p->arena);
    *p = (struct pair_places){0};
}
