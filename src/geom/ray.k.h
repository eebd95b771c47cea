/*
 * Rays against shapes. Lanes are rays, one geom at a time is uniform; everything is in the geom's own frame.
 *
 * What a ray hits, as in MuJoCo's mj_ray and mju_rayGeom:
 *     plane         from above (+z) only, within the half sizes x, y (a half size of 0: infinite)
 *     sphere, capsule, ellipsoid, cylinder, box
 *                   the surface of a solid, from outside and from inside; a ray that starts inside hits where it leaves
 *     mesh          the nearest triangle, seen from either side
 *     cone          the surface of a solid; MuJoCo has none, and only pictures show it, as an arrow's head
 *     height field  the nearest of: its base as a box from -base to 0 (also its lid at z = 0, for rays from within),
 *                   the triangles of its surface from either side, and the walls between base and surface
 *                   at its four ends
 *
 * A ray that starts on a surface hits at 0. Normals point out of the solid (of a triangle: by its winding), whatever
 * side was hit.
 *
 * A picture's rays (ray_range) hit nothing nearer than their beginning, and nothing from within: one sees through what
 * the near plane cuts open, as with MuJoCo's renderer (doc/design/clipping.md).
 *
 * Invariants:
 *   RAY-1  a lane's result depends on its own ray and the geom only: not on its neighbours, not on the order in which a
 *       tree is traversed
 *   RAY-2  a ray with a NaN or an infinity, or without direction, hits nothing
 *   RAY-3  no ray passes between two triangles that share an edge (of equal vertices)
 *   RAY-4  between triangles that are equally far, the first in the order of the tree wins
 */
#ifndef STI_GEOM_RAY_K_H
#define STI_GEOM_RAY_K_H

#include "stet/lang.h"

/* MuJoCo's mjtGeom. */
#define RAY_PLANE 0
#define RAY_HFIELD 1
#define RAY_SPHERE 2
#define RAY_CAPSULE 3
#define RAY_ELLIPSOID 4
#define RAY_CYLINDER 5
#define RAY_BOX 6
#define RAY_MESH 7
#define RAY_SDF 8
#define RAY_CONE 9 /* not MuJoCo's: radius of its base, at z = 0, and its height */

/* Types that occur, a bit each. Code that is made for one scene has only these. */
#ifndef RAY_TYPES
#define RAY_TYPES 0x1ff /* those that physics knows */
#endif

/* RAY_LANES: sizes of shapes may differ between lanes. Then there are no cones, and no ray_geom. */
#ifndef RAY_LANES
#define RAY_LANES 0
#endif
#if RAY_LANES
#define RAY_SIZE real
#define ray_size(x) (x)
#define ray_same(x) splat(x) /* a size that is the same in all lanes */
#else
#define RAY_SIZE ureal
#define ray_size(x) splat(x)
#define ray_same(x) (x)
#endif

#define RAY_NODE 8      /* numbers per node, bvh.h */
#define RAY_TRI 12      /* numbers per triangle */
#define RAY_TRI_FACE 9  /* of these, the number of its face in the mesh */
#define RAY_STACK 33    /* a tree is at most 32 levels below its root (bvh.h) */
#define RAY_HEADER 4    /* numbers before the first elevation of a height field */
#define RAY_TINY 1e-20f /* replaces a component of a direction that is 0 */
#define RAY_HUGE 1e30f
/*
 * Boxes of a tree are padded by this part of the distance: 16 roundings of the largest coordinate. The box and triangle
 * tests need 9.
 */
#define RAY_PAD 9.5367431640625e-7f

/*
 * Which hits count: at t >= from; with front, only where a ray enters a solid, or meets the side that a normal points
 * to. bare: normals are not wanted, and not set.
 */
typedef struct ray_range {
    ureal from;
    int front, bare;
} ray_range;

/* Rays o + t d on lanes of `live`: o in metres, d of a length of 1e-3 … 1e3, t in units of it. */
typedef struct ray_lanes {
    const real *o, *d;
    mask live;
} ray_lanes;

/*
 * What rays have hit: t, the unit normal that points out of the solid (unless ray_range.bare), and (memory of the
 * lanes) the triangle of a mesh, in the order of the tree.
 */
typedef struct ray_hit {
    real *t, *n;
    int *part;
} ray_hit;

/* Is a type this one? */
LFN int ray_is(int type, int one) { return (RAY_TYPES >> one & 1) && type == one; }

LFN real ray_dot(const real *a, const real *b) { return fma(a[2], b[2], fma(a[1], b[1], a[0] * b[0])); }

/* 1 / x, where 0 is replaced by a tiny number of the same sign. */
LFN real ray_inverse(real x)
{
    real tiny = copysign_(splat((ureal)RAY_TINY), x);
    return splat(1) / select(lt(rabs(x), splat((ureal)RAY_TINY)), tiny, x);
}

/* Takes the candidate c on lanes of m where it is in range and nearer than *t; returns those lanes. */
LFN mask ray_take(ray_range range, mask m, real c, real *t)
{
    m = m_and(m, m_and(le(splat(range.from), c), lt(c, *t)));
    *t = select(m, c, *t);
    return m;
}

LFN void ray_take_normal(mask m, real x, real y, real z, real *n)
{
    n[0] = select(m, x, n[0]);
    n[1] = select(m, y, n[1]);
    n[2] = select(m, z, n[2]);
}

/* The same, made a unit vector. */
LFN void ray_take_direction(mask m, real x, real y, real z, real *n)
{
    real inv = splat(1) / sqrt(fma(z, z, fma(y, y, x * x)));
    ray_take_normal(m, x * inv, y * inv, z * inv, n);
}

/* Lanes whose first hit in range is where they enter a solid; the others hit it where they leave it. */
LFN mask ray_enters(ray_range range, real in) { return range.front ? m_all() : le(splat(range.from), in); }

/* The first of an interval's two ends that is in range. */
LFN real ray_first(ray_range range, real in, real out) { return select(ray_enters(range, in), in, out); }

/* Lanes in which x is within a plane's half size, which is 0 where it has no end. */
LFN mask ray_within(mask m, RAY_SIZE half, real x)
{
#if RAY_LANES
    return m_and(m, m_or(le(half, splat(0)), le(rabs(x), half)));
#else
    return half > 0 ? m_and(m, le(rabs(x), splat(half))) : m;
#endif
}

LFN void ray_plane(ray_range range, const RAY_SIZE *size, const real *o, const real *d, mask live, real *t, real *n)
{
    mask front = m_and(live, lt(d[2], splat(0)));
    real c = -o[2] / select(front, d[2], splat(-1));
    for (int k = 0; k < 2; ++k) front = ray_within(front, size[k], fma(c, d[k], o[k]));
    front = ray_take(range, front, c, t);
    if (range.bare) return;
    ray_take_normal(front, splat(0), splat(0), splat(1), n);
}

/*
 * Roots of |o + t d| = r: *mid and *half, in units of t; returns the lanes that have roots. The origin is first moved
 * to the ray's point nearest to the centre, so that no digits are lost where the ray starts far away. inv: 1 / d.d.
 */
LFN mask ray_ball(const real *o, const real *d, real inv, real r2, real *mid, real *half)
{
    real s = -ray_dot(o, d) * inv, p[3];
    for (int k = 0; k < 3; ++k) p[k] = fma(s, d[k], o[k]);
    real rest = r2 - ray_dot(p, p);
    mask ok = le(splat(0), rest);
    *mid = s;
    *half = sqrt(select(ok, rest, splat(0)) * inv);
    return ok;
}

LFN void ray_sphere(ray_range range, const RAY_SIZE *size, const real *o, const real *d, real inv, mask live, real *t,
                    real *n)
{
    real mid, half;
    mask ok = ray_ball(o, d, inv, ray_size(size[0] * size[0]), &mid, &half);
    ok = m_and(live, ok);
    real c = ray_first(range, mid - half, mid + half);
    ok = ray_take(range, ok, c, t);
    if (!range.bare && any(ok)) ray_take_direction(ok, fma(c, d[0], o[0]), fma(c, d[1], o[1]), fma(c, d[2], o[2]), n);
}

/* A unit sphere, in a frame that is scaled on each axis. */
LFN void ray_ellipsoid(ray_range range, const RAY_SIZE *size, const real *o, const real *d, mask live, real *t, real *n)
{
    real so[3], sd[3], inv[3], mid, half;
    for (int k = 0; k < 3; ++k) {
        inv[k] = splat(1) / ray_size(size[k]);
        so[k] = o[k] * inv[k];
        sd[k] = d[k] * inv[k];
    }
    mask ok = ray_ball(so, sd, splat(1) / ray_dot(sd, sd), splat(1), &mid, &half);
    ok = m_and(live, ok);
    real c = ray_first(range, mid - half, mid + half);
    ok = ray_take(range, ok, c, t);
    if (!range.bare && any(ok))
        ray_take_direction(ok, fma(c, sd[0], so[0]) * inv[0], fma(c, sd[1], so[1]) * inv[1],
                           fma(c, sd[2], so[2]) * inv[2], n);
}

/* The same roots for an infinite cylinder around z; for a ray along the axis, half is huge. */
LFN mask ray_tube(const real *o, const real *d, RAY_SIZE r, real *mid, real *half)
{
    real a = fma(d[1], d[1], d[0] * d[0]), b = fma(o[1], d[1], o[0] * d[0]);
    mask along = lt(a, splat((ureal)1e-28)); /* turns less than a nanometre in a hundred kilometres */
    real inv = splat(1) / select(along, splat((ureal)1e-30), a), s = select(along, splat(0), -b * inv);
    real x = fma(s, d[0], o[0]), y = fma(s, d[1], o[1]);
    real rest = ray_size(r * r) - fma(y, y, x * x);
    mask ok = le(splat(0), rest);
    *mid = s;
    *half = sqrt(select(ok, rest, splat(0)) * inv);
    return ok;
}

/*
 * Where the line enters (side -1) or leaves (side 1) a capsule, given where it enters or leaves the infinite tube. If
 * that point is beyond an end of the capsule, the line can only pass through the half ball at that end. Returns the
 * lanes that do.
 */
LFN mask ray_capsule_end(const RAY_SIZE *size, const real *o, const real *d, real inv, ureal side, real tube, real *c)
{
    real z = fma(tube, d[2], o[2]), mid, half;
    mask beyond = lt(ray_size(size[1]), rabs(z));
    *c = tube;
    if (!any(beyond)) return m_all();
    real q[3] = {o[0], o[1], o[2] - copysign_(ray_size(size[1]), z)};
    mask ok = ray_ball(q, d, inv, ray_size(size[0] * size[0]), &mid, &half);
    *c = select(beyond, fma(splat(side), half, mid), tube);
    return m_or(ok, m_not(beyond));
}

LFN void ray_capsule(ray_range range, const RAY_SIZE *size, const real *o, const real *d, real inv, mask live, real *t,
                     real *n)
{
    real mid, half, in, out;
    mask ok = ray_tube(o, d, size[0], &mid, &half);
    ok = m_and(live, ok);
    if (!any(ok)) return;
    mask near = ray_capsule_end(size, o, d, inv, -1, mid - half, &in);
    ok = m_and(ok, near);
    mask inside = m_and(ok, lt(in, splat(range.from)));
    if (!range.front && any(inside)) {
        mask far = ray_capsule_end(size, o, d, inv, 1, mid + half, &out);
        ok = m_and(ok, m_or(m_not(inside), far));
        in = select(inside, out, in);
    }
    ok = ray_take(range, ok, in, t);
    if (range.bare || !any(ok)) return;
    real z = fma(in, d[2], o[2]);
    real beyond = z - rmin(rmax(z, ray_size(-size[1])), ray_size(size[1]));
    ray_take_direction(ok, fma(in, d[0], o[0]), fma(in, d[1], o[1]), beyond, n);
}

LFN void ray_cylinder(ray_range range, const RAY_SIZE *size, const real *o, const real *d, mask live, real *t, real *n)
{
    real mid, half, inv = ray_inverse(d[2]);
    mask ok = ray_tube(o, d, size[0], &mid, &half);
    ok = m_and(live, ok);
    real a = (ray_size(-size[1]) - o[2]) * inv, b = (ray_size(size[1]) - o[2]) * inv;
    real in = mid - half, out = mid + half, lid_in = rmin(a, b), lid_out = rmax(a, b);
    mask by_lid_in = lt(in, lid_in), by_lid_out = lt(lid_out, out);
    in = select(by_lid_in, lid_in, in);
    out = select(by_lid_out, lid_out, out);
    ok = m_and(ok, le(in, out));
    mask outside = ray_enters(range, in);
    real c = select(outside, in, out);
    ok = ray_take(range, ok, c, t);
    if (range.bare || !any(ok)) return;
    mask lid = m_or(m_and(outside, by_lid_in), m_andnot(by_lid_out, outside));
    real up = copysign_(splat(1), select(outside, -d[2], d[2]));
    real x = fma(c, d[0], o[0]), y = fma(c, d[1], o[1]);
    ray_take_direction(ok, select(lid, splat(0), x), select(lid, splat(0), y), select(lid, up, splat(0)), n);
}

/* A box of half sizes h whose centre is at z of the frame's third axis. */
LFN void ray_box(ray_range range, const RAY_SIZE *h, RAY_SIZE z, const real *o, const real *d, mask live, real *t,
                 real *n)
{
    real near[3], far[3];
    for (int k = 0; k < 3; ++k) {
        real inv = ray_inverse(d[k]), p = k == 2 ? o[k] - ray_size(z) : o[k];
        real a = (ray_size(-h[k]) - p) * inv, b = (ray_size(h[k]) - p) * inv;
        near[k] = rmin(a, b);
        far[k] = rmax(a, b);
    }
    real in = rmax(rmax(near[0], near[1]), near[2]), out = rmin(rmin(far[0], far[1]), far[2]);
    mask outside = ray_enters(range, in);
    real c = select(outside, in, out);
    mask ok = ray_take(range, m_and(live, le(in, out)), c, t);
    if (range.bare || !any(ok)) return;
    mask left = ok;
    for (int k = 0; k < 3; ++k) {
        mask here = m_and(left, m_or(m_and(outside, eq(near[k], c)), m_andnot(eq(far[k], c), outside)));
        real way = copysign_(splat(1), select(outside, -d[k], d[k]));
        ray_take_normal(here, k == 0 ? way : splat(0), k == 1 ? way : splat(0), k == 2 ? way : splat(0), n);
        left = m_andnot(left, here);
    }
}

#if !RAY_LANES
#include "geom/ray_cone.k.h"
#endif

/* ---- triangles -------------------------------------------------------------------------------------------------- */

/*
 * The rays as the traversal of a tree needs them. kz is the axis on which the direction is largest (on all lanes of one
 * traversal).
 */
typedef struct ray_walk {
    real o[3], inv[3], low[3], high[3]; /* 1 / d; (o + pad) / d and (o - pad) / d: the planes of boxes */
    real shear_x, shear_y;
    int kx, ky, kz;
    int back[3]; /* some direction is negative on this axis: the upper child comes first */
} ray_walk;

/* The nearest hit so far: distance, and position of its triangle in the order of the tree (-1: none). */
typedef struct ray_best {
    real t;
    lint at;
} ray_best;

LFN void ray_walk_begin(const real *o, const real *d, mask live, ureal extent, int axis, ray_walk *w)
{
    real pad = rmax(rmax(rabs(o[0]), rabs(o[1])), rabs(o[2]));
    pad = (pad + splat(extent)) * splat((ureal)RAY_PAD);
    for (int k = 0; k < 3; ++k) {
        w->o[k] = o[k];
        w->inv[k] = ray_inverse(d[k]);
        w->low[k] = (o[k] + pad) * w->inv[k];
        w->high[k] = (o[k] - pad) * w->inv[k];
        w->back[k] = any(m_and(live, lt(d[k], splat(0))));
    }
    w->kz = axis;
    w->kx = axis == 2 ? 0 : axis + 1;
    w->ky = axis == 0 ? 2 : axis - 1;
    w->shear_x = d[w->kx] * w->inv[w->kz];
    w->shear_y = d[w->ky] * w->inv[w->kz];
}

/*
 * Lanes that may meet a node's box at *near or later, no further than best. A rounded product is monotonous, so a box
 * within another has its interval within the other's: a lane that meets a leaf meets all nodes above it.
 */
LFN mask ray_node(const ray_walk *w, const ureal *box, mask live, real best, real *near)
{
    real in = splat(0), out = best;
    for (int k = 0; k < 3; ++k) {
        real a = fma(splat(box[k]), w->inv[k], -w->low[k]), b = fma(splat(box[3 + k]), w->inv[k], -w->high[k]);
        in = rmax(rmin(a, b), in);
        out = rmin(rmax(a, b), out);
    }
    *near = in;
    return m_and(live, le(in, out));
}

/* a b - c d with the sign of the exact value, and exactly the negative of c d - a b. */
LFN real ray_edge(real a, real b, real c, real d)
{
    real p = a * b, q = c * d, e = p - q;
    mask tie = eq(e, splat(0));
    if (any(tie)) e = select(tie, fma(a, b, -p) - fma(c, d, -q), e);
    return e;
}

/* Where a vertex v goes in the plane across the ray, and its distance along the main axis. */
LFN void ray_place(const ray_walk *w, const ureal *v, real *p)
{
    p[2] = splat(v[w->kz]) - w->o[w->kz];
    p[0] = fma(-w->shear_x, p[2], splat(v[w->kx]) - w->o[w->kx]);
    p[1] = fma(-w->shear_y, p[2], splat(v[w->ky]) - w->o[w->ky]);
}

/* The edge function of two places; of the same two in turn, exactly its negative. */
LFN real ray_side(const real *p, const real *q) { return ray_edge(p[0], q[1], p[1], q[0]); }

/*
 * A triangle, by the shear and the edge functions of Woop, Benthin and Wald (Watertight Ray/Triangle Intersection,
 * 2013). Each vertex goes to one point of the plane across the ray, the same for all its triangles, and the edge
 * functions have exact signs; an edge belongs to both its triangles. So there is no gap (RAY-3). The distance is a mean
 * of the vertices' distances (z) with weights of one sign (e, of the edges opposite), and at least `near` of the leaf,
 * so that a tree that leaves out what is further than the best changes nothing (RAY-1).
 */
LFN void ray_weigh(ray_range range, const ray_walk *w, const real *e, const real *z, mask live, real near, int at,
                   ray_best *best)
{
    real zero = splat(0);
    mask same = m_or(m_and(le(zero, e[0]), m_and(le(zero, e[1]), le(zero, e[2]))),
                     m_and(le(e[0], zero), m_and(le(e[1], zero), le(e[2], zero))));
    real det = e[0] + e[1] + e[2];
    live = m_and(m_andnot(live, eq(det, zero)), same);
    if (range.front) live = m_and(live, lt(zero, det * copysign_(splat(1), w->inv[w->kz])));
    if (!any(live)) return;
    real c = fma(e[2], z[2], fma(e[1], z[1], e[0] * z[0])) / det * w->inv[w->kz];
    live = m_and(live, le(splat(range.from), c));
    c = rmax(c, near);
    mask nearer = m_or(lt(c, best->t), m_and(eq(c, best->t), ilt(isplat(at), best->at)));
    live = m_and(live, nearer);
    best->t = select(live, c, best->t);
    best->at = iselect(live, isplat(at), best->at);
}

LFN void ray_triangle(ray_range range, const ray_walk *w, const ureal *v, mask live, real near, int at, ray_best *best)
{
    real p[3], q[3], r[3];
    ray_place(w, v, p);
    ray_place(w, v + 3, q);
    ray_place(w, v + 6, r);
    real side[3] = {ray_side(r, q), ray_side(p, r), ray_side(q, p)}, along[3] = {p[2], q[2], r[2]};
    ray_weigh(range, w, side, along, live, near, at, best);
}

/* Corner i of a height field's vertex (row, col) goes to v. */
LFN void ray_grid_vertex(const ureal *head, int ncol, ureal dx, ureal dy, int row, int col, ureal *v)
{
    v[0] = ufma(dx, (ureal)col, -head[0]);
    v[1] = ufma(dy, (ureal)row, -head[1]);
    v[2] = head[RAY_HEADER + row * ncol + col];
}

/*
 * Triangle 0 or 1 of the cell at (row, col): the cell is cut from its first corner to the opposite one; normals point
 * up.
 */
LFN void ray_grid_triangle(const ureal *head, int nrow, int ncol, int row, int col, int which, ureal *v)
{
    ureal dx = 2 * head[0] / (ureal)(ncol - 1), dy = 2 * head[1] / (ureal)(nrow - 1);
    ray_grid_vertex(head, ncol, dx, dy, row, col, v);
    ray_grid_vertex(head, ncol, dx, dy, which ? row + 1 : row, col + 1, v + 3);
    ray_grid_vertex(head, ncol, dx, dy, row + 1, which ? col : col + 1, v + 6);
}

/* ray_place of a vertex that is at (x, y, z) from where rays begin: of these, vertices share two. */
LFN void ray_grid_place(const ray_walk *w, real x, real y, real z, real *p)
{
    if (w->kz == 2) {
        p[0] = fma(-w->shear_x, z, x);
        p[1] = fma(-w->shear_y, z, y);
        p[2] = z;
    } else if (w->kz == 0) {
        p[0] = fma(-w->shear_x, x, y);
        p[1] = fma(-w->shear_y, x, z);
        p[2] = x;
    } else {
        p[0] = fma(-w->shear_x, y, z);
        p[1] = fma(-w->shear_y, y, x);
        p[2] = y;
    }
}

/* Of a height field: its numbers, columns, the size of a cell, 1 / columns. */
typedef struct ray_grid {
    const ureal *head;
    int ncol;
    ureal dx, dy, per_row;
} ray_grid;

/*
 * The triangles of `count` cells of a row, from number `first` on. Neighbours share places and edges: with 4 cells that
 * is half of the work of ray_triangle for each.
 */
LFN void ray_cells(ray_range range, const ray_walk *w, ray_grid grid, int first, int count, mask live, real near,
                   ray_best *best)
{
    int row = (int)((ureal)first * grid.per_row), col = first - row * grid.ncol; /* off by one at most */
    if (col < 0) {
        row = row - 1;
        col = col + grid.ncol;
    } else if (col >= grid.ncol) {
        row = row + 1;
        col = col - grid.ncol;
    }
    const ureal *head = grid.head, *lower = head + RAY_HEADER + row * grid.ncol + col, *upper = lower + grid.ncol;
    real y0 = splat(ufma(grid.dy, (ureal)row, -head[1])) - w->o[1];
    real y1 = splat(ufma(grid.dy, (ureal)(row + 1), -head[1])) - w->o[1];
    real x = splat(ufma(grid.dx, (ureal)col, -head[0])) - w->o[0];
    real a[3], b[3], c[3], d[3]; /* a cell's corners: b a column after a, c a row after a, d both */
    ray_grid_place(w, x, y0, splat(lower[0]) - w->o[2], a);
    ray_grid_place(w, x, y1, splat(upper[0]) - w->o[2], c);
    real left = ray_side(a, c);
    for (int i = 1; i <= count; ++i) {
        int at = 2 * (first + i - 1);
        x = splat(ufma(grid.dx, (ureal)(col + i), -head[0])) - w->o[0];
        ray_grid_place(w, x, y0, splat(lower[i]) - w->o[2], b);
        ray_grid_place(w, x, y1, splat(upper[i]) - w->o[2], d);
        real right = ray_side(d, b), across = ray_side(a, d);
        real first_side[3] = {right, across, ray_side(b, a)}, first_along[3] = {a[2], b[2], d[2]};
        real other_side[3] = {ray_side(c, d), left, -across}, other_along[3] = {a[2], d[2], c[2]};
        ray_weigh(range, w, first_side, first_along, live, near, at, best);
        ray_weigh(range, w, other_side, other_along, live, near, at + 1, best);
        left = -right;
        for (int k = 0; k < 3; ++k) {
            a[k] = b[k];
            c[k] = d[k];
        }
    }
}

/*
 * Traverses a tree, of triangles (nrow 0) or of a height field's cells, for rays whose direction is largest on w->kz.
 * shape: the triangles, or the height field's numbers.
 */
LFN void ray_tree(ray_range range, const ray_walk *w, const ureal *node, const ureal *shape, int nrow, int ncol,
                  mask live, ray_best *best)
{
    int stack[RAY_STACK], grids = STET_W > 1 && nrow > 0;
    ureal dx = grids ? 2 * shape[0] / (ureal)(ncol - 1) : 0, dy = grids ? 2 * shape[1] / (ureal)(nrow - 1) : 0;
    ray_grid grid = {shape, ncol, dx, dy, grids ? 1 / (ureal)ncol : 0};
    stack[0] = 0;
    for (int depth = 1; depth > 0;) {
        --depth;
        const ureal *b = node + (i64)stack[depth] * RAY_NODE;
        real near;
        mask here = ray_node(w, b, live, best->t, &near);
        if (!any(here)) continue;
        int first = (int)b[6], count = (int)b[7];
        if (count < 0) {
            int upper = w->back[-1 - count];
            stack[depth] = upper ? first : first + 1;
            stack[depth + 1] = upper ? first + 1 : first;
            depth += 2;
        } else if (nrow == 0) {
            for (int i = first; i < first + count; ++i)
                ray_triangle(range, w, shape + (i64)i * RAY_TRI, here, near, i, best);
        } else if (STET_W > 1) {
            ray_cells(range, w, grid, first, count, here, near, best);
        } else {
            ureal v[9];
            for (int i = 2 * first; i < 2 * (first + count); ++i) {
                ray_grid_triangle(shape, nrow, ncol, i / 2 / ncol, i / 2 % ncol, i & 1, v);
                ray_triangle(range, w, v, here, near, i, best);
            }
        }
    }
}

/* The largest coordinate of a box. */
LFN ureal ray_extent(const ureal *box)
{
    ureal e = 0;
    for (int k = 0; k < 6; ++k) e = umax(e, uabs(box[k]));
    return e;
}

/* All rays against a tree, grouped by main axis. */
LFN void ray_trees(ray_range range, const ureal *node, const ureal *shape, int nrow, int ncol, ray_lanes rays,
                   ray_best *best)
{
    real a[3] = {rabs(rays.d[0]), rabs(rays.d[1]), rabs(rays.d[2])};
    for (int k = 0; k < 3; ++k) {
        mask main = rays.live;
        for (int j = 0; j < 3; ++j) main = m_and(main, j < k ? lt(a[j], a[k]) : le(a[j], a[k]));
        if (!any(main)) continue;
        ray_walk w;
        ray_walk_begin(rays.o, rays.d, main, ray_extent(node), k, &w);
        ray_tree(range, &w, node, shape, nrow, ncol, main, best);
    }
}

LFN void ray_mesh(ray_range range, int world, const int *data, const ureal *node, const ureal *tri, ray_lanes rays,
                  ray_hit nearest)
{
    const ureal *triangles = tri + (data[1] + (i64)world * data[3]) * RAY_TRI;
    ray_best best = {*nearest.t, isplat(-1)};
    ray_trees(range, node + (data[0] + (i64)world * data[2]) * RAY_NODE, triangles, 0, 0, rays, &best);
    mask hit = m_and(rays.live, ilt(isplat(-1), best.at));
    if (!any(hit)) return;
    lint at = imax(best.at, isplat(0));
    *nearest.t = select(hit, best.t, *nearest.t);
    istore(nearest.part, iselect(hit, at, iload(nearest.part)));
    if (range.bare) return;
    real p[3], q[3];
    for (int k = 0; k < 3; ++k) {
        lint j = at * isplat(RAY_TRI) + isplat(k);
        real a = gather(triangles, j);
        p[k] = gather(triangles, j + isplat(3)) - a;
        q[k] = gather(triangles, j + isplat(6)) - a;
    }
    ray_take_direction(hit, p[1] * q[2] - p[2] * q[1], p[2] * q[0] - p[0] * q[2], p[0] * q[1] - p[1] * q[0], nearest.n);
}

#include "geom/ray_hfield.k.h"

#if !RAY_LANES
#include "geom/ray_any.k.h"
#endif

#endif
