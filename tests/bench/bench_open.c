/*
 * Opening a split of a million pairs: milliseconds, resident memory, bytes of index a sample.
 * The index is real; its shards are sparse files, of which opening reads two pages each.
 */
#include "unit/tiny_pack.h"

#include "yolopack.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <time.h>

enum { LABELS = 3, OPENS = 21, PAGE_BYTES = 4096, RECORD_PAGES = 64, PER_SHARD = 4096 };

static void add_sample(struct index_builder *b, uint64_t i) {
    static const struct index_label labels[LABELS] = {{0, 0, 0.5f, 0.5f, 0.1f, 0.1f}};
    char rgb[64], ir[64], label[64];
    snprintf(rgb, sizeof rgb, "images/train/%08llu.jpg", (unsigned long long)i);
    snprintf(ir, sizeof ir, "imagesIR/train/%08llu.jpg", (unsigned long long)i);
    snprintf(label, sizeof label, "labels/train/%08llu.txt", (unsigned long long)i);
    struct index_sample s = {.record_offset = 2 * PAGE_BYTES + i % PER_SHARD * RECORD_PAGES * PAGE_BYTES + 16,
                             .shard = (uint16_t)(i / PER_SHARD),
                             .rgb_format = CODEC_JPEG,
                             .ir_format = CODEC_JPEG,
                             .rgb_hash = i,
                             .ir_hash = ~i,
                             .rgb_bytes = 180000,
                             .ir_bytes = 60000,
                             .rgb_width = 1280,
                             .rgb_height = 1024,
                             .ir_width = 1280,
                             .ir_height = 1024,
                             .labels = labels,
                             .label_count = LABELS,
                             .rgb_name = rgb,
                             .ir_name = ir,
                             .label_name = label};
    CHECK(index_builder_add(b, &s, NULL) == 0);
}

/* A shard of zeros that takes no room on the disk. */
static void add_shard(struct index_builder *b, const char *pack, uint64_t shard, uint64_t first, uint64_t count) {
    static const uint8_t head[2 * PAGE_BYTES];
    struct index_shard row = {.file_bytes = (2 + (uint64_t)PER_SHARD * RECORD_PAGES) * PAGE_BYTES,
                              .head_hash = XXH3_64bits(head, sizeof head),
                              .first_sample = first,
                              .sample_count = count,
                              .first_id = first};
    char name[INDEX_SHARD_NAME_BYTES], path[TINY_PATH_BYTES];
    index_shard_name(name, "train", shard);
    tiny_join(path, pack, name);
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL, 0644);
    CHECK(fd >= 0 && ftruncate(fd, (off_t)row.file_bytes) == 0);
    close(fd);
    CHECK(index_builder_add_shard(b, &row, NULL) == 0);
}

static void generate(const char *pack, uint64_t samples) {
    struct index_builder b = {.meta = {.task = TASK_DETECT,
                                       .modalities = MODALITY_RGB | MODALITY_IR,
                                       .point_dims = 2,
                                       .page_bytes = PAGE_BYTES,
                                       .shard_prefix = "train"}};
    struct bytes encoded = {0};
    for (uint64_t i = 0; i < samples; i++) {
        if (i % PER_SHARD == 0)
            add_shard(&b, pack, i / PER_SHARD, i, samples - i < PER_SHARD ? samples - i : PER_SHARD);
        add_sample(&b, i);
    }
    tiny_index(&encoded, &b);
    tiny_write(pack, "train.index", &encoded);
    bytes_deinit(&encoded);
    index_builder_deinit(&b);
}

/* In a child, so that the builder's memory is not in the way of measuring. */
static void generate_apart(const char *pack, uint64_t samples) {
    int status;
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        generate(pack, samples);
        _exit(0);
    }
    CHECK(waitpid(child, &status, 0) == child && status == 0);
}

static double now_ms(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

static double resident_mb(void) {
    unsigned long long total, resident;
    FILE *f = fopen("/proc/self/statm", "r");
    CHECK(f && fscanf(f, "%llu %llu", &total, &resident) == 2);
    fclose(f);
    return (double)resident * (double)sysconf(_SC_PAGESIZE) / 1e6;
}

static int compare_double(const void *a, const void *b) {
    double left = *(const double *)a, right = *(const double *)b;
    return left < right ? -1 : left > right;
}

static double index_bytes_a_sample(const char *pack) {
    char path[TINY_PATH_BYTES];
    struct span map;
    struct index_view v;
    tiny_join(path, pack, "train.index");
    CHECK(file_map(&map, path, NULL) == 0 && index_parse(&v, map, NULL) == 0);
    size_t other = v.section[SECTION_LABELS].size + v.section[SECTION_POINTS].size + v.section[SECTION_NAMES].size;
    double bytes = (double)(map.size - other) / (double)v.sample_count;
    file_unmap(&map);
    return bytes;
}

static void measure(const char *pack, uint64_t samples) {
    double ms[OPENS], before = resident_mb(), after = 0;
    ypk_dataset_info info;
    for (int i = 0; i < OPENS; i++) {
        ypk_dataset *ds;
        double start = now_ms();
        CHECK(ypk_dataset_open(&ds, pack, NULL, NULL) == YPK_OK);
        ms[i] = now_ms() - start;
        if (i == 0)
            after = resident_mb();
        ypk_dataset_get_info(ds, &info);
        ypk_dataset_close(&ds);
    }
    double first = ms[0];
    qsort(ms, OPENS, sizeof *ms, compare_double);
    CHECK(info.sample_count == samples);
    printf("open: %llu samples in %llu shards, %d boxes each\n", (unsigned long long)samples,
           (unsigned long long)info.shard_count, LABELS);
    printf("open: %.2f ms (median of %d; the first %.2f), resident memory +%.2f MB\n", ms[OPENS / 2], OPENS, first,
           after - before);
    printf("open: index has %.1f bytes a sample without labels and names\n", index_bytes_a_sample(pack));
}

int main(int argc, char **argv) {
    char directory[TINY_PATH_BYTES];
    uint64_t samples = argc > 1 ? strtoull(argv[1], NULL, 10) : 1000000;
    tiny_directory(directory);
    generate_apart(directory, samples);
    static const char *const files[] = {"train.index", NULL};
    tiny_manifest(directory, files, 0);
    measure(directory, samples);
    CHECK(dir_remove_all(directory, NULL) == 0);
    return 0;
}
