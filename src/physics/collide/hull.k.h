/*
 * The convex hulls of meshes: model data, the same for all lanes. A hull has a record in a table of ints, with offsets
 * into that table and into one of reals:
 *
 *   vertices   reals [vertex][3], in the frame of the geom
 *   normals    reals [face][3], outwards
 *   faces      ints [face][2]: where its list of corners is in the table of ints, how many corners
 *   corners    ints: numbers of vertices, counterclockwise from outside
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

/* The vertex that is farthest along a direction; ties go to the first. */
LFN lint hull_farthest(const int *hull, const ureal *reals, const real *way)
{
    real most = splat((ureal)-1e10);
    lint best = isplat(0);
    rolled for (int i = 0; i < hull[HULL_NVERTEX]; ++i)
    {
        const ureal *v = reals + hull[HULL_VERTEX] + 3 * i;
        real along = fma(splat(v[2]), way[2], fma(splat(v[1]), way[1], splat(v[0]) * way[0]));
        mask more = gt(along, most);
        most = select(more, along, most);
        best = iselect(more, isplat(i), best);
    }
    return best;
}

LFN void hull_support(const int *hull, const ureal *reals, const real *way, real *p)
{
    lint vertex = hull_farthest(hull, reals, way);
    hull_point(hull, reals, vertex, p);
}

/* The face at a vertex whose normal is farthest along a direction. */
LFN lint hull_face_at(const int *hull, const int *tables, const ureal *reals, lint vertex, const real *way)
{
    real most = splat((ureal)-1e10);
    lint best = isplat(0);
    rolled for (int f = 0; f < hull[HULL_NFACE]; ++f)
    {
        const ureal *n = reals + hull[HULL_NORMAL] + 3 * f;
        const int *corner = tables + tables[hull[HULL_FACE] + 2 * f];
        real along = fma(splat(n[2]), way[2], fma(splat(n[1]), way[1], splat(n[0]) * way[0]));
        mask more = gt(along, most), at = m_none();
        if (!any(more)) continue;
        rolled for (int k = 0; k < tables[hull[HULL_FACE] + 2 * f + 1]; ++k) at =
            m_or(at, ieq(vertex, isplat(corner[k])));
        more = m_and(more, at);
        most = select(more, along, most);
        best = iselect(more, isplat(f), best);
    }
    return best;
}

/* A face in each lane: where its corners are, how many, and which of them is a vertex (0 if none). */
LFN lint hull_corners(const int *hull, const int *tables, lint face, lint *count)
{
    lint at = isplat(hull[HULL_FACE]) + face + face;
    *count = igather(tables, at + isplat(1));
    return igather(tables, at);
}
LFN lint hull_corner_of(const int *tables, lint corners, lint count, lint vertex)
{
    lint found = isplat(0);
    for (int k = 0; any(ilt(isplat(k), count)); ++k) {
        mask m = ilt(isplat(k), count);
        lint corner = igather(tables, corners + iselect(m, isplat(k), isplat(0)));
        found = iselect(m_and(m, ieq(corner, vertex)), isplat(k), found);
    }
    return found;
}
LFN void hull_corner_point(const int *hull, const int *tables, const ureal *reals, lint corners, lint k, real *p)
{
    lint vertex = igather(tables, corners + k);
    hull_point(hull, reals, vertex, p);
}

#endif
