/*
 * More contacts where two convex geoms meet with flat faces, or an edge lies on a face, within five degrees: the normal
 * becomes that of the face, and the corners of what the two have in common become contacts, at most four.
 *
 * Faces are those of boxes and meshes, and the caps of cylinders; edges also the sides of cylinders and the axes of
 * capsules. The face is found by the direction of the one contact (MuJoCo goes by the corners of its polytope). Of two
 * faces the first is clipped by planes through the edges of the second that contain the first one's normal.
 */
#ifndef STI_PHYSICS_COLLIDE_MANIFOLD_K_H
#define STI_PHYSICS_COLLIDE_MANIFOLD_K_H
#include "physics/collide/convex_pair.k.h"

#define MANIFOLD_CONTACTS 4
#define MANIFOLD_FIRST MANIFOLD_CONTACTS /* behind them, for gradients: the one contact that they came from */
#define MANIFOLD_CORNERS 16              /* of a face; larger ones are thinned out */
#define MANIFOLD_POINTS 32               /* of what two faces have in common */
#define MANIFOLD_FACE ((ureal)0.996)     /* cosine between a face's normal and the other's, or the contact's */
#define MANIFOLD_EDGE ((ureal)0.0888)    /* sine between an edge and a face */
#define MANIFOLD_LEVEL ((ureal)1e-3)     /* of an outline's extent: a corner nearer to its neighbours' line is none */

/* A face or an edge of a geom, relative to the first geom's centre. */
typedef struct feature {
    real corner[MANIFOLD_CORNERS][3];
    lint count;
    real normal[3];
    mask exists;
} feature;

/* An edge, if there is one that lies on the other geom's face. */
typedef struct geom_edge {
    real corner[2][3];
    mask exists;
} geom_edge;

LFN void convex_point_of(const convex *c, const real *local, real *p)
{
    m3_mul(c->g.mat, local, p);
    v3_add(p, c->g.pos, p);
}
LFN void feature_corner(const convex *c, int i, const real *local, feature *f)
{
    convex_point_of(c, local, f->corner[i]);
}

/* cos and sin of i / 16 of a turn */
static const ureal manifold_circle[20] = {
    (ureal)0,  (ureal)0.38268343236508977,  (ureal)0.70710678118654752,  (ureal)0.92387953251128676,
    (ureal)1,  (ureal)0.92387953251128676,  (ureal)0.70710678118654752,  (ureal)0.38268343236508977,
    (ureal)0,  (ureal)-0.38268343236508977, (ureal)-0.70710678118654752, (ureal)-0.92387953251128676,
    (ureal)-1, (ureal)-0.92387953251128676, (ureal)-0.70710678118654752, (ureal)-0.38268343236508977,
    (ureal)0,  (ureal)0.38268343236508977,  (ureal)0.70710678118654752,  (ureal)0.92387953251128676};

/* The signs of a box's corners, face by face: + x, - x, + y, - y, + z, - z. A face's corners go MuJoCo's way. */
static const ureal box_corners[72] = {1,  1,  1, 1,  1,  -1, 1,  -1, -1, 1,  -1, 1,  -1, 1,  -1, -1, 1,  1,
                                      -1, -1, 1, -1, -1, -1, -1, 1,  -1, 1,  1,  -1, 1,  1,  1,  -1, 1,  1,
                                      -1, -1, 1, 1,  -1, 1,  1,  -1, -1, -1, -1, -1, -1, 1,  1,  1,  1,  1,
                                      1,  -1, 1, -1, -1, 1,  1,  1,  -1, -1, 1,  -1, -1, -1, -1, 1,  -1, -1};

LFN void box_feature(const convex *c, const real *way, feature *f)
{
    real most = rabs(way[0]), local[3];
    lint axis = isplat(0);
    mask back = lt(way[0], splat(0));
    for (int k = 1; k < 3; ++k) {
        mask more = gt(rabs(way[k]), most);
        most = select(more, rabs(way[k]), most);
        axis = iselect(more, isplat(k), axis);
        back = m_or(m_andnot(back, more), m_and(more, lt(way[k], splat(0))));
    }
    lint face = axis + axis + iselect(back, isplat(1), isplat(0));
    for (int i = 0; i < 4; ++i) {
        for (int k = 0; k < 3; ++k)
            local[k] = gather(box_corners, face * isplat(12) + isplat(3 * i + k)) * c->g.size[k];
        feature_corner(c, i, local, f);
    }
    for (int k = 0; k < 3; ++k) local[k] = select(ieq(axis, isplat(k)), select(back, splat(-1), splat(1)), splat(0));
    m3_mul(c->g.mat, local, f->normal);
    f->count = isplat(4);
    f->exists = m_all();
}

LFN void cylinder_feature(const convex *c, const real *way, feature *f)
{
    real local[3], side = copysign_(splat(1), way[2]);
    for (int i = 0; i < MANIFOLD_CORNERS; ++i) {
        local[0] = splat(manifold_circle[i + 4]) * c->g.size[0];
        local[1] = splat(-manifold_circle[i]) * (side * c->g.size[0]);
        local[2] = side * c->g.size[1];
        feature_corner(c, i, local, f);
    }
    local[0] = splat(0);
    local[1] = splat(0);
    local[2] = side;
    m3_mul(c->g.mat, local, f->normal);
    f->count = isplat(MANIFOLD_CORNERS);
    f->exists = m_all();
}

LFN void mesh_feature(const convex *c, const int *tables, const ureal *reals, const real *way, feature *f)
{
    const int *hull = tables + c->hull;
    real local[3];
    lint first, count, vertex = hull_farthest(hull, reals, way);
    lint face = hull_face_at(hull, reals, vertex, way, &first);
    lint corners = hull_corners(hull, tables, face, &count);
    f->count = imin(count, isplat(MANIFOLD_CORNERS));
    for (int i = 0; i < MANIFOLD_CORNERS; ++i) {
        lint k = iselect(igt(count, isplat(MANIFOLD_CORNERS)), ishr(count * isplat(i), 4),
                         imin(isplat(i), count - isplat(1)));
        hull_corner_point(hull, tables, reals, corners, count - isplat(1) - k, local);
        feature_corner(c, i, local, f);
    }
    for (int k = 0; k < 3; ++k) local[k] = gather(reals, isplat(hull[HULL_NORMAL] + k) + face + face + face);
    m3_mul(c->g.mat, local, f->normal);
    f->exists = m_all();
}

/* The face of a geom that looks along a unit direction best. */
LFN void convex_face(const convex *c, const int *tables, const ureal *reals, const real *world, feature *f)
{
    real way[3];
    m3_mul_transposed(c->g.mat, world, way);
    f->exists = m_none();
    f->count = isplat(0);
    v3_copy(world, f->normal);
    for (int i = 0; i < MANIFOLD_CORNERS; ++i) v3_copy(c->g.pos, f->corner[i]);
    if (c->type == CONVEX_BOX) box_feature(c, way, f);
    if (c->type == CONVEX_CYLINDER) cylinder_feature(c, way, f);
    if (c->type == CONVEX_MESH) mesh_feature(c, tables, reals, way, f);
}

/* The edge of a geom's surface at its support point along a unit direction that is nearest to being across it. */
LFN void convex_edge(const convex *c, const int *tables, const ureal *reals, const real *world, geom_edge *e)
{
    real way[3], from[3], to[3], along[3], least = splat(2);
    m3_mul_transposed(c->g.mat, world, way);
    core_support(c, tables, reals, way, from);
    v3_copy(from, to);
    if (c->type == CONVEX_CAPSULE || c->type == CONVEX_CYLINDER) to[2] = -from[2];
    if (c->type == CONVEX_MESH)
        hull_edge_at(tables + c->hull, reals, hull_farthest(tables + c->hull, reals, way), way, from, to);
    if (c->type == CONVEX_BOX)
        for (int k = 0; k < 3; ++k) {
            mask better = lt(rabs(way[k]), least);
            least = select(better, rabs(way[k]), least);
            for (int j = 0; j < 3; ++j) to[j] = select(better, j == k ? -from[j] : from[j], to[j]);
        }
    v3_sub(to, from, along);
    real length = v3_normalize(along);
    convex_point_of(c, from, e->corner[0]);
    convex_point_of(c, to, e->corner[1]);
    for (int i = 0; i < 2; ++i) v3_add_scaled(e->corner[i], world, convex_radius(c), e->corner[i]);
    e->exists = m_and(gt(length, splat(PHYSICS_MINVAL)), lt(rabs(v3_dot(along, way)), splat(MANIFOLD_EDGE)));
}

/*
 * What a face or an edge (the subject) has in common with a face over or under it: a polygon whose corners have two
 * coordinates in the reference face's plane, and their height above it. Each lane has its own.
 */
typedef struct outline {
    real clip[MANIFOLD_CORNERS][2]; /* the clipping face */
    lint nclip;
    ureal point[3 * MANIFOLD_POINTS * STET_W];
    lint npoint;
    real slack; /* what is beyond an edge by less is on it (m) */
    real margin;
    mask lanes;
} outline;

LFN void outline_get(const outline *o, lint i, real *p)
{
    for (int k = 0; k < 3; ++k) p[k] = slot_get(o->point, i + isplat(k * MANIFOLD_POINTS));
}
LFN void outline_put(outline *o, mask m, lint i, const real *p)
{
    lint at = iselect(m, i, isplat(0));
    for (int k = 0; k < 3; ++k) slot_put(m, o->point, at + isplat(k * MANIFOLD_POINTS), p[k]);
}

/* How far to the right of edge k of the clipping face a point is, times its length; the face is to the left, whichever
 * way it turns. Faces of one size lie edge on edge: without slack, rounding would cut whole edges off. */
LFN real outline_beyond(const outline *o, int k, real turn, const real *p)
{
    mask last = ieq(o->nclip, isplat(k + 1));
    int next = (k + 1) % MANIFOLD_CORNERS;
    real ex = select(last, o->clip[0][0], o->clip[next][0]) - o->clip[k][0];
    real ey = select(last, o->clip[0][1], o->clip[next][1]) - o->clip[k][1];
    real beyond = turn * (ey * (p[0] - o->clip[k][0]) - ex * (p[1] - o->clip[k][1]));
    return beyond - o->slack * (rabs(ex) + rabs(ey));
}

/*
 * Cuts off what is beyond edge k (Sutherland and Hodgman). In place: what is kept of the first corners is never ahead
 * of the corner that is read. A corner that is cut off an edge of two corners leaves two, one for each way along it.
 */
LFN void outline_cut(outline *o, int k, real turn, mask lanes)
{
    real first[3], p[3], q[3], at[3];
    lint n = isplat(0), count = o->npoint;
    outline_get(o, isplat(0), first);
    v3_copy(first, p);
    real a = outline_beyond(o, k, turn, p);
    for (int i = 0; i < MANIFOLD_POINTS; ++i) {
        mask exists = m_and(lanes, ilt(isplat(i), count)), last = ieq(count, isplat(i + 1));
        if (!any(exists)) break;
        for (int c = 0; c < 3; ++c)
            q[c] = load(o->point + (c * MANIFOLD_POINTS + nmin(i + 1, MANIFOLD_POINTS - 1)) * STET_W);
        v3_select(last, first, q, q);
        real b = outline_beyond(o, k, turn, q);
        mask in_a = le(a, splat(0)), in_b = le(b, splat(0)), cross = m_and(exists, in_a ^ in_b);
        real t = a / select(cross, a - b, splat(1));
        for (int c = 0; c < 3; ++c) at[c] = fma(q[c] - p[c], t, p[c]);
        cross = m_and(cross, ilt(n, isplat(MANIFOLD_POINTS)));
        outline_put(o, cross, n, at);
        n = n + iselect(cross, isplat(1), isplat(0));
        mask stays = m_and(m_and(exists, in_b), ilt(n, isplat(MANIFOLD_POINTS)));
        outline_put(o, stays, n, q);
        n = n + iselect(stays, isplat(1), isplat(0));
        v3_copy(q, p);
        a = b;
    }
    o->npoint = iselect(lanes, n, o->npoint);
}

/* Leaves out what is higher than the margin. */
LFN void outline_lower(outline *o)
{
    lint n = isplat(0);
    for (int i = 0; i < MANIFOLD_POINTS; ++i) {
        real p[3];
        mask exists = m_and(o->lanes, ilt(isplat(i), o->npoint));
        if (!any(exists)) break;
        outline_get(o, isplat(i), p);
        mask stays = m_and(exists, le(p[2], o->margin));
        outline_put(o, stays, n, p);
        n = n + iselect(stays, isplat(1), isplat(0));
    }
    o->npoint = n;
}

/* The corner that is farthest from a point; the first, where all are there. */
LFN lint outline_farthest(const outline *o, const real *from)
{
    real most = splat(0), p[3];
    lint best = isplat(0);
    for (int i = 0; i < MANIFOLD_POINTS; ++i) {
        mask exists = m_and(o->lanes, ilt(isplat(i), o->npoint));
        if (!any(exists)) break;
        outline_get(o, isplat(i), p);
        v3_sub(p, from, p);
        real dist2 = v3_dot(p, p);
        mask better = m_and(exists, gt(dist2, most));
        most = select(better, dist2, most);
        best = iselect(better, isplat(i), best);
    }
    return best;
}

/*
 * Leaves out corners that are nearly on the line between their neighbours: faces of one size that are turned by a
 * little have more than four corners, of which four chosen ones would lose others.
 */
LFN void outline_straighten(outline *o, mask lanes)
{
    real first[3], last[3], p[3], next[3], extent2;
    lint count = o->npoint;
    outline_get(o, isplat(0), first);
    outline_get(o, outline_farthest(o, first), next);
    v3_sub(next, first, next);
    extent2 = fma(next[0], next[0], next[1] * next[1]);
    for (int pass = 0; pass < 2; ++pass) { /* first only counted: fewer than three are not left */
        lint n = isplat(0);
        outline_get(o, iselect(lanes, count - isplat(1), isplat(0)), last);
        v3_copy(first, p);
        for (int i = 0; i < MANIFOLD_POINTS; ++i) {
            mask exists = m_and(lanes, ilt(isplat(i), count));
            if (!any(exists)) break;
            outline_get(o, isplat(nmin(i + 1, MANIFOLD_POINTS - 1)), next);
            v3_select(ieq(count, isplat(i + 1)), first, next, next);
            real dx = next[0] - last[0], dy = next[1] - last[1], beside = dx * (p[1] - last[1]) - dy * (p[0] - last[0]);
            real level2 = splat(MANIFOLD_LEVEL * MANIFOLD_LEVEL) * extent2 * fma(dx, dx, dy * dy);
            mask stays = m_and(exists, gt(beside * beside, level2));
            if (pass) outline_put(o, stays, n, p);
            n = n + iselect(stays, isplat(1), isplat(0));
            v3_select(stays, p, last, last);
            v3_copy(next, p);
        }
        lanes = m_and(lanes, igt(n, isplat(2)));
        if (pass) o->npoint = iselect(lanes, n, o->npoint);
    }
}

/* Of more than two corners of an edge those that are farthest apart. */
LFN void outline_choose_two(const outline *o, mask lanes, lint *chosen)
{
    real p[3];
    outline_get(o, isplat(0), p);
    lint end = outline_farthest(o, p);
    outline_get(o, end, p);
    lint other = outline_farthest(o, p);
    lanes = m_and(lanes, igt(o->npoint, isplat(2)));
    chosen[0] = iselect(lanes, other, chosen[0]);
    chosen[1] = iselect(lanes, end, chosen[1]);
}

/* Twice the area of four corners. */
LFN real outline_area(const outline *o, const lint *corner)
{
    real p[4][3];
    for (int i = 0; i < 4; ++i) outline_get(o, corner[i], p[i]);
    real ux = p[2][0] - p[0][0], uy = p[2][1] - p[0][1], vx = p[3][0] - p[1][0], vy = p[3][1] - p[1][1];
    return rabs(ux * vy - uy * vx);
}

LFN lint outline_next(const outline *o, lint i)
{
    lint next = i + isplat(1);
    return iselect(ilt(next, o->npoint), next, isplat(0));
}

/*
 * Four corners of a great area, as MuJoCo looks for them: the fourth, third and second go forward while the area grows,
 * from each first corner on. Areas that differ by rounding count as equal.
 */
LFN void outline_choose_four(const outline *o, mask lanes, lint *chosen)
{
    lint corner[4], tried[4], turn = isplat(3); /* which corner is to go forward */
    for (int i = 0; i < 4; ++i) corner[i] = isplat(i);
    real most = outline_area(o, corner), grows = splat(1 + CONVEX_ROUNDING);
    for (int n = 0; n < 8 * MANIFOLD_POINTS && any(lanes); ++n) {
        for (int i = 0; i < 4; ++i) tried[i] = iselect(ieq(turn, isplat(i)), outline_next(o, corner[i]), corner[i]);
        real area = outline_area(o, tried);
        mask better = m_and(lanes, gt(area, most * grows)), stops = m_andnot(lanes, better);
        most = select(better, area, most);
        for (int i = 0; i < 4; ++i) {
            corner[i] = iselect(better, tried[i], corner[i]);
            chosen[i] = iselect(better, tried[i], chosen[i]);
        }
        mask ends = m_and(stops, ieq(turn, isplat(3)));
        lint after = iselect(ieq(turn, isplat(1)), isplat(3), turn - isplat(1));
        turn = iselect(ends, turn, iselect(stops, after, iselect(ieq(turn, isplat(3)), isplat(2), turn)));
        corner[0] = corner[0] + iselect(ends, isplat(1), isplat(0));
        for (int i = 1; i < 4; ++i) {
            ends = m_and(ends, ieq(corner[i], corner[i - 1]));
            corner[i] = iselect(ends, outline_next(o, corner[i]), corner[i]);
        }
        lanes = m_and(lanes, ilt(corner[0], o->npoint));
        corner[0] = iselect(lanes, corner[0], isplat(0));
    }
}

/* Coordinates about the reference face: begin at its first corner; `axes` takes them back. */
LFN void outline_project(const real *corner, const real *from, const real *axes, const real *normal, real *p)
{
    real d[3];
    v3_sub(corner, from, d);
    p[2] = v3_dot(d, normal);
    v3_add_scaled(d, axes + 6, -p[2], d);
    for (int k = 0; k < 2; ++k) p[k] = v3_dot(d, axes + 3 * k);
}

/*
 * Two faces: the second one's corners (the reference), at the height of the first one's plane, are cut by the first;
 * what is between is along the first one's normal. An edge and a face, the reference: the edge is cut by the face.
 */
LFN void outline_make(const feature *reference, const feature *first, const geom_edge *e, mask faces, real margin,
                      mask lanes, real *axes, outline *o)
{
    real zero[3], frame[9], along[3], from[3], p[3];
    for (int k = 0; k < 3; ++k) zero[k] = splat(0);
    contact_frame(reference->normal, zero, frame);
    v3_copy(frame + 3, axes);
    v3_copy(frame + 6, axes + 3);
    v3_select(faces, first->normal, reference->normal, along);
    real opposed = v3_dot(along, reference->normal), extent = splat(0);
    v3_scale(along, splat(1) / opposed, axes + 6);
    o->nclip = iselect(faces, first->count, reference->count);
    for (int i = 0; i < MANIFOLD_CORNERS; ++i) {
        v3_select(faces, first->corner[i], reference->corner[i], p);
        outline_project(p, reference->corner[0], axes, reference->normal, p);
        for (int k = 0; k < 2; ++k) {
            o->clip[i][k] = p[k];
            extent = select(ilt(isplat(i), o->nclip), rmax(extent, rabs(p[k])), extent);
        }
        v3_sub(first->corner[0], reference->corner[i], from);
        real height = v3_dot(from, along) * opposed;
        v3_copy(reference->corner[i], p);
        if (i < 2) v3_select(faces, p, e->corner[i], p);
        outline_project(p, reference->corner[0], axes, reference->normal, p);
        p[2] = select(faces, height, p[2]);
        outline_put(o, m_all(), isplat(i), p);
    }
    o->slack = splat(4 * CONVEX_ULPS) * extent;
    o->npoint = iselect(faces, reference->count, isplat(2));
    o->margin = margin;
    o->lanes = lanes;
}

LFN void outline_clip(outline *o)
{
    real area = splat(0);
    rolled
    for (int k = 1; k < MANIFOLD_CORNERS - 1; ++k) {
        real ux = o->clip[k][0] - o->clip[0][0], uy = o->clip[k][1] - o->clip[0][1];
        real vx = o->clip[k + 1][0] - o->clip[0][0], vy = o->clip[k + 1][1] - o->clip[0][1];
        area = area + select(ilt(isplat(k + 1), o->nclip), ux * vy - uy * vx, splat(0));
    }
    real turn = copysign_(splat(1), area);
    for (int k = 0; k < MANIFOLD_CORNERS; ++k) {
        mask lanes = m_and(o->lanes, ilt(isplat(k), o->nclip));
        if (!any(lanes)) break;
        outline_cut(o, k, turn, lanes);
    }
    outline_lower(o);
}

/* What meets: two faces, or the face of one geom and an edge of the other. Relative to the first geom's centre. */
typedef struct meeting {
    convex a, b;
    feature face1, face2;
    geom_edge edge1, edge2;
    mask faces, on1, on2; /* both faces; the second geom's edge on the first one's face; the other way around */
} meeting;

/* By the one contact; where nothing meets in any lane, edges are not looked for. */
LFN void manifold_find(const convex *first, const convex *second, const int *tables, const ureal *reals,
                       const contact *con, meeting *s)
{
    real way[3], back[3], level = splat(MANIFOLD_FACE);
    s->a = *first;
    s->b = *second;
    v3_sub(second->g.pos, first->g.pos, s->b.g.pos);
    for (int k = 0; k < 3; ++k) s->a.g.pos[k] = splat(0);
    v3_copy(con->normal, way);
    v3_scale(way, splat(-1), back);
    convex_face(&s->a, tables, reals, way, &s->face1);
    convex_face(&s->b, tables, reals, back, &s->face2);
    real along1 = v3_dot(s->face1.normal, way), along2 = v3_dot(s->face2.normal, back);
    mask lies1 = m_and(s->face1.exists, gt(along1, level)), lies2 = m_and(s->face2.exists, gt(along2, level));
    mask opposed = lt(v3_dot(s->face1.normal, s->face2.normal), -level);
    mask near = m_and(gt(along1, splat((ureal)0.99)), gt(along2, splat((ureal)0.99)));
    s->faces = m_and(m_and(con->hit, near), m_and(m_and(s->face1.exists, s->face2.exists), opposed));
    s->on1 = m_and(m_andnot(con->hit, s->faces), lies1);
    s->on2 = m_and(m_andnot(con->hit, m_or(s->faces, s->on1)), lies2);
    if (!any(m_or(s->faces, m_or(s->on1, s->on2)))) return;
    convex_edge(&s->a, tables, reals, way, &s->edge1);
    convex_edge(&s->b, tables, reals, back, &s->edge2);
    s->on1 = m_and(s->on1, s->edge2.exists);
    s->on2 = m_and(s->on2, s->edge1.exists);
}

/*
 * Replaces the one contact of two convex geoms by up to four in the lanes where faces or edges are aligned.
 */
LFN void collide_manifold(const convex *first, const convex *second, const int *tables, const ureal *reals, real margin,
                          contact *con)
{
    meeting s;
    contact_clear(con + 1, MANIFOLD_CONTACTS - 1);
    manifold_find(first, second, tables, reals, con, &s);
    mask faces = s.faces, on1 = s.on1, on2 = s.on2;
    if (!any(m_or(faces, m_or(on1, on2)))) return;

    feature face;
    geom_edge over;
    mask second_face = m_or(faces, on2); /* what the points are measured from; the others are the first one's */
    for (int i = 0; i < MANIFOLD_CORNERS; ++i)
        v3_select(second_face, s.face2.corner[i], s.face1.corner[i], face.corner[i]);
    for (int i = 0; i < 2; ++i) v3_select(on1, s.edge2.corner[i], s.edge1.corner[i], over.corner[i]);
    v3_select(second_face, s.face2.normal, s.face1.normal, face.normal);
    face.count = iselect(second_face, s.face2.count, s.face1.count);

    outline o;
    real axes[9];
    lint chosen[MANIFOLD_CONTACTS];
    mask lanes = m_or(faces, m_or(on1, on2));
    outline_make(&face, &s.face1, &over, faces, margin, lanes, axes, &o);
    outline_clip(&o);
    lanes = m_and(lanes, igt(o.npoint, isplat(0))); /* where nothing is left of the face, the one contact stays */
    for (int i = 0; i < MANIFOLD_CONTACTS; ++i) chosen[i] = isplat(i);
    mask many = m_and(m_and(lanes, faces), igt(o.npoint, isplat(MANIFOLD_CONTACTS))), two = m_andnot(lanes, faces);
    if (any(many)) {
        outline_straighten(&o, many);
        many = m_and(many, igt(o.npoint, isplat(MANIFOLD_CONTACTS)));
        if (any(many)) outline_choose_four(&o, many, chosen);
    }
    if (any(two)) outline_choose_two(&o, two, chosen);
    lint count = imin(o.npoint, iselect(faces, isplat(MANIFOLD_CONTACTS), isplat(2)));
    for (int i = 0; i < MANIFOLD_CONTACTS; ++i) {
        contact c;
        real point[3], p[3];
        c.hit = m_and(lanes, ilt(isplat(i), count));
        outline_get(&o, iselect(c.hit, chosen[i], isplat(0)), p);
        v3_copy(face.corner[0], point);
        for (int k = 0; k < 3; ++k) v3_add_scaled(point, axes + 3 * k, p[k], point);
        c.dist = p[2];
        v3_copy(face.normal, c.normal);
        v3_add_scaled(point, c.normal, splat((ureal)-0.5) * c.dist, c.pos);
        v3_add(c.pos, first->g.pos, c.pos);
        v3_scale(c.normal, select(on1, splat(1), splat(-1)), c.normal);
        contact_copy_if(lanes, &c, con + i);
    }
}

#endif
