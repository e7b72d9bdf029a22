#include "balance.h"

#include <math.h>

static const uint32_t first_patience[WISH_COUNT] = {
    [WISH_WORKERS] = 3,       [WISH_TRY_MORE] = 3, [WISH_TRY_FEWER] = 12,
    [WISH_FEWER_WORKERS] = 6, [WISH_SLOTS] = 3,    [WISH_FEWER_SLOTS] = 24,
};

enum { PATIENCE_LIMIT = 3072, TRIAL_LOOKS = 3, SPARE_SLOTS = 2 };

static const double starved = 0.02;          /* of the time: less is no wait worth anything */
static const double asleep = 0.05;           /* of the workers' time: less is no sleep worth anything */
static const double all_at_work = 0.95;      /* of the cores */
static const double blocks_of_row = 0.5;     /* fewer are no storage that one waits for */
static const double some_idle = 0.85;        /* of the cores */
static const double worth_keeping = 1 / 3.0; /* of the rate that so many more workers could give at best */
static const double no_loss = 0.97;          /* of the rate */
static const double headroom = 4 / 3.0;      /* workers for each that is at work, when the consumer does not wait */
static const double memory = 0.9;            /* of the past, from look to look */

static uint32_t least(uint32_t a, uint32_t b) {
    return a < b ? a : b;
}

static uint32_t clamp(uint32_t value, uint32_t low, uint32_t high) {
    return value < low ? low : least(value, high);
}

static void begin_streak(struct balance *b, enum balance_wish wish) {
    b->wish = wish;
    b->streak = 0;
    b->seconds = b->rows = b->busiest = 0;
}

static void forget_past(struct balance *b) {
    b->past_seconds = b->past_wait = b->past_sleep = 0;
}

static void begin_again(struct balance *b) {
    for (int i = 0; i < WISH_COUNT; i++)
        b->patience[i] = first_patience[i];
    b->trial = WISH_NOTHING;
    b->settling = true;
    begin_streak(b, WISH_NOTHING);
    forget_past(b);
}

void balance_init(struct balance *b, const struct balance_limits *limits) {
    *b = (struct balance){.limits = *limits};
    begin_again(b);
}

static void lose_patience(struct balance *b, enum balance_wish wish) {
    b->patience[wish] = least(2 * b->patience[wish], PATIENCE_LIMIT);
}

/* The workers with which the limits, the cores and the memory are kept: `wanted` or fewer, but no fewer than
 * there are. */
static uint32_t more_workers(const struct balance *b, const struct balance_sight *s, double wanted, uint32_t most) {
    uint64_t room = b->limits.worker_bytes ? s->room_bytes / b->limits.worker_bytes : UINT32_MAX;
    uint32_t limit = least(most, b->limits.workers_most), up = (uint32_t)fmin(ceil(wanted), limit);
    if (up <= s->workers)
        return s->workers;
    return s->workers + (room < up - s->workers ? (uint32_t)room : up - s->workers);
}

static uint32_t workers_wanted(const struct balance *b, const struct balance_sight *s, enum balance_wish wish) {
    double n = s->workers, wait = fmin(s->wait / s->seconds, 0.5);
    switch (wish) {
    case WISH_WORKERS: /* as many as the consumer would keep at work, at most twice as many */
        return more_workers(b, s, fmax(n + 1, n / (1 - wait)), s->cores);
    case WISH_TRY_MORE: return more_workers(b, s, fmax(n + 1, n * 1.25), 2 * s->cores);
    case WISH_TRY_FEWER: return clamp(s->cores, b->limits.workers_least, s->workers);
    case WISH_FEWER_WORKERS: return clamp((uint32_t)ceil(b->busiest * headroom), b->limits.workers_least, s->workers);
    default: return s->workers;
    }
}

/* Half as many again for what is ready or at work. */
static uint32_t slots_wanted(const struct balance *b, const struct balance_sight *s) {
    uint64_t room = b->limits.slot_bytes ? s->room_bytes / b->limits.slot_bytes : UINT32_MAX;
    uint32_t more = least((s->slots + 1) / 2, b->limits.slots_most - s->slots);
    return s->slots + (room < more ? (uint32_t)room : more);
}

static enum balance_wish choose_workers(const struct balance *b, const struct balance_sight *s) {
    double used = s->cpu / s->seconds;
    if (s->sleep > asleep * s->seconds * s->workers) /* it is not more of them that is missing */
        return WISH_NOTHING;
    if (workers_wanted(b, s, WISH_WORKERS) > s->workers)
        return WISH_WORKERS;
    if (s->workers > s->cores && s->workers > b->limits.workers_least && used > all_at_work * s->cores)
        return WISH_TRY_FEWER;
    bool blocked = (double)s->blocks >= blocks_of_row * (double)s->rows; /* else others use the cores */
    if (used < some_idle * s->cores && blocked && workers_wanted(b, s, WISH_TRY_MORE) > s->workers)
        return WISH_TRY_MORE;
    return WISH_NOTHING;
}

static enum balance_wish choose(struct balance *b, const struct balance_sight *s) {
    bool uneven = b->past_wait > starved * b->past_seconds && b->past_sleep > asleep * b->past_seconds;
    double busy = s->workers - s->sleep / s->seconds;
    if (uneven && s->slots < b->limits.slots_most && slots_wanted(b, s) > s->slots)
        return WISH_SLOTS;
    if (s->wait > starved * s->seconds)
        return choose_workers(b, s);
    if (clamp((uint32_t)ceil(busy * headroom), b->limits.workers_least, s->workers) < s->workers)
        return WISH_FEWER_WORKERS;
    if (s->slots > b->limits.slots_least && s->spare >= SPARE_SLOTS)
        return WISH_FEWER_SLOTS;
    return WISH_NOTHING;
}

static void grant(struct balance *b, const struct balance_sight *s, enum balance_wish wish) {
    if (wish == WISH_SLOTS)
        b->aim.slots = slots_wanted(b, s);
    else if (wish == WISH_FEWER_SLOTS)
        b->aim.slots = s->slots - 1;
    else
        b->aim.workers = workers_wanted(b, s, wish);
    if (wish == WISH_TRY_MORE || wish == WISH_TRY_FEWER) {
        b->trial = wish;
        b->before = s->workers;
        b->rate_before = b->rows / b->seconds;
    }
    if (wish == WISH_FEWER_WORKERS || wish == WISH_FEWER_SLOTS) /* if they are missed, then not so soon again */
        lose_patience(b, wish);
    b->settling = true;
    begin_streak(b, WISH_NOTHING);
    forget_past(b);
}

static bool trial_is_good(const struct balance *b, const struct balance_sight *s) {
    double gain = b->rows / b->seconds / b->rate_before, best = (double)s->workers / b->before;
    if (b->trial == WISH_TRY_FEWER)
        return gain >= no_loss;
    return s->wait <= starved * s->seconds || gain >= 1 + worth_keeping * (best - 1);
}

static void judge(struct balance *b, const struct balance_sight *s) {
    if (s->workers == b->before) { /* they could not be had */
        lose_patience(b, b->trial);
    } else if (++b->streak < TRIAL_LOOKS) {
        return;
    } else if (trial_is_good(b, s)) {
        b->patience[b->trial] = first_patience[b->trial];
    } else {
        lose_patience(b, b->trial);
        b->aim.workers = clamp(b->before, b->limits.workers_least, b->limits.workers_most);
        b->settling = true;
    }
    b->trial = WISH_NOTHING;
    begin_streak(b, WISH_NOTHING);
    forget_past(b);
}

/* Other cores: as many workers for each as before. */
static void follow_cores(struct balance *b, const struct balance_sight *s) {
    uint64_t scaled = (uint64_t)s->workers * s->cores / b->cores;
    uint32_t wanted = (uint32_t)(scaled > 0 ? scaled : 1);
    b->aim.workers = wanted > s->workers ? more_workers(b, s, wanted, UINT32_MAX)
                                         : clamp(wanted, b->limits.workers_least, s->workers);
    begin_again(b);
}

static void remember(struct balance *b, const struct balance_sight *s) {
    b->seconds += s->seconds;
    b->rows += (double)s->rows;
    b->busiest = fmax(b->busiest, s->workers - s->sleep / s->seconds);
    b->past_seconds = memory * b->past_seconds + s->seconds;
    b->past_wait = memory * b->past_wait + s->wait;
    b->past_sleep = memory * b->past_sleep + s->sleep / s->workers;
}

static void look(struct balance *b, const struct balance_sight *s) {
    if (b->cores != 0 && b->cores != s->cores) {
        follow_cores(b, s);
        return;
    }
    if (b->settling) {
        b->settling = false;
        return;
    }
    remember(b, s);
    if (b->trial != WISH_NOTHING) {
        judge(b, s);
        return;
    }
    enum balance_wish wish = choose(b, s);
    if (wish != b->wish) {
        begin_streak(b, wish);
        b->seconds = s->seconds;
        b->rows = (double)s->rows;
        b->busiest = s->workers - s->sleep / s->seconds;
    }
    if (wish != WISH_NOTHING && ++b->streak >= b->patience[wish])
        grant(b, s, wish);
}

struct balance_aim balance_look(struct balance *b, const struct balance_sight *s) {
    bool refused = s->workers < b->aim.workers || s->slots < b->aim.slots;
    b->aim = (struct balance_aim){s->workers, s->slots};
    if (refused && b->trial == WISH_NOTHING) {
        lose_patience(b, WISH_WORKERS);
        lose_patience(b, WISH_SLOTS);
    }
    look(b, s);
    b->cores = s->cores;
    return b->aim;
}
