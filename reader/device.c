#include "device.h"

#include "device_cuda.h"

#include <stdlib.h>
#include <string.h>

#define ORDINAL_LIMIT 1024

/* "cuda" or "cuda:N". */
static bool parse_cuda(int *ordinal, const char *name) {
    char *end = NULL;
    if (strcmp(name, "cuda") == 0) {
        *ordinal = 0;
        return true;
    }
    if (strncmp(name, "cuda:", 5) != 0 || name[5] < '0' || name[5] > '9')
        return false;
    unsigned long n = strtoul(name + 5, &end, 10);
    *ordinal = (int)(n < ORDINAL_LIMIT ? n : ORDINAL_LIMIT);
    return *end == '\0' && n < ORDINAL_LIMIT;
}

int device_find(const struct device_ops **ops, int *ordinal, const char *name, struct error *error) {
    *ops = NULL;
    *ordinal = 0;
    if (!name || strcmp(name, "cpu") == 0)
        return 0;
    if (strcmp(name, "host") == 0) {
        *ops = &device_host;
        return 0;
    }
    if (parse_cuda(ordinal, name))
        return device_cuda_load(ops, error);
    return error_set(error, ERR_ARGUMENT,
                     "device \"%s\": it is \"cpu\", \"cuda\", \"cuda:N\" with the number of a device, or \"auto\"",
                     name);
}
