/*
 * The shapes of a model on a device, which rays are cast against. Rendering and sensors share them, later collision,
 * too.
 */
#ifndef STI_GEOM_GEOM_H
#define STI_GEOM_GEOM_H

#include "base/validate.h"
#include "geom/soft.h"

/* Rows of shapes on the host, as in sti_geoms. */
typedef struct sti_geom_rows {
    int *type, *data;
    double *size, *bounds;
} sti_geom_rows;

/* A type beyond mjtGeom: a cone with its base at z = 0; sizes: the base's radius, the height. Only pictures show it. */
enum { STI_GEOM_CONE = 9 };

/* A shape that the model does not have. mesh: one of the model's; -1: it has another type. */
typedef struct sti_geom_more {
    int type, mesh;
    double size[3];
} sti_geom_more;

/*
 * Arrays of the model (plain, the same for all worlds). Distances are in metres. ngeom may be 0; arrays then hold
 * unused elements. A shape is given in its geom's own frame, as in MuJoCo (a mesh: MuJoCo's inertia-aligned frame, the
 * frame of geom_xpos and geom_xmat). ray.k.h casts rays against one geom.
 */
typedef struct sti_geoms {
    int ngeom, nsite;
    /*
     * The nshape rows are those of all geoms, then those that only pictures show: of all sites, one for the pieces of
     * each tendon, one for each flex (its surface, or its pieces), of all skins, and the undersides of all planes; then
     * those of shapes that sti_geoms_add was given.
     */
    stet_array *type; /* INT [nshape], mjtGeom */
    /*
     * REAL [nshape * 4]: MuJoCo's size (3), then the bounding radius about the geom's origin (0: a plane, which has
     * none).
     */
    stet_array *size;
    /*
     * INT [nshape * 4]. A mesh: first node of its tree, its first triangle, 0, 0. A surface that deforms: the same in
     * world 0, then how many nodes and triangles a world has (soft.h). A height field: first elevation, nrow, ncol,
     * first node of its tree. Others: zeros.
     */
    stet_array *data;
    /*
     * REAL [nshape * 6]: a box that contains the shape, centre and half sizes, rounded outwards (an infinite plane:
     * 1e10).
     */
    stet_array *bounds;
    /* REAL [nnode * 8]: trees of all meshes and height fields (bvh.h), then those of each world */
    stet_array *node;
    /*
     * REAL [ntri * 12]: triangles in the order of their tree, each three vertices, the number of its face, padding. A
     * surface that deforms has as many rows more: the normals at their corners.
     */
    stet_array *tri;
    int own_node, own_tri; /* where those of world 0 begin */
    /*
     * REAL: heights of all height fields above z = 0, row by row (row 0 at -y). Four numbers precede the first
     * elevation of each field: half sizes x, y, height of its highest point, depth of its base.
     */
    stet_array *elevation;
    sti_geom_rows host;  /* of the model's, then one for each of its meshes */
    int nmodel, nshape;  /* nmodel: without the meshes; nshape: rows of the arrays */
    sti_geom_rows shown; /* those of the arrays */
} sti_geoms;

int sti_model_planes(const mjModel *m); /* how many of the geoms are planes */
/* Numbers of shapes: of the first flex, which skins follow, of the first underside of a plane, and of all. */
static inline int sti_shape_flex(const mjModel *m) { return (int)(m->ngeom + m->nsite + m->ntendon); }
static inline int sti_shape_under(const mjModel *m) { return sti_shape_flex(m) + (int)(m->nflex + m->nskin); }
static inline int sti_shape_count(const mjModel *m) { return sti_shape_under(m) + sti_model_planes(m); }
/*
 * Builds the shapes. soft: surfaces that have room in the arrays of nodes and triangles (NULL: none). STET_ERROR_LIMIT:
 * a tree needs numbers beyond 2^24. The caller owns *out and destroys it before the device.
 */
stet_result sti_geoms_create(stet_device *device, const stet_model *model, const sti_soft *soft, sti_geoms **out);
/* Puts n shapes after the model's, in place of those of the last call. A failure leaves everything as it was. */
stet_result sti_geoms_add(sti_geoms *geoms, const sti_geom_more *more, int n);
/*
 * What the arrays size, data and bounds (of `out`) would be if the model's geoms had these sizes [ngeom * 3] and, where
 * they have meshes, these [ngeom]. Those that have the size of an asset keep their own numbers of it.
 */
void sti_geoms_resize(const sti_geoms *geoms, const mjModel *m, const mjtNum *geom_size, const int *geom_dataid,
                      const sti_geom_rows *out);
/*
 * Computes the surfaces of `soft`, which they were created with, in the n worlds listed in the array `worlds`. xform:
 * an array of worlds with 3 x 4 matrices, of which the first are those of all bodies.
 */
stet_result sti_geoms_deform(sti_geoms *geoms, const sti_soft *soft, stet_array *xform, stet_array *worlds, int n);
/* Arrays have the rows of all shapes, and rows point into the arrays that they name. */
STI_VALIDATE(geoms, sti_geoms)
/* Does nothing for NULL. */
void sti_geoms_destroy(sti_geoms *geoms);

#endif
