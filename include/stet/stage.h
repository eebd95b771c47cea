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
    STET_PRIM_XFORM,
    STET_PRIM_SHAPE
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
/* Removes an added prim or shape and all prims that were added below it. */
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

/* The same numbers as mjtGeom. */
typedef enum stet_shape_type {
    STET_SHAPE_PLANE = 0,
    STET_SHAPE_SPHERE = 2,
    STET_SHAPE_CAPSULE,
    STET_SHAPE_ELLIPSOID,
    STET_SHAPE_CYLINDER,
    STET_SHAPE_BOX,
    STET_SHAPE_MESH
} stet_shape_type;

/* What pictures show at a prim. */
typedef struct stet_shape {
    stet_shape_type type;
    double size[3];   /* as a geom's of this type in MJCF, metres; of a plane half sizes, 0: endless; unused: mesh */
    float rgba[4];    /* alpha above 0; all 0: the material's, or grey */
    const char *mesh; /* type MESH: a mesh of the model */
    const char *material; /* one of the model, with its texture; NULL: none */
    const char *name;     /* copied; NULL: none */
} stet_shape;

/*
 * Adds a prim (kind SHAPE) with a shape under any other but a shape, with the same pose in it in all worlds: local
 * [12], NULL: that of the parent. All pictures show it from the next one on, and its shadows and reflections, as they
 * would a geom of the body that it is below, whose index in seg_geom is *id; id may be NULL. It does not reflect, has
 * no underside if it is a plane, and physics does not know it. It has no transforms to write: add a prim, the shape
 * below it, and move that prim. Adding and removing shapes makes the renderer's tables anew; one that comes and goes is
 * hidden.
 */
STET_API stet_result stet_stage_add_shape(stet_stage *stage, int parent, const stet_shape *shape, const float *local,
                                          int *prim, int *id);
/* Shows or hides a shape in the worlds first … first + nworld - 1; visible [nworld]: 0 or 1. */
STET_API stet_result stet_stage_show(stet_stage *stage, int prim, int64_t first, int64_t nworld,
                                     const uint8_t *visible);
/* Sets a shape's colour there; rgb [nworld][3]. Its alpha stays. */
STET_API stet_result stet_stage_colour(stet_stage *stage, int prim, int64_t first, int64_t nworld, const float *rgb);

/*
 * What MuJoCo's viewer draws beside the scene if its options say so: enumerator, name, what. Sizes and colours are
 * those of the model's visual/scale, visual/rgba and statistic, times and alphas included; sizes of inertia and the
 * colour of joints are the same in all worlds.
 */
#define STET_DECORATIONS(X)                                                                                            \
    X(JOINTS, "joints", "axes of joints of groups 0 to 2; boxes and balls for free and ball joints")                   \
    X(CONTACTS, "contacts", "contact points, as many a world as it has contact slots")                                 \
    X(CONTACTFORCE, "contactforce", "arrows of contact forces, as long as visual/map force says")                      \
    X(FRAMES, "frames", "frames of bodies; with inertia those of inertia")                                             \
    X(INERTIA, "inertia", "boxes, or ellipsoids, that have the bodies' inertia, each world's own")                     \
    X(COM, "com", "centres of mass of kinematic trees")                                                                \
    X(RANGEFINDER, "rangefinder", "rays of range finders at sites, and lines of sensors fromto")
typedef enum stet_decoration {
#define STET_DECORATION_ENUM(id, name, doc) STET_DECORATION_##id,
    STET_DECORATIONS(STET_DECORATION_ENUM)
#undef STET_DECORATION_ENUM
        STET_DECORATION_COUNT
} stet_decoration;
STET_API const char *stet_decoration_name(stet_decoration decoration);             /* NULL: there is no such one */
STET_API stet_result stet_decoration_find(const char *name, stet_decoration *out); /* NOT_FOUND lists the names */
/*
 * Shows these decorations (bits 1u << STET_DECORATION_x) in all worlds, and no others, from the next picture on, for
 * any number of changes while a sim runs. Colours show them, with transparency and in mirrors; they cast no shadow, and
 * other outputs do not have them. They follow the worlds: contacts, forces and centres of mass are quantities of the
 * present state (stet_worlds_get_array), rays are the sensors' as of the last step. What is computed for them is
 * computed while they are shown. A failure shows none.
 */
STET_API stet_result stet_stage_decorate(stet_stage *stage, uint32_t decorations);
STET_API uint32_t stet_stage_get_decorations(const stet_stage *stage);

/* Get transforms, brought up to date first. values [nworld][12]. Those of a hidden shape are singular. */
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
