/*
 * Packing while one call after another fails.
 *
 * Whatever fails: the output is the older pack, whole, or the new one, whole. What is left beside it lets the next run
 * succeed, and with --resume that run gives the bytes of an unbroken one.
 */
#include "tiny_set.h"

/* TurboJPEG forgets a few bytes of its own when memory runs out inside tjTransform(). */
const char *__lsan_default_suppressions(void) __attribute__((visibility("default")));
const char *__lsan_default_suppressions(void) {
    return "leak:libturbojpeg.so";
}

/* Not a word about it: a sanitizer that says something is a failed test. */
const char *__lsan_default_options(void) __attribute__((visibility("default")));
const char *__lsan_default_options(void) {
    return "print_suppressions=0";
}

struct scene {
    char directory[TINY_PATH_BYTES];
    char dataset[TINY_PATH_BYTES], output[TINY_PATH_BYTES], partial[TINY_PATH_BYTES];
    struct snapshot older, newer;
    enum preset preset;
    unsigned jobs;
    bool with_older; /* a pack of that name is there before the run */
    bool resume;     /* the failing run resumes, too */
    unsigned turn;
    struct pack_result result;
};

static int pack(struct scene *s, bool resume, struct error *error) {
    struct pack_options options;
    tiny_options(&options, s->dataset, s->output);
    options.jobs = s->jobs;
    options.resume = resume;
    options.intake.preset = s->preset;
    options.intake.zstd_level = 3;
    return pack_run(&s->result, &options, error);
}

static void prepare(void *arg) {
    struct scene *s = arg;
    FAULT_CHECK(dir_remove_all(s->partial, NULL) == 0, "%s", s->partial);
    snapshot_put(s->with_older ? &s->older : &(struct snapshot){0}, s->output);
}

static int run(void *arg, struct error *error) {
    struct scene *s = arg;
    return pack(s, s->resume, error);
}

static bool code_fits(int code, enum fault_kind kind, int os_errno, bool rejected) {
    switch (kind) {
    case FAULT_ALLOC: return code == ERR_MEMORY;
    case FAULT_OPEN: return code == ERR_IO;
    case FAULT_READ: return code == ERR_IO || (code == ERR_INPUT && rejected);
    case FAULT_WRITE: return code == (os_errno == ENOSPC ? ERR_SPACE : ERR_IO);
    default: return code == ERR_IO;
    }
}

static void judge(void *arg, int rc, const struct error *error, enum fault_kind kind, int os_errno) {
    struct scene *s = arg;
    struct error again = {0};
    bool published = !snapshot_differs(&s->newer, s->output);
    bool untouched = s->with_older ? !snapshot_differs(&s->older, s->output) : !tiny_exists(s->output);
    FAULT_CHECK(published || untouched, "half a pack (%s): %s", snapshot_differs(&s->newer, s->output), error->message);
    FAULT_CHECK(rc != 0 || (published && s->result.published), "nothing published, but no error");
    FAULT_CHECK(rc == 0 || code_fits(rc, kind, os_errno, s->result.too_many_rejects), "code %d for: %s", rc,
                error->message);
    FAULT_CHECK(!s->result.resumable || tiny_exists(s->partial), "said to be resumable, but nothing is left: %s",
                error->message);
    FAULT_CHECK(rc != ERR_SPACE || s->resume || !tiny_exists(s->partial), "the disk is full, and the rest stays: %s",
                error->message);
    pack_result_deinit(&s->result);
    if (rc == 0 && !tiny_exists(s->partial)) /* the older pack may stay there when it could not be removed */
        return;
    FAULT_CHECK_OK(pack(s, s->turn++ % 4 != 3, &again), &again);
    FAULT_CHECK(!snapshot_differs(&s->newer, s->output), "the next run differs in %s",
                snapshot_differs(&s->newer, s->output));
    FAULT_CHECK(!tiny_exists(s->partial), "the next run leaves its directory");
    pack_result_deinit(&s->result);
}

/* Two packs of one name: before and after a label changed. */
static void make_references(struct scene *s) {
    struct error error = {0};
    char path[TINY_PATH_BYTES];
    tiny_set_create(tiny_path(path, s->directory, "set"), 32);
    tiny_path(s->dataset, path, "data.yaml");
    tiny_path(s->output, s->directory, "out.ypk");
    tiny_path(s->partial, s->directory, "out.ypk.partial");
    FAULT_CHECK(dir_remove_all(s->partial, NULL) == 0 && dir_remove_all(s->output, NULL) == 0, "%s", s->output);
    snapshot_deinit(&s->older);
    snapshot_deinit(&s->newer);
    s->jobs = 1;
    tiny_text(path, "labels/train/1.txt", "0 0.25 0.25 0.25 0.25\n");
    FAULT_CHECK_OK(pack(s, false, &error), &error);
    snapshot_take(&s->older, s->output);
    pack_result_deinit(&s->result);
    tiny_text(path, "labels/train/1.txt", "1 0.5 0.5 0.5 0.5\n");
    FAULT_CHECK_OK(pack(s, false, &error), &error);
    snapshot_take(&s->newer, s->output);
    FAULT_CHECK(s->result.splits[0].shard_count == 2 && s->result.split_count == 2, "%llu shards",
                (unsigned long long)s->result.splits[0].shard_count);
    FAULT_CHECK(s->result.total.packed == 6 && snapshot_differs(&s->older, s->output), "the packs are alike");
    pack_result_deinit(&s->result);
}

int main(void) {
    static const struct {
        const char *name;
        enum preset preset;
        unsigned jobs;
        bool with_older, resume;
        enum fault_kind kind;
        int os_errno;
        unsigned long step;
    } runs[] = {
        {"pack over an older one", PRESET_KEEP, 1, true, false, FAULT_OPEN, EMFILE, 1},
        {"pack over an older one", PRESET_KEEP, 1, true, false, FAULT_READ, EIO, 1},
        {"pack over an older one", PRESET_KEEP, 1, true, false, FAULT_WRITE, EIO, 1},
        {"pack over an older one", PRESET_KEEP, 1, true, false, FAULT_WRITE, ENOSPC, 1},
        {"pack over an older one", PRESET_KEEP, 1, true, false, FAULT_SYNC, EIO, 1},
        {"pack over an older one", PRESET_KEEP, 1, true, false, FAULT_RENAME, EIO, 1},
        {"pack anew, resuming", PRESET_KEEP, 1, false, true, FAULT_OPEN, EMFILE, 1},
        {"pack anew, resuming", PRESET_KEEP, 1, false, true, FAULT_WRITE, ENOSPC, 1},
        {"pack anew, resuming", PRESET_KEEP, 1, false, true, FAULT_SYNC, EIO, 1},
        {"pack anew, resuming", PRESET_KEEP, 1, false, true, FAULT_RENAME, EIO, 1},
        {"pack with two workers", PRESET_KEEP, 2, true, false, FAULT_OPEN, EMFILE, 1},
        {"pack with two workers", PRESET_KEEP, 2, false, false, FAULT_WRITE, EIO, 1},
#ifdef INJECT_SANITIZED /* which cannot start a thread without memory */
        {"pack over an older one", PRESET_KEEP, 1, true, false, FAULT_ALLOC, ENOMEM, 3},
#else
        {"pack with two workers", PRESET_KEEP, 2, true, false, FAULT_ALLOC, ENOMEM, 7},
        {"pack over an older one", PRESET_KEEP, 1, true, false, FAULT_ALLOC, ENOMEM, 1},
#endif
        {"pack raw", PRESET_RAW, 1, true, false, FAULT_READ, EIO, 1},
        {"pack raw", PRESET_RAW, 1, true, false, FAULT_ALLOC, ENOMEM, 3},
    };
    static struct scene s;
    tiny_directory(s.directory);
    for (size_t i = 0; i < sizeof runs / sizeof *runs; i++) {
        if (i == 0 || s.preset != runs[i].preset) {
            s.preset = runs[i].preset;
            make_references(&s);
        }
        s.jobs = runs[i].jobs;
        s.with_older = runs[i].with_older;
        s.resume = runs[i].resume;
        fault_loop(&(struct fault_run){.name = runs[i].name,
                                       .arg = &s,
                                       .kind = runs[i].kind,
                                       .os_errno = runs[i].os_errno,
                                       .step = runs[i].step,
                                       .prepare = prepare,
                                       .run = run,
                                       .judge = judge});
    }
    snapshot_deinit(&s.older);
    snapshot_deinit(&s.newer);
    FAULT_CHECK(dir_remove_all(s.directory, NULL) == 0, "%s", s.directory);
    return 0;
}
