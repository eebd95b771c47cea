/* One contact between two convex geoms: their nearest points, or where the cores overlap the least way out. */
#ifndef STI_PHYSICS_COLLIDE_CONVEX_PAIR_K_H
#define STI_PHYSICS_COLLIDE_CONVEX_PAIR_K_H
#include "physics/collide/penetration.k.h"

/* `tolerance` and `iterations` are MuJoCo's ccd_tolerance and ccd_iterations. */
LFN void collide_convex(const convex *first, const convex *second, const int *tables, const ureal *reals, real margin,
                        ureal tolerance, int iterations, mask lanes, contact *c)
{
    convex a = *first, b = *second;
    v3_sub(second->g.pos, first->g.pos, b.g.pos);
    for (int k = 0; k < 3; ++k) a.g.pos[k] = splat(0);
    real radius = convex_radius(&a), radii = radius + convex_radius(&b), near[3];
    convex_simplex s;
    mask far;
    mask touch = convex_distance(&a, &b, tables, reals, margin + radii, splat(tolerance), iterations, lanes, &s, &far);
    real dist = sqrt(s.dist2);
    for (int k = 0; k < 3; ++k) near[k] = splat(0);
    for (int i = 0; i < 3; ++i) v3_add_scaled(near, s.kept[i].on_a, select(s.used[i], s.weight[i], splat(0)), near);
    v3_scale(s.near, splat(-1) / select(touch, splat(1), dist), c->normal);
    c->dist = dist - radii;
    c->hit = m_andnot(lanes, m_or(far, touch));
    if (any(touch)) {
        penetration p;
        int round = convex_is_round(&a) | convex_is_round(&b);
        convex_penetration(&a, &b, tables, reals, splat(round ? tolerance : 0), iterations, &s, touch, &p);
        c->dist = select(touch, -(p.depth + radii), c->dist);
        v3_select(touch, p.normal, c->normal, c->normal);
        v3_select(touch, p.on_a, near, near);
        c->hit = m_or(c->hit, m_and(touch, p.valid));
    }
    c->hit = m_and(c->hit, le(c->dist, margin));
    v3_add(near, first->g.pos, near);
    v3_add_scaled(near, c->normal, fma(c->dist, splat((ureal)0.5), radius), c->pos);
}

#endif
