/* The CUDA device on tests/gpu/fake_cuda.h: its kernels on the CPU, and its calls to the runtime one by one. */
#include "device_cuda.h"
#include "gpu/fake_cuda.h"

#include <criterion/criterion.h>
#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Of cudaError_t. */
enum {
    OUT_OF_MEMORY = 2,
    UNLOADING = 4,
    NO_DEVICE = 100,
    NO_KERNEL_IMAGE = 209,
    INVALID_HANDLE = 400,
    ILLEGAL_ADDRESS = 700,
    NOT_READY = 600,
    NOT_SUPPORTED = 801,
};

static const struct device_ops *ops;
static struct error error;

static struct {
    void (*get_state)(struct fake_cuda_state *);
    void (*set_device)(int);
    void (*fail)(const char *, int);
    void (*heal)(void);
    void (*set_driver)(int);
    void *(*stream)(int);
    void (*destroy_stream)(void *);
    void (*capture)(void *, int);
} fake;

static void find(void *function, void *library, const char *name) {
    void *found = dlsym(library, name);
    cr_assert_not_null(found, "%s", name);
    memcpy(function, &found, sizeof found);
}

/* The library lies in gpu/fake/ beside the folder of this program. */
static void load(void) {
    char path[PATH_MAX + 64], program[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", program, sizeof program - 1);
    cr_assert_gt(n, 0);
    program[n] = '\0';
    for (int i = 0; i < 2; i++)
        *strrchr(program, '/') = '\0';
    snprintf(path, sizeof path, "%s/gpu/fake/%s", program, DEVICE_CUDA_FILE);
    if (access(path, F_OK) != 0)
        cr_skip("built without CUDA");
    setenv("YPK_CUDA_LIBRARY", path, 1);
    cr_assert_eq(device_cuda_load(&ops, &error), 0, "%s", error.message);
    void *library = dlopen(path, RTLD_NOW);
    find(&fake.get_state, library, "fake_cuda_get_state");
    find(&fake.set_device, library, "fake_cuda_set_device");
    find(&fake.fail, library, "fake_cuda_fail");
    find(&fake.heal, library, "fake_cuda_heal");
    find(&fake.set_driver, library, "fake_cuda_set_driver");
    find(&fake.stream, library, "fake_cuda_stream");
    find(&fake.destroy_stream, library, "fake_cuda_destroy_stream");
    find(&fake.capture, library, "fake_cuda_capture");
}

TestSuite(device_cuda, .init = load);

/* ---- one of each ------------------------------------------------------------------------------------------------- */

#define BYTES 4096

struct things {
    struct device *device;
    void *memory, *stream, *from, *to;
    uint8_t *host;
};

static void make_things(struct things *t) {
    memset(t, 0, sizeof *t);
    cr_assert_eq(ops->open(&t->device, 0, &error), 0, "%s", error.message);
    t->host = aligned_alloc(4096, BYTES);
    memset(t->host, 7, BYTES);
    cr_assert_eq(ops->pin(t->device, t->host, BYTES, &error), 0, "%s", error.message);
    cr_assert_eq(ops->allocate(t->device, &t->memory, BYTES, &error), 0, "%s", error.message);
    cr_assert_eq(ops->stream_create(t->device, &t->stream, &error), 0, "%s", error.message);
    cr_assert_eq(ops->event_create(t->device, &t->from, true, &error), 0, "%s", error.message);
    cr_assert_eq(ops->event_create(t->device, &t->to, true, &error), 0, "%s", error.message);
}

static void free_things(struct things *t) {
    ops->event_destroy(t->device, t->from);
    ops->event_destroy(t->device, t->to);
    ops->stream_destroy(t->device, t->stream);
    ops->release(t->device, t->memory);
    ops->unpin(t->device, t->host);
    ops->close(&t->device);
    cr_assert_null(t->device);
    free(t->host);
}

enum { CALLS = 13 };

/* The calls that can fail, by number, and which function of the runtime each is. */
static int call(struct things *t, int which, const char **function) {
    static const char *const functions[CALLS] = {
        "cudaHostRegister",         "cudaMalloc",      "cudaStreamCreateWithFlags",
        "cudaEventCreateWithFlags", "cudaMemcpyAsync", "cudaLaunchKernel",
        "cudaLaunchKernel",         "cudaEventRecord", "cudaStreamWaitEvent",
        "cudaEventSynchronize",     "cudaEventQuery",  "cudaEventElapsedTime",
        "cudaStreamIsCapturing"};
    static uint8_t other[BYTES];
    const struct device_convert what = {.from = t->memory,
                                        .to = t->memory,
                                        .rows = 1,
                                        .from_channels = 1,
                                        .to_channels = 1,
                                        .width = 4,
                                        .height = 4,
                                        .type = NUMBER_U8};
    void *made = NULL;
    bool done;
    double seconds;
    int rc;
    *function = functions[which];
    switch (which) {
    case 0:
        rc = ops->pin(t->device, other, BYTES, &error);
        if (rc == 0)
            ops->unpin(t->device, other);
        return rc;
    case 1:
        rc = ops->allocate(t->device, &made, BYTES, &error);
        ops->release(t->device, made);
        return rc;
    case 2:
        rc = ops->stream_create(t->device, &made, &error);
        ops->stream_destroy(t->device, made);
        return rc;
    case 3:
        rc = ops->event_create(t->device, &made, false, &error);
        ops->event_destroy(t->device, made);
        return rc;
    case 4: return ops->copy(t->device, t->stream, t->memory, t->host, BYTES, &error);
    case 5: return ops->convert(t->device, t->stream, &what, &error);
    case 6: return ops->busy(t->device, t->stream, 0.01, &error);
    case 7: return ops->record(t->device, t->from, t->stream, &error);
    case 8: return ops->wait(t->device, t->stream, t->from, &error);
    case 9: return ops->synchronise(t->device, t->from, &error);
    case 10: return ops->query(t->device, t->from, &done, &error);
    case 11: return ops->elapsed(t->device, t->from, t->to, &seconds, &error);
    default: return ops->check_stream(t->device, t->stream, &error);
    }
}

static void nothing_is_left(void) {
    struct fake_cuda_state s;
    fake.get_state(&s);
    cr_assert_eq(s.contexts[0], 0);
    cr_assert_eq(s.contexts[1], 0);
    cr_assert_eq(s.live, 0);
    cr_assert_eq(s.mistakes, 0);
}

/* ---- the thread it is called from -------------------------------------------------------------------------------- */

Test(device_cuda, no_call_changes_the_callers_device_or_makes_another_context) {
    for (int current = -1; current < 2; current++) {
        struct things t;
        struct fake_cuda_state s;
        const char *function;
        fake.set_device(current);
        make_things(&t);
        for (int which = 0; which < CALLS; which++) {
            cr_assert_eq(call(&t, which, &function), 0, "%s: %s", function, error.message);
            fake.get_state(&s);
            cr_assert_eq(s.current_device, current, "%s", function);
            cr_assert_eq(s.depth, current < 0 ? 0 : 1, "%s", function);
            cr_assert_eq(s.capture_mode, 0, "%s", function);
            cr_assert_eq(s.contexts[0], 1);
            cr_assert_eq(s.contexts[1], 0);
        }
        free_things(&t);
        fake.get_state(&s);
        cr_assert_eq(s.current_device, current);
        nothing_is_left();
    }
}

Test(device_cuda, two_of_one_device_and_one_of_another) {
    struct device *a, *b, *c;
    struct fake_cuda_state s;
    cr_assert_eq(ops->open(&a, 1, &error), 0);
    cr_assert_eq(ops->open(&b, 1, &error), 0);
    cr_assert_eq(ops->open(&c, 0, &error), 0);
    fake.get_state(&s);
    cr_assert_eq(s.contexts[0], 1);
    cr_assert_eq(s.contexts[1], 2);
    ops->close(&a);
    ops->close(&b);
    ops->close(&c);
    nothing_is_left();
}

/* ---- failures ---------------------------------------------------------------------------------------------------- */

Test(device_cuda, a_call_that_fails_says_what_and_where_and_the_next_one_works) {
    struct things t;
    const char *function;
    make_things(&t);
    for (int which = 0; which < CALLS; which++) {
        call(&t, which, &function);
        fake.fail(function, INVALID_HANDLE);
        cr_assert_eq(call(&t, which, &function), ERR_DEVICE, "%s", function);
        cr_assert_not_null(strstr(error.message, "cuda:0 (Fake): "), "%s: %s", function, error.message);
        cr_assert_eq(call(&t, which, &function), 0, "%s: %s", function, error.message);
    }
    free_things(&t);
    nothing_is_left();
}

Test(device_cuda, a_lost_device_stays_lost_and_everything_can_be_freed) {
    for (int first = 0; first < CALLS; first++) {
        struct things t;
        const char *function;
        make_things(&t);
        call(&t, first, &function);
        fake.fail(function, ILLEGAL_ADDRESS);
        cr_assert_eq(call(&t, first, &function), ERR_DEVICE_LOST, "%s", function);
        for (int which = 0; which < CALLS; which++) {
            cr_assert_eq(call(&t, which, &function), ERR_DEVICE_LOST, "%s", function);
            cr_assert_not_null(strstr(error.message, "destroy the loader"), "%s", error.message);
        }
        free_things(&t);
        fake.heal();
        nothing_is_left();
    }
}

Test(device_cuda, an_ending_process_is_no_trouble) {
    struct things t;
    const char *function;
    make_things(&t);
    fake.fail("cuCtxPushCurrent", UNLOADING);
    cr_assert_eq(call(&t, 4, &function), ERR_DEVICE_LOST);
    ops->event_destroy(t.device, t.from);
    ops->stream_destroy(t.device, t.stream);
    ops->release(t.device, t.memory);
    ops->unpin(t.device, t.host);
    fake.heal(); /* nothing of that was done, so here it still can be */
    free_things(&t);
    nothing_is_left();
}

Test(device_cuda, memory_that_cannot_be_locked_or_had) {
    struct things t;
    const char *function;
    make_things(&t);
    fake.fail("cudaHostRegister", OUT_OF_MEMORY);
    cr_assert_eq(call(&t, 0, &function), ERR_SPACE);
    cr_assert_not_null(strstr(error.message, "cannot be page-locked"), "%s", error.message);
    fake.fail("cudaHostRegister", NOT_SUPPORTED);
    cr_assert_eq(call(&t, 0, &function), ERR_SPACE);
    fake.fail("cudaMalloc", OUT_OF_MEMORY);
    cr_assert_eq(call(&t, 1, &function), ERR_MEMORY);
    cr_assert_not_null(strstr(error.message, "3 of 5 MB are free"), "%s", error.message);
    free_things(&t);
    nothing_is_left();
}

Test(device_cuda, an_event_that_is_not_reached_is_no_error) {
    struct things t;
    bool done = true;
    make_things(&t);
    fake.fail("cudaEventQuery", NOT_READY);
    cr_assert_eq(ops->query(t.device, t.from, &done, &error), 0);
    cr_assert_not(done);
    cr_assert_eq(ops->query(t.device, t.from, &done, &error), 0);
    cr_assert(done);
    free_things(&t);
}

/* ---- opening ----------------------------------------------------------------------------------------------------- */

static void refused(int ordinal, const char *words) {
    struct device *device = (struct device *)&error;
    cr_assert_eq(ops->open(&device, ordinal, &error), ERR_DEVICE);
    cr_assert_null(device);
    cr_assert_not_null(strstr(error.message, words), "%s: not in: %s", words, error.message);
}

Test(device_cuda, what_is_missing_is_said) {
    refused(2, "cuda:2: there are 2 CUDA devices");
    fake.fail("cudaGetDeviceCount", NO_DEVICE);
    refused(0, "shows no GPU");
    fake.fail("cudaGetDeviceCount", INVALID_HANDLE);
    refused(0, "CUDA cannot be used");
    fake.fail("cudaFuncGetAttributes", NO_KERNEL_IMAGE);
    refused(0, "CUDA_ARCHS=61");
    fake.fail("cuDevicePrimaryCtxRetain", OUT_OF_MEMORY);
    struct device *device;
    cr_assert_eq(ops->open(&device, 0, &error), ERR_MEMORY);
    fake.set_driver(8000);
    refused(0, "too old");
    cr_assert_not_null(strstr(error.message, "CUDA 8.0"), "%s", error.message);
    fake.set_driver(0);
    refused(0, "NVIDIA driver");
    nothing_is_left();
}

Test(device_cuda, a_file_that_is_not_ours_is_refused_by_name) {
    setenv("YPK_CUDA_LIBRARY", "/nonexistent/part.so", 1);
    cr_assert_eq(device_cuda_load(&ops, &error), ERR_DEVICE);
    cr_assert_not_null(strstr(error.message, "/nonexistent/part.so"), "%s", error.message);
    cr_assert_null(ops);
    setenv("YPK_CUDA_LIBRARY", "libm.so.6", 1);
    cr_assert_eq(device_cuda_load(&ops, &error), ERR_DEVICE);
    cr_assert_not_null(strstr(error.message, "libm.so.6 is not yolopack's"), "%s", error.message);
}

Test(device_cuda_absent, a_build_without_cuda_says_so) {
    int ordinal;
    setenv("YPK_CUDA_LIBRARY", "/nonexistent/part.so", 1);
    cr_assert_eq(device_find(&ops, &ordinal, "cuda:3", &error), ERR_DEVICE);
    cr_assert_null(ops);
    if (strstr(error.message, "/nonexistent/part.so"))
        cr_skip("built with CUDA");
    cr_assert_not_null(strstr(error.message, "built without CUDA: build it with CUDA=1"), "%s", error.message);
}

/* ---- the consumer's stream --------------------------------------------------------------------------------------- */

Test(device_cuda, streams_that_cannot_be_used_are_refused_by_name) {
    struct things t;
    make_things(&t);
    void *ours = fake.stream(0), *others = fake.stream(1);
    cr_assert_eq(ops->check_stream(t.device, ours, &error), 0);
    cr_assert_eq(ops->check_stream(t.device, NULL, &error), 0);
    cr_assert_eq(ops->check_stream(t.device, (void *)1, &error), 0, "the legacy stream's other name");
    cr_assert_eq(ops->check_stream(t.device, (void *)2, &error), 0, "the thread's default stream");
    cr_assert_eq(ops->check_stream(t.device, others, &error), ERR_ARGUMENT);
    cr_assert_not_null(strstr(error.message, "one of cuda:1"), "%s", error.message);
    fake.capture(ours, 1);
    cr_assert_eq(ops->check_stream(t.device, ours, &error), ERR_ARGUMENT);
    cr_assert_not_null(strstr(error.message, "graph"), "%s", error.message);
    fake.capture(ours, 0);
    cr_assert_eq(ops->check_stream(t.device, ours, &error), 0);
    fake.destroy_stream(ours);
    fake.destroy_stream(others);
    free_things(&t);
    nothing_is_left();
}

/* ---- kernels ----------------------------------------------------------------------------------------------------- */

enum { GUARD = 64 };

static uint8_t *guarded(size_t bytes) {
    uint8_t *memory = aligned_alloc(64, (bytes + 2 * GUARD + 63) / 64 * 64);
    memset(memory, 0xa5, bytes + 2 * GUARD);
    return memory + GUARD;
}

static void same_as_host(struct device *device, struct device_convert what) {
    struct error ignored;
    const size_t area = (size_t)what.width * what.height, number = number_bytes(what.type);
    const size_t from_bytes = what.rows * what.from_channels * area,
                 to_bytes = what.rows * what.to_channels * area * number;
    uint8_t *from = guarded(from_bytes), *wanted = guarded(to_bytes), *got = guarded(to_bytes);
    for (size_t i = 0; i < from_bytes; i++)
        from[i] = (uint8_t)(i * 2654435761u >> 13);
    what.from = from;
    what.to = wanted;
    device_host.convert(NULL, NULL, &what, &ignored);
    what.to = got;
    cr_assert_eq(ops->convert(device, NULL, &what, &error), 0, "%s", error.message);
    cr_assert_arr_eq(got - GUARD, wanted - GUARD, to_bytes + 2 * GUARD, "%u x %u, %u of %u channels, type %d, %s",
                     what.width, what.height, what.to_channels, what.from_channels, (int)what.type,
                     what.interleaved ? "NHWC" : "NCHW");
    free(from - GUARD);
    free(wanted - GUARD);
    free(got - GUARD);
}

Test(device_cuda, kernels_give_the_bytes_of_the_host) {
    static const uint32_t channels[][2] = {{1, 1}, {3, 3}, {4, 4}, {4, 6}, {1, 3}};
    static const uint32_t sizes[][2] = {{96, 64}, {8, 2}, {64, 33}, {7, 5}};
    struct device *device;
    cr_assert_eq(ops->open(&device, 0, &error), 0, "%s", error.message);
    for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++)
        for (size_t c = 0; c < sizeof channels / sizeof channels[0]; c++)
            for (int type = NUMBER_U8; type <= NUMBER_F32; type++)
                for (int interleaved = 0; interleaved < 2; interleaved++) {
                    struct device_convert what = {.rows = 2,
                                                  .from_channels = channels[c][0],
                                                  .to_channels = channels[c][1],
                                                  .width = sizes[s][0],
                                                  .height = sizes[s][1],
                                                  .interleaved = interleaved,
                                                  .type = (enum number_type)type};
                    for (int i = 0; i < 6; i++) {
                        what.mean[i] = 0.1f * (float)i;
                        what.deviation[i] = 0.2f + 0.13f * (float)i;
                    }
                    same_as_host(device, what);
                }
    ops->close(&device);
}
