/*
 * A new directory that is filled with files, and appears whole or not at all.
 *
 *   ROOT/unfinished.XXXXXX/…   everything is written here   ──rename──>   ROOT/…
 *
 * Inside and not beside, so that an empty directory of the user's can be filled: a mount, or one with rights of its
 * own. Nothing is ever written outside the root or over another file, and nothing is removed that the tree has not
 * made.
 */
#ifndef YPK_TOOLS_TREE_H
#define YPK_TOOLS_TREE_H

#include "error.h"

#include <stdbool.h>
#include <stddef.h>

struct tree {
    char *root;
    char *work;   /* where everything is until tree_commit() */
    char *parent; /* the directory that was made last: most files share theirs with the one before */
    size_t made;  /* the shortest beginning of `root` that had to be made, bytes; 0: all was there */
};

/* Makes `root`, or takes it as it is if it is an empty directory. ERR_ARGUMENT if anything is in it. */
int tree_create(struct tree *t, const char *root, struct error *error);

/*
 * Writes a file at `path` below the root, which tree_safe_path() must have passed, and makes its directories. If the
 * file is there already with the same bytes that is success; with other bytes it is ERR_INPUT.
 */
int tree_write(struct tree *t, const char *path, const void *data, size_t size, struct error *error);

/* Moves everything to its place. Where that fails, nothing has moved. ERR_INPUT if there is something of that name. */
int tree_commit(struct tree *t, struct error *error);

/* Removes what was not committed, and the directories that were made for it. */
void tree_deinit(struct tree *t);

/* `path` with whatever would lead out of the root replaced: a leading '/' is dropped, "." and empty components too,
 * ".." becomes "__". *changed tells if anything was. malloc'ed, NULL if memory ran out. */
char *tree_safe_path(const char *path, bool *changed);

#endif
