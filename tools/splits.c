#include "splits.h"

#include "manifest.h"
#include "pack_manifest.h"
#include "suggest.h"

#include <stdio.h>
#include <string.h>

enum { SPLIT_LIMIT = 64 };

int splits_open(struct splits *s, const char *pack, struct error *error) {
    *s = (struct splits){.pack = pack};
    int rc = manifest_read(&s->manifest, pack, error);
    if (rc == 0 && !json_is_object(json_object_get(s->manifest, "splits"))) {
        rc = error_set(error, ERR_CORRUPT, "%s/%s: it names no splits", pack, MANIFEST_NAME);
        splits_close(s);
    }
    return rc;
}

void splits_close(struct splits *s) {
    json_decref(s->manifest);
    s->manifest = NULL;
}

const char *splits_name(const struct splits *s, size_t index, const char **same_as) {
    const char *name;
    json_t *split;
    json_object_foreach(json_object_get(s->manifest, "splits"), name, split) {
        if (index-- == 0) {
            *same_as = json_string_value(json_object_get(split, "same_as"));
            return name;
        }
    }
    return NULL;
}

static int unknown_split(const struct splits *s, const char *split, struct error *error) {
    const char *names[SPLIT_LIMIT], *same_as;
    size_t count = 0;
    while (count < SPLIT_LIMIT && (names[count] = splits_name(s, count, &same_as)) != NULL)
        count++;
    const char *near = suggest_nearest(split, names, count);
    if (near != NULL)
        return error_set(error, ERR_NOT_FOUND, "%s has no split %s (did you mean %s?)", s->pack, split, near);
    return error_set(error, ERR_NOT_FOUND, "%s has no split %s (yolopack info %s lists them)", s->pack, split, s->pack);
}

int splits_dataset(ypk_dataset **out, const struct splits *s, const char *split, struct error *error) {
    return splits_dataset_with(out, s, (ypk_dataset_options){.split = split}, error);
}

int splits_dataset_with(ypk_dataset **out, const struct splits *s, ypk_dataset_options options, struct error *error) {
    const char *split = options.split;
    ypk_error detail;
    options.size = sizeof options;
    if (split != NULL && json_object_get(json_object_get(s->manifest, "splits"), split) == NULL)
        return unknown_split(s, split, error);
    if (ypk_dataset_open(out, s->pack, &options, &detail) != YPK_OK)
        return splits_error(error, &detail);
    return 0;
}

int splits_check_classes(const ypk_dataset *dataset, struct error *error) {
    ypk_dataset_info info;
    ypk_dataset_get_info(dataset, &info);
    for (uint32_t i = 0; i < info.class_count; i++)
        if (ypk_dataset_class_name(dataset, i) == NULL)
            return error_set(error, ERR_CORRUPT, "split %s: the index is damaged: class %u of %u has no name",
                             info.split, i, info.class_count);
    return 0;
}

int splits_flip_index(struct flip_index *out, const struct splits *s, const ypk_dataset *dataset, struct error *error) {
    ypk_dataset_info info;
    ypk_dataset_get_info(dataset, &info);
    bool sound = pack_manifest_flip_index(out, json_object_get(s->manifest, "options"));
    if (!sound || (out->count > 0 && out->count != info.keypoint_count))
        return error_set(error, ERR_CORRUPT, "%s/%s: its flip_idx is none of %u key points (yolopack verify says more)",
                         s->pack, MANIFEST_NAME, info.keypoint_count);
    return 0;
}

int splits_error(struct error *to, const ypk_error *from) {
    to->code = from->code;
    to->os_errno = from->os_errno;
    to->offset = from->offset;
    snprintf(to->message, sizeof to->message, "%s", from->message);
    return from->code;
}
