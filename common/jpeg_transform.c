/* JPEGs turned upright without loss, coefficients and not pixels. */
#include "jpeg_private.h"

#include <string.h>

struct layout_task {
    struct span file;
    bool whole_columns, whole_rows; /* the picture ends where a block of the interleaved scan ends */
};

static int layout_step(struct jpeg *j, void *arg, struct error *error) {
    struct layout_task *task = arg;
    const struct jpeg_decompress_struct *r = &j->reader;

    (void)error;
    jpeg_open_picture(j, task->file, false);
    unsigned h = r->num_components == 1 ? 1 : (unsigned)r->max_h_samp_factor;
    unsigned v = r->num_components == 1 ? 1 : (unsigned)r->max_v_samp_factor;
    task->whole_columns = r->image_width % (h * DCTSIZE) == 0;
    task->whole_rows = r->image_height % (v * DCTSIZE) == 0;
    return 0;
}

/* What each orientation does, and which edges of the source end up where a partial block cannot be. */
static const struct {
    int operation;
    bool moves_right_edge, moves_bottom_edge;
} turns[9] = {
    [2] = {TJXOP_HFLIP, true, false},      [3] = {TJXOP_ROT180, true, true}, [4] = {TJXOP_VFLIP, false, true},
    [5] = {TJXOP_TRANSPOSE, false, false}, [6] = {TJXOP_ROT90, false, true}, [7] = {TJXOP_TRANSVERSE, true, true},
    [8] = {TJXOP_ROT270, true, false},
};

int jpeg_transform(struct jpeg *j, struct bytes *out, bool *exact, struct span file, int orientation,
                   struct error *error) {
    struct layout_task layout = {.file = file};
    struct jpeg_check check;
    unsigned char *data = NULL;
    unsigned long size = 0;

    *exact = false;
    if (orientation < 2 || orientation > 8)
        return error_set(error, ERR_ARGUMENT, "orientation %d cannot be applied: it is 2 to 8", orientation);
    int rc = jpeg_run(j, layout_step, &layout, error);
    if (rc != 0 || (turns[orientation].moves_right_edge && !layout.whole_columns) ||
        (turns[orientation].moves_bottom_edge && !layout.whole_rows))
        return rc;
    if (!j->transformer && !(j->transformer = tjInitTransform()))
        return error_set(error, ERR_MEMORY, "out of memory for a JPEG");

    tjtransform transform = {.op = turns[orientation].operation, .options = TJXOPT_PERFECT | TJXOPT_COPYNONE};
    rc = tjTransform(j->transformer, file.data, file.size, 1, &data, &size, &transform, TJFLAG_LIMITSCANS);
    if (rc != 0 && tjGetErrorCode(j->transformer) != TJERR_WARNING) {
        /* There are no codes for causes. Running out of memory must not become another way of turning the picture. */
        rc = strstr(tjGetErrorStr2(j->transformer), "emory") ? error_set(error, ERR_MEMORY, "out of memory for a JPEG")
                                                             : 0;
        goto out; /* else a subsampling that TurboJPEG does not know; decoding names real damage */
    }
    if (rc != 0) { /* it also warns of what is harmless */
        if ((rc = jpeg_check_full(j, &check, file, error)) != 0)
            goto out;
        if (!check.complete) {
            rc = error_set(error, ERR_INPUT, "%u rows could be decoded: %s", check.rows_decoded, check.warning);
            goto out;
        }
    }
    /* A failure after a warning has the warning's code, and leaves a buffer that nobody wrote; coefficients that no
     * Huffman table has codes for are written all the same. */
    if (jpeg_check_full(j, &check, (struct span){data, size}, error) == ERR_MEMORY)
        rc = ERR_MEMORY;
    if (rc != 0 || !check.complete)
        goto out;
    if (bytes_append(out, data, size) != 0)
        rc = error_set(error, ERR_MEMORY, "out of memory for a JPEG");
    *exact = rc == 0;
out:
    tjFree(data);
    return rc;
}
