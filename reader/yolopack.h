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
 * the file, the sample, the value and what to do; a handle or tensor that it was to give out is then NULL. Close and
 * destroy take the address of the handle, accept NULL, and set it to NULL. Option structs begin with their size: zero
 * the struct, set `size = sizeof options`, then what you need. A smaller size than the library's first release knew (0
 * above all) is YPK_E_ARGUMENT; so is a larger one than this library knows, unless everything beyond is zero.
 *
 * Threads. A dataset is immutable after open and may be used from any number of threads. A decoder belongs to one
 * thread at a time. Fork: a dataset may be used in the child; a decoder too, if the parent does not use it any more.
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
    YPK_E_INTERRUPTED = -9,
    YPK_E_SLOTS_HELD = -10, /* the caller holds every batch that the loader has */
    YPK_E_DEVICE = -11,     /* no such device, or a call to it failed */
    YPK_E_DEVICE_LOST = -12 /* the device or its context is gone: destroy the loader */
};

typedef struct ypk_error {
    int code;           /* YPK_OK or YPK_E_* */
    int os_errno;       /* errno of the failing system call, or 0 */
    int64_t offset;     /* byte offset in the file at fault, or -1 */
    char message[1024]; /* UTF-8, NUL-terminated */
} ypk_error;

/* "corrupt pack" for YPK_E_CORRUPT and so on; never NULL. */
YPK_API const char *ypk_code_text(int code);

/* ---- dataset ----------------------------------------------------------------------------------------------------- */

typedef struct ypk_dataset ypk_dataset;

enum { YPK_IO_AUTO = 0, YPK_IO_MMAP = 1, YPK_IO_PREAD = 2 };
enum { YPK_STAGE_AUTO = 0, YPK_STAGE_OFF = 1, YPK_STAGE_REQUIRE = 2 };

typedef struct ypk_dataset_options {
    size_t size;       /* sizeof(ypk_dataset_options) */
    const char *split; /* "train", "val", …; NULL: "train" if the pack has it, else its only split */
    /* YPK_IO_AUTO: pread on network file systems, mmap elsewhere. With mmap, a shard that is cut while it is in use
     * ends the process with SIGBUS; with pread that is YPK_E_IO. */
    int io;
    /* YPK_STAGE_AUTO: shards that `yolopack stage` put into $YPK_STAGE_DIR or /dev/shm are mapped from there, others
     * are read from the pack. YPK_STAGE_OFF: never. YPK_STAGE_REQUIRE: YPK_E_NOT_FOUND unless every shard of the split
     * is staged. */
    int stage;
    /* 1: a record's pages leave this process and the page cache when a decoder or loader has used them, so that a pack
     * larger than memory, read once an epoch, displaces nothing else. What lies in memory already is read again in the
     * next epoch: for packs that fit, 0 is faster. Never for staged shards. Bytes that ypk_decoder_payload() lent stay
     * good. */
    int drop_behind;
} ypk_dataset_options;

/* Opens one split of the pack directory `path`. Cost does not depend on the number of samples. Checks the index's
 * header and, for every shard, its length and first pages; shards themselves are mapped when first read, and no
 * descriptor is kept open. The directory may be renamed or removed later only as far as shards are mapped already; the
 * process may change its current directory. A staged copy is found by what the pack holds, never by its name, and
 * checked like the pack itself: one that does not fit is YPK_E_CORRUPT, naming the file. It may be removed while the
 * dataset is open; a dataset opened afterwards reads the pack. `options` may be NULL. YPK_E_NOT_FOUND, YPK_E_CORRUPT,
 * YPK_E_UNSUPPORTED, YPK_E_IO, YPK_E_MEMORY, YPK_E_ARGUMENT. */
YPK_API int ypk_dataset_open(ypk_dataset **out, const char *path, const ypk_dataset_options *options, ypk_error *error);
YPK_API void ypk_dataset_close(ypk_dataset **dataset);

enum { YPK_DETECT = 1, YPK_SEGMENT = 2, YPK_POSE = 3, YPK_OBB = 4 };
enum { YPK_RGB = 1, YPK_IR = 2 };

typedef struct ypk_dataset_info {
    uint64_t sample_count;
    uint64_t label_count;
    uint64_t point_count;
    uint64_t shard_count;
    uint64_t payload_bytes; /* sum of the shard files' lengths, bytes */
    uint64_t content_hash;  /* identity: equal for packs that hold the same samples in the same order */
    uint32_t class_count;
    int task;                /* YPK_DETECT … */
    int modalities;          /* YPK_RGB | YPK_IR: what at least one sample has */
    uint32_t keypoint_count; /* pose only */
    uint32_t point_dims;     /* floats a point: 2, or 3 with visibility */
    uint32_t rgb_max_width, rgb_max_height, ir_max_width, ir_max_height; /* px */
    uint32_t max_record_bytes;                                           /* the largest record */
    uint32_t max_label_count;                                            /* most labels of one sample */
    uint64_t staged_shard_count;                                         /* shards that are read from a staged copy */
    const char *split;                                                   /* owned by the dataset */
} ypk_dataset_info;

/* Fills *out; cannot fail for valid pointers. */
YPK_API void ypk_dataset_get_info(const ypk_dataset *dataset, ypk_dataset_info *out);

/* The name of class `class_id`, owned by the dataset; NULL when out of range. */
YPK_API const char *ypk_dataset_class_name(const ypk_dataset *dataset, uint32_t class_id);

/* ---- samples ----------------------------------------------------------------------------------------------------- */

/* A box: centre and size, normalised to the upright picture (0-1); float32. */
typedef struct ypk_label {
    uint16_t class_id;
    uint16_t point_count; /* points of this label: polygon, oriented box (4) or key points */
    float x, y, width, height;
} ypk_label;

typedef struct ypk_image {
    uint32_t width, height; /* px, upright, as stored; 0 when the sample lacks this modality */
    uint32_t payload_bytes;
    uint64_t hash;     /* XXH3-64 of the payload */
    int codec;         /* 1 JPEG, 2 raw, 3 zstd, 4 zstd of 16-bit counts; 0 none */
    int is_gray;       /* three stored channels are equal in every pixel */
    int is_transcoded; /* not the bytes of the source file */
} ypk_image;

typedef struct ypk_sample {
    const char *name;                            /* of the RGB image, or of the IR image where there is no RGB */
    const char *rgb_name, *ir_name, *label_name; /* paths relative to the data set, "" if none; bytes as on disk */
    ypk_image rgb, ir;
    const ypk_label *labels; /* [label_count] */
    uint32_t label_count;
    const float *points; /* [point_count][point_dims], normalised, in the order of the labels */
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
 * YPK_IR. *data is 64-byte aligned with mmap, and borrowed: until the dataset is closed with mmap, until the next call
 * on this decoder with pread. The payload's hash is checked. YPK_E_ARGUMENT if the sample lacks the modality,
 * YPK_E_CORRUPT, YPK_E_IO, YPK_E_MEMORY. */
YPK_API int ypk_decoder_payload(ypk_decoder *decoder, uint64_t index, int modality, const uint8_t **data, size_t *size,
                                ypk_error *error);

/* Decodes one image to 8-bit pixels: YPK_RGB gives [height][width][3] in R,G,B order, YPK_IR gives [height][width],
 * both row-major with rows `stride_bytes` apart (0: tightly packed). `pixels` must hold height * stride bytes. Gray is
 * replicated into RGB; a colour picture in the IR slot becomes its luma. On failure the pixels are zeroed and the code
 * says why: YPK_E_CORRUPT, YPK_E_IO, YPK_E_MEMORY, YPK_E_ARGUMENT. */
YPK_API int ypk_decoder_decode(ypk_decoder *decoder, uint64_t index, int modality, uint8_t *pixels, size_t stride_bytes,
                               ypk_error *error);

/* Decodes the infrared image of a pack made with --ir-depth 16 to its counts, without loss: [height][width] uint16,
 * rows `stride_bytes` apart (even; 0: tightly packed). An image stored with 8 bits (codec other than 4) is
 * YPK_E_ARGUMENT. ypk_decoder_decode() gives the same image scaled to 8 bits by the range that was found when packing.
 * On failure the counts are zeroed; codes as above. */
YPK_API int ypk_decoder_decode16(ypk_decoder *decoder, uint64_t index, uint16_t *counts, size_t stride_bytes,
                                 ypk_error *error);

/* ---- loader ------------------------------------------------------------------------------------------------------ */

/*
 * Batches for training or evaluation: planned, decoded and augmented on worker threads, delivered in order.
 *
 *     ypk_loader_options o;
 *     ypk_loader_options_init(&o, sizeof o);
 *     o.batch = 16; o.seed = 7;
 *     ypk_loader_create(&ld, ds, &o, &err);
 *     while ((rc = ypk_loader_next(ld, &b, YPK_NO_STREAM, &err)) == YPK_OK) {
 *         …
 *         ypk_batch_release(&b, YPK_NO_STREAM);
 *     }
 *     if (rc != YPK_END) …
 *
 * The same seed, pack and options give the same bytes, for any number of workers, prefetch, memory limit, point of
 * resumption, and for any number of ranks at the same global batch (batch * world).
 *
 * Threads. ypk_loader_next, _state, _restore, _seek and _destroy are for one thread at a time; ypk_batch_release,
 * ypk_batch_dlpack's deleters, ypk_batch_used_on and ypk_loader_get_stats may be called from any. The dataset must
 * outlive the loader and every batch. Fork: neither a loader nor a batch must be used in a child; that is
 * YPK_E_ARGUMENT, not a hang, and destroying it there, or releasing a batch, does nothing. Signals are left to the
 * caller's threads.
 */
typedef struct ypk_loader ypk_loader;

enum { YPK_TRAIN = 0, YPK_EVAL = 1 };
enum { YPK_U8 = 0, YPK_F16 = 1, YPK_BF16 = 2, YPK_F32 = 3 };
enum { YPK_NCHW = 0, YPK_NHWC = 1 };
enum {
    YPK_CHANNELS_AUTO = 0,    /* rgb, ir or rgb+ir3: what the pack has */
    YPK_CHANNELS_RGB = 1,     /* 3: R,G,B */
    YPK_CHANNELS_IR = 2,      /* 1 */
    YPK_CHANNELS_RGB_IR = 3,  /* 4: R,G,B,IR */
    YPK_CHANNELS_RGB_IR3 = 4, /* 6: R,G,B,IR,IR,IR (YOLOFuse) */
    YPK_CHANNELS_TWO = 5      /* two tensors: 3 and 1 channels */
};
enum { YPK_LAST_AUTO = 0, YPK_LAST_WRAP = 1, YPK_LAST_DROP = 2, YPK_LAST_PARTIAL = 3 };
enum { YPK_BAD_FAIL = 0, YPK_BAD_SUBSTITUTE = 1 };

typedef struct ypk_loader_options {
    size_t size; /* sizeof(ypk_loader_options) */
    uint64_t seed;
    int mode;       /* YPK_TRAIN: shuffled and augmented; YPK_EVAL: every sample once, letterboxed */
    uint32_t batch; /* samples of this rank's batches; the global batch is batch * world */
    uint32_t rank, world;
    uint32_t epochs;             /* 0: without end */
    uint32_t close_mosaic;       /* mosaic, mixup and cutmix are off in that many last epochs */
    int last_batch;              /* YPK_LAST_AUTO: wrap when world > 1 in training, else partial */
    uint32_t image_size;         /* px; output is image_size x image_size (rect and multi_scale aside) */
    uint32_t stride;             /* px: rect and multi_scale go in steps of it */
    int rect;                    /* evaluation: batches of similar shape, as small as they can be */
    int channels;                /* YPK_CHANNELS_* */
    int dtype;                   /* YPK_U8: 0-255. F16, BF16, F32: (x / 255 - mean) / deviation */
    int layout;                  /* YPK_NCHW or YPK_NHWC */
    float mean[4], deviation[4]; /* of R, G, B, IR (where `bgr` exchanges R and B: of their places); 0 and 1 */
    /* 0, exact: the pixels that cv2.imread gives. 1: JPEGs that are at least twice as large as image_size, and whose
     * chroma is subsampled, are scaled to a half, a quarter or an eighth while they are decoded (measured at 640 px
     * against exact, 4:2:0: 1280x1024 pictures 55 dB PSNR, 1.2 times the images a second; 3840x2160 pictures 40 dB, 1.4
     * times). */
    int fast;
    /* A sample that cannot be decoded: YPK_BAD_FAIL ends with an error that names it, YPK_BAD_SUBSTITUTE takes the next
     * good one (of 64), flagged and counted. */
    int bad_sample;
    /* Threads, and batches that are ready or at work ahead of the consumer. 0, automatic: it starts with the cores that
     * this process may use and with enough batches for them, and looks every half a second whether the consumer waits:
     * more workers when cores are idle meanwhile (up to twice the cores: they wait for the storage), fewer when that
     * suffices; more batches (up to 8, or twice those at the start) when an uneven consumer or loader needs them. */
    uint32_t workers, prefetch;
    /* Bytes for everything the loader holds in host memory, ever; 0: what is best for speed. What libjpeg takes while
     * it decodes a progressive JPEG (about 6 bytes a pixel, for each worker that is at one) comes on top of it. */
    uint64_t memory_limit;
    /* Where batches are delivered: NULL or "cpu" (host memory), "cuda", "cuda:1", or "auto": "cuda" if there is one
     * that can be used, else host memory (ypk_loader_stats says which, and why). "host" goes the ways of a device with
     * the host's own memory, to test and to measure with. No other device is touched, and without this none. */
    const char *device;
    uint32_t device_slots; /* batches on the device, of which a consumer may hold all but one; at least 3; 0: 4 */

    /* augmentation (YPK_TRAIN), named and meant as Ultralytics' options are; its copy_paste is not offered */
    double mosaic, mixup, cutmix, degrees, translate, scale, shear, perspective;
    double hsv_h, hsv_s, hsv_v, flipud, fliplr, bgr, multi_scale;
    uint32_t mosaic_depth; /* partners come from that many samples before it in its lane: part of the plan */
    int mosaic_pool_all;   /* partners from the whole set, at up to four decodes a sample */
    int hsv_on_ir;         /* the value gain moves IR too */
    double ir_gain, ir_bias, ir_noise, ir_invert, drop_rgb, drop_ir;
    uint32_t ir_shift; /* px */
    /* Pose packs: flip_idx of data.yaml, which a pack's pack.json has as options.flip_idx (its index does not):
     * [flip_index_count] with one entry a key point: after a flip, point k is what point flip_index[k] was. Copied by
     * ypk_loader_create. NULL: nothing is flipped in such a pack, whatever flipud and fliplr say, since left and right
     * would be mistaken for each other (Ultralytics does the same). */
    const uint16_t *flip_index;
    uint32_t flip_index_count;
} ypk_loader_options;

/* The documented defaults (Ultralytics' where it has the option). `size` is sizeof(ypk_loader_options). */
YPK_API void ypk_loader_options_init(ypk_loader_options *options, size_t size);

/* Checks the options, allocates what it begins with and starts the workers. With workers and prefetch set nothing is
 * allocated later; where one of them is automatic, a worker or a batch may be added later on, within memory_limit
 * (without one, a quarter of the memory that is free) or not at all, and is given back when it is not needed any more.
 * YPK_E_ARGUMENT names the option, its value and what is right (a memory_limit too small: the smallest that works).
 * YPK_E_MEMORY, YPK_E_IO; YPK_E_DEVICE says what the device lacks (no driver, too old a driver, no such device, no
 * memory). */
YPK_API int ypk_loader_create(ypk_loader **out, const ypk_dataset *dataset, const ypk_loader_options *options,
                              ypk_error *error);

/* Stops the workers and frees everything but the batches that are still held: each of them stays whole until it is
 * released, at the same time on another thread if need be. With a device it waits for the copies that are under way and
 * for the work that batches were released behind; a batch released afterwards waits for its own. A lost device is left
 * alone. */
YPK_API void ypk_loader_destroy(ypk_loader **loader);

enum { YPK_DEVICE_CPU = 1, YPK_DEVICE_CUDA = 2 }; /* DLPack's numbers */

typedef struct ypk_tensor {
    void *data;         /* 64-byte aligned; memory of the device */
    int dtype;          /* YPK_U8 … */
    int dims;           /* 4 */
    int64_t shape[4];   /* NCHW or NHWC */
    int64_t strides[4]; /* in numbers, not bytes */
    int device_type;    /* YPK_DEVICE_* */
    int device_id;      /* which of them */
} ypk_tensor;

typedef struct ypk_batch_sample {
    uint64_t index;                           /* of the sample in the dataset */
    const char *name;                         /* owned by the dataset */
    uint32_t original_width, original_height; /* px, as stored in the pack, upright */
    uint32_t resized_width, resized_height;   /* px, after load-resize */
    float ratio;                              /* resized / original */
    float pad_x, pad_y; /* px left and above it in the letterboxed picture (no meaning in a mosaic) */
    int valid;          /* 0: an empty place at the end of an uneven last batch */
    int substituted;    /* 1: stands in for a sample that could not be decoded */
} ypk_batch_sample;

typedef struct ypk_batch {
    uint64_t epoch, index; /* index of the batch in its epoch */
    ypk_tensor images[2];
    int image_count;       /* 1, or 2 with YPK_CHANNELS_TWO */
    uint32_t sample_count; /* rows of the tensors */
    uint32_t valid_count;
    const ypk_batch_sample *samples; /* [sample_count] */
    uint32_t label_count;
    const float *label_batch; /* [label_count]: row of the sample. On a device labels are its memory, like the images */
    const float *label_class; /* [label_count] */
    /* [label_count][4]: x, y, width, height of the centre form, 0-1; of polygons, their boxes only */
    const float *label_box;
    /* Pose packs, else NULL and 0: [label_count][points_per_label][point_dims], as Ultralytics collates key points: x
     * and y, 0-1, and visibility (0, 1 or 2; 1 in a pack that has none). In training a point that left the picture, a
     * mosaic's canvas or the part that cutmix takes has visibility 0, and lies on the edge. point_dims is 3. */
    const float *label_points;
    uint32_t points_per_label, point_dims;
    /* Oriented-box packs, else NULL: [label_count] radians from the x axis to the width, clockwise on the screen, in
     * [-pi/4, 3pi/4). label_box is then of the rotated box: its centre, its longer side as a share of the picture's
     * width, its shorter side as a share of the height, as Ultralytics collates xywhr. */
    const float *label_rotation;
    void *slot; /* the loader's */
} ypk_batch;

enum { YPK_END = 1 }; /* returned by ypk_loader_next after the last batch of the last epoch */

/* A stream is a cudaStream_t of the loader's device, NULL the legacy default stream (PyTorch's usual one), and
 * YPK_NO_STREAM none: for host memory, and for a caller who waits. One that is being captured into a graph is refused
 * with YPK_E_ARGUMENT. A stream that was named stays in use until the batch, and every tensor exported from it, is
 * released. */
#define YPK_NO_STREAM ((void *)(intptr_t)-1)

/* The next batch, waiting for it if need be. Everything in *out is borrowed until it is released. On a ready batch this
 * costs microseconds and never allocates.
 * In host memory `stream` is YPK_NO_STREAM (with device "auto" it has no meaning). On a device it is the stream that
 * will use the batch: what is put on it afterwards runs when the batch is there, and this thread waits for nothing but
 * the workers. With YPK_NO_STREAM this thread waits until the batch is there. YPK_OK, YPK_END, YPK_E_CORRUPT or
 * YPK_E_IO naming the sample (the loader stays at it: every further call says the same), YPK_E_SLOTS_HELD naming the
 * batches when the caller holds every one, YPK_E_ARGUMENT in a child of fork(), or when a release was refused since the
 * last call (told once). YPK_E_DEVICE and YPK_E_DEVICE_LOST stay: destroy the loader. */
YPK_API int ypk_loader_next(ypk_loader *loader, ypk_batch *out, void *stream, ypk_error *error);

/* The batch is used on `stream` too: its memory is filled again only behind the work that is on that stream when the
 * batch is released. Before that, from any thread; up to 7 streams with that of ypk_loader_next(). In host memory this
 * does nothing. YPK_E_ARGUMENT, YPK_E_DEVICE, YPK_E_DEVICE_LOST. */
YPK_API int ypk_batch_used_on(ypk_batch *batch, void *stream, ypk_error *error);

/* Gives the batch's memory back and zeroes *batch. A batch that is zero is no error; of copies of one only one is
 * released. From any thread, and at once: on a device the memory is filled again behind the work that is on `stream`
 * now, on the stream of ypk_loader_next(), and on those of ypk_batch_used_on(). YPK_NO_STREAM adds none; if it was
 * given to ypk_loader_next() too, the caller is done with the batch. A stream that cannot be used is refused: *batch
 * stays as it is, still held, and ypk_loader_next() says so. cudaStreamPerThread is another stream on each thread: a
 * batch that is used on it is released, and its tensors are deleted, on that thread. */
YPK_API void ypk_batch_release(ypk_batch *batch, void *stream);

/* The batch's tensor `which` as a DLManagedTensor (DLPack 0.8, of the device where it is) in *out, without a copy. The
 * memory stays alive until the batch is released and the tensor's deleter was called, in any order, even after the
 * loader is destroyed. The deleter may be called on any thread and counts as a release with YPK_NO_STREAM: what used
 * the tensor on another stream than that of ypk_loader_next() is to be named with ypk_batch_used_on(). Labels are
 * released with the batch. */
YPK_API int ypk_batch_dlpack(ypk_batch *batch, int which, void **out, ypk_error *error);

/* The state after the batches that ypk_loader_next has returned: a short text, NUL-terminated, to be kept with a
 * checkpoint. `size` of at least YPK_STATE_BYTES always suffices. */
#define YPK_STATE_BYTES 2048
YPK_API int ypk_loader_state(ypk_loader *loader, char *text, size_t size, ypk_error *error);

/* Goes on from such a state: the next batch is the one that would have followed. The state may come from another number
 * of ranks at the same global batch. YPK_E_ARGUMENT names the option, seed or pack that differs; YPK_E_CORRUPT. Batches
 * still held must be released first. */
YPK_API int ypk_loader_restore(ypk_loader *loader, const char *text, ypk_error *error);

/* Goes to batch `index` (0 … batches per epoch - 1) of epoch `epoch` (0 … epochs - 1; batch 0 of epoch `epochs` is the
 * end): the next batch is that one, exactly as if all before it had been taken. Batches still held must be released
 * first. YPK_E_ARGUMENT. */
YPK_API int ypk_loader_seek(ypk_loader *loader, uint64_t epoch, uint64_t index, ypk_error *error);

typedef struct ypk_loader_stats {
    uint32_t workers, slots, window_pictures;         /* that there are now */
    uint32_t changes;                                 /* of workers or slots, where they are automatic, since create */
    uint64_t slot_bytes, window_bytes, scratch_bytes; /* allocated now, of all together */
    uint64_t batches, samples;                        /* delivered */
    uint64_t decodes;     /* pictures loaded into the window: 1.0 a sample in the steady state */
    uint64_t substituted; /* places that hold another sample than planned */
    double seconds;       /* since create, restore or seek, from where everything is counted */
    double wait_seconds;  /* the consumer waited in ypk_loader_next */
    /* of all workers */
    double read_seconds, decode_seconds, resize_seconds, warp_seconds, colour_seconds, write_seconds;
    double idle_seconds; /* workers waited for a free slot or for each other */
    /* what bounds the rate: "decode-bound", "storage-bound", "augment-bound", "transfer-bound", "consumer-bound";
     * static */
    const char *verdict;
    const char *device; /* where batches are: "cpu", "cuda:0"; the loader's, like `note` */
    const char *note; /* what is not as asked for, and why ("" else): memory that could not be page-locked, no device */
    uint32_t device_slots;
    uint64_t pinned_bytes;      /* of slot_bytes: page-locked, so that a device copies from them at full speed */
    uint64_t device_bytes;      /* allocated on the device */
    uint64_t copy_bytes;        /* copied to the device */
    double copy_seconds;        /* the copies took */
    double copy_overlap;        /* part of copy_seconds (0-1) that the consumer did not have to wait for */
    double stream_wait_seconds; /* the consumer's stream stood still in ypk_loader_next; known some batches later */
} ypk_loader_stats;

YPK_API void ypk_loader_get_stats(ypk_loader *loader, ypk_loader_stats *out);

/* Batches of one epoch for this rank. */
YPK_API uint64_t ypk_loader_batches_per_epoch(const ypk_loader *loader);

#ifdef __cplusplus
}
#endif
#endif
