/* How much memory this process can still use. */
#ifndef YPK_COMMON_MEMORY_H
#define YPK_COMMON_MEMORY_H

#include <stdbool.h>
#include <stdint.h>

struct memory_room {
    uint64_t free_bytes;  /* UINT64_MAX if nothing could be read */
    uint64_t limit_bytes; /* of what bounds it: a memory cgroup's limit, or the machine's memory */
    bool is_cgroup;
};

/* The least of what the machine has available and what every memory cgroup (v1 or v2) of this process leaves; page cache
 * that can be dropped counts as free. `root` goes before /proc and /sys: "" but in tests. */
void memory_room(struct memory_room *out, const char *root);

#endif
