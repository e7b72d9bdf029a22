/* libtiff 4.5 and later: handlers and a limit for each handle. */
#include "tiff_memory.h"

static int on_error(TIFF *tiff, void *memory, const char *module, const char *format, va_list args) {
    (void)tiff;
    tiff_memory_error(memory, module, format, args);
    return 1; /* the process's own handlers are not asked */
}

static int on_warning(TIFF *tiff, void *memory, const char *module, const char *format, va_list args) {
    (void)tiff;
    tiff_memory_warning(memory, module, format, args);
    return 1;
}

TIFF *tiff_open_client(struct tiff_memory *m, size_t limit_bytes, TIFFReadWriteProc read, TIFFReadWriteProc write,
                       TIFFSeekProc seek, TIFFCloseProc close, TIFFSizeProc size, TIFFMapFileProc map,
                       TIFFUnmapFileProc unmap) {
    TIFFOpenOptions *options = TIFFOpenOptionsAlloc();
    TIFF *tiff = NULL;
    if (options) {
        TIFFOpenOptionsSetMaxSingleMemAlloc(options, (tmsize_t)limit_bytes);
        TIFFOpenOptionsSetErrorHandlerExtR(options, on_error, m);
        TIFFOpenOptionsSetWarningHandlerExtR(options, on_warning, m);
        tiff = TIFFClientOpenExt("TIFF", "r", m, read, write, seek, close, size, map, unmap, options);
        TIFFOpenOptionsFree(options);
    } else {
        m->out_of_memory = true;
    }
    return tiff;
}
