/*
 * JPEG by libjpeg-turbo.
 *
 *   run(step)  ──>  open_picture ──> rows ──> finish_picture
 *     │  ^                            │
 *     │  └── longjmp: error_exit      └── emit_message: sorts warnings into damage and the harmless
 *     └── destroys the library's objects, whatever happened
 *
 * libjpeg repairs what it can and only warns. Which warning means that the picture is not whole:
 *
 *   accepted silently     bytes after EOI (zeros, text, further pictures), FF fill bytes, thumbnails and other metadata
 *   accepted, warned      no EOI marker, bytes between segments, wrong SOS parameters of a sequential picture, unknown
 *                         JFIF or Adobe versions, a progressive picture whose last refinements were never sent
 *   refused as cut        data that end inside a scan, or where nothing proves that they do not: a progressive picture
 *                         without EOI that has unrefined coefficients, an arithmetic one without EOI, anything
 *                         without EOI but with bytes that are no picture data at its end
 *   refused as corrupt    codes that do not exist, lost restart markers, a component without a scan or its DC
 *   refused by the header no or two SOI/SOF, no SOS or quantisation table, size 0, precision other than 8, lossless and
 *                         hierarchical processes, 2 or more than 4 components, more than SCAN_LIMIT scans, chroma that
 *                         is subsampled by a fraction
 *
 * The objects of the library are made anew for every picture: a used one keeps the tables of the picture before, and would
 * decode a file that lacks its own with them.
 */
#include "jpeg.h"

#include "baseline.h"
#include "chroma.h"
#include "exif.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jpeglib.h>
#include <jerror.h>
#include <turbojpeg.h>

enum {
    SCAN_LIMIT = 500,
    CHUNK_ROWS = 16,
    MARKER_EOI = 0xD9,
    TEXT_BYTES = 200,
    OUTPUT_STEP_BYTES = 64 << 10,
    STRAY_BYTES = 64
};

/* What the library reported about one picture. */
struct findings {
    bool ran_dry;          /* the file ended before an EOI marker */
    bool damaged, corrupt; /* not whole; and that because of wrong bits, not of missing ones */
    uint32_t rows;         /* decoded before the first fault */
    uint32_t harmless_count;
    char fault[TEXT_BYTES], harmless[TEXT_BYTES]; /* the first of each */
};

struct jpeg {
    struct jpeg_error_mgr manager; /* first: the library hands its address back */
    jmp_buf failed;
    int code; /* of the failure that jumped, and its text */
    char message[TEXT_BYTES];
    struct jpeg_decompress_struct reader;
    struct jpeg_compress_struct writer;
    struct jpeg_progress_mgr progress;
    struct findings findings;
    bool header_read;     /* a failure from here on is damage of a picture */
    tjhandle transformer; /* this one and the next are made when first needed */
    struct baseline *baseline;
};

/* ---- errors and warnings of the library ----------------------------------------------------------------------------- */

static struct jpeg *owner(j_common_ptr cinfo) {
    return (struct jpeg *)(void *)cinfo->err;
}

static void fail(struct jpeg *j, int code, const char *format, ...) __attribute__((noreturn, format(printf, 3, 4)));
static void fail(struct jpeg *j, int code, const char *format, ...) {
    va_list args;
    va_start(args, format);
    vsnprintf(j->message, sizeof j->message, format, args);
    va_end(args);
    j->code = code;
    longjmp(j->failed, 1);
}

static const char *process_text(int marker) {
    switch (marker) {
    case 0xC3:
    case 0xCB: return "lossless";
    default: return "hierarchical";
    }
}

static void on_error(j_common_ptr cinfo) {
    struct jpeg *j = owner(cinfo);
    char text[JMSG_LENGTH_MAX];
    int value = j->manager.msg_parm.i[0];

    switch (j->manager.msg_code) {
    case JERR_OUT_OF_MEMORY: fail(j, ERR_MEMORY, "out of memory for a JPEG");
    case JERR_SOF_UNSUPPORTED: fail(j, ERR_UNSUPPORTED, "unsupported SOF%d (%s)", value - 0xC0, process_text(value));
    case JERR_BAD_PRECISION: fail(j, ERR_UNSUPPORTED, "unsupported precision %d", value);
    case JERR_ARITH_NOTIMPL:
        fail(j, ERR_UNSUPPORTED, "unsupported: arithmetic coding, which this libjpeg was built without");
    default:
        if (j->findings.ran_dry && !j->header_read)
            fail(j, ERR_INPUT, "the file ends inside the header");
        j->manager.format_message(cinfo, text);
        fail(j, ERR_INPUT, "%.*s", TEXT_BYTES - 1, text);
    }
}

/* Rows of the running scan that are whole. */
static uint32_t rows_so_far(const struct jpeg *j) {
    const struct jpeg_decompress_struct *r = &j->reader;
    uint64_t rows = (uint64_t)r->input_iMCU_row * (unsigned)r->max_v_samp_factor * DCTSIZE;
    return rows < r->image_height ? (uint32_t)rows : r->image_height;
}

static void note_damage(struct jpeg *j, bool corrupt, uint32_t rows, const char *text) {
    struct findings *f = &j->findings;
    if (f->damaged) /* what follows the first fault is its consequence */
        return;
    f->damaged = true;
    f->corrupt = corrupt;
    f->rows = rows;
    snprintf(f->fault, sizeof f->fault, "%s", text);
}

static void note_harmless(struct jpeg *j, const char *text) {
    if (j->findings.harmless_count++ == 0)
        snprintf(j->findings.harmless, sizeof j->findings.harmless, "%s", text);
}

/* Whether the bytes passed over on the way to a marker are picture data: wrong codes can end the picture too early, and what
 * is left of it is many bytes of many values. A few stray bytes, or padding with one value, are not. */
static bool passes_over_data(const struct jpeg *j) {
    const uint8_t *end = j->reader.src->next_input_byte;
    return j->header_read && j->manager.msg_parm.i[0] > STRAY_BYTES &&
           memcmp(end - STRAY_BYTES, end - STRAY_BYTES + 1, STRAY_BYTES - 1) != 0;
}

static void on_message(j_common_ptr cinfo, int level) {
    struct jpeg *j = owner(cinfo);
    struct findings *f = &j->findings;
    char text[JMSG_LENGTH_MAX];

    if (level >= 0 || !cinfo->is_decompressor)
        return;
    j->manager.format_message(cinfo, text);
    switch (j->manager.msg_code) {
    case JWRN_JPEG_EOF:
        f->ran_dry = true; /* the memory source now hands out EOI markers of its own */
        break;
    case JWRN_HIT_MARKER:
        note_damage(j, !f->ran_dry && j->reader.unread_marker != MARKER_EOI, rows_so_far(j), text);
        break;
    case JWRN_HUFF_BAD_CODE:
    case JWRN_ARITH_BAD_CODE:
    case JWRN_MUST_RESYNC: note_damage(j, !f->ran_dry, rows_so_far(j), text); break;
    case JWRN_EXTRANEOUS_DATA:
        if (f->ran_dry)
            note_damage(j, false, rows_so_far(j), "no EOI marker, and bytes that are no picture data at the end");
        else if (passes_over_data(j))
            note_damage(j, true, rows_so_far(j), text);
        else
            note_harmless(j, text);
        break;
    default: note_harmless(j, text);
    }
}

/* Each scan costs a pass over the whole picture, however few bytes it has. */
static void on_progress(j_common_ptr cinfo) {
    struct jpeg *j = owner(cinfo);
    if (cinfo->is_decompressor && j->reader.input_scan_number > SCAN_LIMIT)
        fail(j, ERR_INPUT, "more than %d scans", SCAN_LIMIT);
}

static void on_output(j_common_ptr cinfo) {
    (void)cinfo; /* nothing is printed */
}

/* ---- one picture ---------------------------------------------------------------------------------------------------- */

/* The only setjmp. Whatever a step changes lives in *j or behind `arg`, so that nothing is lost by the jump. */
static int run(struct jpeg *j, int (*step)(struct jpeg *j, void *arg, struct error *error), void *arg,
               struct error *error) {
    int rc;
    j->findings = (struct findings){0};
    j->header_read = false;
    if (setjmp(j->failed) == 0) {
        rc = step(j, arg, error);
    } else {
        rc = error_set(error, j->code, "%s", j->message);
        if (j->header_read)
            note_damage(j, !j->findings.ran_dry, rows_so_far(j), j->message);
    }
    jpeg_destroy_decompress(&j->reader);
    jpeg_destroy_compress(&j->writer);
    return rc;
}

/* The library decodes luma alone of any sampling, but spreads chroma by whole factors only. */
static void refuse_fractional_sampling(struct jpeg *j) {
    const struct jpeg_decompress_struct *r = &j->reader;
    for (int i = 0; i < r->num_components; i++) {
        const jpeg_component_info *c = &r->comp_info[i];
        if (r->max_h_samp_factor % c->h_samp_factor != 0 || r->max_v_samp_factor % c->v_samp_factor != 0)
            fail(j, ERR_UNSUPPORTED, "unsupported sampling: component %d has %dx%d samples where another has %dx%d",
                 i + 1, c->h_samp_factor, c->v_samp_factor, r->max_h_samp_factor, r->max_v_samp_factor);
    }
}

static void open_picture(struct jpeg *j, struct span file, bool keep_exif) {
    struct jpeg_decompress_struct *r = &j->reader;

    if (file.size == 0)
        fail(j, ERR_INPUT, "the file is empty");
    jpeg_create_decompress(r);
    r->progress = &j->progress;
    if (keep_exif)
        jpeg_save_markers(r, JPEG_APP0 + 1, 0xFFFF);
    jpeg_mem_src(r, file.data, file.size);
    jpeg_read_header(r, TRUE);

    if (j->findings.ran_dry)
        fail(j, ERR_INPUT, "the file ends inside the header");
    if (r->data_precision != 8)
        fail(j, ERR_UNSUPPORTED, "unsupported precision %d", r->data_precision);
    /* Libraries from 3.0 on decode lossless pictures, older ones do not: the same verdict from all. The predictor stands
     * where other pictures have the first coefficient of the scan. */
    if (!r->progressive_mode && r->Ss != 0 && r->Se == 0)
        fail(j, ERR_UNSUPPORTED, "unsupported SOF3 (lossless)");
    if (r->num_components != 1 && r->num_components != 3 && r->num_components != 4)
        fail(j, ERR_UNSUPPORTED, "unsupported number of components: %d", r->num_components);
    refuse_fractional_sampling(j);
    j->header_read = true;
}

/* After the last row: reads on to the EOI, and finds whether every coefficient of the picture was there. In place of
 * jpeg_finish_decompress(), which frees what is asked here. */
static void finish_picture(struct jpeg *j) {
    struct jpeg_decompress_struct *r = &j->reader;
    bool unrefined = false;

    while (jpeg_consume_input(r) != JPEG_REACHED_EOI) {
    }
    for (int c = 0; c < r->num_components; c++) {
        /* The library keeps a copy of the table when a component's first scan begins. */
        if (!r->comp_info[c].quant_table)
            note_damage(j, !j->findings.ran_dry, 0, "a component has no scan");
        if (!r->progressive_mode)
            continue;
        if (r->coef_bits[c][0] < 0)
            note_damage(j, !j->findings.ran_dry, 0, "a component has no DC scan");
        for (int k = 0; k < DCTSIZE2; k++)
            unrefined = unrefined || r->coef_bits[c][k] != 0;
    }
    if (unrefined && j->findings.ran_dry)
        note_damage(j, false, 0, "later scans of the progressive picture are missing");
    else if (unrefined)
        note_harmless(j, "the progressive picture lacks its last scans");
    /* The arithmetic decoder takes a marker for zeros without end, and cannot tell when data were missing. */
    if (r->arith_code && j->findings.ran_dry)
        note_damage(j, false, 0, "arithmetic coding without EOI marker");
    if (j->findings.ran_dry && j->findings.harmless_count == 0)
        snprintf(j->findings.harmless, sizeof j->findings.harmless, "the EOI marker is missing");
}

/* ---- probe ---------------------------------------------------------------------------------------------------------- */

struct probe_task {
    struct span file;
    struct jpeg_info *out;
};

static void read_orientation(struct jpeg_info *out, const struct jpeg_decompress_struct *r) {
    static const uint8_t exif[6] = {'E', 'x', 'i', 'f', 0, 0};

    out->orientation = 1;
    for (jpeg_saved_marker_ptr m = r->marker_list; m; m = m->next) {
        if (m->data_length < sizeof exif || memcmp(m->data, exif, sizeof exif) != 0)
            continue;
        int found = exif_orientation((struct span){m->data + sizeof exif, m->data_length - sizeof exif});
        out->orientation_broken = found == EXIF_BROKEN;
        out->orientation = (uint8_t)(found >= 1 ? found : 1);
        return; /* the first EXIF segment is the one that counts */
    }
}

static const char *subsampling_text(const struct jpeg_decompress_struct *r) {
    static const struct {
        int h, v;
        const char *text;
    } names[] = {{1, 1, "4:4:4"}, {2, 1, "4:2:2"}, {2, 2, "4:2:0"}, {1, 2, "4:4:0"}, {4, 1, "4:1:1"}};
    const jpeg_component_info *c = r->comp_info;

    if (r->num_components == 1)
        return "gray";
    if (c[1].h_samp_factor != c[2].h_samp_factor || c[1].v_samp_factor != c[2].v_samp_factor)
        return "other";
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (c[0].h_samp_factor == names[i].h * c[1].h_samp_factor &&
            c[0].v_samp_factor == names[i].v * c[1].v_samp_factor)
            return names[i].text;
    return "other";
}

static int probe_step(struct jpeg *j, void *arg, struct error *error) {
    const struct probe_task *task = arg;
    const struct jpeg_decompress_struct *r = &j->reader;

    (void)error;
    open_picture(j, task->file, true);
    *task->out = (struct jpeg_info){
        .width = r->image_width,
        .height = r->image_height,
        .components = (uint8_t)r->num_components,
        .precision = (uint8_t)r->data_precision,
        .progressive = r->progressive_mode,
        .arithmetic = r->arith_code,
        .cmyk = r->num_components == 4,
    };
    snprintf(task->out->subsampling, sizeof task->out->subsampling, "%s", subsampling_text(r));
    read_orientation(task->out, r);
    return 0;
}

int jpeg_probe(struct jpeg *j, struct jpeg_info *out, struct span file, struct error *error) {
    struct probe_task task = {file, out};
    *out = (struct jpeg_info){0};
    return run(j, probe_step, &task, error);
}

/* ---- check ---------------------------------------------------------------------------------------------------------- */

struct check_task {
    struct span file;
    uint32_t height;
    bool peek;    /* look at the first rows only, and only for `neutral` */
    bool neutral; /* no colour was seen */
};

static bool row_is_neutral(const uint8_t *row, uint32_t width) {
    unsigned difference = 0;
    for (uint32_t x = 0; x < width; x++, row += 3)
        difference |= (row[1] ^ CENTERJSAMPLE) | (row[2] ^ CENTERJSAMPLE);
    return difference == 0;
}

/* At 1/8 scale the library decodes all codes but keeps only the DC of each block. */
static int check_step(struct jpeg *j, void *arg, struct error *error) {
    struct check_task *task = arg;
    struct jpeg_decompress_struct *r = &j->reader;

    (void)error;
    open_picture(j, task->file, false);
    task->height = r->image_height;
    task->neutral = r->jpeg_color_space == JCS_YCbCr;
    if (task->peek && (!task->neutral || jpeg_has_multiple_scans(r)))
        return 0; /* with several scans the coefficients are kept anyway, and reading all is as cheap */
    r->scale_num = 1;
    r->scale_denom = DCTSIZE;
    r->out_color_space = task->peek || r->jpeg_color_space != JCS_YCbCr ? r->jpeg_color_space : JCS_GRAYSCALE;
    r->do_fancy_upsampling = FALSE;
    r->do_block_smoothing = FALSE;
    jpeg_start_decompress(r);

    JSAMPARRAY row =
        r->mem->alloc_sarray((j_common_ptr)r, JPOOL_IMAGE, r->output_width * (unsigned)r->output_components, 1);
    while (r->output_scanline < r->output_height) {
        jpeg_read_scanlines(r, row, 1);
        if (task->peek) {
            task->neutral = row_is_neutral(row[0], r->output_width);
            return 0;
        }
    }
    finish_picture(j);
    return 0;
}

static bool blocks_are_zero(const JCOEF *coefficients, size_t block_count) {
    int any = 0;
    for (size_t i = 0; i < block_count * DCTSIZE2; i++)
        any |= coefficients[i];
    return any == 0;
}

/* Decodes the coefficients alone and looks at all those of chroma. */
static int neutral_step(struct jpeg *j, void *arg, struct error *error) {
    struct check_task *task = arg;
    struct jpeg_decompress_struct *r = &j->reader;

    (void)error;
    open_picture(j, task->file, false);
    jvirt_barray_ptr *arrays = jpeg_read_coefficients(r);
    for (int c = 1; c < r->num_components; c++)
        for (JDIMENSION y = 0; task->neutral && y < r->comp_info[c].height_in_blocks; y++) {
            JBLOCKARRAY blocks = r->mem->access_virt_barray((j_common_ptr)r, arrays[c], y, 1, FALSE);
            task->neutral = blocks_are_zero(blocks[0][0], r->comp_info[c].width_in_blocks);
        }
    finish_picture(j);
    return 0;
}

static int check_pass(struct jpeg *j, int (*step)(struct jpeg *j, void *arg, struct error *error),
                      struct check_task *task, struct error *error) {
    struct error fault = {0};

    int rc = run(j, step, task, &fault);
    if (rc == ERR_INPUT && j->header_read) /* damage, and noted as that */
        return 0;
    if (rc != 0 && error)
        *error = fault;
    return rc;
}

int jpeg_check_full(struct jpeg *j, struct jpeg_check *out, struct span file, struct error *error) {
    struct check_task task = {.file = file, .peek = true};
    const struct findings *f = &j->findings;

    *out = (struct jpeg_check){0};
    int rc = check_pass(j, check_step, &task, error);
    task.peek = false;
    bool neutral = task.neutral && !f->damaged;
    if (rc == 0)
        rc = check_pass(j, neutral ? neutral_step : check_step, &task, error);
    if (rc != 0)
        return rc;

    out->complete = !f->damaged;
    out->corrupt = f->corrupt;
    out->missing_eoi = out->complete && f->ran_dry;
    out->equal_channels = out->complete && neutral && task.neutral;
    out->rows_decoded = out->complete ? task.height : f->rows;
    out->warning_count = f->harmless_count;
    snprintf(out->warning, sizeof out->warning, "%s", f->damaged ? f->fault : f->harmless_count ? f->harmless : "");
    return 0;
}

const char *jpeg_warning(const struct jpeg *j) {
    return j->findings.harmless;
}

/* ---- decode --------------------------------------------------------------------------------------------------------- */

struct decode_task {
    struct span file;
    const struct pixels *out;
    bool gray_source;
    bool fast;
};

/* CMYK as it is stored to R,G,B: with every value counted from no ink (255) to full ink (0), R = C * K / 255. Files with
 * an Adobe marker store it that way round; others store ink, which `flip` 0xFF turns. */
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
    const struct findings *f = &j->findings;
    struct jpeg_decompress_struct *r = &j->reader;

    open_picture(j, task->file, false);
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
    finish_picture(j);
    if (f->damaged)
        return error_set(error, ERR_INPUT, "%u of %u rows could be decoded: %s", f->rows, r->image_height, f->fault);
    return 0;
}

static int decode(struct jpeg *j, struct decode_task *task, struct error *error) {
    const struct pixels *out = task->out;
    if (out->depth != 8 || (out->channels != 1 && out->channels != 3) ||
        out->stride < (size_t)out->width * out->channels)
        return error_set(error, ERR_ARGUMENT, "pixels of a shape that no JPEG decodes to");
    int rc = run(j, decode_step, task, error);
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

/* ---- planes --------------------------------------------------------------------------------------------------------- */

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

    open_picture(j, task->file, false);
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
    int rc = run(j, planes_step, &task, &refusal);
    if (rc == ERR_MEMORY && error)
        *error = refusal;
    return rc == ERR_MEMORY ? rc : 0;
}

size_t jpeg_planes_scratch_bytes(uint32_t width) {
    return baseline_scratch_bytes(width);
}

/* ---- encode --------------------------------------------------------------------------------------------------------- */

struct encode_task {
    struct jpeg_destination_mgr destination; /* first: the library hands its address back */
    struct bytes *out;
    const struct pixels *in;
    int quality;
    const struct pixels *chroma; /* Cb and Cr of half the size, or NULL: not subsampled */
};

/* The library writes to the free end of `out`. */
static void output_begin(j_compress_ptr w) {
    struct encode_task *task = (struct encode_task *)(void *)w->dest;
    struct bytes *out = task->out;

    if (out->capacity - out->size < OUTPUT_STEP_BYTES &&
        bytes_reserve(out, out->size + out->size / 2 + OUTPUT_STEP_BYTES) != 0)
        fail(owner((j_common_ptr)w), ERR_MEMORY, "out of memory for a JPEG");
    w->dest->next_output_byte = out->data + out->size;
    w->dest->free_in_buffer = out->capacity - out->size;
}

static boolean output_full(j_compress_ptr w) {
    struct encode_task *task = (struct encode_task *)(void *)w->dest;
    task->out->size = task->out->capacity; /* free_in_buffer means nothing here: the library asks for a whole flush */
    output_begin(w);
    return TRUE;
}

static void output_end(j_compress_ptr w) {
    struct encode_task *task = (struct encode_task *)(void *)w->dest;
    task->out->size = task->out->capacity - w->dest->free_in_buffer;
}

static void write_pixels(struct jpeg_compress_struct *w, const struct pixels *in) {
    while (w->next_scanline < w->image_height) {
        JSAMPROW row = in->data + (size_t)w->next_scanline * in->stride;
        jpeg_write_scanlines(w, &row, 1);
    }
}

/* A row to be coded: behind its end the last sample goes on. */
static void extend_row(uint8_t *row, uint32_t width, size_t padded) {
    memset(row + width, row[width - 1], padded - width);
}

/* Luma and half-size chroma, a row of MCUs at a time. */
static void write_halved(struct jpeg_compress_struct *w, const struct pixels *in, const struct pixels chroma[2]) {
    const uint32_t width = (uint32_t)align_up(in->width, 2 * DCTSIZE);
    JSAMPARRAY luma = w->mem->alloc_sarray((j_common_ptr)w, JPOOL_IMAGE, width, 2 * DCTSIZE);
    JSAMPARRAY halves[2];
    for (int c = 0; c < 2; c++)
        halves[c] = w->mem->alloc_sarray((j_common_ptr)w, JPOOL_IMAGE, width / 2, DCTSIZE);

    while (w->next_scanline < w->image_height) {
        for (uint32_t i = 0; i < 2 * DCTSIZE; i++) {
            const uint32_t y = w->next_scanline + i, last = in->height - 1;
            pixels_luma_row(luma[i], in->data + (size_t)(y < last ? y : last) * in->stride, in->width);
            extend_row(luma[i], in->width, width);
        }
        for (uint32_t i = 0; i < 2 * DCTSIZE; i++) {
            const struct pixels *from = &chroma[i % 2];
            const uint32_t y = w->next_scanline / 2 + i / 2, last = from->height - 1;
            memcpy(halves[i % 2][i / 2], from->data + (size_t)(y < last ? y : last) * from->stride, from->width);
            extend_row(halves[i % 2][i / 2], from->width, width / 2);
        }
        jpeg_write_raw_data(w, (JSAMPARRAY[]){luma, halves[0], halves[1]}, 2 * DCTSIZE);
    }
}

static int encode_step(struct jpeg *j, void *arg, struct error *error) {
    struct encode_task *task = arg;
    const struct pixels *in = task->in;
    struct jpeg_compress_struct *w = &j->writer;

    (void)error;
    jpeg_create_compress(w);
    w->dest = &task->destination;
    w->image_width = in->width;
    w->image_height = in->height;
    w->input_components = in->channels;
    w->in_color_space = in->channels == 3 ? JCS_RGB : JCS_GRAYSCALE;
    jpeg_set_defaults(w);
    jpeg_set_quality(w, task->quality, TRUE);
    w->optimize_coding = TRUE;
    w->dct_method = JDCT_ISLOW;
    w->raw_data_in = task->chroma != NULL;
    w->comp_info[0].h_samp_factor = w->comp_info[0].v_samp_factor = task->chroma ? 2 : 1;
    jpeg_start_compress(w, TRUE);
    if (task->chroma)
        write_halved(w, in, task->chroma);
    else
        write_pixels(w, in);
    jpeg_finish_compress(w);
    return 0;
}

int jpeg_encode(struct jpeg *j, struct bytes *out, const struct pixels *in, int quality, bool subsample_420,
                struct error *error) {
    struct pixels chroma[2] = {{0}};
    struct encode_task task = {
        {.init_destination = output_begin, .empty_output_buffer = output_full, .term_destination = output_end},
        out,
        in,
        quality,
        NULL};
    size_t size = out->size;

    if (in->depth != 8 || (in->channels != 1 && in->channels != 3) || quality < 1 || quality > 100)
        return error_set(error, ERR_ARGUMENT, "no JPEG has quality %d, %d channels and depth %d", quality, in->channels,
                         in->depth);
    int rc = 0;
    if (in->channels == 3 && subsample_420) {
        task.chroma = chroma;
        rc = chroma_halve(chroma, in, error);
    }
    if (rc == 0)
        rc = run(j, encode_step, &task, error);
    if (rc != 0)
        out->size = size;
    pixels_deinit(&chroma[0]);
    pixels_deinit(&chroma[1]);
    return rc;
}

/* ---- transform ------------------------------------------------------------------------------------------------------ */

struct layout_task {
    struct span file;
    bool whole_columns, whole_rows; /* the picture ends where a block of the interleaved scan ends */
};

static int layout_step(struct jpeg *j, void *arg, struct error *error) {
    struct layout_task *task = arg;
    const struct jpeg_decompress_struct *r = &j->reader;

    (void)error;
    open_picture(j, task->file, false);
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
    int rc = run(j, layout_step, &layout, error);
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
    /* A failure after a warning has the warning's code, and leaves a buffer that nobody wrote; coefficients that no Huffman
     * table has codes for are written all the same. */
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

/* ---- handle --------------------------------------------------------------------------------------------------------- */

int jpeg_handle_create(struct jpeg **out, struct error *error) {
    struct jpeg *j = *out = calloc(1, sizeof *j);
    if (!j)
        return error_set(error, ERR_MEMORY, "out of memory for a JPEG handle");
    jpeg_std_error(&j->manager);
    j->manager.error_exit = on_error;
    j->manager.emit_message = on_message;
    j->manager.output_message = on_output;
    j->progress.progress_monitor = on_progress;
    j->reader.err = j->writer.err = &j->manager;
    return 0;
}

void jpeg_handle_destroy(struct jpeg **jpeg) {
    struct jpeg *j = *jpeg;
    if (!j)
        return;
    if (j->transformer)
        tjDestroy(j->transformer);
    baseline_destroy(&j->baseline);
    free(j);
    *jpeg = NULL;
}

#define TEXT_OF(x) #x
#define VALUE_TEXT(x) TEXT_OF(x)

const char *jpeg_library_version(void) {
    return VALUE_TEXT(LIBJPEG_TURBO_VERSION);
}
