/* Pilot: one level of a transform hierarchy. Kind world. */
#include "stet/lang.h"

/*
 * A transform is 12 numbers, a 3x4 matrix by rows: the linear part in columns 0 to 2, the translation in column 3.
 * out = a * b, the frame b seen through a.
 */
LFN void ph_mul(const real *a, const real *b, real *out)
{
    for (int r = 0; r < 3; ++r)
        for (int c = 0; c < 4; ++c) {
            real s = c == 3 ? fma(a[r * 4], b[c], a[r * 4 + 3]) : a[r * 4] * b[c];
            s = fma(a[r * 4 + 1], b[4 + c], s);
            s = fma(a[r * 4 + 2], b[8 + c], s);
            put(out, r * 4 + c, s);
        }
}

/* world[prim] = world[parent[prim]] * local[prim] for the prims of one level; local, world [nprim * 12]. */
world_kernel void k_pilot_level(const real *local, real *world_xform, const int *parent, const int *level, int nlevel)
{
    each (i, nlevel) {
        int prim = level[i];
        ph_mul(world_xform + parent[prim] * 12, local + prim * 12, world_xform + prim * 12);
    }
}
