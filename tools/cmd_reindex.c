#include "commands.h"

#include "args.h"
#include "output.h"
#include "reindex.h"

int cmd_reindex(int argc, char **argv) {
    struct args args;
    struct error error = {0};
    int exit_code;
    const struct args_spec spec = {
        .command = "reindex",
        .operands = "PACK",
        .summary = "Finds the records of shards that were compacted (mdb_copy -c) and writes their new places into "
                   "the indexes. Every record is compared with its hash; the content hash stays. A plain copy of a "
                   "pack needs no reindex.",
        .examples = "  yolopack reindex night.ypk\n",
        .operand_count = 1,
    };
    if (!args_parse(&args, &spec, argc, argv, &exit_code))
        return exit_code;
    if (reindex_pack(args.operands[0], &error) != 0)
        return output_fail(&error);
    printf("%s: indexes agree with the shards\n", args.operands[0]);
    return EXIT_DONE;
}
