#include "synth.h"

#include <stddef.h>

enum { UNIT = 1024 /* a box's own coordinates run from 0 to UNIT */ };

/* ---- chance ------------------------------------------------------------------------------------------------------ */

static uint64_t mix(uint64_t x) {
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

static uint64_t draw(uint64_t *state) {
    *state += UINT64_C(0x9e3779b97f4a7c15);
    return mix(*state);
}

/* low … high - 1 */
static uint32_t draw_range(uint64_t *state, uint32_t low, uint32_t high) {
    return high <= low ? low : low + (uint32_t)(((draw(state) >> 32) * (high - low)) >> 32);
}

/* ---- shapes ------------------------------------------------------------------------------------------------------ */

enum part { PART_NONE, PART_BODY, PART_DARK, PART_SKIN };

static bool in_ellipse(int u, int v, int centre_u, int centre_v, int radius_u, int radius_v) {
    int64_t du = (int64_t)(u - centre_u) * radius_v, dv = (int64_t)(v - centre_v) * radius_u;
    int64_t limit = (int64_t)radius_u * radius_v;
    return du * du + dv * dv <= limit * limit;
}

static bool in_rectangle(int u, int v, int left, int top, int right, int bottom) {
    return u >= left && u <= right && v >= top && v <= bottom;
}

static enum part person(int u, int v) {
    if (in_ellipse(u, v, 512, 120, 230, 120))
        return PART_SKIN;
    if (v > 620)
        return in_rectangle(u, v, 200, 620, 480, UNIT) || in_rectangle(u, v, 544, 620, 824, UNIT) ? PART_DARK
                                                                                                  : PART_NONE;
    return in_ellipse(u, v, 512, 460, 512, 240) ? PART_BODY : PART_NONE;
}

static enum part car(int u, int v) {
    if (in_ellipse(u, v, 220, 850, 130, 174) || in_ellipse(u, v, 804, 850, 130, 174))
        return PART_DARK;
    if (in_rectangle(u, v, 300, 70, 490, 360) || in_rectangle(u, v, 540, 70, 720, 360))
        return PART_DARK;
    if (in_rectangle(u, v, 240, 0, 780, 400) || in_ellipse(u, v, 512, 580, 512, 290))
        return PART_BODY;
    return PART_NONE;
}

static enum part bicycle(int u, int v) {
    bool tyres = in_ellipse(u, v, 230, 680, 230, 344) || in_ellipse(u, v, 794, 680, 230, 344);
    bool holes = in_ellipse(u, v, 230, 680, 170, 260) || in_ellipse(u, v, 794, 680, 170, 260);
    if (tyres && !holes)
        return PART_DARK;
    if (in_rectangle(u, v, 330, 150, 430, 640) || in_rectangle(u, v, 330, 330, 720, 430) ||
        in_rectangle(u, v, 670, 0, 760, 640))
        return PART_BODY;
    return PART_NONE;
}

static enum part bus(int u, int v) {
    if (in_ellipse(u, v, 220, 900, 100, 124) || in_ellipse(u, v, 804, 900, 100, 124))
        return PART_DARK;
    if (v > 150 && v < 430 && u > 60 && u < 964 && u % 180 > 30)
        return PART_DARK;
    return v < 920 ? PART_BODY : PART_NONE;
}

static enum part truck(int u, int v) {
    if (in_ellipse(u, v, 180, 880, 110, 144) || in_ellipse(u, v, 480, 880, 110, 144) ||
        in_ellipse(u, v, 860, 880, 110, 144) || in_rectangle(u, v, 820, 320, 960, 520))
        return PART_DARK;
    if (in_rectangle(u, v, 0, 0, 690, 860) || in_rectangle(u, v, 730, 250, UNIT, 860))
        return PART_BODY;
    return v > 700 && v < 860 ? PART_DARK : PART_NONE;
}

static enum part sign(int u, int v) {
    int from_centre = (u > 512 ? u - 512 : 512 - u) + (v > 512 ? v - 512 : 512 - v);
    return from_centre > 512 ? PART_NONE : from_centre > 400 ? PART_DARK : PART_BODY;
}

struct kind {
    const char *name;
    enum part (*shape)(int u, int v);
    uint32_t aspect; /* width per height, in 1/256 */
    uint8_t colour[3];
    uint8_t warmth; /* of its hottest place in infrared */
};

static const struct kind kinds[] = {
    {"person", person, 100, {210, 60, 50}, 245},   {"car", car, 460, {60, 110, 210}, 205},
    {"bicycle", bicycle, 370, {40, 170, 90}, 140}, {"bus", bus, 420, {225, 180, 40}, 190},
    {"truck", truck, 480, {150, 90, 190}, 215},    {"sign", sign, 256, {235, 235, 225}, 120},
};

enum { KIND_COUNT = sizeof kinds / sizeof kinds[0] };

const char *synth_class_name(uint32_t class_id) {
    return class_id < KIND_COUNT ? kinds[class_id].name : NULL;
}

/* ---- scenes ------------------------------------------------------------------------------------------------------ */

static bool overlaps(const struct synth_scene *scene, const struct synth_object *o) {
    for (uint32_t i = 0; i < scene->object_count; i++) {
        const struct synth_object *p = &scene->objects[i];
        if (o->x < p->x + p->width && p->x < o->x + o->width && o->y < p->y + p->height && p->y < o->y + o->height)
            return true;
    }
    return false;
}

/* What stands lower in the picture is nearer, so larger. */
static struct synth_object place(uint64_t *state, const struct synth_scene *scene, uint32_t class_count) {
    struct synth_object o = {.class_id = draw_range(state, 0, class_count), .tint = (uint32_t)draw(state)};
    uint32_t depth = draw_range(state, 0, 256);
    uint32_t bottom = scene->height * (128 + depth * 120 / 256) / 256;
    o.height = scene->height * (20 + depth * 70 / 256 + draw_range(state, 0, 16)) / 256;
    o.width = o.height * kinds[o.class_id % KIND_COUNT].aspect / 256;
    if (o.width > scene->width * 3 / 4)
        o.width = scene->width * 3 / 4;
    o.width = o.width < 2 ? 2 : o.width;
    o.height = o.height < 2 ? 2 : o.height;
    o.x = draw_range(state, 0, scene->width - o.width);
    o.y = bottom > o.height ? bottom - o.height : 0;
    return o;
}

void synth_scene(struct synth_scene *out, uint64_t seed, uint64_t index, uint32_t width, uint32_t height,
                 uint32_t class_count, bool background) {
    uint64_t state = mix(seed) ^ mix(index + UINT64_C(0x632be59bd9b4e019));
    *out = (struct synth_scene){.width = width, .height = height};
    out->texture_seed = draw(&state);
    out->light = draw_range(&state, 96, 257);
    uint32_t wanted = background ? 0 : draw_range(&state, 1, SYNTH_OBJECT_LIMIT + 1);
    for (int tries = 0; out->object_count < wanted && tries < 60; tries++) {
        struct synth_object o = place(&state, out, class_count);
        if (!overlaps(out, &o))
            out->objects[out->object_count++] = o;
    }
}

/* ---- pixels ------------------------------------------------------------------------------------------------------ */

static int lattice(uint64_t seed, uint32_t x, uint32_t y) {
    return (int)(mix(seed + x * UINT64_C(0x9e3779b97f4a7c15) + y * UINT64_C(0xd1b54a32d192ed03)) & 255);
}

/* Smooth noise, 0-255, of a row from first_x on: bilinear between lattice points `cell` = 1 << shift px apart, of which
 * first_x is a multiple. */
static void noise_row(uint8_t *out, uint32_t first_x, uint32_t width, uint32_t y, unsigned shift, uint64_t seed) {
    uint32_t cell = 1u << shift, fy = y & (cell - 1), row = y >> shift, column = first_x >> shift;
    int left = lattice(seed, column, row) * (int)(cell - fy) + lattice(seed, column, row + 1) * (int)fy;
    for (uint32_t x0 = 0; x0 < width; x0 += cell) {
        uint32_t end = width - x0 < cell ? width - x0 : cell;
        column++;
        int right = lattice(seed, column, row) * (int)(cell - fy) + lattice(seed, column, row + 1) * (int)fy;
        int step = right - left, value = left << shift;
        for (uint32_t i = 0; i < end; i++, value += step)
            out[x0 + i] = (uint8_t)(value >> (2 * shift));
        left = right;
    }
}

static uint8_t clamp_u8(int v) {
    return (uint8_t)(v < 0 ? 0 : v > 255 ? 255 : v);
}

enum { NOISE_BLOCK = 1024 };

/* A row in blocks, so that noise needs no memory of the picture's size. */
static void ground_row(const struct synth_scene *scene, const struct pixels *out, uint32_t y) {
    static const int sky[3] = {120, 150, 190}, ground[3] = {104, 100, 92};
    uint8_t coarse[NOISE_BLOCK], fine[NOISE_BLOCK];
    uint32_t horizon = out->height * 2 / 5;
    const int *base = y < horizon ? sky : ground;
    int shade = y < horizon ? (int)(y * 50 / horizon) : (int)((y - horizon) * 50 / out->height) - 40;
    int contrast = y < horizon ? 24 : 72;
    for (uint32_t x0 = 0; x0 < out->width; x0 += NOISE_BLOCK) {
        uint32_t n = out->width - x0 < NOISE_BLOCK ? out->width - x0 : NOISE_BLOCK;
        uint8_t *p = out->data + (size_t)y * out->stride + (size_t)x0 * 3;
        noise_row(coarse, x0, n, y, 6, scene->texture_seed);
        noise_row(fine, x0, n, y, 2, ~scene->texture_seed);
        for (uint32_t i = 0; i < n; i++, p += 3) {
            int texture = ((coarse[i] - 128) * contrast + (fine[i] - 128) * contrast / 2) >> 8;
            for (int c = 0; c < 3; c++)
                p[c] = clamp_u8(((base[c] + shade + texture) * (int)scene->light) >> 8);
        }
    }
}

/* The object's box in a picture of another size: first and last pixel. */
struct area {
    uint32_t left, top, right, bottom;
};

static struct area area_in(const struct synth_scene *scene, const struct synth_object *o, const struct pixels *out) {
    struct area a;
    a.left = (uint32_t)((uint64_t)o->x * out->width / scene->width);
    a.top = (uint32_t)((uint64_t)o->y * out->height / scene->height);
    a.right = (uint32_t)((uint64_t)(o->x + o->width) * out->width / scene->width);
    a.bottom = (uint32_t)((uint64_t)(o->y + o->height) * out->height / scene->height);
    a.right = a.right > a.left ? a.right : a.left + 1;
    a.bottom = a.bottom > a.top ? a.bottom : a.top + 1;
    return a;
}

static void draw_object_rgb(const struct synth_scene *scene, const struct synth_object *o, const struct pixels *out) {
    static const int skin[3] = {224, 172, 140}, dark[3] = {34, 36, 42};
    const struct kind *kind = &kinds[o->class_id % KIND_COUNT];
    struct area a = area_in(scene, o, out);
    int body[3];
    for (int c = 0; c < 3; c++)
        body[c] = kind->colour[c] + (int)((o->tint >> (8 * c)) & 63) - 32;
    for (uint32_t y = a.top; y < a.bottom && y < out->height; y++) {
        int v = (int)((2 * (y - a.top) + 1) * UNIT / (2 * (a.bottom - a.top)));
        for (uint32_t x = a.left; x < a.right && x < out->width; x++) {
            int u = (int)((2 * (x - a.left) + 1) * UNIT / (2 * (a.right - a.left)));
            enum part part = kind->shape(u, v);
            if (part == PART_NONE)
                continue;
            const int *colour = part == PART_BODY ? body : part == PART_SKIN ? skin : dark;
            uint8_t *p = out->data + (size_t)y * out->stride + (size_t)x * 3;
            for (int c = 0; c < 3; c++)
                p[c] = clamp_u8(((colour[c] + 30 - v * 60 / UNIT) * (int)(scene->light + 64)) / 320);
        }
    }
}

void synth_draw_rgb(const struct synth_scene *scene, const struct pixels *out) {
    for (uint32_t y = 0; y < out->height; y++)
        ground_row(scene, out, y);
    for (uint32_t i = 0; i < scene->object_count; i++)
        draw_object_rgb(scene, &scene->objects[i], out);
}

/* Warm where the shape is, warmest in its middle, with a glow that fades towards the box's edge. */
static void draw_object_ir(const struct synth_scene *scene, const struct synth_object *o, const struct pixels *out) {
    const struct kind *kind = &kinds[o->class_id % KIND_COUNT];
    struct area a = area_in(scene, o, out);
    for (uint32_t y = a.top; y < a.bottom && y < out->height; y++) {
        int v = (int)((2 * (y - a.top) + 1) * UNIT / (2 * (a.bottom - a.top)));
        for (uint32_t x = a.left; x < a.right && x < out->width; x++) {
            int u = (int)((2 * (x - a.left) + 1) * UNIT / (2 * (a.right - a.left)));
            int du = u - UNIT / 2, dv = v - UNIT / 2;
            int distance = (du * du + dv * dv) >> 10; /* 256 at an edge's middle */
            int glow = distance < 256 ? 256 - distance : 0;
            int weight = kind->shape(u, v) != PART_NONE ? 150 + glow * 106 / 256 : glow / 3;
            uint8_t *p = out->data + (size_t)y * out->stride + x;
            *p = clamp_u8(*p + (((kind->warmth - *p) * weight) >> 8));
        }
    }
}

void synth_draw_ir(const struct synth_scene *scene, const struct pixels *out) {
    uint8_t coarse[NOISE_BLOCK], fine[NOISE_BLOCK];
    uint32_t horizon = out->height * 2 / 5;
    for (uint32_t y = 0; y < out->height; y++) {
        int base = y < horizon ? 28 : 52 + (int)((y - horizon) * 24 / out->height);
        for (uint32_t x0 = 0; x0 < out->width; x0 += NOISE_BLOCK) {
            uint32_t n = out->width - x0 < NOISE_BLOCK ? out->width - x0 : NOISE_BLOCK;
            uint8_t *p = out->data + (size_t)y * out->stride + x0;
            noise_row(coarse, x0, n, y, 5, scene->texture_seed * 3);
            noise_row(fine, x0, n, y, 1, scene->texture_seed * 5);
            for (uint32_t i = 0; i < n; i++)
                p[i] = clamp_u8(base + ((coarse[i] - 128) >> 3) + ((fine[i] - 128) >> 4));
        }
    }
    for (uint32_t i = 0; i < scene->object_count; i++)
        draw_object_ir(scene, &scene->objects[i], out);
}
