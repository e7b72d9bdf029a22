/* Many short strings that live and die together. */
#ifndef YPK_PACKER_ARENA_H
#define YPK_PACKER_ARENA_H

#include <stddef.h>

/* Zero-initialise. */
struct arena {
    struct arena_block *blocks;
};

/* `size` bytes for the caller to fill, unaligned, kept until arena_deinit(). NULL if memory ran out. */
char *arena_reserve(struct arena *arena, size_t size);

/* A copy of `size` bytes of text with a NUL behind it. NULL if memory ran out. */
char *arena_text(struct arena *arena, const char *text, size_t size);

/* "directory/name", or "name" when the directory is "". NULL if memory ran out. */
char *arena_path(struct arena *arena, const char *directory, const char *name);

void arena_deinit(struct arena *arena);

#endif
