#include "pair_label.h"

#include "file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/*
 * picture ──> candidate stems, best first ──> look_up() ──> row of files
 *
 * Two passes share the candidates: the first looks for the stem itself, the second, for pictures left without a label,
 * for its skeleton among the orphans.
 */

/* An orphan by what is left of its name when the Unicode composition is taken out. */
struct skeleton {
    const char *text;
    uint32_t file;
};

struct search {
    const struct pair_labels *labels;
    const struct pair_rule *rule;
    struct arena arena;
    struct path_list directories; /* where a label was looked for by rule, or was found */
    const char *last_directory;   /* the one added last: pictures come in order */
    size_t hint;
    struct skeleton *skeletons; /* second pass: of the orphans, sorted; NULL in the first */
    size_t skeleton_count;
    bool failed; /* memory ran out */
};

static bool has_non_ascii(const char *text) {
    for (; *text; text++)
        if ((unsigned char)*text >= 0x80)
            return true;
    return false;
}

/* Bytes of the combining mark at `p` (U+0300-U+036F, U+3099, U+309A) or conjoining jamo (U+1100-U+11FF); 0: none. */
static size_t decomposed_size(const unsigned char *p) {
    if ((p[0] == 0xCC && p[1] >= 0x80) || (p[0] == 0xCD && p[1] >= 0x80 && p[1] <= 0xAF))
        return 2;
    if (p[0] == 0xE3 && p[1] == 0x82 && (p[2] == 0x99 || p[2] == 0x9A))
        return 3;
    return p[0] == 0xE1 && p[1] >= 0x84 && p[1] <= 0x87 && p[2] >= 0x80 ? 3 : 0;
}

/* ASCII alone, without the letters that a combining mark follows: the same for both compositions of a name. Returns
 * whether there was anything decomposed. `out` has room for the text. */
static bool skeleton_of(const char *text, char *out) {
    bool decomposed = false;
    char *end = out;
    for (const unsigned char *p = (const unsigned char *)text; *p; p++) {
        if (decomposed_size(p) != 0) {
            if (p > (const unsigned char *)text && p[-1] < 0x80 && p[-1] != '/' && end > out)
                end--;
            decomposed = true;
        }
        if (*p < 0x80)
            *end++ = (char)*p;
    }
    *end = '\0';
    return decomposed;
}

static int compare_skeletons(const void *a, const void *b) {
    return strcmp(((const struct skeleton *)a)->text, ((const struct skeleton *)b)->text);
}

static uint32_t look_up_near(const struct search *s, const char *stem) {
    char text[PATH_MAX];
    bool decomposed = skeleton_of(stem, text);
    const struct skeleton key = {.text = text};
    const struct skeleton *found = bsearch(&key, s->skeletons, s->skeleton_count, sizeof key, compare_skeletons);
    char other[PATH_MAX];
    if (!found || (!decomposed && !skeleton_of(s->labels->files->items[found->file], other)))
        return PAIR_NONE;
    return found->file;
}

/* The file "<stem>txt" in any case; `stem` ends with its dot. */
static uint32_t look_up(struct search *s, const char *stem) {
    const struct path_list *files = s->labels->files;
    size_t size = strlen(stem);
    if (s->skeletons)
        return look_up_near(s, stem);
    for (size_t i = path_list_lower(files, stem, &s->hint); i < files->count; i++) {
        if (strncmp(files->items[i], stem, size) != 0)
            break;
        if (strcasecmp(files->items[i] + size, "txt") == 0)
            return (uint32_t)i;
    }
    return PAIR_NONE;
}

/* Remembers the directory of `path`. */
static void add_directory(struct search *s, const char *path) {
    size_t size = (size_t)(path_base(path) - path);
    if (s->last_directory && strlen(s->last_directory) == size && memcmp(s->last_directory, path, size) == 0)
        return;
    s->last_directory = arena_text(&s->arena, path, size);
    if (!s->last_directory || path_list_add(&s->directories, s->last_directory) != 0)
        s->failed = true;
}

/* A picture's path, cut where candidates need it: the stem without the rule's suffix, then that suffix. */
struct name {
    const char *path;
    size_t key_size, stem_size;
    bool infrared;
};

/* Tries "<head><middle><path from `from`>" with the stem, with the key, and with the key and the RGB suffix. */
static uint32_t try_names(struct search *s, const struct name *n, size_t head_size, const char *middle, size_t from) {
    const char *rgb = s->rule->rgb;
    const struct {
        size_t end;
        const char *suffix;
        bool wanted;
    } variants[] = {
        {n->stem_size, "", true},
        {n->key_size, "", n->key_size != n->stem_size},
        {n->key_size, rgb, n->key_size != n->stem_size && n->infrared && *rgb},
    };
    for (size_t i = 0; i < sizeof variants / sizeof *variants; i++) {
        char stem[PATH_MAX];
        size_t end = variants[i].end;
        if (!variants[i].wanted)
            continue;
        int size = snprintf(stem, sizeof stem, "%.*s%s%.*s%s.", (int)head_size, n->path, middle, (int)(end - from),
                            n->path + from, variants[i].suffix);
        if (size >= (int)sizeof stem)
            return PAIR_NONE;
        if (i == 0 && *middle && !s->skeletons)
            add_directory(s, stem);
        uint32_t found = look_up(s, stem);
        if (found != PAIR_NONE)
            return found;
    }
    return PAIR_NONE;
}

/* With --labels: the picture's path below the directory, then without its first component, … to the file name. */
static uint32_t try_below(struct search *s, const struct name *n) {
    for (size_t from = 0;;) {
        uint32_t found = try_names(s, n, 0, "", from);
        const char *slash = strchr(n->path + from, '/');
        if (found != PAIR_NONE || !slash)
            return found;
        from = (size_t)(slash - n->path) + 1;
    }
}

/* Without: "labels" in place of the rule's directory, in place of "images", then beside the picture. */
static uint32_t try_by_rule(struct search *s, const struct name *n) {
    const char *own = s->rule->kind == PAIR_BY_DIRECTORY ? (n->infrared ? s->rule->ir : s->rule->rgb) : "images";
    const char *const words[] = {own, strcmp(own, "images") != 0 ? "images" : NULL};
    for (size_t i = 0; i < 2; i++) {
        const char *component = words[i] ? path_component(n->path, words[i]) : NULL;
        if (!component)
            continue;
        size_t head_size = (size_t)(component - n->path);
        uint32_t found = try_names(s, n, head_size, "labels", head_size + strlen(words[i]));
        if (found != PAIR_NONE)
            return found;
    }
    uint32_t beside = try_names(s, n, 0, "", 0);
    if (beside != PAIR_NONE && !s->skeletons)
        add_directory(s, n->path);
    return beside;
}

static uint32_t find_one(struct search *s, const char *path) {
    struct name n = {.path = path, .stem_size = path_stem_size(path)};
    bool by_path = s->rule->kind == PAIR_BY_DIRECTORY || s->rule->kind == PAIR_BY_SUFFIX;
    enum pair_role role = by_path ? pair_rule_role(s->rule, path) : ROLE_NONE;
    n.infrared = role == ROLE_IR;
    n.key_size = n.stem_size;
    if (s->rule->kind == PAIR_BY_SUFFIX && role != ROLE_NONE)
        n.key_size -= strlen(role == ROLE_IR ? s->rule->ir : s->rule->rgb);
    return s->labels->directory ? try_below(s, &n) : try_by_rule(s, &n);
}

/* True for a file that no picture claims, where pictures' labels lie. */
static bool is_orphan(struct search *s, const uint8_t *used, size_t file, size_t *hint) {
    const char *path = s->labels->files->items[file], *base = path_base(path);
    if (used[file] || strcasecmp(base, "classes.txt") == 0)
        return false;
    if (s->labels->directory)
        return true;
    char directory[PATH_MAX];
    if ((size_t)(base - path) >= sizeof directory)
        return false;
    memcpy(directory, path, (size_t)(base - path));
    directory[base - path] = '\0';
    return path_list_find(&s->directories, directory, hint) != SIZE_MAX;
}

/* The orphans that another composition of a name could explain, for look_up_near(). */
static int index_skeletons(struct search *s, const uint32_t *orphans, size_t count) {
    s->skeletons = calloc(count + 1, sizeof *s->skeletons);
    if (!s->skeletons)
        return ERR_MEMORY;
    for (size_t i = 0; i < count; i++) {
        const char *path = s->labels->files->items[orphans[i]];
        char text[PATH_MAX];
        if (!has_non_ascii(path) || strlen(path) >= sizeof text)
            continue;
        skeleton_of(path, text);
        const char *copy = arena_text(&s->arena, text, path_stem_size(text) + 1); /* with its dot */
        if (!copy)
            return ERR_MEMORY;
        s->skeletons[s->skeleton_count++] = (struct skeleton){copy, orphans[i]};
    }
    if (s->skeleton_count != 0)
        qsort(s->skeletons, s->skeleton_count, sizeof *s->skeletons, compare_skeletons);
    return 0;
}

/* near[file] becomes the picture that nearly has the orphan's name. */
static void find_near(struct search *s, uint32_t *near, const uint32_t *label_of, const struct path_list *images) {
    for (size_t i = 0; i < images->count && s->skeleton_count != 0; i++) {
        if (label_of[i] != PAIR_NONE || !has_non_ascii(images->items[i]))
            continue;
        uint32_t file = find_one(s, images->items[i]);
        if (file != PAIR_NONE)
            near[file] = (uint32_t)i;
    }
}

static int report_orphans(const struct pair_labels *labels, const uint32_t *orphans, size_t count, const uint32_t *near,
                          const struct path_list *images, struct report *report) {
    int rc = 0;
    for (size_t i = 0; i < count && rc == 0; i++) {
        char *path = path_join(labels->directory ? labels->directory : "", labels->files->items[orphans[i]]);
        uint32_t image = near[orphans[i]];
        if (!path)
            return ERR_MEMORY;
        if (image == PAIR_NONE) {
            rc = report_add(report, RULE_LABEL_ORPHAN, path, 0, 0, (struct span){0}, "no picture has this name");
        } else {
            const char *name = images->items[image];
            rc = report_add(report, RULE_LABEL_NEAR, path, 0, 0, (struct span){(const uint8_t *)name, strlen(name)},
                            "not used: the picture has no label, and the same name in another Unicode composition");
        }
        free(path);
    }
    return rc;
}

static int find_orphans(struct search *s, const uint32_t *label_of, const struct path_list *images,
                        struct report *report) {
    size_t file_count = s->labels->files->count, count = 0, hint = 0;
    uint8_t *used = calloc(file_count + 1, 1);
    uint32_t *orphans = malloc((file_count + 1) * sizeof *orphans), *near = malloc((file_count + 1) * sizeof *near);
    int rc = used && orphans && near ? 0 : ERR_MEMORY;
    if (rc != 0)
        goto out;
    for (size_t i = 0; i < images->count; i++)
        if (label_of[i] != PAIR_NONE)
            used[label_of[i]] = 1;
    path_list_sort(&s->directories);
    for (size_t i = 0; i < file_count; i++) {
        near[i] = PAIR_NONE;
        if (is_orphan(s, used, i, &hint))
            orphans[count++] = (uint32_t)i;
    }
    rc = index_skeletons(s, orphans, count);
    if (rc != 0)
        goto out;
    find_near(s, near, label_of, images);
    rc = report_orphans(s->labels, orphans, count, near, images, report);
out:
    free(used);
    free(orphans);
    free(near);
    return rc;
}

/* ---- none at all ------------------------------------------------------------------------------------------------- */

#define NEAR_LIMIT 20u /* pictures whose names are looked for among the label files */

/* The length of the directory of `file` below which it lies as the picture does below some of its own; SIZE_MAX if not
 * even the names are the same. */
static size_t common_root(const char *file, const char *picture) {
    size_t a = path_stem_size(file), b = path_stem_size(picture), root = SIZE_MAX;
    while (a > 0 && b > 0 && file[a - 1] == picture[b - 1]) {
        a--;
        b--;
        if (file[a] == '/')
            root = a;
    }
    bool whole = (a == 0 || file[a - 1] == '/') && (b == 0 || picture[b - 1] == '/');
    return whole && a > 0 ? a - 1 : root;
}

/* Not one picture has a label. A label file that has a picture's name says where they are. */
static int point_at_labels(const struct pair_labels *labels, const struct path_list *images, struct report *report) {
    for (size_t i = 0; i < images->count && i < NEAR_LIMIT; i++)
        for (size_t k = 0; k < labels->files->count; k++) {
            const char *file = labels->files->items[k], *picture = images->items[i];
            size_t root = common_root(file, picture);
            if (root != SIZE_MAX)
                return report_add(report, RULE_LABEL_NEAR, file, 0, 0,
                                  (struct span){(const uint8_t *)picture, strlen(picture)},
                                  "labels of these pictures are not looked for there: --labels %.*s", (int)root, file);
        }
    return 0;
}

int pair_labels_find(uint32_t *label_of, const struct pair_labels *labels, const struct path_list *images,
                     const struct pair_rule *rule, struct report *report, struct error *error) {
    struct search s = {.labels = labels, .rule = rule};
    for (size_t i = 0; i < images->count && !s.failed; i++) {
        const char *given = labels->given ? labels->given[i] : NULL;
        size_t row = given ? path_list_find(labels->files, given, NULL) : SIZE_MAX;
        if (given)
            label_of[i] = row == SIZE_MAX ? PAIR_NONE : (uint32_t)row;
        else
            label_of[i] = find_one(&s, images->items[i]);
    }
    size_t unlabelled = 0;
    while (unlabelled < images->count && label_of[unlabelled] == PAIR_NONE)
        unlabelled++;
    int rc = s.failed ? ERR_MEMORY : find_orphans(&s, label_of, images, report);
    if (rc == 0 && unlabelled == images->count && !labels->directory)
        rc = point_at_labels(labels, images, report);
    free(s.skeletons);
    free(s.directories.items);
    arena_deinit(&s.arena);
    return rc == 0 ? 0
                   : error_set(error, rc, "out of memory: %zu pictures, %zu label files", images->count,
                               labels->files->count);
}
