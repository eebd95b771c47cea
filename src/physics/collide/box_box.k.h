/*
 * Contacts between two boxes. The axis along which they penetrate least (or are farthest apart) is found among the 15
 * that can separate boxes: the normals of their faces and the cross products of their edges. If it is a face's normal,
 * the face of the other box that looks at it is cut to the face's outline, and each corner of what is left is a
 * contact. If it is a cross product, there is one contact between two edges. Choices and tolerances are MuJoCo's.
 */
#ifndef STI_PHYSICS_COLLIDE_BOX_BOX_K_H
#define STI_PHYSICS_COLLIDE_BOX_BOX_K_H
#include "physics/collide/contact.k.h"

#define BOX_BOX_CONTACTS 8

#if STET_DOUBLE
#define BOX_ROUNDING ((ureal)1e-13)   /* of separations, in units of the boxes' sizes */
#define BOX_PARALLEL ((ureal)1e-16)   /* the squared sine below which edges count as parallel */
#define BOX_AMBIGUOUS ((ureal)1e-9)   /* an axis component below which either of two edges supports it */
#define BOX_ON_OUTLINE ((ureal)3e-14) /* distance from a face's outline that is rounding, in sizes of both faces */
#else
#define BOX_ROUNDING ((ureal)1e-6)
#define BOX_PARALLEL ((ureal)1e-10)
#define BOX_AMBIGUOUS ((ureal)1e-5)
#define BOX_ON_OUTLINE ((ureal)2e-7)
#endif
#define BOX_SAME_POINT ((ureal)1e-14) /* squared distance of corners that count as one, in squared sizes of the face */
#define BOX_EDGE_BIAS ((ureal)1e-6)   /* by how much of its separation an edge axis must beat a face's */

/* What both boxes know of each other. Codes of axes: 0 … 2 faces of a, 3 … 5 faces of b, 6 + 3 i + j edges i and j. */
typedef struct box_pair {
    real turn[9];   /* column j: axis j of b in the frame of a */
    real b_in_a[3]; /* the centre of b in the frame of a */
    real a_in_b[3];
    real rounding;   /* of a separation (m) */
    real most;       /* the separation up to which there is a contact */
    real face, best; /* the separation along the best face axis, along the best axis of all */
    lint face_code, code;
    mask apart;
} box_pair;

/* v[k], v[k + 1], v[k + 2] in lanes; elements of v are `stride` apart. */
LFN void pick_cycle(lint k, const real *v, int stride, real *out)
{
    mask is0 = ieq(k, isplat(0)), is1 = ieq(k, isplat(1));
    for (int i = 0; i < 3; ++i)
        out[i] = select(is0, v[i * stride], select(is1, v[(i + 1) % 3 * stride], v[(i + 2) % 3 * stride]));
}
/* The inverse: out[k + i] = v[i]. */
LFN void put_cycle(lint k, const real *v, real *out)
{
    mask is0 = ieq(k, isplat(0)), is1 = ieq(k, isplat(1));
    for (int i = 0; i < 3; ++i) out[i] = select(is0, v[i], select(is1, v[(i + 2) % 3], v[(i + 1) % 3]));
}

LFN void box_axis(real separation, int code, box_pair *s)
{
    mask better = gt(separation, s->best);
    s->apart = m_or(s->apart, gt(separation, s->most));
    s->best = select(better, separation, s->best);
    s->code = iselect(better, isplat(code), s->code);
}

/* The cross product of edge i of a with edge j of b. */
LFN void box_edge_axis(const geom *a, const geom *b, int i, int j, box_pair *s)
{
    int i1 = (i + 1) % 3, i2 = (i + 2) % 3, j1 = (j + 1) % 3, j2 = (j + 2) % 3;
    real x = -s->turn[3 * i2 + j], y = s->turn[3 * i1 + j], length2 = fma(x, x, y * y);
    mask exists = ge(length2, splat(BOX_PARALLEL));
    real inverse = splat(1) / sqrt(select(exists, length2, splat(1)));
    x = x * inverse;
    y = y * inverse;
    real u = fma(x, s->turn[3 * i1 + j1], y * s->turn[3 * i2 + j1]);
    real v = fma(x, s->turn[3 * i1 + j2], y * s->turn[3 * i2 + j2]);
    real reach = fma(a->size[i1], rabs(x), a->size[i2] * rabs(y)) + fma(b->size[j1], rabs(u), b->size[j2] * rabs(v));
    real separation = rabs(fma(x, s->b_in_a[i1], y * s->b_in_a[i2])) - reach;
    s->apart = m_or(s->apart, m_and(exists, gt(separation, s->most)));
    real biased = fma(splat(-BOX_EDGE_BIAS), rabs(separation), separation);
    mask better = m_and(exists, m_and(gt(biased, s->best), gt(separation, s->face)));
    s->best = select(better, separation, s->best);
    s->code = iselect(better, isplat(6 + 3 * i + j), s->code);
}

/* An edge axis that all but is the best face axis gives way to it, unless it is clearly 5 % better: more contacts. */
LFN void box_prefer_face(box_pair *s)
{
    mask near = m_none();
    for (int i = 0; i < 3; ++i)
        for (int j = 0; j < 3; ++j) {
            real axis[3], turned[3], along = splat(0);
            axis[i] = splat(0);
            axis[(i + 1) % 3] = -s->turn[3 * ((i + 2) % 3) + j];
            axis[(i + 2) % 3] = s->turn[3 * ((i + 1) % 3) + j];
            mask here = ieq(s->code, isplat(6 + 3 * i + j));
            if (!any(here)) continue;
            v3_normalize(axis);
            m3_mul_transposed(s->turn, axis, turned);
            for (int k = 0; k < 3; ++k) {
                along = select(ieq(s->face_code, isplat(k)), rabs(axis[k]), along);
                along = select(ieq(s->face_code, isplat(3 + k)), rabs(turned[k]), along);
            }
            near = m_or(near, m_and(here, gt(along, splat((ureal)0.99))));
        }
    real bar = fma(splat((ureal)0.05), rabs(s->face), s->face) + s->rounding;
    mask give = m_and(near, lt(s->best, bar));
    s->code = iselect(give, s->face_code, s->code);
    s->best = select(give, s->face, s->best);
}

LFN void box_find_axis(const geom *a, const geom *b, real margin, box_pair *s)
{
    real between[3];
    v3_sub(b->pos, a->pos, between);
    m3_mul_transposed(a->mat, between, s->b_in_a);
    m3_mul_transposed(b->mat, between, s->a_in_b);
    v3_scale(s->a_in_b, splat(-1), s->a_in_b);
    for (int i = 0; i < 3; ++i)
        for (int j = 0; j < 3; ++j)
            s->turn[3 * i + j] =
                fma(a->mat[6 + i], b->mat[6 + j], fma(a->mat[3 + i], b->mat[3 + j], a->mat[i] * b->mat[j]));
    real sizes = a->size[0] + a->size[1] + a->size[2] + b->size[0] + b->size[1] + b->size[2];
    s->rounding = splat(BOX_ROUNDING) * sizes;
    s->most = margin + s->rounding;
    s->best = splat((ureal)-1e10);
    s->code = isplat(0);
    s->apart = m_none();
    for (int i = 0; i < 3; ++i) {
        real reach = a->size[i];
        for (int j = 0; j < 3; ++j) reach = fma(rabs(s->turn[3 * i + j]), b->size[j], reach);
        box_axis(rabs(s->b_in_a[i]) - reach, i, s);
    }
    for (int j = 0; j < 3; ++j) {
        real reach = b->size[j];
        for (int i = 0; i < 3; ++i) reach = fma(rabs(s->turn[3 * i + j]), a->size[i], reach);
        box_axis(rabs(s->a_in_b[j]) - reach, 3 + j, s);
    }
    s->face = s->best;
    s->face_code = s->code;
    for (int i = 0; i < 3; ++i)
        for (int j = 0; j < 3; ++j) box_edge_axis(a, b, i, j, s);
    if (any(igt(s->code, isplat(5)))) box_prefer_face(s);
}

/* The nearest points of two edges; both lie in a frame whose axis 0 runs along the first. */
LFN void box_edges_meet(const real *corner1, real half1, const real *corner2, const real *way, real half2, real *point1,
                        real *point2)
{
    real from[3], cosine = way[0];
    v3_sub(corner2, corner1, from);
    real along = v3_dot(way, from), slope = fma(-cosine, cosine, splat(1));
    mask parallel = lt(slope, splat(PHYSICS_MINVAL));
    real x = select(parallel, splat(0), fma(-cosine, along, from[0]) / select(parallel, splat(1), slope));
    x = clamp(x, -half1, half1);
    real y = clamp(fma(cosine, x, -along), -half2, half2);
    x = clamp(fma(cosine, y, from[0]), -half1, half1);
    v3_copy(corner1, point1);
    point1[0] = point1[0] + x;
    v3_add_scaled(corner2, way, y, point2);
}

/* `sign` of a where a supporting corner lies, against the axis's component. */
LFN real box_support(real component, real size) { return select(ge(component, splat(0)), size, -size); }

/* The contact of two edges. Frame here: that of a, its axes shifted so that the edge of a is axis 0. */
LFN void box_edge_contact(const geom *a, const geom *b, const box_pair *s, mask lanes, contact *c)
{
    lint pair = s->code - isplat(6), i = isplat(0);
    for (int k = 1; k < 3; ++k) i = i + iselect(igt(pair, isplat(3 * k - 1)), isplat(1), isplat(0));
    lint j = pair - i - i - i;
    real size1[3], size2[3], centre[3], turn[9], row[9];
    pick_cycle(i, a->size, 1, size1);
    pick_cycle(j, b->size, 1, size2);
    pick_cycle(i, s->b_in_a, 1, centre);
    for (int k = 0; k < 3; ++k) pick_cycle(j, s->turn + 3 * k, 1, row + 3 * k); /* columns shifted */
    for (int k = 0; k < 3; ++k) {
        real column[3];
        pick_cycle(i, row + k, 3, column);
        for (int r = 0; r < 3; ++r) turn[3 * r + k] = column[r];
    }
    real axis[3], axis2[3], way[3];
    axis[0] = splat(0);
    axis[1] = -turn[6];
    axis[2] = turn[3];
    v3_normalize(axis);
    mask back = lt(v3_dot(axis, centre), splat(0));
    for (int k = 0; k < 3; ++k) axis[k] = select(back, -axis[k], axis[k]);
    m3_mul_transposed(turn, axis, axis2);
    m3_column(turn, 0, way);

    /* where a component of the axis is all but 0, both edges support it: the nearest pair counts */
    mask small1 = lt(rabs(axis[1]), splat(BOX_AMBIGUOUS)), small2 = lt(rabs(axis2[1]), splat(BOX_AMBIGUOUS));
    mask either1 = m_or(small1, lt(rabs(axis[2]), splat(BOX_AMBIGUOUS)));
    mask either2 = m_or(small2, lt(rabs(axis2[2]), splat(BOX_AMBIGUOUS)));
    real least = splat((ureal)1e10), point1[3], point2[3];
    for (int k = 0; k < 3; ++k) {
        point1[k] = splat(0);
        point2[k] = splat(0);
    }
    for (int flip = 0; flip < 4; ++flip) {
        mask use = m_and(lanes, m_and(flip & 2 ? either1 : m_all(), flip & 1 ? either2 : m_all()));
        if (!any(use)) continue;
        real corner1[3], corner[3], corner2[3], near1[3], near2[3], gap[3];
        corner1[0] = splat(0);
        corner[0] = splat(0);
        for (int k = 1; k < 3; ++k) {
            corner1[k] = box_support(axis[k], size1[k]);
            corner[k] = -box_support(axis2[k], size2[k]);
            mask flip1 = k == 1 ? small1 : m_andnot(either1, small1),
                 flip2 = k == 1 ? small2 : m_andnot(either2, small2);
            if (flip & 2) corner1[k] = select(flip1, -corner1[k], corner1[k]);
            if (flip & 1) corner[k] = select(flip2, -corner[k], corner[k]);
        }
        m3_mul(turn, corner, corner2);
        v3_add(corner2, centre, corner2);
        box_edges_meet(corner1, size1[0], corner2, way, size2[0], near1, near2);
        v3_sub(near2, near1, gap);
        real gap2 = v3_dot(gap, gap);
        mask nearer = m_and(use, lt(gap2, least));
        least = select(nearer, gap2, least);
        v3_select(nearer, near1, point1, point1);
        v3_select(nearer, near2, point2, point2);
    }
    real gap[3], middle[3], local[3];
    v3_sub(point2, point1, gap);
    c->dist = v3_dot(gap, axis);
    c->hit = m_and(lanes, le(c->dist, s->most));
    v3_add(point1, point2, middle);
    v3_scale(middle, splat((ureal)0.5), middle);
    put_cycle(i, middle, local);
    m3_mul(a->mat, local, c->pos);
    v3_add(c->pos, a->pos, c->pos);
    put_cycle(i, axis, local);
    m3_mul(a->mat, local, c->normal);
}

/*
 * Two faces: the reference face is a rectangle, half0 by half1 about the origin of a plane; the other one is a
 * parallelogram about `centre` with half-edges `edge`. Coordinates are (x, y) in the plane and the height above it.
 *
 * What lies within rounding of the rectangle's outline is found once, whichever way it is rounded: a corner or an edge
 * of the parallelogram that is at most `outline` beyond a side is within it; the rectangle's corners count where they
 * are clearly inside, at least 0.57 of `outline`, and points that are `same` or nearer are one.
 */
typedef struct box_faces {
    real half[2], centre[3], edge[2][3];
    real outline; /* m */
    real same2;   /* squared distance within which points count as one */
    real margin;
    real point[BOX_BOX_CONTACTS][3];
    mask hit[BOX_BOX_CONTACTS];
} box_faces;

/* Adds a corner of what the two faces have in common, if it is low enough and new. `first`: no slot before is free. */
LFN void box_face_point(box_faces *f, const real *p, mask valid, int first)
{
    mask waits = m_and(valid, le(p[2], f->margin));
    for (int i = 0; i < BOX_BOX_CONTACTS; ++i) {
        real dx = f->point[i][0] - p[0], dy = f->point[i][1] - p[1];
        if (i < first) waits = m_andnot(waits, m_and(f->hit[i], lt(fma(dx, dx, dy * dy), f->same2)));
    }
    for (int i = 0; i < BOX_BOX_CONTACTS; ++i) {
        mask here = m_andnot(waits, f->hit[i]);
        if (i <= first) {
            v3_select(here, p, f->point[i], f->point[i]);
            f->hit[i] = m_or(f->hit[i], here);
            waits = m_andnot(waits, here);
        }
    }
}

/*
 * An edge of the parallelogram from p along way: its part within the rectangle gives its beginning and its end. The
 * sides across the edge cut it first. Then it may run along one of the other two, which its ends tell best. `inverse`:
 * of the way's component along x, or y, whichever it mainly follows.
 */
LFN void box_clip_edge(box_faces *f, const real *p, const real *way, mask along_x, real inverse, mask lanes, int first)
{
    real aside = select(along_x, way[1], way[0]), at[3];
    real from = select(along_x, p[0], p[1]), beside = select(along_x, p[1], p[0]);
    real half = select(along_x, f->half[0], f->half[1]), width = select(along_x, f->half[1], f->half[0]);
    real low = (-half - from) * inverse;
    real high = (half - from) * inverse, enters = rmax(rmin(low, high), splat(0));
    real leaves = rmin(rmax(low, high), splat(1));
    mask valid = m_and(lanes, le(enters, leaves));
    /* it begins and ends beyond the one side or the other, each by more than rounding, or within */
    real begins = fma(aside, enters, beside), ends = fma(aside, leaves, beside), length = leaves - enters;
    mask begins_over = gt(begins - width, f->outline), begins_under = gt(-begins - width, f->outline);
    mask ends_over = gt(ends - width, f->outline), ends_under = gt(-ends - width, f->outline);
    valid = m_andnot(valid, m_or(m_and(begins_over, ends_over), m_and(begins_under, ends_under)));
    real step = length / (ends - begins), over = fma(width - begins, step, enters);
    real under = fma(-width - begins, step, enters);
    real first_cut = select(begins_over, over, under), last_cut = select(ends_over, over, under);
    first_cut = select(m_or(begins_over, begins_under), clamp(first_cut, enters, leaves), enters);
    leaves = select(m_or(ends_over, ends_under), clamp(last_cut, enters, leaves), leaves);
    enters = first_cut;
    valid = m_and(valid, le(enters, leaves));
    v3_add_scaled(p, way, enters, at);
    box_face_point(f, at, valid, first);
    v3_add_scaled(p, way, leaves, at);
    box_face_point(f, at, valid, first + 1);
}

/* A corner of the rectangle below (or above) the parallelogram, if it is clearly inside its outline. */
LFN void box_clip_corner(box_faces *f, real x, real y, real det, real inverse, mask lanes)
{
    const real *u = f->edge[0], *v = f->edge[1];
    real p[3], dx = x - f->centre[0], dy = y - f->centre[1], outline = splat((ureal)0.4) * f->outline;
    real a = dx * v[1] - dy * v[0], b = dy * u[0] - dx * u[1]; /* in units of det */
    p[0] = x;
    p[1] = y;
    p[2] = fma(fma(a, u[2], b * v[2]), inverse, f->centre[2]);
    mask within = m_and(gt(rabs(det) - rabs(a), outline * (rabs(v[0]) + rabs(v[1]))),
                        gt(rabs(det) - rabs(b), outline * (rabs(u[0]) + rabs(u[1]))));
    box_face_point(f, p, m_and(lanes, within), BOX_BOX_CONTACTS);
}

LFN void box_clip_faces(box_faces *f, mask lanes)
{
    for (int i = 0; i < BOX_BOX_CONTACTS; ++i) {
        f->hit[i] = m_none();
        for (int k = 0; k < 3; ++k) f->point[i][k] = splat(0);
    }
    mask along_x[2];
    real inverse[2];
    for (int i = 0; i < 2; ++i) {
        along_x[i] = ge(rabs(f->edge[i][0]), rabs(f->edge[i][1]));
        real along = select(along_x[i], f->edge[i][0], f->edge[i][1]);
        inverse[i] = splat((ureal)0.5) / select(eq(along, splat(0)), splat(1), along);
    }
    for (int i = 0; i < 4; ++i) { /* corners (1, 1), (-1, 1), (-1, -1), (1, -1) in units of the half-edges */
        real p[3], way[3], side = splat(i == 1 || i == 2 ? -1 : 1), up = splat(i < 2 ? 1 : -1);
        int back = i == 0 || i == 1;
        for (int k = 0; k < 3; ++k) {
            p[k] = fma(side, f->edge[0][k], fma(up, f->edge[1][k], f->centre[k]));
            way[k] = f->edge[i % 2][k] * splat(back ? -2 : 2);
        }
        box_clip_edge(f, p, way, along_x[i % 2], back ? -inverse[i % 2] : inverse[i % 2], lanes, 2 * i);
    }
    real det = f->edge[0][0] * f->edge[1][1] - f->edge[0][1] * f->edge[1][0];
    mask flat = lt(rabs(det), splat((ureal)1e-30));
    real of_det = splat(1) / select(flat, splat(1), det);
    for (int i = 0; i < 4; ++i)
        box_clip_corner(f, i == 0 || i == 3 ? f->half[0] : -f->half[0], i < 2 ? f->half[1] : -f->half[1], det, of_det,
                        m_andnot(lanes, flat));
}

/* The contacts of a face. The reference box owns the axis; the incident one is the other. */
LFN void box_face_contacts(const geom *a, const geom *b, const box_pair *s, real margin, mask lanes, contact *con)
{
    mask first = ilt(s->code, isplat(3)); /* the reference box is a */
    lint axis = iselect(first, s->code, s->code - isplat(3)), facing = isplat(0);
    real turn[9], shifted[9], to[3], size[3], size2[3], rows[9], centre[3];
    for (int r = 0; r < 3; ++r) {
        for (int k = 0; k < 3; ++k) turn[3 * r + k] = select(first, s->turn[3 * r + k], s->turn[3 * k + r]);
        to[r] = select(first, s->b_in_a[r], s->a_in_b[r]);
        size[r] = select(first, a->size[r], b->size[r]);
        size2[r] = select(first, b->size[r], a->size[r]);
    }
    /* rows shifted, so that the axis is row 0; then columns, so that the incident face's normal is column 0 */
    real flat1[3], flat2[3];
    pick_cycle(axis, to, 1, centre);
    pick_cycle(axis, size, 1, flat1);
    for (int k = 0; k < 3; ++k) {
        real column[3];
        pick_cycle(axis, turn + k, 3, column);
        for (int r = 0; r < 3; ++r) rows[3 * r + k] = column[r];
    }
    real most = rabs(rows[0]);
    for (int k = 1; k < 3; ++k) {
        mask more = gt(rabs(rows[k]), most);
        most = select(more, rabs(rows[k]), most);
        facing = iselect(more, isplat(k), facing);
    }
    for (int r = 0; r < 3; ++r) pick_cycle(facing, rows + 3 * r, 1, shifted + 3 * r);
    pick_cycle(facing, size2, 1, flat2);

    box_faces f;
    real side = select(ge(centre[0], splat(0)), splat(1), splat(-1));
    real inward = select(gt(side * shifted[0], splat(0)), -flat2[0], flat2[0]);
    for (int k = 0; k < 3; ++k) {
        int r = (k + 1) % 3; /* x, y and the height are rows 1, 2 and 0 */
        real up = k == 2 ? side : splat(1);
        f.centre[k] = up * fma(inward, shifted[3 * r], centre[r]);
        f.edge[0][k] = up * flat2[1] * shifted[3 * r + 1];
        f.edge[1][k] = up * flat2[2] * shifted[3 * r + 2];
    }
    f.centre[2] = f.centre[2] - flat1[0];
    f.half[0] = flat1[1];
    f.half[1] = flat1[2];
    f.outline = splat(BOX_ON_OUTLINE) * (flat1[1] + flat1[2] + flat2[1] + flat2[2]);
    f.same2 =
        fma(splat(4) * f.outline, f.outline, splat(BOX_SAME_POINT) * fma(flat1[1], flat1[1], flat1[2] * flat1[2]));
    f.margin = margin;
    box_clip_faces(&f, lanes);

    real normal[3], mat[9], pos[3], unit[3], local[3];
    for (int k = 0; k < 9; ++k) mat[k] = select(first, a->mat[k], b->mat[k]);
    v3_select(first, a->pos, b->pos, pos);
    unit[0] = select(first, side, -side);
    unit[1] = splat(0);
    unit[2] = splat(0);
    put_cycle(axis, unit, local);
    m3_mul(mat, local, normal);
    for (int i = 0; i < BOX_BOX_CONTACTS; ++i) {
        contact c;
        c.hit = f.hit[i];
        c.dist = f.point[i][2];
        unit[0] = side * fma(splat((ureal)0.5), c.dist, flat1[0]);
        unit[1] = f.point[i][0];
        unit[2] = f.point[i][1];
        put_cycle(axis, unit, local);
        m3_mul(mat, local, c.pos);
        v3_add(c.pos, pos, c.pos);
        v3_copy(normal, c.normal);
        contact_copy_if(lanes, &c, con + i);
    }
}

LFN void collide_box_box(const geom *a, const geom *b, real margin, contact *con)
{
    box_pair s;
    contact_clear(con, BOX_BOX_CONTACTS);
    box_find_axis(a, b, margin, &s);
    mask edges = m_andnot(igt(s.code, isplat(5)), s.apart), faces = m_andnot(ilt(s.code, isplat(6)), s.apart);
    if (any(edges)) {
        contact c;
        box_edge_contact(a, b, &s, edges, &c);
        contact_copy_if(edges, &c, con);
    }
    if (any(faces)) box_face_contacts(a, b, &s, margin, faces, con);
}

#endif
