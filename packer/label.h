/* YOLO label rows: text in, checked boxes and points out. One row is judged at a time. */
#ifndef YPK_PACKER_LABEL_H
#define YPK_PACKER_LABEL_H

#include "bytes.h"
#include "error.h"
#include "index.h"
#include "report.h"

#include <stdint.h>

struct label_options {
    uint8_t task;               /* enum index_task */
    uint32_t class_count;       /* 0: unknown, any class up to INDEX_CLASS_LIMIT - 1 is right */
    int keypoint_count, keypoint_dims; /* pose */
};

struct label_counts {
    uint64_t rows, kept, dropped, clamped, duplicate; /* rows = kept + dropped + duplicate; clamped are among the kept */
    uint32_t max_class;         /* largest class id seen in a kept row */
    uint32_t min_class;
};

/* Growable; zero-initialise; label_set_clear() keeps memory. */
struct label_set {
    struct bytes labels;        /* struct index_label[] */
    struct bytes points;        /* float[][point_dims] */
    struct label_counts counts;
};

/*
 * Parses the text of one label file. Rules:
 * - separators are blanks and tabs; lines end with LF, CRLF or CR; a UTF-8 BOM and blank lines are skipped; the locale
 *   has no say ('.' is the decimal point). A comma, UTF-16 or a NUL byte is LABEL_ENCODING with what was found.
 * - class: an integer, or a decimal that is one ("2.0", "03", "1e1"); anything else, or one outside names: ROW_CLASS.
 * - detect and segment: 5 tokens are a box; an odd count of 7 and more is a polygon, whose box is its bounding box
 *   (stored as points too for TASK_SEGMENT and TASK_DETECT alike). Each row by itself; a file with both is noted.
 *   obb: 9 tokens, four corners. pose: 5 + count * dims.
 * - a coordinate (or width, height) outside 0-1 by at most 0.01 is clamped and counted; further out: ROW_RANGE. Width and
 *   height over 0 (ROW_SIZE). A box that spills over the edge while its values are in 0-1 is kept bit for bit.
 *   Not finite: ROW_NUMBER.
 * - an exact duplicate (same class, same values after parsing) is removed and counted.
 * - values are the float32 nearest to the decimal.
 * Rows of the report name `path`, line and column. Returns 0 or ERR_MEMORY: bad content is never an error here.
 */
int label_parse(struct label_set *out, struct span text, const char *path, const struct label_options *options,
                struct report *report);
void label_set_clear(struct label_set *set);
void label_set_deinit(struct label_set *set);

#endif
