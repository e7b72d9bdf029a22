#include "commands.h"

#include "output.h"
#include "select.h"
#include "summary.h"

#include <stdio.h>
#include <string.h>

struct pack_args {
    struct dataset_args dataset;
    int preset, ir_depth;
    const char *ir_norm, *part;
    int64_t image_size_px, quality, zstd_level;
};

enum { IR_DEPTH_8, IR_DEPTH_16 }; /* positions in the option's choice */

/* An option without effect is a mistake worth telling before hours of work, not after. */
static bool apply_preset(struct pack_args *p, const struct args *args, const struct args_spec *spec) {
    struct intake_options *intake = &p->dataset.pack.intake;
    intake->preset = (enum preset)p->preset;
    intake->image_size_px = (int)p->image_size_px;
    intake->quality = (int)p->quality;
    intake->zstd_level = (int)p->zstd_level;
    if (intake->preset == PRESET_KEEP && args_given(args, spec, "imgsz"))
        args_mistake(spec, "--imgsz has no effect with --preset keep, which stores images at their own size "
                           "(--preset train or raw reduces them)");
    else if (intake->preset == PRESET_RAW && args_given(args, spec, "quality"))
        args_mistake(spec, "--quality has no effect with --preset raw, which stores no JPEG");
    else if (intake->preset != PRESET_RAW && p->ir_depth != IR_DEPTH_16 && args_given(args, spec, "zstd-level"))
        args_mistake(
            spec,
            "--zstd-level has no effect with --preset %s, which stores JPEG (--preset raw and --ir-depth 16 use "
            "zstd)",
            intake->preset == PRESET_KEEP ? "keep" : "train");
    else
        return true;
    return false;
}

static bool apply_ir(struct pack_args *p, const struct args *args, const struct args_spec *spec) {
    struct error error;
    static const char *const names[] = {"ir-depth", "ir-norm"};
    for (size_t i = 0; p->dataset.pack.source.modalities == MODALITY_RGB && i < 2; i++)
        if (args_given(args, spec, names[i])) {
            args_mistake(spec, "--%s has no effect with --modality rgb", names[i]);
            return false;
        }
    p->dataset.pack.intake.ir_depth = p->ir_depth == IR_DEPTH_16 ? 16 : 8;
    if (p->ir_norm == NULL || normalise_parse(&p->dataset.pack.intake.ir_norm, p->ir_norm, &error) == 0)
        return true;
    args_mistake(spec, "--ir-norm %s: %s", p->ir_norm, error.message);
    return false;
}

/* "K/N" */
static bool apply_part(struct pack_args *p, const struct args *args, const struct args_spec *spec) {
    char end;
    unsigned number, count;
    if (p->part == NULL)
        return true;
    if (strspn(p->part, "0123456789/") != strlen(p->part) || sscanf(p->part, "%9u/%9u%c", &number, &count, &end) != 2 ||
        number >= count || count > SELECT_PART_LIMIT) {
        args_mistake(spec, "--part %s: it takes K/N, part K of N: 0/4 to 3/4, say", p->part);
        return false;
    }
    if (args_given(args, spec, "append")) {
        args_mistake(spec, "--append adds to a whole pack, --part makes one part: merge the parts first");
        return false;
    }
    p->dataset.pack.part = (struct pack_part){.number = number, .count = count};
    return true;
}

static void print_hints(const struct summary *s, const struct pack_result *result) {
    const struct report *report = &result->report;
    if (result->published) {
        uint64_t faults = report_count(report, ACTION_REJECTED) + report_count(report, ACTION_DROPPED);
        faults += report_count(report, ACTION_CLAMPED);
        if (report->rows.size > 0 && (faults > 0 || !s->args->quiet))
            fprintf(stderr, "          every one: %s/report.tsv\n", result->output);
        if (s->args->quiet)
            return;
        output_label(stderr, STYLE_PLAIN, "next");
        if (result->part.count > 0) {
            fprintf(stderr, "when all %u parts are there: yolopack merge PART... -o PACK\n", result->part.count);
            return;
        }
        fputs("yolopack view ", stderr);
        output_argument(stderr, result->output);
        fputs(" -o look.png     yolopack verify ", stderr);
        output_argument(stderr, result->output);
        fputc('\n', stderr);
    } else if (result->unchanged && !s->args->quiet) {
        summary_print_rows(stderr, report, 20);
    } else if (result->too_many_rejects) {
        summary_print_rows(stderr, report, 20);
        fputs("          every one: yolopack check ", stderr);
        output_argument(stderr, s->args->pack.source.dataset);
        fputs(" --report report.tsv\n", stderr);
    }
}

static int run(struct pack_args *p) {
    struct pack_result result = {0};
    struct error error = {0};
    struct summary summary;
    int rc = summary_run(&summary, &result, &p->dataset, &error), exit_code;
    json_t *json = p->dataset.json ? summary_json(&summary, &result) : NULL;

    if (json != NULL && rc != 0)
        output_json_error(json, &error);
    if (!p->dataset.json && (rc == 0 || result.too_many_rejects)) {
        summary_print(&summary, &result);
        print_hints(&summary, &result);
    }
    exit_code = summary_exit_code(&summary, &result, rc, &error);
    if (p->dataset.json)
        exit_code = output_json(json, exit_code);
    pack_result_deinit(&result);
    return exit_code;
}

int cmd_pack(int argc, char **argv) {
    struct pack_args p = {0};
    struct args args;
    int exit_code;
    dataset_args_init(&p.dataset);
    p.preset = (int)p.dataset.pack.intake.preset;
    p.image_size_px = p.dataset.pack.intake.image_size_px;
    p.quality = p.dataset.pack.intake.quality;
    p.zstd_level = p.dataset.pack.intake.zstd_level;
    struct args_option options[ARGS_OPTION_LIMIT];
    const struct args_option own[] = {
        {"output", 'o', ARGS_TEXT, "PACK", "directory to write (default: ./NAME.ypk)", &p.dataset.pack.output, 0, 0},
        {"preset", 0, ARGS_CHOICE, "keep|train|raw", "keep JPEG bytes; smaller JPEG for training; or pixels for tmpfs",
         &p.preset, 0, 0},
        {"imgsz", 0, ARGS_INTEGER, "S", "train, raw: reduce to this longest side, px (default: as it is)",
         &p.image_size_px, 10, 65500},
        {"quality", 0, ARGS_INTEGER, "Q",
         "keep, train: JPEG quality of what is transcoded (default: 95 for keep, 90 for train)", &p.quality, 1, 100},
        {"zstd-level", 0, ARGS_INTEGER, "N", "raw: compress pixels; 0 = not at all, but 3 for 16-bit IR", &p.zstd_level,
         0, 22},
        {"ir-depth", 0, ARGS_CHOICE, "8|16", "16-bit IR: to 8 bits when packed, or kept without loss", &p.ir_depth, 0,
         0},
        {"ir-norm", 0, ARGS_TEXT, "RULE",
         "16-bit IR to 8 bits, when packed or when read: percentile:LOW,HIGH, minmax or range:LOW,HIGH (default: "
         "percentile:0.5,99.5)",
         &p.ir_norm, 0, 0},
        {"shard-size", 0, ARGS_BYTES, "SIZE", "bytes of a shard file", &p.dataset.pack.shard_bytes, 1 << 20,
         INT64_C(1) << 46},
        {"part", 0, ARGS_TEXT, "K/N", "pack part K of N (0 to N-1), for yolopack merge", &p.part, 0, 0},
        {"append", 0, ARGS_FLAG, NULL, "add to PACK what it does not have yet, by name", &p.dataset.pack.append, 0, 0},
        {"resume", 0, ARGS_FLAG, NULL, "go on with a run that was interrupted", &p.dataset.pack.resume, 0, 0},
    };
    const struct args_spec spec = {
        .command = "pack",
        .operands = "DATASET",
        .summary = "Validates DATASET (a directory, or a data.yaml) and writes it as a pack: sharded LMDB "
                   "archives, an index, and a report of everything that was wrong. Sources are never changed.",
        .examples = "  yolopack datasets/night\n"
                    "  yolopack pack datasets/flir -o flir.ypk --pair suffix:_RGB=_PreviewData -j 8\n",
        .options = options,
        .option_count = dataset_args_options(options, own, sizeof own / sizeof own[0], &p.dataset),
        .operand_count = 1,
    };
    if (!args_parse(&args, &spec, argc, argv, &exit_code))
        return exit_code;
    if (!dataset_args_apply(&p.dataset, &args, &spec) || !apply_preset(&p, &args, &spec) ||
        !apply_ir(&p, &args, &spec) || !apply_part(&p, &args, &spec))
        return EXIT_USAGE;
    return run(&p);
}
