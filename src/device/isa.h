/*
 * The instruction sets that kernels are compiled for, and which of them this machine has. isa.c is built without
 * instruction set flags, so that it runs on every machine.
 */
#ifndef STI_DEVICE_ISA_H
#define STI_DEVICE_ISA_H

#include <stdbool.h>
#include <stdint.h>

#if defined(__x86_64__)
#define STI_WIDE_ISAS(X) X(avx2, 8, false) X(avx512, 16, false)
#else
#define STI_WIDE_ISAS(X)
#endif
/* Name, lanes, test only (never chosen automatically). */
#define STI_ISAS(X)                                                                                                    \
    X(portable, 4, false)                                                                                              \
    X(w1, 1, false)                                                                                                    \
    STI_WIDE_ISAS(X)                                                                                                   \
    X(f64, 1, true)

typedef enum sti_isa {
#define STI_ISA_ENUM(name, width, test_only) STI_ISA_##name,
    STI_ISAS(STI_ISA_ENUM)
#undef STI_ISA_ENUM
        STI_ISA_COUNT
} sti_isa;

const char *sti_isa_name(sti_isa isa);
int sti_isa_width(sti_isa isa);
/* Are the library's kernels compiled for it? Some builds leave sets out (cmake/StetKernels.cmake). */
bool sti_isa_built(sti_isa isa);
/* Is it built, and does this machine have it? */
bool sti_isa_available(sti_isa isa);
/*
 * The instruction set of this machine, not for tests only, with the fewest lanes that are at least n; if none has so
 * many, with the most.
 */
sti_isa sti_isa_for(int64_t n);
/* The widest. */
sti_isa sti_isa_best(void);
/* Returns false if there is no such name. */
bool sti_isa_find(const char *name, sti_isa *out);

#endif
