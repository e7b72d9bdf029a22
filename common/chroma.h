/*
 * Chroma at half the size for JPEG 4:2:0, made for what decoders do with it.
 *
 * They interpolate ("smooth" or "fancy" upsampling, weights 9, 3, 3, 1), so the mean of four pixels comes back blurred.
 * Here the half-size samples are sought that come back nearest to the full-size ones, by least squares: with U for
 * interpolation and D for its transpose, D U c = D f. D U is [3 10 3] / 16 along each axis, so that a few steps of
 * c += 3/2 (D f - D U c) are cheap; not more than a few, for the rest is noise that costs bytes.
 */
#ifndef YPK_COMMON_CHROMA_H
#define YPK_COMMON_CHROMA_H

#include "error.h"
#include "pixels.h"

/* out: Cb and Cr, one channel each, (width + 1) / 2 x (height + 1) / 2; pixels_deinit() frees them. in: R,G,B of 8
 * bits. ERR_MEMORY. */
int chroma_halve(struct pixels out[2], const struct pixels *in, struct error *error);

#endif
