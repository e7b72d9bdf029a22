/*
 * A part: what a sealed shard leaves behind so that an interrupted run can go on after it, and from which the index is
 * merged in the end. It is an index of the shard's samples with two more sections: the rows of the report, and which
 * source samples went into it.
 */
#ifndef YPK_PACKER_PART_H
#define YPK_PACKER_PART_H

#include "class_names.h"
#include "error.h"
#include "index.h"
#include "intake.h"
#include "report.h"

#include <stdint.h>

/* The SOURCE section, as it lies in the file. */
struct part_source {
    uint64_t first, end;        /* samples of the split's source list */
    uint64_t fingerprint;       /* of their files, chained by part_chain() */
    struct class_range classes; /* of the split so far */
    struct intake_counts counts;
};

/* The fingerprint of a list grows by one: of samples, or of what else a run depends on. */
uint64_t part_chain(uint64_t chain, uint64_t sample_fingerprint);

/* "train-00003.part" into a buffer of INDEX_SHARD_NAME_BYTES. */
void part_name(char out[INDEX_SHARD_NAME_BYTES], const char *prefix, uint64_t number);

/* Writes the part atomically. The builder's REPORT and SOURCE sections are filled here. */
int part_write(const char *path, struct index_builder *builder, const struct report *report,
               const struct part_source *source, struct error *error);

/* A part file, mapped and fully checked. ERR_NOT_FOUND if there is none. */
struct part {
    struct span file;
    struct index_view view;
    struct part_source source;
};
int part_open(struct part *out, const char *path, struct error *error);
void part_close(struct part *part);

#endif
