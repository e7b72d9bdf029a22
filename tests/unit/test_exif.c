#include "exif.h"
#include "tiny_pictures.h"

static int orientation_of(const void *data, size_t n) {
    struct span tiff = copy_of(data, n);
    int found = exif_orientation(tiff);
    free((void *)tiff.data);
    return found;
}

Test(exif, both_byte_orders) {
    uint8_t tiff[32];
    for (int big = 0; big < 2; big++)
        for (int o = 1; o <= 8; o++) {
            size_t n = make_exif(tiff, big, o);
            cr_assert_eq(orientation_of(tiff, n), o);
        }
}

Test(exif, values_that_are_no_orientation) {
    uint8_t tiff[32];
    static const int values[] = {0, 9, 255};
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
        size_t n = make_exif(tiff, false, values[i]);
        cr_assert_eq(orientation_of(tiff, n), EXIF_BROKEN);
    }
    size_t n = make_exif(tiff, false, 6);
    tiff[19] = 1; /* 0x0106 */
    cr_assert_eq(orientation_of(tiff, n), EXIF_BROKEN);
}

Test(exif, types) {
    uint8_t tiff[32];
    static const struct {
        uint8_t type;
        int expected;
    } types[] = {{0, EXIF_BROKEN}, {1, EXIF_BROKEN}, {2, EXIF_BROKEN}, {3, 6}, {4, 6}, {13, EXIF_BROKEN}};
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        size_t n = make_exif(tiff, false, 6);
        tiff[12] = types[i].type;
        cr_assert_eq(orientation_of(tiff, n), types[i].expected, "type %d", types[i].type);
    }
    size_t n = make_exif(tiff, false, 6);
    tiff[14] = 2; /* two values */
    cr_assert_eq(orientation_of(tiff, n), EXIF_BROKEN);
}

Test(exif, cut_anywhere) {
    uint8_t tiff[32];
    make_exif(tiff, false, 6);
    for (size_t n = 0; n < 22; n++) /* the entry ends at 22 */
        cr_assert_eq(orientation_of(tiff, n), EXIF_BROKEN, "%zu bytes", n);
    cr_assert_eq(orientation_of(tiff, 22), 6);
}

Test(exif, broken_structures) {
    uint8_t tiff[32];
    size_t n = make_exif(tiff, false, 6);

    tiff[8] = tiff[9] = 0xFF; /* 65,535 entries: the first is still there */
    cr_assert_eq(orientation_of(tiff, n), 6);
    tiff[10] = 0x13; /* and now none is the orientation before the bytes end */
    cr_assert_eq(orientation_of(tiff, n), EXIF_BROKEN);

    n = make_exif(tiff, false, 6);
    tiff[8] = 0; /* no entries */
    cr_assert_eq(orientation_of(tiff, n), EXIF_ABSENT);

    n = make_exif(tiff, false, 6);
    memset(tiff + 4, 0xFF, 4); /* IFD0 far outside */
    cr_assert_eq(orientation_of(tiff, n), EXIF_BROKEN);
    tiff[4] = 0; /* IFD0 at the header itself, which is no table of this length */
    memset(tiff + 5, 0, 3);
    cr_assert_eq(orientation_of(tiff, n), EXIF_BROKEN);

    n = make_exif(tiff, true, 6);
    tiff[0] = tiff[1] = 'I'; /* says little-endian, is big-endian */
    cr_assert_eq(orientation_of(tiff, n), EXIF_BROKEN);
    tiff[0] = 'M';
    cr_assert_eq(orientation_of(tiff, n), EXIF_BROKEN);
}

Test(exif, other_tags_are_absent) {
    uint8_t tiff[32];
    size_t n = make_exif(tiff, true, 6);
    tiff[11] = 0x10; /* Model */
    cr_assert_eq(orientation_of(tiff, n), EXIF_ABSENT);
}
