#include "pair_match.h"

#include "file.h"

#include <stdlib.h>
#include <string.h>

static void set_role(struct pair_table *t, uint32_t image, enum pair_role role) {
    if (t->role[image] == ROLE_NONE)
        *(role == ROLE_RGB ? &t->rgb_count : &t->ir_count) += 1;
    t->role[image] = (uint8_t)role;
}

static void set_ambiguous(struct pair_table *t, uint32_t image) {
    uint32_t partner = t->partner[image];
    if (partner < PAIR_AMBIGUOUS) {
        t->partner[partner] = PAIR_AMBIGUOUS;
        t->pair_count--;
    }
    t->partner[image] = PAIR_AMBIGUOUS;
}

static void join(struct pair_table *t, uint32_t rgb, uint32_t ir) {
    if (t->partner[rgb] == ir || rgb == ir)
        return;
    if (t->partner[rgb] != PAIR_NONE || t->partner[ir] != PAIR_NONE) {
        set_ambiguous(t, rgb);
        set_ambiguous(t, ir);
        return;
    }
    t->partner[rgb] = ir;
    t->partner[ir] = rgb;
    t->pair_count++;
}

int pair_match_none(struct pair_table *t, const struct path_list *images) {
    pair_table_deinit(t);
    t->role = calloc(images->count + 1, sizeof *t->role);
    t->partner = malloc((images->count + 1) * sizeof *t->partner);
    if (!t->role || !t->partner)
        return ERR_MEMORY;
    for (size_t i = 0; i < images->count; i++)
        t->partner[i] = PAIR_NONE;
    return 0;
}

int pair_match_single(struct pair_table *t, const struct path_list *images, enum pair_role role) {
    int rc = pair_match_none(t, images);
    for (size_t i = 0; i < images->count && rc == 0; i++)
        set_role(t, (uint32_t)i, role);
    return rc;
}

/* Joins the IR picture with each RGB picture "<stem><image suffix>". */
static void join_stem(struct pair_table *t, const struct path_list *images, const char *stem, uint32_t ir,
                      size_t *hint) {
    size_t size = strlen(stem);
    uint32_t first = PAIR_NONE;
    for (size_t i = path_list_lower(images, stem, hint); i < images->count; i++) {
        const char *rest = images->items[i] + size;
        if (strncmp(images->items[i], stem, size) != 0)
            break;
        if (t->role[i] != ROLE_RGB || strpbrk(rest, "./"))
            continue;
        if (first == PAIR_NONE) {
            first = (uint32_t)i;
            join(t, first, ir);
        } else {
            set_ambiguous(t, ir);
            set_ambiguous(t, first);
            set_ambiguous(t, (uint32_t)i);
        }
    }
}

/* By directory, pictures of one directory have one role. */
static void set_roles(struct pair_table *t, const struct path_list *images, const struct pair_rule *rule) {
    enum pair_role role = ROLE_NONE;
    const char *last = "/";
    size_t last_size = 1; /* of its directory; "/" is nobody's */
    for (size_t i = 0; i < images->count; i++) {
        const char *path = images->items[i];
        size_t size = (size_t)(path_base(path) - path);
        if (rule->kind != PAIR_BY_DIRECTORY || size != last_size || memcmp(path, last, size) != 0) {
            role = pair_rule_role(rule, path);
            last = path;
            last_size = size;
        }
        if (role != ROLE_NONE)
            set_role(t, (uint32_t)i, role);
    }
}

int pair_match_rule(struct pair_table *t, const struct path_list *images, const struct pair_rule *rule) {
    int rc = pair_match_none(t, images);
    if (rc == 0)
        set_roles(t, images, rule);
    if (rc != 0 || t->rgb_count == 0 || t->ir_count == 0)
        return rc;
    size_t hint = 0;
    char stem[PATH_MAX];
    for (size_t i = 0; i < images->count; i++)
        if (t->role[i] == ROLE_IR && pair_rule_rgb_stem(rule, images->items[i], stem))
            join_stem(t, images, stem, (uint32_t)i, &hint);
    return 0;
}

/* ---- lists ------------------------------------------------------------------------------------------------------- */

struct keyed {
    const char *key;
    size_t key_size;
    uint32_t image;
    enum pair_role role;
};

static int compare_keyed(const void *a, const void *b) {
    const struct keyed *x = a, *y = b;
    int order = memcmp(x->key, y->key, x->key_size < y->key_size ? x->key_size : y->key_size);
    if (order != 0 || x->key_size != y->key_size)
        return order != 0 ? order : x->key_size < y->key_size ? -1 : 1;
    return (int)x->role - (int)y->role;
}

static struct keyed make_keyed(const struct path_list *images, const struct pair_member *m, enum pair_role role,
                               bool by_name) {
    const char *path = images->items[m->image];
    size_t from = by_name ? (size_t)(path_base(path) - path) : m->key;
    return (struct keyed){path + from, path_stem_size(path) - from, m->image, role};
}

static bool same_key(const struct keyed *a, const struct keyed *b) {
    return a->key_size == b->key_size && memcmp(a->key, b->key, a->key_size) == 0;
}

/* One key: its RGB pictures come first. Returns whether it has pictures of both roles. */
static bool join_group(struct pair_table *t, const struct keyed *group, size_t count) {
    size_t rgb_count = 0;
    while (rgb_count < count && group[rgb_count].role == ROLE_RGB)
        rgb_count++;
    for (size_t i = 0; i < rgb_count; i++)
        for (size_t k = rgb_count; k < count; k++)
            join(t, group[i].image, group[k].image);
    return rgb_count > 0 && rgb_count < count;
}

static bool join_keyed(struct pair_table *t, struct keyed *items, size_t count) {
    bool any = false;
    qsort(items, count, sizeof *items, compare_keyed);
    for (size_t start = 0, end; start < count; start = end) {
        for (end = start + 1; end < count && same_key(&items[start], &items[end]);)
            end++;
        any |= join_group(t, items + start, end - start);
    }
    return any;
}

int pair_match_lists(struct pair_table *t, const struct path_list *images, const struct pair_member *rgb,
                     size_t rgb_count, const struct pair_member *ir, size_t ir_count) {
    size_t count = rgb_count + ir_count;
    struct keyed *items = calloc(count + 1, sizeof *items);
    if (!items)
        return ERR_MEMORY;
    bool any = false;
    for (int by_name = 0; by_name < 2 && !any; by_name++) {
        for (size_t i = 0; i < count; i++) {
            enum pair_role role = i < rgb_count ? ROLE_RGB : ROLE_IR;
            items[i] = make_keyed(images, i < rgb_count ? &rgb[i] : &ir[i - rgb_count], role, by_name);
            set_role(t, items[i].image, role);
        }
        any = join_keyed(t, items, count);
    }
    free(items);
    return 0;
}

void pair_match_add(struct pair_table *t, uint32_t rgb, uint32_t ir) {
    if (rgb != PAIR_NONE)
        set_role(t, rgb, ROLE_RGB);
    if (ir != PAIR_NONE)
        set_role(t, ir, ROLE_IR);
    if (rgb != PAIR_NONE && ir != PAIR_NONE)
        join(t, rgb, ir);
}

void pair_table_deinit(struct pair_table *t) {
    free(t->role);
    free(t->partner);
    *t = (struct pair_table){0};
}
