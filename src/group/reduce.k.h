/*
 * Sums of rows in the order of a binary tree (sum.c), column by column. Kind item; a block is 256 columns of k_reduce,
 * 1024 numbers of k_canonical.
 *
 * merges: how many sums end with each row, from `order` on. Sums that wait for their neighbour are fewer than bits of a
 * world's number; the last two are in registers, so that two rows, as of two ranks, need no other memory.
 */
#include "stet/lang.h"

/* NaN with the one pattern of bits that all devices store. */
LFN ureal canonical(ureal x)
{
    ureal lanes[STET_W];
    store(lanes, splat(x));
    return lanes[0];
}

/*
 * out [count] from `to` on: the sum of nrow rows, of which rows `mine` to mine + nmine - 1 are those of an array [][n]
 * from row `first` and column `begin` on; it is plain, or has worlds. The others are of parts [nrow][share].
 */
item_kernel void k_reduce(const ureal *parts, i64 share, const ureal *plain, const wreal *worlds, int has_worlds, i64 n,
                          i64 begin, int first, int mine, int nmine, const int *merges, int order, int nrow, i64 count,
                          ureal *out, i64 to, int block)
{
    each (i, 256) {
        i64 column = (i64)block * 256 + i;
        if (column < count) {
            ureal last = 0.0f, before = 0.0f, waiting[64];
            int nsum = 0;
            for (int r = 0; r < nrow; ++r) {
                if (nsum > 1) waiting[nsum - 2] = before;
                before = last;
                nsum = nsum + 1;
                if (r < mine || r >= mine + nmine)
                    last = parts[(i64)r * share + column];
                else if (has_worlds)
                    last = of_world(worlds, n, first + r - mine, (int)(begin + column));
                else
                    last = plain[(i64)(first + r - mine) * n + begin + column];
                for (int m = merges[order + r]; m > 0; --m) {
                    last = before + last;
                    nsum = nsum - 1;
                    if (nsum > 1) before = waiting[nsum - 2];
                }
            }
            out[to + column] = canonical(last);
        }
    }
}

/* Each NaN in out [count] gets the bits of `canonical`. Four numbers are read before one is written: reads overlap. */
item_kernel void k_canonical(ureal *out, i64 count, int block)
{
    each (i, 256) {
        ureal x[4];
        i64 first = (i64)block * 1024 + i;
        for (int k = 0; k < 4; ++k) x[k] = first + k * 256 < count ? out[first + k * 256] : 0.0f;
        for (int k = 0; k < 4; ++k)
            if (x[k] != x[k]) out[first + k * 256] = canonical(x[k]);
    }
}
