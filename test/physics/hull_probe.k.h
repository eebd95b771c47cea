/*
 * Searches through the vertices of a hull, for directions in arrays: rows of `in` [3][padded]; of `out` [8][padded]
 * the farthest vertex as hull_farthest finds it, and by a search through all; the face at it, which of its corners the
 * vertex is, and the edge at the vertex that is nearest to being across the direction, by how far it is not, likewise.
 * A block is 256 directions.
 */
#include "physics/collide/hull.k.h"

/* The face and its corner by a search through all corners, and the edge. */
LFN void search_faces(const int *hull, const int *tables, const ureal *reals, lint vertex, const real *way,
                      const real *p, lint *face, lint *which, real *across)
{
    real most = splat((ureal)-1e10);
    *face = isplat(0);
    *which = isplat(0);
    *across = splat(2);
    for (int f = 0; f < hull[HULL_NFACE]; ++f) {
        const ureal *n = reals + hull[HULL_NORMAL] + 3 * f;
        const int *corner = tables + tables[hull[HULL_FACE] + 2 * f];
        int count = tables[hull[HULL_FACE] + 2 * f + 1];
        real along = fma(splat(n[2]), way[2], fma(splat(n[1]), way[1], splat(n[0]) * way[0]));
        for (int k = 0; k < count; ++k) {
            mask at = ieq(vertex, isplat(corner[k])), more = m_and(at, gt(along, most));
            const ureal *q = reals + hull[HULL_VERTEX] + 3 * corner[k == 0 ? count - 1 : k - 1];
            real edge[3];
            for (int c = 0; c < 3; ++c) edge[c] = splat(q[c]) - p[c];
            v3_normalize(edge);
            most = select(more, along, most);
            *face = iselect(more, isplat(f), *face);
            *which = iselect(more, isplat(k), *which);
            *across = select(at, rmin(rabs(v3_dot(edge, way)), *across), *across);
        }
    }
}

item_kernel void k_probe_hull(const ureal *in, ureal *out, const int *tables, const ureal *reals, int record,
                              int padded, int block)
{
    int first = block * 256;
    items (p, 256) {
        const int *hull = tables + record;
        real way[3], point[3], end[3], edge[3], across;
        for (int k = 0; k < 3; ++k) way[k] = load(in + first + p + k * padded);
        lint found = hull_farthest(hull, reals, way), corner, face_by_all, corner_by_all;
        lint all = hull_search(reals + hull[HULL_VERTEX], hull, 0, hull[HULL_NVERTEX], way);
        lint face = hull_face_at(hull, reals, found, way, &corner);
        hull_point(hull, reals, found, point);
        search_faces(hull, tables, reals, found, way, point, &face_by_all, &corner_by_all, &across);
        v3_copy(point, end);
        hull_edge_at(hull, reals, found, way, point, end);
        v3_sub(end, point, edge);
        v3_normalize(edge);
        ureal *o = out + first + p;
        store(o, to_real(found));
        store(o + padded, to_real(all));
        store(o + 2 * padded, to_real(face));
        store(o + 3 * padded, to_real(face_by_all));
        store(o + 4 * padded, to_real(corner));
        store(o + 5 * padded, to_real(corner_by_all));
        store(o + 6 * padded, hull[HULL_NFACE] > 0 ? rabs(v3_dot(edge, way)) : splat(0));
        store(o + 7 * padded, hull[HULL_NFACE] > 0 ? across : splat(0));
    }
}
