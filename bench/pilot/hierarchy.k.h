/* Pilot: one level of a transform hierarchy. Kind world. */
#include "stet/lang.h"

/* A GPU's team: 9.0 ns a world of 64 prims at 8192 worlds on an H200 (32 threads, 4 teams: 9.3). */
#define STET_TEAM_k_pilot_level 64, 1

#include "kernel/xform.k.h"

/* world[prim] = world[parent[prim]] * local[prim] for the prims of one level; local, world [nprim * 12]. */
world_kernel void k_pilot_level(const real *local, real *world_xform, const int *parent, const int *level, int nlevel)
{
    xform_level(local, world_xform, parent, level, nlevel);
}
