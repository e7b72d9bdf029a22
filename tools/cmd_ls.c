#include "commands.h"

#include "args.h"
#include "output.h"
#include "splits.h"

#include <inttypes.h>

struct column {
    char text[24];
};

static struct column size_text(const ypk_image *image) {
    struct column out = {"-"};
    if (image->width > 0)
        snprintf(out.text, sizeof out.text, "%ux%u", image->width, image->height);
    return out;
}

static uint64_t sample_bytes(const ypk_sample *s) {
    return (uint64_t)s->rgb.payload_bytes + s->ir.payload_bytes;
}

static json_t *image_json(const ypk_image *image, const char *name) {
    static const char *const codecs[] = {"none", "jpeg", "raw", "zstd", "zstd16"};
    if (image->width == 0)
        return json_null();
    return json_pack("{s:o, s:i, s:i, s:I, s:s, s:b, s:b, s:o}", "name", output_json_name(name), "width",
                     (int)image->width, "height", (int)image->height, "bytes", (json_int_t)image->payload_bytes,
                     "codec", codecs[image->codec < 5 ? image->codec : 0], "gray", image->is_gray, "transcoded",
                     image->is_transcoded, "xxh3", output_json_hash(image->hash));
}

static int print_json(uint64_t index, const ypk_sample *s) {
    json_t *line =
        json_pack("{s:I, s:o, s:o, s:o, s:I, s:I}", "index", (json_int_t)index, "name", output_json_name(s->name),
                  "rgb", image_json(&s->rgb, s->rgb_name), "ir", image_json(&s->ir, s->ir_name), "bytes",
                  (json_int_t)sample_bytes(s), "boxes", (json_int_t)s->label_count);
    int rc = line != NULL ? json_dumpf(line, stdout, JSON_COMPACT) : -1;
    json_decref(line);
    putchar('\n');
    return rc;
}

static void print_row(uint64_t index, const ypk_sample *s) {
    printf("%7" PRIu64 "  %-11s %-11s %10" PRIu64 " %6u  ", index, size_text(&s->rgb).text, size_text(&s->ir).text,
           sample_bytes(s), s->label_count);
    output_name(stdout, s->name);
    putchar('\n');
}

static int list(const ypk_dataset *dataset, bool json, struct error *error) {
    ypk_dataset_info info;
    ypk_sample sample;
    ypk_error detail;
    ypk_dataset_get_info(dataset, &info);
    if (!json && output_is_terminal(stdout))
        printf("%7s  %-11s %-11s %10s %6s  %s\n", "index", "RGB", "IR", "bytes", "boxes", "name");
    for (uint64_t i = 0; i < info.sample_count && !ferror(stdout); i++) {
        if (ypk_dataset_sample(dataset, i, &sample, &detail) != YPK_OK)
            return splits_error(error, &detail);
        if (!json)
            print_row(i, &sample);
        else if (print_json(i, &sample) != 0 && !ferror(stdout))
            return error_set(error, ERR_MEMORY, "out of memory");
    }
    return 0;
}

int cmd_ls(int argc, char **argv) {
    const char *split = NULL;
    bool json = false;
    struct args args;
    struct splits splits;
    struct error error = {0};
    ypk_dataset *dataset = NULL;
    int exit_code;
    const struct args_option options[] = {
        {"split", 's', ARGS_TEXT, "NAME", "which split (default: train, or the only one)", &split, 0, 0},
        {"json", 0, ARGS_FLAG, NULL, "one JSON object a line", &json, 0, 0},
    };
    const struct args_spec spec = {
        .command = "ls",
        .operands = "PACK",
        .summary = "Lists the samples of a split, one a line: index, RGB size, IR size, stored bytes, boxes, name.",
        .examples = "  yolopack ls night.ypk --split val | sort -k4 -n | tail\n",
        .options = options,
        .option_count = sizeof options / sizeof options[0],
        .operand_count = 1,
    };
    if (!args_parse(&args, &spec, argc, argv, &exit_code))
        return exit_code;
    int rc = splits_open(&splits, args.operands[0], &error);
    if (rc == 0)
        rc = splits_dataset(&dataset, &splits, split, &error);
    if (rc == 0)
        rc = list(dataset, json, &error);
    ypk_dataset_close(&dataset);
    splits_close(&splits);
    if (rc == 0)
        return EXIT_DONE;
    fflush(stdout);
    return output_fail(&error);
}
