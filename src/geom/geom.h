/*
 * The shapes of a model on a device, which rays are cast against. Rendering and sensors share them, later collision,
 * too.
 */
#ifndef STI_GEOM_GEOM_H
#define STI_GEOM_GEOM_H

#include "device/device.h"
#include "model/model.h"

/*
 * Arrays of the model (plain, the same for all worlds). Distances are in metres. ngeom may be 0; arrays then hold
 * unused elements. A shape is given in its geom's own frame, as in MuJoCo (a mesh: MuJoCo's inertia-aligned frame, the
 * frame of geom_xpos and geom_xmat). ray.k.h casts rays against one geom.
 */
typedef struct sti_geoms {
    int ngeom, nsite;
    /*
     * The nshape rows are those of all geoms, then those that only pictures show: of all sites, one for the pieces of
     * each tendon, and the undersides of all planes.
     */
    stet_array *type; /* INT [nshape], mjtGeom */
    /*
     * REAL [nshape * 4]: MuJoCo's size (3), then the bounding radius about the geom's origin (0: a plane, which has
     * none).
     */
    stet_array *size;
    /*
     * INT [nshape * 4]. A mesh: first node of its tree, its first triangle, 0, 0. A height field: first elevation,
     * nrow, ncol, first node of its tree. Others: zeros.
     */
    stet_array *data;
    /*
     * REAL [nshape * 6]: a box that contains the shape, centre and half sizes, rounded outwards (an infinite plane:
     * 1e10).
     */
    stet_array *bounds;
    stet_array *node; /* REAL [nnode * 8]: trees of all meshes and height fields (bvh.h) */
    /* REAL [ntri * 12]: triangles in the order of their tree, each three vertices, the number of its face, padding */
    stet_array *tri;
    /*
     * REAL: heights of all height fields above z = 0, row by row (row 0 at -y). Four numbers precede the first
     * elevation of each field: half sizes x, y, height of its highest point, depth of its base.
     */
    stet_array *elevation;
} sti_geoms;

int sti_model_planes(const mjModel *m); /* how many of the geoms are planes */
/*
 * Builds the shapes. STET_ERROR_LIMIT: a tree needs numbers beyond 2^24. The caller owns *out and destroys it before
 * the device.
 */
stet_result sti_geoms_create(stet_device *device, const stet_model *model, sti_geoms **out);
/* Does nothing for NULL. */
void sti_geoms_destroy(sti_geoms *geoms);

#endif
