#include "augment.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

static ypk_loader_options options;
static struct string_list left_out;
static struct error error;

static void setup(void) {
    ypk_loader_options_init(&options, sizeof options);
    left_out = (struct string_list){0};
    error = (struct error){0};
}

static void teardown(void) {
    string_list_deinit(&left_out);
}

TestSuite(augment, .init = setup, .fini = teardown);

static bool refuses(const char *list, const char *part) {
    cr_assert_eq(augment_parse(&options, list, &error), ERR_ARGUMENT, "%s", list);
    return strstr(error.message, part) != NULL;
}

static int read_yaml(const char *text) {
    return augment_read_text(&options, &left_out, "hyp.yaml", (struct span){(const uint8_t *)text, strlen(text)},
                             &error);
}

static bool was_left_out(const char *key) {
    for (size_t i = 0; i < left_out.count; i++)
        if (strcmp(left_out.items[i], key) == 0)
            return true;
    return false;
}

Test(augment, names_set_their_fields_and_no_other) {
    ypk_loader_options expected = options;
    expected.mosaic = 0.5;
    expected.degrees = 10;
    expected.hsv_h = 0;
    expected.mosaic_depth = 16;
    expected.mosaic_pool_all = 1;
    expected.hsv_on_ir = 1;
    expected.ir_shift = 3;
    expected.stride = 64;
    expected.drop_ir = 0.25;
    cr_assert_eq(
        augment_parse(&options,
                      "mosaic=0.5,degrees=1e1,hsv_h=0,mosaic_depth=16,mosaic_pool_all=1,hsv_on_ir=true,ir_shift=3,"
                      "stride=64,drop_ir=.25,copy_paste=0",
                      &error),
        0, "%s", error.message);
    cr_assert_eq(memcmp(&options, &expected, sizeof options), 0);
}

Test(augment, every_fraction_has_its_own_field) {
    static const char *const names[] = {"mosaic",      "mixup",       "cutmix",  "degrees", "translate", "scale",
                                        "shear",       "hsv_h",       "hsv_s",   "hsv_v",   "flipud",    "fliplr",
                                        "bgr",         "perspective", "ir_bias", "ir_gain", "ir_noise",  "ir_invert",
                                        "multi_scale", "drop_rgb",    "drop_ir"};
    char list[64];
    double sum = 0;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        snprintf(list, sizeof list, "%s=%zu", names[i], i + 1);
        cr_assert_eq(augment_parse(&options, list, &error), 0, "%s", list);
        sum += (double)(i + 1);
    }
    const ypk_loader_options *o = &options;
    cr_assert_eq(o->mosaic + o->mixup + o->cutmix + o->degrees + o->translate + o->scale + o->shear + o->perspective +
                     o->hsv_h + o->hsv_s + o->hsv_v + o->flipud + o->fliplr + o->bgr + o->multi_scale + o->ir_gain +
                     o->ir_bias + o->ir_noise + o->ir_invert + o->drop_rgb + o->drop_ir,
                 sum);
}

Test(augment, mistakes_are_named) {
    cr_assert(refuses("mosiac=0.5", "did you mean mosaic?"));
    cr_assert(refuses("hue=0.5", "\"hue\" is no augmentation"));
    cr_assert(refuses("seed=1", "\"seed\" is no augmentation"));
    cr_assert(refuses("mosaic", "NAME=NUMBER"));
    cr_assert(refuses("mosaic=", "NAME=NUMBER"));
    cr_assert(refuses("=1", "NAME=NUMBER"));
    cr_assert(refuses("", "NAME=NUMBER"));
    cr_assert(refuses("mosaic=1,", "NAME=NUMBER"));
    cr_assert(refuses("mosaic=much", "mosaic is \"much\": it takes a number"));
    cr_assert(refuses("mosaic=0.5x", "it takes a number"));
    cr_assert(refuses("mosaic=nan", "it takes a number"));
    cr_assert(refuses("ir_shift=1.5", "ir_shift is 1.5: it takes a whole number"));
    cr_assert(refuses("ir_shift=-1", "a whole number"));
    cr_assert(refuses("ir_shift=1e300", "a whole number"));
    cr_assert(refuses("hsv_on_ir=2", "0 or 1"));
    cr_assert(refuses("copy_paste=0.3", "copy_paste is 0.3: the loader has no copy-paste"));
    cr_assert(refuses("erasing=0.4", "classification"));
    cr_assert(refuses("auto_augment=randaugment", "classification"));
    char name[200], value[200];
    snprintf(name, sizeof name, "%0150d=1", 0);
    snprintf(value, sizeof value, "mosaic=%0150d", 1);
    cr_assert(refuses(name, "too long"));
    cr_assert(refuses(value, "too long"));
}

/* All keys that an args.yaml of Ultralytics 8.4 has: none may be taken for a misspelling of another. */
Test(augment, arguments_of_a_training) {
    static const char text[] =
        "task: detect\nmode: train\nmodel: yolo11n.pt\ndata: coco128.yaml\nepochs: 3\ntime: null\npatience: 100\nbatch: 16\n"
        "imgsz: 640\nsave: true\nsave_period: -1\ncache: false\ndevice: null\nworkers: 8\nproject: null\nname: train\n"
        "exist_ok: false\npretrained: true\noptimizer: auto\nverbose: true\nseed: 0\ndeterministic: true\nsingle_cls: false\n"
        "rect: false\ncos_lr: false\nclose_mosaic: 10\nresume: false\namp: true\nfraction: 1.0\nprofile: false\nfreeze: null\n"
        "multi_scale: 0.0\ncompile: false\noverlap_mask: true\nmask_ratio: 4\ndropout: 0.0\nval: true\nsplit: val\n"
        "save_json: false\nconf: null\niou: 0.7\nmax_det: 300\nhalf: false\ndnn: false\nplots: true\nend2end: null\n"
        "source: null\nvid_stride: 1\nstream_buffer: false\nvisualize: false\naugment: false\nagnostic_nms: false\n"
        "classes: [0, 2]\nretina_masks: false\nembed: null\nshow: false\nsave_frames: false\nsave_txt: false\nsave_conf: false\n"
        "save_crop: false\nshow_labels: true\nshow_conf: true\nshow_boxes: true\nline_width: null\nformat: torchscript\n"
        "keras: false\noptimize: false\nint8: false\ndynamic: false\nsimplify: true\nopset: null\nworkspace: null\nnms: false\n"
        "lr0: 0.01\nlrf: 0.01\nmomentum: 0.937\nweight_decay: 0.0005\nwarmup_epochs: 3.0\nwarmup_momentum: 0.8\n"
        "warmup_bias_lr: 0.1\nbox: 7.5\ncls: 0.5\ncls_pw: 0.0\ndfl: 1.5\npose: 12.0\nkobj: 1.0\nrle: 1.0\nangle: 1.0\nnbs: 64\n"
        "hsv_h: 0.02\nhsv_s: 0.6\nhsv_v: 0.3\ndegrees: 5.0\ntranslate: 0.2\nscale: 0.4\nshear: 1.0\nperspective: 0.0005\n"
        "flipud: 0.1\nfliplr: 0.4\nbgr: 0.05\nmosaic: 0.9\nmixup: 0.15\ncutmix: 0.1\ncopy_paste: 0.0\ncopy_paste_mode: flip\n"
        "auto_augment: randaugment\nerasing: 0.4\ncrop_fraction: 1.0\ncfg: null\ntracker: botsort.yaml\n"
        "save_dir: runs/train\nfl_gamma: 0.0\nlabel_smoothing: 0.0\nanchor_t: 4.0\nobj: 1.0\nobj_pw: 1.0\niou_t: 0.2\n";
    ypk_loader_options expected = options;
    cr_assert_eq(read_yaml(text), 0, "%s", error.message);
    cr_assert_eq(
        augment_parse(&expected,
                      "hsv_h=0.02,hsv_s=0.6,hsv_v=0.3,degrees=5,translate=0.2,scale=0.4,shear=1,perspective=0.0005,"
                      "flipud=0.1,fliplr=0.4,bgr=0.05,mosaic=0.9,mixup=0.15,cutmix=0.1",
                      &error),
        0);
    cr_assert_eq(memcmp(&options, &expected, sizeof options), 0);
    cr_assert(was_left_out("close_mosaic") && was_left_out("classes") && was_left_out("erasing") &&
              was_left_out("lr0"));
    cr_assert_not(was_left_out("mosaic") || was_left_out("copy_paste"));
}

Test(augment, a_file_of_mistakes) {
    cr_assert_eq(read_yaml("mosaic: 1.0\nmosiac: 0.5\n"), ERR_INPUT);
    cr_assert(strstr(error.message, "hyp.yaml:2: ") && strstr(error.message, "did you mean mosaic?"), "%s",
              error.message);
    cr_assert_eq(read_yaml("degrees: much\n"), ERR_INPUT);
    cr_assert(strstr(error.message, "hyp.yaml:1: degrees is \"much\""));
    cr_assert_eq(read_yaml("degrees: [1, 2]\n"), ERR_INPUT);
    cr_assert(strstr(error.message, "hyp.yaml:1: degrees takes a number"));
    cr_assert_eq(read_yaml("\n\ncopy_paste: 0.3\n"), ERR_INPUT);
    cr_assert(strstr(error.message, "hyp.yaml:3: copy_paste is 0.3"));
    cr_assert_eq(read_yaml("- mosaic\n- 1\n"), ERR_INPUT);
    cr_assert_eq(read_yaml("mosaic\n"), ERR_INPUT);
    cr_assert_eq(read_yaml(""), ERR_INPUT);
    cr_assert_eq(read_yaml("mosaic: \"1\nscale: 2"), ERR_INPUT);
    cr_assert_eq(read_yaml("{mosaic: 1, [a]: 2}"), ERR_INPUT);
    cr_assert_eq(read_yaml("\xff\xfe"), ERR_INPUT);
}

Test(augment, a_file_of_odd_but_right_values) {
    cr_assert_eq(
        read_yaml("# mine\nmulti_scale: False\nmixup:\ncutmix: ~\nmosaic: '0.25'\nlr: {a: [1, {b: 2}]}\nbgr: 1\n"), 0,
        "%s", error.message);
    cr_assert_eq(options.multi_scale + options.mixup + options.cutmix, 0);
    cr_assert_eq(options.mosaic, 0.25);
    cr_assert_eq(options.bgr, 1);
    cr_assert_eq(left_out.count, 1);
}

Test(augment, a_file_that_is_not_there) {
    cr_assert_eq(augment_read(&options, &left_out, "/nowhere/args.yaml", &error), ERR_NOT_FOUND);
    cr_assert(strstr(error.message, "/nowhere/args.yaml"));
}
