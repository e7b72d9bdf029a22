/* A new directory that is being filled with files. Nothing is ever written outside it, or over another file. */
#ifndef YPK_TOOLS_TREE_H
#define YPK_TOOLS_TREE_H

#include "error.h"

#include <stdbool.h>
#include <stddef.h>

struct tree {
    char *root;
    char *parent; /* the directory that was made last: most files share theirs with the one before */
};

/* Makes `root`, or takes it as it is if it is an empty directory. ERR_ARGUMENT if anything is in it. */
int tree_create(struct tree *t, const char *root, struct error *error);

/*
 * Writes a file at `path` below the root, which tree_safe_path() must have passed, and makes its directories. If the file
 * is there already with the same bytes that is success; with other bytes it is ERR_INPUT.
 */
int tree_write(struct tree *t, const char *path, const void *data, size_t size, struct error *error);
void tree_deinit(struct tree *t);

/* `path` with whatever would lead out of the root replaced: a leading '/' is dropped, "." and empty components too, ".."
 * becomes "__". *changed tells if anything was. malloc'ed, NULL if memory ran out. */
char *tree_safe_path(const char *path, bool *changed);

#endif
