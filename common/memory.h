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

/* The least of what the machine has available and what every memory cgroup (v1 or v2) of this process leaves; page
 * cache that can be dropped counts as free. `root` goes before /proc and /sys: "" but in tests. */
void memory_room(struct memory_room *out, const char *root);

/* What of this process is in memory. */
struct memory_resident {
    uint64_t anonymous_bytes; /* allocated */
    uint64_t file_bytes;      /* pages of mapped files, which the kernel can drop */
    uint64_t shared_bytes;    /* of tmpfs: staged shards */
};

/* As /proc/self/status has it (`root` as above); zeros where it has not. */
void memory_resident(struct memory_resident *out, const char *root);

#endif
