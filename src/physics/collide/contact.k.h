/*
 * What the collision functions take and give. A geom has MuJoCo's pose and sizes; a contact has MuJoCo's distance
 * (negative: penetration), position (midway between the surfaces) and normal (from the first geom to the second).
 *
 * A function fills a fixed number of slots, in MuJoCo's order of contacts. `hit` says in which lanes a slot holds a
 * contact; the slots of a lane are filled from the first on, except where a function says otherwise. Numbers of lanes
 * without a contact mean nothing. Lanes are worlds: no lane's numbers depend on another lane.
 */
#ifndef STI_PHYSICS_COLLIDE_CONTACT_K_H
#define STI_PHYSICS_COLLIDE_CONTACT_K_H
#include "physics/model/math.k.h"

typedef struct geom {
    real pos[3], mat[9]; /* geom_xpos, geom_xmat: the axes are the columns */
    real size[3];        /* geom_size */
} geom;

typedef struct contact {
    mask hit;
    real dist; /* m */
    real pos[3];
    real normal[3]; /* unit length */
} contact;

LFN void contact_clear(contact *con, int n)
{
    for (int i = 0; i < n; ++i) {
        con[i].hit = m_none();
        con[i].dist = splat(0);
        for (int k = 0; k < 3; ++k) {
            con[i].pos[k] = splat(0);
            con[i].normal[k] = splat(0);
        }
    }
}

/* *to = *from in the lanes of m. */
LFN void contact_copy_if(mask m, const contact *from, contact *to)
{
    to->hit = m_or(m_andnot(to->hit, m), m_and(from->hit, m));
    to->dist = select(m, from->dist, to->dist);
    v3_select(m, from->pos, to->pos, to->pos);
    v3_select(m, from->normal, to->normal, to->normal);
}

/* Puts c into the first free one of n slots, in the lanes where c is a contact and a slot is free. */
LFN void contact_push(contact *con, int n, const contact *c)
{
    mask waits = c->hit;
    for (int i = 0; i < n; ++i) {
        mask here = m_andnot(waits, con[i].hit);
        contact_copy_if(here, c, con + i);
        waits = m_andnot(waits, here);
    }
}

/*
 * The frame [3][3] of a contact, its rows the normal and two tangents. The first tangent follows `hint` (the axis of a
 * capsule on a plane), or an axis of the world where the hint is shorter than 0.5.
 */
LFN void contact_frame(const real *normal, const real *hint, real *frame)
{
    real tangent[3], side[3];
    mask tilted = lt(rabs(normal[1]), splat((ureal)0.5)), hinted = ge(v3_dot(hint, hint), splat((ureal)0.25));
    tangent[0] = select(hinted, hint[0], splat(0));
    tangent[1] = select(hinted, hint[1], select(tilted, splat(1), splat(0)));
    tangent[2] = select(hinted, hint[2], select(tilted, splat(0), splat(1)));
    v3_add_scaled(tangent, normal, -v3_dot(normal, tangent), tangent);
    v3_normalize(tangent);
    v3_cross(normal, tangent, side);
    v3_copy(normal, frame);
    v3_copy(tangent, frame + 3);
    v3_copy(side, frame + 6);
}

#endif
