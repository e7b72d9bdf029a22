#include "manifest.h"

#include "file.h"
#include "hash.h"
#include "scan.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define HASH_KEY "manifest_xxh3"
#define HASH_DIGITS 16u
#define HASH_ZEROS "0000000000000000"
#define MANIFEST_LIMIT_BYTES (UINT64_C(64) << 20)
#define READ_BYTES ((size_t)1 << 20)

static const char hash_member[] = "\"" HASH_KEY "\": \"";

/* Where the digits of the last member begin; 0 if the text does not end as manifest_encode() ends it. */
static size_t hash_position(const char *text, size_t size) {
    static const char end[] = "\"\n}\n";
    size_t tail = HASH_DIGITS + sizeof end - 1, head = sizeof hash_member - 1;
    if (size < head + tail || memcmp(text + size - (sizeof end - 1), end, sizeof end - 1) != 0 ||
        memcmp(text + size - tail - head, hash_member, head) != 0)
        return 0;
    return size - tail;
}

/* The hash of the text with its digits zeroed, as digits (without NUL) into `out`. */
static void hash_digits(char out[HASH_DIGITS + 1], char *text, size_t size, size_t position) {
    char kept[HASH_DIGITS];
    memcpy(kept, text + position, HASH_DIGITS);
    memset(text + position, '0', HASH_DIGITS);
    snprintf(out, HASH_DIGITS + 1, "%016" PRIx64, (uint64_t)XXH3_64bits(text, size));
    memcpy(text + position, kept, HASH_DIGITS);
}

struct dump {
    struct bytes *out;
    int rc; /* kept, since jansson does not look at every result of the callback */
};

static int append_chunk(const char *text, size_t size, void *arg) {
    struct dump *dump = arg;
    if (!dump->rc)
        dump->rc = bytes_append(dump->out, text, size);
    return dump->rc ? -1 : 0;
}

int manifest_encode(struct bytes *out, json_t *manifest, struct error *error) {
    struct dump dump = {.out = out};
    size_t start = out->size;
    /* Deleted first, so that it comes last. */
    json_object_del(manifest, HASH_KEY);
    if (json_object_set_new(manifest, HASH_KEY, json_string(HASH_ZEROS)) ||
        json_dump_callback(manifest, append_chunk, &dump, JSON_INDENT(2)) || append_chunk("\n", 1, &dump))
        return error_set(error, ERR_MEMORY, MANIFEST_NAME ": out of memory");
    char *text = (char *)out->data + start, digits[HASH_DIGITS + 1];
    size_t size = out->size - start, position = hash_position(text, size);
    hash_digits(digits, text, size, position);
    memcpy(text + position, digits, HASH_DIGITS);
    return 0;
}

/* jansson drops bytes of strings without a word when memory is short, so what it reads is believed when it reads it
 * twice. */
static int load_json(json_t **out, const char *text, size_t size, const char *path, struct error *error) {
    json_error_t first = {0}, second = {0};
    json_t *manifest = json_loadb(text, size, JSON_REJECT_DUPLICATES, &first);
    json_t *again = manifest ? json_loadb(text, size, JSON_REJECT_DUPLICATES, &second) : NULL;
    const json_error_t *fault = manifest ? &second : &first;
    int rc = 0;
    if (!again) /* the hash says that it is as it was written; a lack of memory is called "invalid token" now
                 * and then */
        rc = error_set(error, ERR_MEMORY, "%s:%d:%d: out of memory? It matches its hash, but cannot be read: %s", path,
                       fault->line, fault->column, fault->text);
    else if (!json_equal(manifest, again))
        rc = error_set(error, ERR_MEMORY, "%s: out of memory", path);
    json_decref(again);
    if (rc)
        json_decref(manifest);
    else
        *out = manifest;
    return rc;
}

static int parse(json_t **out, struct bytes *file, const char *path, struct error *error) {
    char *text = (char *)file->data, digits[HASH_DIGITS + 1];
    size_t position = hash_position(text, file->size);
    if (!position)
        return error_set(error, ERR_CORRUPT, "%s: does not end with its hash (cut, or changed by hand?)", path);
    hash_digits(digits, text, file->size, position);
    if (memcmp(digits, text + position, HASH_DIGITS) != 0)
        return error_set(error, ERR_CORRUPT, "%s: does not match its hash (expected %.16s, found %s)", path,
                         text + position, digits);
    json_t *manifest;
    int rc = load_json(&manifest, text, file->size, path, error);
    if (rc)
        return rc;
    const json_t *version = json_object_get(manifest, "version");
    if (json_integer_value(version) > MANIFEST_VERSION)
        rc = error_set(error, ERR_UNSUPPORTED,
                       "%s: made by a newer yolopack: version %" JSON_INTEGER_FORMAT ", this one reads up to %d", path,
                       json_integer_value(version), MANIFEST_VERSION);
    else if (json_integer_value(version) != MANIFEST_VERSION || !json_is_array(json_object_get(manifest, "files")))
        rc = error_set(error, ERR_CORRUPT, "%s: has no version or no list of files", path);
    if (rc)
        json_decref(manifest);
    else
        *out = manifest;
    return rc;
}

/* Whether a run that would have made `pack` was killed, or is still running. */
static bool is_unfinished(const char *pack) {
    size_t n = strlen(pack);
    char *state = NULL;
    while (n > 1 && pack[n - 1] == '/')
        n--;
    if (asprintf(&state, "%.*s.partial/" MANIFEST_STATE_NAME, (int)n, pack) < 0)
        return false;
    bool is = access(state, F_OK) == 0;
    free(state);
    return is;
}

static int read_failed(int rc, const char *pack, struct error *error) {
    struct stat st;
    if (rc != ERR_NOT_FOUND)
        return rc;
    if (stat(pack, &st) && errno == ENOENT && is_unfinished(pack))
        return error_set(error, ERR_NOT_FOUND,
                         "%s: unfinished: its run was interrupted, or is still packing. Go on with: yolopack pack "
                         "DATASET -o %s --resume",
                         pack, pack);
    if (stat(pack, &st))
        return errno == ENOENT ? path_missing(pack, error) : error_set_errno(error, errno, "%s", pack);
    if (!S_ISDIR(st.st_mode))
        return error_set(error, ERR_NOT_FOUND, "%s: not a pack: a pack is a directory", pack);
    if (strcmp(path_suffix(pack), "partial") == 0)
        return error_set(error, ERR_CORRUPT,
                         "%s: not a complete pack: an interrupted run left it (pack again with --resume)", pack);
    return error_set(error, ERR_CORRUPT,
                     "%s: not a pack, or not all of one: no " MANIFEST_NAME
                     " in it (a data set becomes a pack by: yolopack %s)",
                     pack, pack);
}

int manifest_read(json_t **out, const char *pack, struct error *error) {
    *out = NULL;
    struct bytes file = {0};
    char *path = path_join(pack, MANIFEST_NAME);
    if (!path)
        return error_set(error, ERR_MEMORY, "%s: out of memory", pack);
    int rc = file_read(&file, AT_FDCWD, path, MANIFEST_LIMIT_BYTES, error);
    rc = rc ? read_failed(rc, pack, error) : parse(out, &file, path, error);
    bytes_deinit(&file);
    free(path);
    return rc;
}

int manifest_hash_file(uint64_t *bytes, uint64_t *hash, const char *path, struct error *error) {
    struct stat st;
    uint8_t *buffer = NULL;
    XXH3_state_t *state = NULL;
    int fd = open(path, O_RDONLY | O_CLOEXEC), rc = 0;
    if (fd < 0 || fstat(fd, &st)) {
        rc = error_set_errno(error, errno, "%s", path);
        goto out;
    }
    buffer = malloc(READ_BYTES);
    state = XXH3_createState();
    if (!buffer || !state) {
        rc = error_set(error, ERR_MEMORY, "%s: out of memory", path);
        goto out;
    }
    XXH3_64bits_reset(state);
    *bytes = (uint64_t)st.st_size;
    for (uint64_t at = 0; at < *bytes && !rc;) {
        size_t n = *bytes - at < READ_BYTES ? (size_t)(*bytes - at) : READ_BYTES;
        rc = file_pread_all(fd, buffer, n, at, path, error);
        if (!rc)
            XXH3_64bits_update(state, buffer, n);
        at += n;
    }
    *hash = XXH3_64bits_digest(state);
out:
    XXH3_freeState(state);
    free(buffer);
    if (fd >= 0)
        close(fd);
    return rc;
}

static bool is_shard(const char *name) {
    return strcmp(path_suffix(name), "lmdb") == 0;
}

int manifest_add_file(json_t *files, const char *pack, const char *name, struct error *error) {
    struct stat st;
    uint64_t bytes = 0, hash = 0;
    char digits[HASH_DIGITS + 1];
    char *path = path_join(pack, name);
    if (!path)
        return error_set(error, ERR_MEMORY, "%s: out of memory", pack);
    int rc = 0;
    if (!is_shard(name))
        rc = manifest_hash_file(&bytes, &hash, path, error);
    else if (stat(path, &st))
        rc = error_set_errno(error, errno, "%s", path);
    else
        bytes = (uint64_t)st.st_size;
    free(path);
    if (rc)
        return rc;
    snprintf(digits, sizeof digits, "%016" PRIx64, hash);
    json_t *entry = json_pack("{s:s, s:I, s:o}", "name", name, "bytes", (json_int_t)bytes, "xxh3",
                              is_shard(name) ? json_null() : json_string(digits));
    if (!entry || json_array_append_new(files, entry))
        return error_set(error, ERR_MEMORY, "%s: out of memory", pack);
    return 0;
}

int manifest_file(struct manifest_file *out, const json_t *entry, struct error *error) {
    const json_t *name = json_object_get(entry, "name"), *bytes = json_object_get(entry, "bytes");
    const json_t *hash = json_object_get(entry, "xxh3");
    const char *text = json_string_value(name), *digits = json_string_value(hash);
    if (!text || !*text || *text == '.' || strchr(text, '/') || !json_is_integer(bytes) ||
        json_integer_value(bytes) < 0)
        return error_set(error, ERR_CORRUPT, MANIFEST_NAME ": \"files\" has an entry without a plain name or a length");
    *out = (struct manifest_file){.name = text, .bytes = (uint64_t)json_integer_value(bytes)};
    if (is_shard(text) && json_is_null(hash))
        return 0;
    char *end;
    if (!digits || strlen(digits) != HASH_DIGITS || strspn(digits, "0123456789abcdef") != HASH_DIGITS)
        return error_set(error, ERR_CORRUPT, MANIFEST_NAME ": %s has no hash of 16 hex digits", text);
    out->hash = strtoull(digits, &end, 16);
    out->has_hash = true;
    return 0;
}
