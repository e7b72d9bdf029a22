#include "bytes.h"

#include "error.h"

#include <stdlib.h>

int bytes_reserve(struct bytes *b, size_t capacity) {
    if (capacity <= b->capacity)
        return 0;
    uint8_t *data = realloc(b->data, capacity);
    if (!data)
        return ERR_MEMORY;
    b->data = data;
    b->capacity = capacity;
    return 0;
}

int bytes_append(struct bytes *b, const void *data, size_t n) {
    if (n == 0)
        return 0;
    if (n > SIZE_MAX - b->size)
        return ERR_MEMORY;
    size_t needed = b->size + n;
    if (needed > b->capacity) {
        size_t grown = b->capacity > SIZE_MAX / 2 ? SIZE_MAX : b->capacity + b->capacity / 2 + 64;
        if (bytes_reserve(b, grown > needed ? grown : needed) != 0)
            return ERR_MEMORY;
    }
    memcpy(b->data + b->size, data, n);
    b->size = needed;
    return 0;
}

void bytes_deinit(struct bytes *b) {
    free(b->data);
    *b = (struct bytes){0};
}
