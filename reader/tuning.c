/*
 * Workers and slots are added and parked while the loader runs, by the workers themselves, between two rows:
 *
 *   every half a second: look ──> balance ──> aim ──> one change at a time, as far as memory_limit allows
 *
 * A parked slot has given its memory back. A parked worker's thread has freed its tools and ended: adding it again is
 * then the same as adding one for the first time. The window's buffers stay: they serve the others as room. A change
 * that fails is not done, and that is all. No change has a say in what a batch holds.
 */
#include "loader_private.h"

#include "cpus.h"
#include "loader.h"
#include "memory.h"
#include "plan.h"
#include "transfer.h"

#include <sys/resource.h>
#include <time.h>

static const double look_seconds = 0.5;
static const uint64_t look_batches = 2, look_rows = 2; /* for each worker: what a look must have seen at least */

/* Of the memory that is free, a change takes no more than one part in so many. */
enum { FREE_PARTS = 4 };

/* How often a thread of the process stopped to wait for something else than a core. */
static uint64_t blocks(void) {
    struct rusage usage;
    return getrusage(RUSAGE_SELF, &usage) == 0 ? (uint64_t)usage.ru_nvcsw : 0;
}

static uint64_t cpu_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* ---- memory ------------------------------------------------------------------------------------------------------ */

void tuning_memory(const struct ypk_loader *ld, ypk_loader_stats *out) {
    const struct loader_memory *m = &ld->config.memory;
    const struct tuning *t = &ld->tuning;
    out->workers = t->workers;
    out->slots = t->slots;
    out->changes = t->changes;
    out->window_pictures = t->pictures;
    out->slot_bytes = (uint64_t)t->slots * m->slot_bytes;
    out->window_bytes = (uint64_t)t->pictures * m->picture_bytes;
    out->scratch_bytes = (uint64_t)t->workers * m->scratch_bytes;
}

/* What may be added before memory_limit is reached. */
static uint64_t room_bytes(const struct ypk_loader *ld) {
    const struct loader_memory *m = &ld->config.memory;
    struct window_options window = loader_window_options(&ld->config, ld->tuning.pictures);
    uint64_t limit = ld->config.options.memory_limit, used = window_bytes(&window);
    used += (uint64_t)ld->tuning.slots * m->slot_bytes + (uint64_t)ld->tuning.workers * m->scratch_bytes;
    return limit == 0 ? UINT64_MAX : limit > used ? limit - used : 0;
}

/* Buffers of the window when there is one worker more: as many again as it can pin. */
static uint32_t pictures_wanted(const struct ypk_loader *ld) {
    const struct loader_memory *m = &ld->config.memory;
    uint32_t shared = m->pictures - m->workers * m->worker_pictures;
    uint32_t wanted = shared + (ld->tuning.workers + 1) * m->worker_pictures;
    return wanted > ld->tuning.pictures ? wanted : ld->tuning.pictures;
}

/* ---- changes ----------------------------------------------------------------------------------------------------- */

/* The mutex is given up: nobody else changes anything, and nobody goes elsewhere meanwhile. */
static void begin_change(struct ypk_loader *ld) {
    ld->tuning.changing = true;
    ld->busy++;
    pthread_mutex_unlock(&ld->mutex);
}

/* The mutex is held again. What can be done now is seen anew by everybody. */
static void end_change(struct ypk_loader *ld) {
    ld->tuning.changing = false;
    ld->busy--;
    pthread_cond_broadcast(&ld->work);
    pthread_cond_broadcast(&ld->done);
}

static struct slot *find_slot(struct ypk_loader *ld, enum slot_state state) {
    for (uint32_t i = 0; i < ld->config.memory.slots_most; i++)
        if (ld->slots[i].state == state)
            return &ld->slots[i];
    return NULL;
}

static void add_slot(struct ypk_loader *ld) {
    struct slot fresh = {.state = SLOT_PARKED};
    struct slot *slot = find_slot(ld, SLOT_PARKED);
    bool fits = slot && room_bytes(ld) >= ld->config.memory.slot_bytes;
    begin_change(ld);
    fits = fits && loader_open_slot(ld, &fresh, NULL) == 0;
    if (!fits)
        loader_close_slot(ld, &fresh);
    pthread_mutex_lock(&ld->mutex);
    if (fits) {
        *slot = fresh;
        ld->tuning.slots++;
    } else {
        ld->tuning.aim.slots = ld->tuning.slots;
    }
    end_change(ld);
}

static void park_slot(struct ypk_loader *ld, struct slot *slot) {
    struct slot old = *slot;
    slot->state = SLOT_PARKED;
    begin_change(ld);
    loader_close_slot(ld, &old);
    pthread_mutex_lock(&ld->mutex);
    *slot = (struct slot){.state = SLOT_PARKED};
    ld->tuning.slots--;
    end_change(ld);
}

static void add_worker(struct ypk_loader *ld) {
    const struct loader_memory *m = &ld->config.memory;
    uint32_t pictures = pictures_wanted(ld);
    uint64_t bytes = m->scratch_bytes + (uint64_t)(pictures - ld->tuning.pictures) * m->picture_bytes;
    bool fits = room_bytes(ld) >= bytes;
    begin_change(ld);
    bool grown = fits && window_grow(ld->window, pictures, NULL) == 0;
    bool added = grown && workers_add(ld, NULL) == 0;
    pthread_mutex_lock(&ld->mutex);
    if (grown)
        ld->tuning.pictures = pictures;
    if (added)
        ld->tuning.workers++;
    else
        ld->tuning.aim.workers = ld->tuning.workers;
    end_change(ld);
}

bool tuning_parks(struct worker *w) {
    struct ypk_loader *ld = w->loader;
    struct tuning *t = &ld->tuning;
    if (t->changing || ld->paused || t->workers <= t->aim.workers || w->index + 1 != t->workers)
        return false;
    begin_change(ld);
    row_maker_destroy(&w->maker);
    pthread_mutex_lock(&ld->mutex);
    t->workers--;
    end_change(ld);
    return true;
}

/* ---- looks ------------------------------------------------------------------------------------------------------- */

static void count_from_here(struct ypk_loader *ld, uint64_t now) {
    struct tuning *t = &ld->tuning;
    t->rows = 0;
    t->spare = UINT32_MAX;
    t->look_ns = now;
    t->look_cpu_ns = cpu_ns();
    t->look_blocks = blocks();
    t->look_batches = ld->stats.batches;
    t->look_sleep = ld->stats.idle_seconds;
}

void tuning_restart(struct ypk_loader *ld) {
    ld->tuning.look_from = ld->delivered + plan_frozen_options(ld->config.plan)->mosaic_depth;
    ld->tuning.sleeping_ns = ld->started_ns;
    ld->tuning.look_wait = 0;
    count_from_here(ld, ld->started_ns);
}

void tuning_begin(struct ypk_loader *ld) {
    const struct loader_memory *m = &ld->config.memory;
    const ypk_loader_options *o = &ld->config.options;
    struct tuning *t = &ld->tuning;
    struct balance_limits limits = {
        .workers_least = o->workers ? m->workers : 1,
        .workers_most = m->workers_most,
        .slots_least = m->slots, /* a consumer may hold as many of them as it could at the start */
        .slots_most = m->slots_most,
        .worker_bytes = m->scratch_bytes + (uint64_t)m->worker_pictures * m->picture_bytes,
        .slot_bytes = m->slot_bytes,
    };
    t->automatic = o->workers == 0 || o->prefetch == 0;
    t->slots = m->slots;
    t->pictures = m->pictures;
    balance_init(&t->balance, &limits);
    tuning_restart(ld);
}

static bool is_time(const struct ypk_loader *ld, uint64_t now) {
    const struct tuning *t = &ld->tuning;
    return now - t->look_ns >= (uint64_t)(look_seconds * 1e9) && t->rows >= look_rows * t->workers &&
           ld->stats.batches >= t->look_batches + look_batches && ld->delivered >= t->look_from;
}

static void look(struct ypk_loader *ld, uint64_t now) {
    struct tuning *t = &ld->tuning;
    workers_count_sleep(ld);
    struct balance_sight sight = {
        .seconds = (double)(now - t->look_ns) * 1e-9,
        .wait = ld->stats.wait_seconds,
        .sleep = ld->stats.idle_seconds - t->look_sleep,
        .cpu = (double)(cpu_ns() - t->look_cpu_ns) * 1e-9,
        .rows = t->rows,
        .blocks = blocks() - t->look_blocks,
        .spare = t->spare == UINT32_MAX ? 0 : t->spare,
        .workers = t->workers,
        .slots = t->slots,
        .room_bytes = room_bytes(ld),
    };
    count_from_here(ld, now);
    begin_change(ld);
    double wait = sight.wait + (ld->transfer ? transfer_starved_seconds(ld->transfer) : 0);
    sight.wait = wait - t->look_wait;
    struct memory_room room;
    memory_room(&room, "");
    if (sight.room_bytes > room.free_bytes / FREE_PARTS)
        sight.room_bytes = room.free_bytes / FREE_PARTS;
    sight.cores = cpus_available();
    struct balance_aim aim = balance_look(&t->balance, &sight);
    pthread_mutex_lock(&ld->mutex);
    t->changes += aim.workers != t->aim.workers || aim.slots != t->aim.slots;
    t->aim = aim;
    t->look_wait = wait;
    end_change(ld);
}

bool tuning_step(struct ypk_loader *ld) {
    struct tuning *t = &ld->tuning;
    struct slot *free_slot;
    if (!t->automatic || t->changing || ld->paused)
        return false;
    if (t->slots < t->aim.slots) {
        add_slot(ld);
    } else if (t->slots > t->aim.slots && (free_slot = find_slot(ld, SLOT_FREE))) {
        park_slot(ld, free_slot);
    } else if (t->workers < t->aim.workers) {
        add_worker(ld);
    } else if (t->workers == t->aim.workers && t->slots == t->aim.slots) {
        uint64_t now = clock_ns();
        if (!is_time(ld, now))
            return false;
        look(ld, now);
    } else {
        return false;
    }
    return true;
}

static uint32_t clamp(uint32_t value, uint32_t low, uint32_t high) {
    return value < low ? low : value < high ? value : high;
}

void loader_aim(struct ypk_loader *ld, uint32_t workers, uint32_t slots) {
    const struct loader_memory *m = &ld->config.memory;
    const ypk_loader_options *o = &ld->config.options;
    pthread_mutex_lock(&ld->mutex);
    ld->tuning.aim.workers = clamp(workers, o->workers ? m->workers : 1, m->workers_most);
    ld->tuning.aim.slots = clamp(slots, o->prefetch ? m->slots : 1, m->slots_most);
    pthread_cond_broadcast(&ld->work);
    pthread_mutex_unlock(&ld->mutex);
}
