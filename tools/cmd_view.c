/* Draws samples into one picture: as they are stored, or as the loader gives them to training or evaluation. */
#include "commands.h"

#include "args.h"
#include "loader_args.h"
#include "output.h"
#include "sheet.h"
#include "splits.h"
#include "view_batch.h"
#include "view_stored.h"

#include <inttypes.h>

enum { CELL_LIMIT = 400 };

struct view {
    const char *output;
    bool train;
    int64_t first, count, columns, epoch, position, batch_index, epochs, close_mosaic;
    int last_batch; /* choice, -1 while not given */
    struct loader_args loader;
};

static bool from_loader(const struct view *v) {
    return v->train || v->loader.eval;
}

static int draw_stored(struct sheet *sheet, const struct view *v, const ypk_dataset *dataset, struct error *error) {
    struct view_stored wish = {
        .first = (uint64_t)v->first, .count = v->count ? (uint64_t)v->count : 8, .columns = (uint64_t)v->columns};
    ypk_dataset_info info;
    int rc = view_stored_draw(sheet, dataset, &wish, error);
    ypk_dataset_get_info(dataset, &info);
    if (rc == 0)
        rc = sheet_write(sheet, v->output, error);
    if (rc == 0)
        printf("%s: samples %" PRIu64 "-%" PRIu64 " of %s in split %s, %ux%u px\n", v->output, wish.first,
               wish.first + wish.count - 1, text_count(info.sample_count).text, info.split, sheet->picture.width,
               sheet->picture.height);
    return rc;
}

static int draw_batch(struct sheet *sheet, const struct view *v, const ypk_dataset *dataset, struct error *error) {
    struct view_batch wish = {.epoch = (uint64_t)v->epoch, .columns = (uint64_t)v->columns};
    bool one = v->position >= 0;
    loader_args_apply(&v->loader, &wish.options);
    loader_args_augment_text(wish.recipe, sizeof wish.recipe, &v->loader);
    wish.options.last_batch = v->last_batch < 0 ? YPK_LAST_AUTO : v->last_batch + YPK_LAST_WRAP;
    wish.options.epochs = (uint32_t)v->epochs;
    wish.options.close_mosaic = (uint32_t)(v->close_mosaic < v->epochs ? v->close_mosaic : v->epochs);
    wish.position = (uint64_t)(one ? v->position : v->batch_index * v->loader.batch);
    wish.count = (uint64_t)(v->count                       ? v->count
                            : one                          ? 1
                            : v->loader.batch < CELL_LIMIT ? v->loader.batch
                                                           : CELL_LIMIT);
    int rc = view_batch_draw(sheet, dataset, &wish, error);
    if (rc == 0)
        rc = sheet_write(sheet, v->output, error);
    if (rc == 0)
        printf("%s: epoch %" PRIu64 ", positions %" PRIu64 "-%" PRIu64 " as %s gets them: seed %" PRIu64
               ", batch %u, imgsz %u%s; %ux%u px\n",
               v->output, wish.epoch, wish.position, wish.position + wish.count - 1,
               v->loader.eval ? "evaluation" : "training", wish.options.seed, wish.options.batch,
               wish.options.image_size, wish.recipe, sheet->picture.width, sheet->picture.height);
    return rc;
}

static int run(const char *pack, struct view *v) {
    struct splits splits;
    struct sheet sheet = {0};
    struct error error = {0};
    ypk_dataset *dataset = NULL;
    int rc = splits_open(&splits, pack, &error);
    if (rc != 0)
        return output_fail(&error);
    rc = splits_dataset(&dataset, &splits, v->loader.split, &error);
    if (rc == 0 && from_loader(v))
        rc = splits_flip_index(&v->loader.flip, &splits, dataset, &error);
    if (rc == 0)
        rc = from_loader(v) ? draw_batch(&sheet, v, dataset, &error) : draw_stored(&sheet, v, dataset, &error);
    sheet_deinit(&sheet);
    ypk_dataset_close(&dataset);
    splits_close(&splits);
    return rc == 0 ? EXIT_DONE : output_fail(&error);
}

/* Options that would change nothing are refused. Returns 0, or the exit code. */
static int check_options(const struct view *v, const struct args *args, const struct args_spec *spec) {
    static const char *const planned[] = {"epoch", "position", "batch-index", "batch", "imgsz", "seed", "fast"};
    static const char *const training[] = {"epochs", "close-mosaic", "last-batch", "augment", "hyp"};
    if (v->output == NULL)
        return args_mistake(spec, "where to? Name the picture, for example -o look.png");
    if (!sheet_can_write(v->output))
        return args_mistake(spec, "--output %s: it ends with .png or .jpg", v->output);
    if (v->train && v->loader.eval)
        return args_mistake(spec, "--train and --eval: one of them");
    if (from_loader(v) && args_given(args, spec, "first"))
        return args_mistake(spec, "--first counts stored samples; with --train and --eval it is --position");
    for (size_t i = 0; i < sizeof planned / sizeof planned[0] && !from_loader(v); i++)
        if (args_given(args, spec, planned[i]))
            return args_mistake(spec, "--%s has no effect without --train or --eval", planned[i]);
    for (size_t i = 0; i < sizeof training / sizeof training[0] && !v->train; i++)
        if (args_given(args, spec, training[i]))
            return args_mistake(spec, "--%s has no effect without --train", training[i]);
    if (v->loader.rect && !v->loader.eval)
        return args_mistake(spec, "--rect has no effect without --eval");
    if (v->position >= 0 && args_given(args, spec, "batch-index"))
        return args_mistake(spec, "--position and --batch-index: one of them");
    return 0;
}

int cmd_view(int argc, char **argv) {
    struct view v = {.position = -1, .last_batch = -1, .epochs = 100, .close_mosaic = 10};
    struct args args;
    struct args_option options[ARGS_OPTION_LIMIT];
    int exit_code;
    loader_args_init(&v.loader);
    const struct args_option own[] = {
        {"output", 'o', ARGS_TEXT, "FILE", "the picture to write: .png or .jpg", &v.output, 0, 0},
        {"first", 0, ARGS_INTEGER, "I", "index of the first stored sample", &v.first, 0, INT64_MAX},
        {"count", 'n', ARGS_INTEGER, "N", "how many samples (default: 8 stored, one batch, or one with --position)",
         &v.count, 1, CELL_LIMIT},
        {"columns", 0, ARGS_INTEGER, "C", "samples side by side (default: 2 pairs, or 4 images)", &v.columns, 1, 32},
        {"train", 0, ARGS_FLAG, NULL, "as training gets them: shuffled and augmented", &v.train, 0, 0},
        {"epoch", 'e', ARGS_INTEGER, "E", "of training or evaluation, from 0", &v.epoch, 0, 1 << 24},
        {"position", 'p', ARGS_INTEGER, "P", "in the epoch, of the first sample, from 0", &v.position, 0, UINT32_MAX},
        {"batch-index", 0, ARGS_INTEGER, "I", "instead of a position: a batch of the epoch, from 0", &v.batch_index, 0,
         UINT32_MAX},
        {"epochs", 0, ARGS_INTEGER, "N", "that the training has (0: no end)", &v.epochs, 0, 1 << 24},
        {"close-mosaic", 0, ARGS_INTEGER, "N", "its last epochs are without mosaic", &v.close_mosaic, 0, 1 << 24},
        {"last-batch", 0, ARGS_CHOICE, "wrap|drop|partial", "as it has it (default: partial; with several ranks, wrap)",
         &v.last_batch, 0, 0},
    };
    const struct args_spec spec = {
        .command = "view",
        .operands = "PACK -o FILE",
        .summary =
            "Draws samples with boxes and class names into one picture, RGB and IR side by side: as they are stored, "
            "or, with --train or --eval, the loader's own tensors.",
        .examples = "  yolopack view night.ypk -o look.png\n"
                    "  yolopack view night.ypk -o look.jpg --split val --first 4 --count 4\n"
                    "  yolopack view night.ypk -o batch.jpg --train --epoch 3 --batch-index 7\n"
                    "  yolopack view night.ypk -o seen.png --train --epoch 3 --position 12\n"
                    "  yolopack view night.ypk -o still.png --train --augment mosaic=0,degrees=10\n",
        .options = options,
        .option_count = loader_args_batch_options(options, own, sizeof own / sizeof own[0], &v.loader),
        .operand_count = 1,
    };
    if (!args_parse(&args, &spec, argc, argv, &exit_code))
        return exit_code;
    exit_code = check_options(&v, &args, &spec);
    if (exit_code == 0 && !loader_args_augment(&v.loader, &spec, &exit_code))
        return exit_code;
    return exit_code ? exit_code : run(args.operands[0], &v);
}
