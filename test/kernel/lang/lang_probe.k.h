/*
 * Every operator and function of the kernel language, applied to arrays: one kernel each, for lang_test.c and
 * math_test.c. A block is 256 items; arrays of items are padded to whole blocks.
 */
#ifndef STET_LANG_PROBE_K_H
#define STET_LANG_PROBE_K_H
#include "stet/lang.h"

/* out = expr, where x and y are the lanes of a and b. */
#define PROBE(store_, expr)                                                                                            \
    int first = block * 256;                                                                                           \
    items (p, nmin(256, n - first)) {                                                                                  \
        store_(out + first + p, expr);                                                                                 \
    }                                                                                                                  \
    (void)a, (void)b
#define X load(a + first + p)
#define Y load(b + first + p)
#define IX iload(a + first + p)
#define IY iload(b + first + p)

item_kernel void k_probe_add(const ureal *a, const ureal *b, ureal *out, int n, int block) { PROBE(store, X + Y); }
item_kernel void k_probe_sub(const ureal *a, const ureal *b, ureal *out, int n, int block) { PROBE(store, X - Y); }
item_kernel void k_probe_mul(const ureal *a, const ureal *b, ureal *out, int n, int block) { PROBE(store, X * Y); }
item_kernel void k_probe_div(const ureal *a, const ureal *b, ureal *out, int n, int block) { PROBE(store, X / Y); }
item_kernel void k_probe_neg(const ureal *a, const ureal *b, ureal *out, int n, int block) { PROBE(store, -X); }
item_kernel void k_probe_sqrt(const ureal *a, const ureal *b, ureal *out, int n, int block) { PROBE(store, sqrt(X)); }
item_kernel void k_probe_floor(const ureal *a, const ureal *b, ureal *out, int n, int block) { PROBE(store, floor(X)); }
item_kernel void k_probe_rint(const ureal *a, const ureal *b, ureal *out, int n, int block) { PROBE(store, rint(X)); }
item_kernel void k_probe_rmin(const ureal *a, const ureal *b, ureal *out, int n, int block)
{
    PROBE(store, rmin(X, Y));
}
item_kernel void k_probe_rmax(const ureal *a, const ureal *b, ureal *out, int n, int block)
{
    PROBE(store, rmax(X, Y));
}
item_kernel void k_probe_rabs(const ureal *a, const ureal *b, ureal *out, int n, int block) { PROBE(store, rabs(X)); }
item_kernel void k_probe_copysign(const ureal *a, const ureal *b, ureal *out, int n, int block)
{
    PROBE(store, copysign_(X, Y));
}
item_kernel void k_probe_clamp(const ureal *a, const ureal *b, ureal *out, int n, int block)
{
    PROBE(store, clamp(X, splat(-1), splat(1)));
}
item_kernel void k_probe_select(const ureal *a, const ureal *b, ureal *out, int n, int block)
{
    PROBE(store, select(lt(X, Y), X, Y));
}
item_kernel void k_probe_store(const ureal *a, const ureal *b, ureal *out, int n, int block) { PROBE(store, X); }
item_kernel void k_probe_fma(const ureal *a, const ureal *b, ureal *out, int n, int block)
{
    PROBE(store, fma(X, Y, splat(-1)));
}
item_kernel void k_probe_sin(const ureal *a, const ureal *b, ureal *out, int n, int block) { PROBE(store, sin(X)); }
item_kernel void k_probe_cos(const ureal *a, const ureal *b, ureal *out, int n, int block) { PROBE(store, cos(X)); }
item_kernel void k_probe_tan(const ureal *a, const ureal *b, ureal *out, int n, int block) { PROBE(store, tan(X)); }
item_kernel void k_probe_asin(const ureal *a, const ureal *b, ureal *out, int n, int block) { PROBE(store, asin(X)); }
item_kernel void k_probe_acos(const ureal *a, const ureal *b, ureal *out, int n, int block) { PROBE(store, acos(X)); }
item_kernel void k_probe_atan(const ureal *a, const ureal *b, ureal *out, int n, int block) { PROBE(store, atan(X)); }
item_kernel void k_probe_exp(const ureal *a, const ureal *b, ureal *out, int n, int block) { PROBE(store, exp(X)); }
item_kernel void k_probe_exp2(const ureal *a, const ureal *b, ureal *out, int n, int block) { PROBE(store, exp2(X)); }
item_kernel void k_probe_log(const ureal *a, const ureal *b, ureal *out, int n, int block) { PROBE(store, log(X)); }
item_kernel void k_probe_log2(const ureal *a, const ureal *b, ureal *out, int n, int block) { PROBE(store, log2(X)); }
item_kernel void k_probe_tanh(const ureal *a, const ureal *b, ureal *out, int n, int block) { PROBE(store, tanh(X)); }
item_kernel void k_probe_atan2(const ureal *a, const ureal *b, ureal *out, int n, int block)
{
    PROBE(store, atan2(X, Y));
}
item_kernel void k_probe_pow(const ureal *a, const ureal *b, ureal *out, int n, int block) { PROBE(store, pow(X, Y)); }
item_kernel void k_probe_lt(const ureal *a, const ureal *b, int *out, int n, int block) { PROBE(istore, lt(X, Y)); }
item_kernel void k_probe_le(const ureal *a, const ureal *b, int *out, int n, int block) { PROBE(istore, le(X, Y)); }
item_kernel void k_probe_eq(const ureal *a, const ureal *b, int *out, int n, int block) { PROBE(istore, eq(X, Y)); }
item_kernel void k_probe_gt(const ureal *a, const ureal *b, int *out, int n, int block) { PROBE(istore, gt(X, Y)); }
item_kernel void k_probe_ge(const ureal *a, const ureal *b, int *out, int n, int block) { PROBE(istore, ge(X, Y)); }
item_kernel void k_probe_is_nan(const ureal *a, const ureal *b, int *out, int n, int block)
{
    PROBE(istore, is_nan(X));
}
item_kernel void k_probe_to_int(const ureal *a, const ureal *b, int *out, int n, int block)
{
    PROBE(istore, to_int(X));
}
item_kernel void k_probe_as_bits(const ureal *a, const ureal *b, int *out, int n, int block)
{
    PROBE(istore, (lint)as_bits(X));
}
item_kernel void k_probe_to_real(const int *a, const int *b, ureal *out, int n, int block)
{
    PROBE(store, to_real(IX));
}
item_kernel void k_probe_from_bits(const int *a, const int *b, ureal *out, int n, int block)
{
    PROBE(store, from_bits((sti_bits)IX));
}
item_kernel void k_probe_iadd(const int *a, const int *b, int *out, int n, int block) { PROBE(istore, IX + IY); }
item_kernel void k_probe_isub(const int *a, const int *b, int *out, int n, int block) { PROBE(istore, IX - IY); }
item_kernel void k_probe_imul(const int *a, const int *b, int *out, int n, int block) { PROBE(istore, IX * IY); }
item_kernel void k_probe_ineg(const int *a, const int *b, int *out, int n, int block) { PROBE(istore, -IX); }
item_kernel void k_probe_iand(const int *a, const int *b, int *out, int n, int block) { PROBE(istore, IX & IY); }
item_kernel void k_probe_ior(const int *a, const int *b, int *out, int n, int block) { PROBE(istore, IX | IY); }
item_kernel void k_probe_ixor(const int *a, const int *b, int *out, int n, int block) { PROBE(istore, IX ^ IY); }
item_kernel void k_probe_inot(const int *a, const int *b, int *out, int n, int block) { PROBE(istore, ~IX); }
item_kernel void k_probe_imulhi(const int *a, const int *b, int *out, int n, int block)
{
    PROBE(istore, imulhi(IX, IY));
}
item_kernel void k_probe_ilt(const int *a, const int *b, int *out, int n, int block) { PROBE(istore, ilt(IX, IY)); }
item_kernel void k_probe_ieq(const int *a, const int *b, int *out, int n, int block) { PROBE(istore, ieq(IX, IY)); }
item_kernel void k_probe_igt(const int *a, const int *b, int *out, int n, int block) { PROBE(istore, igt(IX, IY)); }
item_kernel void k_probe_imin(const int *a, const int *b, int *out, int n, int block) { PROBE(istore, imin(IX, IY)); }
item_kernel void k_probe_imax(const int *a, const int *b, int *out, int n, int block) { PROBE(istore, imax(IX, IY)); }
item_kernel void k_probe_iselect(const int *a, const int *b, int *out, int n, int block)
{
    PROBE(istore, iselect(ilt(IX, IY), IX, IY));
}
item_kernel void k_probe_m_and(const int *a, const int *b, int *out, int n, int block) { PROBE(istore, m_and(IX, IY)); }
item_kernel void k_probe_m_or(const int *a, const int *b, int *out, int n, int block) { PROBE(istore, m_or(IX, IY)); }
item_kernel void k_probe_m_not(const int *a, const int *b, int *out, int n, int block) { PROBE(istore, m_not(IX)); }
item_kernel void k_probe_m_andnot(const int *a, const int *b, int *out, int n, int block)
{
    PROBE(istore, m_andnot(IX, IY));
}
item_kernel void k_probe_m_none(const int *a, const int *b, int *out, int n, int block) { PROBE(istore, m_none()); }
item_kernel void k_probe_m_all(const int *a, const int *b, int *out, int n, int block) { PROBE(istore, m_all()); }
item_kernel void k_probe_any_all(const int *a, const int *b, int *out, int n, int block)
{
    PROBE(istore, isplat(any(IX) + 2 * all(IX)));
}
item_kernel void k_probe_lane(const int *a, const int *b, int *out, int n, int block) { PROBE(istore, lane()); }

/* Shifts: the count is one for all lanes. */
item_kernel void k_probe_ishl(const int *a, const int *b, int *out, int n, int block) { PROBE(istore, ishl(IX, b[0])); }
item_kernel void k_probe_ishr(const int *a, const int *b, int *out, int n, int block) { PROBE(istore, ishr(IX, b[0])); }

item_kernel void k_probe_gather(const ureal *table, const int *index, ureal *out, int n, int block)
{
    int first = block * 256;
    items (p, nmin(256, n - first)) store(out + first + p, gather(table, iload(index + first + p)));
}

item_kernel void k_probe_igather(const int *table, const int *index, int *out, int n, int block)
{
    int first = block * 256;
    items (p, nmin(256, n - first)) istore(out + first + p, igather(table, iload(index + first + p)));
}

/* Stores of the lanes whose m is set; reals[i], ints[i] = value of item i. */
item_kernel void k_probe_store_if(const int *m, const ureal *x, ureal *reals, int *ints, int n, int block)
{
    int first = block * 256;
    items (p, nmin(256, n - first)) {
        mask on = m_not(ieq(iload(m + first + p), isplat(0)));
        real value = load(x + first + p);
        store_if(on, reals + first + p, value);
        istore_if(on, ints + first + p, to_int(value));
    }
}

/* The same to the place that index names; bytes too. */
item_kernel void k_probe_scatter_if(const int *m, const int *index, const ureal *x, ureal *reals, u8 *bytes, int n,
                                    int block)
{
    int first = block * 256;
    items (p, nmin(256, n - first)) {
        mask on = m_not(ieq(iload(m + first + p), isplat(0)));
        lint i = iload(index + first + p);
        real value = load(x + first + p);
        scatter_if(on, reals, i, value);
        bstore_if(on, bytes, i, to_int(value));
    }
}

/* Only items that exist are stored, whatever the width. */
item_kernel void k_probe_tail(const ureal *x, ureal *out, int n, int block)
{
    int first = block * 256, count = nmin(256, n - first);
    items (p, count) store_if(in_range(p, count), out + first + p, load(x + first + p));
}

item_kernel void k_probe_istream(const int *a, int *out, int n, int block)
{
    int first = block * 256;
    items (p, nmin(256, n - first)) istream(out + first + p, iload(a + first + p));
}

/* Wide groups; each word shows its place in its group. */
item_kernel void k_probe_wide(const int *a, int *out, int n, int block)
{
    int first = block * 256 / STET_WIDE;
    items (p, nmin(256 / STET_WIDE, n / STET_WIDE - first)) {
        lint v[STET_WIDE], w[STET_WIDE];
        wide_load(a + (first + p) * STET_WIDE, v);
        for (int k = 0; k < STET_WIDE; ++k) w[k] = v[k] + isplat(k * 1000);
        wide_store(out + (first + p) * STET_WIDE, w);
    }
}

/* What all lanes share. */
item_kernel void k_probe_uniform(const ureal *a, const ureal *b, ureal *out, int *ints, int n, int block)
{
    for (int i = block * 256; i < nmin(n, block * 256 + 256); ++i) {
        out[5 * i + 0] = umin(a[i], b[i]);
        out[5 * i + 1] = umax(a[i], b[i]);
        out[5 * i + 2] = uabs(a[i]);
        out[5 * i + 3] = ufma(a[i], b[i], (ureal)-1);
        out[5 * i + 4] = usqrt(a[i]);
        ints[2 * i + 0] = nmin((int)a[i], (int)b[i]);
        ints[2 * i + 1] = nmax((int)a[i], (int)b[i]);
    }
}

/* out[w][i] = item i of world w, n items a world; one block reads all worlds. */
item_kernel void k_probe_of_world(const wreal *a, ureal *out, int n, int nworld, int block)
{
    for (int w = block; w < nworld; ++w)
        for (int i = 0; i < n; ++i) out[w * n + i] = of_world(a, n, w, i);
}

/* World kernels: counts visits of each item; reverses eight items through the team's memory; makes NaN canonical. */
world_kernel void k_probe_each(lint *visits, int n, int world)
{
    (void)world;
    each (i, n) visits[i] = visits[i] + isplat(1);
}

world_kernel void k_probe_shared(const real *a, const int *order, real *out, int world)
{
    (void)world;
    shared(real, buffer, 8);
    staged(int, table, order, 8);
    each (i, 8) buffer[i] = a[i];
    sync();
    each (i, 8) put(out, i, buffer[table[i]]);
}

#undef PROBE
#undef X
#undef Y
#undef IX
#undef IY
#endif
