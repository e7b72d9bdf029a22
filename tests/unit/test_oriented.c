#include "oriented.h"

#include "random.h"

#include <criterion/criterion.h>

#include <math.h>

static const double pi = 3.14159265358979323846;

static double uniform(uint32_t index, int word, double low, double high) {
    return low + (high - low) * random_draw(5, RANDOM_CUT, index, 0).word[word] * 0x1p-32;
}

/* A rectangle as whoever annotates gives it: any corner first, either way round. */
static struct corners rectangle(const struct rotated_box *box, int first, int step) {
    double c = cos(box->rotation), s = sin(box->rotation);
    struct corners out;
    for (int i = 0; i < 4; i++) {
        int corner = (first + i * step) & 3;
        double along = (corner == 1 || corner == 2 ? 1 : -1) * box->width / 2;
        double across = (corner >= 2 ? 1 : -1) * box->height / 2;
        out.x[i] = box->x + along * c - across * s;
        out.y[i] = box->y + along * s + across * c;
    }
    return out;
}

static void expect(const struct corners *corners, const struct rotated_box *want, double within) {
    struct rotated_box got = corners_rectangle(corners);
    double off = fmax(fmax(fabs(got.x - want->x), fabs(got.y - want->y)),
                      fmax(fabs(got.width - want->width), fabs(got.height - want->height)));
    cr_assert_lt(off, within, "%.17g %.17g %.17g %.17g, expected %.17g %.17g %.17g %.17g", got.x, got.y, got.width,
                 got.height, want->x, want->y, want->width, want->height);
    cr_assert_lt(fabs(got.rotation - want->rotation), within, "%.17g, expected %.17g", got.rotation, want->rotation);
}

Test(oriented, a_rectangle_is_found_whatever_its_direction) {
    for (uint32_t i = 0; i < 4000; i++) {
        struct rotated_box box = {.x = uniform(i, 0, -700, 700),
                                  .y = uniform(i, 1, -700, 700),
                                  .width = uniform(i, 2, 30, 600),
                                  .rotation = -pi / 4 + (i + 0.5) * pi / 4000};
        box.height = box.width * uniform(i, 3, 0.01, 0.99);
        struct corners corners = rectangle(&box, (int)(i & 3), i & 4 ? 1 : 3);
        expect(&corners, &box, 1e-9);
    }
}

Test(oriented, angles_are_in_half_a_turn_from_minus_an_eighth) {
    static const struct {
        double dx, dy, want;
    } lines[] = {{1, 0, 0},      {-1, 0, 0},     {0, 1, 0.5},  {0, -1, 0.5},    {1, 1, 0.25},   {-1, -1, 0.25},
                 {1, -1, -0.25}, {-1, 1, -0.25}, {1, 1e-9, 0}, {1e-9, -1, 0.5}, {-1e-9, 1, 0.5}};
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        double dx = lines[i].dx * 10, dy = lines[i].dy * 10;
        struct corners line = {{0, dx, dx, 0}, {0, dy, dy, 0}}; /* no area: its length is the width */
        struct rotated_box box = corners_rectangle(&line);
        cr_assert_float_eq(box.rotation, lines[i].want * pi, 1e-8, "line %zu: %g", i, box.rotation / pi);
        cr_assert_float_eq(box.width, sqrt(dx * dx + dy * dy), 1e-12);
        cr_assert_float_eq(box.height, 0, 1e-12);
    }
    struct corners point = {{3, 3, 3, 3}, {4, 4, 4, 4}};
    expect(&point, &(struct rotated_box){3, 4, 0, 0, 0}, 1e-15);
}

Test(oriented, of_other_shapes_the_least_rectangle) {
    struct corners triangle = {{0, 10, 10, 0}, {0, 0, 0, 4}}; /* 10 x 4 on two of its edges, and as much on the third */
    struct rotated_box box = corners_rectangle(&triangle);
    cr_assert_float_eq(box.width * box.height, 40, 1e-9);
    cr_assert_float_eq(box.width, sqrt(116), 1e-9, "the longest of equal ones: %g", box.width);

    struct corners inside = {{0, 10, 10, 5}, {0, 0, 6, 2}}; /* the last is not on the hull */
    box = corners_rectangle(&inside);
    cr_assert_float_eq(box.width * box.height, 60, 1e-9);

    struct corners crossed = {{0, 20, 0, 20}, {0, 10, 10, 0}}; /* order has no say */
    expect(&crossed, &(struct rotated_box){10, 5, 20, 10, 0}, 1e-12);

    struct corners sheared = {{0, 100, 130, 30}, {0, 0, 20, 20}}; /* along the longer side */
    expect(&sheared, &(struct rotated_box){65, 10, 130, 20, 0}, 1e-12);
}

static void expect_area(struct area got, double x1, double y1, double x2, double y2) {
    cr_assert(fabs(got.x1 - x1) < 1e-9 && fabs(got.y1 - y1) < 1e-9 && fabs(got.x2 - x2) < 1e-9 &&
                  fabs(got.y2 - y2) < 1e-9,
              "%g %g %g %g, expected %g %g %g %g", got.x1, got.y1, got.x2, got.y2, x1, y1, x2, y2);
}

Test(oriented, what_is_cut_keeps_its_direction) {
    const struct area frame = {0, 0, 100, 50};
    struct corners c = {{10, 30, 20, 0}, {10, 20, 40, 30}}; /* inside, edges included: as it was */
    struct corners before = c;
    expect_area(corners_clip(&c, &frame), 0, 10, 30, 40);
    cr_assert_arr_eq(&c, &before, sizeof c);

    /* A diamond around the frame's corner: a triangle is visible, and the rectangle around it has the
     * diamond's sides. */
    struct corners diamond = {{-20, 0, 20, 0}, {0, -20, 0, 20}};
    expect_area(corners_clip(&diamond, &frame), 0, 0, 20, 20);
    struct rotated_box box = corners_rectangle(&diamond);
    cr_assert_float_eq(box.width, 20 * sqrt(2), 1e-9);
    cr_assert_float_eq(box.height, 10 * sqrt(2), 1e-9);
    cr_assert_float_eq(box.rotation, -pi / 4, 1e-9);
    cr_assert_float_eq(box.x, 5, 1e-9);

    struct corners upright = {{-10, 40, 40, -10}, {-10, -10, 20, 20}};
    expect_area(corners_clip(&upright, &frame), 0, 0, 40, 20);
    expect(&upright, &(struct rotated_box){20, 10, 40, 20, 0}, 1e-9);

    struct corners around = {{-300, 50, 400, 50}, {25, -300, 25, 350}}; /* covers the frame */
    expect_area(corners_clip(&around, &frame), 0, 0, 100, 50);

    const struct area cut = {40, 10, 60, 30};
    struct corners large = {{0, 100, 100, 0}, {0, 0, 50, 50}};
    expect_area(corners_clip(&large, &cut), 40, 10, 60, 30);
}

Test(oriented, what_is_not_visible_has_no_area) {
    const struct area frame = {0, 0, 100, 50};
    struct corners outside = {{-30, -10, -10, -30}, {0, 0, 20, 20}}, before = outside;
    expect_area(corners_clip(&outside, &frame), 0, 0, 0, 0);
    cr_assert_arr_eq(&outside, &before, sizeof before);
    struct corners touching = {{-30, 0, 0, -30}, {0, 0, 20, 20}};
    expect_area(corners_clip(&touching, &frame), 0, 0, 0, 0);
    struct corners by_the_corner = {{-20, 5, -20, -45}, {-20, -45, -70, -45}};
    expect_area(corners_clip(&by_the_corner, &frame), 0, 0, 0, 0);
    struct corners line = {{-10, 50, 50, -10}, {10, 20, 20, 10}};
    expect_area(corners_clip(&line, &frame), 0, 0, 0, 0);
    const double odd[] = {NAN, INFINITY, -INFINITY, 1e308, -1e308, 1e-320, 7};
    for (uint32_t i = 0; i < 20000; i++) {
        struct corners c;
        for (int k = 0; k < 4; k++) {
            c.x[k] = odd[random_draw(9, RANDOM_CUT, i, 1).word[k] % 7];
            c.y[k] = odd[random_draw(9, RANDOM_CUT, i, 2).word[k] % 7];
        }
        struct area visible = corners_clip(&c, &frame);
        cr_assert(!(visible.x1 < 0 || visible.y1 < 0 || visible.x2 > 100 || visible.y2 > 50));
        corners_rectangle(&c);
    }
}

/* Monte Carlo, for shapes that several edges cut. */
Test(oriented, the_visible_part_is_what_lies_inside_both) {
    const struct area frame = {0, 0, 100, 50};
    for (uint32_t i = 0; i < 300; i++) {
        struct rotated_box box = {uniform(i, 0, -20, 120), uniform(i, 1, -20, 70), uniform(i, 2, 30, 120),
                                  uniform(i, 3, 5, 29), -pi / 4 + (i + 0.5) * pi / 300};
        struct corners c = rectangle(&box, 0, 1), cut = c;
        struct area got = corners_clip(&cut, &frame), seen = {INFINITY, INFINITY, -INFINITY, -INFINITY};
        struct rotated_box fitted = corners_rectangle(&cut);
        double cosine = cos(box.rotation), sine = sin(box.rotation);
        bool any = false;
        for (double x = 0; x <= 100; x += 0.25) {
            for (double y = 0; y <= 50; y += 0.25) {
                double along = (x - box.x) * cosine + (y - box.y) * sine;
                double across = (y - box.y) * cosine - (x - box.x) * sine;
                if (fabs(along) > box.width / 2 || fabs(across) > box.height / 2) {
                    continue;
                }
                any = true;
                seen = (struct area){fmin(seen.x1, x), fmin(seen.y1, y), fmax(seen.x2, x), fmax(seen.y2, y)};
                along = (x - fitted.x) * cos(fitted.rotation) + (y - fitted.y) * sin(fitted.rotation);
                across = (y - fitted.y) * cos(fitted.rotation) - (x - fitted.x) * sin(fitted.rotation);
                cr_assert(fabs(along) < fitted.width / 2 + 1e-9 && fabs(across) < fitted.height / 2 + 1e-9,
                          "box %u: what is visible at %g, %g lies outside", i, x, y);
            }
        }
        if (any) {
            cr_assert(seen.x1 >= got.x1 - 1e-9 && seen.y1 >= got.y1 - 1e-9 && seen.x2 <= got.x2 + 1e-9 &&
                      seen.y2 <= got.y2 + 1e-9);
            double turn = fmod(fabs(fitted.rotation - box.rotation), pi / 2);
            cr_assert(fmin(turn, pi / 2 - turn) < 1e-9, "box %u was turned by %g", i, turn);
        }
    }
}
