/* Pilot: one level of a transform hierarchy. Kind world. */
#include "stet/lang.h"

#include "kernel/xform.k.h"

/* world[prim] = world[parent[prim]] * local[prim] for the prims of one level; local, world [nprim * 12]. */
world_kernel void k_pilot_level(const real *local, real *world_xform, const int *parent, const int *level, int nlevel)
{
    xform_level(local, world_xform, parent, level, nlevel);
}
