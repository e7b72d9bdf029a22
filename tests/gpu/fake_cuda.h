/*
 * A CUDA runtime and driver of two devices that are the CPU: what reader/cuda/ calls, and not more. Everything is done
 * at once; a kernel's threads are threads. Each call checks what the real ones would not tell: that the device's
 * primary context is current, and that the thread's capture mode is relaxed, so that a graph captured elsewhere is not
 * disturbed.
 *
 * Linked with reader/cuda/ to a libyolopack-cuda.so.0 that any machine can load. The functions below are its own.
 */
#ifndef YPK_TESTS_FAKE_CUDA_H
#define YPK_TESTS_FAKE_CUDA_H

#ifdef __cplusplus
extern "C" {
#endif

struct fake_cuda_state {
    int contexts[2];    /* references to the primary context of each device */
    int live;           /* allocations, registrations, streams and events that exist */
    int current_device; /* of the calling thread, -1 without a context */
    int depth;          /* of its stack of contexts */
    int capture_mode;   /* of the calling thread: 0, global, unless somebody changed it */
    int mistakes;       /* calls without the context, or without the relaxed mode */
};

void fake_cuda_get_state(struct fake_cuda_state *out);

/* The calling thread's context becomes that of `device`, as after cudaSetDevice(); -1: none. */
void fake_cuda_set_device(int device);

/* The next call of the function of that name fails with this cudaError_t; an error of the sticky kind stays, until
 * fake_cuda_heal(). */
void fake_cuda_fail(const char *function, int error);
void fake_cuda_heal(void);

/* What the driver says of itself: 0 is none, 12020 is CUDA 12.2. */
void fake_cuda_set_driver(int version);

/* A stream of `device`; whether a graph is being captured on it. */
void *fake_cuda_stream(int device);
void fake_cuda_destroy_stream(void *stream);
void fake_cuda_capture(void *stream, int on);

#ifdef __cplusplus
}
#endif
#endif
