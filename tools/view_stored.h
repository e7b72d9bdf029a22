/* Samples as they are stored, drawn on a contact sheet. */
#ifndef YPK_TOOLS_VIEW_STORED_H
#define YPK_TOOLS_VIEW_STORED_H

#include "sheet.h"
#include "yolopack.h"

struct view_stored {
    uint64_t first, count;
    uint64_t columns; /* 0: chosen */
};

/* Cuts the wish to what the split has and draws. `sheet` is the caller's to deinit, also after a failure. */
int view_stored_draw(struct sheet *sheet, const ypk_dataset *dataset, struct view_stored *wish, struct error *error);

#endif
