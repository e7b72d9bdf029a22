#include "commands.h"

#include "args.h"
#include "interrupt.h"
#include "output.h"
#include "stage.h"

static void print_result(const char *pack, const struct unstage_result *r) {
    if (r->copies == 0) {
        printf("%s is not staged\n", pack);
        return;
    }
    output_label(stdout, STYLE_GOOD, "unstaged");
    if (r->lease_count > 0)
        printf("%s: it stays for %s\n", pack, text_counted(r->lease_count, "other job").text);
    else
        printf("%s: removed, %s free again\n", pack, text_bytes(r->freed_bytes).text);
}

static json_t *result_json(const char *pack, const struct unstage_result *r, int rc, const struct error *error) {
    json_t *out = json_pack("{s:o, s:I, s:I, s:I}", "pack", output_json_name(pack), "copies", (json_int_t)r->copies,
                            "freed_bytes", (json_int_t)r->freed_bytes, "leases", (json_int_t)r->lease_count);
    if (out != NULL && rc != 0)
        output_json_error(out, error);
    return out;
}

int cmd_unstage(int argc, char **argv) {
    struct stage_options stage = {.world = 1};
    struct unstage_result result;
    struct error error = {0};
    bool all = false, json = false;
    struct args args;
    int exit_code;
    const struct args_option options[] = {
        {"to", 0, ARGS_TEXT, "DIR", "where it was staged to (default: $YPK_STAGE_DIR and /dev/shm)", &stage.base, 0, 0},
        {"lease", 0, ARGS_TEXT, "NAME", "the lease that stage took (default: this session's)", &stage.job, 0, 0},
        {"all", 0, ARGS_FLAG, NULL, "drop every lease, whoever holds it", &all, 0, 0},
        {"json", 0, ARGS_FLAG, NULL, "print the result as JSON", &json, 0, 0},
    };
    const struct args_spec spec = {
        .command = "unstage",
        .operands = "PACK",
        .summary =
            "Says that this job does not need the staged copy any more. With the last job's lease the copy goes; a "
            "reader that has it open keeps what it reads.",
        .examples = "  yolopack unstage night.ypk\n",
        .options = options,
        .option_count = sizeof options / sizeof options[0],
        .operand_count = 1,
    };
    if (!args_parse(&args, &spec, argc, argv, &exit_code))
        return exit_code;
    if (all && stage.job != NULL)
        return args_mistake(&spec, "--lease has no effect with --all, which drops every lease");
    stage.cancel = interrupt_install();
    int rc = stage_drop(&result, args.operands[0], all, &stage, &error);
    exit_code = rc == 0 ? EXIT_DONE : output_fail(&error);
    if (json)
        return output_json(result_json(args.operands[0], &result, rc, &error), exit_code);
    if (rc == 0)
        print_result(args.operands[0], &result);
    return exit_code;
}
