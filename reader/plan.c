/*
 * position ──order──> sample            (permutation of the position's epoch)
 *    └──draws──> partners (window entries left of it in its lane), matrix, colour, flips ──> recipe
 *
 * A draw depends on the seed, its purpose and the position alone, and each purpose has its own blocks, so that what one
 * option switches off never moves what another draws.
 */
#include "plan.h"

#include "index.h"
#include "matrix.h"
#include "permutation.h"
#include "plan_private.h"
#include "random.h"

#include <string.h>

/* Toward minus infinity; b > 0. */
static int64_t floor_divide(int64_t a, int64_t b) {
    return a / b - (a % b < 0);
}

/* ---- positions --------------------------------------------------------------------------------------------------- */

uint64_t plan_batches_per_epoch(const struct plan *plan) {
    return plan->batches;
}

int64_t plan_end(const struct plan *plan) {
    return plan->end;
}

struct plan_place plan_place(const struct plan *plan, int64_t position) {
    int64_t epoch = floor_divide(position, plan->span);
    uint64_t in_epoch = (uint64_t)(position - epoch * plan->span);
    return (struct plan_place){.epoch = epoch,
                               .batch = in_epoch / plan->options.batch,
                               .lane = (uint32_t)(in_epoch % plan->options.batch),
                               .valid =
                                   plan->options.last_batch != LAST_PARTIAL || in_epoch < plan->options.sample_count};
}

int64_t plan_rank_position(const struct plan *plan, uint32_t rank, int64_t batch, uint32_t row) {
    return batch * plan->options.batch + (int64_t)row * plan->options.world + rank;
}

uint64_t plan_sample_at(const struct plan *plan, int64_t position) {
    int64_t epoch = floor_divide(position, plan->span);
    uint64_t in_epoch = (uint64_t)(position - epoch * plan->span) % plan->options.sample_count;
    if (plan->options.mode == PLAN_EVAL) {
        return plan->rect_order ? plan->rect_order[in_epoch] : in_epoch;
    }
    struct random_block block = random_draw(plan->options.seed, RANDOM_ORDER, epoch, 0);
    const uint64_t key[2] = {random_u64(&block, 0), random_u64(&block, 1)};
    struct permutation order = plan->order;
    permutation_rekey(&order, key);
    return permutation_at(&order, in_epoch);
}

/* Batches an epoch in which a lane has a sample: one less than the others where a partial batch does not reach it. */
static int64_t lane_batches(const struct plan *plan, uint32_t lane) {
    uint64_t last = (plan->batches - 1) * plan->options.batch + lane;
    bool missing = plan->options.last_batch == LAST_PARTIAL && last >= plan->options.sample_count;
    return (int64_t)plan->batches - missing;
}

/* The position `steps` samples to the right of `position` in its lane (negative: left), past missing places. */
static int64_t lane_step(const struct plan *plan, int64_t position, int64_t steps) {
    struct plan_place place = plan_place(plan, position);
    int64_t batches = lane_batches(plan, place.lane);
    int64_t ordinal = place.epoch * batches + (int64_t)place.batch + steps;
    int64_t epoch = floor_divide(ordinal, batches);
    return epoch * plan->span + (ordinal - epoch * batches) * plan->options.batch + place.lane;
}

/* ---- what a sample draws ----------------------------------------------------------------------------------------- */

/* Which layers a sample has, and which of them are mosaics. */
struct layer_draw {
    bool used[LAYER_COUNT], mosaic[LAYER_COUNT];
};

static struct layer_draw draw_layers(const struct plan *plan, int64_t position) {
    const struct plan_options *o = &plan->options;
    struct layer_draw draw = {.used = {true}};
    bool open = o->mode == PLAN_TRAIN && floor_divide(position, plan->span) < plan->closing_epoch;
    if (!open) {
        return draw;
    }
    if (o->mixup > 0 || o->cutmix > 0) {
        struct random_block mix = random_draw(o->seed, RANDOM_MIX, position, 0);
        draw.used[LAYER_MIXUP] = random_chance(mix.word[0], o->mixup);
        draw.used[LAYER_CUTMIX] = random_chance(mix.word[1], o->cutmix);
    }
    for (int role = 0; role < LAYER_COUNT && o->mosaic > 0; role++) {
        if (draw.used[role]) {
            struct random_block block = random_draw(o->seed, RANDOM_PARTNERS, position, (uint32_t)role * RECIPE_TILES);
            draw.mosaic[role] = random_chance(block.word[3], o->mosaic);
        }
    }
    return draw;
}

/* The draw behind tile `tile` of layer `role`: words 0 and 1 say which partner. */
static struct random_block draw_partner(const struct plan *plan, int64_t position, int role, unsigned tile) {
    return random_draw(plan->options.seed, RANDOM_PARTNERS, position, (uint32_t)role * RECIPE_TILES + tile);
}

/* How many samples to the left the partner lies: 1 … mosaic_depth. */
static uint32_t partner_distance(const struct plan *plan, const struct random_block *block) {
    return 1 + random_below(block->word[0], plan->options.mosaic_depth);
}

static struct recipe_tile own_tile(const struct plan *plan, int64_t position) {
    return (struct recipe_tile){position, plan_sample_at(plan, position)};
}

static struct recipe_tile partner_tile(const struct plan *plan, int64_t position, int role, unsigned tile) {
    struct random_block block = draw_partner(plan, position, role, tile);
    if (plan->options.mosaic_pool == POOL_ALL) {
        uint64_t low = (uint64_t)block.word[1] * plan->options.sample_count >> 32;
        return (struct recipe_tile){TILE_UNSHARED, (block.word[0] * plan->options.sample_count + low) >> 32};
    }
    return own_tile(plan, lane_step(plan, position, -(int64_t)partner_distance(plan, &block)));
}

/* ---- geometry ---------------------------------------------------------------------------------------------------- */

static void draw_perspective(const struct plan *plan, int64_t position, int role, struct perspective_draw *draw,
                             struct recipe_layer *layer) {
    const struct plan_options *o = &plan->options;
    struct random_block place = random_draw(o->seed, RANDOM_GEOMETRY, position, (uint32_t)role * 4);
    struct random_block move = random_draw(o->seed, RANDOM_GEOMETRY, position, (uint32_t)role * 4 + 1);
    if (layer->canvas == CANVAS_MOSAIC) {
        layer->center_y = (int32_t)(o->image_size / 2 + random_below(place.word[0], o->image_size));
        layer->center_x = (int32_t)(o->image_size / 2 + random_below(place.word[1], o->image_size));
    }
    *draw = (struct perspective_draw){
        .scale = (int32_t)random_uniform(place.word[2], 1 - o->scale, 1 + o->scale),
        .angle = (int32_t)random_uniform(place.word[3], -o->degrees, o->degrees),
        .translate_x = (int32_t)random_uniform(move.word[0], 0.5 - o->translate, 0.5 + o->translate),
        .translate_y = (int32_t)random_uniform(move.word[1], 0.5 - o->translate, 0.5 + o->translate),
        .perspective_x = (int32_t)random_uniform(move.word[2], -o->perspective, o->perspective),
        .perspective_y = (int32_t)random_uniform(move.word[3], -o->perspective, o->perspective)};
    if (o->shear > 0) {
        struct random_block shear = random_draw(o->seed, RANDOM_GEOMETRY, position, (uint32_t)role * 4 + 2);
        draw->shear_x = (int32_t)random_uniform(shear.word[0], -o->shear, o->shear);
        draw->shear_y = (int32_t)random_uniform(shear.word[1], -o->shear, o->shear);
    }
}

static void draw_layer(const struct plan *plan, const struct layer_draw *layers, int role, struct recipe *recipe) {
    struct recipe_layer *layer = &recipe->layers[role];
    int64_t position = recipe->position;
    memset(layer, 0, sizeof *layer);
    layer->canvas = layers->mosaic[role] ? CANVAS_MOSAIC : CANVAS_LETTERBOX;
    layer->tile_count = layers->mosaic[role] ? RECIPE_TILES : 1;
    layer->tiles[0] = role == LAYER_BASE ? own_tile(plan, position) : partner_tile(plan, position, role, 0);
    for (unsigned tile = 1; tile < layer->tile_count; tile++) {
        layer->tiles[tile] = partner_tile(plan, position, role, tile);
    }
    if (plan->options.mode == PLAN_EVAL) {
        layer->scale = RECIPE_ONE;
        matrix_identity(layer->matrix);
        return;
    }
    struct perspective_draw draw;
    draw_perspective(plan, position, role, &draw, layer);
    layer->scale = draw.scale;
    struct size_px canvas = canvas_size(recipe, layer);
    perspective_matrix(layer->matrix, &draw, canvas.width, canvas.height, recipe->frame_width, recipe->frame_height);
    layer->warp = plan->options.perspective > 0 ? WARP_PERSPECTIVE : (uint8_t)matrix_warp(layer->matrix);
}

static void draw_sizes(const struct plan *plan, const struct plan_place *place, struct recipe *out) {
    const struct plan_options *o = &plan->options;
    struct size_px frame = {o->image_size, o->image_size};
    if (plan->rect_frames) {
        frame = plan->rect_frames[place->batch];
    }
    out->image_size = o->image_size;
    out->frame_width = out->output_width = frame.width;
    out->frame_height = out->output_height = frame.height;
    if (plan->side_count > 0) {
        struct random_block block =
            random_draw(o->seed, RANDOM_SIDE, place->epoch * (int64_t)plan->batches + (int64_t)place->batch, 0);
        uint32_t side = plan->side_low + random_below(block.word[0], plan->side_count);
        out->output_width = out->output_height = side / o->stride * o->stride;
    }
}

/* ---- mixing ------------------------------------------------------------------------------------------------------ */

/* Beta(32, 32): the 32nd smallest of 63 uniforms. Insertion into the 32 smallest so far. */
static int32_t draw_beta(uint64_t seed, int64_t position) {
    uint32_t smallest[32];
    unsigned count = 0;
    struct random_block block = {{0}};
    for (uint32_t drawn = 0; drawn < 63; drawn++) {
        if (drawn % 4 == 0) {
            block = random_draw(seed, RANDOM_BETA, position, drawn / 4);
        }
        uint32_t word = block.word[drawn % 4];
        unsigned at = count;
        while (at > 0 && smallest[at - 1] > word) {
            at--;
        }
        if (at < 32) {
            unsigned moved = (count < 32 ? count : 31) - at;
            memmove(smallest + at + 1, smallest + at, moved * sizeof *smallest);
            smallest[at] = word;
            count += count < 32;
        }
    }
    return (int32_t)random_uniform(smallest[31], 0, 1);
}

/* floor(sqrt(value)). */
static uint32_t integer_root(uint64_t value) {
    uint64_t root = 0;
    for (uint64_t bit = UINT64_C(1) << 31; bit > 0; bit >>= 1) {
        root += (root + bit) * (root + bit) <= value ? bit : 0;
    }
    return (uint32_t)root;
}

static int32_t clamp(int32_t value, int32_t high) {
    return value < 0 ? 0 : value > high ? high : value;
}

/* The cut covers 1 - lambda of the frame, lambda ~ Beta(1, 1), so each side is the frame's times sqrt(1 - lambda); its
 * middle lies anywhere. */
static struct recipe_area draw_area(const struct plan *plan, const struct recipe *recipe, uint32_t index) {
    struct random_block block = random_draw(plan->options.seed, RANDOM_CUT, recipe->position, index);
    uint64_t width = recipe->frame_width, height = recipe->frame_height, share = block.word[0]; /* of 2^32 */
    int32_t half_width = (int32_t)(integer_root(width * width * share >> 32) / 2);
    int32_t half_height = (int32_t)(integer_root(height * height * share >> 32) / 2);
    int32_t x = (int32_t)random_below(block.word[1], (uint32_t)width);
    int32_t y = (int32_t)random_below(block.word[2], (uint32_t)height);
    return (struct recipe_area){clamp(x - half_width, (int32_t)width), clamp(y - half_height, (int32_t)height),
                                clamp(x + half_width, (int32_t)width), clamp(y + half_height, (int32_t)height)};
}

static void draw_mixing(const struct plan *plan, const struct layer_draw *layers, struct recipe *out) {
    out->mixup = layers->used[LAYER_MIXUP];
    out->cutmix = layers->used[LAYER_CUTMIX];
    if (out->mixup) {
        out->mixup_ratio = draw_beta(plan->options.seed, out->position);
    }
    if (out->cutmix) {
        out->cutmix_choice = random_draw(plan->options.seed, RANDOM_MIX, out->position, 0).word[2];
        for (uint32_t i = 0; i < RECIPE_CUT_AREAS; i++) {
            out->cutmix_areas[i] = draw_area(plan, out, i);
        }
    }
}

/* ---- colour, flips, infrared ------------------------------------------------------------------------------------- */

static int32_t draw_around_zero(uint32_t word, double reach) {
    return (int32_t)random_uniform(word, -reach, reach);
}

/* On the grid that single precision multiplies 8-bit values by without rounding: every executor, and the reference,
 * then has the same look-up table. */
static int32_t draw_gain(uint32_t word, double reach) {
    return draw_around_zero(word, reach) / RECIPE_GAIN_STEP * RECIPE_GAIN_STEP;
}

static void draw_colour(const struct plan *plan, struct recipe *out) {
    const struct plan_options *o = &plan->options;
    struct random_block gains = random_draw(o->seed, RANDOM_COLOUR, out->position, 0);
    out->hue = draw_around_zero(gains.word[0], o->hsv_h);
    out->saturation = draw_gain(gains.word[1], o->hsv_s);
    out->value = draw_gain(gains.word[2], o->hsv_v);
    out->swap_rgb = random_chance(gains.word[3], o->bgr);
    struct random_block flips = random_draw(o->seed, RANDOM_FLIP, out->position, 0);
    out->flip_vertical = random_chance(flips.word[0], o->flipud);
    out->flip_horizontal = random_chance(flips.word[1], o->fliplr);
}

static void draw_infrared(const struct plan *plan, struct recipe *out) {
    const struct plan_options *o = &plan->options;
    const double levels = 255;
    struct random_block grey = random_draw(o->seed, RANDOM_INFRARED, out->position, 0);
    struct random_block place = random_draw(o->seed, RANDOM_INFRARED, out->position, 1);
    out->ir_gain += draw_around_zero(grey.word[0], o->ir_gain);
    out->ir_bias = draw_around_zero(grey.word[1], o->ir_bias * levels);
    out->ir_noise = (int32_t)random_uniform(grey.word[2], 0, o->ir_noise * levels);
    out->ir_invert = random_chance(grey.word[3], o->ir_invert);
    out->ir_shift_x = (int16_t)((int32_t)random_below(place.word[0], 2 * o->ir_shift + 1) - (int32_t)o->ir_shift);
    out->ir_shift_y = (int16_t)((int32_t)random_below(place.word[1], 2 * o->ir_shift + 1) - (int32_t)o->ir_shift);
    if (random_chance(place.word[2], o->drop_rgb)) {
        out->dropped = MODALITY_RGB;
    } else if (random_chance(place.word[2], o->drop_rgb + o->drop_ir)) {
        out->dropped = MODALITY_IR;
    }
    if (out->ir_noise > 0) {
        struct random_block block = random_draw(o->seed, RANDOM_INFRARED, out->position, 2);
        out->ir_noise_seed = random_u64(&block, 0);
    }
}

void plan_sample(const struct plan *plan, int64_t position, struct recipe *out) {
    struct plan_place place = plan_place(plan, position);
    memset(out, 0, sizeof *out);
    out->position = position;
    out->valid = place.valid;
    out->ir_gain = RECIPE_ONE;
    draw_sizes(plan, &place, out);
    if (!place.valid) {
        return;
    }
    struct layer_draw layers = draw_layers(plan, position);
    for (int role = 0; role < LAYER_COUNT; role++) {
        if (layers.used[role]) {
            draw_layer(plan, &layers, role, out);
        }
    }
    if (plan->options.mode == PLAN_EVAL) {
        return;
    }
    out->augment = true;
    draw_mixing(plan, &layers, out);
    draw_colour(plan, out);
    if (plan->has_infrared) {
        draw_infrared(plan, out);
    }
    if (plan->options.hsv_on_ir) {
        out->ir_gain = (int32_t)(((int64_t)out->ir_gain * (RECIPE_ONE + out->value) + RECIPE_ONE / 2) / RECIPE_ONE);
    }
}

/* ---- the window -------------------------------------------------------------------------------------------------- */

/* Whether the sample at `position` has a partner `distance` samples to its left. */
static bool uses_partner(const struct plan *plan, int64_t position, uint32_t distance) {
    struct layer_draw layers = draw_layers(plan, position);
    for (int role = 0; role < LAYER_COUNT; role++) {
        unsigned tiles = !layers.used[role] ? 0 : layers.mosaic[role] ? RECIPE_TILES : 1;
        for (unsigned tile = role == LAYER_BASE; tile < tiles; tile++) {
            struct random_block block = draw_partner(plan, position, role, tile);
            if (partner_distance(plan, &block) == distance) {
                return true;
            }
        }
    }
    return false;
}

unsigned plan_entry_uses(const struct plan *plan, int64_t entry, int64_t from, int64_t *last) {
    unsigned uses = 0;
    from = from > 0 ? from : 0;
    if (!plan_place(plan, entry).valid) {
        return 0;
    }
    if (entry >= from && entry < plan->end) {
        uses++;
        *last = entry;
    }
    bool shared = plan->options.mode == PLAN_TRAIN && plan->options.mosaic_pool == POOL_LANE;
    for (uint32_t distance = 1; shared && distance <= plan->options.mosaic_depth; distance++) {
        int64_t position = lane_step(plan, entry, distance);
        if (position >= plan->end) {
            break;
        }
        if (position >= from && uses_partner(plan, position, distance)) {
            uses++;
            *last = position;
        }
    }
    return uses;
}
