/* The loader's augmentation as a user writes it: "mosaic=0.5,degrees=10", or the YAML file of an
 * Ultralytics training. */
#ifndef YPK_TOOLS_AUGMENT_H
#define YPK_TOOLS_AUGMENT_H

#include "bytes.h"
#include "data_yaml.h"
#include "error.h"
#include "yolopack.h"

/*
 * Sets those options of the loader that change what a sample is made into, by their names in ypk_loader_options, which
 * are Ultralytics' where it has them. What is not in `list` stays. Ranges are left to ypk_loader_create().
 * ERR_ARGUMENT: a name that is none (with the likely one), a value that is no number, or what Ultralytics can and the
 * loader cannot, unless it is switched off ("copy_paste=0").
 */
int augment_parse(ypk_loader_options *out, const char *list, struct error *error);

/*
 * The same from the top level of a YAML file of hyperparameters or arguments (args.yaml). Keys that are no augmentation
 * are appended to `left_out`, and so are those that have a part in classification only (erasing, auto_augment),
 * whatever their value. ERR_INPUT names file and line: a key that is nearly one of ours, a value that is no number,
 * copy_paste that is not 0. Codes of file_read().
 */
int augment_read(ypk_loader_options *out, struct string_list *left_out, const char *file, struct error *error);

/* Takes in the file's text; `file` is for messages. */
int augment_read_text(ypk_loader_options *out, struct string_list *left_out, const char *file, struct span text,
                      struct error *error);

#endif
