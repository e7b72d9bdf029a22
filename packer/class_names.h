/* The class ids that a data set uses, and names for them where it has none: their numbers. */
#ifndef YPK_PACKER_CLASS_NAMES_H
#define YPK_PACKER_CLASS_NAMES_H

#include "data_yaml.h"
#include "error.h"
#include "index.h"

#include <stdint.h>

/* Ids of the rows that were kept: first <= id < end; empty while end is 0. */
struct class_range {
    uint32_t first, end;
};

static inline void class_range_join(struct class_range *to, struct class_range from) {
    if (from.end == 0)
        return;
    if (to->end == 0 || from.first < to->first)
        to->first = from.first;
    if (from.end > to->end)
        to->end = from.end;
}

/* Appends "0" … "count - 1". 0 or ERR_MEMORY. */
int class_names_number(struct string_list *out, uint32_t count);

#define CLASS_FILTER_BYTES ((INDEX_CLASS_LIMIT + 7) / 8)

/* Sets the bits of the classes in `text` ("0,2,7", "person,car"; what is made of digits is an id, a name all ids it
 * has). `names` are those of the data set, or empty: then there are only ids. ERR_INPUT says which is no class. */
int class_filter_parse(uint8_t out[CLASS_FILTER_BYTES], const char *text, const struct string_list *names,
                       struct error *error);

#endif
