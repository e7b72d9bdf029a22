#include "class_names.h"

#include <inttypes.h>
#include <stdio.h>

int class_names_number(struct string_list *out, uint32_t count) {
    char text[16];
    int rc = 0;
    for (uint32_t i = 0; rc == 0 && i < count; i++) {
        snprintf(text, sizeof text, "%" PRIu32, i);
        rc = string_list_add(out, text);
    }
    return rc;
}
