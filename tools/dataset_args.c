#include "dataset_args.h"

static const char *const task_names[] = {"detect", "segment", "pose", "obb"};

void dataset_args_init(struct dataset_args *d) {
    *d = (struct dataset_args){.modality = -1, .task = -1};
    pack_options_init(&d->pack);
    d->unpaired = (int)d->pack.source.unpaired;
    d->check = (int)d->pack.intake.check;
    d->pixel_limit = (int64_t)d->pack.intake.pixel_limit;
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
    d->pack.source.dataset = args->operands[0];
    d->pack.source.unpaired = (enum unpaired_policy)d->unpaired;
    d->pack.intake.check = (enum check_level)d->check;
    d->pack.intake.pixel_limit = (uint64_t)d->pixel_limit;
    d->pack.task = d->task >= 0 ? task_names[d->task] : NULL;
    d->pack.jobs = (unsigned)d->jobs;
    return true;
}
