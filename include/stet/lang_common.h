/* The part of the kernel language that is the same on every target. Included by lang.h only. */
#ifndef STET_LANG_COMMON_H
#define STET_LANG_COMMON_H
#ifndef STET_LANG_H
#include "lang.h"
#endif

/* The C library has functions of these names; macros avoid the clash. */
#define select(m, a, b) sti_select(m, a, b)
/* a * b + c in each lane, rounded once. */
#define fma(a, b, c) sti_fma(a, b, c)
#define sqrt(x) sti_sqrt(x)
#define floor(x) sti_floor(x)
/* Rounds to the nearest integer, halves to even. */
#define rint(x) sti_rint(x)

LFN mask gt(real a, real b) { return lt(b, a); }
LFN mask ge(real a, real b) { return le(b, a); }
LFN mask igt(lint a, lint b) { return ilt(b, a); }
LFN mask m_and(mask a, mask b) { return a & b; }
LFN mask m_or(mask a, mask b) { return a | b; }
LFN mask m_not(mask a) { return ~a; }
LFN mask m_andnot(mask a, mask b) { return a & ~b; }
LFN mask m_none(void) { return isplat(0); }
LFN mask m_all(void) { return isplat(-1); }
LFN mask is_nan(real x) { return m_not(eq(x, x)); }

/* min and max: the second argument where either is NaN or both are equal (so min(-0, +0) is +0, min(+0, -0) is -0). */
LFN real rmin(real a, real b) { return sti_min(a, b); }
LFN real rmax(real a, real b) { return sti_max(a, b); }
LFN real clamp(real x, real lo, real hi) { return rmin(rmax(x, lo), hi); }
LFN lint imin(lint a, lint b) { return iselect(ilt(a, b), a, b); }
LFN lint imax(lint a, lint b) { return iselect(ilt(b, a), a, b); }

#if STET_DOUBLE
#define STI_SIGN ((sti_bits)(-0x7fffffffffffffffLL - 1))
#define STI_NAN_BITS ((sti_bits)0x7ff8000000000000LL)
LFN real rabs(real x) { return from_bits(as_bits(x) & ~STI_SIGN); }
/* The magnitude of a with the sign of b. */
LFN real copysign_(real a, real b) { return from_bits((as_bits(a) & ~STI_SIGN) | (as_bits(b) & STI_SIGN)); }
LFN real canon(real x) { return x == x ? x : from_bits(STI_NAN_BITS); }
#else
#define STI_SIGN isplat((int)0x80000000u)
LFN real rabs(real x) { return from_bits(as_bits(x) & ~STI_SIGN); }
LFN real copysign_(real a, real b) { return from_bits((as_bits(a) & ~STI_SIGN) | (as_bits(b) & STI_SIGN)); }
/* NaN has many bit patterns, and machines produce different ones. This one is stored: 0x7fc00000. */
LFN real canon(real x) { return select(eq(x, x), x, from_bits(isplat(0x7fc00000))); }
#endif

/* Rounds toward zero. NaN gives 0; values beyond int give the nearest limit that float has (-2^31, 2^31 - 128). */
LFN lint to_int(real x)
{
    real c = rmin(rmax(x, splat((ureal)-2147483648.0)), splat((ureal)2147483520.0));
    return iselect(is_nan(x), isplat(0), sti_trunc(select(is_nan(x), splat(0), c)));
}

LFN ureal umin(ureal a, ureal b) { return a < b ? a : b; }
LFN ureal umax(ureal a, ureal b) { return b < a ? a : b; }
LFN ureal uabs(ureal x) { return x < 0 ? -x : x; }
LFN int nmin(int a, int b) { return a < b ? a : b; }
LFN int nmax(int a, int b) { return b < a ? a : b; }

/* Stores of real to memory make NaN canonical, so that equal results have equal bytes on every machine. */
LFN void store(ureal *p, real x) { sti_put(p, canon(x)); }
LFN void store_if(mask m, ureal *p, real x) { sti_put_if(m, p, canon(x)); }
LFN void scatter_if(mask m, ureal *p, lint i, real x) { sti_scatter_if(m, p, i, canon(x)); }
/* World kernels: array a of the world(s), item i. */
LFN void put(real *a, i64 i, real x) { a[i] = canon(x); }
/* Items i … i + 3 at once; i and the array's items a world are multiples of 4. */
LFN void put4(real *a, i64 i, const real *v)
{
    real w[4];
    for (int k = 0; k < 4; ++k) w[k] = canon(v[k]);
    sti_store4(a + i, w);
}

/*
 * Value of item i of world w in an array of worlds, [world / B][item][B], n items a world. Item kernels only: a world
 * kernel's parameter already points to its own world(s).
 */
LFN i64 sti_at_world(i64 n, int w, int i)
{
#if STET_B == 1
    return (i64)w * n + i;
#else
    return ((i64)(w / STET_B) * n + i) * STET_B + w % STET_B;
#endif
}
#define of_world(a, n, w, i) ((a)[sti_at_world(n, w, i)])

/* Lanes of item p … p + W - 1 that exist among n. */
LFN mask in_range(int p, int n) { return ilt(lane(), isplat(n - p)); }

#endif
