/* The border between the library's own errors and the public ypk_error. */
#ifndef YPK_READER_API_ERROR_H
#define YPK_READER_API_ERROR_H

#include "error.h"
#include "yolopack.h"

/* Publishes a failure: copies `error` to `out`, which may be NULL, and returns its code. */
int api_fail(ypk_error *out, const struct error *error);

#endif
