#include "data_yaml.h"

#include "file.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct data_yaml parse(const char *text) {
    struct data_yaml yaml;
    struct error error = {0};
    int rc = data_yaml_parse(&yaml, "set/data.yaml", text, strlen(text), &error);
    cr_assert_eq(rc, 0, "%s", error.message);
    cr_assert_str_eq(yaml.base, "set");
    return yaml;
}

static void assert_refused(const char *text, const char *place, const char *part) {
    struct data_yaml yaml;
    struct error error = {0};
    cr_assert_eq(data_yaml_parse(&yaml, "data.yaml", text, strlen(text), &error), ERR_INPUT, "%s", text);
    cr_assert(strncmp(error.message, place, strlen(place)) == 0, "%s\nexpected at %s", error.message, place);
    cr_assert(strstr(error.message, part), "%s\nexpected: %s", error.message, part);
    cr_assert_null(yaml.file);
}

static void assert_names(const char *text, const char *const *names, size_t count) {
    struct data_yaml yaml = parse(text);
    cr_assert_eq(yaml.names.count, count, "%s", text);
    for (size_t i = 0; i < count; i++)
        cr_assert_str_eq(yaml.names.items[i], names[i]);
    data_yaml_deinit(&yaml);
}

Test(data_yaml, names_as_list_and_as_map) {
    static const char *const ab[] = {"a", "b"};
    assert_names("names: ['a', 'b']\n", ab, 2);
    assert_names("names: {0: a, 1: b}\n", ab, 2);
    assert_names("names:\n  1: b\n  0: a\n", ab, 2);
    assert_names("names:\n- a\n- b\n", ab, 2);
    assert_names("nc: 2\r\nnames: [a, \"b\"]\r\n", ab, 2);
    assert_names("\xEF\xBB\xBF# \xC8\xCB comment\nnames: [a, b]\n", ab, 2);
    static const char *const words[] = {"yes", "no", "on", "null", "1", "1.0", "traffic light", "缺陷"};
    assert_names("names: [yes, no, on, null, 1, 1.0, traffic light, 缺陷]\n", words, 8);
    assert_names("names:\n", NULL, 0);
}

Test(data_yaml, everything_it_reads) {
    struct data_yaml yaml = parse("path: ../sets\ntrain: [a, b/c]\nval: v\nval_ir: w\ntest: # none\ntask: pose\n"
                                  "kpt_shape: [17, 3]\ndownload: |\n  rm -rf /\nroboflow:\n  a: [1, {b: 2}]\n"
                                  "nmaes: [x]\nnames: {0: person}\n");
    cr_assert_str_eq(yaml.path, "../sets");
    cr_assert_eq(yaml.train.rgb.count, 2);
    cr_assert_str_eq(yaml.train.rgb.items[1], "b/c");
    cr_assert_eq(yaml.train.line, 2);
    cr_assert_str_eq(yaml.val.rgb.items[0], "v");
    cr_assert_str_eq(yaml.val.ir.items[0], "w");
    cr_assert_eq(yaml.test.rgb.count, 0);
    cr_assert_str_eq(yaml.task, "pose");
    cr_assert_eq(yaml.keypoint_count, 17);
    cr_assert_eq(yaml.keypoint_dims, 3);
    cr_assert_eq(yaml.unknown_keys.count, 1);
    cr_assert_str_eq(yaml.unknown_keys.items[0], "nmaes (line 12)");
    data_yaml_deinit(&yaml);
    yaml = parse("valid: v\n");
    cr_assert_str_eq(yaml.val.rgb.items[0], "v");
    data_yaml_deinit(&yaml);
}

static void assert_flips(const char *text, uint32_t count, const uint16_t *places) {
    struct data_yaml yaml = parse(text);
    cr_assert_eq(yaml.flip_index.count, count, "%s", text);
    for (uint32_t i = 0; i < count; i++)
        cr_assert_eq(yaml.flip_index.places[i], places[i], "%s", text);
    cr_assert_eq(yaml.unknown_keys.count, 0, "%s", text);
    data_yaml_deinit(&yaml);
}

Test(data_yaml, key_points_that_change_places) {
    static const uint16_t swap[] = {0, 2, 1}, turn[] = {1, 2, 0};
    assert_flips("kpt_shape: [3, 2]\nflip_idx: [0, 2, 1]\n", 3, swap);
    assert_flips("flip_idx:\n- 0\n- 2\n- 1\nkpt_shape: [3, 3]\n", 3, swap);
    assert_flips("kpt_shape: [3, 2]\nflip_idx: [1, 2, 0]\n", 3, turn);
    assert_flips("kpt_shape: [3, 2]\nflip_idx: []\n", 0, NULL);
    assert_flips("kpt_shape: [3, 2]\nflip_idx:\n", 0, NULL);
    assert_flips("kpt_shape: [3, 2]\n", 0, NULL);
    assert_flips("flip_idx: [0, 2, 1]\n", 3, swap);
}

Test(data_yaml, comments_may_hold_any_bytes) {
    struct data_yaml yaml = parse("# \xF0\x9F\x98\x80 \xB9\xFD\x01\ntrain: x # \xB9\xFD\nval: 'a # b'\n"
                                  "names: [it's, \"#\xC3\xA9\"] #\xFF\n");
    cr_assert_str_eq(yaml.val.rgb.items[0], "a # b");
    cr_assert_str_eq(yaml.names.items[0], "it's");
    cr_assert_str_eq(yaml.names.items[1], "#\xC3\xA9");
    data_yaml_deinit(&yaml);
    assert_refused("names: [\xB9\xFD]\n", "data.yaml: byte 8: ", "UTF-8");
}

Test(data_yaml, faults_are_named_with_line_and_remedy) {
    assert_refused("names: {0: a, 2: c}\n", "data.yaml:1:8: ", "class 1 is missing");
    assert_refused("names: {1: a, 2: c}\n", "data.yaml:1:8: ", "do they start at 1?");
    assert_refused("names:\n-a\n-b\n", "data.yaml:", "no blank after the dash");
    assert_refused("path: \"C:\\sets\"\n", "data.yaml:1:10: ", "single quotes");
    assert_refused("train: \"images\\train\"\n", "data.yaml:1:8: ", "a control character in the path");
    assert_refused("train: |\n  a\n  b\n", "data.yaml:1:8: ", "a path of several lines: write a list");
    assert_refused("names:\n  0: a: b\n", "data.yaml:2:7: ", "put a value with a colon in it in quotes");
    assert_refused("train: x\nnames:\n  0:a\n  1:b\n", "data.yaml:3:3: ", "blank after the colon");
    assert_refused("names:\n  0: a\n  1:b\n", "data.yaml:3:1: ", "blank after the colon");
    assert_refused("names: [0:a, 1:b]\n", "data.yaml:1:9: ", "blank after the colon");
    assert_refused("names: {0:a}\n", "data.yaml:1:9: ", "blank after the colon");
    assert_refused("nc:3\n", "data.yaml:1:1: ", "blank after the colon");
    assert_refused("train: x\nnc:3\nnames: [a]\n", "data.yaml:2:1: ", "blank after the colon");
    assert_refused("train: x\nnc: 3\nnames: [a, b]\n", "data.yaml:2:5: ", "nc is 3 but names has 2");
    assert_refused("nc: many\n", "data.yaml:1:5: ", "\"many\" is no whole number");
    assert_refused("nc: 99999999999999999999\n", "data.yaml:1:5: ", "no whole number");
    assert_refused("train: a\nval: b\ntrain: c\n", "data.yaml:3:1: ", "\"train\" is there twice");
    assert_refused("val: a\nvalid: b\n", "data.yaml:2:8: ", "twice under different names");
    assert_refused("names:\n  0: a\n  0: b\n", "data.yaml:3:3: ", "class 0 is there twice, \"a\" first: remove one");
    assert_refused("names:\n\t0: a\n", "data.yaml:2:1: ", "tab");
    assert_refused("names: car\n", "data.yaml:1:8: ", "expected a list of names");
    assert_refused("names: [[a]]\n", "data.yaml:1:9: ", "expected a name");
    assert_refused("names: [a, '']\n", "data.yaml:1:12: ", "without a name");
    assert_refused("names: {car: 0}\n", "data.yaml:1:9: ", "\"car\" is no whole number");
    assert_refused("names: {-1: a}\n", "data.yaml:1:9: ", "no whole number");
    assert_refused("names: {70000: a}\n", "data.yaml:1:9: ", "no whole number");
    assert_refused("train: {a: b}\n", "data.yaml:1:8: ", "expected a directory");
    assert_refused("train: ''\n", "data.yaml:1:8: ", "empty path");
    assert_refused("path: [a]\n", "data.yaml:1:7: ", "expected one value");
    assert_refused("- a\n- b\n", "data.yaml:1:1: ", "not a mapping");
    assert_refused("", "data.yaml:1:1: ", "not a mapping");
    assert_refused("train: 'x\n", "data.yaml:", "");
    assert_refused("kpt_shape: [17]\n", "data.yaml:1:12: ", "kpt_shape");
    assert_refused("kpt_shape: [17, 4]\n", "data.yaml:1:12: ", "kpt_shape");
    assert_refused("kpt_shape: [17, 3, 1]\n", "data.yaml:1:20: ", "kpt_shape");
    assert_refused("kpt_shape: [3, 3]\nflip_idx: [0, 1]\n", "data.yaml:2:11: ", "has 2 entries but kpt_shape has 3");
    assert_refused("flip_idx: [0, 1, 2]\nkpt_shape: [2, 3]\n", "data.yaml:1:11: ", "has 3 entries but kpt_shape has 2");
    assert_refused("kpt_shape: [3, 3]\nflip_idx: [0, 1, 3]\n", "data.yaml:2:11: ", "flip_idx[2] is 3: it is 0 to 2");
    assert_refused("flip_idx: [0, -1]\n", "data.yaml:1:15: ", "\"-1\" is no whole number");
    assert_refused("flip_idx: [0, left]\n", "data.yaml:1:15: ", "\"left\" is no whole number");
    assert_refused("flip_idx: [0, 1000]\n", "data.yaml:1:15: ", "no whole number from 0 to 999");
    assert_refused("flip_idx: [[0, 1]]\n", "data.yaml:1:12: ", "expected a number");
    assert_refused("flip_idx: 1\n", "data.yaml:1:11: ", "expected a list of key points");
    assert_refused("flip_idx: {0: 1}\n", "data.yaml:1:11: ", "expected a list of key points");
    assert_refused("? [a]\n: b\n", "data.yaml:1:3: ", "key");
}

Test(data_yaml, a_thousand_key_points_and_no_more) {
    char text[4096] = "flip_idx: [";
    for (int i = 0; i < KEYPOINT_LIMIT; i++)
        strcat(text, "1, ");
    struct data_yaml yaml = parse(strcat(text, "]\n"));
    cr_assert_eq(yaml.flip_index.count, KEYPOINT_LIMIT);
    data_yaml_deinit(&yaml);
    strcpy(strrchr(text, ']'), "1]\n");
    assert_refused(text, "data.yaml:1:3012: ", "more than 1000 key points");
}

Test(data_yaml, aliases_and_merge_keys_are_what_they_stand_for) {
    static const char *const ab[] = {"a", "b"};
    assert_names("classes: &c [a, b]\ntrain: x\nnames: *c\n", ab, 2);
    assert_names("x: &a a\ny: &b b\nnames: [*a, *b]\n", ab, 2);
    assert_names("x: &a a\nnames: {0: *a, 1: b}\n", ab, 2);
    assert_names("most: &m {0: a, 1: c}\nnames:\n  <<: *m\n  1: b\n", ab, 2);
    assert_names("one: &m {names: [a, b], nc: 2}\n<<: *m\n", ab, 2);
    assert_names("one: &m {names: [a, b]}\n<<: [*m, {names: [c]}]\n", ab, 2);
    assert_names("one: &m {names: [c]}\n<<: *m\nnames: [a, b]\n", ab, 2);
    assert_names("x: &a c\ny: &a a\nnames: [*a, b]\n", ab, 2); /* the last anchor of a name counts */
    struct data_yaml yaml = parse("root: &r images/train\ntrain: *r\nval: [*r, v]\nother: 1\n<<: {task: pose}\nnames: "
                                  "[a]\n");
    cr_assert_str_eq(yaml.train.rgb.items[0], "images/train");
    cr_assert_str_eq(yaml.val.rgb.items[0], "images/train");
    cr_assert_str_eq(yaml.val.rgb.items[1], "v");
    cr_assert_str_eq(yaml.task, "pose");
    cr_assert_eq(yaml.unknown_keys.count, 1, "a key is there to carry its anchor");
    cr_assert_str_eq(yaml.unknown_keys.items[0], "other (line 4)");
    data_yaml_deinit(&yaml);
    assert_refused("x: &a [1]\ntrain: *a\nval: [*a]\n", "data.yaml:1:4: ", "val: expected a directory");
    assert_refused("train: *gone\n", "data.yaml:1:8: ", "\"gone\" names nothing: an anchor (&name) has to come first");
    assert_refused("train: &a [x, *a]\n", "data.yaml:1:15: ", "\"a\" stands inside of what it names");
    assert_refused("<<: 3\n", "data.yaml:1:5: ", "<<: expected a mapping");
    assert_refused("<<: [3]\n", "data.yaml:1:6: ", "<<: expected a mapping");
    assert_refused("names: {<<: {0: a}, 0: b, 0: c}\n", "data.yaml:1:27: ", "class 0 is there twice, \"b\" first");
}

Test(data_yaml, tags_that_need_a_program_are_refused) {
    static const char *const ab[] = {"a", "5"};
    assert_names("names: !!seq [!!str a, ! 5]\n", ab, 2);
    assert_refused("train: !join [a, b]\n", "data.yaml:1:8: ", "the tag !join is not read");
    assert_refused("names: !!python/tuple [a]\n", "data.yaml:1:8: ", "the tag !!python/tuple is not read");
    assert_refused("names: [!x a]\n", "data.yaml:1:9: ", "the tag !x is not read");
    assert_refused("train: a\n---\ntrain: b\n", "data.yaml:2:1: ", "a second document");
}

static void assert_remark(const char *text, size_t line, const char *value, const char *part) {
    struct data_yaml yaml = parse(text);
    bool found = false;
    for (size_t i = 0; i < yaml.remark_count; i++)
        found |= yaml.remarks[i].line == line && strcmp(yaml.remarks[i].value, value) == 0 &&
                 strstr(yaml.remarks[i].text, part) != NULL;
    cr_assert(found == (*part != '\0'), "%s: %s", text, part);
    data_yaml_deinit(&yaml);
}

Test(data_yaml, what_is_hardly_meant_is_remarked) {
    assert_remark("train: x\nnames: [car, bus, car]\n", 2, "car", "classes 0 and 2 have this name");
    assert_remark("names: {1: car, 0: car}\n", 1, "car", "classes 0 and 1 have this name");
    assert_remark("names: [a, a, b, a]\n", 1, "a", "classes 0 and 3 have this name");
    assert_remark("names: [a, A]\n", 1, "a", "");
    assert_remark("train: x\nval:\nnames: [a]\n", 2, "val", "no value");
    assert_remark("train: []\nnames: [a]\n", 1, "train", "no value");
    assert_remark("test:\nnames: [a]\n", 1, "test", "");
    assert_remark("train: x\n", 0, "names", "called by their numbers");
    assert_remark("names: []\n", 0, "names", "called by their numbers");
    struct data_yaml yaml = parse("nc: 2\n");
    cr_assert_eq(yaml.names.count, 2);
    cr_assert_str_eq(yaml.names.items[1], "class_1");
    cr_assert_eq(yaml.remark_count, 1);
    data_yaml_deinit(&yaml);
    yaml = parse("names: [a, b]\n");
    cr_assert_eq(yaml.remark_count, 0);
    data_yaml_deinit(&yaml);
    char *same = malloc(4000), *at = same + sprintf(same, "names: [a");
    for (int i = 0; i < 500; i++)
        at += sprintf(at, ", a");
    strcpy(at, "]\n");
    yaml = parse(same);
    cr_assert_eq(yaml.remark_count, 100);
    free(same);
    data_yaml_deinit(&yaml);
}

Test(data_yaml, merge_bombs_are_refused) {
    char *text = malloc(8192), *at = text;
    at += sprintf(at, "a0: &a0 {x: 1}\n");
    for (int i = 1; i <= 20; i++)
        at += sprintf(at, "a%d: &a%d {<<: [*a%d, *a%d]}\n", i, i, i - 1, i - 1);
    sprintf(at, "<<: *a20\n");
    assert_refused(text, "data.yaml:", "too many merges");
    at = text + sprintf(text, "a0: &a0 {x: 1}\n");
    for (int i = 1; i <= 40; i++)
        at += sprintf(at, "a%d: &a%d {<<: *a%d}\n", i, i, i - 1);
    sprintf(at, "<<: *a40\n");
    assert_refused(text, "data.yaml:", "too many merges");
    free(text);
    size_t size = 500000;
    text = malloc(size);
    at = text + sprintf(text, "x: [");
    while (at < text + size - 8)
        at += sprintf(at, "1,");
    strcpy(at, "]\n");
    assert_refused(text, "data.yaml:1:", "more than 200,000 values");
    free(text);
}

Test(data_yaml, bombs_are_refused) {
    char deep[256] = "x: ";
    memset(deep + 3, '[', 100);
    assert_refused(deep, "data.yaml:1:", "32 levels");
    char *keys = malloc(20000), *at = keys;
    for (int i = 0; i < 1200; i++)
        at += sprintf(at, "k%d: 1\n", i);
    assert_refused(keys, "data.yaml:1001:1: ", "keys");
    free(keys);
    size_t size = (1 << 20) + 1;
    char *large = malloc(size);
    memset(large, '\n', size);
    struct data_yaml yaml;
    cr_assert_eq(data_yaml_parse(&yaml, "data.yaml", large, size, NULL), ERR_INPUT);
    free(large);
}

/* ---- with files -------------------------------------------------------------------------------------------------- */

static char root[64];

static void make_root(void) {
    const char *parent = getenv("TMPDIR");
    snprintf(root, sizeof root, "%s/yaml-XXXXXX", parent && strlen(parent) < 40 ? parent : "/tmp");
    cr_assert_not_null(mkdtemp(root));
}

static void remove_root(void) {
    cr_assert_eq(chdir("/"), 0);
    dir_remove_all(root, NULL);
}

static char *in_root(const char *path) {
    return path_join(root, path);
}

static void add_directory(const char *path) {
    char *whole = in_root(path);
    cr_assert_eq(dir_create_all(whole, NULL), 0);
    free(whole);
}

static void add_file(const char *path, const char *text) {
    char *whole = in_root(path);
    cr_assert_eq(file_write_atomic(whole, text, strlen(text), NULL), 0);
    free(whole);
}

static void assert_base(const char *file, const char *base) {
    struct data_yaml yaml;
    struct error error = {0};
    char *whole = in_root(file);
    cr_assert_eq(data_yaml_read(&yaml, whole, &error), 0, "%s", error.message);
    char *found = realpath(yaml.base, NULL), *expected = in_root(base), *resolved = realpath(expected, NULL);
    cr_assert_str_eq(found, resolved);
    free(found);
    free(expected);
    free(resolved);
    free(whole);
    data_yaml_deinit(&yaml);
}

TestSuite(data_yaml_file, .init = make_root, .fini = remove_root);

Test(data_yaml_file, base_is_searched_in_the_documented_order) {
    char text[256];
    add_directory("set/images/train");
    add_directory("set/inner/images/train");
    add_directory("elsewhere/there/images/train");
    snprintf(text, sizeof text, "path: %s/set\ntrain: images/train\n", root);
    add_file("absolute.yaml", text);
    assert_base("absolute.yaml", "set");
    add_file("set/inner.yaml", "path: inner\ntrain: images/train\n");
    assert_base("set/inner.yaml", "set/inner");
    add_file("set/own.yaml", "path: set\ntrain: images/train\n");
    assert_base("set/own.yaml", "set");
    add_file("set/none.yaml", "train: images/train\n");
    assert_base("set/none.yaml", "set");
    add_file("set/dot.yaml", "path: .\nval: images/train\n");
    assert_base("set/dot.yaml", "set");
    add_file("set/up.yaml", "path: ../set/inner\nval: images/train\n");
    assert_base("set/up.yaml", "set/inner");
    add_file("set/here.yaml", "path: there\ntrain: images/train\n");
    char *elsewhere = in_root("elsewhere");
    cr_assert_eq(chdir(elsewhere), 0);
    free(elsewhere);
    add_directory("set2");
    add_file("set2/here.yaml", "path: there\ntrain: images/train\n");
    assert_base("set2/here.yaml", "elsewhere/there");
}

Test(data_yaml_file, exports_that_point_one_up_are_found) {
    add_directory("flow/train/images");
    add_file("flow/data.yaml", "train: ../train/images\nval: ../valid/images\n");
    assert_base("flow/data.yaml", "flow");
    char *base = in_root("flow"), *path = data_yaml_resolve(base, "../train/images"),
         *expected = in_root("flow/train/images");
    cr_assert_str_eq(path, expected);
    free(base);
    free(path);
    free(expected);
}

Test(data_yaml_file, nowhere_says_where_it_looked) {
    add_directory("set");
    add_file("set/data.yaml", "path: gone\n\ntrain: images/train\n");
    struct data_yaml yaml;
    struct error error = {0};
    char *file = in_root("set/data.yaml");
    cr_assert_eq(data_yaml_read(&yaml, file, &error), ERR_INPUT);
    cr_assert(strstr(error.message, "data.yaml:3: images/train is not there"), "%s", error.message);
    cr_assert(strstr(error.message, "set/gone/images/train\n"), "%s", error.message);
    cr_assert(strstr(error.message, "set/images/train\n"), "%s", error.message);
    free(file);
    add_file("set/empty.yaml", "names: [a]\n");
    file = in_root("set/empty.yaml");
    cr_assert_eq(data_yaml_read(&yaml, file, &error), ERR_INPUT);
    cr_assert(strstr(error.message, "names no images"), "%s", error.message);
    free(file);
    file = in_root("set/date.yaml");
    cr_assert_eq(data_yaml_read(&yaml, file, &error), ERR_NOT_FOUND);
    cr_assert(strstr(error.message, "did you mean"), "%s", error.message);
    free(file);
}

static void assert_hint(const char *entry, const char *hint) {
    char *base = in_root("set"), *found = data_yaml_hint(base, entry);
    cr_assert_str_eq(found, hint, "%s: %s", entry, found);
    free(found);
    free(base);
}

Test(data_yaml_file, an_entry_that_is_not_there_gets_its_likely_spelling) {
    add_directory("set/images/train");
    add_directory("set/images/val2017");
    add_file("set/train.txt", "");
    assert_hint("images/trian", " (did you mean images/train?)");
    assert_hint("imgaes/train/", " (did you mean images/train?)");
    assert_hint("./imgaes//trian", " (did you mean images/train?)");
    assert_hint("Images/Train", " (did you mean images/train?)");
    assert_hint("images\\train", " (did you mean images/train?)");
    assert_hint("tarin.txt", " (did you mean train.txt?)");
    assert_hint("photographs", "");
    assert_hint("images/train", "");
    assert_hint("images/photographs", "");
    assert_hint("~/images", " (~ is the shell's: write the directory out)");
    assert_hint("$DATA/images", " (variables are the shell's: write the directory out)");
    assert_hint("photos/*.jpg", " (patterns are not read: name the directory, or a .txt list)");
    assert_hint("http://x/y.zip", " (nothing is fetched: write where it lies)");
    assert_hint("a, b", " (several are a list: [one, two])");
    assert_hint("photos\\x", " (write / for \\)");
    char whole[200], wanted[300];
    snprintf(whole, sizeof whole, "%s/set/images/trian", root);
    snprintf(wanted, sizeof wanted, " (did you mean images/train?)");
    assert_hint(whole, wanted);
    add_file("set/data.yaml", "path: .\ntrain: images/trian\n");
    struct data_yaml yaml;
    struct error error = {0};
    char *file = in_root("set/data.yaml");
    cr_assert_eq(data_yaml_read(&yaml, file, &error), ERR_INPUT);
    cr_assert(strstr(error.message, "data.yaml:2: images/trian is not there (did you mean images/train?)"), "%s",
              error.message);
    char *tried = strstr(error.message, "/set/images/trian\n");
    cr_assert(tried && !strstr(tried + 1, "/set/images/trian\n"), "a place is named once: %s", error.message);
    free(file);
}

static void assert_located(const char *expected) {
    char *found, *whole = expected ? in_root(expected) : NULL;
    struct error error = {0};
    cr_assert_eq(data_yaml_locate(&found, root, &error), 0, "%s", error.message);
    cr_assert_eq(found == NULL, whole == NULL);
    if (whole)
        cr_assert_str_eq(found, whole);
    free(found);
    free(whole);
}

Test(data_yaml_file, locate) {
    assert_located(NULL);
    add_file("hyp.yaml", "lr0: 0.01\ntrainer: x\n");
    assert_located(NULL);
    add_file("mine.yml", "# c\nnames: [a]\ntrain: x\n");
    assert_located("mine.yml");
    add_file("yours.YAML", "val: x\n");
    char *found;
    struct error error = {0};
    cr_assert_eq(data_yaml_locate(&found, root, &error), ERR_INPUT);
    cr_assert(strstr(error.message, "mine.yml") && strstr(error.message, "yours.YAML"), "%s", error.message);
    add_file("dataset.yaml", "");
    assert_located("dataset.yaml");
    add_file("data.yaml", "");
    assert_located("data.yaml");
}
