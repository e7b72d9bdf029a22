#include "source_image.h"

#include "source_bmp.h"
#include "source_jpeg.h"
#include "source_png.h"
#include "source_tiff.h"
#include "source_webp.h"

static const struct source_image_format *const formats[] = {&source_jpeg, &source_png, &source_tiff, &source_bmp,
                                                            &source_webp};

const struct source_image_format *source_image_sniff(struct span file) {
    for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++)
        if (formats[i]->sniff(file))
            return formats[i];
    return NULL;
}
