/* Samples as training or evaluation gets them: the loader's own tensors, drawn on a contact sheet. */
#ifndef YPK_TOOLS_VIEW_BATCH_H
#define YPK_TOOLS_VIEW_BATCH_H

#include "sheet.h"
#include "yolopack.h"

struct view_batch {
    ypk_loader_options options; /* of the training run, with the global batch and one rank */
    uint64_t epoch, position;   /* of the first sample, in its epoch */
    uint64_t count;
    uint64_t columns; /* 0: chosen */
    char recipe[200]; /* what the title adds of the augmentation: "", ", mosaic=0.5" */
};

/* Cuts the wish to what the epoch has and draws. `sheet` is the caller's to deinit, also after a failure. */
int view_batch_draw(struct sheet *sheet, const ypk_dataset *dataset, struct view_batch *wish, struct error *error);

#endif
