/* What the loader delivers besides boxes: key points of poses, rotations of oriented boxes. */
#include "tiny_loader.h"

#include <math.h>

enum { SAMPLES = 31, BATCH = 6, SIDE = 64, POINTS = 4 };

static void open_task(uint8_t task) {
    open_pack(SAMPLES, 12, task);
}

TestSuite(loader_labels, .fini = close_pack);

static const uint16_t mirror[POINTS] = {1, 0, 3, 2};

static ypk_loader_options small_options(void) {
    ypk_loader_options o;
    ypk_loader_options_init(&o, sizeof o);
    o.image_size = SIDE;
    o.batch = BATCH;
    o.epochs = 3;
    o.close_mosaic = 1;
    o.seed = 3;
    o.workers = 1;
    o.degrees = 20;
    o.flipud = 0.5;
    o.mixup = 0.3;
    o.cutmix = 0.3;
    return o;
}

/* Of all labels of a run, as they lie. */
static uint64_t hash_labels(const ypk_loader_options *o, uint64_t *labels, uint64_t *hidden) {
    ypk_loader *loader = make_loader(o);
    XXH3_state_t *state = XXH3_createState();
    ypk_batch b;
    ypk_error error;
    XXH3_64bits_reset(state);
    while (ypk_loader_next(loader, &b, YPK_NO_STREAM, &error) == YPK_OK) {
        size_t n = b.label_count, points = n * b.points_per_label;
        *labels += n;
        XXH3_64bits_update(state, b.label_batch, n * sizeof(float));
        XXH3_64bits_update(state, b.label_class, n * sizeof(float));
        XXH3_64bits_update(state, b.label_box, 4 * n * sizeof(float));
        if (b.label_points)
            XXH3_64bits_update(state, b.label_points, 3 * points * sizeof(float));
        if (b.label_rotation)
            XXH3_64bits_update(state, b.label_rotation, n * sizeof(float));
        for (size_t i = 0; b.label_points && i < points; i++) {
            const float *p = b.label_points + 3 * i;
            cr_assert(p[0] >= 0 && p[0] <= 1 && p[1] >= 0 && p[1] <= 1 && (p[2] == 0 || p[2] == 1 || p[2] == 2));
            *hidden += p[2] == 0;
        }
        for (size_t i = 0; b.label_rotation && i < n; i++) {
            const float *box = b.label_box + 4 * i, turn = b.label_rotation[i];
            cr_assert(box[2] >= box[3] && box[3] > 0 && turn >= -0.785399f && turn < 2.356195f);
        }
        ypk_batch_release(&b, YPK_NO_STREAM);
    }
    ypk_loader_destroy(&loader);
    uint64_t hash = XXH3_64bits_digest(state);
    XXH3_freeState(state);
    return hash;
}

static void same_for_any_workers(void) {
    static const struct { uint32_t workers, prefetch; } forms[] = {{2, 1}, {5, 8}};
    uint64_t labels = 0, hidden = 0, more = 0;
    ypk_loader_options o = small_options();
    uint64_t hash = hash_labels(&o, &labels, &hidden);
    cr_assert_gt(labels, 3 * SAMPLES, "%lu labels", (unsigned long)labels);
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        o.workers = forms[i].workers;
        o.prefetch = forms[i].prefetch;
        cr_assert_eq(hash_labels(&o, &more, &hidden), hash, "%u workers", o.workers);
    }
    cr_assert_eq(more, 2 * labels);
}

Test(loader_labels, key_points_are_the_same_for_any_workers) {
    open_task(TASK_POSE);
    same_for_any_workers();
}

Test(loader_labels, rotations_are_the_same_for_any_workers) {
    open_task(TASK_OBB);
    same_for_any_workers();
}

/* The first batch of evaluation, with the labels of its second and third sample. */
static ypk_loader *evaluation(ypk_batch *b) {
    ypk_loader_options o = small_options();
    ypk_error error;
    o.mode = YPK_EVAL;
    o.epochs = 1;
    o.close_mosaic = 0;
    ypk_loader *loader = make_loader(&o);
    cr_assert_eq(ypk_loader_next(loader, b, YPK_NO_STREAM, &error), YPK_OK, "%s", error.message);
    cr_assert_geq(b->label_count, 3);
    cr_assert(b->label_batch[0] == 1 && b->label_batch[1] == 2 && b->label_batch[2] == 2);
    return loader;
}

static void expect_near(float got, double want, const char *what) {
    cr_assert(fabs(got - want) < 1e-6, "%s: %.9g, expected %.9g", what, got, want);
}

Test(loader_labels, key_points_lie_where_the_picture_is) {
    const float stored[2][POINTS][2] = {{{0.25f, 0.5f}, {0.5f, 0.375f}, {0.75f, 0.5f}, {0.5f, 0.625f}},
                                        {{0.0f, 0.25f}, {0.5f, 0.25f}, {0.5f, 0.75f}, {0.0f, 0.75f}}};
    ypk_batch b;
    open_task(TASK_POSE);
    ypk_loader *loader = evaluation(&b);
    cr_assert(b.points_per_label == POINTS && b.point_dims == 3 && !b.label_rotation);
    for (int label = 0; label < 3; label++) {
        const ypk_batch_sample *s = &b.samples[label ? 2 : 1];
        for (int k = 0; k < POINTS; k++) {
            const float *got = b.label_points + (label * POINTS + k) * 3, *want = stored[label == 2][k];
            expect_near(got[0], (want[0] * s->resized_width + s->pad_x) / SIDE, "x");
            expect_near(got[1], (want[1] * s->resized_height + s->pad_y) / SIDE, "y");
            cr_assert_eq(got[2], (float)(k % 3));
        }
    }
    ypk_batch_release(&b, YPK_NO_STREAM);
    ypk_loader_destroy(&loader);
}

Test(loader_labels, rotated_boxes_lie_where_the_picture_is) {
    ypk_batch b;
    open_task(TASK_OBB);
    ypk_loader *loader = evaluation(&b);
    cr_assert(b.points_per_label == 0 && b.point_dims == 0 && !b.label_points);
    const ypk_batch_sample *s = &b.samples[2]; /* its second label is upright: x 0 … 0.5, y 0.25 … 0.75 */
    const float *box = b.label_box + 8;
    double width = s->resized_width / 2.0, height = s->resized_height / 2.0;
    expect_near(box[0], (width / 2 + s->pad_x) / SIDE, "x");
    expect_near(box[1], (height + s->pad_y) / SIDE, "y");
    expect_near(box[2], fmax(width, height) / SIDE, "width");
    expect_near(box[3], fmin(width, height) / SIDE, "height");
    expect_near(b.label_rotation[2], width >= height ? 0 : 1.5707963267948966, "rotation");
    ypk_batch_release(&b, YPK_NO_STREAM);
    ypk_loader_destroy(&loader);
}

Test(loader_labels, a_detect_pack_has_boxes_only) {
    ypk_batch b;
    open_task(TASK_DETECT);
    ypk_loader *loader = evaluation(&b);
    cr_assert(!b.label_points && !b.label_rotation && b.points_per_label == 0 && b.point_dims == 0);
    ypk_batch_release(&b, YPK_NO_STREAM);
    ypk_loader_destroy(&loader);
}

Test(loader_labels, a_segment_pack_has_boxes_only) {
    ypk_batch b;
    open_task(TASK_SEGMENT);
    ypk_loader *loader = evaluation(&b);
    cr_assert(!b.label_points && !b.label_rotation);
    ypk_batch_release(&b, YPK_NO_STREAM);
    ypk_loader_destroy(&loader);
}

/* Without left and right being known, a mirrored person would have them exchanged: nothing is mirrored. */
Test(loader_labels, poses_are_flipped_with_an_index_only) {
    uint64_t hash[3], ignored = 0;
    open_task(TASK_POSE);
    ypk_loader_options o = small_options();
    hash[0] = hash_labels(&o, &ignored, &ignored);
    o.fliplr = o.flipud = 0;
    hash[1] = hash_labels(&o, &ignored, &ignored);
    o = small_options();
    uint16_t index[POINTS];
    memcpy(index, mirror, sizeof index);
    o.flip_index = index;
    o.flip_index_count = POINTS;
    hash[2] = hash_labels(&o, &ignored, &ignored);
    cr_assert_eq(hash[0], hash[1]);
    cr_assert_neq(hash[0], hash[2]);
    ypk_loader *loader = make_loader(&o);
    memset(index, 0xff, sizeof index); /* copied: nobody looks at it any more */
    ypk_batch b;
    ypk_error error;
    cr_assert_eq(ypk_loader_next(loader, &b, YPK_NO_STREAM, &error), YPK_OK);
    ypk_batch_release(&b, YPK_NO_STREAM);
    ypk_loader_destroy(&loader);
}

/* A flip alone: the loader's picture is the letterboxed one, mirrored. */
Test(loader_labels, a_flip_exchanges_left_and_right) {
    open_task(TASK_POSE);
    ypk_loader_options o = small_options();
    ypk_batch plain, flipped;
    ypk_error error;
    o.mosaic = o.mixup = o.cutmix = o.degrees = o.translate = o.scale = o.flipud = o.fliplr = 0;
    o.flip_index = mirror;
    o.flip_index_count = POINTS;
    ypk_loader *first = make_loader(&o);
    o.fliplr = 1;
    ypk_loader *second = make_loader(&o);
    cr_assert_eq(ypk_loader_next(first, &plain, YPK_NO_STREAM, &error), YPK_OK);
    cr_assert_eq(ypk_loader_next(second, &flipped, YPK_NO_STREAM, &error), YPK_OK);
    cr_assert(plain.label_count > 0 && plain.label_count == flipped.label_count);
    for (uint32_t i = 0; i < plain.label_count; i++)
        for (int k = 0; k < POINTS; k++) {
            const float *was = plain.label_points + (i * POINTS + mirror[k]) * 3;
            const float *is = flipped.label_points + (i * POINTS + (uint32_t)k) * 3;
            expect_near(is[0], 1.0 - was[0], "x");
            expect_near(is[1], was[1], "y");
            cr_assert_eq(is[2], was[2]);
        }
    ypk_batch_release(&plain, YPK_NO_STREAM);
    ypk_batch_release(&flipped, YPK_NO_STREAM);
    ypk_loader_destroy(&first);
    ypk_loader_destroy(&second);
}

static void refuse(const uint16_t *index, uint32_t count, const char *word) {
    ypk_loader_options o = small_options();
    ypk_loader *loader = NULL;
    ypk_error error;
    o.flip_index = index;
    o.flip_index_count = count;
    cr_assert_eq(ypk_loader_create(&loader, dataset, &o, &error), YPK_E_ARGUMENT, "%s", word);
    cr_assert(strstr(error.message, word), "%s: %s", word, error.message);
    cr_assert_null(loader);
}

Test(loader_labels, a_wrong_flip_index_is_refused) {
    const uint16_t beyond[POINTS] = {0, 1, 2, 4};
    open_task(TASK_POSE);
    refuse(mirror, 3, "has 3 entries: labels of this pack have 4 key points");
    refuse(mirror, 0, "has 0 entries");
    refuse(NULL, 4, "has 0 entries");
    refuse(beyond, 4, "flip_index[3] is 4: it is 0 to 3");
}

Test(loader_labels, a_flip_index_without_key_points_is_refused) {
    open_task(TASK_OBB);
    refuse(mirror, POINTS, "this one has none");
}

Test(loader_labels, a_state_of_another_flip_index_is_refused) {
    char state[YPK_STATE_BYTES];
    ypk_error error;
    open_task(TASK_POSE);
    ypk_loader_options o = small_options();
    o.flip_index = mirror;
    o.flip_index_count = POINTS;
    ypk_loader *loader = make_loader(&o);
    cr_assert_eq(ypk_loader_state(loader, state, sizeof state, &error), YPK_OK);
    ypk_loader_destroy(&loader);
    const uint16_t none[POINTS] = {0, 1, 2, 3};
    o.flip_index = none;
    loader = make_loader(&o);
    cr_assert_eq(ypk_loader_restore(loader, state, &error), YPK_E_ARGUMENT);
    cr_assert(strstr(error.message, "flip_index"), "%s", error.message);
    ypk_loader_destroy(&loader);
}
