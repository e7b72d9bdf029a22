#include "cgroup.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

bool cgroup_read_line(char *line, size_t size, const char *directory, const char *name) {
    char path[PATH_MAX + 64];
    snprintf(path, sizeof path, "%s/%s", directory, name);
    FILE *f = fopen(path, "re");
    bool ok = f && fgets(line, (int)size, f);
    if (f)
        fclose(f);
    if (ok)
        line[strcspn(line, "\n")] = '\0';
    return ok;
}

/* From mount/group up to the mount itself. */
static void visit_upwards(const char *mount, const char *group, bool v2,
                          void (*visit)(void *arg, const char *directory, bool v2), void *arg) {
    char directory[PATH_MAX];
    size_t stop = strlen(mount);
    int length = snprintf(directory, sizeof directory, "%s%s", mount, group);
    if (length < 0 || (size_t)length >= sizeof directory)
        return;
    for (;;) {
        visit(arg, directory, v2);
        char *slash = strrchr(directory, '/');
        if (!slash || (size_t)(slash - directory) < stop)
            return;
        *slash = '\0';
    }
}

/* "cpu" is one of "cpu,cpuacct". */
static bool list_has(const char *list, const char *word) {
    size_t length = strlen(word);
    for (; *list; list += strcspn(list, ","), list += *list == ',')
        if (strncmp(list, word, length) == 0 && (list[length] == '\0' || list[length] == ','))
            return true;
    return false;
}

void cgroup_visit(const char *root, const char *controller, void (*visit)(void *arg, const char *directory, bool v2),
                  void *arg) {
    char line[PATH_MAX], mount[PATH_MAX];
    snprintf(mount, sizeof mount, "%s/proc/self/cgroup", root);
    FILE *f = fopen(mount, "re");
    if (!f)
        return;
    while (fgets(line, sizeof line, f)) { /* "0::/group" (v2) or "3:cpu,cpuacct:/group" (v1) */
        line[strcspn(line, "\n")] = '\0';
        char *controllers = strchr(line, ':');
        char *group = controllers ? strchr(controllers + 1, ':') : NULL;
        if (!group)
            continue;
        *group++ = '\0';
        controllers++;
        bool v2 = *controllers == '\0';
        if (!v2 && !list_has(controllers, controller))
            continue;
        snprintf(mount, sizeof mount, "%s/sys/fs/cgroup%s%s", root, v2 ? "" : "/", v2 ? "" : controller);
        visit_upwards(mount, group, v2, visit, arg);
    }
    fclose(f);
}
