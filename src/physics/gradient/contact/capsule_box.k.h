/*
 * The derivative of a capsule's contacts with a box: those of spheres about places of its axis (collide_capsule_box). A
 * place is not always the nearest one, so how it goes along the axis counts: with an edge or a corner of the box, or,
 * of a second place, with a side of the box. Which of these made it is seen from where it is.
 */
#ifndef STI_PHYSICS_GRADIENT_CONTACT_CAPSULE_BOX_K_H
#define STI_PHYSICS_GRADIENT_CONTACT_CAPSULE_BOX_K_H
#include "physics/collide/box.k.h"
#include "physics/gradient/contact/held.k.h"

/* Gradients of what places follow from, in the frame of the box. */
typedef struct places_grad {
    real centre[3], half[3], box_size[3], half_length;
} places_grad;

/* The nearest place: an end; or nearest to a line along an edge, or to a corner, whichever of the two it is. */
LFN void nearest_place_pull(const geom *capsule, const geom *box, const capsule_on_box *s, real place_grad,
                            places_grad *g)
{
    real gap[3], sign[3], edge[3], corner2 = capsule->size[1] * capsule->size[1], zero = splat(0), one = splat(1);
    real edge2 = zero;
    for (int k = 0; k < 3; ++k) {
        mask runs = ieq(s->edge, isplat(k));
        sign[k] = select(runs, s->along, select(bit_set(s->corner, k), one, -one));
        gap[k] = fma(sign[k], box->size[k], -s->centre[k]);
        edge[k] = select(runs, zero, one);
        edge2 = fma(edge[k] * s->half[k], s->half[k], edge2);
    }
    mask at_edge = lt(rabs(s->along), one);
    mask moves = m_andnot(lt(rabs(s->t), one), s->face);
    real rate = select(moves, place_grad / select(at_edge, edge2, corner2), zero);
    for (int k = 0; k < 3; ++k) { /* t = half · gap / (half · half, or the squared half-length), of some components */
        real part = rate * select(at_edge, edge[k], one);
        real less = select(at_edge, splat(2) * s->t * s->half[k], zero);
        g->half[k] = fma(part, gap[k] - less, g->half[k]);
        g->centre[k] = fma(-part, s->half[k], g->centre[k]);
        g->box_size[k] = fma(part * sign[k], s->half[k], g->box_size[k]);
    }
    real shorter = select(at_edge, zero, splat(2) * s->t * capsule->size[1] * rate);
    g->half_length = g->half_length - shorter;
}

/*
 * The second place, at t: an end, where the axis goes through the plane of a side, or as far from the nearest place as
 * the box is wide. Gives what the nearest place gets.
 */
LFN real second_place_pull(const geom *capsule, const geom *box, const capsule_on_box *s, real t, real place_grad,
                           places_grad *g)
{
    real zero = splat(0), one = splat(1), least = rabs(one - rabs(t)) * capsule->size[1], way = t - s->t;
    lint kind = isplat(-1); /* 0 … 2: the plane across an axis; 3 … 5: the box's width along one */
    for (int k = 0; k < 3; ++k) {
        real off = rabs(rabs(fma(s->half[k], t, s->centre[k])) - box->size[k]);
        mask nearer = lt(off, least);
        least = select(nearer, off, least);
        kind = iselect(nearer, isplat(k), kind);
        off = rabs(rabs(way * s->half[k]) - splat(2) * box->size[k]);
        nearer = lt(off, least);
        least = select(nearer, off, least);
        kind = iselect(nearer, isplat(3 + k), kind);
    }
    for (int k = 0; k < 3; ++k) {
        mask plane = ieq(kind, isplat(k)), wide = ieq(kind, isplat(3 + k)), moves = m_or(plane, wide);
        real at = fma(s->half[k], t, s->centre[k]), goes = way * s->half[k];
        real rate = select(moves, place_grad / select(moves, s->half[k], one), zero);
        real grows = select(plane, copysign_(one, at), copysign_(splat(2), goes));
        g->box_size[k] = fma(rate, grows, g->box_size[k]);
        g->half[k] = fma(-rate, select(plane, t, way), g->half[k]);
        g->centre[k] = g->centre[k] - select(plane, rate, zero);
    }
    return select(igt(kind, isplat(2)), place_grad, zero);
}

/* From the frame of the box to both geoms. */
LFN void places_give(contacts_pair *pair, const places_grad *g, mask lanes)
{
    real from[3], axis[3], half[3], force[3], back[3], turn[3];
    v3_sub(pair->a.g.pos, pair->b.g.pos, from);
    m3_column(pair->a.g.mat, 2, axis);
    v3_scale(axis, pair->a.g.size[1], half);
    m3_mul(pair->b.g.mat, g->centre, force);
    for (int k = 0; k < 3; ++k) {
        pair->a_grad.force[k] = pair->a_grad.force[k] + select(lanes, force[k], splat(0));
        pair->b_grad.size[k] = pair->b_grad.size[k] + select(lanes, g->box_size[k], splat(0));
    }
    v3_scale(force, splat(-1), back);
    grad_add_force(lanes, from, back, &pair->b_grad);
    m3_mul(pair->b.g.mat, g->half, turn);
    grad_add_turn(lanes, half, turn, &pair->a_grad);
    real length_grad = v3_dot(axis, turn) + g->half_length;
    pair->a_grad.size[1] = pair->a_grad.size[1] + select(lanes, length_grad, splat(0));
    v3_scale(turn, splat(-1), turn);
    grad_add_turn(lanes, half, turn, &pair->b_grad);
}

/* Slot `which` of collide_capsule_box: 0 at the nearest place, 1 at the second one. */
LFN mask capsule_box_pull(contacts_pair *pair, const int *tables, const ureal *reals, const contact *con, int which,
                          const contact_grad *grad, const real *normal_grad, mask lanes)
{
    const geom *capsule = &pair->a.g, *box = &pair->b.g;
    capsule_on_box s;
    held p, q;
    places_grad g;
    geom_grad sphere;
    mask exists, near;
    real frame[9], none[3], axis[3];
    near = capsule_near_box(capsule, box, splat(CONVEX_FAR), &s);
    lanes = m_and(lanes, near);
    capsule_nearest_on_box(capsule, box, &s);
    real second = capsule_second(box, &s, &exists), t = which ? s.t + second : s.t;
    for (int k = 0; k < 3; ++k) {
        none[k] = splat(0);
        g.centre[k] = splat(0);
        g.half[k] = splat(0);
        g.box_size[k] = splat(0);
    }
    g.half_length = splat(0);
    contact_frame(con->normal, none, frame);
    held_find(&pair->a, tables, reals, con, 1, frame, &p);
    held_find(&pair->b, tables, reals, con, -1, frame, &q);
    p.edge = m_none(); /* a sphere about a point of the axis */
    m3_column(capsule->mat, 2, axis);
    v3_scale(axis, t * capsule->size[1], p.point);
    geom_grad_clear(&sphere);
    mask sure = held_pull(&pair->a, &p, &pair->b, &q, frame, con->dist, grad->dist, grad->pos, normal_grad, lanes,
                          &sphere, &pair->b_grad);
    for (int k = 0; k < 3; ++k) {
        pair->a_grad.force[k] = pair->a_grad.force[k] + sphere.force[k];
        pair->a_grad.torque[k] = pair->a_grad.torque[k] + sphere.torque[k];
        pair->a_grad.size[k] = pair->a_grad.size[k] + sphere.size[k];
    }
    real place_grad = v3_dot(sphere.force, axis) * capsule->size[1];
    if (which) place_grad = second_place_pull(capsule, box, &s, t, place_grad, &g);
    nearest_place_pull(capsule, box, &s, place_grad, &g);
    places_give(pair, &g, sure);
    return sure;
}

#endif
