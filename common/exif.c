#include "exif.h"

enum { TAG_ORIENTATION = 0x0112, TYPE_SHORT = 3, TYPE_LONG = 4, ENTRY_BYTES = 12 };

struct tiff {
    struct span bytes;
    bool big_endian;
};

static uint32_t get_u16(const struct tiff *t, size_t offset) {
    const uint8_t *p = t->bytes.data + offset;
    return t->big_endian ? (uint32_t)p[0] << 8 | p[1] : (uint32_t)p[1] << 8 | p[0];
}

static uint32_t get_u32(const struct tiff *t, size_t offset) {
    uint32_t first = get_u16(t, offset), second = get_u16(t, offset + 2);
    return t->big_endian ? first << 16 | second : second << 16 | first;
}

/* The value of an entry that claims to be the orientation. Some writers use LONG where the standard says SHORT. */
static int entry_orientation(const struct tiff *t, size_t entry) {
    uint32_t type = get_u16(t, entry + 2), count = get_u32(t, entry + 4), value = 0;
    if (count == 1 && type == TYPE_SHORT)
        value = get_u16(t, entry + 8);
    else if (count == 1 && type == TYPE_LONG)
        value = get_u32(t, entry + 8);
    return value >= 1 && value <= 8 ? (int)value : EXIF_BROKEN;
}

int exif_orientation(struct span tiff) {
    if (tiff.size < 8 || tiff.data[0] != tiff.data[1] || (tiff.data[0] != 'I' && tiff.data[0] != 'M'))
        return EXIF_BROKEN;
    struct tiff t = {tiff, tiff.data[0] == 'M'};
    size_t ifd = get_u32(&t, 4);
    if (get_u16(&t, 2) != 42 || !range_fits(ifd, 2, tiff.size))
        return EXIF_BROKEN;

    /* A table that claims more entries than there are bytes is still searched as far as it goes. */
    uint32_t count = get_u16(&t, ifd);
    for (uint32_t i = 0; i < count; i++) {
        size_t entry = ifd + 2 + (size_t)i * ENTRY_BYTES;
        if (!range_fits(entry, ENTRY_BYTES, tiff.size))
            return EXIF_BROKEN;
        if (get_u16(&t, entry) == TAG_ORIENTATION)
            return entry_orientation(&t, entry);
    }
    return EXIF_ABSENT;
}
