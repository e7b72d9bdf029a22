#include "lease.h"

#include "file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define JOB "job-"
#define PROCESS "process-"
#define LEASES "leases"

enum { JOB_NAME_LIMIT = 64, BOOT_BYTES = 64 };

/* ---- processes --------------------------------------------------------------------------------------------------- */

struct process {
    int pid;
    uint64_t start;     /* clock ticks since boot */
    uint64_t namespace; /* inode */
    char boot[BOOT_BYTES];
};

/* False if there is no such process, or nothing but its exit code is left of it. */
static bool process_start(int pid, uint64_t *start) {
    char path[64], text[1024], state;
    snprintf(path, sizeof path, "/proc/%d/stat", pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd >= 0 ? read(fd, text, sizeof text - 1) : -1;
    if (fd >= 0)
        close(fd);
    if (n <= 0)
        return false;
    text[n] = '\0';
    const char *rest = strrchr(text, ')'); /* the command's name may hold anything */
    /* state is field 3, the start time field 22 */
    return rest &&
           sscanf(rest + 1, " %c %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %" SCNu64,
                  &state, start) == 2 &&
           state != 'Z' && state != 'X';
}

static void current_boot(char out[BOOT_BYTES]) {
    FILE *f = fopen("/proc/sys/kernel/random/boot_id", "re");
    if (!f || fscanf(f, "%63[0-9a-f-]", out) != 1)
        snprintf(out, BOOT_BYTES, "unknown");
    if (f)
        fclose(f);
}

static uint64_t current_namespace(void) {
    struct stat st;
    return stat("/proc/self/ns/pid", &st) == 0 ? st.st_ino : 0;
}

static bool process_parse(struct process *out, const char *name) {
    *out = (struct process){0};
    return sscanf(name, PROCESS "%d-%" SCNu64 "-%" SCNu64 "-%63[0-9a-z-]", &out->pid, &out->start, &out->namespace,
                  out->boot) == 4;
}

static bool lease_is_stale(const struct lease *lease) {
    struct process p;
    char boot[BOOT_BYTES];
    uint64_t start;
    if (!process_parse(&p, lease->name))
        return false;
    current_boot(boot);
    if (strcmp(boot, p.boot) != 0)
        return true;
    return p.namespace == current_namespace() && (!process_start(p.pid, &start) || start != p.start);
}

static int lease_of_session(struct lease *out, struct error *error) {
    struct process p = {.pid = getsid(0), .namespace = current_namespace()};
    current_boot(p.boot);
    if (p.pid <= 0 || p.pid == getpid() || !process_start(p.pid, &p.start))
        p.pid = getppid();
    if (p.pid <= 0 || !process_start(p.pid, &p.start))
        p.pid = 1;
    if (p.pid == 1 && !process_start(p.pid, &p.start))
        return error_set(error, ERR_UNSUPPORTED,
                         "/proc does not say which job this is: give it a name with --lease NAME");
    snprintf(out->name, sizeof out->name, PROCESS "%d-%" PRIu64 "-%" PRIu64 "-%s", p.pid, p.start, p.namespace, p.boot);
    return 0;
}

int lease_name(struct lease *out, const char *job, struct error *error) {
    if (!job)
        return lease_of_session(out, error);
    size_t length = strlen(job);
    if (length == 0 || length > JOB_NAME_LIMIT ||
        strspn(job, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-") != length)
        return error_set(error, ERR_ARGUMENT, "lease \"%s\": a name is 1 to %d of A-Z a-z 0-9 . _ -", job,
                         JOB_NAME_LIMIT);
    snprintf(out->name, sizeof out->name, JOB "%s", job);
    return 0;
}

void lease_text(char *out, size_t size, const struct lease *lease) {
    struct process p;
    char path[64], command[32] = "";
    if (!process_parse(&p, lease->name)) {
        snprintf(out, size, "job %s", lease->name + strlen(JOB));
        return;
    }
    snprintf(path, sizeof path, "/proc/%d/comm", p.pid);
    FILE *f = p.namespace == current_namespace() ? fopen(path, "re") : NULL;
    if (f) {
        if (fgets(command, sizeof command, f))
            command[strcspn(command, "\n")] = '\0';
        fclose(f);
    }
    snprintf(out, size, "process %d%s%s%s", p.pid, command[0] ? " (" : "", command, command[0] ? ")" : "");
}

/* ---- files ------------------------------------------------------------------------------------------------------- */

static char *lease_path(const char *directory, const struct lease *lease) {
    char *path;
    return asprintf(&path, "%s/" LEASES "/%s", directory, lease->name) < 0 ? NULL : path;
}

static int create_empty(const char *path, struct error *error) {
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        return error_set_errno(error, errno, "%s: cannot create", path);
    close(fd);
    return 0;
}

int lease_take(const char *directory, const struct lease *lease, struct error *error) {
    char *leases = path_join(directory, LEASES), *path = lease_path(directory, lease);
    int rc;
    if (!leases || !path)
        rc = error_set(error, ERR_MEMORY, "%s: out of memory", directory);
    else if (mkdir(leases, 0700) != 0 && errno != EEXIST)
        rc = error_set_errno(error, errno, "%s: cannot make the directory", leases);
    else
        rc = create_empty(path, error);
    free(path);
    free(leases);
    return rc;
}

int lease_drop(const char *directory, const struct lease *lease, struct error *error) {
    char *path = lease_path(directory, lease);
    if (!path)
        return error_set(error, ERR_MEMORY, "%s: out of memory", directory);
    int rc = unlink(path) == 0 ? 0 : error_set_errno(error, errno, "%s: cannot remove", path);
    free(path);
    return rc;
}

int lease_list(size_t *count, const char *directory, void (*visit)(void *arg, const struct lease *lease), void *arg,
               struct error *error) {
    *count = 0;
    char *path = path_join(directory, LEASES);
    if (!path)
        return error_set(error, ERR_MEMORY, "%s: out of memory", directory);
    DIR *dir = opendir(path);
    int rc = !dir && errno != ENOENT ? error_set_errno(error, errno, "%s: cannot list", path) : 0;
    const struct dirent *entry;
    while (dir && (entry = readdir(dir))) {
        struct lease lease;
        if (strncmp(entry->d_name, JOB, strlen(JOB)) != 0 && strncmp(entry->d_name, PROCESS, strlen(PROCESS)) != 0)
            continue;
        snprintf(lease.name, sizeof lease.name, "%.*s", LEASE_BYTES - 1, entry->d_name);
        ++*count;
        if (visit)
            visit(arg, &lease);
    }
    if (dir)
        closedir(dir);
    free(path);
    return rc;
}

struct sweep {
    const char *directory;
    bool all;
    int rc;
    struct error *error;
};

static void sweep_one(void *arg, const struct lease *lease) {
    struct sweep *s = arg;
    if (s->rc == 0 && (s->all || lease_is_stale(lease)))
        s->rc = lease_drop(s->directory, lease, s->error);
}

int lease_sweep(const char *directory, bool all, struct error *error) {
    struct sweep s = {.directory = directory, .all = all, .error = error};
    size_t count;
    int rc = lease_list(&count, directory, sweep_one, &s, error);
    return rc ? rc : s.rc;
}
