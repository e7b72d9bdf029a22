/* What tests of the source formats begin with: a codec, and where formats say what they found. */
#ifndef YPK_TESTS_UNIT_TINY_SOURCE_H
#define YPK_TESTS_UNIT_TINY_SOURCE_H

#include "codec.h"
#include "source_image.h"

#include "tiny_pictures.h"

#include <criterion/criterion.h>

static struct error error;
static struct codec *codec;
static char warning[200];

static inline void codec_open(void) {
    cr_assert_eq(codec_create(&codec, &error), 0);
}

static inline void codec_close(void) {
    codec_destroy(&codec);
}

#endif
