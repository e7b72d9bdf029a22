#include "loader_args.h"

#include "augment.h"
#include "file.h"
#include "output.h"

#include <string.h>

void loader_args_init(struct loader_args *a) {
    ypk_loader_options o;
    ypk_loader_options_init(&o, sizeof o);
    *a = (struct loader_args){.batch = o.batch, .image_size = o.image_size, .channels = -1, .dtype = -1, .recipe = o};
}

size_t loader_args_batch_options(struct args_option out[ARGS_OPTION_LIMIT], const struct args_option *own,
                                 size_t own_count, struct loader_args *a) {
    const struct args_option shared[] = {
        {"split", 's', ARGS_TEXT, "NAME", "which split (default: train, or the only one)", &a->split, 0, 0},
        {"batch", 'b', ARGS_INTEGER, "N", "samples a batch", &a->batch, 1, 65536},
        {"imgsz", 0, ARGS_INTEGER, "S", "side of the output, px", &a->image_size, 32, 8192},
        {"eval", 0, ARGS_FLAG, NULL, "every sample once, letterboxed, not augmented", &a->eval, 0, 0},
        {"rect", 0, ARGS_FLAG, NULL, "with --eval: batches of similar shape", &a->rect, 0, 0},
        {"fast", 0, ARGS_FLAG, NULL, "decode large JPEGs faster, not to the very bytes of cv2.imread", &a->fast, 0, 0},
        {"seed", 0, ARGS_INTEGER, "N", "of the plan", &a->seed, 0, INT64_MAX},
        {"augment", 0, ARGS_TEXT, "NAME=X,...",
         "augmentation of the training, by the loader's names: mosaic=0.5,degrees=10", &a->augment, 0, 0},
        {"hyp", 0, ARGS_TEXT, "FILE", "the same from the YAML file of an Ultralytics training (args.yaml)", &a->hyp, 0,
         0},
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
        {"workers", 'w', ARGS_INTEGER, "N", "threads (0: automatic, from the cores this process may use)", &a->workers,
         0, 1024},
        {"prefetch", 0, ARGS_INTEGER, "N", "batches ahead (0: automatic)", &a->prefetch, 0, 1024},
        {"memory-limit", 0, ARGS_BYTES, "SIZE", "for everything the loader holds (0: what is best for speed)",
         &a->memory_limit, 0, INT64_MAX},
        {"device", 0, ARGS_TEXT, "cpu|cuda:N|auto|host",
         "where batches go: a GPU, the first if there is one, or the ways of a GPU in host memory (default: cpu)",
         &a->device, 0, 0},
    };
    size_t count = loader_args_batch_options(out, own, own_count, a);
    memcpy(out + count, shared, sizeof shared);
    return count + sizeof shared / sizeof shared[0];
}

/* The option that is meant by a key of the file: "close_mosaic" is "--close-mosaic". Those that are words have other
 * meanings there. */
static const char *option_of(const struct args_spec *spec, const char *key) {
    for (size_t i = 0; i < spec->option_count; i++) {
        const char *name = spec->options[i].name;
        size_t k = 0;
        while (name[k] != '\0' && (name[k] == key[k] || (name[k] == '-' && key[k] == '_')))
            k++;
        if (name[k] == '\0' && key[k] == '\0' && spec->options[i].kind == ARGS_INTEGER)
            return name;
    }
    return NULL;
}

static void tell_left_out(const struct loader_args *a, const struct args_spec *spec, const struct string_list *keys) {
    if (keys->count > 0)
        fprintf(stderr, "yolopack: %s: not taken from it:", a->hyp);
    for (size_t i = 0; i < keys->count; i++) {
        const char *option = option_of(spec, keys->items[i]);
        fprintf(stderr, "%s ", i > 0 ? "," : "");
        output_name(stderr, keys->items[i]);
        if (option != NULL)
            fprintf(stderr, " (--%s)", option);
    }
    if (keys->count > 0)
        fprintf(stderr, "\n");
}

bool loader_args_augment(struct loader_args *a, const struct args_spec *spec, int *exit_code) {
    struct string_list left_out = {0};
    struct error error = {0};
    int rc = 0;
    if (a->eval && (a->augment != NULL || a->hyp != NULL)) {
        *exit_code = args_mistake(spec, "--%s has no effect with --eval", a->augment != NULL ? "augment" : "hyp");
        return false;
    }
    if (a->hyp != NULL)
        rc = augment_read(&a->recipe, &left_out, a->hyp, &error);
    if (rc == 0)
        tell_left_out(a, spec, &left_out);
    string_list_deinit(&left_out);
    if (rc != 0) {
        *exit_code = output_fail(&error);
        return false;
    }
    if (a->augment != NULL && augment_parse(&a->recipe, a->augment, &error) != 0) {
        *exit_code = args_mistake(spec, "--augment: %s", error.message);
        return false;
    }
    return true;
}

void loader_args_augment_text(char *out, size_t size, const struct loader_args *a) {
    snprintf(out, size, "%s%s%s%s", a->hyp != NULL ? ", " : "", a->hyp != NULL ? path_base(a->hyp) : "",
             a->augment != NULL ? ", " : "", a->augment != NULL ? a->augment : "");
}

void loader_args_apply(const struct loader_args *a, ypk_loader_options *out) {
    *out = a->recipe;
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
    out->device = a->device;
    out->flip_index = a->flip.count > 0 ? a->flip.places : NULL;
    out->flip_index_count = a->flip.count;
}
