#include "baseline.h"

#include "entropy.h"
#include "samples.h"

#include <stdlib.h>
#include <string.h>

enum {
    COMPONENTS = 3,
    RUN_MCUS = 8, /* that are decoded before they are transformed: few enough for the first cache */
    RUN_BLOCKS = RUN_MCUS * ENTROPY_MCU_BLOCKS,
    ALIGNMENT = 64,
    RING_ROWS = 64,  /* of the picture's width, at most, those of both chroma components included */
    SUMS_PAD = 64,   /* entries before and behind a row of sums */
    TABLE_KINDS = 2, /* DC, AC */
};

/* A component of the picture at hand. */
struct plane {
    int across, down;       /* blocks in an MCU */
    uint32_t width, height; /* samples that mean something */
    size_t pitch;
    uint8_t *rows; /* a ring: row y is at y & ring_mask */
    uint32_t ring_mask;
    int16_t *run; /* coefficients: [down][groups][8][lanes][8], in the same of all planes */
    int16_t quantiser[SAMPLES_LANES * DCTSIZE2];
    struct entropy_component entropy;
};

struct baseline {
    struct entropy entropy;
    struct huffman tables[TABLE_KINDS][NUM_HUFF_TBLS];
    struct plane planes[COMPONENTS];
    int plane_count;
    const struct samples *samples;
    int lane_shift;
    uint8_t places[DCTSIZE2]; /* of a coefficient in its group */
    int mcu_blocks;
    struct entropy_component *owner[ENTROPY_MCU_BLOCKS]; /* of each block of an MCU */
    uint16_t start[RUN_MCUS][ENTROPY_MCU_BLOCKS];        /* in `run` */
    _Alignas(ALIGNMENT) int16_t run[RUN_BLOCKS * DCTSIZE2];
    struct chroma_row sums;
    uint32_t mcus_across, mcus_down;
    uint32_t restart_interval, restart_left;
    unsigned restart_number;
    uint8_t *memory; /* rings and sums */
    size_t memory_bytes;
};

struct baseline *baseline_create(void) {
    struct baseline *b = aligned_alloc(ALIGNMENT, align_up(sizeof *b, ALIGNMENT));
    if (b)
        memset(b, 0, sizeof *b);
    return b;
}

void baseline_destroy(struct baseline **baseline) {
    if (*baseline)
        free((*baseline)->memory);
    free(*baseline);
    *baseline = NULL;
}

/* ---- what is taken ----------------------------------------------------------------------------------------------- */

/* One scan of all components, in their order, with all that it needs. */
static bool has_one_scan(const struct jpeg_decompress_struct *r) {
    if (r->progressive_mode || r->arith_code || r->data_precision != 8 || r->comps_in_scan != r->num_components ||
        r->Ss != 0 || r->Se != DCTSIZE2 - 1 || r->Ah != 0 || r->Al != 0)
        return false;
    for (int i = 0; i < r->num_components; i++) {
        const jpeg_component_info *c = &r->comp_info[i];
        if (r->cur_comp_info[i] != c || (unsigned)c->quant_tbl_no >= NUM_QUANT_TBLS ||
            (unsigned)c->dc_tbl_no >= NUM_HUFF_TBLS || (unsigned)c->ac_tbl_no >= NUM_HUFF_TBLS ||
            !r->quant_tbl_ptrs[c->quant_tbl_no] || !r->dc_huff_tbl_ptrs[c->dc_tbl_no] ||
            !r->ac_huff_tbl_ptrs[c->ac_tbl_no])
            return false;
    }
    return true;
}

/* The library spreads rows of two samples or less in another way. */
static bool has_known_sampling(const struct jpeg_decompress_struct *r) {
    const jpeg_component_info *c = r->comp_info;
    if (r->num_components == 1)
        return r->jpeg_color_space == JCS_GRAYSCALE;
    if (r->num_components != COMPONENTS || r->jpeg_color_space != JCS_YCbCr)
        return false;
    for (int i = 1; i < COMPONENTS; i++)
        if (c[i].h_samp_factor != 1 || c[i].v_samp_factor != 1)
            return false;
    return (c->h_samp_factor == 1 && c->v_samp_factor == 1) ||
           (c->h_samp_factor == 2 && c->v_samp_factor <= 2 && r->image_width > 4);
}

/* ---- setting up -------------------------------------------------------------------------------------------------- */

static bool set_tables(struct baseline *b, const struct jpeg_decompress_struct *r) {
    unsigned made[TABLE_KINDS] = {0, 0}; /* one bit a table: components share them */
    for (int i = 0; i < b->plane_count; i++) {
        const jpeg_component_info *c = &r->comp_info[i];
        const int number[TABLE_KINDS] = {c->dc_tbl_no, c->ac_tbl_no};
        for (int kind = 0; kind < TABLE_KINDS; kind++) {
            const JHUFF_TBL *t = (kind == 0 ? r->dc_huff_tbl_ptrs : r->ac_huff_tbl_ptrs)[number[kind]];
            if (!(made[kind] >> number[kind] & 1) &&
                !huffman_init(&b->tables[kind][number[kind]], t->bits, t->huffval, kind == 0))
                return false;
            made[kind] |= 1u << number[kind];
        }
        b->planes[i].entropy = (struct entropy_component){&b->tables[0][c->dc_tbl_no], &b->tables[1][c->ac_tbl_no], 0};
    }
    return true;
}

static void set_quantiser(struct plane *p, const JQUANT_TBL *table, int lane_shift) {
    for (int k = 0; k < DCTSIZE2; k++)
        for (int lane = 0; lane < 1 << lane_shift; lane++)
            p->quantiser[((k / DCTSIZE << lane_shift) + lane) * DCTSIZE + k % DCTSIZE] = (int16_t)table->quantval[k];
}

static int16_t *block_place(const struct baseline *b, const struct plane *p, int x, int y) {
    const int lane = x & ((1 << b->lane_shift) - 1);
    return p->run + (y * p->across * RUN_MCUS + x - lane) * DCTSIZE2 + lane * DCTSIZE;
}

/* The blocks of an MCU in their order, wherever it is in the run. */
static void set_blocks(struct baseline *b) {
    b->mcu_blocks = 0;
    for (int i = 0; i < b->plane_count; i++) {
        struct plane *p = &b->planes[i];
        for (int k = 0; k < p->across * p->down; k++) {
            b->owner[b->mcu_blocks] = &p->entropy;
            for (int x = 0; x < RUN_MCUS; x++)
                b->start[x][b->mcu_blocks] =
                    (uint16_t)(block_place(b, p, x * p->across + k % p->across, k / p->across) - b->run);
            b->mcu_blocks++;
        }
    }
}

static void set_places(struct baseline *b) {
    /* Zigzag: up and to the right, then down and to the left. */
    int row = 0, column = 0;
    for (int k = 0; k < DCTSIZE2; k++) {
        b->places[k] = (uint8_t)(row * (DCTSIZE << b->lane_shift) + column);
        bool up = (row + column) % 2 == 0;
        int *forward = up ? &column : &row, *back = up ? &row : &column;
        if (*forward == DCTSIZE - 1)
            ++*back;
        else {
            ++*forward;
            *back -= *back > 0;
        }
    }
}

static size_t row_pitch(uint32_t mcus_across, int across) {
    return align_up(mcus_across, RUN_MCUS) * (size_t)across * DCTSIZE;
}

static bool reserve(struct baseline *b, size_t bytes) {
    if (bytes <= b->memory_bytes)
        return true;
    free(b->memory);
    b->memory = aligned_alloc(ALIGNMENT, bytes);
    b->memory_bytes = b->memory ? bytes : 0;
    if (b->memory)
        memset(b->memory, 0, bytes);
    return b->memory != NULL;
}

/* Rings, and sums of two rows of chroma. With smoothing across rows a ring has two rows of MCUs. */
static bool set_rows(struct baseline *b) {
    const bool keeps_last = b->planes[0].down > 1;
    size_t at = 0, sums = row_pitch(b->mcus_across, 1) + 2 * SUMS_PAD;
    for (int i = 0; i < b->plane_count; i++) {
        struct plane *p = &b->planes[i];
        p->pitch = row_pitch(b->mcus_across, p->across);
        p->ring_mask = (keeps_last ? 2u : 1u) * (unsigned)p->down * DCTSIZE - 1;
        at += p->pitch * (p->ring_mask + 1);
    }
    if (!reserve(b, at + 2 * sums * sizeof(int16_t)))
        return false;
    b->sums.cb = (int16_t *)(void *)(b->memory + at) + SUMS_PAD;
    b->sums.cr = b->sums.cb + sums;
    b->sums.vertical = keeps_last;
    at = 0;
    for (int i = 0; i < b->plane_count; i++) {
        b->planes[i].rows = b->memory + at;
        at += b->planes[i].pitch * (b->planes[i].ring_mask + 1);
    }
    return true;
}

size_t baseline_scratch_bytes(uint32_t width) {
    return sizeof(struct baseline) + align_up(width, 2 * RUN_MCUS * DCTSIZE) * RING_ROWS;
}

static void set_planes(struct baseline *b, const struct jpeg_decompress_struct *r) {
    const bool single = r->num_components == 1; /* whose sampling factors mean nothing */
    const uint32_t h = single ? 1 : (uint32_t)r->max_h_samp_factor, v = single ? 1 : (uint32_t)r->max_v_samp_factor;
    int16_t *run = b->run;
    b->plane_count = r->num_components;
    b->mcus_across = (r->image_width + h * DCTSIZE - 1) / (h * DCTSIZE);
    b->mcus_down = (r->image_height + v * DCTSIZE - 1) / (v * DCTSIZE);
    for (int i = 0; i < b->plane_count; i++) {
        struct plane *p = &b->planes[i];
        p->across = single ? 1 : r->comp_info[i].h_samp_factor;
        p->down = single ? 1 : r->comp_info[i].v_samp_factor;
        p->width = r->comp_info[i].downsampled_width;
        p->height = r->comp_info[i].downsampled_height;
        p->run = run;
        run += p->across * p->down * RUN_MCUS * DCTSIZE2;
        set_quantiser(p, r->quant_tbl_ptrs[r->comp_info[i].quant_tbl_no], b->lane_shift);
    }
    b->restart_interval = b->restart_left = r->restart_interval;
    b->restart_number = 0;
}

/* ---- coefficients and samples ------------------------------------------------------------------------------------ */

/* The MCU at place `x` of the run. */
static bool decode_mcu(struct baseline *b, int x) {
    if (!entropy_fill(&b->entropy))
        return false;
    for (int i = 0; i < b->mcu_blocks; i++)
        if (!entropy_block(&b->entropy.bits, b->owner[i], b->run + b->start[x][i], b->places))
            return false;
    return true;
}

static bool pass_restart(struct baseline *b) {
    if (b->restart_interval == 0 || b->restart_left-- > 0)
        return true;
    b->restart_left = b->restart_interval - 1;
    for (int i = 0; i < b->plane_count; i++)
        b->planes[i].entropy.predicted = 0;
    const unsigned number = b->restart_number;
    b->restart_number = (number + 1) % 8;
    return entropy_restart(&b->entropy, number);
}

/* The samples of `mcu_count` MCUs from number `first` of a row of them. */
static bool transform_run(const struct baseline *b, const struct plane *p, uint32_t row, uint32_t first,
                          int mcu_count) {
    const struct samples *s = b->samples;
    for (int v = 0; v < p->down; v++) {
        const uint32_t y = (row * (unsigned)p->down + (unsigned)v) * DCTSIZE;
        uint8_t *to = p->rows + (y & p->ring_mask) * p->pitch + (size_t)first * (unsigned)p->across * DCTSIZE;
        for (int x = 0; x < mcu_count * p->across; x += 1 << b->lane_shift)
            if (!s->transform(to + x * DCTSIZE, p->pitch, block_place(b, p, x, v), p->quantiser))
                return false;
    }
    return true;
}

static bool decode_mcu_row(struct baseline *b, uint32_t row, int planes_needed) {
    for (uint32_t first = 0; first < b->mcus_across; first += RUN_MCUS) {
        const uint32_t left = b->mcus_across - first;
        const int count = left < RUN_MCUS ? (int)left : RUN_MCUS;
        memset(b->run, 0, (size_t)(RUN_MCUS * b->mcu_blocks * DCTSIZE2) * sizeof *b->run);
        for (int x = 0; x < count; x++)
            if (!pass_restart(b) || !decode_mcu(b, x))
                return false;
        for (int i = 0; i < planes_needed; i++)
            if (!transform_run(b, &b->planes[i], row, first, count))
                return false;
    }
    return true;
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

static const uint8_t *plane_row(const struct plane *p, uint32_t y) {
    return p->rows + (size_t)(y & p->ring_mask) * p->pitch;
}

/* What spreads row y of the picture: of two rows of chroma the nearer one thrice, or a row alone. Edges repeat. */
static void sum_chroma(const struct baseline *b, int16_t *sums, const struct plane *p, uint32_t y) {
    if (b->sums.vertical) {
        const uint32_t near = y / 2, last = p->height - 1;
        const uint32_t far = y % 2 ? near + (near < last) : near - (near > 0);
        b->samples->sum(sums, plane_row(p, near), plane_row(p, far), p->width);
    } else {
        b->samples->widen(sums, plane_row(p, y), p->width);
    }
    sums[-1] = sums[0];
    sums[p->width] = sums[p->width - 1];
}

static void put_row(struct baseline *b, const struct baseline_planes *out, uint32_t y) {
    const struct plane *p = b->planes;
    const size_t at = y * out->stride;
    if (out->count == 1) {
        memcpy(out->plane[0] + at, plane_row(p, y), p->width);
        return;
    }
    uint8_t *const rgb[3] = {out->plane[0] + at, out->plane[1] + at, out->plane[2] + at};
    if (p->across == 1) {
        b->samples->full(rgb, plane_row(p, y), plane_row(p + 1, y), plane_row(p + 2, y), p->width);
        return;
    }
    sum_chroma(b, b->sums.cb, p + 1, y);
    sum_chroma(b, b->sums.cr, p + 2, y);
    b->samples->half(rgb, plane_row(p, y), &b->sums, p->width);
}

/* Rows that can be written when those of `mcu_rows` are there: smoothing needs the row of chroma below. */
static uint32_t rows_ready(const struct baseline *b, uint32_t mcu_rows) {
    if (mcu_rows == b->mcus_down)
        return b->planes[0].height;
    return mcu_rows * (unsigned)b->planes[0].down * DCTSIZE - (b->sums.vertical ? 1 : 0);
}

enum baseline_result baseline_decode(struct baseline *b, const struct baseline_planes *out,
                                     const struct jpeg_decompress_struct *header, enum cpu_level level) {
    b->samples = samples_for(level);
    if (!b->samples || !has_one_scan(header) || !has_known_sampling(header) ||
        (out->count != 1 && header->num_components == 1))
        return BASELINE_NOT_TAKEN;
    b->lane_shift = b->samples->lane_shift;
    set_planes(b, header);
    if (!set_tables(b, header))
        return BASELINE_NOT_TAKEN;
    if (!set_rows(b))
        return BASELINE_NO_MEMORY;
    set_places(b);
    set_blocks(b);
    entropy_begin(&b->entropy, (struct span){header->src->next_input_byte, header->src->bytes_in_buffer});

    uint32_t y = 0;
    for (uint32_t row = 0; row < b->mcus_down; row++) {
        if (!decode_mcu_row(b, row, out->count))
            return BASELINE_NOT_TAKEN;
        for (const uint32_t ready = rows_ready(b, row + 1); y < ready; y++)
            put_row(b, out, y);
    }
    return entropy_at_end(&b->entropy) ? BASELINE_DONE : BASELINE_NOT_TAKEN;
}
