/* A directory for targets whose parser reads a file; memory is the fastest place for one. */
#ifndef YPK_TESTS_FUZZ_SCRATCH_H
#define YPK_TESTS_FUZZ_SCRATCH_H

#include "file.h"
#include "target.h"

#include <unistd.h>

static char scratch_directory[64];

static inline void scratch_remove(void) {
    dir_remove_all(scratch_directory, NULL);
}

/* The directory, made by the first call and removed when the program ends. */
static inline const char *scratch(void) {
    if (!scratch_directory[0]) {
        snprintf(scratch_directory, sizeof scratch_directory, "%s/ypk-fuzz-XXXXXX",
                 access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
        CHECK(mkdtemp(scratch_directory));
        atexit(scratch_remove);
    }
    return scratch_directory;
}

/* Writes the file `name` there, and says where that is. */
static inline const char *scratch_write(const char *name, const uint8_t *data, size_t size) {
    static char path[128];
    snprintf(path, sizeof path, "%s/%s", scratch(), name);
    FILE *file = fopen(path, "wb");
    CHECK(file && fwrite(data, 1, size, file) == size && fclose(file) == 0);
    return path;
}

#endif
