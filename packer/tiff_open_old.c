/* libtiff before 4.5: handlers belong to the process, but are told which handle the message is about. */
#include "tiff_memory.h"

#include <pthread.h>

static void on_error(thandle_t memory, const char *module, const char *format, va_list args) {
    if (memory)
        tiff_memory_error(memory, module, format, args);
}

static void on_warning(thandle_t memory, const char *module, const char *format, va_list args) {
    if (memory)
        tiff_memory_warning(memory, module, format, args);
}

static void set_handlers(void) {
    TIFFSetErrorHandler(NULL);
    TIFFSetWarningHandler(NULL);
    TIFFSetErrorHandlerExt(on_error);
    TIFFSetWarningHandlerExt(on_warning);
}

TIFF *tiff_open_client(struct tiff_memory *m, size_t limit_bytes, TIFFReadWriteProc read, TIFFReadWriteProc write,
                       TIFFSeekProc seek, TIFFCloseProc close, TIFFSizeProc size, TIFFMapFileProc map,
                       TIFFUnmapFileProc unmap) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    (void)limit_bytes;
    pthread_once(&once, set_handlers);
    return TIFFClientOpen("TIFF", "r", m, read, write, seek, close, size, map, unmap);
}
