/* A directory of a test's own, and what it puts there. Each test is a process of its own: home_create() is
 * for .init. */
#ifndef YPK_TESTS_UNIT_HOME_H
#define YPK_TESTS_UNIT_HOME_H

#include "file.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char home[512]; /* absolute, without links */

static inline void home_create(void) {
    const char *base = getenv("TMPDIR");
    char made[sizeof home];
    snprintf(made, sizeof made, "%s/ypk-test-XXXXXX", base && *base ? base : "/tmp");
    cr_assert_not_null(mkdtemp(made), "%s", made);
    char *real = realpath(made, NULL);
    cr_assert_not_null(real);
    snprintf(home, sizeof home, "%s", real);
    free(real);
}

static inline void home_remove(void) {
    cr_assert_eq(chdir("/"), 0);
    cr_assert_eq(dir_remove_all(home, NULL), 0);
}

/* "HOME/NAME", until the fourth call after this one. */
static inline const char *home_path(const char *name) {
    static char paths[4][4608];
    static unsigned turn;
    char *path = paths[turn++ % 4];
    snprintf(path, sizeof paths[0], "%s/%s", home, name);
    return path;
}

static inline void home_add_directory(const char *name) {
    cr_assert_eq(dir_create_all(home_path(name), NULL), 0, "%s", name);
}

/* A file with this text, and the directories above it. */
static inline void home_add(const char *name, const char *text) {
    char directory[4096];
    snprintf(directory, sizeof directory, "%.*s", (int)(path_base(name) - name), name);
    home_add_directory(directory);
    FILE *file = fopen(home_path(name), "wb");
    cr_assert_not_null(file, "%s", name);
    cr_assert_eq(fwrite(text, 1, strlen(text), file), strlen(text));
    cr_assert_eq(fclose(file), 0);
}

#endif
