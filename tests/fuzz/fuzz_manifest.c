/* pack.json: as it is, and with its hash mended; then each entry of its list of files. */
#include "hash.h"
#include "manifest.h"
#include "scratch.h"

#include <inttypes.h>

#define HASH_DIGITS 16u

static void mend(uint8_t *text, size_t size) {
    static const char end[] = "\"\n}\n";
    char digits[HASH_DIGITS + 1];
    if (size < HASH_DIGITS + sizeof end - 1)
        return;
    uint8_t *place = text + size - HASH_DIGITS - (sizeof end - 1);
    memset(place, '0', HASH_DIGITS);
    snprintf(digits, sizeof digits, "%016" PRIx64, (uint64_t)XXH3_64bits(text, size));
    memcpy(place, digits, HASH_DIGITS);
}

static void look_at(const uint8_t *text, size_t size) {
    json_t *manifest;
    struct error error = {0};
    scratch_write(MANIFEST_NAME, text, size);
    int rc = manifest_read(&manifest, scratch(), &error);
    if (rc != 0) {
        CHECK(!manifest);
        fuzz_check_refusal(rc, &error);
        return;
    }
    size_t i;
    const json_t *entry;
    json_array_foreach(json_object_get(manifest, "files"), i, entry) {
        struct manifest_file found;
        rc = manifest_file(&found, entry, &error);
        if (rc != 0)
            fuzz_check_refusal(rc, &error);
        else
            CHECK(found.name[0] && found.name[0] != '.' && !strchr(found.name, '/'));
    }
    json_decref(manifest);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    uint8_t *copy = fuzz_copy(data, size);
    look_at(data, size);
    mend(copy, size);
    look_at(copy, size);
    free(copy);
    return 0;
}
