#include "jpeg_private.h"

#include "chroma.h"

#include <string.h>

enum { OUTPUT_STEP_BYTES = 64 << 10 };

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
        jpeg_fail(jpeg_owner((j_common_ptr)w), ERR_MEMORY, "out of memory for a JPEG");
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
        rc = jpeg_run(j, encode_step, &task, error);
    if (rc != 0)
        out->size = size;
    pixels_deinit(&chroma[0]);
    pixels_deinit(&chroma[1]);
    return rc;
}
