/* Contacts of a plane with a mesh: the lowest vertex, up to three more corners of its lowest face. */
#ifndef STI_PHYSICS_COLLIDE_PLANE_MESH_K_H
#define STI_PHYSICS_COLLIDE_PLANE_MESH_K_H
#include "physics/collide/hull.k.h"
#include "physics/collide/plane.k.h"

/* The corner after k, of `count`. */
LFN lint next_corner(lint k, lint count) { return iselect(ilt(k + isplat(1), count), k + isplat(1), isplat(0)); }

/*
 * Does a quadrilateral with these diagonals grow where one end of one of them moves? Its area is that of the diagonals'
 * cross product, and the growth is another: of the fixed diagonal, from `start` to `end`, and the way. Many faces are
 * regular, and the areas to choose from differ in the last place of their corners' coordinates, so the growth is exact
 * but for rounding of rounding. `area` is the cross product before; it becomes that of the moved quadrilateral.
 */
LFN mask quad_grows(const real *start, const real *end, const real *from, const real *to, mask lanes, real *area)
{
    real fixed[3], fixed_rest[3], way[3], way_rest[3], growth[3], larger[3];
    v3_sub_exact(end, start, fixed, fixed_rest);
    v3_sub_exact(to, from, way, way_rest);
    v3_cross_exact(fixed, way, growth);
    for (int k = 0; k < 3; ++k) {
        int i = (k + 1) % 3, j = (k + 2) % 3;
        growth[k] = growth[k] + (fma(fixed[i], way_rest[j], fixed_rest[i] * way[j]) -
                                 fma(fixed[j], way_rest[i], fixed_rest[j] * way[i]));
    }
    v3_add_scaled(growth, area, splat(2), larger);
    mask grows = m_and(lanes, gt(v3_dot(growth, larger), splat(0)));
    v3_add(area, growth, larger);
    v3_select(grows, larger, area, area);
    return grows;
}

/* A face of a hull in each lane: where its corners are, and how many. */
typedef struct hull_face {
    const int *hull, *tables;
    const ureal *reals;
    lint corners, count;
} hull_face;

/* Moves corner 1, 2 or 3 (plain) of the quadrilateral p on, once or as long as it grows. */
LFN void quad_grow(hull_face face, int which, int once, mask lanes, lint *k, real *p, real *area, mask *grew)
{
    int start = which == 1 ? 6 : which == 2 ? 9 : 0, end = which == 1 ? 0 : which == 2 ? 3 : 6; /* the other diagonal */
    mask active = lanes;
    for (int n = 0; n < 64 && any(active); ++n) {
        real point[3];
        lint next = next_corner(k[which], face.count);
        hull_corner_point(face.hull, face.tables, face.reals, face.corners, next, point);
        active = quad_grows(p + start, p + end, p + 3 * which, point, active, area);
        k[which] = iselect(active, next, k[which]);
        v3_select(active, point, p + 3 * which, p + 3 * which);
        *grew = m_or(*grew, active);
        if (once) break;
    }
}

/* Four corners of a face that begin with one and span a large area: their points. The fourth is none in triangles. */
LFN void hull_quad(const int *hull, const int *tables, const ureal *reals, lint corners, lint count, lint first,
                   real *p)
{
    lint k[4];
    k[0] = first;
    for (int i = 1; i < 4; ++i) k[i] = next_corner(k[i - 1], count);
    for (int i = 0; i < 4; ++i) hull_corner_point(hull, tables, reals, corners, k[i], p + 3 * i);
    real area[3], first_third[3], second_fourth[3];
    hull_face face = {hull, tables, reals, corners, count};
    v3_sub(p, p + 6, first_third);
    v3_sub(p + 3, p + 9, second_fourth);
    v3_cross(first_third, second_fourth, area);
    mask active = igt(count, isplat(4));
    for (int n = 0; n < 64 && any(active); ++n) {
        mask grew = m_none();
        quad_grow(face, 3, 1, active, k, p, area, &grew);
        active = grew;
        quad_grow(face, 2, 0, active, k, p, area, &grew);
        quad_grow(face, 1, 0, active, k, p, area, &grew);
    }
}

/* The lowest corner of a face, in lanes: corner k, or one that is lower, as the difference of the two says. */
LFN lint lowest_corner(const int *hull, const int *tables, const ureal *reals, lint corners, lint count, lint k,
                       const real *down)
{
    real lowest[3], point[3], way[3];
    hull_corner_point(hull, tables, reals, corners, k, lowest);
    for (int i = 0; any(ilt(isplat(i), count)); ++i) {
        mask exists = ilt(isplat(i), count);
        hull_corner_point(hull, tables, reals, corners, iselect(exists, isplat(i), isplat(0)), point);
        v3_sub(point, lowest, way);
        mask lower = m_and(exists, gt(v3_dot(way, down), splat(0)));
        k = iselect(lower, isplat(i), k);
        v3_select(lower, point, lowest, lowest);
    }
    return k;
}

/* Corners above the mesh's centre do not count; any slot but the first may be empty where a later one is filled. */
LFN void collide_plane_mesh(const geom *plane, const geom *mesh, const int *hull, const int *tables, const ureal *reals,
                            real margin, contact *con)
{
    real normal[3], local[3], down[3], corner[12], point[3], height = plane_height(plane, mesh, normal);
    m3_mul_transposed(mesh->mat, normal, local);
    v3_scale(local, splat(-1), down);
    lint first, count, vertex = hull_farthest(hull, reals, down);
    lint face = hull_face_at(hull, reals, vertex, down, &first), corners = hull_corners(hull, tables, face, &count);
    first = lowest_corner(hull, tables, reals, corners, count, first, down);
    hull_quad(hull, tables, reals, corners, count, first, corner);
    contact_clear(con, PLANE_MESH_CONTACTS);
    for (int i = 0; i < PLANE_MESH_CONTACTS; ++i) {
        real rise = v3_dot(local, corner + 3 * i), dist = height + rise;
        mask hit = le(dist, margin);
        if (i > 0) hit = m_and(m_and(hit, con[0].hit), m_and(le(rise, splat(0)), igt(count, isplat(i))));
        m3_mul(mesh->mat, corner + 3 * i, point);
        plane_point(mesh, normal, point, dist, hit, con + i);
    }
}

#endif
