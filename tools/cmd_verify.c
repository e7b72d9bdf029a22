#include "commands.h"

#include "args.h"
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
        output_label(stdout, STYLE_WARN, "damaged");
        printf("%s: %s; %s of %s damaged. Copy the pack again, or pack again\n", pack,
               text_counted(r->fault_count, "fault").text, text_count(r->damaged_samples).text,
               text_counted(r->sample_count, "sample").text);
    }
}

static int run(const char *pack, unsigned jobs, bool json, bool quiet) {
    struct verification v = {.json = json, .mutex = PTHREAD_MUTEX_INITIALIZER};
    struct verify_options options = {.jobs = jobs,
                                     .cancel = interrupt_install(),
                                     .on_fault = on_fault,
                                     .on_progress = on_progress,
                                     .callback_arg = &v};
    struct verify_result result = {0};
    struct error error = {0};
    int exit_code = EXIT_DONE;
    v.faults = json_array();
    progress_init(&v.progress, NULL, quiet);
    int rc = verify_pack(&result, pack, &options, &error);
    progress_clear(&v.progress);
    if (!json)
        print_result(&v, pack, &result, rc);
    fflush(stdout);
    if (rc != 0)
        exit_code = rc == ERR_CORRUPT && v.fault_count > 0 ? output_exit_code(rc) : output_fail(&error);
    if (json)
        exit_code = output_json(result_json(&v, pack, &result, rc, &error), exit_code);
    json_decref(v.faults);
    return exit_code;
}

int cmd_verify(int argc, char **argv) {
    bool json = false, quiet = false;
    int64_t jobs = 0;
    struct args args;
    int exit_code;
    const struct args_option options[] = {
        {"jobs", 'j', ARGS_INTEGER, "N", "shards checked at once (default: one a core)", &jobs, 1, 1024},
        {"json", 0, ARGS_FLAG, NULL, "print the result as JSON", &json, 0, 0},
        {"quiet", 'q', ARGS_FLAG, NULL, "no progress", &quiet, 0, 0},
    };
    const struct args_spec spec = {
        .command = "verify",
        .operands = "PACK",
        .summary = "Checks that every byte of a pack is what it was when it was written, and that its shards are sound "
                   "LMDB files. Exits with 5 if anything is damaged, naming the samples.",
        .examples = "  yolopack verify night.ypk\n",
        .options = options,
        .option_count = sizeof options / sizeof options[0],
        .operand_count = 1,
    };
    if (!args_parse(&args, &spec, argc, argv, &exit_code))
        return exit_code;
    return run(args.operands[0], (unsigned)jobs, json, quiet);
}
