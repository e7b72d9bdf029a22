/*
 * A pack back to files:  each split -> each sample -> image, IR image, label rows -> DIR, then data.yaml.
 */
#include "commands.h"

#include "args.h"
#include "export_label.h"
#include "export_yaml.h"
#include "file.h"
#include "interrupt.h"
#include "output.h"
#include "png_out.h"
#include "progress.h"
#include "splits.h"
#include "tree.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { CODEC_OF_JPEG = 1, CODEC_OF_16_BITS = 4 };

struct export {
    struct tree tree;
    struct export_yaml yaml;
    struct progress progress;
    const atomic_bool *cancel;
    /* of the split at hand */
    const ypk_dataset *dataset;
    ypk_decoder *decoder;
    ypk_dataset_info info;
    /* counts for the summary */
    uint64_t samples, images_exact, images_stored, suffixes, moved, bytes;
};

static bool is_jpeg_suffix(const char *suffix) {
    return strcasecmp(suffix, "jpg") == 0 || strcasecmp(suffix, "jpeg") == 0 || strcasecmp(suffix, "jpe") == 0;
}

/* Where an image is written: its own path, made safe, with a suffix that is true of the bytes. NULL: out of memory. */
static char *image_path(struct export *x, const char *name, const ypk_image *image) {
    bool moved;
    char *path = tree_safe_path(name, &moved), *renamed = NULL;
    if (path == NULL)
        return NULL;
    x->moved += moved;
    const char *suffix = path_suffix(path), *wanted = image->codec == CODEC_OF_JPEG ? "jpg" : "png";
    bool right = !image->is_transcoded ||
                 (image->codec == CODEC_OF_JPEG ? is_jpeg_suffix(suffix) : strcasecmp(suffix, "png") == 0);
    if (right)
        return path;
    int stem = (int)(strlen(path) - strlen(suffix)) - (suffix[0] != '\0');
    if (asprintf(&renamed, "%.*s.%s", stem, path, wanted) < 0)
        renamed = NULL;
    x->suffixes++;
    free(path);
    return renamed;
}

/* raw and zstd payloads are no files: they become PNG, 16-bit infrared one of 16 bits. */
static int encode_pixels(struct export *x, struct bytes *out, uint64_t index, int modality, const ypk_image *image,
                         struct error *error) {
    struct pixels pixels = {0};
    ypk_error detail;
    bool counts = image->codec == CODEC_OF_16_BITS && modality == YPK_IR;
    int rc = pixels_init(&pixels, image->width, image->height, modality == YPK_RGB && !image->is_gray ? 3 : 1,
                         counts ? 16 : 8, error);
    if (rc == 0 &&
        (counts ? ypk_decoder_decode16(x->decoder, index, (uint16_t *)(void *)pixels.data, pixels.stride, &detail)
                : ypk_decoder_decode(x->decoder, index, modality, pixels.data, pixels.stride, &detail)))
        rc = splits_error(error, &detail);
    if (rc == 0)
        rc = encode_png(out, &pixels, error);
    pixels_deinit(&pixels);
    return rc;
}

static int write_image(struct export *x, uint64_t index, int modality, const ypk_image *image, const char *path,
                       struct error *error) {
    struct bytes encoded = {0};
    const uint8_t *data;
    size_t size;
    ypk_error detail;
    int rc = 0;
    if (image->codec == CODEC_OF_JPEG) {
        if (ypk_decoder_payload(x->decoder, index, modality, &data, &size, &detail) != YPK_OK)
            return splits_error(error, &detail);
    } else {
        rc = encode_pixels(x, &encoded, index, modality, image, error);
        data = encoded.data;
        size = encoded.size;
    }
    if (rc == 0)
        rc = tree_write(&x->tree, path, data, size, error);
    x->bytes += rc == 0 ? size : 0;
    x->images_exact += image->is_transcoded == 0;
    x->images_stored += image->is_transcoded != 0;
    bytes_deinit(&encoded);
    return rc;
}

static int write_labels(struct export *x, const ypk_sample *sample, struct error *error) {
    struct bytes rows = {0};
    bool moved;
    if (sample->label_name[0] == '\0')
        return 0;
    char *path = tree_safe_path(sample->label_name, &moved);
    int rc = path != NULL ? export_labels(&rows, sample, x->info.task, x->info.point_dims) : ERR_MEMORY;
    if (rc != 0)
        error_set(error, rc, "out of memory");
    else
        rc = tree_write(&x->tree, path, rows.data, rows.size, error);
    bytes_deinit(&rows);
    free(path);
    return rc;
}

static int write_sample(struct export *x, uint64_t index, struct error *error) {
    ypk_sample s;
    ypk_error detail;
    char *rgb = NULL, *ir = NULL;
    int rc = 0;
    if (ypk_dataset_sample(x->dataset, index, &s, &detail) != YPK_OK)
        return splits_error(error, &detail);
    if ((s.rgb.width > 0 && (rgb = image_path(x, s.rgb_name, &s.rgb)) == NULL) ||
        (s.ir.width > 0 && (ir = image_path(x, s.ir_name, &s.ir)) == NULL))
        rc = error_set(error, ERR_MEMORY, "out of memory");
    if (rc == 0 && rgb != NULL)
        rc = write_image(x, index, YPK_RGB, &s.rgb, rgb, error);
    if (rc == 0 && ir != NULL)
        rc = write_image(x, index, YPK_IR, &s.ir, ir, error);
    if (rc == 0)
        rc = write_labels(x, &s, error);
    if (rc == 0 && export_yaml_sample(&x->yaml, rgb != NULL ? rgb : ir, rgb != NULL ? ir : NULL) != 0)
        rc = error_set(error, ERR_MEMORY, "out of memory");
    free(rgb);
    free(ir);
    return rc;
}

static int write_split(struct export *x, struct error *error) {
    ypk_error detail;
    int rc = 0;
    if (ypk_decoder_create(&x->decoder, x->dataset, &detail) != YPK_OK)
        return splits_error(error, &detail);
    ypk_dataset_get_info(x->dataset, &x->info);
    for (uint64_t i = 0; rc == 0 && i < x->info.sample_count; i++) {
        if (atomic_load(x->cancel))
            rc = error_set(error, ERR_INTERRUPTED, "interrupted: %s was not written", x->tree.root);
        else
            rc = write_sample(x, i, error);
        x->samples += rc == 0;
        progress_update(&x->progress, x->info.split, i + 1, x->info.sample_count, x->bytes);
    }
    ypk_decoder_destroy(&x->decoder);
    return rc;
}

static int write_all(struct export *x, const struct splits *splits, struct error *error) {
    const char *name, *same_as;
    ypk_dataset *dataset = NULL;
    struct flip_index flip;
    int rc = 0;
    for (size_t i = 0; rc == 0 && (name = splits_name(splits, i, &same_as)) != NULL; i++) {
        ypk_dataset_close(&dataset);
        rc = export_yaml_split(&x->yaml, name, same_as, error);
        if (rc == 0)
            rc = splits_dataset(&dataset, splits, name, error);
        if (rc == 0)
            rc = splits_check_classes(dataset, error);
        x->dataset = dataset;
        if (rc == 0 && same_as == NULL)
            rc = write_split(x, error);
    }
    if (rc == 0 && dataset != NULL)
        rc = splits_flip_index(&flip, splits, dataset, error);
    if (rc == 0 && dataset != NULL)
        rc = export_yaml_write(&x->yaml, &x->tree, dataset, &flip, error);
    ypk_dataset_close(&dataset);
    return rc;
}

static void print_summary(const struct export *x) {
    output_label(stdout, STYLE_GOOD, "exported");
    printf("%s, %s of images  → %s\n", text_counted(x->samples, "sample").text, text_bytes(x->bytes).text,
           x->tree.root);
    output_label(stdout, STYLE_PLAIN, "images");
    printf("%s bit for bit as their source, %s as stored\n", text_count(x->images_exact).text,
           text_count(x->images_stored).text);
    if (x->suffixes > 0) {
        output_label(stdout, STYLE_WARN, "renamed");
        printf("%s: the suffix now says what is inside (.jpg or .png)\n", text_counted(x->suffixes, "image").text);
    }
    if (x->moved > 0) {
        output_label(stdout, STYLE_WARN, "moved");
        printf("%s: paths that led out of the data set were changed to stay below %s\n",
               text_counted(x->moved, "image").text, x->tree.root);
    }
}

int cmd_export(int argc, char **argv) {
    bool quiet = false;
    struct args args;
    struct splits splits;
    struct error error = {0};
    struct export x = {.cancel = interrupt_install()};
    int exit_code;
    const struct args_option options[] = {
        {"quiet", 'q', ARGS_FLAG, NULL, "no progress", &quiet, 0, 0},
    };
    const struct args_spec spec = {
        .command = "export",
        .operands = "PACK DIR",
        .summary = "Writes a pack back as a directory of images, labels and data.yaml, under the names of its source. "
                   "JPEG files that were kept come out bit for bit; pixels (--preset raw) come out as PNG. "
                   "DIR must be new or empty; it stays so unless all is written.",
        .examples = "  yolopack export night.ypk night-again\n",
        .options = options,
        .option_count = sizeof options / sizeof options[0],
        .operand_count = 2,
    };
    if (!args_parse(&args, &spec, argc, argv, &exit_code))
        return exit_code;
    int rc = splits_open(&splits, args.operands[0], &error);
    if (rc != 0)
        return output_fail(&error);
    progress_init(&x.progress, "samples", quiet);
    rc = tree_create(&x.tree, args.operands[1], &error);
    if (rc == 0)
        rc = write_all(&x, &splits, &error);
    if (rc == 0)
        rc = tree_commit(&x.tree, &error);
    progress_clear(&x.progress);
    if (rc == 0)
        print_summary(&x);
    export_yaml_deinit(&x.yaml);
    tree_deinit(&x.tree);
    splits_close(&splits);
    return rc == 0 ? EXIT_DONE : output_fail(&error);
}
