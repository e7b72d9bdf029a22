/* How fast batches come, what they cost, and what bounds them. */
#include "commands.h"

#include "args.h"
#include "loader_args.h"
#include "loader_run.h"
#include "output.h"
#include "splits.h"

#include <stdlib.h>
#include <string.h>

struct bench {
    struct loader_args loader;
    int64_t seconds;
    double step_ms;
    bool json, drop_behind;
};

static double per_sample_ms(double seconds, const ypk_loader_stats *s) {
    return s->samples ? seconds * 1e3 / (double)s->samples : 0;
}

/* Of the time in which workers did something. */
static double share(double part, const ypk_loader_stats *s) {
    double all = s->read_seconds + s->decode_seconds + s->resize_seconds + s->warp_seconds + s->colour_seconds +
                 s->write_seconds;
    return all > 0 ? part / all : 0;
}

static void print_resident(const struct memory_resident *r) {
    output_label(stdout, STYLE_PLAIN, "process");
    printf("allocated %s   pages of files %s   of staged files %s   in memory at the end\n",
           text_bytes(r->anonymous_bytes).text, text_bytes(r->file_bytes).text, text_bytes(r->shared_bytes).text);
}

static void print_device(const struct loader_measure *m) {
    const ypk_loader_stats *s = &m->stats;
    if (m->on_device) {
        output_label(stdout, STYLE_PLAIN, "device");
        printf("%s   copies %.1f GB/s, %.0f %% of their time beside the step   %u batches there, %s   %s\n", m->device,
               s->copy_seconds > 0 ? (double)s->copy_bytes / s->copy_seconds * 1e-9 : 0, 100 * s->copy_overlap,
               s->device_slots, text_bytes(s->device_bytes).text,
               s->pinned_bytes == s->slot_bytes ? "page-locked" : "not page-locked");
    }
    if (m->note[0] != '\0') {
        output_label(stdout, STYLE_WARN, "note");
        printf("%s\n", m->note);
    }
}

/* Where the automatic mode is at the end. */
static void print_automatic(const struct bench *b, const ypk_loader_stats *s) {
    if (b->loader.workers != 0 && b->loader.prefetch != 0)
        return;
    output_label(stdout, STYLE_PLAIN, "automatic");
    printf("%s, %u batches in memory, after %s\n", text_counted(s->workers, "worker").text, s->slots,
           text_counted(s->changes, "change").text);
}

static void print_text(const struct bench *b, const struct loader_measure *m, const char *noun) {
    const ypk_loader_stats *s = &m->stats;
    double rate = (double)s->samples / s->seconds;
    printf("%.0f %s/s (%.1f batches/s) on %s", rate, noun, (double)s->batches / s->seconds,
           text_counted(s->workers, "worker").text);
    if (b->step_ms > 0)
        printf("   the step would wait %.1f %% of the time at %g ms a step\n", 100 * m->wait_seconds / s->seconds,
               b->step_ms);
    else
        printf("   no step (--step-ms T measures how long one would wait)\n");
    output_label(stdout, STYLE_PLAIN, "a sample costs");
    printf("read %.2f ms   decode %.2f   resize %.2f   warp %.2f   colour %.2f   write %.2f   (one worker)\n",
           per_sample_ms(s->read_seconds, s), per_sample_ms(s->decode_seconds, s), per_sample_ms(s->resize_seconds, s),
           per_sample_ms(s->warp_seconds, s), per_sample_ms(s->colour_seconds, s), per_sample_ms(s->write_seconds, s));
    output_label(stdout, STYLE_PLAIN, "verdict");
    printf("%s: decoding takes %.0f %% of the workers' time, %.2f decodes a sample\n", s->verdict,
           100 * share(s->decode_seconds, s), s->samples ? (double)s->decodes / (double)s->samples : 0);
    print_device(m);
    print_automatic(b, s);
    output_label(stdout, STYLE_PLAIN, "memory");
    printf("slots %s   window %s   scratch %s", text_bytes(s->slot_bytes).text, text_bytes(s->window_bytes).text,
           text_bytes(s->scratch_bytes).text);
    if (b->loader.memory_limit)
        printf("   of %s allowed", text_bytes(b->loader.memory_limit).text);
    printf("\n");
    print_resident(&m->resident);
}

/* null in host memory */
static json_t *transfer_json(const struct loader_measure *m) {
    const ypk_loader_stats *s = &m->stats;
    if (!m->on_device)
        return json_null();
    return json_pack("{s:I, s:f, s:f, s:f, s:b, s:I, s:I, s:I}", "copy_bytes", (json_int_t)s->copy_bytes,
                     "copy_seconds", s->copy_seconds, "copy_overlap", s->copy_overlap, "stream_wait_seconds",
                     s->stream_wait_seconds, "pinned", s->pinned_bytes == s->slot_bytes, "pinned_bytes",
                     (json_int_t)s->pinned_bytes, "device_bytes", (json_int_t)s->device_bytes, "device_slots",
                     (json_int_t)s->device_slots);
}

static json_t *make_json(const struct bench *b, const struct loader_measure *m) {
    const ypk_loader_stats *s = &m->stats;
    return json_pack(
        "{s:f, s:f, s:I, s:I, s:f, s:f, s:{s:f, s:f, s:f, s:f, s:f, s:f}, s:{s:I, s:I, s:I}, s:{s:I, s:I, s:I}, s:i, "
        "s:i, s:i, s:f, s:s, s:s, s:s, s:o}",
        "samples_per_second", (double)s->samples / s->seconds, "batches_per_second", (double)s->batches / s->seconds,
        "samples", (json_int_t)s->samples, "decodes", (json_int_t)s->decodes, "seconds", s->seconds, "wait_ratio",
        m->wait_seconds / s->seconds, "ms_per_sample", "read", per_sample_ms(s->read_seconds, s), "decode",
        per_sample_ms(s->decode_seconds, s), "resize", per_sample_ms(s->resize_seconds, s), "warp",
        per_sample_ms(s->warp_seconds, s), "colour", per_sample_ms(s->colour_seconds, s), "write",
        per_sample_ms(s->write_seconds, s), "memory_bytes", "slots", (json_int_t)s->slot_bytes, "window",
        (json_int_t)s->window_bytes, "scratch", (json_int_t)s->scratch_bytes, "resident_bytes", "anonymous",
        (json_int_t)m->resident.anonymous_bytes, "file", (json_int_t)m->resident.file_bytes, "shared",
        (json_int_t)m->resident.shared_bytes, "workers", (int)s->workers, "slots", (int)s->slots, "changes",
        (int)s->changes, "step_ms", b->step_ms, "verdict", s->verdict, "device", m->device, "note", m->note, "transfer",
        transfer_json(m));
}

static int measure(const struct bench *b, ypk_dataset *dataset, struct error *error) {
    ypk_loader_options options;
    struct loader_measure m;
    ypk_dataset_info info;
    ypk_error detail = {0};

    ypk_dataset_get_info(dataset, &info);
    loader_args_apply(&b->loader, &options);
    if (loader_run(&m, dataset, &options, b->step_ms, (double)b->seconds * 0.25, (double)b->seconds, &detail) != YPK_OK)
        return splits_error(error, &detail);
    if (b->json)
        return output_json(make_json(b, &m), EXIT_DONE) == EXIT_DONE ? 0
                                                                     : error_set(error, ERR_MEMORY, "out of memory");
    print_text(b, &m, info.modalities == (YPK_RGB | YPK_IR) ? "pairs" : "images");
    return 0;
}

static int run(const char *pack, struct bench *b) {
    struct splits splits;
    struct error error = {0};
    ypk_dataset *dataset = NULL;
    int rc = splits_open(&splits, pack, &error);
    if (rc != 0)
        return output_fail(&error);
    rc = splits_dataset_with(&dataset, &splits,
                             (ypk_dataset_options){.split = b->loader.split, .drop_behind = b->drop_behind}, &error);
    if (rc == 0)
        rc = splits_flip_index(&b->loader.flip, &splits, dataset, &error);
    if (rc == 0)
        rc = measure(b, dataset, &error);
    ypk_dataset_close(&dataset);
    splits_close(&splits);
    return rc == 0 ? EXIT_DONE : output_fail(&error);
}

int cmd_bench(int argc, char **argv) {
    struct bench b = {.seconds = 5};
    struct args args;
    struct args_option options[ARGS_OPTION_LIMIT];
    int exit_code;
    loader_args_init(&b.loader);
    const struct args_option own[] = {
        {"seconds", 't', ARGS_INTEGER, "N", "how long to measure, after a quarter of it to warm up", &b.seconds, 1,
         3600},
        {"step-ms", 0, ARGS_NUMBER, "T", "the training step's length, ms", &b.step_ms, 0, 60000},
        {"drop-behind", 0, ARGS_FLAG, NULL, "give up a record's pages once it was read, also in the page cache",
         &b.drop_behind, 0, 0},
        {"json", 0, ARGS_FLAG, NULL, "one JSON object instead of text", &b.json, 0, 0},
    };
    const struct args_spec spec = {
        .command = "bench",
        .operands = "PACK",
        .summary =
            "Runs the loader and says how fast batches come, what a sample costs, what bounds the rate, and where the "
            "memory goes.",
        .examples = "  yolopack bench night.ypk --batch 16 --imgsz 640 --step-ms 40\n"
                    "  yolopack bench night.ypk --dtype f16 --device cuda:0 --step-ms 40\n",
        .options = options,
        .option_count = loader_args_options(options, own, sizeof own / sizeof own[0], &b.loader),
        .operand_count = 1,
    };
    if (!args_parse(&args, &spec, argc, argv, &exit_code) || !loader_args_augment(&b.loader, &spec, &exit_code))
        return exit_code;
    return run(args.operands[0], &b);
}
