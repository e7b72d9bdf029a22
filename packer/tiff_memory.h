/* libtiff over bytes in memory: no file, no message printed, no allocation past a limit. */
#ifndef YPK_PACKER_TIFF_MEMORY_H
#define YPK_PACKER_TIFF_MEMORY_H

#include "bytes.h"

#include <stdarg.h>
#include <stdbool.h>
#include <tiffio.h>

enum { TIFF_TEXT_BYTES = 200 };

/* The "file" that a TIFF handle reads, and what the library said about it. Lives as long as the handle. */
struct tiff_memory {
    struct span file;
    uint64_t position;
    bool out_of_memory;            /* the first error was that */
    char fault[TIFF_TEXT_BYTES];   /* the first error */
    char warning[TIFF_TEXT_BYTES]; /* the first warning worth a note */
    char damage[TIFF_TEXT_BYTES];  /* the first warning of a decoder, which repairs where others refuse */
};

/* NULL if the first directory cannot be read: memory->fault says why. No single allocation of the library is larger
 * than `limit_bytes`, where the library has such a limit (4.5 and later). */
TIFF *tiff_memory_open(struct tiff_memory *memory, size_t limit_bytes);

/* Keeps one message of the library. */
void tiff_memory_error(struct tiff_memory *memory, const char *module, const char *format, va_list args);
void tiff_memory_warning(struct tiff_memory *memory, const char *module, const char *format, va_list args);

/* The library's open call for such a handle, with the reports going to the two functions above: tiff_open.c where
 * handlers belong to a handle, tiff_open_old.c where they belong to the process. */
TIFF *tiff_open_client(struct tiff_memory *memory, size_t limit_bytes, TIFFReadWriteProc read, TIFFReadWriteProc write,
                       TIFFSeekProc seek, TIFFCloseProc close, TIFFSizeProc size, TIFFMapFileProc map,
                       TIFFUnmapFileProc unmap);

#endif
