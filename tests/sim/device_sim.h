/*
 * A device for tests: streams are threads, copies take their time, any call fails on demand, and the device can be
 * lost. Its memory is malloc's, so that the sanitizers watch over it. Streams that the loader makes and those that a
 * test makes are told apart, so that one kind of wait can be left out: a test of the order must then fail.
 *
 * What it is like is told once for all of its devices ("sim:0", "sim:1", …), before they are opened.
 */
#ifndef YPK_TESTS_DEVICE_SIM_H
#define YPK_TESTS_DEVICE_SIM_H

#include "device.h"

#include <stdbool.h>
#include <stdint.h>

extern const struct device_ops device_sim;

enum { SIM_ORDINALS = 4 };

/* Which wait is left out. */
enum sim_mutation {
    SIM_WHOLE,
    SIM_NO_READY_WAIT,   /* a consumer's stream does not wait for a batch */
    SIM_NO_RELEASE_WAIT, /* a copy does not wait for what uses its target */
    SIM_NO_COPY_WAIT,    /* a conversion does not wait for the copy */
    SIM_NO_SYNCHRONISE   /* a thread does not wait for a copy */
};

enum sim_fault {
    SIM_ONCE,   /* that call fails, and the next does not */
    SIM_ALWAYS, /* it fails and so does every later one; nothing on a stream is done any more */
    SIM_LOST    /* the same, as ERR_DEVICE_LOST */
};

struct sim_options {
    uint64_t seed;
    uint32_t delay_us;     /* a copy or conversion takes up to that long, … */
    uint32_t delay_chance; /* … one in so many; 0: none */
    enum sim_mutation mutation;
    uint64_t fail_at; /* counted from sim_begin() over all calls that can fail, from 1; 0: none */
    enum sim_fault fault;
    uint64_t pin_limit_bytes; /* over that, pin() is ERR_SPACE; 0: no limit */
};

void sim_begin(const struct sim_options *options);

/* What was found wrong since sim_begin(): calls to wait for the device on a thread that must not, objects of another
 * device, devices closed before what is theirs. Each is printed. */
uint64_t sim_violations(void);

/* Devices, streams of the loader's, events, allocations and pinned blocks that are there. */
uint64_t sim_live(void);

/* Calls that can fail, since sim_begin(). */
uint64_t sim_calls(void);

/* The calling thread must not wait for the device, or may again. */
void sim_forbid_waiting(bool forbidden);

/* A consumer's stream. NULL is the legacy default stream of the device that the call goes to. */
void *sim_stream_create(int ordinal);
void sim_stream_destroy(void *stream); /* when all is done */
void sim_stream_capture(void *stream, bool capturing);

/* Puts work on a stream of `ordinal`. On a lost device it is called with `lost`. */
void sim_launch(int ordinal, void *stream, void (*run)(void *arg, bool lost), void *arg);

/* `stream` goes on when all that is on `behind` now is done. */
void sim_follow(int ordinal, void *stream, void *behind);

/* Waits until all that was put on the stream is done. */
void sim_finish(int ordinal, void *stream);

#endif
