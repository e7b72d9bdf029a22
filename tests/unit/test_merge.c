/* Parts that are merged, and packs that are appended to, against the pack of the whole: through the reader. */
#include "commands.h"
#include "home.h"
#include "merge.h"
#include "yolopack.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static struct error error;

static void set_up(void) {
    home_create();
    cr_assert_eq(chdir(home), 0);
}

TestSuite(merge, .init = set_up, .fini = home_remove);
TestSuite(append, .init = set_up, .fini = home_remove);

static void make_set(const char *directory, const char *pairs) {
    char *argv[] = {"synth", (char *)directory, "--pairs", (char *)pairs, "--size", "96x64", "-q", NULL};
    FILE *kept = stdout;
    stdout = fopen("/dev/null", "w");
    int code = cmd_synth(7, argv);
    fclose(stdout);
    stdout = kept;
    cr_assert_eq(code, 0);
}

static struct pack_options options_for(const char *output) {
    struct pack_options o;
    pack_options_init(&o);
    o.source.dataset = "night";
    o.output = output;
    o.shard_bytes = 1 << 17;
    o.jobs = 1;
    return o;
}

static void pack(const struct pack_options *options) {
    struct pack_result result;
    error = (struct error){0};
    int code = pack_run(&result, options, &error);
    pack_result_deinit(&result);
    cr_assert_eq(code, 0, "%s", error.message);
}

static void pack_part(uint32_t number, uint32_t count, struct pack_options options) {
    char output[32];
    snprintf(output, sizeof output, "part-%u.ypk", number);
    options.output = output;
    options.part = (struct pack_part){.number = number, .count = count};
    pack(&options);
}

static int merge(const char *const *parts, size_t count, struct intake_counts *total) {
    struct pack_result result;
    const struct merge_options options = {.parts = parts, .part_count = count, .output = "merged.ypk"};
    error = (struct error){0};
    int code = merge_run(&result, &options, &error);
    if (total)
        *total = result.total;
    pack_result_deinit(&result);
    return code;
}

/* ---- the reader's view ------------------------------------------------------------------------------------------- */

struct opened {
    ypk_dataset *dataset;
    ypk_decoder *decoder;
    ypk_dataset_info info;
};

static struct opened open_split(const char *path, const char *split) {
    struct opened o = {0};
    ypk_error e;
    const ypk_dataset_options options = {.size = sizeof options, .split = split};
    cr_assert_eq(ypk_dataset_open(&o.dataset, path, &options, &e), YPK_OK, "%s", e.message);
    cr_assert_eq(ypk_decoder_create(&o.decoder, o.dataset, &e), YPK_OK, "%s", e.message);
    ypk_dataset_get_info(o.dataset, &o.info);
    return o;
}

static void close_split(struct opened *o) {
    ypk_decoder_destroy(&o->decoder);
    ypk_dataset_close(&o->dataset);
}

static void assert_same_image(const struct opened *a, uint64_t i, const ypk_image *x, const struct opened *b,
                              uint64_t k, const ypk_image *y, int modality) {
    const uint8_t *left, *right;
    size_t left_size, right_size;
    ypk_error e;
    cr_assert(x->width == y->width && x->height == y->height && x->payload_bytes == y->payload_bytes);
    cr_assert(x->hash == y->hash && x->codec == y->codec && x->is_gray == y->is_gray);
    cr_assert_eq(x->is_transcoded, y->is_transcoded);
    if (x->width == 0)
        return;
    cr_assert_eq(ypk_decoder_payload(a->decoder, i, modality, &left, &left_size, &e), YPK_OK, "%s", e.message);
    cr_assert_eq(ypk_decoder_payload(b->decoder, k, modality, &right, &right_size, &e), YPK_OK, "%s", e.message);
    cr_assert(left_size == right_size && memcmp(left, right, left_size) == 0);
}

static void assert_same_sample(const struct opened *a, uint64_t i, const struct opened *b, uint64_t k) {
    ypk_sample x, y;
    cr_assert_eq(ypk_dataset_sample(a->dataset, i, &x, NULL), YPK_OK);
    cr_assert_eq(ypk_dataset_sample(b->dataset, k, &y, NULL), YPK_OK);
    cr_assert_str_eq(x.name, y.name);
    cr_assert_str_eq(x.rgb_name, y.rgb_name);
    cr_assert_str_eq(x.ir_name, y.ir_name);
    cr_assert_str_eq(x.label_name, y.label_name);
    cr_assert(x.label_count == y.label_count && x.point_count == y.point_count);
    cr_assert_eq(memcmp(x.labels, y.labels, x.label_count * sizeof *x.labels), 0);
    cr_assert_eq(memcmp(x.points, y.points, x.point_count * a->info.point_dims * sizeof(float)), 0);
    assert_same_image(a, i, &x.rgb, b, k, &y.rgb, YPK_RGB);
    assert_same_image(a, i, &x.ir, b, k, &y.ir, YPK_IR);
}

/* Every sample of one is in the other, found by its name; at the same index when they are equal. */
static void assert_same_split(const char *left, const char *right, const char *split, bool equal) {
    struct opened a = open_split(left, split), b = open_split(right, split);
    cr_assert_eq(a.info.sample_count, b.info.sample_count);
    cr_assert_eq(a.info.label_count, b.info.label_count);
    cr_assert_eq(a.info.point_count, b.info.point_count);
    cr_assert_eq(a.info.class_count, b.info.class_count);
    cr_assert(a.info.task == b.info.task && a.info.modalities == b.info.modalities);
    cr_assert_eq(a.info.max_record_bytes, b.info.max_record_bytes);
    cr_assert_eq(a.info.max_label_count, b.info.max_label_count);
    cr_assert_eq(a.info.content_hash == b.info.content_hash, equal);
    for (uint32_t i = 0; i < a.info.class_count; i++)
        cr_assert_str_eq(ypk_dataset_class_name(a.dataset, i), ypk_dataset_class_name(b.dataset, i));
    for (uint64_t i = 0; i < a.info.sample_count; i++) {
        ypk_sample s;
        uint64_t k;
        cr_assert_eq(ypk_dataset_sample(a.dataset, i, &s, NULL), YPK_OK);
        cr_assert_eq(ypk_dataset_find(b.dataset, s.name, &k, NULL), YPK_OK, "%s", s.name);
        cr_assert(!equal || k == i);
        assert_same_sample(&a, i, &b, k);
    }
    close_split(&a);
    close_split(&b);
}

static void assert_same(const char *left, const char *right, bool equal) {
    assert_same_split(left, right, "train", equal);
    assert_same_split(left, right, "val", equal);
}

/* ---- merging ----------------------------------------------------------------------------------------------------- */

static void assert_parts_are_whole(uint32_t count, const struct pack_options *options) {
    const char *parts[16];
    char names[16][32];
    struct intake_counts total;
    for (uint32_t i = 0; i < count; i++) {
        pack_part(i, count, *options);
        snprintf(names[i], sizeof names[i], "part-%u.ypk", i);
        parts[(i * 5 + 2) % count] = names[i]; /* in any order */
    }
    cr_assert_eq(merge(parts, count, &total), 0, "%s", error.message);
    assert_same("whole.ypk", "merged.ypk", true);
    cr_assert_eq(total.packed, 25);
}

/* Of 13 parts most have nothing of the five of val. */
Test(merge, parts_are_the_whole_for_every_reader) {
    static const uint32_t counts[] = {1, 3, 13};
    make_set("night", "25");
    struct pack_options options = options_for("whole.ypk");
    pack(&options);
    for (size_t i = 0; i < 3; i++)
        assert_parts_are_whole(counts[i], &options);
    options.intake.preset = PRESET_TRAIN;
    options.intake.image_size_px = 48;
    options.intake.label.single_class = true;
    options.fraction = 1;
    pack(&options);
    assert_parts_are_whole(3, &options);
}

/* Without names in the data set the parts have as many classes as each has seen. */
Test(merge, the_longest_list_of_numbers_wins) {
    make_set("night", "25");
    cr_assert_eq(unlink("night/data.yaml"), 0);
    FILE *label = fopen("night/labels/train/000020.txt", "w");
    cr_assert(label && fputs("7 0.5 0.5 0.25 0.25\n", label) >= 0 && fclose(label) == 0);
    struct pack_options options = options_for("whole.ypk");
    pack(&options);
    assert_parts_are_whole(3, &options);
    struct opened o = open_split("merged.ypk", "val");
    cr_assert_eq(o.info.class_count, 8);
    close_split(&o);
}

Test(merge, what_does_not_belong_together_is_named) {
    make_set("night", "25");
    struct pack_options options = options_for("whole.ypk");
    pack(&options);
    for (uint32_t i = 0; i < 3; i++)
        pack_part(i, 3, options);
    static const char *const parts[] = {"part-0.ypk", "part-1.ypk", "part-2.ypk"};
    cr_assert_eq(merge((const char *const[]){parts[0], parts[2]}, 2, NULL), ERR_INPUT);
    cr_assert(strstr(error.message, "part 1/3 is missing"), "%s", error.message);
    cr_assert_eq(merge((const char *const[]){parts[0], parts[2], parts[0]}, 3, NULL), ERR_INPUT);
    cr_assert(strstr(error.message, "part 0/3 is given twice"), "%s", error.message);
    cr_assert_eq(merge((const char *const[]){parts[0], "whole.ypk"}, 2, NULL), ERR_INPUT);
    cr_assert(strstr(error.message, "whole.ypk is a whole pack"), "%s", error.message);
    cr_assert_eq(merge((const char *const[]){parts[0], "none.ypk"}, 2, NULL), ERR_NOT_FOUND);
    cr_assert_eq(merge(NULL, 0, NULL), ERR_ARGUMENT);

    options.intake.quality = 90;
    pack_part(1, 3, options);
    cr_assert_eq(merge(parts, 3, NULL), ERR_INPUT);
    cr_assert(strstr(error.message, "part-1.ypk was packed with quality 90, part-0.ypk with 95"), "%s", error.message);
    options.intake.quality = 0;
    pack_part(1, 4, options);
    cr_assert_eq(merge(parts, 3, NULL), ERR_INPUT);
    cr_assert(strstr(error.message, "part-1.ypk is part 1/4, part-0.ypk is part 0/3"), "%s", error.message);
    pack_part(1, 3, options);
    cr_assert_eq(unlink("night/images/train/000020.jpg"), 0);
    cr_assert_eq(unlink("night/imagesIR/train/000020.jpg"), 0);
    pack_part(2, 3, options);
    cr_assert_eq(merge(parts, 3, NULL), ERR_INPUT);
    cr_assert(strstr(error.message, "cut from different lists of samples"), "%s", error.message);
    cr_assert_neq(access("merged.ypk", F_OK), 0);
    cr_assert_neq(access("merged.ypk.partial", F_OK), 0);
}

Test(merge, what_pairing_rejected_is_shared_among_parts) {
    make_set("night", "25");
    cr_assert_eq(truncate("night/images/train/000003.jpg", 700), 0);
    cr_assert_eq(unlink("night/imagesIR/train/000020.jpg"), 0); /* 2 of 25 */
    struct pack_options options = options_for("whole.ypk");
    options.max_rejects = 0.19;
    pack(&options);
    for (uint32_t i = 0; i < 3; i++)
        pack_part(i, 3, options); /* of the first 1 + 1/3 of 7 + 1/3: 2 of 8 would be too many */
}

/* ---- appending --------------------------------------------------------------------------------------------------- */

static void move_pair(const char *number, const char *from, const char *to) {
    static const char *const folders[] = {"images", "imagesIR", "labels"};
    for (size_t i = 0; i < 3; i++) {
        char old[128], fresh[128];
        snprintf(old, sizeof old, "%s/%s/train/%s.%s", from, folders[i], number, i == 2 ? "txt" : "jpg");
        snprintf(fresh, sizeof fresh, "%s/%s/train/%s.%s", to, folders[i], number, i == 2 ? "txt" : "jpg");
        char directory[128];
        snprintf(directory, sizeof directory, "%s/%s/train", to, folders[i]);
        cr_assert_eq(dir_create_all(directory, NULL), 0);
        cr_assert(rename(old, fresh) == 0 || i == 2, "%s", old);
    }
}

Test(append, twice_is_as_good_as_at_once) {
    make_set("night", "25");
    struct pack_options options = options_for("whole.ypk");
    pack(&options);
    move_pair("000003", "night", "held");
    move_pair("000011", "night", "held");
    move_pair("000012", "night", "held");
    options.output = "grown.ypk";
    pack(&options);
    options.append = true;
    struct stat before, after;
    cr_assert_eq(stat("grown.ypk/train-00000.lmdb", &before), 0);
    move_pair("000011", "held", "night");
    pack(&options);
    move_pair("000003", "held", "night");
    move_pair("000012", "held", "night");
    pack(&options);
    cr_assert_eq(stat("grown.ypk/train-00000.lmdb", &after), 0);
    cr_assert_eq(before.st_ino, after.st_ino);
    cr_assert_eq(after.st_nlink, 1);
    assert_same_split("whole.ypk", "grown.ypk", "train", false);
    assert_same_split("whole.ypk", "grown.ypk", "val", true);
}

Test(append, nothing_new_leaves_the_pack_as_it_is) {
    struct pack_result result;
    struct stat before, after;
    make_set("night", "12");
    struct pack_options options = options_for("grown.ypk");
    pack(&options);
    cr_assert_eq(stat("grown.ypk/pack.json", &before), 0);
    options.append = true;
    cr_assert_eq(pack_run(&result, &options, &error), 0, "%s", error.message);
    cr_assert(result.unchanged && !result.published);
    pack_result_deinit(&result);
    cr_assert_eq(stat("grown.ypk/pack.json", &after), 0);
    cr_assert_eq(before.st_ino, after.st_ino);
    cr_assert_neq(access("grown.ypk.partial", F_OK), 0);
}

static void assert_not_appended(const struct pack_options *options, int code, const char *text) {
    struct pack_result result;
    error = (struct error){0};
    cr_assert_eq(pack_run(&result, options, &error), code, "%s", error.message);
    pack_result_deinit(&result);
    cr_assert(strstr(error.message, text), "%s", error.message);
}

Test(append, only_with_the_same_options) {
    make_set("night", "12");
    struct pack_options options = options_for("grown.ypk"), other;
    pack(&options);
    pack_part(0, 2, options);
    options.append = true;
    other = options;
    other.output = "none.ypk";
    assert_not_appended(&other, ERR_NOT_FOUND, "nothing to append to");
    other.output = "part-0.ypk";
    assert_not_appended(&other, ERR_INPUT, "is part 0 of 2: merge the parts first");
    other = options;
    other.intake.preset = PRESET_RAW;
    assert_not_appended(&other, ERR_INPUT, "grown.ypk was packed with preset \"keep\", not \"raw\"");
    other = options;
    other.classes = "0";
    assert_not_appended(&other, ERR_INPUT, "classes");
    other = options;
    other.source.modalities = MODALITY_RGB;
    assert_not_appended(&other, ERR_INPUT, "grown.ypk holds RGB and IR, the data set has RGB");
    FILE *yaml = fopen("night/data.yaml", "w");
    cr_assert(yaml && fputs("train: images/train\nval: images/val\nnames: [person, bus, car]\n", yaml) >= 0 &&
              fclose(yaml) == 0);
    assert_not_appended(&options, ERR_INPUT, "class names");
}

/* Counts always add up: what is in the pack, and what this run rejected. */
Test(append, what_was_rejected_is_judged_again) {
    struct pack_result result;
    make_set("night", "25");
    move_pair("000003", "night", "held");
    cr_assert_eq(rename("night/images/train/000011.jpg", "kept.jpg"), 0);
    FILE *broken = fopen("night/images/train/000011.jpg", "w");
    cr_assert(broken && fputs("no image", broken) >= 0 && fclose(broken) == 0);
    struct pack_options options = options_for("grown.ypk");
    options.max_rejects = 0.1;
    pack(&options);
    options.append = true;
    move_pair("000003", "held", "night");
    cr_assert_eq(pack_run(&result, &options, &error), 0, "%s", error.message);
    cr_assert(result.added.samples == 2 && result.added.rejected == 1);
    cr_assert(result.total.samples == 25 && result.total.packed == 24 && result.total.rejected == 1);
    cr_assert_eq(result.report.counts[RULE_IMAGE_NOT_AN_IMAGE], 1);
    pack_result_deinit(&result);
    cr_assert_eq(rename("kept.jpg", "night/images/train/000011.jpg"), 0);
    cr_assert_eq(pack_run(&result, &options, &error), 0, "%s", error.message);
    cr_assert(result.total.samples == 25 && result.total.packed == 25 && result.total.rejected == 0);
    cr_assert_eq(report_count(&result.report, ACTION_REJECTED), 0);
    pack_result_deinit(&result);
}

Test(append, a_source_that_changed_is_noted) {
    struct pack_result result;
    make_set("night", "12");
    struct pack_options options = options_for("grown.ypk");
    pack(&options);
    options.append = true;
    FILE *label = fopen("night/labels/train/000003.txt", "a");
    cr_assert(label && fputs("0 0.5 0.5 0.125 0.125\n", label) >= 0 && fclose(label) == 0);
    FILE *image = fopen("night/images/train/000001.jpg", "a");
    cr_assert(image && fputs("longer", image) >= 0 && fclose(image) == 0);
    cr_assert_eq(pack_run(&result, &options, &error), 0, "%s", error.message);
    cr_assert_eq(result.report.counts[RULE_SOURCE_CHANGED], 2);
    cr_assert(memmem(result.report.rows.data, result.report.rows.size, "labels/train/000003.txt", 23));
    cr_assert(memmem(result.report.rows.data, result.report.rows.size, "images/train/000001.jpg", 23));
    pack_result_deinit(&result);
}

static bool report_says(const struct report *report, const char *text) {
    return memmem(report->rows.data, report->rows.size, text, strlen(text)) != NULL;
}

/* Also when nothing is new. */
Test(append, what_the_data_set_has_lost_is_noted) {
    struct pack_result result;
    make_set("night", "12");
    move_pair("000005", "night", "later");
    move_pair("000006", "night", "later");
    struct pack_options options = options_for("grown.ypk");
    pack(&options);
    options.append = true;
    move_pair("000003", "night", "held");
    cr_assert(rename("night/labels/train/000001.txt", "held/kept.txt") == 0);
    cr_assert_eq(pack_run(&result, &options, &error), 0, "%s", error.message);
    cr_assert(result.unchanged);
    cr_assert_eq(result.report.counts[RULE_SOURCE_GONE], 1);
    cr_assert(report_says(&result.report,
                          "images/train/000003.jpg\t0\t0\tsource-gone\tnote\t\tis not in split train of the "
                          "data set any more: the pack keeps it"));
    cr_assert_eq(result.report.counts[RULE_SOURCE_CHANGED], 1);
    cr_assert(report_says(&result.report, "images/train/000001.jpg\t0\t0\tsource-changed\tnote\t\tgives other labels"));
    pack_result_deinit(&result);

    /* another data set has none of the samples: they are not missed */
    FILE *yaml = fopen("later/data.yaml", "w");
    cr_assert(yaml && fputs("train: images/train\nnames: {0: person, 1: car, 2: bicycle}\n", yaml) >= 0 &&
              fclose(yaml) == 0);
    options.source.dataset = "later";
    cr_assert_eq(pack_run(&result, &options, &error), 0, "%s", error.message);
    cr_assert_eq(result.added.packed, 2);
    cr_assert_eq(result.report.counts[RULE_SOURCE_GONE], 0);
    pack_result_deinit(&result);
}

static void write_lists(const char *train, const char *val) {
    static const char head[] = "train: train.txt\nval: val.txt\nnames: {0: person, 1: car, 2: bicycle}\n";
    const char *const names[] = {"night/data.yaml", "night/train.txt", "night/val.txt"}, *const texts[] = {head, train,
                                                                                                           val};
    for (int i = 0; i < 3; i++) {
        FILE *f = fopen(names[i], "w");
        cr_assert(f && fputs(texts[i], f) >= 0 && fclose(f) == 0);
    }
}

/* A sample that was moved to another split by its list would else be in both. */
Test(append, a_sample_that_moved_to_another_split_is_noted_and_stays) {
    struct pack_result result;
    make_set("night", "25");
    write_lists("images/train/000000.jpg\nimages/train/000001.jpg\nimages/train/000002.jpg\n",
                "images/train/000003.jpg\n");
    struct pack_options options = options_for("grown.ypk");
    pack(&options);
    write_lists("images/train/000000.jpg\nimages/train/000002.jpg\nimages/train/000005.jpg\n",
                "images/train/000001.jpg\nimages/train/000002.jpg\nimages/train/000003.jpg\n");
    options.append = true;
    cr_assert_eq(pack_run(&result, &options, &error), 0, "%s", error.message);
    cr_assert_eq(result.report.counts[RULE_SOURCE_MOVED], 1);
    cr_assert(report_says(&result.report,
                          "images/train/000001.jpg\t0\t0\tsource-moved\tnote\t\tis in split train of the pack, "
                          "and stays there"));
    cr_assert_eq(result.report.counts[RULE_SOURCE_GONE], 1, "from train, where it was");
    pack_result_deinit(&result);
    struct opened train = open_split("grown.ypk", "train"), val = open_split("grown.ypk", "val");
    cr_assert_eq(train.info.sample_count, 4);
    cr_assert_eq(val.info.sample_count, 2, "what is in both lists comes to both");
    close_split(&train);
    close_split(&val);
}

/* A split that the data set has lost stays; one that it has gained comes. */
Test(append, splits_come_and_stay) {
    make_set("night", "25");
    struct pack_options options = options_for("grown.ypk");
    pack(&options);
    cr_assert(rename("night/images/val", "night/images/test") == 0 &&
              rename("night/imagesIR/val", "night/imagesIR/test") == 0 &&
              rename("night/labels/val", "night/labels/test") == 0);
    FILE *yaml = fopen("night/data.yaml", "w");
    cr_assert(yaml &&
              fputs("train: images/train\ntest: images/test\nnames: {0: person, 1: car, 2: bicycle}\n", yaml) >= 0 &&
              fclose(yaml) == 0);
    options.append = true;
    pack(&options);
    struct opened train = open_split("grown.ypk", "train"), val = open_split("grown.ypk", "val"),
                  test = open_split("grown.ypk", "test");
    cr_assert(train.info.sample_count == 20 && val.info.sample_count == 5 && test.info.sample_count == 5);
    close_split(&train);
    close_split(&val);
    close_split(&test);
}
