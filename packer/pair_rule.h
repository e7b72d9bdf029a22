/* The rules that say, from paths alone, which picture is the RGB and which the IR one of a pair. */
#ifndef YPK_PACKER_PAIR_RULE_H
#define YPK_PACKER_PAIR_RULE_H

#include "error.h"

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

enum pair_role { ROLE_NONE, ROLE_RGB, ROLE_IR };

enum pair_rule_kind {
    PAIR_BY_DIRECTORY, /* the last directory of the path that is `rgb` or `ir` */
    PAIR_BY_SUFFIX,    /* the stem ends with `rgb` or `ir`; one of them may be "" */
    PAIR_BY_MAP,       /* a file says it */
    PAIR_BY_LIST,      /* train_ir, val_ir, test_ir of data.yaml */
    PAIR_SINGLE,       /* one modality */
};

#define PAIR_WORD_BYTES 64u

struct pair_rule {
    enum pair_rule_kind kind;
    char rgb[PAIR_WORD_BYTES], ir[PAIR_WORD_BYTES];
    const char *map_file; /* borrowed from the text that was parsed */
};

/* "yolofuse", "dir:A=B", "suffix:A=B" or "map:FILE". ERR_ARGUMENT. */
int pair_rule_parse(struct pair_rule *out, const char *text, struct error *error);

/* Row `i` of the rules that "auto" tries; NULL past the end. */
const struct pair_rule *pair_rule_auto(size_t i);

/* By directory and by suffix: what the picture is. */
enum pair_role pair_rule_role(const struct pair_rule *rule, const char *path);

/* By directory and by suffix: where the RGB partner of an IR picture would lie, up to and with the dot before its
 * suffix ("images/train/a."). False if that is longer than a path can be. */
bool pair_rule_rgb_stem(const struct pair_rule *rule, const char *ir_path, char out[PATH_MAX]);

/* "images/ + imagesIR/ by name (YOLOFuse layout)". `out` has 256 bytes. */
void pair_rule_describe(const struct pair_rule *rule, char *out);

/* The last directory of `path` that is `word`; NULL if none is. */
const char *path_component(const char *path, const char *word);

/* The length of the path before the last dot of its file name; all of it if there is none. */
size_t path_stem_size(const char *path);

#endif
