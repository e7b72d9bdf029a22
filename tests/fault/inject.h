/*
 * Makes the n-th call fail: once, or from then on. Include it in one file of a program only.
 *
 * The calls are caught by defining libc's symbols in the test program itself: the dynamic linker binds every library to
 * the program's definition first, so that what liblmdb, libjpeg, libpng, libyaml and jansson ask for fails as well, and
 * no product code has a seam for it. With AddressSanitizer the allocator behind is its own (strdup() alone goes past us
 * there).
 *
 *     for each kind, for once and from then on, for n = 1, 2, … until nothing was hit:
 *         prepare ─> count descriptors ─> arm ─> run ─> disarm ─> count again ─> judge
 */
#ifndef YPK_TESTS_FAULT_INJECT_H
#define YPK_TESTS_FAULT_INJECT_H

#include "error.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

enum fault_kind { FAULT_NONE, FAULT_ALLOC, FAULT_OPEN, FAULT_READ, FAULT_WRITE, FAULT_SYNC, FAULT_RENAME, FAULT_KINDS };

static const char *const fault_names[FAULT_KINDS] = {"none", "allocation", "open", "read", "write", "sync", "rename"};

static struct {
    atomic_int kind; /* FAULT_NONE: nothing fails */
    atomic_ulong calls, hits;
    unsigned long nth;
    bool onwards;
    int os_errno;
    void (*on_open)(void); /* called before every open() of a file; may be NULL */
} injector;

/* Called before a sanitizer has begun. */
#define INJECT_EARLY __attribute__((no_sanitize("address"), no_sanitize("undefined")))

INJECT_EARLY static bool inject_hit(int kind) {
    if (atomic_load(&injector.kind) != kind)
        return false;
    unsigned long n = atomic_fetch_add(&injector.calls, 1) + 1;
    if (n != injector.nth && !(injector.onwards && n > injector.nth))
        return false;
    atomic_fetch_add(&injector.hits, 1);
    errno = injector.os_errno;
    return true;
}

/* ---- the calls --------------------------------------------------------------------------------------------------- */

/* Defines libc's `symbol` under another name in C, so that no macro or builtin of that name gets in the way. */
#define INJECT(symbol) __asm__(#symbol) __attribute__((visibility("default"), used))

/* The definition behind ours: the sanitizer's, or libc's. */
#define INJECT_NEXT(type, symbol)                                                                                      \
    static type *next;                                                                                                 \
    if (!next)                                                                                                         \
    next = (type *)dlsym(RTLD_NEXT, symbol)

#if defined(__SANITIZE_ADDRESS__)
#define INJECT_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define INJECT_SANITIZED 1
#endif
#endif

/* Not by dlsym(), which allocates. */
#ifdef INJECT_SANITIZED
void *behind_malloc(size_t size) __asm__("__interceptor_malloc");
void *behind_calloc(size_t count, size_t size) __asm__("__interceptor_calloc");
void *behind_realloc(void *old, size_t size) __asm__("__interceptor_realloc");
void *behind_memalign(size_t alignment, size_t size) __asm__("__interceptor_memalign");
#else
void *behind_malloc(size_t size) __asm__("__libc_malloc");
void *behind_calloc(size_t count, size_t size) __asm__("__libc_calloc");
void *behind_realloc(void *old, size_t size) __asm__("__libc_realloc");
void *behind_memalign(size_t alignment, size_t size) __asm__("__libc_memalign");
#endif

void *inject_malloc(size_t size) INJECT(malloc);
INJECT_EARLY void *inject_malloc(size_t size) {
    return inject_hit(FAULT_ALLOC) ? NULL : behind_malloc(size);
}

void *inject_calloc(size_t count, size_t size) INJECT(calloc);
INJECT_EARLY void *inject_calloc(size_t count, size_t size) {
    return inject_hit(FAULT_ALLOC) ? NULL : behind_calloc(count, size);
}

void *inject_realloc(void *old, size_t size) INJECT(realloc);
INJECT_EARLY void *inject_realloc(void *old, size_t size) {
    return inject_hit(FAULT_ALLOC) ? NULL : behind_realloc(old, size);
}

void *inject_aligned_alloc(size_t alignment, size_t size) INJECT(aligned_alloc);
INJECT_EARLY void *inject_aligned_alloc(size_t alignment, size_t size) {
    return inject_hit(FAULT_ALLOC) ? NULL : behind_memalign(alignment, size);
}

int inject_posix_memalign(void **out, size_t alignment, size_t size) INJECT(posix_memalign);
INJECT_EARLY int inject_posix_memalign(void **out, size_t alignment, size_t size) {
    if (inject_hit(FAULT_ALLOC))
        return ENOMEM;
    *out = behind_memalign(alignment, size);
    return *out ? 0 : ENOMEM;
}

typedef void *mmap_fn(void *, size_t, int, int, int, off_t);
INJECT_EARLY static void *inject_map(void *at, size_t size, int protection, int flags, int fd, off_t offset) {
    INJECT_NEXT(mmap_fn, "mmap64");
    return inject_hit(FAULT_ALLOC) ? MAP_FAILED : next(at, size, protection, flags, fd, offset);
}

void *inject_mmap(void *at, size_t size, int protection, int flags, int fd, off_t offset) INJECT(mmap);
INJECT_EARLY void *inject_mmap(void *at, size_t size, int protection, int flags, int fd, off_t offset) {
    return inject_map(at, size, protection, flags, fd, offset);
}

void *inject_mmap64(void *at, size_t size, int protection, int flags, int fd, off_t offset) INJECT(mmap64);
INJECT_EARLY void *inject_mmap64(void *at, size_t size, int protection, int flags, int fd, off_t offset) {
    return inject_map(at, size, protection, flags, fd, offset);
}

typedef int openat_fn(int, const char *, int, ...);
static int inject_open_at(int dir, const char *path, int flags, mode_t mode) {
    INJECT_NEXT(openat_fn, "openat64");
    if (injector.on_open)
        injector.on_open();
    return inject_hit(FAULT_OPEN) ? -1 : next(dir, path, flags, mode);
}

static mode_t inject_mode(int flags, va_list args) {
    return flags & (O_CREAT | __O_TMPFILE) ? va_arg(args, mode_t) : 0;
}

#define INJECT_OPEN(name, symbol)                                                                                      \
    int name(const char *path, int flags, ...) INJECT(symbol);                                                         \
    int name(const char *path, int flags, ...) {                                                                       \
        va_list args;                                                                                                  \
        va_start(args, flags);                                                                                         \
        mode_t mode = inject_mode(flags, args);                                                                        \
        va_end(args);                                                                                                  \
        return inject_open_at(AT_FDCWD, path, flags, mode);                                                            \
    }
INJECT_OPEN(inject_open, open)
INJECT_OPEN(inject_open64, open64)

#define INJECT_OPENAT(name, symbol)                                                                                    \
    int name(int dir, const char *path, int flags, ...) INJECT(symbol);                                                \
    int name(int dir, const char *path, int flags, ...) {                                                              \
        va_list args;                                                                                                  \
        va_start(args, flags);                                                                                         \
        mode_t mode = inject_mode(flags, args);                                                                        \
        va_end(args);                                                                                                  \
        return inject_open_at(dir, path, flags, mode);                                                                 \
    }
INJECT_OPENAT(inject_openat, openat)
INJECT_OPENAT(inject_openat64, openat64)

typedef DIR *opendir_fn(const char *);
DIR *inject_opendir(const char *path) INJECT(opendir);
DIR *inject_opendir(const char *path) {
    INJECT_NEXT(opendir_fn, "opendir");
    return inject_hit(FAULT_OPEN) ? NULL : next(path);
}

/* Calls with four numbers at most, which return what they say or -1. */
#define INJECT_CALL(kind, symbol, arguments, ...)                                                                      \
    ssize_t inject_##symbol arguments INJECT(symbol);                                                                  \
    ssize_t inject_##symbol arguments {                                                                                \
        typedef ssize_t fn arguments;                                                                                  \
        INJECT_NEXT(fn, #symbol);                                                                                      \
        return inject_hit(kind) ? -1 : next(__VA_ARGS__);                                                              \
    }
INJECT_CALL(FAULT_READ, read, (int fd, void *to, size_t size), fd, to, size)
INJECT_CALL(FAULT_READ, pread, (int fd, void *to, size_t size, off_t at), fd, to, size, at)
INJECT_CALL(FAULT_READ, pread64, (int fd, void *to, size_t size, off_t at), fd, to, size, at)
INJECT_CALL(FAULT_WRITE, write, (int fd, const void *from, size_t size), fd, from, size)
INJECT_CALL(FAULT_WRITE, pwrite, (int fd, const void *from, size_t size, off_t at), fd, from, size, at)
INJECT_CALL(FAULT_WRITE, pwrite64, (int fd, const void *from, size_t size, off_t at), fd, from, size, at)
INJECT_CALL(FAULT_WRITE, writev, (int fd, const struct iovec *v, int count), fd, v, count)
INJECT_CALL(FAULT_WRITE, pwritev, (int fd, const struct iovec *v, int count, off_t at), fd, v, count, at)

#define INJECT_STATUS(kind, symbol, arguments, ...)                                                                    \
    int inject_##symbol arguments INJECT(symbol);                                                                      \
    int inject_##symbol arguments {                                                                                    \
        typedef int fn arguments;                                                                                      \
        INJECT_NEXT(fn, #symbol);                                                                                      \
        return inject_hit(kind) ? -1 : next(__VA_ARGS__);                                                              \
    }
INJECT_STATUS(FAULT_SYNC, fsync, (int fd), fd)
INJECT_STATUS(FAULT_SYNC, fdatasync, (int fd), fd)
INJECT_STATUS(FAULT_SYNC, msync, (void *at, size_t size, int flags), at, size, flags)
INJECT_STATUS(FAULT_WRITE, ftruncate, (int fd, off_t size), fd, size)
INJECT_STATUS(FAULT_WRITE, ftruncate64, (int fd, off_t size), fd, size)
INJECT_STATUS(FAULT_RENAME, rename, (const char *from, const char *to), from, to)
INJECT_STATUS(FAULT_RENAME, renameat, (int a, const char *from, int b, const char *to), a, from, b, to)
INJECT_STATUS(FAULT_RENAME, renameat2, (int a, const char *from, int b, const char *to, unsigned flags), a, from, b, to,
              flags)

/* ---- checks ------------------------------------------------------------------------------------------------------ */

static char fault_where[256] = "before the first fault";

#define FAULT_CHECK(condition, ...)                                                                                    \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            fprintf(stderr, "%s: %s:%d: %s: ", fault_where, __FILE__, __LINE__, #condition);                           \
            fprintf(stderr, __VA_ARGS__);                                                                              \
            fputc('\n', stderr);                                                                                       \
            abort();                                                                                                   \
        }                                                                                                              \
    } while (0)

#define FAULT_CHECK_OK(call, error) FAULT_CHECK((call) == 0, "%s", (error)->message)

static int fault_count_fds(void) {
    int count = 0;
    DIR *dir = opendir("/proc/self/fd");
    FAULT_CHECK(dir, "no /proc");
    while (readdir(dir))
        count++;
    closedir(dir);
    return count;
}

/* ---- the loop ---------------------------------------------------------------------------------------------------- */

struct fault_run {
    const char *name;
    void *arg;
    enum fault_kind kind;
    int os_errno;
    unsigned long step; /* 1: every n */
    void (*prepare)(void *arg);
    int (*run)(void *arg, struct error *error);
    /* rc and error are what run() said; `hits` calls failed. Checks everything but what the loop checks: a code with a
     * message when it failed, success when nothing was hit, descriptors. */
    void (*judge)(void *arg, int rc, const struct error *error, enum fault_kind kind, int os_errno);
};

void __lsan_do_leak_check(void) __attribute__((weak));
int __lsan_do_recoverable_leak_check(void) __attribute__((weak));

/* A run that stands still is ended by SIGALRM; its last line says where. */
#define FAULT_RUN_SECONDS 300

static inline unsigned long fault_once(const struct fault_run *r, unsigned long n, bool onwards) {
    struct error error = {0};
    snprintf(fault_where, sizeof fault_where, "%s: %s %lu %s fails with %s", r->name, fault_names[r->kind], n,
             onwards ? "and every later one" : "alone", strerror(r->os_errno));
    r->prepare(r->arg);
    int fds = fault_count_fds();
    injector.nth = n;
    injector.onwards = onwards;
    injector.os_errno = r->os_errno;
    atomic_store(&injector.calls, 0);
    atomic_store(&injector.hits, 0);
    alarm(FAULT_RUN_SECONDS);
    atomic_store(&injector.kind, r->kind);
    int rc = r->run(r->arg, &error);
    atomic_store(&injector.kind, FAULT_NONE);
    alarm(0);
    unsigned long hits = atomic_load(&injector.hits);
    FAULT_CHECK(fault_count_fds() == fds, "%d descriptors before, %d after", fds, fault_count_fds());
    FAULT_CHECK(rc == 0 || (rc == error.code && error.message[0]), "rc %d, code %d, message \"%s\"", rc, error.code,
                error.message);
    FAULT_CHECK(rc == 0 || hits > 0, "failed without a fault: %s", error.message);
    if (getenv("FAULT_VERBOSE"))
        printf("%s: %s\n", fault_where, rc ? error.message : "no failure");
    r->judge(r->arg, rc, &error, r->kind, r->os_errno);
    if (__lsan_do_recoverable_leak_check && getenv("FAULT_LEAKS"))
        FAULT_CHECK(__lsan_do_recoverable_leak_check() == 0, "leak");
    return hits;
}

static inline void fault_loop(const struct fault_run *r) {
    struct timespec a, b;
    unsigned long counts[2];
    clock_gettime(CLOCK_MONOTONIC, &a);
    for (int onwards = 0; onwards < 2; onwards++) {
        unsigned long n = 1;
        while (fault_once(r, n, onwards) > 0)
            n += r->step ? r->step : 1;
        counts[onwards] = n;
    }
    clock_gettime(CLOCK_MONOTONIC, &b);
    printf("%s: %s, %s: %lu calls once, %lu from then on, every %lu, %.1f s\n", r->name, fault_names[r->kind],
           strerror(r->os_errno), counts[0] - 1, counts[1] - 1, r->step ? r->step : 1,
           (double)(b.tv_sec - a.tv_sec) + (double)(b.tv_nsec - a.tv_nsec) / 1e9);
    fflush(stdout);
}

#endif
