/* data.yaml as Ultralytics' users write it, read by libyaml. */
#ifndef YPK_PACKER_DATA_YAML_H
#define YPK_PACKER_DATA_YAML_H

#include "error.h"

#include <stdbool.h>
#include <stddef.h>

struct string_list {
    char **items;
    size_t count;
};
void string_list_deinit(struct string_list *list);
int string_list_add(struct string_list *list, const char *text); /* copies; 0 or ERR_MEMORY */

struct data_yaml_split {
    struct string_list rgb;     /* entries as written: directories or .txt lists */
    struct string_list ir;      /* from train_ir, val_ir, test_ir */
};

struct data_yaml {
    char *file;                 /* path of the yaml file as given */
    char *path;                 /* the `path` key as written, NULL if absent */
    char *base;                 /* the directory that entries are relative to, resolved as data_yaml_read() documents */
    struct data_yaml_split train, val, test;
    struct string_list names;   /* in order of class id */
    char *task;                 /* the `task` key as written, NULL if absent */
    int keypoint_count, keypoint_dims; /* kpt_shape; 0, 0 if absent */
    struct string_list unknown_keys; /* "key (line N)" of keys nobody knows: warned about, never an error */
};

/*
 * Reads and checks `file`. Base directory, the first that exists and holds the first train (else val, else test) entry:
 *   1. `path`, if absolute;  2. the yaml file's directory / `path`;  3. the yaml file's directory;
 *   4. the current directory / `path`.
 * Names: a list, or a map of ids 0 … n-1 without gap; `nc` must agree when given. Scalars stay text (`no`, `on`, `yes`).
 * `download` is ignored and never run. ERR_INPUT names file, line and column, the value, the rule and the remedy: gap in
 * ids, duplicate key, nc mismatch, wrong type, a missing blank after a colon, tabs, not a mapping, an alias bomb (over
 * 1 MiB or 32 levels). Comments may hold any bytes.
 */
int data_yaml_read(struct data_yaml *out, const char *file, struct error *error);

/* The same from memory, without the search for the base directory (base = directory of `file`): for tests and fuzzing. */
int data_yaml_parse(struct data_yaml *out, const char *file, const char *text, size_t size, struct error *error);
void data_yaml_deinit(struct data_yaml *yaml);

/* "dataset/data.yaml", "dataset/dataset.yaml" or the only *.yaml / *.yml of the directory that has a train, val or test
 * key; NULL in *out (and success) if there is none; ERR_INPUT naming them if there are several. */
int data_yaml_locate(char **out, const char *directory, struct error *error);

#endif
