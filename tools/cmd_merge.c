#include "commands.h"

#include "args.h"
#include "interrupt.h"
#include "merge.h"
#include "output.h"
#include "summary.h"

static void print_result(const struct pack_result *result, int part_count) {
    uint64_t shards = 0;
    for (size_t i = 0; i < result->split_count; i++)
        shards += result->splits[i].same_as[0] == '\0' ? result->splits[i].shard_count : 0;
    output_label(stdout, STYLE_GOOD, "merged");
    printf("%s: %s, ", text_counted((uint64_t)part_count, "part").text,
           text_counted(result->total.packed, "sample").text);
    printf("%s in %s, ", text_counted(result->total.labels, "label").text,
           text_counted(result->class_count, "class").text);
    printf("%s in %s  → %s\n", text_bytes(result->pack_bytes).text, text_counted(shards, "shard").text, result->output);
}

static int run(const struct args *args, const char *output, bool json, bool quiet) {
    struct pack_result result = {0};
    struct error error = {0};
    const struct merge_options options = {(const char *const *)args->list, (size_t)args->list_count, output,
                                          interrupt_install()};
    int rc = merge_run(&result, &options, &error), exit_code = EXIT_DONE;
    json_t *object = json ? summary_json_result(&result) : NULL;
    if (object != NULL && rc != 0)
        output_json_error(object, &error);
    if (rc == 0 && !json) {
        print_result(&result, args->list_count);
        if (!quiet)
            fprintf(stderr, "          the parts can be removed: their shards stay in %s\n", output);
    }
    if (rc != 0)
        exit_code = output_fail(&error);
    if (json)
        exit_code = output_json(object, exit_code);
    pack_result_deinit(&result);
    return exit_code;
}

int cmd_merge(int argc, char **argv) {
    const char *output = NULL;
    bool json = false, quiet = false;
    struct args args;
    int exit_code;
    const struct args_option options[] = {
        {"output", 'o', ARGS_TEXT, "PACK", "directory to write", &output, 0, 0},
        {"json", 0, ARGS_FLAG, NULL, "print the result as JSON", &json, 0, 0},
        {"quiet", 'q', ARGS_FLAG, NULL, "only the result and errors", &quiet, 0, 0},
    };
    const struct args_spec spec = {
        .command = "merge",
        .operands = "PART... -o PACK",
        .summary = "Makes one pack of the parts that `yolopack pack --part K/N` made of a data set. Shards are "
                   "hard-linked, not copied, so PACK must be on the file system of the parts.",
        .examples = "  yolopack pack night --part 0/2 -o night-0.ypk\n"
                    "  yolopack pack night --part 1/2 -o night-1.ypk\n"
                    "  yolopack merge night-0.ypk night-1.ypk -o night.ypk\n",
        .options = options,
        .option_count = sizeof options / sizeof options[0],
        .operand_count = 1,
        .more_operands = true,
    };
    if (!args_parse(&args, &spec, argc, argv, &exit_code))
        return exit_code;
    if (output == NULL)
        return args_mistake(&spec, "where to? Name the pack with -o PACK");
    return run(&args, output, json, quiet);
}
