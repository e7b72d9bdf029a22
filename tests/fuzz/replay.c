/*
 * Runs a fuzz target on files, without a fuzzer: the corpus inside `make check`, or one input that was found.
 *
 *     build/asan/tests/fuzz/fuzz_index tests/fuzz/corpus/fuzz_index/[files]
 *
 * Each input gets a buffer of exactly its size, so that AddressSanitizer sees a read of one byte too many.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int replay(FILE *file) {
    if (fseek(file, 0, SEEK_END) != 0)
        return -1;
    long size = ftell(file);
    if (size < 0 || fseek(file, 0, SEEK_SET) != 0)
        return -1;
    uint8_t *data = malloc(size > 0 ? (size_t)size : 1);
    if (!data)
        return -1;
    int rc = fread(data, 1, (size_t)size, file) == (size_t)size ? 0 : -1;
    if (rc == 0)
        LLVMFuzzerTestOneInput(data, (size_t)size);
    free(data);
    return rc;
}

int main(int argc, char **argv) {
    LLVMFuzzerTestOneInput((const uint8_t *)"", 0);
    for (int i = 1; i < argc; i++) {
        FILE *file = fopen(argv[i], "rb");
        int rc = file ? replay(file) : -1;
        if (file)
            fclose(file);
        if (rc != 0) {
            perror(argv[i]);
            return 1;
        }
    }
    printf("%d inputs\n", argc - 1);
    return 0;
}
