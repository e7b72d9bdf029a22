#include "window.h"

#include "plan.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum entry_state { ENTRY_UNKNOWN, ENTRY_ABSENT, ENTRY_LOADING, ENTRY_READY };

/* A place in the table of positions. */
struct entry {
    int64_t position;
    enum entry_state state;
    uint32_t uses_left;    /* samples that still need it */
    struct buffer *buffer; /* LOADING and READY */
};

struct buffer {
    struct picture picture;
    struct entry *entry; /* NULL: free, or private to one worker */
    uint32_t pins;
    struct buffer *next; /* in the list of free ones */
};

struct window {
    struct window_options options;
    uint32_t rows;          /* of a batch, that belong to this rank */
    uint64_t columns;       /* of the table: batches that can be alive at a time */
    struct buffer *buffers; /* [buffer_most] */
    uint32_t first_count;   /* buffers that share `memory`; each one after them has a mapping of its own */
    uint8_t *memory;        /* first_count * buffer_bytes */
    struct entry *entries;  /* [columns][rows] */

    pthread_mutex_t mutex;  /* guards all below, and the fields of buffers and entries but for the pictures' pixels */
    pthread_cond_t changed; /* a picture became ready, or a buffer can be had */
    uint32_t waiting;
    struct buffer *free;
    uint32_t hand; /* where the search for a picture that may give way goes on */
    bool cancelled;
};

/* Partners are mosaic_depth samples of the lane back from the oldest batch at work. That is as many batches, and one
 * more for each epoch's end on the way whose partial batch has no sample in the lane. */
static uint64_t table_columns(const struct window_options *o) {
    uint64_t depth = plan_frozen_options(o->plan)->mosaic_depth, batches = plan_batches_per_epoch(o->plan);
    bool holes = plan_frozen_options(o->plan)->last_batch == LAST_PARTIAL && batches > 1;
    return depth + (holes ? depth / (batches - 1) + 1 : 0) + o->batches_in_flight + 1;
}

static uint32_t table_rows(const struct window_options *o) {
    return plan_frozen_options(o->plan)->batch / o->world;
}

static size_t table_bytes(const struct window_options *o) {
    return (size_t)table_columns(o) * table_rows(o) * sizeof(struct entry) + o->buffer_most * sizeof(struct buffer);
}

size_t window_bytes(const struct window_options *options) {
    return table_bytes(options) + (size_t)options->buffer_count * options->buffer_bytes;
}

void window_restart(struct window *w, int64_t first_position) {
    memset(w->entries, 0, (size_t)w->columns * w->rows * sizeof *w->entries);
    w->options.first_position = first_position;
    w->free = NULL;
    for (uint32_t i = w->options.buffer_count; i-- > 0;) {
        struct buffer *b = &w->buffers[i];
        *b = (struct buffer){.picture.memory = b->picture.memory, .next = w->free};
        w->free = b;
    }
}

/* In small pages: a buffer has room for the largest picture, and with huge ones what smaller pictures leave would be
 * paid. */
static uint8_t *map_memory(size_t bytes) {
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

int window_create(struct window **out, const struct window_options *options, struct error *error) {
    struct window *w = calloc(1, sizeof *w);
    if (!w)
        return error_set(error, ERR_MEMORY, "out of memory for the window");
    w->options = *options;
    w->rows = table_rows(options);
    w->columns = table_columns(options);
    w->buffers = calloc(options->buffer_most, sizeof *w->buffers);
    w->entries = calloc(w->columns * w->rows, sizeof *w->entries);
    w->first_count = options->buffer_count;
    size_t bytes = (size_t)options->buffer_count * options->buffer_bytes;
    w->memory = map_memory(bytes);
    pthread_mutex_init(&w->mutex, NULL);
    pthread_cond_init(&w->changed, NULL);
    if (!w->buffers || !w->entries || !w->memory) {
        window_destroy(&w);
        return error_set(error, ERR_MEMORY, "out of memory for a window of %u pictures (%zu MB)", options->buffer_count,
                         bytes >> 20);
    }
    for (uint32_t i = 0; i < options->buffer_count; i++)
        w->buffers[i].picture.memory = w->memory + (size_t)i * options->buffer_bytes;
    window_restart(w, options->first_position);
    *out = w;
    return 0;
}

void window_destroy(struct window **window) {
    struct window *w = *window;
    if (!w)
        return;
    for (uint32_t i = w->first_count; w->buffers && i < w->options.buffer_count; i++)
        munmap(w->buffers[i].picture.memory, w->options.buffer_bytes);
    if (w->memory)
        munmap(w->memory, (size_t)w->first_count * w->options.buffer_bytes);
    pthread_cond_destroy(&w->changed);
    pthread_mutex_destroy(&w->mutex);
    free(w->buffers);
    free(w->entries);
    free(w);
    *window = NULL;
}

static int64_t floor_divide(int64_t a, int64_t b) {
    return a / b - (a % b < 0);
}

/* The place of a position. The batches alive at a time are fewer than the columns, so two of them never share one. */
static struct entry *find_entry(struct window *w, int64_t position) {
    int64_t batch_size = plan_frozen_options(w->options.plan)->batch;
    int64_t batch = floor_divide(position, batch_size), lane = position - batch * batch_size;
    int64_t columns = (int64_t)w->columns, column = batch % columns;
    if (column < 0)
        column += columns;
    return &w->entries[(uint64_t)column * w->rows + (uint64_t)lane / w->options.world];
}

static void wake(struct window *w) {
    if (w->waiting > 0)
        pthread_cond_broadcast(&w->changed);
}

static void detach(struct buffer *b) {
    if (!b->entry)
        return;
    b->entry->state = ENTRY_ABSENT;
    b->entry->buffer = NULL;
    b->entry = NULL;
}

static void give_back(struct window *w, struct buffer *b) {
    detach(b);
    b->next = w->free;
    w->free = b;
    wake(w);
}

int window_grow(struct window *w, uint32_t buffer_count, struct error *error) {
    int rc = 0;
    for (;;) {
        pthread_mutex_lock(&w->mutex);
        bool enough = w->options.buffer_count >= buffer_count;
        pthread_mutex_unlock(&w->mutex);
        uint8_t *memory = enough ? NULL : map_memory(w->options.buffer_bytes);
        if (!memory) {
            if (!enough)
                rc = error_set(error, ERR_MEMORY, "out of memory for a picture of %zu kB",
                               w->options.buffer_bytes >> 10);
            return rc;
        }
        pthread_mutex_lock(&w->mutex);
        struct buffer *b = &w->buffers[w->options.buffer_count++];
        b->picture.memory = memory;
        give_back(w, b);
        pthread_mutex_unlock(&w->mutex);
    }
}

/* A buffer nobody needs right now: a free one, or an unpinned picture's. NULL when every one is pinned. */
static struct buffer *take_buffer(struct window *w) {
    for (uint32_t i = 0; !w->free && i < w->options.buffer_count; i++) {
        struct buffer *b = &w->buffers[w->hand];
        w->hand = (w->hand + 1) % w->options.buffer_count;
        if (b->entry && b->pins == 0)
            give_back(w, b);
    }
    struct buffer *b = w->free;
    if (b)
        w->free = b->next;
    return b;
}

static void start_entry(struct window *w, struct entry *e, int64_t position) {
    int64_t last;
    if (e->state == ENTRY_READY) /* the samples that would have used it were not asked for */
        give_back(w, e->buffer);
    e->position = position;
    e->state = ENTRY_ABSENT;
    e->buffer = NULL;
    e->uses_left = plan_entry_uses(w->options.plan, position, w->options.first_position, &last);
}

static struct picture *start_loading(struct buffer *b, struct entry *e, const struct recipe_tile *tile) {
    b->entry = e;
    b->pins = 1;
    b->next = NULL;
    if (e) {
        e->state = ENTRY_LOADING;
        e->buffer = b;
    }
    uint8_t *memory = b->picture.memory;
    b->picture = (struct picture){.sample = tile->sample, .memory = memory};
    return &b->picture;
}

int window_acquire(struct window *w, const struct recipe_tile *tile, struct picture **out, bool *load) {
    bool shared = tile->entry != TILE_UNSHARED;
    *out = NULL;
    *load = false;
    pthread_mutex_lock(&w->mutex);
    struct entry *e = shared ? find_entry(w, tile->entry) : NULL;
    if (e && (e->state == ENTRY_UNKNOWN || e->position != tile->entry))
        start_entry(w, e, tile->entry);
    while (!w->cancelled && !*out) {
        if (e && e->state == ENTRY_READY) {
            e->buffer->pins++;
            *out = &e->buffer->picture;
            break;
        }
        struct buffer *b = e && e->state == ENTRY_LOADING ? NULL : take_buffer(w);
        if (b) {
            *out = start_loading(b, e, tile);
            *load = true;
            break;
        }
        w->waiting++;
        pthread_cond_wait(&w->changed, &w->mutex);
        w->waiting--;
    }
    pthread_mutex_unlock(&w->mutex);
    return *out ? 0 : ERR_INTERRUPTED;
}

static struct buffer *buffer_of(struct picture *picture) {
    return (struct buffer *)(void *)((uint8_t *)picture - offsetof(struct buffer, picture));
}

void window_ready(struct window *w, struct picture *picture, bool loaded) {
    struct buffer *b = buffer_of(picture);
    pthread_mutex_lock(&w->mutex);
    if (b->entry && loaded)
        b->entry->state = ENTRY_READY;
    else
        detach(b);
    wake(w);
    pthread_mutex_unlock(&w->mutex);
}

void window_release(struct window *w, struct picture *picture, bool used) {
    struct buffer *b = buffer_of(picture);
    pthread_mutex_lock(&w->mutex);
    if (b->entry && used && b->entry->uses_left > 0)
        b->entry->uses_left--;
    if (--b->pins == 0) {
        if (!b->entry || b->entry->uses_left == 0)
            give_back(w, b);
        else
            wake(w);
    }
    pthread_mutex_unlock(&w->mutex);
}

void window_cancel(struct window *w) {
    pthread_mutex_lock(&w->mutex);
    w->cancelled = true;
    pthread_cond_broadcast(&w->changed);
    pthread_mutex_unlock(&w->mutex);
}
