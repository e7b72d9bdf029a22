/*
 * Another device's functions with somebody in between: copies that are late, waits that are left out, and a count of
 * the times that a thread which must not wait for the device did. One device at a time.
 */
#ifndef YPK_TESTS_WATCHED_H
#define YPK_TESTS_WATCHED_H

#include "device.h"

#include <stdbool.h>
#include <stdint.h>

struct watched {
    double copy_ms;       /* a copy begins up to so much later, drawn anew each time */
    bool no_ready_wait;   /* a consumer's stream does not wait for the batch */
    bool no_release_wait; /* the copy stream does not wait for anybody */
};

/* The functions of `base`, watched. The calling thread is the one that must not wait. */
const struct device_ops *watched_begin(const struct device_ops *base, const struct watched *what);

/* Calls of synchronise() on that thread since then. */
uint64_t watched_waits(void);

#endif
