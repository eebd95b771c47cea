/*
 * Contacts between spheres, capsules and cylinders, all of which come down to two spheres or a sphere and a plane. The
 * positions of both geoms are subtracted first: depths are within 4 roundings of the sizes, wherever the geoms are.
 */
#ifndef STI_PHYSICS_COLLIDE_ROUND_K_H
#define STI_PHYSICS_COLLIDE_ROUND_K_H
#include "physics/collide/contact.k.h"

#define CAPSULE_CAPSULE_CONTACTS 2

/* The contact of a sphere about a point at `offset` from the centre of a geom: its surface is `dist` from the other. */
LFN void sphere_contact(const geom *g, const real *offset, real radius, const real *normal, real dist, real margin,
                        contact *c)
{
    c->dist = dist;
    c->hit = le(dist, margin);
    v3_add_scaled(offset, normal, fma(dist, splat((ureal)0.5), radius), c->pos);
    v3_add(g->pos, c->pos, c->pos);
    v3_copy(normal, c->normal);
}

/* The cross product of the z axes of two geoms, or x where they are parallel: MuJoCo's normal where points coincide. */
LFN void normal_of_axes(const geom *a, const geom *b, real *normal)
{
    real axis1[3], axis2[3];
    m3_column(a->mat, 2, axis1);
    m3_column(b->mat, 2, axis2);
    v3_cross(axis1, axis2, normal);
    v3_normalize(normal);
}

/*
 * Spheres about two points: the first at `offset` from the centre of a, the second `between` from there. `between`
 * becomes the normal.
 */
LFN void sphere_sphere(const geom *a, const real *offset, real radius1, const geom *b, real *between, real radius2,
                       real margin, contact *c)
{
    real apart = v3_normalize(between);
    mask same = lt(apart, splat(PHYSICS_MINVAL));
    if (any(same)) {
        real cross[3];
        normal_of_axes(a, b, cross);
        v3_select(same, cross, between, between);
    }
    sphere_contact(a, offset, radius1, between, apart - radius1 - radius2, margin, c);
}

LFN void collide_sphere_sphere(const geom *a, const geom *b, real margin, contact *con)
{
    real middle[3], between[3];
    for (int k = 0; k < 3; ++k) middle[k] = splat(0);
    v3_sub(b->pos, a->pos, between);
    sphere_sphere(a, middle, a->size[0], b, between, b->size[0], margin, con);
}

LFN void collide_sphere_capsule(const geom *sphere, const geom *capsule, real margin, contact *con)
{
    real middle[3], axis[3], between[3];
    for (int k = 0; k < 3; ++k) middle[k] = splat(0);
    m3_column(capsule->mat, 2, axis);
    v3_sub(capsule->pos, sphere->pos, between);
    real x = clamp(-v3_dot(axis, between), -capsule->size[1], capsule->size[1]);
    v3_add_scaled(between, axis, x, between);
    sphere_sphere(sphere, middle, sphere->size[0], capsule, between, capsule->size[0], margin, con);
}

/* The sphere meets the side (a sphere about the axis), a cap (a plane) or the edge between them (a point). */
LFN void collide_sphere_cylinder(const geom *sphere, const geom *cylinder, real margin, contact *con)
{
    real middle[3], axis[3], from[3], radial[3], between[3];
    real radius = cylinder->size[0], height = cylinder->size[1];
    for (int k = 0; k < 3; ++k) middle[k] = splat(0);
    m3_column(cylinder->mat, 2, axis);
    v3_sub(sphere->pos, cylinder->pos, from);
    real x = v3_dot(axis, from), above = rabs(x) - height;
    v3_add_scaled(from, axis, -x, radial);
    real length2 = v3_dot(radial, radial), length = sqrt(length2), outside = length - radius;
    mask beside = lt(above, splat(0)), over = lt(outside, splat(0));
    mask inside = m_and(beside, over), cap_nearer = gt(above, outside);
    beside = m_andnot(beside, m_and(inside, cap_nearer));
    over = m_andnot(over, m_andnot(inside, cap_nearer));
    mask cap = m_andnot(over, beside);

    real up = select(gt(x, splat(0)), splat(1), splat(-1)),
         beyond = outside / select(eq(length, splat(0)), splat(1), length);
    for (int k = 0; k < 3; ++k) between[k] = select(beside, -radial[k], fma(axis[k], -up * above, -radial[k] * beyond));
    sphere_sphere(sphere, middle, sphere->size[0], cylinder, between, select(beside, radius, splat(0)), margin, con);
    if (!any(cap)) return;
    contact c;
    v3_scale(axis, -up, axis);
    sphere_contact(sphere, middle, sphere->size[0], axis, above - sphere->size[0], margin, &c);
    contact_copy_if(cap, &c, con);
}

/* Squared sines of angles: below these, two axes count as parallel; their cross product is worked out exactly. */
#define CAPSULE_PARALLEL ((ureal)1e-8)
#define CAPSULE_NEARLY_PARALLEL ((ureal)1e-3)

/* The sphere of capsule a at t[0] on its axis (m from the centre) against that of b at t[1]. */
LFN void spheres_on_axes(const geom *a, const real *axis1, const geom *b, const real *axis2, const real *t,
                         const real *between, real margin, contact *c)
{
    real offset[3], gap[3];
    v3_scale(axis1, t[0], offset);
    v3_add_scaled(between, axis2, t[1], gap);
    v3_add_scaled(gap, axis1, -t[0], gap);
    sphere_sphere(a, offset, a->size[0], b, gap, b->size[0], margin, c);
}

/*
 * The nearest points of the axes of two capsules where these cross at an angle: the nearest points of two lines, moved
 * into one segment after the other. `cross` is the axes' cross product, cross2 its squared length, not 0.
 */
LFN void nearest_on_axes(const geom *a, const real *axis1, const geom *b, const real *axis2, const real *between,
                         const real *cross, real cross2, real *t)
{
    real turned[3];
    real cosine = v3_dot(axis1, axis2), u = v3_dot(axis1, between), v = -v3_dot(axis2, between);
    v3_cross(between, axis2, turned);
    real x = v3_dot(turned, cross) / cross2, end = clamp(x, -a->size[1], a->size[1]);
    v3_cross(between, axis1, turned);
    real y = select(eq(end, x), v3_dot(turned, cross) / cross2, fma(end, cosine, v));
    x = end;
    end = clamp(y, -b->size[1], b->size[1]);
    t[0] = select(eq(end, y), x, clamp(fma(end, cosine, u), -a->size[1], a->size[1]));
    t[1] = end;
}

/* One contact, or where the axes are parallel two: at the ends of what lies side by side, ascending along a's axis. */
LFN void collide_capsule_capsule(const geom *a, const geom *b, real margin, contact *con)
{
    real axis1[3], axis2[3], cross[3], between[3], t[2];
    m3_column(a->mat, 2, axis1);
    m3_column(b->mat, 2, axis2);
    v3_sub(b->pos, a->pos, between);
    v3_cross(axis1, axis2, cross);
    real cross2 = v3_dot(cross, cross);
    mask nearly = lt(cross2, splat(CAPSULE_NEARLY_PARALLEL));
    if (any(nearly)) {
        real exact[3];
        v3_cross_exact(axis1, axis2, exact);
        v3_select(nearly, exact, cross, cross);
        cross2 = select(nearly, v3_dot(exact, exact), cross2);
    }
    mask parallel = lt(cross2, splat(CAPSULE_PARALLEL));
    nearest_on_axes(a, axis1, b, axis2, between, cross, select(parallel, splat(1), cross2), t);
    spheres_on_axes(a, axis1, b, axis2, t, between, margin, con);
    contact_clear(con + 1, 1);
    if (!any(parallel)) return;

    real middle = v3_dot(axis1, between), cosine = v3_dot(axis1, axis2);
    for (int i = 0; i < CAPSULE_CAPSULE_CONTACTS; ++i) {
        /* an end of b and the point of a beside it, or where that is beyond a's end, that end and the point of b */
        contact c;
        real end2 = copysign_(b->size[1], i == 0 ? -cosine : cosine), beside = fma(end2, cosine, middle);
        t[0] = clamp(beside, -a->size[1], a->size[1]);
        t[1] = clamp(fma(t[0], cosine, -v3_dot(axis2, between)), -b->size[1], b->size[1]);
        t[1] = select(eq(t[0], beside), end2, t[1]);
        spheres_on_axes(a, axis1, b, axis2, t, between, margin, &c);
        contact_copy_if(parallel, &c, con + i);
    }
}

#endif
