/* What the names of directories say about the pictures in them, where no rule of pair_rule.h knows them. */
#ifndef YPK_PACKER_PAIR_WORD_H
#define YPK_PACKER_PAIR_WORD_H

#include "pair_rule.h"
#include "scan.h"

#include <stdbool.h>
#include <stddef.h>

/* What a name says by its words: ROLE_IR for "ImagesIR", "FIR", "thermal_8_bit", "lwir-frames", ROLE_RGB for "RGB",
 * "visible_light", ROLE_NONE for "images", "first" and for "rgb_ir". Words are parted by what is no letter, by digits
 * and by the case of letters, which else does not matter. */
enum pair_role pair_word_role(const char *name, size_t size);

/* Pictures counted by the last directory of their path that says something. Zero-initialise. */
struct pair_words {
    size_t infrared_count, other_count;
    const char *infrared; /* a path with that directory, at its byte `at`, of `size` bytes; NULL: none */
    size_t at, size;
    bool several;     /* there are others that say infrared, by other names */
    const char *last; /* the path counted before: mostly of the same directory */
    bool last_infrared;
};
void pair_words_count(struct pair_words *words, const char *path);

/* The rule "dir:A=B" with B the one infrared name that was counted and A the name beside it in whose place most
 * pictures of the same names lie. False if there is none: B is not the only one, or no name is the same. */
bool pair_words_rule(struct pair_rule *out, const struct pair_words *words, const struct path_list *images);

#endif
