/* The data.yaml of an exported pack: gathered sample by sample, written at the end. */
#ifndef YPK_TOOLS_EXPORT_YAML_H
#define YPK_TOOLS_EXPORT_YAML_H

#include "bytes.h"
#include "data_yaml.h"
#include "tree.h"
#include "yolopack.h"

struct export_split {
    char name[48];
    char same_as[48];    /* "" or the split that has the same samples; nothing else is set then */
    struct bytes list;   /* "./images/train/a.jpg\n" of every sample */
    char *directory;     /* the deepest that holds them all; NULL before the first */
    char *ir_word;       /* the one path component that differs in IR paths, NULL before the first pair */
    size_t ir_component; /* its position, from 0 */
    bool ir_irregular;   /* no one component says where the IR partner is */
    bool ir_by_rule;     /* images -> imagesIR: nothing has to be said */
};

struct export_yaml {
    struct export_split splits[8];
    size_t split_count;
};

/* A new split. ERR_CORRUPT if a pack claims more than eight. */
int export_yaml_split(struct export_yaml *y, const char *name, const char *same_as, struct error *error);

/* A sample of the newest split, by the paths it was written to; ir is NULL where there is none. 0 or ERR_MEMORY. */
int export_yaml_sample(struct export_yaml *y, const char *image, const char *ir);

/* Writes data.yaml, and NAME.txt lists where the splits' directories overlap. `dataset` says task and classes. */
int export_yaml_write(const struct export_yaml *y, struct tree *tree, const ypk_dataset *dataset,
                      const struct flip_index *flip, struct error *error);
void export_yaml_deinit(struct export_yaml *y);

#endif
