#include "pair_hint.h"

#include "file.h"
#include "pair_match.h"
#include "pair_word.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define TALLY_LIMIT 64u
#define SHOWN_LIMIT 4u
#define TRIED_LIMIT 4u

/* Words seen in paths, with counts. */
struct tally {
    char words[TALLY_LIMIT][PAIR_WORD_BYTES];
    uint64_t counts[TALLY_LIMIT];
    size_t count;
};

struct text {
    char bytes[ERROR_MESSAGE_BYTES];
    size_t size;
};

static void append(struct text *t, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void append(struct text *t, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    int size = vsnprintf(t->bytes + t->size, sizeof t->bytes - t->size, format, arguments);
    va_end(arguments);
    if (size > 0)
        t->size = t->size + (size_t)size < sizeof t->bytes ? t->size + (size_t)size : sizeof t->bytes - 1;
}

/* Words longer than usual, or not printable ASCII, say nothing to a person here. */
static bool is_plain(const char *word, size_t size) {
    if (size == 0 || size >= PAIR_WORD_BYTES)
        return false;
    for (size_t i = 0; i < size; i++)
        if (word[i] <= ' ' || word[i] > '~')
            return false;
    return true;
}

static void tally_add(struct tally *t, const char *word, size_t size) {
    if (!is_plain(word, size))
        return;
    size_t i = 0;
    while (i < t->count && (strncmp(t->words[i], word, size) != 0 || t->words[i][size] != '\0'))
        i++;
    if (i == TALLY_LIMIT)
        return;
    if (i == t->count) {
        memcpy(t->words[i], word, size);
        t->words[i][size] = '\0';
        t->counts[i] = 0;
        t->count++;
    }
    t->counts[i]++;
}

/* "_RGB" of "FLIR_00006_RGB.jpg": what follows the last '_' or '-' of the stem, with it; "" for a mere number. */
static void tally_ending(struct tally *t, const char *path) {
    size_t stem_size = path_stem_size(path), at = stem_size;
    bool letters = false;
    const char *name = path_base(path);
    while (at > (size_t)(name - path) && path[at - 1] != '_' && path[at - 1] != '-') {
        at--;
        letters |= (path[at] | 0x20) >= 'a' && (path[at] | 0x20) <= 'z';
    }
    if (at > (size_t)(name - path) + 1 && letters)
        tally_add(t, path + at - 1, stem_size - at + 1);
}

static void tally_directories(struct tally *t, const char *path) {
    for (const char *end; (end = strchr(path, '/')); path = end + 1)
        tally_add(t, path, (size_t)(end - path));
}

/* The most frequent first. */
static void tally_sort(struct tally *t) {
    for (size_t i = 1; i < t->count; i++) {
        for (size_t k = i; k > 0 && t->counts[k] > t->counts[k - 1]; k--) {
            char word[PAIR_WORD_BYTES];
            uint64_t count = t->counts[k];
            memcpy(word, t->words[k], sizeof word);
            memcpy(t->words[k], t->words[k - 1], sizeof word);
            memcpy(t->words[k - 1], word, sizeof word);
            t->counts[k] = t->counts[k - 1];
            t->counts[k - 1] = count;
        }
    }
}

static void append_seen(struct text *t, const char *before, const struct tally *seen, const char *after) {
    for (size_t i = 0; i < seen->count && i < SHOWN_LIMIT; i++)
        append(t, "%s%" PRIu64 " × %s%s%s", t->bytes[t->size - 1] == ' ' ? "" : ", ", seen->counts[i], before,
               seen->words[i], after);
}

/* The first picture for which the rule finds several partners, or PAIR_NONE (also when memory is short: it is
 * a hint). */
static uint32_t find_ambiguous(const struct pair_rule *rule, const struct path_list *images) {
    struct pair_table table = {0};
    uint32_t found = PAIR_NONE;
    if (pair_match_rule(&table, images, rule) == 0)
        for (size_t i = 0; i < images->count && found == PAIR_NONE; i++)
            if (table.partner[i] == PAIR_AMBIGUOUS)
                found = (uint32_t)i;
    pair_table_deinit(&table);
    return found;
}

/* Writes "visible → infrared (no such directories)" when the rule says something about this set, else nothing. */
static void append_tried(struct text *t, const struct pair_rule *rule, const struct path_list *images) {
    uint64_t rgb = 0, ir = 0;
    for (size_t i = 0; i < images->count; i++) {
        enum pair_role role = pair_rule_role(rule, images->items[i]);
        rgb += role == ROLE_RGB;
        ir += role == ROLE_IR;
    }
    uint32_t ambiguous = find_ambiguous(rule, images);
    const char *kind = rule->kind == PAIR_BY_DIRECTORY ? "/" : "";
    const char *star = rule->kind == PAIR_BY_SUFFIX ? "*" : "";
    append(t, "%s%s%s%s → %s%s%s ", t->bytes[t->size - 1] == ' ' ? "" : " · ", star, rule->rgb, kind, star, rule->ir,
           kind);
    if (ambiguous != PAIR_NONE)
        append(t, "(ambiguous: %s has more than one partner)", images->items[ambiguous]);
    else if (rgb > 0 && ir > 0)
        append(t, "(%" PRIu64 " and %" PRIu64 " pictures, no name in common)", rgb, ir);
    else
        append(t, "(no %s)", rgb == 0 ? rule->rgb : rule->ir);
}

/* For a hint a guess will do: FLIR's previews are infrared, and so is what begins with therm. */
static bool is_infrared(const char *word) {
    return pair_word_role(word, strlen(word)) == ROLE_IR || strcasestr(word, "preview") || strcasestr(word, "therm");
}

/* Two words that could be the sides of pairs: equally frequent, in different pictures, one of them infrared by name. */
static bool find_sides(const struct tally *t, size_t image_count, size_t *rgb, size_t *ir) {
    for (size_t i = 0; i < t->count; i++) {
        for (size_t k = i + 1; k < t->count; k++) {
            if (t->counts[i] != t->counts[k] || 2 * t->counts[i] > image_count ||
                is_infrared(t->words[i]) == is_infrared(t->words[k]))
                continue;
            *ir = is_infrared(t->words[i]) ? i : k;
            *rgb = *ir == i ? k : i;
            return true;
        }
    }
    return false;
}

int pair_hint_nothing(const struct path_list *images, const struct pair_rule *rule, struct error *error) {
    struct tally *endings = calloc(1, sizeof *endings), *directories = calloc(1, sizeof *directories);
    struct text t = {.size = 0};
    size_t rgb, ir;
    if (!endings || !directories) {
        free(endings);
        free(directories);
        return error_set(error, ERR_MEMORY, "out of memory");
    }
    for (size_t i = 0; i < images->count; i++) {
        tally_ending(endings, images->items[i]);
        tally_directories(directories, images->items[i]);
    }
    tally_sort(endings);
    tally_sort(directories);
    append(&t, "found %zu pictures but no RGB + IR pair among them.\n  tried  ", images->count);
    for (size_t i = 0; rule ? i == 0 : i < TRIED_LIMIT; i++)
        append_tried(&t, rule ? rule : pair_rule_auto(i), images);
    append(&t, "%s\n  seen   ", rule ? "" : " · …");
    append_seen(&t, "*", endings, "");
    append_seen(&t, "", directories, "/");
    append(&t, "\n  try    ");
    if (find_sides(endings, images->count, &rgb, &ir))
        append(&t, "--pair suffix:%s=%s", endings->words[rgb], endings->words[ir]);
    else if (find_sides(directories, images->count, &rgb, &ir))
        append(&t, "--pair dir:%s=%s", directories->words[rgb], directories->words[ir]);
    else
        append(&t, "--pair dir:RGB=IR, suffix:RGB=IR or map:FILE");
    append(&t, ", or --modality rgb");
    free(endings);
    free(directories);
    return error_set(error, ERR_INPUT, "%s", t.bytes);
}
