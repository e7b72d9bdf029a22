/* Which vector instructions this machine has. Every level computes the same bytes; tests ask for each by name. */
#ifndef YPK_COMMON_CPU_H
#define YPK_COMMON_CPU_H

enum cpu_level {
    CPU_PLAIN = 0, /* C only */
    CPU_AVX2 = 1,  /* x86-64 with AVX2, FMA, BMI and BMI2 */
    CPU_AVX512 = 2 /* and AVX-512 F, BW, DQ, VL, VBMI */
};

/* The best level of this machine and operating system. */
enum cpu_level cpu_level(void);

#endif
