#include "suggest.h"

#include <string.h>

#define WORD_BYTES 255u

static unsigned char fold(char c) {
    return (unsigned char)(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
}

static unsigned least(unsigned a, unsigned b) {
    return a < b ? a : b;
}

/* Optimal string alignment distance (Damerau-Levenshtein without edits inside a swap), three rows of the matrix. */
static unsigned distance(const char *a, size_t a_size, const char *b, size_t b_size) {
    unsigned rows[3][WORD_BYTES + 1];
    unsigned *before = rows[0], *last = rows[1], *row = rows[2];
    for (size_t k = 0; k <= b_size; k++)
        before[k] = last[k] = (unsigned)k;
    for (size_t i = 1; i <= a_size; i++) {
        row[0] = (unsigned)i;
        for (size_t k = 1; k <= b_size; k++) {
            unsigned replaced = last[k - 1] + (fold(a[i - 1]) != fold(b[k - 1]));
            row[k] = least(replaced, least(last[k], row[k - 1]) + 1);
            if (i > 1 && k > 1 && fold(a[i - 1]) == fold(b[k - 2]) && fold(a[i - 2]) == fold(b[k - 1]))
                row[k] = least(row[k], before[k - 2] + 1);
        }
        unsigned *free_row = before;
        before = last;
        last = row;
        row = free_row;
    }
    return last[b_size];
}

const char *suggest_nearest(const char *word, const char *const *candidates, size_t count) {
    size_t size = strlen(word);
    unsigned limit = size < 6 ? 1 : (unsigned)(size / 3);
    const char *nearest = NULL;
    for (size_t i = 0; i < count && size > 0 && size <= WORD_BYTES; i++) {
        size_t candidate_size = candidates[i] ? strlen(candidates[i]) : 0;
        size_t apart = size > candidate_size ? size - candidate_size : candidate_size - size;
        if (candidate_size == 0 || candidate_size > WORD_BYTES || apart > limit)
            continue;
        unsigned edits = distance(word, size, candidates[i], candidate_size);
        if (edits <= limit && edits < least((unsigned)size, (unsigned)candidate_size)) {
            nearest = candidates[i];
            if (edits == 0)
                break;
            limit = edits - 1; /* from here on only a nearer one */
        }
    }
    return nearest;
}
