#include "pair_word.h"

#include "file.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#define SAMPLE_LIMIT 100u /* infrared pictures whose partners are looked for to find the other name */
#define BESIDE_LIMIT 64u  /* names beside the infrared one that are considered */

/* ---- one name ---------------------------------------------------------------------------------------------------- */

static bool is_upper(char c) {
    return c >= 'A' && c <= 'Z';
}

static bool is_lower(char c) {
    return (c >= 'a' && c <= 'z') || (unsigned char)c >= 0x80;
}

/* The length of the word at the start of `text`: one case, or an upper case letter before lower ones; "IR" parts
 * "IRimages" too. 0: it begins with no letter. */
static size_t word_size(const char *text, size_t size) {
    size_t upper = 0, lower = 0;
    while (upper < size && is_upper(text[upper]))
        upper++;
    while (upper + lower < size && is_lower(text[upper + lower]))
        lower++;
    if (upper < 2 || lower == 0)
        return upper + lower;
    return upper == 2 && memcmp(text, "IR", 2) == 0 ? upper : upper - 1;
}

static bool is_one_of(const char *const *words, size_t count, const char *text, size_t size) {
    for (size_t i = 0; i < count; i++)
        if (strlen(words[i]) == size && strncasecmp(words[i], text, size) == 0)
            return true;
    return false;
}

enum pair_role pair_word_role(const char *name, size_t size) {
    static const char *const infrared[] = {"ir",   "infrared", "infra", "thermal", "thermo", "lwir",
                                           "mwir", "swir",     "nir",   "fir",     "tir",    "imagesir"};
    static const char *const visible[] = {"rgb", "visible", "vis", "vi", "visual", "color", "colour", "optical", "eo"};
    bool ir = false, rgb = false;
    for (size_t at = 0, step; at < size; at += step) {
        step = word_size(name + at, size - at);
        ir |= is_one_of(infrared, sizeof infrared / sizeof *infrared, name + at, step);
        rgb |= is_one_of(visible, sizeof visible / sizeof *visible, name + at, step);
        step += step == 0;
    }
    return ir == rgb ? ROLE_NONE : ir ? ROLE_IR : ROLE_RGB;
}

/* ---- all pictures ------------------------------------------------------------------------------------------------ */

/* The last directory of the path that says something; ROLE_NONE if none does. */
static enum pair_role role_of_path(const char *path, size_t *at, size_t *size) {
    for (const char *end = strrchr(path, '/'); end;) {
        const char *start = end;
        while (start > path && start[-1] != '/')
            start--;
        enum pair_role role = pair_word_role(start, (size_t)(end - start));
        *at = (size_t)(start - path);
        *size = (size_t)(end - start);
        if (role != ROLE_NONE)
            return role;
        end = start > path ? start - 1 : NULL;
    }
    return ROLE_NONE;
}

void pair_words_count(struct pair_words *words, const char *path) {
    size_t directory = (size_t)(path_base(path) - path), at = 0, size = 0;
    const char *last = words->last;
    if (!last || (size_t)(path_base(last) - last) != directory || memcmp(last, path, directory) != 0) {
        words->last_infrared = role_of_path(path, &at, &size) == ROLE_IR;
        if (words->last_infrared && !words->infrared) {
            words->infrared = path;
            words->at = at;
            words->size = size;
        } else if (words->last_infrared) {
            words->several |= words->size != size || memcmp(words->infrared + words->at, path + at, size) != 0;
        }
    }
    words->last = path;
    *(words->last_infrared ? &words->infrared_count : &words->other_count) += 1;
}

/* ---- the other name ---------------------------------------------------------------------------------------------- */

/* A name beside the infrared one, and of how many pictures it has the partner. */
struct beside {
    const char *name;
    size_t size, count;
};

/* The directories below `parent` (the first `size` bytes of `path`) that hold pictures and are not infrared by name. */
static size_t list_beside(struct beside out[BESIDE_LIMIT], const struct path_list *images, const char *path,
                          size_t size) {
    size_t count = 0;
    char next[PATH_MAX];
    if (snprintf(next, sizeof next, "%.*s", (int)size, path) >= (int)sizeof next)
        return 0;
    for (size_t row; count < BESIDE_LIMIT && (row = path_list_lower(images, next, NULL)) < images->count;) {
        const char *found = images->items[row];
        const char *end = strncmp(found, path, size) == 0 ? strchr(found + size, '/') : found;
        if (end == found)
            break;
        size_t name_size = end ? (size_t)(end - found) - size : strlen(found + size);
        if (end && name_size < PAIR_WORD_BYTES && pair_word_role(found + size, name_size) != ROLE_IR)
            out[count++] = (struct beside){found + size, name_size, 0};
        /* what is greater than all below that directory: '0' comes after '/' */
        if (snprintf(next, sizeof next, "%.*s%c", (int)(size + name_size), found, end ? '0' : 1) >= (int)sizeof next)
            break;
    }
    return count;
}

/* True if `images` has the infrared picture's path with that name in the place of the infrared one, whatever its
 * suffix. */
static bool has_partner(const struct path_list *images, const struct pair_words *words, const char *path, size_t at,
                        const struct beside *beside) {
    char stem[PATH_MAX];
    size_t rest = at + words->size;
    int size = snprintf(stem, sizeof stem, "%.*s%.*s%.*s.", (int)at, path, (int)beside->size, beside->name,
                        (int)(path_stem_size(path) - rest), path + rest);
    if (size >= (int)sizeof stem)
        return false;
    size_t row = path_list_lower(images, stem, NULL);
    return row < images->count && strncmp(images->items[row], stem, (size_t)size) == 0;
}

static bool is_better(const struct beside *a, const struct beside *b) {
    if (a->count != b->count)
        return a->count > b->count;
    return pair_word_role(a->name, a->size) == ROLE_RGB && pair_word_role(b->name, b->size) != ROLE_RGB;
}

bool pair_words_rule(struct pair_rule *out, const struct pair_words *words, const struct path_list *images) {
    struct beside beside[BESIDE_LIMIT], *best = NULL;
    if (!words->infrared || words->several || words->size >= PAIR_WORD_BYTES)
        return false;
    size_t count = list_beside(beside, images, words->infrared, words->at), seen = 0;
    for (size_t row = path_list_lower(images, words->infrared, NULL); row < images->count && seen < SAMPLE_LIMIT;
         row++, seen++) {
        const char *path = images->items[row];
        if (strncmp(path, words->infrared, words->at + words->size + 1) != 0)
            break;
        for (size_t i = 0; i < count; i++)
            beside[i].count += has_partner(images, words, path, words->at, &beside[i]);
    }
    for (size_t i = 0; i < count; i++)
        if (beside[i].count > 0 && (!best || is_better(&beside[i], best)))
            best = &beside[i];
    if (!best)
        return false;
    *out = (struct pair_rule){.kind = PAIR_BY_DIRECTORY};
    memcpy(out->rgb, best->name, best->size);
    memcpy(out->ir, words->infrared + words->at, words->size);
    return true;
}
