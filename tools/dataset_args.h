/* The options that `pack` and `check` share: how a raw data set is read and judged. */
#ifndef YPK_TOOLS_DATASET_ARGS_H
#define YPK_TOOLS_DATASET_ARGS_H

#include "args.h"
#include "pack.h"

struct dataset_args {
    struct pack_options pack;            /* what goes to the packer */
    int modality, unpaired, task, check; /* choices, -1 while not given */
    int64_t jobs, pixel_limit;
    bool json, quiet;
};

/* The packer's defaults. */
void dataset_args_init(struct dataset_args *d);

/* The options of a command: its own rows, then the shared ones, whose targets are in `d`. Returns how many. */
size_t dataset_args_options(struct args_option out[ARGS_OPTION_LIMIT], const struct args_option *own, size_t own_count,
                            struct dataset_args *d);

/* Carries the parsed choices into d->pack. False after a message if an option has no effect. */
bool dataset_args_apply(struct dataset_args *d, const struct args *args, const struct args_spec *spec);

#endif
