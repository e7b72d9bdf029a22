#include "oriented.h"

#include <math.h>
#include <stdbool.h>

/* Of two chains of three points; each of four cuts adds at most half as many, should rounding have made it concave. */
#define POLYGON_LIMIT 28

/* Areas that differ by less, relatively, count as equal: what single precision makes of a small box. */
#define SAME_AREA 1e-5

struct polygon {
    double x[POLYGON_LIMIT], y[POLYGON_LIMIT];
    int count;
};

static double lower(double a, double b) {
    return a < b ? a : b;
}

static double higher(double a, double b) {
    return a > b ? a : b;
}

/* ---- hull -------------------------------------------------------------------------------------------------------- */

static void append(struct polygon *p, double x, double y) {
    p->x[p->count] = x;
    p->y[p->count++] = y;
}

/* Whether the way from the last but one corner over the last to the point keeps turning to the right side. */
static bool turns(const struct polygon *p, double x, double y) {
    double ax = p->x[p->count - 2], ay = p->y[p->count - 2];
    return (p->x[p->count - 1] - ax) * (y - ay) - (p->y[p->count - 1] - ay) * (x - ax) > 0;
}

/* One chain of the hull: the points in their order, those left out that turn the wrong way. */
static void add_chain(struct polygon *hull, const struct corners *sorted, int from, int step) {
    int first = hull->count;
    for (int i = from; i >= 0 && i < 4; i += step) {
        while (hull->count - first >= 2 && !turns(hull, sorted->x[i], sorted->y[i])) {
            hull->count--;
        }
        append(hull, sorted->x[i], sorted->y[i]);
    }
    hull->count--; /* the other chain begins with it */
}

static struct polygon convex_hull(const struct corners *corners) {
    struct corners sorted = *corners;
    struct polygon hull = {.count = 0};
    for (int i = 1; i < 4; i++) {
        double x = sorted.x[i], y = sorted.y[i];
        int at = i;
        for (; at > 0 && (sorted.x[at - 1] > x || (sorted.x[at - 1] == x && sorted.y[at - 1] > y)); at--) {
            sorted.x[at] = sorted.x[at - 1];
            sorted.y[at] = sorted.y[at - 1];
        }
        sorted.x[at] = x;
        sorted.y[at] = y;
    }
    add_chain(&hull, &sorted, 0, 1);
    add_chain(&hull, &sorted, 3, -1);
    return hull;
}

/* ---- rectangle --------------------------------------------------------------------------------------------------- */

/* A direction, and the bounds of points along it and across. */
struct extent {
    double dx, dy;
    double along[2], across[2];
};

static struct extent extent_of(const struct polygon *p, double dx, double dy) {
    struct extent e = {dx, dy, {INFINITY, -INFINITY}, {INFINITY, -INFINITY}};
    for (int i = 0; i < p->count; i++) {
        double along = p->x[i] * dx + p->y[i] * dy, across = p->y[i] * dx - p->x[i] * dy;
        e.along[0] = lower(e.along[0], along);
        e.along[1] = higher(e.along[1], along);
        e.across[0] = lower(e.across[0], across);
        e.across[1] = higher(e.across[1], across);
    }
    return e;
}

/* Many a shape has two rectangles of the very same area, and rounding must not choose: the one along the
 * longest edge. */
static bool is_better(double area, double length, double least_area, double least_length) {
    return area < least_area * (1 - SAME_AREA) || (area <= least_area * (1 + SAME_AREA) && length > least_length);
}

static struct extent least_extent(const struct polygon *hull) {
    struct extent least = extent_of(hull, 1, 0);
    double least_area = INFINITY, least_length = 0;
    for (int i = 0; i < hull->count; i++) {
        int next = i + 1 < hull->count ? i + 1 : 0;
        double dx = hull->x[next] - hull->x[i], dy = hull->y[next] - hull->y[i];
        double length = sqrt(dx * dx + dy * dy);
        if (!(length > 0)) {
            continue;
        }
        struct extent e = extent_of(hull, dx / length, dy / length);
        double area = (e.along[1] - e.along[0]) * (e.across[1] - e.across[0]);
        if (is_better(area, length, least_area, least_length)) {
            least = e;
            least_area = area;
            least_length = length;
        }
    }
    return least;
}

/* Of |tangent| <= 1: the angle is halved three times, then a series whose first term left out is below 2^-54. */
static double arc_tangent(double tangent) {
    for (int i = 0; i < 3; i++) {
        tangent /= 1 + sqrt(1 + tangent * tangent);
    }
    double sum = 0, square = tangent * tangent;
    for (int term = 8; term-- > 0;) {
        sum = 1.0 / (2 * term + 1) - sum * square;
    }
    return 8 * tangent * sum;
}

/* Of a line in that direction, in [-pi/4, 3pi/4). */
static double line_angle(double dx, double dy) {
    const double quarter_turn = 1.5707963267948966;
    return fabs(dy) <= fabs(dx) ? arc_tangent(dy / dx) : quarter_turn - arc_tangent(dx / dy);
}

struct rotated_box corners_rectangle(const struct corners *corners) {
    struct polygon hull = convex_hull(corners);
    struct extent e = least_extent(&hull);
    double along = (e.along[0] + e.along[1]) / 2, across = (e.across[0] + e.across[1]) / 2;
    struct rotated_box box = {.x = along * e.dx - across * e.dy,
                              .y = along * e.dy + across * e.dx,
                              .width = e.along[1] - e.along[0],
                              .height = e.across[1] - e.across[0]};
    if (box.width >= box.height) {
        box.rotation = line_angle(e.dx, e.dy);
    } else {
        box.width = e.across[1] - e.across[0];
        box.height = e.along[1] - e.along[0];
        box.rotation = line_angle(-e.dy, e.dx);
    }
    return box;
}

/* ---- clipping ---------------------------------------------------------------------------------------------------- */

/* The part with a * x + b * y + c >= 0 of a convex polygon. */
static struct polygon cut(const struct polygon *in, double a, double b, double c) {
    struct polygon out = {.count = 0};
    for (int i = 0; i < in->count; i++) {
        int next = i + 1 < in->count ? i + 1 : 0;
        double here = a * in->x[i] + b * in->y[i] + c, there = a * in->x[next] + b * in->y[next] + c;
        if (here >= 0) {
            append(&out, in->x[i], in->y[i]);
        }
        if ((here >= 0) != (there >= 0)) {
            double t = here / (here - there);
            append(&out, in->x[i] + t * (in->x[next] - in->x[i]), in->y[i] + t * (in->y[next] - in->y[i]));
        }
    }
    return out;
}

static struct polygon visible_part(const struct polygon *hull, const struct area *limit) {
    struct polygon p = cut(hull, 1, 0, -limit->x1);
    p = cut(&p, -1, 0, limit->x2);
    p = cut(&p, 0, 1, -limit->y1);
    return cut(&p, 0, -1, limit->y2);
}

static bool has_area(const struct polygon *p) {
    double twice = 0;
    for (int i = 2; i < p->count; i++) {
        twice += (p->x[i - 1] - p->x[0]) * (p->y[i] - p->y[0]) - (p->y[i - 1] - p->y[0]) * (p->x[i] - p->x[0]);
    }
    return twice > 0;
}

static bool all_inside(const struct corners *c, const struct area *limit) {
    for (int i = 0; i < 4; i++) {
        if (!(c->x[i] >= limit->x1 && c->x[i] <= limit->x2 && c->y[i] >= limit->y1 && c->y[i] <= limit->y2)) {
            return false;
        }
    }
    return true;
}

struct area corners_clip(struct corners *corners, const struct area *limit) {
    struct polygon hull = convex_hull(corners);
    if (all_inside(corners, limit)) {
        struct extent e = extent_of(&hull, 1, 0);
        return (struct area){e.along[0], e.across[0], e.along[1], e.across[1]};
    }
    struct polygon visible = visible_part(&hull, limit);
    if (!has_area(&visible)) {
        return (struct area){0, 0, 0, 0};
    }
    struct extent whole = least_extent(&hull), e = extent_of(&visible, whole.dx, whole.dy);
    for (int i = 0; i < 4; i++) {
        double along = e.along[i == 1 || i == 2], across = e.across[i >= 2];
        corners->x[i] = along * e.dx - across * e.dy;
        corners->y[i] = along * e.dy + across * e.dx;
    }
    struct extent bounds = extent_of(&visible, 1, 0);
    return (struct area){higher(bounds.along[0], limit->x1), higher(bounds.across[0], limit->y1),
                         lower(bounds.along[1], limit->x2), lower(bounds.across[1], limit->y2)};
}
