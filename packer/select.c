#include "select.h"

#include "hash.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct ranked {
    uint64_t key;
    size_t index; /* in the order of names */
};

static int compare_key(const void *a, const void *b) {
    const struct ranked *x = a, *y = b;
    return x->key != y->key ? (x->key > y->key) - (x->key < y->key) : (x->index > y->index) - (x->index < y->index);
}

static int compare_index(const void *a, const void *b) {
    const struct ranked *x = a, *y = b;
    return (x->index > y->index) - (x->index < y->index);
}

int select_fraction(struct split_source *split, double fraction) {
    size_t count = split->count, kept = (size_t)ceil((double)count * fraction);
    if (kept >= count)
        return 0;
    struct ranked *ranked = malloc(count * sizeof *ranked);
    if (!ranked)
        return ERR_MEMORY;
    for (size_t i = 0; i < count; i++) {
        const char *name = sample_source_name(&split->samples[i]);
        ranked[i] = (struct ranked){XXH3_64bits(name, strlen(name)), i};
    }
    qsort(ranked, count, sizeof *ranked, compare_key);
    qsort(ranked, kept, sizeof *ranked, compare_index);
    for (size_t i = 0; i < kept; i++)
        split->samples[i] = split->samples[ranked[i].index];
    split->count = kept;
    free(ranked);
    return 0;
}

void select_part(struct split_source *split, uint32_t number, uint32_t count) {
    size_t first = (size_t)((uint64_t)split->count * number / count);
    size_t end = (size_t)((uint64_t)split->count * ((uint64_t)number + 1) / count);
    memmove(split->samples, split->samples + first, (end - first) * sizeof *split->samples);
    split->count = end - first;
}

static void hash_path(XXH3_state_t *state, const char *path) {
    XXH3_64bits_update(state, path ? path : "", path ? strlen(path) + 1 : 1);
}

int select_hash(uint64_t *out, const struct source_set *sources) {
    XXH3_state_t *state = XXH3_createState();
    if (!state)
        return ERR_MEMORY;
    XXH3_64bits_reset(state);
    for (size_t i = 0; i < sources->split_count; i++) {
        const struct split_source *split = &sources->splits[i];
        hash_path(state, split->name);
        for (size_t k = 0; k < split->count; k++) {
            hash_path(state, split->samples[k].rgb);
            hash_path(state, split->samples[k].ir);
            hash_path(state, split->samples[k].label);
        }
    }
    *out = XXH3_64bits_digest(state);
    XXH3_freeState(state);
    return 0;
}
