/*
 * Reading, verifying and reindexing a pack while one call after another fails: the right code, nothing left behind, no
 * byte of the pack other than it was, and the next try succeeds.
 */
#include "tiny_set.h"

#include "reindex.h"
#include "verify.h"
#include "yolopack.h"

#include <lmdb.h>

struct scene {
    char directory[TINY_PATH_BYTES], pack[TINY_PATH_BYTES];
    struct snapshot whole;
    struct snapshot moved, mended; /* with shards that were compacted: before and after the index is rebuilt */
    int io;                        /* YPK_IO_MMAP or YPK_IO_PREAD */
    uint64_t faults;               /* told by verify_pack() */
};

static void nothing(void *arg) {
    (void)arg;
}

/* ---- the reader -------------------------------------------------------------------------------------------------- */

static int decode_image(ypk_decoder *decoder, uint64_t index, int modality, const ypk_image *image, ypk_error *error) {
    static uint8_t pixels[64 * 64 * 3];
    FAULT_CHECK((size_t)image->width * image->height * 3 <= sizeof pixels, "%ux%u", image->width, image->height);
    return image->width ? ypk_decoder_decode(decoder, index, modality, pixels, 0, error) : 0;
}

static int read_split(const char *pack, const char *split, int io, ypk_error *error) {
    ypk_dataset_options options = {.size = sizeof options, .split = split, .io = io};
    ypk_dataset *dataset = NULL;
    ypk_decoder *decoder = NULL;
    ypk_dataset_info info = {0};
    int rc = ypk_dataset_open(&dataset, pack, &options, error);
    if (rc == 0)
        rc = ypk_decoder_create(&decoder, dataset, error);
    if (rc == 0)
        ypk_dataset_get_info(dataset, &info);
    for (uint64_t i = 0; rc == 0 && i < info.sample_count; i++) {
        ypk_sample sample;
        rc = ypk_dataset_sample(dataset, i, &sample, error);
        if (rc == 0)
            rc = decode_image(decoder, i, YPK_RGB, &sample.rgb, error);
        if (rc == 0)
            rc = decode_image(decoder, i, YPK_IR, &sample.ir, error);
    }
    ypk_decoder_destroy(&decoder);
    ypk_dataset_close(&dataset);
    return rc;
}

static int run_reader(void *arg, struct error *error) {
    struct scene *s = arg;
    ypk_error public = {0};
    int rc = read_split(s->pack, "train", s->io, &public);
    if (rc == 0)
        rc = read_split(s->pack, NULL, s->io, &public);
    error->code = public.code;
    snprintf(error->message, sizeof error->message, "%s", public.message);
    return rc;
}

static void judge_reader(void *arg, int rc, const struct error *error, enum fault_kind kind, int os_errno) {
    struct scene *s = arg;
    struct error again = {0};
    (void)os_errno;
    FAULT_CHECK(rc == 0 || rc == (kind == FAULT_ALLOC ? ERR_MEMORY : ERR_IO), "code %d for: %s", rc, error->message);
    FAULT_CHECK_OK(run_reader(s, &again), &again);
}

/* ---- verify ------------------------------------------------------------------------------------------------------ */

static void on_fault(void *arg, const char *message) {
    struct scene *s = arg;
    FAULT_CHECK(message[0], "a fault without a word");
    s->faults++;
}

static int run_verify(void *arg, struct error *error) {
    struct scene *s = arg;
    struct verify_result result;
    struct verify_options options = {.jobs = 1, .on_fault = on_fault, .callback_arg = s};
    s->faults = 0;
    int rc = verify_pack(&result, s->pack, &options, error);
    FAULT_CHECK(rc != 0 || (result.fault_count == 0 && result.sample_count == 6),
                "%llu faults, %llu samples, but whole", (unsigned long long)result.fault_count,
                (unsigned long long)result.sample_count);
    FAULT_CHECK(rc != ERR_CORRUPT || s->faults > 0, "corrupt, but no fault was told");
    return rc;
}

/* A byte that cannot be read is a fault of the pack; nothing else that happens to the process is. */
static void judge_verify(void *arg, int rc, const struct error *error, enum fault_kind kind, int os_errno) {
    struct error again = {0};
    bool fits = rc == 0 || (kind == FAULT_ALLOC ? rc == ERR_MEMORY : rc == ERR_IO) ||
                (kind == FAULT_READ && os_errno == EIO && rc == ERR_CORRUPT);
    FAULT_CHECK(fits, "code %d for: %s", rc, error->message);
    FAULT_CHECK_OK(run_verify(arg, &again), &again);
}

/* ---- reindex ----------------------------------------------------------------------------------------------------- */

/* What `mdb_copy -c` does: the records are the same, their places are not. */
static void compact(const char *pack, const char *name) {
    char path[TINY_PATH_BYTES], copy[TINY_PATH_BYTES];
    MDB_env *env;
    tiny_path(path, pack, name);
    tiny_path(copy, pack, "copy");
    FAULT_CHECK(mdb_env_create(&env) == 0, "%s", path);
    FAULT_CHECK(mdb_env_open(env, path, MDB_NOSUBDIR | MDB_NOLOCK | MDB_RDONLY, 0) == 0, "%s", path);
    FAULT_CHECK(mdb_env_copy2(env, copy, MDB_CP_COMPACT) == 0, "%s", path);
    mdb_env_close(env);
    FAULT_CHECK(rename(copy, path) == 0, "%s", path);
}

static void move_records(struct scene *s) {
    struct error error = {0};
    for (size_t i = 0; i < s->whole.count; i++)
        if (strcmp(path_suffix(s->whole.files[i].name), "lmdb") == 0)
            compact(s->pack, s->whole.files[i].name);
    snapshot_take(&s->moved, s->pack);
    FAULT_CHECK_OK(reindex_pack(s->pack, &error), &error);
    snapshot_take(&s->mended, s->pack);
    FAULT_CHECK(snapshot_differs(&s->moved, s->pack), "compacting moved nothing");
}

static void put_back(void *arg) {
    struct scene *s = arg;
    snapshot_put(&s->moved, s->pack);
}

static int run_reindex(void *arg, struct error *error) {
    return reindex_pack(((struct scene *)arg)->pack, error);
}

/* Index and manifest are replaced one after the other: what is left in between, the next run mends. */
static void judge_reindex(void *arg, int rc, const struct error *error, enum fault_kind kind, int os_errno) {
    struct scene *s = arg;
    struct error again = {0};
    int expected = kind == FAULT_ALLOC ? ERR_MEMORY : kind == FAULT_WRITE && os_errno == ENOSPC ? ERR_SPACE : ERR_IO;
    FAULT_CHECK(rc == 0 || rc == expected, "code %d for: %s", rc, error->message);
    if (rc != 0)
        FAULT_CHECK_OK(reindex_pack(s->pack, &again), &again);
    FAULT_CHECK_OK(run_verify(s, &again), &again);
    const char *differs = snapshot_differs(&s->mended, s->pack);
    FAULT_CHECK(!differs, "%s differs", differs);
}

/* ------------------------------------------------------------------------------------------------------------------ */

static void make_pack(struct scene *s, enum preset preset) {
    struct error error = {0};
    struct pack_result result;
    struct pack_options options;
    char set[TINY_PATH_BYTES], dataset[TINY_PATH_BYTES];
    tiny_set_create(tiny_path(set, s->directory, "set"), 32);
    tiny_options(&options, tiny_path(dataset, set, "data.yaml"), tiny_path(s->pack, s->directory, "out.ypk"));
    options.jobs = 1;
    options.intake.preset = preset;
    options.intake.zstd_level = 3;
    FAULT_CHECK_OK(pack_run(&result, &options, &error), &error);
    pack_result_deinit(&result);
    snapshot_deinit(&s->whole);
    snapshot_take(&s->whole, s->pack);
}

int main(void) {
    static struct scene s;
    static const struct {
        enum fault_kind kind;
        int os_errno;
    } reads[] = {{FAULT_OPEN, EMFILE}, {FAULT_READ, EIO}, {FAULT_ALLOC, ENOMEM}},
      writes[] = {{FAULT_OPEN, EMFILE}, {FAULT_READ, EIO},   {FAULT_WRITE, ENOSPC}, {FAULT_WRITE, EIO},
                  {FAULT_SYNC, EIO},    {FAULT_RENAME, EIO}, {FAULT_ALLOC, ENOMEM}};
    tiny_directory(s.directory);
    make_pack(&s, PRESET_RAW);
    s.io = YPK_IO_MMAP;
    fault_loop(&(struct fault_run){.name = "read raw",
                                   .arg = &s,
                                   .kind = FAULT_ALLOC,
                                   .os_errno = ENOMEM,
                                   .prepare = nothing,
                                   .run = run_reader,
                                   .judge = judge_reader});
    make_pack(&s, PRESET_KEEP);
    for (size_t i = 0; i < sizeof reads / sizeof *reads; i++) {
        struct fault_run r = {.arg = &s, .kind = reads[i].kind, .os_errno = reads[i].os_errno, .prepare = nothing};
        r.run = run_reader;
        r.judge = judge_reader;
        r.name = "read from maps";
        s.io = YPK_IO_MMAP;
        fault_loop(&r);
        r.name = "read into memory";
        s.io = YPK_IO_PREAD;
        fault_loop(&r);
        r.name = "verify";
        r.run = run_verify;
        r.judge = judge_verify;
        fault_loop(&r);
        FAULT_CHECK(!snapshot_differs(&s.whole, s.pack), "%s differs", snapshot_differs(&s.whole, s.pack));
    }
    move_records(&s);
    for (size_t i = 0; i < sizeof writes / sizeof *writes; i++)
        fault_loop(&(struct fault_run){.name = "reindex",
                                       .arg = &s,
                                       .kind = writes[i].kind,
                                       .os_errno = writes[i].os_errno,
                                       .prepare = put_back,
                                       .run = run_reindex,
                                       .judge = judge_reindex});
    snapshot_deinit(&s.whole);
    snapshot_deinit(&s.moved);
    snapshot_deinit(&s.mended);
    FAULT_CHECK(dir_remove_all(s.directory, NULL) == 0, "%s", s.directory);
    return 0;
}
