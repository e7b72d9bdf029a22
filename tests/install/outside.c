/* What a user of the installed library would write: no header, flag or file of the source tree. */
#include <yolopack.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int fail(const char *what, const ypk_error *error) {
    fprintf(stderr, "%s: %s (code %d)\n", what, error->message, error->code);
    return 1;
}

static int decode_first(const ypk_dataset *dataset, ypk_error *error) {
    ypk_decoder *decoder = NULL;
    ypk_sample sample;
    int rc = ypk_dataset_sample(dataset, 0, &sample, error);
    if (rc != YPK_OK)
        return rc;
    rc = ypk_decoder_create(&decoder, dataset, error);
    if (rc != YPK_OK)
        return rc;
    uint8_t *pixels = malloc((size_t)sample.rgb.width * sample.rgb.height * 3);
    if (pixels)
        rc = ypk_decoder_decode(decoder, 0, YPK_RGB, pixels, 0, error);
    printf("%s %ux%u, %u labels\n", sample.name, (unsigned)sample.rgb.width, (unsigned)sample.rgb.height,
           (unsigned)sample.label_count);
    free(pixels);
    ypk_decoder_destroy(&decoder);
    return pixels ? rc : YPK_E_MEMORY;
}

int main(int argc, char **argv) {
    ypk_dataset *dataset = NULL;
    ypk_error error = {0};
    char built_for[32];
    snprintf(built_for, sizeof built_for, "%d.%d.%d", YPK_VERSION_MAJOR, YPK_VERSION_MINOR, YPK_VERSION_PATCH);
    if (argc != 2 || strcmp(ypk_version(), built_for) != 0) {
        fprintf(stderr, "header %s, library %s\n", built_for, ypk_version());
        return 1;
    }
    if (ypk_dataset_open(&dataset, "no such pack", NULL, &error) != YPK_E_NOT_FOUND)
        return fail("a pack that is not there", &error);
    if (ypk_dataset_open(&dataset, argv[1], NULL, &error) != YPK_OK)
        return fail("open", &error);
    int rc = decode_first(dataset, &error);
    ypk_dataset_close(&dataset);
    return rc == YPK_OK ? 0 : fail("decode", &error);
}
