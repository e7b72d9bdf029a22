/* The options of the commands that run a loader: which batches, on how many workers. */
#ifndef YPK_TOOLS_LOADER_ARGS_H
#define YPK_TOOLS_LOADER_ARGS_H

#include "args.h"
#include "data_yaml.h"
#include "yolopack.h"

#include <stdbool.h>
#include <stdint.h>

struct loader_args {
    const char *split;
    int64_t batch, image_size, workers, prefetch, seed;
    uint64_t memory_limit;
    int channels, dtype; /* choices, -1 while not given */
    bool eval, rect, fast;
    const char *device;        /* NULL: host memory */
    const char *augment, *hyp; /* as on the command line */
    ypk_loader_options recipe; /* the defaults, changed by both */
    struct flip_index flip;    /* the pack's, filled in by the command; count 0: none */
};

/* The library's defaults. */
void loader_args_init(struct loader_args *a);

/* The options of a command: its own rows, then those that say which batches, whose targets are in `a`. Returns how
 * many. */
size_t loader_args_batch_options(struct args_option out[ARGS_OPTION_LIMIT], const struct args_option *own,
                                 size_t own_count, struct loader_args *a);

/* The same, and then those that say what tensors they come in and how they are made. */
size_t loader_args_options(struct args_option out[ARGS_OPTION_LIMIT], const struct args_option *own, size_t own_count,
                           struct loader_args *a);

/* Reads --hyp and --augment, in that order, and says on stderr which keys of the file were not used. False with the
 * exit code of the command, when something is wrong with them. */
bool loader_args_augment(struct loader_args *a, const struct args_spec *spec, int *exit_code);

/* Both as text for titles: ", hyp.yaml, mosaic=0.5", "" if neither is given. */
void loader_args_augment_text(char *out, size_t size, const struct loader_args *a);

/* The loader's options as asked for. They refer to a->flip. */
void loader_args_apply(const struct loader_args *a, ypk_loader_options *out);

#endif
