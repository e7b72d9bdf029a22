/*
 * Synthetic street scenes: road users on textured ground in RGB, the same ones warm in infrared.
 *
 * Integer arithmetic only and one random stream a scene: the same seed gives the same pixels on every machine.
 */
#ifndef YPK_TOOLS_SYNTH_H
#define YPK_TOOLS_SYNTH_H

#include "pixels.h"

#include <stdbool.h>
#include <stdint.h>

enum { SYNTH_OBJECT_LIMIT = 8 };

/* A box in RGB pixels. */
struct synth_object {
    uint32_t class_id;
    uint32_t x, y, width, height; /* px */
    uint32_t tint;                /* random bits for its colour */
};

struct synth_scene {
    uint64_t texture_seed;
    uint32_t width, height; /* px, of the RGB picture */
    uint32_t light;         /* 96 dusk … 256 day */
    uint32_t object_count;
    struct synth_object objects[SYNTH_OBJECT_LIMIT];
};

/* Scene `index` of the set with that seed. Width and height are at least 32 px. A background has no objects. */
void synth_scene(struct synth_scene *out, uint64_t seed, uint64_t index, uint32_t width, uint32_t height,
                 uint32_t class_count, bool background);

/* Draws into `out` (its own size, which may differ from the scene's): 3 channels, or 1 for infrared. */
void synth_draw_rgb(const struct synth_scene *scene, const struct pixels *out);
void synth_draw_ir(const struct synth_scene *scene, const struct pixels *out);

/* "person", "car", …, NULL where the class has no name of its own. */
const char *synth_class_name(uint32_t class_id);

#endif
