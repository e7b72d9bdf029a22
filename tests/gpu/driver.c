#include "gpu/driver.h"

#include <dlfcn.h>
#include <stddef.h>
#include <string.h>

static struct {
    int (*init)(unsigned);
    int (*count)(int *);
    int (*state)(int, unsigned *, int *);
    int (*retain)(void **, int);
    int (*get_current)(void **);
    int (*set_current)(void *);
    int (*begin_capture)(void *, int);
    int (*end_capture)(void *, void **);
    int (*destroy_graph)(void *);
} driver;

bool driver_open(void) {
    const struct {
        void *function;
        const char *name;
    } wanted[] = {
        {&driver.init, "cuInit"},
        {&driver.count, "cuDeviceGetCount"},
        {&driver.state, "cuDevicePrimaryCtxGetState"},
        {&driver.retain, "cuDevicePrimaryCtxRetain"},
        {&driver.get_current, "cuCtxGetCurrent"},
        {&driver.set_current, "cuCtxSetCurrent"},
        {&driver.begin_capture, "cuStreamBeginCapture_v2"},
        {&driver.end_capture, "cuStreamEndCapture"},
        {&driver.destroy_graph, "cuGraphDestroy"},
    };
    void *library = dlopen("libcuda.so.1", RTLD_NOW);
    for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++) {
        void *function = library ? dlsym(library, wanted[i].name) : NULL;
        if (!function)
            return false;
        memcpy(wanted[i].function, &function, sizeof function);
    }
    return driver.init(0) == 0;
}

int driver_device_count(void) {
    int count = 0;
    return driver.count(&count) == 0 ? count : 0;
}

bool driver_context_active(int device) {
    unsigned flags;
    int active = 0;
    return driver.state(device, &flags, &active) == 0 && active;
}

void *driver_current(void) {
    void *context = NULL;
    driver.get_current(&context);
    return context;
}

bool driver_set_device(int device) {
    void *context = NULL;
    return driver.retain(&context, device) == 0 && driver.set_current(context) == 0;
}

void driver_set_none(void) {
    driver.set_current(NULL);
}

bool driver_capture_begin(void *stream) {
    return driver.begin_capture(stream, 0) == 0; /* the global mode, the strictest */
}

bool driver_capture_end(void *stream) {
    void *graph = NULL;
    if (driver.end_capture(stream, &graph) != 0)
        return false;
    driver.destroy_graph(graph);
    return true;
}
