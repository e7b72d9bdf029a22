/* Which of the settings that `tune` measured to use: the least memory that is as fast as the best. */
#ifndef YPK_TOOLS_TUNE_CHOICE_H
#define YPK_TOOLS_TUNE_CHOICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    TUNE_FINAL_ROUNDS = 5,
    TUNE_ROUNDS = 1 + TUNE_FINAL_ROUNDS, /* every setting is in the first, finalists are in all */
    TUNE_FINALISTS = 6,                  /* beside the automatic setting */
    TUNE_NEAR_BEST_PERCENT = 2,          /* a rate so near the best is as good */
    TUNE_WAIT_PERCENT = 1                /* a step that waits no longer waits for nothing */
};

struct tune_setting {
    uint32_t workers, prefetch;
    bool automatic;   /* the loader chose them; the last of all settings is this one */
    uint32_t changes; /* and so often something else */
    uint64_t memory_bytes;
    unsigned rounds;              /* measured in so many */
    double rates[TUNE_ROUNDS];    /* samples a second in each */
    double seconds, wait_seconds; /* of all of them; the step stood still for the latter */
    double rate;                  /* what came of the rounds: tune_settle() */
};

double tune_wait_ratio(const struct tune_setting *s);

/* The fastest settings of the first round that are within a tenth of the best, and the automatic one: their indexes. */
size_t tune_finalists(size_t out[TUNE_FINALISTS + 1], const struct tune_setting *settings, size_t count);

/* Sets every rate. A machine that is busy with something else slows all finalists of a round alike: each is compared
 * with its round's mean, and the median of these ratios counts. A setting of one round keeps that round's rate. */
void tune_settle(struct tune_setting *settings, size_t count);

/* Of the finalists. 0 if there are none. */
double tune_best_rate(const struct tune_setting *settings, size_t count);

/* Index of the finalist with the least memory, then the fewest workers, of those as good as the best; without a
 * finalist that is, the automatic one. With a step, one that hardly waits is good at any rate. */
size_t tune_recommended(const struct tune_setting *settings, size_t count, bool has_step);

#endif
