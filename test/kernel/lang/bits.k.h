/*
 * Every operator and function of the language that has a value in each lane, on items of four arrays: row r of `reals`
 * and `ints` is operation r. And what a team does together: a sum and a running sum of fixed shape. For bits_test.c, as
 * a user's kernel on every device.
 */
#include "stet/lang.h"

#define REAL(expression)                                                                                               \
    store(reals + (i64)row * n + first + p, expression);                                                               \
    row = row + 1
#define INT(expression)                                                                                                \
    istore(ints + (i64)row * n + first + p, expression);                                                               \
    row = row + 1

/* Pairs of reals. */
item_kernel void k_bits_real(const ureal *a, const ureal *b, const ureal *c, ureal *reals, int n, int block)
{
    int first = block * 256;
    items (p, nmin(256, n - first)) {
        int row = 0;
        real x = load(a + first + p), y = load(b + first + p), z = load(c + first + p);
        REAL(x + y);
        REAL(x - y);
        REAL(x * y);
        REAL(x / y);
        REAL(-x);
        REAL(fma(x, y, z));
        REAL(sqrt(x));
        REAL(floor(x));
        REAL(rint(x));
        REAL(rmin(x, y));
        REAL(rmax(x, y));
        REAL(rabs(x));
        REAL(copysign_(x, y));
        REAL(clamp(x, rmin(y, z), rmax(y, z)));
        REAL(select(lt(x, y), x, z));
        REAL(canon(x));
        REAL(x);
        REAL(to_real(to_int(x)));
        REAL(from_bits(as_bits(x) ^ as_bits(y)));
    }
}

item_kernel void k_bits_function(const ureal *a, const ureal *b, ureal *reals, int n, int block)
{
    int first = block * 256;
    items (p, nmin(256, n - first)) {
        int row = 0;
        real x = load(a + first + p), y = load(b + first + p);
        REAL(sin(x));
        REAL(cos(x));
        REAL(tan(x));
        REAL(asin(x));
        REAL(acos(x));
        REAL(atan(x));
        REAL(exp(x));
        REAL(exp2(x));
        REAL(log(x));
        REAL(log2(x));
        REAL(tanh(x));
        REAL(atan2(x, y));
        REAL(pow(x, y));
    }
}

item_kernel void k_bits_mask(const ureal *a, const ureal *b, int *ints, int n, int block)
{
    int first = block * 256;
    items (p, nmin(256, n - first)) {
        int row = 0;
        real x = load(a + first + p), y = load(b + first + p);
        INT(lt(x, y));
        INT(le(x, y));
        INT(eq(x, y));
        INT(gt(x, y));
        INT(ge(x, y));
        INT(is_nan(x));
        INT(to_int(x));
        INT(as_bits(x));
        INT(m_and(lt(x, y), is_nan(x)));
        INT(m_or(lt(x, y), is_nan(y)));
        INT(m_andnot(le(x, y), eq(x, y)));
        INT(m_not(ge(x, y)));
    }
}

item_kernel void k_bits_int(const int *a, const int *b, int *ints, int n, int block)
{
    int first = block * 256;
    items (p, nmin(256, n - first)) {
        int row = 0;
        lint x = iload(a + first + p), y = iload(b + first + p);
        INT(x + y);
        INT(x - y);
        INT(x * y);
        INT(-x);
        INT(x & y);
        INT(x | y);
        INT(x ^ y);
        INT(~x);
        INT(imulhi(x, y));
        INT(ilt(x, y));
        INT(ieq(x, y));
        INT(igt(x, y));
        INT(imin(x, y));
        INT(imax(x, y));
        INT(iselect(ilt(x, y), y, x));
        INT(as_bits(to_real(x)));
        INT(ishl(x, 0));
        INT(ishl(x, 1));
        INT(ishl(x, 31));
        INT(ishl(x, 33));
        INT(ishr(x, 0));
        INT(ishr(x, 5));
        INT(ishr(x, 31));
        INT(ishr(x, 32));
        INT(igather(b, (x & isplat(127)) + isplat(first)));
    }
}

/* Values that all lanes share. */
item_kernel void k_bits_uniform(const ureal *a, const ureal *b, ureal *reals, int n, int block)
{
    int first = block * 256;
    each (p, nmin(256, n - first)) {
        ureal x = a[first + p], y = b[first + p];
        reals[first + p] = umin(x, y);
        reals[n + first + p] = umax(x, y);
        reals[2 * n + first + p] = uabs(x);
    }
}

/* Unsigned whole numbers wrap round: a hash (FNV-1a by words), and what signed numbers may not be trusted with. */
item_kernel void k_bits_word(const int *a, const int *b, int *ints, int n, int block)
{
    int first = block * 256;
    each (p, nmin(256, n - first)) {
        u32 x = (u32)a[first + p], y = (u32)b[first + p], hash = 2166136261u;
        hash = (hash ^ x) * 16777619u;
        hash = (hash ^ y) * 16777619u;
        ints[first + p] = (int)hash;
        ints[n + first + p] = (int)(x + y);
        ints[2 * n + first + p] = (int)(x - y);
        ints[3 * n + first + p] = (int)(x * y);
        ints[4 * n + first + p] = x + 1u > x;
        ints[5 * n + first + p] = (int)((u64)x * y >> 32);
    }
}

/* Memory stored as one type and read as another: its bytes. Row 1: whether two halves are the word. */
item_kernel void k_bits_cast(const int *a, int *ints, int n, int block)
{
    shared(int, word, 256);
    const u16 *half = (const u16 *)word;
    int first = block * 256;
    each (p, nmin(256, n - first)) word[p] = a[first + p];
    sync();
    each (p, nmin(256, n - first)) {
        u32 both = (u32)half[2 * p] | (u32)half[2 * p + 1] << 16;
        ints[first + p] = (int)both;
        ints[n + first + p] = both == (u32)a[first + p];
    }
}

/*
 * Of the 256 items of a block: the sum, by halves (sum [nblock]), and all running sums (running [n]), by distances 1,
 * 2, 4 … (W. D. Hillis, G. L. Steele, Data Parallel Algorithms, 1986). The shape is the algorithm's, however many
 * threads there are.
 */
item_kernel void k_bits_team(const ureal *a, ureal *sum, ureal *running, int n, int block)
{
    shared(ureal, half, 256);
    shared(ureal, even, 256);
    shared(ureal, odd, 256);
    int first = block * 256;
    each (i, 256) {
        ureal x = first + i < n ? a[first + i] : 0;
        half[i] = x;
        even[i] = x;
    }
    sync();
    for (int width = 128; width > 0; width = width / 2) {
        each (i, width) half[i] = half[i] + half[i + width];
        sync();
    }
    for (int step = 0; step < 8; ++step) {
        int far = 1 << step;
        if (step % 2 == 0) {
            each (i, 256) odd[i] = i < far ? even[i] : even[i - far] + even[i];
        } else {
            each (i, 256) even[i] = i < far ? odd[i] : odd[i - far] + odd[i];
        }
        sync();
    }
    each (i, nmin(256, n - first)) running[first + i] = even[i];
    each (i, 1) sum[block] = half[0];
}
