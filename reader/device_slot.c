#include "device_slot.h"

#include <stdlib.h>
#include <string.h>

/* ---- life -------------------------------------------------------------------------------------------------------- */

static size_t memory_bytes(const struct device_route *r) {
    return slot_parts(r->delivered).label_end;
}

static size_t staged_bytes(const struct device_route *r) {
    return r->converts ? slot_parts(r->sent).label_box : 0;
}

size_t device_slot_bytes(const struct device_route *r) {
    return memory_bytes(r) + staged_bytes(r);
}

static int create_events(struct device_slot *d, const struct device_route *r, struct error *error) {
    int rc = r->ops->event_create(r->device, &d->begun, true, error);
    if (rc == 0)
        rc = r->ops->event_create(r->device, &d->copied, true, error);
    if (rc == 0 && r->converts)
        rc = r->ops->event_create(r->device, &d->ready, false, error);
    else
        d->ready = d->copied;
    for (int i = 0; rc == 0 && i < DEVICE_USER_LIMIT; i++)
        rc = r->ops->event_create(r->device, &d->used[i], false, error);
    return rc;
}

int device_slot_init(struct device_slot *d, struct transfer *transfer, const struct device_route *r,
                     struct error *error) {
    d->slot = (struct slot){.layout = r->delivered,
                            .transfer = transfer,
                            .device_type = r->ops->dlpack_type,
                            .device_id = r->ordinal,
                            .state = SLOT_FREE};
    d->slot.samples = calloc(r->delivered->rows, sizeof *d->slot.samples);
    if (!d->slot.samples)
        return error_set(error, ERR_MEMORY, "out of memory for a batch");
    int rc = r->ops->allocate(r->device, &d->memory, memory_bytes(r), error);
    if (rc == 0 && r->converts)
        rc = r->ops->allocate(r->device, &d->staged, staged_bytes(r), error);
    d->slot.images = d->memory;
    return rc ? rc : create_events(d, r, error);
}

static void destroy_event(const struct device_route *r, void *event) {
    if (event)
        r->ops->event_destroy(r->device, event);
}

void device_slot_deinit(struct device_slot *d, const struct device_route *r) {
    for (uint32_t i = 0; i < d->user_count; i++)
        r->ops->synchronise(r->device, d->used[i], NULL);
    if (d->ready)
        r->ops->synchronise(r->device, d->ready, NULL);
    for (int i = 0; i < DEVICE_USER_LIMIT; i++)
        destroy_event(r, d->used[i]);
    if (d->ready != d->copied)
        destroy_event(r, d->ready);
    destroy_event(r, d->copied);
    destroy_event(r, d->begun);
    if (d->staged)
        r->ops->release(r->device, d->staged);
    if (d->memory)
        r->ops->release(r->device, d->memory);
    free(d->slot.samples);
}

/* ---- filling ----------------------------------------------------------------------------------------------------- */

/* The batch as the consumer will see it, but for the bytes. */
static void describe(struct device_slot *d, const struct device_route *r, struct slot *source) {
    struct slot *s = &d->slot;
    s->batch = source->batch;
    s->error_code = 0;
    s->size = source->size;
    s->full_ns = source->full_ns;
    d->rows = slot_shown_rows(source);
    d->label_count = slot_collate(source);
    d->label_bytes = slot_pack_labels(source, d->label_count);
    memcpy(s->samples, source->samples, r->sent->rows * sizeof *s->samples);
    slot_place_labels(s, s->images + slot_parts(s->layout).label_box, d->label_count);
}

static int copy(struct device_slot *d, const struct device_route *r, void *to, const void *from, size_t bytes,
                struct error *error) {
    d->copied_bytes += bytes;
    return r->ops->copy(r->device, r->copy_stream, to, from, bytes, error);
}

static int copy_bytes(struct device_slot *d, const struct device_route *r, const struct slot *source,
                      struct error *error) {
    uint8_t *to = d->staged ? d->staged : d->memory;
    size_t area = (size_t)source->size.width * source->size.height;
    int rc = 0;
    d->copied_bytes = 0;
    for (int i = 0; rc == 0 && slot_channels(r->sent, i) > 0; i++) {
        size_t offset = i ? slot_parts(r->sent).second : 0;
        size_t bytes = d->rows * (size_t)slot_channels(r->sent, i) * area;
        rc = copy(d, r, to + offset, source->images + offset, bytes, error);
    }
    if (rc == 0 && d->label_bytes > 0)
        rc = copy(d, r, d->slot.label_box, source->label_box, d->label_bytes, error);
    return rc;
}

/* The copy waits for those who used the slot, and for its last conversion if nobody ever took that batch. */
static int copy_all(struct device_slot *d, const struct device_route *r, const struct slot *source,
                    struct error *error) {
    int rc = 0;
    for (uint32_t i = 0; rc == 0 && i < d->user_count; i++)
        rc = r->ops->wait(r->device, r->copy_stream, d->used[i], error);
    if (rc == 0 && r->converts)
        rc = r->ops->wait(r->device, r->copy_stream, d->ready, error);
    if (rc == 0)
        rc = r->ops->record(r->device, d->begun, r->copy_stream, error);
    if (rc == 0)
        rc = copy_bytes(d, r, source, error);
    return rc ? rc : r->ops->record(r->device, d->copied, r->copy_stream, error);
}

static int convert_tensor(const struct device_slot *d, const struct device_route *r, int which, struct error *error) {
    struct device_convert what = {
        .from = (uint8_t *)d->staged + (which ? slot_parts(r->sent).second : 0),
        .to = (uint8_t *)d->memory + (which ? slot_parts(r->delivered).second : 0),
        .rows = d->rows,
        .from_channels = (uint32_t)slot_channels(r->sent, which),
        .to_channels = (uint32_t)slot_channels(r->delivered, which),
        .width = d->slot.size.width,
        .height = d->slot.size.height,
        .interleaved = r->delivered->interleaved,
        .type = r->delivered->type,
    };
    for (uint32_t c = 0; c < what.to_channels; c++) {
        bool rgb = which == 0 && c < (uint32_t)r->delivered->rgb_channels;
        what.mean[c] = r->mean[rgb ? c : 3];
        what.deviation[c] = r->deviation[rgb ? c : 3];
    }
    return r->ops->convert(r->device, r->convert_stream, &what, error);
}

static int convert_all(const struct device_slot *d, const struct device_route *r, struct error *error) {
    int rc = r->ops->wait(r->device, r->convert_stream, d->copied, error);
    for (int i = 0; rc == 0 && slot_channels(r->delivered, i) > 0; i++)
        rc = convert_tensor(d, r, i, error);
    return rc ? rc : r->ops->record(r->device, d->ready, r->convert_stream, error);
}

int device_slot_fill(struct device_slot *d, const struct device_route *r, struct slot *source, struct error *error) {
    describe(d, r, source);
    r->ops->range_push(r->device, "yolopack: copy");
    int rc = copy_all(d, r, source, error);
    r->ops->range_pop(r->device);
    if (rc == 0 && r->converts) {
        r->ops->range_push(r->device, "yolopack: convert");
        rc = convert_all(d, r, error);
        r->ops->range_pop(r->device);
    }
    return rc;
}

/* ---- users ------------------------------------------------------------------------------------------------------- */

bool device_slot_note_user(struct device_slot *d, void *stream, uint32_t limit) {
    for (uint32_t i = 0; i < d->user_count; i++)
        if (d->users[i] == stream)
            return true;
    if (d->user_count >= limit)
        return false;
    d->users[d->user_count++] = stream;
    return true;
}

int device_slot_mark_uses(struct device_slot *d, const struct device_route *r, struct error *error) {
    int rc = 0;
    for (uint32_t i = 0; rc == 0 && i < d->user_count; i++)
        rc = r->ops->record(r->device, d->used[i], d->users[i], error);
    return rc;
}
