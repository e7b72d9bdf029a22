/* Synthetic data in the YOLOFuse layout: images/{train,val}, imagesIR/…, labels/…, data.yaml. */
#include "commands.h"

#include "args.h"
#include "index.h"
#include "interrupt.h"
#include "jpeg.h"
#include "output.h"
#include "progress.h"
#include "synth.h"
#include "tree.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { JPEG_QUALITY = 88 };

struct synth_args {
    int64_t pairs, seed, classes, val_percent, background_percent;
    struct args_dimensions size, ir_size;
    int modality; /* choice: rgb, ir, rgb+ir */
    bool quiet;
};

struct synth {
    const struct synth_args *args;
    struct tree tree;
    struct jpeg *jpeg;
    struct pixels rgb, ir;
    struct bytes file; /* scratch */
    uint64_t bytes, val_count, box_count;
};

/* True for `percent` of all indexes, evenly spread. */
static bool falls_in(uint64_t index, int64_t percent) {
    uint64_t p = (uint64_t)percent;
    return (index + 1) * p / 100 != index * p / 100;
}

static int write_jpeg(struct synth *s, const struct pixels *picture, const char *folder, const char *split,
                      uint64_t index, struct error *error) {
    char path[96];
    snprintf(path, sizeof path, "%s/%s/%06" PRIu64 ".jpg", folder, split, index);
    s->file.size = 0;
    int rc = jpeg_encode(s->jpeg, &s->file, picture, JPEG_QUALITY, true, error);
    if (rc == 0)
        rc = tree_write(&s->tree, path, s->file.data, s->file.size, error);
    s->bytes += s->file.size;
    return rc;
}

/* numerator / denominator, under or equal to 1, with six decimals. */
static struct text ratio_text(uint64_t numerator, uint64_t denominator) {
    struct text out;
    uint64_t millionths = (numerator * 2000000 + denominator) / (2 * denominator);
    snprintf(out.text, sizeof out.text, "%" PRIu64 ".%06" PRIu64, millionths / 1000000, millionths % 1000000);
    return out;
}

/* Background images have no label file. */
static int write_labels(struct synth *s, const struct synth_scene *scene, const char *split, uint64_t index,
                        struct error *error) {
    char path[96], rows[SYNTH_OBJECT_LIMIT * 96];
    size_t length = 0;
    if (scene->object_count == 0)
        return 0;
    snprintf(path, sizeof path, "labels/%s/%06" PRIu64 ".txt", split, index);
    for (uint32_t i = 0; i < scene->object_count; i++) {
        const struct synth_object *o = &scene->objects[i];
        length += (size_t)snprintf(rows + length, sizeof rows - length, "%u %s %s %s %s\n", o->class_id,
                                   ratio_text(2 * o->x + o->width, 2 * scene->width).text,
                                   ratio_text(2 * o->y + o->height, 2 * scene->height).text,
                                   ratio_text(o->width, scene->width).text, ratio_text(o->height, scene->height).text);
    }
    s->box_count += scene->object_count;
    return tree_write(&s->tree, path, rows, length, error);
}

static int write_pair(struct synth *s, uint64_t index, struct error *error) {
    const struct synth_args *a = s->args;
    struct synth_scene scene;
    bool val = falls_in(index, a->val_percent);
    const char *split = val ? "val" : "train";
    int rc = 0;
    synth_scene(&scene, (uint64_t)a->seed, index, a->size.width, a->size.height, (uint32_t)a->classes,
                falls_in(index, a->background_percent));
    if (s->rgb.data != NULL) {
        synth_draw_rgb(&scene, &s->rgb);
        rc = write_jpeg(s, &s->rgb, "images", split, index, error);
    }
    if (rc == 0 && s->ir.data != NULL) {
        synth_draw_ir(&scene, &s->ir);
        rc = write_jpeg(s, &s->ir, s->rgb.data != NULL ? "imagesIR" : "images", split, index, error);
    }
    s->val_count += val;
    return rc == 0 ? write_labels(s, &scene, split, index, error) : rc;
}

static int write_yaml(struct synth *s, struct error *error) {
    struct bytes text = {0};
    char line[64];
    int rc = bytes_append(&text, "path: .\n", 8);
    snprintf(line, sizeof line, "train: images/train\nval: images/%s\nnames:\n", s->val_count > 0 ? "val" : "train");
    if (rc == 0)
        rc = bytes_append(&text, line, strlen(line));
    for (uint32_t i = 0; rc == 0 && i < s->args->classes; i++) {
        const char *name = synth_class_name(i);
        if (name != NULL)
            snprintf(line, sizeof line, "  %u: %s\n", i, name);
        else
            snprintf(line, sizeof line, "  %u: class%u\n", i, i);
        rc = bytes_append(&text, line, strlen(line));
    }
    if (rc != 0)
        error_set(error, rc, "out of memory");
    else
        rc = tree_write(&s->tree, "data.yaml", text.data, text.size, error);
    bytes_deinit(&text);
    return rc;
}

static int prepare(struct synth *s, const char *directory, struct error *error) {
    const struct synth_args *a = s->args;
    int rc = tree_create(&s->tree, directory, error);
    if (rc == 0)
        rc = jpeg_handle_create(&s->jpeg, error);
    if (rc == 0 && a->modality != 1)
        rc = pixels_init(&s->rgb, a->size.width, a->size.height, 3, 8, error);
    if (rc == 0 && a->modality != 0)
        rc = pixels_init(&s->ir, a->ir_size.width, a->ir_size.height, 1, 8, error);
    return rc;
}

static int generate(struct synth *s, const char *directory, struct error *error) {
    const atomic_bool *cancel = interrupt_install();
    struct progress progress;
    uint64_t count = (uint64_t)s->args->pairs;
    progress_init(&progress, s->args->modality == 2 ? "pairs" : "images", s->args->quiet);
    int rc = prepare(s, directory, error);
    for (uint64_t i = 0; rc == 0 && i < count; i++) {
        rc = atomic_load(cancel) ? error_set(error, ERR_INTERRUPTED, "interrupted: %s was not written", directory)
                                 : write_pair(s, i, error);
        progress_update(&progress, "synth", i + 1, count, s->bytes);
    }
    if (rc == 0)
        rc = write_yaml(s, error);
    if (rc == 0)
        rc = tree_commit(&s->tree, error);
    progress_clear(&progress);
    return rc;
}

static int run(const struct synth_args *a, const char *directory) {
    struct synth s = {.args = a};
    struct error error = {0};
    int rc = generate(&s, directory, &error);
    uint64_t train = (uint64_t)a->pairs - s.val_count;
    if (rc == 0) {
        output_label(stdout, STYLE_GOOD, "made");
        printf("%s (%s train, %s val), %s, %s  → %s\n",
               text_counted((uint64_t)a->pairs, a->modality == 2 ? "pair" : "image").text, text_count(train).text,
               text_count(s.val_count).text, text_counted(s.box_count, "box").text, text_bytes(s.bytes).text,
               directory);
        if (!a->quiet) {
            fflush(stdout);
            output_label(stderr, STYLE_PLAIN, "next");
            fputs("yolopack ", stderr);
            output_argument(stderr, directory);
            fputs(a->modality == 1 ? " --modality ir\n" : "\n", stderr);
        }
    }
    pixels_deinit(&s.rgb);
    pixels_deinit(&s.ir);
    bytes_deinit(&s.file);
    jpeg_handle_destroy(&s.jpeg);
    tree_deinit(&s.tree);
    return rc == 0 ? EXIT_DONE : output_fail(&error);
}

int cmd_synth(int argc, char **argv) {
    struct synth_args a = {.pairs = 64,
                           .seed = 1,
                           .classes = 3,
                           .val_percent = 20,
                           .background_percent = 5,
                           .size = {640, 512},
                           .modality = 2};
    struct args args;
    int exit_code;
    const struct args_option options[] = {
        {"pairs", 'n', ARGS_INTEGER, "N", "how many pairs (or images)", &a.pairs, 1, 100000000},
        {"seed", 0, ARGS_INTEGER, "S", "the same seed gives the same bytes", &a.seed, 0, INT64_MAX},
        {"size", 0, ARGS_DIMENSIONS, "WxH", "of the RGB pictures, px", &a.size, 32, 16384},
        {"ir-size", 0, ARGS_DIMENSIONS, "WxH", "of the IR pictures, px (default: as --size)", &a.ir_size, 32, 16384},
        {"classes", 0, ARGS_INTEGER, "K", "number of classes", &a.classes, 1, INDEX_CLASS_LIMIT},
        {"val", 0, ARGS_INTEGER, "PERCENT", "share of the val split", &a.val_percent, 0, 99},
        {"background", 0, ARGS_INTEGER, "PERCENT", "share of images without objects", &a.background_percent, 0, 100},
        {"modality", 0, ARGS_CHOICE, "rgb|ir|rgb+ir", "what to write", &a.modality, 0, 0},
        {"quiet", 'q', ARGS_FLAG, NULL, "no progress, no hint", &a.quiet, 0, 0},
    };
    const struct args_spec spec = {
        .command = "synth",
        .operands = "DIR",
        .summary = "Writes a synthetic RGB/IR detection data set into DIR, which must be new or empty: street scenes "
                   "with labelled boxes, in the YOLOFuse layout (images/, imagesIR/, labels/, data.yaml).",
        .examples = "  yolopack synth night --pairs 1000 --size 1280x1024 --ir-size 640x512\n",
        .options = options,
        .option_count = sizeof options / sizeof options[0],
        .operand_count = 1,
    };
    if (!args_parse(&args, &spec, argc, argv, &exit_code))
        return exit_code;
    if (a.modality == 0 && args_given(&args, &spec, "ir-size"))
        return args_mistake(&spec, "--ir-size has no effect with --modality rgb");
    if (a.ir_size.width == 0)
        a.ir_size = a.size;
    return run(&a, args.operands[0]);
}
