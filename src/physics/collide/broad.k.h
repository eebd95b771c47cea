/*
 * Which pairs of geoms can touch: conservative tests, so that what they leave out has no contact. Bounding spheres have
 * MuJoCo's radii (geom_rbound); a plane has none.
 */
#ifndef STI_PHYSICS_COLLIDE_BROAD_K_H
#define STI_PHYSICS_COLLIDE_BROAD_K_H
#include "physics/math.k.h"

LFN mask spheres_near(const real *pos1, real radius1, const real *pos2, real radius2, real margin)
{
    real between[3], reach = radius1 + radius2 + margin;
    v3_sub(pos2, pos1, between);
    return le(v3_dot(between, between), reach * reach);
}

LFN mask plane_sphere_near(const real *pos, const real *mat, const real *centre, real radius, real margin)
{
    real normal[3], from[3];
    for (int k = 0; k < 3; ++k) normal[k] = mat[3 * k + 2];
    v3_sub(centre, pos, from);
    return le(v3_dot(from, normal), radius + margin);
}

/*
 * Boxes that are turned with their geoms (geom_aabb: centre and half-sizes in the geom's frame): the six axes of their
 * faces. Pays before pairs that cost much more than it, which takes about a hundred instructions.
 */
LFN mask boxes_near(const real *pos1, const real *mat1, const ureal *aabb1, const real *pos2, const real *mat2,
                    const ureal *aabb2, real margin)
{
    real local1[3], local2[3], at1[3], at2[3], between[3], size1[3], size2[3];
    for (int k = 0; k < 3; ++k) {
        local1[k] = splat(aabb1[k]);
        local2[k] = splat(aabb2[k]);
        size1[k] = splat(aabb1[3 + k]);
        size2[k] = splat(aabb2[3 + k]);
    }
    m3_mul(mat1, local1, at1);
    m3_mul(mat2, local2, at2);
    for (int k = 0; k < 3; ++k) between[k] = pos2[k] + at2[k] - pos1[k] - at1[k];
    mask near = m_all();
    real turn[9];
    for (int i = 0; i < 3; ++i)
        for (int j = 0; j < 3; ++j)
            turn[3 * i + j] = rabs(fma(mat1[6 + i], mat2[6 + j], fma(mat1[3 + i], mat2[3 + j], mat1[i] * mat2[j])));
    m3_mul_transposed(mat1, between, local1);
    m3_mul_transposed(mat2, between, local2);
    for (int i = 0; i < 3; ++i) {
        real reach1 = size1[i] + margin, reach2 = size2[i] + margin;
        for (int j = 0; j < 3; ++j) {
            reach1 = fma(turn[3 * i + j], size2[j], reach1);
            reach2 = fma(turn[3 * j + i], size1[j], reach2);
        }
        near = m_and(near, m_and(le(rabs(local1[i]), reach1), le(rabs(local2[i]), reach2)));
    }
    return near;
}

#endif
