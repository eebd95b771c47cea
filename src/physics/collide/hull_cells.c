/*
 * Vertices by directions; see hull_cells.h.
 *
 * A direction of a cell is a sum of those to its four corners, with weights that are not negative and have the sum 1.
 * So a vertex that another one exceeds along all four by more than rounding is not the farthest along any of them. What
 * is left of a square is what its quarters begin with.
 */
#include "physics/collide/hull_cells.h"

#include "base/error.h"
#include "base/memory.h"

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#define NAME "vertices of hulls by directions" /* of memory */

enum { CORNERS = 4, SIDES = 6, FEW = 32, MANY = 256 };

/*
 * Of the vertices' distances and of the cells' edges. Kernels compare sums of three products in floats, whose errors
 * are below 1e-6 of the largest distance together, and find a cell with errors below 1e-5 of its edge.
 */
static const double ROUNDING = 2e-6, BORDER = 1e-3;

int sti_hull_grid(int nvertex) { return nvertex <= FEW ? 0 : nvertex <= MANY ? 8 : 16; }

typedef struct cells {
    const double *point;
    double rounding; /* m */
    int grid;
    double (*along)[CORNERS]; /* [nvertex] */
    int *found, *at, *size;   /* vertices of all cells as they were made; of each cell where they begin, and how many */
    size_t n, room;           /* of found */
    stet_result result;
} cells;

/* The directions to the corners of a square of a side of the cube, in a grid of `grid` squares an edge. */
static void find_corners(int side, int grid, int i, int j, double way[CORNERS][3])
{
    int axis = side / 2;
    for (int c = 0; c < CORNERS; ++c) {
        double u = i + (c & 1 ? 1 + BORDER : -BORDER), v = j + (c & 2 ? 1 + BORDER : -BORDER);
        way[c][axis] = side % 2 ? -1 : 1;
        way[c][(axis + 1) % 3] = 2 * u / grid - 1;
        way[c][(axis + 2) % 3] = 2 * v / grid - 1;
    }
}

/* By more than rounding, along all corners? */
static bool exceeds(const double *a, const double *b, double rounding)
{
    for (int c = 0; c < CORNERS; ++c)
        if (a[c] < b[c] + rounding) return false;
    return true;
}

/* Takes those away that the best along one corner, or along all together, exceeds; returns how many are left. */
static int drop_lower(const cells *s, int *vertex, int n)
{
    for (int c = 0; c <= CORNERS; ++c) {
        int best = 0, left = 0;
        double most = -INFINITY;
        for (int k = 0; k < n; ++k) {
            const double *a = s->along[vertex[k]];
            double here = c < CORNERS ? a[c] : a[0] + a[1] + a[2] + a[3];
            if (here > most) best = vertex[k];
            if (here > most) most = here;
        }
        for (int k = 0; k < n; ++k)
            if (!exceeds(s->along[best], s->along[vertex[k]], s->rounding)) vertex[left++] = vertex[k];
        n = left;
    }
    return n;
}

/* The list of a cell: those of the vertices that no other one exceeds. */
static void add_cell(cells *s, int number, const int *vertex, int n)
{
    s->at[number] = (int)s->n;
    if (s->n + (size_t)n > s->room && s->result == STET_OK) {
        s->room = 2 * (s->n + (size_t)n);
        s->result = sti_realloc(&s->found, s->room * sizeof *s->found, NAME);
    }
    for (int k = 0; k < n && s->result == STET_OK; ++k) {
        bool lower = false;
        for (int j = 0; j < n && !lower; ++j) lower = exceeds(s->along[vertex[j]], s->along[vertex[k]], s->rounding);
        if (!lower) s->found[s->n++] = vertex[k];
    }
    s->size[number] = (int)s->n - s->at[number];
}

/* Cells of a square (i, j) of `grid` an edge; `vertex` has room behind the n that it begins with for as many more. */
static void add_square(cells *s, int side, int grid, int i, int j, int *vertex, int n)
{
    double way[CORNERS][3];
    int *own = vertex + n;
    find_corners(side, grid, i, j, way);
    for (int k = 0; k < n; ++k)
        for (int c = 0; c < CORNERS; ++c) {
            const double *p = s->point + 3 * (ptrdiff_t)vertex[k];
            s->along[vertex[k]][c] = p[0] * way[c][0] + p[1] * way[c][1] + p[2] * way[c][2];
        }
    memcpy(own, vertex, (size_t)n * sizeof *own);
    n = drop_lower(s, own, n);
    if (grid == s->grid) {
        add_cell(s, (side * grid + i) * grid + j, own, n);
        return;
    }
    for (int q = 0; q < 4; ++q) add_square(s, side, 2 * grid, 2 * i + q / 2, 2 * j + q % 2, own, n);
}

/* Squares are quartered, so cells were made in another order than theirs. */
static stet_result put_in_order(const cells *s, int *begin, int **list)
{
    int ncell = SIDES * s->grid * s->grid;
    STI_TRY(sti_alloc(list, s->n * sizeof **list, NAME));
    begin[0] = 0;
    for (int i = 0; i < ncell; ++i) {
        memcpy(*list + begin[i], s->found + s->at[i], (size_t)s->size[i] * sizeof **list);
        begin[i + 1] = begin[i] + s->size[i];
    }
    return STET_OK;
}

stet_result sti_hull_cells(const double *point, int nvertex, int grid, int *begin, int **list)
{
    enum { LEVELS = 6 };
    cells s = {.point = point, .grid = grid};
    int *vertex = NULL;
    double far2 = 0;
    size_t ncell = SIDES * (size_t)grid * (size_t)grid;
    *list = NULL;
    for (int i = 0; i < nvertex; ++i) {
        const double *p = point + 3 * (ptrdiff_t)i;
        far2 = fmax(far2, p[0] * p[0] + p[1] * p[1] + p[2] * p[2]);
    }
    s.rounding = ROUNDING * sqrt(far2);
    s.result = sti_alloc(&s.along, (size_t)nvertex * sizeof *s.along, NAME);
    if (s.result == STET_OK) s.result = sti_alloc(&s.at, ncell * sizeof *s.at, NAME);
    if (s.result == STET_OK) s.result = sti_alloc(&s.size, ncell * sizeof *s.size, NAME);
    if (s.result == STET_OK) s.result = sti_alloc(&vertex, LEVELS * (size_t)nvertex * sizeof *vertex, NAME);
    for (int side = 0; side < SIDES && s.result == STET_OK; ++side) {
        for (int i = 0; i < nvertex; ++i) vertex[i] = i;
        add_square(&s, side, 1, 0, 0, vertex, nvertex);
    }
    if (s.result == STET_OK) s.result = put_in_order(&s, begin, list);
    sti_free(vertex);
    sti_free(s.size);
    sti_free(s.at);
    sti_free(s.found);
    sti_free(s.along);
    return s.result;
}
