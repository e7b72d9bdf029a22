/* One raw sample in, one record out: read, check, turn upright, transcode where asked, parse labels. */
#ifndef YPK_PACKER_INTAKE_H
#define YPK_PACKER_INTAKE_H

#include "label.h"
#include "normalise.h"
#include "pair.h"
#include "record.h"
#include "report.h"

#include <stdbool.h>
#include <stdint.h>

enum preset { PRESET_KEEP, PRESET_TRAIN, PRESET_RAW };
enum check_level { CHECK_FULL, CHECK_HEADER };

/* What of the options changes the bytes of a record; its fingerprint guards --resume. */
struct intake_options {
    enum preset preset;
    int image_size_px; /* longest side, train and raw; 0 = as it is */
    int quality;       /* JPEG 1-100 of transcoded images */
    int zstd_level;    /* raw; 0 = none, or 3 for 16-bit infrared, which is always compressed */
    int ir_depth;      /* 16-bit infrared: 8 or 16 bits in the pack; its counts to 8 bits, by: */
    struct normalise ir_norm;
    enum check_level check;
    bool ignore_exif;
    uint64_t pixel_limit; /* width * height */
    uint64_t file_limit_bytes;
    double aspect_tolerance; /* relative difference of the pair's aspect ratios that is reported */
    struct label_options label;
};

/* Counts of one sample or of many: plain sums. */
/* clang-format off */
#define INTAKE_COUNTS(X)                                                                                               \
    X(samples) X(packed) X(rejected) X(images_kept) X(images_transcoded) X(images_rotated) X(source_bytes)             \
    X(payload_bytes) X(rows) X(rows_kept) X(rows_dropped) X(rows_clamped) X(rows_duplicate) X(rows_filtered)           \
    X(background_no_file) X(background_empty) X(labels)
/* clang-format on */

struct intake_counts {
#define X(name) uint64_t name;
    INTAKE_COUNTS(X)
#undef X
};
void intake_counts_add(struct intake_counts *to, const struct intake_counts *from);

/* The result of one sample; the memory is reused from sample to sample. Zero-initialise. */
struct intake_result {
    bool rejected;
    struct bytes record; /* header, payloads, padding: ready for the shard; the sample id is filled in later */
    struct record header;
    struct label_set labels;
    struct report report;
    struct intake_counts counts;
    uint64_t fingerprint; /* of the source files: names, sizes, times */
};
void intake_result_deinit(struct intake_result *result);

/* A worker's own handles and scratch. */
struct intake;
int intake_create(struct intake **out, const struct intake_options *options, const char *base, struct error *error);
void intake_destroy(struct intake **intake);

/* Takes one sample in. A bad sample is a result (rejected, with rows in the report), not an error; an error stops the
 * run: ERR_MEMORY, ERR_IO of the machine. */
int intake_sample(struct intake *intake, struct intake_result *out, const struct sample_source *source,
                  struct error *error);

/* A file that cannot be read is the sample's fault, unless the machine is out of memory or descriptors. */
bool intake_is_machine_fault(const struct error *fault);

/* The files behind one sample, without reading them. */
struct source_stat {
    uint64_t fingerprint; /* of names, sizes and modification times of images and label */
    uint64_t bytes;       /* of the images */
};

/* `base_fd` is the directory that the paths are relative to. 0 or ERR_MEMORY: a missing file is part of the
 * fingerprint. */
int intake_stat(struct source_stat *out, int base_fd, const struct sample_source *source);

#endif
