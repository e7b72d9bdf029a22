/* What the checks ask of the NVIDIA driver itself, which is found when the program runs. */
#ifndef YPK_TESTS_DRIVER_H
#define YPK_TESTS_DRIVER_H

#include <stdbool.h>

/* False where there is no driver that can be used: then nothing else here may be called. */
bool driver_open(void);

int driver_device_count(void);

/* Whether somebody made the primary context of a device. */
bool driver_context_active(int device);

/* The calling thread's context, NULL for none; and that of a device made current, as cudaSetDevice() does it. */
void *driver_current(void);
bool driver_set_device(int device);
void driver_set_none(void);

/* A graph, captured on a stream so that no other call of the process may disturb it. */
bool driver_capture_begin(void *stream);
bool driver_capture_end(void *stream);

#endif
