/* What a plan is made of: for the files of the plan only. */
#ifndef YPK_READER_PLAN_PRIVATE_H
#define YPK_READER_PLAN_PRIVATE_H

#include "permutation.h"
#include "plan.h"

#include <stdbool.h>
#include <stdint.h>

struct plan {
    struct plan_options options;
    struct permutation order;      /* to be keyed with the epoch's key */
    uint64_t batches;              /* an epoch */
    int64_t span;                  /* positions an epoch: batches * batch */
    int64_t end;                   /* first position after the last epoch, INT64_MAX without end */
    int64_t closing_epoch;         /* first epoch without mosaic, mixup and cutmix; INT64_MAX if there is none */
    uint32_t side_low, side_count; /* multi_scale draws a side from side_low + 0 … side_count - 1; count 0: off */
    bool has_infrared;             /* any option of the infrared draws is on */
    uint32_t *rect_order;          /* [sample_count], NULL without rect */
    struct size_px *rect_frames;   /* [batches], NULL without rect */
};

#endif
