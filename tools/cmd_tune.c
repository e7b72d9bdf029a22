/*
 * Which workers and prefetch to use: every setting is measured, then the promising ones again, in turn, so that a machine
 * that is busy with something else for a moment does not decide.
 */
#include "commands.h"

#include "args.h"
#include "cpus.h"
#include "loader_args.h"
#include "loader_run.h"
#include "memory.h"
#include "output.h"
#include "progress.h"
#include "splits.h"
#include "tune_plot.h"

#include <stdlib.h>
#include <string.h>

enum {
    SETTING_LIMIT = 128,
    FINAL_ROUNDS = 4,
    FINALISTS = 6,
    HELD_SLOTS = 2 /* that a loader has beside its prefetch, for the caller */
};

static const double near_best = 0.98; /* of the best rate: then the least memory decides */
static const double finalist = 0.90;  /* of the best rate of the first round: measured again */
static const double wait_is_none = 0.01;
static const double memory_is_near = 0.8; /* of what is free */

struct setting {
    uint32_t workers, prefetch; /* as the loader has them */
    bool automatic;             /* it chose them itself, */
    uint32_t changes;           /* and so often something else */
    uint64_t memory_bytes;
    uint64_t samples; /* of all rounds, as the seconds */
    double seconds, wait_seconds;
    unsigned rounds;
};

struct tune {
    struct loader_args loader;
    int64_t seconds, step_ms;
    const char *plot;
    bool json, quiet;
    const char *pack, *noun;
    char device[32]; /* where the batches went */
    ypk_dataset *dataset;
    struct memory_room room;
    struct setting settings[SETTING_LIMIT];
    size_t count, recommended;
    struct progress progress;
    uint64_t runs_done, runs_total;
};

static double rate(const struct setting *s) {
    return s->seconds > 0 ? (double)s->samples / s->seconds : 0;
}

static double wait_ratio(const struct setting *s) {
    return s->seconds > 0 ? s->wait_seconds / s->seconds : 0;
}

/* ---- measuring ----------------------------------------------------------------------------------------------------- */

static void add_setting(struct tune *t, uint32_t workers, uint32_t prefetch) {
    if (t->count < SETTING_LIMIT)
        t->settings[t->count++] =
            (struct setting){.workers = workers, .prefetch = prefetch, .automatic = workers == 0 && prefetch == 0};
}

/* One worker, twice as many, … up to the cores, and twice the cores: that helps where the storage is what one waits for.
 * What the command line fixes stays. The automatic setting comes last. */
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

static int measure(struct tune *t, struct setting *s, struct error *error) {
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
    s->samples += stats.samples;
    s->seconds += stats.seconds;
    s->wait_seconds += measured.wait_seconds;
    s->rounds++;
    return 0;
}

static double best_rate(const struct tune *t, unsigned rounds) {
    double best = 0;
    for (size_t i = 0; i < t->count; i++)
        if (t->settings[i].rounds >= rounds && rate(&t->settings[i]) > best)
            best = rate(&t->settings[i]);
    return best;
}

/* The fastest settings of the first round, and the automatic one. */
static size_t choose_finalists(const struct tune *t, size_t out[FINALISTS + 1]) {
    double best = best_rate(t, 1), below = 2 * best + 1;
    size_t count = 0;
    while (count < FINALISTS) {
        size_t next = t->count;
        for (size_t i = 0; i + 1 < t->count; i++) {
            double r = rate(&t->settings[i]);
            bool seen = false;
            for (size_t k = 0; k < count; k++)
                seen = seen || out[k] == i;
            if (!seen && r >= finalist * best && r <= below && (next == t->count || r > rate(&t->settings[next])))
                next = i;
        }
        if (next == t->count)
            break;
        below = rate(&t->settings[next]);
        out[count++] = next;
    }
    out[count++] = t->count - 1;
    return count;
}

static int measure_all(struct tune *t, struct error *error) {
    size_t finalists[FINALISTS + 1];
    int rc = 0;
    t->runs_total = t->count + (size_t)FINAL_ROUNDS * (FINALISTS + 1);
    for (size_t i = 0; rc == 0 && i < t->count; i++)
        rc = measure(t, &t->settings[i], error);
    size_t count = rc == 0 ? choose_finalists(t, finalists) : 0;
    t->runs_total = t->runs_done + FINAL_ROUNDS * count;
    for (unsigned round = 0; rc == 0 && round < FINAL_ROUNDS; round++)
        for (size_t i = 0; rc == 0 && i < count; i++)
            rc = measure(t, &t->settings[finalists[i]], error);
    progress_clear(&t->progress);
    return rc;
}

/* ---- what to use --------------------------------------------------------------------------------------------------- */

static bool is_good(const struct tune *t, const struct setting *s, double best) {
    return rate(s) >= near_best * best || (t->step_ms > 0 && wait_ratio(s) <= wait_is_none);
}

/* Of those that are as good as the best, the one with the least memory, then the fewest workers. Only settings that were
 * measured in every round: one of a single round may owe its rate to chance. */
static void recommend(struct tune *t) {
    const unsigned rounds = 1 + FINAL_ROUNDS;
    double best = best_rate(t, rounds);
    t->recommended = t->count - 1;
    for (size_t i = 0; i + 1 < t->count; i++) {
        const struct setting *s = &t->settings[i], *r = &t->settings[t->recommended];
        if (s->rounds < rounds || !is_good(t, s, best))
            continue;
        if (!is_good(t, r, best) || s->memory_bytes < r->memory_bytes ||
            (s->memory_bytes == r->memory_bytes && (r->automatic || s->workers < r->workers)))
            t->recommended = i;
    }
}

static bool memory_is_tight(const struct tune *t, const struct setting *s) {
    return t->room.free_bytes != UINT64_MAX && (double)s->memory_bytes > memory_is_near * (double)t->room.free_bytes;
}

static void print_setting(const struct tune *t, size_t i) {
    const struct setting *s = &t->settings[i];
    if (s->rounds == 0) {
        printf("%7u  %8u  needs more memory than there is\n", s->workers, s->prefetch);
        return;
    }
    printf("%7u  %8u  %9.1f  ", s->workers, s->prefetch, rate(s));
    printf("%8.1f %%  %9s%s", 100 * wait_ratio(s), text_bytes(s->memory_bytes).text, memory_is_tight(t, s) ? " !" : "");
    printf("%s%s\n", i == t->recommended ? "   recommended" : "", s->automatic ? "   automatic" : "");
}

static void print_result(const struct tune *t) {
    const struct setting *r = &t->settings[t->recommended], *a = &t->settings[t->count - 1];
    double best = best_rate(t, 1 + FINAL_ROUNDS);
    char rate_head[32];
    snprintf(rate_head, sizeof rate_head, "%s/s", t->noun);
    printf("workers  prefetch  %9s  step waits     memory\n", rate_head);
    for (size_t i = 0; i < t->count; i++)
        print_setting(t, i);
    output_label(stdout, STYLE_GOOD, "use");
    printf("--workers %u --prefetch %u: ", r->workers, r->prefetch);
    if (t->step_ms > 0 && wait_ratio(r) <= wait_is_none)
        printf("the least memory with which a step of %lld ms waits no more than %.0f %%\n", (long long)t->step_ms,
               100 * wait_is_none);
    else
        printf("the least memory within %.0f %% of the best rate, %.1f %s/s\n", 100 * (1 - near_best), best, t->noun);
    if (t->loader.device) {
        output_label(stdout, STYLE_PLAIN, "device");
        printf("%s\n", t->device);
    }
    output_label(stdout, STYLE_PLAIN, "automatic");
    printf("%s, prefetch %u after %s: %.0f %% of the best rate\n", text_counted(a->workers, "worker").text, a->prefetch,
           text_counted(a->changes, "change").text, best > 0 ? 100 * rate(a) / best : 0);
    if (memory_is_tight(t, r) || memory_is_tight(t, a)) {
        output_label(stdout, STYLE_WARN, "memory");
        printf("%s leaves %s free of %s: settings marked ! come near that (--memory-limit bounds the loader)\n",
               t->room.is_cgroup ? "the control group" : "the machine", text_bytes(t->room.free_bytes).text,
               text_bytes(t->room.limit_bytes).text);
    }
}

static json_t *setting_json(const struct tune *t, size_t i) {
    const struct setting *s = &t->settings[i];
    return json_pack("{s:I, s:I, s:I, s:f, s:f, s:I, s:I, s:b, s:b, s:b}", "workers", (json_int_t)s->workers,
                     "prefetch", (json_int_t)s->prefetch, "changes", (json_int_t)s->changes, "samples_per_second",
                     rate(s), "wait_ratio", wait_ratio(s), "memory_bytes", (json_int_t)s->memory_bytes, "rounds",
                     (json_int_t)s->rounds, "automatic", s->automatic, "recommended", i == t->recommended,
                     "memory_is_tight", memory_is_tight(t, s));
}

static json_t *result_json(const struct tune *t) {
    json_t *settings = json_array();
    for (size_t i = 0; i < t->count; i++)
        json_array_append_new(settings, setting_json(t, i));
    return json_pack("{s:o, s:s, s:I, s:I, s:I, s:I, s:o, s:o, s:o}", "pack", output_json_name(t->pack), "device",
                     t->device, "batch", (json_int_t)t->loader.batch, "image_size", (json_int_t)t->loader.image_size,
                     "step_ms", (json_int_t)t->step_ms, "memory_free_bytes",
                     (json_int_t)(t->room.free_bytes > INT64_MAX ? INT64_MAX : t->room.free_bytes), "recommended",
                     setting_json(t, t->recommended), "automatic", setting_json(t, t->count - 1), "settings", settings);
}

static int write_plot(const struct tune *t, struct error *error) {
    const struct setting *r = &t->settings[t->recommended];
    struct tune_point points[SETTING_LIMIT];
    char title[160], subtitle[200], step[48] = "no step";
    uint32_t count = 0, recommended = 0;
    for (size_t i = 0; i < t->count; i++) { /* the automatic one is no point of the grid */
        const struct setting *s = &t->settings[i];
        if (s->rounds == 0 || (s->automatic && i != t->recommended))
            continue;
        recommended = i == t->recommended ? count : recommended;
        points[count++] = (struct tune_point){s->workers, s->prefetch, rate(s)};
    }
    if (t->step_ms > 0)
        snprintf(step, sizeof step, "a step of %lld ms", (long long)t->step_ms);
    snprintf(title, sizeof title, "%s and prefetch %u suffice: %.0f %s/s in %s",
             text_counted(r->workers, "worker").text, r->prefetch, rate(r), t->noun, text_bytes(r->memory_bytes).text);
    const char *slash = strrchr(t->pack, '/');
    snprintf(subtitle, sizeof subtitle, "%s, batch %lld, %lld px, %s; ring: recommended",
             slash != NULL && slash[1] != '\0' ? slash + 1 : t->pack, (long long)t->loader.batch,
             (long long)t->loader.image_size, step);
    struct tune_plot plot = {
        .title = title,
        .subtitle = subtitle,
        .noun = t->noun,
        .wanted_rate = t->step_ms > 0 ? 1e3 * (double)t->loader.batch / (double)t->step_ms : 0,
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
    recommend(t);
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
    rc = splits_dataset(&t->dataset, &splits, t->loader.split, &error);
    if (rc == 0)
        rc = splits_flip_index(&t->loader.flip, &splits, t->dataset, &error);
    if (rc == 0)
        rc = tune(t, &error);
    ypk_dataset_close(&t->dataset);
    splits_close(&splits);
    return rc == 0 ? EXIT_DONE : output_fail(&error);
}

int cmd_tune(int argc, char **argv) {
    struct tune t = {.seconds = 3};
    struct args args;
    struct args_option options[ARGS_OPTION_LIMIT];
    int exit_code;
    loader_args_init(&t.loader);
    const struct args_option own[] = {
        {"step-ms", 0, ARGS_INTEGER, "N", "the training step's length, ms (0: as fast as batches come)", &t.step_ms, 0,
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
    t.pack = args.operands[0];
    return run(&t);
}
