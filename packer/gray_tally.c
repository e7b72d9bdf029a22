#include "gray_tally.h"

#include "error.h"
#include "file.h"

#include <stdio.h>
#include <string.h>

#define DIRECTORY_MINIMUM 10u /* fewer gray pictures in a directory may be chance */

static struct gray_directory *find(struct gray_tally *tally, const char *path) {
    size_t size = (size_t)(path_base(path) - path);
    for (size_t i = 0; i < tally->directory_count; i++) { /* the last one first: pictures come in order */
        size_t index = (tally->last + i) % tally->directory_count;
        struct gray_directory *d = &tally->directories[index];
        if (d->size == size && memcmp(d->path, path, size) == 0) {
            tally->last = index;
            return d;
        }
    }
    if (tally->directory_count == GRAY_DIRECTORY_LIMIT)
        return NULL;
    tally->last = tally->directory_count++;
    tally->directories[tally->last] = (struct gray_directory){.path = path, .size = size};
    return &tally->directories[tally->last];
}

void gray_tally_add(struct gray_tally *tally, const char *path, bool gray) {
    tally->count++;
    tally->gray += gray;
    struct gray_directory *directory = tally->too_many ? NULL : find(tally, path);
    tally->too_many |= !directory;
    if (directory) {
        directory->count++;
        directory->gray += gray;
    }
}

int gray_tally_hint(char **out, const struct gray_tally *tally) {
    const struct gray_directory *first = NULL;
    size_t in_gray = 0, directories = 0;
    *out = NULL;
    if (tally->count > 1 && tally->gray == tally->count)
        return asprintf(out, "all %zu pictures are gray, and taken as RGB. If they are infrared: --modality ir",
                        tally->count) < 0
                   ? ERR_MEMORY
                   : 0;
    for (size_t i = 0; i < tally->directory_count; i++) {
        const struct gray_directory *d = &tally->directories[i];
        if (d->gray != d->count || d->count < DIRECTORY_MINIMUM)
            continue;
        first = first ? first : d;
        in_gray += d->count;
        directories++;
    }
    if (!first || tally->too_many || in_gray != tally->gray)
        return 0;
    char more[48] = "";
    if (directories > 1)
        snprintf(more, sizeof more, " and %zu other director%s", directories - 1, directories == 2 ? "y" : "ies");
    return asprintf(out,
                    "all %zu pictures of %.*s%s are gray, and taken as RGB; no other is. If they are infrared: --pair "
                    "dir:RGB=IR, or that directory alone with --modality ir",
                    in_gray, (int)first->size, first->path, more) < 0
               ? ERR_MEMORY
               : 0;
}
