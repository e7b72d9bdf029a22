#include "tiff_memory.h"

#include <stdio.h>
#include <string.h>

/* ---- the file ---------------------------------------------------------------------------------------------------- */

static tmsize_t on_read(thandle_t handle, void *to, tmsize_t count) {
    struct tiff_memory *m = handle;
    if (count <= 0 || m->position >= m->file.size)
        return 0;
    size_t left = m->file.size - (size_t)m->position, n = (size_t)count < left ? (size_t)count : left;
    memcpy(to, m->file.data + m->position, n);
    m->position += n;
    return (tmsize_t)n;
}

static tmsize_t on_write(thandle_t handle, void *from, tmsize_t count) {
    (void)handle, (void)from, (void)count;
    return -1;
}

static toff_t on_seek(thandle_t handle, toff_t offset, int whence) {
    struct tiff_memory *m = handle;
    uint64_t base = whence == SEEK_SET ? 0 : whence == SEEK_CUR ? m->position : m->file.size;
    m->position =
        base + offset; /* past the end is allowed, and reads nothing; the sum wraps as the library's own does */
    return m->position;
}

static int on_close(thandle_t handle) {
    (void)handle;
    return 0;
}

static toff_t on_size(thandle_t handle) {
    const struct tiff_memory *m = handle;
    return m->file.size;
}

static int on_map(thandle_t handle, void **base, toff_t *size) {
    const struct tiff_memory *m = handle;
    *base = (void *)(uintptr_t)m->file.data; /* opened for reading: the library does not write there */
    *size = m->file.size;
    return 1;
}

static void on_unmap(thandle_t handle, void *base, toff_t size) {
    (void)handle, (void)base, (void)size;
}

TIFF *tiff_memory_open(struct tiff_memory *m, size_t limit_bytes) {
    return tiff_open_client(m, limit_bytes, on_read, on_write, on_seek, on_close, on_size, on_map, on_unmap);
}

/* ---- what it says ------------------------------------------------------------------------------------------------ */

static void keep_first(char text[TIFF_TEXT_BYTES], const char *format, va_list args) {
    if (text[0] == 0)
        vsnprintf(text, TIFF_TEXT_BYTES, format, args);
}

/* The library has no codes. A refusal of what is over our own limit is a fault of the file. */
static bool means_out_of_memory(const char *text) {
    return (strstr(text, "emory") || strstr(text, "No space for")) && !strstr(text, "is beyond the");
}

void tiff_memory_error(struct tiff_memory *m, const char *module, const char *format, va_list args) {
    (void)module;
    bool first = m->fault[0] == 0;
    keep_first(m->fault, format, args);
    if (first)
        m->out_of_memory = means_out_of_memory(m->fault);
}

/* Private tags are everyday matters (thermal cameras and maps have them), and no fault. */
void tiff_memory_warning(struct tiff_memory *m, const char *module, const char *format, va_list args) {
    bool decoder = module && (strncmp(module, "JPEG", 4) == 0 || strncmp(module, "Fax", 3) == 0);
    if (strncmp(format, "Unknown field", 13) != 0)
        keep_first(decoder ? m->damage : m->warning, format, args);
}
