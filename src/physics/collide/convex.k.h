/*
 * Convex geoms by their support points, and the distance between two of them (Gilbert, Johnson, Keerthi).
 *
 * A convex geom is a core, the plain set whose support points are used, and a radius around it: a sphere's core is a
 * point, a capsule's a segment. Everything is relative to the first geom's centre. The difference of two cores, A - B,
 * contains the origin where the cores overlap; its point next to the origin is the difference of the nearest points.
 */
#ifndef STI_PHYSICS_COLLIDE_CONVEX_K_H
#define STI_PHYSICS_COLLIDE_CONVEX_K_H
#include "physics/collide/hull.k.h"

/* mjtGeom's numbers, and a prism of a height field. */
#define CONVEX_SPHERE 2
#define CONVEX_CAPSULE 3
#define CONVEX_ELLIPSOID 4
#define CONVEX_CYLINDER 5
#define CONVEX_BOX 6
#define CONVEX_MESH 7
#define CONVEX_PRISM 8

#define CONVEX_FAR ((ureal)1e10) /* m */
#if STET_DOUBLE
#define CONVEX_ROUNDING ((ureal)1e-14)
#define CONVEX_ULPS ((ureal)1e-15)
#else
#define CONVEX_ROUNDING ((ureal)1e-6)
#define CONVEX_ULPS ((ureal)3e-7) /* how far a support point's height is rounded, of the coordinates it comes from */
#endif

typedef struct convex {
    geom g;
    int type;
    int hull;          /* a mesh: where its record is in the table of ints (hull.k.h) */
    real corner[6][3]; /* a prism's: three below, the three above them */
} convex;

/* `type` is mjtGeom's; `hull` is a mesh's. */
LFN void convex_of_geom(const geom *g, int type, int hull, convex *c)
{
    c->g = *g;
    c->type = type;
    c->hull = hull;
    for (int i = 0; i < 6; ++i)
        for (int k = 0; k < 3; ++k) c->corner[i][k] = splat(0);
}

/* A point of A - B, and the point of A that it comes from. */
typedef struct convex_point {
    real v[3], on_a[3];
} convex_point;

LFN real convex_radius(const convex *c)
{
    return c->type == CONVEX_SPHERE || c->type == CONVEX_CAPSULE ? c->g.size[0] : splat(0);
}
/* A flat or pointed surface: supports at corners are exact. */
LFN int convex_is_round(const convex *c) { return c->type == CONVEX_ELLIPSOID || c->type == CONVEX_CYLINDER; }

/* The greatest coordinate of its points, or somewhat more: what is computed with them is rounded accordingly. */
LFN real convex_reach(const convex *c)
{
    real reach = splat(PHYSICS_MINVAL);
    for (int k = 0; k < 3; ++k) {
        reach = rmax(reach, rmax(c->g.size[k], rabs(c->g.pos[k])));
        for (int i = 0; c->type == CONVEX_PRISM && i < 6; ++i) reach = rmax(reach, rabs(c->corner[i][k]));
    }
    return reach;
}

LFN void prism_support(const convex *c, const real *way, real *p)
{
    real most = v3_dot(c->corner[0], way);
    v3_copy(c->corner[0], p);
    for (int i = 1; i < 6; ++i) {
        real along = v3_dot(c->corner[i], way);
        mask more = gt(along, most);
        most = select(more, along, most);
        v3_select(more, c->corner[i], p, p);
    }
}

/* The point of a core that is farthest along a direction; in the geom's own frame. */
LFN void core_support(const convex *c, const int *tables, const ureal *reals, const real *way, real *p)
{
    const real *size = c->g.size;
    for (int k = 0; k < 3; ++k) p[k] = splat(0);
    if (c->type == CONVEX_CAPSULE) p[2] = select(ge(way[2], splat(0)), size[1], -size[1]);
    if (c->type == CONVEX_ELLIPSOID) {
        for (int k = 0; k < 3; ++k) p[k] = way[k] * size[k];
        v3_normalize(p);
        for (int k = 0; k < 3; ++k) p[k] = p[k] * size[k];
    }
    if (c->type == CONVEX_CYLINDER) {
        real length2 = fma(way[0], way[0], way[1] * way[1]);
        mask upright = lt(length2, splat(PHYSICS_MINVAL * PHYSICS_MINVAL));
        real scale = select(upright, splat(0), size[0] / sqrt(select(upright, splat(1), length2)));
        p[0] = way[0] * scale;
        p[1] = way[1] * scale;
        p[2] = select(ge(way[2], splat(0)), size[1], -size[1]);
    }
    if (c->type == CONVEX_BOX)
        for (int k = 0; k < 3; ++k) p[k] = select(ge(way[k], splat(0)), size[k], -size[k]);
    if (c->type == CONVEX_MESH) hull_support(tables + c->hull, reals, way, p);
    if (c->type == CONVEX_PRISM) prism_support(c, way, p);
}

/* The same where the geom is. */
LFN void convex_farthest(const convex *c, const int *tables, const ureal *reals, const real *way, real *p)
{
    real local[3], point[3];
    m3_mul_transposed(c->g.mat, way, local);
    core_support(c, tables, reals, local, point);
    m3_mul(c->g.mat, point, p);
    v3_add(p, c->g.pos, p);
}

/* The point of A - B farthest along a unit direction. */
LFN void convex_support(const convex *a, const convex *b, const int *tables, const ureal *reals, const real *way,
                        convex_point *s)
{
    real back[3], on_b[3];
    convex_farthest(a, tables, reals, way, s->on_a);
    v3_scale(way, splat(-1), back);
    convex_farthest(b, tables, reals, back, on_b);
    v3_sub(s->on_a, on_b, s->v);
}

LFN void convex_point_copy_if(mask m, const convex_point *from, convex_point *to)
{
    v3_select(m, from->v, to->v, to->v);
    v3_select(m, from->on_a, to->on_a, to->on_a);
}

/* Up to three points kept, a fourth one being added, and their weights at the point next to the origin. */
typedef struct convex_simplex {
    convex_point kept[3], added;
    convex_point fourth; /* where they enclose the origin: `added` then */
    mask used[3];
    real weight[3], weight_added;
    real near[3], dist2; /* the point next to the origin, of the kept points */
    mask encloses;       /* the four points enclose the origin */
    real way[3], along;  /* the direction tried that separates best: a plane across it is `along` from the origin */
    mask open;           /* no nearest point was found within the tolerance: only `way` and `along` are certain */
} convex_simplex;

/* The point next to the origin on the segment from the added point to a kept one. */
LFN void simplex_try_segment(const convex_simplex *s, int i, real *best, real *weight, real *weight_added)
{
    real way[3], at[3], zero = splat(0), one = splat(1);
    v3_sub(s->kept[i].v, s->added.v, way);
    real length2 = v3_dot(way, way);
    mask exists = m_and(s->used[i], gt(length2, zero));
    real t = clamp(-v3_dot(s->added.v, way) / select(exists, length2, one), zero, one);
    v3_add_scaled(s->added.v, way, t, at);
    real dist2 = v3_dot(at, at);
    mask better = m_and(exists, lt(dist2, *best));
    *best = select(better, dist2, *best);
    *weight_added = select(better, one - t, *weight_added);
    for (int k = 0; k < 3; ++k) weight[k] = select(better, k == i ? t : zero, weight[k]);
}

/* The same within the triangle of the added point and two kept ones. */
LFN void simplex_try_triangle(const convex_simplex *s, int i, int j, real *best, real *weight, real *weight_added)
{
    real u[3], v[3], normal[3], cross[3], zero = splat(0);
    v3_sub(s->kept[i].v, s->added.v, u);
    v3_sub(s->kept[j].v, s->added.v, v);
    v3_cross(u, v, normal);
    real area2 = v3_dot(normal, normal);
    real flat = splat(CONVEX_ROUNDING * CONVEX_ROUNDING) * v3_dot(u, u) * v3_dot(v, v);
    mask exists = m_and(m_and(s->used[i], s->used[j]), gt(area2, flat));
    area2 = select(exists, area2, splat(1));
    v3_cross(v, s->added.v, cross);
    real a = v3_dot(cross, normal) / area2;
    v3_cross(s->added.v, u, cross);
    real b = v3_dot(cross, normal) / area2, rest = splat(1) - a - b;
    real height = v3_dot(s->added.v, normal), dist2 = height * height / area2;
    mask within = m_and(gt(rest, zero), m_and(gt(a, zero), gt(b, zero)));
    mask better = m_and(m_and(exists, within), lt(dist2, *best));
    *best = select(better, dist2, *best);
    *weight_added = select(better, rest, *weight_added);
    for (int k = 0; k < 3; ++k) weight[k] = select(better, k == i ? a : k == j ? b : zero, weight[k]);
}

LFN mask same_sign(real a, real b) { return gt(a * b, splat(0)); }

/* Do the four points enclose the origin? */
LFN mask simplex_encloses(const convex_simplex *s)
{
    real cross[3], parts[4];
    const real *d = s->added.v;
    v3_cross(s->kept[1].v, s->kept[2].v, cross);
    parts[0] = v3_dot(d, cross); /* the volume of origin, added, 1, 2, and so on */
    v3_cross(s->kept[2].v, s->kept[0].v, cross);
    parts[1] = v3_dot(d, cross);
    v3_cross(s->kept[0].v, s->kept[1].v, cross);
    parts[2] = v3_dot(d, cross);
    parts[3] = -v3_dot(s->kept[2].v, cross);
    mask all_used = m_and(s->used[0], m_and(s->used[1], s->used[2]));
    return m_and(all_used, m_and(same_sign(parts[0], parts[1]),
                                 m_and(same_sign(parts[1], parts[2]), same_sign(parts[2], parts[3]))));
}

/* Adds a support point in some lanes: finds the new nearest point and keeps the points that carry it. */
LFN void simplex_add(convex_simplex *s, mask lanes)
{
    real best = v3_dot(s->added.v, s->added.v), weight_added = splat(1), weight[3];
    for (int k = 0; k < 3; ++k) weight[k] = splat(0);
    for (int i = 0; i < 3; ++i) simplex_try_segment(s, i, &best, weight, &weight_added);
    for (int i = 0; i < 3; ++i) simplex_try_triangle(s, i, (i + 1) % 3, &best, weight, &weight_added);
    mask encloses = m_and(lanes, simplex_encloses(s));
    s->encloses = m_or(s->encloses, encloses);
    convex_point_copy_if(encloses, &s->added, &s->fourth);

    mask change = m_andnot(lanes, encloses), waits = change;
    for (int i = 0; i < 3; ++i) {
        mask stays = gt(weight[i], splat(0)), here = m_andnot(waits, stays);
        s->weight[i] = select(change, select(here, weight_added, weight[i]), s->weight[i]);
        s->used[i] = m_or(m_andnot(s->used[i], change), m_and(change, m_or(stays, here)));
        convex_point_copy_if(here, &s->added, &s->kept[i]);
        waits = m_andnot(waits, here);
    }
    real near[3];
    for (int k = 0; k < 3; ++k) near[k] = splat(0);
    for (int i = 0; i < 3; ++i) {
        real w = select(s->used[i], s->weight[i], splat(0));
        v3_add_scaled(near, s->kept[i].v, w, near);
    }
    v3_select(change, near, s->near, s->near);
    s->dist2 = select(change, v3_dot(s->near, s->near), s->dist2);
}

/* The nearest point on A. */
LFN void simplex_near_a(const convex_simplex *s, real *near)
{
    for (int k = 0; k < 3; ++k) near[k] = splat(0);
    for (int i = 0; i < 3; ++i) v3_add_scaled(near, s->kept[i].on_a, select(s->used[i], s->weight[i], splat(0)), near);
}

/* Keeps the direction just tried, along which the added point is -along from the origin, if it separates best. */
LFN void simplex_keep_way(convex_simplex *s, const real *way, real along, mask lanes)
{
    mask better = m_and(lanes, gt(along, s->along));
    s->along = select(better, along, s->along);
    v3_select(better, way, s->way, s->way);
}

/* Where shapes of meshes are (hull.k.h), how far apart geoms may be, and when a search ends. */
typedef struct convex_search {
    const int *tables;
    const ureal *reals;
    real margin, tolerance;
    int iterations;
} convex_search;

/*
 * Fills s in some lanes. Gives the lanes whose cores overlap or touch within the tolerance; in the others s->near is
 * the difference of the nearest points, where these are not farther apart than the margin: `far` are those that are.
 * That is said with a plane that separates them, never because the search ends: that is what s->open is for.
 */
LFN mask convex_distance(const convex *a, const convex *b, convex_search search, mask lanes, convex_simplex *s,
                         mask *far)
{
    real tolerance = search.tolerance;
    mask active = lanes, touch = m_none();
    *far = m_none();
    s->encloses = m_none();
    for (int i = 0; i < 3; ++i) {
        s->used[i] = m_none();
        s->weight[i] = splat(0);
        for (int k = 0; k < 3; ++k) {
            s->kept[i].v[k] = splat(0);
            s->kept[i].on_a[k] = splat(0);
        }
    }
    s->fourth = s->kept[0];
    v3_sub(a->g.pos, b->g.pos, s->near);
    mask same = lt(v3_dot(s->near, s->near), tolerance * tolerance);
    s->near[0] = select(same, splat(1), s->near[0]);
    s->dist2 = v3_dot(s->near, s->near);
    for (int k = 0; k < 3; ++k) s->way[k] = splat(k == 0 ? 1 : 0);
    s->along = splat(-CONVEX_FAR);
    s->open = lanes;
    for (int n = 0; n < search.iterations && any(active); ++n) {
        real way[3], old = s->dist2;
        v3_scale(s->near, select(active, splat(-1) / sqrt(select(active, old, splat(1))), splat(0)), way); /* 0: none */
        convex_support(a, b, search.tables, search.reals, way, &s->added);
        real along = -v3_dot(s->added.v, way); /* a plane this far from the origin separates */
        simplex_keep_way(s, way, along, active);
        mask apart = m_and(active, gt(along, search.margin));
        *far = m_or(*far, apart);
        if (n > 0) {
            real gap = old - along * sqrt(old); /* bounds the squared error of the nearest point */
            real bound = rmax(tolerance * tolerance * splat((ureal)0.5), old * splat(CONVEX_ROUNDING));
            apart = m_or(apart, m_and(active, lt(gap, bound)));
        }
        s->open = m_andnot(s->open, apart);
        active = m_andnot(active, apart);
        if (!any(active)) break;
        simplex_add(s, active);
        mask tiny = m_and(active, m_or(s->encloses, lt(s->dist2, tolerance * tolerance)));
        touch = m_or(touch, tiny);
        active = m_andnot(active, tiny);
        if (n > 0) active = m_and(active, lt(s->dist2, old)); /* no progress is left */
    }
    s->open = m_andnot(s->open, m_or(touch, le(sqrt(s->dist2) - s->along, tolerance)));
    return touch;
}

#endif
