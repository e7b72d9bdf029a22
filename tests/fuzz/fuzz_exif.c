/* EXIF orientation: bytes of a TIFF structure. */
#include "exif.h"
#include "target.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    int orientation = exif_orientation((struct span){data, size});
    CHECK(orientation >= EXIF_BROKEN && orientation <= 8);
    return 0;
}
