/*
 * The shapes of a model on a device: what rays meet. Shared by rendering, sensors and, later, collision.
 */
#ifndef STI_GEOM_GEOM_H
#define STI_GEOM_GEOM_H

#include "device/device.h"
#include "model/model.h"

/*
 * Arrays of the model (plain, the same for all worlds). Distances in metres. ngeom may be 0 (arrays then hold unused elements).
 * A shape is seen in its geom's own frame, as in MuJoCo (meshes: MuJoCo's inertia-aligned frame, the one of geom_xpos, geom_xmat).
 * ray.k.h casts rays against one geom.
 */
typedef struct sti_geoms {
    int ngeom;
    stet_array *type; /* INT [ngeom], mjtGeom */
    /* REAL [ngeom * 4]: MuJoCo's size (3) and the bounding radius about the geom's origin (0: a plane, no bound). */
    stet_array *size;
    /*
     * INT [ngeom * 4]: a mesh: first node of its tree, its first triangle, 0, 0; a height field: first elevation, nrow, ncol, first
     * node of its tree; others: zeros.
     */
    stet_array *data;
    /* REAL [ngeom * 6]: a box that holds the shape, centre and half sizes, rounded outwards (a plane without end: 1e10). */
    stet_array *bounds;
    stet_array *node; /* REAL [nnode * 8]: trees of all meshes and height fields; bvh.h */
    stet_array *tri;  /* REAL [ntri * 12]: triangles in the order of their tree: three vertices, then padding */
    /*
     * REAL: heights of all height fields above z = 0, row by row (row 0 at -y). Before the first elevation of each: half sizes x, y,
     * height of its highest point, depth of its base.
     */
    stet_array *elevation;
} sti_geoms;

/* STET_LIMIT if a tree needs numbers beyond 2^24. The caller owns *out and destroys it before the device. */
stet_result sti_geoms_create(stet_device *device, const stet_model *model, sti_geoms **out);
/* NULL is fine. */
void sti_geoms_destroy(sti_geoms *geoms);

#endif
