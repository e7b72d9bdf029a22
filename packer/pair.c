#include "pair.h"

#include "file.h"
#include "index.h"
#include "manifest.h"
#include "pair_hint.h"
#include "pair_word.h"
#include "pairing.h"
#include "suggest.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

/*
 * data set ──> data.yaml, map ──> paths under one base ──> scan ──> rule ──> roles and partners ──> labels ──> samples
 *
 * Pictures are rows of one sorted list from the scan on; whatever is known about them is an array beside it.
 */

static int no_memory(struct pairing *p) {
    return error_set(p->error, ERR_MEMORY, "out of memory: %zu pictures", p->scan.images.count);
}

/* ---- what the data set says about itself ------------------------------------------------------------------------- */

static int note_unknown_keys(struct pairing *p) {
    static const char *const known[] = {"path",    "train", "val", "test", "train_ir",  "val_ir",
                                        "test_ir", "names", "nc",  "task", "kpt_shape", "flip_idx"};
    const struct string_list *keys = &p->yaml.unknown_keys;
    for (size_t i = 0; i < keys->count; i++) {
        const char *text = keys->items[i], *end = strrchr(text, '(');
        char *key = strndup(text, end && end > text ? (size_t)(end - text) - 1 : strlen(text));
        const char *near = key ? suggest_nearest(key, known, sizeof known / sizeof *known) : NULL;
        struct span value = {(const uint8_t *)text, strlen(text)};
        int rc = !key ? ERR_MEMORY
                      : report_add(&p->out->report, RULE_YAML_KEY, path_base(p->yaml.file), 0, 0, value,
                                   "nothing is known about this key%s%s%s", near ? " (did you mean " : "",
                                   near ? near : "", near ? "?)" : "");
        free(key);
        if (rc != 0)
            return no_memory(p);
    }
    return 0;
}

static int note_remarks(struct pairing *p) {
    for (size_t i = 0; i < p->yaml.remark_count; i++) {
        const struct data_yaml_remark *remark = &p->yaml.remarks[i];
        struct span value = {(const uint8_t *)remark->value, strlen(remark->value)};
        if (report_add(&p->out->report, RULE_YAML_VALUE, path_base(p->yaml.file), remark->line, 0, value, "%s",
                       remark->text) != 0)
            return no_memory(p);
    }
    return 0;
}

/* A `path` of another machine is passed over, but not without a word. */
static int note_unused_path(struct pairing *p) {
    if (!p->yaml.path_unused)
        return 0;
    char *base = realpath(p->yaml.base, NULL), *hint = data_yaml_hint(p->yaml.base, p->yaml.path);
    int rc = hint
                 ? report_add(&p->out->report, RULE_YAML_PATH, path_base(p->yaml.file), 0, 0,
                              (struct span){(const uint8_t *)p->yaml.path, strlen(p->yaml.path)},
                              "what it names is not there%s: files are taken from %s", hint, base ? base : p->yaml.base)
                 : ERR_MEMORY;
    free(hint);
    free(base);
    return rc == 0 ? 0 : no_memory(p);
}

static int read_yaml(struct pairing *p, const char *file) {
    int rc = data_yaml_read(&p->yaml, file, p->error);
    if (rc != 0)
        return rc;
    struct source_set *out = p->out;
    out->names = p->yaml.names;
    p->yaml.names = (struct string_list){0};
    out->task = p->yaml.task;
    p->yaml.task = NULL;
    out->keypoint_count = p->yaml.keypoint_count;
    out->keypoint_dims = p->yaml.keypoint_dims;
    out->flip_index = p->yaml.flip_index;
    rc = note_unknown_keys(p);
    if (rc == 0)
        rc = note_remarks(p);
    return rc == 0 ? note_unused_path(p) : rc;
}

static int open_dataset(struct pairing *p) {
    const char *dataset = p->options->dataset, *suffix = path_suffix(dataset);
    struct stat st;
    char *file = NULL;
    int rc = 0;
    if (stat(dataset, &st) != 0)
        return errno == ENOENT ? path_missing(dataset, p->error) : error_set_errno(p->error, errno, "%s", dataset);
    if (S_ISDIR(st.st_mode))
        rc = data_yaml_locate(&file, dataset, p->error);
    else if (strcasecmp(suffix, "yaml") != 0 && strcasecmp(suffix, "yml") != 0)
        return error_set(
            p->error, ERR_INPUT, "%s: neither a directory nor a .yaml file%s", dataset,
            strcasecmp(suffix, "json") == 0 ? ": labels are read from YOLO rows (labels/*.txt), not from JSON" : "");
    if (rc == 0 && (file || !S_ISDIR(st.st_mode)))
        rc = read_yaml(p, file ? file : dataset);
    free(file);
    return rc != 0 ? rc : pair_places_init(&p->places, p->yaml.file ? p->yaml.base : dataset, p->error);
}

/* ---- what lies there --------------------------------------------------------------------------------------------- */

/* Reads every list of paths and brings them under one base. */
static int read_lists(struct pairing *p) {
    struct path_list *lists[4 * PAIR_SPLIT_LIMIT + 3];
    int rc = p->yaml.file ? split_plans_read(&p->plans, &p->places, &p->yaml, &p->out->report, p->error) : 0;
    if (rc == 0 && p->rule.kind == PAIR_BY_MAP)
        rc = pair_map_read(&p->map, &p->places, p->places.base, p->rule.map_file, p->error);
    if (rc != 0)
        return rc;
    split_plans_lists(&p->plans, lists);
    lists[4 * PAIR_SPLIT_LIMIT] = &p->map.rgb;
    lists[4 * PAIR_SPLIT_LIMIT + 1] = &p->map.ir;
    lists[4 * PAIR_SPLIT_LIMIT + 2] = &p->map.label;
    if (pair_places_settle(&p->places, lists, sizeof lists / sizeof *lists) != 0)
        return no_memory(p);
    p->out->base = strdup(p->places.base);
    return p->out->base ? 0 : no_memory(p);
}

static int no_picture(struct pairing *p) {
    struct stat st;
    char *manifest = path_join(p->out->base, MANIFEST_NAME);
    bool is_pack = manifest && stat(manifest, &st) == 0;
    free(manifest);
    if (is_pack)
        return error_set(p->error, ERR_INPUT, "%s: is a pack already, not a data set (yolopack info shows it)",
                         p->options->dataset);
    return error_set(p->error, ERR_INPUT,
                     "%s: no picture in it (jpg, jpeg, png, bmp, tif, webp; %zu .txt files, %llu others skipped)",
                     p->out->base, p->scan.labels.count, (unsigned long long)p->scan.skipped_count);
}

static int scan_base(struct pairing *p) {
    int rc = 0;
    for (size_t i = 0; i < p->places.subs.count && rc == 0; i++)
        rc = scan_directory(&p->scan, p->out->base, p->places.subs.items[i], &p->out->report, p->options->cancel,
                            p->error);
    if (rc == 0 && p->scan.images.count == 0)
        rc = no_picture(p);
    if (rc == 0 && p->scan.images.count >= PAIR_AMBIGUOUS)
        rc = error_set(p->error, ERR_UNSUPPORTED, "%s: over 4,294,967,293 pictures: pack it in parts", p->out->base);
    return rc != 0 ? rc : split_plans_resolve(&p->plans, &p->places, &p->scan.images, &p->out->report, p->error);
}

/* ---- the rule ---------------------------------------------------------------------------------------------------- */

static bool wants_pairs(const struct pairing *p) {
    return p->options->modalities == (MODALITY_RGB | MODALITY_IR);
}

static bool wants_one(const struct pairing *p) {
    return p->options->modalities == MODALITY_RGB || p->options->modalities == MODALITY_IR;
}

static int match_single(struct pairing *p) {
    p->rule = (struct pair_rule){.kind = PAIR_SINGLE};
    enum pair_role role = p->options->modalities == MODALITY_IR ? ROLE_IR : ROLE_RGB;
    return pair_match_single(&p->table, &p->scan.images, role) == 0 ? 0 : no_memory(p);
}

static int match_by_path(struct pairing *p, const struct pair_rule *rule) {
    p->rule = *rule;
    return pair_match_rule(&p->table, &p->scan.images, rule) == 0 ? 0 : no_memory(p);
}

static int match_lists(struct pairing *p) {
    p->rule = (struct pair_rule){.kind = PAIR_BY_LIST};
    int rc = pair_match_none(&p->table, &p->scan.images);
    for (size_t i = 0; i < p->plans.count && rc == 0; i++) {
        const struct split_plan *plan = &p->plans.items[i];
        rc = pair_match_lists(&p->table, &p->scan.images, plan->members[0], plan->member_count[0], plan->members[1],
                              plan->member_count[1]);
    }
    return rc == 0 ? 0 : no_memory(p);
}

/* The row of a path that the map names, PAIR_NONE (and, for a name, a row of the report) if it is not there. */
static int find_mapped(struct pairing *p, const char *path, uint64_t line, size_t *hint, uint32_t *out) {
    size_t row = path ? path_list_find(&p->scan.images, path, hint) : SIZE_MAX;
    *out = row == SIZE_MAX ? PAIR_NONE : (uint32_t)row;
    if (!path || row != SIZE_MAX)
        return 0;
    return report_add(&p->out->report, RULE_LIST_MISSING, p->rule.map_file, line, 0,
                      (struct span){(const uint8_t *)path, strlen(path)},
                      scan_is_image_name(path) ? "not there" : "not a picture's name");
}

/* Remembers where the map names the picture. */
static void set_line(struct pairing *p, uint32_t image, uint64_t line) {
    if (image == PAIR_NONE)
        return;
    struct map_lines *lines = &p->map_lines[image];
    *(lines->first == 0 ? &lines->first : &lines->again) = line;
}

/* The same pictures in a line before: taken once. */
static bool is_repeated(const struct pairing *p, uint32_t rgb, uint32_t ir) {
    uint32_t one = rgb != PAIR_NONE ? rgb : ir, other = rgb != PAIR_NONE ? ir : rgb;
    return p->map_lines[one].first != 0 && p->table.partner[one] == other &&
           p->table.role[one] == (rgb != PAIR_NONE ? ROLE_RGB : ROLE_IR);
}

static int add_mapped(struct pairing *p, size_t i, uint32_t rgb, uint32_t ir) {
    uint32_t one = rgb != PAIR_NONE ? rgb : ir;
    uint64_t line = p->map.lines[i];
    const char *name = p->scan.images.items[one];
    if (is_repeated(p, rgb, ir))
        return report_add(&p->out->report, RULE_LIST_DUPLICATE, p->rule.map_file, line, 0,
                          (struct span){(const uint8_t *)name, strlen(name)},
                          "line %" PRIu64 " says so already: taken once", p->map_lines[one].first);
    pair_match_add(&p->table, rgb, ir);
    set_line(p, rgb, line);
    set_line(p, ir, line);
    p->map_label[one] = p->map.label.items[i];
    return 0;
}

static int match_map(struct pairing *p) {
    size_t hints[2] = {0};
    p->map_label = calloc(p->scan.images.count, sizeof *p->map_label);
    p->map_lines = calloc(p->scan.images.count, sizeof *p->map_lines);
    int rc = p->map_label && p->map_lines ? pair_match_none(&p->table, &p->scan.images) : ERR_MEMORY;
    for (size_t i = 0; i < p->map.rgb.count && rc == 0; i++) {
        uint32_t rgb = PAIR_NONE, ir = PAIR_NONE;
        rc = find_mapped(p, p->map.rgb.items[i], p->map.lines[i], &hints[0], &rgb);
        if (rc == 0)
            rc = find_mapped(p, p->map.ir.items[i], p->map.lines[i], &hints[1], &ir);
        if (rc == 0 && (rgb != PAIR_NONE || ir != PAIR_NONE))
            rc = add_mapped(p, i, rgb, ir);
    }
    return rc == 0 ? 0 : no_memory(p);
}

/* A map, or lists, without a pair: with the first line that is to blame, if there is one. */
static int no_listed_pair(struct pairing *p) {
    const struct pair_table *t = &p->table;
    struct report_example example;
    char first[400] = "";
    bool missing = report_first(&p->out->report, RULE_LIST_MISSING, &example);
    if (missing)
        report_example_text(first, sizeof first, &example);
    for (size_t i = 0; p->map_lines && !missing && first[0] == '\0' && i < p->scan.images.count; i++)
        if (p->map_lines[i].again != 0)
            snprintf(first, sizeof first, "%s:%" PRIu64 ": \"%s\": line %" PRIu64 " names it too, with another partner",
                     p->rule.map_file, p->map_lines[i].again, p->scan.images.items[i], p->map_lines[i].first);
    return error_set(p->error, ERR_INPUT, "%s: no pair in it: %" PRIu64 " RGB and %" PRIu64 " IR pictures%s%s",
                     p->rule.kind == PAIR_BY_MAP ? p->rule.map_file : p->yaml.file, t->rgb_count, t->ir_count,
                     first[0] ? "\n  first  " : "", first);
}

/* Counts the pictures by what the names of their directories say: those of the splits that data.yaml names,
 * else all. */
static void count_words(const struct pairing *p, struct pair_words *words) {
    for (size_t i = 0; i < p->plans.count; i++)
        for (size_t k = 0; k < p->plans.items[i].member_count[0]; k++)
            pair_words_count(words, p->scan.images.items[p->plans.items[i].members[0][k].image]);
    for (size_t i = 0; p->plans.count == 0 && i < p->scan.images.count; i++)
        pair_words_count(words, p->scan.images.items[i]);
}

/* Infrared alone, by the name of its directories. That name takes part in finding labels and splits, but where there is
 * an "images" to do so. */
static int match_infrared(struct pairing *p, const struct pair_words *words) {
    p->infrared_only = true;
    struct pair_rule rule = {.kind = PAIR_BY_DIRECTORY};
    if (!words->several && words->size < sizeof rule.ir && !path_component(words->infrared, "images")) {
        memcpy(rule.ir, words->infrared + words->at, words->size);
        return match_by_path(p, &rule);
    }
    p->rule = (struct pair_rule){.kind = PAIR_SINGLE};
    return pair_match_single(&p->table, &p->scan.images, ROLE_IR) == 0 ? 0 : no_memory(p);
}

/* Some pictures are infrared by name, others are not, and there is no pair: all are RGB, but that is said. */
static int note_infrared(struct pairing *p, const struct pair_words *words) {
    size_t all = words->infrared_count + words->other_count;
    struct span value = {(const uint8_t *)words->infrared + words->at, words->size};
    return report_add(
               &p->out->report, RULE_INFRARED_NAME, "", 0, 0, value,
               "%zu of %zu pictures lie in directories that say infrared, and are taken as RGB: no two names match. "
               "--pair dir:RGB=IR tells what belongs together, --modality ir takes all as infrared",
               words->infrared_count, all) == 0
               ? 0
               : no_memory(p);
}

/* When no rule of the table makes a pair, the names of directories may. */
static int match_by_words(struct pairing *p, const struct pair_rule *parting) {
    struct pair_words all = {0}, taken = {0};
    struct pair_rule rule;
    for (size_t i = 0; i < p->scan.images.count; i++)
        pair_words_count(&all, p->scan.images.items[i]);
    if (pair_words_rule(&rule, &all, &p->scan.images)) {
        int rc = match_by_path(p, &rule);
        if (rc != 0 || p->table.pair_count > 0)
            return rc;
    }
    if (wants_pairs(p) || (parting && !wants_one(p)))
        return pair_hint_nothing(&p->scan.images, NULL, p->error);
    if (parting)
        return match_by_path(p, parting);
    if (wants_one(p))
        return match_single(p);
    count_words(p, &taken);
    if (taken.infrared_count > 0 && taken.other_count == 0)
        return match_infrared(p, &taken);
    int rc = taken.infrared_count > 0 ? note_infrared(p, &taken) : 0;
    return rc == 0 ? match_single(p) : rc;
}

/* "image" of images=image is infrared only beside its other. */
static bool says_infrared(const struct pair_rule *rule) {
    return strcmp(rule->ir, "image") != 0;
}

/* The first rule that makes a pair. Without one: one modality, its pictures told apart by the first rule that sees both
 * roles, or infrared by the first that sees nothing else. */
static int match_auto(struct pairing *p) {
    const struct pair_rule *rule, *parting = NULL, *infrared = NULL;
    if (p->plans.has_ir)
        return match_lists(p);
    for (size_t i = 0; (rule = pair_rule_auto(i)); i++) {
        int rc = match_by_path(p, rule);
        if (rc != 0 || p->table.pair_count > 0)
            return rc;
        if (!parting && p->table.rgb_count > 0 && p->table.ir_count > 0)
            parting = rule;
        if (!infrared && p->table.ir_count == p->scan.images.count && says_infrared(rule))
            infrared = rule;
    }
    p->infrared_only = infrared && !parting && !wants_one(p) && !wants_pairs(p);
    return p->infrared_only ? match_by_path(p, infrared) : match_by_words(p, parting);
}

static int match(struct pairing *p, bool automatic) {
    if (automatic)
        return match_auto(p);
    if (p->rule.kind == PAIR_BY_MAP)
        return match_map(p);
    const struct pair_rule rule = p->rule;
    return match_by_path(p, &rule);
}

/* Decides what a sample is, once roles and partners are known. */
static int choose_kind(struct pairing *p) {
    const struct pair_table *t = &p->table;
    bool one_role = p->rule.kind == PAIR_SINGLE || p->infrared_only ||
                    (p->rule.kind == PAIR_BY_MAP && !p->map.has_pairs && (!t->rgb_count || !t->ir_count));
    if (p->rule.kind == PAIR_BY_MAP && t->rgb_count + t->ir_count == 0)
        return no_listed_pair(p);
    if (wants_one(p) || (one_role && !wants_pairs(p))) {
        bool infrared = wants_one(p) ? p->options->modalities == MODALITY_IR : t->ir_count > 0;
        p->kind = infrared ? SAMPLE_IR : SAMPLE_RGB;
        return 0;
    }
    p->kind = SAMPLE_PAIR;
    if (t->pair_count > 0)
        return 0;
    if (p->rule.kind == PAIR_BY_MAP || p->rule.kind == PAIR_BY_LIST)
        return no_listed_pair(p);
    return pair_hint_nothing(&p->scan.images, &p->rule, p->error);
}

/* ---- labels ------------------------------------------------------------------------------------------------------ */

static bool is_directory(const char *path) {
    struct stat st;
    return path && stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

/* Scans the directory of --labels and sets the prefix that makes its files paths of samples: relative to the base when
 * it lies inside, else absolute. */
static int scan_labels(struct pairing *p) {
    const char *given = p->options->labels;
    char *inside = path_join(p->out->base, given);
    const char *directory = is_directory(given) ? given : inside;
    struct pair_places places = {0};
    int rc = inside ? pair_places_init(&places, p->out->base, p->error) : no_memory(p);
    const char *missed = strchr(given, '/') ? given : inside;
    if (rc == 0 && !is_directory(directory))
        rc = access(missed, F_OK) == 0
                 ? error_set(p->error, ERR_NOT_FOUND, "%s: no directory: --labels takes the one with the label files",
                             missed)
                 : path_missing(missed, p->error);
    if (rc == 0)
        rc = scan_directory(&p->label_scan, directory, "", NULL, p->options->cancel, p->error);
    const char *place = rc == 0 ? pair_places_put_directory(&places, directory) : NULL;
    if (place)
        p->label_prefix = arena_text(&p->label_scan.arena, place, strlen(place));
    if (rc == 0 && !p->label_prefix)
        rc = no_memory(p);
    pair_places_deinit(&places);
    free(inside);
    return rc;
}

static int find_labels(struct pairing *p) {
    int rc = p->options->labels ? scan_labels(p) : 0;
    if (rc != 0)
        return rc;
    p->label_of = malloc(p->scan.images.count * sizeof *p->label_of);
    if (!p->label_of)
        return no_memory(p);
    const struct pair_labels labels = {
        .files = p->label_prefix ? &p->label_scan.labels : &p->scan.labels,
        .directory = p->label_prefix,
        .given = p->map_label,
    };
    return pair_labels_find(p->label_of, &labels, &p->scan.images, &p->rule, &p->out->report, p->error);
}

/* ---- all of it --------------------------------------------------------------------------------------------------- */

static int make_samples(struct pairing *p) {
    p->marked = calloc(p->scan.images.count, 1);
    p->reported = calloc(p->scan.images.count, 1);
    p->split_of = calloc(p->scan.images.count, 1);
    size_t label_count = p->label_prefix ? p->label_scan.labels.count : p->scan.labels.count;
    p->user_of_label = malloc((label_count + 1) * sizeof *p->user_of_label);
    if (!p->marked || !p->reported || !p->split_of || !p->user_of_label)
        return no_memory(p);
    for (size_t i = 0; i < label_count; i++)
        p->user_of_label[i] = PAIR_NONE;
    p->out->rgb_count = p->table.rgb_count;
    p->out->ir_count = p->table.ir_count;
    return pairing_make_samples(p);
}

/* What the samples point into goes to the set; everything else is freed. */
static void pairing_deinit(struct pairing *p) {
    struct arena *arenas[] = {&p->scan.arena, &p->label_scan.arena, &p->places.arena};
    for (int i = 0; i < 3; i++) {
        p->out->arenas[i] = *arenas[i];
        *arenas[i] = (struct arena){0};
    }
    scan_deinit(&p->scan);
    scan_deinit(&p->label_scan);
    pair_places_deinit(&p->places);
    split_plans_deinit(&p->plans);
    pair_map_deinit(&p->map);
    pair_table_deinit(&p->table);
    data_yaml_deinit(&p->yaml);
    free(p->label_of);
    free(p->map_label);
    free(p->map_lines);
    free(p->user_of_label);
    free(p->marked);
    free(p->reported);
    free(p->split_of);
}

int pair_sources(struct source_set *out, const struct pair_options *options, struct error *error) {
    struct pairing p = {.options = options, .out = out, .error = error};
    bool automatic = !options->rule || strcmp(options->rule, "auto") == 0;
    *out = (struct source_set){0};
    int rc = automatic ? 0 : pair_rule_parse(&p.rule, options->rule, error);
    if (rc == 0)
        rc = open_dataset(&p);
    if (rc == 0)
        rc = read_lists(&p);
    if (rc == 0)
        rc = scan_base(&p);
    if (rc == 0)
        rc = match(&p, automatic);
    if (rc == 0)
        rc = choose_kind(&p);
    if (rc == 0)
        rc = find_labels(&p);
    if (rc == 0)
        rc = make_samples(&p);
    pairing_deinit(&p);
    if (rc != 0)
        source_set_deinit(out);
    return rc;
}

void source_set_deinit(struct source_set *set) {
    for (size_t i = 0; i < set->split_count; i++)
        free(set->splits[i].samples);
    for (size_t i = 0; i < sizeof set->arenas / sizeof *set->arenas; i++)
        arena_deinit(&set->arenas[i]);
    string_list_deinit(&set->names);
    report_deinit(&set->report);
    free(set->task);
    free(set->base);
    *set = (struct source_set){0};
}
