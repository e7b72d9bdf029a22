#include "pair.h"

#include "file.h"
#include "index.h"

#include <criterion/criterion.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char root[64];
static struct source_set set;
static struct error error;

static void make_root(void) {
    const char *parent = getenv("TMPDIR");
    snprintf(root, sizeof root, "%s/pair-XXXXXX", parent && strlen(parent) < 40 ? parent : "/tmp");
    cr_assert_not_null(mkdtemp(root));
    char *resolved = realpath(root, NULL);
    snprintf(root, sizeof root, "%s", resolved);
    free(resolved);
}

static void remove_root(void) {
    source_set_deinit(&set);
    cr_assert_eq(chdir("/"), 0);
    dir_remove_all(root, NULL);
}

TestSuite(pair, .init = make_root, .fini = remove_root);

static void write_file(const char *path, const char *text) {
    char whole[4600], directory[4600];
    snprintf(whole, sizeof whole, "%s/%s", root, path);
    snprintf(directory, sizeof directory, "%.*s", (int)(path_base(whole) - whole), whole);
    cr_assert_eq(dir_create_all(directory, NULL), 0);
    FILE *file = fopen(whole, "w");
    cr_assert_not_null(file, "%s", whole);
    fputs(text, file);
    fclose(file);
}

/* Empty files; the list ends with NULL. */
static void add_files(const char *path, ...) {
    va_list paths;
    va_start(paths, path);
    for (; path; path = va_arg(paths, const char *))
        write_file(path, "");
    va_end(paths);
}

static char *in_root(const char *path) {
    static char whole[4600];
    snprintf(whole, sizeof whole, "%s/%s", root, path);
    return whole;
}

static int find_with(struct pair_options options) {
    source_set_deinit(&set);
    error = (struct error){0};
    if (!options.dataset)
        options.dataset = root;
    int rc = pair_sources(&set, &options, &error);
    cr_assert_eq(rc != 0, error.message[0] != '\0');
    return rc;
}

#define FIND(...) cr_assert_eq(find_with((struct pair_options){__VA_ARGS__}), 0, "%s", error.message)
#define REFUSE(code, ...) cr_assert_eq(find_with((struct pair_options){__VA_ARGS__}), code, "%s", error.message)

/* One line a sample: "split: rgb ir label", '-' where there is none. */
static void assert_samples(const char *expected) {
    struct bytes text = {0};
    for (size_t s = 0; s < set.split_count; s++) {
        const struct split_source *split = &set.splits[s];
        for (size_t i = 0; i < split->count; i++) {
            const struct sample_source *sample = &split->samples[i];
            char line[2048];
            int size = snprintf(line, sizeof line, "%s: %s %s %s\n", split->name, sample->rgb ? sample->rgb : "-",
                                sample->ir ? sample->ir : "-", sample->label ? sample->label : "-");
            bytes_append(&text, line, (size_t)size);
        }
    }
    bytes_append(&text, "", 1);
    cr_assert_str_eq((char *)text.data, expected);
    bytes_deinit(&text);
}

static void assert_row(const char *row) {
    cr_assert(set.report.rows.size && memmem(set.report.rows.data, set.report.rows.size, row, strlen(row)),
              "no \"%s\" in\n%.*s", row, (int)set.report.rows.size, (char *)set.report.rows.data);
}

static void assert_message(const char *part) {
    cr_assert(strstr(error.message, part), "no \"%s\" in\n%s", part, error.message);
}

/* ---- rules ---- */

Test(pair, yolofuse_by_key_never_by_position) {
    add_files("images/1.jpg", "images/2.jpg", "images/3.jpg", "images/4.jpg", "images/10.jpg", "imagesIR/1.png",
              "imagesIR/2.png", "imagesIR/4.png", "imagesIR/10.png", "imagesIR/11.png", "labels/2.txt", NULL);
    FIND(.dataset = NULL);
    assert_samples("train: images/1.jpg imagesIR/1.png -\n"
                   "train: images/10.jpg imagesIR/10.png -\n"
                   "train: images/2.jpg imagesIR/2.png labels/2.txt\n"
                   "train: images/4.jpg imagesIR/4.png -\n");
    cr_assert_str_eq(set.rule, "images/ + imagesIR/ by name (YOLOFuse layout): 4 pairs in train; 2 unpaired");
    cr_assert_eq(set.modalities, MODALITY_RGB | MODALITY_IR);
    cr_assert_eq(set.rgb_count, 5);
    cr_assert_eq(set.ir_count, 5);
    assert_row("images/3.jpg\t0\t0\trgb-without-ir\trejected\t");
    assert_row("imagesIR/11.png\t0\t0\tir-without-rgb\trejected\t");
    cr_assert_eq(report_count(&set.report, ACTION_REJECTED), 2);
    FIND(.unpaired = UNPAIRED_RGB_ONLY);
    cr_assert_eq(set.splits[0].count, 5);
    cr_assert_str_eq(set.splits[0].samples[3].rgb, "images/3.jpg");
    cr_assert_null(set.splits[0].samples[3].ir);
    cr_assert_eq(report_count(&set.report, ACTION_REJECTED), 1);
    REFUSE(ERR_INPUT, .unpaired = UNPAIRED_FAIL);
    assert_message("2 pictures without partner");
}

Test(pair, suffixes_in_one_folder) {
    add_files("d/a_rgb.jpg", "d/a_ir.png", "d/b_rgb.jpg", "d/b_ir.png", "d/a.txt", "d/b_rgb.txt", "d/c.jpg", NULL);
    FIND(.dataset = NULL);
    assert_samples("train: d/a_rgb.jpg d/a_ir.png d/a.txt\ntrain: d/b_rgb.jpg d/b_ir.png d/b_rgb.txt\n");
    assert_row("d/c.jpg\t0\t0\tfile-skipped\tnote\t\t1 picture");
    FIND(.rule = "suffix:_ir=_rgb");
    cr_assert_str_eq(set.splits[0].samples[0].rgb, "d/a_ir.png");
}

Test(pair, an_empty_suffix) {
    add_files("001.jpg", "001_ir.jpg", "002.jpg", "002_ir.jpg", "001.txt", NULL);
    FIND(.dataset = NULL);
    assert_samples("train: 001.jpg 001_ir.jpg 001.txt\ntrain: 002.jpg 002_ir.jpg -\n");
    cr_assert_str_eq(set.rule, "* + *_ir by suffix: 2 pairs in train");
}

Test(pair, flir_endings) {
    add_files("FLIR_1_RGB.jpg", "FLIR_1_PreviewData.jpeg", "FLIR_2_RGB.jpg", "FLIR_2_PreviewData.jpeg", NULL);
    FIND(.dataset = NULL);
    cr_assert_eq(set.splits[0].count, 2);
}

Test(pair, the_last_component_counts) {
    add_files("images/set/images/a.jpg", "images/set/imagesIR/a.jpg", "images/set/labels/a.txt", NULL);
    FIND(.dataset = NULL);
    assert_samples("train: images/set/images/a.jpg images/set/imagesIR/a.jpg images/set/labels/a.txt\n");
}

Test(pair, directories_of_other_names) {
    add_files("train/visible/a.jpg", "train/infrared/a.bmp", "val/visible/b.jpg", "val/infrared/b.bmp",
              "val/labels/b.TXT", NULL);
    FIND(.dataset = NULL);
    assert_samples("train: train/visible/a.jpg train/infrared/a.bmp -\n"
                   "val: val/visible/b.jpg val/infrared/b.bmp val/labels/b.TXT\n");
    FIND(.rule = "dir:infrared=visible");
    cr_assert_str_eq(set.splits[0].samples[0].rgb, "train/infrared/a.bmp");
}

Test(pair, dots_and_double_suffixes_are_part_of_the_key) {
    add_files("images/a.jpg.jpg", "imagesIR/a.jpg.jpg", "labels/a.jpg.txt", "images/a.jpg", "imagesIR/a.png",
              "images/v1.2.png", "imagesIR/v1.2.JPG", "images/x.txt.jpg", "imagesIR/x.txt.jpg", "labels/x.txt.txt",
              NULL);
    FIND(.dataset = NULL);
    assert_samples("train: images/a.jpg imagesIR/a.png -\n"
                   "train: images/a.jpg.jpg imagesIR/a.jpg.jpg labels/a.jpg.txt\n"
                   "train: images/v1.2.png imagesIR/v1.2.JPG -\n"
                   "train: images/x.txt.jpg imagesIR/x.txt.jpg labels/x.txt.txt\n");
}

Test(pair, two_candidates_are_ambiguous) {
    add_files("images/a.jpg", "imagesIR/a.jpg", "imagesIR/a.png", "images/b.jpg", "images/b.png", "imagesIR/b.jpg",
              "images/c.jpg", "imagesIR/c.jpg", NULL);
    FIND(.dataset = NULL);
    assert_samples("train: images/c.jpg imagesIR/c.jpg -\n");
    cr_assert_eq(set.report.counts[RULE_PAIR_AMBIGUOUS], 6);
}

Test(pair, one_stem_twice_is_two_samples_of_one_modality) {
    add_files("images/a.jpg", "images/a.png", "labels/a.txt", NULL);
    FIND(.dataset = NULL);
    assert_samples("train: images/a.jpg - labels/a.txt\ntrain: images/a.png - labels/a.txt\n");
    cr_assert_eq(set.modalities, MODALITY_RGB);
}

Test(pair, one_modality_of_a_paired_set) {
    add_files("images/a.jpg", "imagesIR/a.jpg", "images/b.jpg", "imagesIR/c.jpg", "labels/a.txt", "labels/c.txt", NULL);
    FIND(.modalities = MODALITY_RGB);
    assert_samples("train: images/a.jpg - labels/a.txt\ntrain: images/b.jpg - -\n");
    FIND(.modalities = MODALITY_IR);
    assert_samples("train: - imagesIR/a.jpg labels/a.txt\ntrain: - imagesIR/c.jpg labels/c.txt\n");
    cr_assert_eq(report_count(&set.report, ACTION_REJECTED), 0);
}

Test(pair, infrared_alone) {
    add_files("b.jpg", "a.png", "a.txt", NULL);
    FIND(.modalities = MODALITY_IR);
    assert_samples("train: - a.png a.txt\ntrain: - b.jpg -\n");
    cr_assert_eq(set.modalities, MODALITY_IR);
}

Test(pair, infrared_alone_by_a_name_that_no_rule_has) {
    add_files("thermal_8_bit/train/a.jpg", "thermal_8_bit/val/b.jpg", "labels/train/a.txt", NULL);
    FIND(.dataset = NULL);
    assert_samples("train: - thermal_8_bit/train/a.jpg labels/train/a.txt\nval: - thermal_8_bit/val/b.jpg -\n");
    cr_assert_str_eq(set.rule, "all in thermal_8_bit: 1 IR image in train, 1 IR image in val");
    FIND(.modalities = MODALITY_RGB);
    cr_assert_eq(set.modalities, MODALITY_RGB);
    REFUSE(ERR_INPUT, .modalities = MODALITY_RGB | MODALITY_IR);
}

Test(pair, infrared_alone_in_several_directories) {
    add_files("thermal/images/train/a.jpg", "LWIR/images/val/b.jpg", "thermal/labels/train/a.txt", NULL);
    FIND(.dataset = NULL);
    assert_samples("train: - thermal/images/train/a.jpg thermal/labels/train/a.txt\nval: - LWIR/images/val/b.jpg -\n");
    cr_assert(strstr(set.rule, "all in directories that say infrared: "), "%s", set.rule);
}

Test(pair, infrared_alone_as_data_yaml_names_it) {
    add_files("FIR/train/a.jpg", "docs/look.png", NULL);
    write_file("data.yaml", "train: FIR/train\nnames: [a]\n");
    FIND(.dataset = NULL);
    assert_samples("train: - FIR/train/a.jpg -\n");
}

Test(pair, pairs_by_names_that_no_rule_has) {
    add_files("RGB/a.jpg", "RGB/b.jpg", "FIR/a.png", "FIR/c.png", "labels/a.txt", NULL);
    FIND(.dataset = NULL);
    assert_samples("train: RGB/a.jpg FIR/a.png labels/a.txt\n");
    cr_assert_str_eq(set.rule, "RGB/ + FIR/ by name: 1 pair in train; 2 unpaired");
    FIND(.modalities = MODALITY_IR);
    assert_samples("train: - FIR/a.png labels/a.txt\ntrain: - FIR/c.png -\n");
}

Test(pair, infrared_by_name_without_a_pair_is_said) {
    add_files("images_rgb_train/a.jpg", "images_thermal_train/b.jpg", "images_thermal_val/c.jpg", NULL);
    FIND(.dataset = NULL);
    cr_assert_eq(set.modalities, MODALITY_RGB);
    assert_row("\tinfrared-name\tnote\timages_thermal_train\t2 of 3 pictures lie in directories that say infrared");
    FIND(.modalities = MODALITY_RGB);
    cr_assert_eq(set.report.counts[RULE_INFRARED_NAME], 0);
}

Test(pair, nothing_paired_says_what_was_seen) {
    add_files("d/x1_day.jpg", "d/x2_day.jpg", "d/x1_thermo.jpg", "d/x2_thermo.jpg", NULL);
    REFUSE(ERR_INPUT, .modalities = MODALITY_RGB | MODALITY_IR);
    assert_message("found 4 pictures");
    assert_message("images/ → imagesIR/ (no images)");
    assert_message("2 × *_day, 2 × *_thermo");
    assert_message("--pair suffix:_day=_thermo");
    REFUSE(ERR_INPUT, .rule = "dir:rgb=ir");
    assert_message("rgb/ → ir/ (no rgb)");
    REFUSE(ERR_INPUT, .rule = "suffix:_day=_thermal");
}

Test(pair, both_roles_without_a_pair_are_no_single_modality) {
    add_files("images/a1.jpg", "imagesIR/b1.jpg", NULL);
    REFUSE(ERR_INPUT, .dataset = NULL);
    assert_message("no name in common");
    FIND(.modalities = MODALITY_RGB);
    assert_samples("train: images/a1.jpg - -\n");
}

Test(pair, rules_that_make_no_sense) {
    static const char *const rules[] = {"yolofusee", "dir:",     "dir:a",        "dir:a=", "dir:=b", "dir:a=a",
                                        "dir:a/b=c", "suffix:=", "suffix:a=b=c", "map:",   ""};
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
        REFUSE(ERR_ARGUMENT, .rule = rules[i]);
    REFUSE(ERR_NOT_FOUND, .dataset = "/nowhere/at/all");
    REFUSE(ERR_INPUT, .dataset = root); /* empty */
    assert_message("no picture in it");
    write_file("a.json", "");
    REFUSE(ERR_INPUT, .dataset = in_root("a.json"));
}

/* ---- splits ---- */

Test(pair, splits_by_path) {
    add_files("images/train2017/a.jpg", "images/val2017/b.jpg", "images/test/c.jpg", NULL);
    FIND(.dataset = NULL);
    assert_samples("train: images/train2017/a.jpg - -\nval: images/val2017/b.jpg - -\ntest: images/test/c.jpg - -\n");
    add_files("images/extra/d.jpg", NULL);
    FIND(.dataset = NULL);
    cr_assert_eq(set.split_count, 1);
    cr_assert_eq(set.splits[0].count, 4);
}

Test(pair, splits_before_the_images) {
    add_files("train/images/a.jpg", "valid/images/b.jpg", "valid/labels/b.txt", NULL);
    FIND(.dataset = NULL);
    assert_samples("train: train/images/a.jpg - -\nval: valid/images/b.jpg - valid/labels/b.txt\n");
}

Test(pair, data_yaml_with_shared_splits) {
    add_files("images/train/a.jpg", "imagesIR/train/a.jpg", "images/other/b.jpg", NULL);
    write_file("data.yaml", "path: .\ntrain: images/train\nval: images/train/\nnames: [x, y]\ntask: segment\n"
                            "kpt_shape: [5, 2]\nflip_idx: [0, 2, 1, 4, 3]\nnmes: [z]\nflip_index: [0]\n");
    FIND(.dataset = NULL);
    assert_samples(
        "train: images/train/a.jpg imagesIR/train/a.jpg -\nval: images/train/a.jpg imagesIR/train/a.jpg -\n");
    cr_assert_eq(set.splits[0].same_as, SIZE_MAX);
    cr_assert_eq(set.splits[1].same_as, 0);
    cr_assert_eq(set.names.count, 2);
    cr_assert_str_eq(set.task, "segment");
    cr_assert_eq(set.keypoint_count, 5);
    cr_assert(set.flip_index.count == 5 && set.flip_index.places[1] == 2 && set.flip_index.places[4] == 3);
    assert_row(
        "data.yaml\t0\t0\tyaml-key\tnote\tnmes (line 8)\tnothing is known about this key (did you mean names?)\n");
    assert_row("\tflip_index (line 9)\tnothing is known about this key (did you mean flip_idx?)\n");
    assert_row("\tsplit-shared\t");
    cr_assert_eq(report_count(&set.report, ACTION_REJECTED), 0, "b.jpg is in no split");
    cr_assert_str_eq(set.rule, "images/ + imagesIR/ by name (YOLOFuse layout): 1 pair in train (val is the same)");
    FIND(.dataset = in_root("data.yaml"));
    cr_assert_eq(set.split_count, 2);
}

Test(pair, data_yaml_unpaired_infrared_belongs_to_its_split) {
    add_files("images/train/a.jpg", "imagesIR/train/a.jpg", "imagesIR/train/x.jpg", "imagesIR/val/y.jpg", NULL);
    write_file("data.yaml", "train: images/train\n");
    FIND(.dataset = NULL);
    assert_row("imagesIR/train/x.jpg\t0\t0\tir-without-rgb");
    cr_assert_eq(set.report.counts[RULE_IR_WITHOUT_RGB], 1);
}

Test(pair, data_yaml_directories_and_lists) {
    add_files("images/a/1.jpg", "images/b/2.jpg", "images/c/3.jpg", "labels/c/3.txt", "labels/c/4.txt", NULL);
    write_file("data.yaml", "train: [images/a, images/b]\nval: lists/val.txt\ntest: images/none\n");
    write_file("lists/val.txt",
               "\xEF\xBB\xBF./../images/c/3.jpg\r\n\nimages/a/1.jpg\nimages/c/3.jpg\nimages/c/9.jpg\n");
    FIND(.dataset = NULL);
    assert_samples("train: images/a/1.jpg - -\ntrain: images/b/2.jpg - -\n"
                   "val: images/a/1.jpg - -\nval: images/c/3.jpg - labels/c/3.txt\n");
    assert_row("lists/val.txt\t5\t1\tlist-missing\trejected\timages/c/9.jpg\tnot there");
    assert_row("lists/val.txt\t4\t1\tlist-duplicate\tnote\timages/c/3.jpg\tline 1 of lists/val.txt names it already");
    cr_assert_eq(set.report.counts[RULE_LIST_DUPLICATE], 1);
    write_file("data.yaml", "train: [images/a, lists/val.txt]\n");
    FIND(.dataset = NULL);
    assert_row("lists/val.txt\t3\t1\tlist-duplicate\tnote\timages/a/1.jpg\ta directory of the split has it");
    write_file("lists/val.txt", "images/c/8.jpg\nimages/c/9.jpg\n");
    write_file("data.yaml", "train: lists/val.txt\n");
    REFUSE(ERR_INPUT, .dataset = NULL);
    assert_message("lists/val.txt:1:1: \"images/c/8.jpg\": not there");
    write_file("lists/val.txt", "images/c/3.jpg\n");
    write_file("data.yaml", "train: [images/a, images/b]\nval: lists/val.txt\ntest: images/none\n");
    FIND(.dataset = NULL);
    assert_row("labels/c/4.txt\t0\t0\tlabel-orphan\t");
    assert_row("images/none\t0\t0\tfile-skipped\tnote\t\tthe test split of data.yaml is not there");
}

Test(pair, data_yaml_splits_that_are_not_there) {
    add_files("images/train/a.jpg", NULL);
    write_file("data.yaml", "train: images/train\nval: images/val\n");
    REFUSE(ERR_INPUT, .dataset = NULL);
    assert_message("val: images/val is not there");
    assert_message(in_root("images/val"));
    cr_assert_eq(mkdir(in_root("images/val"), 0755), 0);
    REFUSE(ERR_INPUT, .dataset = NULL);
    assert_message("val: no picture");
}

Test(pair, data_yaml_infrared_lists) {
    add_files("vis/t/a.jpg", "vis/t/b.jpg", "heat/x/a.png", "heat/x/c.png", "vis/v/s/d.jpg", "heat/v/q/d.png", NULL);
    write_file("data.yaml", "train: vis/t\ntrain_ir: heat/x\nval: vis/v\nval_ir: heat/v\n");
    FIND(.dataset = NULL);
    assert_samples("train: vis/t/a.jpg heat/x/a.png -\nval: vis/v/s/d.jpg heat/v/q/d.png -\n");
    assert_row("vis/t/b.jpg\t0\t0\trgb-without-ir\t");
    assert_row("heat/x/c.png\t0\t0\tir-without-rgb\t");
    write_file("data.yaml", "train: rgb.txt\ntrain_ir: ir.txt\n");
    write_file("rgb.txt", "vis/t/b.jpg\nvis/t/a.jpg\n");
    write_file("ir.txt", "heat/x/a.png\n");
    FIND(.dataset = NULL);
    assert_samples("train: vis/t/a.jpg heat/x/a.png -\n");
}

Test(pair, a_split_that_is_a_link_to_another) {
    add_files("images/train/a.jpg", NULL);
    cr_assert_eq(symlink("train", in_root("images/val")), 0);
    write_file("data.yaml", "train: images/train\nval: images/val\n");
    FIND(.dataset = NULL);
    assert_samples("train: images/train/a.jpg - -\nval: images/train/a.jpg - -\n");
    cr_assert_eq(set.splits[1].same_as, 0);
}

Test(pair, pictures_outside_the_base_move_it_up) {
    char text[512];
    add_files("cfg/readme.md", "store/x/images/a.jpg", "store/x/imagesIR/a.jpg", "store/x/labels/a.txt",
              "store/y/images/b.jpg", "store/y/imagesIR/b.jpg", "store/z/unrelated.jpg", NULL);
    snprintf(text, sizeof text, "train: %s/store/x/images\nval: ../store/y/images\n", root);
    write_file("cfg/data.yaml", text);
    FIND(.dataset = in_root("cfg"));
    cr_assert_str_eq(set.base, in_root("store"));
    assert_samples("train: x/images/a.jpg x/imagesIR/a.jpg x/labels/a.txt\nval: y/images/b.jpg y/imagesIR/b.jpg -\n");
    snprintf(text, sizeof text, "train: images\nval: list.txt\n");
    write_file("cfg/data.yaml", text);
    add_files("cfg/images/c.jpg", NULL);
    snprintf(text, sizeof text, "%s/store/x/images/a.jpg\n%s/cfg/images/c.jpg\n", root, root);
    write_file("cfg/list.txt", text);
    FIND(.dataset = in_root("cfg"), .modalities = MODALITY_RGB);
    cr_assert_str_eq(set.base, root);
    cr_assert_eq(set.split_count, 2);
}

/* ---- labels ---- */

Test(pair, labels_beside_the_pictures) {
    add_files("a.jpg", "a.txt", "b.jpg", "classes.txt", "c.txt", NULL);
    FIND(.dataset = NULL);
    assert_samples("train: a.jpg - a.txt\ntrain: b.jpg - -\n");
    assert_row("c.txt\t0\t0\tlabel-orphan\t");
    cr_assert_eq(set.report.counts[RULE_LABEL_ORPHAN], 1);
}

Test(pair, only_directories_that_were_looked_in_have_orphans) {
    add_files("images/a.jpg", "labels/a.txt", "labels/x.txt", "labels_seg/a.txt", "labels_seg/y.txt", "notes.txt",
              NULL);
    FIND(.dataset = NULL);
    cr_assert_eq(set.report.counts[RULE_LABEL_ORPHAN], 1);
    assert_row("labels/x.txt\t0\t0\tlabel-orphan\t");
    FIND(.labels = "labels_seg");
    assert_samples("train: images/a.jpg - labels_seg/a.txt\n");
    assert_row("labels_seg/y.txt\t0\t0\tlabel-orphan\t");
    cr_assert_eq(set.report.counts[RULE_LABEL_ORPHAN], 1);
}

Test(pair, labels_elsewhere) {
    char expected[512];
    add_files("set/images/train/a.jpg", "set/images/train/b.jpg", "boxes/train/a.txt", "boxes/b.txt", NULL);
    FIND(.dataset = in_root("set"), .labels = "../boxes");
    snprintf(expected, sizeof expected,
             "train: images/train/a.jpg - %s/boxes/train/a.txt\n"
             "train: images/train/b.jpg - %s/boxes/b.txt\n",
             root, root);
    assert_samples(expected);
    cr_assert_eq(chdir(root), 0);
    FIND(.dataset = "set", .labels = "boxes");
    assert_samples(expected);
    REFUSE(ERR_NOT_FOUND, .dataset = "set", .labels = "boxs");
}

Test(pair, names_in_another_unicode_composition_are_noticed) {
    add_files("images/caf\xC3\xA9.jpg", "labels/cafe\xCC\x81.txt",
              "images/\xE5\x9B\xBE"
              "1.jpg",
              "labels/\xE7\xBC\xBA"
              "1.txt",
              NULL);
    FIND(.dataset = NULL);
    cr_assert_eq(set.report.counts[RULE_LABEL_NEAR], 1);
    assert_row("labels/cafe\xCC\x81.txt\t0\t0\tlabel-near\tnote\timages/caf\xC3\xA9.jpg\t");
    cr_assert_eq(set.report.counts[RULE_LABEL_ORPHAN], 1, "other letters are another name");
}

Test(pair, names_that_are_no_utf8) {
    add_files("images/\xFF.jpg", "imagesIR/\xFF.png", "labels/\xFF.txt", NULL);
    FIND(.dataset = NULL);
    assert_samples("train: images/\xFF.jpg imagesIR/\xFF.png labels/\xFF.txt\n");
}

/* ---- maps ---- */

Test(pair, map_of_three_columns) {
    add_files("r/1.jpg", "i/x.png", "l/a.txt", "r/2.jpg", "i/y.png", "r/2.txt", "r/3.jpg", NULL);
    write_file("pairs.tsv", "r/1.jpg\ti/x.png\tl/a.txt\r\nr/2.jpg\ti/y.png\t\nr/3.jpg\t\t\nr/9.jpg\ti/9.png\t\n");
    char rule[128];
    snprintf(rule, sizeof rule, "map:%s/pairs.tsv", root);
    FIND(.rule = rule);
    assert_samples("train: r/1.jpg i/x.png l/a.txt\ntrain: r/2.jpg i/y.png r/2.txt\n");
    assert_row("/pairs.tsv\t3\t0\trgb-without-ir\trejected\tr/3.jpg\t");
    assert_row("/pairs.tsv\t4\t0\tlist-missing\trejected\tr/9.jpg\tnot there");
    assert_row("/pairs.tsv\t4\t0\tlist-missing\trejected\ti/9.png\t");
}

Test(pair, map_with_a_head_line_and_json_lines) {
    add_files("m/r/1.jpg", "m/i/x.png", "m/l/a.txt", NULL);
    write_file("m/pairs.tsv", "id\tLabel\tIR\tRGB\n7\tl/a.txt\ti/x.png\tr/1.jpg\n");
    write_file("m/pairs.jsonl", "{\"rgb\": \"r/1.jpg\", \"ir\": \"i/x.png\", \"label\": null, \"more\": [1]}\n\n");
    char rule[128];
    snprintf(rule, sizeof rule, "map:%s/m/pairs.tsv", root);
    FIND(.rule = rule);
    assert_samples("train: m/r/1.jpg m/i/x.png m/l/a.txt\n");
    snprintf(rule, sizeof rule, "map:%s/m/pairs.jsonl", root);
    FIND(.rule = rule);
    assert_samples("train: m/r/1.jpg m/i/x.png -\n");
}

Test(pair, map_faults_have_a_line) {
    static const struct {
        const char *text, *part;
    } cases[] = {
        {"a.jpg\tb.jpg\na.jpg\n", ":2: 1 tab-separated values"},
        {"a.jpg\tb.jpg\tc.txt\td\n", ":1: 4 tab-separated values"},
        {"\t\tx.txt\n", ":1: neither an RGB nor an IR picture"},
        {"{\"rgb\": \"a.jpg\"}\n{\"rgb\": \n", ":2:"},
        {"{\"rgb\": 3}\n", ":1: \"rgb\" is no text"},
        {"{\"rgb\": \"a\", \"rgb\": \"b\"}\n", ":1:"},
        {"\n\n", "the map is empty"},
    };
    char rule[128];
    add_files("a.jpg", "b.jpg", NULL);
    snprintf(rule, sizeof rule, "map:%s/m", root);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        write_file("m", cases[i].text);
        REFUSE(ERR_INPUT, .rule = rule);
        assert_message(cases[i].part);
    }
    REFUSE(ERR_NOT_FOUND, .rule = "map:/nowhere.tsv");
}

Test(pair, map_of_one_modality_and_of_one_partner_twice) {
    char rule[128];
    add_files("a.jpg", "b.jpg", "x.jpg", NULL);
    snprintf(rule, sizeof rule, "map:%s/m", root);
    write_file("m", "{\"ir\": \"a.jpg\"}\n");
    FIND(.rule = rule);
    assert_samples("train: - a.jpg -\n");
    write_file("m", "{\"ir\": \"a.jpg\"}\n{\"ir\": \"a.jpg\"}\n");
    FIND(.rule = rule);
    assert_samples("train: - a.jpg -\n");
    assert_row("/m\t2\t0\tlist-duplicate\tnote\ta.jpg\tline 1 says so already");
    write_file("m", "a.jpg\tx.jpg\nb.jpg\tx.jpg\n");
    REFUSE(ERR_INPUT, .rule = rule);
    assert_message("/m:2: \"x.jpg\": line 1 names it too");
    write_file("m", "a.jpg\tx.jpg\na.jpg\tx.jpg\n");
    FIND(.rule = rule);
    assert_samples("train: a.jpg x.jpg -\n");
    assert_row("/m\t2\t0\tlist-duplicate\tnote\ta.jpg\tline 1 says so already");
    add_files("y.jpg", "c.jpg", NULL);
    write_file("m", "a.jpg\tx.jpg\nb.jpg\ty.jpg\nb.jpg\tx.jpg\n");
    REFUSE(ERR_INPUT, .rule = rule);
    assert_message("/m:3: \"b.jpg\": line 2 names it too");
    write_file("m", "c.jpg\ta.jpg\nb.jpg\tx.jpg\nb.jpg\ty.jpg\n");
    FIND(.rule = rule);
    assert_samples("train: c.jpg a.jpg -\n");
    assert_row("/m\t3\t0\tpair-ambiguous\trejected\tb.jpg\tline 2 names it too");
    assert_row("/m\t2\t0\tpair-ambiguous\trejected\tx.jpg\tanother line names its partner too");
}

Test(pair, map_without_a_pair_shows_its_first_fault) {
    char rule[128];
    add_files("a.jpg", "x.jpg", NULL);
    snprintf(rule, sizeof rule, "map:%s/m", root);
    write_file("m", "visible\tthermal\n1.jpg\tx.jpg\n");
    REFUSE(ERR_INPUT, .rule = rule);
    assert_message("m: no pair in it");
    assert_message("/m:1: \"visible\": not a picture's name");
    write_file("m", "{\"rgb\": \"1.jpg\"}\n");
    REFUSE(ERR_INPUT, .rule = rule);
    assert_message("/m:1: \"1.jpg\": not there");
}

/* ---- real sets ---- */

static void assert_real(const char *name, struct pair_options options, size_t split, size_t count, size_t labels) {
    const char *data = getenv("YPK_TEST_DATA");
    char dataset[4096];
    if (!data || access(data, R_OK) != 0)
        cr_skip("YPK_TEST_DATA names no directory");
    snprintf(dataset, sizeof dataset, "%s/%s", data, name);
    options.dataset = dataset;
    cr_assert_eq(find_with(options), 0, "%s", error.message);
    cr_assert_gt(set.split_count, split);
    cr_assert_eq(set.splits[split].count, count);
    size_t labelled = 0;
    for (size_t i = 0; i < count; i++)
        labelled += set.splits[split].samples[i].label != NULL;
    cr_assert_eq(labelled, labels);
}

Test(pair, real_roadscene) {
    assert_real("roadscene", (struct pair_options){0}, 0, 221, 221);
    cr_assert_eq(set.splits[1].same_as, 0);
    cr_assert_eq(report_count(&set.report, ACTION_REJECTED), 0);
}

Test(pair, real_llvip) {
    assert_real("llvip", (struct pair_options){.rule = "dir:rgb=ir"}, 0, 32, 0);
    cr_assert_eq(set.splits[1].count, 12);
    cr_assert_str_eq(set.splits[1].name, "test");
}

Test(pair, real_coco128) {
    assert_real("coco128", (struct pair_options){0}, 0, 128, 126);
    cr_assert_eq(set.report.counts[RULE_LABEL_ORPHAN], 2);
    assert_real("coco128", (struct pair_options){.labels = "labels_seg"}, 0, 128, 100);
}

Test(pair, real_hit_uav) {
    assert_real("hit_uav/ir", (struct pair_options){.modalities = MODALITY_IR, .labels = "../labels_yolo_derived"}, 0,
                100, 100);
}

Test(pair, real_layouts) {
    assert_real("layouts/vedai_superyolo", (struct pair_options){0}, 0, 3, 0);
    assert_real("layouts/tardal_sample", (struct pair_options){0}, 0, 3, 0);
    assert_real("layouts/vtuav_sample", (struct pair_options){0}, 0, 2, 1);
    assert_real("layouts/yolofuse_llvip_asset", (struct pair_options){0}, 0, 1, 0);
}

/* ---- what is told ---- */

Test(pair, splits_that_overlap) {
    add_files("images/train/a.jpg", "images/val/b.jpg", "images/val/c.jpg", NULL);
    write_file("data.yaml", "train: images\nval: images/val\ntest: [images/train, images/val]\nnames: [a]\n");
    FIND(.dataset = NULL);
    assert_row("data.yaml\t0\t0\tsplit-overlap\tnote\t\t2 of the 2 samples of val are in train too\n");
    assert_row("split-shared\tnote\t\ttest names the same pictures as train\n");
    cr_assert_eq(set.report.counts[RULE_SPLIT_OVERLAP], 1);
    write_file("data.yaml", "train: images/train\nval: images/val\nnames: [a]\n");
    FIND(.dataset = NULL);
    cr_assert_eq(set.report.counts[RULE_SPLIT_OVERLAP], 0);
}

Test(pair, lists_without_a_line) {
    add_files("images/a.jpg", "empty.txt", NULL);
    write_file("data.yaml", "train: empty.txt\nval: images\nnames: [a]\n");
    REFUSE(ERR_INPUT, .dataset = NULL);
    assert_message("train: empty.txt has no line\n  try    fill the list, or remove \"train\"");
    write_file("data.yaml", "train: [images, empty.txt]\ntest: empty.txt\nnames: [a]\n");
    FIND(.dataset = NULL);
    assert_row("data.yaml\t0\t0\tyaml-value\tnote\tempty.txt\ttrain: the list has no line\n");
    assert_row("data.yaml\t0\t0\tyaml-value\tnote\tempty.txt\ttest: the list has no line\n");
    assert_samples("train: images/a.jpg - -\n");
}

Test(pair, labels_where_nobody_looks) {
    add_files("images/train/a.jpg", "Labels/train/a.txt", "notes.txt", NULL);
    FIND(.dataset = NULL);
    assert_row(
        "Labels/train/a.txt\t0\t0\tlabel-near\tnote\timages/train/a.jpg\tlabels of these pictures are not looked "
        "for there: --labels Labels\n");
    FIND(.labels = "Labels");
    assert_samples("train: images/train/a.jpg - Labels/train/a.txt\n");
    cr_assert_eq(set.report.counts[RULE_LABEL_NEAR], 0);
    /* a picture that has its label shows that labels are looked for where they are */
    add_files("images/train/b.jpg", "labels/train/b.txt", NULL);
    FIND(.dataset = NULL);
    cr_assert_eq(set.report.counts[RULE_LABEL_NEAR], 0);
}

Test(pair, label_file_of_two_pictures) {
    add_files("images/a.jpg", "images/a.jpeg", "images/b.jpg", "labels/a.txt", "labels/b.txt", NULL);
    FIND(.dataset = NULL);
    cr_assert_eq(set.splits[0].count, 3);
    assert_row("labels/a.txt\t0\t0\tlabel-shared\tnote\timages/a.jpg\timages/a.jpeg has it too");
    cr_assert_eq(set.report.counts[RULE_LABEL_SHARED], 1);
    /* the pictures of a pair share theirs by right, and so does a picture that is in two splits */
    add_files("pairs/images/a.jpg", "pairs/imagesIR/a.jpg", "pairs/labels/a.txt", NULL);
    write_file("pairs/data.yaml", "train: images\nval: images\n");
    FIND(.dataset = in_root("pairs"));
    cr_assert_eq(set.report.counts[RULE_LABEL_SHARED], 0);
}

Test(pair, path_of_data_yaml_that_is_not_used) {
    char message[160];
    add_files("images/a.jpg", NULL);
    write_file("data.yaml", "path: /nope\ntrain: images\n");
    FIND(.dataset = NULL);
    snprintf(message, sizeof message,
             "data.yaml\t0\t0\tyaml-path\tnote\t/nope\twhat it names is not there: files are taken from %s\n", root);
    assert_row(message);
    write_file("data.yaml", "path: .\ntrain: images\n");
    FIND(.dataset = NULL);
    cr_assert_eq(set.report.counts[RULE_YAML_PATH], 0);
    cr_assert_eq(chdir("/tmp"), 0);
    write_file("data.yaml", "path: images/..\ntrain: images\n");
    FIND(.dataset = NULL);
    cr_assert_eq(set.report.counts[RULE_YAML_PATH], 0);
}

Test(pair, ambiguous_pairs_are_called_so) {
    add_files("images/a.jpg", "images/a.png", "imagesIR/a.png", NULL);
    REFUSE(ERR_INPUT, .dataset = NULL);
    assert_message("ambiguous: images/a.jpg has more than one partner");
    REFUSE(ERR_INPUT, .rule = "yolofuse");
    assert_message("ambiguous: images/a.jpg");
}

Test(pair, misspelt_split_of_data_yaml) {
    add_files("images/a.jpg", NULL);
    write_file("data.yaml", "trian: images\n");
    REFUSE(ERR_INPUT, .dataset = NULL);
    assert_message("no train in it, but trian (line 1): did you mean train?");
    write_file("data.yaml", "val: images\nTrain: images\n");
    REFUSE(ERR_INPUT, .dataset = NULL);
    assert_message("Train (line 2): did you mean train?");
    write_file("data.yaml", "vall: images\n");
    REFUSE(ERR_INPUT, .dataset = NULL);
    assert_message("did you mean val?");
    write_file("data.yaml", "val: images\ntext: x\n"); /* no split */
    FIND(.dataset = NULL);
}
