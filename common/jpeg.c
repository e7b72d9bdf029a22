/*
 * JPEG by libjpeg-turbo: probing and checking a picture, and what they share with decoding, encoding and turning.
 *
 *   jpeg_run(step)  ──>  jpeg_open_picture ──> rows ──> jpeg_finish_picture
 *     │  ^                                      │
 *     │  └── longjmp: error_exit                └── emit_message: sorts warnings into damage and the harmless
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
 * The objects of the library are made anew for every picture: a used one keeps the tables of the picture before, and
 * would decode a file that lacks its own with them.
 */
#include "jpeg_private.h"

#include "baseline.h"
#include "exif.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <jerror.h>

enum { SCAN_LIMIT = 500, MARKER_EOI = 0xD9, STRAY_BYTES = 64 };

/* ---- errors and warnings of the library -------------------------------------------------------------------------- */

void jpeg_fail(struct jpeg *j, int code, const char *format, ...) {
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
    struct jpeg *j = jpeg_owner(cinfo);
    char text[JMSG_LENGTH_MAX];
    int value = j->manager.msg_parm.i[0];

    switch (j->manager.msg_code) {
    case JERR_OUT_OF_MEMORY: jpeg_fail(j, ERR_MEMORY, "out of memory for a JPEG");
    case JERR_SOF_UNSUPPORTED:
        jpeg_fail(j, ERR_UNSUPPORTED, "unsupported SOF%d (%s)", value - 0xC0, process_text(value));
    case JERR_BAD_PRECISION: jpeg_fail(j, ERR_UNSUPPORTED, "unsupported precision %d", value);
    case JERR_ARITH_NOTIMPL:
        jpeg_fail(j, ERR_UNSUPPORTED, "unsupported: arithmetic coding, which this libjpeg was built without");
    default:
        if (j->findings.ran_dry && !j->header_read)
            jpeg_fail(j, ERR_INPUT, "the file ends inside the header");
        j->manager.format_message(cinfo, text);
        jpeg_fail(j, ERR_INPUT, "%.*s", JPEG_TEXT_BYTES - 1, text);
    }
}

/* Rows of the running scan that are whole. */
static uint32_t rows_so_far(const struct jpeg *j) {
    const struct jpeg_decompress_struct *r = &j->reader;
    uint64_t rows = (uint64_t)r->input_iMCU_row * (unsigned)r->max_v_samp_factor * DCTSIZE;
    return rows < r->image_height ? (uint32_t)rows : r->image_height;
}

static void note_damage(struct jpeg *j, bool corrupt, uint32_t rows, const char *text) {
    struct jpeg_findings *f = &j->findings;
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

/* Whether the bytes passed over on the way to a marker are picture data: wrong codes can end the picture too early, and
 * what is left of it is many bytes of many values. A few stray bytes, or padding with one value, are not. */
static bool passes_over_data(const struct jpeg *j) {
    const uint8_t *end = j->reader.src->next_input_byte;
    return j->header_read && j->manager.msg_parm.i[0] > STRAY_BYTES &&
           memcmp(end - STRAY_BYTES, end - STRAY_BYTES + 1, STRAY_BYTES - 1) != 0;
}

static void on_message(j_common_ptr cinfo, int level) {
    struct jpeg *j = jpeg_owner(cinfo);
    struct jpeg_findings *f = &j->findings;
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
    struct jpeg *j = jpeg_owner(cinfo);
    if (cinfo->is_decompressor && j->reader.input_scan_number > SCAN_LIMIT)
        jpeg_fail(j, ERR_INPUT, "more than %d scans", SCAN_LIMIT);
}

static void on_output(j_common_ptr cinfo) {
    (void)cinfo; /* nothing is printed */
}

/* ---- one picture ------------------------------------------------------------------------------------------------- */

/* The only setjmp. Whatever a step changes lives in *j or behind `arg`, so that nothing is lost by the jump. */
int jpeg_run(struct jpeg *j, int (*step)(struct jpeg *j, void *arg, struct error *error), void *arg,
             struct error *error) {
    int rc;
    j->findings = (struct jpeg_findings){0};
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
            jpeg_fail(j, ERR_UNSUPPORTED,
                      "unsupported sampling: component %d has %dx%d samples where another has %dx%d", i + 1,
                      c->h_samp_factor, c->v_samp_factor, r->max_h_samp_factor, r->max_v_samp_factor);
    }
}

void jpeg_open_picture(struct jpeg *j, struct span file, bool keep_exif) {
    struct jpeg_decompress_struct *r = &j->reader;

    if (file.size == 0)
        jpeg_fail(j, ERR_INPUT, "the file is empty");
    jpeg_create_decompress(r);
    r->progress = &j->progress;
    if (keep_exif)
        jpeg_save_markers(r, JPEG_APP0 + 1, 0xFFFF);
    jpeg_mem_src(r, file.data, file.size);
    jpeg_read_header(r, TRUE);

    if (j->findings.ran_dry)
        jpeg_fail(j, ERR_INPUT, "the file ends inside the header");
    if (r->data_precision != 8)
        jpeg_fail(j, ERR_UNSUPPORTED, "unsupported precision %d", r->data_precision);
    /* Libraries from 3.0 on decode lossless pictures, older ones do not: the same verdict from all. The predictor
     * stands where other pictures have the first coefficient of the scan. */
    if (!r->progressive_mode && r->Ss != 0 && r->Se == 0)
        jpeg_fail(j, ERR_UNSUPPORTED, "unsupported SOF3 (lossless)");
    if (r->num_components != 1 && r->num_components != 3 && r->num_components != 4)
        jpeg_fail(j, ERR_UNSUPPORTED, "unsupported number of components: %d", r->num_components);
    refuse_fractional_sampling(j);
    j->header_read = true;
}

void jpeg_finish_picture(struct jpeg *j) {
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

/* ---- probe ------------------------------------------------------------------------------------------------------- */

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
    jpeg_open_picture(j, task->file, true);
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
    return jpeg_run(j, probe_step, &task, error);
}

/* ---- check ------------------------------------------------------------------------------------------------------- */

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
    jpeg_open_picture(j, task->file, false);
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
    jpeg_finish_picture(j);
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
    jpeg_open_picture(j, task->file, false);
    jvirt_barray_ptr *arrays = jpeg_read_coefficients(r);
    for (int c = 1; c < r->num_components; c++)
        for (JDIMENSION y = 0; task->neutral && y < r->comp_info[c].height_in_blocks; y++) {
            JBLOCKARRAY blocks = r->mem->access_virt_barray((j_common_ptr)r, arrays[c], y, 1, FALSE);
            task->neutral = blocks_are_zero(blocks[0][0], r->comp_info[c].width_in_blocks);
        }
    jpeg_finish_picture(j);
    return 0;
}

static int check_pass(struct jpeg *j, int (*step)(struct jpeg *j, void *arg, struct error *error),
                      struct check_task *task, struct error *error) {
    struct error fault = {0};

    int rc = jpeg_run(j, step, task, &fault);
    if (rc == ERR_INPUT && j->header_read) /* damage, and noted as that */
        return 0;
    if (rc != 0 && error)
        *error = fault;
    return rc;
}

int jpeg_check_full(struct jpeg *j, struct jpeg_check *out, struct span file, struct error *error) {
    struct check_task task = {.file = file, .peek = true};
    const struct jpeg_findings *f = &j->findings;

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

/* ---- handle ------------------------------------------------------------------------------------------------------ */

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
