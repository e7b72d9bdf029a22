#include "cpus.h"

#include <sched.h>
#include <stdbool.h>
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

static bool read_line(const char *path, char *line, int size) {
    FILE *f = fopen(path, "re");
    bool ok = f && fgets(line, size, f);
    if (f)
        fclose(f);
    return ok;
}

/* Quota of one cgroup directory, in cores; 0 when it has none. */
static double quota_v2(const char *dir) {
    char path[4200], line[128], quota[64];
    double period = 0;
    snprintf(path, sizeof path, "%s/cpu.max", dir);
    if (!read_line(path, line, sizeof line) || sscanf(line, "%63s %lf", quota, &period) != 2)
        return 0;
    double value = strcmp(quota, "max") == 0 ? 0 : atof(quota);
    return value > 0 && period > 0 ? value / period : 0;
}

static double quota_v1(const char *dir) {
    char path[4200], line[128];
    snprintf(path, sizeof path, "%s/cpu.cfs_quota_us", dir);
    double quota = read_line(path, line, sizeof line) ? atof(line) : 0;
    snprintf(path, sizeof path, "%s/cpu.cfs_period_us", dir);
    double period = read_line(path, line, sizeof line) ? atof(line) : 0;
    return quota > 0 && period > 0 ? quota / period : 0;
}

/* The smallest quota from mount/group up to the mount itself. */
static double quota_upwards(const char *mount, const char *group, double (*quota)(const char *dir)) {
    char dir[4096];
    double least = 0;
    int length = snprintf(dir, sizeof dir, "%s%s", mount, group);
    size_t stop = strlen(mount);
    if (length < 0 || (size_t)length >= sizeof dir)
        return 0;
    for (;;) {
        double q = quota(dir);
        if (q > 0 && (least == 0 || q < least))
            least = q;
        char *slash = strrchr(dir, '/');
        if (!slash || (size_t)(slash - dir) < stop)
            return least;
        *slash = '\0';
    }
}

static double cgroup_cores(void) {
    char line[4096];
    double least = 0;
    FILE *f = fopen("/proc/self/cgroup", "re");
    if (!f)
        return 0;
    while (fgets(line, sizeof line, f)) { /* "0::/group" (v2) or "3:cpu,cpuacct:/group" (v1) */
        line[strcspn(line, "\n")] = '\0';
        char *controllers = strchr(line, ':');
        char *group = controllers ? strchr(controllers + 1, ':') : NULL;
        if (!group)
            continue;
        *group++ = '\0';
        controllers++;
        double q = 0;
        if (*controllers == '\0')
            q = quota_upwards("/sys/fs/cgroup", group, quota_v2);
        else if (strncmp(controllers, "cpu", 3) == 0 && (controllers[3] == '\0' || controllers[3] == ','))
            q = quota_upwards("/sys/fs/cgroup/cpu", group, quota_v1);
        if (q > 0 && (least == 0 || q < least))
            least = q;
    }
    fclose(f);
    return least;
}

unsigned cpus_available(void) {
    unsigned cores = affinity_cores();
    double quota = cgroup_cores();
    if (quota > 0 && quota < cores) {
        unsigned whole = (unsigned)quota;
        return whole + (quota > whole ? 1 : 0);
    }
    return cores;
}
