/* pack.json: what a person and other programs read. Published last: a pack without it is not one. */
#ifndef YPK_PACKER_MANIFEST_H
#define YPK_PACKER_MANIFEST_H

#include "bytes.h"
#include "error.h"

#include <jansson.h>

#define MANIFEST_NAME "pack.json"
#define MANIFEST_VERSION 1

/*
 * The manifest is one JSON object. "files" lists every other file of the pack ({name, bytes, xxh3}, hash of the whole
 * file; shards: null, their index has the hashes), so that nothing can be exchanged unseen; the last member,
 * "manifest_xxh3", is the XXH3-64 (16 hex digits) of the file with those digits replaced by zeros.
 */
int manifest_encode(struct bytes *out, json_t *manifest, struct error *error);      /* adds manifest_xxh3 */
int manifest_read(json_t **out, const char *pack, struct error *error);             /* checks it; ERR_CORRUPT */

/* {"name":…, "bytes":…, "xxh3":…} of a file in the pack directory. */
int manifest_add_file(json_t *files, const char *pack, const char *name, struct error *error);

#endif
