/*
 * A prism of a height field and a convex geom: one contact. Its corners 0, 1, 2 are at the field's base, 3, 4, 5 above
 * them. In prism 0 of a cell they go counterclockwise, in prism 1 clockwise; its sides are upright.
 *
 * Most pairs are decided by the plane of the top; what is left of spheres is their centre's nearest point, in closed
 * form. Other geoms beside the top's edges, or in the ground with their core, are those of convex_pair.k.h.
 */
#ifndef STI_PHYSICS_COLLIDE_PRISM_K_H
#define STI_PHYSICS_COLLIDE_PRISM_K_H
#include "physics/collide/convex_pair.k.h"

/* Upwards. */
LFN void prism_top_normal(const convex *prism, int second, real *normal)
{
    real u[3], v[3];
    v3_sub(prism->corner[second ? 5 : 4], prism->corner[3], u);
    v3_sub(prism->corner[second ? 4 : 5], prism->corner[3], v);
    v3_cross(u, v, normal);
    v3_normalize(normal);
}

/* The contact of a core's point at a height over a surface of the prism; both are relative to the prism's place. */
LFN void prism_contact(const convex *prism, const convex *c, const real *point, const real *normal, real height,
                       real margin, mask lanes, contact *found)
{
    contact one;
    one.dist = height - convex_radius(c);
    one.hit = m_and(lanes, le(one.dist, margin));
    v3_add_scaled(point, normal, fma(one.dist, splat((ureal)0.5), -height), one.pos);
    v3_add(one.pos, prism->g.pos, one.pos);
    v3_copy(normal, one.normal);
    contact_copy_if(lanes, &one, found);
}

/*
 * What the plane of the top decides alone, by the core's point that is lowest over it. Higher than the margin: there is
 * no contact. Above the plane and over the triangle: that point is nearest. Gives the lanes left undecided.
 */
LFN mask prism_top(const convex *prism, int second, const convex *c, const int *tables, const ureal *reals, real margin,
                   mask lanes, contact *found)
{
    real normal[3], down[3], point[3], from[3], foot[3], zero = splat(0);
    const real *near = prism->corner[second ? 3 : 4], *far = prism->corner[second ? 4 : 5]; /* the diagonal's ends */
    prism_top_normal(prism, second, normal);
    v3_scale(normal, splat(-1), down);
    convex_farthest(c, tables, reals, down, point);
    v3_sub(point, prism->g.pos, point);
    v3_sub(point, near, from);
    real height = v3_dot(from, normal);
    v3_add_scaled(point, normal, -height, foot);
    real right = fma(foot[0], far[1], -(foot[1] * far[0])); /* of the diagonal */
    mask over = second ? m_and(m_and(ge(foot[1], zero), le(foot[0], far[0])), ge(right, zero))
                       : m_and(m_and(ge(foot[0], zero), le(foot[1], far[1])), le(right, zero));
    mask apart = gt(height - convex_radius(c), margin);
    mask decided = m_and(lanes, m_or(apart, m_and(over, ge(height, zero))));
    prism_contact(prism, c, point, normal, height, margin, decided, found);
    return m_andnot(lanes, decided);
}

/* A point's nearest one on the surface, or its nearest face, as they are found. */
typedef struct prism_nearest {
    real away[3], dist2; /* from the nearest point on the sides and on the top's edges */
    real inside, way[3]; /* the greatest height over a face, and the face's normal */
    mask column;         /* between the sides */
} prism_nearest;

LFN void prism_try_point(mask m, const real *away, prism_nearest *n)
{
    real dist2 = v3_dot(away, away);
    mask better = m_and(m, lt(dist2, n->dist2));
    n->dist2 = select(better, dist2, n->dist2);
    v3_select(better, away, n->away, n->away);
}

LFN void prism_try_face(real height, const real *normal, prism_nearest *n)
{
    mask better = gt(height, n->inside);
    n->inside = select(better, height, n->inside);
    v3_select(better, normal, n->way, n->way);
}

/* The side from top corner a to b, and the edge between them; `turn`: 1 if corners go counterclockwise, or -1. */
LFN void prism_try_side(const real *point, const real *a, const real *b, real bottom, ureal turn, prism_nearest *n)
{
    real from[3], edge[3], away[3], normal[3], zero = splat(0), one = splat(1);
    v3_sub(point, a, from);
    v3_sub(b, a, edge);
    real flat2 = fma(edge[0], edge[0], edge[1] * edge[1]), scale = splat(turn) / sqrt(flat2);
    normal[0] = edge[1] * scale;
    normal[1] = -edge[0] * scale;
    normal[2] = zero;
    real outside = fma(from[0], normal[0], from[1] * normal[1]);
    n->column = m_and(n->column, le(outside, zero));
    prism_try_face(outside, normal, n);
    real t = clamp(fma(from[0], edge[0], from[1] * edge[1]) / flat2, zero, one);
    v3_add_scaled(from, edge, -t, away);
    away[2] = point[2] - clamp(point[2], bottom, fma(edge[2], t, a[2]));
    prism_try_point(m_all(), away, n);
    t = clamp(v3_dot(from, edge) / v3_dot(edge, edge), zero, one);
    v3_add_scaled(from, edge, -t, away);
    prism_try_point(m_all(), away, n);
}

/* A sphere, where the top does not decide. Its centre counts as inside where it is nearer than the tolerance. */
LFN void prism_sphere(const convex *prism, int second, const convex *sphere, real margin, real tolerance, mask lanes,
                      contact *found)
{
    prism_nearest n;
    real point[3], from[3], normal[3], bottom = prism->corner[0][2];
    v3_sub(sphere->g.pos, prism->g.pos, point);
    prism_top_normal(prism, second, n.way);
    v3_sub(point, prism->corner[3], from);
    n.inside = v3_dot(from, n.way);
    n.dist2 = splat((ureal)1e20);
    n.column = le(n.inside, splat(0));
    for (int k = 0; k < 3; ++k) n.away[k] = splat(0);
    for (int i = 0; i < 3; ++i)
        prism_try_side(point, prism->corner[3 + i], prism->corner[3 + (i + 1) % 3], bottom, second ? -1 : 1, &n);
    mask inside = m_or(m_and(n.column, ge(point[2], bottom)), lt(n.dist2, tolerance * tolerance));
    for (int k = 0; k < 3; ++k) normal[k] = splat(k == 2 ? -1 : 0);
    real below = bottom - point[2];
    prism_try_face(below, normal, &n);
    v3_scale(normal, below, from);
    prism_try_point(n.column, from, &n);
    real dist = sqrt(n.dist2);
    v3_scale(n.away, splat(1) / select(inside, splat(1), dist), normal);
    v3_select(inside, n.way, normal, normal);
    prism_contact(prism, sphere, point, normal, select(inside, n.inside, dist), margin, lanes, found);
}

LFN void collide_prism(const convex *prism, int second, const convex *c, convex_search search, mask lanes,
                       contact *found)
{
    contact_clear(found, 1);
    mask open = prism_top(prism, second, c, search.tables, search.reals, search.margin, lanes, found);
    if (!any(open)) return;
    if (c->type == CONVEX_SPHERE) {
        prism_sphere(prism, second, c, search.margin, search.tolerance, open, found);
    } else {
        contact nearest;
        collide_convex(prism, c, search, open, &nearest);
        contact_copy_if(open, &nearest, found);
    }
}

#endif
