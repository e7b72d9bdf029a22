/*
 * Oriented boxes: the four corners of a label on their way, and the rotated rectangle that they end as. Pure, and the
 * same to the last bit whatever the maths library.
 */
#ifndef YPK_READER_ORIENTED_H
#define YPK_READER_ORIENTED_H

/* Corners in any order and of any shape: what counts is their convex hull. */
struct corners {
    double x[4], y[4];
};

struct area {
    double x1, y1, x2, y2;
};

/* Centre and sides, width >= height; rotation in radians from the x axis to the width, clockwise on the screen, in
 * [-pi/4, 3pi/4). */
struct rotated_box {
    double x, y, width, height, rotation;
};

/* The rectangle of least area around the corners: one of its sides lies along an edge of their hull, the longest edge
 * if several give that area. */
struct rotated_box corners_rectangle(const struct corners *corners);

/* Corners that are not all inside `limit` become those of the rectangle around what is visible of them, which keeps the
 * direction of corners_rectangle() (a cut edge never turns a box). Returns the bounds of what is visible; all 0, and
 * the corners as they were, if that has no area. */
struct area corners_clip(struct corners *corners, const struct area *limit);

#endif
