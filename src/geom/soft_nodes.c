/* Flexes with nodes: vertices that are interpolated between points of bodies (soft.h). */
#include "geom/soft.h"

#include <assert.h>

bool sti_soft_nodes(const mjModel *m, ptrdiff_t flex, int n[3])
{
#if mjVERSION_HEADER >= 4000000
    int all = 1;
    for (int k = 0; k < 3; ++k) {
        n[k] = m->flex_cellnum[3 * flex + k] * m->flex_interp[flex] + 1;
        all *= n[k];
    }
    return m->flex_interp[flex] > 0 && m->flex_interp[flex] <= 2 && all == m->flex_nodenum[flex];
#else
    (void)m, (void)flex, (void)n;
    return false;
#endif
}

/* The weights of an axis' nodes in a cell at `x` of 0 … 1: linear, or with a node in the middle quadratic. */
static void node_weights(double x, int order, double out[3])
{
    out[0] = order == 1 ? 1 - x : (2 * x - 1) * (x - 1);
    out[1] = order == 1 ? x : 4 * x * (1 - x);
    out[2] = order == 1 ? 0 : (2 * x - 1) * x;
}

int sti_soft_node_shares(const double place[3], const int n[3], int order, int *node, double *weight)
{
    double along[3][3];
    int first[3], nshare = 0, last = order == 1 ? 1 : 2; /* node of a cell along an axis */
    assert(order == 1 || order == 2);
    for (int k = 0; k < 3; ++k) {
        int ncell = (n[k] - 1) / order, cell = (int)(place[k] * ncell);
        cell = cell < 0 ? 0 : cell < ncell ? cell : ncell - 1;
        node_weights(place[k] * ncell - cell, order, along[k]);
        first[k] = cell * order;
    }
    for (int i = 0; i <= last; ++i)
        for (int j = 0; j <= last; ++j)
            for (int k = 0; k <= last; ++k) {
                double all = along[0][i] * along[1][j] * along[2][k];
                if (all == 0) continue;
                node[nshare] = ((first[0] + i) * n[1] + first[1] + j) * n[2] + first[2] + k;
                weight[nshare++] = all;
            }
    return nshare;
}
