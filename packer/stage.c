#include "stage.h"

#include "file.h"
#include "memory.h"
#include "stage_copy.h"
#include "staging.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#define TMPFS 0x01021994u
#define SOURCE "source"
#define SLACK_BYTES (UINT64_C(1) << 20) /* directories, leases */

/* ---- one copy, locked -------------------------------------------------------------------------------------------- */

struct copy {
    char *path;
    int lock_fd; /* flock on the directory */
};

static void copy_unlock(struct copy *c) {
    if (c->lock_fd >= 0)
        close(c->lock_fd);
    free(c->path);
    *c = (struct copy){.lock_fd = -1};
}

/* A directory may be removed, and made again, between open and flock: then the lock is on one that nobody sees. */
static bool is_still_there(const struct copy *c) {
    struct stat opened, named;
    return fstat(c->lock_fd, &opened) == 0 && lstat(c->path, &named) == 0 && opened.st_dev == named.st_dev &&
           opened.st_ino == named.st_ino;
}

static int wait_for_lock(int fd, const char *path, const struct stage_options *o, struct error *error) {
    bool told = false;
    while (flock(fd, LOCK_EX | LOCK_NB) != 0) {
        struct timespec pause = {0, 50000000}; /* 50 ms */
        if (errno != EWOULDBLOCK && errno != EINTR)
            return error_set_errno(error, errno, "%s: cannot lock", path);
        if (o->cancel && atomic_load(o->cancel))
            return error_set(error, ERR_INTERRUPTED, "%s: interrupted while another job was staging", path);
        if (!told && o->on_wait)
            o->on_wait(o->callback_arg);
        told = true;
        nanosleep(&pause, NULL);
    }
    return 0;
}

static int copy_create(const struct copy *c, const char *home, struct error *error) {
    /* The home may be removed, being empty, between the two. */
    for (;;) {
        if (mkdir(home, 0700) != 0 && errno != EEXIST)
            return error_set_errno(error, errno, "%s: cannot make the directory", home);
        if (mkdir(c->path, 0700) == 0 || errno == EEXIST)
            return 0;
        if (errno != ENOENT)
            return error_set_errno(error, errno, "%s: cannot make the directory", c->path);
    }
}

/* One try: 0 with lock_fd < 0 if the directory was removed meanwhile. */
static int copy_try_lock(struct copy *c, const char *home, bool create, const struct stage_options *o,
                         struct error *error) {
    int rc = create ? copy_create(c, home, error) : 0;
    if (rc)
        return rc;
    c->lock_fd = open(c->path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (c->lock_fd < 0)
        return errno == ENOENT && create ? 0 : error_set_errno(error, errno, "%s: cannot open", c->path);
    rc = wait_for_lock(c->lock_fd, c->path, o, error);
    if (rc || is_still_there(c))
        return rc;
    close(c->lock_fd);
    c->lock_fd = -1;
    return 0;
}

/* Opens and locks the copy. ERR_NOT_FOUND if it is not there and not to be created. */
static int copy_lock(struct copy *c, const char *home, uint64_t identity, bool create, const struct stage_options *o,
                     struct error *error) {
    int rc = 0;
    *c = (struct copy){.path = staging_copy(home, identity), .lock_fd = -1};
    if (!c->path)
        return error_set(error, ERR_MEMORY, "%s: out of memory", home);
    while (rc == 0 && c->lock_fd < 0)
        rc = copy_try_lock(c, home, create, o, error);
    if (rc)
        copy_unlock(c);
    return rc;
}

/* Bytes and shards in it; other files count as bytes. */
static void copy_measure(const char *path, uint64_t *bytes, uint64_t *shards) {
    *bytes = *shards = 0;
    DIR *dir = opendir(path);
    const struct dirent *entry;
    while (dir && (entry = readdir(dir))) {
        struct stat st;
        if (fstatat(dirfd(dir), entry->d_name, &st, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(st.st_mode))
            continue;
        *bytes += (uint64_t)st.st_size;
        *shards += strcmp(path_suffix(entry->d_name), "lmdb") == 0;
    }
    if (dir)
        closedir(dir);
}

/* With the lock held: drops dead leases and unfinished files, and the whole copy if no lease is left. *left: leases
 * that are; *freed grows by what was removed. */
static int copy_clean(const struct copy *c, bool all, size_t *left, uint64_t *freed, struct error *error) {
    uint64_t bytes, shards;
    int rc = stage_remove_partial(c->path, error);
    if (rc == 0)
        rc = lease_sweep(c->path, all, error);
    if (rc == 0)
        rc = lease_list(left, c->path, NULL, NULL, error);
    if (rc || *left)
        return rc;
    copy_measure(c->path, &bytes, &shards);
    rc = dir_remove_all(c->path, error);
    *freed += rc ? 0 : bytes;
    return rc;
}

/* ---- all copies of a home ---------------------------------------------------------------------------------------- */

static bool is_copy_name(const char *name, uint64_t *identity) {
    if (strlen(name) != 16 || strspn(name, "0123456789abcdef") != 16)
        return false;
    *identity = strtoull(name, NULL, 16);
    return true;
}

/* Calls `each` with the lock held; a copy that somebody else has locked is only shown (lock_fd < 0). */
static int each_copy(const char *home, int (*each)(void *arg, const struct copy *c, struct error *error), void *arg,
                     struct error *error) {
    DIR *dir = opendir(home);
    if (!dir)
        return errno == ENOENT ? 0 : error_set_errno(error, errno, "%s: cannot list", home);
    const struct dirent *entry;
    int rc = 0;
    while (rc == 0 && (entry = readdir(dir))) {
        uint64_t identity;
        if (!is_copy_name(entry->d_name, &identity))
            continue;
        struct copy c = {.path = path_join(home, entry->d_name), .lock_fd = -1};
        if (c.path)
            c.lock_fd = open(c.path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        else
            rc = error_set(error, ERR_MEMORY, "%s: out of memory", home);
        if (c.lock_fd >= 0 && flock(c.lock_fd, LOCK_EX | LOCK_NB) != 0) {
            close(c.lock_fd);
            c.lock_fd = -1;
        } else if (c.lock_fd < 0 || !is_still_there(&c)) {
            copy_unlock(&c);
            continue;
        }
        rc = each(arg, &c, error);
        copy_unlock(&c);
    }
    closedir(dir);
    return rc;
}

static int sweep_copy(void *arg, const struct copy *c, struct error *error) {
    size_t left;
    return c->lock_fd < 0 ? 0 : copy_clean(c, false, &left, arg, error);
}

/* What dead jobs left, and the home itself if it is empty then. */
static int sweep_home(const char *home, uint64_t *freed, struct error *error) {
    int rc = each_copy(home, sweep_copy, freed, error);
    if (rc == 0)
        (void)rmdir(home);
    return rc;
}

/* ---- space ------------------------------------------------------------------------------------------------------- */

struct number {
    char text[32];
};

/* "2,913,004,544" */
static struct number grouped(uint64_t n) {
    char digits[24];
    struct number out = {""};
    int length = snprintf(digits, sizeof digits, "%" PRIu64, n);
    for (int i = 0, at = 0; i < length; i++) {
        if (i > 0 && (length - i) % 3 == 0)
            out.text[at++] = ',';
        out.text[at++] = digits[i];
    }
    return out;
}

static int no_room(const char *base, const char *pack, uint64_t needed, uint64_t available, uint64_t total, bool tmpfs,
                   struct error *error) {
    uint64_t used = total > available ? total - available : 0;
    uint64_t gigabytes = ((used + needed + SLACK_BYTES) >> 30) + 1;
    char remedy[256] = "";
    if (tmpfs)
        snprintf(remedy, sizeof remedy,
                 "\n  in Docker: --shm-size=%" PRIu64 "g    elsewhere: mount -o remount,size=%" PRIu64
                 "g %s    or --to another tmpfs",
                 gigabytes, gigabytes, base);
    return error_set(error, ERR_SPACE, "%s has %s bytes free of %s (%" PRIu64 " MB); %s needs %s (%" PRIu64 " MB)%s",
                     base, grouped(available).text, grouped(total).text, total / 1000000, pack, grouped(needed).text,
                     (needed + 999999) / 1000000, tmpfs ? remedy : "\n  free some, or --to another disk");
}

static int check_memory(const char *pack, uint64_t needed, struct error *error) {
    struct memory_room room;
    memory_room(&room, "");
    if (room.free_bytes == UINT64_MAX || needed <= room.free_bytes)
        return 0;
    return error_set(error, ERR_SPACE,
                     "%s leaves %s bytes free of %s (%" PRIu64 " MB), and a tmpfs is memory; %s needs %s (%" PRIu64
                     " MB)\n"
                     "  %s, stage fewer shards (--shards-of), or --to a fast disk",
                     room.is_cgroup ? "the memory limit of this control group" : "this machine",
                     grouped(room.free_bytes).text, grouped(room.limit_bytes).text, room.limit_bytes / 1000000, pack,
                     grouped(needed).text, (needed + 999999) / 1000000,
                     room.is_cgroup ? "raise the limit (docker run --memory, Slurm --mem)" : "free some");
}

/* *scarce: another who takes space at the same time could make it too little. Where there is plenty, reserving it would
 * only cost time (8 % of a copy into a tmpfs); a write that fails is an error like any other. */
static int check_space(const char *base, const char *pack, uint64_t missing, bool *scarce, struct error *error) {
    struct statvfs fs;
    struct statfs kind;
    *scarce = false;
    if (missing == 0)
        return 0;
    if (statvfs(base, &fs) != 0 || statfs(base, &kind) != 0)
        return error_set_errno(error, errno, "%s: cannot ask for free space", base);
    uint64_t needed = missing + SLACK_BYTES, available = (uint64_t)fs.f_bavail * fs.f_frsize;
    uint64_t total = (uint64_t)fs.f_blocks * fs.f_frsize;
    bool tmpfs = (uint32_t)kind.f_type == TMPFS;
    *scarce = available < 2 * needed;
    /* A tmpfs mounted without a size has no blocks of its own to count. */
    if (needed > available && total > 0)
        return no_room(base, pack, missing, available, total, tmpfs, error);
    return tmpfs ? check_memory(pack, needed, error) : 0;
}

/* ---- stage ------------------------------------------------------------------------------------------------------- */

/* So that `staged` can say which pack this is. */
static int write_source(const struct copy *c, const char *pack, struct error *error) {
    char *path = path_join(c->path, SOURCE), *absolute = realpath(pack, NULL);
    int rc = 0;
    if (!path || !absolute)
        rc = error_set(error, ERR_MEMORY, "%s: out of memory", pack);
    else if (access(path, F_OK) != 0)
        rc = file_write_atomic(path, absolute, strlen(absolute), error);
    free(absolute);
    free(path);
    return rc;
}

static int fill_copy(struct stage_result *result, const struct copy *c, const char *base, struct stage_list *list,
                     const struct stage_options *o, struct error *error) {
    struct stage_copy_options copy = {
        .jobs = o->jobs, .cancel = o->cancel, .on_progress = o->on_progress, .callback_arg = o->callback_arg};
    uint64_t missing;
    int rc = stage_remove_partial(c->path, error);
    if (rc == 0)
        rc = stage_list_compare(list, c->path, &missing, error);
    if (rc == 0)
        rc = check_space(base, list->pack, missing, &copy.reserve, error);
    if (rc == 0)
        rc = write_source(c, list->pack, error);
    if (rc == 0)
        rc = stage_copy(list, c->path, &copy, error);
    for (size_t i = 0; i < list->file_count; i++)
        result->copied_bytes += list->files[i].present ? 0 : list->files[i].bytes;
    return rc;
}

static int stage_locked(struct stage_result *result, const struct copy *c, const char *base, struct stage_list *list,
                        const struct stage_options *o, const struct lease *lease, struct error *error) {
    struct error ignored;
    uint64_t freed = 0;
    size_t left;
    int rc = fill_copy(result, c, base, list, o, error);
    if (rc == 0)
        rc = lease_take(c->path, lease, error);
    if (rc)
        (void)copy_clean(c, false, &left, &freed, &ignored); /* the first failure is the one to tell */
    else
        rc = lease_list(&result->lease_count, c->path, NULL, NULL, error);
    snprintf(result->directory, sizeof result->directory, "%s", c->path);
    result->bytes = list->bytes;
    result->shard_count = list->shard_count;
    result->pack_shard_count = list->pack_shard_count;
    return rc;
}

static int check_base(const char *base, struct error *error) {
    struct stat st;
    if (stat(base, &st) != 0)
        return error_set_errno(error, errno, "%s: nothing can be staged there", base);
    return S_ISDIR(st.st_mode) ? 0 : error_set(error, ERR_INPUT, "%s: is no directory to stage into", base);
}

/* A home that somebody else could write to is refused; one that is not there is fine. */
static int home_of(char **out, const char *base, struct error *error) {
    *out = staging_home(base);
    if (!*out)
        return error_set(error, ERR_MEMORY, "%s: out of memory", base);
    struct error inner = {0};
    int rc = staging_check_home(*out, &inner);
    if (rc == ERR_NOT_FOUND)
        return 0;
    if (rc && error)
        *error = inner;
    return rc;
}

int stage_pack(struct stage_result *result, const char *pack, const struct stage_options *o, struct error *error) {
    const char *bases[STAGING_BASES];
    struct stage_list list = {0};
    struct lease lease;
    struct copy copy = {.lock_fd = -1};
    char *home = NULL;
    uint64_t identity, freed = 0;
    *result = (struct stage_result){0};
    staging_bases(bases);
    const char *base = o->base ? o->base : bases[0];

    int rc = stage_list_init(&list, pack, o->rank, o->world, error);
    if (rc == 0)
        rc = staging_identity(&identity, pack, error);
    if (rc == 0)
        rc = lease_name(&lease, o->job, error);
    if (rc == 0)
        rc = check_base(base, error);
    if (rc == 0)
        rc = home_of(&home, base, error);
    if (rc == 0)
        rc = sweep_home(home, &freed, error);
    if (rc == 0)
        rc = copy_lock(&copy, home, identity, true, o, error);
    if (rc == 0)
        rc = stage_locked(result, &copy, base, &list, o, &lease, error);
    copy_unlock(&copy);
    if (rc && home)
        (void)rmdir(home);
    free(home);
    stage_list_deinit(&list);
    return rc;
}

/* ---- unstage and staged ------------------------------------------------------------------------------------------ */

struct holders {
    char text[256];
};

static void add_holder(void *arg, const struct lease *lease) {
    struct holders *h = arg;
    size_t used = strlen(h->text);
    char text[LEASE_BYTES];
    lease_text(text, sizeof text, lease);
    snprintf(h->text + used, sizeof h->text - used, "%s%s", used ? ", " : "", text);
}

static int not_ours(const struct copy *c, const char *pack, const struct lease *lease, struct error *error) {
    struct holders holders = {""};
    char own[LEASE_BYTES];
    size_t count;
    (void)lease_list(&count, c->path, add_holder, &holders, NULL);
    lease_text(own, sizeof own, lease);
    return error_set(error, ERR_NOT_FOUND,
                     "%s: is staged for %s, not for %s (--lease NAME names another job, --all drops every lease)", pack,
                     holders.text, own);
}

static int drop_below(struct unstage_result *result, const char *base, const char *pack, uint64_t identity, bool all,
                      const struct stage_options *o, const struct lease *lease, struct error *error) {
    struct copy copy = {.lock_fd = -1};
    struct error inner = {0};
    char *home = NULL;
    size_t left = 0;
    int rc = home_of(&home, base, error);
    if (rc == 0)
        rc = copy_lock(&copy, home, identity, false, o, &inner);
    if (rc == 0) {
        int dropped = all ? 0 : lease_drop(copy.path, lease, &inner);
        result->copies++;
        rc = copy_clean(&copy, all, &left, &result->freed_bytes, &inner);
        if (rc == 0 && dropped == ERR_NOT_FOUND)
            rc = left ? not_ours(&copy, pack, lease, &inner) : 0;
        result->lease_count += left;
    } else if (rc == ERR_NOT_FOUND) {
        rc = 0;
    }
    copy_unlock(&copy);
    if (rc && inner.code && error)
        *error = inner;
    if (rc == 0)
        rc = sweep_home(home, &result->freed_bytes, error);
    free(home);
    return rc;
}

int stage_drop(struct unstage_result *result, const char *pack, bool all, const struct stage_options *o,
               struct error *error) {
    const char *bases[STAGING_BASES];
    struct lease lease;
    uint64_t identity;
    size_t count = staging_bases(bases);
    *result = (struct unstage_result){0};
    if (o->base) {
        bases[0] = o->base;
        count = 1;
    }
    int rc = staging_identity(&identity, pack, error);
    if (rc == 0)
        rc = lease_name(&lease, o->job, error);
    for (size_t i = 0; rc == 0 && i < count; i++)
        rc = drop_below(result, bases[i], pack, identity, all, o, &lease, error);
    return rc;
}

struct listing {
    void (*visit)(void *arg, const struct staged_copy *copy);
    void *arg;
    struct lease *leases;
    size_t count, room;
};

static void add_lease(void *arg, const struct lease *lease) {
    struct listing *l = arg;
    if (l->count < l->room)
        l->leases[l->count++] = *lease;
}

static int list_copy(void *arg, const struct copy *c, struct error *error) {
    struct listing *l = arg;
    struct staged_copy out = {.directory = c->path, .busy = c->lock_fd < 0, .pack = ""};
    struct bytes source = {0};
    uint64_t freed = 0;
    int rc = out.busy ? 0 : copy_clean(c, false, &l->room, &freed, error);
    if (rc == 0 && !out.busy && l->room == 0)
        return 0; /* nobody's: removed */
    if (rc == 0 && out.busy)
        rc = lease_list(&l->room, c->path, NULL, NULL, error);
    if (rc == 0 && !(l->leases = calloc(l->room + 1, sizeof *l->leases)))
        rc = error_set(error, ERR_MEMORY, "%s: out of memory", c->path);
    l->count = 0;
    if (rc == 0)
        rc = lease_list(&out.lease_count, c->path, add_lease, l, error);
    if (rc == 0) {
        char *path = path_join(c->path, SOURCE);
        if (path && file_read(&source, AT_FDCWD, path, PATH_MAX, NULL) == 0 && bytes_append(&source, "", 1) == 0)
            out.pack = (const char *)source.data;
        free(path);
        copy_measure(c->path, &out.bytes, &out.shard_count);
        out.leases = l->leases;
        out.lease_count = l->count;
        l->visit(l->arg, &out);
    }
    bytes_deinit(&source);
    free(l->leases);
    l->leases = NULL;
    return rc;
}

int stage_each(const char *base, void (*visit)(void *arg, const struct staged_copy *copy), void *arg,
               struct error *error) {
    const char *bases[STAGING_BASES] = {base};
    struct listing listing = {.visit = visit, .arg = arg};
    size_t count = base ? 1 : staging_bases(bases);
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < count; i++) {
        char *home = NULL;
        rc = home_of(&home, bases[i], error);
        if (rc == 0)
            rc = each_copy(home, list_copy, &listing, error);
        if (rc == 0)
            (void)rmdir(home);
        free(home);
    }
    return rc;
}
