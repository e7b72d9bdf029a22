/*
 * From a directory to the list of samples: which images belong together, which label file is theirs, which split they
 * are in. Always by key, never by position in a list.
 */
#ifndef YPK_PACKER_PAIR_H
#define YPK_PACKER_PAIR_H

#include "arena.h"
#include "data_yaml.h"
#include "error.h"
#include "report.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

enum unpaired_policy { UNPAIRED_REJECT, UNPAIRED_RGB_ONLY, UNPAIRED_FAIL };

struct pair_options {
    const char *dataset; /* a directory, or a .yaml file */
    const char *rule;    /* --pair: "auto" or NULL, "yolofuse", "dir:RGB=IR", "suffix:RGB=IR", "map:FILE" */
    const char *labels;  /* --labels: directory of the label files, relative to the current directory or, when it
                            is not there, to the data set; NULL: found by rule */
    int modalities;      /* --modality: MODALITY_* bits, 0 = what is there */
    enum unpaired_policy unpaired;
    const atomic_bool *cancel;
};

/* Paths are relative to source_set.base; NULL where there is none. */
struct sample_source {
    const char *rgb, *ir, *label;
};

/* rgb, or ir where there is no rgb: the sample's name, unique within its split. */
const char *sample_source_name(const struct sample_source *source);

struct split_source {
    char name[48];                 /* "train", "val", "test"; letters, digits, '-', '_' */
    struct sample_source *samples; /* sorted by name, as bytes */
    size_t count;
    size_t same_as; /* index of an earlier split with the very same samples, or SIZE_MAX */
};

struct source_set {
    char *base; /* directory that every path is relative to */
    struct split_source splits[8];
    size_t split_count;
    struct string_list names; /* class names; count 0 when nothing says them */
    char *task;               /* as data.yaml says it, or NULL */
    int keypoint_count, keypoint_dims;
    struct flip_index flip_index;
    int modalities;               /* MODALITY_* bits present in at least one sample */
    char rule[512];               /* a line for people: "rgb/ + ir/ by name: 32 pairs in train, 12 pairs in test" */
    uint64_t rgb_count, ir_count; /* image files found for each role, before pairing */
    struct report report;         /* unpaired, orphans, skipped, … */
    struct arena arenas[3];       /* what the paths point into */
};

/*
 * Finds the samples. Rules that make pairs, the RGB path being p:
 *   yolofuse          the last component of p named "images" becomes "imagesIR"
 *   dir:A=B           the last component of p equal to A becomes B
 *   suffix:A=B        the stem of p ends with A (A may be empty); A is replaced by B in the same directory
 *   map:FILE          explicit (TSV or JSON Lines, see pair_map.h)
 * In every rule the partner may have another image suffix ("a.jpg" + "a.png"). `auto` takes the lists train_ir, val_ir
 * and test_ir of data.yaml when it has any (joined by the path inside the split, else by file name); else it tries
 * yolofuse; then dir: visible=infrared, vi=ir, rgb=ir, RGB=IR, images=image, trainimg=trainimgr, visible=thermal,
 * rgb=thermal, images=ir; then suffix: _co=_ir, _RGB=_PreviewData, _rgb=_ir, _visible=_infrared, =_ir. The first that
 * makes one pair or more is taken. When none does, a directory whose name has a word for infrared (pair_word.h) and the
 * one beside it with pictures of the same names: dir:A=B. When that does not either: one modality, infrared if every
 * picture lies where one of these rules has its infrared ("imagesIR/", "thermal/", "*_ir") or in such directories, else
 * RGB (with INFRARED_NAME if some do), unless a rule saw both roles or `modalities` asks for a pair. With `modalities`
 * RGB or IR a rule only tells the roles apart, and the other role's pictures are left.
 *
 * Splits: those of data.yaml; else one of train, val, valid, test, train2017, val2017, test2017 (valid -> val, *2017 ->
 * the part before) as the path component after the one that the rule replaces ("images/train/…"; "images" where it
 * replaces none), or before it ("train/images/…"), or as the first; whichever of the three every picture has; else all
 * is "train".
 *
 * The label file of p: below `labels` when given, at p's path or that without its first component, … to its file name;
 * else the last component "images" (or the rule's A, or B for IR) replaced by "labels"; else beside the picture. Suffix
 * ".txt" in any case; with a suffix rule the stem without A is tried as well.
 *
 * Files of one stem in one directory (a.jpg + a.png) are two samples without IR; they share the label. Two candidates
 * for one IR partner are PAIR_AMBIGUOUS. Nothing paired at all is ERR_INPUT with the rules tried, what was seen (stem
 * endings with counts) and the option that would fit. With paths outside the data set's directory the base is the
 * deepest directory that holds all.
 */
int pair_sources(struct source_set *out, const struct pair_options *options, struct error *error);
void source_set_deinit(struct source_set *set);

#endif
