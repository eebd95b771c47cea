/* Rows of surfaces that deform, for the kernel (soft.k.h) and the host (soft.c). Only definitions. */
#ifndef STI_GEOM_SOFT_ROWS_K_H
#define STI_GEOM_SOFT_ROWS_K_H

/*
 * A surface's header: sizes, and the index of the first number of each kind of row in `table` (INT), or in `numbers`
 * (REAL: …_REAL). Lists of lists have a row of beginnings, of which the last one is the end.
 */
#define SOFT_NBONE 0
#define SOFT_BONE 1      /* a body each */
#define SOFT_BIND_REAL 2 /* 12 each: a 3 x 4 matrix by rows, from the frame of vertices to the body's */
#define SOFT_NVERT 3
#define SOFT_PLACE_REAL 4 /* x of all vertices, then y, then z */
#define SOFT_SHARE 5      /* beginnings of the vertices' shares … */
#define SOFT_SHARE_BONE 6 /* … a bone each … */
#define SOFT_WEIGHT_REAL 7
#define SOFT_SHARES 8 /* … the most of a vertex */
#define SOFT_NFACE 9
#define SOFT_FACE 10        /* three vertices each: faces that make normals */
#define SOFT_AROUND 11      /* beginnings of the faces around vertices … */
#define SOFT_AROUND_FACE 12 /* … a face each … */
#define SOFT_AROUND_MOST 13 /* … the most of a vertex */
#define SOFT_EQUAL 14       /* each of them counts as much in a normal, not in proportion to its area */
#define SOFT_NTRI 15        /* triangles to draw, in the order of the tree */
#define SOFT_TRI 16         /* SOFT_CORNERS each: three vertices, then SOFT_TURNED or SOFT_FLAT */
#define SOFT_LIFT_REAL 17   /* three each: how far a corner is above its vertex, along the normal */
#define SOFT_NLEAF 18       /* leaves of the tree … */
#define SOFT_LEAF 19        /* … three each: node, first, count */
#define SOFT_NLEVEL 20      /* levels of inner nodes, the lowest one first … */
#define SOFT_LEVEL 21       /* … beginnings … */
#define SOFT_INNER 22       /* … three each: node, first child, count (bvh.h) */
#define SOFT_FIRST_NODE 23  /* within a world's nodes, rows of triangles, scratch memory */
#define SOFT_FIRST_TRI 24
#define SOFT_FIRST_SCRATCH 25
#define SOFT_HEAD 26

#define SOFT_CORNERS 4
#define SOFT_TURNED 1 /* normals point against those of the vertices */
#define SOFT_FLAT 2   /* normals are those of the triangle */

#endif
