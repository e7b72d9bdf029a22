#include "cpu.h"

#if defined(__x86_64__)

enum cpu_level cpu_level(void) {
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma") || !__builtin_cpu_supports("bmi") ||
        !__builtin_cpu_supports("bmi2"))
        return CPU_PLAIN;
    if (!__builtin_cpu_supports("avx512f") || !__builtin_cpu_supports("avx512bw") ||
        !__builtin_cpu_supports("avx512dq") || !__builtin_cpu_supports("avx512vl") ||
        !__builtin_cpu_supports("avx512vbmi"))
        return CPU_AVX2;
    return CPU_AVX512;
}

#else

enum cpu_level cpu_level(void) {
    return CPU_PLAIN;
}

#endif
