/*
 * The depth of two overlapping cores by an expanding polytope: a polyhedron within A - B, whose face next to the origin
 * is pushed out to the support point along its normal until nothing is gained there.
 *
 * Distances of faces are signed, so the polytope need not enclose the origin at the start: the face with the least
 * distance is pushed out, and a negative distance at the end says that the cores are apart.
 *
 * Each lane has a polytope of its own. It lives in plain local memory, where slot i of a lane is element i * lanes +
 * lane: a lane's own index is gathered and scattered, the same slot of all lanes is loaded and stored. A GPU's driver
 * keeps that memory for all threads that the device could hold (doc/design/gpu_programs.md), so it is small: the three
 * numbers of a face are one, and faces that are gone make room.
 */
#ifndef STI_PHYSICS_COLLIDE_PENETRATION_K_H
#define STI_PHYSICS_COLLIDE_PENETRATION_K_H
#include "physics/collide/convex.k.h"

#define POLYTOPE_VERTICES 40 /* four, and one an iteration */
#define POLYTOPE_EDGES 32    /* one support point makes a hole: its edges, at most */
#define POLYTOPE_LEFT 95     /* faces of a polytope, most; a closed surface of triangles has 2 * vertices - 4 */
#define POLYTOPE_FACES (POLYTOPE_LEFT + POLYTOPE_EDGES)
#define POLYTOPE_NONE (POLYTOPE_FACES - 1) /* a slot without a face; seen as little as one that is gone */
#define POLYTOPE_MADE 192                  /* faces in all, with those that are gone: a limit of the work */
#define POLYTOPE_FLAT ((ureal)1e10)        /* the distance of a face without an area */
#define POLYTOPE_GONE ((ureal)2e10)        /* … of one that is no face any more */
#define VERTEX_BITS 6
#define FACE_BITS 7

typedef struct polytope {
    ureal point[6 * POLYTOPE_VERTICES * STET_W]; /* component c of vertex i is slot c * POLYTOPE_VERTICES + i */
    ureal vertex[POLYTOPE_FACES * STET_W]; /* the corners of a face, counterclockwise from outside: VERTEX_BITS each */
    ureal beside[POLYTOPE_FACES * STET_W]; /* the face across the edge from corner c to the next one: FACE_BITS each */
    ureal normal[3 * POLYTOPE_FACES * STET_W];
    ureal dist[POLYTOPE_FACES * STET_W];   /* of the origin below the face */
    ureal seen[POLYTOPE_FACES * STET_W];   /* 1: the new vertex is above the face */
    ureal edge[POLYTOPE_EDGES * STET_W];   /* the edges of the hole: face * 4 + corner */
    ureal out[POLYTOPE_VERTICES * STET_W]; /* the new face whose edge of the hole begins at a vertex */
    ureal in[POLYTOPE_VERTICES * STET_W];  /* … ends there */
    lint nface, nleft, nmade;              /* slots that are used; faces that are not gone; faces in all */
    int nvertex;
} polytope;

LFN real slot_get(const ureal *memory, lint slot) { return gather(memory, slot * isplat(STET_W) + lane()); }
LFN lint slot_get_int(const ureal *memory, lint slot) { return to_int(slot_get(memory, slot)); }
LFN void slot_put(mask m, ureal *memory, lint slot, real x)
{
    scatter_if(m, memory, slot * isplat(STET_W) + lane(), x);
}

/* Three whole numbers of `bits` bits as one; number k (0 to 2) of such a one. */
LFN lint triple_of(lint a, lint b, lint c, int bits) { return a | ishl(b, bits) | ishl(c, 2 * bits); }
LFN lint triple_get(lint triple, lint k, int bits)
{
    lint high = iselect(ieq(k, isplat(1)), ishr(triple, bits), ishr(triple, 2 * bits));
    return iselect(ieq(k, isplat(0)), triple, high) & isplat((1 << bits) - 1);
}
LFN lint triple_put(lint triple, lint k, lint x, int bits)
{
    lint part[3];
    for (int i = 0; i < 3; ++i) part[i] = iselect(ieq(k, isplat(i)), x, triple_get(triple, isplat(i), bits));
    return triple_of(part[0], part[1], part[2], bits);
}

LFN void polytope_point(const polytope *t, lint i, int component, real *p)
{
    for (int k = 0; k < 3; ++k) p[k] = slot_get(t->point, i + isplat((component + k) * POLYTOPE_VERTICES));
}
LFN void polytope_add_vertex(polytope *t, const convex_point *s)
{
    for (int k = 0; k < 3; ++k) {
        store(t->point + (k * POLYTOPE_VERTICES + t->nvertex) * STET_W, s->v[k]);
        store(t->point + ((3 + k) * POLYTOPE_VERTICES + t->nvertex) * STET_W, s->on_a[k]);
    }
    /* Where rounding makes a hole of several loops these are read before they are written. */
    store(t->out + t->nvertex * STET_W, splat(0));
    store(t->in + t->nvertex * STET_W, splat(0));
    t->nvertex = t->nvertex + 1;
}

/* The face of three vertices; one without an area is never the nearest, and never seen. */
LFN void polytope_put_face(polytope *t, mask m, lint face, const lint *corner)
{
    real a[3], b[3], c[3], u[3], v[3], normal[3];
    polytope_point(t, corner[0], 0, a);
    polytope_point(t, corner[1], 0, b);
    polytope_point(t, corner[2], 0, c);
    v3_sub(b, a, u);
    v3_sub(c, a, v);
    v3_cross(u, v, normal);
    real area2 = v3_dot(normal, normal);
    mask flat = le(area2, splat(CONVEX_ROUNDING * CONVEX_ROUNDING) * v3_dot(u, u) * v3_dot(v, v));
    v3_scale(normal, select(flat, splat(0), splat(1) / sqrt(select(flat, splat(1), area2))), normal);
    slot_put(m, t->vertex, face, to_real(triple_of(corner[0], corner[1], corner[2], VERTEX_BITS)));
    for (int k = 0; k < 3; ++k) slot_put(m, t->normal, face + isplat(k * POLYTOPE_FACES), normal[k]);
    slot_put(m, t->dist, face, select(flat, splat(POLYTOPE_FLAT), v3_dot(normal, a)));
}

/* The faces of the first tetrahedron: corners, and the faces across the edges from each corner to the next. */
static const int tetrahedron_corner[12] = {0, 2, 1, 0, 1, 3, 1, 2, 3, 0, 3, 2};
static const int tetrahedron_beside[12] = {3, 2, 1, 0, 2, 3, 0, 3, 1, 1, 2, 0};

/* The tetrahedron of the first four vertices, of which 1 and 2 are such that its volume is not negative. */
LFN void polytope_begin(polytope *t)
{
    for (int f = 0; f < 4; ++f) {
        lint corner[3], beside[3];
        for (int k = 0; k < 3; ++k) {
            corner[k] = isplat(tetrahedron_corner[3 * f + k]);
            beside[k] = isplat(tetrahedron_beside[3 * f + k]);
        }
        store(t->beside + f * STET_W, to_real(triple_of(beside[0], beside[1], beside[2], FACE_BITS)));
        polytope_put_face(t, m_all(), isplat(f), corner);
    }
    store(t->vertex + POLYTOPE_NONE * STET_W, splat(0));
    store(t->beside + POLYTOPE_NONE * STET_W, splat(0));
    store(t->seen + POLYTOPE_NONE * STET_W, splat(0));
    t->nface = isplat(4);
    t->nleft = isplat(4);
    t->nmade = isplat(4);
}

/* The farther of the support points along a direction and its opposite, measured from a point. */
LFN void support_either_way(const convex *a, const convex *b, const int *tables, const ureal *reals, const real *way,
                            const real *from, convex_point *s)
{
    convex_point other;
    real unit[3];
    v3_copy(way, unit);
    v3_normalize(unit);
    convex_support(a, b, tables, reals, unit, s);
    real ahead = v3_dot(unit, s->v) - v3_dot(unit, from);
    v3_scale(unit, splat(-1), unit);
    convex_support(a, b, tables, reals, unit, &other);
    real behind = v3_dot(unit, other.v) - v3_dot(unit, from);
    convex_point_copy_if(lt(ahead, behind), &other, s);
}

/* Four support points of which no three are in a line and not all in a plane, if A - B has a volume. */
LFN void spread_points(const convex *a, const convex *b, const int *tables, const ureal *reals, convex_point *p)
{
    real way[3], edge[3], across[3], other[3], least;
    v3_scale(b->g.pos, splat(-1), way);
    v3_normalize(way);
    convex_support(a, b, tables, reals, way, &p[0]);
    v3_scale(way, splat(-1), way);
    convex_support(a, b, tables, reals, way, &p[1]);
    v3_sub(p[1].v, p[0].v, edge);
    least = rmin(rabs(edge[0]), rmin(rabs(edge[1]), rabs(edge[2])));
    mask x = le(rabs(edge[0]), least), y = m_andnot(le(rabs(edge[1]), least), x);
    way[0] = select(x, splat(1), splat(0));
    way[1] = select(y, splat(1), splat(0));
    way[2] = select(m_or(x, y), splat(0), splat(1));
    v3_cross(edge, way, across);
    support_either_way(a, b, tables, reals, across, p[0].v, &p[2]);
    v3_sub(p[2].v, p[0].v, other);
    v3_cross(edge, other, across);
    support_either_way(a, b, tables, reals, across, p[0].v, &p[3]);
}

/* The face with the least distance. */
LFN lint polytope_nearest(const polytope *t, int nface, real *dist)
{
    lint best = isplat(0);
    *dist = splat(POLYTOPE_FLAT);
    rolled
    for (int f = 0; f < nface; ++f) {
        real d = load(t->dist + f * STET_W);
        mask nearer = m_and(lt(d, *dist), ilt(isplat(f), t->nface));
        *dist = select(nearer, d, *dist);
        best = iselect(nearer, isplat(f), best);
    }
    return best;
}

/*
 * Where a lane has little room it moves the faces that are left to the first slots, in their order. Returns the most
 * slots that a lane uses.
 */
LFN int polytope_make_room(polytope *t, int nface)
{
    lint n = isplat(0);
    mask full = igt(t->nface, isplat(POLYTOPE_LEFT));
    int most = 0;
    rolled
    for (int f = 0; f < nface; ++f) {
        mask gone = m_and(full, le(splat(POLYTOPE_GONE), load(t->dist + f * STET_W)));
        mask left = m_andnot(ilt(isplat(f), t->nface), gone);
        store(t->seen + f * STET_W, to_real(iselect(left, n, isplat(POLYTOPE_NONE)))); /* where it goes */
        slot_put(left, t->vertex, n, load(t->vertex + f * STET_W));
        slot_put(left, t->beside, n, load(t->beside + f * STET_W));
        for (int k = 0; k < 3; ++k)
            slot_put(left, t->normal, n + isplat(k * POLYTOPE_FACES),
                     load(t->normal + (k * POLYTOPE_FACES + f) * STET_W));
        slot_put(left, t->dist, n, load(t->dist + f * STET_W));
        n = n + iselect(left, isplat(1), isplat(0));
    }
    for (; any(igt(n, isplat(most)));) ++most;
    store(t->seen + POLYTOPE_NONE * STET_W, splat(POLYTOPE_NONE));
    rolled
    for (int f = 0; f < most; ++f) {
        lint beside[3], all = iselect(ilt(isplat(f), n), to_int(load(t->beside + f * STET_W)), isplat(0));
        for (int k = 0; k < 3; ++k) beside[k] = slot_get_int(t->seen, triple_get(all, isplat(k), FACE_BITS));
        store(t->beside + f * STET_W, to_real(triple_of(beside[0], beside[1], beside[2], FACE_BITS)));
    }
    store(t->seen + POLYTOPE_NONE * STET_W, splat(0));
    t->nface = n;
    return most;
}

/* Marks the faces that the newest vertex sees (*seen: how many) and lists the edges around them: how many there are. */
LFN lint polytope_cut(polytope *t, int nface, const real *point, real rounding, mask lanes, lint *seen)
{
    lint count = isplat(0);
    *seen = isplat(0);
    rolled
    for (int f = 0; f < nface; ++f) {
        real normal[3];
        for (int k = 0; k < 3; ++k) normal[k] = load(t->normal + (k * POLYTOPE_FACES + f) * STET_W);
        real above = v3_dot(normal, point) - load(t->dist + f * STET_W);
        /* a face in whose plane the vertex lies goes, too, so that no new face joins three points of a line */
        mask sees = m_and(m_and(lanes, ilt(isplat(f), t->nface)), gt(above, -rounding));
        store(t->seen + f * STET_W, select(sees, splat(1), splat(0)));
        *seen = *seen + iselect(sees, isplat(1), isplat(0));
    }
    rolled
    for (int f = 0; f < nface; ++f) {
        mask sees = gt(load(t->seen + f * STET_W), splat(0));
        if (!any(sees)) continue;
        lint all = iselect(sees, to_int(load(t->beside + f * STET_W)), isplat(0));
        for (int k = 0; k < 3; ++k) {
            mask border = m_and(sees, eq(slot_get(t->seen, triple_get(all, isplat(k), FACE_BITS)), splat(0)));
            border = m_and(border, ilt(count, isplat(POLYTOPE_EDGES)));
            slot_put(border, t->edge, iselect(border, count, isplat(0)), splat((ureal)(4 * f + k)));
            count = count + iselect(border, isplat(1), isplat(0));
        }
    }
    return count;
}

/* Removes the seen faces and joins the edges around them with the newest vertex. */
LFN void polytope_close(polytope *t, int nface, lint count, mask lanes)
{
    rolled
    for (int f = 0; f < nface; ++f) {
        mask sees = m_and(lanes, gt(load(t->seen + f * STET_W), splat(0)));
        store(t->dist + f * STET_W, select(sees, splat(POLYTOPE_GONE), load(t->dist + f * STET_W)));
    }
    for (int pass = 0; pass < 2; ++pass)
        for (int i = 0; i < POLYTOPE_EDGES; ++i) {
            mask m = m_and(lanes, igt(count, isplat(i)));
            if (!any(m)) break;
            lint code = iselect(m, to_int(load(t->edge + i * STET_W)), isplat(0)), old = ishr(code, 2);
            lint k = code & isplat(3), next = iselect(ieq(k, isplat(2)), isplat(0), k + isplat(1));
            lint face = iselect(m, t->nface + isplat(i), isplat(0)), corner[3], corners = slot_get_int(t->vertex, old);
            corner[0] = triple_get(corners, k, VERTEX_BITS);
            corner[1] = triple_get(corners, next, VERTEX_BITS);
            corner[2] = isplat(t->nvertex - 1);
            if (pass == 1) { /* all new faces have their places: link them */
                lint all = triple_of(slot_get_int(t->beside, face), slot_get_int(t->out, corner[1]),
                                     slot_get_int(t->in, corner[0]), FACE_BITS);
                slot_put(m, t->beside, face, to_real(all));
                continue;
            }
            lint kept = triple_get(slot_get_int(t->beside, old), k, FACE_BITS), side = isplat(0);
            corners = slot_get_int(t->vertex, kept);
            for (int c = 1; c < 3; ++c) /* the edge of the kept face begins where that of the old one ends */
                side = iselect(ieq(triple_get(corners, isplat(c), VERTEX_BITS), corner[1]), isplat(c), side);
            polytope_put_face(t, m, face, corner);
            slot_put(m, t->beside, face, to_real(kept));
            slot_put(m, t->beside, kept, to_real(triple_put(slot_get_int(t->beside, kept), side, face, FACE_BITS)));
            slot_put(m, t->out, corner[0], to_real(face));
            slot_put(m, t->in, corner[1], to_real(face));
        }
    t->nface = t->nface + iselect(lanes, count, isplat(0));
}

/*
 * What comes out: along the unit `normal` the cores overlap by `depth`, which is the height of A - B along it, so never
 * less than the least way out. on_a is the deepest place, on A. Where the search did not end within the tolerance
 * (`open`) they are the best of all directions tried.
 */
typedef struct penetration {
    real depth, normal[3], on_a[3];
    mask open;
} penetration;

/* The place of a face: its own point next to the origin, by the areas that this point makes with its corners. */
LFN void polytope_place(const polytope *t, lint face, real dist, const real *normal, mask m, penetration *out)
{
    real corner[3][3], on_a[3][3], near[3], area[3], sum = splat(0), point[3];
    v3_scale(normal, dist, near);
    lint corners = slot_get_int(t->vertex, face);
    for (int i = 0; i < 3; ++i) {
        lint v = triple_get(corners, isplat(i), VERTEX_BITS);
        polytope_point(t, v, 0, corner[i]);
        polytope_point(t, v, 3, on_a[i]);
        v3_sub(corner[i], near, corner[i]);
    }
    for (int k = 0; k < 3; ++k) point[k] = splat(0);
    for (int i = 0; i < 3; ++i) {
        real cross[3];
        v3_cross(corner[(i + 1) % 3], corner[(i + 2) % 3], cross);
        area[i] = v3_dot(cross, normal);
        sum = sum + area[i];
    }
    for (int i = 0; i < 3; ++i) v3_add_scaled(point, on_a[i], area[i] / sum, point);
    v3_select(m, point, out->on_a, out->on_a);
}

/* Where `s` encloses the origin its four points begin the polytope. */
LFN void polytope_first_points(const convex *a, const convex *b, const int *tables, const ureal *reals,
                               const convex_simplex *s, mask lanes, convex_point *p)
{
    if (any(m_andnot(lanes, s->encloses)))
        spread_points(a, b, tables, reals, p);
    else
        for (int i = 0; i < 4; ++i) p[i] = s->fourth;
    for (int i = 0; i < 3; ++i) convex_point_copy_if(s->encloses, &s->kept[i], &p[i]);
    convex_point_copy_if(s->encloses, &s->fourth, &p[3]);
    real u[3], v[3], w[3], cross[3];
    v3_sub(p[1].v, p[0].v, u);
    v3_sub(p[2].v, p[0].v, v);
    v3_sub(p[3].v, p[0].v, w);
    v3_cross(u, v, cross);
    mask inverted = lt(v3_dot(cross, w), splat(0));
    convex_point swap = p[1];
    convex_point_copy_if(inverted, &p[2], &p[1]);
    convex_point_copy_if(inverted, &swap, &p[2]);
}

/* Improves `out`, which holds the best direction so far; heights are rounded by `rounding`. */
LFN void convex_penetration(const convex *a, const convex *b, convex_search search, real rounding,
                            const convex_simplex *s, mask lanes, penetration *out)
{
    const int *tables = search.tables;
    const ureal *reals = search.reals;
    polytope t;
    convex_point p[4];
    polytope_first_points(a, b, tables, reals, s, lanes, p);
    t.nvertex = 0;
    for (int i = 0; i < 4; ++i) polytope_add_vertex(&t, &p[i]);
    polytope_begin(&t);
    mask active = lanes;
    int nface = 4; /* the most of any lane */
    for (int n = 0; n < search.iterations && t.nvertex < POLYTOPE_VERTICES && any(active); ++n) {
        real dist, normal[3];
        lint face = polytope_nearest(&t, nface, &dist);
        active = m_and(active, lt(dist, splat(POLYTOPE_FLAT)));
        for (int k = 0; k < 3; ++k) normal[k] = slot_get(t.normal, face + isplat(k * POLYTOPE_FACES));
        convex_point next;
        v3_scale(normal, select(active, splat(1), splat(0)), normal); /* 0: none */
        convex_support(a, b, tables, reals, normal, &next);
        real height = v3_dot(normal, next.v), enough = rmax(search.tolerance, rounding);
        mask ends = m_and(active, le(height - dist, enough));
        mask better = m_or(m_and(active, lt(height, out->depth)), m_and(ends, le(height, out->depth + enough)));
        out->depth = select(better, height, out->depth);
        v3_select(better, normal, out->normal, out->normal);
        polytope_place(&t, face, dist, normal, better, out);
        out->open = m_andnot(out->open, m_and(active, le(out->depth - dist, splat(8) * enough)));
        active = m_andnot(active, ends);
        if (!any(active)) break;
        polytope_add_vertex(&t, &next);
        if (nface > POLYTOPE_LEFT) nface = polytope_make_room(&t, nface);
        lint seen, count = polytope_cut(&t, nface, next.v, rounding, active, &seen);
        lint left = t.nleft - seen + count;
        mask fits = m_andnot(ilt(count, isplat(POLYTOPE_EDGES)), igt(left, isplat(POLYTOPE_LEFT)));
        fits = m_and(fits, ilt(t.nmade + count, isplat(POLYTOPE_MADE)));
        active = m_and(active, m_and(fits, igt(count, isplat(2))));
        polytope_close(&t, nface, count, active);
        t.nleft = iselect(active, left, t.nleft);
        t.nmade = t.nmade + iselect(active, count, isplat(0));
        for (; nface < POLYTOPE_FACES && any(m_and(active, igt(t.nface, isplat(nface))));) ++nface;
    }
}

#endif
