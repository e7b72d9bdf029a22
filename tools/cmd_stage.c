#include "commands.h"

#include "args.h"
#include "clock.h"
#include "interrupt.h"
#include "output.h"
#include "progress.h"
#include "stage.h"
#include "staging.h"

#include <stdlib.h>
#include <string.h>

struct staging {
    struct stage_options options;
    const char *shards; /* "RANK/WORLD" */
    int64_t jobs;
    bool json, quiet;
    struct progress progress;
};

static void on_progress(void *arg, uint64_t done_bytes, uint64_t total_bytes) {
    struct staging *s = arg;
    progress_update(&s->progress, "stage", done_bytes, total_bytes, 0);
}

static void on_wait(void *arg) {
    const struct staging *s = arg;
    if (!s->quiet)
        fputs("another job is staging this pack: waiting for it\n", stderr);
}

/* "0/4": the 0th of 4. */
static bool parse_share(const char *text, uint32_t *rank, uint32_t *world) {
    char *end;
    unsigned long first = strtoul(text, &end, 10);
    if (end == text || *end != '/' || strspn(text, "0123456789/") != strlen(text))
        return false;
    const char *second = end + 1;
    unsigned long of = strtoul(second, &end, 10);
    if (end == second || *end != '\0' || of == 0 || of > UINT32_MAX || first >= of)
        return false;
    *rank = (uint32_t)first;
    *world = (uint32_t)of;
    return true;
}

/* True if readers look there without being told. */
static bool is_found(const char *base) {
    const char *bases[STAGING_BASES];
    size_t count = staging_bases(bases);
    for (size_t i = 0; i < count; i++)
        if (base == NULL || strcmp(bases[i], base) == 0)
            return true;
    return false;
}

static void print_result(const struct staging *s, const char *pack, const struct stage_result *r, double seconds) {
    output_label(stdout, STYLE_GOOD, "staged");
    if (r->shard_count == r->pack_shard_count)
        printf("%s: %s in %s", pack, text_bytes(r->bytes).text, text_counted(r->shard_count, "shard").text);
    else
        printf("%s: %s in %s of %s", pack, text_bytes(r->bytes).text, text_count(r->shard_count).text,
               text_counted(r->pack_shard_count, "shard").text);
    printf("  → %s", r->directory);
    if (r->copied_bytes > 0)
        printf("  (%s%s copied and checked, %s)", text_bytes(r->copied_bytes).text,
               r->copied_bytes < r->bytes ? " of them" : "", text_seconds(seconds).text);
    else
        printf("  (it was there already)");
    printf("\n");
    if (r->lease_count > 1) {
        output_label(stdout, STYLE_PLAIN, "shared");
        printf("by %s: the last yolopack unstage removes it\n", text_counted(r->lease_count, "job").text);
    }
    if (!is_found(s->options.base)) {
        output_label(stdout, STYLE_PLAIN, "next");
        char *base = realpath(s->options.base, NULL); /* readers may run elsewhere */
        printf("export YPK_STAGE_DIR=");
        output_argument(stdout, base != NULL ? base : s->options.base);
        printf("  # so that readers look there\n");
        free(base);
    }
}

static json_t *result_json(const char *pack, const struct stage_result *r, double seconds, int rc,
                           const struct error *error) {
    json_t *out = json_pack("{s:o, s:o, s:I, s:I, s:I, s:I, s:I, s:f}", "pack", output_json_name(pack), "directory",
                            output_json_name(r->directory), "bytes", (json_int_t)r->bytes, "copied_bytes",
                            (json_int_t)r->copied_bytes, "shards", (json_int_t)r->shard_count, "pack_shards",
                            (json_int_t)r->pack_shard_count, "leases", (json_int_t)r->lease_count, "seconds", seconds);
    if (out != NULL && rc != 0)
        output_json_error(out, error);
    return out;
}

static int run(struct staging *s, const char *pack) {
    struct stage_result result;
    struct error error = {0};
    s->options.jobs = (unsigned)s->jobs;
    s->options.cancel = interrupt_install();
    s->options.on_progress = on_progress;
    s->options.on_wait = on_wait;
    s->options.callback_arg = s;
    progress_init(&s->progress, NULL, s->quiet);
    double start = clock_seconds();
    int rc = stage_pack(&result, pack, &s->options, &error);
    double seconds = clock_seconds() - start;
    progress_clear(&s->progress);
    if (rc == 0 && !s->json)
        print_result(s, pack, &result, seconds);
    int exit_code = rc == 0 ? EXIT_DONE : output_fail(&error);
    return s->json ? output_json(result_json(pack, &result, seconds, rc, &error), exit_code) : exit_code;
}

int cmd_stage(int argc, char **argv) {
    struct staging s = {.options = {.world = 1}};
    struct args args;
    int exit_code;
    const struct args_option options[] = {
        {"to", 0, ARGS_TEXT, "DIR", "a tmpfs or fast disk (default: $YPK_STAGE_DIR, or /dev/shm)", &s.options.base, 0,
         0},
        {"shards-of", 0, ARGS_TEXT, "RANK/WORLD",
         "only shards whose number modulo WORLD is RANK; others are read from PACK", &s.shards, 0, 0},
        {"lease", 0, ARGS_TEXT, "NAME", "keep it until unstage --lease NAME (default: while this session lives)",
         &s.options.job, 0, 0},
        {"jobs", 'j', ARGS_INTEGER, "N", "files copied at once (default: one a core)", &s.jobs, 1, 256},
        {"json", 0, ARGS_FLAG, NULL, "print the result as JSON", &s.json, 0, 0},
        {"quiet", 'q', ARGS_FLAG, NULL, "no progress", &s.quiet, 0, 0},
    };
    const struct args_spec spec = {
        .command = "stage",
        .operands = "PACK",
        .summary =
            "Copies a pack's shards into memory, checking every byte on the way. Readers find the copy by themselves. "
            "Jobs that stage the same pack share one copy; the last yolopack unstage removes it.",
        .examples = "  yolopack stage night.ypk && train night.ypk; yolopack unstage night.ypk\n",
        .options = options,
        .option_count = sizeof options / sizeof options[0],
        .operand_count = 1,
    };
    if (!args_parse(&args, &spec, argc, argv, &exit_code))
        return exit_code;
    if (s.shards != NULL && !parse_share(s.shards, &s.options.rank, &s.options.world))
        return args_mistake(&spec, "--shards-of %s: it takes RANK/WORLD, as 0/4 to 3/4", s.shards);
    return run(&s, args.operands[0]);
}
