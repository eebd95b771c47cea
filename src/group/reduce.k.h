/*
 * Sums of rows in the order of a binary tree (sum.c), column by column. Kind item; a block is 256 columns.
 *
 * merges: how many sums end with each row, from `order` on. Sums that wait for their neighbour are fewer than bits of a
 * world's number.
 */
#include "stet/lang.h"

LFN int reduce_merge(ureal *sum, int count, int merges)
{
    for (int m = 0; m < merges; ++m) {
        count = count - 1;
        sum[count - 1] = sum[count - 1] + sum[count];
    }
    return count;
}

/* out [n] from `at` on: the sum of rows [nrow][n] from `first` on. */
item_kernel void k_reduce_rows(const ureal *rows, const int *merges, int order, int first, int nrow, i64 n, ureal *out,
                               i64 at, int block)
{
    each (i, 256) {
        i64 column = (i64)block * 256 + i;
        if (column < n && nrow == 2) /* the shares of two ranks: without a stack */
            out[at + column] = rows[(i64)first * n + column] + rows[(i64)(first + 1) * n + column];
        else if (column < n) {
            ureal sum[64];
            int count = 0;
            for (int r = 0; r < nrow; ++r) {
                sum[count] = rows[(i64)(first + r) * n + column];
                count = reduce_merge(sum, count + 1, merges[order + r]);
            }
            out[at + column] = sum[0];
        }
    }
}

/* The same of an array of worlds. */
item_kernel void k_reduce_worlds(const wreal *rows, const int *merges, int order, int first, int nrow, i64 n,
                                 ureal *out, i64 at, int block)
{
    each (i, 256) {
        i64 column = (i64)block * 256 + i;
        if (column < n) {
            ureal sum[64];
            int count = 0;
            for (int r = 0; r < nrow; ++r) {
                sum[count] = of_world(rows, n, first + r, (int)column);
                count = reduce_merge(sum, count + 1, merges[order + r]);
            }
            out[at + column] = sum[0];
        }
    }
}
