/* YOLO label rows: text in, checked boxes and points out. One row is judged at a time. */
#ifndef YPK_PACKER_LABEL_H
#define YPK_PACKER_LABEL_H

#include "bytes.h"
#include "error.h"
#include "index.h"
#include "report.h"

#include <stdbool.h>
#include <stdint.h>

/* Rounding to three decimals, or by half a pixel of a picture of 500 and more, leaves a value no further outside. */
#define LABEL_CLAMP 0.001

struct label_options {
    uint8_t task;                      /* enum index_task */
    uint32_t class_count;              /* 0: unknown, any class up to INDEX_CLASS_LIMIT - 1 is right */
    int keypoint_count, keypoint_dims; /* pose */
    const uint8_t *wanted_classes;     /* a bit for each id up to INDEX_CLASS_LIMIT, borrowed; NULL: all */
    bool single_class;                 /* every id becomes 0, after duplicates were looked for */
    double clamp;                      /* how far outside 0-1 a value is moved in; LABEL_CLAMP */
};

struct label_counts {
    uint64_t rows; /* = kept + dropped + duplicate + filtered */
    uint64_t kept, dropped, duplicate;
    uint64_t filtered;             /* of a class that is not wanted */
    uint64_t clamped;              /* among the kept */
    uint32_t max_class, min_class; /* class ids of the kept rows; 0, 0 when kept is 0 */
};

/* Growable; zero-initialise; label_set_clear() keeps memory. */
struct label_set {
    struct bytes labels; /* struct index_label[] */
    struct bytes points; /* float[][point_dims] */
    struct label_counts counts;
    struct bytes seen; /* scratch of label_parse() */
};

/*
 * Parses the text of one label file to the end of `out`. Rules:
 * - separators are blanks and tabs; lines end with LF, CRLF or CR; a UTF-8 BOM and blank lines are skipped; the locale
 *   has no say ('.' is the decimal point). A row with a comma or a NUL byte is LABEL_ENCODING with what was found. A
 *   file in UTF-16 or over 1 GiB is LABEL_UNREADABLE: none of its rows is known, or counted.
 * - class: an integer, or a decimal that is one ("2.0", "03", "1e1"); anything else, or one outside names: ROW_CLASS.
 * - detect and segment: 5 tokens are a box; an odd count of 7 and more is a polygon (of 65,535 points at most), whose
 *   box is its bounding box (stored as points too for TASK_SEGMENT and TASK_DETECT alike). Each row by itself; a file
 *   with both is noted with a line of each. obb: 9 tokens, four corners. pose: 5 + count * dims, visibility 0, 1 or 2.
 * - a coordinate (or width, height) outside 0-1 by at most `clamp` is moved in and counted; further out: ROW_RANGE.
 * Width and height over 0 (ROW_SIZE). A box that spills over the edge while its values are in 0-1 is kept bit for bit.
 *   Not finite, or longer than 128 characters: ROW_NUMBER.
 * - a row of a class that is not wanted is left out and counted as soon as its class is known to be one; the file is
 *   noted in one line.
 * - an exact duplicate (same class, same values after parsing) of an earlier row of the file is removed and counted.
 * - values are the float32 nearest to the decimal; minus zero becomes zero.
 * Rows of the report name `path`, line and column (bytes from 1, after a BOM): one for each row dropped, clamped or
 * duplicate. Returns 0 or ERR_MEMORY: bad content is never an error here. Allocates only when `out` has to grow.
 */
int label_parse(struct label_set *out, struct span text, const char *path, const struct label_options *options,
                struct report *report);
void label_set_clear(struct label_set *set);
void label_set_deinit(struct label_set *set);

#endif
