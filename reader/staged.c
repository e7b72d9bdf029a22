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

struct search {
    const char *root;
    uint64_t identity;
    bool known; /* the identity is computed when first needed: where nothing is staged, opening costs one lstat */
};

/* Looks in one home; *out stays NULL if the pack has no copy there. */
static int find_in(char **out, struct search *s, const char *home, struct error *error) {
    int rc = staging_check_home(home, error);
    if (rc == 0 && !s->known)
        rc = staging_identity(&s->identity, s->root, error);
    if (rc)
        return rc;
    s->known = true;
    char *copy = staging_copy(home, s->identity);
    if (!copy)
        return error_set(error, ERR_MEMORY, "%s: out of memory", s->root);
    if (is_directory(copy))
        *out = copy;
    else
        free(copy);
    return 0;
}

static int find_below(char **out, struct search *s, const char *base, struct error *error) {
    char *home = staging_home(base);
    if (!home)
        return error_set(error, ERR_MEMORY, "%s: out of memory", s->root);
    int rc = is_directory(home) ? find_in(out, s, home, error) : 0;
    free(home);
    return rc;
}

int staged_find(char **out, const char *root, int stage, struct error *error) {
    const char *bases[STAGING_BASES];
    struct search search = {.root = root};
    *out = NULL;
    if (stage == YPK_STAGE_OFF)
        return 0;
    size_t count = staging_bases(bases);
    for (size_t i = 0; i < count && !*out; i++) {
        struct error inner = {0};
        int rc = find_below(out, &search, bases[i], &inner);
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
