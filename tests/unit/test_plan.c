#include "hash.h"
#include "plan.h"

#include "matrix.h"
#include "random.h"

#include <criterion/criterion.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct plan_options options_for(uint64_t sample_count, uint32_t batch) {
    struct plan_options o;
    plan_options_init(&o);
    o.seed = 42;
    o.sample_count = sample_count;
    o.content_hash = 0x1234;
    o.batch = batch;
    return o;
}

/* Every draw there is. */
static struct plan_options options_with_all(uint64_t sample_count, uint32_t batch) {
    struct plan_options o = options_for(sample_count, batch);
    o.mosaic = 0.8;
    o.mixup = 0.4;
    o.cutmix = 0.4;
    o.degrees = 15;
    o.shear = 3;
    o.perspective = 0.0005;
    o.flipud = 0.3;
    o.bgr = 0.2;
    o.multi_scale = 0.25;
    o.ir_gain = 0.2;
    o.ir_bias = 0.1;
    o.ir_noise = 0.05;
    o.ir_invert = 0.1;
    o.ir_shift = 4;
    o.drop_rgb = 0.1;
    o.drop_ir = 0.1;
    o.hsv_on_ir = 1;
    return o;
}

static struct size_px shape_of(void *arg, uint64_t sample) {
    const struct size_px *shapes = arg;
    return shapes[sample];
}

static struct plan *make_shaped(const struct plan_options *options, struct size_px *shapes) {
    struct plan *plan;
    struct error error = {0};
    int rc = plan_create(&plan, options, shapes ? shape_of : NULL, shapes, &error);
    cr_assert_eq(rc, 0, "%s", error.message);
    return plan;
}

static struct plan *make(const struct plan_options *options) {
    return make_shaped(options, NULL);
}

static bool same_recipe(const struct plan *a, const struct plan *b, int64_t position) {
    struct recipe ra, rb;
    plan_sample(a, position, &ra);
    plan_sample(b, position, &rb);
    return memcmp(&ra, &rb, sizeof ra) == 0;
}

/* ---- golden recipes ---------------------------------------------------------------------------------------------- */

static void print_layer(FILE *out, const struct recipe *r, int role) {
    const struct recipe_layer *layer = &r->layers[role];
    fprintf(out, " | layer %d canvas %d warp %d center %d %d scale %d matrix", role, layer->canvas, layer->warp,
            layer->center_x, layer->center_y, layer->scale);
    for (int i = 0; i < 9; i++) {
        double scaled = layer->matrix[i] * RECIPE_ONE;
        cr_assert(scaled == (double)(int64_t)scaled, "entry %d is off the grid", i);
        fprintf(out, " %lld", (long long)scaled);
    }
    fprintf(out, " tiles");
    for (int i = 0; i < layer->tile_count; i++) {
        fprintf(out, " %lld:%llu", (long long)layer->tiles[i].entry, (unsigned long long)layer->tiles[i].sample);
    }
}

static void print_recipe(FILE *out, const struct recipe *r) {
    fprintf(out, "%lld valid %d augment %d flip %d %d bgr %d hsv %d %d %d out %u %u", (long long)r->position, r->valid,
            r->augment, r->flip_vertical, r->flip_horizontal, r->swap_rgb, r->hue, r->saturation, r->value,
            r->output_width, r->output_height);
    if (r->ir_gain != RECIPE_ONE || r->ir_noise_seed) {
        fprintf(out, " ir %d %d %d %llx %d %d %d drop %d", r->ir_gain, r->ir_bias, r->ir_noise,
                (unsigned long long)r->ir_noise_seed, r->ir_shift_x, r->ir_shift_y, r->ir_invert, r->dropped);
    }
    if (r->mixup) {
        fprintf(out, " mixup %d", r->mixup_ratio);
    }
    if (r->cutmix) {
        fprintf(out, " cutmix %u", r->cutmix_choice);
        for (int i = 0; i < RECIPE_CUT_AREAS; i++) {
            const struct recipe_area *a = &r->cutmix_areas[i];
            fprintf(out, " %d,%d,%d,%d", a->x1, a->y1, a->x2, a->y2);
        }
    }
    print_layer(out, r, LAYER_BASE);
    if (r->mixup) {
        print_layer(out, r, LAYER_MIXUP);
    }
    if (r->cutmix) {
        print_layer(out, r, LAYER_CUTMIX);
    }
    fputc('\n', out);
}

static void print_plan(FILE *out, const char *title, const struct plan_options *options, int count) {
    struct plan *plan = make(options);
    fprintf(out, "# %s\n", title);
    for (int64_t position = 0; position < count; position++) {
        struct recipe r;
        plan_sample(plan, position, &r);
        print_recipe(out, &r);
    }
    plan_destroy(&plan);
}

#define GOLDEN_PATH "tests/golden/recipes-v1.txt"

/* The recipes that every version must draw for these options. YPK_WRITE_GOLDEN=1 writes the file anew, for a new
 * RECIPE_VERSION only. */
Test(plan, golden_recipes) {
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    struct plan_options defaults = options_for(300, 16), all = options_with_all(5000, 8);
    print_plan(out, "defaults, n 300, batch 16, seed 42", &defaults, 1000);
    print_plan(out, "every option on, n 5000, batch 8, seed 42", &all, 100);
    fclose(out);
    if (getenv("YPK_WRITE_GOLDEN")) {
        FILE *file = fopen(GOLDEN_PATH, "wb");
        cr_assert(file && fwrite(text, 1, size, file) == size && fclose(file) == 0);
    }
    FILE *file = fopen(GOLDEN_PATH, "rb");
    cr_assert_not_null(file, GOLDEN_PATH ": run in the repository's root");
    char *golden = calloc(size + 2, 1);
    size_t got = fread(golden, 1, size + 1, file);
    fclose(file);
    for (size_t at = 0, line = 1; at < size; at++) {
        cr_assert_eq(golden[at], text[at], GOLDEN_PATH ":%zu: this recipe is drawn differently now", line);
        line += text[at] == '\n';
    }
    cr_assert_eq(got, size);
    free(golden);
    free(text);
}

/* ---- purity, ranks, order ---------------------------------------------------------------------------------------- */

Test(plan, a_recipe_depends_on_seed_and_position_alone) {
    enum { COUNT = 2000 };
    struct plan_options o = options_with_all(333, 12);
    struct plan *plan = make(&o), *again = make(&o);
    static struct recipe forward[COUNT];
    for (int64_t p = 0; p < COUNT; p++) {
        plan_sample(plan, p, &forward[p]);
    }
    for (int i = 0; i < 3 * COUNT; i++) {
        int64_t p = random_below(random_draw(5, RANDOM_CUT, i, 0).word[0], COUNT);
        struct recipe r;
        memset(&r, i, sizeof r);
        plan_sample(i & 1 ? plan : again, p, &r);
        cr_assert_eq(memcmp(&r, &forward[p], sizeof r), 0, "position %ld", (long)p);
    }
    o.seed = 43;
    struct plan *other = make(&o);
    int equal = 0;
    for (int64_t p = 0; p < 200; p++) {
        equal += same_recipe(plan, other, p);
    }
    cr_assert_lt(equal, 3);
    plan_destroy(&plan);
    plan_destroy(&again);
    plan_destroy(&other);
}

static const uint32_t worlds[] = {1, 2, 3, 4, 6};
enum { WORLDS = 5 };

Test(plan, ranks_together_see_what_one_rank_would) {
    struct plan_options o = options_with_all(100, 12);
    o.last_batch = LAST_WRAP;
    struct plan *one = make(&o);
    int64_t batches = 4 * (int64_t)plan_batches_per_epoch(one);
    for (int w = 0; w < WORLDS; w++) {
        o.world = worlds[w];
        struct plan *plan = make(&o);
        cr_assert_eq(plan_batches_per_epoch(plan), plan_batches_per_epoch(one));
        uint8_t *seen = calloc((size_t)batches * 12, 1);
        for (uint32_t rank = 0; rank < o.world; rank++) {
            for (int64_t batch = 0; batch < batches; batch++) {
                for (uint32_t row = 0; row < 12 / o.world; row++) {
                    int64_t p = plan_rank_position(plan, rank, batch, row);
                    cr_assert_eq(p / 12, batch);
                    cr_assert_eq(plan_place(plan, p).lane % o.world, rank);
                    cr_assert_not(seen[p]);
                    seen[p] = 1;
                    cr_assert(same_recipe(plan, one, p));
                }
            }
        }
        free(seen);
        plan_destroy(&plan);
    }
    plan_destroy(&one);
}

/* Times that each sample is shown in the epoch. */
static void count_shown(const struct plan *plan, int64_t epoch, uint32_t *shown) {
    int64_t span = (int64_t)plan_batches_per_epoch(plan) * plan_frozen_options(plan)->batch;
    memset(shown, 0, plan_frozen_options(plan)->sample_count * sizeof *shown);
    for (int64_t g = 0; g < span; g++) {
        if (plan_place(plan, epoch * span + g).valid) {
            shown[plan_sample_at(plan, epoch * span + g)]++;
        }
    }
}

static void check_coverage(const struct plan_options *o, uint64_t batches, uint32_t least, uint32_t most,
                           uint64_t total) {
    struct plan *plan = make(o);
    cr_assert_eq(plan_batches_per_epoch(plan), batches);
    for (int64_t epoch = -1; epoch < 3; epoch++) {
        uint32_t shown[64];
        uint64_t sum = 0;
        count_shown(plan, epoch, shown);
        for (uint64_t i = 0; i < o->sample_count; i++) {
            cr_assert(shown[i] >= least && shown[i] <= most, "n %lu rule %u: %u times", (unsigned long)o->sample_count,
                      o->last_batch, shown[i]);
            sum += shown[i];
        }
        cr_assert_eq(sum, total);
    }
    plan_destroy(&plan);
}

Test(plan, coverage_for_every_size) {
    for (uint64_t n = 1; n <= 60; n++) {
        struct plan_options o = options_for(n, 12);
        uint64_t up = (n + 11) / 12, down = n / 12;
        o.last_batch = LAST_WRAP;
        check_coverage(&o, up, (uint32_t)(up * 12 / n), (uint32_t)((up * 12 + n - 1) / n), up * 12);
        o.last_batch = LAST_PARTIAL;
        check_coverage(&o, up, 1, 1, n);
        o.last_batch = LAST_DROP;
        if (down > 0) {
            check_coverage(&o, down, n % 12 ? 0 : 1, 1, down * 12);
        }
        o.mode = PLAN_EVAL;
        o.last_batch = LAST_AUTO;
        for (int w = 0; w < WORLDS; w++) {
            o.world = worlds[w];
            check_coverage(&o, up, 1, 1, n);
        }
    }
}

Test(plan, no_two_epochs_are_equal) {
    static const uint64_t sizes[] = {16, 128, 5000};
    for (int s = 0; s < 3; s++) {
        struct plan_options o = options_for(sizes[s], 16);
        struct plan *plan = make(&o);
        int64_t span = (int64_t)plan_batches_per_epoch(plan) * 16;
        for (int64_t a = -3; a < 30; a++) {
            for (int64_t b = a + 1; b < 30; b++) {
                int64_t g = 0;
                while (g < 16 && plan_sample_at(plan, a * span + g) == plan_sample_at(plan, b * span + g)) {
                    g++;
                }
                cr_assert_lt(g, 16, "epochs %ld and %ld", (long)a, (long)b);
            }
        }
        plan_destroy(&plan);
    }
}

Test(plan, wrap_repeats_the_first_of_the_same_epoch) {
    struct plan_options o = options_for(29, 12);
    o.last_batch = LAST_WRAP;
    struct plan *plan = make(&o);
    for (int64_t epoch = 0; epoch < 3; epoch++) {
        for (int64_t g = 29; g < 36; g++) {
            cr_assert_eq(plan_sample_at(plan, epoch * 36 + g), plan_sample_at(plan, epoch * 36 + g - 29));
        }
    }
    plan_destroy(&plan);
}

/* ---- partners and the window ------------------------------------------------------------------------------------- */

/* The distinct window entries that a recipe needs, its own included, TILE_UNSHARED left out; returns how many. */
#define RECIPE_ENTRIES (LAYER_COUNT * RECIPE_TILES)
static unsigned recipe_entries(const struct recipe *recipe, int64_t entries[RECIPE_ENTRIES]) {
    unsigned count = 0;
    for (int role = 0; role < LAYER_COUNT; role++) {
        const struct recipe_layer *layer = &recipe->layers[role];
        for (unsigned tile = 0; recipe_has_layer(recipe, role) && tile < layer->tile_count; tile++) {
            unsigned seen = 0;
            while (seen < count && entries[seen] != layer->tiles[tile].entry) {
                seen++;
            }
            if (seen == count && layer->tiles[tile].entry != TILE_UNSHARED) {
                entries[count++] = layer->tiles[tile].entry;
            }
        }
    }
    return count;
}

static void check_partners(const struct plan *plan, const struct recipe *r) {
    const struct plan_options *o = plan_frozen_options(plan);
    int64_t entries[RECIPE_ENTRIES];
    unsigned count = recipe_entries(r, entries);
    cr_assert_eq(entries[0], r->position);
    for (unsigned i = 0; i < count; i++) {
        struct plan_place place = plan_place(plan, entries[i]);
        cr_assert(place.valid);
        cr_assert_eq(place.lane, plan_place(plan, r->position).lane, "a partner from another lane");
        cr_assert_leq(entries[i], r->position);
        int64_t whole = (int64_t)plan_batches_per_epoch(plan) - 1; /* a lane misses at most one batch an epoch */
        int64_t gaps = o->last_batch == LAST_PARTIAL ? o->mosaic_depth / (whole > 0 ? whole : 1) + 1 : 0;
        cr_assert_geq(entries[i], r->position - (int64_t)(o->mosaic_depth + gaps) * o->batch);
    }
    for (int role = 0; role < LAYER_COUNT; role++) {
        for (int tile = 0; tile < r->layers[role].tile_count; tile++) {
            const struct recipe_tile *t = &r->layers[role].tiles[tile];
            cr_assert_lt(t->sample, o->sample_count);
            cr_assert_eq(t->sample, plan_sample_at(plan, t->entry));
            cr_assert(t->entry != r->position || (role == LAYER_BASE && tile == 0));
        }
    }
}

Test(plan, partners_come_from_the_own_lane_at_every_size) {
    static const uint32_t rules[] = {LAST_WRAP, LAST_DROP, LAST_PARTIAL};
    for (uint64_t n = 1; n <= 40; n++) {
        for (int rule = 0; rule < 3; rule++) {
            struct plan_options o = options_with_all(n, 12);
            o.last_batch = rules[rule];
            if (o.last_batch == LAST_DROP && n < 12) {
                continue;
            }
            struct plan *plan = make(&o);
            for (int64_t p = 0; p < 200; p++) {
                struct recipe r;
                plan_sample(plan, p, &r);
                cr_assert_eq(r.valid, plan_place(plan, p).valid);
                if (r.valid) {
                    check_partners(plan, &r);
                }
            }
            plan_destroy(&plan);
        }
    }
}

Test(plan, partners_are_spread_over_the_depth) {
    struct plan_options o = options_for(10000, 16);
    struct plan *plan = make(&o);
    unsigned distance[9] = {0};
    for (int64_t p = 0; p < 10000; p++) {
        struct recipe r;
        plan_sample(plan, p, &r);
        for (int tile = 1; tile < 4; tile++) {
            distance[(p - r.layers[0].tiles[tile].entry) / 16]++;
        }
    }
    cr_assert_eq(distance[0], 0);
    for (int d = 1; d <= 8; d++) { /* 3750 expected, 4.5 standard deviations of 57 */
        cr_assert(distance[d] > 3490 && distance[d] < 4010, "distance %d: %u", d, distance[d]);
    }
    plan_destroy(&plan);
}

/* plan_entry_uses() against reading every recipe. */
static void check_uses(const struct plan_options *o, int64_t from) {
    struct plan *plan = make(o);
    int64_t end = plan_end(plan), before = (int64_t)(o->mosaic_depth + 20) * o->batch;
    unsigned *uses = calloc((size_t)(end + before), sizeof *uses);
    int64_t *last = calloc((size_t)(end + before), sizeof *last);
    for (int64_t p = from; p < end; p++) {
        struct recipe r;
        int64_t entries[RECIPE_ENTRIES];
        plan_sample(plan, p, &r);
        unsigned count = recipe_entries(&r, entries);
        for (unsigned i = 0; i < count; i++) {
            uses[entries[i] + before]++;
            last[entries[i] + before] = p;
        }
    }
    for (int64_t entry = -before; entry < end; entry++) {
        int64_t final = 0;
        unsigned counted = plan_entry_uses(plan, entry, from, &final);
        cr_assert_eq(counted, uses[entry + before], "entry %ld: %u, %u in truth", (long)entry, counted,
                     uses[entry + before]);
        cr_assert_eq(final, last[entry + before], "entry %ld", (long)entry);
    }
    free(uses);
    free(last);
    plan_destroy(&plan);
}

Test(plan, uses_of_an_entry_are_known_in_advance) {
    static const uint64_t sizes[] = {1, 5, 12, 13, 100};
    for (int s = 0; s < 5; s++) {
        struct plan_options o = options_with_all(sizes[s], 12);
        o.epochs = 5;
        o.close_mosaic = 1;
        check_uses(&o, 0);
        check_uses(&o, 24);
        o.last_batch = LAST_WRAP;
        check_uses(&o, 12);
        o.mixup = o.cutmix = 0;
        o.mosaic = 1;
        check_uses(&o, 0);
        o.mode = PLAN_EVAL;
        o.last_batch = LAST_AUTO;
        check_uses(&o, 0);
    }
}

/* A rank's window: decodes what is not there, drops what the plan says is used up. */
struct window {
    int64_t entries[1024];
    unsigned held, most;
    uint64_t decodes;
};

static void window_need(struct window *w, int64_t entry) {
    for (unsigned i = 0; i < w->held; i++) {
        if (w->entries[i] == entry) {
            return;
        }
    }
    cr_assert_lt(w->held, 1024);
    w->entries[w->held++] = entry;
    w->most = w->held > w->most ? w->held : w->most;
    w->decodes++;
}

static void window_retire(struct window *w, const struct plan *plan, int64_t done) {
    for (unsigned i = 0; i < w->held;) {
        int64_t last = -1;
        plan_entry_uses(plan, w->entries[i], 0, &last);
        if (last <= done) {
            w->entries[i] = w->entries[--w->held];
        } else {
            i++;
        }
    }
}

static void run_batch(struct window *w, const struct plan *plan, uint32_t rank, int64_t batch) {
    const struct plan_options *o = plan_frozen_options(plan);
    for (uint32_t row = 0; row < o->batch / o->world; row++) {
        struct recipe r;
        int64_t entries[RECIPE_ENTRIES];
        plan_sample(plan, plan_rank_position(plan, rank, batch, row), &r);
        unsigned count = recipe_entries(&r, entries);
        for (unsigned i = 0; i < count; i++) {
            window_need(w, entries[i]);
        }
    }
    window_retire(w, plan, (batch + 1) * o->batch - 1);
}

Test(plan, one_decode_a_sample_in_every_world) {
    enum { WARM = 8, BATCHES = 60 };
    for (int w = 0; w < WORLDS; w++) {
        struct plan_options o = options_for(100, 12);
        o.world = worlds[w];
        o.mixup = 0.5;
        o.last_batch = LAST_WRAP;
        struct plan *plan = make(&o);
        uint64_t warm = 0, steady = 0;
        for (uint32_t rank = 0; rank < o.world; rank++) {
            struct window window = {.held = 0};
            for (int64_t batch = 0; batch < WARM; batch++) {
                run_batch(&window, plan, rank, batch);
            }
            warm += window.decodes;
            for (int64_t batch = WARM; batch < WARM + BATCHES; batch++) {
                run_batch(&window, plan, rank, batch);
            }
            steady += window.decodes;
            cr_assert_leq(window.most, 9 * 12 / o.world, "the window holds P * B and the batch at work");
        }
        cr_assert_eq(steady - warm, 12 * BATCHES, "world %u: %lu decodes for %d samples", o.world,
                     (unsigned long)(steady - warm), 12 * BATCHES);
        cr_assert_leq(warm, 2 * 12 * WARM);
        plan_destroy(&plan);
    }
}

Test(plan, pool_all_draws_from_the_whole_set) {
    struct plan_options o = options_for(50, 10);
    o.mosaic_pool = POOL_ALL;
    struct plan *plan = make(&o);
    unsigned drawn[50] = {0};
    for (int64_t p = 0; p < 4000; p++) {
        struct recipe r;
        int64_t entries[RECIPE_ENTRIES];
        plan_sample(plan, p, &r);
        for (int tile = 1; tile < 4; tile++) {
            cr_assert_eq(r.layers[0].tiles[tile].entry, TILE_UNSHARED);
            drawn[r.layers[0].tiles[tile].sample]++;
        }
        cr_assert_eq(recipe_entries(&r, entries), 1);
        int64_t last = -1;
        cr_assert_eq(plan_entry_uses(plan, p, 0, &last), p < plan_end(plan));
    }
    for (int i = 0; i < 50; i++) { /* 240 expected, standard deviation 15 */
        cr_assert(drawn[i] > 171 && drawn[i] < 309, "%d: %u", i, drawn[i]);
    }
    plan_destroy(&plan);
}

/* ---- what is drawn ----------------------------------------------------------------------------------------------- */

struct moments {
    double sum, squares, lowest, highest;
    int count;
};

static void moments_add(struct moments *m, double x) {
    m->lowest = m->count == 0 || x < m->lowest ? x : m->lowest;
    m->highest = m->count == 0 || x > m->highest ? x : m->highest;
    m->sum += x;
    m->squares += x * x;
    m->count++;
}

static void check_moments(const char *name, const struct moments *m, double mean, double variance) {
    double got = m->sum / m->count, spread = m->squares / m->count - got * got;
    double off = got - mean;
    cr_expect(off * off < 16 * variance / m->count + 1e-12, "%s: mean %g, expected %g", name, got, mean);
    cr_expect(spread > 0.9 * variance && spread < 1.1 * variance + 1e-12, "%s: variance %g, expected %g", name, spread,
              variance);
}

Test(plan, statistics_of_the_draws) {
    enum { COUNT = 20000 };
    struct plan_options o = options_for(1600, 16);
    o.mixup = o.cutmix = 0.5;
    o.epochs = 0;
    o.close_mosaic = 0;
    struct plan *plan = make(&o);
    struct moments scale = {0}, tx = {0}, hue = {0}, sat = {0}, val = {0}, flip = {0}, beta = {0}, cx = {0}, cy = {0};
    struct moments mixed = {0}, cut = {0}, share = {0};
    const double one = RECIPE_ONE;
    for (int64_t p = 0; p < COUNT; p++) {
        struct recipe r;
        plan_sample(plan, p, &r);
        const struct recipe_layer *base = &r.layers[0];
        cr_assert_eq(base->warp, WARP_AXIS, "%ld: warp %d", (long)p, base->warp);
        cr_assert_eq(base->matrix[0], base->scale / one);
        cr_assert_eq(base->matrix[4], base->scale / one);
        moments_add(&scale, base->scale / one);
        moments_add(&tx, (base->matrix[2] + base->matrix[0] * 640) / 640);
        moments_add(&hue, r.hue / one);
        moments_add(&sat, r.saturation / one);
        cr_assert(r.saturation % RECIPE_GAIN_STEP == 0 && r.value % RECIPE_GAIN_STEP == 0);
        moments_add(&val, r.value / one);
        moments_add(&flip, r.flip_horizontal);
        moments_add(&cx, base->center_x);
        moments_add(&cy, base->center_y);
        moments_add(&mixed, r.mixup);
        moments_add(&cut, r.cutmix);
        if (r.mixup) {
            moments_add(&beta, r.mixup_ratio / one);
        }
        const struct recipe_area *a = &r.cutmix_areas[0];
        if (r.cutmix && a->y2 > a->y1 && a->x1 > 0 && a->y1 > 0 && a->x2 < 640 && a->y2 < 640) {
            moments_add(&share, (double)(a->x2 - a->x1) / (a->y2 - a->y1));
        }
        cr_assert(!r.flip_vertical && !r.swap_rgb && !r.dropped && r.ir_gain == RECIPE_ONE && !r.ir_noise_seed);
    }
    check_moments("scale", &scale, 1, 1.0 / 12);
    check_moments("translate", &tx, 0.5, 0.04 / 12);
    check_moments("hue", &hue, 0, 0.03 * 0.03 / 12);
    check_moments("saturation", &sat, 0, 1.4 * 1.4 / 12);
    check_moments("value", &val, 0, 0.8 * 0.8 / 12);
    check_moments("flip", &flip, 0.5, 0.25);
    check_moments("centre x", &cx, 639.5, 640.0 * 640 / 12);
    check_moments("centre y", &cy, 639.5, 640.0 * 640 / 12);
    check_moments("mixup", &mixed, 0.5, 0.25);
    check_moments("cutmix", &cut, 0.5, 0.25);
    check_moments("beta", &beta, 0.5, 0.25 / 65);
    cr_expect(cx.lowest >= 320 && cx.highest < 960);
    cr_expect(scale.lowest >= 0.5 && scale.highest <= 1.5);
    cr_expect(tx.lowest >= 0.39999 && tx.highest <= 0.60001);
    cr_expect(share.lowest == 1 && share.highest == 1, "areas keep the frame's shape");
    plan_destroy(&plan);
}

Test(plan, infrared_draws_stay_in_their_ranges) {
    struct plan_options o = options_with_all(500, 16);
    o.hsv_on_ir = 0;
    struct plan *plan = make(&o);
    int dropped[4] = {0}, inverted = 0, moved = 0;
    for (int64_t p = 0; p < 5000; p++) {
        struct recipe r;
        plan_sample(plan, p, &r);
        cr_assert(r.ir_gain >= RECIPE_ONE * 4 / 5 && r.ir_gain <= RECIPE_ONE * 6 / 5);
        cr_assert(abs(r.ir_bias) <= 25.5 * RECIPE_ONE);
        cr_assert(r.ir_noise >= 0 && r.ir_noise <= 12.75 * RECIPE_ONE);
        cr_assert(abs(r.ir_shift_x) <= 4 && abs(r.ir_shift_y) <= 4);
        moved += r.ir_shift_x == -4;
        inverted += r.ir_invert;
        dropped[r.dropped]++;
    }
    cr_assert_eq(dropped[3], 0);
    cr_assert(dropped[1] > 400 && dropped[1] < 600 && dropped[2] > 400 && dropped[2] < 600);
    cr_assert(inverted > 400 && inverted < 600);
    cr_assert(moved > 440 && moved < 670);
    plan_destroy(&plan);
}

Test(plan, one_option_does_not_move_the_draws_of_another) {
    struct plan_options o = options_for(300, 16), more = o;
    more.mixup = 1;
    more.ir_noise = 0.1;
    more.bgr = 1;
    struct plan *plan = make(&o), *other = make(&more);
    for (int64_t p = 0; p < 300; p++) {
        struct recipe a, b;
        plan_sample(plan, p, &a);
        plan_sample(other, p, &b);
        cr_assert_eq(memcmp(&a.layers[0], &b.layers[0], sizeof a.layers[0]), 0);
        cr_assert(a.hue == b.hue && a.flip_horizontal == b.flip_horizontal);
    }
    plan_destroy(&plan);
    plan_destroy(&other);
}

Test(plan, close_mosaic_leaves_one_letterboxed_tile) {
    struct plan_options o = options_with_all(100, 10);
    o.epochs = 5;
    o.close_mosaic = 2;
    struct plan *plan = make(&o);
    int mosaics = 0;
    for (int64_t p = 0; p < plan_end(plan); p++) {
        struct recipe r;
        plan_sample(plan, p, &r);
        if (plan_place(plan, p).epoch >= 3) {
            cr_assert(r.layers[0].canvas == CANVAS_LETTERBOX && r.layers[0].tile_count == 1);
            cr_assert(!r.mixup && !r.cutmix && r.augment);
        }
        mosaics += r.layers[0].canvas == CANVAS_MOSAIC;
    }
    cr_assert(mosaics > 200);
    plan_destroy(&plan);
    o.close_mosaic = 9; /* more than there are */
    plan = make(&o);
    struct recipe r;
    plan_sample(plan, 0, &r);
    cr_assert_eq(r.layers[0].canvas, CANVAS_LETTERBOX);
    plan_destroy(&plan);
}

Test(plan, multi_scale_is_one_side_for_a_batch) {
    struct plan_options o = options_for(1000, 16);
    o.multi_scale = 0.5;
    struct plan *plan = make(&o);
    struct size_px most = plan_max_output(plan);
    uint32_t lowest = 9999, highest = 0;
    for (int64_t batch = 0; batch < 500; batch++) {
        struct recipe first, r;
        plan_sample(plan, batch * 16, &first);
        for (int64_t lane = 1; lane < 16; lane++) {
            plan_sample(plan, batch * 16 + lane, &r);
            cr_assert(r.output_width == first.output_width && r.output_height == first.output_height);
        }
        cr_assert(r.output_width == r.output_height && r.output_width % 32 == 0 && r.frame_width == 640);
        lowest = r.output_width < lowest ? r.output_width : lowest;
        highest = r.output_width > highest ? r.output_width : highest;
    }
    cr_assert_eq(lowest, 320);
    cr_assert_eq(highest, 960);
    cr_assert_eq(most.width, 960);
    plan_destroy(&plan);
}

/* ---- evaluation -------------------------------------------------------------------------------------------------- */

Test(plan, evaluation_is_plain) {
    struct plan_options o = options_with_all(30, 12);
    o.mode = PLAN_EVAL;
    o.world = 4;
    struct plan *plan = make(&o);
    for (int64_t p = 0; p < 36; p++) {
        struct recipe r;
        plan_sample(plan, p, &r);
        cr_assert_eq(r.valid, p < 30);
        cr_assert_eq(r.output_width, 640);
        if (r.valid) {
            cr_assert_eq(r.layers[0].tiles[0].sample, (uint64_t)p);
            cr_assert(!r.augment && r.layers[0].warp == WARP_NONE && r.layers[0].scale == RECIPE_ONE);
            cr_assert(!r.hue && !r.saturation && !r.value && !r.flip_horizontal && !r.flip_vertical && !r.dropped);
            cr_assert_eq(r.ir_gain, RECIPE_ONE);
            cr_assert_eq(matrix_warp(r.layers[0].matrix), WARP_NONE);
        }
    }
    plan_destroy(&plan);
}

static void check_rect_batch(const struct plan *plan, const struct size_px *shapes, int64_t batch, double *previous) {
    const struct plan_options *o = plan_frozen_options(plan);
    struct size_px frame = {0, 0};
    for (int64_t p = batch * o->batch; p < (batch + 1) * o->batch; p++) {
        struct recipe r;
        plan_sample(plan, p, &r);
        frame = p % o->batch == 0 ? (struct size_px){r.frame_width, r.frame_height} : frame;
        cr_assert(r.frame_width == frame.width && r.frame_height == frame.height);
        cr_assert(r.output_width == frame.width && r.output_height == frame.height);
        if (r.valid) {
            struct size_px s = shapes[r.layers[0].tiles[0].sample], loaded = load_size(640, s.width, s.height);
            double aspect = (double)s.height / s.width;
            cr_assert_geq(aspect, *previous);
            cr_assert(loaded.width <= frame.width && loaded.height <= frame.height);
            *previous = aspect;
        }
    }
    cr_assert(frame.width % 32 == 0 && frame.height % 32 == 0);
}

Test(plan, rect_batches_are_sorted_and_fit) {
    struct size_px shapes[101];
    for (uint32_t i = 0; i < 101; i++) {
        struct random_block block = random_draw(3, RANDOM_CUT, i, 0);
        shapes[i] = (struct size_px){100 + random_below(block.word[0], 900), 100 + random_below(block.word[1], 900)};
    }
    struct plan_options o = options_for(101, 12);
    o.mode = PLAN_EVAL;
    o.rect = 1;
    struct plan *plan = make_shaped(&o, shapes);
    double previous = 0;
    uint32_t shown[101] = {0};
    for (int64_t batch = 0; batch < 9; batch++) {
        check_rect_batch(plan, shapes, batch, &previous);
    }
    count_shown(plan, 0, shown);
    for (int i = 0; i < 101; i++) {
        cr_assert_eq(shown[i], 1);
    }
    plan_destroy(&plan);
}

/* ceil(shape * S / stride + 0.5) * stride by hand. */
Test(plan, rect_shapes_by_hand) {
    struct size_px shapes[6] = {{640, 480}, {640, 320}, {500, 500}, {400, 500}, {480, 640}, {320, 640}};
    static const struct size_px frames[3] = {{672, 512}, {672, 672}, {512, 672}}; /* max .75; mixed; min 4/3 */
    struct plan_options o = options_for(6, 2);
    o.mode = PLAN_EVAL;
    o.rect = 1;
    struct plan *plan = make_shaped(&o, shapes);
    static const uint64_t order[6] = {1, 0, 2, 3, 4, 5};
    for (int64_t p = 0; p < 6; p++) {
        struct recipe r;
        plan_sample(plan, p, &r);
        cr_assert_eq(r.layers[0].tiles[0].sample, order[p]);
        cr_assert_eq(r.frame_width, frames[p / 2].width, "%ld: %u", (long)p, r.frame_width);
        cr_assert_eq(r.frame_height, frames[p / 2].height, "%ld: %u", (long)p, r.frame_height);
    }
    cr_assert(plan_max_output(plan).width == 672 && plan_max_output(plan).height == 672);
    plan_destroy(&plan);
}

/* ---- options ----------------------------------------------------------------------------------------------------- */

static void expect_refused(const struct plan_options *o, const char *word) {
    struct plan *plan = (struct plan *)1;
    struct error error = {0};
    cr_expect_eq(plan_create(&plan, o, NULL, NULL, &error), ERR_ARGUMENT, "%s", word);
    cr_expect_null(plan);
    cr_expect_not_null(strstr(error.message, word), "\"%s\" does not say %s", error.message, word);
    cr_expect_eq(plan_create(&plan, o, NULL, NULL, NULL), ERR_ARGUMENT);
}

#define REFUSE(word, ...)                                                                                              \
    do {                                                                                                               \
        struct plan_options o = options_for(100, 12);                                                                  \
        __VA_ARGS__;                                                                                                   \
        expect_refused(&o, word);                                                                                      \
    } while (0)

Test(plan, wrong_options_are_named) {
    REFUSE("sample_count", o.sample_count = 0);
    REFUSE("sample_count", o.sample_count = UINT64_MAX);
    REFUSE("batch", o.batch = 0);
    REFUSE("world", o.world = 0);
    REFUSE("5 ranks", o.world = 5);
    REFUSE("world", o.world = 13);
    REFUSE("translate", o.translate = 1.5);
    REFUSE("translate", o.translate = -0.1);
    REFUSE("scale", o.scale = 1);
    REFUSE("hsv_h", o.hsv_h = 0.0 / 0.0 * (o.seed ? 1 : 2));
    REFUSE("shear", o.shear = 90);
    REFUSE("stride", o.stride = 31);
    REFUSE("672", o.image_size = 650);
    REFUSE("image_size", o.image_size = 0);
    REFUSE("multi_scale", o.image_size = 32, o.multi_scale = 0.5);
    REFUSE("mosaic_depth", o.mosaic_depth = 0);
    REFUSE("last_batch", o.last_batch = 4);
    REFUSE("last_batch", o.last_batch = LAST_PARTIAL, o.world = 2);
    REFUSE("drop", o.last_batch = LAST_DROP, o.sample_count = 11);
    REFUSE("exactly once", o.mode = PLAN_EVAL, o.last_batch = LAST_WRAP);
    REFUSE("rect", o.rect = 1);
    REFUSE("sizes", o.rect = 1, o.mode = PLAN_EVAL);
    REFUSE("close_mosaic", o.epochs = 0);
    REFUSE("drop_ir", o.drop_rgb = 0.6, o.drop_ir = 0.6);
}

Test(plan, extremes_are_accepted) {
    struct plan_options o = options_with_all(PLAN_SAMPLE_LIMIT, 65536);
    o.epochs = PLAN_EPOCH_LIMIT;
    o.mosaic_depth = 1024;
    o.image_size = 8192;
    o.degrees = 180;
    o.shear = 80;
    o.scale = 0.99;
    o.translate = 1;
    o.perspective = 0.01;
    o.multi_scale = 0.9;
    struct plan *plan = make(&o);
    for (int64_t i = 0; i < 1000; i++) {
        struct recipe r;
        plan_sample(plan, i & 1 ? plan_end(plan) - 1 - i * 7919 : i, &r);
        if (r.valid) {
            check_partners(plan, &r);
        }
        cr_assert_leq(r.output_width, plan_max_output(plan).width);
    }
    plan_destroy(&plan);
    plan_destroy(&plan);
    plan_destroy(NULL);
}

/* ---- saved state ------------------------------------------------------------------------------------------------- */

Test(plan, state_round_trip) {
    struct plan_options o = options_with_all(100, 12);
    o.last_batch = LAST_WRAP;
    o.seed = UINT64_MAX;
    struct plan *plan = make(&o);
    char text[PLAN_STATE_BYTES];
    int64_t position = 0;
    struct error error = {0};
    plan_state_encode(plan, 12 * 345, text);
    cr_assert_eq(plan_state_decode(plan, text, strlen(text), &position, &error), 0, "%s", error.message);
    cr_assert_eq(position, 12 * 345);
    cr_assert_eq(plan_state_decode(plan, text, sizeof text, &position, &error), 0);
    plan_destroy(&plan);

    o.world = 6; /* another number of ranks, and a longer training that closes its mosaics as late */
    o.epochs += 5;
    o.close_mosaic += 5;
    plan = make(&o);
    position = 0;
    cr_assert_eq(plan_state_decode(plan, text, strlen(text), &position, &error), 0, "%s", error.message);
    cr_assert_eq(position, 12 * 345);
    plan_destroy(&plan);
}

Test(plan, the_longest_state_fits) {
    struct plan_options o = options_with_all(PLAN_SAMPLE_LIMIT, 65536);
    o.seed = o.content_hash = UINT64_MAX;
    o.last_batch = LAST_PARTIAL;
    o.epochs = PLAN_EPOCH_LIMIT;
    struct plan *plan = make(&o);
    char text[PLAN_STATE_BYTES];
    plan_state_encode(plan, INT64_MAX, text);
    cr_assert_lt(strlen(text), 1200);
    plan_destroy(&plan);
}

static void expect_state_refused(const char *text, const struct plan_options *other, int code, const char *word) {
    struct plan *plan = make(other);
    int64_t position = -7;
    struct error error = {0};
    cr_expect_eq(plan_state_decode(plan, text, strlen(text), &position, &error), code, "%s", word);
    cr_expect_not_null(strstr(error.message, word), "\"%s\" does not say %s", error.message, word);
    cr_expect_eq(position, -7);
    plan_destroy(&plan);
}

#define REFUSE_STATE(code, word, ...)                                                                                  \
    do {                                                                                                               \
        struct plan_options o = options_for(100, 12);                                                                  \
        __VA_ARGS__;                                                                                                   \
        expect_state_refused(text, &o, code, word);                                                                    \
    } while (0)

Test(plan, a_state_of_something_else_is_refused_by_name) {
    struct plan_options options = options_for(100, 12);
    struct plan *plan = make(&options);
    char text[PLAN_STATE_BYTES];
    plan_state_encode(plan, 120, text);
    REFUSE_STATE(ERR_ARGUMENT, "another pack", o.content_hash++);
    REFUSE_STATE(ERR_ARGUMENT, "seed 42, this loader has 43", o.seed++);
    REFUSE_STATE(ERR_ARGUMENT, "batch 12, this loader has 24", o.batch = 24);
    REFUSE_STATE(ERR_ARGUMENT, "sample_count", o.sample_count++);
    REFUSE_STATE(ERR_ARGUMENT, "mosaic_depth", o.mosaic_depth = 4);
    REFUSE_STATE(ERR_ARGUMENT, "last_batch partial, this loader has wrap", o.last_batch = LAST_WRAP);
    REFUSE_STATE(ERR_ARGUMENT, "mosaic_epochs 90, this loader has 190", o.epochs = 200);
    REFUSE_STATE(ERR_ARGUMENT, "translate 0.100000000, this loader has 0.100000001", o.translate += 1e-9);
    REFUSE_STATE(ERR_ARGUMENT, "mode", o.mode = PLAN_EVAL);
    memcpy(text + strlen("yolopack plan state "), "2", 1);
    REFUSE_STATE(ERR_UNSUPPORTED, "version", (void)0);
    plan_destroy(&plan);
}

Test(plan, a_damaged_state_is_refused) {
    struct plan_options options = options_for(100, 12);
    struct plan *plan = make(&options);
    char text[PLAN_STATE_BYTES], bad[PLAN_STATE_BYTES];
    int64_t position = -7;
    plan_state_encode(plan, 120, text);
    size_t size = strlen(text);
    for (size_t cut = 0; cut < size; cut++) {
        char *exact = malloc(cut + 1); /* ends where the bytes end: a read beyond is seen by the sanitizer */
        memcpy(exact, text, cut);
        cr_assert_lt(plan_state_decode(plan, exact, cut, &position, NULL), 0, "cut at %zu", cut);
        free(exact);
    }
    for (size_t at = 0; at < size; at++) {
        for (int bit = 0; bit < 8; bit++) {
            memcpy(bad, text, size + 1);
            bad[at] = (char)(bad[at] ^ 1 << bit);
            cr_assert_lt(plan_state_decode(plan, bad, size, &position, NULL), 0, "byte %zu", at);
        }
    }
    plan_state_encode(plan, 121, text); /* in the middle of a batch */
    cr_assert_eq(plan_state_decode(plan, text, strlen(text), &position, NULL), ERR_CORRUPT);
    plan_state_encode(plan, INT64_MAX, text); /* and one more, which no integer holds, with the right hash */
    char *check = strstr(text, "check ");
    strchr(strstr(text, "position "), '\n')[-1] = '8';
    snprintf(check, sizeof text - (size_t)(check - text), "check %016llx\n",
             (unsigned long long)XXH3_64bits(text, (size_t)(check - text)));
    cr_assert_eq(plan_state_decode(plan, text, strlen(text), &position, NULL), ERR_CORRUPT);
    cr_assert_eq(position, -7);
    plan_destroy(&plan);
}
