#include "jpeg_private.h"

#include "baseline.h"

#include <string.h>

enum { CHUNK_ROWS = 16 };

struct decode_task {
    struct span file;
    const struct pixels *out;
    bool gray_source;
    bool fast;
};

/* CMYK as it is stored to R,G,B: with every value counted from no ink (255) to full ink (0), R = C * K / 255. Files
 * with an Adobe marker store it that way round; others store ink, which `flip` 0xFF turns. */
static void cmyk_to_rgb(uint8_t *rgb, const uint8_t *cmyk, uint32_t width, uint8_t flip) {
    for (uint32_t x = 0; x < width; x++) {
        unsigned k = cmyk[4 * x + 3] ^ flip;
        for (int c = 0; c < 3; c++)
            rgb[3 * x + c] = (uint8_t)(((cmyk[4 * x + c] ^ flip) * k + 127) / 255);
    }
}

static void decode_rows(struct jpeg_decompress_struct *r, const struct pixels *out) {
    JSAMPROW rows[CHUNK_ROWS];
    while (r->output_scanline < r->output_height) {
        uint32_t left = r->output_height - r->output_scanline, n = left < CHUNK_ROWS ? left : CHUNK_ROWS;
        for (uint32_t i = 0; i < n; i++)
            rows[i] = out->data + (size_t)(r->output_scanline + i) * out->stride;
        jpeg_read_scanlines(r, rows, n);
    }
}

/* Rows that the library does not deliver as they are wanted: gray to be spread, CMYK to be converted. */
static void decode_rows_converted(struct jpeg_decompress_struct *r, const struct pixels *out) {
    JSAMPARRAY rows = r->mem->alloc_sarray((j_common_ptr)r, JPOOL_IMAGE, r->output_width * 4, 2);
    uint8_t flip = r->saw_Adobe_marker ? 0 : 0xFF;

    while (r->output_scanline < r->output_height) {
        uint8_t *to = out->data + (size_t)r->output_scanline * out->stride;
        jpeg_read_scanlines(r, rows, 1);
        if (r->out_color_space == JCS_GRAYSCALE) {
            pixels_spread_row(to, rows[0], r->output_width);
        } else if (out->channels == 3) {
            cmyk_to_rgb(to, rows[0], r->output_width, flip);
        } else {
            cmyk_to_rgb(rows[1], rows[0], r->output_width, flip);
            pixels_luma_row(to, rows[1], r->output_width);
        }
    }
}

uint32_t jpeg_scaled_side(uint32_t side, int eighths) {
    return (uint32_t)(((uint64_t)side * (unsigned)eighths + 7) / 8);
}

/* The scale at which the picture has the wanted size, in eighths; 0: none. */
static int find_scale(const struct jpeg_decompress_struct *r, const struct pixels *out, bool fast) {
    for (int eighths = 8; eighths >= (fast ? 1 : 8); eighths--)
        if (jpeg_scaled_side(r->image_width, eighths) == out->width &&
            jpeg_scaled_side(r->image_height, eighths) == out->height)
            return eighths;
    return 0;
}

static int decode_step(struct jpeg *j, void *arg, struct error *error) {
    const struct decode_task *task = arg;
    const struct pixels *out = task->out;
    const struct jpeg_findings *f = &j->findings;
    struct jpeg_decompress_struct *r = &j->reader;

    jpeg_open_picture(j, task->file, false);
    int eighths = find_scale(r, out, task->fast);
    if (eighths == 0)
        return error_set(error, ERR_INPUT, "the picture is %ux%u px, not %ux%u", r->image_width, r->image_height,
                         out->width, out->height);
    bool gray = out->channels == 1 || task->gray_source || r->num_components == 1;
    r->out_color_space = r->num_components == 4 ? JCS_CMYK : gray ? JCS_GRAYSCALE : JCS_RGB;
    r->dct_method = JDCT_ISLOW;
    r->do_fancy_upsampling = !task->fast;
    r->scale_num = (unsigned)eighths;
    r->scale_denom = 8;
    jpeg_start_decompress(r);
    if (r->output_components == out->channels)
        decode_rows(r, out);
    else
        decode_rows_converted(r, out);
    jpeg_finish_picture(j);
    if (f->damaged)
        return error_set(error, ERR_INPUT, "%u of %u rows could be decoded: %s", f->rows, r->image_height, f->fault);
    return 0;
}

static int decode(struct jpeg *j, struct decode_task *task, struct error *error) {
    const struct pixels *out = task->out;
    if (out->depth != 8 || (out->channels != 1 && out->channels != 3) ||
        out->stride < (size_t)out->width * out->channels)
        return error_set(error, ERR_ARGUMENT, "pixels of a shape that no JPEG decodes to");
    int rc = jpeg_run(j, decode_step, task, error);
    for (uint32_t y = 0; rc != 0 && y < out->height; y++)
        memset(out->data + y * out->stride, 0, (size_t)out->width * out->channels);
    return rc;
}

int jpeg_decode(struct jpeg *j, struct span file, const struct pixels *out, bool gray_source, struct error *error) {
    struct decode_task task = {file, out, gray_source, false};
    return decode(j, &task, error);
}

int jpeg_decode_fast(struct jpeg *j, struct span file, const struct pixels *out, bool gray_source,
                     struct error *error) {
    struct decode_task task = {file, out, gray_source, true};
    return decode(j, &task, error);
}

/* ---- planes ------------------------------------------------------------------------------------------------------ */

struct planes_task {
    struct span file;
    const struct jpeg_planes *out;
    enum cpu_level level;
    bool *decoded;
};

static int planes_step(struct jpeg *j, void *arg, struct error *error) {
    const struct planes_task *task = arg;
    const struct jpeg_planes *out = task->out;
    const struct baseline_planes planes = {{out->plane[0], out->plane[1], out->plane[2]}, out->stride, out->count};

    jpeg_open_picture(j, task->file, false);
    if (j->reader.image_width != out->width || j->reader.image_height != out->height)
        return 0;
    const enum baseline_result result = baseline_decode(j->baseline, &planes, &j->reader, task->level);
    *task->decoded = result == BASELINE_DONE;
    return result == BASELINE_NO_MEMORY ? error_set(error, ERR_MEMORY, "out of memory for a JPEG") : 0;
}

int jpeg_decode_planes(struct jpeg *j, const struct jpeg_planes *out, bool *decoded, struct span file,
                       enum cpu_level level, struct error *error) {
    struct planes_task task = {file, out, level, decoded};
    struct error refusal;

    *decoded = false;
    if (!j->baseline && !(j->baseline = baseline_create()))
        return error_set(error, ERR_MEMORY, "out of memory for a JPEG");
    int rc = jpeg_run(j, planes_step, &task, &refusal);
    if (rc == ERR_MEMORY && error)
        *error = refusal;
    return rc == ERR_MEMORY ? rc : 0;
}

size_t jpeg_planes_scratch_bytes(uint32_t width) {
    return baseline_scratch_bytes(width);
}
