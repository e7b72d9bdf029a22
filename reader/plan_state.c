/* The saved state of a plan: lines of "name value". A plan writes its own lines to read others: reading
 * is comparing. */
#include "hash.h"
#include "plan.h"

#include "plan_private.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define STATE_MAGIC "yolopack plan state"
#define STATE_VERSION 1

struct writer {
    char *out;
    size_t size;
};

static void write_line(struct writer *w, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void write_line(struct writer *w, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    int written = vsnprintf(w->out + w->size, PLAN_STATE_BYTES - w->size, format, arguments);
    va_end(arguments);
    w->size += (size_t)written; /* all lines together stay far below the limit: the unit test has the longest values */
}

/* In integers, so that the locale has no say. */
static void write_fraction(struct writer *w, const char *name, double value) {
    unsigned long long nano = (unsigned long long)(value * 1e9 + 0.5);
    write_line(w, "%s %llu.%09llu\n", name, nano / 1000000000, nano % 1000000000);
}

/* Options that a person knows by a word. */
static const char *option_word(const char *name, uint32_t value) {
    static const struct {
        const char *name;
        uint32_t value;
        const char *word;
    } words[] = {
        {"mode", PLAN_TRAIN, "train"},           {"mode", PLAN_EVAL, "eval"},
        {"last_batch", LAST_WRAP, "wrap"},       {"last_batch", LAST_DROP, "drop"},
        {"last_batch", LAST_PARTIAL, "partial"}, {"mosaic_pool", POOL_LANE, "lane"},
        {"mosaic_pool", POOL_ALL, "all"},
    };
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (strcmp(words[i].name, name) == 0 && words[i].value == value) {
            return words[i].word;
        }
    }
    return NULL;
}

static void write_integer(struct writer *w, const char *name, uint32_t value) {
    const char *word = option_word(name, value);
    if (word) {
        write_line(w, "%s %s\n", name, word);
    } else {
        write_line(w, "%s %u\n", name, value);
    }
}

static void write_options(struct writer *w, const struct plan *plan) {
    struct plan_options options = plan->options;
    const struct plan_options *o = &options;
    if (o->sample_count % o->batch == 0) {
        options.last_batch = LAST_WRAP; /* the last batch is whole: all rules do the same */
    }
    write_line(w, "sample_count %llu\n", (unsigned long long)o->sample_count);
    if (plan->closing_epoch == INT64_MAX) {
        write_line(w, "mosaic_epochs all\n");
    } else {
        write_line(w, "mosaic_epochs %lld\n", (long long)plan->closing_epoch);
    }
#define X(name, preset, low, high) write_integer(w, #name, o->name);
    PLAN_INTEGERS(X)
#undef X
#define X(name, preset, low, high) write_fraction(w, #name, o->name);
    PLAN_FRACTIONS(X)
#undef X
}

static unsigned long long text_hash(const char *text, size_t size) {
    return (unsigned long long)XXH3_64bits(text, size);
}

void plan_state_encode(const struct plan *plan, int64_t position, char out[PLAN_STATE_BYTES]) {
    struct writer w = {out, 0};
    write_line(&w, STATE_MAGIC " %d recipe %u\n", STATE_VERSION, RECIPE_VERSION);
    write_line(&w, "position %lld\n", (long long)position);
    write_line(&w, "content %016llx\n", (unsigned long long)plan->options.content_hash);
    write_line(&w, "seed %llu\n", (unsigned long long)plan->options.seed);
    write_options(&w, plan);
    write_line(&w, "check %016llx\n", text_hash(out, w.size));
}

/* ---- reading ----------------------------------------------------------------------------------------------------- */

struct line {
    const char *name, *value;
    int name_size, value_size;
};

/* The next line of "name value\n", or false at the end or at anything else. */
static bool next_line(const char **text, const char *end, struct line *out) {
    const char *newline = memchr(*text, '\n', (size_t)(end - *text));
    const char *space = newline ? memchr(*text, ' ', (size_t)(newline - *text)) : NULL;
    if (!space) {
        return false;
    }
    *out = (struct line){*text, space + 1, (int)(space - *text), (int)(newline - space - 1)};
    *text = newline + 1;
    return true;
}

static bool same(const char *a, int a_size, const char *b, int b_size) {
    return a_size == b_size && memcmp(a, b, (size_t)a_size) == 0;
}

/* A decimal integer of at most 18 digits. */
static bool parse_position(const struct line *line, int64_t *out) {
    int64_t value = 0;
    if (line->value_size < 1 || line->value_size > 18) {
        return false;
    }
    for (int i = 0; i < line->value_size; i++) {
        if (line->value[i] < '0' || line->value[i] > '9') {
            return false;
        }
        value = value * 10 + (line->value[i] - '0');
    }
    *out = value;
    return true;
}

static int compare_lines(const char *theirs, const char *theirs_end, const char *ours, const char *ours_end,
                         int64_t *position, struct error *error) {
    struct line a, b;
    while (next_line(&ours, ours_end, &b)) {
        if (!next_line(&theirs, theirs_end, &a) || !same(a.name, a.name_size, b.name, b.name_size)) {
            return error_set(error, ERR_CORRUPT, "saved state: \"%.*s\" is missing", b.name_size, b.name);
        }
        if (same(b.name, b.name_size, "position", 8)) {
            if (!parse_position(&a, position)) {
                return error_set(error, ERR_CORRUPT, "saved state: the position is no number");
            }
        } else if (same(b.name, b.name_size, "content", 7) && !same(a.value, a.value_size, b.value, b.value_size)) {
            return error_set(error, ERR_ARGUMENT,
                             "saved state: it belongs to another pack (content %.*s, this one is %.*s)", a.value_size,
                             a.value, b.value_size, b.value);
        } else if (!same(a.value, a.value_size, b.value, b.value_size)) {
            return error_set(error, ERR_ARGUMENT,
                             "saved state: made with %.*s %.*s, this loader has %.*s: set it alike to go on",
                             a.name_size, a.name, a.value_size, a.value, b.value_size, b.value);
        }
    }
    return 0;
}

/* Magic, version and the hash over everything; *body is what lies between the first line and the last. */
static int check_frame(const char *text, size_t size, const char **body, const char **body_end, struct error *error) {
    char expected[PLAN_STATE_BYTES], check[32];
    size_t magic_size = strlen(STATE_MAGIC " ");
    const char *newline = memchr(text, '\n', size);
    if (!newline || size < magic_size || memcmp(text, STATE_MAGIC " ", magic_size) != 0) {
        return error_set(error, ERR_CORRUPT, "saved state: this is no state of a loader");
    }
    int first = snprintf(expected, sizeof expected, STATE_MAGIC " %d recipe %u", STATE_VERSION, RECIPE_VERSION);
    if (!same(text, (int)(newline - text), expected, first)) {
        return error_set(
            error, ERR_UNSUPPORTED,
            "saved state: \"%.*s\" is of another version than \"%s\": it cannot go on with the same samples",
            (int)(newline - text), text, expected);
    }
    size_t check_size = (size_t)snprintf(check, sizeof check, "check %016llx\n", 0ull);
    const char *body_start = newline + 1;
    if ((size_t)(text + size - body_start) < check_size) {
        return error_set(error, ERR_CORRUPT, "saved state: it is cut off");
    }
    size_t hashed = size - check_size;
    snprintf(check, sizeof check, "check %016llx\n", text_hash(text, hashed));
    if (memcmp(text + hashed, check, check_size) != 0) {
        return error_set(error, ERR_CORRUPT, "saved state: its hash does not match: it was cut or changed");
    }
    *body = body_start;
    *body_end = text + hashed;
    return 0;
}

int plan_state_decode(const struct plan *plan, const char *text, size_t size, int64_t *position, struct error *error) {
    char own[PLAN_STATE_BYTES];
    const char *body, *body_end, *own_body, *own_end;
    int64_t saved = 0;
    size_t length = strnlen(text, size);
    int rc = check_frame(text, length, &body, &body_end, error);
    if (rc) {
        return rc;
    }
    plan_state_encode(plan, 0, own);
    rc = check_frame(own, strlen(own), &own_body, &own_end, error);
    rc = rc ? rc : compare_lines(body, body_end, own_body, own_end, &saved, error);
    if (rc) {
        return rc;
    }
    if (saved % plan->options.batch != 0) {
        return error_set(error, ERR_CORRUPT, "saved state: position %lld does not begin a batch of %u",
                         (long long)saved, plan->options.batch);
    }
    *position = saved;
    return 0;
}
