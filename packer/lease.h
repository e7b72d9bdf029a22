/*
 * Who uses a staged copy: one empty file each in the copy's leases/, whose name says it all.
 *
 *     job-NAME                               until it is dropped
 *     process-PID-START-NAMESPACE-BOOT       while that process lives
 *
 * A process is known by its id, when it started (/proc/PID/stat, clock ticks), in which pid namespace, and since which
 * boot. One of another namespace cannot be seen from here, and counts as alive.
 */
#ifndef YPK_PACKER_LEASE_H
#define YPK_PACKER_LEASE_H

#include "error.h"

#include <stdbool.h>
#include <stddef.h>

enum { LEASE_BYTES = 160 };

struct lease {
    char name[LEASE_BYTES];
};

/* The lease `job`; NULL: of the login session's leader, so that what one shell, batch job or service starts shares a
 * lease. If that is this very process or is gone, its parent stands in; where that cannot be seen, process 1.
 * ERR_ARGUMENT for a name that is not 1 to 64 of A-Z a-z 0-9 . _ -. */
int lease_name(struct lease *out, const char *job, struct error *error);

/* `directory` is the copy's, which the caller has locked. Taking a lease that is there already is success; dropping one
 * that is not there gives ERR_NOT_FOUND. */
int lease_take(const char *directory, const struct lease *lease, struct error *error);
int lease_drop(const char *directory, const struct lease *lease, struct error *error);

/* Drops those of dead processes (`all`: every one). */
int lease_sweep(const char *directory, bool all, struct error *error);

/* Calls `visit` for each; NULL counts only. The number of leases in *count. */
int lease_list(size_t *count, const char *directory, void (*visit)(void *arg, const struct lease *lease), void *arg,
               struct error *error);

/* "job 4711", "process 1234 (bash)" for people. */
void lease_text(char *out, size_t size, const struct lease *lease);

#endif
