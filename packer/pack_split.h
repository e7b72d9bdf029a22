/* Packs one split into sealed shards, each with a part file beside it; the parts make the index in the end. */
#ifndef YPK_PACKER_PACK_SPLIT_H
#define YPK_PACKER_PACK_SPLIT_H

#include "class_names.h"
#include "error.h"
#include "gray_tally.h"
#include "pack.h"

#include <stdint.h>

/* Workers and slots of a run, shared by its splits. */
struct pack_workers {
    unsigned job_count;
    struct intake **intakes; /* [job_count] */
    size_t slot_count;
    struct intake_result **slots; /* [slot_count] */
};
int pack_workers_create(struct pack_workers *out, unsigned job_count, const struct intake_options *options,
                        const char *base, struct error *error);
void pack_workers_destroy(struct pack_workers *workers);

/* ERR_SPACE if the sources of all splits do not fit beside what an interrupted run left in `directory` (which is part
 * of the same bytes). Only for the preset that keeps files as they are: how large the others' pictures get is not known
 * before they are decoded. */
int pack_split_check_space(const struct pack_options *options, const struct source_set *sources, const char *directory,
                           struct error *error);

/*
 * Takes every sample of `split` in and writes DIRECTORY/NAME-00000.lmdb, NAME-00000.part, …; *classes grows to hold
 * the class ids seen, *tally to count the RGB pictures that were packed alone (not those of shards taken over). `base`
 * is the index that the samples are added to (NULL: none): numbers and record ids go on after it, and so do those of
 * the parts. With `resume`, sealed shards whose part file and sources are as they were are taken over. With directory
 * NULL everything is only checked. Counts go to *result, rows to *report.
 */
int pack_split_run(struct pack_split_result *result, struct report *report, struct class_range *classes,
                   struct gray_tally *tally, const struct pack_options *options, const struct source_set *sources,
                   const struct split_source *split, const struct index_view *base, struct pack_workers *workers,
                   const char *directory, bool resume, struct error *error);

/* Merges the parts into DIRECTORY/NAME.index, behind `base` if that is not NULL, with the class names `classes`. */
int pack_split_finish(struct pack_split_result *result, const char *directory, const struct index_meta *meta,
                      const struct string_list *classes, const struct index_view *base, struct error *error);

/* Merges views[0 … count - 1] into DIRECTORY/NAME.index as index_merge() does, with the class names `classes`, and
 * fills what the result says of the index. views[count] is room for one more. */
int pack_split_join(struct pack_split_result *result, const char *directory, const struct index_meta *meta,
                    const struct string_list *classes, struct index_view *views, uint64_t count,
                    uint64_t new_generation, struct error *error);

/* Meta of every index of this run but the shard prefix. */
struct index_meta pack_split_meta(const struct pack_options *options, const struct source_set *sources,
                                  const char *prefix);

#endif
