#include "commands.h"

#include "args.h"
#include "output.h"
#include "stage.h"

struct listing {
    bool json;
    uint64_t count;
    json_t *copies;
};

static void print_copy(const struct staged_copy *c) {
    output_name(stdout, c->pack[0] != '\0' ? c->pack : "(unknown pack)");
    printf("  %s in %s  %s", text_bytes(c->bytes).text, text_counted(c->shard_count, "shard").text, c->directory);
    if (c->busy)
        printf("  being staged");
    for (size_t i = 0; i < c->lease_count; i++) {
        char text[LEASE_BYTES];
        lease_text(text, sizeof text, &c->leases[i]);
        printf("%s%s", i > 0 ? ", " : "  for ", text);
    }
    printf("\n");
}

static void add_copy(struct listing *l, const struct staged_copy *c) {
    json_t *leases = json_array();
    for (size_t i = 0; i < c->lease_count; i++) {
        char text[LEASE_BYTES];
        lease_text(text, sizeof text, &c->leases[i]);
        json_array_append_new(leases, output_json_name(text));
    }
    json_array_append_new(l->copies,
                          json_pack("{s:o, s:o, s:I, s:I, s:b, s:o}", "pack", output_json_name(c->pack), "directory",
                                    output_json_name(c->directory), "bytes", (json_int_t)c->bytes, "shards",
                                    (json_int_t)c->shard_count, "busy", c->busy, "leases", leases));
}

static void on_copy(void *arg, const struct staged_copy *c) {
    struct listing *l = arg;
    l->count++;
    if (l->json)
        add_copy(l, c);
    else
        print_copy(c);
}

int cmd_staged(int argc, char **argv) {
    const char *base = NULL;
    struct listing listing = {0};
    struct error error = {0};
    struct args args;
    int exit_code;
    const struct args_option options[] = {
        {"to", 0, ARGS_TEXT, "DIR", "where packs were staged to (default: $YPK_STAGE_DIR and /dev/shm)", &base, 0, 0},
        {"json", 0, ARGS_FLAG, NULL, "print the list as JSON", &listing.json, 0, 0},
    };
    const struct args_spec spec = {
        .command = "staged",
        .operands = "",
        .summary = "Lists the packs that are staged, and for whom. What dead jobs left is removed first.",
        .examples = "  yolopack staged\n",
        .options = options,
        .option_count = sizeof options / sizeof options[0],
        .operand_count = 0,
    };
    if (!args_parse(&args, &spec, argc, argv, &exit_code))
        return exit_code;
    listing.copies = json_array();
    int rc = stage_each(base, on_copy, &listing, &error);
    exit_code = rc == 0 ? EXIT_DONE : output_fail(&error);
    if (listing.json)
        return output_json(json_pack("{s:o}", "staged", listing.copies), exit_code);
    if (rc == 0 && listing.count == 0)
        printf("nothing is staged\n");
    json_decref(listing.copies);
    return exit_code;
}
