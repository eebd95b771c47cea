/*
 * Sums of gradients, element by element. They are the adjoint of a copy, and they add up the gradients of an array that
 * a launch has at several places. Gradients of arrays of worlds, and shares of plain arrays, are arrays of worlds.
 * Gradients of an item kernel's plain arrays are plain, in blocks of 256.
 */
#include "stet/lang.h"

/* sum [n] += part [n]; part becomes 0. */
world_kernel void k_tape_add(real *sum, real *part, int n)
{
    each (i, n) {
        put(sum, i, sum[i] + part[i]);
        put(part, i, splat(0));
    }
}

item_kernel void k_tape_add_plain(ureal *sum, ureal *part, i64 n, int block)
{
    each (i, 256) {
        i64 at = (i64)block * 256 + i;
        if (at < n) {
            sum[at] = sum[at] + part[at];
            part[at] = 0;
        }
    }
}

world_kernel void k_tape_clear(real *sum, int n)
{
    each (i, n) put(sum, i, splat(0));
}

item_kernel void k_tape_clear_plain(ureal *sum, i64 n, int block)
{
    each (i, 256) {
        i64 at = (i64)block * 256 + i;
        if (at < n) sum[at] = 0;
    }
}
