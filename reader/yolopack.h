/*
 * yolopack: reading packs of YOLO-style training data (RGB, infrared, or pairs).
 *
 *     ypk_dataset *ds = NULL;
 *     ypk_decoder *dec = NULL;
 *     ypk_error err;
 *     if (ypk_dataset_open(&ds, "night.ypk", NULL, &err) != YPK_OK) { fprintf(stderr, "%s\n", err.message); return 1; }
 *     if (ypk_decoder_create(&dec, ds, &err) != YPK_OK) …
 *     ypk_sample s;
 *     ypk_dataset_sample(ds, 0, &s, &err);                     // sizes, labels, names: no pixel is touched
 *     uint8_t *rgb = malloc((size_t)s.rgb.width * s.rgb.height * 3);
 *     ypk_decoder_decode(dec, 0, YPK_RGB, rgb, 0, &err);       // [height][width][3], 8 bit
 *     ypk_decoder_destroy(&dec);
 *     ypk_dataset_close(&ds);
 *
 * Conventions. A failing call returns a negative code and, when `error` is not NULL, fills it with a message that names
 * the file, the sample, the value and what to do. Close and destroy take the address of the handle, accept NULL, and set
 * it to NULL. Option structs begin with their size: zero the struct, set `size = sizeof options`, then what you need. A
 * smaller size than the library's first release knew (0 above all) is YPK_E_ARGUMENT; so is a larger one than this library
 * knows, unless everything beyond is zero.
 *
 * Threads. A dataset is immutable after open and may be used from any number of threads. A decoder belongs to one thread
 * at a time. Fork: a dataset may be used in the child; a decoder too, if the parent does not use it any more.
 */
#ifndef YOLOPACK_H
#define YOLOPACK_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define YPK_API __attribute__((visibility("default")))
#else
#define YPK_API
#endif

#define YPK_VERSION_MAJOR 0
#define YPK_VERSION_MINOR 1
#define YPK_VERSION_PATCH 0

/* "0.1.0" of the library that is linked. */
YPK_API const char *ypk_version(void);

/* ---- errors ------------------------------------------------------------------------------------------------------ */

enum {
    YPK_OK = 0,
    YPK_E_ARGUMENT = -1,    /* the caller's mistake: NULL, out of range, wrong size of a struct */
    YPK_E_INPUT = -2,       /* unusable input */
    YPK_E_CORRUPT = -3,     /* the pack's bytes are not what its index says */
    YPK_E_IO = -4,          /* a system call failed */
    YPK_E_SPACE = -5,       /* disk, quota or address space is full */
    YPK_E_MEMORY = -6,      /* out of memory */
    YPK_E_UNSUPPORTED = -7, /* made by a newer version, or a codec this build does not have */
    YPK_E_NOT_FOUND = -8,   /* no such pack, split or sample */
    YPK_E_INTERRUPTED = -9
};

typedef struct ypk_error {
    int code;               /* YPK_OK or YPK_E_* */
    int os_errno;           /* errno of the failing system call, or 0 */
    int64_t offset;         /* byte offset in the file at fault, or -1 */
    char message[1024];     /* UTF-8, NUL-terminated */
} ypk_error;

/* "corrupt pack" for YPK_E_CORRUPT and so on; never NULL. */
YPK_API const char *ypk_code_text(int code);

/* ---- dataset ----------------------------------------------------------------------------------------------------- */

typedef struct ypk_dataset ypk_dataset;

enum { YPK_IO_AUTO = 0, YPK_IO_MMAP = 1, YPK_IO_PREAD = 2 };

typedef struct ypk_dataset_options {
    size_t size;            /* sizeof(ypk_dataset_options) */
    const char *split;      /* "train", "val", …; NULL: "train" if the pack has it, else its only split */
    int io;                 /* YPK_IO_AUTO: pread on network file systems, mmap elsewhere. With mmap, a shard that is cut
                               while it is in use ends the process with SIGBUS; with pread that is YPK_E_IO. */
} ypk_dataset_options;

/* Opens one split of the pack directory `path`. Cost does not depend on the number of samples. Checks the index's header
 * and, for every shard, its length and first pages; shards themselves are mapped when first read, and no descriptor is
 * kept open. The directory may be renamed or removed later only as far as shards are mapped already; the process may change
 * its current directory. `options` may be NULL.
 * YPK_E_NOT_FOUND, YPK_E_CORRUPT, YPK_E_UNSUPPORTED, YPK_E_IO, YPK_E_MEMORY, YPK_E_ARGUMENT. */
YPK_API int ypk_dataset_open(ypk_dataset **out, const char *path, const ypk_dataset_options *options, ypk_error *error);
YPK_API void ypk_dataset_close(ypk_dataset **dataset);

enum { YPK_DETECT = 1, YPK_SEGMENT = 2, YPK_POSE = 3, YPK_OBB = 4 };
enum { YPK_RGB = 1, YPK_IR = 2 };

typedef struct ypk_dataset_info {
    uint64_t sample_count;
    uint64_t label_count;
    uint64_t point_count;
    uint64_t shard_count;
    uint64_t payload_bytes;         /* sum of the shard files' lengths, bytes */
    uint64_t content_hash;          /* identity: equal for packs that hold the same samples in the same order */
    uint32_t class_count;
    int task;                       /* YPK_DETECT … */
    int modalities;                 /* YPK_RGB | YPK_IR: what at least one sample has */
    uint32_t keypoint_count;        /* pose only */
    uint32_t point_dims;            /* floats a point: 2, or 3 with visibility */
    uint32_t rgb_max_width, rgb_max_height, ir_max_width, ir_max_height; /* px */
    uint32_t max_record_bytes;      /* the largest record */
    uint32_t max_label_count;       /* most labels of one sample */
    const char *split;              /* owned by the dataset */
} ypk_dataset_info;

/* Fills *out; cannot fail for valid pointers. */
YPK_API void ypk_dataset_get_info(const ypk_dataset *dataset, ypk_dataset_info *out);

/* The name of class `class_id`, owned by the dataset; NULL when out of range. */
YPK_API const char *ypk_dataset_class_name(const ypk_dataset *dataset, uint32_t class_id);

/* ---- samples ----------------------------------------------------------------------------------------------------- */

/* A box: centre and size, normalised to the upright picture (0-1); float32. */
typedef struct ypk_label {
    uint16_t class_id;
    uint16_t point_count;           /* points of this label: polygon, oriented box (4) or key points */
    float x, y, width, height;
} ypk_label;

typedef struct ypk_image {
    uint32_t width, height;         /* px, upright, as stored; 0 when the sample lacks this modality */
    uint32_t payload_bytes;
    uint64_t hash;                  /* XXH3-64 of the payload */
    int codec;                      /* 1 JPEG, 2 raw, 3 zstd; 0 none */
    int is_gray;                    /* three stored channels are equal in every pixel */
    int is_transcoded;              /* not the bytes of the source file */
} ypk_image;

typedef struct ypk_sample {
    const char *name;               /* of the RGB image, or of the IR image where there is no RGB */
    const char *rgb_name, *ir_name, *label_name;    /* paths relative to the data set, "" if none; bytes as on disk */
    ypk_image rgb, ir;
    const ypk_label *labels;        /* [label_count] */
    uint32_t label_count;
    const float *points;            /* [point_count][point_dims], normalised, in the order of the labels */
    uint32_t point_count;
} ypk_sample;

/* Describes sample `index` (0 … sample_count − 1). All pointers are borrowed from the dataset and live until it is
 * closed. Reads only the index. YPK_E_ARGUMENT past the end, YPK_E_CORRUPT for a damaged row. */
YPK_API int ypk_dataset_sample(const ypk_dataset *dataset, uint64_t index, ypk_sample *out, ypk_error *error);

/* Finds a sample by its name, in O(log n). YPK_E_NOT_FOUND. */
YPK_API int ypk_dataset_find(const ypk_dataset *dataset, const char *name, uint64_t *index, ypk_error *error);

/* ---- pixels ------------------------------------------------------------------------------------------------------ */

/* Codec handles and scratch of one thread, for one dataset, which must outlive it. */
typedef struct ypk_decoder ypk_decoder;

YPK_API int ypk_decoder_create(ypk_decoder **out, const ypk_dataset *dataset, ypk_error *error);
YPK_API void ypk_decoder_destroy(ypk_decoder **decoder);

/* The stored bytes of one image of sample `index`: for a kept JPEG exactly the source file's. `modality` is YPK_RGB or
 * YPK_IR. *data is 64-byte aligned with mmap, and borrowed: until the dataset is closed with mmap, until the next call on
 * this decoder with pread. The payload's hash is checked. YPK_E_ARGUMENT if the sample lacks the modality,
 * YPK_E_CORRUPT, YPK_E_IO, YPK_E_MEMORY. */
YPK_API int ypk_decoder_payload(ypk_decoder *decoder, uint64_t index, int modality, const uint8_t **data, size_t *size,
                                ypk_error *error);

/* Decodes one image to 8-bit pixels: YPK_RGB gives [height][width][3] in R,G,B order, YPK_IR gives [height][width], both
 * row-major with rows `stride_bytes` apart (0: tightly packed). `pixels` must hold height * stride bytes. Gray is
 * replicated into RGB; a colour picture in the IR slot becomes its luma. On failure the pixels are zeroed and the code
 * says why: YPK_E_CORRUPT, YPK_E_IO, YPK_E_MEMORY, YPK_E_ARGUMENT. */
YPK_API int ypk_decoder_decode(ypk_decoder *decoder, uint64_t index, int modality, uint8_t *pixels, size_t stride_bytes,
                               ypk_error *error);

#ifdef __cplusplus
}
#endif
#endif
