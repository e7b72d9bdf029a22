/* What every fuzz target needs: the entry, and checks. */
#ifndef YPK_TESTS_FUZZ_TARGET_H
#define YPK_TESTS_FUZZ_TARGET_H

#include "bytes.h"
#include "check.h"
#include "error.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* CHECK() of a call that has to succeed, with what it says when it does not. */
#define FUZZ_CHECK_OK(call, error)                                                                                     \
    do {                                                                                                               \
        if ((call) != 0) {                                                                                             \
            fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #call, (error)->message);                           \
            abort();                                                                                                   \
        }                                                                                                              \
    } while (0)

/* A refusal has one of `code`'s names and says something. */
static inline void fuzz_check_refusal(int code, const struct error *error) {
    CHECK(code == error->code && code < 0 && code >= ERR_INTERRUPTED);
    CHECK(error->message[0] != 0);
}

/* A copy that may be mended, of exactly `size` bytes, so that a read past its end is seen. */
static inline uint8_t *fuzz_copy(const uint8_t *data, size_t size) {
    uint8_t *copy = malloc(size ? size : 1);
    CHECK(copy);
    memcpy(copy, data, size);
    return copy;
}

#endif
