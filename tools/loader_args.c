#include "loader_args.h"

#include <string.h>

void loader_args_init(struct loader_args *a) {
    ypk_loader_options o;
    ypk_loader_options_init(&o, sizeof o);
    *a = (struct loader_args){.batch = o.batch, .image_size = o.image_size, .channels = -1, .dtype = -1};
}

size_t loader_args_batch_options(struct args_option out[ARGS_OPTION_LIMIT], const struct args_option *own,
                                 size_t own_count, struct loader_args *a) {
    const struct args_option shared[] = {
        {"split", 's', ARGS_TEXT, "NAME", "which split (default: train, or the only one)", &a->split, 0, 0},
        {"batch", 'b', ARGS_INTEGER, "N", "samples a batch", &a->batch, 1, 65536},
        {"imgsz", 0, ARGS_INTEGER, "S", "side of the output, px", &a->image_size, 32, 8192},
        {"eval", 0, ARGS_FLAG, NULL, "every sample once, letterboxed, not augmented", &a->eval, 0, 0},
        {"rect", 0, ARGS_FLAG, NULL, "with --eval: batches of similar shape", &a->rect, 0, 0},
        {"fast", 0, ARGS_FLAG, NULL, "decode JPEGs faster, not to the very bytes of cv2.imread", &a->fast, 0, 0},
        {"seed", 0, ARGS_INTEGER, "N", "of the plan", &a->seed, 0, INT64_MAX},
    };
    memcpy(out, own, own_count * sizeof *own);
    memcpy(out + own_count, shared, sizeof shared);
    return own_count + sizeof shared / sizeof shared[0];
}

size_t loader_args_options(struct args_option out[ARGS_OPTION_LIMIT], const struct args_option *own, size_t own_count,
                           struct loader_args *a) {
    const struct args_option shared[] = {
        {"channels", 0, ARGS_CHOICE, "rgb|ir|rgb+ir|rgb+ir3|two", "what the tensors hold (default: what the pack has)",
         &a->channels, 0, 0},
        {"dtype", 0, ARGS_CHOICE, "u8|f16|bf16|f32", "numbers of the tensors (default: u8)", &a->dtype, 0, 0},
        {"workers", 'w', ARGS_INTEGER, "N", "threads (0: the cores this process may use)", &a->workers, 0, 1024},
        {"prefetch", 0, ARGS_INTEGER, "N", "batches ahead (0: automatic)", &a->prefetch, 0, 1024},
        {"memory-limit", 0, ARGS_BYTES, "SIZE", "for everything the loader holds (0: what is best for speed)",
         &a->memory_limit, 0, INT64_MAX},
    };
    size_t count = loader_args_batch_options(out, own, own_count, a);
    memcpy(out + count, shared, sizeof shared);
    return count + sizeof shared / sizeof shared[0];
}

void loader_args_apply(const struct loader_args *a, ypk_loader_options *out) {
    ypk_loader_options_init(out, sizeof *out);
    out->batch = (uint32_t)a->batch;
    out->image_size = (uint32_t)a->image_size;
    out->channels = a->channels < 0 ? YPK_CHANNELS_AUTO : a->channels + YPK_CHANNELS_RGB;
    out->dtype = a->dtype < 0 ? YPK_U8 : a->dtype;
    out->mode = a->eval ? YPK_EVAL : YPK_TRAIN;
    out->rect = a->rect;
    out->fast = a->fast;
    out->seed = (uint64_t)a->seed;
    out->workers = (uint32_t)a->workers;
    out->prefetch = (uint32_t)a->prefetch;
    out->memory_limit = a->memory_limit;
}
