/* Contacts with a plane, the first geom: its normal is its z axis, and what lies below it penetrates. */
#ifndef STI_PHYSICS_COLLIDE_PLANE_K_H
#define STI_PHYSICS_COLLIDE_PLANE_K_H
#include "physics/collide/contact.k.h"

#define PLANE_BOX_CONTACTS 4
#define PLANE_CYLINDER_CONTACTS 4
#define PLANE_MESH_CONTACTS 4

/* The contact of a surface point `dist` above a plane with this normal; it lies midway between point and plane. */
LFN void plane_point(const real *normal, const real *point, real dist, mask hit, contact *c)
{
    c->hit = hit;
    c->dist = dist;
    v3_add_scaled(point, normal, dist * splat((ureal)-0.5), c->pos);
    v3_copy(normal, c->normal);
}

LFN real plane_height(const real *normal, const real *origin, const real *point)
{
    real from[3];
    v3_sub(point, origin, from);
    return v3_dot(normal, from);
}

/* A sphere about `centre` against the plane through `origin`. */
LFN void plane_sphere(const real *normal, const real *origin, const real *centre, real radius, real margin, contact *c)
{
    real point[3], dist = plane_height(normal, origin, centre) - radius;
    v3_add_scaled(centre, normal, -radius, point);
    plane_point(normal, point, dist, le(dist, margin), c);
}

LFN void collide_plane_sphere(const geom *plane, const geom *sphere, real margin, contact *con)
{
    real normal[3];
    m3_column(plane->mat, 2, normal);
    plane_sphere(normal, plane->pos, sphere->pos, sphere->size[0], margin, con);
}

/* Slot 0 is the end of the positive axis, slot 1 the other one; either may be empty. */
LFN void collide_plane_capsule(const geom *plane, const geom *capsule, real margin, contact *con)
{
    real normal[3], axis[3], end[3];
    m3_column(plane->mat, 2, normal);
    m3_column(capsule->mat, 2, axis);
    for (int i = 0; i < 2; ++i) {
        v3_add_scaled(capsule->pos, axis, i == 0 ? capsule->size[1] : -capsule->size[1], end);
        plane_sphere(normal, plane->pos, end, capsule->size[0], margin, con + i);
    }
}

LFN void collide_plane_ellipsoid(const geom *plane, const geom *ellipsoid, real margin, contact *con)
{
    real normal[3], down[3], point[3];
    m3_column(plane->mat, 2, normal);
    m3_mul_transposed(ellipsoid->mat, normal, down);
    for (int k = 0; k < 3; ++k) down[k] = -(down[k] * ellipsoid->size[k]);
    v3_normalize(down);
    for (int k = 0; k < 3; ++k) down[k] = down[k] * ellipsoid->size[k];
    m3_mul(ellipsoid->mat, down, point);
    v3_add(ellipsoid->pos, point, point);
    real dist = plane_height(normal, plane->pos, point);
    plane_point(normal, point, dist, le(dist, margin), con);
}

/*
 * The lowest point of the lower cap, the point opposite to it on the upper cap, and two that make an equilateral
 * triangle with the first. Slots 2 and 3 may be filled where slot 1 is empty.
 */
LFN void collide_plane_cylinder(const geom *plane, const geom *cylinder, real margin, contact *con)
{
    real normal[3], axis[3], radial[3], across[3], side[3], point[3];
    m3_column(plane->mat, 2, normal);
    m3_column(cylinder->mat, 2, axis);
    real radius = cylinder->size[0], slope = v3_dot(normal, axis);
    mask up = gt(slope, splat(0)); /* turned, so that the axis points to the plane */
    for (int k = 0; k < 3; ++k) axis[k] = select(up, -axis[k], axis[k]);
    slope = -rabs(slope);

    /* radial: from the axis to the lowest point of a cap; the cylinder's x axis where a cap is parallel to the plane */
    v3_scale(axis, slope, radial);
    v3_sub(radial, normal, radial);
    real length2 = v3_dot(radial, radial);
    mask flat = lt(length2, splat(PHYSICS_MINVAL * PHYSICS_MINVAL));
    real scale = radius / sqrt(select(flat, splat(1), length2));
    m3_column(cylinder->mat, 0, across);
    for (int k = 0; k < 3; ++k) radial[k] = select(flat, across[k] * radius, radial[k] * scale);

    real drop = v3_dot(radial, normal);
    v3_scale(axis, cylinder->size[1], axis);
    slope = slope * cylinder->size[1];
    real centre = plane_height(normal, plane->pos, cylinder->pos);

    v3_add(cylinder->pos, radial, point);
    real low = centre + slope + drop, high = centre - slope + drop, other = centre + slope - drop * splat((ureal)0.5);
    mask hit = le(low, margin);
    real at[3];
    v3_add(point, axis, at);
    plane_point(normal, at, low, hit, con);
    v3_sub(point, axis, at);
    plane_point(normal, at, high, m_and(hit, le(high, margin)), con + 1);

    v3_cross(radial, axis, side);
    v3_normalize(side);
    v3_scale(side, radius * splat((ureal)0.86602540378443864676), side);
    v3_add(cylinder->pos, axis, point);
    v3_add_scaled(point, radial, splat((ureal)-0.5), point);
    hit = m_and(hit, le(other, margin));
    v3_add(point, side, at);
    plane_point(normal, at, other, hit, con + 2);
    v3_sub(point, side, at);
    plane_point(normal, at, other, hit, con + 3);
}

/* The first four corners, in MuJoCo's order, that are near the plane and not above the box's centre. */
LFN void collide_plane_box(const geom *plane, const geom *box, real margin, contact *con)
{
    real normal[3], local[3], corner[3], at[3];
    m3_column(plane->mat, 2, normal);
    m3_mul_transposed(box->mat, normal, local);
    real centre = plane_height(normal, plane->pos, box->pos);
    contact_clear(con, PLANE_BOX_CONTACTS);
    for (int i = 0; i < 8; ++i) {
        for (int k = 0; k < 3; ++k) corner[k] = (i >> k) & 1 ? box->size[k] : -box->size[k];
        real rise = v3_dot(local, corner), dist = centre + rise;
        mask hit = m_and(le(dist, margin), le(rise, splat(0)));
        if (!any(hit)) continue;
        m3_mul(box->mat, corner, at);
        v3_add(box->pos, at, at);
        contact c;
        plane_point(normal, at, dist, hit, &c);
        contact_push(con, PLANE_BOX_CONTACTS, &c);
    }
}

#endif
