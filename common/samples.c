#include "samples.h"

const struct samples *samples_for(enum cpu_level level) {
#if defined(__x86_64__)
    if (level >= CPU_AVX512)
        return &samples_avx512;
    if (level >= CPU_AVX2)
        return &samples_avx2;
#endif
    (void)level;
    return 0;
}
