/* The ints of a hull's record (hull.k.h); kernels and C include it. */
#ifndef STI_PHYSICS_COLLIDE_HULL_RECORD_H
#define STI_PHYSICS_COLLIDE_HULL_RECORD_H

#define HULL_NVERTEX 0
#define HULL_VERTEX 1
#define HULL_NFACE 2
#define HULL_NORMAL 3
#define HULL_FACE 4
#define HULL_GRID 5
#define HULL_CELL 6
#define HULL_AT 7
#define HULL_RECORD 8

#define HULL_AT_SIZE 3 /* ints of an entry of a vertex's list */

#endif
