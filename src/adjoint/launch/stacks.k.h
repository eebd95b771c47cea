/*
 * Kernels for the flags of stacks that were too short, and for sums over worlds. Kind item.
 */
#include "stet/lang.h"

#define STACK_TEAM 256

/*
 * Finds the first flag that is not 0 in each block's part of flags [n]: found[2 * block] = its place, or n if there is
 * none; found[2 * block + 1] = its value.
 */
item_kernel void k_stack_flags(const int *flags, i64 n, i64 blocks, i64 *found, int block)
{
    shared(i64, part, STACK_TEAM);
    each (g, STACK_TEAM) {
        i64 first = n;
        for (i64 i = (i64)block * STACK_TEAM + g; i < n; i += blocks * STACK_TEAM)
            if (flags[i] != 0 && i < first) first = i;
        part[g] = first;
    }
    sync();
    each (one, 1) {
        i64 first = n;
        for (int k = 0; k < STACK_TEAM; ++k)
            if (part[k] < first) first = part[k];
        found[2 * (i64)block] = first;
        found[2 * (i64)block + 1] = first < n ? (i64)flags[first] : 0;
    }
}

/* Gives NaN one bit pattern in memory. */
LFN ureal stack_canonical(ureal x)
{
    ureal lanes[STET_W];
    store(lanes, splat(x));
    return lanes[0];
}

#define SUM_ITEMS 8
#define SUM_WORKERS 32 /* workers of an item; the result depends on this number */

/*
 * sum[i] = sum of shares over all worlds [nworld][nitem]. Worker k adds up the worlds k, k + 32, … in their order. Then
 * the upper half of the workers is added to the lower, until one is left.
 */
item_kernel void k_sum_worlds(ureal *sum, const wreal *shares, i64 nitem, int nworld, int block)
{
    shared(ureal, part, SUM_ITEMS * SUM_WORKERS);
    each (g, SUM_ITEMS * SUM_WORKERS) {
        i64 item = (i64)block * SUM_ITEMS + g % SUM_ITEMS;
        ureal s = 0;
        if (item < nitem)
            for (int w = g / SUM_ITEMS; w < nworld; w += SUM_WORKERS) s = s + of_world(shares, nitem, w, (int)item);
        part[g] = s;
    }
    sync();
    for (int half = SUM_ITEMS * SUM_WORKERS / 2; half >= SUM_ITEMS; half /= 2) {
        each (g, half) part[g] = part[g] + part[g + half];
        sync();
    }
    each (g, SUM_ITEMS) {
        i64 item = (i64)block * SUM_ITEMS + g;
        if (item < nitem) sum[item] = stack_canonical(part[g]);
    }
}
