/*
 * Contacts of a box with a sphere and a capsule. Corners have numbers of three bits: bit k is set where they have
 * +size[k].
 */
#ifndef STI_PHYSICS_COLLIDE_BOX_K_H
#define STI_PHYSICS_COLLIDE_BOX_K_H
#include "physics/collide/contact.k.h"

#define CAPSULE_BOX_CONTACTS 2

/* The squared sine of the angle below which a capsule counts as parallel to an edge: its corners and ends tell more. */
#define CAPSULE_ALONG_EDGE ((ureal)1e-11)
/* The way to a second place, in half-lengths, below which it only repeats the first one. */
#define CAPSULE_LEVER ((ureal)1e-3)
/* Differences of distances that are rounding, in units of the sizes of both geoms. */
#if STET_DOUBLE
#define CAPSULE_ROUNDING ((ureal)1e-13)
#else
#define CAPSULE_ROUNDING ((ureal)2e-7)
#endif

/* A sphere about `centre`, which is in the box's frame. */
LFN void sphere_box(const real *centre, real radius, const geom *box, real margin, contact *c)
{
    real nearest[3], normal[3], point[3];
    for (int k = 0; k < 3; ++k) nearest[k] = clamp(centre[k], -box->size[k], box->size[k]);
    v3_sub(nearest, centre, normal);
    real dist = v3_normalize(normal);
    mask inside = le(dist, splat(PHYSICS_MINVAL));
    for (int k = 0; k < 3; ++k) /* midway between the box's surface and the sphere's */
        point[k] = splat((ureal)0.5) * (nearest[k] + fma(normal[k], radius, centre[k]));

    if (any(inside)) { /* the sphere's centre leaves by the nearest face */
        real depth = splat(2) * (box->size[0] + box->size[1] + box->size[2]), face[3];
        for (int k = 0; k < 3; ++k) face[k] = splat(0);
        for (int i = 0; i < 6; ++i) {
            int k = i / 2;
            real gap = rabs(i % 2 ? box->size[k] - centre[k] : box->size[k] + centre[k]);
            mask nearer = lt(gap, depth);
            depth = select(nearer, gap, depth);
            for (int j = 0; j < 3; ++j) face[j] = select(nearer, splat(j != k ? 0 : i % 2 ? -1 : 1), face[j]);
        }
        dist = select(inside, -depth, dist);
        for (int k = 0; k < 3; ++k) {
            normal[k] = select(inside, face[k], normal[k]);
            point[k] = select(inside, fma(face[k], splat((ureal)0.5) * (radius - depth), centre[k]), point[k]);
        }
    }
    c->dist = dist - radius;
    c->hit = le(c->dist, margin);
    m3_mul(box->mat, point, c->pos);
    v3_add(c->pos, box->pos, c->pos);
    m3_mul(box->mat, normal, c->normal);
}

LFN void collide_sphere_box(const geom *sphere, const geom *box, real margin, contact *con)
{
    real from[3], centre[3];
    v3_sub(sphere->pos, box->pos, from);
    m3_mul_transposed(box->mat, from, centre);
    sphere_box(centre, sphere->size[0], box, margin, con);
}

/* A capsule's axis in the frame of a box, and the place on it that is nearest to the box. */
typedef struct capsule_on_box {
    real centre[3], axis[3], half[3]; /* half: the axis times the half-length */
    lint heading;                     /* bit k is set where the axis ascends along k */
    real rounding;                    /* m; a smaller difference of two places' distances does not tell them apart */
    real dist2;                       /* the least squared distance so far */
    real t;                           /* the place on the axis, -1 … 1 */
    mask found, face, in_box;         /* an end over a face, or (in_box) in the box; else near an edge */
    lint over;                        /* the axis that the face is across */
    lint edge, corner;                /* the axis that the edge runs along, the nearest corner */
    mask middle;                      /* the place is between the edge's corners */
    real along;                       /* … at -1 … 1 of it */
} capsule_on_box;

/* Is an end of the capsule over a face of the box, or inside? */
LFN void capsule_ends_over_faces(const geom *box, capsule_on_box *s)
{
    for (int i = -1; i <= 1; i += 2) {
        lint beyond = isplat(0), over = isplat(-1);
        real dist2 = splat(0);
        for (int k = 0; k < 3; ++k) {
            real x = fma(s->half[k], splat((ureal)i), s->centre[k]);
            real gap = x - clamp(x, -box->size[k], box->size[k]);
            mask out = gt(rabs(x), box->size[k]);
            beyond = beyond + iselect(out, isplat(1), isplat(0));
            over = iselect(out, isplat(k), over);
            dist2 = fma(gap, gap, dist2);
        }
        mask better = m_and(ilt(beyond, isplat(2)), lt(dist2, s->dist2));
        s->dist2 = select(better, dist2, s->dist2);
        s->t = select(better, splat((ureal)i), s->t);
        s->over = iselect(better, over, s->over);
        s->found = m_or(s->found, better);
        s->face = m_or(s->face, better);
    }
    s->in_box = ilt(s->over, isplat(0));
}

/*
 * The edge of the box that runs along axis k from `corner`: nearest to a line where both are seen along the edge, as a
 * point and a line. So no difference of numbers near 1 is needed, however small the angle between them is.
 */
LFN void capsule_near_edge(const geom *capsule, const geom *box, int k, int corner, capsule_on_box *s)
{
    int i = (k + 1) % 3, j = (k + 2) % 3;
    real gap[3], one = splat(1), size = box->size[k], bb = capsule->size[1] * capsule->size[1];
    gap[i] = ((corner >> i) & 1 ? box->size[i] : -box->size[i]) - s->centre[i];
    gap[j] = ((corner >> j) & 1 ? box->size[j] : -box->size[j]) - s->centre[j];
    gap[k] = -s->centre[k];
    real across2 = fma(s->half[i], s->half[i], s->half[j] * s->half[j]);
    real across = fma(s->half[i], gap[i], s->half[j] * gap[j]);
    mask exists = gt(across2, splat(CAPSULE_ALONG_EDGE) * bb);
    real on_axis = across / select(exists, across2, one);
    real on_box = fma(s->half[k], on_axis, -gap[k]) / size, end = clamp(on_box, -one, one);
    mask above = gt(on_box, one), below = lt(on_box, -one);
    on_axis = select(eq(end, on_box), on_axis, fma(s->half[k], fma(end, size, gap[k]), across) / bb);
    on_axis = clamp(on_axis, -one, one);
    on_box = fma(s->half[k], on_axis, -gap[k]) / size;
    above = m_or(gt(on_box, one), m_andnot(above, lt(on_box, -one))); /* MuJoCo's: the first corner stands, too */
    below = m_or(lt(on_box, -one), m_andnot(below, gt(on_box, one)));
    on_box = clamp(on_box, -one, one);

    v3_add_scaled(gap, s->half, -on_axis, gap);
    gap[k] = fma(size, on_box, gap[k]);
    real dist2 = v3_dot(gap, gap);
    mask better = m_and(exists, lt(dist2, s->dist2));
    s->dist2 = select(better, dist2, s->dist2);
    s->t = select(better, on_axis, s->t);
    s->along = select(better, on_box, s->along);
    s->edge = iselect(better, isplat(k), s->edge);
    s->corner = iselect(better, iselect(above, isplat(corner + (1 << k)), isplat(corner)), s->corner);
    s->middle = m_or(m_andnot(s->middle, better), m_andnot(better, m_or(above, below)));
    s->found = m_or(s->found, better);
    s->face = m_andnot(s->face, better);
}

/* Into the frame of the box. Gives the lanes that neither the box's axes nor the capsule's show to be apart. */
LFN mask capsule_near_box(const geom *capsule, const geom *box, real margin, capsule_on_box *s)
{
    real from[3], axis[3], radius = capsule->size[0] + margin, reach = capsule->size[1] + radius;
    v3_sub(capsule->pos, box->pos, from);
    m3_mul_transposed(box->mat, from, s->centre);
    m3_column(capsule->mat, 2, axis);
    m3_mul_transposed(box->mat, axis, s->axis);
    v3_scale(s->axis, capsule->size[1], s->half);
    mask near = m_all();
    for (int k = 0; k < 3; ++k) {
        near = m_and(near, le(rabs(s->centre[k]), rabs(s->half[k]) + box->size[k] + radius));
        reach = fma(rabs(s->axis[k]), box->size[k], reach);
    }
    return m_and(near, le(rabs(v3_dot(s->centre, s->axis)), reach));
}

/* All edges are tried; ties stay with the first. */
LFN void capsule_nearest_on_box(const geom *capsule, const geom *box, capsule_on_box *s)
{
    s->heading = isplat(0);
    for (int k = 0; k < 3; ++k) s->heading = s->heading | iselect(gt(s->half[k], splat(0)), isplat(1 << k), isplat(0));
    s->rounding =
        splat(CAPSULE_ROUNDING) * (capsule->size[0] + capsule->size[1] + box->size[0] + box->size[1] + box->size[2]);
    s->dist2 = splat((ureal)1e30);
    s->t = splat(0);
    s->along = splat(0);
    s->found = m_none();
    s->face = m_none();
    s->middle = m_none();
    s->over = isplat(-1);
    s->edge = isplat(0);
    s->corner = isplat(0);
    capsule_ends_over_faces(box, s);
    for (int k = 0; k < 3; ++k)
        for (int corner = 0; corner < 8; ++corner)
            if (((corner >> k) & 1) == 0) capsule_near_edge(capsule, box, k, corner, s);
}

LFN mask bit_set(lint bits, int k) { return ieq(bits & isplat(1 << k), isplat(1 << k)); }

/* How far along the capsule (of a unit of its half-length) it stays over the box, from one side of it to the other. */
LFN real capsule_across(const geom *box, const capsule_on_box *s, int k)
{
    return splat(2) * box->size[k] / rabs(s->half[k]);
}

/* Is there a way to a second place, and is what the capsule sinks on it rounding? `sinks`: m in a half-length. */
LFN mask capsule_level(const capsule_on_box *s, real sinks, real way)
{
    return m_and(le(sinks * rmin(way, splat(1)), s->rounding), gt(way, splat(CAPSULE_LEVER)));
}

/*
 * From a corner: the axes along which the capsule points away from the corner differ from the others in one, `odd`. It
 * lies along the edge of that axis, or over the face across it. Where all axes are alike, the capsule points to the
 * corner or away from it. But if it runs along one of them by rounding alone, it lies over the face across that axis.
 */
LFN real second_from_corner(const geom *box, const capsule_on_box *s, mask *exists)
{
    lint away = s->heading ^ s->corner, count = isplat(0), least = isplat(1);
    real smallest = rabs(s->half[0]);
    for (int k = 0; k < 3; ++k) count = count + iselect(bit_set(away, k), isplat(1), isplat(0));
    for (int k = 1; k < 3; ++k) {
        mask smaller = lt(rabs(s->half[k]), smallest);
        smallest = select(smaller, rabs(s->half[k]), smallest);
        least = iselect(smaller, isplat(1 << k), least);
    }
    mask none = ieq(count, isplat(0)), alike = m_or(none, ieq(count, isplat(3)));
    away = iselect(alike, away ^ least, away);
    mask one = m_or(none, ieq(count, isplat(1))), steep = m_none();
    real sign = select(one, splat(1), splat(-1));
    real on_edge = fma(-sign, s->t, splat(1)), on_face = fma(sign, s->t, splat(1));
    for (int k = 0; k < 3; ++k) {
        mask odd = m_not(bit_set(away, k) ^ one);
        real across = capsule_across(box, s, k);
        on_edge = select(odd, rmin(across, on_edge), on_edge);
        on_face = select(odd, on_face, rmin(across, on_face));
        steep = m_or(steep, m_and(odd, gt(s->axis[k] * s->axis[k], splat((ureal)0.5))));
    }
    *exists = m_or(m_not(alike), capsule_level(s, smallest, on_face));
    return select(steep, on_edge * sign, -(on_face * sign));
}

/*
 * From a place within an edge along axis k: over the face to which the capsule has the smaller angle. It must not sink
 * into the box on the way, but for rounding.
 */
LFN real second_from_edge(const geom *box, const capsule_on_box *s, int k, mask *exists)
{
    int i = (k + 1) % 3, j = (k + 2) % 3;
    lint away = s->heading ^ s->corner;
    mask away_i = bit_set(away, i), away_j = bit_set(away, j);
    mask over_i = gt(rabs(s->axis[i]), rabs(s->axis[j])), ahead = m_or(m_and(over_i, away_i), m_andnot(away_j, over_i));
    real sign = select(ahead, splat(1), splat(-1)), second = fma(-sign, s->t, splat(1));
    second = rmin(select(over_i, capsule_across(box, s, i), capsule_across(box, s, j)), second);
    mask up = m_not(bit_set(s->heading, k) ^ ahead);
    real rest = box->size[k] * select(up, splat(1) - s->along, splat(1) + s->along), way = rabs(s->half[k]);
    second = select(gt(way * second, rest + s->rounding), rest / way, second);
    *exists = m_or(away_i ^ away_j, capsule_level(s, select(over_i, rabs(s->half[j]), rabs(s->half[i])), second));
    return second * sign;
}

/* From an end over a face: to where the capsule leaves the face by more than rounding. */
LFN real second_from_face(const geom *box, const capsule_on_box *s)
{
    real second = splat(2);
    for (int k = 0; k < 3; ++k) {
        real way = -(s->half[k] * s->t), end = fma(s->half[k], s->t, s->centre[k]);
        real room = select(gt(way, splat(0)), box->size[k] - end, box->size[k] + end);
        mask leaves = m_andnot(gt(splat(2) * rabs(way), room + s->rounding), ieq(s->over, isplat(k)));
        second = select(leaves, rmin(rmax(room, splat(0)) / rabs(way), second), second);
    }
    return -(s->t * second);
}

/* From the nearest place to a second one (in half-lengths), where there is one. */
LFN real capsule_second(const geom *box, const capsule_on_box *s, mask *second_exists)
{
    mask corner = m_not(m_or(s->face, s->middle)), exists = m_none();
    real second = second_from_corner(box, s, &exists);
    exists = m_or(m_and(corner, exists), m_andnot(s->face, s->in_box));
    second = select(s->face, second_from_face(box, s), second);
    for (int k = 0; k < 3; ++k) {
        mask here = m_and(m_andnot(s->middle, s->face), ieq(s->edge, isplat(k))), apart;
        real place = second_from_edge(box, s, k, &apart);
        second = select(here, place, second);
        exists = m_or(exists, m_and(here, apart));
    }
    *second_exists = exists;
    return second;
}

/*
 * The place of the capsule nearest to the box, and a second one where it lies along an edge or a face. Slot 1 may be
 * filled where slot 0 is empty. The nearest place is an end or at an edge: as with MuJoCo, a capsule that goes through
 * a box from face to face, farther than its radius from each edge, does not touch it.
 */
LFN void collide_capsule_box(const geom *capsule, const geom *box, real margin, mask lanes, contact *con)
{
    capsule_on_box s;
    mask near = capsule_near_box(capsule, box, margin, &s);
    near = m_and(near, lanes);
    contact_clear(con, CAPSULE_BOX_CONTACTS);
    if (!any(near)) return;
    capsule_nearest_on_box(capsule, box, &s);

    mask exists;
    real second = capsule_second(box, &s, &exists);
    real place[3];
    v3_add_scaled(s.centre, s.half, s.t, place);
    sphere_box(place, capsule->size[0], box, margin, con);
    con[0].hit = m_and(con[0].hit, m_and(near, s.found));
    v3_add_scaled(s.centre, s.half, s.t + second, place);
    sphere_box(place, capsule->size[0], box, margin, con + 1);
    con[1].hit = m_and(m_and(con[1].hit, near), m_and(s.found, exists));
}

#endif
