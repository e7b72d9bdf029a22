/* Is a pack still what its source would give today? */
#ifndef YPK_PACKER_COMPARE_H
#define YPK_PACKER_COMPARE_H

#include "error.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct compare_options {
    unsigned jobs; /* 0: one a core */
    const atomic_bool *cancel;
    /* Called in the order of the samples, on the caller's thread. `message` names the file and what differs. */
    void (*on_difference)(void *arg, const char *message);
    void (*on_progress)(void *arg, uint64_t done_samples, uint64_t total_samples);
    /* Afterwards, for every image of the source that is in no sample (stray.h). */
    void (*on_stray)(void *arg, const char *path);
    void *callback_arg;
};

struct compare_result {
    uint64_t sample_count, difference_count;
    uint64_t images_left_out; /* transcoded by another version of the JPEG library: nothing can be said of them */
    uint64_t stray_count;
    bool took_a_share; /* packed with --fraction or --part, so that what it does not have says nothing: no strays */
};

/*
 * Takes every file that the pack names in again, with the options it was packed with: images must give the same
 * payload, label files the same rows, data.yaml the same names; sizes and times have no say. `source` is the directory
 * that the pack's names are relative to, or its data.yaml. Images that the pack does not have are no difference, but
 * counted. 0 when all is the same, ERR_INPUT when *result counts differences, other codes if it could not look.
 */
int compare_source(struct compare_result *result, const char *pack, const char *source,
                   const struct compare_options *options, struct error *error);

#endif
