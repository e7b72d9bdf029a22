#include "commands.h"

#include "args.h"
#include "compare.h"
#include "interrupt.h"
#include "output.h"
#include "progress.h"
#include "verify.h"

#include <pthread.h>

enum { FAULTS_PRINTED = 20 };

/* Faults and progress come from several threads; `mutex` guards all that is below it. */
struct verification {
    bool json;
    pthread_mutex_t mutex;
    struct progress progress;
    json_t *faults; /* with --json: every message */
    uint64_t fault_count;
    json_t *strays; /* with --json: every image that is not in the pack */
    uint64_t stray_count;
};

struct verify_args {
    const char *pack, *source; /* source NULL: only the pack itself */
    int64_t jobs;
    bool json, quiet, strict;
};

static void on_fault(void *arg, const char *message) {
    struct verification *v = arg;
    pthread_mutex_lock(&v->mutex);
    v->fault_count++;
    progress_clear(&v->progress);
    if (v->json)
        json_array_append_new(v->faults, output_json_name(message));
    else if (v->fault_count <= FAULTS_PRINTED)
        printf("%s\n", message);
    pthread_mutex_unlock(&v->mutex);
}

static void on_progress(void *arg, uint64_t done_bytes, uint64_t total_bytes) {
    struct verification *v = arg;
    pthread_mutex_lock(&v->mutex);
    progress_update(&v->progress, "verify", done_bytes, total_bytes, 0);
    pthread_mutex_unlock(&v->mutex);
}

static json_t *result_json(const struct verification *v, const char *pack, const struct verify_result *r, int rc,
                           const struct error *error) {
    json_t *out = json_pack("{s:o, s:b, s:I, s:I, s:I, s:I, s:I, s:O}", "pack", output_json_name(pack), "whole",
                            rc == 0, "splits", (json_int_t)r->split_count, "shards", (json_int_t)r->shard_count,
                            "samples", (json_int_t)r->sample_count, "bytes", (json_int_t)r->bytes, "damaged_samples",
                            (json_int_t)r->damaged_samples, "faults", v->faults);
    if (out != NULL && rc != 0)
        output_json_error(out, error);
    return out;
}

static void print_result(const struct verification *v, const char *pack, const struct verify_result *r, int rc) {
    if (rc == 0) {
        output_label(stdout, STYLE_GOOD, "whole");
        printf("%s: every byte as it was written: %s in %s, %s, %s\n", pack,
               text_counted(r->sample_count, "sample").text, text_counted(r->split_count, "split").text,
               text_counted(r->shard_count, "shard").text, text_bytes(r->bytes).text);
    } else if (rc == ERR_CORRUPT) {
        if (v->fault_count > FAULTS_PRINTED)
            printf("and %s more\n", text_counted(v->fault_count - FAULTS_PRINTED, "fault").text);
        if (r->sample_count == 0) /* it did not come so far: the fault has said what to do */
            return;
        output_label(stdout, STYLE_WARN, "damaged");
        printf("%s: %s; %s of %s damaged. Copy the pack again, or pack again\n", pack,
               text_counted(r->fault_count, "fault").text, text_count(r->damaged_samples).text,
               text_counted(r->sample_count, "sample").text);
    }
}

static void on_compared(void *arg, uint64_t done_samples, uint64_t total_samples) {
    struct verification *v = arg;
    progress_update(&v->progress, "compare", done_samples, total_samples, 0);
}

static void on_stray(void *arg, const char *path) {
    struct verification *v = arg;
    progress_clear(&v->progress);
    v->stray_count++;
    if (v->json) {
        json_array_append_new(v->strays, output_json_name(path));
    } else if (v->stray_count <= FAULTS_PRINTED) {
        output_name(stdout, path);
        printf(": is not in the pack\n");
    }
}

static void print_strays(const struct verify_args *a, const struct compare_result *r) {
    if (r->stray_count > FAULTS_PRINTED)
        printf("and %s more\n", text_counted(r->stray_count - FAULTS_PRINTED, "image").text);
    if (r->stray_count > 0) {
        output_label(stdout, a->strict ? STYLE_WARN : STYLE_PLAIN, "not in it");
        printf("%s of %s: yolopack pack --append adds them\n", text_counted(r->stray_count, "image").text, a->source);
    }
    if (r->took_a_share)
        printf("%s holds a share of its data set (--fraction, --part): images it does not have were not looked for\n",
               a->pack);
}

static void print_comparison(const struct verification *v, const struct verify_args *a,
                             const struct compare_result *r) {
    if (v->fault_count > FAULTS_PRINTED)
        printf("and %s more\n", text_counted(v->fault_count - FAULTS_PRINTED, "difference").text);
    if (r->images_left_out > 0)
        printf("%s not compared: transcoded by another version of libjpeg-turbo\n",
               text_counted(r->images_left_out, "image").text);
    print_strays(a, r);
    output_label(stdout, r->difference_count ? STYLE_WARN : STYLE_GOOD, r->difference_count ? "changed" : "same");
    if (r->difference_count > 0)
        printf("%s: %s since %s was packed. Pack it again\n", a->source,
               text_counted(r->difference_count, "difference").text, a->pack);
    else
        printf("%s: every image, label row and name is as it was packed: %s\n", a->source,
               text_counted(r->sample_count, "sample").text);
}

/* After the pack itself was found whole. With --json the result goes to *out. */
static int run_comparison(struct verification *v, const struct verify_args *a, json_t *out) {
    struct compare_options options = {.jobs = (unsigned)a->jobs,
                                      .cancel = interrupt_install(),
                                      .on_difference = on_fault,
                                      .on_progress = on_compared,
                                      .on_stray = on_stray,
                                      .callback_arg = v};
    struct compare_result result;
    struct error error = {0};
    json_decref(v->faults);
    v->faults = json_array();
    v->strays = json_array();
    v->fault_count = 0;
    int rc = compare_source(&result, a->pack, a->source, &options, &error);
    bool looked = rc == 0 || result.difference_count > 0;
    if (rc == 0 && a->strict && result.stray_count > 0)
        rc = error_set(&error, ERR_INPUT, "%s has %s that %s has not, and --strict was given", a->source,
                       text_counted(result.stray_count, "image").text, a->pack);
    progress_clear(&v->progress);
    if (a->json) {
        json_object_set_new(out, "source",
                            json_pack("{s:o, s:b, s:O, s:I, s:O}", "path", output_json_name(a->source), "same", rc == 0,
                                      "differences", v->faults, "images_left_out", (json_int_t)result.images_left_out,
                                      "not_in_pack", v->strays));
        if (rc != 0)
            output_json_error(out, &error);
    } else if (looked) {
        print_comparison(v, a, &result);
    }
    fflush(stdout);
    json_decref(v->strays);
    return looked ? output_exit_code(rc) : output_fail(&error);
}

static int run(const struct verify_args *a) {
    struct verification v = {.json = a->json, .mutex = PTHREAD_MUTEX_INITIALIZER};
    struct verify_options options = {.jobs = (unsigned)a->jobs,
                                     .cancel = interrupt_install(),
                                     .on_fault = on_fault,
                                     .on_progress = on_progress,
                                     .callback_arg = &v};
    struct verify_result result = {0};
    struct error error = {0};
    int exit_code = EXIT_DONE;
    v.faults = json_array();
    progress_init(&v.progress, NULL, a->quiet);
    int rc = verify_pack(&result, a->pack, &options, &error);
    progress_clear(&v.progress);
    json_t *out = a->json ? result_json(&v, a->pack, &result, rc, &error) : NULL;
    if (!a->json)
        print_result(&v, a->pack, &result, rc);
    fflush(stdout);
    if (rc != 0)
        exit_code = rc == ERR_CORRUPT && v.fault_count > 0 ? output_exit_code(rc) : output_fail(&error);
    else if (a->source != NULL)
        exit_code = run_comparison(&v, a, out);
    if (a->json)
        exit_code = output_json(out, exit_code);
    json_decref(v.faults);
    return exit_code;
}

int cmd_verify(int argc, char **argv) {
    struct verify_args a = {0};
    struct args args;
    int exit_code;
    const struct args_option options[] = {
        {"jobs", 'j', ARGS_INTEGER, "N", "shards checked at once (default: one a core)", &a.jobs, 1, 1024},
        {"source", 0, ARGS_TEXT, "DATASET", "compare with the files it was packed from, too (a directory or data.yaml)",
         &a.source, 0, 0},
        {"strict", 0, ARGS_FLAG, NULL, "with --source: images that the pack does not have are a difference, too",
         &a.strict, 0, 0},
        {"json", 0, ARGS_FLAG, NULL, "print the result as JSON", &a.json, 0, 0},
        {"quiet", 'q', ARGS_FLAG, NULL, "no progress", &a.quiet, 0, 0},
    };
    const struct args_spec spec = {
        .command = "verify",
        .operands = "PACK",
        .summary =
            "Checks that every byte of a pack is what it was when it was written, and that its shards are sound "
            "LMDB files. Exits with 5 if anything is damaged, naming the samples. With --source also that images, labels "
            "and names are still those it was packed from: exits with 3 if not, naming the files; and it names images there that the pack does not have.",
        .examples = "  yolopack verify night.ypk\n"
                    "  yolopack verify night.ypk --source datasets/night\n",
        .options = options,
        .option_count = sizeof options / sizeof options[0],
        .operand_count = 1,
    };
    if (!args_parse(&args, &spec, argc, argv, &exit_code))
        return exit_code;
    if (a.strict && a.source == NULL)
        return args_mistake(&spec, "--strict has no effect without --source");
    a.pack = args.operands[0];
    return run(&a);
}
