/*
 * The plain tools that the benchmarks compare with:
 *
 *     plain decode THREADS DIRECTORY     decodes every .jpg below to RGB with TurboJPEG
 *     plain hash FILE...                 reads each file and hashes it with XXH3
 *
 * Prints the seconds it took.
 */
#include "bytes.h"
#include "file.h"
#include "hash.h"
#include "scan.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <turbojpeg.h>
#include <unistd.h>

enum { READ_BYTES = 4 << 20, THREAD_LIMIT = 64 };

struct job {
    const char *root;
    const struct path_list *files;
    atomic_size_t next;
};

static double now_seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void fail(const char *what, const char *path) {
    fprintf(stderr, "plain: %s: %s\n", path, what);
    exit(1);
}

static void *decode_files(void *arg) {
    struct job *job = arg;
    tjhandle handle = tjInitDecompress();
    struct bytes file = {0}, pixels = {0};
    for (size_t i; (i = atomic_fetch_add(&job->next, 1)) < job->files->count;) {
        int width, height, subsampling, space;
        char *path = path_join(job->root, job->files->items[i]);
        file.size = 0;
        if (file_read(&file, AT_FDCWD, path, 1u << 30, NULL) != 0)
            fail("cannot read", path);
        if (tjDecompressHeader3(handle, file.data, file.size, &width, &height, &subsampling, &space) != 0 ||
            bytes_reserve(&pixels, (size_t)width * (size_t)height * 3) != 0 ||
            tjDecompress2(handle, file.data, file.size, pixels.data, width, 0, height, TJPF_RGB, TJFLAG_ACCURATEDCT) !=
                0)
            fail("cannot decode", path);
        free(path);
    }
    tjDestroy(handle);
    bytes_deinit(&file);
    bytes_deinit(&pixels);
    return NULL;
}

static void decode(struct job *job, int threads) {
    pthread_t thread[THREAD_LIMIT];
    for (int i = 0; i < threads; i++)
        if (pthread_create(&thread[i], NULL, decode_files, job) != 0)
            fail("cannot start a thread", job->root);
    for (int i = 0; i < threads; i++)
        pthread_join(thread[i], NULL);
}

static void hash_file(const char *path, uint8_t *buffer) {
    XXH3_state_t *state = XXH3_createState();
    int fd = open(path, O_RDONLY);
    ssize_t n;
    if (fd < 0 || !state)
        fail("cannot open", path);
    XXH3_64bits_reset(state);
    while ((n = read(fd, buffer, READ_BYTES)) > 0)
        XXH3_64bits_update(state, buffer, (size_t)n);
    if (n < 0 || XXH3_64bits_digest(state) == 0)
        fail("cannot read", path);
    close(fd);
    XXH3_freeState(state);
}

int main(int argc, char **argv) {
    struct scan scan;
    struct error error = {0};
    bool decodes = argc == 4 && strcmp(argv[1], "decode") == 0;
    int threads = decodes ? atoi(argv[2]) : 0;
    if (decodes && threads >= 1 && threads <= THREAD_LIMIT) {
        if (scan_directory(&scan, argv[3], "", NULL, NULL, &error) != 0)
            fail(error.message, argv[3]);
        struct job job = {argv[3], &scan.images, 0};
        double start = now_seconds();
        decode(&job, threads);
        printf("%.4f\n", now_seconds() - start);
        scan_deinit(&scan);
        return 0;
    }
    if (argc >= 3 && strcmp(argv[1], "hash") == 0) {
        uint8_t *buffer = malloc(READ_BYTES);
        if (!buffer)
            fail("out of memory", "");
        double start = now_seconds();
        for (int i = 2; i < argc; i++)
            hash_file(argv[i], buffer);
        printf("%.4f\n", now_seconds() - start);
        free(buffer);
        return 0;
    }
    fprintf(stderr, "usage: plain decode THREADS DIRECTORY | plain hash FILE...\n");
    return 2;
}
