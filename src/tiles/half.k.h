/* Half precision: part of extraction. */
#ifndef STI_TILES_HALF_K_H
#define STI_TILES_HALF_K_H
#include "stet/lang.h"

/* The bits of x in IEEE binary16, rounded to nearest, halves to even; 0x7e00 for every NaN. */
#if STET_DOUBLE
LFN lint tx_half(real x)
{
    u64 b = (u64)as_bits(x), m = b & 0x7fffffffffffffffULL;
    int sign = (int)(b >> 48 & 0x8000u);
    if (m > 0x7ff0000000000000ULL) return 0x7e00;
    if (m >= 0x40effe0000000000ULL) return sign | 0x7c00; /* 65520: halfway from the largest to 2^16 */
    if (m < 0x3f10000000000000ULL) return sign | (int)rint(rabs(x) * 16777216.0);
    return sign | ((int)((m + 0x1ffffffffffULL + (m >> 42 & 1u)) >> 42) - (1008 << 10));
}
#else
LFN lint tx_half(real x)
{
    lint b = as_bits(x), m = b & isplat(0x7fffffff), sign = ishr(b, 16) & isplat(0x8000);
    lint odd = ishr(m, 13) & isplat(1);
    lint h = ishr(m + isplat(0xfff) + odd, 13) - isplat(112 << 10);
    /* Below 2^-14 a half is a multiple of 2^-24, to which the sum with 0.5 rounds. */
    lint small = as_bits(from_bits(m) + splat(0.5f)) - isplat(0x3f000000);
    h = iselect(ilt(m, isplat(0x38800000)), small, h);
    h = iselect(ilt(m, isplat(0x477ff000)), h, isplat(0x7c00)); /* 65520: halfway from the largest to 2^16 */
    return iselect(ilt(isplat(0x7f800000), m), isplat(0x7e00), h | sign);
}
#endif

/* The number that a half is. */
LFN real tx_from_half(lint h)
{
    lint e = ishr(h, 10) & isplat(31), m = h & isplat(1023);
    mask none = ieq(e, isplat(0)), end = ieq(e, isplat(31));
    real x = to_real(iselect(none, m, m + isplat(1024))) * splat((ureal)5.9604644775390625e-8); /* 2^-24 */
    lint k = iselect(none, isplat(0), e - isplat(1));
    for (int b = 0; b < 5; ++b) {
        int twice = 1 << (1 << b); /* 2 ^ 2 ^ b */
        x = x * select(ieq(k & isplat(1 << b), isplat(0)), splat(1), splat((ureal)twice));
    }
    real endless = select(ieq(m, isplat(0)), splat(1), splat(0)) / splat(0); /* of all others NaN */
    x = select(end, endless, x);
    return select(ieq(h & isplat(0x8000), isplat(0)), x, -x);
}

/* Stores n halves as numbers; `half` and `value` are scratch memory of the block for n and a vector more. */
LFN void tx_store_numbers(const int *half, ureal *value, ureal *to, int n)
{
    items (p, n) store(value + p, tx_from_half(iload(half + p)));
    sync();
    each (i, n) to[i] = value[i];
    sync();
}

/* Stores n values as halves; `half` is scratch memory of the block for n numbers and a vector more. */
LFN void tx_store_halves(const ureal *value, int *half, u16 *to, int n)
{
    items (p, n) istore(half + p, tx_half(load(value + p)));
    sync();
    each (i, n) to[i] = (u16)half[i];
    sync();
}

#endif
