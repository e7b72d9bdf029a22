#include "export_label.h"

#include "error.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void export_float(char out[EXPORT_FLOAT_BYTES], float value) {
    for (int digits = 1; digits <= 9; digits++) {
        snprintf(out, EXPORT_FLOAT_BYTES, "%.*g", digits, (double)value);
        if (strtof(out, NULL) == value)
            return;
    }
}

static int append_float(struct bytes *out, float value) {
    char text[1 + EXPORT_FLOAT_BYTES] = " ";
    export_float(text + 1, value);
    return bytes_append(out, text, strlen(text));
}

static int append_row(struct bytes *out, const ypk_label *label, const float *points, int task, uint32_t dims) {
    char class_text[16];
    const float box[] = {label->x, label->y, label->width, label->height};
    int length = snprintf(class_text, sizeof class_text, "%u", label->class_id);
    int rc = bytes_append(out, class_text, (size_t)length);
    bool with_box = label->point_count == 0 || task == YPK_POSE;
    for (size_t i = 0; rc == 0 && with_box && i < 4; i++)
        rc = append_float(out, box[i]);
    for (size_t i = 0; rc == 0 && i < (size_t)label->point_count * dims; i++)
        rc = append_float(out, points[i]);
    return rc != 0 ? rc : bytes_append(out, "\n", 1);
}

int export_labels(struct bytes *out, const ypk_sample *sample, int task, uint32_t dims) {
    const float *points = sample->points;
    int rc = 0;
    for (uint32_t i = 0; rc == 0 && i < sample->label_count; i++) {
        rc = append_row(out, &sample->labels[i], points, task, dims);
        points += (size_t)sample->labels[i].point_count * dims;
    }
    return rc;
}
