/*
 * A disk that is full, and sources that vanish or change while they are packed.
 *
 * The disk is a tmpfs of 3 MB for a pack of some 6: it needs root and is skipped, saying so, where mounting is not
 * allowed.
 */
#include "tiny_set.h"

#include <sched.h>
#include <sys/mount.h>

#define DISK_BYTES "3m"

enum { SIDE_PX = 1400 }; /* noise: over 500 kB a picture */

struct scene {
    char directory[TINY_PATH_BYTES], set[TINY_PATH_BYTES], dataset[TINY_PATH_BYTES];
    struct pack_result result;
};

static int pack(struct scene *s, const char *output, enum preset preset, bool resume, struct error *error) {
    struct pack_options options;
    tiny_options(&options, s->dataset, output);
    options.jobs = 1;
    options.resume = resume;
    options.shard_bytes = UINT64_C(1) << 30;
    options.max_rejects = 0.5;
    options.strict = false;
    options.intake.preset = preset;
    return pack_run(&s->result, &options, error);
}

/* ---- a full disk ------------------------------------------------------------------------------------------------- */

/* Noise that no codec makes small. */
static void big_image(const char *set, const char *name, uint32_t seed) {
    struct bytes file = {0};
    struct pixels pixels;
    struct jpeg *jpeg;
    struct error error = {0};
    FAULT_CHECK_OK(pixels_init(&pixels, SIDE_PX, SIDE_PX / 2, 3, 8, &error), &error);
    for (size_t i = 0; i < pixels.stride * pixels.height; i++)
        pixels.data[i] = (uint8_t)((seed = seed * 1664525u + 1013904223u) >> 24);
    FAULT_CHECK_OK(jpeg_handle_create(&jpeg, &error), &error);
    FAULT_CHECK_OK(jpeg_encode(jpeg, &file, &pixels, 90, true, &error), &error);
    tiny_write(set, name, file.data, file.size);
    jpeg_handle_destroy(&jpeg);
    pixels_deinit(&pixels);
    bytes_deinit(&file);
}

static void check_full(struct scene *s, const char *disk, enum preset preset, bool resume) {
    char output[TINY_PATH_BYTES], partial[TINY_PATH_BYTES];
    struct error error = {0};
    snprintf(fault_where, sizeof fault_where, "full disk, preset %d%s", preset, resume ? ", resuming" : "");
    tiny_path(output, disk, "out.ypk");
    tiny_path(partial, disk, "out.ypk.partial");
    int rc = pack(s, output, preset, resume, &error);
    FAULT_CHECK(rc == ERR_SPACE, "code %d: %s", rc, error.message);
    FAULT_CHECK(strstr(error.message, preset == PRESET_KEEP ? "the pack needs" : "train-00000.lmdb") &&
                    strstr(error.message, "free"),
                "%s", error.message);
    FAULT_CHECK(!tiny_exists(output) && !s->result.published, "published");
    FAULT_CHECK(tiny_exists(partial) == resume, "with%s --resume the rest %s", resume ? "" : "out",
                resume ? "is gone" : "stays");
    printf("%s: %s\n", fault_where, error.message);
    pack_result_deinit(&s->result);
    if (!resume)
        return;
    /* Room is made, and the run goes on. */
    FAULT_CHECK(mount(NULL, disk, NULL, MS_REMOUNT, "size=64m") == 0, "%s", strerror(errno));
    FAULT_CHECK_OK(pack(s, output, preset, true, &error), &error);
    FAULT_CHECK(s->result.published && s->result.resumed && s->result.total.packed == 6, "not all is packed");
    pack_result_deinit(&s->result);
    FAULT_CHECK(dir_remove_all(output, NULL) == 0, "%s", output);
    FAULT_CHECK(mount(NULL, disk, NULL, MS_REMOUNT, "size=" DISK_BYTES) == 0, "%s", strerror(errno));
}

/* False if there can be no disk. */
static bool test_full_disk(struct scene *s) {
    char disk[TINY_PATH_BYTES], name[64];
    tiny_path(disk, s->directory, "disk");
    FAULT_CHECK(mkdir(disk, 0777) == 0, "%s", disk);
    /* In a mount namespace of its own, so that nothing stays mounted whatever happens. */
    if (unshare(CLONE_NEWNS) != 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
        mount("tmpfs", disk, "tmpfs", 0, "size=" DISK_BYTES) != 0) {
        printf("full disk: skipped, a tmpfs cannot be mounted here: %s\n", strerror(errno));
        return false;
    }
    for (int i = 0; i < 6; i++) {
        snprintf(name, sizeof name, "images/%s/%d.jpg", i < 4 ? "train" : "val", i);
        big_image(s->set, name, (uint32_t)i);
    }
    check_full(s, disk, PRESET_KEEP, false);
    check_full(s, disk, PRESET_KEEP, true);
    check_full(s, disk, PRESET_RAW, false);
    check_full(s, disk, PRESET_RAW, true);
    FAULT_CHECK(umount(disk) == 0, "%s", strerror(errno));
    FAULT_CHECK(rmdir(disk) == 0, "%s", disk);
    return true;
}

/* ---- sources that change ----------------------------------------------------------------------------------------- */

static struct {
    atomic_int opens; /* left until it happens */
    bool overwrite;   /* else unlinked */
    char path[TINY_PATH_BYTES];
} change;

static void change_now(void) {
    if (atomic_fetch_sub(&change.opens, 1) != 1)
        return;
    if (!change.overwrite) {
        FAULT_CHECK(unlink(change.path) == 0, "%s", change.path);
        return;
    }
    FILE *file = fopen(change.path, "wb");
    FAULT_CHECK(file && fputs("not a picture any more", file) >= 0 && fclose(file) == 0, "%s", change.path);
}

/* The row of a sample that was never a pair names its other picture. */
static bool report_names(const struct report *report, const char *path) {
    char sample[TINY_PATH_BYTES];
    const char *rows = (const char *)report->rows.data, *directory = strchr(path, '/') + 1;
    snprintf(sample, sizeof sample, "/%.*s.", (int)(strchr(directory, '.') - directory), directory);
    return rows && memmem(rows, report->rows.size, sample, strlen(sample));
}

/* `name` vanishes or changes at the n-th open(): until it was read that costs its sample and no other. */
static bool change_at(struct scene *s, const char *name, int n) {
    char output[TINY_PATH_BYTES];
    struct error error = {0};
    snprintf(fault_where, sizeof fault_where, "%s %s at open %d", name, change.overwrite ? "overwritten" : "unlinked",
             n);
    tiny_set_create(s->set, 32);
    tiny_path(output, s->directory, "changed.ypk");
    tiny_path(change.path, s->set, name);
    atomic_store(&change.opens, n);
    injector.on_open = change_now;
    int rc = pack(s, output, PRESET_KEEP, false, &error);
    injector.on_open = NULL;
    bool happened = atomic_load(&change.opens) <= 0;
    FAULT_CHECK(rc == 0, "code %d: %s", rc, error.message);
    uint64_t rejected = s->result.total.rejected + (s->result.total.samples < 6);
    FAULT_CHECK(rejected <= 1 && s->result.total.packed + rejected == 6, "%llu packed",
                (unsigned long long)s->result.total.packed);
    FAULT_CHECK(rejected == 0 || report_names(&s->result.report, name), "lost, but not named: %.*s",
                (int)s->result.report.rows.size, (const char *)s->result.report.rows.data);
    pack_result_deinit(&s->result);
    FAULT_CHECK(dir_remove_all(output, NULL) == 0, "%s", output);
    return happened;
}

static void test_changes(struct scene *s) {
    static const char *const names[] = {"images/train/1.jpg", "imagesIR/train/0.jpg", "images/val/5.jpg",
                                        "labels/train/2.txt"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        for (int overwrite = 0; overwrite < 2; overwrite++) {
            int n = 1;
            change.overwrite = overwrite;
            while (change_at(s, names[i], n))
                n++;
            printf("%s %s: at each of %d opens\n", names[i], overwrite ? "overwritten" : "unlinked", n - 1);
        }
}

int main(void) {
    static struct scene s;
    tiny_directory(s.directory);
    tiny_path(s.set, s.directory, "set");
    tiny_path(s.dataset, s.set, "data.yaml");
    tiny_set_create(s.set, 32);
    test_changes(&s);
    tiny_set_create(s.set, 32);
    bool tested = test_full_disk(&s);
    FAULT_CHECK(dir_remove_all(s.directory, NULL) == 0, "%s", s.directory);
    return tested ? 0 : 77;
}
