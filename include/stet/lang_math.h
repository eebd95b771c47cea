/*
 * The kernel language's elementary functions: sin cos tan asin acos atan atan2 exp exp2 log log2 pow tanh of lanes.
 * Included by lang.h only.
 *
 * Invariants: only operations that are exact or rounded once (+ - * / fma, integers), in a fixed order, so the bits are
 * the same at each width and on each device; no function is the compiler's or the machine's. Special values are those
 * of C99's annex F. Denormals are read and made. Signed integers do not overflow, so that no compiler may assume
 * things.
 *
 * Polynomials are minimax fits of the relative error (Remez exchange), their coefficients rounded to float; they and
 * the split constants are printed by test/kernel/lang/lang_fit.py. Greatest errors in units of the last place (ulp),
 * measured over all exponents by test/kernel/lang/math_test.c, which holds them as limits:
 *
 *   sin 1.4  cos 1.4  tan 1.5  asin 1.4  acos 1.3  atan 1.5  atan2 1.7  exp 1.1  exp2 0.9
 *   log 0.9  log2 1  pow 1  tanh 1.4
 *
 * A double build is for verification and promises no bits: it takes the C library's functions.
 */
#ifndef STET_LANG_MATH_H
#define STET_LANG_MATH_H
#ifndef STET_LANG_H
#include "lang.h"
#endif

#if STET_DOUBLE
#if STET_GPU
#define STI_LIBRARY(f) ::f
#else
#define STI_LIBRARY(f) __builtin_##f
#endif
LFN real sti_real_sin(real x) { return STI_LIBRARY(sin)(x); }
LFN real sti_real_cos(real x) { return STI_LIBRARY(cos)(x); }
LFN real sti_real_tan(real x) { return STI_LIBRARY(tan)(x); }
LFN real sti_real_asin(real x) { return STI_LIBRARY(asin)(x); }
LFN real sti_real_acos(real x) { return STI_LIBRARY(acos)(x); }
LFN real sti_real_atan(real x) { return STI_LIBRARY(atan)(x); }
LFN real sti_real_atan2(real y, real x) { return STI_LIBRARY(atan2)(y, x); }
LFN real sti_real_exp(real x) { return STI_LIBRARY(exp)(x); }
LFN real sti_real_exp2(real x) { return STI_LIBRARY(exp2)(x); }
LFN real sti_real_log(real x) { return STI_LIBRARY(log)(x); }
LFN real sti_real_log2(real x) { return STI_LIBRARY(log2)(x); }
LFN real sti_real_pow(real x, real y) { return STI_LIBRARY(pow)(x, y); }
LFN real sti_real_tanh(real x) { return STI_LIBRARY(tanh)(x); }
#else

/* Products and sums modulo 2^32. */
#if STET_B == 1
LFN lint sti_wrap_mul(lint a, lint b) { return (lint)((u32)a * (u32)b); }
LFN lint sti_wrap_add(lint a, lint b) { return (lint)((u32)a + (u32)b); }
#else
LFN lint sti_wrap_mul(lint a, lint b) { return (lint)((sti_lu)a * (sti_lu)b); }
LFN lint sti_wrap_add(lint a, lint b) { return (lint)((sti_lu)a + (sti_lu)b); }
#endif

LFN real sti_inf(void) { return from_bits(isplat(0x7f800000)); }
LFN real sti_nan(void) { return from_bits(isplat(0x7fc00000)); }
/* x with its sign turned where s has the sign bit. */
LFN real sti_turn(real x, lint s) { return from_bits(as_bits(x) ^ (s & STI_SIGN)); }
/* One step of Horner's rule: p x + c. */
LFN real sti_h(real p, real x, float c) { return sti_fma(p, x, splat(c)); }
/* Adding and taking away 1.5 2^23 rounds to an integer, which is then in the low bits. */
#define STI_ROUNDER 12582912.0f

/* ---- sine, cosine, tangent --------------------------------------------------------------------------------------- */

/* c[j] for 0 <= j <= 4. */
LFN lint sti_pick(lint j, u32 c0, u32 c1, u32 c2, u32 c3, u32 c4)
{
    lint r = isplat((int)c0);
    r = iselect(ilt(isplat(0), j), isplat((int)c1), r);
    r = iselect(ilt(isplat(1), j), isplat((int)c2), r);
    r = iselect(ilt(isplat(2), j), isplat((int)c3), r);
    return iselect(ilt(isplat(3), j), isplat((int)c4), r);
}

/* Bits p … p + 95 of the string "32 zeros, then the fraction bits of 2/pi", first word first; 0 <= p < 160. */
LFN void sti_pi_window(lint p, lint *w0, lint *w1, lint *w2)
{
    lint j = ishr(p, 5), s = isplat(1);
    for (int k = 0; k < 5; ++k) /* s = 2^(p mod 32): lanes have no shift by a lane, but a product does it */
        s = iselect(ieq(ishr(p, k) & isplat(1), isplat(0)), s, ishl(s, 1 << k));
    lint t0 = sti_pick(j, 0x00000000u, 0xa2f9836eu, 0x4e441529u, 0xfc2757d1u, 0xf534ddc0u);
    lint t1 = sti_pick(j, 0xa2f9836eu, 0x4e441529u, 0xfc2757d1u, 0xf534ddc0u, 0xdb629599u);
    lint t2 = sti_pick(j, 0x4e441529u, 0xfc2757d1u, 0xf534ddc0u, 0xdb629599u, 0x3c439041u);
    lint t3 = sti_pick(j, 0xfc2757d1u, 0xf534ddc0u, 0xdb629599u, 0x3c439041u, 0xfe5163abu);
    *w0 = sti_wrap_mul(t0, s) | imulhi(t1, s);
    *w1 = sti_wrap_mul(t1, s) | imulhi(t2, s);
    *w2 = sti_wrap_mul(t2, s) | imulhi(t3, s);
}

/*
 * For finite a >= 2^16: r, low and q with a = (4 n + q) pi/2 + r + low, |r| <= pi/4. After Payne and Hanek, "Radian
 * reduction for trigonometric functions" (1983): of 2/pi only those 96 bits matter whose product with a is neither a
 * multiple of 4 nor below 2^-62; no float comes nearer than about 2^-30 to a multiple of pi/2.
 */
LFN real sti_reduce_far(real a, real *low_r, lint *q)
{
    lint w0, w1, w2;
    lint exponent = ishr(as_bits(a), 23);
    lint m = (as_bits(a) & isplat(0x7fffff)) | isplat(0x800000);
    sti_pi_window(imax(exponent - isplat(120), isplat(0)), &w0, &w1, &w2);
    /* m w modulo 2^96, the lowest word dropped: 2 bits of the quadrant, 62 of the fraction. */
    lint low = sti_wrap_mul(m, w1);
    lint mid = sti_wrap_add(low, imulhi(m, w2));
    mask over = ilt(mid ^ STI_SIGN, low ^ STI_SIGN);
    lint top = sti_wrap_add(sti_wrap_add(sti_wrap_mul(m, w0), imulhi(m, w1)), over & isplat(1));
    lint high = ishl(top, 2) | ishr(mid, 30);
    mask above = ilt(high, isplat(0)); /* from a half on: the next quadrant, and a negative fraction */
    *q = (ishr(top, 30) + (above & isplat(1))) & isplat(3);
    high = high ^ above;
    low = ishl(mid, 2) ^ above;
    /* The fraction as a sum of two floats: 23 bits and the remainder. */
    real h = to_real(ishr(high, 8)) * splat(5.96046448e-8f);
    real l = to_real(ishl(high & isplat(255), 16) | ishr(low, 16)) * splat(3.55271368e-15f);
    l = sti_fma(to_real(low & isplat(0xffff)), splat(5.42101086e-20f), l);
    real s = h + l, d = l - (s - h);
    real r = s * splat(1.57079637f);
    real e = sti_fma(s, splat(1.57079637f), -r) + sti_fma(s, splat(-4.37113883e-8f), d * splat(1.57079637f));
    *low_r = sti_turn(e, above);
    return sti_turn(r, above);
}

/*
 * For a >= 0: r, low and q with a = (4 n + q) pi/2 + r + low, |r| <= pi/4 and a little; NaN from NaN and infinity.
 * Near: pi/2 in three parts (Cody and Waite); the first fma is exact, so nothing cancels that was rounded.
 */
LFN real sti_reduce(real a, real *low, lint *q)
{
    real t = sti_fma(a, splat(0.636619747f), splat(STI_ROUNDER));
    real n = t - splat(STI_ROUNDER);
    real first = sti_fma(-n, splat(1.57079637f), a);
    real p = n * splat(-4.37113883e-8f), rest = sti_fma(n, splat(-4.37113883e-8f), -p);
    real r = first - p;
    *low = sti_fma(-n, splat(-1.71512451e-15f), ((first - r) - p) - rest);
    *q = as_bits(t) & isplat(3);
    mask far = le(splat(65536.0f), a);
    if (any(far)) {
        lint far_q;
        real far_low, far_r = sti_reduce_far(a, &far_low, &far_q);
        r = select(far, select(lt(a, sti_inf()), far_r, sti_nan()), r);
        *low = select(far, far_low, *low);
        *q = iselect(far, far_q, *q);
    }
    return r;
}

/* sin(r + low + q pi/2), |r| <= pi/4. */
LFN real sti_sin_quadrant(real r, real low, lint q)
{
    real z = r * r;
    real s = sti_h(sti_h(sti_h(splat(2.83168947e-6f), z, -0.000198530237f), z, 0.0083333794f), z, -0.166666672f);
    real c = sti_h(sti_h(splat(2.44314215e-5f), z, -0.00138873048f), z, 0.0416666456f);
    s = r + sti_fma(r * z, s, low);
    c = sti_h(splat(-0.5f), z, 1.0f) + sti_fma(z * z, c, -(r * low));
    return sti_turn(select(ieq(q & isplat(1), isplat(0)), s, c), ishl(q, 30));
}

LFN real sti_real_sin(real x)
{
    lint q;
    real low, r = sti_reduce(rabs(x), &low, &q);
    return sti_turn(sti_sin_quadrant(r, low, q), as_bits(x));
}

LFN real sti_real_cos(real x)
{
    lint q;
    real low, r = sti_reduce(rabs(x), &low, &q);
    return sti_sin_quadrant(r, low, q + isplat(1));
}

LFN real sti_real_tan(real x)
{
    lint q;
    real low, r = sti_reduce(rabs(x), &low, &q), z = r * r;
    real p = sti_h(sti_h(splat(0.00444796309f), z, -5.77963801e-5f), z, 0.0109544229f);
    p = sti_h(sti_h(sti_h(sti_h(p, z, 0.0212351177f), z, 0.0540693626f), z, 0.13332577f), z, 0.333333522f);
    real tail = sti_fma(r * z, p, sti_fma(low, z, low));
    real t = r + tail, rest = tail - (t - r);
    /* In odd quadrants -1 / (t + rest), with one step of Newton's method. */
    real i = splat(-1.0f) / t;
    i = sti_fma(i, sti_fma(i, rest, sti_fma(i, t, splat(1.0f))), i);
    return sti_turn(select(ieq(q & isplat(1), isplat(0)), t, i), as_bits(x));
}

/* ---- inverse trigonometric functions ----------------------------------------------------------------------------- */

/*
 * atan(x), 0 <= x <= 1. The highest coefficient is 9e-9 above the fit's, so that atan(1) is the float nearest to pi/4.
 */
LFN real sti_atan_unit(real x)
{
    real z = x * x;
    real p = sti_h(sti_h(splat(-0.00178862f), z, 0.0108915316f), z, -0.0311332867f);
    p = sti_h(sti_h(sti_h(p, z, 0.0579110682f), z, -0.084006153f), z, 0.109511733f);
    p = sti_h(sti_h(sti_h(p, z, -0.142640412f), z, 0.199985296f), z, -0.333332986f);
    return sti_fma(x * z, p, x);
}

LFN real sti_real_atan(real x)
{
    real a = rabs(x);
    mask steep = lt(splat(1.0f), a);
    real t = sti_atan_unit(select(steep, splat(1.0f) / a, a));
    t = select(steep, splat(1.57079637f) + (splat(-4.37113883e-8f) - t), t);
    return sti_turn(t, as_bits(x));
}

LFN real sti_real_atan2(real y, real x)
{
    real ax = rabs(x), ay = rabs(y), a = rmin(ax, ay), b = rmax(ax, ay);
    mask steep = lt(ax, ay), back = ilt(as_bits(x), isplat(0));
    real q = select(eq(b, splat(0.0f)), splat(0.0f), select(eq(a, b), splat(1.0f), a / b));
    /* t, pi/2 - t, pi/2 + t or pi - t; the constants in two parts. */
    real t = sti_turn(sti_atan_unit(q), steep ^ back);
    real high = select(steep, splat(1.57079637f), select(back, splat(3.14159274f), splat(0.0f)));
    real low = select(steep, splat(-4.37113883e-8f), select(back, splat(-8.74227766e-8f), splat(0.0f)));
    real r = sti_turn(high + (low + t), as_bits(y));
    return select(m_or(is_nan(x), is_nan(y)), sti_nan(), r);
}

/* asin(x) / x - 1 for z = x^2 <= 1/4. */
LFN real sti_asin_tail(real z)
{
    real p = sti_h(sti_h(splat(0.0421594344f), z, 0.0241841245f), z, 0.0454692729f);
    return z * sti_h(sti_h(p, z, 0.0749530867f), z, 0.166667521f);
}

/* Above a half: asin(a) = pi/2 - 2 asin(sqrt((1 - a) / 2)); the root of a negative number is the NaN for a > 1. */
LFN real sti_real_asin(real x)
{
    real a = rabs(x);
    mask outer = lt(splat(0.5f), a);
    real z = select(outer, sti_fma(a, splat(-0.5f), splat(0.5f)), a * a);
    real s = select(outer, sti_sqrt(z), a);
    real p = sti_asin_tail(z), s2 = s + s;
    real h = splat(1.57079637f) - s2, e = (splat(1.57079637f) - h) - s2; /* h + e is the difference, exactly */
    real far = h - (sti_fma(s2, p, splat(4.37113883e-8f)) - e);
    return sti_turn(select(outer, far, sti_fma(s, p, s)), as_bits(x));
}

LFN real sti_real_acos(real x)
{
    real a = rabs(x);
    mask outer = lt(splat(0.5f), a), back = lt(x, splat(0.0f));
    real z = select(outer, sti_fma(a, splat(-0.5f), splat(0.5f)), a * a);
    real s = select(outer, sti_sqrt(z), a);
    real t = sti_fma(s, sti_asin_tail(z), s);
    real inner = splat(1.57079637f) + (splat(-4.37113883e-8f) - sti_turn(t, as_bits(x)));
    t = t + t;
    return select(outer, select(back, splat(3.14159274f) + (splat(-8.74227766e-8f) - t), t), inner);
}

/* ---- exponential functions --------------------------------------------------------------------------------------- */

/*
 * p 2^(k - 512), 0 <= k < 1024, in two factors of which only the second rounds: through denormals to 0, or to infinity.
 */
LFN real sti_scale(real p, lint k)
{
    lint half = ishr(k, 1);
    real first = from_bits(ishl(half - isplat(256 - 127), 23));
    real second = from_bits(ishl(k - half - isplat(256 - 127), 23));
    return p * first * second;
}

LFN real sti_real_exp(real x)
{
    x = rmin(splat(90.0f), rmax(splat(-106.0f), x)); /* in this order NaN stays */
    real t = sti_fma(x, splat(1.44269502f), splat(STI_ROUNDER + 512.0f));
    real n = t - splat(STI_ROUNDER + 512.0f);
    real r = sti_fma(-n, splat(0.693147182f), x);
    r = sti_fma(-n, splat(-1.90465421e-9f), r);
    real p = sti_h(sti_h(splat(0.00138171075f), r, 0.00836877618f), r, 0.0416683592f);
    p = sti_h(sti_h(p, r, 0.166665196f), r, 0.49999994f);
    p = sti_fma(r * r, p, r) + splat(1.0f);
    return sti_scale(p, as_bits(t) & isplat(1023));
}

/* 2^(h + l), |l| far below 1; NaN from NaN. */
LFN real sti_exp2_sum(real h, real l)
{
    h = rmin(splat(160.0f), rmax(splat(-160.0f), h));
    real t = h + splat(STI_ROUNDER + 512.0f);
    real r = (h - (t - splat(STI_ROUNDER + 512.0f))) + l;
    real p = sti_h(sti_h(splat(0.000155492497f), r, 0.00133838295f), r, 0.00961745996f);
    p = sti_h(sti_h(sti_h(p, r, 0.0555037558f), r, 0.240226597f), r, 0.693147182f);
    return sti_scale(sti_h(p, r, 1.0f), as_bits(t) & isplat(1023));
}

LFN real sti_real_exp2(real x) { return sti_exp2_sum(x, splat(0.0f)); }

/* Below 0.625 a polynomial, above 1 - 2 / (e^2a + 1). */
LFN real sti_real_tanh(real x)
{
    real a = rabs(x), z = a * a;
    real p = sti_h(sti_h(splat(0.00215266668f), z, -0.00819000229f), z, 0.0217068922f);
    p = sti_h(sti_h(sti_h(p, z, -0.0539481789f), z, 0.133332208f), z, -0.333333313f);
    real near = sti_fma(a * z, p, a);
    real far = splat(1.0f) - splat(2.0f) / (sti_real_exp(a + a) + splat(1.0f));
    return sti_turn(select(lt(a, splat(0.625f)), near, far), as_bits(x));
}

/* ---- logarithms and powers --------------------------------------------------------------------------------------- */

/* m in [sqrt(1/2), sqrt(2)) and k with x = m 2^k, for positive finite x; something finite for any other. */
LFN real sti_split(real x, real *k)
{
    mask small = lt(x, splat(1.17549435e-38f));
    lint b = as_bits(select(small, x * splat(8388608.0f), x)) & isplat(0x7fffffff);
    b = imin(b, isplat(0x7f800000));
    lint e = ishr(b + isplat(0x3f800000 - 0x3f3504f3), 23) - isplat(127);
    *k = to_real(e - (small & isplat(23)));
    return from_bits(b - ishl(e, 23));
}

/* log(1 + f) - f, f in [sqrt(1/2) - 1, sqrt(2) - 1]. */
LFN real sti_log_tail(real f)
{
    real z = f * f;
    real p = sti_h(sti_h(splat(0.0659766942f), f, -0.114812084f), f, 0.118484147f);
    p = sti_h(sti_h(sti_h(p, f, -0.124310978f), f, 0.142274857f), f, -0.166673645f);
    p = sti_h(sti_h(sti_h(p, f, 0.200018197f), f, -0.24999994f), f, 0.333333135f);
    return sti_fma(f * z, p, z * splat(-0.5f));
}

/* The logarithm r of x, or what belongs to an x that is not positive and finite. */
LFN real sti_log_edges(real x, real r)
{
    real other = select(eq(x, splat(0.0f)), -sti_inf(), select(lt(x, splat(0.0f)), sti_nan(), x));
    return select(m_and(lt(splat(0.0f), x), lt(x, sti_inf())), r, other);
}

LFN real sti_real_log(real x)
{
    real k, f = sti_split(x, &k) - splat(1.0f);
    real low = sti_fma(k, splat(-1.90465421e-9f), sti_log_tail(f));
    return sti_log_edges(x, sti_fma(k, splat(0.693147182f), f + low));
}

LFN real sti_real_log2(real x)
{
    real k, f = sti_split(x, &k) - splat(1.0f);
    real low = sti_fma(f, splat(1.92596303e-8f), sti_log_tail(f) * splat(1.44269502f));
    return sti_log_edges(x, k + sti_fma(f, splat(1.44269502f), low));
}

/*
 * log2 of x >= 0 as high + low, relative error about 2^-35, by 2 atanh(s) / ln 2 with s = (m - 1) / (m + 1); the terms
 * s and s^3 are carried in two floats. Infinities of the two ends are in high.
 */
LFN real sti_log2_sum(real x, real *low)
{
    real k, m = sti_split(x, &k);
    real num = m - splat(1.0f), den = m + splat(1.0f), den_low = m - (den - splat(1.0f));
    real inv = splat(1.0f) / den, s = num * inv;
    real sl = sti_fma(-s, den_low, sti_fma(-s, den, num)) * inv;
    real t = s * s, tl = sti_fma(s + s, sl, sti_fma(s, s, -t));
    real p = sti_h(sti_h(sti_h(splat(0.281709731f), t, 0.320011854f), t, 0.412205935f), t, 0.577077985f);
    /* u = c1 + t p, v = c0 + t u, g = s v. */
    real w = sti_h(p, t, -7.02846181e-9f), u = w + splat(0.961796701f), ul = w - (u - splat(0.961796701f));
    real tu = t * u, tul = sti_fma(t, u, -tu) + sti_fma(t, ul, tl * u);
    real v = tu + splat(2.88539004f), vl = (tu - (v - splat(2.88539004f))) + (tul + splat(3.85192607e-8f));
    real g = s * v, gl = sti_fma(s, v, -g) + sti_fma(s, vl, sl * v);
    real h = k + g;
    *low = (g - (h - k)) + gl;
    h = select(lt(x, sti_inf()), h, x);
    return select(eq(x, splat(0.0f)), -sti_inf(), h);
}

LFN real sti_real_pow(real x, real y)
{
    real a = rabs(x), l, h = sti_log2_sum(a, &l);
    real p = y * h, pl = sti_fma(y, h, -p) + y * l;
    real r = sti_exp2_sum(p, select(lt(rabs(p), splat(160.0f)), pl, splat(0.0f)));
    /* Negative x: an odd y keeps the sign, a y that is no integer has no power. */
    real half = y * splat(0.5f);
    mask whole = eq(sti_floor(y), y), odd = m_andnot(whole, eq(sti_floor(half), half));
    r = sti_turn(r, as_bits(x) & odd);
    r = select(m_andnot(m_and(lt(x, splat(0.0f)), lt(-sti_inf(), x)), whole), sti_nan(), r);
    mask one = m_or(eq(y, splat(0.0f)), eq(x, splat(1.0f)));
    one = m_or(one, m_and(eq(x, splat(-1.0f)), eq(rabs(y), sti_inf())));
    return select(one, splat(1.0f), r);
}
#endif

#define sin(x) sti_real_sin(x)
#define cos(x) sti_real_cos(x)
#define tan(x) sti_real_tan(x)
#define asin(x) sti_real_asin(x)
#define acos(x) sti_real_acos(x)
#define atan(x) sti_real_atan(x)
#define atan2(y, x) sti_real_atan2(y, x)
#define exp(x) sti_real_exp(x)
#define exp2(x) sti_real_exp2(x)
#define log(x) sti_real_log(x)
#define log2(x) sti_real_log2(x)
#define pow(x, y) sti_real_pow(x, y)
#define tanh(x) sti_real_tanh(x)

#endif
