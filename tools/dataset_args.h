/* The options that `pack` and `check` share: how a raw data set is read and judged. */
#ifndef YPK_TOOLS_DATASET_ARGS_H
#define YPK_TOOLS_DATASET_ARGS_H

#include "args.h"
#include "pack.h"

struct dataset_args {
    struct pack_options pack;   /* what goes to the packer */
    int modality, unpaired, task, check; /* choices, -1 while not given */
    int64_t jobs, pixel_limit;
    bool json, quiet;
};

#define DATASET_OPTIONS(d)                                                                                             \
    {"jobs", 'j', ARGS_INTEGER, "N", "threads (default: the cores this process may use)", &(d)->jobs, 1, 1024},        \
    {"pair", 0, ARGS_TEXT, "RULE", "how RGB and IR belong together: auto, yolofuse, dir:RGB=IR, suffix:_RGB=_IR"       \
     " (default: auto)", &(d)->pack.source.rule, 0, 0},                                                                \
    {"labels", 0, ARGS_TEXT, "DIR", "label files are in DIR (default: found from the image's path)",                   \
     &(d)->pack.source.labels, 0, 0},                                                                                  \
    {"modality", 0, ARGS_CHOICE, "rgb|ir|rgb+ir", "what the data set is (default: what is there)", &(d)->modality, 0,  \
     0},                                                                                                               \
    {"unpaired", 0, ARGS_CHOICE, "reject|rgb-only|fail", "what to do with an image without partner", &(d)->unpaired, 0,\
     0},                                                                                                               \
    {"task", 0, ARGS_CHOICE, "detect|segment|pose|obb", "what label rows mean (default: as data.yaml says, else"       \
     " detect)", &(d)->task, 0, 0},                                                                                    \
    {"check", 0, ARGS_CHOICE, "full|header", "decode every image, or trust all but its header", &(d)->check, 0, 0},    \
    {"ignore-exif", 0, ARGS_FLAG, NULL, "leave images as stored, whatever EXIF says of their orientation",             \
     &(d)->pack.intake.ignore_exif, 0, 0},                                                                             \
    {"max-pixels", 0, ARGS_INTEGER, "N", "reject images of more pixels", &(d)->pixel_limit, 100, INT64_MAX},           \
    {"max-rejects", 0, ARGS_FRACTION, "SHARE", "stop when more of the samples are rejected", &(d)->pack.max_rejects, 0,\
     0},                                                                                                               \
    {"strict", 0, ARGS_FLAG, NULL, "stop when anything is rejected or dropped", &(d)->pack.strict, 0, 0},              \
    {"json", 0, ARGS_FLAG, NULL, "print the result as JSON", &(d)->json, 0, 0},                                        \
    {"quiet", 'q', ARGS_FLAG, NULL, "only results and errors", &(d)->quiet, 0, 0}

/* The packer's defaults. */
void dataset_args_init(struct dataset_args *d);

/* Carries the parsed choices into d->pack. False after a message if an option has no effect. */
bool dataset_args_apply(struct dataset_args *d, const struct args *args, const struct args_spec *spec);

#endif
