/* Vectors, rotation matrices and quaternions in lanes: the few functions that the stages of the physics share. */
#ifndef STI_PHYSICS_MATH_K_H
#define STI_PHYSICS_MATH_K_H
#include "stet/lang.h"

#ifndef STET_CALLED /* where nothing is called (STET_CALLS) */
#define STET_CALLED
#endif

/* MuJoCo's mjMINVAL: lengths and denominators below it count as zero. */
#define PHYSICS_MINVAL ((ureal)1e-15)

LFN real v3_dot(const real *a, const real *b) { return fma(a[2], b[2], fma(a[1], b[1], a[0] * b[0])); }
LFN void v3_copy(const real *a, real *out)
{
    for (int k = 0; k < 3; ++k) out[k] = a[k];
}
LFN void v3_add(const real *a, const real *b, real *out)
{
    for (int k = 0; k < 3; ++k) out[k] = a[k] + b[k];
}
LFN void v3_sub(const real *a, const real *b, real *out)
{
    for (int k = 0; k < 3; ++k) out[k] = a[k] - b[k];
}
LFN void v3_scale(const real *a, real s, real *out)
{
    for (int k = 0; k < 3; ++k) out[k] = a[k] * s;
}
/* out = a + s b */
LFN void v3_add_scaled(const real *a, const real *b, real s, real *out)
{
    for (int k = 0; k < 3; ++k) out[k] = fma(b[k], s, a[k]);
}
/* out = a x b; out is neither a nor b. */
LFN void v3_cross(const real *a, const real *b, real *out)
{
    out[0] = fma(a[1], b[2], -(a[2] * b[1]));
    out[1] = fma(a[2], b[0], -(a[0] * b[2]));
    out[2] = fma(a[0], b[1], -(a[1] * b[0]));
}
/* a b - c d, within two units in the last place of the result */
LFN real product_difference(real a, real b, real c, real d)
{
    real cd = c * d, lost = fma(-c, d, cd);
    return fma(a, b, -cd) + lost;
}
/* out + rest = a - b: the difference rounded, and what the rounding leaves out. */
LFN void v3_sub_exact(const real *a, const real *b, real *out, real *rest)
{
    for (int k = 0; k < 3; ++k) {
        real rounded = a[k] - b[k], taken = rounded - a[k];
        rest[k] = (a[k] - (rounded - taken)) - (b[k] + taken);
        out[k] = rounded;
    }
}
/* out = a x b, exact in each component but for its last place: for directions that are nearly parallel. */
LFN void v3_cross_exact(const real *a, const real *b, real *out)
{
    for (int k = 0; k < 3; ++k) {
        int i = (k + 1) % 3, j = (k + 2) % 3;
        out[k] = product_difference(a[i], b[j], a[j], b[i]);
    }
}
LFN void v3_select(mask m, const real *a, const real *b, real *out)
{
    for (int k = 0; k < 3; ++k) out[k] = select(m, a[k], b[k]);
}
/* Makes a unit vector of v and gives its length; shorter than PHYSICS_MINVAL becomes (1, 0, 0). */
LFN real v3_normalize(real *v)
{
    real length = sqrt(v3_dot(v, v));
    mask tiny = lt(length, splat(PHYSICS_MINVAL));
    real inverse = splat(1) / select(tiny, splat(1), length);
    for (int k = 0; k < 3; ++k) v[k] = select(tiny, splat(k == 0 ? 1 : 0), v[k] * inverse);
    return length;
}

/* Column k of a matrix [3][3]. */
LFN void m3_column(const real *m, int k, real *out)
{
    for (int r = 0; r < 3; ++r) out[r] = m[3 * r + k];
}
/* out = m v; out is not v. */
LFN void m3_mul(const real *m, const real *v, real *out)
{
    for (int r = 0; r < 3; ++r) out[r] = fma(m[3 * r + 2], v[2], fma(m[3 * r + 1], v[1], m[3 * r] * v[0]));
}
/* out = m' v; out is not v. */
LFN void m3_mul_transposed(const real *m, const real *v, real *out)
{
    for (int c = 0; c < 3; ++c) out[c] = fma(m[6 + c], v[2], fma(m[3 + c], v[1], m[c] * v[0]));
}

/* The number of the lowest of some bits. */
LFN int ph_lowest(u32 bits)
{
    u32 low = bits & (0 - bits);
    return ((low & 0xffff0000u) != 0) * 16 + ((low & 0xff00ff00u) != 0) * 8 + ((low & 0xf0f0f0f0u) != 0) * 4 +
           ((low & 0xccccccccu) != 0) * 2 + ((low & 0xaaaaaaaau) != 0);
}

#endif
