/*
 * One sample:
 *
 *   rgb file ─┐ read into the record ─> sniff ─> probe ─> limits ─> full check ─┬─> kept as it is
 *   ir file  ─┘                                                                 └─> decode ─> upright ─┐
 *                                                                     encode <─ shrink <─ 8 bit <──────┘
 *   label file ──> label_parse
 *
 * A fault of the sample is written to its report and ends it; a fault of the machine is returned.
 */
#include "intake.h"

#include "codec.h"
#include "file.h"
#include "hash.h"
#include "jpeg.h"
#include "source_image.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SIDE_MINIMUM_PX 10
#define SIDE_LIMIT_PX 65535
#define ZSTD16_LEVEL 3 /* 9 was 0 to 9 % smaller, the less the noisier the picture, and much slower */
#define LABEL_FILE_LIMIT_BYTES (64u << 20)

struct intake {
    struct intake_options options;
    int base_fd;
    struct codec *codec;
    struct bytes file; /* a source that will not be stored as it is */
    struct bytes label_text;
    char warning[200];
};

/* One of the two images of a sample on its way through. */
struct image_task {
    const char *path;
    bool is_ir;
    struct span file;
    const struct source_image_format *format;
    struct source_info info;
    struct jpeg_check check;    /* of a JPEG that was checked; zero otherwise */
    bool upright;               /* no orientation to resolve */
    uint32_t low, high;         /* counts of 16-bit infrared that become 0 and 255 */
    struct record_image *image; /* what becomes of it */
};

int intake_create(struct intake **out, const struct intake_options *options, const char *base, struct error *error) {
    struct intake *in = calloc(1, sizeof *in);
    if (!in)
        return error_set(error, ERR_MEMORY, "out of memory for a worker");
    in->options = *options;
    in->base_fd = open(base, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int rc = in->base_fd >= 0 ? codec_create(&in->codec, error) : error_set_errno(error, errno, "cannot open %s", base);
    if (rc != 0) {
        intake_destroy(&in);
        return rc;
    }
    *out = in;
    return 0;
}

void intake_destroy(struct intake **intake) {
    struct intake *in = *intake;
    if (!in)
        return;
    codec_destroy(&in->codec);
    if (in->base_fd >= 0)
        close(in->base_fd);
    bytes_deinit(&in->file);
    bytes_deinit(&in->label_text);
    free(in);
    *intake = NULL;
}

void intake_result_deinit(struct intake_result *result) {
    bytes_deinit(&result->record);
    label_set_deinit(&result->labels);
    report_deinit(&result->report);
    *result = (struct intake_result){0};
}

void intake_counts_add(struct intake_counts *to, const struct intake_counts *from) {
#define X(name) to->name += from->name;
    INTAKE_COUNTS(X)
#undef X
}

static void fingerprint_file(XXH3_state_t *state, int base_fd, const char *path, struct source_stat *total) {
    struct stat st;
    int64_t seen[3] = {-1, -1, -1};
    if (!path)
        path = "";
    else if (fstatat(base_fd, path, &st, 0) == 0) {
        seen[0] = st.st_size;
        seen[1] = st.st_mtim.tv_sec;
        seen[2] = st.st_mtim.tv_nsec;
        total->bytes += (uint64_t)st.st_size;
    }
    XXH3_64bits_update(state, path, strlen(path) + 1);
    XXH3_64bits_update(state, seen, sizeof seen);
}

int intake_stat(struct source_stat *out, int base_fd, const struct sample_source *source) {
    XXH3_state_t *state = XXH3_createState();
    *out = (struct source_stat){0};
    if (!state)
        return ERR_MEMORY;
    XXH3_64bits_reset(state);
    fingerprint_file(state, base_fd, source->rgb, out);
    fingerprint_file(state, base_fd, source->ir, out);
    uint64_t image_bytes = out->bytes; /* labels do not go into the record */
    fingerprint_file(state, base_fd, source->label, out);
    out->bytes = image_bytes;
    out->fingerprint = XXH3_64bits_digest(state);
    XXH3_freeState(state);
    return 0;
}

/* Rejects the sample: 1 after the row is written. */
static int reject(struct intake_result *out, enum report_rule rule, const char *path, struct span value,
                  const char *message) {
    out->rejected = true;
    int rc = report_add(&out->report, rule, path, 0, 0, value, "%s", message);
    return rc != 0 ? rc : 1;
}

static int note(struct intake_result *out, enum report_rule rule, const char *path, const char *message) {
    return report_add(&out->report, rule, path, 0, 0, (struct span){0}, "%s", message);
}

static struct span text_span(const char *text) {
    return (struct span){(const uint8_t *)text, strlen(text)};
}

bool intake_is_machine_fault(const struct error *fault) {
    return fault->code == ERR_MEMORY || fault->os_errno == EMFILE || fault->os_errno == ENFILE;
}

static int reject_unreadable(struct intake_result *out, const char *path, const struct error *fault,
                             struct error *error) {
    if (intake_is_machine_fault(fault)) {
        if (error)
            *error = *fault;
        return fault->code;
    }
    if (fault->code == ERR_INPUT)
        return reject(out, RULE_IMAGE_TOO_LARGE, path, (struct span){0}, fault->message);
    if (fault->code == ERR_IO && fault->os_errno == 0)
        return reject(out, RULE_IMAGE_CHANGED, path, (struct span){0}, fault->message);
    return reject(out, RULE_IMAGE_UNREADABLE, path, (struct span){0}, fault->message);
}

/* Turns a codec's refusal into a row; out of memory stays an error. */
static int reject_fault(struct intake_result *out, const struct image_task *task, const struct error *fault,
                        struct error *error) {
    if (fault->code == ERR_MEMORY) {
        if (error)
            *error = *fault;
        return ERR_MEMORY;
    }
    enum report_rule rule = fault->code == ERR_UNSUPPORTED ? RULE_IMAGE_UNSUPPORTED : RULE_IMAGE_CORRUPT;
    return reject(out, rule, task->path, (struct span){0}, fault->message);
}

static int probe_image(struct intake *in, struct image_task *task, struct intake_result *out, struct error *error) {
    struct error fault = {0};
    char message[160];

    if (task->file.size == 0)
        return reject(out, RULE_IMAGE_EMPTY, task->path, (struct span){0}, "the file is empty (0 bytes)");
    task->format = source_image_sniff(task->file);
    if (!task->format) {
        struct span start = {task->file.data, task->file.size < 16 ? task->file.size : 16};
        return reject(out, RULE_IMAGE_NOT_AN_IMAGE, task->path, start, "the content is of no known image format");
    }
    if (task->format->probe(in->codec, &task->info, task->file, &fault) != 0)
        return reject_fault(out, task, &fault, error);

    const struct source_info *info = &task->info;
    char size[32];
    snprintf(size, sizeof size, "%ux%u", info->width, info->height);
    if (info->width < SIDE_MINIMUM_PX || info->height < SIDE_MINIMUM_PX)
        return reject(out, RULE_IMAGE_TOO_SMALL, task->path, text_span(size), "a side is under 10 px");
    if (info->width > SIDE_LIMIT_PX || info->height > SIDE_LIMIT_PX)
        return reject(out, RULE_IMAGE_TOO_LARGE, task->path, text_span(size), "a side is over 65,535 px");
    if ((uint64_t)info->width * info->height > in->options.pixel_limit) {
        snprintf(message, sizeof message, "more than %llu pixels (--max-pixels)",
                 (unsigned long long)in->options.pixel_limit);
        return reject(out, RULE_IMAGE_TOO_LARGE, task->path, text_span(size), message);
    }
    if (info->orientation_broken && !in->options.ignore_exif) {
        int rc = note(out, RULE_IMAGE_WARNING, task->path, "EXIF is broken: taken as upright");
        if (rc != 0)
            return rc;
    }
    task->upright = info->orientation == 1 || in->options.ignore_exif;
    return 0;
}

/* The full check of a JPEG; other formats show their damage when they are decoded. */
static int check_jpeg(struct intake *in, struct image_task *task, struct intake_result *out, struct error *error) {
    struct error fault = {0};
    struct jpeg_check *check = &task->check;
    char message[320];

    if (jpeg_check_full(codec_jpeg(in->codec), check, task->file, &fault) != 0)
        return reject_fault(out, task, &fault, error);
    if (!check->complete) {
        snprintf(message, sizeof message, "%u of %u rows could be decoded%s%s", check->rows_decoded, task->info.height,
                 check->warning[0] ? ": " : "", check->warning);
        enum report_rule rule = check->corrupt ? RULE_IMAGE_CORRUPT : RULE_IMAGE_TRUNCATED;
        return reject(out, rule, task->path, (struct span){0}, message);
    }
    if (check->missing_eoi)
        return note(out, RULE_IMAGE_WARNING, task->path, "the end-of-image marker is missing; every row is there");
    if (check->warning_count > 0)
        return note(out, RULE_IMAGE_WARNING, task->path, check->warning);
    return 0;
}

static void describe(struct image_task *task, struct span payload, enum codec_id codec, int channels, uint32_t width,
                     uint32_t height) {
    bool swapped = !task->upright && task->info.orientation >= 5;
    *task->image = (struct record_image){
        .payload_bytes = (uint32_t)payload.size,
        .codec = (uint8_t)codec,
        .channels = (uint8_t)channels,
        .depth = codec == CODEC_ZSTD16 ? 16 : 8,
        .width = (uint16_t)width,
        .height = (uint16_t)height,
        .source_width = (uint16_t)(swapped ? task->info.height : task->info.width),
        .source_height = (uint16_t)(swapped ? task->info.width : task->info.height),
        .hash = XXH3_64bits(payload.data, payload.size),
    };
}

static bool may_be_kept(const struct intake *in, const struct image_task *task) {
    return in->options.preset == PRESET_KEEP && task->info.keepable && task->upright;
}

static void replace(struct pixels *p, const struct pixels *next) {
    pixels_deinit(p);
    *p = *next;
}

/* Upright, 8 bit (infrared counts 16, if they are kept), the channels of its slot, no longer than the options' size:
 * what gets encoded. Takes `p` over. */
static int prepare_pixels(struct intake *in, struct image_task *task, struct pixels *p, struct error *error) {
    struct pixels next = {0};
    int rc = 0;

    if (!task->upright) {
        if ((rc = pixels_orient(&next, p, task->info.orientation, error)) != 0)
            return rc;
        replace(p, &next);
    }
    if (p->channels == 3 &&
        (task->is_ir || pixels_equal_channels(p))) { /* gray is one channel: the reader spreads it */
        if ((rc = pixels_convert(&next, p, 1, error)) != 0)
            return rc;
        replace(p, &next);
    }
    if (p->depth == 16 && task->is_ir && in->options.ir_depth == 16) {
        if ((rc = normalise_range(p, &in->options.ir_norm, &task->low, &task->high, error)) != 0)
            return rc;
    } else if (p->depth == 16) {
        rc =
            task->is_ir ? normalise_to_8bit(&next, p, &in->options.ir_norm, error) : pixels_high_bytes(&next, p, error);
        if (rc != 0)
            return rc;
        replace(p, &next);
    }
    uint32_t longest = p->width > p->height ? p->width : p->height, limit = (uint32_t)in->options.image_size_px;
    if (in->options.preset != PRESET_KEEP && limit > 0 && longest > limit) {
        uint32_t w = (uint32_t)(((uint64_t)p->width * limit + longest / 2) / longest);
        uint32_t h = (uint32_t)(((uint64_t)p->height * limit + longest / 2) / longest);
        if ((rc = pixels_shrink(&next, p, w ? w : 1, h ? h : 1, error)) != 0)
            return rc;
        replace(p, &next);
    }
    return 0;
}

static int encode_pixels(struct intake *in, const struct image_task *task, struct bytes *record, const struct pixels *p,
                         enum codec_id *codec, struct error *error) {
    const struct intake_options *o = &in->options;
    if (p->depth == 16) {
        *codec = CODEC_ZSTD16;
        return codec_encode_zstd16(in->codec, record, p, task->low, task->high,
                                   o->zstd_level > 0 ? o->zstd_level : ZSTD16_LEVEL, error);
    }
    if (o->preset == PRESET_RAW) {
        *codec = o->zstd_level > 0 ? CODEC_ZSTD : CODEC_RAW;
        return o->zstd_level > 0 ? codec_encode_zstd(in->codec, record, p, o->zstd_level, error)
                                 : codec_encode_raw(in->codec, record, p, error);
    }
    *codec = CODEC_JPEG;
    return jpeg_encode(codec_jpeg(in->codec), record, p, o->quality, o->preset == PRESET_TRAIN, error);
}

/* Turns a JPEG upright without decoding it where its size allows. *done says whether it did. */
static int rotate_losslessly(struct intake *in, struct image_task *task, struct intake_result *out, size_t offset,
                             bool *done, struct error *error) {
    struct error fault = {0};
    *done = false;
    if (in->options.preset != PRESET_KEEP || task->format->id != SOURCE_JPEG || task->upright)
        return 0;
    int rc = jpeg_transform(codec_jpeg(in->codec), &out->record, done, task->file, task->info.orientation, &fault);
    if (rc == ERR_MEMORY)
        return reject_fault(out, task, &fault, error);
    if (rc != 0 || !*done) { /* the long way will do, or say what is wrong */
        *done = false;
        out->record.size = offset;
        return 0;
    }
    bool swapped = task->info.orientation >= 5;
    struct span payload = {out->record.data + offset, out->record.size - offset};
    describe(task, payload, CODEC_JPEG, task->info.channels, swapped ? task->info.height : task->info.width,
             swapped ? task->info.width : task->info.height);
    if (task->check.equal_channels)
        task->image->flags |= IMAGE_GRAY;
    return 0;
}

/* Replaces the source by its transcoded form, at the end of the record. */
static int transcode(struct intake *in, struct image_task *task, struct intake_result *out, size_t offset,
                     struct error *error) {
    struct error fault = {0};
    struct pixels p = {0};
    enum codec_id codec = CODEC_NONE;
    bool done = false;
    char message[160];

    int rc = rotate_losslessly(in, task, out, offset, &done, error);
    if (rc != 0)
        return rc;
    if (!done) {
        if (task->format->decode(in->codec, &p, in->warning, task->file, &fault) != 0) {
            rc = reject_fault(out, task, &fault, error);
            goto out;
        }
        if (task->format->id != SOURCE_JPEG && in->warning[0] &&
            (rc = note(out, RULE_IMAGE_WARNING, task->path, in->warning)) != 0)
            goto out;
        task->check.equal_channels = task->check.equal_channels || (p.channels == 3 && pixels_equal_channels(&p));
        if ((rc = prepare_pixels(in, task, &p, error)) != 0 ||
            (rc = encode_pixels(in, task, &out->record, &p, &codec, error)) != 0)
            goto out;
        struct span payload = {out->record.data + offset, out->record.size - offset};
        describe(task, payload, codec, p.channels, p.width, p.height);
        if (codec == CODEC_JPEG)
            snprintf(message, sizeof message, "%s to JPEG quality %d %s, %ux%u", task->info.detail, in->options.quality,
                     p.channels == 1                      ? "gray"
                     : in->options.preset == PRESET_TRAIN ? "4:2:0"
                                                          : "4:4:4",
                     p.width, p.height);
        else
            snprintf(message, sizeof message, "%s to %s, %ux%u", task->info.detail, codec_name(codec), p.width,
                     p.height);
        rc = note(out, RULE_IMAGE_TRANSCODED, task->path, message);
    }
    task->image->flags |= IMAGE_TRANSCODED;
    out->counts.images_transcoded++;
    if (rc == 0 && !task->upright) {
        out->counts.images_rotated++;
        snprintf(message, sizeof message, "EXIF orientation %d, %s", task->info.orientation,
                 done ? "turned losslessly" : "turned and re-encoded");
        rc = note(out, RULE_IMAGE_ROTATED, task->path, message);
    }
out:
    pixels_deinit(&p);
    return rc;
}

/* Reads one image to the end of the record and makes it what the pack will hold. 0, 1 = rejected, < 0 = error. */
static int take_image(struct intake *in, struct image_task *task, struct intake_result *out, struct error *error) {
    struct error fault = {0};
    size_t offset = out->record.size;

    if (file_read(&out->record, in->base_fd, task->path, in->options.file_limit_bytes, &fault) != 0)
        return reject_unreadable(out, task->path, &fault, error);
    task->file = (struct span){out->record.data + offset, out->record.size - offset};
    out->counts.source_bytes += task->file.size;

    int rc = probe_image(in, task, out, error);
    if (rc != 0)
        return rc;
    bool keep = may_be_kept(in, task);
    if (task->format->id == SOURCE_JPEG && (in->options.check == CHECK_FULL || !keep) &&
        (rc = check_jpeg(in, task, out, error)) != 0)
        return rc;
    if (keep) {
        describe(task, task->file, CODEC_JPEG, task->info.channels, task->info.width, task->info.height);
        if (task->check.equal_channels)
            task->image->flags |= IMAGE_GRAY;
        out->counts.images_kept++;
    } else {
        in->file.size = 0;
        if (bytes_append(&in->file, task->file.data, task->file.size) != 0)
            return error_set(error, ERR_MEMORY, "out of memory for %s", task->path);
        task->file.data = in->file.data;
        out->record.size = offset;
        if ((rc = transcode(in, task, out, offset, error)) != 0)
            return rc;
    }
    if (out->record.size > RECORD_LIMIT_BYTES)
        return reject(out, RULE_IMAGE_TOO_LARGE, task->path, (struct span){0}, "the record would be over 1 GiB");
    return 0;
}

/* What the two pictures say about each other and about their slots. */
static int compare_modalities(const struct intake *in, const struct image_task *rgb, const struct image_task *ir,
                              struct intake_result *out) {
    char message[160];
    bool checked = in->options.check == CHECK_FULL;
    if (ir->path && checked && ir->info.channels == 3 && !ir->check.equal_channels) {
        int rc = note(out, RULE_IR_COLOUR, ir->path, "its channels differ; luma is used");
        if (rc != 0)
            return rc;
    }
    if (!rgb->path || !ir->path)
        return 0;
    if (checked && (rgb->info.channels == 1 || rgb->check.equal_channels)) {
        int rc = note(out, RULE_RGB_GRAY, rgb->path, "is the infrared in the RGB folder?");
        if (rc != 0)
            return rc;
    }
    const struct record_image *a = rgb->image, *b = ir->image;
    double ratio = (double)a->source_width * b->source_height / ((double)a->source_height * b->source_width);
    if (fabs(ratio - 1) <= in->options.aspect_tolerance)
        return 0;
    snprintf(message, sizeof message, "RGB %ux%u and IR %ux%u: aspect ratios differ by %.1f %%", a->source_width,
             a->source_height, b->source_width, b->source_height, fabs(ratio - 1) * 100);
    return note(out, RULE_PAIR_ASPECT, rgb->path, message);
}

/* An image whose labels are not known is no background: it would train the opposite. 0, 1 = rejected, < 0 = error. */
static int take_labels(struct intake *in, const struct sample_source *source, struct intake_result *out,
                       struct error *error) {
    struct error fault = {0};
    if (!source->label) {
        out->counts.background_no_file++;
        return note(out, RULE_LABEL_MISSING, sample_source_name(source), "no label file");
    }
    in->label_text.size = 0;
    if (file_read(&in->label_text, in->base_fd, source->label, LABEL_FILE_LIMIT_BYTES, &fault) != 0) {
        if (intake_is_machine_fault(&fault)) {
            if (error)
                *error = fault;
            return fault.code;
        }
        return reject(out, RULE_LABEL_UNREADABLE, source->label, (struct span){0}, fault.message);
    }
    struct span text = {in->label_text.data, in->label_text.size};
    int rc = label_parse(&out->labels, text, source->label, &in->options.label, &out->report);
    if (rc != 0)
        return error_set(error, rc, "out of memory for the labels in %s", source->label);
    if (out->report.counts[RULE_LABEL_UNREADABLE] > 0) {
        out->rejected = true;
        return 1;
    }

    const struct label_counts *c = &out->labels.counts;
    out->counts.rows = c->rows;
    out->counts.rows_kept = c->kept;
    out->counts.rows_dropped = c->dropped;
    out->counts.rows_clamped = c->clamped;
    out->counts.rows_duplicate = c->duplicate;
    out->counts.rows_filtered = c->filtered;
    if (c->rows == 0) {
        out->counts.background_empty++;
        return note(out, RULE_LABEL_EMPTY, source->label, "the label file has no rows");
    }
    return 0;
}

static int pad_record(struct bytes *record, size_t size, struct error *error) {
    if (bytes_reserve(record, size) != 0)
        return error_set(error, ERR_MEMORY, "out of memory for a record of %zu bytes", size);
    memset(record->data + record->size, 0, size - record->size);
    record->size = size;
    return 0;
}

/* Both images into the record. 0, 1 = rejected, < 0 = error. */
static int take_images(struct intake *in, const struct sample_source *source, struct intake_result *out,
                       struct error *error) {
    struct image_task rgb = {.path = source->rgb, .image = &out->header.rgb};
    struct image_task ir = {.path = source->ir, .image = &out->header.ir, .is_ir = true};

    int rc = pad_record(&out->record, RECORD_HEADER_BYTES, error);
    if (rc == 0 && source->rgb)
        rc = take_image(in, &rgb, out, error);
    if (rc == 0 && source->ir) {
        rc = pad_record(&out->record, record_ir_offset(out->header.rgb.payload_bytes), error);
        if (rc == 0)
            rc = take_image(in, &ir, out, error);
    }
    if (rc == 0)
        rc = pad_record(&out->record, record_bytes(out->header.rgb.payload_bytes, out->header.ir.payload_bytes), error);
    return rc == 0 ? compare_modalities(in, &rgb, &ir, out) : rc;
}

int intake_sample(struct intake *in, struct intake_result *out, const struct sample_source *source,
                  struct error *error) {
    out->rejected = false;
    out->record.size = 0;
    out->header = (struct record){0};
    out->counts = (struct intake_counts){.samples = 1};
    label_set_clear(&out->labels);
    report_clear(&out->report);

    struct source_stat stat;
    int rc = intake_stat(&stat, in->base_fd, source);
    out->fingerprint = stat.fingerprint;
    if (rc == 0)
        rc = take_images(in, source, out, error);
    if (rc == 0)
        rc = take_labels(in, source, out, error);
    if (rc < 0)
        return error && error->code ? rc : error_set(error, rc, "out of memory for %s", sample_source_name(source));
    if (rc > 0) {
        out->counts = (struct intake_counts){.samples = 1, .rejected = 1, .source_bytes = out->counts.source_bytes};
        return 0;
    }
    out->counts.packed = 1;
    out->counts.payload_bytes = out->header.rgb.payload_bytes + (uint64_t)out->header.ir.payload_bytes;
    out->counts.labels = out->labels.labels.size / sizeof(struct index_label);
    return 0;
}
