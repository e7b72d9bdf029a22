/* pack.json: what a person and other programs read. Published last: a pack without it is not one. */
#ifndef YPK_PACKER_MANIFEST_H
#define YPK_PACKER_MANIFEST_H

#include "bytes.h"
#include "error.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#define MANIFEST_NAME "pack.json"
#define MANIFEST_VERSION 1
#define MANIFEST_STATE_NAME "resume.txt" /* beside it, or before it, in a pack that is not published yet */

/*
 * The manifest is one JSON object. "version" is MANIFEST_VERSION. "files" lists every other file of the pack ({name,
 * bytes, xxh3}, hash of the whole file; shards: null, their index has the hashes), so that nothing can be exchanged
 * unseen; the last member, "manifest_xxh3", is the XXH3-64 (16 hex digits) of the file with those digits replaced by
 * zeros.
 */
int manifest_encode(struct bytes *out, json_t *manifest,
                    struct error *error); /* sets manifest_xxh3; appends the text */

/* Reads and checks it: its hash, "version", that "files" is an array. ERR_NOT_FOUND for no such directory, ERR_CORRUPT
 * (a directory without it too), ERR_UNSUPPORTED for a newer version. */
int manifest_read(json_t **out, const char *pack, struct error *error);

/* Appends {"name":…, "bytes":…, "xxh3":…} of a file in the pack directory to `files`. */
int manifest_add_file(json_t *files, const char *pack, const char *name, struct error *error);

/* An entry of "files", checked; `name` is a plain file name, borrowed from it. */
struct manifest_file {
    const char *name;
    uint64_t bytes, hash;
    bool has_hash;
};
int manifest_file(struct manifest_file *out, const json_t *entry, struct error *error);

/* Length and XXH3-64 of a whole file. */
int manifest_hash_file(uint64_t *bytes, uint64_t *hash, const char *path, struct error *error);

#endif
