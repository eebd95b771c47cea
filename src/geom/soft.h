/*
 * Surfaces that deform, as MuJoCo's classic renderer shows them: skins, and flexes of two and three dimensions (of one
 * dimension: stage/tendon.h). k_soft (soft.k.h) computes their triangles and trees in each world, into the arrays of
 * all shapes (geom.h), behind those of the model.
 */
#ifndef STI_GEOM_SOFT_H
#define STI_GEOM_SOFT_H

#include "base/validate.h"
#include "device/device.h"
#include "model/model.h"

/* One surface. Its triangles are in the order of its tree. */
typedef struct sti_soft_surface {
    int object; /* a flex, or nflex + a skin */
    int ntri;
    int first_node, first_tri; /* within a world's */
    double *coord;             /* [ntri * 6]: texture coordinates (s, t) of corners; NULL: it has none */
} sti_soft_surface;

typedef struct sti_soft {
    int n;
    sti_soft_surface *surface; /* [n] */
    int64_t nworld;
    int nscratch, nnode, ntri;   /* numbers, nodes, rows of triangles of a world */
    stet_array *table, *numbers; /* soft_rows.k.h */
    stet_array *scratch;         /* REAL [nworld * nscratch] */
} sti_soft;

/* Of the objects (flexes, then skins), is it a surface that k_soft computes? */
bool sti_soft_object(const mjModel *m, int object);
/* The material of an object, of a flex that of its first element; -1: none. */
int sti_soft_material(const mjModel *m, int object);
/* How many nodes a flex has along each axis, order * cells + 1; false: none, or they are no grid. */
bool sti_soft_nodes(const mjModel *m, ptrdiff_t flex, int n[3]);
/*
 * The nodes of the cell around a vertex at `place` (0 … 1 in the whole grid) and their weights, but for those of 0, at
 * most 27. order: 1 linear, 2 quadratic. Returns how many.
 */
int sti_soft_node_shares(const double place[3], const int n[3], int order, int *node, double *weight);
/*
 * The surfaces of those objects that are marked in drawn [nflex + nskin]. STET_ERROR_LIMIT: they have too many
 * triangles. The caller owns *out and destroys it before the device. `n` may be 0.
 */
stet_result sti_soft_create(stet_device *device, const stet_model *model, const bool *drawn, int64_t nworld,
                            sti_soft **out);
/* Surfaces follow each other, in the order of their objects. */
STI_VALIDATE(soft, sti_soft)
/* Does nothing for NULL. */
void sti_soft_destroy(sti_soft *soft);

#endif
