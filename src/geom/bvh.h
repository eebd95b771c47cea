/*
 * Bounding volume hierarchies over triangles or over the cells of a height field, for casting rays. They are built once
 * on the host.
 *
 * A node is 8 numbers: the box's lower corner, its upper corner, `first`, `count`.
 *   inner: count = -1 - axis; its children are the nodes first and first + 1, of which the second is the upper one on
 *          that axis
 *   leaf:  count >= 0; triangles first … first + count - 1 in the order of the tree, or cells of one row of a height
 *          field; the lower vertex of the first cell is at row * ncol + col = first
 *
 * Invariants:
 *   BVH-1  node 0 is the root; a child's box lies within its parent's, and the box of a leaf contains its triangles or
 *       cells
 *   BVH-2  no leaf is more than STI_BVH_DEPTH levels below the root (a traversal's stack has one place more than that)
 *   BVH-3  all numbers are exact in a float
 *   BVH-4  equal input gives an equal tree
 */
#ifndef STI_GEOM_BVH_H
#define STI_GEOM_BVH_H

#include "base/validate.h"
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

/*
 * Builds the tree of n triangles. vertices [.. * 3]; faces [n * 3] are indices of vertices. n may be 0. The message of
 * STET_ERROR_LIMIT names `what`.
 */
stet_result sti_bvh_triangles(const float *vertices, const int *faces, int64_t n, const char *what, sti_bvh *out);
/*
 * Builds the tree of a height field: half sizes x, y; heights [nrow * ncol] row by row; nrow and ncol are at least 2.
 */
stet_result sti_bvh_grid(const double half[2], const float *heights, int64_t nrow, int64_t ncol, const char *what,
                         sti_bvh *out);
void sti_bvh_free(sti_bvh *bvh);
/* BVH-1 for boxes, BVH-2, BVH-3. */
STI_VALIDATE(bvh, sti_bvh)

/* As kernels read them: a node is its numbers in order; a triangle is nine numbers of its corners, then its face's. */
enum { STI_BVH_NODE = 8, STI_BVH_TRIANGLE = 12 };
void sti_bvh_put_nodes(const sti_bvh *bvh, double *out);
/* In the order of the tree, which was made of these n triangles. */
void sti_bvh_put_triangles(const sti_bvh *bvh, const float *vertices, const int *faces, int64_t n, double *out);

#endif
