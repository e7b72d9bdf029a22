#include "normalise.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int parse_pair(struct normalise *out, const char *text, double limit, struct error *error) {
    int used = 0;
    if (sscanf(text, "%lf,%lf%n", &out->low, &out->high, &used) != 2 || text[used] != '\0' || !(out->low >= 0) ||
        !(out->low < out->high) || !(out->high <= limit))
        return error_set(error, ERR_ARGUMENT, "\"%s\" is not LOW,HIGH with 0 <= LOW < HIGH <= %g", text, limit);
    return 0;
}

int normalise_parse(struct normalise *out, const char *text, struct error *error) {
    *out = (struct normalise){0};
    if (strcmp(text, "minmax") == 0) {
        out->kind = NORMALISE_MINMAX;
        return 0;
    }
    if (strncmp(text, "percentile:", 11) == 0) {
        out->kind = NORMALISE_PERCENTILE;
        return parse_pair(out, text + 11, 100, error);
    }
    if (strncmp(text, "range:", 6) == 0) {
        out->kind = NORMALISE_RANGE;
        return parse_pair(out, text + 6, 65535, error);
    }
    return error_set(error, ERR_ARGUMENT, "\"%s\" is not percentile:LOW,HIGH, minmax or range:LOW,HIGH", text);
}

static uint16_t sample_at(const struct pixels *p, uint32_t y, size_t i) {
    uint16_t v;
    memcpy(&v, p->data + y * p->stride + i * sizeof v, sizeof v);
    return v;
}

/* The smallest count that `percent` of the samples do not exceed. */
static uint32_t percentile(const uint64_t *histogram, uint64_t total, double percent) {
    uint64_t wanted = (uint64_t)(percent / 100 * (double)total + 0.5), seen = 0;
    if (wanted == 0)
        wanted = 1;
    for (uint32_t v = 0; v < 65536; v++)
        if ((seen += histogram[v]) >= wanted)
            return v;
    return 65535;
}

int normalise_range(const struct pixels *in, const struct normalise *rule, uint32_t *low, uint32_t *high,
                    struct error *error) {
    if (rule->kind == NORMALISE_RANGE) {
        *low = (uint32_t)rule->low;
        *high = (uint32_t)(rule->high + 0.5);
        return 0;
    }
    uint64_t *histogram = calloc(65536, sizeof *histogram);
    if (!histogram)
        return error_set(error, ERR_MEMORY, "out of memory for a histogram");
    size_t row = (size_t)in->width * in->channels;
    for (uint32_t y = 0; y < in->height; y++)
        for (size_t i = 0; i < row; i++)
            histogram[sample_at(in, y, i)]++;
    bool minmax = rule->kind == NORMALISE_MINMAX;
    *low = percentile(histogram, (uint64_t)row * in->height, minmax ? 0 : rule->low);
    *high = percentile(histogram, (uint64_t)row * in->height, minmax ? 100 : rule->high);
    free(histogram);
    return 0;
}

int normalise_to_8bit(struct pixels *out, const struct pixels *in, const struct normalise *rule, struct error *error) {
    uint32_t low = 0, high = 0;
    int rc = normalise_range(in, rule, &low, &high, error);
    if (rc == 0)
        rc = pixels_init(out, in->width, in->height, in->channels, 8, error);
    if (rc != 0)
        return rc;
    for (uint32_t y = 0; y < in->height; y++)
        pixels_scale_row(out->data + y * out->stride, (const uint16_t *)(const void *)(in->data + y * in->stride),
                         in->width * in->channels, low, high);
    return 0;
}

int pixels_high_bytes(struct pixels *out, const struct pixels *in, struct error *error) {
    int rc = pixels_init(out, in->width, in->height, in->channels, 8, error);
    size_t row = (size_t)in->width * in->channels;
    for (uint32_t y = 0; rc == 0 && y < in->height; y++)
        for (size_t i = 0; i < row; i++)
            out->data[y * out->stride + i] = (uint8_t)(sample_at(in, y, i) >> 8);
    return rc;
}
