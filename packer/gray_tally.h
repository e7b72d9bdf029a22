/* Whether the pictures of a set that is taken as RGB, or of one of its directories, are all gray: then they may be
 * infrared. */
#ifndef YPK_PACKER_GRAY_TALLY_H
#define YPK_PACKER_GRAY_TALLY_H

#include <stdbool.h>
#include <stddef.h>

#define GRAY_DIRECTORY_LIMIT 64u

struct gray_directory {
    const char *path; /* of its first picture; borrowed */
    size_t size;      /* of the part that is the directory, with its slash */
    size_t gray, count;
};

/* Zero-initialise. */
struct gray_tally {
    size_t gray, count;
    struct gray_directory directories[GRAY_DIRECTORY_LIMIT];
    size_t directory_count, last;
    bool too_many; /* directories: only the whole set is judged */
};

/* `path` outlives the tally. */
void gray_tally_add(struct gray_tally *tally, const char *path, bool gray);

/* A line for people: every picture is gray; or some directories hold nothing else and the others nothing of it. NULL in
 * *out when there is nothing to say. A gray picture among others, as any set has some, says nothing. malloc'ed. 0 or
 * ERR_MEMORY. */
int gray_tally_hint(char **out, const struct gray_tally *tally);

#endif
