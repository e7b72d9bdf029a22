/*
 * Opening a split costs the same for any number of samples: the index is mapped and its header checked, and each shard
 * shows its length and first pages. Shards are mapped when the first record of theirs is wanted, staged ones at once,
 * so that they stay whatever becomes of the copy; no descriptor stays open.
 */
#include "dataset.h"

#include "api_error.h"
#include "dataset_shard.h"
#include "dataset_split.h"
#include "file.h"
#include "staged.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>

/* ---- open and close ---------------------------------------------------------------------------------------------- */

/* File systems on which another machine may cut a file that is mapped here. Magic numbers of statfs(2). */
static bool is_remote(const char *path) {
    static const uint32_t magics[] = {
        0x00006969, /* NFS */
        0x0000517b, /* SMB */
        0xfe534d42, /* SMB2 */
        0xff534d42, /* CIFS */
        0x65735546, /* FUSE */
        0x0bd00bd0, /* Lustre */
        0x47504653, /* GPFS */
        0x00c36400, /* Ceph */
        0x5346414f, /* AFS */
        0x73757245, /* Coda */
        0x01021997, /* 9P */
        0x19830326, /* BeeGFS */
        0xaad7aaea, /* Panasas */
        0x786f4256, /* vboxsf */
    };
    struct statfs fs;
    if (statfs(path, &fs))
        return false;
    for (size_t i = 0; i < sizeof magics / sizeof *magics; i++)
        if ((uint32_t)fs.f_type == magics[i])
            return true;
    return false;
}

static int find_root(struct ypk_dataset *ds, const char *path, struct error *error) {
    struct stat st;
    ds->root = realpath(path, NULL);
    if (!ds->root)
        return error_set_errno(error, errno, "%s: cannot open the pack", *path ? path : "\"\"");
    if (stat(ds->root, &st) == 0 && !S_ISDIR(st.st_mode))
        return error_set(error, ERR_NOT_FOUND, "%s: is no pack: a pack is a directory", path);
    return 0;
}

static int open_index(struct ypk_dataset *ds, struct error *error) {
    int rc = file_map(&ds->index_map, ds->index_path, error);
    if (!rc && (rc = index_parse(&ds->index, ds->index_map, error)))
        error_prefix(error, "%s: ", ds->index_path);
    return rc;
}

static int open_shards(struct ypk_dataset *ds, int stage, struct error *error) {
    int rc = staged_find(&ds->staged, ds->root, stage, error);
    if (rc)
        return rc;
    ds->shards = calloc((size_t)ds->index.shard_count + 1, sizeof *ds->shards);
    if (!ds->shards)
        return error_set(error, ERR_MEMORY, "%s: out of memory", ds->root);
    for (uint64_t i = 0; i < ds->index.shard_count && !rc; i++) {
        struct index_shard row;
        if ((rc = index_shard(&ds->index, i, &row, error))) {
            error_prefix(error, "%s: ", ds->index_path);
            break;
        }
        ds->shards[i].file_bytes = row.file_bytes;
        ds->shards[i].head_hash = row.head_hash;
        ds->shards_bytes += row.file_bytes;
        if (ds->staged)
            rc = dataset_shard_map_staged(ds, i, error);
        ds->staged_count += ds->shards[i].staged;
        if (!rc && !ds->shards[i].staged)
            rc = dataset_shard_probe(ds, i, error);
    }
    if (!rc && stage == YPK_STAGE_REQUIRE && ds->staged_count < ds->index.shard_count)
        rc = error_set(error, ERR_NOT_FOUND,
                       "%s: only %" PRIu64 " of the %" PRIu64 " shards of split %s are staged (yolopack stage %s)",
                       ds->root, ds->staged_count, ds->index.shard_count, ds->split, ds->root);
    return rc;
}

/* Knows the struct of this header and larger ones of later headers whose further fields are not used. */
static int take_options(ypk_dataset_options *out, const ypk_dataset_options *options, struct error *error) {
    *out = (ypk_dataset_options){.size = sizeof *out};
    if (!options)
        return 0;
    if (options->size < sizeof *out)
        return error_set(error, ERR_ARGUMENT, "the options' size is %zu: set it to sizeof(ypk_dataset_options), %zu",
                         options->size, sizeof *out);
    for (size_t i = sizeof *out; i < options->size; i++)
        if (((const uint8_t *)options)[i])
            return error_set(error, ERR_ARGUMENT, "the options (%zu bytes) use a field that this library does not know",
                             options->size);
    memcpy(out, options, sizeof *out);
    if (out->io < YPK_IO_AUTO || out->io > YPK_IO_PREAD)
        return error_set(error, ERR_ARGUMENT, "io %d is none of YPK_IO_AUTO, YPK_IO_MMAP and YPK_IO_PREAD", out->io);
    if (out->stage < YPK_STAGE_AUTO || out->stage > YPK_STAGE_REQUIRE)
        return error_set(error, ERR_ARGUMENT, "stage %d is none of YPK_STAGE_AUTO, YPK_STAGE_OFF and YPK_STAGE_REQUIRE",
                         out->stage);
    return 0;
}

static int dataset_open(struct ypk_dataset *ds, const char *path, const ypk_dataset_options *options,
                        struct error *error) {
    ypk_dataset_options o;
    int rc = take_options(&o, options, error);
    ds->drops = !rc && o.drop_behind;
    if (!rc)
        rc = find_root(ds, path, error);
    if (!rc)
        rc = dataset_split_choose(ds, o.split, error);
    if (!rc)
        rc = open_index(ds, error);
    if (!rc)
        rc = dataset_split_check(ds, error);
    if (!rc)
        rc = open_shards(ds, o.stage, error);
    if (!rc)
        ds->reads = o.io == YPK_IO_PREAD || (o.io == YPK_IO_AUTO && is_remote(ds->root));
    return rc;
}

int ypk_dataset_open(ypk_dataset **out, const char *path, const ypk_dataset_options *options, ypk_error *error) {
    struct error inner = {0};
    if (out)
        *out = NULL;
    if (!out || !path) {
        error_set(&inner, ERR_ARGUMENT, "ypk_dataset_open: out and path must not be NULL");
        return api_fail(error, &inner);
    }
    ypk_dataset *ds = calloc(1, sizeof *ds);
    int rc = ds ? dataset_open(ds, path, options, &inner) : error_set(&inner, ERR_MEMORY, "%s: out of memory", path);
    if (rc) {
        ypk_dataset_close(&ds);
        return api_fail(error, &inner);
    }
    *out = ds;
    return YPK_OK;
}

void ypk_dataset_close(ypk_dataset **dataset) {
    if (!dataset || !*dataset)
        return;
    ypk_dataset *ds = *dataset;
    *dataset = NULL;
    for (uint64_t i = 0; ds->shards && i < ds->index.shard_count; i++)
        dataset_shard_unmap(&ds->shards[i]);
    free(ds->shards);
    file_unmap(&ds->index_map);
    free(ds->staged);
    free(ds->index_path);
    free(ds->split);
    free(ds->root);
    free(ds);
}

/* ---- what the index says ----------------------------------------------------------------------------------------- */

_Static_assert(sizeof(ypk_label) == sizeof(struct index_label) &&
                   offsetof(ypk_label, class_id) == offsetof(struct index_label, class_id) &&
                   offsetof(ypk_label, point_count) == offsetof(struct index_label, point_count) &&
                   offsetof(ypk_label, x) == offsetof(struct index_label, x) &&
                   offsetof(ypk_label, height) == offsetof(struct index_label, height),
               "labels are lent as they lie in the index");
_Static_assert((int)YPK_DETECT == (int)TASK_DETECT && (int)YPK_SEGMENT == (int)TASK_SEGMENT &&
                   (int)YPK_POSE == (int)TASK_POSE && (int)YPK_OBB == (int)TASK_OBB &&
                   (int)YPK_RGB == (int)MODALITY_RGB && (int)YPK_IR == (int)MODALITY_IR,
               "public and internal numbers are equal");

void ypk_dataset_get_info(const ypk_dataset *ds, ypk_dataset_info *out) {
    const struct index_view *v = &ds->index;
    *out = (ypk_dataset_info){.sample_count = v->sample_count,
                              .label_count = v->label_count,
                              .point_count = v->point_count,
                              .shard_count = v->shard_count,
                              .payload_bytes = ds->shards_bytes,
                              .content_hash = v->content_hash,
                              .class_count = (uint32_t)v->class_count,
                              .task = v->meta.task,
                              .modalities = v->meta.modalities,
                              .keypoint_count = v->meta.keypoint_count,
                              .point_dims = v->meta.point_dims,
                              .rgb_max_width = v->rgb_max_width,
                              .rgb_max_height = v->rgb_max_height,
                              .ir_max_width = v->ir_max_width,
                              .ir_max_height = v->ir_max_height,
                              .max_record_bytes = v->max_record_bytes,
                              .max_label_count = v->max_label_count,
                              .staged_shard_count = ds->staged_count,
                              .split = ds->split};
}

const char *ypk_dataset_class_name(const ypk_dataset *ds, uint32_t class_id) {
    return ds ? index_class_name(&ds->index, class_id) : NULL;
}

static ypk_image image_of(uint8_t format, uint32_t bytes, uint64_t hash, uint16_t width, uint16_t height) {
    return (ypk_image){.width = width,
                       .height = height,
                       .payload_bytes = bytes,
                       .hash = hash,
                       .codec = format & 0x0f,
                       .is_gray = (format & IMAGE_GRAY) != 0,
                       .is_transcoded = (format & IMAGE_TRANSCODED) != 0};
}

int ypk_dataset_sample(const ypk_dataset *ds, uint64_t index, ypk_sample *out, ypk_error *error) {
    struct error inner = {0};
    struct index_sample s;
    int rc;
    if (!ds || !out)
        rc = error_set(&inner, ERR_ARGUMENT, "ypk_dataset_sample: dataset and out must not be NULL");
    else if ((rc = index_sample(&ds->index, index, &s, &inner)))
        error_prefix(&inner, "%s: ", ds->index_path);
    if (rc)
        return api_fail(error, &inner);
    *out = (ypk_sample){.name = index_sample_name(&s),
                        .rgb_name = s.rgb_name,
                        .ir_name = s.ir_name,
                        .label_name = s.label_name,
                        .rgb = image_of(s.rgb_format, s.rgb_bytes, s.rgb_hash, s.rgb_width, s.rgb_height),
                        .ir = image_of(s.ir_format, s.ir_bytes, s.ir_hash, s.ir_width, s.ir_height),
                        .labels = (const ypk_label *)(const void *)s.labels,
                        .label_count = s.label_count,
                        .points = s.points,
                        .point_count = s.point_count};
    return YPK_OK;
}

int ypk_dataset_find(const ypk_dataset *ds, const char *name, uint64_t *index, ypk_error *error) {
    struct error inner = {0};
    int rc;
    if (!ds || !name || !index)
        rc = error_set(&inner, ERR_ARGUMENT, "ypk_dataset_find: dataset, name and index must not be NULL");
    else if ((rc = index_find(&ds->index, name, index, &inner)))
        error_prefix(&inner, "%s: ", ds->index_path);
    return rc ? api_fail(error, &inner) : YPK_OK;
}
