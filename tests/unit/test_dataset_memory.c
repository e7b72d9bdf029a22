/* What a worker process pays for an index of a million samples: the pages are the kernel's, shared by all. */
#include "unit/tiny_pack.h"

#include "yolopack.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <sys/wait.h>

enum { SAMPLES = 1000000, PAGE_BYTES = 4096, WORKERS = 8, EPOCHS = 2, GROWTH_LIMIT_KB = 5 * 1024 };

static void add_sample(struct index_builder *b, uint64_t i) {
    static const struct index_label labels[2] = {{0, 0, 0.5f, 0.5f, 0.1f, 0.1f}, {1, 0, 0.25f, 0.5f, 0.5f, 0.5f}};
    char rgb[64], label[64];
    snprintf(rgb, sizeof rgb, "images/train/%08llu.jpg", (unsigned long long)i);
    snprintf(label, sizeof label, "labels/train/%08llu.txt", (unsigned long long)i);
    struct index_sample s = {.record_offset = (2 + i) * PAGE_BYTES + RECORD_PAGE_OFFSET,
                             .rgb_format = CODEC_JPEG,
                             .rgb_hash = i,
                             .rgb_bytes = 1000,
                             .rgb_width = 64,
                             .rgb_height = 48,
                             .labels = labels,
                             .label_count = 2,
                             .rgb_name = rgb,
                             .ir_name = "",
                             .label_name = label};
    CHECK(index_builder_add(b, &s, NULL) == 0);
}

/* The index is real; its one shard is a sparse file, of which opening reads two pages. */
static void make_pack(const char *pack) {
    static const uint8_t head[2 * PAGE_BYTES];
    struct index_builder b = {
        .meta = {.task = TASK_DETECT, .modalities = MODALITY_RGB, .point_dims = 2, .page_bytes = PAGE_BYTES}};
    struct index_shard shard = {.file_bytes = (2 + (uint64_t)SAMPLES) * PAGE_BYTES,
                                .head_hash = XXH3_64bits(head, sizeof head),
                                .sample_count = SAMPLES};
    struct bytes encoded = {0};
    char path[TINY_PATH_BYTES];
    snprintf(b.meta.shard_prefix, sizeof b.meta.shard_prefix, "train");
    for (uint64_t i = 0; i < SAMPLES; i++)
        add_sample(&b, i);
    CHECK(index_builder_add_shard(&b, &shard, NULL) == 0);
    tiny_index(&encoded, &b);
    tiny_write(pack, "train.index", &encoded);
    tiny_join(path, pack, "train-00000.lmdb");
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL, 0644);
    CHECK(fd >= 0 && ftruncate(fd, (off_t)shard.file_bytes) == 0);
    close(fd);
    bytes_deinit(&encoded);
    index_builder_deinit(&b);
}

/* In a child, so that the builder's memory is not in the way of measuring. */
static void make_pack_apart(const char *pack) {
    int status;
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        make_pack(pack);
        _exit(0);
    }
    CHECK(waitpid(child, &status, 0) == child && status == 0);
}

static long private_dirty_kb(void) {
    char text[4096];
    int fd = open("/proc/self/smaps_rollup", O_RDONLY);
    ssize_t size = fd >= 0 ? read(fd, text, sizeof text - 1) : 0;
    if (fd >= 0)
        close(fd);
    text[size > 0 ? size : 0] = '\0';
    const char *row = strstr(text, "Private_Dirty:");
    return row ? strtol(row + strlen("Private_Dirty:"), NULL, 10) : -1;
}

/* Every sample of an epoch. */
static bool touch_all(const ypk_dataset *dataset) {
    double sum = 0;
    ypk_sample s;
    for (uint64_t i = 0; i < SAMPLES; i++) {
        if (ypk_dataset_sample(dataset, i, &s, NULL) != YPK_OK)
            return false;
        sum += (double)s.labels[1].x + s.name[13];
    }
    return sum >= SAMPLES;
}

/* The exit code of a worker. */
static int work(const ypk_dataset *dataset) {
    bool touched = true;
    long before = private_dirty_kb();
    for (int epoch = 0; epoch < EPOCHS; epoch++)
        touched = touched && touch_all(dataset);
    long growth = private_dirty_kb() - before;
    if (growth > GROWTH_LIMIT_KB)
        fprintf(stderr, "private memory grew by %ld kB\n", growth);
    return growth > GROWTH_LIMIT_KB || !touched;
}

Test(dataset_memory, case_07_a_million_samples_in_eight_workers) {
    char directory[TINY_PATH_BYTES];
    pid_t workers[WORKERS];
    ypk_dataset *dataset;
    ypk_error error;
    if (private_dirty_kb() < 0)
        cr_skip("there is no /proc/self/smaps_rollup");
    tiny_directory(directory);
    make_pack_apart(directory);
    static const char *const files[] = {"train.index", NULL};
    tiny_manifest(directory, files, 0);
    cr_assert_eq(ypk_dataset_open(&dataset, directory, NULL, &error), YPK_OK, "%s", error.message);
    /* All are used here, too: a page of a tmpfs is always dirty, and seems to be private to the only one who
     * uses it. */
    cr_assert(touch_all(dataset));
    for (int i = 0; i < WORKERS; i++) {
        workers[i] = fork();
        cr_assert_geq(workers[i], 0);
        if (workers[i] == 0)
            _exit(work(dataset));
    }
    for (int i = 0; i < WORKERS; i++) {
        int status;
        cr_assert_eq(waitpid(workers[i], &status, 0), workers[i]);
        cr_expect_eq(status, 0, "worker %d: status %d", i, status);
    }
    ypk_dataset_close(&dataset);
    CHECK(dir_remove_all(directory, NULL) == 0);
}
