#include "class_names.h"

#include "suggest.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int class_names_number(struct string_list *out, uint32_t count) {
    char text[16];
    int rc = 0;
    for (uint32_t i = 0; rc == 0 && i < count; i++) {
        snprintf(text, sizeof text, "%" PRIu32, i);
        rc = string_list_add(out, text);
    }
    return rc;
}

static int refuse_name(const char *name, const struct string_list *names, struct error *error) {
    const char *near = suggest_nearest(name, (const char *const *)names->items, names->count);
    if (names->count == 0)
        return error_set(error, ERR_INPUT, "--classes: %s: the data set names no classes: use their numbers", name);
    if (near)
        return error_set(error, ERR_INPUT, "--classes: there is no class %s (did you mean %s?)", name, near);
    return error_set(error, ERR_INPUT, "--classes: there is no class %s among the %zu of the data set", name,
                     names->count);
}

static void set_bit(uint8_t out[CLASS_FILTER_BYTES], size_t id) {
    out[id / 8] |= (uint8_t)(1u << id % 8);
}

/* Sets the bits of what one entry of the list means: an id, or all ids of a name. */
static int add_classes(uint8_t out[CLASS_FILTER_BYTES], const char *entry, const struct string_list *names,
                       struct error *error) {
    uint32_t limit = names->count > 0 ? (uint32_t)names->count : INDEX_CLASS_LIMIT;
    if (*entry == '\0')
        return error_set(error, ERR_INPUT, "--classes: an entry of the list is empty");
    if (entry[strspn(entry, "0123456789")] == '\0') {
        unsigned long id = strlen(entry) < 10 ? strtoul(entry, NULL, 10) : limit;
        if (id >= limit)
            return error_set(error, ERR_INPUT, "--classes: there is no class %s: they go from 0 to %" PRIu32, entry,
                             limit - 1);
        set_bit(out, id);
        return 0;
    }
    bool found = false;
    for (size_t i = 0; i < names->count; i++)
        if (strcmp(names->items[i], entry) == 0) {
            set_bit(out, i);
            found = true;
        }
    return found ? 0 : refuse_name(entry, names, error);
}

int class_filter_parse(uint8_t out[CLASS_FILTER_BYTES], const char *text, const struct string_list *names,
                       struct error *error) {
    char *copy = strdup(text);
    int rc = copy ? 0 : error_set(error, ERR_MEMORY, "out of memory");
    memset(out, 0, CLASS_FILTER_BYTES);
    for (char *rest = copy, *entry; rc == 0 && (entry = strsep(&rest, ",")) != NULL;)
        rc = add_classes(out, entry, names, error);
    free(copy);
    return rc;
}
