/*
 * From the gradients of a pair's contacts to those of both geoms. The pair's contacts are those that the functions of
 * physics/collide found for the same geoms, all slots of them; what they do not say is worked out again.
 *
 * Features are held. The margin decides only whether there is a contact, so it has no gradient.
 */
#ifndef STI_PHYSICS_GRADIENT_CONTACT_CONTACTS_K_H
#define STI_PHYSICS_GRADIENT_CONTACT_CONTACTS_K_H
#include "physics/gradient/contact/capsule_box.k.h"
#include "physics/gradient/contact/faces.k.h"
#include "physics/gradient/contact/hfield.k.h"

/* Contacts that a search found on a smooth surface. */
LFN int contacts_are_rough(const contacts_pair *pair)
{
    int analytic = pair->a.type == GRAD_PLANE || (pair->a.type == CONVEX_SPHERE && pair->b.type == CONVEX_CYLINDER);
    return (convex_is_round(&pair->a) || convex_is_round(&pair->b)) && !analytic;
}

/*
 * A contact that jumps, because features are parallel or coincide, has no derivative. In its place: its points stay on
 * their geoms, and its normal turns with the first one.
 */
LFN void contact_stays(contacts_pair *pair, const contact *con, const contact_grad *grad, const real *normal_grad,
                       mask lanes)
{
    real half = splat((ureal)0.5);
    for (int g = 0; g < 2; ++g) {
        geom_grad *to = g ? &pair->b_grad : &pair->a_grad;
        real arm[3], force[3], sign = splat((ureal)(g ? 1 : -1));
        v3_sub(con->pos, g ? pair->b.g.pos : pair->a.g.pos, arm);
        v3_add_scaled(arm, con->normal, sign * half * con->dist, arm);
        for (int k = 0; k < 3; ++k) force[k] = fma(sign * grad->dist, con->normal[k], half * grad->pos[k]);
        grad_add_force(lanes, arm, force, to);
    }
    grad_add_turn(lanes, con->normal, normal_grad, &pair->a_grad);
}

/* A contact of a height field: the pair of the contact's prism and the other geom. */
LFN mask hfield_pull(contacts_pair *pair, const int *tables, const ureal *reals, const contact *con,
                     const contact_grad *grad, mask lanes)
{
    held p, q;
    convex prism;
    contact c = *con;
    real frame[9], none[3], normal_grad[3];
    for (int k = 0; k < 3; ++k) none[k] = splat(0);
    hfield_prism_of(&pair->a, tables, reals, con, &prism);
    mask sure = lanes;
    if (contacts_are_rough(pair)) sure = held_refine(&prism, &pair->b, tables, reals, lanes, &c);
    contact_frame_pull(c.normal, none, grad->frame, normal_grad, none);
    for (int k = 0; k < 3; ++k) none[k] = splat(0);
    contact_frame(c.normal, none, frame);
    held_find(&prism, tables, reals, &c, 1, frame, &p);
    held_find(&pair->b, tables, reals, &c, -1, frame, &q);
    sure = held_pull(&prism, &p, &pair->b, &q, frame, c.dist, grad->dist, grad->pos, normal_grad, sure, &pair->a_grad,
                     &pair->b_grad);
    contact_stays(pair, con, grad, normal_grad, m_andnot(lanes, sure));
    return sure;
}

/* One contact at nearest points. `corner`: that of the second geom is a corner whatever the normal says. */
LFN mask contact_pull(contacts_pair *pair, const int *tables, const ureal *reals, const contact *con, int corner,
                      const contact_grad *grad, const real *normal_grad, mask lanes)
{
    held p, q;
    real frame[9], none[3];
    for (int k = 0; k < 3; ++k) none[k] = splat(0);
    contact_frame(con->normal, none, frame);
    held_find(&pair->a, tables, reals, con, 1, frame, &p);
    held_find(&pair->b, tables, reals, con, -1, frame, &q);
    if (corner) {
        q.edge = m_none();
        q.face = m_none();
    }
    mask sure = held_pull(&pair->a, &p, &pair->b, &q, frame, con->dist, grad->dist, grad->pos, normal_grad, lanes,
                          &pair->a_grad, &pair->b_grad);
    return sure;
}

/*
 * A point of a cylinder's rim over a plane. Its place on the rim goes around with the lowest point's, so with the
 * normal; not where the cylinder stands to rounding: what is lowest then says nothing.
 */
LFN mask plane_cylinder_pull(contacts_pair *pair, const contact *con, const contact_grad *grad, const real *normal_grad,
                             mask lanes)
{
    const real *normal = con->normal;
    real arm[3], from[3], axis[3], lowest[3], here[3], place[3], turn[3], force[3],
        half = splat((ureal)0.5) * con->dist;
    v3_sub(con->pos, pair->b.g.pos, arm);
    v3_add_scaled(arm, normal, half, arm);
    v3_add(arm, pair->b.g.pos, from);
    v3_sub(from, pair->a.g.pos, from);
    real along = fma(splat((ureal)-0.5), v3_dot(normal, grad->pos), grad->dist);
    v3_add_scaled(grad->pos, normal, along, place);
    grad_add_point(lanes, &pair->b, arm, place, &pair->b_grad);
    v3_scale(normal, -along, force);
    grad_add_force(lanes, from, force, &pair->a_grad);

    m3_column(pair->b.g.mat, 2, axis);
    v3_cross(normal, axis, lowest); /* the way around the rim, at the lowest point and at this one */
    real sine = v3_normalize(lowest);
    v3_cross(axis, arm, here);
    v3_scale(lowest, v3_dot(here, place) / select(lt(sine, splat(HELD_LEVEL)), splat(1), sine), turn);
    mask leans = m_andnot(lanes, lt(sine, splat(HELD_LEVEL)));
    grad_add_turn(leans, normal, turn, &pair->b_grad);
    for (int k = 0; k < 3; ++k) turn[k] = -select(leans, turn[k], splat(0));
    for (int k = 0; k < 3; ++k) turn[k] = turn[k] + fma(-half, grad->pos[k], normal_grad[k]);
    grad_add_turn(lanes, normal, turn, &pair->a_grad);
    return lanes;
}

/* The gradient of a contact's normal; a capsule's axis on a plane, which the first tangent follows, gets its own. */
LFN void contact_normal_grad(contacts_pair *pair, const contact *con, const contact_grad *grad, mask lanes,
                             real *normal_grad)
{
    real hint[3], hint_grad[3];
    int hinted = pair->a.type == GRAD_PLANE && pair->b.type == CONVEX_CAPSULE;
    for (int k = 0; k < 3; ++k) hint[k] = splat(0);
    if (hinted) m3_column(pair->b.g.mat, 2, hint);
    contact_frame_pull(con->normal, hint, grad->frame, normal_grad, hint_grad);
    if (hinted) grad_add_turn(lanes, hint, hint_grad, &pair->b_grad);
}

/* Is the contact's point of a box on the edge that the normal is across? It is beside it where the edge ends before. */
LFN mask on_box_edge(const convex *c, const contact *con, int sign)
{
    real point[3], at[3], way[3], slack = splat(HELD_LEVEL) * (c->g.size[0] + c->g.size[1] + c->g.size[2]);
    mask on = m_all();
    v3_sub(con->pos, c->g.pos, point);
    v3_add_scaled(point, con->normal, splat((ureal)-0.5 * (ureal)sign) * con->dist, point);
    m3_mul_transposed(c->g.mat, point, at);
    m3_mul_transposed(c->g.mat, con->normal, way);
    for (int k = 0; k < 3; ++k) {
        real off = rabs(at[k]) - c->g.size[k];
        mask along = lt(rabs(way[k]), splat(HELD_LEVEL));
        on = m_and(on, lt(select(along, off, rabs(off)), slack));
    }
    return on;
}

/* Boxes: one contact between edges, or corners of what two faces have in common. */
LFN mask box_box_pull(contacts_pair *pair, const int *tables, const ureal *reals, const contact *con, int n,
                      const contact_grad *grad, mask lanes)
{
    box_pair found;
    meeting s;
    real back[3], normal_grad[3];
    mask all_sure = m_all();
    box_find_axis(&pair->a.g, &pair->b.g, splat(0), &found);
    mask faces = ilt(found.code, isplat(6)), second = igt(found.code, isplat(2));
    s.a = pair->a;
    s.b = pair->b;
    v3_sub(pair->b.g.pos, pair->a.g.pos, s.b.g.pos);
    for (int k = 0; k < 3; ++k) s.a.g.pos[k] = splat(0);
    v3_scale(con->normal, splat(-1), back);
    convex_face(&s.a, tables, reals, con->normal, &s.face1);
    convex_face(&s.b, tables, reals, back, &s.face2);
    rolled
    for (int i = 0; i < n; ++i) {
        mask here = m_and(lanes, con[i].hit), sure = m_all();
        if (!any(here)) continue;
        contact_normal_grad(pair, con + i, grad + i, here, normal_grad);
        mask at_faces = m_and(here, faces), at_edges = m_andnot(here, faces);
        if (any(at_faces)) sure = box_faces_pull(pair, &s, con + i, second, grad + i, normal_grad, at_faces);
        all_sure = m_andnot(all_sure, m_andnot(at_faces, sure));
        sure = m_and(on_box_edge(&pair->a, con + i, 1), on_box_edge(&pair->b, con + i, -1));
        at_edges = m_and(at_edges, sure);
        if (any(at_edges)) sure = contact_pull(pair, tables, reals, con + i, 0, grad + i, normal_grad, at_edges);
        sure = m_or(faces, m_and(at_edges, sure));
        contact_stays(pair, con + i, grad + i, normal_grad, m_andnot(here, sure));
        all_sure = m_andnot(all_sure, m_andnot(here, sure));
    }
    return all_sure;
}

/*
 * Pairs whose contact, con[MANIFOLD_FIRST], may have become several (collide_manifold): where it is the pair's only
 * one, it is pulled itself; else edges are placed by its normal.
 */
LFN mask manifold_pull(contacts_pair *pair, const int *tables, const ureal *reals, const contact *con, int n,
                       const contact_grad *grad, mask lanes)
{
    contact one = con[MANIFOLD_FIRST];
    contact_grad one_grad;
    meeting s;
    real way[3], back[3], way_grad[3], back_grad[3], normal_grad[3], zero = splat(0);
    mask all_sure = m_all(), sure = m_all();
    one.hit = m_and(one.hit, lanes);
    mask same = eq(one.dist, con->dist);
    for (int k = 0; k < 3; ++k)
        same = m_and(same, m_and(eq(one.pos[k], con->pos[k]), eq(one.normal[k], con->normal[k])));
    for (int i = 1; i < n; ++i) same = m_andnot(same, con[i].hit);
    manifold_find(&pair->a, &pair->b, tables, reals, &one, &s);
    v3_copy(one.normal, way);
    v3_scale(way, splat(-1), back);
    one_grad.dist = zero;
    for (int k = 0; k < 3; ++k) {
        one_grad.pos[k] = zero;
        way_grad[k] = zero;
        back_grad[k] = zero;
    }
    mask refined = m_all();
    if (contacts_are_rough(pair)) refined = held_refine(&pair->a, &pair->b, tables, reals, lanes, &one);
    rolled
    for (int i = 0; i < n; ++i) {
        mask here = m_and(lanes, con[i].hit), several = m_andnot(here, same), now = m_and(here, same);
        if (any(now)) {
            contact_normal_grad(pair, &one, grad + i, now, normal_grad);
            sure = contact_pull(pair, tables, reals, &one, 0, grad + i, normal_grad, m_and(now, refined));
            contact_stays(pair, &one, grad + i, normal_grad, m_andnot(now, sure));
        }
        all_sure = m_andnot(all_sure, m_andnot(now, sure));
        if (!any(several)) continue;
        contact_normal_grad(pair, con + i, grad + i, several, normal_grad);
        now = m_and(several, s.faces);
        if (any(now)) sure = two_faces_pull(pair, &s, con + i, grad + i, normal_grad, now);
        all_sure = m_andnot(all_sure, m_andnot(now, sure));
        now = m_and(several, s.on1);
        if (any(now))
            sure = edge_on_face_pull(pair, &s, con + i, m_none(), &s.edge2, 1, back, grad + i, normal_grad, now,
                                     back_grad);
        all_sure = m_andnot(all_sure, m_andnot(now, sure));
        now = m_and(several, s.on2);
        if (any(now))
            sure =
                edge_on_face_pull(pair, &s, con + i, m_all(), &s.edge1, 0, way, grad + i, normal_grad, now, way_grad);
        all_sure = m_andnot(all_sure, m_andnot(now, sure));
    }
    v3_sub(way_grad, back_grad, way_grad);
    mask by_edge = m_not(eq(v3_dot(way_grad, way_grad), zero));
    by_edge = m_and(by_edge, lanes);
    if (any(by_edge)) sure = contact_pull(pair, tables, reals, &one, 0, &one_grad, way_grad, m_and(by_edge, refined));
    return m_andnot(all_sure, m_andnot(by_edge, sure));
}

/*
 * Adds what the contacts of a pair give to its geoms, in some lanes. `n`: the slots of `con`, of which those that hit
 * count, and of `grad`, the gradients of their distances, positions and frames (contact_frame; on a plane a capsule's
 * first tangent follows its axis); con[MANIFOLD_FIRST]: see manifold_pull. Gives the lanes in which all contacts have a
 * derivative, and need nothing in its place (contact_stays).
 */
LFN mask contacts_pull(contacts_pair *pair, const int *tables, const ureal *reals, const contact *con, int n,
                       const contact_grad *grad, mask lanes)
{
    int first = pair->a.type, second = pair->b.type;
    int flat = first >= CONVEX_CAPSULE && first != CONVEX_ELLIPSOID && second >= CONVEX_CYLINDER;
    if (first == CONVEX_CAPSULE && second == CONVEX_BOX) flat = 0;
    mask all_sure = m_all(), sure = m_all();
    if (first == CONVEX_BOX && second == CONVEX_BOX) {
        sure = box_box_pull(pair, tables, reals, con, n, grad, lanes);
        return sure;
    }
    if (flat) {
        sure = manifold_pull(pair, tables, reals, con, n, grad, lanes);
        return sure;
    }
    int lowest = first == GRAD_PLANE && second != CONVEX_ELLIPSOID; /* corners, and a capsule's ends */
    rolled
    for (int i = 0; i < n; ++i) {
        real normal_grad[3];
        mask here = m_and(lanes, con[i].hit);
        if (!any(here)) continue;
        if (first == GRAD_HFIELD) {
            sure = hfield_pull(pair, tables, reals, con + i, grad + i, here);
            all_sure = m_andnot(all_sure, m_andnot(here, sure));
            continue;
        }
        contact c = con[i];
        mask refined = here;
        if (contacts_are_rough(pair)) refined = held_refine(&pair->a, &pair->b, tables, reals, here, &c);
        contact_normal_grad(pair, &c, grad + i, here, normal_grad);
        if (first == GRAD_PLANE && second == CONVEX_CYLINDER)
            sure = plane_cylinder_pull(pair, &c, grad + i, normal_grad, here);
        else if (first == CONVEX_CAPSULE && second == CONVEX_BOX)
            sure = capsule_box_pull(pair, tables, reals, &c, i, grad + i, normal_grad, here);
        else
            sure = contact_pull(pair, tables, reals, &c, lowest, grad + i, normal_grad, refined);
        contact_stays(pair, &c, grad + i, normal_grad, m_andnot(here, sure));
        all_sure = m_andnot(all_sure, m_andnot(here, sure));
    }
    return all_sure;
}

#endif
