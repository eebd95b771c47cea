/*
 * The derivative of one contact at two geoms' nearest points, or where they overlap, of the least way out.
 *
 * At such a contact each geom's core has a feature: a corner, an edge, a face, or a smooth part. The normal stands
 * across both, and the cores' points differ by the normal times their distance L (less than 0 where they overlap).
 * These conditions hold while the geoms move, and their derivative is that of the contact (the implicit function
 * theorem); how the contact was found does not matter. Features are held: where another one takes over, the contact has
 * a kink.
 *
 * Both cores are grown outwards by the same small length s. Then all have finite curvatures, by which a turn w of the
 * normal follows from the way y that the contact's point goes on the grown surface: a corner's is 1 / s, an edge's 0
 * along it, a face's 0, that of a smooth part 1 / (radius + s). With matrices K of the two tangents, r for the turns of
 * the geoms and D for the relative way of their points,
 *
 *     w = r_a + K_a y_a = r_b - K_b y_b,   D + y_b - y_a = (L - 2 s) w,
 *     M y_a = r_b - r_a + K_b (D - (L - 2 s) r_a),   M = K_a + K_b + (L - 2 s) K_b K_a.
 */
#ifndef STI_PHYSICS_GRADIENT_CONTACT_HELD_K_H
#define STI_PHYSICS_GRADIENT_CONTACT_HELD_K_H
#include "physics/gradient/contact/grad.k.h"

#if STET_DOUBLE
#define HELD_LEVEL ((ureal)1e-6) /* sine of the angle below which a normal is across an edge */
#define HELD_FLAT ((ureal)1e-8)  /* the least determinant of M, times s * s */
#define HELD_ENDS ((ureal)1e-9)  /* the last turn of a refinement */
#else
#define HELD_LEVEL ((ureal)3e-4)
#define HELD_FLAT ((ureal)1e-5)
#define HELD_ENDS ((ureal)1e-5)
#endif
#define HELD_REFINEMENTS 12
#define HELD_BESIDE ((ureal)1e-3) /* how far from a vertex or an edge a point is not on it, of the mesh's size */
#define HELD_ROUGH ((ureal)1e-2)  /* the sine that a search's normal may be off by */

/* The feature of a geom at a contact. */
typedef struct held {
    real point[3]; /* of the core, from the geom's centre, along the world's axes */
    real radius;   /* around the core */
    real bend[3];  /* how the core's point moves where the normal turns: [2][2] xx, xy, yy (m), 0 at a corner */
    mask edge, face;
    real along[2]; /* the direction of the edge */
    real off[2];   /* how the normal has to turn to be across the edge or the face: rounding */
} held;

/* A vector's parts along the two tangents of a frame, and back. */
LFN void tangent_parts(const real *frame, const real *v, real *out)
{
    for (int k = 0; k < 2; ++k) out[k] = v3_dot(frame + 3 + 3 * k, v);
}
LFN void tangent_vector(const real *frame, const real *parts, real *out)
{
    for (int k = 0; k < 3; ++k) out[k] = fma(frame[6 + k], parts[1], frame[3 + k] * parts[0]);
}

/*
 * A straight line through the feature, which is in the frame of the geom, in some lanes; with a second one it is a
 * face. The normal is across it but for rounding, which `off` takes away.
 */
LFN void held_edge(mask m, const convex *c, const real *local, const real *frame, held *h)
{
    real way[3], parts[2], one = splat(1);
    m3_mul(c->g.mat, local, way);
    tangent_parts(frame, way, parts);
    m = m_andnot(m, h->face);
    real residual = v3_dot(frame, way) + fma(parts[0], h->off[0], parts[1] * h->off[1]);
    real before = fma(parts[0], h->along[0], parts[1] * h->along[1]); /* 0 where there is no line yet */
    for (int k = 0; k < 2; ++k) parts[k] = fma(-before, h->along[k], parts[k]);
    real length2 = fma(parts[0], parts[0], parts[1] * parts[1]);
    m = m_and(m, gt(length2, splat(HELD_LEVEL)));
    length2 = select(m, length2, one);
    real scale = one / sqrt(length2);
    for (int k = 0; k < 2; ++k) {
        h->off[k] = h->off[k] - select(m, residual * parts[k] / length2, splat(0));
        h->along[k] = select(m, parts[k] * scale, h->along[k]);
    }
    h->face = m_or(h->face, m_and(m, h->edge));
    h->edge = m_or(h->edge, m);
}

/* A box has an edge along each axis that the normal is across. */
LFN void held_box(const convex *c, const real *way, const real *frame, held *h)
{
    for (int k = 0; k < 3; ++k) {
        real axis[3];
        for (int j = 0; j < 3; ++j) axis[j] = splat(j == k ? 1 : 0);
        held_edge(lt(rabs(way[k]), splat(HELD_LEVEL)), c, axis, frame, h);
    }
}

LFN void held_capsule(const convex *c, const real *way, const real *frame, held *h)
{
    real axis[3], at[3], end = c->g.size[1] * splat(1 - HELD_LEVEL);
    for (int k = 0; k < 3; ++k) axis[k] = splat(k == 2 ? 1 : 0);
    m3_mul_transposed(c->g.mat, h->point, at);
    held_edge(m_and(lt(rabs(way[2]), splat(HELD_LEVEL)), lt(rabs(at[2]), end)), c, axis, frame, h);
}

/* A cap, the side, which is an edge with a radius, or the rim, whose point goes around with the normal. */
LFN void held_cylinder(const convex *c, const real *way, const real *frame, held *h)
{
    real axis[3], local[3], around[3], parts[2], zero = splat(0);
    real flat2 = fma(way[0], way[0], way[1] * way[1]), flat = sqrt(flat2);
    for (int k = 0; k < 3; ++k) axis[k] = splat(k == 2 ? 1 : 0);
    mask side = lt(rabs(way[2]), splat(HELD_LEVEL));
    held_edge(side, c, axis, frame, h);
    h->face = lt(flat, splat(HELD_LEVEL));
    m3_column(c->g.mat, 2, around);
    tangent_parts(frame, around, parts);
    real ahead = copysign_(splat(1), v3_dot(frame, around));
    for (int k = 0; k < 2; ++k) h->off[k] = select(h->face, parts[k] * ahead, h->off[k]);
    real scale = splat(1) / select(h->face, splat(1), flat), radius = select(h->face, zero, c->g.size[0] * scale);
    local[0] = -way[1] * scale;
    local[1] = way[0] * scale;
    local[2] = zero;
    m3_mul(c->g.mat, local, around);
    tangent_parts(frame, around, parts);
    for (int k = 0; k < 3; ++k) h->bend[k] = parts[k / 2] * parts[(k + 1) / 2] * radius;
    h->radius = select(side, c->g.size[0], zero);
}

/* The support point D² m / h along m, h = |D m|: D²/h less the point times itself over h. */
LFN void held_ellipsoid(const convex *c, const real *way, const real *frame, held *h)
{
    real scaled[3], point[3], local[6], at[2];
    for (int k = 0; k < 3; ++k) scaled[k] = way[k] * c->g.size[k];
    real height = sqrt(v3_dot(scaled, scaled)), inverse = splat(1) / height;
    for (int k = 0; k < 3; ++k) point[k] = scaled[k] * c->g.size[k] * inverse;
    for (int i = 0; i < 2; ++i) {
        m3_mul_transposed(c->g.mat, frame + 3 + 3 * i, local + 3 * i);
        at[i] = v3_dot(local + 3 * i, point);
    }
    for (int k = 0; k < 3; ++k) {
        const real *u = local + 3 * (k / 2), *v = local + 3 * ((k + 1) / 2);
        real sum = splat(0);
        for (int j = 0; j < 3; ++j) sum = fma(c->g.size[j] * c->g.size[j], u[j] * v[j], sum);
        h->bend[k] = (sum - at[k / 2] * at[(k + 1) / 2]) * inverse;
    }
}

/*
 * Of the edges at the vertex that is farthest along the normal those that are across it: one is an edge, two a face.
 * Where a search ended the normal may be off by more than rounding. The contact's point says so: it is not at the
 * vertex, or beside the one edge; then the edges that are most across are taken, too.
 */
LFN void held_mesh(const convex *c, const int *tables, const ureal *reals, const real *way, const real *frame, held *h)
{
    const int *hull = tables + c->hull;
    real from[3], at[3], best[2][3], lean[2], zero = splat(0);
    lint vertex = hull_farthest(hull, reals, way), begin, size = hull_list_at(hull, vertex, &begin);
    hull_point(hull, reals, vertex, from);
    for (int i = 0; i < 2; ++i) {
        lean[i] = splat(2);
        for (int k = 0; k < 3; ++k) best[i][k] = zero;
    }
    rolled
    for (int k = 0; any(ilt(isplat(k), size)); k += HULL_AT_SIZE) {
        mask exists = ilt(isplat(k), size);
        lint before = igather(hull, iselect(exists, begin + isplat(k + 2), isplat(0)));
        real point[3], edge[3];
        hull_point(hull, reals, iselect(exists, before, isplat(0)), point);
        v3_sub(point, from, edge);
        v3_normalize(edge);
        real off = rabs(v3_dot(edge, way));
        mask first = m_and(exists, lt(off, lean[0])), second = m_andnot(m_and(exists, lt(off, lean[1])), first);
        lean[1] = select(first, lean[0], select(second, off, lean[1]));
        v3_select(second, edge, best[1], best[1]);
        v3_select(first, best[0], best[1], best[1]);
        lean[0] = select(first, off, lean[0]);
        v3_select(first, edge, best[0], best[0]);
        held_edge(m_and(exists, lt(off, splat(HELD_LEVEL))), c, edge, frame, h);
    }
    m3_mul_transposed(c->g.mat, h->point, at);
    v3_sub(at, from, at);
    real slack2 = splat(HELD_BESIDE * HELD_BESIDE) * v3_dot(from, from), along = v3_dot(at, best[0]);
    mask apart = m_andnot(gt(v3_dot(at, at), slack2), m_or(h->edge, h->face));
    held_edge(m_and(apart, lt(lean[0], splat(HELD_ROUGH))), c, best[0], frame, h);
    v3_add_scaled(at, best[0], -along, at);
    mask beside = m_andnot(m_and(h->edge, gt(v3_dot(at, at), slack2)), h->face);
    held_edge(m_and(beside, lt(lean[1], splat(HELD_ROUGH))), c, best[1], frame, h);
}

/* A prism of a height field, its corners in the frame of the geom: those that are farthest along the normal. */
LFN void held_prism(const convex *c, const real *way, const real *frame, held *h)
{
    real farthest[3];
    prism_support(c, way, farthest);
    for (int i = 0; i < 6; ++i) {
        real edge[3];
        v3_sub(c->corner[i], farthest, edge);
        real length = v3_normalize(edge);
        mask level = m_and(gt(length, splat(PHYSICS_MINVAL)), gt(v3_dot(edge, way), splat(-HELD_LEVEL)));
        held_edge(level, c, edge, frame, h);
    }
}

/*
 * The feature of a geom at a contact, where its outward normal is `sign` times the contact's. The point is the
 * contact's own, so that it is the right one where several have the same height.
 */
LFN void held_find(const convex *c, const int *tables, const ureal *reals, const contact *con, int sign,
                   const real *frame, held *h)
{
    real way[3], zero = splat(0);
    m3_mul_transposed(c->g.mat, con->normal, way);
    v3_scale(way, splat((ureal)sign), way);
    h->radius = convex_radius(c);
    for (int k = 0; k < 3; ++k) h->bend[k] = zero;
    h->edge = m_none();
    h->face = c->type == GRAD_PLANE ? m_all() : m_none();
    for (int k = 0; k < 2; ++k) {
        h->along[k] = zero;
        h->off[k] = zero;
    }
    if (c->type == CONVEX_CYLINDER) held_cylinder(c, way, frame, h);
    if (c->type == CONVEX_ELLIPSOID) held_ellipsoid(c, way, frame, h);
    if (c->type == CONVEX_BOX) held_box(c, way, frame, h);
    if (c->type == CONVEX_PRISM) held_prism(c, way, frame, h);
    v3_sub(con->pos, c->g.pos, h->point);
    v3_add_scaled(h->point, con->normal, splat((ureal)-sign) * fma(con->dist, splat((ureal)0.5), h->radius), h->point);
    if (c->type == CONVEX_CAPSULE) held_capsule(c, way, frame, h);
    if (c->type == CONVEX_MESH) held_mesh(c, tables, reals, way, frame, h);
}

/* The curvature of the core grown by s: [2][2] xx, xy, yy. */
LFN void held_curvature(const held *h, real s, real *K)
{
    real xx = h->bend[0] + s, yy = h->bend[2] + s, xy = h->bend[1], inverse = splat(1) / s, zero = splat(0);
    real scale = splat(1) / fma(xx, yy, -(xy * xy));
    K[0] = select(h->edge, h->along[1] * h->along[1] * inverse, yy * scale);
    K[1] = select(h->edge, -(h->along[0] * h->along[1]) * inverse, -(xy * scale));
    K[2] = select(h->edge, h->along[0] * h->along[0] * inverse, xx * scale);
    for (int k = 0; k < 3; ++k) K[k] = select(h->face, zero, K[k]);
}

LFN void symmetric_mul(const real *K, const real *x, real *out)
{
    out[0] = fma(K[1], x[1], K[0] * x[0]);
    out[1] = fma(K[2], x[1], K[1] * x[0]);
}

/* What moves an ellipsoid's support point along a direction (from the centre) where its sizes grow. */
LFN void held_ellipsoid_size(mask m, const convex *c, const real *normal, int sign, const real *force, geom_grad *g)
{
    real way[3], local[3], scaled[3], point[3];
    m3_mul_transposed(c->g.mat, normal, way);
    m3_mul_transposed(c->g.mat, force, local);
    for (int k = 0; k < 3; ++k) scaled[k] = way[k] * c->g.size[k];
    real inverse = splat((ureal)sign) / sqrt(v3_dot(scaled, scaled));
    for (int k = 0; k < 3; ++k) point[k] = scaled[k] * c->g.size[k] * inverse;
    real along = v3_dot(point, local) * inverse;
    for (int k = 0; k < 3; ++k) {
        real slope = scaled[k] * inverse * (splat(2) * local[k] - along * way[k]);
        g->size[k] = g->size[k] + select(m, slope, splat(0));
    }
}

/* What a geom gets: a force along the tangents at the grown surface, one along the normal, and turns of the normal. */
LFN void held_give(mask m, const convex *c, const held *h, const real *frame, int sign, real grown, const real *force,
                   const real *turn, real radius_grad, geom_grad *g)
{
    real arm[3];
    v3_add_scaled(h->point, frame, splat((ureal)sign) * grown, arm);
    grad_add_force(m, arm, force, g);
    grad_add_turn(m, frame, turn, g);
    if (c->type == CONVEX_ELLIPSOID)
        held_ellipsoid_size(m, c, frame, sign, force, g);
    else
        grad_add_size(m, c, h->point, force, g);
    if (c->type == CONVEX_SPHERE || c->type == CONVEX_CAPSULE)
        g->size[0] = g->size[0] + select(m, radius_grad, splat(0));
    if (c->type == CONVEX_CYLINDER) g->size[0] = g->size[0] + select(m_and(m, h->edge), radius_grad, splat(0));
}

/* The conditions of a contact, linear about it. */
typedef struct held_system {
    real Ka[3], Kb[3], M[4], inverse; /* inverse: of the determinant of M */
    real s, rest;
    mask sure; /* M is regular */
} held_system;

/* `apart` is the distance of the cores. */
LFN void held_linear(const held *p, const held *q, real apart, held_system *e)
{
    real reach = sqrt(v3_dot(p->point, p->point)) + sqrt(v3_dot(q->point, q->point)) + p->radius + q->radius;
    e->s = rmax(splat((ureal)0.5) * rabs(apart), splat((ureal)1e-2) * reach);
    e->rest = apart - e->s - e->s;
    held_curvature(p, e->s, e->Ka);
    held_curvature(q, e->s, e->Kb);
    for (int i = 0; i < 2; ++i)
        for (int j = 0; j < 2; ++j) {
            real both = fma(e->Kb[i + 1], e->Ka[1 + j], e->Kb[i] * e->Ka[j]);
            e->M[2 * i + j] = e->Ka[i + j] + e->Kb[i + j] + e->rest * both;
        }
    real det = fma(e->M[0], e->M[3], -(e->M[1] * e->M[2]));
    e->sure = gt(rabs(det) * e->s * e->s, splat(HELD_FLAT));
    e->inverse = splat(1) / select(e->sure, det, splat(1));
}

/* A point of the feature, from the geom's centre: the one that is farthest along the outward normal. */
LFN void held_farthest(const convex *c, const int *tables, const ureal *reals, const real *normal, int sign, held *h)
{
    real way[3], local[3];
    m3_mul_transposed(c->g.mat, normal, way);
    v3_scale(way, splat((ureal)sign), way);
    core_support(c, tables, reals, way, local);
    for (int k = 0; c->type == CONVEX_CYLINDER && k < 2; ++k) local[k] = select(h->edge, splat(0), local[k]);
    m3_mul(c->g.mat, local, h->point);
}

/*
 * Searches end within a tolerance (ccd_tolerance), and a smooth surface's normal and place are off by about its square
 * root. Newton's method takes the contact of a round geom to where its conditions hold. Gives the lanes in which they
 * do and the contact is still the same one; in others it stays.
 */
LFN mask held_refine(const convex *a, const convex *b, const int *tables, const ureal *reals, mask lanes, contact *con)
{
    contact c = *con;
    mask active = lanes, done = m_none();
    for (int n = 0; n < HELD_REFINEMENTS && any(active); ++n) {
        held p, q;
        held_system e;
        real frame[9], none[3], gap[3], D[2], y[2], u[2], w[2], way[3], at[3];
        for (int k = 0; k < 3; ++k) none[k] = splat(0);
        contact_frame(c.normal, none, frame);
        held_find(a, tables, reals, &c, 1, frame, &p);
        held_find(b, tables, reals, &c, -1, frame, &q);
        held_farthest(a, tables, reals, c.normal, 1, &p);
        held_farthest(b, tables, reals, c.normal, -1, &q);
        v3_sub(b->g.pos, a->g.pos, gap);
        for (int k = 0; k < 3; ++k) gap[k] = gap[k] + (q.point[k] - p.point[k]);
        real apart = v3_dot(gap, c.normal);
        held_linear(&p, &q, apart, &e);
        tangent_parts(frame, gap, D);
        for (int k = 0; k < 2; ++k) D[k] = fma(-e.rest, p.off[k], D[k]);
        symmetric_mul(e.Kb, D, u);
        for (int k = 0; k < 2; ++k) u[k] = u[k] + q.off[k] - p.off[k];
        y[0] = fma(e.M[3], u[0], -(e.M[1] * u[1])) * e.inverse; /* M y = u */
        y[1] = fma(e.M[0], u[1], -(e.M[2] * u[0])) * e.inverse;
        symmetric_mul(e.Ka, y, w);
        for (int k = 0; k < 2; ++k) w[k] = w[k] + p.off[k];
        real turn2 = fma(w[0], w[0], w[1] * w[1]);
        active = m_and(active, m_and(e.sure, lt(turn2, splat((ureal)0.1))));
        tangent_vector(frame, w, way);
        v3_add(way, c.normal, way);
        v3_normalize(way);
        tangent_vector(frame, y, at); /* along the grown surface, and back to the core */
        for (int k = 0; k < 3; ++k) at[k] = at[k] + p.point[k] + e.s * (c.normal[k] - way[k]);
        real dist = apart - p.radius - q.radius, out = fma(splat((ureal)0.5), dist, p.radius);
        v3_add(at, a->g.pos, at);
        v3_add_scaled(at, way, out, at);
        c.dist = select(active, dist, c.dist);
        v3_select(active, at, c.pos, c.pos);
        v3_select(active, way, c.normal, c.normal);
        mask ends = m_and(active, lt(turn2, splat(HELD_ENDS * HELD_ENDS)));
        done = m_or(done, ends);
        active = m_andnot(active, ends);
    }
    done = m_and(done, gt(v3_dot(c.normal, con->normal), splat((ureal)0.99)));
    contact_copy_if(done, &c, con);
    return done;
}

/*
 * Adds what one contact between a and b with these features gives to both, in some lanes: the gradients of its
 * distance, position and normal; `frame` is contact_frame of the normal. Gives the lanes in which there is a
 * derivative: not where edges or faces are parallel, or points coincide.
 */
LFN mask held_pull(const convex *a, const held *p, const convex *b, const held *q, const real *frame, real dist,
                   real dist_grad, const real *pos_grad, const real *normal_grad, mask lanes, geom_grad *a_grad,
                   geom_grad *b_grad)
{
    held_system e;
    real half = splat((ureal)0.5);
    held_linear(p, q, dist + p->radius + q->radius, &e);
    mask sure = m_and(lanes, e.sure);

    /* the position: from the grown point of a on along the normal */
    real on = fma(half, dist, p->radius) - e.s, along = fma(half, v3_dot(pos_grad, frame), dist_grad);
    real turn[2], slide[2], y[2], u[2], v[2], pos_parts[2];
    tangent_parts(frame, normal_grad, turn);
    tangent_parts(frame, pos_grad, pos_parts);
    for (int k = 0; k < 2; ++k) turn[k] = fma(on, pos_parts[k], turn[k]);
    symmetric_mul(e.Ka, turn, slide);
    for (int k = 0; k < 2; ++k) slide[k] = slide[k] + pos_parts[k];
    y[0] = fma(e.M[3], slide[0], -(e.M[2] * slide[1])) * e.inverse; /* M' y = slide */
    y[1] = fma(e.M[0], slide[1], -(e.M[1] * slide[0])) * e.inverse;
    symmetric_mul(e.Kb, y, u);
    for (int k = 0; k < 2; ++k) v[k] = turn[k] - y[k] - e.rest * u[k];

    real force[3], back[3], turned[3];
    tangent_vector(frame, u, force);
    v3_add_scaled(force, frame, along, force);
    v3_sub(pos_grad, force, back);
    tangent_vector(frame, v, turned);
    held_give(sure, a, p, frame, 1, e.s, back, turned, v3_dot(pos_grad, frame) - along, a_grad);
    tangent_vector(frame, y, turned);
    held_give(sure, b, q, frame, -1, e.s, force, turned, -along, b_grad);
    return sure;
}

#endif
