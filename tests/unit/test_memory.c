#include "memory.h"

#include "home.h"

/* Files below a made-up root. */
static void setup(void) {
    home_create();
    home_add("proc/meminfo", "MemTotal:       8000000 kB\nMemFree: 1 kB\nMemAvailable:    4000000 kB\n");
}

TestSuite(memory, .init = setup, .fini = home_remove);

static struct memory_room room(void) {
    struct memory_room out;
    memory_room(&out, home);
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
    home_add("proc/self/cgroup", "0::/job/step\n");
    home_add("sys/fs/cgroup/job/step/memory.max", "max\n");
    home_add("sys/fs/cgroup/job/step/memory.current", "5\n");
    home_add("sys/fs/cgroup/job/memory.max", "1000000\n");
    home_add("sys/fs/cgroup/job/memory.current", "700000\n");
    home_add("sys/fs/cgroup/job/memory.stat", "anon 3\ninactive_file 200000\nactive_file 7\n");
    cr_assert(room().is_cgroup);
    cr_assert_eq(room().limit_bytes, 1000000);
    cr_assert_eq(room().free_bytes, 1000000 - 700000 + 200000);
}

Test(memory, version_1) {
    home_add("proc/self/cgroup", "5:memory:/docker/abc\n4:cpu:/x\n");
    home_add("sys/fs/cgroup/memory/memory.limit_in_bytes", "2000\n");
    home_add("sys/fs/cgroup/memory/memory.usage_in_bytes", "2500\n");
    cr_assert(room().is_cgroup);
    cr_assert_eq(room().free_bytes, 0, "over its limit leaves nothing");
    home_add("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
    cr_assert(!room().is_cgroup, "version 1 has no limit when it is that large");
}

Test(memory, cache_counts_as_free) {
    home_add("proc/self/cgroup", "5:hugetlb,memory:/\n");
    home_add("sys/fs/cgroup/memory/memory.limit_in_bytes", "3000\n");
    home_add("sys/fs/cgroup/memory/memory.usage_in_bytes", "2500\n");
    home_add("sys/fs/cgroup/memory/memory.stat", "inactive_file 1\ntotal_inactive_file 2000\n");
    cr_assert_eq(room().free_bytes, 2500);
    home_add("sys/fs/cgroup/memory/memory.stat", "total_inactive_file 2600\n");
    cr_assert_eq(room().free_bytes, 3000, "more cache than use is a race, not a debt");
}

Test(memory, resident) {
    struct memory_resident r;
    memory_resident(&r, home);
    cr_assert_eq(r.anonymous_bytes + r.file_bytes + r.shared_bytes, 0);
    home_add("proc/self/status",
             "Name:\tx\nVmRSS:\t 60 kB\nRssAnon:\t      10 kB\nRssFile:\t 20 kB\nRssShmem:\t30 kB\n");
    memory_resident(&r, home);
    cr_assert_eq(r.anonymous_bytes, 10 << 10);
    cr_assert_eq(r.file_bytes, 20 << 10);
    cr_assert_eq(r.shared_bytes, 30 << 10);
}
