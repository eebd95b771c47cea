/* Runs a probe kernel (lang_probe.k.h) on arrays of the test's own, for one instruction set. */
#ifndef STET_TEST_LANG_RUN_H
#define STET_TEST_LANG_RUN_H

#include "kernel/record/launch.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <setjmp.h>

#include <cmocka.h>

enum { LANG_BLOCK = 256 };

/* Each instruction set of this machine whose `real` is float. */
#define FOR_FLOAT_ISAS(isa)                                                                                            \
    for (int isa = 0; isa < STI_ISA_COUNT; ++isa)                                                                      \
        if (sti_isa_available((sti_isa)isa) && isa != STI_ISA_f64)

static inline sti_slot slot_array(const void *p) { return (sti_slot){.p = (void *)(uintptr_t)p, .n = 0}; }
static inline sti_slot slot_int(int64_t i) { return (sti_slot){.i = i, .n = 0}; }

static inline uint32_t float_bits(float x)
{
    uint32_t u;
    memcpy(&u, &x, sizeof u);
    return u;
}

static inline float bits_float(uint32_t u)
{
    float x;
    memcpy(&x, &u, sizeof x);
    return x;
}

/* A kernel (a, b, out, n, block) on n items; the arrays hold whole blocks. */
static inline void run_probe(const sti_kernel *kernel, int isa, const void *a, const void *b, void *out, int n)
{
    sti_slot slots[] = {slot_array(a), slot_array(b), slot_array(out), slot_int(n)};
    kernel->call[isa](slots, 0, (n + LANG_BLOCK - 1) / LANG_BLOCK);
}

#endif
