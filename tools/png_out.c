#include "png_out.h"

#include <png.h>

int encode_png(struct bytes *out, const struct pixels *in, struct error *error) {
    png_image image = {.version = PNG_IMAGE_VERSION,
                       .width = in->width,
                       .height = in->height,
                       .format = in->depth == 16     ? PNG_FORMAT_LINEAR_Y
                                 : in->channels == 3 ? PNG_FORMAT_RGB
                                                     : PNG_FORMAT_GRAY};
    png_alloc_size_t size = PNG_IMAGE_PNG_SIZE_MAX(image);
    int rc = bytes_reserve(out, out->size + size);
    if (rc != 0)
        return error_set(error, rc, "out of memory for a PNG of %ux%u px", in->width, in->height);
    if (!png_image_write_to_memory(&image, out->data + out->size, &size, 0, in->data,
                                   (png_int_32)(in->stride / (in->depth / 8)), NULL))
        return error_set(error, ERR_ARGUMENT, "cannot write a PNG of %ux%u px: %s", in->width, in->height,
                         image.message);
    out->size += size;
    return 0;
}
