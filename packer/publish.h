/*
 * A pack appears whole or not at all.
 *
 *   NAME.ypk.partial/   everything is written and synced here   ──rename──>   NAME.ypk
 *
 * An older pack of that name is exchanged for the new one in one step and removed afterwards. A killed run leaves the
 * directory; --resume goes on in it, any other run starts it anew.
 */
#ifndef YPK_PACKER_PUBLISH_H
#define YPK_PACKER_PUBLISH_H

#include "error.h"

#include <stdbool.h>
#include <stdint.h>

struct publish {
    char *output;    /* final path */
    char *directory; /* where to write until then */
    int lock_fd;     /* flock on the directory: one packer at a time */
    bool resumed;    /* an unfinished run with the same fingerprint is being continued */
    bool restarted;  /* an unfinished run was there and was removed */
};

/* Whether publish_begin() will take `output`, so that it is known before the data set is read. ERR_INPUT if something
 * stands there, or at NAME.ypk.partial, that is no pack and not an unfinished one: neither is ever removed. */
int publish_check(const char *output, struct error *error);

/*
 * Prepares the directory. `fingerprint` stands for everything that decides the pack's bytes but the source files. With
 * `resume` an unfinished run is continued if its fingerprint is the same (ERR_INPUT if not); without one the run simply
 * starts. ERR_INPUT as publish_check() says, or if another process is packing there.
 */
int publish_begin(struct publish *p, const char *output, bool resume, uint64_t fingerprint, struct error *error);

/* Removes what only an unfinished pack has (part files, the resume state), syncs the rest and puts the directory in its
 * place. `*p` is finished either way. */
int publish_commit(struct publish *p, struct error *error);

/* Ends without publishing; the directory stays for --resume when `keep` is set. */
void publish_abort(struct publish *p, bool keep);

#endif
