#include "augment.h"

#include "file.h"
#include "suggest.h"

#include <ctype.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <yaml.h>

enum { NAME_LIMIT = 64, VALUE_LIMIT = 64, FILE_LIMIT_BYTES = 1 << 20 };

enum kind { FRACTION, WHOLE, SWITCH };

#define FIELD(name, kind)                                                                                              \
    { #name, kind, offsetof(ypk_loader_options, name) }

static const struct setting {
    const char *name;
    enum kind kind;
    size_t offset; /* in ypk_loader_options */
} settings[] = {
    FIELD(mosaic, FRACTION),        FIELD(mixup, FRACTION),       FIELD(cutmix, FRACTION),
    FIELD(degrees, FRACTION),       FIELD(translate, FRACTION),   FIELD(scale, FRACTION),
    FIELD(shear, FRACTION),         FIELD(perspective, FRACTION), FIELD(hsv_h, FRACTION),
    FIELD(hsv_s, FRACTION),         FIELD(hsv_v, FRACTION),       FIELD(flipud, FRACTION),
    FIELD(fliplr, FRACTION),        FIELD(bgr, FRACTION),         FIELD(multi_scale, FRACTION),
    FIELD(ir_gain, FRACTION),       FIELD(ir_bias, FRACTION),     FIELD(ir_noise, FRACTION),
    FIELD(ir_invert, FRACTION),     FIELD(drop_rgb, FRACTION),    FIELD(drop_ir, FRACTION),
    FIELD(stride, WHOLE),           FIELD(mosaic_depth, WHOLE),   FIELD(ir_shift, WHOLE),
    FIELD(mosaic_pool_all, SWITCH), FIELD(hsv_on_ir, SWITCH),
};

enum { SETTING_COUNT = sizeof settings / sizeof settings[0] };

/* What Ultralytics has besides. */
static const struct foreign {
    const char *name;
    bool detects; /* it has a part in training a detector */
} foreign[] = {{"copy_paste", true}, {"erasing", false}, {"auto_augment", false}};

static const struct setting *find_setting(const char *name) {
    for (size_t i = 0; i < SETTING_COUNT; i++)
        if (strcmp(settings[i].name, name) == 0)
            return &settings[i];
    return NULL;
}

static const struct foreign *find_foreign(const char *name) {
    for (size_t i = 0; i < sizeof foreign / sizeof foreign[0]; i++)
        if (strcmp(foreign[i].name, name) == 0)
            return &foreign[i];
    return NULL;
}

static const char *nearest(const char *name) {
    const char *names[SETTING_COUNT];
    for (size_t i = 0; i < SETTING_COUNT; i++)
        names[i] = settings[i].name;
    return suggest_nearest(name, names, SETTING_COUNT);
}

static bool is_one_of(const char *text, const char *const *words, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (strcasecmp(text, words[i]) == 0)
            return true;
    return false;
}

/* A decimal number, or what YAML has for on and off. */
static bool parse_number(double *out, const char *text) {
    static const char *const off[] = {"false", "no", "off", "null", "none", "~"}, *const on[] = {"true", "yes", "on"};
    char *end;
    *out = is_one_of(text, on, sizeof on / sizeof on[0]);
    if (*out > 0 || is_one_of(text, off, sizeof off / sizeof off[0]))
        return true;
    if (!isdigit((unsigned char)text[strspn(text, "+-.")]))
        return false;
    *out = strtod(text, &end);
    return *end == '\0';
}

static int set(ypk_loader_options *out, const struct setting *s, const char *text, struct error *error) {
    char *field = (char *)out + s->offset;
    double value;
    if (!parse_number(&value, text))
        return error_set(error, ERR_ARGUMENT, "%s is \"%s\": it takes a number", s->name, text);
    if (s->kind == FRACTION) {
        memcpy(field, &value, sizeof value);
        return 0;
    }
    uint32_t highest = s->kind == SWITCH ? 1 : INT32_MAX;
    if (!(value >= 0 && value <= highest) || value != (double)(uint32_t)value)
        return error_set(error, ERR_ARGUMENT, "%s is %s: it takes %s", s->name, text,
                         s->kind == SWITCH ? "0 or 1" : "a whole number");
    memcpy(field, &(uint32_t){(uint32_t)value}, sizeof(uint32_t)); /* an int in 0 … 1 has the same bytes */
    return 0;
}

static int refuse_foreign(const struct foreign *f, const char *text, struct error *error) {
    double value;
    if (parse_number(&value, text) && value == 0)
        return 0;
    return error_set(error, ERR_ARGUMENT, "%s is %s: %s, so it can only be 0", f->name, text,
                     f->detects ? "the loader has no copy-paste" : "Ultralytics has it for classification alone");
}

static int refuse_name(const char *name, struct error *error) {
    const char *near = nearest(name);
    return error_set(error, ERR_ARGUMENT, "\"%s\" is no augmentation%s%s%s", name, near ? " (did you mean " : "",
                     near ? near : "", near ? "?)" : "");
}

static int set_word(ypk_loader_options *out, const char *word, size_t size, struct error *error) {
    char name[NAME_LIMIT] = "", value[VALUE_LIMIT] = "";
    const char *equals = memchr(word, '=', size);
    size_t name_size = equals ? (size_t)(equals - word) : size, value_size = equals ? size - name_size - 1 : 0;
    if (!equals || name_size == 0 || value_size == 0)
        return error_set(error, ERR_ARGUMENT, "\"%.*s\" is not of the form NAME=NUMBER", (int)size, word);
    if (name_size >= sizeof name || value_size >= sizeof value)
        return error_set(error, ERR_ARGUMENT, "\"%.*s\" is too long for an augmentation and its value", (int)size,
                         word);
    memcpy(name, word, name_size);
    memcpy(value, equals + 1, value_size);
    const struct setting *s = find_setting(name);
    const struct foreign *f = find_foreign(name);
    return s ? set(out, s, value, error) : f ? refuse_foreign(f, value, error) : refuse_name(name, error);
}

int augment_parse(ypk_loader_options *out, const char *list, struct error *error) {
    for (;;) {
        size_t size = strcspn(list, ",");
        int rc = set_word(out, list, size, error);
        if (rc != 0 || list[size] == '\0')
            return rc;
        list += size + 1;
    }
}

/* ---- YAML -------------------------------------------------------------------------------------------------------- */

struct reader {
    ypk_loader_options *out;
    struct string_list *left_out;
    const char *file;
    struct error *error;
    yaml_parser_t parser;
    yaml_event_t event; /* the last one, owned */
};

static int next(struct reader *r) {
    yaml_event_delete(&r->event);
    if (yaml_parser_parse(&r->parser, &r->event))
        return 0;
    if (r->parser.error == YAML_MEMORY_ERROR)
        return error_set(r->error, ERR_MEMORY, "%s: out of memory", r->file);
    return error_set(r->error, ERR_INPUT, "%s:%zu: %s", r->file, r->parser.problem_mark.line + 1, r->parser.problem);
}

/* Passes over the value whose first event is the current one. */
static int skip(struct reader *r) {
    for (int depth = 0, rc;;) {
        yaml_event_type_t type = r->event.type;
        depth += type == YAML_SEQUENCE_START_EVENT || type == YAML_MAPPING_START_EVENT;
        depth -= type == YAML_SEQUENCE_END_EVENT || type == YAML_MAPPING_END_EVENT;
        if (depth == 0)
            return 0;
        if ((rc = next(r)) != 0)
            return rc;
    }
}

/* The value of `key`, which begins with the current event. */
static int take(struct reader *r, const char *key) {
    const struct setting *s = find_setting(key);
    const struct foreign *f = find_foreign(key);
    size_t line = r->event.start_mark.line + 1;
    int rc;
    if (!s && !f && nearest(key)) {
        rc = refuse_name(key, r->error);
    } else if (!s && !(f && f->detects)) {
        rc = string_list_add(r->left_out, key);
        return rc == 0 ? skip(r) : error_set(r->error, rc, "%s: out of memory", r->file);
    } else if (r->event.type != YAML_SCALAR_EVENT) {
        rc = error_set(r->error, ERR_ARGUMENT, "%s takes a number", key);
    } else {
        const char *text = (const char *)r->event.data.scalar.value;
        text = *text ? text : "null"; /* "key:" */
        rc = s ? set(r->out, s, text, r->error) : refuse_foreign(f, text, r->error);
    }
    if (rc != 0) {
        error_prefix(r->error, "%s:%zu: ", r->file, line);
        if (r->error)
            r->error->code = ERR_INPUT;
    }
    return rc == 0 ? 0 : ERR_INPUT;
}

static int take_all(struct reader *r) {
    int rc = 0;
    while (rc == 0 && r->event.type != YAML_MAPPING_START_EVENT) { /* stream, document */
        if (r->event.type == YAML_SCALAR_EVENT || r->event.type == YAML_SEQUENCE_START_EVENT ||
            r->event.type == YAML_STREAM_END_EVENT)
            return error_set(r->error, ERR_INPUT, "%s: is no mapping of names to values", r->file);
        rc = next(r);
    }
    while (rc == 0 && (rc = next(r)) == 0 && r->event.type != YAML_MAPPING_END_EVENT) {
        char key[NAME_LIMIT] = "";
        if (r->event.type != YAML_SCALAR_EVENT)
            return error_set(r->error, ERR_INPUT, "%s:%zu: a key that is no name", r->file,
                             r->event.start_mark.line + 1);
        snprintf(key, sizeof key, "%s", (const char *)r->event.data.scalar.value);
        if ((rc = next(r)) == 0)
            rc = take(r, key);
    }
    return rc;
}

int augment_read_text(ypk_loader_options *out, struct string_list *left_out, const char *file, struct span text,
                      struct error *error) {
    struct reader r = {.out = out, .left_out = left_out, .file = file, .error = error};
    if (!yaml_parser_initialize(&r.parser))
        return error_set(error, ERR_MEMORY, "%s: out of memory", file);
    yaml_parser_set_input_string(&r.parser, text.data, text.size);
    int rc = next(&r);
    if (rc == 0)
        rc = take_all(&r);
    yaml_event_delete(&r.event);
    yaml_parser_delete(&r.parser);
    return rc;
}

int augment_read(ypk_loader_options *out, struct string_list *left_out, const char *file, struct error *error) {
    struct bytes text = {0};
    int rc = file_read(&text, AT_FDCWD, file, FILE_LIMIT_BYTES, error);
    if (rc == 0)
        rc = augment_read_text(out, left_out, file, (struct span){text.data, text.size}, error);
    bytes_deinit(&text);
    return rc;
}
