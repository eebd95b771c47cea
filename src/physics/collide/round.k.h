/* Contacts between spheres, capsules and cylinders, all of which come down to two spheres or a sphere and a plane. */
#ifndef STI_PHYSICS_COLLIDE_ROUND_K_H
#define STI_PHYSICS_COLLIDE_ROUND_K_H
#include "physics/collide/plane.k.h"

#define CAPSULE_CAPSULE_CONTACTS 2

/*
 * Spheres about two points. Where the points are the same, the normal is the cross product of two axes of their geoms
 * (x where those are parallel), as MuJoCo has it.
 */
LFN void sphere_sphere(const real *centre1, real radius1, const real *axis1, const real *centre2, real radius2,
                       const real *axis2, real margin, contact *c)
{
    real normal[3];
    v3_sub(centre2, centre1, normal);
    real apart = v3_normalize(normal);
    mask same = lt(apart, splat(PHYSICS_MINVAL));
    if (any(same)) {
        real cross[3];
        v3_cross(axis1, axis2, cross);
        v3_normalize(cross);
        v3_select(same, cross, normal, normal);
    }
    c->dist = apart - radius1 - radius2;
    c->hit = le(c->dist, margin);
    v3_add_scaled(centre1, normal, fma(c->dist, splat((ureal)0.5), radius1), c->pos);
    v3_copy(normal, c->normal);
}

LFN void collide_sphere_sphere(const geom *a, const geom *b, real margin, contact *con)
{
    real axis1[3], axis2[3];
    m3_column(a->mat, 2, axis1);
    m3_column(b->mat, 2, axis2);
    sphere_sphere(a->pos, a->size[0], axis1, b->pos, b->size[0], axis2, margin, con);
}

LFN void collide_sphere_capsule(const geom *sphere, const geom *capsule, real margin, contact *con)
{
    real axis1[3], axis2[3], from[3], nearest[3];
    m3_column(sphere->mat, 2, axis1);
    m3_column(capsule->mat, 2, axis2);
    v3_sub(sphere->pos, capsule->pos, from);
    real x = clamp(v3_dot(axis2, from), -capsule->size[1], capsule->size[1]);
    v3_add_scaled(capsule->pos, axis2, x, nearest);
    sphere_sphere(sphere->pos, sphere->size[0], axis1, nearest, capsule->size[0], axis2, margin, con);
}

/* The sphere meets the side (a sphere about the axis), a cap (a plane) or the edge between them (a point). */
LFN void collide_sphere_cylinder(const geom *sphere, const geom *cylinder, real margin, contact *con)
{
    real axis1[3], axis2[3], from[3], radial[3];
    real radius = cylinder->size[0], height = cylinder->size[1];
    m3_column(sphere->mat, 2, axis1);
    m3_column(cylinder->mat, 2, axis2);
    v3_sub(sphere->pos, cylinder->pos, from);
    real x = v3_dot(axis2, from), above = rabs(x) - height;
    v3_add_scaled(from, axis2, -x, radial);
    real length2 = v3_dot(radial, radial), length = sqrt(length2), outside = length - radius;
    mask beside = lt(above, splat(0)), over = lt(length2, radius * radius);
    mask inside = m_and(beside, over), cap_nearer = gt(above, outside);
    beside = m_andnot(beside, m_and(inside, cap_nearer));
    over = m_andnot(over, m_andnot(inside, cap_nearer));

    real end = select(gt(x, splat(0)), height, -height), scale = radius / length, point[3];
    for (int k = 0; k < 3; ++k)
        point[k] = cylinder->pos[k] + select(beside, axis2[k] * x, fma(axis2[k], end, radial[k] * scale));
    sphere_sphere(sphere->pos, sphere->size[0], axis1, point, select(beside, radius, splat(0)), axis2, margin, con);

    mask cap = m_andnot(over, beside);
    if (!any(cap)) return;
    contact c;
    real up[3];
    v3_scale(axis2, select(gt(x, splat(0)), splat(1), splat(-1)), up);
    v3_add_scaled(cylinder->pos, axis2, end, point);
    plane_sphere(up, point, sphere->pos, sphere->size[0], margin, &c);
    v3_scale(c.normal, splat(-1), c.normal);
    contact_copy_if(cap, &c, con);
}

/* The squared sine of the angle below which two axes count as parallel. */
#define CAPSULE_PARALLEL ((ureal)1e-8)

/* The sphere of capsule a at t1 on its axis (m from the centre) against that of b at t2. */
LFN void spheres_on_axes(const geom *a, const real *axis1, real t1, const geom *b, const real *axis2, real t2,
                         real margin, contact *c)
{
    real centre1[3], centre2[3];
    v3_add_scaled(a->pos, axis1, t1, centre1);
    v3_add_scaled(b->pos, axis2, t2, centre2);
    sphere_sphere(centre1, a->size[0], axis1, centre2, b->size[0], axis2, margin, c);
}

/*
 * The nearest points of the axes of two capsules where these cross at an angle: the nearest points of two lines, moved
 * into one segment after the other. `cross` is the axes' cross product, cross2 its squared length, not 0.
 */
LFN void nearest_on_axes(const geom *a, const real *axis1, const geom *b, const real *axis2, const real *cross,
                         real cross2, real *t1, real *t2)
{
    real between[3], turned[3];
    v3_sub(b->pos, a->pos, between);
    real cosine = v3_dot(axis1, axis2), u = v3_dot(axis1, between), v = -v3_dot(axis2, between);
    v3_cross(between, axis2, turned);
    real x = v3_dot(turned, cross) / cross2, end = clamp(x, -a->size[1], a->size[1]);
    v3_cross(between, axis1, turned);
    real y = select(eq(end, x), v3_dot(turned, cross) / cross2, fma(end, cosine, v));
    x = end;
    end = clamp(y, -b->size[1], b->size[1]);
    *t1 = select(eq(end, y), x, clamp(fma(end, cosine, u), -a->size[1], a->size[1]));
    *t2 = end;
}

/* One contact, or where the axes are parallel two: at the ends of what lies side by side, ascending along a's axis. */
LFN void collide_capsule_capsule(const geom *a, const geom *b, real margin, contact *con)
{
    real axis1[3], axis2[3], cross[3], t1, t2;
    m3_column(a->mat, 2, axis1);
    m3_column(b->mat, 2, axis2);
    v3_cross(axis1, axis2, cross);
    real cross2 = v3_dot(cross, cross);
    mask parallel = lt(cross2, splat(CAPSULE_PARALLEL));
    nearest_on_axes(a, axis1, b, axis2, cross, select(parallel, splat(1), cross2), &t1, &t2);
    spheres_on_axes(a, axis1, t1, b, axis2, t2, margin, con);
    contact_clear(con + 1, 1);
    if (!any(parallel)) return;

    real between[3];
    v3_sub(b->pos, a->pos, between);
    real middle = v3_dot(axis1, between), cosine = v3_dot(axis1, axis2);
    for (int i = 0; i < CAPSULE_CAPSULE_CONTACTS; ++i) {
        /* an end of b and the point of a beside it, or where that is beyond a's end, that end and the point of b */
        contact c;
        real end2 = copysign_(b->size[1], i == 0 ? -cosine : cosine), beside = fma(end2, cosine, middle);
        t1 = clamp(beside, -a->size[1], a->size[1]);
        t2 = clamp(fma(t1, cosine, -v3_dot(axis2, between)), -b->size[1], b->size[1]);
        spheres_on_axes(a, axis1, t1, b, axis2, select(eq(t1, beside), end2, t2), margin, &c);
        contact_copy_if(parallel, &c, con + i);
    }
}

#endif
