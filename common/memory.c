#include "memory.h"

#include "cgroup.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The number after `key` at the beginning of a line ("MemAvailable:  123 kB", "inactive_file 456"); 0 if there
 * is none. */
static uint64_t find_number(const char *path, const char *key) {
    char line[256];
    uint64_t found = 0;
    size_t length = strlen(key);
    FILE *f = fopen(path, "re");
    if (!f)
        return 0;
    while (fgets(line, sizeof line, f)) {
        if (strncmp(line, key, length) == 0) {
            found = strtoull(line + length, NULL, 10);
            break;
        }
    }
    fclose(f);
    return found;
}

static void take_smaller(void *arg, const char *directory, bool v2) {
    struct memory_room *room = arg;
    char line[64], path[PATH_MAX + 64];
    if (!cgroup_read_line(line, sizeof line, directory, v2 ? "memory.max" : "memory.limit_in_bytes") ||
        strcmp(line, "max") == 0)
        return;
    uint64_t limit = strtoull(line, NULL, 10);
    if (limit > INT64_MAX / 2) /* version 1's way to say that there is none */
        return;
    if (!cgroup_read_line(line, sizeof line, directory, v2 ? "memory.current" : "memory.usage_in_bytes"))
        return;
    uint64_t used = strtoull(line, NULL, 10);
    snprintf(path, sizeof path, "%s/memory.stat", directory);
    uint64_t cache = find_number(path, v2 ? "inactive_file " : "total_inactive_file ");
    used -= cache < used ? cache : used;
    uint64_t left = used < limit ? limit - used : 0;
    if (left < room->free_bytes)
        *room = (struct memory_room){.free_bytes = left, .limit_bytes = limit, .is_cgroup = true};
}

void memory_room(struct memory_room *out, const char *root) {
    char path[PATH_MAX];
    *out = (struct memory_room){.free_bytes = UINT64_MAX, .limit_bytes = UINT64_MAX};
    snprintf(path, sizeof path, "%s/proc/meminfo", root);
    uint64_t kilobytes = find_number(path, "MemAvailable:");
    if (kilobytes)
        *out = (struct memory_room){.free_bytes = kilobytes << 10, .limit_bytes = find_number(path, "MemTotal:") << 10};
    cgroup_visit(root, "memory", take_smaller, out);
}

void memory_resident(struct memory_resident *out, const char *root) {
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/proc/self/status", root);
    *out = (struct memory_resident){.anonymous_bytes = find_number(path, "RssAnon:") << 10,
                                    .file_bytes = find_number(path, "RssFile:") << 10,
                                    .shared_bytes = find_number(path, "RssShmem:") << 10};
}
