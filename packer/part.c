#include "part.h"

#include "file.h"
#include "hash.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

uint64_t part_chain(uint64_t chain, uint64_t sample_fingerprint) {
    return XXH3_64bits_withSeed(&sample_fingerprint, sizeof sample_fingerprint, chain);
}

void part_name(char out[INDEX_SHARD_NAME_BYTES], const char *prefix, uint64_t number) {
    snprintf(out, INDEX_SHARD_NAME_BYTES, "%s-%05" PRIu64 ".part", prefix, number);
}

int part_write(const char *path, struct index_builder *builder, const struct report *report,
               const struct part_source *source, struct error *error) {
    struct bytes file = {0};
    builder->section[SECTION_REPORT].size = 0;
    builder->section[SECTION_SOURCE].size = 0;
    int rc = bytes_append(&builder->section[SECTION_REPORT], report->rows.data, report->rows.size);
    if (rc == 0)
        rc = bytes_append(&builder->section[SECTION_SOURCE], source, sizeof *source);
    if (rc != 0)
        error_set(error, rc, "out of memory for %s", path);
    else if ((rc = index_builder_encode(builder, &file, error)) == 0)
        rc = file_write_atomic(path, file.data, file.size, error);
    bytes_deinit(&file);
    return rc;
}

int part_open(struct part *out, const char *path, struct error *error) {
    *out = (struct part){0};
    int rc = file_map(&out->file, path, error);
    if (rc == 0)
        rc = index_parse(&out->view, out->file, error);
    if (rc == 0)
        rc = index_check(&out->view, error);
    if (rc == 0 && out->view.section[SECTION_SOURCE].size != sizeof out->source)
        rc = error_set(error, ERR_CORRUPT, "%s: is no part of an unfinished pack", path);
    if (rc == 0)
        memcpy(&out->source, out->view.section[SECTION_SOURCE].data, sizeof out->source);
    if (rc != 0)
        part_close(out);
    return rc;
}

void part_close(struct part *part) {
    file_unmap(&part->file);
    *part = (struct part){0};
}
