/*
 * Writes the golden files of the current format into a directory:
 *
 *     build/release/tests/golden/make_golden tests/golden/v1
 *
 * Files of a released format are never written again; a new format gets a directory of its own.
 */
#include "content.h"

#include "file.h"

#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv) {
    struct error error = {0};
    if (argc != 2) {
        fprintf(stderr, "usage: make_golden DIRECTORY\n");
        return 2;
    }
    char *rejects = path_join(argv[1], "must-fail");
    int code = rejects ? dir_create_all(rejects, &error) : error_set(&error, ERR_MEMORY, "out of memory");
    free(rejects);
    for (int i = 0; code == 0 && i < GOLDEN_FILE_COUNT; i++) {
        struct bytes content = {0};
        golden_make(&content, &golden_files[i]);
        char *path = path_join(argv[1], golden_files[i].name);
        code = path ? file_write_atomic(path, content.data, content.size, &error)
                    : error_set(&error, ERR_MEMORY, "out of memory");
        free(path);
        bytes_deinit(&content);
    }
    if (code != 0)
        fprintf(stderr, "make_golden: %s\n", error.message);
    return code == 0 ? 0 : 1;
}
