/*
 * Which workers and prefetch to use: every setting is measured, then the promising ones again, in turn, so that a
 * machine that is busy with something else for a moment does not decide.
 */
#include "commands.h"

#include "args.h"
#include "cpus.h"
#include "file.h"
#include "loader_args.h"
#include "loader_run.h"
#include "memory.h"
#include "output.h"
#include "progress.h"
#include "splits.h"
#include "tune_choice.h"
#include "tune_plot.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum {
    SETTING_LIMIT = 128,
    HELD_SLOTS = 2 /* that a loader has beside its prefetch, for the caller */
};

static const double memory_is_near = 0.8; /* of what is free */

struct tune {
    struct loader_args loader;
    int64_t seconds;
    double step_ms;
    const char *plot;
    bool json, quiet;
    const char *pack, *noun;
    char device[32]; /* where the batches went */
    ypk_dataset *dataset;
    struct memory_room room;
    struct tune_setting settings[SETTING_LIMIT];
    size_t count, recommended;
    struct progress progress;
    uint64_t runs_done, runs_total;
};

/* ---- measuring --------------------------------------------------------------------------------------------------- */

static void add_setting(struct tune *t, uint32_t workers, uint32_t prefetch) {
    if (t->count < SETTING_LIMIT)
        t->settings[t->count++] =
            (struct tune_setting){.workers = workers, .prefetch = prefetch, .automatic = workers == 0 && prefetch == 0};
}

/* One worker, twice as many, … up to the cores, and twice the cores: that helps where the storage is what one waits
 * for. What the command line fixes stays. The automatic setting comes last. */
static void list_settings(struct tune *t) {
    uint32_t cores = cpus_available(), workers[16], prefetch[] = {1, 2, 4, 8};
    size_t worker_count = 0, prefetch_count = 4;
    for (uint32_t n = 1; n < cores && worker_count < 14; n *= 2)
        workers[worker_count++] = n;
    workers[worker_count++] = cores;
    workers[worker_count++] = 2 * cores;
    if (t->loader.workers > 0) {
        workers[0] = (uint32_t)t->loader.workers;
        worker_count = 1;
    }
    if (t->loader.prefetch > 0) {
        prefetch[0] = (uint32_t)t->loader.prefetch;
        prefetch_count = 1;
    }
    for (size_t w = 0; w < worker_count; w++)
        for (size_t p = 0; p < prefetch_count; p++)
            add_setting(t, workers[w], prefetch[p]);
    add_setting(t, 0, 0);
}

/* A loader gets no more than nine tenths of what is free: the machine has to live through the measurement. */
static uint64_t memory_limit(const struct tune *t) {
    uint64_t most = t->room.free_bytes / 10 * 9, asked = t->loader.memory_limit;
    if (t->room.free_bytes == UINT64_MAX || (asked > 0 && asked < most))
        return asked;
    return most;
}

static int measure(struct tune *t, struct tune_setting *s, struct error *error) {
    ypk_loader_options options;
    struct loader_measure measured;
    ypk_error detail = {0};
    loader_args_apply(&t->loader, &options);
    if (!s->automatic) { /* what the command line fixes is in the options already */
        options.workers = s->workers;
        options.prefetch = s->prefetch;
    }
    options.memory_limit = memory_limit(t);
    double seconds = (double)t->seconds;
    progress_update(&t->progress, "tune", t->runs_done, t->runs_total, 0);
    int rc = loader_run(&measured, t->dataset, &options, t->step_ms, seconds * 0.25, seconds, &detail);
    t->runs_done++;
    if (rc == YPK_E_ARGUMENT &&
        !s->automatic) /* it needs more memory than there is; anything else the last one will tell */
        return 0;
    if (rc != YPK_OK)
        return splits_error(error, &detail);
    const ypk_loader_stats stats = measured.stats;
    memcpy(t->device, measured.device, sizeof t->device);
    s->workers = stats.workers;
    s->prefetch = stats.slots - HELD_SLOTS;
    s->changes = stats.changes;
    s->memory_bytes = stats.slot_bytes + stats.window_bytes + stats.scratch_bytes;
    s->seconds += stats.seconds;
    s->wait_seconds += measured.wait_seconds;
    s->rates[s->rounds++] = stats.seconds > 0 ? (double)stats.samples / stats.seconds : 0;
    return 0;
}

/* Every other final round goes backwards: what drifts in a round then favours nobody. */
static int measure_all(struct tune *t, struct error *error) {
    size_t finalists[TUNE_FINALISTS + 1];
    int rc = 0;
    t->runs_total = t->count + (size_t)TUNE_FINAL_ROUNDS * (TUNE_FINALISTS + 1);
    for (size_t i = 0; rc == 0 && i < t->count; i++)
        rc = measure(t, &t->settings[i], error);
    size_t count = rc == 0 ? tune_finalists(finalists, t->settings, t->count) : 0;
    t->runs_total = t->runs_done + TUNE_FINAL_ROUNDS * count;
    for (unsigned round = 0; rc == 0 && round < TUNE_FINAL_ROUNDS; round++)
        for (size_t i = 0; rc == 0 && i < count; i++)
            rc = measure(t, &t->settings[finalists[round % 2 ? count - 1 - i : i]], error);
    progress_clear(&t->progress);
    return rc;
}

/* ---- what came of it --------------------------------------------------------------------------------------------- */

static bool memory_is_tight(const struct tune *t, const struct tune_setting *s) {
    return t->room.free_bytes != UINT64_MAX && (double)s->memory_bytes > memory_is_near * (double)t->room.free_bytes;
}

static void print_setting(const struct tune *t, size_t i) {
    const struct tune_setting *s = &t->settings[i];
    if (s->rounds == 0) {
        printf("%7u  %8u  needs more memory than there is\n", s->workers, s->prefetch);
        return;
    }
    printf("%7u  %8u  %9.1f  ", s->workers, s->prefetch, s->rate);
    printf("%8.1f %%  %9s%s", 100 * tune_wait_ratio(s), text_bytes(s->memory_bytes).text,
           memory_is_tight(t, s) ? " !" : "");
    printf("%s%s\n", i == t->recommended ? "   recommended" : "", s->automatic ? "   automatic" : "");
}

static void print_result(const struct tune *t) {
    const struct tune_setting *r = &t->settings[t->recommended], *a = &t->settings[t->count - 1];
    double best = tune_best_rate(t->settings, t->count);
    char rate_head[32];
    snprintf(rate_head, sizeof rate_head, "%s/s", t->noun);
    printf("workers  prefetch  %9s  step waits     memory\n", rate_head);
    for (size_t i = 0; i < t->count; i++)
        print_setting(t, i);
    output_label(stdout, STYLE_GOOD, "use");
    printf("--workers %u --prefetch %u: ", r->workers, r->prefetch);
    if (t->step_ms > 0 && tune_wait_ratio(r) * 100 <= TUNE_WAIT_PERCENT)
        printf("the least memory with which a step of %g ms waits no more than %d %%\n", t->step_ms, TUNE_WAIT_PERCENT);
    else
        printf("the least memory within %d %% of the best rate, %.1f %s/s\n", TUNE_NEAR_BEST_PERCENT, best, t->noun);
    if (t->loader.device) {
        output_label(stdout, STYLE_PLAIN, "device");
        printf("%s\n", t->device);
    }
    output_label(stdout, STYLE_PLAIN, "automatic");
    printf("%s, prefetch %u after %s: %.0f %% of the best rate\n", text_counted(a->workers, "worker").text, a->prefetch,
           text_counted(a->changes, "change").text, best > 0 ? 100 * a->rate / best : 0);
    if (memory_is_tight(t, r) || memory_is_tight(t, a)) {
        output_label(stdout, STYLE_WARN, "memory");
        printf("%s leaves %s free of %s: settings marked ! come near that (--memory-limit bounds the loader)\n",
               t->room.is_cgroup ? "the control group" : "the machine", text_bytes(t->room.free_bytes).text,
               text_bytes(t->room.limit_bytes).text);
    }
}

static json_t *setting_json(const struct tune *t, size_t i) {
    const struct tune_setting *s = &t->settings[i];
    return json_pack("{s:I, s:I, s:I, s:f, s:f, s:I, s:I, s:b, s:b, s:b}", "workers", (json_int_t)s->workers,
                     "prefetch", (json_int_t)s->prefetch, "changes", (json_int_t)s->changes, "samples_per_second",
                     s->rate, "wait_ratio", tune_wait_ratio(s), "memory_bytes", (json_int_t)s->memory_bytes, "rounds",
                     (json_int_t)s->rounds, "automatic", s->automatic, "recommended", i == t->recommended,
                     "memory_is_tight", memory_is_tight(t, s));
}

static json_t *result_json(const struct tune *t) {
    json_t *settings = json_array();
    for (size_t i = 0; i < t->count; i++)
        json_array_append_new(settings, setting_json(t, i));
    return json_pack("{s:o, s:s, s:I, s:I, s:f, s:I, s:o, s:o, s:o}", "pack", output_json_name(t->pack), "device",
                     t->device, "batch", (json_int_t)t->loader.batch, "image_size", (json_int_t)t->loader.image_size,
                     "step_ms", t->step_ms, "memory_free_bytes",
                     (json_int_t)(t->room.free_bytes > INT64_MAX ? INT64_MAX : t->room.free_bytes), "recommended",
                     setting_json(t, t->recommended), "automatic", setting_json(t, t->count - 1), "settings", settings);
}

static int write_plot(const struct tune *t, struct error *error) {
    const struct tune_setting *r = &t->settings[t->recommended];
    struct tune_point points[SETTING_LIMIT];
    char title[160], subtitle[200], step[48] = "no step";
    uint32_t count = 0, recommended = 0;
    for (size_t i = 0; i < t->count; i++) { /* the automatic one is no point of the grid */
        const struct tune_setting *s = &t->settings[i];
        if (s->rounds == 0 || (s->automatic && i != t->recommended))
            continue;
        recommended = i == t->recommended ? count : recommended;
        points[count++] = (struct tune_point){s->workers, s->prefetch, s->rate};
    }
    if (t->step_ms > 0)
        snprintf(step, sizeof step, "a step of %g ms", t->step_ms);
    snprintf(title, sizeof title, "%s and prefetch %u suffice: %.0f %s/s in %s",
             text_counted(r->workers, "worker").text, r->prefetch, r->rate, t->noun, text_bytes(r->memory_bytes).text);
    const char *slash = strrchr(t->pack, '/');
    snprintf(subtitle, sizeof subtitle, "%s, batch %lld, %lld px, %s; ring: recommended",
             slash != NULL && slash[1] != '\0' ? slash + 1 : t->pack, (long long)t->loader.batch,
             (long long)t->loader.image_size, step);
    struct tune_plot plot = {
        .title = title,
        .subtitle = subtitle,
        .noun = t->noun,
        .wanted_rate = t->step_ms > 0 ? 1e3 * (double)t->loader.batch / t->step_ms : 0,
        .points = points,
        .point_count = count,
        .recommended = recommended,
    };
    return tune_plot_write(t->plot, &plot, error);
}

static int tune(struct tune *t, struct error *error) {
    ypk_dataset_info info;
    ypk_dataset_get_info(t->dataset, &info);
    t->noun = info.modalities == (YPK_RGB | YPK_IR) ? "pairs" : "images";
    memory_room(&t->room, "");
    list_settings(t);
    progress_init(&t->progress, "settings", t->quiet);
    int rc = measure_all(t, error);
    if (rc != 0)
        return rc;
    tune_settle(t->settings, t->count);
    t->recommended = tune_recommended(t->settings, t->count, t->step_ms > 0);
    if (t->json && output_json(result_json(t), EXIT_DONE) != EXIT_DONE)
        return error_set(error, ERR_MEMORY, "out of memory");
    if (!t->json)
        print_result(t);
    return t->plot != NULL ? write_plot(t, error) : 0;
}

static int run(struct tune *t) {
    struct splits splits;
    struct error error = {0};
    int rc = splits_open(&splits, t->pack, &error);
    if (rc != 0)
        return output_fail(&error);
    rc = t->plot != NULL ? file_check_output(t->plot, &error) : 0;
    if (rc == 0)
        rc = splits_dataset(&t->dataset, &splits, t->loader.split, &error);
    if (rc == 0)
        rc = splits_flip_index(&t->loader.flip, &splits, t->dataset, &error);
    if (rc == 0)
        rc = tune(t, &error);
    ypk_dataset_close(&t->dataset);
    splits_close(&splits);
    return rc == 0 ? EXIT_DONE : output_fail(&error);
}

/* NULL, or the ending of a name that promises something else than SVG. */
static const char *other_ending(const char *path) {
    const char *slash = strrchr(path, '/'), *dot = strrchr(slash != NULL ? slash : path, '.');
    return dot != NULL && strcasecmp(dot, ".svg") != 0 ? dot : NULL;
}

int cmd_tune(int argc, char **argv) {
    struct tune t = {.seconds = 3};
    struct args args;
    struct args_option options[ARGS_OPTION_LIMIT];
    int exit_code;
    loader_args_init(&t.loader);
    const struct args_option own[] = {
        {"step-ms", 0, ARGS_NUMBER, "T", "the training step's length, ms (0: as fast as batches come)", &t.step_ms, 0,
         60000},
        {"seconds", 't', ARGS_INTEGER, "N", "how long to measure each setting", &t.seconds, 1, 600},
        {"plot", 0, ARGS_TEXT, "FILE.svg", "draw the rates, too", &t.plot, 0, 0},
        {"json", 0, ARGS_FLAG, NULL, "one JSON object instead of text", &t.json, 0, 0},
        {"quiet", 'q', ARGS_FLAG, NULL, "no progress", &t.quiet, 0, 0},
    };
    const struct args_spec spec = {
        .command = "tune",
        .operands = "PACK",
        .summary =
            "Measures how fast batches come with different numbers of workers and of batches ahead, and says which to "
            "use: the least memory that is as fast as the best. --workers or --prefetch fixes one of them.",
        .examples = "  yolopack tune night.ypk --batch 16 --imgsz 640 --step-ms 40\n",
        .options = options,
        .option_count = loader_args_options(options, own, sizeof own / sizeof own[0], &t.loader),
        .operand_count = 1,
    };
    if (!args_parse(&args, &spec, argc, argv, &exit_code) || !loader_args_augment(&t.loader, &spec, &exit_code))
        return exit_code;
    if (t.plot != NULL && other_ending(t.plot) != NULL)
        return args_mistake(&spec, "--plot %s: the plot is an SVG, not a %s file: let its name end in .svg", t.plot,
                            other_ending(t.plot));
    t.pack = args.operands[0];
    return run(&t);
}
