#include "device_cuda.h"

#include "yolopack.h"

#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The folder of the library or program that this code is in, without a slash at the end. "" if it cannot be told. */
static void find_own_folder(char out[PATH_MAX]) {
    static const char here = 0;
    struct link_map *map = NULL;
    Dl_info info;
    out[0] = '\0';
    if (!dladdr1(&here, &info, (void **)&map, RTLD_DL_LINKMAP))
        return;
    /* a program has no name in its own list; what it was called with need not be a path */
    const char *name = map && map->l_name[0] != '\0' ? map->l_name : "/proc/self/exe";
    if (!realpath(name, out)) {
        out[0] = '\0';
        return;
    }
    char *slash = strrchr(out, '/');
    if (slash)
        *slash = '\0';
}

/* *path: the file to load. What is named, and what lies there, is taken or refused, and never passed over. */
static void choose_path(char *path, size_t size, const char *folder) {
    static const char *const places[] = {"", "/../lib"};
    const char *named = secure_getenv("YPK_CUDA_LIBRARY");
    if (named && named[0] != '\0') {
        snprintf(path, size, "%s", named);
        return;
    }
    for (size_t i = 0; folder[0] != '\0' && i < sizeof places / sizeof places[0]; i++) {
        int length = snprintf(path, size, "%s%s/%s", folder, places[i], DEVICE_CUDA_FILE);
        if (length > 0 && (size_t)length < size && access(path, F_OK) == 0)
            return;
    }
    snprintf(path, size, "%s", DEVICE_CUDA_FILE);
}

static int check(const struct device_cuda_library *found, const char *path, struct error *error) {
    if (!found)
        return error_set(error, ERR_DEVICE, "%s is not yolopack's: it has no symbol %s", path, DEVICE_CUDA_SYMBOL);
    if (strcmp(found->version, ypk_version()) != 0)
        return error_set(error, ERR_DEVICE, "%s belongs to yolopack %s and this is %s: install both from one build",
                         path, found->version, ypk_version());
    if (found->ops_bytes != sizeof(struct device_ops) || found->convert_bytes != sizeof(struct device_convert))
        return error_set(error, ERR_DEVICE, "%s is of another build of yolopack %s: install both from one build", path,
                         found->version);
    return 0;
}

int device_cuda_load(const struct device_ops **ops, struct error *error) {
    char folder[PATH_MAX], path[PATH_MAX];
    *ops = NULL;
    find_own_folder(folder);
    choose_path(path, sizeof path, folder);
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library && strcmp(path, DEVICE_CUDA_FILE) == 0)
        return error_set(
            error, ERR_DEVICE,
            "the CUDA part of yolopack cannot be loaded: %s (looked for in %s, in %s/../lib, and where the "
            "loader looks). Install it, or name the file with YPK_CUDA_LIBRARY",
            dlerror(), folder, folder);
    if (!library)
        return error_set(error, ERR_DEVICE, "the CUDA part of yolopack cannot be loaded: %s", dlerror());
    const struct device_cuda_library *found = dlsym(library, DEVICE_CUDA_SYMBOL);
    int rc = check(found, path, error);
    if (rc == 0)
        *ops = found->ops; /* stays loaded: another loader only counts it once more */
    else
        dlclose(library);
    return rc;
}
