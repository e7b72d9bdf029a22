#include "pairing.h"

#include "file.h"
#include "index.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int no_memory(struct pairing *p) {
    return error_set(p->error, ERR_MEMORY, "out of memory: %zu pictures", p->scan.images.count);
}

const char *sample_source_name(const struct sample_source *source) {
    return source->rgb ? source->rgb : source->ir;
}

/* ---- which pictures stand for samples of a split ----------------------------------------------------------------- */

/* Marks the picture that stands for the sample of picture `i`: the RGB one of a pair. */
static void mark(struct pairing *p, uint32_t i) {
    uint32_t partner = p->table.partner[i];
    bool paired = partner < PAIR_AMBIGUOUS;
    switch ((enum pair_role)p->table.role[i]) {
    case ROLE_RGB:
        if (p->kind != SAMPLE_IR)
            p->marked[i] = 1;
        else if (paired)
            p->marked[partner] = 1;
        break;
    case ROLE_IR:
        if (p->kind == SAMPLE_IR)
            p->marked[i] = 1;
        else if (paired)
            p->marked[partner] = 1;
        else if (p->kind == SAMPLE_PAIR)
            p->marked[i] = 1;
        break;
    case ROLE_NONE:
        if (!p->reported[i]) {
            p->reported[i] = 1;
            p->stranger_count++;
            if (!p->first_stranger)
                p->first_stranger = p->scan.images.items[i];
        }
        break;
    }
}

/* IR pictures without partner belong to the split in which their partner would lie. */
static void mark_lonely(struct pairing *p, const struct path_list *directories) {
    char stem[PATH_MAX];
    bool by_path = p->rule.kind == PAIR_BY_DIRECTORY || p->rule.kind == PAIR_BY_SUFFIX;
    for (size_t i = 0; i < p->scan.images.count && by_path && p->kind != SAMPLE_RGB; i++) {
        if (p->table.role[i] != ROLE_IR || p->table.partner[i] < PAIR_AMBIGUOUS ||
            !pair_rule_rgb_stem(&p->rule, p->scan.images.items[i], stem))
            continue;
        for (size_t d = 0; d < directories->count; d++)
            if (strncmp(stem, directories->items[d], strlen(directories->items[d])) == 0)
                mark(p, (uint32_t)i);
    }
}

static void mark_plan(struct pairing *p, const struct split_plan *plan) {
    for (int role = 0; role < 2; role++)
        for (size_t i = 0; i < plan->member_count[role]; i++)
            mark(p, plan->members[role][i].image);
    mark_lonely(p, &plan->rgb.directories);
}

/* ---- splits by path ---------------------------------------------------------------------------------------------- */

#define NO_SPLIT 3u

static const char *const split_names[NO_SPLIT] = {"train", "val", "test"};

static unsigned split_of_word(const char *word, size_t size) {
    static const struct {
        const char *word;
        unsigned split;
    } words[] = {
        {"train", 0}, {"val", 1}, {"valid", 1}, {"test", 2}, {"train2017", 0}, {"val2017", 1}, {"test2017", 2},
    };
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strlen(words[i].word) == size && memcmp(words[i].word, word, size) == 0)
            return words[i].split;
    return NO_SPLIT;
}

enum position { AFTER_WORD, BEFORE_WORD, FIRST, POSITION_COUNT };

/* The split that the path component at this position names, or NO_SPLIT. */
static unsigned split_at(const struct pairing *p, const char *path, enum position position, bool infrared) {
    const char *word = p->rule.kind != PAIR_BY_DIRECTORY ? "images" : infrared ? p->rule.ir : p->rule.rgb;
    const char *found = position == FIRST ? path : path_component(path, word);
    if (!found)
        return NO_SPLIT;
    const char *start = found;
    if (position == AFTER_WORD)
        start = found + strlen(word) + 1;
    if (position == BEFORE_WORD) {
        if (found == path)
            return NO_SPLIT;
        for (start = found - 1; start > path && start[-1] != '/';)
            start--;
    }
    const char *end = strchr(start, '/');
    return end ? split_of_word(start, (size_t)(end - start)) : NO_SPLIT;
}

/* The position at which every marked picture names a split, or POSITION_COUNT. */
static enum position find_position(const struct pairing *p) {
    for (int position = 0; position < POSITION_COUNT; position++) {
        bool all = true;
        for (size_t i = 0; i < p->scan.images.count && all; i++)
            if (p->marked[i])
                all = split_at(p, p->scan.images.items[i], (enum position)position, p->table.role[i] == ROLE_IR) !=
                      NO_SPLIT;
        if (all)
            return (enum position)position;
    }
    return POSITION_COUNT;
}

/* ---- samples ----------------------------------------------------------------------------------------------------- */

/* Two samples with one label file: right for a picture kept in two formats, wrong for two pictures of one name. */
static int note_sharing(struct pairing *p, uint32_t image, uint32_t sample) {
    uint32_t row = p->label_of[image];
    if (row == PAIR_NONE || (p->map_label && p->map_label[image]))
        return 0;
    uint32_t user = p->user_of_label[row];
    if (user == PAIR_NONE)
        p->user_of_label[row] = sample;
    if (user == PAIR_NONE || user == sample)
        return 0;
    const char *label = p->label_prefix ? p->label_scan.labels.items[row] : p->scan.labels.items[row];
    const char *path = p->scan.images.items[sample];
    return report_add(&p->out->report, RULE_LABEL_SHARED, label, 0, 0,
                      (struct span){(const uint8_t *)path, strlen(path)}, "%s has it too", p->scan.images.items[user]);
}

static int find_label(struct pairing *p, uint32_t image, const char **out) {
    *out = p->map_label ? p->map_label[image] : NULL;
    uint32_t row = p->label_of[image];
    if (*out || row == PAIR_NONE)
        return 0;
    if (!p->label_prefix) {
        *out = p->scan.labels.items[row];
        return 0;
    }
    const char *file = p->label_scan.labels.items[row];
    size_t prefix_size = strlen(p->label_prefix), size = strlen(file);
    char *path = arena_reserve(&p->label_scan.arena, prefix_size + size + 1);
    if (!path)
        return ERR_MEMORY;
    memcpy(path, p->label_prefix, prefix_size);
    memcpy(path + prefix_size, file, size + 1);
    *out = path;
    return 0;
}

/* A picture without partner, or with several, by the line of the map that says so. */
static int report_mapped(struct pairing *p, uint32_t image) {
    const char *path = p->scan.images.items[image];
    const struct map_lines *lines = &p->map_lines[image];
    struct span value = {(const uint8_t *)path, strlen(path)};
    bool rgb = p->table.role[image] == ROLE_RGB;
    if (p->table.partner[image] != PAIR_AMBIGUOUS)
        return report_add(&p->out->report, rgb ? RULE_RGB_WITHOUT_IR : RULE_IR_WITHOUT_RGB, p->rule.map_file,
                          lines->first, 0, value, "the line gives it no %s picture that is there", rgb ? "IR" : "RGB");
    if (lines->again == 0)
        return report_add(&p->out->report, RULE_PAIR_AMBIGUOUS, p->rule.map_file, lines->first, 0, value,
                          "another line names its partner too");
    return report_add(&p->out->report, RULE_PAIR_AMBIGUOUS, p->rule.map_file, lines->again, 0, value,
                      "line %" PRIu64 " names it too, with another partner", lines->first);
}

static int report_lonely(struct pairing *p, uint32_t image) {
    const char *path = p->scan.images.items[image];
    bool rgb = p->table.role[image] == ROLE_RGB;
    if (p->reported[image])
        return 0;
    p->reported[image] = 1;
    p->unpaired_count++;
    if (p->map_lines)
        return report_mapped(p, image);
    if (p->table.partner[image] == PAIR_AMBIGUOUS)
        return report_add(&p->out->report, RULE_PAIR_AMBIGUOUS, path, 0, 0, (struct span){0},
                          "more than one picture could be its partner");
    return report_add(&p->out->report, rgb ? RULE_RGB_WITHOUT_IR : RULE_IR_WITHOUT_RGB, path, 0, 0, (struct span){0},
                      rgb ? "no IR picture of this name" : "no RGB picture of this name");
}

/* The sample that picture `image` stands for; *none if it is unpaired and was reported. */
static int make_sample(struct pairing *p, uint32_t image, struct sample_source *out, bool *none) {
    const char *const *paths = p->scan.images.items;
    uint32_t partner = p->table.partner[image];
    bool rgb = p->table.role[image] == ROLE_RGB, paired = partner < PAIR_AMBIGUOUS;
    bool lonely_rgb = rgb && partner == PAIR_NONE && p->options->unpaired == UNPAIRED_RGB_ONLY;
    *none = p->kind == SAMPLE_PAIR && !paired && !lonely_rgb;
    if (*none)
        return report_lonely(p, image);
    *out = (struct sample_source){.rgb = rgb ? paths[image] : NULL, .ir = rgb ? NULL : paths[image]};
    if (p->kind == SAMPLE_PAIR && paired)
        out->ir = paths[partner];
    int rc = find_label(p, image, &out->label);
    bool own = out->label != NULL;
    if (rc == 0 && !own && paired)
        rc = find_label(p, partner, &out->label);
    return rc == 0 && out->label ? note_sharing(p, own ? image : partner, image) : rc;
}

/* Adds a split of the marked pictures that `position` puts into `number` (POSITION_COUNT: of all). */
static int add_split(struct pairing *p, const char *name, enum position position, unsigned number) {
    struct source_set *set = p->out;
    struct split_source *split = &set->splits[set->split_count];
    size_t count = 0;
    for (size_t i = 0; i < p->scan.images.count; i++)
        count += p->marked[i];
    *split = (struct split_source){.same_as = SIZE_MAX};
    split->samples = calloc(count + 1, sizeof *split->samples);
    if (!split->samples)
        return ERR_MEMORY;
    snprintf(split->name, sizeof split->name, "%s", name);
    set->split_count++;
    for (size_t i = 0; i < p->scan.images.count; i++) {
        if (!p->marked[i] || (position != POSITION_COUNT &&
                              split_at(p, p->scan.images.items[i], position, p->table.role[i] == ROLE_IR) != number))
            continue;
        bool none;
        if (make_sample(p, (uint32_t)i, &split->samples[split->count], &none) != 0)
            return ERR_MEMORY;
        split->count += !none;
    }
    return 0;
}

static int report_strangers(struct pairing *p) {
    if (p->stranger_count == 0)
        return 0;
    return report_add(&p->out->report, RULE_FILE_SKIPPED, p->first_stranger, 0, 0, (struct span){0},
                      "%" PRIu64 " pictures that are neither RGB nor IR by the rule, this is the first",
                      p->stranger_count);
}

static int make_splits_by_path(struct pairing *p) {
    for (size_t i = 0; i < p->scan.images.count; i++)
        mark(p, (uint32_t)i);
    enum position position = find_position(p);
    if (position == POSITION_COUNT)
        return add_split(p, "train", position, 0);
    int rc = 0;
    for (unsigned number = 0; number < NO_SPLIT && rc == 0; number++) {
        rc = add_split(p, split_names[number], position, number);
        struct split_source *split = &p->out->splits[p->out->split_count - 1];
        if (rc == 0 && split->count == 0) {
            free(split->samples);
            split->samples = NULL;
            p->out->split_count--;
        }
    }
    return rc;
}

static bool same_samples(const struct split_source *a, const struct split_source *b) {
    if (a->count != b->count)
        return false;
    for (size_t i = 0; i < a->count; i++)
        if (a->samples[i].rgb != b->samples[i].rgb || a->samples[i].ir != b->samples[i].ir)
            return false;
    return true;
}

static int note_shared(struct pairing *p) {
    struct source_set *set = p->out;
    struct split_source *last = &set->splits[set->split_count - 1];
    for (size_t i = 0; i + 1 < set->split_count && last->same_as == SIZE_MAX; i++) {
        if (set->splits[i].same_as != SIZE_MAX || !same_samples(&set->splits[i], last))
            continue;
        last->same_as = i;
        return report_add(&set->report, RULE_SPLIT_SHARED, path_base(p->yaml.file), 0, 0, (struct span){0},
                          "%s names the same pictures as %s", last->name, set->splits[i].name);
    }
    return 0;
}

static const struct data_yaml_split *split_of_yaml(const struct data_yaml *yaml, const char *name) {
    return strcmp(name, "train") == 0 ? &yaml->train : strcmp(name, "val") == 0 ? &yaml->val : &yaml->test;
}

/* Samples that an earlier split has already: what is trained on says little when it is evaluated. */
static int note_overlap(struct pairing *p) {
    struct source_set *set = p->out;
    const struct split_source *last = &set->splits[set->split_count - 1];
    uint8_t other = 0;
    size_t shared = 0;
    for (size_t i = 0; i < p->scan.images.count && last->same_as == SIZE_MAX; i++) {
        if (!p->marked[i] || p->reported[i])
            continue;
        if (p->split_of[i] == 0)
            p->split_of[i] = (uint8_t)set->split_count;
        else if (other == 0 || p->split_of[i] == other) {
            other = p->split_of[i];
            shared++;
        }
    }
    return shared == 0 ? 0
                       : report_add(&set->report, RULE_SPLIT_OVERLAP, path_base(p->yaml.file), 0, 0, (struct span){0},
                                    "%zu of the %zu samples of %s are in %s too", shared, last->count, last->name,
                                    set->splits[other - 1].name);
}

static int empty_split(struct pairing *p, const char *name) {
    const struct data_yaml_split *split = split_of_yaml(&p->yaml, name);
    const struct string_list *entries = split->rgb.count > 0 ? &split->rgb : &split->ir;
    char rule[256], first[300] = "";
    struct report_example example;
    pair_rule_describe(&p->rule, rule);
    bool missing = report_first(&p->out->report, RULE_LIST_MISSING, &example);
    if (missing)
        report_example_text(first, sizeof first, &example);
    return error_set(
        p->error, ERR_INPUT,
        "%s: %s: no %s in what it names\n  names  %s%s\n  base   %s\n  rule   %s%s%s\n  try    correct \"%s\", or "
        "remove it",
        p->yaml.file, name, p->kind == SAMPLE_PAIR ? "pair" : "picture", entries->count > 0 ? entries->items[0] : "",
        entries->count > 1 ? ", …" : "", p->out->base, rule, missing ? "\n  first  " : "", first, name);
}

/* Is picture `i` one that could be of a sample, and is it not, nor its partner, `named` by a split? */
static bool is_left_over(const struct pairing *p, const unsigned char *named, size_t i) {
    uint32_t partner = p->table.partner[i];
    bool other_modality = (p->kind == SAMPLE_RGB && p->table.role[i] == ROLE_IR) ||
                          (p->kind == SAMPLE_IR && p->table.role[i] == ROLE_RGB);
    return !other_modality && !named[i] && !(partner < PAIR_AMBIGUOUS && named[partner]) && !p->reported[i];
}

static int report_left_over(struct pairing *p, const unsigned char *named) {
    uint64_t count = 0;
    const char *first = NULL;
    for (size_t i = 0; i < p->scan.images.count; i++) {
        if (!is_left_over(p, named, i))
            continue;
        first = first ? first : p->scan.images.items[i];
        count++;
    }
    return count == 0 ? 0
                      : report_add(&p->out->report, RULE_SPLIT_NONE, first, 0, 0, (struct span){0},
                                   "%" PRIu64 " pictures that %s names in no split, this is the first", count,
                                   path_base(p->yaml.file));
}

static int make_named_splits(struct pairing *p, unsigned char *named) {
    for (size_t i = 0; i < p->plans.count; i++) {
        const struct split_plan *plan = &p->plans.items[i];
        memset(p->marked, 0, p->scan.images.count);
        mark_plan(p, plan);
        for (size_t k = 0; k < p->scan.images.count; k++)
            named[k] |= p->marked[k];
        int rc = add_split(p, plan->name, POSITION_COUNT, 0);
        if (rc == 0 && p->out->splits[p->out->split_count - 1].count == 0)
            return empty_split(p, plan->name);
        if (rc == 0)
            rc = note_shared(p);
        if (rc == 0)
            rc = note_overlap(p);
        if (rc != 0)
            return no_memory(p);
    }
    return report_left_over(p, named) == 0 ? 0 : no_memory(p);
}

static int make_splits_by_plan(struct pairing *p) {
    unsigned char *named = calloc(p->scan.images.count, 1);
    int rc = named ? make_named_splits(p, named) : no_memory(p);
    free(named);
    return rc;
}

/* ---- the line for the user --------------------------------------------------------------------------------------- */

/* "12,025" */
static const char *with_commas(char out[32], uint64_t value) {
    char digits[24];
    int size = snprintf(digits, sizeof digits, "%" PRIu64, value), at = 0;
    for (int i = 0; i < size; i++) {
        if (i > 0 && (size - i) % 3 == 0)
            out[at++] = ',';
        out[at++] = digits[i];
    }
    out[at] = '\0';
    return out;
}

static void describe(struct pairing *p) {
    struct source_set *set = p->out;
    char rule[256], number[32];
    const char *noun = p->kind == SAMPLE_RGB ? "RGB image" : p->kind == SAMPLE_IR ? "IR image" : "pair";
    if (p->infrared_only)
        snprintf(rule, sizeof rule, "all in %s", p->rule.ir[0] ? p->rule.ir : "directories that say infrared");
    else
        pair_rule_describe(&p->rule, rule);
    size_t size = (size_t)snprintf(set->rule, sizeof set->rule, "%s:", rule);
    for (size_t i = 0; i < set->split_count && size < sizeof set->rule; i++) {
        const struct split_source *split = &set->splits[i];
        if (split->same_as != SIZE_MAX)
            size += (size_t)snprintf(set->rule + size, sizeof set->rule - size, " (%s is the same)", split->name);
        else
            size +=
                (size_t)snprintf(set->rule + size, sizeof set->rule - size, "%s %s %s%s in %s", i > 0 ? "," : "",
                                 with_commas(number, split->count), noun, split->count == 1 ? "" : "s", split->name);
    }
    if (p->unpaired_count > 0 && size < sizeof set->rule)
        snprintf(set->rule + size, sizeof set->rule - size, "; %s unpaired", with_commas(number, p->unpaired_count));
}

static void count_modalities(struct source_set *set) {
    for (size_t s = 0; s < set->split_count; s++)
        for (size_t i = 0; i < set->splits[s].count; i++)
            set->modalities |=
                (set->splits[s].samples[i].rgb ? MODALITY_RGB : 0) | (set->splits[s].samples[i].ir ? MODALITY_IR : 0);
}

int pairing_make_samples(struct pairing *p) {
    int rc = p->plans.count != 0 ? make_splits_by_plan(p) : make_splits_by_path(p);
    if (rc == 0 && report_strangers(p) != 0)
        rc = ERR_MEMORY;
    if (rc != 0)
        return rc == ERR_MEMORY ? no_memory(p) : rc;
    if (p->unpaired_count > 0 && p->options->unpaired == UNPAIRED_FAIL)
        return error_set(p->error, ERR_INPUT,
                         "%" PRIu64
                         " pictures without partner (--unpaired fail): run \"yolopack check\" with --unpaired "
                         "reject for the list",
                         p->unpaired_count);
    count_modalities(p->out);
    describe(p);
    return 0;
}
