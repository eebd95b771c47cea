/*
 * The stage: a tree of prims for all worlds, with local and world transforms.
 *
 * A transform is a 3x4 matrix by rows, 12 numbers: the linear part (rotation, and scale if any) in columns 0–2, and the
 * translation in metres in column 3. A prim's world transform is its parent's world transform * its local transform.
 * The world transform of a *rigid* prim is written from outside (by physics), and its local transform follows from it.
 */
#ifndef STET_STAGE_H
#define STET_STAGE_H

#include "worlds.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct stet_stage stet_stage;
typedef enum stet_prim_kind {
    STET_PRIM_ROOT,
    STET_PRIM_BODY,
    STET_PRIM_GEOM,
    STET_PRIM_SITE,
    STET_PRIM_CAMERA,
    STET_PRIM_LIGHT,
    STET_PRIM_TENDON,
    STET_PRIM_XFORM
} stet_prim_kind;

/*
 * Creates a stage over worlds. It has a prim for each body (rigid), geom, site, camera and light of the model, and for
 * each piece of its spatial tendons and of its flexes of one dimension (rigid, without a name), in this order; prim 0
 * is the root (MuJoCo's world body). Pieces are what pictures show, capsules along a tendon's path, cylinders along a
 * flex: z along the piece, as long as half of it (half of a cylinder, with its radius added). The caller owns *out and
 * destroys it before the worlds.
 */
STET_API stet_result stet_stage_create(stet_worlds *worlds, stet_stage **out);
STET_API void stet_stage_destroy(stet_stage *stage);
STET_API int stet_stage_get_nprim(const stet_stage *stage);    /* number of prims that exist */
STET_API int stet_stage_get_capacity(const stet_stage *stage); /* all prim numbers are below this */

/* The prim of the model's object of that kind and index. */
STET_API stet_result stet_stage_get_prim(const stet_stage *stage, stet_prim_kind kind, int index, int *prim);
/* Finds a prim of one kind by name. NOT_FOUND lists some names that exist. */
STET_API stet_result stet_stage_find(const stet_stage *stage, stet_prim_kind kind, const char *name, int *prim);

/*
 * Adds a prim (kind XFORM) under any other, with the same local transform in all worlds. A rigid prim keeps the world
 * transform that is written to it.
 */
STET_API stet_result stet_stage_add(stet_stage *stage, int parent, const char *name, const float local[12], bool rigid,
                                    int *prim);
/* Removes an added prim and all prims that were added below it. */
STET_API stet_result stet_stage_remove(stet_stage *stage, int prim);
/*
 * Moves an added prim to another parent, which must not be one of its descendants. The prim keeps its local transform;
 * a rigid prim keeps its world transform.
 */
STET_API stet_result stet_stage_reparent(stet_stage *stage, int prim, int parent);

/*
 * Sets the local transform of a non-rigid prim in the worlds first … first + nworld - 1; values [nworld][12]. A camera
 * with a tracking mode is refused.
 */
STET_API stet_result stet_stage_write_local(stet_stage *stage, int prim, int64_t first, int64_t nworld,
                                            const float *values);
/* Sets the world transform of an added rigid prim. */
STET_API stet_result stet_stage_write_world(stet_stage *stage, int prim, int64_t first, int64_t nworld,
                                            const float *values);
/* Get transforms, brought up to date first. values [nworld][12]. */
STET_API stet_result stet_stage_read_local(stet_stage *stage, int prim, int64_t first, int64_t nworld, float *values);
STET_API stet_result stet_stage_read_world(stet_stage *stage, int prim, int64_t first, int64_t nworld, float *values);
/*
 * The arrays of all transforms: arrays of worlds [nworld][capacity][12]. They are up to date when read through stet.
 * Either pointer may be NULL. Borrowed until the next stet_stage_add.
 */
STET_API stet_result stet_stage_get_arrays(stet_stage *stage, stet_array **local, stet_array **world);
/* Brings all transforms up to date now; force visits every prim of every world. */
STET_API stet_result stet_stage_flush(stet_stage *stage, bool force);

#ifdef __cplusplus
}
#endif
#endif
