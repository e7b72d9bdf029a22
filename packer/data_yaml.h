/* data.yaml as Ultralytics' users write it, read by libyaml. */
#ifndef YPK_PACKER_DATA_YAML_H
#define YPK_PACKER_DATA_YAML_H

#include "error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct string_list {
    char **items;
    size_t count;
};
void string_list_deinit(struct string_list *list);
int string_list_add(struct string_list *list, const char *text); /* copies; 0 or ERR_MEMORY */

struct data_yaml_split {
    struct string_list rgb; /* entries as written: directories or .txt lists */
    struct string_list ir;  /* from train_ir, val_ir, test_ir */
    size_t line;            /* of the first entry of rgb */
};

/* Something that is read, but that its author may not have meant. */
struct data_yaml_remark {
    size_t line; /* 0: of the whole file */
    char *value, *text;
};

#define KEYPOINT_LIMIT 1000

/* Which key point takes whose place in a flip: after it, point k is what point places[k] was. */
struct flip_index {
    uint16_t places[KEYPOINT_LIMIT];
    uint32_t count; /* 0: not given */
};

struct data_yaml {
    char *file;       /* path of the yaml file as given */
    char *path;       /* the `path` key as written, NULL if absent */
    char *base;       /* the directory that entries are relative to, resolved as data_yaml_read() documents */
    bool path_unused; /* the first entry is not below `path`, and the base is another directory */
    struct data_yaml_split train, val, test;
    struct string_list names;          /* in order of class id */
    char *task;                        /* the `task` key as written, NULL if absent */
    int keypoint_count, keypoint_dims; /* kpt_shape; 0, 0 if absent */
    struct flip_index flip_index;      /* flip_idx; with a kpt_shape, of as many places, each one of its points */
    struct string_list unknown_keys;   /* "key (line N)" of keys nobody knows: warned about, never an error */
    struct data_yaml_remark *remarks;
    size_t remark_count;
};

/*
 * Reads and checks `file`. Base directory, the first that exists and holds the first train (else val, else test) entry:
 *   1. `path`, if absolute;  2. the yaml file's directory / `path`;  3. the yaml file's directory;
 *   4. the current directory / `path`.
 * An entry that begins with "../" and is not there is looked for without it too (exports that expect to be used from
 * another directory). `validation` and `valid` are other names of `val`.
 * Names: a list, or a map of ids 0 … n-1 without gap; `nc` must agree when given, and alone it names its classes
 * "class_0", … as Ultralytics does. Scalars stay text (no, on, yes). Anchors, aliases and merge keys (<<) work as in
 * YAML 1.1; the key of an anchored value may have any name. `download` is ignored and never run.
 *
 * Remarks: two classes of one name, no names, a train or val without value.
 *
 * ERR_INPUT names file, line and column, value, rule and remedy: gap in ids, duplicate key or id, nc mismatch, wrong
 * type, a missing blank after a colon or dash, tabs, not a mapping, an alias of nothing, a tag (!!python/tuple, !join),
 * a second document, a flip_idx that is not of kpt_shape's points, more than 1 MiB or 32 levels, no train, val or test
 * at all, a first entry that is nowhere (with the places that were tried and, where one is like it, its spelling).
 * Comments may hold any bytes.
 */
int data_yaml_read(struct data_yaml *out, const char *file, struct error *error);

/* The same from memory, without the search for the base directory (base = directory of `file`): for tests, fuzzing. */
int data_yaml_parse(struct data_yaml *out, const char *file, const char *text, size_t size, struct error *error);
void data_yaml_deinit(struct data_yaml *yaml);

#define DATA_YAML_LIMIT_BYTES (UINT64_C(1) << 20)

/* The directory that a file lies in, "." when its path has none. malloc'ed; NULL if memory ran out. */
char *data_yaml_directory(const char *file);

/* The path of an entry: base / entry, or without its leading "../" where only that exists. malloc'ed; base / entry when
 * neither exists; NULL if memory ran out. */
char *data_yaml_resolve(const char *base, const char *entry);

/* " (did you mean images/train?)" for an entry that is not below the base, or what else is amiss with it ("~",
 * patterns, …);
 * "" if nothing is to say. malloc'ed; NULL if memory ran out. */
char *data_yaml_hint(const char *base, const char *entry);

/* "dataset/data.yaml", "dataset/dataset.yaml" or the only *.yaml / *.yml of the directory that has a train, val or test
 * key; NULL in *out (and success) if there is none; ERR_INPUT naming them if there are several. */
int data_yaml_locate(char **out, const char *directory, struct error *error);

#endif
