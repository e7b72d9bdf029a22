#include "slot.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define ALIGNMENT 64
#define ROW_SLACK 64 /* the vector code may write past the end of the last row */

static size_t tensor_bytes(const struct batch_layout *l, int channels, struct size_px size) {
    return (size_t)l->rows * (size_t)channels * size.width * size.height * number_bytes(l->type);
}

int slot_channels(const struct batch_layout *l, int which) {
    if (which == 0)
        return l->two ? l->rgb_channels : l->rgb_channels + l->ir_channels;
    return which == 1 && l->two ? l->ir_channels : 0;
}

struct slot_parts slot_parts(const struct batch_layout *l) {
    size_t labels = (size_t)l->rows * l->row_labels;
    struct slot_parts p;
    p.second = align_up(tensor_bytes(l, slot_channels(l, 0), l->largest), ALIGNMENT);
    size_t images = p.second + tensor_bytes(l, slot_channels(l, 1), l->largest) + ROW_SLACK;
    p.label_box = align_up(images, ALIGNMENT);
    p.label_class = p.label_box + labels * 4 * sizeof(float);
    p.label_batch = p.label_class + labels * sizeof(float);
    p.label_points = p.label_batch + labels * sizeof(float);
    p.label_rotation = p.label_points + labels * l->points_per_label * 3 * sizeof(float);
    p.label_end = p.label_rotation + (l->oriented ? labels * sizeof(float) : 0);
    p.samples = align_up(p.label_end + l->rows * sizeof(uint32_t), ALIGNMENT);
    p.total = align_up(p.samples + l->rows * sizeof(ypk_batch_sample), 4096);
    return p;
}

size_t slot_bytes(const struct batch_layout *layout) {
    return slot_parts(layout).total;
}

int slot_init(struct slot *slot, const struct batch_layout *layout, void *owner, struct error *error) {
    struct slot_parts p = slot_parts(layout);
    void *memory = mmap(NULL, p.total, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        return error_set(error, ERR_MEMORY, "out of memory for a batch of %zu MB", p.total >> 20);
    madvise(memory, p.total, MADV_HUGEPAGE);
    *slot = (struct slot){
        .layout = layout, .owner = owner, .device_type = YPK_DEVICE_CPU, .memory = memory, .images = memory};
    slot->label_box = (float(*)[4])(void *)(slot->memory + p.label_box);
    slot->label_class = (float *)(void *)(slot->memory + p.label_class);
    slot->label_batch = (float *)(void *)(slot->memory + p.label_batch);
    if (layout->points_per_label > 0)
        slot->label_points = (float(*)[3])(void *)(slot->memory + p.label_points);
    if (layout->oriented)
        slot->label_rotation = (float *)(void *)(slot->memory + p.label_rotation);
    slot->label_counts = (uint32_t *)(void *)(slot->memory + p.label_end);
    slot->samples = (ypk_batch_sample *)(void *)(slot->memory + p.samples);
    return 0;
}

void slot_deinit(struct slot *slot) {
    if (slot->memory)
        munmap(slot->memory, slot_parts(slot->layout).total);
    *slot = (struct slot){0};
}

/* Sets the channels that begin at `first` of a tensor with `channels` of them. */
static uint8_t *place_channels(const struct batch_layout *l, uint8_t *tensor, uint32_t row, int channels, int first,
                               struct size_px size, size_t *plane, size_t *line, size_t *step) {
    size_t number = number_bytes(l->type), area = (size_t)size.width * size.height;
    uint8_t *sample = tensor + (size_t)row * (size_t)channels * area * number;
    *plane = l->interleaved ? number : area * number;
    *line = (l->interleaved ? (size_t)channels : 1) * size.width * number;
    *step = l->interleaved ? (size_t)channels : 1;
    return sample + (size_t)first * *plane;
}

struct frame_target slot_target(const struct slot *slot, uint32_t row, struct size_px size) {
    const struct batch_layout *l = slot->layout;
    struct frame_target t = {.ir_channels = l->ir_channels};
    int together = slot_channels(l, 0);
    if (l->rgb_channels)
        t.rgb = place_channels(l, slot->images, row, together, 0, size, &t.rgb_plane, &t.rgb_row, &t.rgb_step);
    if (l->ir_channels && l->two)
        t.ir = place_channels(l, slot->images + slot_parts(l).second, row, l->ir_channels, 0, size, &t.ir_plane,
                              &t.ir_row, &t.ir_step);
    else if (l->ir_channels)
        t.ir =
            place_channels(l, slot->images, row, together, l->rgb_channels, size, &t.ir_plane, &t.ir_row, &t.ir_step);
    return t;
}

/* Moves `count` labels, in all arrays. */
static void move_labels(struct slot *slot, size_t to, size_t from, size_t count) {
    size_t points = slot->layout->points_per_label;
    memmove(slot->label_class + to, slot->label_class + from, count * sizeof(float));
    memmove(slot->label_box + to, slot->label_box + from, count * sizeof *slot->label_box);
    if (slot->label_points)
        memmove(slot->label_points + to * points, slot->label_points + from * points,
                count * points * sizeof *slot->label_points);
    if (slot->label_rotation)
        memmove(slot->label_rotation + to, slot->label_rotation + from, count * sizeof(float));
}

uint32_t slot_collate(struct slot *slot) {
    uint32_t count = 0;
    for (uint32_t row = 0; row < slot->layout->rows; row++) {
        size_t from = (size_t)row * slot->layout->row_labels;
        uint32_t n = slot->label_counts[row];
        if (n > 0 && count != from)
            move_labels(slot, count, from, n);
        for (uint32_t i = 0; i < n; i++)
            slot->label_batch[count + i] = (float)row;
        count += n;
    }
    return count;
}

size_t slot_place_labels(struct slot *slot, void *first, uint32_t count) {
    size_t points = (size_t)count * slot->layout->points_per_label;
    slot->label_box = first;
    slot->label_class = (float *)(slot->label_box + count);
    slot->label_batch = slot->label_class + count;
    float *next = slot->label_batch + count;
    slot->label_points = slot->layout->points_per_label > 0 ? (float(*)[3])(void *)next : NULL;
    next += 3 * points;
    slot->label_rotation = slot->layout->oriented ? next : NULL;
    next += slot->layout->oriented ? count : 0;
    return (size_t)((char *)next - (char *)first);
}

size_t slot_pack_labels(struct slot *slot, uint32_t count) {
    struct slot packed = *slot;
    size_t bytes = slot_place_labels(&packed, slot->label_box, count);
    memmove(packed.label_class, slot->label_class, count * sizeof(float));
    memmove(packed.label_batch, slot->label_batch, count * sizeof(float));
    if (packed.label_points)
        memmove(packed.label_points, slot->label_points,
                (size_t)count * slot->layout->points_per_label * sizeof *slot->label_points);
    if (packed.label_rotation)
        memmove(packed.label_rotation, slot->label_rotation, count * sizeof(float));
    return bytes;
}

uint32_t slot_shown_rows(const struct slot *slot) {
    uint32_t rows = slot->layout->rows;
    while (!slot->layout->whole && rows > 1 && !slot->samples[rows - 1].valid)
        rows--;
    return rows;
}

static void describe_tensor(ypk_tensor *out, const struct slot *slot, int which, uint32_t count) {
    const struct batch_layout *l = slot->layout;
    int64_t c = slot_channels(l, which), h = slot->size.height, w = slot->size.width;
    *out = (ypk_tensor){.data = slot->images + (which ? slot_parts(l).second : 0),
                        .dtype = (int)l->type,
                        .dims = 4,
                        .device_type = slot->device_type,
                        .device_id = slot->device_id};
    int64_t shape[2][4] = {{count, c, h, w}, {count, h, w, c}};
    memcpy(out->shape, shape[l->interleaved], sizeof out->shape);
    out->strides[3] = 1;
    for (int i = 3; i-- > 0;)
        out->strides[i] = out->strides[i + 1] * out->shape[i + 1];
}

void slot_describe(const struct slot *slot, ypk_batch *out, uint32_t count, uint32_t label_count) {
    out->image_count = slot->layout->two ? 2 : 1;
    for (int i = 0; i < out->image_count; i++)
        describe_tensor(&out->images[i], slot, i, count);
    out->sample_count = count;
    out->samples = slot->samples;
    for (uint32_t row = 0; row < count; row++)
        out->valid_count += slot->samples[row].valid != 0;
    out->label_count = label_count;
    out->label_batch = slot->label_batch;
    out->label_class = slot->label_class;
    out->label_box = (const float *)slot->label_box;
    out->label_points = (const float *)slot->label_points;
    out->points_per_label = slot->layout->points_per_label;
    out->point_dims = slot->label_points ? 3 : 0;
    out->label_rotation = slot->label_rotation;
}
