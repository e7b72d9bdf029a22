/* "Did you mean …?" */
#ifndef YPK_COMMON_SUGGEST_H
#define YPK_COMMON_SUGGEST_H

#include <stddef.h>

/* The candidate that `word` is most likely a misspelling of: the fewest letters added, left out, replaced or swapped
 * with their neighbour, at most one in three of the word (one in a short word), ASCII case aside; the first of equals.
 * NULL when nothing is near. Candidates that are NULL, and words over 255 bytes, are passed over. The result is one of
 * `candidates`. */
const char *suggest_nearest(const char *word, const char *const *candidates, size_t count);

#endif
