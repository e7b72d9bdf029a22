#include "arena.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define BLOCK_BYTES ((size_t)256 << 10)

struct arena_block {
    struct arena_block *next;
    size_t used, capacity;
    char bytes[];
};

char *arena_reserve(struct arena *arena, size_t size) {
    struct arena_block *block = arena->blocks;
    if (!block || size > block->capacity - block->used) {
        size_t capacity = size > BLOCK_BYTES ? size : BLOCK_BYTES;
        if (capacity > SIZE_MAX - sizeof *block)
            return NULL;
        block = malloc(sizeof *block + capacity);
        if (!block)
            return NULL;
        *block = (struct arena_block){.next = arena->blocks, .capacity = capacity};
        arena->blocks = block;
    }
    char *bytes = block->bytes + block->used;
    block->used += size;
    return bytes;
}

char *arena_text(struct arena *arena, const char *text, size_t size) {
    char *copy = arena_reserve(arena, size + 1);
    if (copy) {
        memcpy(copy, text, size);
        copy[size] = '\0';
    }
    return copy;
}

char *arena_path(struct arena *arena, const char *directory, const char *name) {
    size_t directory_size = strlen(directory), name_size = strlen(name), slash = directory_size != 0;
    char *path = arena_reserve(arena, directory_size + slash + name_size + 1);
    if (path) {
        memcpy(path, directory, directory_size);
        memcpy(path + directory_size, "/", slash);
        memcpy(path + directory_size + slash, name, name_size + 1);
    }
    return path;
}

void arena_deinit(struct arena *arena) {
    for (struct arena_block *block = arena->blocks, *next; block; block = next) {
        next = block->next;
        free(block);
    }
    arena->blocks = NULL;
}
