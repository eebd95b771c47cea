/*
 * Shapes: prims that pictures show (kind SHAPE). A shape is a leaf of the tree, and its local transform is constant; in
 * a world where it is hidden it is 0, and no ray meets a shape whose frame is singular (RAY-2). So a shape that is
 * shown or hidden is one whose transform is written.
 *
 * Invariants:
 *   SHAPE-1  a shape's number stays the same for its life; numbers of removed shapes are reused
 *   SHAPE-2  `set` is bumped when a shape comes or goes, `colours` when one has another colour; the worlds concerned
 *       count as changed
 */
#ifndef STI_STAGE_SHAPE_H
#define STI_STAGE_SHAPE_H

#include "stage/tree.h"

typedef struct sti_shape {
    int prim; /* -1: this number is not in use */
    int type; /* mjtGeom */
    double size[3];
    int mesh, material; /* of the model; -1: none */
    float rgba[4];
    float local[12];
    bool decor;       /* a part of a decoration: only colours show it, and it casts no shadow */
    uint64_t since;   /* generation of `set` when it was added */
    uint8_t *visible; /* [nworld] */
    float *colour;    /* [nworld][3]; NULL: that of rgba in all */
} sti_shape;

typedef struct sti_shapes {
    sti_shape *shape; /* [n]; the last one is in use */
    int n;
    sti_version set, colours;
} sti_shapes;

/* The number of a prim's shape; -1: it has none. */
int sti_shapes_find(const sti_shapes *shapes, int prim);
/* A number that is not in use; there is one more afterwards if all were. */
stet_result sti_shapes_vacant(sti_shapes *shapes, int *out);
/* Makes it one that is not in use. */
void sti_shape_free(sti_shape *shape);
/* Forgets shapes whose prims were removed. */
void sti_shapes_sweep(sti_shapes *shapes, const sti_tree *tree);
void sti_shapes_free(sti_shapes *shapes);

#endif
