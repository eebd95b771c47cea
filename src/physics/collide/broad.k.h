/*
 * Which pairs of geoms can touch: conservative tests, so that what they leave out has no contact. `reach` is the sum of
 * the bounding spheres' radii (MuJoCo's geom_rbound) and the margin.
 */
#ifndef STI_PHYSICS_COLLIDE_BROAD_K_H
#define STI_PHYSICS_COLLIDE_BROAD_K_H
#include "physics/math.k.h"

LFN mask spheres_near(const real *pos1, const real *pos2, real reach)
{
    real between[3];
    v3_sub(pos2, pos1, between);
    return le(v3_dot(between, between), reach * reach);
}

/* A sphere that is below the plane, or not farther above it. */
LFN mask plane_near(const real *pos, const real *mat, const real *centre, real reach)
{
    real normal[3], from[3];
    for (int k = 0; k < 3; ++k) normal[k] = mat[3 * k + 2];
    v3_sub(centre, pos, from);
    return le(v3_dot(from, normal), reach);
}

#endif
