#include "pair_rule.h"

#include "file.h"

#include <stdio.h>
#include <string.h>

const struct pair_rule *pair_rule_auto(size_t i) {
    static const struct pair_rule rules[] = {
        {PAIR_BY_DIRECTORY, "images", "imagesIR", NULL},
        {PAIR_BY_DIRECTORY, "visible", "infrared", NULL},
        {PAIR_BY_DIRECTORY, "vi", "ir", NULL},
        {PAIR_BY_DIRECTORY, "rgb", "ir", NULL},
        {PAIR_BY_DIRECTORY, "RGB", "IR", NULL},
        {PAIR_BY_DIRECTORY, "images", "image", NULL},
        {PAIR_BY_DIRECTORY, "trainimg", "trainimgr", NULL},
        {PAIR_BY_DIRECTORY, "visible", "thermal", NULL},
        {PAIR_BY_DIRECTORY, "rgb", "thermal", NULL},
        {PAIR_BY_DIRECTORY, "images", "ir", NULL},
        {PAIR_BY_DIRECTORY, "images", "imagesir", NULL},
        {PAIR_BY_DIRECTORY, "Visible", "Infrared", NULL},
        {PAIR_BY_DIRECTORY, "Vis", "Ir", NULL},
        {PAIR_BY_DIRECTORY, "vis", "ir", NULL},
        {PAIR_BY_DIRECTORY, "visible", "lwir", NULL},
        {PAIR_BY_SUFFIX, "_co", "_ir", NULL},
        {PAIR_BY_SUFFIX, "_RGB", "_PreviewData", NULL},
        {PAIR_BY_SUFFIX, "_rgb", "_ir", NULL},
        {PAIR_BY_SUFFIX, "_visible", "_infrared", NULL},
        {PAIR_BY_SUFFIX, "", "_ir", NULL},
    };
    return i < sizeof rules / sizeof *rules ? &rules[i] : NULL;
}

static int parse_words(struct pair_rule *out, const char *text, const char *words, struct error *error) {
    const char *equals = strchr(words, '=');
    size_t rgb_size = equals ? (size_t)(equals - words) : 0, ir_size = equals ? strlen(equals + 1) : 0;
    if (!equals || strchr(equals + 1, '=') || strchr(words, '/') || rgb_size >= PAIR_WORD_BYTES ||
        ir_size >= PAIR_WORD_BYTES)
        return error_set(error, ERR_ARGUMENT, "--pair %s: expected %s:RGB=IR, two %s without '/'", text,
                         out->kind == PAIR_BY_DIRECTORY ? "dir" : "suffix",
                         out->kind == PAIR_BY_DIRECTORY ? "names of directories" : "endings of file names");
    memcpy(out->rgb, words, rgb_size);
    memcpy(out->ir, equals + 1, ir_size);
    if (strcmp(out->rgb, out->ir) == 0)
        return error_set(error, ERR_ARGUMENT, "--pair %s: RGB and IR are the same", text);
    if (out->kind == PAIR_BY_DIRECTORY && (rgb_size == 0 || ir_size == 0))
        return error_set(error, ERR_ARGUMENT, "--pair %s: the name of a directory is empty", text);
    return 0;
}

int pair_rule_parse(struct pair_rule *out, const char *text, struct error *error) {
    *out = (struct pair_rule){.kind = PAIR_BY_DIRECTORY};
    if (strcmp(text, "yolofuse") == 0) {
        *out = *pair_rule_auto(0);
        return 0;
    }
    if (strncmp(text, "dir:", 4) == 0)
        return parse_words(out, text, text + 4, error);
    if (strncmp(text, "suffix:", 7) == 0) {
        out->kind = PAIR_BY_SUFFIX;
        return parse_words(out, text, text + 7, error);
    }
    if (strncmp(text, "map:", 4) == 0 && text[4] != '\0') {
        out->kind = PAIR_BY_MAP;
        out->map_file = text + 4;
        return 0;
    }
    return error_set(error, ERR_ARGUMENT, "--pair %s: expected auto, yolofuse, dir:RGB=IR, suffix:RGB=IR or map:FILE",
                     text);
}

const char *path_component(const char *path, const char *word) {
    size_t size = strlen(word);
    for (const char *end = strrchr(path, '/'); end;) {
        const char *start = end;
        while (start > path && start[-1] != '/')
            start--;
        if ((size_t)(end - start) == size && memcmp(start, word, size) == 0)
            return start;
        end = start > path ? start - 1 : NULL;
    }
    return NULL;
}

size_t path_stem_size(const char *path) {
    const char *suffix = path_suffix(path);
    return *suffix ? (size_t)(suffix - path) - 1 : strlen(path);
}

static bool ends_with(const char *path, size_t stem_size, const char *word) {
    size_t size = strlen(word), name_size = stem_size - (size_t)(path_base(path) - path);
    return size != 0 && size < name_size && memcmp(path + stem_size - size, word, size) == 0;
}

enum pair_role pair_rule_role(const struct pair_rule *rule, const char *path) {
    if (rule->kind == PAIR_BY_DIRECTORY) {
        const char *rgb = path_component(path, rule->rgb), *ir = path_component(path, rule->ir);
        return rgb && (!ir || rgb > ir) ? ROLE_RGB : ir ? ROLE_IR : ROLE_NONE;
    }
    size_t stem_size = path_stem_size(path);
    bool rgb = ends_with(path, stem_size, rule->rgb), ir = ends_with(path, stem_size, rule->ir);
    if (rgb && ir) /* "_ir" and "_near_ir": the longer says more */
        return strlen(rule->rgb) > strlen(rule->ir) ? ROLE_RGB : ROLE_IR;
    if (rgb || ir)
        return rgb ? ROLE_RGB : ROLE_IR;
    return rule->rgb[0] == '\0' ? ROLE_RGB : rule->ir[0] == '\0' ? ROLE_IR : ROLE_NONE;
}

bool pair_rule_rgb_stem(const struct pair_rule *rule, const char *ir_path, char out[PATH_MAX]) {
    size_t stem_size = path_stem_size(ir_path), word_size = strlen(rule->ir);
    size_t head =
        rule->kind == PAIR_BY_SUFFIX ? stem_size - word_size : (size_t)(path_component(ir_path, rule->ir) - ir_path);
    size_t tail = head + word_size;
    int size =
        snprintf(out, PATH_MAX, "%.*s%s%.*s.", (int)head, ir_path, rule->rgb, (int)(stem_size - tail), ir_path + tail);
    return size < PATH_MAX;
}

void pair_rule_describe(const struct pair_rule *rule, char *out) {
    const struct pair_rule *yolofuse = pair_rule_auto(0);
    bool literal = strcmp(rule->rgb, yolofuse->rgb) == 0 && strcmp(rule->ir, yolofuse->ir) == 0;
    switch (rule->kind) {
    case PAIR_BY_DIRECTORY:
        snprintf(out, 256, "%s/ + %s/ by name%s", rule->rgb, rule->ir, literal ? " (YOLOFuse layout)" : "");
        break;
    case PAIR_BY_SUFFIX: snprintf(out, 256, "*%s + *%s by suffix", rule->rgb, rule->ir); break;
    case PAIR_BY_MAP: snprintf(out, 256, "by map %.200s", rule->map_file); break;
    case PAIR_BY_LIST: snprintf(out, 256, "by name (train_ir, val_ir, test_ir of data.yaml)"); break;
    case PAIR_SINGLE: snprintf(out, 256, "one picture a sample"); break;
    }
}
