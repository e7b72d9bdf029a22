/*
 * A training loop around the loader. The training step is yours; this one only looks at the batch.
 *
 *     cc train_loop.c $(pkg-config --cflags --libs yolopack) -o train_loop
 *     ./train_loop night.ypk 3 night.state       3 epochs; goes on where night.state says, and keeps it up to date
 */
#include <yolopack.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SAVE_EVERY = 100 }; /* batches */

static int fail(const char *what, const ypk_error *error) {
    fprintf(stderr, "%s: %s\n", what, error->message);
    return 1;
}

/* What a model would be fed with: uint8 pixels [batch][channels][height][width], and boxes as flat arrays. */
static void train_step(const ypk_batch *batch) {
    const ypk_tensor *images = &batch->images[0];
    if (batch->index == 0)
        printf("epoch %llu begins: %lld x %lld x %lld x %lld, %u boxes, first sample %s\n",
               (unsigned long long)batch->epoch, (long long)images->shape[0], (long long)images->shape[1],
               (long long)images->shape[2], (long long)images->shape[3], (unsigned)batch->label_count,
               batch->samples[0].name);
}

static int io_error(ypk_error *error, const char *path, const char *what) {
    snprintf(error->message, sizeof error->message, "%s: cannot be %s: %s", path, what, strerror(errno));
    return YPK_E_IO;
}

/* Save it together with the model's checkpoint: the two belong together. Written beside the old one, which is then
 * replaced in one step, so that a job that is killed meanwhile leaves one of the two. */
static int save_state(ypk_loader *loader, const char *path, ypk_error *error) {
    char state[YPK_STATE_BYTES], new_path[4096];
    int rc = ypk_loader_state(loader, state, sizeof state, error);
    if (rc != YPK_OK)
        return rc;
    snprintf(new_path, sizeof new_path, "%s.new", path);
    FILE *file = fopen(new_path, "w");
    int written = file && fputs(state, file) >= 0;
    if (!file || fclose(file) != 0 || !written || rename(new_path, path) != 0)
        return io_error(error, path, "written");
    return YPK_OK;
}

/* No such file is no error: then training begins at the beginning. */
static int restore_state(ypk_loader *loader, const char *path, ypk_error *error) {
    char state[YPK_STATE_BYTES] = "";
    FILE *file = fopen(path, "r");
    if (!file)
        return errno == ENOENT ? YPK_OK : io_error(error, path, "read");
    size_t length = fread(state, 1, sizeof state - 1, file);
    state[length] = '\0';
    fclose(file);
    printf("going on from %s\n", path);
    return ypk_loader_restore(loader, state, error);
}

static int train(ypk_loader *loader, const char *state_path, ypk_error *error) {
    ypk_batch batch;
    uint64_t count = 0;
    int rc = state_path ? restore_state(loader, state_path, error) : YPK_OK;
    while (rc == YPK_OK && (rc = ypk_loader_next(loader, &batch, YPK_NO_STREAM, error)) == YPK_OK) {
        train_step(&batch);
        ypk_batch_release(&batch, YPK_NO_STREAM); /* its memory is filled again: nothing of it is used from here on */
        if (state_path && ++count % SAVE_EVERY == 0)
            rc = save_state(loader, state_path, error);
    }
    if (rc == YPK_END)
        rc = state_path ? save_state(loader, state_path, error) : YPK_OK;
    return rc;
}

static void print_stats(ypk_loader *loader) {
    ypk_loader_stats s;
    ypk_loader_get_stats(loader, &s);
    printf("%llu samples in %.2f s on %u workers, %.2f decodes a sample; waited %.0f %% of the time: %s\n",
           (unsigned long long)s.samples, s.seconds, (unsigned)s.workers,
           s.samples ? (double)s.decodes / (double)s.samples : 0, 100 * s.wait_seconds / s.seconds, s.verdict);
}

static int usage(const char *program) {
    fprintf(stderr, "usage: %s PACK EPOCHS [STATE]    (EPOCHS: 1 to 1000000)\n", program);
    return 2;
}

/* A whole number from 1 to 1000000, or 0: strtoul() alone would take -3 for four thousand millions. */
static uint32_t parse_epochs(const char *text) {
    char *end;
    long value = strtol(text, &end, 10);
    return *end == '\0' && value >= 1 && value <= 1000000 ? (uint32_t)value : 0;
}

int main(int argc, char **argv) {
    ypk_dataset *dataset = NULL;
    ypk_loader *loader = NULL;
    ypk_loader_options options;
    ypk_error error = {0};

    if (argc < 3 || argc > 4 || parse_epochs(argv[2]) == 0)
        return usage(argv[0]);
    if (ypk_dataset_open(&dataset, argv[1], NULL, &error) != YPK_OK)
        return fail("open", &error);

    ypk_loader_options_init(&options, sizeof options);
    options.batch = 8;
    options.image_size = 320;
    options.epochs = parse_epochs(argv[2]);
    options.close_mosaic = 0;
    options.seed = 1;
    if (ypk_loader_create(&loader, dataset, &options, &error) != YPK_OK) {
        ypk_dataset_close(&dataset);
        return fail("loader", &error);
    }
    int rc = train(loader, argc > 3 ? argv[3] : NULL, &error);
    if (rc == YPK_OK)
        print_stats(loader);
    ypk_loader_destroy(&loader);
    ypk_dataset_close(&dataset);
    return rc == YPK_OK ? 0 : fail("train", &error);
}
