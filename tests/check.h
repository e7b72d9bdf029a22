/* A check that ends the program whatever the build's flags are: for tests that are plain programs, and what tests
 * share. */
#ifndef YPK_TESTS_CHECK_H
#define YPK_TESTS_CHECK_H

#include <stdio.h>
#include <stdlib.h>

#define CHECK(condition)                                                                                               \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);                                            \
            abort();                                                                                                   \
        }                                                                                                              \
    } while (0)

#endif
