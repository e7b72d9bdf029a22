#include "pair_rule.h"

#include <criterion/criterion.h>
#include <string.h>

Test(pair_rule, components_and_stems) {
    cr_assert_str_eq(path_component("a/images/b/images/c.jpg", "images"), "images/c.jpg");
    cr_assert_str_eq(path_component("images/a.jpg", "images"), "images/a.jpg");
    cr_assert_null(path_component("images", "images"));
    cr_assert_null(path_component("ximages/imagesx/a.jpg", "images"));
    cr_assert_null(path_component("a.jpg", "images"));
    cr_assert_eq(path_stem_size("d.x/a.b.jpg"), strlen("d.x/a.b"));
    cr_assert_eq(path_stem_size("d.x/a"), strlen("d.x/a"));
}

static void assert_stem(const char *rule_text, const char *ir_path, const char *expected) {
    struct pair_rule rule;
    char stem[PATH_MAX];
    cr_assert_eq(pair_rule_parse(&rule, rule_text, NULL), 0);
    cr_assert_eq(pair_rule_role(&rule, ir_path), ROLE_IR);
    cr_assert(pair_rule_rgb_stem(&rule, ir_path, stem));
    cr_assert_str_eq(stem, expected);
}

Test(pair_rule, partners) {
    assert_stem("yolofuse", "x/imagesIR/train/a.b.png", "x/images/train/a.b.");
    assert_stem("dir:rgb=ir", "ir/ir/a.png", "ir/rgb/a.");
    assert_stem("suffix:_co=_ir", "d/0_ir.png", "d/0_co.");
    assert_stem("suffix:=_ir", "0_ir.png", "0.");
    assert_stem("suffix:_rgb=", "d/0.png", "d/0_rgb.");
}

static enum pair_role role(const char *rule_text, const char *path) {
    struct pair_rule rule;
    cr_assert_eq(pair_rule_parse(&rule, rule_text, NULL), 0);
    return pair_rule_role(&rule, path);
}

Test(pair_rule, roles) {
    cr_assert_eq(role("dir:rgb=ir", "rgb/a.jpg"), ROLE_RGB);
    cr_assert_eq(role("dir:rgb=ir", "ir/rgb/a.jpg"), ROLE_RGB);
    cr_assert_eq(role("dir:rgb=ir", "rgb/ir/a.jpg"), ROLE_IR);
    cr_assert_eq(role("dir:rgb=ir", "a/rgb.jpg"), ROLE_NONE);
    cr_assert_eq(role("suffix:_near_ir=_ir", "a_near_ir.jpg"), ROLE_RGB);
    cr_assert_eq(role("suffix:_near_ir=_ir", "a_ir.jpg"), ROLE_IR);
    cr_assert_eq(role("suffix:=_ir", "_ir.jpg"), ROLE_RGB, "a suffix alone is a name");
    cr_assert_eq(role("suffix:_co=_ir", "a.jpg"), ROLE_NONE);
}

Test(pair_rule, a_partner_too_long_is_none) {
    struct pair_rule rule;
    char path[PATH_MAX], stem[PATH_MAX];
    cr_assert_eq(pair_rule_parse(&rule, "dir:rgbrgbrgb=ir", NULL), 0);
    memset(path, 'n', sizeof path - 1);
    memcpy(path, "ir/", 3);
    memcpy(path + sizeof path - 5, ".jpg", 5);
    cr_assert_not(pair_rule_rgb_stem(&rule, path, stem));
}
