/*
 * How many workers and slots a loader should have, from what was seen since the last look. Pure: no clock, no thread.
 *
 *   the consumer waits ── workers sleep at times, too ──────────────────────────> more slots: they even out the two
 *                     ├── fewer workers than cores ─────────────────────────────> more workers
 *                     ├── cores are idle, threads wait for something ───────────> try more, up to twice the cores
 *                     └── more workers than cores, and all cores are at work ───> try as many as there are cores
 *   it does not ──────┬── fewer workers would do with a third to spare ─────────> those
 *                     └── full slots are always left over ──────────────────────> one slot less
 *
 * A wish must hold for some looks in a row before it is granted, longer each time for what was granted in vain before,
 * so that nothing swings. What is tried is taken back unless the rows' rate follows.
 */
#ifndef YPK_READER_BALANCE_H
#define YPK_READER_BALANCE_H

#include <stdbool.h>
#include <stdint.h>

/* Equal least and most: fixed. */
struct balance_limits {
    uint32_t workers_least, workers_most;
    uint32_t slots_least, slots_most;
    uint64_t worker_bytes, slot_bytes; /* what one more takes */
};

/* What happened since the last look, in seconds of time but where it says otherwise. */
struct balance_sight {
    double seconds;
    double wait;      /* of the consumer, for a batch */
    double sleep;     /* of all workers, for a slot or for each other */
    double cpu;       /* of the process, on all cores */
    uint64_t rows;    /* made */
    uint64_t blocks;  /* how often a thread of the process stopped to wait: for the storage, say, not for a core */
    uint32_t spare;   /* full slots that there were at least whenever one became free */
    uint32_t cores;   /* that may be used now */
    uint32_t workers; /* that there are: fewer than wanted if they could not be had */
    uint32_t slots;
    uint64_t room_bytes; /* that more of them may take */
};

struct balance_aim {
    uint32_t workers, slots;
};

enum balance_wish {
    WISH_NOTHING,
    WISH_WORKERS,
    WISH_TRY_MORE,
    WISH_TRY_FEWER,
    WISH_FEWER_WORKERS,
    WISH_SLOTS,
    WISH_FEWER_SLOTS,
    WISH_COUNT
};

/* The rest is balance.c's. */
struct balance {
    struct balance_limits limits;
    struct balance_aim aim;
    uint32_t cores;
    enum balance_wish wish;        /* of the last look, */
    uint32_t streak;               /* and of how many before it in a row */
    uint32_t patience[WISH_COUNT]; /* looks that it takes */
    bool settling;                 /* the next look still shows what was before a change */
    enum balance_wish trial;       /* what is tried, or WISH_NOTHING */
    uint32_t before;               /* workers before the trial, */
    double rate_before;            /* and rows a second */
    double seconds, rows;          /* of the streak or of the trial */
    double busiest;                /* most workers at work in a look of the streak */
    /* of the last looks, the older the less; sleep as a part of all workers */
    double past_seconds, past_wait, past_sleep;
};

void balance_init(struct balance *balance, const struct balance_limits *limits);

/* What there should be from now on. */
struct balance_aim balance_look(struct balance *balance, const struct balance_sight *sight);

#endif
