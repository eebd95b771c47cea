/* Pilot: one level of a transform hierarchy. Kind world. */
#include "stet/lang.h"

#include "kernel/xform.k.h"

/* world[prim] = world[parent[prim]] * local[prim] for the prims of one level; local, world [nprim * 12]. */
world_kernel void k_pilot_level(const real *local, real *world_xform, const int *parent, const int *level, int nlevel)
{
    each (i, nlevel) {
        int prim = level[i];
        xform_mul(world_xform + parent[prim] * 12, local + prim * 12, world_xform + prim * 12);
    }
}
