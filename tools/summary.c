#include "summary.h"

#include "clock.h"
#include "interrupt.h"
#include "output.h"

#include <stdlib.h>
#include <string.h>

/* data.yaml may lead elsewhere, or nowhere: then where the files were found is worth a line. */
static void print_base(const char *dataset, const struct source_set *sources) {
    char *given = realpath(dataset, NULL), *found = realpath(sources->base, NULL);
    bool elsewhere = given != NULL && found != NULL && strcmp(given, found) != 0;
    if (found != NULL && (elsewhere || sources->report.counts[RULE_YAML_PATH] > 0)) {
        output_label(stderr, STYLE_PLAIN, "files in");
        output_name(stderr, found);
        fputc('\n', stderr);
    }
    free(given);
    free(found);
}

static void on_sources(void *arg, const struct source_set *sources) {
    struct summary *s = arg;
    bool pairs = sources->modalities == (MODALITY_RGB | MODALITY_IR);
    s->noun = pairs ? (s->args->pack.source.unpaired == UNPAIRED_RGB_ONLY ? "sample" : "pair") : "image";
    const char *task = s->args->pack.task != NULL ? s->args->pack.task : sources->task;
    s->label_noun = task == NULL || strcmp(task, "detect") == 0 ? "box" : "label";
    s->progress.unit = pairs ? "pairs" : "images";
    if (s->args->quiet)
        return;
    print_base(s->args->pack.source.dataset, sources);
    output_label(stderr, STYLE_PLAIN, pairs ? "pairs" : "images");
    fprintf(stderr, "%s\n", sources->rule);
}

static void on_progress(void *arg, const struct pack_progress *p) {
    struct summary *s = arg;
    progress_update(&s->progress, p->split, p->done, p->total, p->source_bytes);
}

int summary_run(struct summary *s, struct pack_result *result, struct dataset_args *d, struct error *error) {
    *s = (struct summary){.args = d, .noun = "image", .label_noun = "label", .start_s = clock_seconds()};
    progress_init(&s->progress, "images", d->quiet);
    d->pack.cancel = interrupt_install();
    d->pack.source.cancel = d->pack.cancel;
    d->pack.on_sources = on_sources;
    d->pack.on_progress = on_progress;
    d->pack.callback_arg = s;
    int rc = pack_run(result, &d->pack, error);
    progress_clear(&s->progress);
    s->seconds = clock_seconds() - s->start_s;
    return rc;
}

static uint64_t shard_count(const struct pack_result *result) {
    uint64_t count = 0;
    for (size_t i = 0; i < result->split_count; i++)
        count += result->splits[i].same_as[0] == '\0' ? result->splits[i].shard_count : 0;
    return count;
}

static void print_headline(const struct summary *s, const struct pack_result *result) {
    const struct intake_counts *total = &result->total;
    bool packed = result->published, appended = s->args->pack.append;
    if (appended)
        total = &result->added;
    output_label(stdout, total->packed > 0 ? STYLE_GOOD : STYLE_WARN,
                 appended ? "appended"
                 : packed ? "packed"
                          : "checked");
    if (packed)
        printf("%s of ", text_count(total->packed).text);
    printf("%s, %s in %s, ", text_counted(total->samples, s->noun).text,
           text_counted(total->labels, s->label_noun).text, text_counted(result->class_count, "class").text);
    if (appended)
        printf("now %s, ", text_counted(result->total.packed, s->noun).text);
    if (packed)
        printf("%s, %s in all  → %s", text_counted(shard_count(result), "shard").text,
               text_bytes(result->pack_bytes).text, result->output);
    else
        printf("%s of source files, %s would be packed", text_bytes(total->source_bytes).text,
               text_count(total->packed).text);
    printf("  (%s)\n", text_seconds(s->seconds).text);
}

/* "rejected  2 × cut image, 1 × RGB image without IR partner"; nothing if the action did not occur. */
static void print_action(const struct pack_result *result, enum report_action action, enum output_style style,
                         const char *label) {
    const char *separator = "";
    if (report_count(&result->report, action) == 0)
        return;
    output_label(stderr, style, label);
    for (int rule = 0; rule < RULE_COUNT; rule++) {
        const struct report_rule_info *info = report_rule_info((enum report_rule)rule);
        uint64_t count = result->report.counts[rule];
        if (info->action != action || count == 0)
            continue;
        fprintf(stderr, "%s%s × %s", separator, text_count(count).text, info->what);
        separator = ", ";
    }
    fputc('\n', stderr);
}

/* What to do about each kind that cost a sample or a row. */
static void print_remedies(const struct pack_result *result, enum report_action action) {
    for (int rule = 0; rule < RULE_COUNT; rule++) {
        const struct report_rule_info *info = report_rule_info((enum report_rule)rule);
        if (info->action == action && result->report.counts[rule] > 0)
            fprintf(stderr, "          %s: %s\n", info->what, info->remedy);
    }
}

/* Behind what was dropped: how much of the rows that is, and where one is. */
static void print_dropped(const struct pack_result *result) {
    const struct intake_counts *counts = &result->added;
    enum report_rule rule = report_most(&result->report, ACTION_DROPPED);
    struct report_example example;
    char text[300];
    print_action(result, ACTION_DROPPED, STYLE_WARN, "dropped");
    uint64_t judged = counts->rows - counts->rows_filtered;
    if (rule == RULE_COUNT || counts->rows_dropped == 0 || !report_first(&result->report, rule, &example))
        return;
    report_example_text(text, sizeof text, &example);
    fprintf(stderr, "          %.3g %% of %s; first: %s\n", 100 * (double)counts->rows_dropped / (double)judged,
            text_counted(judged, "label row").text, text);
}

/* What is said of the whole set deserves more than its count: the first row of each such rule. */
static void print_set_hints(const struct pack_result *result) {
    const struct report *report = &result->report;
    static const enum report_rule rules[] = {RULE_YAML_KEY,   RULE_YAML_VALUE,    RULE_INFRARED_NAME,
                                             RULE_LABEL_NEAR, RULE_SPLIT_OVERLAP, RULE_IDS_ONE_BASED};
    struct report_example example;
    char text[400];
    for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++)
        if (report_first(report, rules[i], &example)) {
            report_example_text(text, sizeof text, &example);
            output_label(stderr, STYLE_WARN, "hint");
            fprintf(stderr, "%s\n", example.path.size > 0 ? text : text + 2 /* ": " */);
        }
    if (result->hint != NULL) {
        output_label(stderr, STYLE_WARN, "hint");
        fprintf(stderr, "%s\n", result->hint);
    }
}

void summary_print(const struct summary *s, const struct pack_result *result) {
    if (result->published || s->args->pack.check_only)
        print_headline(s, result);
    if (result->unchanged) {
        output_label(stdout, STYLE_GOOD, "unchanged");
        printf("%s has every sample of the data set  (%s)\n", result->output, text_seconds(s->seconds).text);
    }
    fflush(stdout);
    if (!s->args->quiet && (result->resumed || result->restarted)) {
        output_label(stderr, STYLE_PLAIN, result->resumed ? "resumed" : "restarted");
        fputs(result->resumed
                  ? "went on where an interrupted run had stopped\n"
                  : "what an interrupted run had left was thrown away (--resume would have gone on with it)\n",
              stderr);
    }
    print_action(result, ACTION_REJECTED, STYLE_WARN, "rejected");
    if (!s->args->quiet)
        print_remedies(result, ACTION_REJECTED);
    print_dropped(result);
    if (!s->args->quiet)
        print_remedies(result, ACTION_DROPPED);
    print_action(result, ACTION_CLAMPED, STYLE_PLAIN, "clamped");
    if (result->total.packed > 0 && result->total.rows == 0) {
        output_label(stderr, STYLE_WARN, "no labels");
        fputs("in the whole set: every image is a background. Where are they? --labels DIR names the directory of the\n"
              "          .txt files with YOLO rows; JSON and XML are not read\n",
              stderr);
    }
    if (s->args->quiet)
        return;
    print_set_hints(result);
    print_action(result, ACTION_NOTE, STYLE_PLAIN, "noted");
}

/* The row's fifth field: what became of it. */
static bool is_note(const char *row, size_t length) {
    const char *at = row, *end = row + length;
    for (int field = 0; field < 4 && at != NULL; field++)
        at = (at = memchr(at, '\t', (size_t)(end - at))) != NULL ? at + 1 : NULL;
    return at != NULL && end - at >= 5 && memcmp(at, "note\t", 5) == 0;
}

/* Prints at most `limit` rows that are notes, or that are not, and returns how many more there are. */
static uint64_t print_kind(FILE *to, const struct report *report, bool notes, uint64_t *limit) {
    const char *at = (const char *)report->rows.data, *end = at + report->rows.size;
    uint64_t more = 0;
    while (report->rows.size > 0 && at < end) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        size_t length = newline != NULL ? (size_t)(newline - at) : (size_t)(end - at);
        if (is_note(at, length) == notes && *limit > 0) {
            fprintf(to, "  %.*s\n", (int)length, at);
            --*limit;
        } else if (is_note(at, length) == notes) {
            more++;
        }
        at += length + 1;
    }
    return more;
}

void summary_print_rows(FILE *to, const struct report *report, uint64_t limit) {
    uint64_t more = print_kind(to, report, false, &limit);
    more += print_kind(to, report, true, &limit);
    if (more > 0)
        fprintf(to, "  and %s more\n", text_count(more).text);
}

static json_t *counts_json(const struct intake_counts *counts) {
    json_t *out = json_object();
#define X(name) json_object_set_new(out, #name, json_integer((json_int_t)counts->name));
    INTAKE_COUNTS(X)
#undef X
    return out;
}

static json_t *split_json(const struct pack_split_result *split) {
    json_t *out = json_object();
    json_object_set_new(out, "name", json_string(split->name));
    json_object_set_new(out, "same_as", split->same_as[0] != '\0' ? json_string(split->same_as) : json_null());
    json_object_set_new(out, "counts", counts_json(&split->counts));
    json_object_set_new(out, "shards", json_integer((json_int_t)split->shard_count));
    json_object_set_new(out, "index_bytes", json_integer((json_int_t)split->index_bytes));
    json_object_set_new(out, "content_hash", output_json_hash(split->content_hash));
    return out;
}

json_t *summary_json_result(const struct pack_result *result) {
    json_t *out = json_object(), *splits = json_array(), *rules = json_object();
    for (size_t i = 0; i < result->split_count; i++)
        json_array_append_new(splits, split_json(&result->splits[i]));
    for (int rule = 0; rule < RULE_COUNT; rule++)
        if (result->report.counts[rule] > 0)
            json_object_set_new(rules, report_rule_info((enum report_rule)rule)->name,
                                json_integer((json_int_t)result->report.counts[rule]));
    json_object_set_new(out, "published", json_boolean(result->published));
    if (result->output != NULL)
        json_object_set_new(out, "output", output_json_name(result->output));
    json_object_set_new(out, "classes", json_integer((json_int_t)result->class_count));
    json_object_set_new(out, "pack_bytes", json_integer((json_int_t)result->pack_bytes));
    json_object_set_new(out, "total", counts_json(&result->total));
    json_object_set_new(out, "splits", splits);
    json_object_set_new(out, "report", json_pack("{s:o}", "counts", rules));
    return out;
}

json_t *summary_json(const struct summary *s, const struct pack_result *result) {
    json_t *out = summary_json_result(result);
    json_object_set_new(out, "seconds", json_real(s->seconds));
    if (result->hint != NULL)
        json_object_set_new(out, "hint", output_json_name(result->hint));
    if (s->args->pack.check_only)
        json_object_del(out, "output");
    if (s->args->pack.append) {
        json_object_set_new(out, "unchanged", json_boolean(result->unchanged));
        json_object_set_new(out, "added", counts_json(&result->added));
    }
    return out;
}

int summary_exit_code(const struct summary *s, const struct pack_result *result, int code, const struct error *error) {
    if (code == 0)
        return EXIT_DONE;
    int exit_code = output_fail(error);
    if (result->resumable)
        fputs("          to go on where it stopped: the same command with --resume\n", stderr);
    return result->too_many_rejects && s->args->pack.strict ? EXIT_REJECTS : exit_code;
}
