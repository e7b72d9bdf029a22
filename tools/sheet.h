/*
 * A contact sheet: a title if there is one, then rows of cells, each a caption over one panel a modality; a panel holds
 * a picture, fitted, and its boxes.
 */
#ifndef YPK_TOOLS_SHEET_H
#define YPK_TOOLS_SHEET_H

#include "error.h"
#include "pixels.h"

#include <stdbool.h>
#include <stdint.h>

struct sheet {
    struct pixels picture; /* 3 channels, 8 bit */
    uint64_t columns;
    int panels, panel_width, panel_height; /* of a cell; px */
    int top;                               /* where the first row begins, px */
};

/* Room for `count` cells of `panels` panels, `columns` side by side. All cells are empty. `title` may be NULL. */
int sheet_init(struct sheet *out, uint64_t count, uint64_t columns, int panels, int panel_width, int panel_height,
               const char *title, struct error *error);
void sheet_deinit(struct sheet *sheet);

/* Where a picture is drawn, px. */
struct sheet_frame {
    int x, y, width, height;
};

void sheet_caption(const struct sheet *sheet, uint64_t cell, const char *text);

/* The largest frame of that shape inside a panel, centred. Small pictures grow at most fourfold. */
struct sheet_frame sheet_fit(const struct sheet *sheet, uint64_t cell, int panel, uint32_t width, uint32_t height);

/* Draws the picture (3 channels) into the frame, whatever shape it has. */
int sheet_picture(const struct sheet *sheet, const struct sheet_frame *frame, const struct pixels *picture,
                  struct error *error);

/* Names the panel in its lower left corner, where no box has its name: "RGB", "IR", "no IR". */
void sheet_panel_name(const struct sheet *sheet, uint64_t cell, int panel, const char *name);

/* A box of the centre form, normalised to the frame, with the name in its class's colour. NULL: no name. `outline`
 * false: the name alone. */
void sheet_box(const struct sheet *sheet, const struct sheet_frame *frame, unsigned class_id, const char *name,
               const float box[4], bool outline);

/* A filled dot in the class's colour, normalised to the frame and clipped to it; so is the next. */
void sheet_dot(const struct sheet *sheet, const struct sheet_frame *frame, unsigned class_id, const float point[2]);

/* A closed outline of points that are `dims` floats apart. */
void sheet_outline(const struct sheet *sheet, const struct sheet_frame *frame, unsigned class_id, const float *points,
                   uint32_t count, uint32_t dims);

/* To a .png or .jpg file. */
bool sheet_can_write(const char *path);
int sheet_write(const struct sheet *sheet, const char *path, struct error *error);

#endif
