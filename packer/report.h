/*
 * What was found wrong with a data set, row by row, and what was done about it.
 *
 * One table of rules says for each its name in the report, its severity and the remedy. Rows are kept as the text of
 * report.tsv (path, line, column, rule, action, value, message), in the order of the samples, so that a report is the
 * same for any number of threads and parts of it can be joined.
 */
#ifndef YPK_PACKER_REPORT_H
#define YPK_PACKER_REPORT_H

#include "bytes.h"
#include "error.h"

#include <stdbool.h>
#include <stdint.h>

/* What a rule does to the thing it names. */
enum report_action {
    ACTION_REJECTED, /* the sample is not in the pack */
    ACTION_DROPPED,  /* the label row is not in the pack; its image and the other rows are */
    ACTION_CLAMPED,  /* the label row is in the pack, with coordinates moved inside the picture */
    ACTION_NOTE,     /* nothing was lost */
};

/* id, name in the report, action, "what it is" for the summary (singular), remedy */
#define REPORT_RULES(X)                                                                                                \
    X(IMAGE_UNREADABLE, "image-unreadable", ACTION_REJECTED, "unreadable file", "check permissions and the disk")      \
    X(IMAGE_CHANGED, "image-changed", ACTION_REJECTED, "file that changed while it was packed",                        \
      "pack again when nothing writes to the data set")                                                                \
    X(IMAGE_EMPTY, "image-empty", ACTION_REJECTED, "empty file", "fetch the file again")                               \
    X(IMAGE_NOT_AN_IMAGE, "image-unknown-format", ACTION_REJECTED, "file that is no image",                            \
      "replace it by a JPEG, PNG, TIFF, BMP or WebP file")                                                             \
    X(IMAGE_TRUNCATED, "image-truncated", ACTION_REJECTED, "cut image", "fetch the file again")                        \
    X(IMAGE_CORRUPT, "image-corrupt", ACTION_REJECTED, "corrupt image", "fetch the file again")                        \
    X(IMAGE_UNSUPPORTED, "image-unsupported", ACTION_REJECTED, "image of an unsupported kind",                         \
      "convert it to a JPEG or PNG file of 8 bits")                                                                    \
    X(IMAGE_TOO_SMALL, "image-too-small", ACTION_REJECTED, "image with a side under 10 px", "remove it")               \
    X(IMAGE_TOO_LARGE, "image-too-large", ACTION_REJECTED, "image over the size limit", "shrink it")                   \
    X(RGB_WITHOUT_IR, "rgb-without-ir", ACTION_REJECTED, "RGB image without IR partner",                               \
      "add the partner, or --unpaired rgb-only")                                                                       \
    X(IR_WITHOUT_RGB, "ir-without-rgb", ACTION_REJECTED, "IR image without RGB partner",                               \
      "add the partner, or --modality ir")                                                                             \
    X(PAIR_AMBIGUOUS, "pair-ambiguous", ACTION_REJECTED, "image with two candidates for its partner",                  \
      "remove one of them")                                                                                            \
    X(LIST_MISSING, "list-missing", ACTION_REJECTED, "listed image that does not exist", "correct the list")           \
    X(LABEL_UNREADABLE, "label-unreadable", ACTION_REJECTED, "image whose label file is unreadable",                   \
      "make it a readable file of UTF-8 text, or remove it if the image is background")                                \
    X(LABEL_ENCODING, "label-encoding", ACTION_DROPPED, "row in an encoding that is not read",                         \
      "save it as UTF-8 or ASCII text")                                                                                \
    X(ROW_TOKENS, "row-tokens", ACTION_DROPPED, "row with the wrong number of values",                                 \
      "write: class x y width height, or class x1 y1 x2 y2 x3 y3 …")                                                   \
    X(ROW_NUMBER, "row-number", ACTION_DROPPED, "row with something that is no number", "correct the row")             \
    X(ROW_CLASS, "row-class", ACTION_DROPPED, "row whose class is not in names", "correct the class, or names")        \
    X(ROW_RANGE, "row-range", ACTION_DROPPED, "row with a coordinate outside 0-1",                                     \
      "normalise coordinates by the picture's width and height")                                                       \
    X(ROW_SIZE, "row-size", ACTION_DROPPED, "row whose box has no area", "remove the row")                             \
    X(ROW_CLAMPED, "row-clamped", ACTION_CLAMPED, "row clamped to the picture", "")                                    \
    X(ROW_DUPLICATE, "row-duplicate", ACTION_NOTE, "duplicate row removed", "")                                        \
    X(ROW_FILTERED, "row-filtered", ACTION_NOTE, "label file with rows that --classes leaves out", "")                 \
    X(ROW_MIXED, "row-mixed", ACTION_NOTE, "file with boxes and polygons", "")                                         \
    X(LABEL_MISSING, "label-missing", ACTION_NOTE, "background image (no label file)", "")                             \
    X(LABEL_EMPTY, "label-empty", ACTION_NOTE, "background image (empty label file)", "")                              \
    X(LIST_DUPLICATE, "list-duplicate", ACTION_NOTE, "repeated line of a list or map", "remove it")                    \
    X(LABEL_SHARED, "label-shared", ACTION_NOTE, "label file that two images share", "rename one of the images")       \
    X(YAML_PATH, "yaml-path", ACTION_NOTE, "path in data.yaml that is not used", "correct or remove it")               \
    X(LABEL_ORPHAN, "label-orphan", ACTION_NOTE, "label file without image", "")                                       \
    X(LABEL_NEAR, "label-near", ACTION_NOTE, "label file whose name nearly matches an image", "rename one of them")    \
    X(IDS_ONE_BASED, "ids-one-based", ACTION_NOTE, "set whose class ids look 1-based", "subtract 1 from every id")     \
    X(IMAGE_WARNING, "image-warning", ACTION_NOTE, "image with a harmless fault", "")                                  \
    X(IMAGE_ROTATED, "image-rotated", ACTION_NOTE, "image turned upright by its EXIF orientation", "")                 \
    X(IMAGE_TRANSCODED, "image-transcoded", ACTION_NOTE, "image transcoded", "")                                       \
    X(IR_COLOUR, "ir-colour", ACTION_NOTE, "colour picture in the IR slot (its luma is used)", "")                     \
    X(RGB_GRAY, "rgb-gray", ACTION_NOTE, "gray picture in the RGB slot", "")                                           \
    X(PAIR_ASPECT, "pair-aspect", ACTION_NOTE, "pair whose aspect ratios differ", "")                                  \
    X(FILE_SKIPPED, "file-skipped", ACTION_NOTE, "file skipped", "")                                                   \
    X(SPLIT_NONE, "split-none", ACTION_NOTE, "group of pictures that no split names", "add them to data.yaml")         \
    X(SPLIT_SHARED, "split-shared", ACTION_NOTE, "split that names the same images as another", "")                    \
    X(SPLIT_OVERLAP, "split-overlap", ACTION_NOTE, "split that shares images with another",                            \
      "name each image in one split")                                                                                  \
    X(SAMPLES_LEFT, "samples-left-out", ACTION_NOTE, "split of which --fraction takes a part", "")                     \
    X(SOURCE_CHANGED, "source-changed", ACTION_NOTE, "sample whose source changed after it was packed",                \
      "pack the data set anew")                                                                                        \
    X(SOURCE_MOVED, "source-moved", ACTION_NOTE, "sample of another split of the pack", "pack the data set anew")      \
    X(SOURCE_GONE, "source-gone", ACTION_NOTE, "sample of the pack that the data set has lost",                        \
      "pack the data set anew")                                                                                        \
    X(YAML_KEY, "yaml-key", ACTION_NOTE, "unknown key in data.yaml", "correct or remove it")                           \
    X(INFRARED_NAME, "infrared-name", ACTION_NOTE, "set with infrared pictures, by the names of directories",          \
      "--pair dir:RGB=IR, or --modality ir")                                                                           \
    X(YAML_VALUE, "yaml-value", ACTION_NOTE, "value in data.yaml to look at", "correct it")

enum report_rule {
#define X(id, name, action, what, remedy) RULE_##id,
    REPORT_RULES(X)
#undef X
        RULE_COUNT
};

struct report_rule_info {
    const char *name;
    enum report_action action;
    const char *what;
    const char *remedy;
};
const struct report_rule_info *report_rule_info(enum report_rule rule);
const char *report_action_text(enum report_action action); /* "rejected", "dropped", "clamped", "note" */

struct report {
    struct bytes rows; /* text of report.tsv without its head line */
    uint64_t counts[RULE_COUNT];
};

/* Adds a row. `path` is relative to the data set; line and column count from 1, 0 = the whole file. `value` is what was
 * found, as bytes, cut after 160. In path and value anything that is not printable UTF-8 is written as \xNN, tab,
 * newline and backslash as \t, \n and \\, so that they lead back to the bytes on disk; in the message, which says
 * what is wrong in words, a backslash stays. Path and message are never cut. 0 or ERR_MEMORY (nothing is added). */
int report_add(struct report *r, enum report_rule rule, const char *path, uint64_t line, uint64_t column,
               struct span value, const char *format, ...) __attribute__((format(printf, 7, 8)));
int report_append(struct report *to, const struct report *from);
uint64_t report_rows(const struct report *r); /* how many */
/* `count` rows of `from`, or as many as there are, from byte *at on, which is moved behind them. They passed
 * report_parse(). */
int report_append_rows(struct report *to, const struct report *from, size_t *at, uint64_t count);
/* Without the rows of rules for which `left_out` is true; the rows passed report_parse(). */
int report_append_except(struct report *to, const struct report *from, bool (*left_out)(enum report_rule rule));
/* Rows of an earlier run, counts rebuilt; `out` is overwritten. ERR_CORRUPT if a row is none, ERR_MEMORY. */
int report_parse(struct report *out, struct span rows, struct error *error);
/* The same from the text of a report.tsv, with its head line. */
int report_parse_tsv(struct report *out, struct span text, struct error *error);
/* A row as it stands in the report: spans into it, escaped. Column 0 of a row is the whole line. */
struct report_example {
    struct span path, value, message;
    uint64_t line, column;
};
/* Every row, in order. */
void report_visit(const struct report *r,
                  void (*visit)(void *arg, enum report_rule rule, const struct report_example *row), void *arg);
/* The first row of a rule; false if there is none. */
bool report_first(const struct report *r, enum report_rule rule, struct report_example *out);
/* The rule of that action with the most rows; RULE_COUNT if there is none. */
enum report_rule report_most(const struct report *r, enum report_action action);
/* "path:line:column: \"value\": message", as far as there are such, cut to `size`. */
void report_example_text(char *out, size_t size, const struct report_example *example);
uint64_t report_count(const struct report *r, enum report_action action);
void report_clear(struct report *r); /* empties, keeps memory */
void report_deinit(struct report *r);

/* The files' texts, appended: head line and rows; and {"counts": {rule: n, …}, "rows": [{…}, …]} (counts that are
 * not zero, sorted keys, one row a line, text escaped as in the rows). 0 or ERR_MEMORY. */
int report_tsv(const struct report *r, struct bytes *out);
int report_json(const struct report *r, struct bytes *out);

/* printf("%s")-safe copy of a path or value, escaped like a value of the report, uncut. NULL: no memory. free() it. */
char *report_printable(struct span value);

#endif
