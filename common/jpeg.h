/*
 * JPEG by libjpeg-turbo: look, check, decode, encode, turn.
 *
 * A `struct jpeg` owns the library's handles and scratch. One per thread; never shared. No function here keeps a
 * reference to the bytes it was given.
 */
#ifndef YPK_COMMON_JPEG_H
#define YPK_COMMON_JPEG_H

#include "bytes.h"
#include "cpu.h"
#include "error.h"
#include "pixels.h"

#include <stdbool.h>
#include <stdint.h>

struct jpeg;

/* Not jpeg_destroy(): that name is libjpeg's. */
int jpeg_handle_create(struct jpeg **out, struct error *error);
void jpeg_handle_destroy(struct jpeg **jpeg);

/* What the header of the first (main) image says. Thumbnails and later images in the same file are never looked at. */
struct jpeg_info {
    uint32_t width, height;  /* as stored, before any orientation, px */
    uint8_t components;      /* 1, 3 or 4 */
    uint8_t precision;       /* bits a sample; only 8 can be decoded */
    uint8_t orientation;     /* EXIF 1-8; 1 when there is none or it is broken */
    bool orientation_broken; /* EXIF was there but not readable, or orientation was not 1-8: taken as 1 */
    bool progressive;
    bool arithmetic;
    bool cmyk;           /* CMYK or YCCK: converted to RGB when decoded */
    char subsampling[8]; /* "4:4:4", "4:2:2", "4:2:0", "4:4:0", "4:1:1", "gray", "other" */
};

/* Reads the header only. ERR_INPUT with the cause (not a JPEG, no SOF, size 0, unsupported SOF or precision). */
int jpeg_probe(struct jpeg *jpeg, struct jpeg_info *out, struct span file, struct error *error);

/* What a full entropy decode found. */
struct jpeg_check {
    bool complete;          /* every row was really decoded, none filled in by the library */
    bool corrupt;           /* not complete because of wrong codes in the data, not because it ends early */
    bool missing_eoi;       /* complete, but the file ends without its EOI marker */
    bool equal_channels;    /* Y,Cb,Cr, and R = G = B in every pixel (chroma exactly neutral) */
    uint32_t rows_decoded;  /* rows decoded before the first fault; = height when complete. When the picture comes in
                                   several scans: rows of the scan at fault */
    uint32_t warning_count; /* harmless warnings (a few extraneous bytes, …) */
    char warning[200];      /* the first of them; of a picture that is not complete, the fault */
};

/* Decodes every code of the file, but few or no pixels: about 0.7 of the time of decoding it where chroma is not
 * subsampled, 0.5 where it is. equal_channels is true if all coefficients of chroma are 0, as encoders make them of
 * gray pictures. Returns 0 with *out filled even for a damaged picture; ERR_INPUT for one whose header is unusable.
 * Limits on the picture's size are the caller's, applied after jpeg_probe(); memory of 2 bytes a sample of the picture
 * is taken for progressive and for gray pictures. jpeg_decode() succeeds exactly where this finds the
 * picture complete. */
int jpeg_check_full(struct jpeg *jpeg, struct jpeg_check *out, struct span file, struct error *error);

/* Decodes to interleaved 8-bit pixels: channels 3 = R,G,B (gray replicated, CMYK/YCCK converted), 1 = luma (of a colour
 * JPEG the Y component, of CMYK the luma of its RGB). Accurate integer IDCT and smooth upsampling: the same bytes as
 * `djpeg -dct int` of this library and as cv2.imread(IMREAD_IGNORE_ORIENTATION). `out->data` is the caller's and holds
 * `out->stride * out->height` bytes; width and height must be those of the header. Orientation is not applied.
 * On failure the pixels are zeroed. `gray_source` promises R = G = B: only luma is decoded, then replicated. */
int jpeg_decode(struct jpeg *jpeg, struct span file, const struct pixels *out, bool gray_source, struct error *error);

/* Where planes go: R,G,B, or one of luma. Rows are `stride` bytes apart; only `width` of them are written. */
struct jpeg_planes {
    uint8_t *plane[3];
    size_t stride;
    uint32_t width, height; /* the picture's */
    int count;              /* 3, or 1 */
};

/* The same pixels as jpeg_decode(), straight to planes and faster: for whole baseline pictures of the usual kinds, on
 * machines with vector instructions. *decoded is false, and the code 0, for all others, damaged ones and those of
 * another size included: then the planes hold anything, and jpeg_decode() knows what it is. ERR_MEMORY. */
int jpeg_decode_planes(struct jpeg *jpeg, const struct jpeg_planes *out, bool *decoded, struct span file,
                       enum cpu_level level, struct error *error);

/* Scratch that a handle keeps after that for pictures up to a width. */
size_t jpeg_planes_scratch_bytes(uint32_t width);

/* As jpeg_decode(), but faster and not the same bytes: out's size may be the header's scaled down by
 * jpeg_scaled_side(), which the library does while it decodes, and chroma is repeated instead of interpolated. */
int jpeg_decode_fast(struct jpeg *jpeg, struct span file, const struct pixels *out, bool gray_source,
                     struct error *error);

/* A side of the picture scaled by `eighths` / 8 (1-8), rounded up. */
uint32_t jpeg_scaled_side(uint32_t side, int eighths);

/* The first harmless warning of the last check or decode, missing EOI included; "" if there was none. Borrowed until
 * the next call with this handle. */
const char *jpeg_warning(const struct jpeg *jpeg);

/* Encodes interleaved 8-bit pixels (channels 1 or 3), appended to `out`. quality 1-100; subsample_420 has no meaning
 * for one channel; chroma is made to fit how decoders interpolate it (chroma.h). Optimised Huffman tables;
 * no metadata. */
int jpeg_encode(struct jpeg *jpeg, struct bytes *out, const struct pixels *in, int quality, bool subsample_420,
                struct error *error);

/* Applies an EXIF orientation (2-8) losslessly to the coefficients and drops the EXIF marker with all other metadata;
 * appended to `out`, whose old bytes may hold `file`. *exact is false, and nothing is written, when the picture's size
 * (or an unusual subsampling) does not allow it without loss at an edge. A damaged picture is ERR_INPUT. */
int jpeg_transform(struct jpeg *jpeg, struct bytes *out, bool *exact, struct span file, int orientation,
                   struct error *error);

/* "2.1.5" of the library this was compiled with (it cannot be asked): part of a pack's identity of options. */
const char *jpeg_library_version(void);

#endif
