/* Which vertices of a hull can be farthest along a direction: the lists of cells of collide/hull.k.h. */
#ifndef STI_PHYSICS_HULL_CELLS_H
#define STI_PHYSICS_HULL_CELLS_H

#include "base/error.h"

/* The squares along an edge of the cube of directions that suit a hull; 0: all of its vertices are looked at. */
int sti_hull_grid(int nvertex);
/*
 * Lists of all cells, in their order: begin [6 grid² + 1] gets where each begins in *list, and where the last one ends.
 * point [nvertex][3]. The caller frees *list with sti_free, also after an error: OUT_OF_MEMORY.
 */
stet_result sti_hull_cells(const double *point, int nvertex, int grid, int *begin, int **list);

#endif
