/*
 * The kernel language on a CPU: lanes are a GNU vector of STET_W floats. Included by lang.h only.
 *
 * Invariant: no operation here rounds twice, contracts, or depends on the width; the intrinsics are the IEEE operation
 * of the same name on each lane.
 */
#ifndef STET_LANG_CPU_H
#define STET_LANG_CPU_H
#ifndef STET_LANG_H
#include "lang.h"
#endif

/*
 * Including <immintrin.h> takes five times as long as compiling a small kernel, so it is included only where more than
 * SSE2 is used. Its _mm_malloc part (guarded by macros of GCC and Clang) is left out, because it includes <stdlib.h>,
 * whose names kernels may use.
 */
#if !defined(_MM_MALLOC_H_INCLUDED) && !defined(__MM_MALLOC_H)
#define STI_WITHOUT_MM_MALLOC
#define _MM_MALLOC_H_INCLUDED
#define __MM_MALLOC_H
#endif
#if defined(__SSE2__) && STET_W > 4
#include <immintrin.h>
#elif defined(__SSE2__) && STET_W > 1
#include <emmintrin.h>
#endif
#ifdef STI_WITHOUT_MM_MALLOC
#undef _MM_MALLOC_H_INCLUDED
#undef __MM_MALLOC_H
#undef STI_WITHOUT_MM_MALLOC
#endif

#define LFN static inline __attribute__((always_inline, unused))
/* The same for a large function: a call on a CPU. A kernel of many such compiles in a third of the time. */
#define LFN_APART static __attribute__((noinline, unused))

/*
 * Where a multiply-add is a call of the C library for each lane, a use is one call of a function, not one a lane: large
 * kernels compile in half the time.
 */
#if defined(__x86_64__) && STET_W > 1 && !defined(__FMA__)
#define STI_FMA static __attribute__((noinline, unused))
#else
#define STI_FMA LFN
#endif

#if STET_W == 1
typedef ureal real;
typedef int lint;
typedef int mask;
#if STET_DOUBLE
typedef long long sti_bits;
#else
typedef int sti_bits;
#endif
#define STI_LANE(x, l) (x)
#else
typedef float real __attribute__((vector_size(4 * STET_W)));
typedef int lint __attribute__((vector_size(4 * STET_W)));
typedef int mask __attribute__((vector_size(4 * STET_W)));
typedef unsigned int sti_lu __attribute__((vector_size(4 * STET_W)));
typedef float sti_ureal_v __attribute__((vector_size(4 * STET_W), aligned(4)));
typedef int sti_int_v __attribute__((vector_size(4 * STET_W), aligned(4)));
typedef lint sti_bits;
#define STI_LANE(x, l) ((x)[l])
#endif
#define STI_LANES(l) for (int l = 0; l < STET_W; ++l)

#if STET_W == 1
LFN real splat(ureal x) { return x; }
LFN lint isplat(int x) { return x; }
LFN lint lane(void) { return 0; }
LFN mask lt(real a, real b) { return -(a < b); }
LFN mask le(real a, real b) { return -(a <= b); }
LFN mask eq(real a, real b) { return -(a == b); }
LFN mask ilt(lint a, lint b) { return -(a < b); }
LFN mask ieq(lint a, lint b) { return -(a == b); }
LFN real sti_select(mask m, real a, real b) { return m ? a : b; }
LFN lint iselect(mask m, lint a, lint b) { return m ? a : b; }
LFN int any(mask m) { return m != 0; }
LFN int all(mask m) { return m != 0; }
LFN lint ishr(lint x, int n) { return (lint)((unsigned)x >> (n & 31)); }
LFN lint ishl(lint x, int n) { return (lint)((unsigned)x << (n & 31)); }
LFN lint imulhi(lint a, lint b) { return (lint)(u32)(((u64)(u32)a * (u64)(u32)b) >> 32); }
LFN real to_real(lint x) { return (real)x; }
LFN lint sti_trunc(real x) { return (lint)x; }
LFN real load(const ureal *p) { return *p; }
LFN lint iload(const int *p) { return *p; }
LFN void sti_put(ureal *p, real x) { *p = x; }
LFN void istore(int *p, lint x) { *p = x; }
LFN void istream(int *p, lint x) { *p = x; }
#else
LFN lint isplat(int x) { return (lint){0} + x; }
LFN real splat(ureal x)
{
#if STET_W == 16 && defined(__AVX512F__)
    return (real)_mm512_set1_ps(x);
#elif STET_W == 8 && defined(__AVX2__)
    return (real)_mm256_set1_ps(x);
#elif STET_W == 4 && defined(__SSE2__)
    return (real)_mm_set1_ps(x);
#else
    real r;
    STI_LANES(l) r[l] = x;
    return r;
#endif
}
LFN lint lane(void)
{
    lint r;
    STI_LANES(l) r[l] = l;
    return r;
}
LFN mask lt(real a, real b) { return a < b; }
LFN mask le(real a, real b) { return a <= b; }
LFN mask eq(real a, real b) { return a == b; }
LFN mask ilt(lint a, lint b) { return a < b; }
LFN mask ieq(lint a, lint b) { return a == b; }
LFN lint iselect(mask m, lint a, lint b)
{
#if STET_W == 16 && defined(__AVX512F__)
    return (lint)_mm512_mask_blend_epi32(_mm512_movepi32_mask((__m512i)m), (__m512i)b, (__m512i)a);
#elif STET_W == 8 && defined(__AVX2__)
    return (lint)_mm256_blendv_ps((__m256)b, (__m256)a, (__m256)m);
#else
    return (m & a) | (~m & b);
#endif
}
LFN real sti_select(mask m, real a, real b) { return (real)iselect(m, (lint)a, (lint)b); }
LFN int any(mask m)
{
#if STET_W == 16 && defined(__AVX512F__)
    return _mm512_movepi32_mask((__m512i)m) != 0;
#elif STET_W == 8 && defined(__AVX2__)
    return _mm256_movemask_ps((__m256)m) != 0;
#elif STET_W == 4 && defined(__SSE2__)
    return _mm_movemask_ps((__m128)m) != 0;
#else
    int r = 0;
    STI_LANES(l) r |= m[l];
    return r != 0;
#endif
}
LFN int all(mask m) { return !any(~m); }
LFN lint ishr(lint x, int n) { return (lint)((sti_lu)x >> (unsigned)(n & 31)); }
LFN lint ishl(lint x, int n) { return (lint)((sti_lu)x << (unsigned)(n & 31)); }
LFN lint imulhi(lint a, lint b)
{
    lint r;
    STI_LANES(l) r[l] = (int)(u32)(((u64)(u32)a[l] * (u64)(u32)b[l]) >> 32);
    return r;
}
LFN real to_real(lint x) { return __builtin_convertvector(x, real); }
LFN lint sti_trunc(real x) { return __builtin_convertvector(x, lint); }
LFN real load(const ureal *p) { return (real) * (const sti_ureal_v *)p; }
LFN lint iload(const int *p) { return (lint) * (const sti_int_v *)p; }
LFN void sti_put(ureal *p, real x) { *(sti_ureal_v *)p = x; }
LFN void istore(int *p, lint x) { *(sti_int_v *)p = x; }
/*
 * A store for large outputs that bypasses the cache, so the next readers do not find the data there. Without the needed
 * alignment it is a plain store.
 */
LFN void istream(int *p, lint x)
{
#if STET_W == 16 && defined(__AVX512F__)
    if (((unsigned long)p & 63) == 0) {
        _mm512_stream_si512((__m512i *)(void *)p, (__m512i)x);
        return;
    }
#elif STET_W == 8 && defined(__AVX2__)
    if (((unsigned long)p & 31) == 0) {
        _mm256_stream_si256((__m256i *)(void *)p, (__m256i)x);
        return;
    }
#elif STET_W == 4 && defined(__SSE2__)
    if (((unsigned long)p & 15) == 0) {
        _mm_stream_si128((__m128i *)(void *)p, (__m128i)x);
        return;
    }
#endif
    istore(p, x);
}
#endif

/*
 * Hints that the cache line at p is read soon; never faults. For accesses whose addresses the machine cannot predict.
 */
LFN void prefetch(const void *p) { __builtin_prefetch(p); }
LFN void align_teams(void) {}

/* World kernels: items i … i + 3 of the world(s); i and the array's items a world are multiples of 4. */
LFN void load4(const real *a, i64 i, real *v)
{
    for (int k = 0; k < 4; ++k) v[k] = a[i + k];
}
LFN void sti_store4(real *a, const real *v)
{
    for (int k = 0; k < 4; ++k) a[k] = v[k];
}

/* Load and store STET_WIDE words per lane, lane after lane; p is aligned to 4 * STET_WIDE bytes. */
LFN void wide_load(const int *p, lint *v)
{
    for (int k = 0; k < STET_WIDE; ++k) v[k] = iload(p + k);
}
LFN void wide_store(int *p, const lint *v)
{
    for (int k = 0; k < STET_WIDE; ++k) istore(p + k, v[k]);
}

#if STET_W == 16 && defined(__AVX512F__)
LFN real sti_fma(real a, real b, real c) { return (real)_mm512_fmadd_ps((__m512)a, (__m512)b, (__m512)c); }
LFN real sti_sqrt(real x) { return (real)_mm512_sqrt_ps((__m512)x); }
LFN real sti_floor(real x) { return (real)_mm512_roundscale_ps((__m512)x, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC); }
LFN real sti_rint(real x)
{
    return (real)_mm512_roundscale_ps((__m512)x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}
LFN real gather(const ureal *p, lint i) { return (real)_mm512_i32gather_ps((__m512i)i, p, 4); }
LFN lint igather(const int *p, lint i) { return (lint)_mm512_i32gather_epi32((__m512i)i, p, 4); }
#elif STET_W == 8 && defined(__AVX2__)
LFN real sti_fma(real a, real b, real c) { return (real)_mm256_fmadd_ps((__m256)a, (__m256)b, (__m256)c); }
LFN real sti_sqrt(real x) { return (real)_mm256_sqrt_ps((__m256)x); }
LFN real sti_floor(real x) { return (real)_mm256_floor_ps((__m256)x); }
LFN real sti_rint(real x) { return (real)_mm256_round_ps((__m256)x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC); }
LFN real gather(const ureal *p, lint i) { return (real)_mm256_i32gather_ps(p, (__m256i)i, 4); }
LFN lint igather(const int *p, lint i) { return (lint)_mm256_i32gather_epi32(p, (__m256i)i, 4); }
#else
#if STET_DOUBLE
#define STI_LIBM(name) __builtin_##name
#else
#define STI_LIBM(name) __builtin_##name##f
#endif
#define STI_MAP(r, expr)                                                                                               \
    STI_LANES(l) STI_LANE(r, l) = (expr);                                                                              \
    return r
STI_FMA real sti_fma(real a, real b, real c)
{
    real r = {0};
    STI_MAP(r, STI_LIBM(fma)(STI_LANE(a, l), STI_LANE(b, l), STI_LANE(c, l)));
}
LFN real sti_sqrt(real x)
{
    real r = {0};
    STI_MAP(r, STI_LIBM(sqrt)(STI_LANE(x, l)));
}
LFN real sti_floor(real x)
{
    real r = {0};
    STI_MAP(r, STI_LIBM(floor)(STI_LANE(x, l)));
}
LFN real sti_rint(real x)
{
    real r = {0};
    STI_MAP(r, STI_LIBM(rint)(STI_LANE(x, l)));
}
LFN real gather(const ureal *p, lint i)
{
    real r = {0};
    STI_MAP(r, p[STI_LANE(i, l)]);
}
LFN lint igather(const int *p, lint i)
{
    lint r = {0};
    STI_MAP(r, p[STI_LANE(i, l)]);
}
#endif

#if STET_DOUBLE
LFN ureal ufma(ureal a, ureal b, ureal c) { return __builtin_fma(a, b, c); }
LFN ureal usqrt(ureal x) { return __builtin_sqrt(x); }
#else
LFN ureal ufma(ureal a, ureal b, ureal c) { return __builtin_fmaf(a, b, c); }
LFN ureal usqrt(ureal x) { return __builtin_sqrtf(x); }
#endif

/* The bits of a real, and back. In a double build only their sign and comparisons are portable. */
#if STET_W == 1
LFN sti_bits as_bits(real x)
{
    sti_bits r;
    __builtin_memcpy(&r, &x, sizeof r);
    return r;
}
LFN real from_bits(sti_bits x)
{
    real r;
    __builtin_memcpy(&r, &x, sizeof r);
    return r;
}
#else
LFN sti_bits as_bits(real x) { return (sti_bits)x; }
LFN real from_bits(sti_bits x) { return (real)x; }
#endif

/* a < b ? a : b and b < a ? a : b of each lane: what x86's own minimum and maximum do, NaN and zeros included. */
#if STET_W == 16 && defined(__AVX512F__)
LFN real sti_min(real a, real b) { return (real)_mm512_min_ps((__m512)a, (__m512)b); }
LFN real sti_max(real a, real b) { return (real)_mm512_max_ps((__m512)a, (__m512)b); }
#elif STET_W == 8 && defined(__AVX2__)
LFN real sti_min(real a, real b) { return (real)_mm256_min_ps((__m256)a, (__m256)b); }
LFN real sti_max(real a, real b) { return (real)_mm256_max_ps((__m256)a, (__m256)b); }
#elif STET_W == 4 && defined(__SSE2__)
LFN real sti_min(real a, real b) { return (real)_mm_min_ps((__m128)a, (__m128)b); }
LFN real sti_max(real a, real b) { return (real)_mm_max_ps((__m128)a, (__m128)b); }
#else
LFN real sti_min(real a, real b) { return sti_select(lt(a, b), a, b); }
LFN real sti_max(real a, real b) { return sti_select(lt(b, a), a, b); }
#endif

/* Masked stores: where m is false, memory does not change. */
LFN void sti_put_if(mask m, ureal *p, real x)
{
#if STET_W == 16 && defined(__AVX512F__)
    _mm512_mask_storeu_ps(p, _mm512_movepi32_mask((__m512i)m), (__m512)x);
#else
    if (STET_W > 1 && all(m)) /* mostly */
        sti_put(p, x);
    else
        STI_LANES(l) if (STI_LANE(m, l)) p[l] = STI_LANE(x, l);
#endif
}
LFN void istore_if(mask m, int *p, lint x)
{
#if STET_W == 16 && defined(__AVX512F__)
    _mm512_mask_storeu_epi32(p, _mm512_movepi32_mask((__m512i)m), (__m512i)x);
#else
    if (STET_W > 1 && all(m))
        istore(p, x);
    else
        STI_LANES(l) if (STI_LANE(m, l)) p[l] = STI_LANE(x, l);
#endif
}
/* Scatters lanes to p[i]; two active lanes must not have the same index. */
LFN void sti_scatter_if(mask m, ureal *p, lint i, real x)
{
    STI_LANES(l) if (STI_LANE(m, l)) p[STI_LANE(i, l)] = STI_LANE(x, l);
}
LFN void bstore_if(mask m, u8 *p, lint i, lint x)
{
    STI_LANES(l) if (STI_LANE(m, l)) p[STI_LANE(i, l)] = (u8)STI_LANE(x, l);
}

/* Kinds, loops and memory of a team. */
#define world_kernel static inline __attribute__((always_inline))
#define item_kernel static inline __attribute__((always_inline))
#if STET_PERMUTE
/* i runs over 0 … n-1 as (k * step + n / 2) mod n with step coprime to n: every index once, in a scrambled order. */
static inline int sti_perm_step(int n)
{
    int s = n / 2 + 1;
    for (;; ++s) {
        int a = n, b = s;
        while (b) {
            int t = a % b;
            a = b;
            b = t;
        }
        if (a == 1) return s;
    }
}
#define each(i, n)                                                                                                     \
    for (int i##_n = (n), i##_k = 0, i##_s = i##_n > 0 ? sti_perm_step(i##_n) : 1, i = i##_n / 2; i##_k < i##_n;       \
         ++i##_k, i = (int)(((i64)i##_k * i##_s + i##_n / 2) % i##_n))
#else
#define each(i, n) for (int i##_n = (n), i = 0; i < i##_n; ++i)
#endif
#define items(p, n) for (int p##_n = (n), p = 0; p < p##_n; p += STET_W)
#define sync() ((void)0)
#define shared(T, name, n) T name[n]
/* The device gives each of its threads memory of its own. */
#define STI_TEAM_MEMORY(T, slot, before, all) ((T *)(slot).p)
/* A copy of src[0 … n) in the team's fast memory. On a CPU it is the array itself, which is in the cache anyway. */
#define staged(T, name, src, n) const T *name = (src)

#endif
