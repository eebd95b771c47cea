/*
 * The derivative of contacts at the corners of what two faces, or a face and an edge, have in common.
 *
 * Such a contact is a point where three planes meet: that of a face, and two through sides of faces, each of which
 * moves with the geom that it is of. Where planes with normals m_i meet at p, each owner's point there moving by v_i, p
 * moves so that m_i · dp = m_i · v_i. Which sides they are is seen from the point: those that are nearest to it.
 */
#ifndef STI_PHYSICS_GRADIENT_CONTACT_FACES_K_H
#define STI_PHYSICS_GRADIENT_CONTACT_FACES_K_H
#include "physics/collide/box_box.k.h"
#include "physics/collide/manifold.k.h"
#include "physics/gradient/contact/held.k.h"

#define FACES_SKEW ((ureal)1e-4) /* squared sine of the least angle between two sides that meet */

/* The plane across a face, through one of its sides, that is next to a point. */
typedef struct face_side {
    real normal[3], miss2; /* the squared distance of the point from the side, seen along the face's normal */
    mask second;           /* the side is of the second geom's face */
} face_side;

/* Tries the sides of one face; not those that are parallel to `other`, if that is given. */
LFN void face_side_try(const feature *f, int second, const real *p, const face_side *other, mask lanes, face_side *s)
{
    rolled
    for (int i = 0; i < MANIFOLD_CORNERS; ++i) {
        mask exists = m_and(lanes, ilt(isplat(i), f->count)), last = ieq(f->count, isplat(i + 1));
        if (!any(exists)) break;
        real end[3], side[3], away[3], normal[3], zero = splat(0);
        v3_select(last, f->corner[0], f->corner[(i + 1) % MANIFOLD_CORNERS], end);
        v3_sub(end, f->corner[i], side);
        v3_cross(f->normal, side, normal);
        real length = v3_normalize(normal);
        exists = m_and(exists, gt(length, zero));
        if (other) {
            real across[3];
            v3_cross(normal, other->normal, across);
            exists = m_and(exists, gt(v3_dot(across, across), splat(FACES_SKEW)));
        }
        v3_sub(p, f->corner[i], away);
        v3_add_scaled(away, f->normal, -v3_dot(away, f->normal), away);
        real t = clamp(v3_dot(away, side) / (length * length), zero, splat(1));
        v3_add_scaled(away, side, -t, away);
        real miss2 = v3_dot(away, away);
        mask nearer = m_and(exists, lt(miss2, s->miss2));
        s->miss2 = select(nearer, miss2, s->miss2);
        v3_select(nearer, normal, s->normal, s->normal);
        s->second = second ? m_or(s->second, nearer) : m_andnot(s->second, nearer);
    }
}

/* The side that is next to a point, of the first face where `use1`, of the second where `use2`. */
LFN void face_side_find(const meeting *f, const real *p, const face_side *other, mask use1, mask use2, face_side *s)
{
    s->miss2 = splat((ureal)1e20);
    s->second = m_none();
    for (int k = 0; k < 3; ++k) s->normal[k] = splat(0);
    face_side_try(&f->face1, 0, p, other, use1, s);
    face_side_try(&f->face2, 1, p, other, use2, s);
}

/* The squared distance from a side within which a point is on it. */
LFN real faces_slack2(const meeting *f)
{
    real one[3], two[3];
    v3_sub(f->face1.corner[0], f->face1.corner[2], one);
    v3_sub(f->face2.corner[0], f->face2.corner[2], two);
    return splat((ureal)1e-6) * rmax(v3_dot(one, one), v3_dot(two, two));
}

/* A force on the point p of the geom that owns it, `second` or first. */
LFN void faces_force(contacts_pair *pair, const meeting *f, mask m, mask second, const real *p, const real *force)
{
    real arm[3];
    v3_sub(p, f->b.g.pos, arm);
    grad_add_point(m_andnot(m, second), &pair->a, p, force, &pair->a_grad);
    grad_add_point(m_and(m, second), &pair->b, arm, force, &pair->b_grad);
}
LFN void faces_turn(contacts_pair *pair, mask m, mask second, const real *direction, const real *gradient)
{
    grad_add_turn(m_andnot(m, second), direction, gradient, &pair->a_grad);
    grad_add_turn(m_and(m, second), direction, gradient, &pair->b_grad);
}

/*
 * A corner at p, in the plane of a face (`normal`, of the second geom where `second`). Gives the lanes that have one;
 * in others the point stays on the geom of the face.
 */
LFN mask faces_corner(contacts_pair *pair, const meeting *f, mask m, mask second, const real *normal, const real *p,
                      const real *p_grad)
{
    face_side s[2];
    real dual[3], det = splat(1), share, force[3];
    face_side_find(f, p, 0, m, m, s);
    face_side_find(f, p, s, m, m, s + 1);
    v3_cross(s[0].normal, s[1].normal, dual);
    det = v3_dot(dual, normal);
    mask sure = m_and(m, gt(rabs(det), splat((ureal)1e-3)));
    sure = m_and(sure, le(rmax(s[0].miss2, s[1].miss2), faces_slack2(f)));
    real inverse = splat(1) / select(sure, det, splat(1));
    faces_force(pair, f, m_andnot(m, sure), second, p, p_grad);
    share = v3_dot(dual, p_grad) * inverse;
    v3_scale(normal, share, force);
    faces_force(pair, f, sure, second, p, force);
    for (int i = 0; i < 2; ++i) {
        const real *next = i == 0 ? s[1].normal : normal, *after = i == 0 ? normal : s[0].normal;
        v3_cross(next, after, dual);
        share = v3_dot(dual, p_grad) * inverse;
        v3_scale(s[i].normal, share, force);
        faces_force(pair, f, sure, s[i].second, p, force);
    }
    return sure;
}

/* The point p is at a height over a face, along the face's normal: gives p's gradient what the height's adds. */
LFN void faces_height(contacts_pair *pair, const meeting *f, mask m, mask second, const real *normal, const real *p,
                      real height, real height_grad, real *p_grad)
{
    real force[3], foot[3];
    v3_scale(normal, -height_grad, force);
    v3_add_scaled(p, normal, -height, foot);
    faces_force(pair, f, m, second, foot, force);
    v3_sub(p_grad, force, p_grad);
}

/*
 * What both kinds of meetings begin with. The contact lies half its distance over a reference face, whose outward
 * normal is `normal`: at `point`, less the half. Gives the gradients of the point, the distance, and the normal.
 */
LFN void faces_contact(const contact *con, const real *origin, const real *normal, mask second,
                       const contact_grad *grad, const real *normal_grad, real *point, real *point_grad,
                       real *dist_grad, real *face_grad)
{
    real half = splat((ureal)0.5) * con->dist, sign = select(second, splat(-1), splat(1));
    v3_sub(con->pos, origin, point);
    v3_add_scaled(point, normal, half, point);
    v3_copy(grad->pos, point_grad);
    *dist_grad = fma(splat((ureal)-0.5), v3_dot(normal, grad->pos), grad->dist);
    for (int k = 0; k < 3; ++k) face_grad[k] = fma(sign, normal_grad[k], -(half * grad->pos[k]));
}

/* Of two boxes, at a corner of the incident face, whose heights are over the reference face. */
LFN mask box_faces_pull(contacts_pair *pair, const meeting *f, const contact *con, mask second,
                        const contact_grad *grad, const real *normal_grad, mask lanes)
{
    real reference[3], incident[3], p[3], p_grad[3], dist_grad, face_grad[3];
    v3_select(second, f->face2.normal, f->face1.normal, reference);
    v3_select(second, f->face1.normal, f->face2.normal, incident);
    faces_contact(con, pair->a.g.pos, reference, second, grad, normal_grad, p, p_grad, &dist_grad, face_grad);
    faces_turn(pair, lanes, second, reference, face_grad);
    faces_height(pair, f, lanes, second, reference, p, con->dist, dist_grad, p_grad);
    mask sure = faces_corner(pair, f, lanes, m_not(second), incident, p, p_grad);
    return sure;
}

/*
 * Of two faces (collide_manifold): a corner in the second one's plane, from which the first one's plane is at `way`
 * along the first one's normal.
 */
LFN mask two_faces_pull(contacts_pair *pair, const meeting *f, const contact *con, const contact_grad *grad,
                        const real *normal_grad, mask lanes)
{
    const real *one = f->face1.normal, *two = f->face2.normal;
    real point[3], p[3], p_grad[3], dist_grad, one_grad[3], two_grad[3], force[3], opposed = v3_dot(one, two);
    mask all = m_all();
    faces_contact(con, pair->a.g.pos, two, all, grad, normal_grad, point, p_grad, &dist_grad, two_grad);
    real way = con->dist / opposed, way_grad = fma(opposed, dist_grad, v3_dot(one, p_grad));
    v3_add_scaled(point, one, -way, p);
    for (int k = 0; k < 3; ++k) {
        one_grad[k] = way * fma(dist_grad, two[k], p_grad[k]);
        two_grad[k] = fma(way * dist_grad, one[k], two_grad[k]);
    }
    faces_turn(pair, lanes, m_none(), one, one_grad);
    faces_turn(pair, lanes, all, two, two_grad);
    v3_scale(one, way_grad, force);
    faces_force(pair, f, lanes, m_none(), point, force);
    v3_sub(p_grad, force, p_grad);
    mask sure = faces_corner(pair, f, lanes, all, two, p, p_grad);
    return sure;
}

/*
 * An edge of one geom on the face of another: an end of the edge, or where a side of the face cuts it. The edge is
 * `radius` along `way`, the one contact's normal, from the core; *way_grad grows. A cylinder's goes around with it.
 * Gives the lanes where that is clear; in others the point stays on the edge.
 */
LFN mask edge_on_face_pull(contacts_pair *pair, const meeting *f, const contact *con, mask second,
                           const geom_edge *edge, int edge_second, const real *way, const contact_grad *grad,
                           const real *normal_grad, mask lanes, real *way_grad)
{
    const convex *c = edge_second ? &pair->b : &pair->a;
    geom_grad *g = edge_second ? &pair->b_grad : &pair->a_grad;
    const feature *face = edge_second ? &f->face1 : &f->face2;
    face_side side;
    real p[3], p_grad[3], dist_grad, face_grad[3], along[3], gap[3], ends2 = splat((ureal)1e20), force[3];
    faces_contact(con, pair->a.g.pos, face->normal, second, grad, normal_grad, p, p_grad, &dist_grad, face_grad);
    faces_turn(pair, lanes, second, face->normal, face_grad);
    faces_height(pair, f, lanes, second, face->normal, p, con->dist, dist_grad, p_grad);
    v3_sub(edge->corner[1], edge->corner[0], along);
    v3_normalize(along);
    for (int i = 0; i < 2; ++i) {
        v3_sub(p, edge->corner[i], gap);
        ends2 = rmin(ends2, v3_dot(gap, gap));
    }
    face_side_find(f, p, 0, edge_second ? lanes : m_none(), edge_second ? m_none() : lanes, &side);
    real across = v3_dot(side.normal, along);
    mask cut = m_and(lanes, lt(side.miss2, ends2)), parallel = m_and(cut, lt(rabs(across), splat((ureal)1e-3)));
    mask sure = m_and(m_andnot(lanes, parallel), le(rmin(side.miss2, ends2), faces_slack2(f)));
    cut = m_and(cut, sure);
    v3_scale(side.normal, v3_dot(along, p_grad) / select(cut, across, splat(1)), force);
    faces_force(pair, f, cut, second, p, force);
    for (int k = 0; k < 3; ++k) p_grad[k] = p_grad[k] - select(cut, force[k], splat(0));

    real core[3], around[3], local[3], axis[3], radius = convex_radius(c);
    v3_add_scaled(p, way, -radius, core);
    if (edge_second) v3_sub(core, f->b.g.pos, core);
    grad_add_point(lanes, c, core, p_grad, g);
    if (c->type == CONVEX_CAPSULE) {
        g->size[0] = g->size[0] + select(lanes, v3_dot(p_grad, way), splat(0));
        for (int k = 0; k < 3; ++k) way_grad[k] = way_grad[k] + select(lanes, radius * p_grad[k], splat(0));
    }
    if (c->type == CONVEX_CYLINDER) {
        m3_column(c->g.mat, 2, axis);
        v3_cross(axis, way, around);
        real flat = v3_normalize(around);
        flat = rmax(flat, splat(PHYSICS_MINVAL));
        real slide = v3_dot(around, p_grad) * c->g.size[0] / flat;
        v3_scale(around, slide, local);
        for (int k = 0; k < 3; ++k) way_grad[k] = way_grad[k] + select(sure, local[k], splat(0));
        v3_scale(local, splat(-1), local);
        grad_add_turn(sure, way, local, g);
    }
    return sure;
}

#endif
