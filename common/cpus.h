/* How many cores this process may really use. */
#ifndef YPK_COMMON_CPUS_H
#define YPK_COMMON_CPUS_H

/* The cores of the affinity mask, or fewer where a cgroup (v1 or v2) quota of this process or of a group above it
 * allows less: the quota is rounded up to whole cores. At least 1. */
unsigned cpus_available(void);

#endif
