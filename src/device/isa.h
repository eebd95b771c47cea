/*
 * The instruction sets that kernels are compiled for, and which of them this machine has. isa.c is built without
 * instruction set flags, so that it runs on every machine.
 */
#ifndef STI_DEVICE_ISA_H
#define STI_DEVICE_ISA_H

#include <stdbool.h>

/* Name, lanes, test only (never chosen automatically). */
#if defined(__x86_64__)
#define STI_ISAS(X)                                                                                                    \
    X(portable, 4, false)                                                                                              \
    X(w1, 1, true)                                                                                                     \
    X(avx2, 8, false)                                                                                                  \
    X(avx512, 16, false)                                                                                               \
    X(f64, 1, true)
#else
#define STI_ISAS(X)                                                                                                    \
    X(portable, 4, false)                                                                                              \
    X(w1, 1, true)                                                                                                     \
    X(f64, 1, true)
#endif

typedef enum sti_isa {
#define STI_ISA_ENUM(name, width, test_only) STI_ISA_##name,
    STI_ISAS(STI_ISA_ENUM)
#undef STI_ISA_ENUM
        STI_ISA_COUNT
} sti_isa;

const char *sti_isa_name(sti_isa isa);
int sti_isa_width(sti_isa isa);
bool sti_isa_available(sti_isa isa);
/* The widest instruction set of this machine that is not for tests only. */
sti_isa sti_isa_best(void);
/* Returns false if there is no such name. */
bool sti_isa_find(const char *name, sti_isa *out);

#endif
