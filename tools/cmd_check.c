#include "commands.h"

#include "file.h"
#include "output.h"
#include "summary.h"

/* The rows themselves, which `pack` leaves in the pack. */
static void add_rows(json_t *json, const struct report *report) {
    struct bytes text = {0};
    if (report_json(report, &text) == 0)
        json_object_set_new(json, "report", json_loadb((const char *)text.data, text.size, 0, NULL));
    bytes_deinit(&text);
}

static int write_report(const char *path, const struct report *report, struct error *error) {
    struct bytes text = {0};
    int rc = report_tsv(report, &text);
    if (rc != 0)
        error_set(error, rc, "%s", error_code_text(rc));
    else
        rc = file_write_output(path, text.data, text.size, error);
    bytes_deinit(&text);
    return rc;
}

static void print_result(const struct summary *s, const struct pack_result *result, const char *report_path) {
    summary_print(s, result);
    summary_print_rows(stdout, &result->report, 20);
    if (report_path != NULL)
        printf("  every one: %s\n", report_path);
    else if (result->report.rows.size > 0)
        printf("  every one: --report FILE\n");
}

static int fail(const struct dataset_args *d, const struct error *error) {
    json_t *json = d->json ? json_object() : NULL;
    if (json != NULL)
        output_json_error(json, error);
    int exit_code = output_fail(error);
    return json != NULL ? output_json(json, exit_code) : exit_code;
}

static int run(struct dataset_args *d, const char *report_path) {
    struct pack_result result = {0};
    struct error error = {0}, write_error = {0};
    struct summary summary;
    if (report_path != NULL && file_check_output(report_path, &error) != 0)
        return fail(d, &error);
    int rc = summary_run(&summary, &result, d, &error), exit_code;
    bool checked = rc == 0 || result.too_many_rejects;
    json_t *json = d->json ? summary_json(&summary, &result) : NULL;

    if (json != NULL)
        add_rows(json, &result.report);
    if (json != NULL && rc != 0)
        output_json_error(json, &error);
    int write_rc = checked && report_path != NULL ? write_report(report_path, &result.report, &write_error) : 0;
    if (checked && !d->json)
        print_result(&summary, &result, write_rc == 0 ? report_path : NULL);
    fflush(stdout);
    exit_code = summary_exit_code(&summary, &result, rc, &error);
    if (write_rc != 0)
        exit_code = output_fail(&write_error);
    if (d->json)
        exit_code = output_json(json, exit_code);
    pack_result_deinit(&result);
    return exit_code;
}

int cmd_check(int argc, char **argv) {
    struct dataset_args d;
    struct args args;
    const char *report_path = NULL;
    int exit_code;
    dataset_args_init(&d);
    d.pack.check_only = true;
    struct args_option options[ARGS_OPTION_LIMIT];
    const struct args_option own[] = {
        {"report", 0, ARGS_TEXT, "FILE", "write every row of the report as TSV", &report_path, 0, 0},
    };
    const struct args_spec spec = {
        .command = "check",
        .operands = "DATASET",
        .summary = "Finds and judges everything that `yolopack pack DATASET` would, and writes no pack.",
        .examples = "  yolopack check datasets/night --report night.tsv\n",
        .options = options,
        .option_count = dataset_args_options(options, own, sizeof own / sizeof own[0], &d),
        .operand_count = 1,
    };
    if (!args_parse(&args, &spec, argc, argv, &exit_code))
        return exit_code;
    return dataset_args_apply(&d, &args, &spec) ? run(&d, report_path) : EXIT_USAGE;
}
