/* Contacts of a plane with a mesh: the lowest vertex, up to three more corners of its lowest face. */
#ifndef STI_PHYSICS_COLLIDE_PLANE_MESH_K_H
#define STI_PHYSICS_COLLIDE_PLANE_MESH_K_H
#include "physics/collide/hull.k.h"
#include "physics/collide/plane.k.h"

/* The corner after k, of `count`. */
LFN lint next_corner(lint k, lint count) { return iselect(ilt(k + isplat(1), count), k + isplat(1), isplat(0)); }

LFN real quad_area2(const real *a, const real *b, const real *c, const real *d)
{
    real ac[3], bd[3], cross[3];
    v3_sub(a, c, ac);
    v3_sub(b, d, bd);
    v3_cross(ac, bd, cross);
    return v3_dot(cross, cross);
}

/* Moves one of the quadrilateral's corners on as long as its area grows: which of 1, 2, 3 is plain. */
LFN mask quad_grow(const int *hull, const int *tables, const ureal *reals, lint corners, lint count, int which,
                   int once, mask lanes, lint *k, real *p, real *area2)
{
    mask grew = m_none(), active = lanes;
    for (int n = 0; n < 64 && any(active); ++n) {
        real point[3];
        lint next = next_corner(k[which], count);
        hull_corner_point(hull, tables, reals, corners, next, point);
        real larger = which == 1   ? quad_area2(p, point, p + 6, p + 9)
                      : which == 2 ? quad_area2(p, p + 3, point, p + 9)
                                   : quad_area2(p, p + 3, p + 6, point);
        active = m_and(active, gt(larger, *area2));
        *area2 = select(active, larger, *area2);
        k[which] = iselect(active, next, k[which]);
        v3_select(active, point, p + 3 * which, p + 3 * which);
        grew = m_or(grew, active);
        if (once) break;
    }
    return grew;
}

/* Four corners of a face that begin with one and span a large area: their points. The fourth is none in triangles. */
LFN void hull_quad(const int *hull, const int *tables, const ureal *reals, lint corners, lint count, lint first,
                   real *p)
{
    lint k[4];
    k[0] = first;
    for (int i = 1; i < 4; ++i) k[i] = next_corner(k[i - 1], count);
    for (int i = 0; i < 4; ++i) hull_corner_point(hull, tables, reals, corners, k[i], p + 3 * i);
    mask active = igt(count, isplat(4));
    real area2 = quad_area2(p, p + 3, p + 6, p + 9);
    for (int n = 0; n < 64 && any(active); ++n) {
        active = quad_grow(hull, tables, reals, corners, count, 3, 1, active, k, p, &area2);
        quad_grow(hull, tables, reals, corners, count, 2, 0, active, k, p, &area2);
        quad_grow(hull, tables, reals, corners, count, 1, 0, active, k, p, &area2);
    }
}

/* Corners above the mesh's centre do not count; any slot but the first may be empty where a later one is filled. */
LFN void collide_plane_mesh(const geom *plane, const geom *mesh, const int *hull, const int *tables, const ureal *reals,
                            real margin, contact *con)
{
    real normal[3], local[3], down[3], corner[12], point[3], height = plane_height(plane, mesh, normal);
    m3_mul_transposed(mesh->mat, normal, local);
    v3_scale(local, splat(-1), down);
    lint vertex = hull_farthest(hull, reals, down), face = hull_face_at(hull, reals, vertex, down), count;
    lint corners = hull_corners(hull, tables, face, &count);
    hull_quad(hull, tables, reals, corners, count, hull_corner_of(tables, corners, count, vertex), corner);
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
