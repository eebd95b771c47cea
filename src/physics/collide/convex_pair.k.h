/*
 * One contact between two convex geoms: their nearest points, or where the cores overlap the least way out.
 *
 * CONVEX-1: no contact is lost. A direction's height, the greatest of A - B along it, is never less than the depth, so
 * the least height of all directions tried says at least how deep the cores are; "apart" is such a direction. Where a
 * search ends without the nearest point or the last face of a polytope, other directions are tried and improved.
 */
#ifndef STI_PHYSICS_COLLIDE_CONVEX_PAIR_K_H
#define STI_PHYSICS_COLLIDE_CONVEX_PAIR_K_H
#include "physics/collide/penetration.k.h"

#define CONVEX_REFINEMENTS 8
#define CONVEX_PULL ((ureal)0.125) /* how far cores are pulled apart to be refined, of their reach */

/* Keeps a direction of any length and its height, if that is the least. */
LFN void convex_try(const convex *a, const convex *b, const int *tables, const ureal *reals, const real *direction,
                    mask lanes, penetration *out)
{
    convex_point s;
    real way[3];
    v3_copy(direction, way);
    real length = v3_normalize(way);
    lanes = m_and(lanes, gt(length, splat((ureal)1e-6)));
    convex_support(a, b, tables, reals, way, &s);
    real height = v3_dot(way, s.v);
    mask better = m_and(lanes, lt(height, out->depth));
    out->depth = select(better, height, out->depth);
    v3_select(better, way, out->normal, out->normal);
    v3_select(better, s.on_a, out->on_a, out->on_a);
}

/* Axis i of the six of two geoms. */
LFN void convex_axis(const convex *a, const convex *b, int i, real *axis)
{
    m3_column(i < 3 ? a->g.mat : b->g.mat, i % 3, axis);
}

/*
 * The directions in which geoms with axes are likely to be least deep: axes, across two of them, and from an axis to
 * the other's centre.
 */
LFN void convex_try_axes(const convex *a, const convex *b, const int *tables, const ureal *reals, mask lanes,
                         penetration *out)
{
    real axis[3], other[3], way[3];
    rolled
    for (int i = 0; i < 6; ++i) {
        convex_axis(a, b, i, axis);
        rolled
        for (int j = 0; j < 5; ++j) {
            v3_copy(axis, way); /* j = 0: the axis; 1 to 3: across it and one of the second geom's; 4: from it */
            if (j == 4) v3_add_scaled(b->g.pos, axis, -v3_dot(axis, b->g.pos), way);
            if (j > 0 && j < 4) {
                if (i > 2) continue;
                convex_axis(a, b, 2 + j, other);
                v3_cross(axis, other, way);
            }
            for (int sign = 0; sign < 2; ++sign) {
                convex_try(a, b, tables, reals, way, lanes, out);
                v3_scale(way, splat(-1), way);
            }
        }
    }
}

/*
 * Improves a direction that is near the least way out: pulled apart along it, the cores have nearest points, whose
 * distance is well conditioned. The place is theirs, too.
 */
LFN void convex_refine(const convex *a, const convex *b, const int *tables, const ureal *reals, real reach,
                       int iterations, mask lanes, penetration *out)
{
    real rounding = splat(CONVEX_ULPS) * reach;
    for (int n = 0; n < CONVEX_REFINEMENTS && any(lanes); ++n) {
        convex pulled = *b;
        convex_simplex s;
        mask far;
        real way[3], near[3];
        convex_search search = {tables, reals, splat(CONVEX_FAR), rounding, iterations};
        v3_add_scaled(b->g.pos, out->normal, fma(splat(CONVEX_PULL), reach, out->depth), pulled.g.pos);
        mask meets = convex_distance(a, &pulled, search, lanes, &s, &far);
        mask known = m_andnot(m_andnot(lanes, meets), s.open);
        v3_scale(s.near, splat(-1) / sqrt(select(known, s.dist2, splat(1))), way);
        convex_point point;
        convex_support(a, b, tables, reals, way, &point);
        real height = v3_dot(way, point.v);
        mask same = m_and(known, le(height, out->depth + rounding));
        lanes = m_and(same, lt(height, out->depth - rounding));
        simplex_near_a(&s, near);
        out->depth = select(same, height, out->depth);
        v3_select(same, way, out->normal, out->normal);
        v3_select(same, near, out->on_a, out->on_a);
    }
}

/*
 * Tolerance and iterations are MuJoCo's ccd_tolerance and ccd_iterations. Called, so that a model with a height field
 * has the polytope's 5 kB of local memory, and 9000 instructions, once; where there is one caller, its shapes stay in
 * registers instead (CONVEX_PAIR, which who includes this may define).
 */
#ifndef CONVEX_PAIR
#define CONVEX_PAIR STET_CALLED
#endif
CONVEX_PAIR LFN void collide_convex(const convex *first, const convex *second, convex_search search, mask lanes,
                                    contact *c)
{
    convex a = *first, b = *second;
    v3_sub(second->g.pos, first->g.pos, b.g.pos);
    for (int k = 0; k < 3; ++k) a.g.pos[k] = splat(0);
    real radius = convex_radius(&a), radii = radius + convex_radius(&b);
    convex_simplex s;
    penetration p;
    mask far;
    real reach = rmax(convex_reach(&a), convex_reach(&b)), rounding = splat(CONVEX_ULPS) * reach;
    real near = rmax(search.tolerance * rmin(splat(16) * reach, splat(1)), rounding);
    convex_search cores = {search.tables, search.reals, search.margin + radii, near, search.iterations};
    mask touch = convex_distance(&a, &b, cores, lanes, &s, &far);
    mask deep = m_or(touch, s.open);
    p.depth = -s.along;
    v3_copy(s.way, p.normal);
    simplex_near_a(&s, p.on_a);
    if (any(deep)) {
        if (!convex_is_round(&a) && !convex_is_round(&b)) near = rounding;
        p.open = deep;
        convex_search depth = {search.tables, search.reals, search.margin, near, search.iterations};
        convex_penetration(&a, &b, depth, rounding, &s, deep, &p);
        if (any(p.open)) {
            convex_try_axes(&a, &b, search.tables, search.reals, p.open, &p);
            convex_refine(&a, &b, search.tables, search.reals, reach, search.iterations, p.open, &p);
        }
    }
    c->dist = -(p.depth + radii);
    v3_copy(p.normal, c->normal);
    c->hit = m_and(m_andnot(lanes, far), le(c->dist, search.margin));
    v3_add(p.on_a, first->g.pos, p.on_a);
    v3_add_scaled(p.on_a, c->normal, fma(c->dist, splat((ureal)0.5), radius), c->pos);
}

#endif
