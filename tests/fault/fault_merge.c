/*
 * Merging parts, and appending, while one call after another fails: the pack is the older one, whole, or the new one.
 */
#include "tiny_set.h"

#include "merge.h"

struct scene {
    char directory[TINY_PATH_BYTES], dataset[TINY_PATH_BYTES], partial[TINY_PATH_BYTES], output[TINY_PATH_BYTES];
    char parts[2][TINY_PATH_BYTES];
    struct snapshot older, newer;
    bool append; /* else merge */
    struct pack_result result;
};

static int run_pack(struct scene *s, const char *output, struct pack_part part, bool append, struct error *error) {
    struct pack_options options;
    tiny_options(&options, s->dataset, output);
    options.strict = false;
    options.jobs = 1;
    options.part = part;
    options.append = append;
    return pack_run(&s->result, &options, error);
}

static int run(void *arg, struct error *error) {
    struct scene *s = arg;
    const char *const parts[] = {s->parts[0], s->parts[1]};
    const struct merge_options options = {.parts = parts, .part_count = 2, .output = s->output};
    return s->append ? run_pack(s, s->output, (struct pack_part){0}, true, error)
                     : merge_run(&s->result, &options, error);
}

static void prepare(void *arg) {
    struct scene *s = arg;
    FAULT_CHECK(dir_remove_all(s->partial, NULL) == 0, "%s", s->partial);
    snapshot_put(&s->older, s->output);
}

static bool code_fits(int code, enum fault_kind kind) {
    if (kind == FAULT_ALLOC)
        return code == ERR_MEMORY;
    return code == ERR_IO || (kind == FAULT_READ && code == ERR_INPUT);
}

static void judge(void *arg, int rc, const struct error *error, enum fault_kind kind, int os_errno) {
    struct scene *s = arg;
    struct error again = {0};
    (void)os_errno;
    const uint64_t *counts =
        s->result.report.counts; /* the source of an older sample that cannot be read is told of, and no failure */
    bool noted = kind == FAULT_READ && counts[RULE_SOURCE_CHANGED] > 0;
    bool published = (rc == 0 && noted) || !snapshot_differs(&s->newer, s->output);
    FAULT_CHECK(published || !snapshot_differs(&s->older, s->output), "half a pack: %s", error->message);
    FAULT_CHECK(rc != 0 || published, "nothing published, but no error");
    FAULT_CHECK(rc == 0 || code_fits(rc, kind), "code %d for: %s", rc, error->message);
    pack_result_deinit(&s->result);
    if (published) /* an append would find nothing new */
        return;
    FAULT_CHECK_OK(run(s, &again), &again);
    FAULT_CHECK(!snapshot_differs(&s->newer, s->output), "the next run differs in %s",
                snapshot_differs(&s->newer, s->output));
    FAULT_CHECK(!tiny_exists(s->partial), "the next run leaves its directory");
    pack_result_deinit(&s->result);
}

static void pack(struct scene *s, const char *output, struct pack_part part, bool append) {
    struct error error = {0};
    FAULT_CHECK_OK(run_pack(s, output, part, append, &error), &error);
    pack_result_deinit(&s->result);
}

/* The pack without a pair of train, and with it: in a generation of its own, or merged of two parts. */
static void make_references(struct scene *s) {
    static const char *const moved[] = {"images/train/1.jpg", "imagesIR/train/1.png", "labels/train/1.txt"};
    char set[TINY_PATH_BYTES], from[TINY_PATH_BYTES], to[TINY_PATH_BYTES];
    struct error error = {0};
    tiny_set_create(tiny_path(set, s->directory, "set"), 32);
    tiny_path(s->dataset, set, "data.yaml");
    tiny_path(s->output, s->directory, "out.ypk");
    tiny_path(s->partial, s->directory, "out.ypk.partial");
    for (int i = 0; i < 3; i++) {
        tiny_path(from, set, moved[i]);
        tiny_path(to, s->directory, strrchr(moved[i], '/') + 1);
        FAULT_CHECK(rename(from, to) == 0, "%s", from);
    }
    pack(s, s->output, (struct pack_part){0}, false);
    snapshot_take(&s->older, s->output);
    for (int i = 0; i < 3; i++)
        FAULT_CHECK(rename(tiny_path(to, s->directory, strrchr(moved[i], '/') + 1), tiny_path(from, set, moved[i])) ==
                        0,
                    "%s", from);
    for (uint32_t i = 0; i < 2; i++) {
        tiny_path(s->parts[i], s->directory, i == 0 ? "0.ypk" : "1.ypk");
        pack(s, s->parts[i], (struct pack_part){.number = i, .count = 2}, false);
    }
    FAULT_CHECK_OK(run(s, &error), &error);
    pack_result_deinit(&s->result);
    snapshot_take(&s->newer, s->output);
}

int main(void) {
    static const struct {
        enum fault_kind kind;
        int os_errno;
        unsigned long step;
    } runs[] = {
        {FAULT_OPEN, EMFILE, 1},   {FAULT_READ, EIO, 1},   {FAULT_WRITE, EIO, 1},
        {FAULT_SYNC, EIO, 1},      {FAULT_RENAME, EIO, 1},
#ifdef INJECT_SANITIZED /* a quarter of the speed */
        {FAULT_ALLOC, ENOMEM, 17},
#else
        {FAULT_ALLOC, ENOMEM, 3},
#endif
    };
    static struct scene s;
    tiny_directory(s.directory);
    for (int append = 0; append < 2; append++) {
        s.append = append;
        make_references(&s);
        for (size_t i = 0; i < sizeof runs / sizeof *runs; i++)
            fault_loop(&(struct fault_run){.name = append ? "append" : "merge",
                                           .arg = &s,
                                           .kind = runs[i].kind,
                                           .os_errno = runs[i].os_errno,
                                           .step = runs[i].step,
                                           .prepare = prepare,
                                           .run = run,
                                           .judge = judge});
        snapshot_deinit(&s.older);
        snapshot_deinit(&s.newer);
        FAULT_CHECK(dir_remove_all(s.output, NULL) == 0, "%s", s.output);
    }
    FAULT_CHECK(dir_remove_all(s.directory, NULL) == 0, "%s", s.directory);
    return 0;
}
