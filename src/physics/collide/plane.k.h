/*
 * Contacts with a plane, the first geom: its normal is its z axis, and what lies below it penetrates. Heights are those
 * of the other geom's centre, and what its points are above or below that: no distance is the difference of positions
 * that are rounded. Depths are within 4 roundings of the geom's size and of its distance from the plane's origin.
 */
#ifndef STI_PHYSICS_COLLIDE_PLANE_K_H
#define STI_PHYSICS_COLLIDE_PLANE_K_H
#include "physics/collide/contact.k.h"

#define PLANE_BOX_CONTACTS 4
#define PLANE_CYLINDER_CONTACTS 4
#define PLANE_MESH_CONTACTS 4

/* The contact of a surface point at `offset` from the centre of a geom, `dist` above the plane: midway between both. */
LFN void plane_point(const geom *g, const real *normal, const real *offset, real dist, mask hit, contact *c)
{
    c->hit = hit;
    c->dist = dist;
    v3_add_scaled(offset, normal, dist * splat((ureal)-0.5), c->pos);
    v3_add(g->pos, c->pos, c->pos);
    v3_copy(normal, c->normal);
}

/* The height of a geom's centre above a plane, whose normal comes, too. */
LFN real plane_height(const geom *plane, const geom *g, real *normal)
{
    real from[3];
    m3_column(plane->mat, 2, normal);
    v3_sub(g->pos, plane->pos, from);
    return v3_dot(normal, from);
}

/* A sphere at `offset` from the centre of a geom, its own centre `height` above the plane. */
LFN void plane_sphere(const geom *g, const real *normal, const real *offset, real height, real radius, real margin,
                      contact *c)
{
    real point[3], dist = height - radius;
    v3_add_scaled(offset, normal, -radius, point);
    plane_point(g, normal, point, dist, le(dist, margin), c);
}

LFN void collide_plane_sphere(const geom *plane, const geom *sphere, real margin, contact *con)
{
    real normal[3], middle[3], height = plane_height(plane, sphere, normal);
    for (int k = 0; k < 3; ++k) middle[k] = splat(0);
    plane_sphere(sphere, normal, middle, height, sphere->size[0], margin, con);
}

/* Slot 0 is the end of the positive axis, slot 1 the other one; either may be empty. */
LFN void collide_plane_capsule(const geom *plane, const geom *capsule, real margin, contact *con)
{
    real normal[3], axis[3], end[3], height = plane_height(plane, capsule, normal);
    m3_column(capsule->mat, 2, axis);
    real slope = v3_dot(axis, normal);
    for (int i = 0; i < 2; ++i) {
        real along = i == 0 ? capsule->size[1] : -capsule->size[1];
        v3_scale(axis, along, end);
        plane_sphere(capsule, normal, end, fma(along, slope, height), capsule->size[0], margin, con + i);
    }
}

LFN void collide_plane_ellipsoid(const geom *plane, const geom *ellipsoid, real margin, contact *con)
{
    real normal[3], down[3], point[3], height = plane_height(plane, ellipsoid, normal);
    m3_mul_transposed(ellipsoid->mat, normal, down);
    for (int k = 0; k < 3; ++k) down[k] = -(down[k] * ellipsoid->size[k]);
    real reach = v3_normalize(down), dist = height - reach;
    for (int k = 0; k < 3; ++k) down[k] = down[k] * ellipsoid->size[k];
    m3_mul(ellipsoid->mat, down, point);
    plane_point(ellipsoid, normal, point, dist, le(dist, margin), con);
}

/*
 * The lowest point of the lower cap, the point opposite to it on the upper cap, and two that make an equilateral
 * triangle with the first. Slots 2 and 3 may be filled where slot 1 is empty. The sine of the tilt is the length of a
 * cross product: a tilt that a cosine cannot tell from none has its depths and its lowest point, too.
 */
LFN void collide_plane_cylinder(const geom *plane, const geom *cylinder, real margin, contact *con)
{
    real normal[3], axis[3], level[3], radial[3], across[3], side[3], at[3];
    real height = plane_height(plane, cylinder, normal), radius = cylinder->size[0];
    m3_column(cylinder->mat, 2, axis);
    real slope = v3_dot(normal, axis);
    mask up = gt(slope, splat(0)); /* turned, so that the axis points to the plane */
    for (int k = 0; k < 3; ++k) axis[k] = select(up, -axis[k], axis[k]);
    slope = -rabs(slope);

    /* radial: from the axis to the lowest point of a cap; the cylinder's x axis where a cap is parallel to the plane */
    v3_cross_exact(normal, axis, level);
    real sine2 = v3_dot(level, level);
    mask flat = lt(sine2, splat(PHYSICS_MINVAL * PHYSICS_MINVAL));
    real sine = sqrt(sine2), scale = splat(1) / select(flat, splat(1), sine);
    v3_cross(level, axis, radial);
    m3_column(cylinder->mat, 0, across);
    for (int k = 0; k < 3; ++k) radial[k] = select(flat, across[k], radial[k] * scale);
    v3_cross(radial, axis, side);

    real drop = -(radius * sine);
    v3_scale(radial, radius, radial);
    v3_scale(side, radius * splat((ureal)0.86602540378443864676), side);
    v3_scale(axis, cylinder->size[1], axis);
    slope = slope * cylinder->size[1];
    real low = height + slope + drop, high = height - slope + drop, other = height + slope - drop * splat((ureal)0.5);
    mask hit = le(low, margin);
    v3_add(radial, axis, at);
    plane_point(cylinder, normal, at, low, hit, con);
    v3_sub(radial, axis, at);
    plane_point(cylinder, normal, at, high, m_and(hit, le(high, margin)), con + 1);
    hit = m_and(hit, le(other, margin));
    v3_add_scaled(axis, radial, splat((ureal)-0.5), radial);
    v3_add(radial, side, at);
    plane_point(cylinder, normal, at, other, hit, con + 2);
    v3_sub(radial, side, at);
    plane_point(cylinder, normal, at, other, hit, con + 3);
}

/* The first four corners, in MuJoCo's order, that are near the plane and not above the box's centre. */
LFN void collide_plane_box(const geom *plane, const geom *box, real margin, contact *con)
{
    real normal[3], local[3], corner[3], at[3], height = plane_height(plane, box, normal);
    m3_mul_transposed(box->mat, normal, local);
    contact_clear(con, PLANE_BOX_CONTACTS);
    for (int i = 0; i < 8; ++i) {
        for (int k = 0; k < 3; ++k) corner[k] = (i >> k) & 1 ? box->size[k] : -box->size[k];
        real rise = v3_dot(local, corner), dist = height + rise;
        mask hit = m_and(le(dist, margin), le(rise, splat(0)));
        if (!any(hit)) continue;
        m3_mul(box->mat, corner, at);
        contact c;
        plane_point(box, normal, at, dist, hit, &c);
        contact_push(con, PLANE_BOX_CONTACTS, &c);
    }
}

#endif
