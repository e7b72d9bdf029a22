/* Does a staged copy of this pack exist? */
#ifndef YPK_READER_STAGED_H
#define YPK_READER_STAGED_H

#include "error.h"

/* The directory with staged files of the pack at `root`, malloc'ed; NULL if there is none, or `stage` (YPK_STAGE_*) is
 * YPK_STAGE_OFF. With YPK_STAGE_REQUIRE that is ERR_NOT_FOUND, and a place that is not to be trusted is ERR_INPUT. */
int staged_find(char **out, const char *root, int stage, struct error *error);

#endif
