/*
 * Counts what a program allocates: this file defines malloc and its family, so that every library of the process calls
 * them. For one source file of a program, and not under sanitizers, which have their own (COUNTS_ALLOCATIONS is 0
 * then).
 */
#ifndef YPK_TESTS_COUNT_ALLOCATIONS_H
#define YPK_TESTS_COUNT_ALLOCATIONS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct allocation_count {
    atomic_bool on;
    atomic_ulong here; /* calls by threads that set counts_as_here */
    atomic_ulong elsewhere;
    atomic_ulong bytes; /* asked for, of both; nothing is subtracted */
};

static struct allocation_count allocation_count;
static _Thread_local bool counts_as_here;

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || !defined(__GLIBC__)
#define COUNTS_ALLOCATIONS 0
#else
#define COUNTS_ALLOCATIONS 1
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define COUNTED __attribute__((visibility("default")))

extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *memory, size_t size);
extern void *__libc_memalign(size_t alignment, size_t size);
extern void __libc_free(void *memory);

static void count_allocation(size_t bytes) {
    if (!atomic_load(&allocation_count.on))
        return;
    atomic_fetch_add(counts_as_here ? &allocation_count.here : &allocation_count.elsewhere, 1);
    atomic_fetch_add(&allocation_count.bytes, bytes);
}

COUNTED void *malloc(size_t size) {
    count_allocation(size);
    return __libc_malloc(size);
}

COUNTED void *calloc(size_t count, size_t size) {
    count_allocation(count * size);
    return __libc_calloc(count, size);
}

COUNTED void *realloc(void *memory, size_t size) {
    count_allocation(size);
    return __libc_realloc(memory, size);
}

COUNTED void *aligned_alloc(size_t alignment, size_t size) {
    count_allocation(size);
    return __libc_memalign(alignment, size);
}

COUNTED int posix_memalign(void **out, size_t alignment, size_t size) {
    count_allocation(size);
    *out = __libc_memalign(alignment, size);
    return *out ? 0 : 12;
}

COUNTED void free(void *memory) {
    if (memory)
        count_allocation(0);
    __libc_free(memory);
}

COUNTED void *mmap(void *address, size_t size, int protection, int flags, int fd, off_t offset) {
    count_allocation(flags & MAP_ANONYMOUS ? size : 0);
    return (void *)syscall(SYS_mmap, address, size, protection, flags, fd, offset);
}

COUNTED int munmap(void *address, size_t size) {
    count_allocation(0);
    return (int)syscall(SYS_munmap, address, size);
}
#endif

static inline void count_from_zero(void) {
    atomic_store(&allocation_count.here, 0);
    atomic_store(&allocation_count.elsewhere, 0);
    atomic_store(&allocation_count.bytes, 0);
    atomic_store(&allocation_count.on, true);
}

/* Memory of the process that is no file's, kB. */
static inline long anonymous_kb(void) {
    char line[256];
    long kb = -1;
    FILE *f = fopen("/proc/self/status", "r");
    while (f && fgets(line, sizeof line, f))
        if (sscanf(line, "RssAnon: %ld kB", &kb) == 1)
            break;
    if (f)
        fclose(f);
    return kb;
}

#endif
