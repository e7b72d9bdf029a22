#include "staged.h"

#include "staging.h"
#include "yolopack.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/stat.h>

static bool is_directory(const char *path) {
    struct stat st;
    return lstat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

/* Looks below one base. The identity is computed when first needed: where nothing is staged, opening costs one lstat. */
static int find_below(char **out, const char *base, const char *root, uint64_t *identity, bool *known,
                      struct error *error) {
    char *home = staging_home(base), *copy = NULL;
    int rc = home ? staging_check_home(home, error) : error_set(error, ERR_MEMORY, "%s: out of memory", root);
    if (rc == ERR_NOT_FOUND) {
        free(home);
        return 0;
    }
    if (rc == 0 && !*known)
        rc = staging_identity(identity, root, error);
    *known = *known || rc == 0;
    if (rc == 0 && !(copy = staging_copy(home, *identity)))
        rc = error_set(error, ERR_MEMORY, "%s: out of memory", root);
    if (rc == 0 && is_directory(copy))
        *out = copy;
    else
        free(copy);
    free(home);
    return rc;
}

int staged_find(char **out, const char *root, int stage, struct error *error) {
    const char *bases[STAGING_BASES];
    uint64_t identity = 0;
    bool known = false;
    *out = NULL;
    if (stage == YPK_STAGE_OFF)
        return 0;
    size_t count = staging_bases(bases);
    for (size_t i = 0; i < count && !*out; i++) {
        struct error inner = {0};
        int rc = find_below(out, bases[i], root, &identity, &known, &inner);
        /* With YPK_STAGE_AUTO a place that cannot be used is one where nothing is. */
        if (rc == ERR_MEMORY || (rc != 0 && stage == YPK_STAGE_REQUIRE)) {
            if (error)
                *error = inner;
            return rc;
        }
    }
    if (!*out && stage == YPK_STAGE_REQUIRE)
        return error_set(error, ERR_NOT_FOUND, "%s: is not staged (yolopack stage %s)", root, root);
    return 0;
}
