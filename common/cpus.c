#include "cpus.h"

#include "cgroup.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static unsigned affinity_cores(void) {
    /* A machine may have more CPUs than cpu_set_t has bits: grow until the kernel accepts the size. */
    for (int bits = 1024; bits <= 1 << 20; bits *= 2) {
        cpu_set_t *set = CPU_ALLOC(bits);
        if (!set)
            break;
        size_t size = CPU_ALLOC_SIZE(bits);
        CPU_ZERO_S(size, set);
        int rc = sched_getaffinity(0, size, set);
        int count = rc == 0 ? CPU_COUNT_S(size, set) : 0;
        CPU_FREE(set);
        if (rc == 0 && count > 0)
            return (unsigned)count;
    }
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    return online > 0 ? (unsigned)online : 1;
}

/* Quota of one cgroup directory, in cores; 0 when it has none. */
static double quota_v2(const char *dir) {
    char line[128], quota[64];
    double period = 0;
    if (!cgroup_read_line(line, sizeof line, dir, "cpu.max") || sscanf(line, "%63s %lf", quota, &period) != 2)
        return 0;
    double value = strcmp(quota, "max") == 0 ? 0 : atof(quota);
    return value > 0 && period > 0 ? value / period : 0;
}

static double quota_v1(const char *dir) {
    char line[128];
    double quota = cgroup_read_line(line, sizeof line, dir, "cpu.cfs_quota_us") ? atof(line) : 0;
    double period = cgroup_read_line(line, sizeof line, dir, "cpu.cfs_period_us") ? atof(line) : 0;
    return quota > 0 && period > 0 ? quota / period : 0;
}

static void take_smaller(void *arg, const char *dir, bool v2) {
    double *least = arg, quota = v2 ? quota_v2(dir) : quota_v1(dir);
    if (quota > 0 && (*least == 0 || quota < *least))
        *least = quota;
}

unsigned cpus_available(void) {
    unsigned cores = affinity_cores();
    double quota = 0;
    cgroup_visit("", "cpu", take_smaller, &quota);
    if (quota > 0 && quota < cores) {
        unsigned whole = (unsigned)quota;
        return whole + (quota > whole ? 1 : 0);
    }
    return cores;
}
