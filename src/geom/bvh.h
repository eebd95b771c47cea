/*
 * Trees of boxes over triangles or over the cells of a height field, for casting rays. Made once on the host.
 *
 * A node is 8 numbers: the box's lower corner, its upper corner, `first`, `count`.
 *   inner: count = -1 - axis; its children are the nodes first and first + 1, the latter the upper one on that axis
 *   leaf:  count >= 0; triangles first … first + count - 1 in the order of the tree, or cells of one row of a height field, the
 *          first of which has its lower vertex at row * ncol + col = first
 *
 * Invariants:
 *   BVH-1  node 0 is the root; a child's box lies within its parent's, and the boxes of leaves hold what they list
 *   BVH-2  no leaf is more than STI_BVH_DEPTH levels below the root (a walk's stack has that many places and one more)
 *   BVH-3  all numbers are exact in a float
 *   BVH-4  equal input gives an equal tree
 */
#ifndef STI_GEOM_BVH_H
#define STI_GEOM_BVH_H

#include "stet/base.h"

enum { STI_BVH_DEPTH = 32, STI_BVH_LEAF = 4, STI_BVH_LIMIT = 1 << 24 };

typedef struct sti_bvh_node {
    float lower[3], upper[3];
    float first, count;
} sti_bvh_node;

typedef struct sti_bvh {
    sti_bvh_node *node;
    int nnode;
    int *order; /* [n] position in the tree's order → triangle; NULL for a height field */
} sti_bvh;

/* The tree of n triangles; vertices [.. * 3] are floats, faces [n * 3] numbers of vertices. n may be 0. LIMIT names `what`. */
stet_result sti_bvh_triangles(const float *vertices, const int *faces, int64_t n, const char *what, sti_bvh *out);
/* The tree of a height field: half sizes x, y; heights [nrow * ncol] row by row; nrow, ncol at least 2. */
stet_result sti_bvh_grid(const double half[2], const float *heights, int64_t nrow, int64_t ncol, const char *what,
                         sti_bvh *out);
void sti_bvh_free(sti_bvh *bvh);

#endif
