#include "pair_word.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static enum pair_role role(const char *name) {
    return pair_word_role(name, strlen(name));
}

Test(pair_word, infrared_by_a_word_of_the_name) {
    static const char *const names[] = {"imagesIR",    "ImagesIR",    "images_ir",     "ir",         "IR",
                                        "IRImages",    "IRimages",    "irImages",      "FIR",        "thermal_8_bit",
                                        "lwir_frames", "Thermal",     "thermal8bit",   "LWIR-left",  "trainIR",
                                        "IR_train",    "Infrared",    "infraredVideo", "MWIR2",      "NIR",
                                        "imagesir",    "the thermal", "夜_ir",         "images.tir", "image-IR.v2"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        cr_assert_eq(role(names[i]), ROLE_IR, "%s", names[i]);
}

Test(pair_word, visible_by_a_word_of_the_name) {
    static const char *const names[] = {"rgb", "RGB", "visible", "Vis", "images_rgb_train", "colorFrames", "RGB2"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        cr_assert_eq(role(names[i]), ROLE_RGB, "%s", names[i]);
}

Test(pair_word, what_only_looks_like_one_says_nothing) {
    static const char *const names[] = {"images",  "image",    "first",       "birds", "circle", "IRONMAN",
                                        "stairs",  "train",    "firs",        "Irish", "virus",  "air",
                                        "visitor", "nirvana",  "rgb_ir",      "RGBIR", "",       "_",
                                        "2017",    "\xFF\xFE", "RGB-thermal", "fire"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        cr_assert_eq(role(names[i]), ROLE_NONE, "%s", names[i]);
}

static struct path_list list_of(const char *const *paths, size_t count) {
    struct path_list list = {0};
    for (size_t i = 0; i < count; i++)
        cr_assert_eq(path_list_add(&list, paths[i]), 0);
    path_list_sort(&list);
    return list;
}

static bool find(struct pair_rule *rule, struct pair_words *words, const char *const *paths, size_t count) {
    struct path_list list = list_of(paths, count);
    *words = (struct pair_words){0};
    for (size_t i = 0; i < list.count; i++)
        pair_words_count(words, list.items[i]);
    bool found = pair_words_rule(rule, words, &list);
    free(list.items);
    return found;
}

#define FIND(...)                                                                                                      \
    find(&rule, &words, (const char *const[]){__VA_ARGS__},                                                            \
         sizeof((const char *const[]){__VA_ARGS__}) / sizeof(const char *))

Test(pair_word, the_other_name_is_the_one_with_the_same_pictures) {
    struct pair_rule rule;
    struct pair_words words;
    cr_assert(FIND("FIR/a.png", "FIR/b.png", "RGB/a.jpg", "RGB/b.jpg", "depth/a.jpg"));
    cr_assert_str_eq(rule.rgb, "RGB");
    cr_assert_str_eq(rule.ir, "FIR");
    cr_assert_eq(words.infrared_count, 2);
    cr_assert_eq(words.other_count, 3);
    /* of equals the one that says so */
    cr_assert(FIND("FIR/a.png", "aligned/a.png", "visible_light/a.png"));
    cr_assert_str_eq(rule.rgb, "visible_light");
    cr_assert(
        FIND("d/train/Images/x/a.b.png", "d/train/ImagesIR/x/a.b.bmp", "d/val/Images/c.png", "d/val/ImagesIR/c.png"));
    cr_assert_str_eq(rule.rgb, "Images");
    cr_assert_str_eq(rule.ir, "ImagesIR");
    /* none has the same name, though one begins alike */
    cr_assert_not(FIND("FIR/a.png", "RGB/ab.png", "RGB/b.png", "a.png"));
    cr_assert_eq(words.infrared_count, 1);
    cr_assert_not(words.several);
    /* two infrared names: no single rule has both */
    cr_assert_not(FIND("thermal_train/a.png", "rgb_train/a.png", "thermal_val/b.png", "rgb_val/b.png"));
    cr_assert(words.several);
    cr_assert_not(FIND("images/a.png", "first/a.png"));
    cr_assert_null(words.infrared);
}

Test(pair_word, names_too_long_for_a_rule_make_none) {
    char infrared[128] = "ir_", other[128] = "", rest[] = "/a.png";
    struct pair_rule rule;
    struct pair_words words;
    memset(infrared + 3, 'x', 80);
    strcpy(infrared + 83, rest);
    cr_assert_not(FIND(infrared, "RGB/a.png"));
    memset(other, 'x', 80);
    strcpy(other + 80, rest);
    cr_assert_not(FIND("ir/a.png", other));
}

Test(pair_word, many_names_beside_it) {
    enum { COUNT = 200 };
    static char paths[COUNT][32];
    const char *all[COUNT];
    struct pair_rule rule;
    struct pair_words words;
    for (int i = 0; i < COUNT; i++) {
        snprintf(paths[i], sizeof paths[i], i == 0 ? "FIR/a.png" : i == 1 ? "B/a.png" : "d%03d/b.png", i);
        all[i] = paths[i];
    }
    cr_assert(find(&rule, &words, all, COUNT));
    cr_assert_str_eq(rule.rgb, "B");
}
