#include "file.h"
#include "memory.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>

/* A file below a made-up root. */
static void put(const char *root, const char *path, const char *text) {
    char full[512], *slash;
    snprintf(full, sizeof full, "%s/%s", root, path);
    slash = strrchr(full, '/');
    *slash = '\0';
    cr_assert_eq(dir_create_all(full, NULL), 0);
    *slash = '/';
    FILE *f = fopen(full, "w");
    cr_assert(f);
    fputs(text, f);
    fclose(f);
}

static char root[128];

static void setup(void) {
    const char *base = getenv("TMPDIR");
    snprintf(root, sizeof root, "%s/ypk-memory-XXXXXX", base ? base : "/tmp");
    cr_assert(mkdtemp(root));
    put(root, "proc/meminfo", "MemTotal:       8000000 kB\nMemFree: 1 kB\nMemAvailable:    4000000 kB\n");
}

static void teardown(void) {
    dir_remove_all(root, NULL);
}

TestSuite(memory, .init = setup, .fini = teardown);

static struct memory_room room(void) {
    struct memory_room out;
    memory_room(&out, root);
    return out;
}

Test(memory, of_the_machine) {
    cr_assert_eq(room().free_bytes, 4000000ull << 10);
    cr_assert_eq(room().limit_bytes, 8000000ull << 10);
    cr_assert(!room().is_cgroup);
}

Test(memory, nothing_known) {
    struct memory_room out;
    memory_room(&out, "/nowhere");
    cr_assert_eq(out.free_bytes, UINT64_MAX);
    cr_assert(!out.is_cgroup);
}

Test(memory, version_2_and_the_groups_above) {
    put(root, "proc/self/cgroup", "0::/job/step\n");
    put(root, "sys/fs/cgroup/job/step/memory.max", "max\n");
    put(root, "sys/fs/cgroup/job/step/memory.current", "5\n");
    put(root, "sys/fs/cgroup/job/memory.max", "1000000\n");
    put(root, "sys/fs/cgroup/job/memory.current", "700000\n");
    put(root, "sys/fs/cgroup/job/memory.stat", "anon 3\ninactive_file 200000\nactive_file 7\n");
    cr_assert(room().is_cgroup);
    cr_assert_eq(room().limit_bytes, 1000000);
    cr_assert_eq(room().free_bytes, 1000000 - 700000 + 200000);
}

Test(memory, version_1) {
    put(root, "proc/self/cgroup", "5:memory:/docker/abc\n4:cpu:/x\n");
    put(root, "sys/fs/cgroup/memory/memory.limit_in_bytes", "2000\n");
    put(root, "sys/fs/cgroup/memory/memory.usage_in_bytes", "2500\n");
    cr_assert(room().is_cgroup);
    cr_assert_eq(room().free_bytes, 0, "over its limit leaves nothing");
    put(root, "sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
    cr_assert(!room().is_cgroup, "version 1 has no limit when it is that large");
}

Test(memory, cache_counts_as_free) {
    put(root, "proc/self/cgroup", "5:hugetlb,memory:/\n");
    put(root, "sys/fs/cgroup/memory/memory.limit_in_bytes", "3000\n");
    put(root, "sys/fs/cgroup/memory/memory.usage_in_bytes", "2500\n");
    put(root, "sys/fs/cgroup/memory/memory.stat", "inactive_file 1\ntotal_inactive_file 2000\n");
    cr_assert_eq(room().free_bytes, 2500);
    put(root, "sys/fs/cgroup/memory/memory.stat", "total_inactive_file 2600\n");
    cr_assert_eq(room().free_bytes, 3000, "more cache than use is a race, not a debt");
}

Test(memory, resident) {
    struct memory_resident r;
    memory_resident(&r, root);
    cr_assert_eq(r.anonymous_bytes + r.file_bytes + r.shared_bytes, 0);
    put(root, "proc/self/status",
        "Name:\tx\nVmRSS:\t 60 kB\nRssAnon:\t      10 kB\nRssFile:\t 20 kB\nRssShmem:\t30 kB\n");
    memory_resident(&r, root);
    cr_assert_eq(r.anonymous_bytes, 10 << 10);
    cr_assert_eq(r.file_bytes, 20 << 10);
    cr_assert_eq(r.shared_bytes, 30 << 10);
}
