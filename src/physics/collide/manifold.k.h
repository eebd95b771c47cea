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
#define MANIFOLD_CORNERS 16           /* of a face; larger ones are thinned out */
#define MANIFOLD_POINTS 32            /* of what two faces have in common */
#define MANIFOLD_FACE ((ureal)0.996)  /* cosine between a face's normal and the other's, or the contact's */
#define MANIFOLD_EDGE ((ureal)0.0888) /* sine between an edge and a face */
#if STET_DOUBLE
#define MANIFOLD_SAME ((ureal)1e-16) /* m2: points that are one */
#else
#define MANIFOLD_SAME ((ureal)1e-10)
#endif

/* A face or an edge of a geom, relative to the first geom's centre. */
typedef struct feature {
    real corner[MANIFOLD_CORNERS][3];
    lint count;
    real normal[3];
    mask exists;
} feature;

LFN void feature_corner(const convex *c, int i, const real *local, feature *f)
{
    m3_mul(c->g.mat, local, f->corner[i]);
    v3_add(f->corner[i], c->g.pos, f->corner[i]);
}

/* cos and sin of i / 16 of a turn */
static const ureal manifold_circle[20] = {
    (ureal)0,  (ureal)0.38268343236508977,  (ureal)0.70710678118654752,  (ureal)0.92387953251128676,
    (ureal)1,  (ureal)0.92387953251128676,  (ureal)0.70710678118654752,  (ureal)0.38268343236508977,
    (ureal)0,  (ureal)-0.38268343236508977, (ureal)-0.70710678118654752, (ureal)-0.92387953251128676,
    (ureal)-1, (ureal)-0.92387953251128676, (ureal)-0.70710678118654752, (ureal)-0.38268343236508977,
    (ureal)0,  (ureal)0.38268343236508977,  (ureal)0.70710678118654752,  (ureal)0.92387953251128676};

LFN void box_feature(const convex *c, const real *way, feature *f)
{
    real most = rabs(way[0]), local[3];
    lint axis = isplat(0);
    for (int k = 1; k < 3; ++k) {
        mask more = gt(rabs(way[k]), most);
        most = select(more, rabs(way[k]), most);
        axis = iselect(more, isplat(k), axis);
    }
    for (int i = 0; i < 4; ++i) {
        for (int k = 0; k < 3; ++k) { /* the axis after `axis` is u, the next one v */
            mask is_u = ieq(axis, isplat((k + 2) % 3)), is_axis = ieq(axis, isplat(k));
            real side = select(is_u, splat(i == 0 || i == 3 ? 1 : -1), splat(i < 2 ? 1 : -1));
            side = select(is_axis, copysign_(splat(1), way[k]), side);
            local[k] = side * c->g.size[k];
        }
        feature_corner(c, i, local, f);
    }
    for (int k = 0; k < 3; ++k) local[k] = select(ieq(axis, isplat(k)), copysign_(splat(1), way[k]), splat(0));
    m3_mul(c->g.mat, local, f->normal);
    f->count = isplat(4);
    f->exists = m_all();
}

LFN void cylinder_feature(const convex *c, const real *way, feature *f)
{
    real local[3], side = copysign_(splat(1), way[2]);
    for (int i = 0; i < MANIFOLD_CORNERS; ++i) {
        local[0] = splat(manifold_circle[i + 4]) * c->g.size[0];
        local[1] = splat(manifold_circle[i]) * c->g.size[0];
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
    lint vertex = hull_farthest(hull, reals, way), face = hull_face_at(hull, reals, vertex, way), count;
    lint corners = hull_corners(hull, tables, face, &count);
    f->count = imin(count, isplat(MANIFOLD_CORNERS));
    for (int i = 0; i < MANIFOLD_CORNERS; ++i) {
        lint k = iselect(igt(count, isplat(MANIFOLD_CORNERS)), ishr(count * isplat(i), 4),
                         imin(isplat(i), count - isplat(1)));
        hull_corner_point(hull, tables, reals, corners, k, local);
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

/* Of the edges at a mesh's vertex the one that is nearest to being across a direction: its other end. */
LFN void mesh_edge(const int *hull, const int *tables, const ureal *reals, lint vertex, const real *way, const real *p,
                   real *end)
{
    real least = splat(2);
    rolled for (int f = 0; f < hull[HULL_NFACE]; ++f)
    {
        const int *corner = tables + tables[hull[HULL_FACE] + 2 * f];
        int count = tables[hull[HULL_FACE] + 2 * f + 1];
        rolled for (int k = 0; k < count; ++k)
        {
            mask here = ieq(vertex, isplat(corner[k]));
            if (!any(here)) continue;
            const ureal *q = reals + hull[HULL_VERTEX] + 3 * corner[k == 0 ? count - 1 : k - 1];
            real point[3], edge[3];
            for (int j = 0; j < 3; ++j) point[j] = splat(q[j]);
            v3_sub(point, p, edge);
            v3_normalize(edge);
            real along = rabs(v3_dot(edge, way));
            mask better = m_and(here, lt(along, least));
            least = select(better, along, least);
            v3_select(better, point, end, end);
        }
    }
}

/* The edge of a geom's surface at its support point along a unit direction that is nearest to being across it. */
LFN void convex_edge(const convex *c, const int *tables, const ureal *reals, const real *world, feature *f)
{
    real way[3], from[3], to[3], edge[3], least = splat(2);
    m3_mul_transposed(c->g.mat, world, way);
    core_support(c, tables, reals, way, from);
    v3_copy(from, to);
    if (c->type == CONVEX_CAPSULE || c->type == CONVEX_CYLINDER) to[2] = -from[2];
    if (c->type == CONVEX_MESH)
        mesh_edge(tables + c->hull, tables, reals, hull_farthest(tables + c->hull, reals, way), way, from, to);
    if (c->type == CONVEX_BOX)
        for (int k = 0; k < 3; ++k) {
            mask better = lt(rabs(way[k]), least);
            least = select(better, rabs(way[k]), least);
            for (int j = 0; j < 3; ++j) to[j] = select(better, j == k ? -from[j] : from[j], to[j]);
        }
    v3_sub(to, from, edge);
    real length = v3_normalize(edge);
    feature_corner(c, 0, from, f);
    feature_corner(c, 1, to, f);
    for (int i = 0; i < 2; ++i) v3_add_scaled(f->corner[i], world, convex_radius(c), f->corner[i]);
    f->count = isplat(2);
    f->exists = m_and(gt(length, splat(PHYSICS_MINVAL)), lt(rabs(v3_dot(edge, way)), splat(MANIFOLD_EDGE)));
}

/* Corners about a reference face: where a line of one direction through them meets it, and the height above it. */
typedef struct outline {
    real face[MANIFOLD_CORNERS][2], other[MANIFOLD_CORNERS][3];
    lint nface, nother;
    ureal point[3 * MANIFOLD_POINTS * STET_W]; /* what they have in common; each lane has its own */
    lint npoint;
    real margin;
    mask lanes;
} outline;

LFN void outline_add(outline *o, mask valid, const real *p)
{
    mask m = m_and(m_and(valid, le(p[2], o->margin)), ilt(o->npoint, isplat(MANIFOLD_POINTS)));
    lint at = iselect(m, o->npoint, isplat(0));
    for (int k = 0; k < 3; ++k)
        scatter_if(m, o->point, (at + isplat(k * MANIFOLD_POINTS)) * isplat(STET_W) + lane(), p[k]);
    o->npoint = o->npoint + iselect(m, isplat(1), isplat(0));
}

/* How far to the right of an edge of the face a point is; the face is to the left, whichever way its corners go. */
LFN real outline_beyond(const outline *o, int k, real turn, real x, real y)
{
    mask last = ieq(o->nface, isplat(k + 1));
    int next = (k + 1) % MANIFOLD_CORNERS;
    real ex = select(last, o->face[0][0], o->face[next][0]) - o->face[k][0];
    real ey = select(last, o->face[0][1], o->face[next][1]) - o->face[k][1];
    return turn * (ey * (x - o->face[k][0]) - ex * (y - o->face[k][1]));
}

/* The part of the other's edge i that is over the face. */
LFN void outline_clip_edge(outline *o, int i, real turn)
{
    mask last = ieq(o->nother, isplat(i + 1)), valid = m_and(o->lanes, ilt(isplat(i), o->nother));
    const real *p = o->other[i];
    real q[3], way[3], at[3], enters = splat(0), leaves = splat(1);
    v3_select(last, o->other[0], o->other[(i + 1) % MANIFOLD_CORNERS], q);
    v3_sub(q, p, way);
    for (int k = 0; k < MANIFOLD_CORNERS; ++k) {
        mask side = m_and(valid, ilt(isplat(k), o->nface));
        if (!any(side)) break;
        real a = outline_beyond(o, k, turn, p[0], p[1]), b = outline_beyond(o, k, turn, q[0], q[1]);
        mask in_a = le(a, splat(0)), in_b = le(b, splat(0)), cross = m_and(side, in_a ^ in_b);
        real t = a / select(cross, a - b, splat(1));
        enters = select(m_andnot(cross, in_a), rmax(enters, t), enters);
        leaves = select(m_and(cross, in_a), rmin(leaves, t), leaves);
        valid = m_andnot(valid, m_andnot(m_andnot(side, in_a), in_b));
    }
    valid = m_and(valid, le(enters, leaves));
    v3_add_scaled(p, way, enters, at);
    outline_add(o, valid, at);
    v3_add_scaled(p, way, leaves, at);
    outline_add(o, m_and(valid, m_or(lt(leaves, splat(1)), ieq(o->nother, isplat(2)))), at);
}

/* The corners of the face that are under the other one, at the height of its plane. */
LFN void outline_clip_corners(outline *o)
{
    real plane[3], u[3], v[3];
    v3_sub(o->other[1], o->other[0], u);
    v3_sub(o->other[2], o->other[0], v);
    v3_cross(u, v, plane);
    mask steep = lt(rabs(plane[2]), splat((ureal)1e-20)), faces = m_andnot(igt(o->nother, isplat(2)), steep);
    real up = select(steep, splat(1), plane[2]);
    for (int k = 0; k < MANIFOLD_CORNERS; ++k) {
        mask within = m_and(m_and(o->lanes, faces), ilt(isplat(k), o->nface));
        if (!any(within)) break;
        real p[3], dx = o->face[k][0] - o->other[0][0], dy = o->face[k][1] - o->other[0][1];
        p[0] = o->face[k][0];
        p[1] = o->face[k][1];
        p[2] = o->other[0][2] - fma(plane[0], dx, plane[1] * dy) / up;
        for (int i = 0; i < MANIFOLD_CORNERS; ++i) {
            mask side = ilt(isplat(i), o->nother), last = ieq(o->nother, isplat(i + 1));
            real next[3];
            v3_select(last, o->other[0], o->other[(i + 1) % MANIFOLD_CORNERS], next);
            real ex = next[0] - o->other[i][0], ey = next[1] - o->other[i][1];
            real left = (ex * (p[1] - o->other[i][1]) - ey * (p[0] - o->other[i][0])) * up;
            within = m_andnot(within, m_and(side, le(left, splat(0))));
        }
        outline_add(o, within, p);
    }
}

/* Point `which` of lanes that have no more than there are contacts, unless it is one of those before. */
LFN mask outline_take(const outline *o, int which, real *p)
{
    real q[3];
    mask few = ilt(o->npoint, isplat(MANIFOLD_CONTACTS + 1));
    mask found = m_and(o->lanes, m_and(few, ilt(isplat(which), o->npoint)));
    for (int k = 0; k < 3; ++k) q[k] = load(o->point + (k * MANIFOLD_POINTS + which) * STET_W);
    rolled for (int i = 0; i < which; ++i)
    {
        real dx = q[0] - p[3 * i], dy = q[1] - p[3 * i + 1];
        found = m_and(found, gt(fma(dx, dx, dy * dy), splat(MANIFOLD_SAME)));
    }
    v3_select(found, q, p + 3 * which, p + 3 * which);
    return found;
}

/* Of more points the one with the greatest score, as it is scored by `how`; adds it to p. */
LFN mask outline_choose(const outline *o, int how, real *p)
{
    real best = how == 0 ? splat((ureal)-1e10) : splat(MANIFOLD_SAME);
    mask found = m_none(), many = m_and(o->lanes, igt(o->npoint, isplat(MANIFOLD_CONTACTS)));
    for (int i = 0; i < MANIFOLD_POINTS; ++i) {
        mask exists = m_and(many, ilt(isplat(i), o->npoint));
        if (!any(exists)) break;
        real q[3], score;
        for (int k = 0; k < 3; ++k) q[k] = load(o->point + (k * MANIFOLD_POINTS + i) * STET_W);
        real dx = q[0] - p[0], dy = q[1] - p[1], ex = p[3] - p[0], ey = p[4] - p[1], side = ex * dy - ey * dx;
        score = how == 0 ? -q[2] : how == 1 ? fma(dx, dx, dy * dy) : how == 2 ? side : -side;
        mask better = m_and(exists, gt(score, best));
        best = select(better, score, best);
        found = m_or(found, better);
        v3_select(better, q, p + 3 * how, p + 3 * how);
    }
    return found;
}

/* `along`: the direction. Coordinates begin at the first corner of the face; `axes` takes them back. */
LFN void outline_make(const feature *face, const feature *other, const real *along, real margin, mask lanes, real *axes,
                      outline *o)
{
    real zero[3], frame[9], from[3];
    for (int k = 0; k < 3; ++k) zero[k] = splat(0);
    contact_frame(face->normal, zero, frame);
    v3_copy(frame + 3, axes);
    v3_copy(frame + 6, axes + 3);
    v3_scale(along, splat(1) / v3_dot(along, face->normal), axes + 6);
    for (int i = 0; i < MANIFOLD_CORNERS; ++i) {
        v3_sub(face->corner[i], face->corner[0], from);
        o->face[i][0] = v3_dot(from, axes);
        o->face[i][1] = v3_dot(from, axes + 3);
        v3_sub(other->corner[i], face->corner[0], from);
        o->other[i][2] = v3_dot(from, face->normal);
        v3_add_scaled(from, axes + 6, -o->other[i][2], from);
        for (int k = 0; k < 2; ++k) o->other[i][k] = v3_dot(from, axes + 3 * k);
    }
    o->nface = face->count;
    o->nother = other->count;
    o->npoint = isplat(0);
    o->margin = margin;
    o->lanes = lanes;
}

LFN void outline_clip(outline *o)
{
    real area = splat(0);
    rolled for (int k = 1; k < MANIFOLD_CORNERS - 1; ++k)
    {
        real part = o->face[k][0] * o->face[k + 1][1] - o->face[k][1] * o->face[k + 1][0];
        area = area + select(ilt(isplat(k + 1), o->nface), part, splat(0));
    }
    real turn = copysign_(splat(1), area);
    for (int i = 0; i < MANIFOLD_CORNERS; ++i)
        if (any(m_and(o->lanes, ilt(isplat(i), o->nother)))) outline_clip_edge(o, i, turn);
    outline_clip_corners(o);
}

/*
 * Replaces the one contact of two convex geoms by up to four in the lanes where faces or edges are aligned. Slot 0 is
 * then the deepest, slot 1 the farthest from it, slots 2 and 3 the farthest on either side of these.
 */
LFN void collide_manifold(const convex *first, const convex *second, const int *tables, const ureal *reals, real margin,
                          contact *con)
{
    convex a = *first, b = *second;
    feature face1, face2, edge1, edge2, face, other;
    real way[3], back[3];
    v3_sub(second->g.pos, first->g.pos, b.g.pos);
    for (int k = 0; k < 3; ++k) a.g.pos[k] = splat(0);
    v3_copy(con[0].normal, way);
    v3_scale(way, splat(-1), back);
    convex_face(&a, tables, reals, way, &face1);
    convex_face(&b, tables, reals, back, &face2);
    real along1 = v3_dot(face1.normal, way), along2 = v3_dot(face2.normal, back), level = splat(MANIFOLD_FACE);
    mask lies1 = m_and(face1.exists, gt(along1, level)), lies2 = m_and(face2.exists, gt(along2, level));
    mask opposed = lt(v3_dot(face1.normal, face2.normal), -level);
    mask near = m_and(gt(along1, splat((ureal)0.99)), gt(along2, splat((ureal)0.99)));
    mask faces = m_and(m_and(con[0].hit, near), m_and(m_and(face1.exists, face2.exists), opposed));
    mask on1 = m_and(m_andnot(con[0].hit, faces), lies1);
    mask on2 = m_and(m_andnot(con[0].hit, m_or(faces, on1)), lies2);
    contact_clear(con + 1, MANIFOLD_CONTACTS - 1);
    if (!any(m_or(faces, m_or(on1, on2)))) return;

    convex_edge(&a, tables, reals, way, &edge1);
    convex_edge(&b, tables, reals, back, &edge2);
    on1 = m_and(on1, edge2.exists);
    on2 = m_and(on2, edge1.exists);
    mask second_face = m_or(faces, on2); /* what the points are measured from; the others are the first one's */
    for (int i = 0; i < MANIFOLD_CORNERS; ++i) {
        v3_select(second_face, face2.corner[i], face1.corner[i], face.corner[i]);
        v3_copy(face1.corner[i], other.corner[i]);
        if (i < 2) v3_select(on1, edge2.corner[i], other.corner[i], other.corner[i]);
        if (i < 2) v3_select(on2, edge1.corner[i], other.corner[i], other.corner[i]);
    }
    v3_select(second_face, face2.normal, face1.normal, face.normal);
    face.count = iselect(second_face, face2.count, face1.count);
    other.count = iselect(faces, face1.count, isplat(2));

    outline o;
    real axes[9], p[12], tilt[3];
    mask lanes = m_or(faces, m_or(on1, on2));
    for (int k = 0; k < 12; ++k) p[k] = splat(0);
    v3_select(faces, face1.normal, face.normal, tilt);
    outline_make(&face, &other, tilt, margin, lanes, axes, &o);
    outline_clip(&o);
    for (int i = 0; i < MANIFOLD_CONTACTS; ++i) {
        contact c;
        real point[3];
        mask taken = outline_take(&o, i, p);
        mask chosen = outline_choose(&o, i, p);
        c.hit = m_or(taken, chosen);
        if (i == 0) lanes = c.hit; /* where nothing is left of the face, the one contact stays */
        v3_copy(face.corner[0], point);
        for (int k = 0; k < 3; ++k) v3_add_scaled(point, axes + 3 * k, p[3 * i + k], point);
        c.dist = p[3 * i + 2];
        v3_copy(face.normal, c.normal);
        v3_add_scaled(point, c.normal, splat((ureal)-0.5) * c.dist, c.pos);
        v3_add(c.pos, first->g.pos, c.pos);
        v3_scale(c.normal, select(on1, splat(1), splat(-1)), c.normal);
        contact_copy_if(lanes, &c, con + i);
    }
}

#endif
