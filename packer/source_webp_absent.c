/* In the place of source_webp.c when libwebp-dev is not there at build time. */
#include "source_webp.h"

static int probe(struct codec *codec, struct source_info *out, struct span file, struct error *error) {
    (void)codec, (void)file;
    *out = (struct source_info){0};
    return error_set(error, ERR_UNSUPPORTED, "this build has no WebP support: install libwebp-dev and build again");
}

static int decode(struct codec *codec, struct pixels *out, char *warning, struct span file, struct error *error) {
    struct source_info info;
    *out = (struct pixels){0};
    warning[0] = 0;
    return probe(codec, &info, file, error);
}

const struct source_image_format source_webp = {SOURCE_WEBP, "WebP", source_webp_sniff, probe, decode};
