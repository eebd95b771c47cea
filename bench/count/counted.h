/*
 * What kernels are printed with that count (kernelcount.c): one lane, as built for the instruction set w1, and with its
 * bits. Included behind lang.h by their C, by nobody else. bench/README.md says what counts.
 */
#ifndef STET_BENCH_COUNTED_H
#define STET_BENCH_COUNTED_H

#include "bench/count/count.h"

#if STET_W != 1 || STET_DOUBLE
#error "kernels that count have one lane of float"
#endif

/* A function, since only calls have an order within an expression. */
static inline void sti_count(int n) { bench_counts.flops += (uint64_t)n; }
#define STI_COUNT(n, x) (sti_count(n), (x))
#define STI_OPERATION(x) STI_COUNT(1, x)

/* Bytes of a kernel's arrays; not of the caller's own memory and that of its team. */
static inline void *sti_touch(const void *p, unsigned long size)
{
    uint64_t at = (uint64_t)(uintptr_t)p;
    if (at - bench_counts.stack.begin >= bench_counts.stack.size &&
        at - bench_counts.team.begin >= bench_counts.team.size)
        bench_counts.bytes += size;
    return (void *)(uintptr_t)p;
}
#define STI_ELEMENT(x) (*(__typeof__(&(x)))sti_touch(&(x), sizeof(x)))
/* The pointer p, behind which n elements are read or written. */
#define STI_TOUCHED(p, n) ((__typeof__(&*(p)))sti_touch(p, (n) * sizeof *(p)))

/* ---- operations -------------------------------------------------------------------------------------------------- */

#undef select
#undef fma
#undef sqrt
#undef floor
#undef rint
#undef sin
#undef cos
#undef tan
#undef asin
#undef acos
#undef atan
#undef atan2
#undef exp
#undef exp2
#undef log
#undef log2
#undef pow
#undef tanh
#define lt(a, b) STI_COUNT(1, lt(a, b))
#define le(a, b) STI_COUNT(1, le(a, b))
#define eq(a, b) STI_COUNT(1, eq(a, b))
#define gt(a, b) STI_COUNT(1, gt(a, b))
#define ge(a, b) STI_COUNT(1, ge(a, b))
#define is_nan(x) STI_COUNT(1, is_nan(x))
#define select(m, a, b) STI_COUNT(1, sti_select(m, a, b))
#define rmin(a, b) STI_COUNT(1, rmin(a, b))
#define rmax(a, b) STI_COUNT(1, rmax(a, b))
#define umin(a, b) STI_COUNT(1, umin(a, b))
#define umax(a, b) STI_COUNT(1, umax(a, b))
#define clamp(x, lo, hi) STI_COUNT(2, clamp(x, lo, hi))
#define fma(a, b, c) STI_COUNT(2, sti_fma(a, b, c))
#define ufma(a, b, c) STI_COUNT(2, ufma(a, b, c))
#define sqrt(x) STI_COUNT(1, sti_sqrt(x))
#define usqrt(x) STI_COUNT(1, usqrt(x))
#define floor(x) STI_COUNT(1, sti_floor(x))
#define rint(x) STI_COUNT(1, sti_rint(x))
/* The language's own texts, in which operations count as in a kernel (math.k.h, which the build makes). */
#define sin(x) math_real_sin(x)
#define cos(x) math_real_cos(x)
#define tan(x) math_real_tan(x)
#define asin(x) math_real_asin(x)
#define acos(x) math_real_acos(x)
#define atan(x) math_real_atan(x)
#define atan2(y, x) math_real_atan2(y, x)
#define exp(x) math_real_exp(x)
#define exp2(x) math_real_exp2(x)
#define log(x) math_real_log(x)
#define log2(x) math_real_log2(x)
#define pow(x, y) math_real_pow(x, y)
#define tanh(x) math_real_tanh(x)

/* ---- arrays ------------------------------------------------------------------------------------------------------ */

static inline void sti_counted_store_if(mask m, ureal *p, real x)
{
    if (m) store(STI_TOUCHED(p, 1), x);
}
static inline void sti_counted_istore_if(mask m, int *p, lint x)
{
    if (m) istore(STI_TOUCHED(p, 1), x);
}
static inline void sti_counted_bstore_if(mask m, u8 *p, lint i, lint x)
{
    if (m) *STI_TOUCHED(p + i, 1) = (u8)x;
}
#define load(p) load(STI_TOUCHED(p, 1))
#define iload(p) iload(STI_TOUCHED(p, 1))
#define store(p, x) store(STI_TOUCHED(p, 1), x)
#define istore(p, x) istore(STI_TOUCHED(p, 1), x)
#define istream(p, x) istream(STI_TOUCHED(p, 1), x)
#define gather(p, i) gather(STI_TOUCHED((p) + (i), 1), 0)
#define igather(p, i) igather(STI_TOUCHED((p) + (i), 1), 0)
#define store_if(m, p, x) sti_counted_store_if(m, p, x)
#define istore_if(m, p, x) sti_counted_istore_if(m, p, x)
#define scatter_if(m, p, i, x) sti_counted_store_if(m, (p) + (i), x)
#define bstore_if(m, p, i, x) sti_counted_bstore_if(m, p, i, x)
#define put(a, i, x) put(STI_TOUCHED((a) + (i), 1), 0, x)
#define load4(a, i, v) load4(STI_TOUCHED((a) + (i), 4), 0, v)
#define put4(a, i, v) put4(STI_TOUCHED((a) + (i), 4), 0, v)
#define wide_load(p, v) wide_load(STI_TOUCHED(p, STET_WIDE), v)
#define wide_store(p, v) wide_store(STI_TOUCHED(p, STET_WIDE), v)
#undef of_world
#define of_world(a, n, w, i) STI_ELEMENT((a)[sti_at_world(n, w, i)])

#endif
