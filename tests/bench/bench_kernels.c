/*
 * Time of each pixel stage of a sample, on one thread, for every instruction level of this machine: the loader's work
 * after decoding. Best of many rounds, milliseconds for one 640 x 640 picture of three planes; sources change from
 * round to round, so that they come from memory as they do in training.
 */
#include "convert.h"
#include "hsv.h"
#include "infrared.h"
#include "resize.h"
#include "warp.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { SIDE = 640, PICTURES = 32, ROUNDS = 60, PIXELS = SIDE * SIDE };

static const char *const level_names[] = {"plain", "avx2", "avx512"};

struct bench {
    enum cpu_level level;
    uint8_t *pictures; /* [PICTURES][3][SIDE][SIDE] */
    uint8_t *out;      /* [3][SIDE][SIDE] */
    uint8_t *decoded;  /* [1024][1280][3] */
    float *numbers;    /* [3][SIDE][SIDE] */
    struct warp *warp;
    struct resize *resize;
};

static double now_ms(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

static void *must(void *p) {
    if (!p) {
        fputs("bench_kernels: out of memory\n", stderr);
        exit(1);
    }
    return p;
}

/* Smooth shapes with a little noise, as photographs have; only the speed of hue depends on it, and hardly. */
static void draw(uint8_t *p, size_t n, uint32_t seed) {
    uint32_t state = seed;
    for (size_t i = 0; i < n; i++) {
        state = state * 1664525u + 1013904223u;
        p[i] = (uint8_t)((i / 7 + seed * 31 + (state >> 27)) & 255);
    }
}

static void tiles(struct warp_source *source, const struct bench *b, int round) {
    *source = (struct warp_source){.plane_count = 3, .fill = 114, .tile_count = 4};
    for (int i = 0; i < 4; i++) {
        const uint8_t *const picture = b->pictures + (size_t)((4 * round + i) % PICTURES) * 3 * PIXELS;
        struct warp_tile *const t = &source->tile[i];
        const int width = i & 1 ? 1280 - 701 : 640, height = i & 2 ? 640 : 555;
        *t = (struct warp_tile){
            .stride = SIDE, .x = i & 1 ? 701 : 61, .y = i & 2 ? 555 : 0, .width = width, .height = height};
        for (int c = 0; c < 3; c++)
            t->plane[c] = picture + (size_t)c * PIXELS + (i & 2 ? 0 : SIDE * (SIDE - 555));
    }
}

static void frame(struct bench *b, int round, const double matrix[9], int perspective) {
    struct warp_source source;
    tiles(&source, b, round);
    warp_begin(b->warp, &source, matrix, perspective, SIDE, SIDE);
    for (int y = 0; y < SIDE; y++) {
        uint8_t *const row = b->out + (size_t)y * SIDE;
        uint8_t *const rows[3] = {row, row + PIXELS, row + 2 * PIXELS};
        warp_row(b->warp, y, rows);
    }
}

/* Canvas centre to frame centre, scaled and turned. */
static void matrix_at(double m[9], double scale, double turn, double perspective) {
    const double c = scale * cos(turn), s = scale * sin(turn);
    const double all[9] = {c, s, 320 - 640 * (c + s), -s, c, 320 - 640 * (c - s), perspective, -perspective, 1};
    memcpy(m, all, sizeof all);
}

static void warp_half(struct bench *b, int round) {
    double m[9];
    matrix_at(m, 0.5, 0, 0);
    frame(b, round, m, 0);
}

static void warp_same(struct bench *b, int round) {
    double m[9];
    matrix_at(m, 0.97, 0, 0);
    frame(b, round, m, 0);
}

static void warp_larger(struct bench *b, int round) {
    double m[9];
    matrix_at(m, 1.45, 0, 0);
    frame(b, round, m, 0);
}

static void warp_turned(struct bench *b, int round) {
    double m[9];
    matrix_at(m, 0.9, 0.15, 0);
    frame(b, round, m, 0);
}

static void warp_perspective(struct bench *b, int round) {
    double m[9];
    matrix_at(m, 0.9, 0.15, 0.0002);
    frame(b, round, m, 1);
}

static void hsv(struct bench *b, int round) {
    const struct hsv_gains gains = hsv_gains(5000 + round, 300000, -200000);
    hsv_row_fn *const row = hsv_row_for(b->level);
    for (int y = 0; y < SIDE; y++) {
        uint8_t *const r = b->out + (size_t)y * SIDE;
        row(r, r + PIXELS, r + 2 * PIXELS, SIDE, &gains);
    }
}

/* The default recipe as the loader runs it: each row warped, coloured and mirrored while it is in the cache. */
static void everything(struct bench *b, int round) {
    const struct hsv_gains gains = hsv_gains(5000 + round, 300000, -200000);
    const struct convert_rows *const convert = convert_for(b->level);
    hsv_row_fn *const row_hsv = hsv_row_for(b->level);
    struct warp_source source;
    double m[9];
    tiles(&source, b, round);
    matrix_at(m, 0.5 + round * (1.0 / ROUNDS), 0, 0);
    warp_begin(b->warp, &source, m, 0, SIDE, SIDE);
    for (int y = 0; y < SIDE; y++) {
        uint8_t *const row = b->out + (size_t)y * SIDE;
        uint8_t *const rows[3] = {row, row + PIXELS, row + 2 * PIXELS};
        warp_row(b->warp, y, rows);
        row_hsv(rows[0], rows[1], rows[2], SIDE, &gains);
        for (int c = 0; c < 3; c++)
            convert->reverse(rows[c], SIDE);
    }
}

static void resize_to(struct bench *b, int width, int height, int from_width, int from_height, uint8_t channels) {
    const struct pixels in = {.data = b->decoded,
                              .stride = (size_t)from_width * channels,
                              .width = (uint32_t)from_width,
                              .height = (uint32_t)from_height,
                              .channels = channels,
                              .depth = 8};
    uint8_t *const planes[3] = {b->out, b->out + PIXELS, b->out + 2 * PIXELS};
    resize_planes(b->resize, planes, SIDE, width, height, &in);
}

static void to_planes(struct bench *b, int round) {
    (void)round;
    resize_to(b, 640, 480, 640, 480, 3);
}

static void resize_llvip(struct bench *b, int round) {
    (void)round;
    resize_to(b, 640, 512, 1280, 1024, 3);
}

static void resize_llvip_ir(struct bench *b, int round) {
    (void)round;
    resize_to(b, 640, 512, 1280, 1024, 1);
}

static void resize_up(struct bench *b, int round) {
    (void)round;
    resize_to(b, 640, 480, 500, 375, 3);
}

static void reverse(struct bench *b, int round) {
    (void)round;
    for (int y = 0; y < 3 * SIDE; y++)
        convert_for(b->level)->reverse(b->out + (size_t)y * SIDE, SIDE);
}

static void mixup(struct bench *b, int round) {
    const uint8_t *const other = b->pictures + (size_t)(round % PICTURES) * 3 * PIXELS;
    for (int y = 0; y < 3 * SIDE; y++)
        convert_for(b->level)->blend(b->out + (size_t)y * SIDE, other + (size_t)y * SIDE, SIDE, 500000);
}

static void infrared(struct bench *b, int noise) {
    struct infrared_jitter jitter;
    infrared_init(&jitter, 0, 1100000, 3000000, noise, 7);
    for (size_t y = 0; y < SIDE; y++)
        infrared_row(b->out + y * SIDE, SIDE, y * SIDE, &jitter, convert_for(b->level));
}

static void infrared_quiet(struct bench *b, int round) {
    (void)round;
    infrared(b, 0);
}

static void infrared_noisy(struct bench *b, int round) {
    (void)round;
    infrared(b, 3 << 20);
}

static void to_numbers(struct bench *b, enum number_type type, size_t step) {
    struct number_table table;
    number_table_init(&table, type, 0, 1);
    uint8_t *const dst = (uint8_t *)b->numbers;
    for (size_t c = 0; c < 3; c++)
        for (size_t y = 0; y < SIDE; y++) {
            const size_t at = step == 1 ? c * PIXELS + y * SIDE : y * SIDE * step + c;
            number_row(dst + at * number_bytes(type), step, b->out + c * PIXELS + y * SIDE, SIDE, &table);
        }
}

static void to_f32(struct bench *b, int round) {
    (void)round;
    to_numbers(b, NUMBER_F32, 1);
}

static void to_f16(struct bench *b, int round) {
    (void)round;
    to_numbers(b, NUMBER_F16, 1);
}

static void to_f16_nhwc(struct bench *b, int round) {
    (void)round;
    to_numbers(b, NUMBER_F16, 3);
}

static const struct stage {
    const char *name;
    void (*run)(struct bench *b, int round);
} stages[] = {
    {"640x480 RGB to planes", to_planes},
    {"resize 500x375 to 640x480", resize_up},
    {"resize 1280x1024 to 640x512", resize_llvip},
    {"resize 1280x1024 to 640x512, one plane", resize_llvip_ir},
    {"mosaic + warp, scale 0.5", warp_half},
    {"mosaic + warp, scale 0.97", warp_same},
    {"mosaic + warp, scale 1.45", warp_larger},
    {"mosaic + warp, turned", warp_turned},
    {"mosaic + warp, perspective", warp_perspective},
    {"HSV", hsv},
    {"mirror", reverse},
    {"mixup blend", mixup},
    {"IR gain and bias, one plane", infrared_quiet},
    {"IR gain, bias and noise, one plane", infrared_noisy},
    {"to f32", to_f32},
    {"to f16", to_f16},
    {"to f16, NHWC", to_f16_nhwc},
    {"default recipe: warp + HSV + mirror", everything},
};

static double best_ms(struct bench *b, const struct stage *stage) {
    double best = 1e9;
    for (int round = 0; round < ROUNDS; round++) {
        const double start = now_ms();
        stage->run(b, round);
        const double ms = now_ms() - start;
        best = ms < best ? ms : best;
    }
    return best;
}

static void open_level(struct bench *b, enum cpu_level level) {
    b->level = level;
    if (warp_create(&b->warp, SIDE, 2 * SIDE, level, NULL) < 0 ||
        resize_create(&b->resize, 1280, SIDE, level, NULL) < 0)
        must(NULL);
}

int main(void) {
    struct bench b = {0};
    const size_t decoded = (size_t)1280 * 1024 * 3;
    b.pictures = must(malloc((size_t)PICTURES * 3 * PIXELS));
    b.out = must(malloc(3 * PIXELS));
    b.decoded = must(malloc(decoded));
    b.numbers = must(malloc(3 * PIXELS * sizeof(float)));
    draw(b.pictures, (size_t)PICTURES * 3 * PIXELS, 1);
    draw(b.out, 3 * PIXELS, 2);
    draw(b.decoded, decoded, 3);

    const enum cpu_level best = cpu_level();
    printf("%-42s", "ms a picture, one thread");
    for (int level = 0; level <= (int)best; level++)
        printf("%9s", level_names[level]);
    putchar('\n');
    for (size_t s = 0; s < sizeof stages / sizeof stages[0]; s++) {
        printf("%-42s", stages[s].name);
        for (int level = 0; level <= (int)best; level++) {
            open_level(&b, (enum cpu_level)level);
            printf("%9.3f", best_ms(&b, &stages[s]));
            warp_destroy(&b.warp);
            resize_destroy(&b.resize);
        }
        putchar('\n');
    }
    free(b.numbers);
    free(b.decoded);
    free(b.out);
    free(b.pictures);
    return 0;
}
