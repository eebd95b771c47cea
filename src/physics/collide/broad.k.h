/*
 * Which pairs of geoms can touch: conservative tests, so that what they leave out has no contact. `reach` is the sum of
 * the bounding spheres' radii (MuJoCo's geom_rbound) and the margin. A box [6] is MuJoCo's geom_aabb: centre and half
 * sizes in the geom's frame. The host counts with the same functions what is looked at (pace.c).
 */
#ifndef STI_PHYSICS_COLLIDE_BROAD_K_H
#define STI_PHYSICS_COLLIDE_BROAD_K_H
#include "physics/model/layout.k.h"
#include "physics/model/math.k.h"

/*
 * Are the boxes of two geoms of these types looked at, too? Where contacts are searched for, of two boxes, and of a
 * plane and a mesh: else finding them takes about as long.
 */
LFN int is_boxed(int first, int second)
{
    if (first <= PH_HFIELD) return first == PH_PLANE && second == PH_MESH;
    return second == PH_MESH || (first > PH_CAPSULE && second > PH_CAPSULE) ||
           (first == PH_CAPSULE && (second == PH_ELLIPSOID || second == PH_CYLINDER));
}

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

/*
 * The margin of boxes: with what rounding of the places and sizes that it is compared with may be. None of these is
 * larger than the reach.
 */
LFN real near_margin(real reach, real margin) { return fma(reach, splat((ureal)1e-5), margin); }

/* How far a box reaches from its centre along a direction whose parts along the box's axes are `way`. */
LFN real box_extent(const real *box, const real *way)
{
    return fma(rabs(way[2]), box[5], fma(rabs(way[1]), box[4], rabs(way[0]) * box[3]));
}

/* A box of which some corner is below the plane, or not farther above it than the margin. */
LFN mask plane_box_near(const real *pos, const real *mat, const real *pos2, const real *mat2, const real *box,
                        real margin)
{
    real normal[3], from[3], way[3];
    for (int k = 0; k < 3; ++k) normal[k] = mat[3 * k + 2];
    m3_mul_transposed(mat2, normal, way);
    v3_sub(pos2, pos, from);
    return le(v3_dot(from, normal) + v3_dot(box, way) - box_extent(box, way), margin);
}

/* Two boxes that none of the 15 directions separates which their axes and edges give. */
LFN mask boxes_near(const real *pos1, const real *mat1, const real *box1, const real *pos2, const real *mat2,
                    const real *box2, real margin)
{
    real turn[9], back[9], between[3], way[3], along[3];
    for (int i = 0; i < 3; ++i) /* row i of turn: axis i of the first by the second's axes; back: the other way round */
        for (int j = 0; j < 3; ++j) {
            turn[3 * i + j] = fma(mat1[6 + i], mat2[6 + j], fma(mat1[3 + i], mat2[3 + j], mat1[i] * mat2[j]));
            back[3 * j + i] = turn[3 * i + j];
        }
    v3_sub(pos2, pos1, between);
    for (int k = 0; k < 3; ++k) /* between the centres, by the first's axes, */
        way[k] = fma(mat1[6 + k], between[2], fma(mat1[3 + k], between[1], mat1[k] * between[0])) +
                 v3_dot(turn + 3 * k, box2) - box1[k];
    for (int k = 0; k < 3; ++k) along[k] = v3_dot(back + 3 * k, way); /* and by the second's */
    mask near = m_all();
    for (int i = 0; i < 3; ++i) {
        near = m_and(near, le(rabs(way[i]) - box1[3 + i] - box_extent(box2, turn + 3 * i), margin));
        near = m_and(near, le(rabs(along[i]) - box2[3 + i] - box_extent(box1, back + 3 * i), margin));
    }
    if (!any(near)) return near;
    for (int i = 0; i < 3; ++i)
        for (int j = 0; j < 3; ++j) { /* across axis i of the first and j of the second: of length 1 at most */
            int a = (i + 1) % 3, b = (i + 2) % 3, c = (j + 1) % 3, d = (j + 2) % 3;
            real apart = rabs(way[b] * turn[3 * a + j] - way[a] * turn[3 * b + j]);
            real first = fma(box1[3 + a], rabs(turn[3 * b + j]), box1[3 + b] * rabs(turn[3 * a + j]));
            real second = fma(box2[3 + c], rabs(turn[3 * i + d]), box2[3 + d] * rabs(turn[3 * i + c]));
            near = m_and(near, le(apart - first - second, margin));
        }
    return near;
}

#endif
