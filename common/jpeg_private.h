/* What a JPEG handle is made of: for the files of jpeg.h only. */
#ifndef YPK_COMMON_JPEG_PRIVATE_H
#define YPK_COMMON_JPEG_PRIVATE_H

#include "bytes.h"
#include "error.h"
#include "jpeg.h"

#include <setjmp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include <jpeglib.h>
#include <turbojpeg.h>

enum { JPEG_TEXT_BYTES = 200 };

/* What the library reported about one picture. */
struct jpeg_findings {
    bool ran_dry;          /* the file ended before an EOI marker */
    bool damaged, corrupt; /* not whole; and that because of wrong bits, not of missing ones */
    uint32_t rows;         /* decoded before the first fault */
    uint32_t harmless_count;
    char fault[JPEG_TEXT_BYTES], harmless[JPEG_TEXT_BYTES]; /* the first of each */
};

struct jpeg {
    struct jpeg_error_mgr manager; /* first: the library hands its address back */
    jmp_buf failed;
    int code; /* of the failure that jumped, and its text */
    char message[JPEG_TEXT_BYTES];
    struct jpeg_decompress_struct reader;
    struct jpeg_compress_struct writer;
    struct jpeg_progress_mgr progress;
    struct jpeg_findings findings;
    bool header_read;     /* a failure from here on is damage of a picture */
    tjhandle transformer; /* this one and the next are made when first needed */
    struct baseline *baseline;
};

/* Calls `step`, which may end by jpeg_fail() or an error of the library, and frees what the library made for it. */
int jpeg_run(struct jpeg *j, int (*step)(struct jpeg *j, void *arg, struct error *error), void *arg,
             struct error *error);

/* In a step. Ends it. */
void jpeg_fail(struct jpeg *j, int code, const char *format, ...) __attribute__((noreturn, format(printf, 3, 4)));

/* In a step: reads the header into j->reader, and refuses a picture that cannot be decoded. */
void jpeg_open_picture(struct jpeg *j, struct span file, bool keep_exif);

/* In a step, after the last row: reads on to the EOI, and finds whether every coefficient of the picture was there. In
 * place of jpeg_finish_decompress(), which frees what is asked here. */
void jpeg_finish_picture(struct jpeg *j);

static inline struct jpeg *jpeg_owner(j_common_ptr cinfo) {
    return (struct jpeg *)(void *)cinfo->err;
}

#endif
