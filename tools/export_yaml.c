#include "export_yaml.h"

#include "file.h"
#include "output.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

int export_yaml_split(struct export_yaml *y, const char *name, const char *same_as, struct error *error) {
    if (y->split_count == sizeof y->splits / sizeof y->splits[0])
        return error_set(error, ERR_CORRUPT, "the pack has too many splits");
    struct export_split *split = &y->splits[y->split_count++];
    *split = (struct export_split){0};
    snprintf(split->name, sizeof split->name, "%s", name);
    snprintf(split->same_as, sizeof split->same_as, "%s", same_as != NULL ? same_as : "");
    return 0;
}

/* Shortens `directory` to what it has in common with the directory of `path`, component by component. */
static void narrow(char *directory, const char *path) {
    size_t common = 0;
    for (size_t i = 0;; i++) {
        bool end = directory[i] == '\0' || directory[i] == '/';
        if (end && path[i] == '/')
            common = i;
        if (directory[i] == '\0' || directory[i] != path[i])
            break;
    }
    directory[common] = '\0';
}

/* The only component in which the directories of `a` and `b` differ; NULL if there is none or more than one. */
static const char *different_component(const char *a, const char *b, size_t *position, size_t *a_length,
                                       size_t *b_length) {
    const char *found = NULL;
    for (size_t i = 0;; i++) {
        const char *a_end = strchr(a, '/'), *b_end = strchr(b, '/');
        if (a_end == NULL || b_end == NULL)
            return a_end == b_end ? found : NULL;
        size_t n = (size_t)(a_end - a), m = (size_t)(b_end - b);
        if (n != m || memcmp(a, b, n) != 0) {
            if (found != NULL)
                return NULL;
            found = b;
            *position = i;
            *a_length = n;
            *b_length = m;
        }
        a = a_end + 1;
        b = b_end + 1;
    }
}

static bool same_stem(const char *a, const char *b) {
    const char *x = path_base(a), *y = path_base(b);
    size_t n = strlen(x) - strlen(path_suffix(x)), m = strlen(y) - strlen(path_suffix(y));
    return n == m && memcmp(x, y, n) == 0;
}

static int note_partner(struct export_split *split, const char *image, const char *ir) {
    size_t position = 0, from_length = 0, to_length = 0;
    const char *to = different_component(image, ir, &position, &from_length, &to_length);
    if (to == NULL || !same_stem(image, ir)) {
        split->ir_irregular = true;
        return 0;
    }
    if (split->ir_word == NULL) {
        const char *from = image + (to - ir);
        split->ir_component = position;
        split->ir_by_rule =
            from_length == 6 && to_length == 8 && memcmp(from, "images", 6) == 0 && memcmp(to, "imagesIR", 8) == 0;
        split->ir_word = strndup(to, to_length);
        return split->ir_word != NULL ? 0 : ERR_MEMORY;
    }
    if (position != split->ir_component || strlen(split->ir_word) != to_length ||
        memcmp(split->ir_word, to, to_length) != 0)
        split->ir_irregular = true;
    return 0;
}

int export_yaml_sample(struct export_yaml *y, const char *image, const char *ir) {
    struct export_split *split = &y->splits[y->split_count - 1];
    int rc = bytes_append(&split->list, "./", 2);
    if (rc == 0)
        rc = bytes_append(&split->list, image, strlen(image));
    if (rc == 0)
        rc = bytes_append(&split->list, "\n", 1);
    if (rc == 0 && split->directory == NULL) {
        split->directory = strndup(image, (size_t)(path_base(image) - image));
        if (split->directory == NULL)
            return ERR_MEMORY;
        if (split->directory[0] != '\0')
            split->directory[strlen(split->directory) - 1] = '\0';
    }
    if (rc == 0)
        narrow(split->directory, image);
    return rc == 0 && ir != NULL ? note_partner(split, image, ir) : rc;
}

/* ---- writing ----------------------------------------------------------------------------------------------------- */

static int add(struct bytes *out, const char *format, ...) __attribute__((format(printf, 2, 3)));
static int add(struct bytes *out, const char *format, ...) {
    va_list list;
    char *text;
    va_start(list, format);
    int length = vasprintf(&text, format, list);
    va_end(list);
    if (length < 0)
        return ERR_MEMORY;
    int rc = bytes_append(out, text, (size_t)length);
    free(text);
    return rc;
}

/* "key: "text"\n": a JSON string is a YAML scalar too, whatever characters it has. */
static int add_scalar(struct bytes *out, const char *key, const char *text) {
    json_t *value = json_string(text);
    char *quoted = value != NULL ? json_dumps(value, JSON_ENCODE_ANY) : NULL;
    int rc = quoted != NULL ? add(out, "%s: %s\n", key, quoted) : ERR_MEMORY;
    free(quoted);
    json_decref(value);
    return rc;
}

static bool is_below(const char *directory, const char *parent) {
    size_t n = strlen(parent);
    return n == 0 || (strncmp(directory, parent, n) == 0 && (directory[n] == '\0' || directory[n] == '/'));
}

/* True if the directory alone says which images are the split's, and YAML can say the directory. */
static bool directory_says_all(const struct export_yaml *y, const struct export_split *split) {
    json_t *text = json_string(split->directory != NULL ? split->directory : "");
    bool printable = text != NULL;
    json_decref(text);
    if (!printable || split->directory == NULL || split->directory[0] == '\0')
        return false;
    for (size_t i = 0; i < y->split_count; i++) {
        const struct export_split *other = &y->splits[i];
        if (other != split && other->directory != NULL &&
            (is_below(other->directory, split->directory) || is_below(split->directory, other->directory)))
            return false;
    }
    return true;
}

/* The split's directory with the IR component in its place; NULL if no key is needed or none could say it. */
static char *ir_directory(const struct export_split *split) {
    const char *start = split->directory;
    char *out;
    if (split->ir_word == NULL || split->ir_irregular || split->ir_by_rule)
        return NULL;
    for (size_t i = 0; i < split->ir_component && start != NULL; i++) {
        start = strchr(start, '/');
        start = start != NULL ? start + 1 : NULL;
    }
    if (start == NULL)
        return NULL;
    int length = asprintf(&out, "%.*s%s%s", (int)(start - split->directory), split->directory, split->ir_word,
                          start + strcspn(start, "/"));
    return length >= 0 ? out : NULL;
}

static const struct export_split *source_of(const struct export_yaml *y, const struct export_split *split) {
    for (size_t i = 0; split->same_as[0] != '\0' && i < y->split_count; i++)
        if (strcmp(y->splits[i].name, split->same_as) == 0)
            return &y->splits[i];
    return split;
}

static int add_split(const struct export_yaml *y, const struct export_split *split, struct bytes *out,
                     struct tree *tree, struct error *error) {
    const struct export_split *source = source_of(y, split);
    char name[64];
    if (directory_says_all(y, source)) {
        char *ir = ir_directory(source);
        int rc = add_scalar(out, split->name, source->directory);
        snprintf(name, sizeof name, "%s_ir", split->name);
        if (rc == 0 && ir != NULL)
            rc = add_scalar(out, name, ir);
        free(ir);
        return rc != 0 ? error_set(error, rc, "out of memory") : 0;
    }
    snprintf(name, sizeof name, "%s.txt", split->name);
    if (add_scalar(out, split->name, name) != 0)
        return error_set(error, ERR_MEMORY, "out of memory");
    return tree_write(tree, name, source->list.data, source->list.size, error);
}

static int add_flip_index(struct bytes *out, const struct flip_index *flip) {
    int rc = 0;
    for (uint32_t i = 0; rc == 0 && i < flip->count; i++)
        rc = add(out, "%s%u", i > 0 ? ", " : "flip_idx: [", flip->places[i]);
    return rc == 0 && flip->count > 0 ? add(out, "]\n") : rc;
}

static int add_classes(struct bytes *out, const ypk_dataset *dataset, const ypk_dataset_info *info,
                       const struct flip_index *flip) {
    static const char *const tasks[] = {[YPK_SEGMENT] = "segment", [YPK_POSE] = "pose", [YPK_OBB] = "obb"};
    int rc = 0;
    if (info->task >= YPK_SEGMENT && info->task <= YPK_OBB)
        rc = add(out, "task: %s\n", tasks[info->task]);
    if (rc == 0 && info->keypoint_count > 0)
        rc = add(out, "kpt_shape: [%u, %u]\n", info->keypoint_count, info->point_dims);
    if (rc == 0)
        rc = add_flip_index(out, flip);
    if (rc == 0 && info->class_count > 0)
        rc = add(out, "names:\n");
    for (uint32_t i = 0; rc == 0 && i < info->class_count; i++) {
        char key[24];
        snprintf(key, sizeof key, "  %u", i);
        rc = add_scalar(out, key, ypk_dataset_class_name(dataset, i));
    }
    return rc;
}

int export_yaml_write(const struct export_yaml *y, struct tree *tree, const ypk_dataset *dataset,
                      const struct flip_index *flip, struct error *error) {
    struct bytes out = {0};
    ypk_dataset_info info;
    ypk_dataset_get_info(dataset, &info);
    int rc = add(&out, "path: .\n");
    for (size_t i = 0; rc == 0 && i < y->split_count; i++)
        rc = add_split(y, &y->splits[i], &out, tree, error);
    if (rc == 0 && (rc = add_classes(&out, dataset, &info, flip)) != 0)
        error_set(error, rc, "out of memory for data.yaml");
    if (rc == 0)
        rc = tree_write(tree, "data.yaml", out.data, out.size, error);
    bytes_deinit(&out);
    return rc;
}

void export_yaml_deinit(struct export_yaml *y) {
    for (size_t i = 0; i < y->split_count; i++) {
        bytes_deinit(&y->splits[i].list);
        free(y->splits[i].directory);
        free(y->splits[i].ir_word);
    }
    *y = (struct export_yaml){0};
}
