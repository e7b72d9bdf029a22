/* The control groups of this process, as far as they limit it. */
#ifndef YPK_COMMON_CGROUP_H
#define YPK_COMMON_CGROUP_H

#include <stdbool.h>
#include <stddef.h>

/* Calls `visit` with the directory of this process's group, then of each group above it up to the mount, for version 2
 * and for version 1's `controller` ("cpu", "memory"). A directory may not exist: in a container the upper ones are not
 * seen. `root` goes before /proc and /sys: "" but in tests. */
void cgroup_visit(const char *root, const char *controller, void (*visit)(void *arg, const char *directory, bool v2),
                  void *arg);

/* The first line of a file in a group's directory, without its newline; false if there is none. */
bool cgroup_read_line(char *line, size_t size, const char *directory, const char *name);

#endif
