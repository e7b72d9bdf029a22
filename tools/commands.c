#include "commands.h"

#include "jpeg.h"
#include "shard.h"
#include "suggest.h"
#include "yolopack.h"

#include <jansson.h>
#include <png.h>
#include <stdio.h>
#include <string.h>
#include <xxhash.h>
#include <yaml.h>
#include <zstd.h>

/* In the order of the overview: what most people need comes first. */
static const struct command commands[] = {
    {"pack", "validate a data set and write it as a pack", cmd_pack},
    {"view", "draw samples, stored or as training gets them", cmd_view},
    {"check", "validate a data set, write nothing", cmd_check},
    {"info", "what a pack holds: splits, classes, sizes, options", cmd_info},
    {"ls", "list a pack's samples, one a line", cmd_ls},
    {"bench", "how fast batches come, and what bounds them", cmd_bench},
    {"tune", "measure which workers and prefetch to use", cmd_tune},
    {"stage", "copy a pack into memory; readers find it there", cmd_stage},
    {"unstage", "this job does not need the copy any more", cmd_unstage},
    {"staged", "list what is staged, and for whom", cmd_staged},
    {"verify", "check every byte of a pack", cmd_verify},
    {"merge", "one pack of the parts made by pack --part", cmd_merge},
    {"export", "write a pack back as a directory of images and labels", cmd_export},
    {"reindex", "rebuild offsets after shards were compacted", cmd_reindex},
    {"synth", "write a synthetic RGB/IR data set to try things on", cmd_synth},
};

enum { COMMAND_COUNT = sizeof commands / sizeof commands[0] };

const struct command *command_find(const char *name) {
    for (size_t i = 0; i < COMMAND_COUNT; i++)
        if (strcmp(commands[i].name, name) == 0)
            return &commands[i];
    return NULL;
}

const char *command_suggest(const char *name) {
    const char *names[COMMAND_COUNT];
    for (size_t i = 0; i < COMMAND_COUNT; i++)
        names[i] = commands[i].name;
    return suggest_nearest(name, names, COMMAND_COUNT);
}

void commands_print_help(void) {
    fputs("Packs YOLO-style training data (RGB, infrared, or pairs) for fast loading.\n"
          "\n"
          "  yolopack DATASET                     validate DATASET, write DATASET.ypk\n"
          "  yolopack view PACK -o look.png       see what is in it\n"
          "  yolopack verify PACK                 is every byte as it was written?\n"
          "\n"
          "Commands:\n",
          stdout);
    for (size_t i = 0; i < COMMAND_COUNT; i++)
        printf("  %-9s %s\n", commands[i].name, commands[i].summary);
    fputs("\n"
          "yolopack COMMAND --help shows the options and an example; yolopack --version.\n",
          stdout);
}

void commands_print_version(void) {
    printf("yolopack %s\n", ypk_version());
    printf("libjpeg-turbo %s, libpng %s, zstd %s, xxHash %d.%d.%d, libyaml %s, jansson %s\n%s\n",
           jpeg_library_version(), png_get_libpng_ver(NULL), ZSTD_versionString(), XXH_VERSION_MAJOR, XXH_VERSION_MINOR,
           XXH_VERSION_RELEASE, yaml_get_version_string(), JANSSON_VERSION, shard_library_version());
}
