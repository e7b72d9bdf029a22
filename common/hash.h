/* XXH3 of the xxHash library, with the vector instructions of the machine where the library can choose them as it runs: the
 * same hashes, twice as fast as with those that every machine has. */
#ifndef YPK_COMMON_HASH_H
#define YPK_COMMON_HASH_H

#include <xxhash.h>
#ifdef YPK_XXH_DISPATCH
#include <xxh_x86dispatch.h>
#endif

#endif
