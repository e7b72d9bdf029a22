#include "dataset_args.h"

#include <string.h>

static const char *const task_names[] = {"detect", "segment", "pose", "obb"};

void dataset_args_init(struct dataset_args *d) {
    *d = (struct dataset_args){.modality = -1, .task = -1};
    pack_options_init(&d->pack);
    d->unpaired = (int)d->pack.source.unpaired;
    d->check = (int)d->pack.intake.check;
    d->pixel_limit = (int64_t)d->pack.intake.pixel_limit;
}

size_t dataset_args_options(struct args_option out[ARGS_OPTION_LIMIT], const struct args_option *own, size_t own_count,
                            struct dataset_args *d) {
    struct pack_options *pack = &d->pack;
    const struct args_option shared[] = {
        {"jobs", 'j', ARGS_INTEGER, "N", "threads (default: the cores this process may use)", &d->jobs, 1, 1024},
        {"pair", 0, ARGS_TEXT, "RULE",
         "how RGB and IR belong together: auto, yolofuse, dir:RGB=IR, suffix:_RGB=_IR, or map:FILE, a table of rgb, ir, "
         "label (default: auto)",
         &pack->source.rule, 0, 0},
        {"labels", 0, ARGS_TEXT, "DIR", "label files are in DIR (default: found from the image's path)",
         &pack->source.labels, 0, 0},
        {"modality", 0, ARGS_CHOICE, "rgb|ir|rgb+ir", "what the data set is (default: what is there)", &d->modality, 0,
         0},
        {"unpaired", 0, ARGS_CHOICE, "reject|rgb-only|fail", "what to do with an image without partner", &d->unpaired,
         0, 0},
        {"task", 0, ARGS_CHOICE, "detect|segment|pose|obb",
         "what label rows mean (default: as data.yaml says, else detect)", &d->task, 0, 0},
        {"classes", 0, ARGS_TEXT, "LIST", "keep the rows of these classes: 0,2,7 or person,car (default: all)",
         &pack->classes, 0, 0},
        {"single-cls", 0, ARGS_FLAG, NULL, "make all classes one, \"item\"", &pack->intake.label.single_class, 0, 0},
        {"fraction", 0, ARGS_FRACTION, "SHARE", "take a fair share of each split's samples", &pack->fraction, 0, 0},
        {"clamp", 0, ARGS_FRACTION, "SHARE", "move coordinates no further outside the picture than this inside",
         &pack->intake.label.clamp, 0, 0},
        {"check", 0, ARGS_CHOICE, "full|header", "decode every image, or trust all but its header", &d->check, 0, 0},
        {"ignore-exif", 0, ARGS_FLAG, NULL, "leave images as stored, whatever EXIF says of their orientation",
         &pack->intake.ignore_exif, 0, 0},
        {"max-pixels", 0, ARGS_INTEGER, "N", "reject images of more pixels", &d->pixel_limit, 100, INT64_MAX},
        {"max-rejects", 0, ARGS_FRACTION, "SHARE", "stop when more of the samples are rejected", &pack->max_rejects, 0,
         0},
        {"strict", 0, ARGS_FLAG, NULL, "stop when anything is rejected or dropped", &pack->strict, 0, 0},
        {"json", 0, ARGS_FLAG, NULL, "print the result as JSON", &d->json, 0, 0},
        {"quiet", 'q', ARGS_FLAG, NULL, "only results and errors", &d->quiet, 0, 0},
    };
    memcpy(out, own, own_count * sizeof *own);
    memcpy(out + own_count, shared, sizeof shared);
    return own_count + sizeof shared / sizeof shared[0];
}

bool dataset_args_apply(struct dataset_args *d, const struct args *args, const struct args_spec *spec) {
    static const int modalities[] = {MODALITY_RGB, MODALITY_IR, MODALITY_RGB | MODALITY_IR};
    if (d->modality >= 0)
        d->pack.source.modalities = modalities[d->modality];
    if (args_given(args, spec, "unpaired") && (d->modality == 0 || d->modality == 1)) {
        args_mistake(spec, "--unpaired has no effect with --modality %s: nothing is paired then",
                     d->modality == 0 ? "rgb" : "ir");
        return false;
    }
    if (d->pack.strict && args_given(args, spec, "max-rejects")) {
        args_mistake(spec, "--max-rejects has no effect with --strict, which allows none");
        return false;
    }
    if (d->pack.fraction == 0) {
        args_mistake(spec, "--fraction 0: that would be no sample");
        return false;
    }
    d->pack.source.dataset = args->operands[0];
    d->pack.source.unpaired = (enum unpaired_policy)d->unpaired;
    d->pack.intake.check = (enum check_level)d->check;
    d->pack.intake.pixel_limit = (uint64_t)d->pixel_limit;
    d->pack.task = d->task >= 0 ? task_names[d->task] : NULL;
    d->pack.jobs = (unsigned)d->jobs;
    return true;
}
