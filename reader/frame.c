#include "frame.h"

#include "clock.h"
#include "codec.h"
#include "decoder.h"
#include "hsv.h"
#include "infrared.h"
#include "jpeg.h"
#include "matrix.h"
#include "resize.h"
#include "warp.h"

#include <stdlib.h>
#include <string.h>

/* Rows that go through all stages together: few enough to stay in the first cache, enough to make timing them cheap. */
#define BLOCK_ROWS 8
#define STRIDE_ALIGNMENT 64
#define READ_SLACK 64 /* the vector code may read past the end of a row */

struct frame {
    const struct ypk_dataset *dataset;
    struct frame_options options;
    enum cpu_level level;
    struct ypk_decoder *decoder;
    struct resize *resize;
    struct warp *warps[2][LAYER_COUNT]; /* [RGB, IR]; those that are needed */
    const struct convert_rows *convert;
    hsv_row_fn *hsv_row;
    struct number_table tables[4]; /* R, G, B, IR */
    struct bytes pixels;           /* a decoded picture before it is resized, and what it is unpacked from */
    uint8_t *block;                /* [BLOCK_ROWS][3][row_bytes] */
    uint8_t *other;                /* [3][row_bytes]: a row of another layer */
    size_t row_bytes;
    struct frame_times times;
};

/* Adds the time since *mark to a stage and moves the mark. */
static void lap(uint64_t *stage, uint64_t *mark) {
    uint64_t now = clock_ns();
    *stage += now - *mark;
    *mark = now;
}

size_t frame_picture_bytes(const struct frame_options *options) {
    size_t planes = (options->rgb ? 3u : 0u) + (options->ir ? 1u : 0u);
    return align_up(planes * align_up(options->image_size, STRIDE_ALIGNMENT) * options->image_size + READ_SLACK, 4096);
}

/* The widest picture, and the memory for the largest, that has to be decoded: its pixels, or its planes; for counts of
 * 16 bits pixels, and behind them the counts in bytes and one row of them. */
static void source_limits(const struct ypk_dataset *dataset, const struct frame_options *options, int *width,
                          size_t *bytes) {
    const struct index_view *v = &dataset->index;
    size_t rgb = options->rgb ? (size_t)v->rgb_max_pixels * 3 : 0;
    size_t counts = 2 * ((size_t)v->ir_max_pixels + v->ir_max_width) + STRIDE_ALIGNMENT;
    size_t ir = options->ir ? (size_t)v->ir_max_pixels + counts : 0;
    int rgb_width = options->rgb ? v->rgb_max_width : 0, ir_width = options->ir ? v->ir_max_width : 0;
    *width = rgb_width > ir_width ? rgb_width : ir_width;
    *width = *width > 0 ? *width : 1;
    *bytes = (rgb > ir ? rgb : ir) + READ_SLACK;
}

size_t frame_scratch_bytes(const struct ypk_dataset *dataset, const struct frame_options *options) {
    int width;
    size_t bytes;
    source_limits(dataset, options, &width, &bytes);
    size_t record = dataset->reads ? dataset->index.max_record_bytes : 0;
    return bytes + record + (BLOCK_ROWS + 1) * 3 * align_up(options->frame_side + READ_SLACK, STRIDE_ALIGNMENT) +
           (size_t)width * 32 + (size_t)options->canvas_side * 64 + jpeg_planes_scratch_bytes((uint32_t)width);
}

static int create_warps(struct frame *f, enum cpu_level level, struct error *error) {
    int rc = 0, layers = f->options.layers ? LAYER_COUNT : 1;
    for (int m = 0; m < 2; m++)
        for (int layer = 0; rc == 0 && layer < layers && (m == 0 ? f->options.rgb : f->options.ir); layer++)
            rc =
                warp_create(&f->warps[m][layer], (int)f->options.frame_side, (int)f->options.canvas_side, level, error);
    return rc;
}

int frame_create(struct frame **out, const struct ypk_dataset *dataset, const struct frame_options *options,
                 struct error *error) {
    const enum cpu_level level = cpu_level();
    int width;
    size_t bytes;
    struct frame *f = calloc(1, sizeof *f);
    if (!f)
        return error_set(error, ERR_MEMORY, "out of memory for a worker");
    f->dataset = dataset;
    f->options = *options;
    f->level = level;
    f->convert = convert_for(level);
    f->hsv_row = hsv_row_for(level);
    f->row_bytes = align_up(options->frame_side + READ_SLACK, STRIDE_ALIGNMENT);
    for (int c = 0; c < 4; c++)
        number_table_init(&f->tables[c], options->type, options->mean[c], options->deviation[c]);
    source_limits(dataset, options, &width, &bytes);

    int rc = decoder_create(&f->decoder, dataset, error);
    if (rc == 0)
        rc = resize_create(&f->resize, width, (int)options->image_size, level, error);
    if (rc == 0)
        rc = create_warps(f, level, error);
    f->block = aligned_alloc(STRIDE_ALIGNMENT, (size_t)BLOCK_ROWS * 3 * f->row_bytes);
    f->other = aligned_alloc(STRIDE_ALIGNMENT, 3 * f->row_bytes);
    if (rc == 0 && (!f->block || !f->other || bytes_reserve(&f->pixels, bytes) != 0))
        rc = error_set(error, ERR_MEMORY, "out of memory for a worker's %zu MB of scratch", bytes >> 20);
    if (rc != 0)
        frame_destroy(&f);
    *out = f;
    return rc;
}

void frame_destroy(struct frame **frame) {
    struct frame *f = *frame;
    if (!f)
        return;
    for (int m = 0; m < 2; m++)
        for (int layer = 0; layer < LAYER_COUNT; layer++)
            warp_destroy(&f->warps[m][layer]);
    resize_destroy(&f->resize);
    decoder_destroy(&f->decoder);
    bytes_deinit(&f->pixels);
    free(f->block);
    free(f->other);
    free(f);
    *frame = NULL;
}

struct frame_times frame_take_times(struct frame *frame) {
    struct frame_times times = frame->times;
    frame->times = (struct frame_times){0};
    return times;
}

/* ---- loading ----------------------------------------------------------------------------------------------------- */

/* Takes `count` planes of a picture from its memory. */
static void take_memory(uint8_t *planes[3], struct picture_planes *out, int count, struct size_px size,
                        uint8_t **next) {
    out->stride = align_up(size.width, STRIDE_ALIGNMENT);
    for (int p = 0; p < count; p++) {
        out->plane[p] = planes[p] = *next;
        *next += out->stride * size.height;
    }
}

/* One plane stands for all of a modality. */
static void share_plane(struct picture_planes *out) {
    out->plane[1] = out->plane[2] = out->plane[0];
}

/* For a sample that lacks the modality. */
static void fill_planes(struct picture_planes *out, struct size_px size, uint8_t **next) {
    uint8_t *planes[3];
    take_memory(planes, out, 1, size, next);
    memset(planes[0], RECIPE_FILL, out->stride * size.height);
    share_plane(out);
}

/* Pictures are unpacked in the scratch, too, behind `used` bytes of it. */
static void lend_scratch(struct frame *f, size_t used) {
    size_t first = align_up(used, STRIDE_ALIGNMENT);
    bool left = first < f->pixels.capacity;
    codec_lend(decoder_codec(f->decoder), left ? f->pixels.data + first : NULL, left ? f->pixels.capacity - first : 0);
}

/* The smallest scale in eighths, of 1, 2, 4 and 8, that is not below the size wanted: the library has no vector
 * instructions for the others. Full chroma costs it more at any scale than the way to planes does. */
static int choose_eighths(struct frame *f, const struct record_image *image, struct span payload, struct size_px size) {
    struct jpeg_info info;
    struct error ignored; /* decoding says it */
    int eighths = 1;
    while (eighths < 8 && (jpeg_scaled_side(image->width, eighths) < size.width ||
                           jpeg_scaled_side(image->height, eighths) < size.height))
        eighths *= 2;
    if (eighths < 8 && (jpeg_probe(codec_jpeg(decoder_codec(f->decoder)), &info, payload, &ignored) != 0 ||
                        strcmp(info.subsampling, "4:4:4") == 0))
        return 8;
    return eighths;
}

/* Decodes into the frame's scratch, at 1/8 … 8/8 of its size. */
static int decode_pixels(struct frame *f, struct pixels *out, const struct record_image *image, struct span payload,
                         int channels, int eighths, struct error *error) {
    struct codec *codec = decoder_codec(f->decoder);
    *out = (struct pixels){
        f->pixels.data,    0, jpeg_scaled_side(image->width, eighths), jpeg_scaled_side(image->height, eighths),
        (uint8_t)channels, 8};
    out->stride = (size_t)out->width * (size_t)channels;
    lend_scratch(f, out->stride * out->height);
    if (eighths == 8) /* exactly, since where there are vector instructions its planes are, too */
        return codec_decode(codec, image, payload, out, error);
    int rc = jpeg_decode_fast(codec_jpeg(codec), payload, out, image->flags & IMAGE_GRAY, error);
    return rc == 0 || rc == ERR_MEMORY ? rc : (error->code = ERR_CORRUPT);
}

/* Planes that are stored as they are wanted stay where they are, if the shard is mapped and a little behind
 * them too. */
static bool borrow_planes(const struct frame *f, struct picture_planes *out, const struct codec_planes *stored,
                          const struct record_image *image, struct span payload, uint64_t sample, struct size_px size) {
    if (image->codec != CODEC_RAW || image->width != size.width || image->height != size.height ||
        decoder_bytes_after(f->decoder, sample, payload) < READ_SLACK)
        return false;
    for (int p = 0; p < stored->count; p++)
        out->plane[p] = stored->plane[p];
    out->stride = image->width;
    return true;
}

/* Planes of an image, one after the other, at the size wanted. */
static void resize_all(struct frame *f, uint8_t *const planes[3], const struct picture_planes *out, int count,
                       const uint8_t *const from[3], const struct record_image *image, struct size_px size) {
    for (int p = 0; p < count; p++) {
        struct pixels plane = {(uint8_t *)(uintptr_t)from[p], image->width, image->width, image->height, 1, 8};
        resize_planes(f->resize, &planes[p], out->stride, (int)size.width, (int)size.height, &plane);
    }
}

/* The `count` planes of a picture from those that are stored, resampled if they have to be. */
static void load_stored(struct frame *f, struct picture_planes *out, int count, const struct codec_planes *stored,
                        const struct record_image *image, struct span payload, uint64_t sample, struct size_px size,
                        uint8_t **next) {
    uint8_t *planes[3];
    if (borrow_planes(f, out, stored, image, payload, sample, size))
        return;
    take_memory(planes, out, count, size, next);
    resize_all(f, planes, out, count, stored->plane, image, size);
}

/* A JPEG straight to its planes, or to scratch and from there resized. *loaded is false if it has to be decoded as
 * pixels. */
static int load_planes(struct frame *f, uint8_t *const planes[3], const struct picture_planes *out, bool *loaded,
                       int count, const struct record_image *image, struct span payload, struct size_px size,
                       uint64_t *mark, struct error *error) {
    const bool resized = image->width != size.width || image->height != size.height;
    const size_t plane = (size_t)image->width * image->height;
    struct jpeg_planes to = {{planes[0], planes[1], planes[2]}, out->stride, image->width, image->height, count};
    if (resized) {
        to.stride = image->width;
        for (int p = 0; p < count; p++)
            to.plane[p] = f->pixels.data + (size_t)p * plane;
    }
    int rc = jpeg_decode_planes(codec_jpeg(decoder_codec(f->decoder)), &to, loaded, payload, f->level, error);
    if (rc != 0 || !*loaded)
        return rc;
    lap(&f->times.decode, mark);
    if (resized)
        resize_all(f, planes, out, count, (const uint8_t *const *)to.plane, image, size);
    return 0;
}

/* The `count` planes of a picture that has to be decoded. */
static int load_decoded(struct frame *f, struct picture_planes *out, int count, const struct record_image *image,
                        struct span payload, struct size_px size, uint8_t **next, uint64_t *mark, struct error *error) {
    const int eighths = f->options.fast && image->codec == CODEC_JPEG ? choose_eighths(f, image, payload, size) : 8;
    uint8_t *planes[3] = {NULL};
    bool loaded = false;
    int rc = 0;

    take_memory(planes, out, count, size, next);
    if (image->codec == CODEC_JPEG && eighths == 8)
        rc = load_planes(f, planes, out, &loaded, count, image, payload, size, mark, error);
    if (rc != 0 || loaded)
        return rc;
    struct pixels p;
    rc = decode_pixels(f, &p, image, payload, count, eighths, error);
    lap(&f->times.decode, mark);
    if (rc == 0)
        resize_planes(f->resize, planes, out->stride, (int)size.width, (int)size.height, &p);
    return rc;
}

/* One image of a sample at the size wanted. `next` is the picture's free memory. */
static int load_image(struct frame *f, uint64_t sample, int modality, struct picture_planes *out, struct size_px size,
                      uint8_t **next, struct error *error) {
    struct record_image image;
    struct span payload;
    struct codec_planes stored;
    uint64_t mark = clock_ns();

    int rc = decoder_image(f->decoder, sample, modality, &image, &payload, error);
    lap(&f->times.read, &mark);
    if (rc != 0)
        return rc;
    bool gray = modality == YPK_IR || image.channels == 1 || (image.flags & IMAGE_GRAY);
    int count = gray ? 1 : 3;
    lend_scratch(f, 0);
    rc = codec_planes(decoder_codec(f->decoder), &stored, &image, payload, error);
    if (rc == 0 && stored.count > 0 && (!gray || stored.count == 1 || (image.flags & IMAGE_GRAY))) {
        lap(&f->times.decode, &mark);
        load_stored(f, out, count, &stored, &image, payload, sample, size, next);
    } else if (rc == 0) {
        rc = load_decoded(f, out, count, &image, payload, size, next, &mark, error);
    }
    if (rc != 0) {
        decoder_name_sample(f->decoder, sample, error);
        return rc;
    }
    if (gray)
        share_plane(out);
    lap(&f->times.resize, &mark);
    return 0;
}

int frame_load(struct frame *f, struct picture *picture, struct error *error) {
    struct index_sample row;
    int rc = index_sample(&f->dataset->index, picture->sample, &row, error);
    if (rc != 0) {
        error_prefix(error, "%s: ", f->dataset->index_path);
        return rc;
    }
    bool has_rgb = row.rgb_bytes > 0, has_ir = row.ir_bytes > 0;
    uint8_t *next = picture->memory;
    picture->size = has_rgb ? load_size(f->options.image_size, row.rgb_width, row.rgb_height)
                            : load_size(f->options.image_size, row.ir_width, row.ir_height);
    if (f->options.rgb && has_rgb)
        rc = load_image(f, picture->sample, YPK_RGB, &picture->rgb, picture->size, &next, error);
    else if (f->options.rgb)
        fill_planes(&picture->rgb, picture->size, &next);
    if (rc == 0 && f->options.ir && has_ir) /* resampled to the RGB frame: boxes hold for both */
        rc = load_image(f, picture->sample, YPK_IR, &picture->ir, picture->size, &next, error);
    else if (rc == 0 && f->options.ir)
        fill_planes(&picture->ir, picture->size, &next);
    return rc;
}

/* ---- rendering --------------------------------------------------------------------------------------------------- */

/* One modality of one sample on its way to the batch. */
struct pass {
    struct frame *frame;
    const struct recipe *recipe;
    const struct frame_pictures *pictures;
    struct recipe_area cut; /* in the output */
    bool is_ir;
    int planes; /* 3 or 1 */
    struct hsv_gains gains;
    bool colour;
    struct infrared_jitter jitter;
    struct warp_source copies[LAYER_COUNT]; /* the tiles, for layers that are only copied */
};

static struct warp_source layer_source(const struct pass *p, int layer) {
    const struct recipe_layer *l = &p->recipe->layers[layer];
    struct warp_source source = {.plane_count = p->planes, .fill = RECIPE_FILL};
    for (unsigned t = 0; t < l->tile_count; t++) {
        const struct picture *picture = p->pictures->tile[layer][t];
        struct placement at = place_tile(p->recipe, l, t, picture->size);
        if (at.x2 <= at.x1 || at.y2 <= at.y1)
            continue;
        struct warp_tile *tile = &source.tile[source.tile_count++];
        const struct picture_planes *planes = p->is_ir ? &picture->ir : &picture->rgb;
        size_t offset = (size_t)(at.y1 - at.dy) * planes->stride + (size_t)(at.x1 - at.dx);
        tile->stride = planes->stride;
        tile->x = at.x1;
        tile->y = at.y1;
        tile->width = at.x2 - at.x1;
        tile->height = at.y2 - at.y1;
        for (int c = 0; c < p->planes; c++)
            tile->plane[c] = planes->plane[c] + offset;
    }
    return source;
}

static bool copies_only(const struct recipe_layer *l, const double m[9]) {
    return l->warp != WARP_PERSPECTIVE && matrix_warp(m) == WARP_NONE;
}

static void begin_layer(struct pass *p, int layer) {
    const struct recipe *r = p->recipe;
    const struct recipe_layer *l = &r->layers[layer];
    struct warp_source source = layer_source(p, layer);
    bool shifted = p->is_ir && (r->ir_shift_x != 0 || r->ir_shift_y != 0);
    double m[9];

    recipe_pixel_matrix(m, r, l, p->pictures->tile[layer][0]->size);
    if (copies_only(l, m) && !shifted) {
        p->copies[layer] = source;
        return;
    }
    p->copies[layer].plane_count = 0;
    for (int i = 0; shifted && i < 3; i++) {
        m[i] += r->ir_shift_x * m[6 + i];
        m[3 + i] += r->ir_shift_y * m[6 + i];
    }
    warp_begin(p->frame->warps[p->is_ir][layer], &source, m, l->warp == WARP_PERSPECTIVE, (int)r->output_width,
               (int)r->output_height);
}

static void copy_row(const struct warp_source *source, int y, uint32_t width, uint8_t *const *rows) {
    for (int c = 0; c < source->plane_count; c++)
        memset(rows[c], source->fill, width);
    for (int t = 0; t < source->tile_count; t++) {
        const struct warp_tile *tile = &source->tile[t];
        if (y < tile->y || y >= tile->y + tile->height)
            continue;
        for (int c = 0; c < source->plane_count; c++)
            memcpy(rows[c] + tile->x, tile->plane[c] + (size_t)(y - tile->y) * tile->stride, (size_t)tile->width);
    }
}

static void layer_row(struct pass *p, int layer, int y, uint8_t *const rows[WARP_PLANES]) {
    if (p->copies[layer].plane_count > 0)
        copy_row(&p->copies[layer], y, p->recipe->output_width, rows);
    else
        warp_row(p->frame->warps[p->is_ir][layer], y, rows);
}

/* All layers of row y. */
static void compose_row(struct pass *p, int y, uint8_t *const rows[WARP_PLANES]) {
    struct frame *f = p->frame;
    const struct recipe *r = p->recipe;
    uint8_t *other[WARP_PLANES] = {f->other, f->other + f->row_bytes, f->other + 2 * f->row_bytes};

    layer_row(p, LAYER_BASE, y, rows);
    if (r->mixup) {
        layer_row(p, LAYER_MIXUP, y, other);
        for (int c = 0; c < p->planes; c++)
            f->convert->blend(rows[c], other[c], r->output_width, r->mixup_ratio);
    }
    if (r->cutmix && y >= p->cut.y1 && y < p->cut.y2 && p->cut.x1 < p->cut.x2) {
        layer_row(p, LAYER_CUTMIX, y, other);
        for (int c = 0; c < p->planes; c++)
            memcpy(rows[c] + p->cut.x1, other[c] + p->cut.x1, (size_t)(p->cut.x2 - p->cut.x1));
    }
}

static void colour_row(struct pass *p, int y, uint8_t *const rows[WARP_PLANES]) {
    uint32_t width = p->recipe->output_width;
    if (p->is_ir)
        infrared_row(rows[0], width, (uint64_t)y * width, &p->jitter, p->frame->convert);
    else
        p->frame->hsv_row(rows[0], rows[1], rows[2], width, &p->gains);
}

/* Where row y of each channel goes. */
static uint8_t *target_row(const struct pass *p, const struct frame_target *target, int y, int channel) {
    size_t row = (size_t)(p->recipe->flip_vertical ? (int)p->recipe->output_height - 1 - y : y);
    if (p->is_ir)
        return target->ir + row * target->ir_row + (size_t)channel * target->ir_plane;
    if (p->recipe->swap_rgb)
        channel = 2 - channel;
    return target->rgb + row * target->rgb_row + (size_t)channel * target->rgb_plane;
}

static void write_rows(struct pass *p, const struct frame_target *target, int y, uint8_t *const rows[WARP_PLANES],
                       bool in_place) {
    struct frame *f = p->frame;
    uint32_t width = p->recipe->output_width;
    size_t step = p->is_ir ? target->ir_step : target->rgb_step;
    int copies = p->is_ir ? target->ir_channels : 1;
    for (int c = 0; c < p->planes; c++) {
        if (p->recipe->flip_horizontal)
            f->convert->reverse(rows[c], width);
        /* mean and deviation go by the place in the tensor, as a device that sees only that has them */
        const struct number_table *table = &f->tables[p->is_ir ? 3 : p->recipe->swap_rgb ? 2 - c : c];
        for (int copy = in_place ? 1 : 0; copy < copies; copy++)
            number_row(target_row(p, target, y, c + copy), step, rows[c], width, table);
    }
}

/* Bytes in planes are written where they belong at once; anything else goes through the block. */
static bool writes_in_place(const struct pass *p, const struct frame_target *target) {
    return p->frame->options.type == NUMBER_U8 && (p->is_ir ? target->ir_step : target->rgb_step) == 1;
}

static void render_rows(struct pass *p, const struct frame_target *target) {
    struct frame *f = p->frame;
    int height = (int)p->recipe->output_height;
    bool in_place = writes_in_place(p, target);
    uint8_t *rows[BLOCK_ROWS][WARP_PLANES] = {{0}};
    uint64_t mark = clock_ns();

    for (int y = 0; y < height; y += BLOCK_ROWS) {
        int count = height - y < BLOCK_ROWS ? height - y : BLOCK_ROWS;
        for (int i = 0; i < count; i++) {
            for (int c = 0; c < p->planes; c++)
                rows[i][c] = in_place ? target_row(p, target, y + i, c) : f->block + (size_t)(3 * i + c) * f->row_bytes;
            compose_row(p, y + i, rows[i]);
        }
        lap(&f->times.warp, &mark);
        for (int i = 0; p->colour && i < count; i++)
            colour_row(p, y + i, rows[i]);
        lap(&f->times.colour, &mark);
        for (int i = 0; i < count; i++)
            write_rows(p, target, y + i, rows[i], in_place);
        lap(&f->times.write, &mark);
    }
}

/* The numbers of RECIPE_FILL in `channels` channels. */
static void fill_target(struct frame *f, uint32_t width, uint32_t height, uint8_t *first, size_t row, size_t plane,
                        size_t step, int channels, const struct number_table *tables) {
    memset(f->block, RECIPE_FILL, width);
    for (int c = 0; c < channels; c++)
        for (uint32_t y = 0; y < height; y++)
            number_row(first + y * row + (size_t)c * plane, step, f->block, width, &tables[channels == 3 ? c : 0]);
}

static void fill_modality(struct frame *f, uint32_t width, uint32_t height, bool is_ir, const struct frame_target *t) {
    if (!is_ir)
        fill_target(f, width, height, t->rgb, t->rgb_row, t->rgb_plane, t->rgb_step, 3, f->tables);
    for (int c = 0; is_ir && c < t->ir_channels; c++)
        fill_target(f, width, height, t->ir + (size_t)c * t->ir_plane, t->ir_row, 0, t->ir_step, 1, &f->tables[3]);
}

static struct recipe_area scale_area(const struct recipe_area *a, const struct recipe *r) {
    return (struct recipe_area){
        (int32_t)((int64_t)a->x1 * r->output_width / r->frame_width),
        (int32_t)((int64_t)a->y1 * r->output_height / r->frame_height),
        (int32_t)((int64_t)a->x2 * r->output_width / r->frame_width),
        (int32_t)((int64_t)a->y2 * r->output_height / r->frame_height),
    };
}

static void render_modality(struct frame *f, const struct recipe *r, const struct frame_pictures *pictures,
                            const struct recipe_area *cut, const struct frame_target *target, bool is_ir) {
    if (r->dropped & (is_ir ? MODALITY_IR : MODALITY_RGB)) {
        fill_modality(f, r->output_width, r->output_height, is_ir, target);
        return;
    }
    struct pass p = {.frame = f,
                     .recipe = r,
                     .pictures = pictures,
                     .is_ir = is_ir,
                     .planes = is_ir ? 1 : 3,
                     .cut = scale_area(cut, r)};
    if (is_ir) {
        p.colour = r->ir_invert || r->ir_gain != RECIPE_ONE || r->ir_bias != 0 || r->ir_noise != 0;
        infrared_init(&p.jitter, r->ir_invert, r->ir_gain, r->ir_bias, r->ir_noise, r->ir_noise_seed);
    } else {
        p.colour = r->hue != 0 || r->saturation != 0 || r->value != 0;
        p.gains = hsv_gains(r->hue, r->saturation, r->value);
    }
    for (int layer = 0; layer < LAYER_COUNT; layer++)
        if (recipe_has_layer(r, layer))
            begin_layer(&p, layer);
    render_rows(&p, target);
}

void frame_render(struct frame *f, const struct recipe *recipe, const struct frame_pictures *pictures,
                  const struct recipe_area *cut, const struct frame_target *target) {
    if (target->rgb)
        render_modality(f, recipe, pictures, cut, target, false);
    if (target->ir)
        render_modality(f, recipe, pictures, cut, target, true);
}

void frame_render_empty(struct frame *f, uint32_t width, uint32_t height, const struct frame_target *target) {
    if (target->rgb)
        fill_modality(f, width, height, false, target);
    if (target->ir)
        fill_modality(f, width, height, true, target);
}
