/*
 * The convex hulls of meshes: model data, the same for all lanes. A hull has a record in a table of ints, with offsets
 * into that table and into one of reals:
 *
 *   vertices   reals [vertex][3], in the frame of the geom
 *   normals    reals [face][3], outwards
 *   faces      ints [face][2]: where its list of corners is in the table of ints, how many corners
 *   corners    ints: numbers of vertices, counterclockwise from outside
 *   cells      ints: where the list of each cell of directions begins, and where the last one ends; then the lists
 *   at         ints: the same for each vertex, of [3]: a face, which of its corners the vertex is, the corner before
 *
 * The lists of cells and vertices are ascending; where they are counts from the record on. A cell is a square of the
 * cube that a direction meets, of HULL_GRID squares along each edge; its list has every vertex that can be farthest
 * along a direction of the cell, rounding included. So a search through the list gives the vertex that a search through
 * all would. Hulls of few vertices have no cells (HULL_GRID 0): all of theirs are looked at.
 */
#ifndef STI_PHYSICS_COLLIDE_HULL_K_H
#define STI_PHYSICS_COLLIDE_HULL_K_H
#include "physics/collide/contact.k.h"
#include "physics/collide/hull_record.h"

LFN void hull_point(const int *hull, const ureal *reals, lint vertex, real *p)
{
    lint at = vertex * isplat(3) + isplat(hull[HULL_VERTEX]);
    for (int k = 0; k < 3; ++k) p[k] = gather(reals, at + isplat(k));
}

/* The cell of a direction: by the side of the cube that it meets, and where there; hull_cells.c has the same order. */
LFN lint hull_cell_of(int grid, const real *way)
{
    real x = rabs(way[0]), y = rabs(way[1]), z = rabs(way[2]), half = splat((ureal)0.5 * (ureal)grid), zero = splat(0);
    mask on_x = m_and(ge(x, y), ge(x, z)), on_y = m_andnot(ge(y, z), on_x);
    real major = select(on_x, way[0], select(on_y, way[1], way[2])), size = rabs(major);
    real u = select(on_x, way[1], select(on_y, way[2], way[0])), v = select(on_x, way[2], select(on_y, way[0], way[1]));
    real scale = half / select(gt(size, zero), size, splat(1));
    lint side = iselect(on_x, isplat(0), iselect(on_y, isplat(2), isplat(4)));
    lint last = isplat(grid - 1), first = isplat(0);
    side = side + iselect(lt(major, zero), isplat(1), isplat(0));
    lint i = imin(imax(to_int(fma(u, scale, half)), first), last);
    lint j = imin(imax(to_int(fma(v, scale, half)), first), last);
    return (side * isplat(grid) + i) * isplat(grid) + j;
}

/* The vertex that is farthest along a direction, of equal ones the first; of n: those of a list, or (!listed) all. */
LFN lint hull_search(const ureal *vertex, const int *list, int listed, int n, const real *way)
{
    real most = splat((ureal)-1e10);
    lint best = isplat(0);
    rolled
    for (int k = 0; k < n; ++k) {
        int i = listed ? list[k] : k;
        const ureal *v = vertex + 3 * i;
        real along = fma(splat(v[2]), way[2], fma(splat(v[1]), way[1], splat(v[0]) * way[0]));
        best = iselect(gt(along, most), isplat(i), best);
        most = rmax(along, most);
    }
    return best;
}

/*
 * The vertex that is farthest along a direction; ties go to the first. Lanes of one cell are searched together. A lane
 * whose direction is 0 asks for none, and costs nothing.
 */
LFN lint hull_farthest(const int *hull, const ureal *reals, const real *way)
{
    const ureal *vertex = reals + hull[HULL_VERTEX];
    int grid = hull[HULL_GRID], cells[STET_W];
    if (grid == 0) return hull_search(vertex, hull, 0, hull[HULL_NVERTEX], way);
    lint cell = hull_cell_of(grid, way), best = isplat(0);
    mask left = m_not(eq(v3_dot(way, way), splat(0)));
    istore(cells, cell);
    rolled
    for (int l = 0; l < STET_W; ++l) {
        mask here = m_and(left, ieq(cell, isplat(cells[l])));
        if (!any(here)) continue;
        const int *begin = hull + hull[HULL_CELL] + cells[l];
        best = iselect(here, hull_search(vertex, hull + begin[0], 1, begin[1] - begin[0], way), best);
        left = m_andnot(left, here);
    }
    return best;
}

LFN void hull_support(const int *hull, const ureal *reals, const real *way, real *p)
{
    lint vertex = hull_farthest(hull, reals, way);
    hull_point(hull, reals, vertex, p);
}

/* The list of a vertex of each lane: how many faces. */
LFN lint hull_list_at(const int *hull, lint vertex, lint *begin)
{
    lint at = isplat(hull[HULL_AT]) + vertex;
    *begin = igather(hull, at);
    return igather(hull, at + isplat(1)) - *begin;
}

/*
 * The face at a vertex whose normal is farthest along a direction, ties go to the first; *corner: which of its corners
 * the vertex is.
 */
LFN lint hull_face_at(const int *hull, const ureal *reals, lint vertex, const real *way, lint *corner)
{
    real most = splat((ureal)-1e10);
    lint best = isplat(0), begin, size = hull_list_at(hull, vertex, &begin);
    *corner = isplat(0);
    rolled
    for (int k = 0; any(ilt(isplat(k), size)); k += HULL_AT_SIZE) {
        mask exists = ilt(isplat(k), size);
        lint entry = iselect(exists, begin + isplat(k), isplat(0)), face = igather(hull, entry);
        lint at = iselect(exists, face, isplat(0)) * isplat(3) + isplat(hull[HULL_NORMAL]);
        real along = gather(reals, at) * way[0];
        for (int c = 1; c < 3; ++c) along = fma(gather(reals, at + isplat(c)), way[c], along);
        mask more = m_and(exists, gt(along, most));
        most = select(more, along, most);
        best = iselect(more, face, best);
        *corner = iselect(more, igather(hull, entry + isplat(1)), *corner);
    }
    return best;
}

/* Of the edges at a vertex, which is at p, the one that is nearest to being across a direction: its other end. */
LFN void hull_edge_at(const int *hull, const ureal *reals, lint vertex, const real *way, const real *p, real *end)
{
    real least = splat(2);
    lint begin, size = hull_list_at(hull, vertex, &begin);
    rolled
    for (int k = 0; any(ilt(isplat(k), size)); k += HULL_AT_SIZE) {
        mask exists = ilt(isplat(k), size);
        lint before = igather(hull, iselect(exists, begin + isplat(k + 2), isplat(0)));
        real point[3], edge[3];
        hull_point(hull, reals, iselect(exists, before, isplat(0)), point);
        v3_sub(point, p, edge);
        v3_normalize(edge);
        real along = rabs(v3_dot(edge, way));
        mask better = m_and(exists, lt(along, least));
        least = select(better, along, least);
        v3_select(better, point, end, end);
    }
}

/* A face in each lane: where its corners are, and how many. */
LFN lint hull_corners(const int *hull, const int *tables, lint face, lint *count)
{
    lint at = isplat(hull[HULL_FACE]) + face + face;
    *count = igather(tables, at + isplat(1));
    return igather(tables, at);
}
LFN void hull_corner_point(const int *hull, const int *tables, const ureal *reals, lint corners, lint k, real *p)
{
    lint vertex = igather(tables, corners + k);
    hull_point(hull, reals, vertex, p);
}

#endif
